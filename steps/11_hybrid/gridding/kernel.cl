/* kernel.cl - the device's side: a work-item per segment, of those of one piece. */
#include "body.h"

__kernel void grid_segments(shape s, support_classes classes, GLOBAL const real *taps,
                            GLOBAL const int *first,
                            GLOBAL const sorted_visibility *visibilities,
                            GLOBAL cplx *grid)
{
    grid_segment(&s, &classes, taps, first, visibilities, get_global_id(1) * BLOCKS,
                 get_global_id(0) * VECTORS * LANES, grid);
}

/* A work-item per visibility, in the order of bins, so that neighbours read the same
 * cells: they share nothing but what they read. Values stay in that order: those of a
 * piece are to lie together. */
__kernel void degrid(shape s, GLOBAL const real *taps, GLOBAL const int *permutation,
                     GLOBAL const footprint *footprints, GLOBAL const cplx *grid,
                     GLOBAL cplx *value)
{
    int k = get_global_id(0);
    value[k] = degrid_visibility(&s, taps, &footprints[permutation[k]], grid);
}
