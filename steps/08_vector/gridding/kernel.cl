/* kernel.cl - the device side: a work-item per block of cells, or per column of one. */
#include "body.h"

__kernel void grid_blocks(shape s, GLOBAL const real *taps, GLOBAL const int *first,
                          GLOBAL const sorted_visibility *visibilities,
                          GLOBAL cplx *grid)
{
    grid_block(&s, taps, first, visibilities, get_global_id(1),
               get_global_id(0) * LANES, grid);
}

/* A work-item per visibility, in the order of bins, so that neighbours read the same
 * cells: they share nothing but what they read. */
__kernel void degrid(shape s, GLOBAL const real *taps, GLOBAL const int *permutation,
                     GLOBAL const footprint *footprints, GLOBAL const cplx *grid,
                     GLOBAL cplx *value)
{
    int k = permutation[get_global_id(0)];
    value[k] = degrid_visibility(&s, taps, &footprints[k], grid);
}
