/* kernel.cl - the device side: one work-item per (A, B, C) of a block of samples. The
 * arrays are row-major: samples[gather trace][pitch], part[sample][parts]. */
#include "block.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing.
 * Neighbouring work-items have neighbouring blocks. If the range is smaller than the
 * number of parts, a work-item searches more than one. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, chunk ch, GLOBAL point *part,
                     int parts)
{
    int w = window_length(q);
    int n = ch.np[A] * ch.blocks;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        for (int ib = get_global_id(1); ib < ch.np[B]; ib += get_global_size(1))
            for (int ic = get_global_id(2); ic < ch.np[C]; ic += get_global_size(2))
                search_block(i % ch.blocks, i / ch.blocks, ib, ic, traces, samples, q,
                             &ch, w, part, parts);
}
