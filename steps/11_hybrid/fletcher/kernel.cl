/* kernel.cl - the device side: a work-group takes a tile of some rows through some
 * planes (2.5-D blocking). The computation is in body.h. */
#include "body.h"
#include "tile.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* A group updates the tile whose first point is (x0, y0, z0); the last tile of a row,
 * plane or range of planes may be smaller. The derivatives of one plane of the tile are
 * in `derivatives`, which is private to the group: local memory, or a part of a global
 * buffer (see t.group_floats). A work-item takes LANES points, every get_local_size(1)
 * rows. */
__kernel void propagate(grid g, tile_shape t, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp, LOCAL float *derivatives)
{
    const int x0 = HALO + get_group_id(0) * t.width;
    const int y0 = HALO + get_group_id(1) * t.rows;
    const int z0 = t.first + get_group_id(2) * t.depth;
    const int width = min(t.width, g.sx - HALO - x0);
    const int rows = min(t.rows, g.sy - HALO - y0);
    const int end = min(z0 + t.depth, t.end);
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
