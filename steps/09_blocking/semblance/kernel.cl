/* kernel.cl - the device side: one work-item per (A, B, C). The arrays are row-major:
 * samples[gather trace][pitch], part[np[A]][np[B]][np[C]]. */
#include "body.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL float *storage,
                     GLOBAL point *part)
{
    int w = window_length(q);

    size_t item =
        get_global_id(0) +
        get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
    storage += item * workspace_floats(q->ntraces, w);
    workspace ws = workspace_at(storage, q->ntraces, w);

    /* If the range is smaller than np, a work-item searches more than one part. */
    for (int ia = get_global_id(0); ia < q->np[A]; ia += get_global_size(0))
        for (int ib = get_global_id(1); ib < q->np[B]; ib += get_global_size(1))
            for (int ic = get_global_id(2); ic < q->np[C]; ic += get_global_size(2))
                part[part_index(q, ia, ib, ic)] =
                    search_abc(ia, ib, ic, traces, samples, q, w, ws);
}
