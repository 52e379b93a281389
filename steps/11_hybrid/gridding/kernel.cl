/* kernel.cl - the device's side: one work-item per segment of one region. */
#include "body.h"

__kernel void grid_segments(shape s, support_classes classes, GLOBAL const real *taps,
                            GLOBAL const int *first,
                            GLOBAL const sorted_visibility *visibilities,
                            GLOBAL cplx *grid)
{
    grid_segment(&s, &classes, taps, first, visibilities, get_global_id(1) * BLOCKS,
                 get_global_id(0) * VECTORS * LANES, grid);
}

/* One work-item per visibility, in the order of the bins, so that neighbouring work-
 * items read the same cells. The results stay in that order, so that those of a region
 * are contiguous. */
__kernel void degrid(shape s, GLOBAL const real *taps, GLOBAL const int *permutation,
                     GLOBAL const footprint *footprints, GLOBAL const cplx *grid,
                     GLOBAL cplx *value)
{
    int k = get_global_id(0);
    value[k] = degrid_visibility(&s, taps, &footprints[permutation[k]], grid);
}
