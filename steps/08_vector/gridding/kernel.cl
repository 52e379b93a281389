/* kernel.cl - device side: one work-item per block of cells (CPU), or per column of a
 * block (GPU).
 */
#include "body.h"

__kernel void grid_blocks(shape s, GLOBAL const real *taps, GLOBAL const int *first,
                          GLOBAL const sorted_visibility *visibilities,
                          GLOBAL cplx *grid)
{
    grid_block(&s, taps, first, visibilities, get_global_id(1),
               get_global_id(0) * LANES, grid);
}

/* One work-item per visibility, in the order of the bins, so that neighbouring work-
 * items read the same cells. The work-items only read common data, so they need no
 * synchronization. */
__kernel void degrid(shape s, GLOBAL const real *taps, GLOBAL const int *permutation,
                     GLOBAL const footprint *footprints, GLOBAL const cplx *grid,
                     GLOBAL cplx *value)
{
    int k = permutation[get_global_id(0)];
    value[k] = degrid_visibility(&s, taps, &footprints[k], grid);
}
