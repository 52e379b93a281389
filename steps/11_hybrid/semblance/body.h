/* body.h - the semblance of all points (D, E) of one (A, B, C).
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
 *
 * As a function of the arrival x, a window is piecewise linear, with a knot where x
 * passes a sample. So the samples of a trace are read once for each (A, B, C) and
 * reduced to knots, and each point adds up the knots that its arrivals have passed.
 * Between two knots num and den are smooth functions of (D, E): they are computed at 4
 * x 4 nodes only, and a bicubic polynomial through the nodes gives the other points.
 */
#include "lanes.h"
#include "query.h"

/* The distances of a trace from the output point, in metres times samples per second,
 * so that traveltimes are in samples. Sample k of the trace is samples[row * pitch +
 * k]. */
typedef struct {
    float dm, dh;
    int row;
    float de_min, de_max;
} trace;

/* Returns value i of parameter k, which is A, B, C, D or E. */
HOST_DEVICE_FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Index of part (ia, ib, ic) in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(CONSTANT const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
}

/* The best point of each lane.
 * The indices id and ie are floats, which pick() can select like the other members;
 * they are exact below 2^24. */
typedef struct {
    lanes id, ie, stack, semblance;
} lane_points;

/* Adds the window of one trace if it begins at the same sample y in all lanes; weight1
 * is the position of each lane between two samples, 0 to 1. */
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

/* Adds the window of one trace, which has ns samples at y; each lane has its own
 * arrival x, NaN if the operator has none. A lane whose window is not inside the trace
 * adds nothing and counts it in *skipped. */
FN void add_trace(GLOBAL const float *y, int ns, int w, lanes x, lanes *num, lanes *den,
                  lanes *skipped)
{
    /* The window takes the samples x - tau .. x + tau, and interpolation one more. */
    int tau = w / 2;
    mask inside = (x >= (float)tau) & (x < (float)(ns - tau - 1));
    if (LANES == 1 && !all(inside)) {
        *skipped += 1;
        return;
    }

    /* LANES intervals from `first` on are loaded together. `last` is the largest first;
     * it is below tau if the trace is too short for that. A single lane is inside here:
     * tau <= (int)x <= last, so first is (int)x, and near and far are 0. The tests of
     * LANES tell this to the compiler, for a GPU. */
    float x_first = lane(x, 0), x_last = lane(x, LANES - 1);
    float least = x_first < x_last ? x_first : x_last;
    int last = ns - tau - 1 - LANES;
    int first = LANES == 1 || least < last ? (int)least : last;
    if (LANES > 1 && first < tau) first = tau;

    lanes weights = each(1);
    if (!all(inside)) { /* rare */
        x = pick(inside, x, each((float)first));
        weights = pick(inside, weights, each(0));
        *skipped += 1 - weights;
    }
    mask ix = whole(x), near = ix - first;
    mask far = (near | -(first > last)) & -LANES; /* not 0: not in these intervals */
    lanes weight1 = x - real(ix), weight0 = weights - weight1, squares = each(0);
    if (LANES == 1 || all(far == 0)) {
        y += first - tau;
        lanes y0 = permute(load(y), near);
        UNROLL
        for (int j = 0; j < w; j++) {
            lanes y1 = permute(load(y + j + 1), near);
            lanes v = y1 * weight1 + y0 * weight0;
            num[j] += v;
            squares += v * v;
            y0 = y1;
        }
    } else { /* each lane loads its own samples */
        mask start = whole(pick(inside, x, each((float)tau))) - tau;
        lanes y0 = load_at(y, start);
        UNROLL
        for (int j = 0; j < w; j++) {
            lanes y1 = load_at(y + j + 1, start);
            lanes v = y1 * weight1 + y0 * weight0;
            num[j] += v;
            squares += v * v;
            y0 = y1;
        }
    }
    *den += squares;
}

/* Returns the best point of all lanes: of several equal ones the first in D, then in E.
 */
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

/* A knot: the sample at which the slopes of a window change. If r > 0 is the distance
 * of the arrival from the knot, in samples, the knot adds
 *
 *     slope_change[j] r                         to num[j]
 *     (den_linear + den_quadratic r) r          to den
 *
 * For the second line, let v be window sample j at the knot, s0 its slope before and s1
 * after the knot. Then its square changes by (v + s1 r)^2 - (v + s0 r)^2 = 2 v (s1 -
 * s0) r + (s1^2 - s0^2) r^2. The two coefficients are these, summed over j. */
typedef struct {
    float t2_abc, dm2, dhm; /* arrival^2 = t2_abc + D dm2 + E dhm */
    float x, den_linear, den_quadratic;
} knot;

/* The workspace of one thread or work-item. A knot has w slope changes. `direct` lists
 * the traces without knots, which every point adds with add_trace().
 *
 *     floats    6 K                   w K                              ntraces
 *            +---------------------+--------------------------------+--------------+
 *            | knots[0] .. [K - 1] | slope_changes[knot * w + j]    | direct[..]   |
 *            +---------------------+--------------------------------+--------------+
 *            K = knot_capacity(ntraces) */
typedef struct {
    GLOBAL knot *knots;
    GLOBAL float *slope_changes;
    GLOBAL int *direct;
} workspace;

/* A trace is reduced to knots only if its arrivals, over all (D, E), span fewer than
 * MAX_SPAN samples. The capacity, two knots per trace, is a choice: the arrivals of
 * most traces pass no sample. Traces that no longer fit are added directly. */
#define MAX_SPAN 8
HOST_DEVICE_FN int knot_capacity(int ntraces)
{
    return 2 * ntraces + MAX_SPAN + 2;
}

/* Number of floats in a workspace. */
HOST_DEVICE_FN size_t workspace_floats(int ntraces, int w)
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

/* Adds a knot to LANES points. */
FN void add_knot(GLOBAL const knot *kn, GLOBAL const float *slope_change, int w,
                 float d, lanes e, lanes *num, lanes *den)
{
    lanes r = root(kn->t2_abc + d * kn->dm2 + e * kn->dhm) - kn->x;
    r = pick(r > 0, r, each(0));
    for (int j = 0; j < w; j++) num[j] += slope_change[j] * r;
    *den += (kn->den_linear + kn->den_quadratic * r) * r;
}

/* As long as its arrivals pass no knot, the contribution of a trace to num and den is a
 * smooth function of (D, E). It is computed at 4 x 4 nodes, at equal distances in D and
 * in E, and interpolated by cubic polynomials, along E and then along D.
 *
 * Error. x = sqrt(u), and u = x^2 is linear in D and in E. A cubic through 4 nodes over
 * an interval of length U has an error of at most (U / 3)^4 / 24 times the largest
 * fourth derivative, which is 15 / 16 u^(-7/2). If x rises by h, U is about 2 x h,
 * which gives 0.0077 h^4 / x^3. The second interpolation can amplify the error of the
 * first by 1.63 (the Lebesgue constant of 4 equidistant nodes): in all 0.013 h^4 / x^3.
 * den is quadratic in x. x^2 is interpolated without error, and x has the factor 2 r
 * slope^2, where r is the root of the linear function: 0.025 h^4 / x^2 times S, the sum
 * of squared slopes, if r is near x (farther roots make den itself larger). At one of
 * the corners den is at least S h^2 / 8. So SMOOTH_RATIO h <= x bounds the error by 0.2
 * / SMOOTH_RATIO^2 = 8e-7 of the largest den of a node. */
#define NODES        16
#define SMOOTH_RATIO 512

/* Weights of a cubic polynomial through f0 .. f3 at the positions 0 .. 3: its value at
 * s is f0 + the sum of weight[n] (fn - f0), n = 1 .. 3. In this form it is exactly f0
 * if all four are equal, so points with equal semblance stay equal. */
FN void cubic(lanes s, lanes weight[4])
{
    weight[1] = s * (s - 2) * (s - 3) * 0.5f;
    weight[2] = s * (s - 1) * (3 - s) * 0.5f;
    weight[3] = s * (s - 1) * (s - 2) * (1 / 6.0f);
}

/* The sum of nodes and knots is trusted only if den is at least MIN_NODE_FRACTION of
 * the largest den of a node, whose 8e-7 are then at most 3.2e-6 of den, plus
 * MIN_KNOT_FRACTION of den_scale, the sum of the magnitudes of the knots' terms:
 * cancellation then magnifies their rounding errors at most 10 times. The fractions are
 * choices; the error budget of make verify holds with them. */
#define MIN_NODE_FRACTION 0.25f
#define MIN_KNOT_FRACTION 0.1f

/* Returns the best point of one (A, B, C), in windows of w samples: the work of one
 * thread or work-item. LANES values of E are searched at a time. */
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
    lanes node_sum[NODES / LANES][MAX_WINDOW + 1]; /* num, then den */
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

    /* den is a sum of terms of both signs, and den_scale the sum of their magnitudes.
     * If den is small in comparison, rounding errors dominate it. */
    float den_trusted =
        MIN_NODE_FRACTION * node_den_max + MIN_KNOT_FRACTION * den_scale;

    lane_points best = {each(0), each(0), each(0), each(outside < 2 ? -1 : 0)};
    for (int ie = 0; ie < q->np[E] && outside < 2; ie += LANES) {
        /* Lanes after the last E repeat the last E. */
        lanes e = each(0), e_index = each(0);
        for (int l = 0; l < LANES; l++) {
            lane(e_index, l) = ie + l < q->np[E] ? ie + l : q->np[E] - 1;
            lane(e, l) = value(q, E, lane(e_index, l));
        }

        /* Interpolates along E: column[m] holds num and den at node m of D, for the E
         * of each lane. For m > 0 it holds the difference from column[0]. */
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

            /* If den is not accurate in one of the lanes, all traces are added
             * directly, otherwise only those without knots. The sums of one trace alone
             * always are: its semblance is 1, whatever the arrival, but only if num and
             * den have the same rounding errors. */
            int alone = q->ntraces - outside < 2;
            int visits = direct_count, all_direct = alone | !all(den >= den_trusted);
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
            if (!all(unchanged)) { /* rare: few points exceed the best one found before
                                    */
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
