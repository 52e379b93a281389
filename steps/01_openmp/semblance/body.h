/* body.h - what one point of the search costs.
 *
 * For one (A, B, C, D, E) every trace is visited: the moveout says when the reflection
 * should arrive in it, and a window of 2 tau + 1 samples is taken around that time.
 * Where the windows agree from trace to trace the semblance is near 1, where they do
 * not, near 0.
 */
#include <math.h>

#include "query.h"
#include "su.h"

/* Value i of parameter k: 0 is A, 4 is E. */
static float value(const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Metres along y: the line is 2-D, x is not looked at. */
static float midpoint(const su_trace *tr)
{
    float s = su_scale(tr->header.scalco);
    return s * ((float)tr->header.gy + (float)tr->header.sy) / 2;
}

static float half_offset(const su_trace *tr)
{
    float s = su_scale(tr->header.scalco);
    return s * ((float)tr->header.gy - (float)tr->header.sy) / 2;
}

/* Arrival in seconds, or -1 where the moveout has none. */
static float time_2d(float a, float b, float c, float d, float e, float t0, float m0,
                     float m, float h0, float h)
{
    float dm = m - m0;
    float dh = h - h0;
    float t = t0 + a * dm + b * dh;
    float t2 = t * t + c * dh * dh + d * dm * dm + e * dh * dm;
    return t2 < 0 ? -1 : sqrtf(t2);
}

/* The line through (x0, y0) and (x1, y1), at x. */
static float interpol_linear(float x0, float x1, float y0, float y1, float x)
{
    return (y1 - y0) * (x - x0) / (x1 - x0) + y0;
}

/* Semblance of one point, and its mean amplitude in *stack. A trace whose window does
 * not lie inside its ns samples is skipped; the second such trace makes the point 0. */
static float semblance_2d(const su_trace *traces, const int *indices, const query *q,
                          float a, float b, float c, float d, float e, float *stack)
{
    int tau = q->tau;
    int w = window_length(q);
    float num[MAX_WINDOW], den[MAX_WINDOW];
    for (int j = 0; j < w; j++) num[j] = den[j] = 0;

    float sum = 0;
    int used = 0, skipped = 0;
    *stack = 0;

    for (int i = 0; i < q->ntraces; i++) {
        const su_trace *tr = &traces[indices[i]];
        float m = midpoint(tr);
        float h = half_offset(tr);

        float t = time_2d(a, b, c, d, e, q->t0, q->m0, m, q->h0, h);
        float x = t * q->idt;

        /* Samples x - tau .. x + tau, and one more to interpolate the last. */
        if (x >= tau && x < q->ns - tau - 1) {
            int ix = (int)x;

            for (int j = 0; j < w; j++) {
                int k = ix + j - tau;
                float v = interpol_linear(k, k + 1, tr->data[k], tr->data[k + 1],
                                          x + j - tau);
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

/* All points of one A: row[np[B]] gets the best of each B. Writes nothing else, so that
 * each A can be searched by another thread. */
static void search_a(int ia, const su_trace *traces, const int *indices, const query *q,
                     point *row)
{
    float a = value(q, A, ia);
    for (int ib = 0; ib < q->np[B]; ib++) {
        float b = value(q, B, ib);
        point best = {0, 0, 0, 0, 0, 0, -1};

        for (int ic = 0; ic < q->np[C]; ic++) {
            float c = value(q, C, ic);
            for (int id = 0; id < q->np[D]; id++) {
                float d = value(q, D, id);
                for (int ie = 0; ie < q->np[E]; ie++) {
                    float e = value(q, E, ie);
                    float stack;
                    float s = semblance_2d(traces, indices, q, a, b, c, d, e, &stack);
                    point candidate = {a, b, c, d, e, stack, s};
                    if (s > best.semblance) best = candidate;
                }
            }
        }

        row[ib] = best;
    }
}
