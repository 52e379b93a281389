/* kernel.cl - the device side: one work-item per point of the grid. The update of a
 * point is update_point() in body.h. */
#include "body.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* The global size is rounded up to whole work-groups. Work-items outside the grid
 * return without doing anything. */
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
