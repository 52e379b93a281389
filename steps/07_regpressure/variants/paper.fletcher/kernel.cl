/* kernel.cl - the device side: one work-item per point of one xy plane. The computation
 * is in body.h. */
#include "body.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* The global size is rounded up to whole work-groups. Work-items outside the grid
 * return without doing anything. */
__kernel void derive(grid g, int z, GLOBAL const float *restrict pc,
                     GLOBAL const float *restrict qc, GLOBAL float *restrict px,
                     GLOBAL float *restrict py, GLOBAL float *restrict qx,
                     GLOBAL float *restrict qy)
{
    int x = HALO + get_global_id(0);
    int y = HALO + get_global_id(1);
    size_t j = row_start(&g, y, 0) + x;

    if (x < g.sx - HALO && y < g.sy - HALO) {
        derive_x(&g, pc, qc, px, qx, g.plane, z, j, j);
        derive_y(&g, pc, qc, py, qy, g.plane, z, j, j);
    }
}

__kernel void propagate(grid g, int z, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp, GLOBAL const float *restrict px,
                        GLOBAL const float *restrict py,
                        GLOBAL const float *restrict qx,
                        GLOBAL const float *restrict qy)
{
    int x = HALO + get_global_id(0);
    int y = HALO + get_global_id(1);
    size_t j = row_start(&g, y, 0) + x;

    if (x < g.sx - HALO && y < g.sy - HALO)
        update_point(&g, medium, pc, qc, pp, qp, px, py, qx, qy, g.plane, z, j, j);
}
