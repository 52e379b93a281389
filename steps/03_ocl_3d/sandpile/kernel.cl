/* kernel.cl - device code: one work-item per cell, in a range of columns and rows. */
#include "body.h"

/* Computes one step. unstable[i] is 0 if cell i is stable; the host searches it for
 * other values. */
__kernel void do_step(GLOBAL const cell *in, GLOBAL cell *out, GLOBAL cell *unstable,
                      int dim)
{
    int x = get_global_id(0);
    int y = get_global_id(1);
    int id = y * dim + x;

    /* The range is rounded up to a multiple of the group size; work-items outside the
     * grid do nothing. */
    if (x >= dim || y >= dim) return;

    cell v = 0;
    if (y > 0 && y < dim - 1 && x > 0 && x < dim - 1) {
        v = next_grains(in + id, dim);
        out[id] = v;
    }
    unstable[id] = v & ~3u;
}
