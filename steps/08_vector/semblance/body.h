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

/* Index of part (ia, ib, ic) in part[np[A]][np[B]][np[C]]. */
FN size_t part_index(CONSTANT const query *q, int ia, int ib, int ic)
{
    return ((size_t)ia * q->np[B] + ib) * q->np[C] + ic;
}

/* The best point of each lane. The indices id and ie are floats, which pick() can
 * select like the other members; they are exact below 2^24. */
typedef struct {
    lanes id, ie, stack, semblance;
} lane_points;

/* Adds the window of one trace, which has ns samples at y; each lane has its own
 * arrival x. A lane whose window is not inside the trace counts it in *skipped. Returns
 * 1 if all lanes are inside and close together, 0 if each lane loaded its own samples.
 */
FN int add_trace(GLOBAL const float *y, int ns, int w, lanes x, lanes *num, lanes *den,
                 lanes *skipped)
{
    int tau = w / 2;
    lanes squares = each(0);

    /* The window takes the samples x - tau .. x + tau, and interpolation one more. x is
     * NaN if the operator has no arrival. */
    float x_first = lane(x, 0), x_last = lane(x, LANES - 1);
    float x_min = x_first < x_last ? x_first : x_last;
    int first = x_min >= tau && x_min < ns ? (int)x_min : tau;
    lanes distance = x - (float)first;
    if (all((distance >= 0) & (distance < (float)LANES)) && first + tau + LANES < ns) {
        mask near = whole(distance);
        lanes weight1 = distance - real(near), weight0 = 1 - weight1;
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
        *den += squares;
        return 1;
    }

    int start[LANES];
    lanes weight1 = each(0), weight0 = each(0), y0 = each(0), y1 = each(0);
    for (int l = 0; l < LANES; l++) {
        float x_lane = lane(x, l);
        int lane_inside = x_lane >= tau && x_lane < ns - tau - 1;
        int ix = lane_inside ? (int)x_lane : tau;
        start[l] = ix - tau;
        lane(weight1, l) = lane_inside ? x_lane - ix : 0;
        lane(weight0, l) = lane_inside ? 1 - lane(weight1, l) : 0;
        lane(y0, l) = y[start[l]];
        lane(*skipped, l) += !lane_inside;
    }
    UNROLL
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
