/* kernel.cl - the device side: a work-group takes a tile through some planes (2.5-D
 * blocking). The computation is in body.h. */
#include "march.h"
#include "tile.h"

/* Adds f to p and q at point i. Launched with one work-item. */
__kernel void source(GLOBAL float *pc, GLOBAL float *qc, ulong i, float f)
{
    pc[i] += f;
    qc[i] += f;
}

/* On a CPU. A work-item takes a tile of t.rows whole rows through all planes. Each has
 * its own part of `workspaces`. */
__kernel void march_tile(grid g, tile_shape t, GLOBAL const float *restrict medium,
                         GLOBAL const float *restrict pc,
                         GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                         GLOBAL float *restrict qp, GLOBAL float *workspaces)
{
    const fields f = {medium, pc, qc, pp, qp};
    const int points = g.sx - 2 * HALO;
    const int first = HALO + get_global_id(0) * t.rows;
    const int end = min(first + t.rows, g.sy - HALO);
    GLOBAL float *workspace = workspaces + get_global_id(0) * work_size(points);
    const row_range rows = {first, end, HALO, points};

    for (int z = HALO; z < g.sz - HALO; z += 2)
        march(&g, &f, workspace, z, min(2, g.sz - HALO - z), &rows);
}

#if LANES == 1 /* the work-items are the lanes */
#include "point.h"

/* On a GPU. A group updates the tile whose first point is (x0, y0, z0); the last tile
 * of a row, plane or field may be smaller. The derivatives of one plane of the tile are
 * in local memory. A work-item takes every get_local_size(0)th point of every
 * get_local_size(1)th row. */
__kernel void propagate(grid g, tile_shape t, GLOBAL const float *restrict medium,
                        GLOBAL const float *restrict pc,
                        GLOBAL const float *restrict qc, GLOBAL float *restrict pp,
                        GLOBAL float *restrict qp)
{
    LOCAL float p[DERIVATIVES * TILE_PLANE], *q = p + QY * TILE_PLANE;
    const fields f = {medium, pc, qc, pp, qp};
    const int x0 = HALO + get_group_id(0) * TILE_X, lane = get_local_id(0);
    const int y0 = HALO + get_group_id(1) * TILE_Y, row = get_local_id(1);
    const int z0 = HALO + get_group_id(2) * t.depth;
    const int width = min((int)TILE_X, g.sx - HALO - x0);
    const int rows = min((int)TILE_Y, g.sy - HALO - y0);
    const int end = min(z0 + t.depth, g.sz - HALO);

    for (int z = z0; z < end; z++) {
        /* The derivatives of this plane of the tile: row r of `p` is HALO rows above.
         */
        for (int r = row; r < rows + 2 * HALO; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 - HALO + r, z) + x0;
            const int k = r * TILE_PITCH + HALO;
            for (int x = lane - HALO; x < width + HALO; x += get_local_size(0)) {
                derive_z(&g, pc, p, i + x, k + x);
                derive_z(&g, qc, q, i + x, k + x);
                if (r < HALO || r >= rows + HALO) continue;
                derive_y(&g, pc, p, i + x, k + x);
                derive_y(&g, qc, q, i + x, k + x);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* The update of its points, which read derivatives of other work-items. */
        for (int r = row; r < rows; r += get_local_size(1)) {
            const size_t i = row_start(&g, y0 + r, z) + x0;
            const int k = (r + HALO) * TILE_PITCH + HALO;
            for (int x = lane; x < width; x += get_local_size(0))
                update_point(&g, &f, p, i + x, k + x);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
