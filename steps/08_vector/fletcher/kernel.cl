/* kernel.cl - the device side: one work-item per LANES points of a row. */
#include "body.h"

/* Adds f to both fields at point i: a kernel of one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* The range is rounded up to whole work-groups: what lies beyond the grid does nothing.
 */
__kernel void derive(grid g, int z, GLOBAL const float *restrict pc,
                     GLOBAL const float *restrict qc,
                     GLOBAL float *restrict derivatives)
{
    int x = HALO + LANES * get_global_id(0);
    int y = HALO + get_global_id(1);
    int count = g.sx - HALO - x; /* points of the row, from here on */
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;

    if (count > 0 && y < g.sy - HALO) {
        derive_point(&g, pc, derivatives, g.plane, i, k, count);
        derive_point(&g, qc, derivatives + QX * (size_t)g.plane, g.plane, i, k, count);
    }
}

__kernel void propagate(grid g, int z, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp,
                        GLOBAL const float *restrict derivatives)
{
    int x = HALO + LANES * get_global_id(0);
    int y = HALO + get_global_id(1);
    int count = g.sx - HALO - x; /* points of the row, from here on */
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;

    if (count > 0 && y < g.sy - HALO)
        update_point(&g, medium, pc, qc, pp, qp, derivatives, g.plane, i, k, count);
}
