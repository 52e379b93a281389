/* moveout.h - window=moveout: a window consists of the samples at the arrivals of
 * neighbouring t0 (search_moveout() in semblance.h has the definition).
 *
 * The sample of a point at t0 + j is then the same in all windows that contain it. So
 * each trace is visited once for each t0, whatever the length of the window, and a
 * window adds up what its samples have. The sums are made anew for each window: to
 * subtract the first sample from the sum of the window before is cheaper, but after a
 * large amplitude the difference consists of rounding errors only.
 *
 * Values that belong to the samples of an output trace are stored in rows of `stride`
 * floats: those of all samples -tau .. samples + tau - 1, or of the samples from 0 on,
 * and more at the end, so that they can be processed in blocks of LANES.
 */

typedef struct {
    int samples, tau, ntraces;
    int blocks;        /* of LANES samples, from -tau on */
    int stride;        /* of the rows of samples */
    int traces_stride; /* of the rows of traces: ntraces, and more at the end */
} moveout_shape;

HOST_DEVICE_FN moveout_shape shape_of(int samples, int tau, int ntraces,
                                      int lanes_count)
{
    moveout_shape s;
    s.samples = samples;
    s.tau = tau;
    s.ntraces = ntraces;
    s.blocks = (samples + 2 * tau + lanes_count - 1) / lanes_count;
    s.stride = (s.blocks + 1) * lanes_count;
    s.traces_stride = (ntraces + lanes_count - 1) / lanes_count * lanes_count;
    return s;
}

/* The rows of the input, in this order: t0 in samples, < 0 before time 0; p0 and width
 * of each parameter, whose value i is p0 + i / np width. */
enum {
    T0_ROW,
    P0_ROW,
    WIDTH_ROW = P0_ROW + PARAMETERS,
    INPUT_ROWS = WIDTH_ROW + PARAMETERS
};

/* The rows of the traces have what each parameter is multiplied by in the traveltime:
 * dm, dh, dh^2, dm^2 and dh dm. */

/* The rows of the sums of a point: S^2, K Q and S / K. */
enum { NUMERATOR_ROW, DENOMINATOR_ROW, MEAN_ROW, SUM_ROWS };

/* The rows of the best points of the samples from 0 on. Their numbers, in the order of
 * the search, are in an array of ints. */
enum { SEMBLANCE_ROW, STACK_ROW, BEST_ROWS };

/* Returns the fractions i / np of the values of a point. */
FN void point_fractions(CONSTANT const query *q, int number, float *fraction)
{
    for (int k = PARAMETERS - 1; k >= 0; k--) {
        fraction[k] = (float)(number % q->np[k]) / (float)q->np[k];
        number /= q->np[k];
    }
}

/* Arrivals in samples, of lanes along t0 or along the traces; NaN if the operator has
 * none (t^2 < 0). The sum in parentheses does not depend on t, so a processor can
 * compute both at once. */
FN lanes arrivals(lanes t0, const lanes *p, const lanes *factor)
{
    lanes t = t0 + p[A] * factor[A] + p[B] * factor[B];
    return root(t * t + (p[C] * factor[C] + p[D] * factor[D] + p[E] * factor[E]));
}

/* Sets first[LANES] for the traces from n on and a block with the parameters p, whose
 * first sample is t0: the largest LANES intervals of each trace that contain the first
 * arrival. */
FN void find_first(const moveout_shape *s, GLOBAL const float *factors, int n, float t0,
                   const lanes *p, int ns, int *first)
{
    float last = ns - 1 - LANES;
    lanes one[PARAMETERS], factor[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++) {
        one[k] = each(lane(p[k], 0));
        factor[k] = load(factors + k * s->traces_stride + n);
    }
    lanes x = arrivals(each(t0), one, factor);
    x = pick(x >= 0, x, each(0));
    x = pick(x < last, x, each(last));
    for (int l = 0; l < LANES; l++) first[l] = (int)lane(x, l);
}

/* The sums of a block of samples over the traces. */
typedef struct {
    lanes sum, squares, skipped;
} block_sums;

/* Adds the traces to the sums if all arrivals lie in the LANES intervals from first[]
 * on; returns 0 if they do not, and the sums are of no use. */
FN int add_close(const moveout_shape *s, GLOBAL const float *factors, lanes t0,
                 const lanes *p, CONSTANT const trace *traces,
                 GLOBAL const float *samples, CONSTANT const query *q, block_sums *sums)
{
    lanes sum = each(0), squares = each(0);
    mask outside = whole(each(0));
    for (int begin = 0; begin < s->ntraces; begin += LANES) {
        int first[LANES], end = begin + LANES < s->ntraces ? begin + LANES : s->ntraces;
        find_first(s, factors, begin, lane(t0, 0), p, q->ns, first);
        for (int n = begin; n < end; n++) {
            int from = first[n - begin];
            GLOBAL const float *y = samples + (size_t)traces[n].row * q->pitch + from;
            lanes factor[PARAMETERS];
            for (int k = 0; k < PARAMETERS; k++)
                factor[k] = each(factors[k * s->traces_stride + n]);
            lanes x = arrivals(t0, p, factor);
            mask ix = whole(x), near = minus(ix, from);
            outside |= near;
            lanes weight1 = x - real(ix);
            lanes y0 = permute(load(y), near), y1 = permute(load(y + 1), near);
            lanes v = y0 + weight1 * (y1 - y0);
            sum += v;
            squares += v * v;
        }
    }
    /* A lane without an arrival has the sum NaN, and whole(NaN) may be 0. */
    outside |= sum != sum;
    sums->sum = sum;
    sums->squares = squares;
    sums->skipped = each(0);
    return all((outside & -LANES) == 0);
}

/* Adds the traces to the sums, wherever the arrivals are. */
FN void add_any(const moveout_shape *s, GLOBAL const float *factors, lanes t0,
                const lanes *p, CONSTANT const trace *traces,
                GLOBAL const float *samples, CONSTANT const query *q, block_sums *sums)
{
    int first[LANES];
    sums->sum = sums->squares = sums->skipped = each(0);
    for (int n = 0; n < s->ntraces && !all(sums->skipped >= 2); n++) {
        if (n % LANES == 0 && q->ns > LANES)
            find_first(s, factors, n, lane(t0, 0), p, q->ns, first);
        GLOBAL const float *y = samples + (size_t)traces[n].row * q->pitch;
        lanes factor[PARAMETERS], v = each(0);
        for (int k = 0; k < PARAMETERS; k++)
            factor[k] = each(factors[k * s->traces_stride + n]);
        lanes x = arrivals(t0, p, factor);
        mask inside = (x >= 0) & (x < (float)(q->ns - 1));
        lanes inside_x = pick(inside, x, each(0));
        mask ix = whole(inside_x);
        lanes weight1 = x - real(ix);
        int from = q->ns > LANES ? first[n % LANES] : 0;
        mask near = ix - from;
        if (q->ns > LANES && all(~inside | ((near & -LANES) == 0))) {
            lanes y0 = permute(load(y + from), near);
            lanes y1 = permute(load(y + from + 1), near);
            v = y0 + weight1 * (y1 - y0);
        } else {
            for (int l = 0; l < LANES; l++) {
                int k = lane(inside_x, l);
                lane(v, l) = y[k] + lane(weight1, l) * (y[k + 1] - y[k]);
            }
        }
        v = pick(inside, v, each(0));
        sums->sum += v;
        sums->squares += v * v;
        sums->skipped += pick(inside, each(0), each(1));
    }
}

/* Computes a block of the rows of sums of a point. */
FN void sum_block(const moveout_shape *s, int block, GLOBAL const float *input,
                  GLOBAL const float *factors, const float *fraction,
                  CONSTANT const trace *traces, GLOBAL const float *samples,
                  CONSTANT const query *q, GLOBAL float *rows)
{
    int i = block * LANES, stride = s->stride;
    lanes p[PARAMETERS];
    for (int k = 0; k < PARAMETERS; k++)
        p[k] = load(input + (P0_ROW + k) * stride + i) +
               fraction[k] * load(input + (WIDTH_ROW + k) * stride + i);
    lanes t0 = load(input + T0_ROW * stride + i), from_0 = pick(t0 < 0, each(0), t0);
    block_sums sums;
    int close = LANES > 1 && q->ns > LANES &&
                add_close(s, factors, from_0, p, traces, samples, q, &sums);
    if (!close) add_any(s, factors, from_0, p, traces, samples, q, &sums);

    lanes used = (float)s->ntraces - sums.skipped;
    mask valid = (sums.skipped < 2) & (used > 0) & (t0 >= 0);
    rows += i;
    unload(rows + NUMERATOR_ROW * stride, pick(valid, sums.sum * sums.sum, each(0)));
    unload(rows + DENOMINATOR_ROW * stride, pick(valid, used * sums.squares, each(0)));
    unload(rows + MEAN_ROW * stride, pick(valid, sums.sum / used, each(0)));
}

/* Computes the semblances of a point, whose sums are in rows, for a block of samples
 * from 0 on, and keeps it where it is the best. */
FN void keep_block(const moveout_shape *s, int block, int number,
                   GLOBAL const float *rows, GLOBAL float *best, GLOBAL int *numbers)
{
    int k = block * LANES, stride = s->stride;
    GLOBAL const float *window = rows + k, *middle = window + s->tau;
    lanes numerator = each(0), denominator = each(0);
    for (int j = 0; j <= 2 * s->tau; j++) {
        numerator += load(window + NUMERATOR_ROW * stride + j);
        denominator += load(window + DENOMINATOR_ROW * stride + j);
    }
    mask valid = load(middle + DENOMINATOR_ROW * stride) > 0;
    lanes found = pick(valid, numerator / denominator, each(0));
    best += k;
    lanes before = load(best + SEMBLANCE_ROW * stride);
    mask worse = found <= before;
    if (all(worse)) return;
    lanes stack = load(best + STACK_ROW * stride);
    lanes mean = load(middle + MEAN_ROW * stride);
    unload(best + SEMBLANCE_ROW * stride, pick(worse, before, found));
    unload(best + STACK_ROW * stride, pick(worse, stack, mean));
    for (int l = 0; l < LANES; l++)
        if (lane(found, l) > lane(before, l)) numbers[k + l] = number;
}
