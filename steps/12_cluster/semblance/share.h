/* share.h - the search of one (A, B, C) by many threads of a GPU. Each thread has a
 * share of its points (D, E). LANES is 1.
 *
 * The bounds leave few (A, B, C): with one thread for each, a GPU would be idle. There
 * are no nodes here: those of all threads would not fit into the caches.
 */

/* Number of threads that search an (A, B, C) together: two warps. It is a power of two,
 * because each step of the reduction halves it. */
#define SHARERS 64

/* The host side of OpenCL includes this file for the number only. */
#if LANES == 1
/* The best point that a thread has found. Point (id, ie) has the number id np[E] + ie.
 */
typedef struct {
    lane_values value;
    int number;
} share_best;

/* Returns the better one: of two equal points the first. */
FN share_best better_share(share_best x, share_best y)
{
    if (x.value.semblance == y.value.semblance) return x.number < y.number ? x : y;
    return x.value.semblance > y.value.semblance ? x : y;
}

/* Returns the best of the points first, first + SHARERS, .. of one (A, B, C), in
 * windows of w samples. A share without points has a semblance of -1. */
FN share_best search_share(int w, int first, int ia, int ib, int ic,
                           CONSTANT const trace *traces, GLOBAL const float *samples,
                           CONSTANT const query *q)
{
    lane_operator o = {
        q->t0 * q->idt, value(q, A, ia), value(q, B, ib), value(q, C, ic), 0, 0};
    share_best best = {{-1, 0}, first};
    for (int n = first; n < q->np[D] * q->np[E]; n += SHARERS) {
        o.d = value(q, D, n / q->np[E]);
        o.e = value(q, E, n % q->np[E]);
        share_best found = {semblance(&o, w, traces, samples, q), n};
        if (found.value.semblance > best.value.semblance) best = found;
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
               best.value.stack,
               best.value.semblance};
    return p;
}
#endif
