/* tile.h - the part of the grid that a thread or a work-group updates, the same on host
 * and device.
 */
#ifndef TILE_H
#define TILE_H

typedef struct {
    int width, rows, depth; /* points along x, y and z; the last tiles have fewer */
    int pitch, plane; /* of the derivatives on a GPU: floats per row and per plane */
} tile_shape;

#ifdef RUN_H /* in C */
/* With fewer rows, the derivatives of the 2 HALO extra rows would cost more than those
 * of the tile itself. */
enum { MIN_TILE_ROWS = 8 };

/* Chooses the rows of a tile on a CPU such that its working set at one plane fits into
 * the L2 cache of a core and is still there at the next plane. The working set per row
 * is nine planes of p and q, which have 2 HALO rows more than the tile, and the other
 * fields, which do not. The number of tiles is then rounded up to a multiple of the
 * number of threads, so that all threads get the same number of tiles. */
static inline int rows_per_tile(const grid *g, int threads)
{
    const int fields_with_halo = 2 * (2 * HALO + 1),
              fields_without_halo = STORED_FIELDS - V2PX + 2;
    /* The rows that fit into the cache. */
    long cache_rows = machine_l2_cache() / ((long)sizeof(float) * g->pitch);
    int max_rows = (int)(cache_rows - fields_with_halo * 2 * HALO) /
                   (fields_with_halo + fields_without_halo);
    if (max_rows < MIN_TILE_ROWS) max_rows = MIN_TILE_ROWS;

    int rows = g->sy - 2 * HALO, tiles = (rows + max_rows - 1) / max_rows;
    tiles = (tiles + threads - 1) / threads * threads;
    return (rows + tiles - 1) / tiles;
}
#endif

#endif
