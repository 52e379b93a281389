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

/* Value i of parameter k: 0 is A, 4 is E. */
FN float value(GLOBAL const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
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
    int tau = w / 2;
    float num[MAX_WINDOW], den[MAX_WINDOW];

    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    point best = {0, 0, 0, 0, 0, 0, -1};

    for (int id = 0; id < q->np[D]; id++) {
        float d = value(q, D, id);
        for (int ie = 0; ie < q->np[E]; ie++) {
            float e = value(q, E, ie);

            for (int j = 0; j < w; j++) num[j] = den[j] = 0;
            float sum = 0;
            int used = 0, skipped = 0;

            for (int i = 0; i < q->ntraces; i++) {
                GLOBAL const trace *tr = &traces[i];
                GLOBAL const float *data = samples + (size_t)tr->row * q->pitch;

                /* Negative values of scalco divide. */
                float scale = tr->scalco == 0  ? 1
                              : tr->scalco > 0 ? tr->scalco
                                               : -1.0f / tr->scalco;

                /* Metres along y: the line is 2-D, x is not looked at. */
                float m = scale * ((float)tr->gy + (float)tr->sy) / 2;
                float h = scale * ((float)tr->gy - (float)tr->sy) / 2;

                /* Arrival in seconds, or -1 where the moveout has none. */
                float dm = m - q->m0;
                float dh = h - q->h0;
                float t = q->t0 + a * dm + b * dh;
                float t2 = t * t + c * dh * dh + d * dm * dm + e * dh * dm;
                float x = (t2 < 0 ? -1 : sqrtf(t2)) * q->idt;

                /* Samples x - tau .. x + tau, and one more to interpolate the last. */
                if (x >= tau && x < q->ns - tau - 1) {
                    int ix = (int)x;
                    float window[MAX_WINDOW];

                    for (int j = 0; j < w; j++) {
                        int k = ix + j - tau;
                        float x0 = k, x1 = k + 1;
                        float y0 = data[k], y1 = data[k + 1];
                        float v = (y1 - y0) * (x + j - tau - x0) / (x1 - x0) + y0;
                        num[j] += v;
                        den[j] += v * v;
                        window[j] = v;
                    }
                    for (int j = 0; j < w; j++) sum += window[j];
                    used++;
                } else if (++skipped == 2) {
                    break;
                }
            }

            float sum_num = 0, sum_den = 0;
            for (int j = 0; j < w; j++) {
                sum_num += num[j] * num[j];
                sum_den += den[j];
            }
            float stack = 0, s = 0;
            if (skipped < 2 && sum_den != 0) {
                stack = sum / (used * w);
                s = sum_num / sum_den / used;
            }

            point candidate = {a, b, c, d, e, stack, s};
            if (s > best.semblance) best = candidate;
        }
    }
    return best;
}
