/* share.h - the search of one (A, B, C) by many threads of a GPU. Each thread has a
 * share of its points (D, E). LANES is 1.
 *
 * The bounds leave few (A, B, C): with one thread for each, a GPU would be idle. There
 * are no knots and no nodes here: those of all threads would not fit into the caches.
 */

/* Number of threads that search an (A, B, C) together: two warps. It is a power of two,
 * because each step of the reduction halves it. */
#define SHARERS 64

/* The host side of OpenCL includes this file for the number only. */
#if LANES == 1
/* The best point that a thread has found. Point (id, ie) has the number id np[E] + ie.
 */
typedef struct {
    float semblance, stack;
    long number;
} share_best;

/* Returns the better one: of two equal points the first. */
FN share_best better_share(share_best x, share_best y)
{
    if (x.semblance == y.semblance) return x.number < y.number ? x : y;
    return x.semblance > y.semblance ? x : y;
}

/* Returns the best of the points first, first + SHARERS, .. of one (A, B, C), in
 * windows of w samples. A share without points has a semblance of -1. */
FN share_best search_share(int first, int ia, int ib, int ic,
                           CONSTANT const trace *traces, GLOBAL const float *samples,
                           CONSTANT const query *q, int w)
{
    float t0 = q->t0 * q->idt, num[MAX_WINDOW];
    float a = value(q, A, ia), b = value(q, B, ib), c = value(q, C, ic);
    share_best best = {-1, 0, first};

    for (long n = first; n < (long)q->np[D] * q->np[E]; n += SHARERS) {
        float d = value(q, D, n / q->np[E]), e = value(q, E, n % q->np[E]);
        UNROLL
        for (int j = 0; j < w; j++) num[j] = 0;
        float den = 0, skipped = 0;

        for (int i = 0; i < q->ntraces && skipped < 2; i++) {
            float dm = traces[i].dm, dh = traces[i].dh, t = t0 + a * dm + b * dh;
            float x = root(t * t + c * (dh * dh) + dm * (d * dm + e * dh));
            add_trace(samples + (size_t)traces[i].row * q->pitch, q->ns, w, x, num,
                      &den, &skipped);
        }

        float squares = 0, sum = 0, used = q->ntraces - skipped;
        UNROLL
        for (int j = 0; j < w; j++) {
            squares += num[j] * num[j];
            sum += num[j];
        }
        int valid = skipped < 2 && den > 0;
        share_best found = {valid ? squares / (den * used) : 0,
                            valid ? sum / (used * w) : 0, n};
        if (found.semblance > best.semblance) best = found;
    }
    return best;
}

/* Returns the point of one (A, B, C) that its shares found. */
FN point shared_point(CONSTANT const query *q, int ia, int ib, int ic, share_best best)
{
    point p = {value(q, A, ia),
               value(q, B, ib),
               value(q, C, ic),
               value(q, D, best.number / q->np[E]),
               value(q, E, best.number % q->np[E]),
               best.stack,
               best.semblance};
    return p;
}
#endif
