/* body.h - what one point of the search costs.
 *
 * For one (A, B, C, D, E) every trace is visited: the moveout says when the reflection
 * should arrive in it, and a window of 2 tau + 1 samples is taken around that time.
 * Where the windows agree from trace to trace the semblance is near 1, where they do
 * not, near 0.
 */
#include "lanes.h"
#include "query.h"

/* What the search needs of a trace: how far it lies from the output point, in metres
 * times samples a second, so that the moveout comes out in samples. Samples lie apart,
 * a row of pitch floats for each trace of the gather, since a device cannot follow a
 * pointer of the host. */
typedef struct {
    float dm, dh;
    int row;
    float de_min, de_max;
} trace;

/* Value i of parameter k: 0 is A, 4 is E. */
BOTH_FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* What LANES neighbours in E have scored: of each lane the best, and where it is. */
typedef struct {
    lanes id, ie, stack, semblance;
} lane_points;

/* Adds windows that begin at the same sample y in all lanes, and lie v2 of a sample
 * past it. */
FN void add_trace_aligned(GLOBAL const float *y, int w, lanes weight1, lanes *num,
                          lanes *den)
{
    lanes weight0 = 1 - weight1, squares = each(0);
    for (int j = 0; j < w; j++) {
        lanes v = y[j + 1] * weight1 + y[j] * weight0;
        num[j] += v;
        squares += v * v;
    }
    *den += squares;
}

/* Adds a trace of ns samples at y: of each lane the w samples around its x. A lane
 * whose window does not lie inside skips it. Returns 1 where all lanes found the same
 * samples, 0 where each had to look for its own. */
FN int add_trace(GLOBAL const float *y, int ns, int w, lanes x, lanes *num, lanes *den,
                 lanes *skipped)
{
    int tau = w / 2;

    /* Samples x - tau .. x + tau, and one more to interpolate the last. x rises or
     * falls from lane to lane: what the first and the last share, all share. */
    float x_first = lane(x, 0), x_last = lane(x, LANES - 1);
    int first_inside = x_first >= tau && x_first < ns - tau - 1;
    int ix_first = first_inside ? (int)x_first : tau;
    if (first_inside && x_last >= ix_first && x_last < ix_first + 1) {
        add_trace_aligned(y + ix_first - tau, w, x - (float)ix_first, num, den);
        return 1;
    }

    int start[LANES];
    lanes weight1 = each(0), weight0 = each(0), y0 = each(0), y1 = each(0);
    lanes squares = each(0);
    for (int l = 0; l < LANES; l++) {
        float x_lane = lane(x, l);
        int inside = x_lane >= tau && x_lane < ns - tau - 1;
        int ix = inside ? (int)x_lane : tau;
        start[l] = ix - tau;
        lane(weight1, l) = inside ? x_lane - ix : 0;
        lane(weight0, l) = inside ? 1 - lane(weight1, l) : 0;
        lane(y0, l) = y[start[l]];
        lane(*skipped, l) += !inside;
    }
    for (int j = 0; j < w; j++) {
        for (int l = 0; l < LANES; l++) lane(y1, l) = y[start[l] + j + 1];
        lanes v = y1 * weight1 + y0 * weight0;
        num[j] += v;
        squares += v * v;
        y0 = y1;
    }
    *den += squares;
    return 0;
}

/* The best of all lanes; among equals the first in D and E. */
FN point reduce_lanes(CONSTANT const query *q, float a, float b, float c,
                      lane_points *best)
{
    int winner = 0;
    for (int l = 1; l < LANES; l++) {
        float gain = lane(best->semblance, l) - lane(best->semblance, winner);
        float order = lane(best->id, l) - lane(best->id, winner);
        if (order == 0) order = lane(best->ie, l) - lane(best->ie, winner);
        if (gain > 0 || (gain == 0 && order < 0)) winner = l;
    }
    point result = {a,
                    b,
                    c,
                    value(q, D, lane(best->id, winner)),
                    value(q, E, lane(best->ie, winner)),
                    lane(best->stack, winner),
                    lane(best->semblance, winner)};
    return result;
}

/* The window of a trace, as a function of the arrival x, is a polygon: it bends where x
 * passes a sample. Behind such a hinge, with r = x - at, num[j] gains bend[j] r and den
 * (b1 + b2 r) r. */
typedef struct {
    float t2_abc, dm2, dhm; /* x^2 = rest + D dm2 + E dhm */
    float x, den_linear, den_quadratic;
} knot;

/* What a thread has to itself: hinges, w bends for each, and the numbers of the traces
 * that have none. */
typedef struct {
    GLOBAL knot *knots;
    GLOBAL float *slope_changes;
    GLOBAL int *direct;
} workspace;

/* A trace may bend SPREAD times within the block of all (D, E), most do not at all. */
#define MAX_SPAN 8
BOTH_FN int knot_capacity(int ntraces)
{
    return 2 * ntraces + MAX_SPAN + 2;
}

/* Floats of a workspace, and one that begins at room. */
BOTH_FN size_t workspace_floats(int ntraces, int w)
{
    return knot_capacity(ntraces) * (sizeof(knot) / sizeof(float) + w) + ntraces;
}

FN workspace workspace_at(GLOBAL float *storage, int ntraces, int w)
{
    GLOBAL knot *knots = (GLOBAL knot *)storage;
    GLOBAL float *slope_changes = (GLOBAL float *)(knots + knot_capacity(ntraces));
    workspace ws = {knots, slope_changes,
                    (GLOBAL int *)(slope_changes + knot_capacity(ntraces) * w)};
    return ws;
}

/* Adds a hinge to LANES points. */
FN void add_knot(GLOBAL const knot *kn, GLOBAL const float *slope_change, int w,
                 float d, lanes e, lanes *num, lanes *den)
{
    lanes r = root(kn->t2_abc + d * kn->dm2 + e * kn->dhm) - kn->x;
    r = pick(r > 0, r, each(0));
    for (int j = 0; j < w; j++) num[j] += slope_change[j] * r;
    *den += (kn->den_linear + kn->den_quadratic * r) * r;
}

/* What does not bend within the block is smooth in (D, E): it is evaluated at NODES
 * places, 4 x 4, and cubics go through them. Where x changes by h from its least, they
 * miss x by 0.013 h^4 / x^3 at most, and den, since x^2 is linear, by 0.025 h^4 / x^2
 * times the sum of squared slopes. At some corner den is at least that sum times h^2 /
 * 8: SMOOTH h <= x keeps the error below a millionth of the largest node's den. */
#define NODES        16
#define SMOOTH_RATIO 512

/* The cubic through f0 .. f3, equidistant, is f0 + the sum of weight[n] (fn - f0), at s
 * of 0 .. 3. Where all are equal it is f0 to the bit: equal points stay equal. */
FN void cubic(lanes s, lanes weight[4])
{
    weight[1] = s * (s - 2) * (s - 3) * 0.5f;
    weight[2] = s * (s - 1) * (3 - s) * 0.5f;
    weight[3] = s * (s - 1) * (s - 2) * (1 / 6.0f);
}

/* For one thread: the best of all (D, E) for one (A, B, C), in windows of w samples,
 * LANES values of E at a time. What a trace contributes to all of them is read once. */
FN point search_abc(int ia, int ib, int ic, CONSTANT const trace *traces,
                    GLOBAL const float *samples, CONSTANT const query *q, int w,
                    workspace ws)
{
    int tau = w / 2;
    float t0 = q->t0 * q->idt;
    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    float d0 = value(q, D, 0), d1 = value(q, D, q->np[D] - 1);
    float e0 = value(q, E, 0), e1 = value(q, E, q->np[E] - 1);

    float num_start[MAX_WINDOW], den_start = 0, den_scale = 0, node_den_max = 0;
    int knot_count = 0, direct_count = 0, outside = 0;
    for (int j = 0; j < w; j++) num_start[j] = 0;

    lanes node_d[NODES / LANES], node_e[NODES / LANES];
    lanes node_sum[NODES / LANES][MAX_WINDOW + 1]; /* num, and den behind it */
    for (int m = 0; m < NODES / LANES; m++) {
        for (int l = 0; l < LANES; l++) {
            int n = m * LANES + l;
            lane(node_d[m], l) = d0 + n / 4 * (d1 - d0) / 3;
            lane(node_e[m], l) = e0 + n % 4 * (e1 - e0) / 3;
        }
        for (int j = 0; j <= w; j++) node_sum[m][j] = each(0);
    }

    for (int i = 0; i < q->ntraces && outside < 2; i++) {
        float dm = traces[i].dm;
        float dh = traces[i].dh;
        float t = t0 + a * dm + b * dh;
        float t2_abc = t * t + c * dh * dh;

        float x_min = sqrtf(t2_abc + traces[i].de_min);
        float x_max = sqrtf(t2_abc + traces[i].de_max);

        if (!(x_max >= tau) || x_min >= q->ns - tau - 1) {
            outside++;
        } else if (!(x_min >= tau && x_max < q->ns - tau - 1 &&
                     x_max - x_min < MAX_SPAN &&
                     knot_count + MAX_SPAN + 2 <= knot_capacity(q->ntraces))) {
            ws.direct[direct_count++] = i;
        } else {
            int k = (int)x_min;
            GLOBAL const float *y =
                samples + (size_t)traces[i].row * q->pitch + k - tau;
            float dm2 = dm * dm, dhm = dh * dm, x_knot = x_min, slope[MAX_WINDOW];
            if (SMOOTH_RATIO * (x_max - x_min) <= x_min) {
                for (int m = 0; m < NODES / LANES; m++) {
                    lanes x = root(t2_abc + dm2 * node_d[m] + dhm * node_e[m]);
                    add_trace_aligned(y, w, x - (float)k, node_sum[m], &node_sum[m][w]);
                }
                if (x_max < k + 1) continue;
                for (int j = 0; j < w; j++) slope[j] = y[j + 1] - y[j];
                x_knot = ++k;
                y++;
            } else {
                for (int j = 0; j < w; j++) {
                    float v = y[j] + (y[j + 1] - y[j]) * (x_min - k);
                    num_start[j] += v;
                    den_start += v * v;
                    slope[j] = 0;
                }
            }
            for (; k <= x_max; x_knot = ++k, y++) {
                knot kn = {t2_abc, dm2, dhm, x_knot, 0, 0};
                for (int j = 0; j < w; j++) {
                    float new_slope = y[j + 1] - y[j];
                    float slope_change = new_slope - slope[j];
                    ws.slope_changes[knot_count * w + j] = slope_change;
                    kn.den_linear +=
                        2 * slope_change * (y[j] + new_slope * (x_knot - k));
                    kn.den_quadratic += slope_change * (new_slope + slope[j]);
                    slope[j] = new_slope;
                }
                den_scale +=
                    (x_max - x_knot) *
                    (fabsf(kn.den_linear) + (x_max - x_knot) * fabsf(kn.den_quadratic));
                ws.knots[knot_count++] = kn;
            }
        }
    }
    den_scale += den_start;
    for (int m = 0; m < NODES / LANES; m++)
        for (int l = 0; l < LANES; l++)
            node_den_max = fmaxf(node_den_max, lane(node_sum[m][w], l));

    /* den is a difference of such terms: where it is much less than they are, or about
     * to underflow, it is not to be trusted. */
    float den_trusted = 0.25f * node_den_max + 0.1f * den_scale;
    if (node_den_max + den_scale > 0 && den_trusted < 1e-30f) den_trusted = 1e-30f;

    lane_points best = {each(0), each(0), each(0), each(outside < 2 ? -1 : 0)};
    for (int ie = 0; ie < q->np[E] && outside < 2; ie += LANES) {
        /* Lanes beyond the last E have it once more. */
        lanes e = each(0), e_index = each(0);
        for (int l = 0; l < LANES; l++) {
            lane(e_index, l) = ie + l < q->np[E] ? ie + l : q->np[E] - 1;
            lane(e, l) = value(q, E, lane(e_index, l));
        }

        /* For each lane's E four values of a cubic in D, for num and, behind it, den;
         * of all but the first the difference from it. */
        lanes weight_e[4], column[4][MAX_WINDOW + 1];
        cubic((e - e0) * (e1 != e0 ? 3 / (e1 - e0) : 0), weight_e);
        for (int m = 0; m < 4; m++)
            for (int j = 0; j <= w; j++) {
                float value0 = lane(node_sum[4 * m / LANES][j], 4 * m % LANES);
                column[m][j] = each(value0);
                for (int n = 4 * m + 1; n < 4 * m + 4; n++) {
                    float difference = lane(node_sum[n / LANES][j], n % LANES) - value0;
                    column[m][j] += weight_e[n % 4] * difference;
                }
                column[m][j] -= m ? column[0][j] : each(0);
            }
        for (int j = 0; j < w; j++) column[0][j] += num_start[j];
        column[0][w] += den_start;

        for (int id = 0; id < q->np[D]; id++) {
            float d = value(q, D, id);
            lanes weight_d[4];
            cubic(each((d - d0) * (d1 != d0 ? 3 / (d1 - d0) : 0)), weight_d);

            lanes num[MAX_WINDOW], skipped = each(outside);
            lanes den = column[0][w] + weight_d[1] * column[1][w] +
                        weight_d[2] * column[2][w] + weight_d[3] * column[3][w];
            for (int j = 0; j < w; j++)
                num[j] = column[0][j] + weight_d[1] * column[1][j] +
                         weight_d[2] * column[2][j] + weight_d[3] * column[3][j];
            for (int n = 0; n < knot_count; n++)
                add_knot(&ws.knots[n], &ws.slope_changes[n * w], w, d, e, num, &den);

            /* Where den is a small difference of large numbers, all traces are visited
             * one by one, else only those that have no hinges. */
            int visits = direct_count, all_direct = !all(den >= den_trusted);
            if (all_direct) {
                den = skipped = each(0);
                for (int j = 0; j < w; j++) num[j] = each(0);
                visits = q->ntraces;
            }
            for (int n = 0; n < visits; n++) {
                CONSTANT const trace *tr = &traces[all_direct ? n : ws.direct[n]];
                float dm = tr->dm, dh = tr->dh, t = t0 + a * dm + b * dh;
                lanes x = root(t * t + c * dh * dh + dm * (d * dm + e * dh));
                add_trace(samples + (size_t)tr->row * q->pitch, q->ns, w, x, num, &den,
                          &skipped);
            }

            lanes squares = each(0);
            for (int j = 0; j < w; j++) squares += num[j] * num[j];
            lanes used = (float)q->ntraces - skipped;
            mask valid = (skipped < 2) & (den > 0);
            lanes s = pick(valid, squares / (den * used), each(0));

            lanes best_semblance = pick(s > best.semblance, s, best.semblance);
            mask unchanged = best_semblance == best.semblance;
            if (!all(unchanged)) { /* rare: most points are not the best so far */
                lanes sum = each(0);
                for (int j = 0; j < w; j++) sum += num[j];
                sum = pick(valid, sum / (used * (float)w), each(0));
                best.semblance = best_semblance;
                best.stack = pick(unchanged, best.stack, sum);
                best.id = pick(unchanged, best.id, each(id));
                best.ie = pick(unchanged, best.ie, e_index);
            }
        }
    }
    return reduce_lanes(q, a, b, c, &best);
}
