/* kernel.cl - the device side: one work-item per (A, B) for the bounds, one work-item
 * or, on a GPU, one work-group per (A, B, C) for the search. The host sorts the (A, B)
 * by bound in between; the search takes them in that order. */
#include "block.h"
#include "bound.h"
#include "moveout.h"
#include "nodes.h"
#include "share.h"

__kernel void bounds(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL cell_bound *order)
{
    int n = get_global_id(0);
    if (n < q->np[A] * q->np[B]) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {
            bound(window_length(q), ia, ib, 0, q->np[C], traces, samples, q), n};
        order[n] = entry;
    }
}

/* Returns whether a part may have a better point than *incumbent, the largest semblance
 * so far in fixed point. If prune is 0 all parts are searched. */
FN int is_needed(cell_bound entry, int ic, CONSTANT const query *q,
                 CONSTANT const trace *traces, GLOBAL const float *samples, int prune,
                 volatile GLOBAL int *incumbent)
{
    if (!prune) return 1;
    float threshold = atomic_max(incumbent, 0) / FIXED_POINT_ONE;
    if (entry.bound <= 0 || entry.bound < threshold) return 0;
    float upper = bound(window_length(q), entry.cell / q->np[B], entry.cell % q->np[B],
                        ic, 1, traces, samples, q);
    return upper > 0 && upper >= threshold;
}

/* Searches the parts from `first` on in the order of their bounds. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL const cell_bound *order,
                     int first, int end, int prune, GLOBAL point *part,
                     volatile GLOBAL int *incumbent)
{
#if LANES > 1
    /* The range is rounded up to whole work-groups: work-items after the end do
     * nothing. */
    int n = first + get_global_id(0);
#else
    /* A work-group per part. */
    LOCAL share_best found[SHARERS];
    LOCAL int needed;
    int n = first + get_group_id(0), item = get_local_id(0);
#endif
    if (n >= end) return;
    cell_bound entry = order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
    int w = window_length(q);
    point p = first_point(q, ia, ib, ic);

#if LANES > 1
    if (is_needed(entry, ic, q, traces, samples, prune, incumbent))
        p = search_nodes(w, ia, ib, ic, traces, samples, q);
#else
    if (item == 0) needed = is_needed(entry, ic, q, traces, samples, prune, incumbent);
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
    part[part_index(q, ia, ib, ic)] = p;
}

/* The search of a chunk in blocks, as in step 08: one work-item per (A, B, C) of a
 * block. Neighbouring work-items have neighbouring blocks. */
__kernel void search_blocks(CONSTANT const query *q, CONSTANT const trace *traces,
                            GLOBAL const float *samples, chunk ch, GLOBAL point *part,
                            int parts)
{
    int i = get_global_id(0), block = i % ch.blocks;
    int ic = i / ch.blocks % ch.np[C];
    int ib = i / ch.blocks / ch.np[C] % ch.np[B];
    int ia = i / ch.blocks / ch.np[C] / ch.np[B];
    if (ia < ch.np[A])
        search_block(window_length(q), block, ia, ib, ic, traces, samples, q, &ch, part,
                     parts);
}

/* Picks the best part of each sample, which goes to a row after the parts: one
 * work-group per sample. Each work-item compares every PICKERS-th part, then a tree of
 * comparisons in local memory leaves one. */
__kernel void pick_parts(CONSTANT const query *q, chunk ch, GLOBAL point *part,
                         int parts)
{
    LOCAL candidate best[PICKERS];
    int k = get_group_id(0), item = get_local_id(0);
    GLOBAL const point *own = part + (size_t)k * parts;
    int count = q[k].np[A] * q[k].np[B] * q[k].np[C];
    best[item] = best_part(own, count, item, PICKERS);
    for (int active = PICKERS / 2; active > 0; active /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < active) best[item] = better(best[item], best[item + active]);
    }
    if (item == 0) part[(size_t)ch.samples * parts + k] = own[best[0].part];
}

/* window=moveout: the sums of `points` points from `first` on, one work-item per block
 * of a point. Neighbouring work-items have neighbouring blocks. */
__kernel void sum_points(CONSTANT const query *q, CONSTANT const trace *traces,
                         GLOBAL const float *samples, moveout_shape s,
                         GLOBAL const float *input, GLOBAL float *rows, int first,
                         int points)
{
    int n = get_global_id(0) / s.blocks, block = get_global_id(0) % s.blocks;
    if (n >= points) return;
    float fraction[PARAMETERS];
    point_fractions(q, first + n, fraction);
    sum_block(&s, block, input, input + INPUT_ROWS * s.stride, fraction, traces,
              samples, q, rows + (size_t)n * SUM_ROWS * s.stride);
}

/* Keeps the best of these points, one work-item per block of samples. */
__kernel void keep_points(moveout_shape s, GLOBAL const float *rows, GLOBAL float *best,
                          GLOBAL int *numbers, int first, int points)
{
    int block = get_global_id(0);
    if (block * LANES >= s.samples) return;
    for (int n = 0; n < points; n++)
        keep_block(&s, block, first + n, rows + (size_t)n * SUM_ROWS * s.stride, best,
                   numbers);
}
