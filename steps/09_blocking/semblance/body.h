/* body.h - the semblance of LANES points of the search at a time.
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
 * The lanes of a vector are neighbouring samples of the output trace, or, for a single
 * sample, neighbouring values of (D, E). In both cases the arrivals of the lanes are
 * mostly close to each other, so that one load reads the samples of all lanes:
 *
 *     lane          0   1   2   3                 LANES = 4
 *     arrival x   7.2 7.9 8.7 9.4
 *     (int)x        7   7   8   9
 *     first = 7, near[l] = (int)(x[l] - first) = 0 0 1 2
 *     load(y + 7)  y[7] y[8] y[9] y[10],  permuted by near: y[7] y[7] y[8] y[9]
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
HOST_DEVICE_FN float value(CONSTANT const query *q, int k, int i)
{
    return q->p0[k] + ((float)i / (float)q->np[k]) * (q->p1[k] - q->p0[k]);
}

/* Index of part (ia, ib, ic) in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(CONSTANT const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
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

/* Traces whose arrivals are computed together, before their windows are added. On a CPU
 * two short loops are faster than a long one (the lesson of step 08 has the times). */
#define ARRIVALS (LANES == 1 ? 1 : 16)

/* LANES points of the search: t0 in samples, and the parameters. */
typedef struct {
    lanes t0, a, b, c, d, e;
} lane_operator;

/* Their semblances and stacks. */
typedef struct {
    lanes semblance, stack;
} lane_values;

/* Returns the arrivals at a trace in samples, NaN where the operator has none. */
FN lanes arrival(const lane_operator *o, float dm, float dh)
{
    lanes t = o->t0 + o->a * dm + o->b * dh;
    return root(t * t + o->c * (dh * dh) + dm * (o->d * dm + o->e * dh));
}

/* Returns the semblances and the stacks of these sums. */
FN lane_values quotients(const lanes *num, lanes den, lanes skipped, int ntraces, int w)
{
    lanes sum = each(0), squares = each(0);
    UNROLL
    for (int j = 0; j < w; j++) {
        sum += num[j];
        squares += num[j] * num[j];
    }
    lanes used = (float)ntraces - skipped;
    mask valid = (skipped < 2) & (den > 0);
    lane_values v = {pick(valid, squares / (den * used), each(0)),
                     pick(valid, sum / (used * (float)w), each(0))};
    return v;
}

/* Computes the semblances and the stacks of LANES points, in windows of w samples. */
FN lane_values semblance(const lane_operator *o, int w, CONSTANT const trace *traces,
                         GLOBAL const float *samples, CONSTANT const query *q)
{
    lanes num[MAX_WINDOW];
    UNROLL
    for (int j = 0; j < w; j++) num[j] = each(0);
    lanes den = each(0), skipped = each(0);

    for (int n = 0; n < q->ntraces && !all(skipped >= 2); n += ARRIVALS) {
        int rest = q->ntraces - n; /* at least 1 */
        int count = ARRIVALS == 1 || rest > ARRIVALS ? ARRIVALS : rest;
        lanes x[ARRIVALS];
        for (int i = 0; i < count; i++)
            x[i] = arrival(o, traces[n + i].dm, traces[n + i].dh);
        for (int i = 0; i < count; i++)
            add_trace(samples + (size_t)traces[n + i].row * q->pitch, q->ns, w, x[i],
                      num, &den, &skipped);
    }
    return quotients(num, den, skipped, q->ntraces, w);
}
