/* moveout.h - window=moveout: a window consists of the samples at the arrivals of
 * neighbouring t0 (search_moveout() in semblance.h has the definition).
 *
 * The sample of a point at t0 + j is then the same in all windows that contain it. So
 * each trace is visited once for each t0, whatever the length of the window, and a
 * window adds up what its samples have. The sums are made anew for each window: to
 * subtract the first sample from the sum of the window before is cheaper, but after a
 * large amplitude the difference consists of rounding errors only.
 */

/* What all threads read.
 * The rows of an output trace have a float for each sample -tau .. samples + tau - 1,
 * and more at the end, so that they can be processed in blocks of LANES. With them,
 * value i of parameter k is p0[k] + i / np[k] width[k].
 * The rows of the traces have a float for each trace, and more at the end: factor[k] is
 * what parameter k is multiplied by in the traveltime. */
typedef struct {
    int samples, tau, ntraces;
    int blocks; /* of LANES samples, from -tau on */
    float *t0;  /* in samples; < 0 before time 0 */
    float *p0[PARAMETERS], *width[PARAMETERS];
    float *factor[PARAMETERS]; /* dm, dh, dh^2, dm^2, dh dm */
} moveout_input;

/* Rows of one thread. The first three belong to one point, from sample -tau on; the
 * next three have the best point of each sample from 0 on, and its number in the order
 * of the search. */
typedef struct {
    float *numerator, *denominator, *mean; /* S^2, K Q, S / K */
    float *semblance, *stack;
    int *number;
    int *first; /* [ntraces]: the sample where the arrivals of a block begin */
} moveout_rows;

/* Lengths of the two kinds of rows. */
static int sample_row(int samples, int tau)
{
    return (samples + 2 * tau + 2 * LANES - 1) / LANES * LANES;
}

static int trace_row(int ntraces)
{
    return (ntraces + LANES - 1) / LANES * LANES;
}

/* Arrivals in samples, of lanes along t0 or along the traces; NaN if the operator has
 * none (t^2 < 0). */
static inline lanes arrivals(lanes t0, const lanes *p, const lanes *factor)
{
    lanes t = t0 + p[A] * factor[A] + p[B] * factor[B];
    return root(t * t + p[C] * factor[C] + p[D] * factor[D] + p[E] * factor[E]);
}

/* Sets first[] for a block with the parameters p, whose first sample is t0: the largest
 * LANES intervals of each trace that contain the first arrival. */
static inline void find_first(const moveout_input *m, float t0, const lanes *p, int ns,
                              int *first)
{
    float last = ns - 1 - LANES;
    for (int n = 0; n < m->ntraces; n += LANES) {
        lanes one[PARAMETERS], factor[PARAMETERS];
        for (int k = 0; k < PARAMETERS; k++) {
            one[k] = each(lane(p[k], 0));
            factor[k] = load(m->factor[k] + n);
        }
        lanes x = arrivals(each(t0), one, factor);
        x = pick(x >= 0, x, each(0));
        mask begin = whole(pick(x < last, x, each(last)));
        for (int l = 0; l < LANES; l++) first[n + l] = begin[l];
    }
}

/* The sums of a block of samples over the traces. */
typedef struct {
    lanes sum, squares, skipped;
} block_sums;

/* Adds the traces to the sums if all arrivals lie in the LANES intervals from first[]
 * on; returns 0 if they do not, and the sums are of no use. */
static inline int add_close(const moveout_input *m, lanes t0, const lanes *p,
                            const trace *traces, const float *samples, const query *q,
                            const int *first, block_sums *sums)
{
    lanes sum = each(0), squares = each(0);
    mask outside = {0};
    for (int n = 0; n < m->ntraces; n++) {
        const float *y = samples + (size_t)traces[n].row * q->pitch + first[n];
        lanes factor[PARAMETERS];
        for (int k = 0; k < PARAMETERS; k++) factor[k] = each(m->factor[k][n]);
        lanes x = arrivals(t0, p, factor);
        mask ix = whole(x), near = ix - first[n];
        outside |= near;
        lanes weight1 = x - real(ix);
        lanes y0 = permute(load(y), near), y1 = permute(load(y + 1), near);
        lanes v = y0 + weight1 * (y1 - y0);
        sum += v;
        squares += v * v;
    }
    *sums = (block_sums){sum, squares, each(0)};
    return all((outside & -LANES) == 0);
}

/* Adds the traces to the sums, wherever the arrivals are. */
static inline void add_any(const moveout_input *m, lanes t0, const lanes *p,
                           const trace *traces, const float *samples, const query *q,
                           const int *first, block_sums *sums)
{
    *sums = (block_sums){each(0), each(0), each(0)};
    for (int n = 0; n < m->ntraces && !all(sums->skipped >= 2); n++) {
        const float *y = samples + (size_t)traces[n].row * q->pitch;
        lanes factor[PARAMETERS], v = each(0);
        for (int k = 0; k < PARAMETERS; k++) factor[k] = each(m->factor[k][n]);
        lanes x = arrivals(t0, p, factor);
        mask inside = (x >= 0) & (x < (float)(q->ns - 1));
        mask ix = whole(pick(inside, x, each(0))), near = ix - first[n];
        lanes weight1 = x - real(ix);
        if (q->ns > LANES && all(~inside | ((near & -LANES) == 0))) {
            lanes y0 = permute(load(y + first[n]), near);
            lanes y1 = permute(load(y + first[n] + 1), near);
            v = y0 + weight1 * (y1 - y0);
        } else {
            for (int l = 0; l < LANES; l++)
                lane(v, l) = y[ix[l]] + lane(weight1, l) * (y[ix[l] + 1] - y[ix[l]]);
        }
        v = pick(inside, v, each(0));
        sums->sum += v;
        sums->squares += v * v;
        sums->skipped += pick(inside, each(0), each(1));
    }
}

/* Computes the sums of a point at all samples. fraction[k] is i / np[k], if the point
 * has value i of parameter k. */
static inline void sum_arrivals(const moveout_input *m, const float *fraction,
                                const trace *traces, const float *samples,
                                const query *q, moveout_rows rows)
{
    for (int i = 0; i < m->blocks * LANES; i += LANES) {
        lanes p[PARAMETERS];
        for (int k = 0; k < PARAMETERS; k++)
            p[k] = load(m->p0[k] + i) + fraction[k] * load(m->width[k] + i);
        lanes t0 = load(m->t0 + i), from_0 = pick(t0 < 0, each(0), t0);
        block_sums sums;
        int close = 0;
        if (q->ns > LANES) {
            find_first(m, lane(from_0, 0), p, q->ns, rows.first);
            close = add_close(m, from_0, p, traces, samples, q, rows.first, &sums);
        }
        if (!close) add_any(m, from_0, p, traces, samples, q, rows.first, &sums);

        lanes used = (float)m->ntraces - sums.skipped;
        mask valid = (sums.skipped < 2) & (used > 0) & (t0 >= 0);
        unload(rows.numerator + i, pick(valid, sums.sum * sums.sum, each(0)));
        unload(rows.denominator + i, pick(valid, used * sums.squares, each(0)));
        unload(rows.mean + i, pick(valid, sums.sum / used, each(0)));
    }
}

/* Computes the semblances of a point, and keeps it where it is the best. */
static inline void keep_best(const moveout_input *m, int number, moveout_rows rows)
{
    for (int k = 0; k < m->samples; k += LANES) {
        lanes numerator = each(0), denominator = each(0);
        for (int j = 0; j <= 2 * m->tau; j++) {
            numerator += load(rows.numerator + k + j);
            denominator += load(rows.denominator + k + j);
        }
        mask valid = load(rows.denominator + k + m->tau) > 0;
        lanes s = pick(valid, numerator / denominator, each(0));
        lanes best = load(rows.semblance + k);
        mask worse = s <= best;
        if (all(worse)) continue;
        lanes stack = load(rows.stack + k), mean = load(rows.mean + k + m->tau);
        unload(rows.semblance + k, pick(worse, best, s));
        unload(rows.stack + k, pick(worse, stack, mean));
        for (int l = 0; l < LANES; l++)
            if (!lane(worse, l)) rows.number[k + l] = number;
    }
}
