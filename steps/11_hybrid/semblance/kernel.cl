/* kernel.cl - the device side: the items first .. end - 1 of a work list. */
#include "block.h"
#include "bound.h"
#include "nodes.h"
#include "part.h"
#include "share.h"

/* Bounds of cells, one work-item for each. */
__kernel void bounds(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, int first, int end,
                     GLOBAL cell_bound *order)
{
    int n = first + get_global_id(0);
    if (n < end) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {
            bound(window_length(q), ia, ib, 0, q->np[C], traces, samples, q), n};
        order[n] = entry;
    }
}

/* Returns the larger one of two incumbents: of the device, in fixed point, and of the
 * host. */
FN float larger(volatile GLOBAL int *incumbent, float host_incumbent)
{
    return fmax(atomic_max(incumbent, 0) / FIXED_POINT_ONE, host_incumbent);
}

/* Parts of a single sample in the order of their bounds: one work-item for each or, on
 * a GPU, one work-group. *incumbent is the largest semblance that the device has found;
 * host_incumbent is that of both sides when the batch was enqueued. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, int first, int end,
                     GLOBAL const cell_bound *order, int prune, GLOBAL point *part,
                     volatile GLOBAL int *incumbent, float host_incumbent)
{
#if LANES > 1
    int n = first + get_global_id(0);
#else
    LOCAL share_best found[SHARERS];
    LOCAL int needed;
    int n = first + get_group_id(0), item = get_local_id(0);
#endif
    /* The range is rounded up to whole work-groups. */
    if (n >= end) return;
    cell_bound entry = order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
    int w = window_length(q);
    point p = first_point(q, ia, ib, ic);

#if LANES > 1
    if (is_needed(w, entry, ic, prune, larger(incumbent, host_incumbent), traces,
                  samples, q))
        p = search_nodes(w, ia, ib, ic, traces, samples, q);
#else
    if (item == 0)
        needed = is_needed(w, entry, ic, prune, larger(incumbent, host_incumbent),
                           traces, samples, q);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (needed) {
        found[item] = search_share(w, item, ia, ib, ic, traces, samples, q);
        for (int active = SHARERS / 2; active > 0; active /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < active)
                found[item] = better_share(found[item], found[item + active]);
        }
    }
    if (item > 0) return;
    if (needed) p = shared_point(q, ia, ib, ic, found[0]);
#endif
    atomic_max(incumbent, to_fixed_point(p.semblance));
    part[n] = p;
}

/* Parts of the samples of a chunk: one work-item for each block of a part.
 * Neighbouring work-items have neighbouring blocks. */
__kernel void search_blocks(CONSTANT const query *q, CONSTANT const trace *traces,
                            GLOBAL const float *samples, int first, int end, chunk ch,
                            GLOBAL point *part)
{
    int i = get_global_id(0), n = first + i / ch.blocks, block = i % ch.blocks;
    if (n < end) search_part(window_length(q), block, n, traces, samples, q, &ch, part);
}
