/* box.h - the active box: the points that the wave can have reached, the same on host
 * and device.
 *
 * A point of the next p or q is computed from points at a distance of at most HALO
 * along each axis. Before the first time step only the source is not 0, so after n
 * steps all points are 0 that are more than n HALO points away from it along some axis:
 * the wave is inside a box of 2 n HALO + 1 points per side. An update outside the box
 * would compute 0 from zeros. The box ends where the grid ends.
 */
#ifndef BOX_H
#define BOX_H

#include "grid.h"

/* Points first .. end - 1 along x, y and z. */
typedef struct {
    int first[3], end[3];
} box;

#ifdef RUN_H /* in C */
/* Returns the box of time step `step`, 1 for the first one. Its rows begin a cache
 * line.
 */
static inline box active_box(const grid *g, int step)
{
    const int offset = g->source_offset - g->lead;
    const int source[3] = {offset % g->pitch, offset / g->pitch, g->source_z};
    const int size[3] = {g->sx, g->sy, g->sz};
    box b;
    for (int i = 0; i < 3; i++) {
        /* A longer reach would not change the box, and could overflow. */
        const int reach = HALO * (step < size[i] ? step : size[i]);
        const int first = source[i] - reach, end = source[i] + reach + 1;
        b.first[i] = first > HALO ? first : HALO;
        b.end[i] = end < size[i] - HALO ? end : size[i] - HALO;
    }
    b.first[0] -= (b.first[0] - HALO) % LINE;
    return b;
}
#endif

#endif
