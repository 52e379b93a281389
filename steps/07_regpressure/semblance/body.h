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

/* The distances of a trace from the output point, in metres times samples per second,
 * so that traveltimes are in samples. Sample k of the trace is samples[row * pitch +
 * k]. */
typedef struct {
    float dm, dh;
    int row;
} trace;

/* Returns value i of parameter k, which is A, B, C, D or E. */
FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Index of part (ia, ib, ic) in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(CONSTANT const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
}

/* Returns the best point of one (A, B, C), in windows of w samples: the work of one
 * thread or work-item. t2_abc is its workspace, one float per trace: the value of trace
 * i is t2_abc[i * stride]. num is its workspace for one window. */
FN point search_abc(int ia, int ib, int ic, CONSTANT const trace *traces,
                    GLOBAL const float *samples, CONSTANT const query *q, int w,
                    GLOBAL float *t2_abc, int stride, LOCAL float *num)
{
    int tau = w / 2;

    float t0 = q->t0 * q->idt;
    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    point best = {0, 0, 0, 0, 0, 0, -1};

    /* The part of t^2 that does not depend on D and E, once instead of for each (D, E).
     */
    for (int i = 0; i < q->ntraces; i++) {
        float dm = traces[i].dm;
        float dh = traces[i].dh;
        float t = t0 + a * dm + b * dh;
        t2_abc[(size_t)i * stride] = t * t + c * dh * dh;
    }

    for (int id = 0; id < q->np[D]; id++) {
        float d = value(q, D, id);
        for (int ie = 0; ie < q->np[E]; ie++) {
            float e = value(q, E, ie);

            for (int j = 0; j < w; j++) num[j] = 0;
            float den = 0;
            int used = 0, skipped = 0;

            for (int i = 0; i < q->ntraces; i++) {
                float dm = traces[i].dm;
                float dh = traces[i].dh;

                /* Arrival in samples; -1 if the operator has none (t^2 < 0). */
                float t2 = t2_abc[(size_t)i * stride] + dm * (d * dm + e * dh);
                float x = t2 < 0 ? -1 : sqrtf(t2);

                /* The window takes the samples x - tau .. x + tau, and interpolation
                 * one more. */
                if (x >= tau && x < q->ns - tau - 1) {
                    int ix = (int)x;
                    GLOBAL const float *y =
                        samples + (size_t)traces[i].row * q->pitch + ix - tau;
                    float weight1 = x - ix;
                    float weight0 = 1 - weight1;
                    float squares = 0;

                    for (int j = 0; j < w; j++) {
                        float v = y[j + 1] * weight1 + y[j] * weight0;
                        num[j] += v;
                        squares += v * v;
                    }
                    den += squares;
                    used++;
                } else if (++skipped == 2) {
                    break;
                }
            }

            float sum = 0, sum_num = 0;
            for (int j = 0; j < w; j++) {
                sum += num[j];
                sum_num += num[j] * num[j];
            }
            float stack = 0, s = 0;
            if (skipped < 2 && den != 0) {
                stack = sum / (used * w);
                s = sum_num / den / used;
            }

            point candidate = {a, b, c, d, e, stack, s};
            if (s > best.semblance) best = candidate;
        }
    }
    return best;
}
