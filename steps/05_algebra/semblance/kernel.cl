/* kernel.cl - the device side: one work-item per (A, B, C). The arrays are row-major:
 * samples[gather trace][pitch], part[np[A]][np[B]][np[C]]. */
#include "body.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing. */
__kernel void search(GLOBAL const query *q, GLOBAL const trace *traces,
                     GLOBAL const float *samples, GLOBAL float *t2_abc,
                     GLOBAL point *part)
{
    int w = window_length(q);

    /* The t2_abc rows of a group are interleaved: see host.h. */
    int items = get_local_size(0) * get_local_size(1) * get_local_size(2);
    int item =
        get_local_id(0) +
        get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
    size_t group =
        get_group_id(0) +
        get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
    t2_abc += group * items * q->ntraces + item;

    /* If the range is smaller than np, a work-item searches more than one part. */
    for (int ia = get_global_id(0); ia < q->np[A]; ia += get_global_size(0))
        for (int ib = get_global_id(1); ib < q->np[B]; ib += get_global_size(1))
            for (int ic = get_global_id(2); ic < q->np[C]; ic += get_global_size(2))
                part[part_index(q, ia, ib, ic)] =
                    search_abc(ia, ib, ic, traces, samples, q, w, t2_abc, items);
}
