/* body.h - the semblance of one point of the search.
 *
 * A point is one choice of the parameters A, B, C, D and E. They define the traveltime
 * of a reflection around the output point (m0, h0, t0). The operator is of the
 * finite-offset CRS type; dm and dh are the distances of a trace from the output point
 * in midpoint and in half-offset:
 *     t^2 = (t0 + A dm + B dh)^2 + C dh^2 + D dm^2 + E dh dm
 * From each trace a window of w = 2 tau + 1 samples around its traveltime is taken by
 * linear interpolation: v[i][j], trace i of n, sample j of w. Semblance (Neidell and
 * Taner, Geophysics 36, 1971) measures how well the n windows agree, from 0 to 1:
 *     sum over j of (sum over i of v[i][j])^2  /  (n * sum over i and j of v[i][j]^2)
 * num holds the inner sums of the numerator, den the sum of squares. A trace whose
 * window leaves the recorded samples is not used; if two traces are not used, the
 * semblance is 0. The caller guarantees that a trace has more than w samples.
 */
#include "portable.h"
#include "query.h"

/* The four header values of a trace that the search needs, 16 bytes instead of 240. A
 * device cannot follow pointers of the host, so samples are in an array of their own:
 * sample k of a trace is samples[row * pitch + k]. */
typedef struct {
    int scalco, sy, gy;
    int row;
} trace;

/* Returns the factor that scalco stands for: negative values are divisors. */
FN float scale(int scalco)
{
    return scalco == 0 ? 1 : scalco > 0 ? scalco : -1.0f / scalco;
}

/* Returns value i of parameter k, which is A, B, C, D or E. */
FN float value(GLOBAL const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Metres along the line, which runs along y; x is 0. */
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

/* Traveltime in seconds; -1 if the operator has none (t^2 < 0). */
FN float time_2d(float a, float b, float c, float d, float e, float t0, float m0,
                 float m, float h0, float h)
{
    float dm = m - m0;
    float dh = h - h0;
    float t = t0 + a * dm + b * dh;
    float t2 = t * t + c * dh * dh + d * dm * dm + e * dh * dm;
    return t2 < 0 ? -1 : sqrtf(t2);
}

/* Evaluates the line through (x0, y0) and (x1, y1) at x. */
FN float interpol_linear(float x0, float x1, float y0, float y1, float x)
{
    return (y1 - y0) * (x - x0) / (x1 - x0) + y0;
}

/* Returns the semblance of one point in windows of w samples, and its mean amplitude in
 * *stack. */
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

        /* The window takes the samples x - tau .. x + tau, and interpolation one more.
         */
        if (x >= tau && x < q->ns - tau - 1) {
            int ix = (int)x;

            for (int j = 0; j < w; j++) {
                int k = ix + j - tau;
                float v = interpol_linear(k, k + 1, data[k], data[k + 1], x + j - tau);
                num[j] += v;
                den[j] += v * v;
                sum += v;
            }
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

/* Index of part (ia, ib, ic) in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(GLOBAL const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
}

/* Returns the best point of one (A, B, C), in windows of w samples: the work of one
 * thread or work-item. */
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
