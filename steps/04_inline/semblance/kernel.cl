/* kernel.cl - the device side: one work-item per (A, B, C). The arrays are row-major:
 * samples[gather trace][pitch], part[np[A]][np[B]][np[C]]. */
#include "body.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing. */
__kernel void search(GLOBAL const query *q, GLOBAL const trace *traces,
                     GLOBAL const float *samples, GLOBAL point *part)
{
    int w = window_length(q);
    int ia = get_global_id(0);
    int ib = get_global_id(1);
    int ic = get_global_id(2);

    if (ia < q->np[A] && ib < q->np[B] && ic < q->np[C])
        part[part_index(q, ia, ib, ic)] = search_abc(ia, ib, ic, traces, samples, q, w);
}
