/* kernel.cl - the device side: one work-item per (A, B) for the bounds, one per (A, B,
 * C) for the search. */
#include "body.h"
#include "bound.h"

__kernel void bounds(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL ranked *order)
{
    int n = get_global_id(0);
    if (n < q->np[0] * q->np[1]) {
        int ia = n / q->np[1], ib = n % q->np[1];
        ranked r = {bound(ia, ib, 0, q->np[2], traces, samples, q, window_of(q)), n};
        order[n] = r;
    }
}

/* The parts first .. end - 1, in order; *best is the largest semblance so far, in units
 * that an int can count. prune: what cannot exceed it is left out. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL const ranked *order, int first,
                     int end, int prune, GLOBAL float *room, GLOBAL point *part,
                     volatile GLOBAL int *best)
{
    int w = window_of(q);
    room += get_global_id(0) * room_of(q->ntraces, w);
    workspace ws = workspace_of(room, q->ntraces, w);

    /* The range is rounded up to whole work-groups: what lies beyond the end does
     * nothing. Where it is shorter, a work-item takes more than one part. */
    for (int n = first + get_global_id(0); n < end; n += get_global_size(0)) {
        ranked r = order[n / q->np[2]];
        int ia = r.cell / q->np[1], ib = r.cell % q->np[1], ic = n % q->np[2];
        point p = first_of(q, ia, ib, ic);
        float least = atomic_max(best, 0) / COUNTS, most = r.bound;
        if (prune && most > 0 && most >= least)
            most = bound(ia, ib, ic, 1, traces, samples, q, w);
        if (most > 0 && most >= least) {
            p = search_abc(ia, ib, ic, traces, samples, q, w, ws);
            if (p.semblance > least) atomic_max(best, counts_of(p.semblance));
        }
        part[part_of(q, ia, ib, ic)] = p;
    }
}
