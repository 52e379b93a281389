/* kernel.cl - the device side: one work-item a cell of a grid of the batch. */
#include "body.h"

/* One step. unstable is for the host to look through: it is 0 in every stable cell. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *unstable,
                      int dim, int batch)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int g = get_global_id(2);
    size_t id = ((size_t)g * dim + y) * dim + x;

    /* The range is rounded up to whole work-groups: what lies beyond does nothing. */
    if (x >= dim || y >= dim || g >= batch) return;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = after(in + id, dim);
        out[id] = v;
    }
    unstable[id] = v & ~3u;
}
