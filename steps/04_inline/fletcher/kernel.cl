/* kernel.cl - the device side: one work-item per point of the grid. */
#include "body.h"

/* Adds f to both fields at point i: a kernel of one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* The range is rounded up to whole work-groups: what lies beyond the grid does nothing.
 */
__kernel void propagate(grid g, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp)
{
    int x = HALO + get_global_id(0);
    int y = HALO + get_global_id(1);
    int z = HALO + get_global_id(2);

    if (x < g.sx - HALO && y < g.sy - HALO && z < g.sz - HALO)
        update_point(&g, medium, pc, qc, pp, qp, row_start(&g, y, z) + x);
}
