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
} trace;

/* Value i of parameter k: 0 is A, 4 is E. */
FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Where the part (ia, ib, ic) of the search lies in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(CONSTANT const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
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

/* For one thread: the best of all (D, E) for one (A, B, C), in windows of w samples,
 * LANES values of E at a time. base has room for a float a trace, each stride after the
 * one before. */
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

    /* All of t^2 that D and E do not change, once instead of for each (D, E). */
    for (int i = 0; i < q->ntraces; i++) {
        float dm = traces[i].dm;
        float dh = traces[i].dh;
        float t = t0 + a * dm + b * dh;
        t2_abc[(size_t)i * stride] = t * t + c * dh * dh;
    }

    for (int id = 0; id < q->np[D]; id++) {
        float d = value(q, D, id);
        for (int ie = 0; ie < q->np[E]; ie += LANES) {
            /* Lanes beyond the last E have it once more. */
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

                /* Arrival in samples, NaN where the moveout has none. */
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
