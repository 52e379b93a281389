/* kernel.cl - the device side: one work-item per value of A. The arrays are row-major:
 * samples[gather trace][pitch], part[np[A]][np[B]]. */
#include "body.h"

/* The range is rounded up to whole work-groups: work-items outside np do nothing. */
__kernel void search(GLOBAL const query *q, GLOBAL const trace *traces,
                     GLOBAL const float *samples, GLOBAL point *part)
{
    int w = window_length(q);
    int ia = get_global_id(0);

    if (ia < q->np[A])
        search_a(ia, traces, samples, q, w, part + (size_t)ia * q->np[B]);
}
