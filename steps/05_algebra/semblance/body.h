/* body.h - what one point of the search costs.
 *
 * For one (A, B, C, D, E) every trace is visited: the moveout says when the reflection
 * should arrive in it, and a window of 2 tau + 1 samples is taken around that time.
 * Where the windows agree from trace to trace the semblance is near 1, where they do
 * not, near 0.
 */
#include "portable.h"
#include "query.h"

/* What the search needs of a trace: how far it lies from the output point, in metres
 * times samples a second, so that the moveout comes out in samples. Samples lie apart,
 * a row of pitch floats for each trace of the gather, since a device cannot follow a
 * pointer of the host. */
typedef struct {
    float dm, dh;
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

/* For one thread: the best of all (D, E) for one (A, B, C), in windows of w samples.
 * base has room for a float a trace, each stride after the one before. */
FN point search_abc(int ia, int ib, int ic, GLOBAL const trace *traces,
                    GLOBAL const float *samples, GLOBAL const query *q, int w,
                    GLOBAL float *t2_abc, int stride)
{
    int tau = w / 2;
    float num[MAX_WINDOW], den[MAX_WINDOW];

    float t0 = q->t0 * q->idt;
    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    point best = {0, 0, 0, 0, 0, 0, -1};

    /* All of t^2 that D and E do not change, once instead of for each (D, E). */
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

            for (int j = 0; j < w; j++) num[j] = den[j] = 0;
            int used = 0, skipped = 0;

            for (int i = 0; i < q->ntraces; i++) {
                float dm = traces[i].dm;
                float dh = traces[i].dh;

                /* Arrival in samples, or -1 where the moveout has none. */
                float t2 = t2_abc[(size_t)i * stride] + dm * (d * dm + e * dh);
                float x = t2 < 0 ? -1 : sqrtf(t2);

                /* Samples x - tau .. x + tau, and one more to interpolate the last. */
                if (x >= tau && x < q->ns - tau - 1) {
                    int ix = (int)x;
                    GLOBAL const float *y =
                        samples + (size_t)traces[i].row * q->pitch + ix - tau;
                    float weight1 = x - ix;
                    float weight0 = 1 - weight1;

                    for (int j = 0; j < w; j++) {
                        float v = y[j + 1] * weight1 + y[j] * weight0;
                        num[j] += v;
                        den[j] += v * v;
                    }
                    used++;
                } else if (++skipped == 2) {
                    break;
                }
            }

            float sum = 0, sum_num = 0, sum_den = 0;
            for (int j = 0; j < w; j++) {
                sum += num[j];
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
