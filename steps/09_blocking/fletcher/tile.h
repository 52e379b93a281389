/* tile.h - the part of the grid that a thread or a work-group updates, the same on host
 * and device.
 */
#ifndef TILE_H
#define TILE_H

#include "grid.h"

/* A tile on a GPU has TILE_X x TILE_Y points per plane. Its derivatives are in planes
 * with HALO points more on each side, and take 20 KiB of local memory. These sizes are
 * choices, not derived. */
enum {
    TILE_X = 32,
    TILE_Y = 8,
    TILE_PITCH = TILE_X + 2 * HALO,
    TILE_PLANE = (TILE_Y + 2 * HALO) * TILE_PITCH
};

/* The tiles of a launch. The last tiles along an axis have fewer points. */
typedef struct {
    int rows;  /* on a CPU: rows of a tile, which has whole rows of all planes */
    int depth; /* on a GPU: planes of a tile */
} tile_shape;

#ifdef RUN_H /* in C */
/* Chooses the rows of a tile on a CPU, of `rows` rows of `pitch` floats. A tile reads
 * ten planes of p and of q per two planes, eight of which it has read before. Those of
 * a low tile are still in the L2 cache, but a low tile repeats much of its neighbours'
 * work: it computes derivatives in 2 HALO more rows than it has. Reading them from the
 * next cache costs less, as long as they are there; a core's part of that cache is
 * assumed to be another one and a half times the L2 cache. All threads get the same
 * number of tiles, the one for which the rows are nearest to this size. */
static inline int rows_per_tile(long rows, int pitch, int threads)
{
    const long row_bytes = 2 * (2 * HALO + 2) * (long)sizeof(float) * pitch;
    const long cache_rows = machine_l2_cache() * 5 / 2 / row_bytes - 2 * HALO;
    const long best_rows = cache_rows > 2 * HALO ? cache_rows : 2 * HALO;
    const long per_thread = (rows + threads * best_rows / 2) / (threads * best_rows);
    const long tiles = threads * (per_thread > 1 ? per_thread : 1);
    return (int)((rows + tiles - 1) / tiles);
}

/* The largest depth of a tile on a GPU, a choice; and the work-groups per compute unit
 * that a launch should have: as many of 256 work-items as the largest GPUs can hold. */
enum { DEPTH = 32, UNIT_GROUPS = 8 };

/* Returns the depth of tiles for `planes` planes of `tiles` tiles each on a GPU with
 * `units` compute units. A work-group updates the planes of its tile one after the
 * other, so tiles of full depth would give a small grid too few work-groups. Lower
 * tiles compute nothing twice, because the derivatives of a plane are not kept for the
 * next one. They only read more: depth + 2 HALO planes of p and q each. */
static inline int tile_depth(int planes, long tiles, int units)
{
    const long layers = ((long)units * UNIT_GROUPS + tiles - 1) / tiles;
    const long depth = planes / layers;
    return depth < 1 ? 1 : depth > DEPTH ? DEPTH : (int)depth;
}
#endif

#endif
