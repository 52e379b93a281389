/* kernel.cl - the device side: one work-item per part of a block of samples, then one
 * work-group per sample. The arrays are row-major: samples[gather trace][pitch],
 * part[sample][parts]. */
#include "block.h"
#include "moveout.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing.
 * Neighbouring work-items have neighbouring blocks. If the range is smaller than the
 * number of parts, a work-item searches more than one. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, chunk ch, GLOBAL point *part,
                     int parts)
{
    int w = window_length(q);
    int n = ch.np[A] * ch.blocks * ch.split;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        for (int ib = get_global_id(1); ib < ch.np[B]; ib += get_global_size(1))
            for (int ic = get_global_id(2); ic < ch.np[C]; ic += get_global_size(2))
                search_block(w, i / ch.split % ch.blocks, i / ch.split / ch.blocks, ib,
                             ic, i % ch.split, traces, samples, q, &ch, part, parts);
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
