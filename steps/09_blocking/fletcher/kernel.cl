/* kernel.cl - the device side: a work-group takes a tile of some rows through some
 * planes (2.5-D blocking). The computation is in body.h. */
#include "march.h"
#include "tile.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* On a GPU. A group updates the tile whose first point is (x0, y0, z0); the last tile
 * of a row, plane or field may be smaller. The derivatives of one plane of the tile are
 * in local memory. A work-item takes every get_local_size(0)th point of every
 * get_local_size(1)th row. */
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
    const int lane = get_local_id(0), lanes_of_group = get_local_size(0);
    const size_t n = t.plane;

    for (int z = z0; z < end; z++) {
        for (int r = get_local_id(1); r < rows + 2 * HALO; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 - HALO + r, z) + x0;
            const size_t k = r * t.pitch + HALO;
            for (int x = lane - HALO; x < width + HALO; x += lanes_of_group) {
                derive_z(&g, pc, derivatives, n, i + x, k + x);
                derive_z(&g, qc, derivatives + QY * n, n, i + x, k + x);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, derivatives, n, i + x, k + x);
                derive_y(&g, qc, derivatives + QY * n, n, i + x, k + x);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int r = get_local_id(1); r < rows; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 + r, z) + x0;
            const size_t k = (r + HALO) * t.pitch + HALO;
            for (int x = lane; x < width; x += lanes_of_group)
                update_point(&g, medium, pc, qc, pp, qp, derivatives, n, t.pitch, i + x,
                             k + x);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* On a CPU. A work-item takes a tile of t.rows whole rows through all planes. Each has
 * its own part of `workspaces`. */
__kernel void march_tile(grid g, tile_shape t, GLOBAL const float *restrict medium,
                         GLOBAL const float *restrict pc,
                         GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                         GLOBAL float *restrict qp, LOCAL float *workspaces)
{
    const int count = points_of_row(&g);
    const int first = HALO + get_global_id(0) * t.rows;
    const int end = min(first + t.rows, g.sy - HALO);
    LOCAL float *workspace = workspaces + get_global_id(0) * work_size(count);

    for (int z = HALO; z < g.sz - HALO; z += 2)
        march(&g, medium, pc, qc, pp, qp, workspace, z, min(2, g.sz - HALO - z), first,
              end, count);
}
