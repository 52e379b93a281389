/* kernel.cl - the device side: a group takes a tile of some rows through some planes.
 */
#include "body.h"
#include "tile.h"

/* Adds f to both fields at point i: a kernel of one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* A group's tile lies at point (x0, y0, z0), and the last tiles of a row, plane or
 * field are what is left. What is derived of a plane of it is the group's own, and lies
 * in `derived`: in local memory, or in a piece of global memory, as t says. A work-item
 * takes LANES points of every so many rows. */
__kernel void propagate(grid g, tile_shape t, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp, LOCAL float *derivatives)
{
    const int x0 = HALO + get_group_id(0) * t.width;
    const int y0 = HALO + get_group_id(1) * t.rows;
    const int z0 = HALO + get_group_id(2) * t.depth;
    const int width = min(t.width, g.sx - HALO - x0);
    const int rows = min(t.rows, g.sy - HALO - y0);
    const int end = min(z0 + t.depth, g.sz - HALO);
    const size_t n = t.plane;
    const int step = LANES * get_local_size(0);

    derivatives +=
        t.group_floats * (get_group_id(0) + get_num_groups(0) * get_group_id(1) +
                          get_num_groups(0) * get_num_groups(1) * get_group_id(2));

    for (int z = z0; z < end; z++) {
        for (int r = get_local_id(1); r < rows + 2 * HALO; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 - HALO + r, z) + x0;
            const size_t k = r * t.pitch + t.lead;
            for (int x = LANES * get_local_id(0) - t.x_halo; x < width + t.x_halo;
                 x += step) {
                const int count = width + t.x_halo - x;
                derive_z(&g, pc, derivatives, n, i + x, k + x, count);
                derive_z(&g, qc, derivatives + QY * n, n, i + x, k + x, count);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, derivatives, n, i + x, k + x, count);
                derive_y(&g, qc, derivatives + QY * n, n, i + x, k + x, count);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

        for (int r = get_local_id(1); r < rows; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 + r, z) + x0;
            const size_t k = (r + HALO) * t.pitch + t.lead;
            for (int x = LANES * get_local_id(0); x < width; x += step)
                update_point(&g, medium, pc, qc, pp, qp, derivatives, n, t.pitch, i + x,
                             k + x, k + x, width - x);
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
}
