/* kernel.cl - the device side: one work-item per (A, B, C). */
#include "body.h"

/* The range is rounded up to whole work-groups: what lies beyond np does nothing. */
__kernel void search(CONSTANT const query *q, CONSTANT const trace *traces,
                     GLOBAL const float *samples, GLOBAL float *room,
                     GLOBAL point *part)
{
    int w = window_of(q);

    size_t item =
        get_global_id(0) +
        get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
    room += item * room_of(q->ntraces, w);
    workspace ws = workspace_of(room, q->ntraces, w);

    /* Where the range is shorter than np, a work-item takes more than one part. */
    for (int ia = get_global_id(0); ia < q->np[0]; ia += get_global_size(0))
        for (int ib = get_global_id(1); ib < q->np[1]; ib += get_global_size(1))
            for (int ic = get_global_id(2); ic < q->np[2]; ic += get_global_size(2))
                part[part_of(q, ia, ib, ic)] =
                    search_abc(ia, ib, ic, traces, samples, q, w, ws);
}
