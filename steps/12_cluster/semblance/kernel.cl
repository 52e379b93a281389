/* kernel.cl - the device side: one work-item per (A, B) for the bounds, one work-item
 * or, on a GPU, one work-group per (A, B, C) for the search. The host sorts the (A, B)
 * by bound in between; the search takes them in that order. */
#include "block.h"
#include "bound.h"
#include "moveout.h"
#include "share.h"

__kernel void bounds(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL cell_bound *order)
{
    int n = get_global_id(0);
    if (n < q->np[A] * q->np[B]) {
        int ia = n / q->np[B], ib = n % q->np[B];
        cell_bound entry = {
            bound(ia, ib, 0, q->np[C], traces, samples, q, window_length(q)), n};
        order[n] = entry;
    }
}

#if LANES > 1
/* Searches the parts first .. end - 1 in the order of their bounds. *incumbent is the
 * largest semblance so far in fixed point. prune: parts whose bound is below it are not
 * searched. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL const cell_bound *order,
                     int first, int end, int prune, GLOBAL point *part,
                     volatile GLOBAL int *incumbent, GLOBAL float *storage)
{
    int w = window_length(q);
    storage += get_global_id(0) * workspace_floats(q->ntraces, w);
    workspace ws = workspace_at(storage, q->ntraces, w);

    /* The range is rounded up to whole work-groups: work-items after the end do
     * nothing. If the range is smaller, a work-item searches more than one part. */
    for (int n = first + get_global_id(0); n < end; n += get_global_size(0)) {
        cell_bound entry = order[n / q->np[C]];
        int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];
        point p = first_point(q, ia, ib, ic);
        float threshold = atomic_max(incumbent, 0) / FIXED_POINT_ONE,
              upper = entry.bound;
        if (prune && upper > 0 && upper >= threshold)
            upper = bound(ia, ib, ic, 1, traces, samples, q, w);
        if (upper > 0 && upper >= threshold) {
            p = search_abc(ia, ib, ic, traces, samples, q, w, ws);
            if (p.semblance > threshold)
                atomic_max(incumbent, to_fixed_point(p.semblance));
        }
        part[part_index(q, ia, ib, ic)] = p;
    }
}
#else
/* The same with a work-group per part. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL const cell_bound *order,
                     int first, int end, int prune, GLOBAL point *part,
                     volatile GLOBAL int *incumbent)
{
    LOCAL share_best found[SHARERS];
    LOCAL int needed;
    int w = window_length(q);
    int n = first + get_group_id(0), item = get_local_id(0);
    if (n >= end) return;
    cell_bound entry = order[n / q->np[C]];
    int ia = entry.cell / q->np[B], ib = entry.cell % q->np[B], ic = n % q->np[C];

    if (item == 0) {
        float threshold = atomic_max(incumbent, 0) / FIXED_POINT_ONE,
              upper = entry.bound;
        if (prune && upper > 0 && upper >= threshold)
            upper = bound(ia, ib, ic, 1, traces, samples, q, w);
        needed = upper > 0 && upper >= threshold;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (needed) {
        found[item] = search_share(item, ia, ib, ic, traces, samples, q, w);
        for (int active = SHARERS / 2; active > 0; active /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < active)
                found[item] = better_share(found[item], found[item + active]);
        }
        if (item == 0) {
            atomic_max(incumbent, to_fixed_point(found[0].semblance));
            part[part_index(q, ia, ib, ic)] = shared_point(q, ia, ib, ic, found[0]);
        }
    } else if (item == 0) {
        part[part_index(q, ia, ib, ic)] = first_point(q, ia, ib, ic);
    }
}
#endif

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
        search_block(block, ia, ib, ic, 0, traces, samples, q, &ch, window_length(q),
                     part, parts);
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
    int count = q[k].np[A] * q[k].np[B] * q[k].np[C] * ch.split;
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
