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

/* Returns value i of parameter k, which is A, B, C, D or E. */
FN float value(GLOBAL const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
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

                /* A negative scalco is a divisor. */
                float scale = tr->scalco == 0  ? 1
                              : tr->scalco > 0 ? tr->scalco
                                               : -1.0f / tr->scalco;

                /* Metres along the line, which runs along y; x is 0. */
                float m = scale * ((float)tr->gy + (float)tr->sy) / 2;
                float h = scale * ((float)tr->gy - (float)tr->sy) / 2;

                /* Traveltime in seconds; -1 if the operator has none (t^2 < 0). */
                float dm = m - q->m0;
                float dh = h - q->h0;
                float t = q->t0 + a * dm + b * dh;
                float t2 = t * t + c * dh * dh + d * dm * dm + e * dh * dm;
                float x = (t2 < 0 ? -1 : sqrtf(t2)) * q->idt;

                /* The window takes the samples x - tau .. x + tau, and interpolation
                 * one more. */
                if (x >= tau && x < q->ns - tau - 1) {
                    int ix = (int)x;

                    for (int j = 0; j < w; j++) {
                        int k = ix + j - tau;
                        float x0 = k, x1 = k + 1;
                        float y0 = data[k], y1 = data[k + 1];
                        float v = (y1 - y0) * (x + j - tau - x0) / (x1 - x0) + y0;
                        num[j] += v;
                        den[j] += v * v;
                        sum += v;
                    }
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
