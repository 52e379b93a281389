/* body.h - what one point of the search costs.
 *
 * For one (A, B, C, D, E) every trace is visited: the moveout says when the reflection
 * should arrive in it, and a window of 2 tau + 1 samples is taken around that time.
 * Where the windows agree from trace to trace the semblance is near 1, where they do
 * not, near 0.
 */
#include "portable.h"
#include "query.h"

/* What the search needs of a trace: 16 bytes, where an SU header has 240. Samples lie
 * apart, a row of pitch floats for each trace of the gather, since a device cannot
 * follow a pointer of the host. */
typedef struct {
    int scalco, sy, gy;
    int row;
} trace;

/* What scalco multiplies a coordinate by: negative values divide. */
FN float scale(int scalco)
{
    return scalco == 0 ? 1 : scalco > 0 ? scalco : -1.0f / scalco;
}

/* Value i of parameter k: 0 is A, 4 is E. */
FN float value(GLOBAL const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Metres along y: the line is 2-D, x is not looked at. */
FN float midpoint(GLOBAL const trace *tr)
{
    float s = scale(tr->scalco);
    return s * ((float)tr->gy + (float)tr->sy) / 2;
}

FN float half_offset(GLOBAL const trace *tr)
{
    float s = scale(tr->scalco);
    return s * ((float)tr->gy - (float)tr->sy) / 2;
}

/* Arrival in seconds, or -1 where the moveout has none. */
FN float time_2d(float a, float b, float c, float d, float e, float t0, float m0,
                 float m, float h0, float h)
{
    float dm = m - m0;
    float dh = h - h0;
    float t = t0 + a * dm + b * dh;
    float t2 = t * t + c * dh * dh + d * dm * dm + e * dh * dm;
    return t2 < 0 ? -1 : sqrtf(t2);
}

/* The line through (x0, y0) and (x1, y1), at x. */
FN float interpol_linear(float x0, float x1, float y0, float y1, float x)
{
    return (y1 - y0) * (x - x0) / (x1 - x0) + y0;
}

/* Semblance of one point over windows of w samples, and its mean amplitude in *stack. A
 * trace whose window does not lie inside its ns samples is skipped; the second such
 * trace makes the point 0. */
FN float semblance_2d(GLOBAL const trace *traces, GLOBAL const float *samples,
                      GLOBAL const query *q, int w, float a, float b, float c, float d,
                      float e, float *stack)
{
    int tau = w / 2;
    float num[MAX_WINDOW], den[MAX_WINDOW];
    for (int j = 0; j < w; j++) num[j] = den[j] = 0;

    float sum = 0;
    int used = 0, skipped = 0;
    *stack = 0;

    for (int i = 0; i < q->ntraces; i++) {
        GLOBAL const trace *tr = &traces[i];
        GLOBAL const float *data = samples + (size_t)tr->row * q->pitch;
        float m = midpoint(tr);
        float h = half_offset(tr);

        float t = time_2d(a, b, c, d, e, q->t0, q->m0, m, q->h0, h);
        float x = t * q->idt;

        /* Samples x - tau .. x + tau, and one more to interpolate the last. */
        if (x >= tau && x < q->ns - tau - 1) {
            int ix = (int)x;
            float window[MAX_WINDOW];

            for (int j = 0; j < w; j++) {
                int k = ix + j - tau;
                float v = interpol_linear(k, k + 1, data[k], data[k + 1], x + j - tau);
                num[j] += v;
                den[j] += v * v;
                window[j] = v;
            }
            for (int j = 0; j < w; j++) sum += window[j];
            used++;
        } else if (++skipped == 2) {
            return 0;
        }
    }

    float sum_num = 0, sum_den = 0;
    for (int j = 0; j < w; j++) {
        sum_num += num[j] * num[j];
        sum_den += den[j];
    }
    if (sum_den == 0) return 0;

    *stack = sum / (used * w);
    return sum_num / sum_den / used;
}

/* Where the part (ia, ib, ic) of the search lies in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(GLOBAL const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
}

/* For one thread: the best of all (D, E) for one (A, B, C), in windows of w samples. */
FN point search_abc(int ia, int ib, int ic, GLOBAL const trace *traces,
                    GLOBAL const float *samples, GLOBAL const query *q, int w)
{
    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    point best = {0, 0, 0, 0, 0, 0, -1};

    for (int id = 0; id < q->np[D]; id++) {
        float d = value(q, D, id);
        for (int ie = 0; ie < q->np[E]; ie++) {
            float e = value(q, E, ie);
            float stack;
            float s = semblance_2d(traces, samples, q, w, a, b, c, d, e, &stack);
            point candidate = {a, b, c, d, e, stack, s};
            if (s > best.semblance) best = candidate;
        }
    }
    return best;
}
