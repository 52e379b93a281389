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
#include "lanes.h"
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

/* The best point of each lane: LANES neighbouring values of E are computed at a time.
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
 * arrival x. A lane whose window is not inside the trace counts it in *skipped. Returns
 * 1 if the lanes shared all samples, 0 if each lane loaded its own. */
FN int add_trace(GLOBAL const float *y, int ns, int w, lanes x, lanes *num, lanes *den,
                 lanes *skipped)
{
    int tau = w / 2;

    /* The window takes the samples x - tau .. x + tau, and interpolation one more. x is
     * monotonic in E: if the first and the last lane lie between the same two samples,
     * all lanes do. */
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

/* Returns the best point of one (A, B, C), in windows of w samples: the work of one
 * thread or work-item. LANES values of E are searched at a time. t2_abc is its
 * workspace, one float per trace: the value of trace i is t2_abc[i * stride]. */
FN point search_abc(int ia, int ib, int ic, CONSTANT const trace *traces,
                    GLOBAL const float *samples, CONSTANT const query *q, int w,
                    GLOBAL float *t2_abc, int stride)
{
    lanes num[MAX_WINDOW];

    float t0 = q->t0 * q->idt;
    float a = value(q, A, ia);
    float b = value(q, B, ib);
    float c = value(q, C, ic);
    lane_points best = {each(0), each(0), each(0), each(-1)};

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
        for (int ie = 0; ie < q->np[E]; ie += LANES) {
            /* Lanes after the last E repeat the last E. */
            lanes e = each(0), e_index = each(0);
            for (int l = 0; l < LANES; l++) {
                lane(e_index, l) = ie + l < q->np[E] ? ie + l : q->np[E] - 1;
                lane(e, l) = value(q, E, lane(e_index, l));
            }

            for (int j = 0; j < w; j++) num[j] = each(0);
            lanes den = each(0), skipped = each(0);

            for (int i = 0; i < q->ntraces; i++) {
                float dm = traces[i].dm;
                float dh = traces[i].dh;
                GLOBAL const float *y = samples + (size_t)traces[i].row * q->pitch;

                /* Arrival in samples; NaN if the operator has none (t^2 < 0). */
                lanes x = root(t2_abc[(size_t)i * stride] + dm * (d * dm + e * dh));
                int aligned = add_trace(y, q->ns, w, x, num, &den, &skipped);
                if (!aligned && all(skipped >= 2)) break;
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
