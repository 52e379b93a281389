/* kernel.cl - the device side: one work-item per LANES neighbouring points of a row, in
 * a slab, which is some neighbouring xy planes. The computation is in body.h. */
#include "body.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* first_z is the first plane of the slab. The global size is rounded up to whole
 * work-groups along x and y. Work-items outside the grid return without doing anything.
 */
__kernel void derive(grid g, int first_z, GLOBAL const float *restrict pc,
                     GLOBAL const float *restrict qc,
                     GLOBAL float *restrict derivatives)
{
    int x = HALO + LANES * get_global_id(0);
    int y = HALO + get_global_id(1);
    int z = first_z + get_global_id(2);
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;
    derivatives += get_global_id(2) * DERIVATIVES * g.plane;

    if (x < g.sx - HALO && y < g.sy - HALO) {
        derive_point(&g, pc, derivatives, g.plane, i, k);
        derive_point(&g, qc, derivatives + QX * (size_t)g.plane, g.plane, i, k);
    }
}

__kernel void propagate(grid g, int first_z, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp,
                        GLOBAL const float *restrict derivatives)
{
    int x = HALO + LANES * get_global_id(0);
    int y = HALO + get_global_id(1);
    int z = first_z + get_global_id(2);
    size_t k = row_start(&g, y, 0) + x, i = (size_t)z * g.plane + k;
    derivatives += get_global_id(2) * DERIVATIVES * g.plane;

    if (x < g.sx - HALO && y < g.sy - HALO)
        update_point(&g, medium, pc, qc, pp, qp, derivatives, g.plane, i, k);
}
