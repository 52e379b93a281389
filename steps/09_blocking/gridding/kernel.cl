/* kernel.cl - the device side: a work-item per segment. */
#include "body.h"

__kernel void grid_segments(shape s, GLOBAL const real *taps, GLOBAL const int *first,
                            GLOBAL const sample *samples, GLOBAL cplx *grid)
{
    grid_segment(&s, taps, first, samples, get_global_id(1) * BLOCKS,
                 get_global_id(0) * WIDE * LANES, grid);
}

/* A work-item per visibility, in the order of bins, so that neighbours read the same
 * cells: they share nothing but what they read. */
__kernel void degrid(shape s, GLOBAL const real *taps, GLOBAL const int *from,
                     GLOBAL const place *at, GLOBAL const cplx *grid,
                     GLOBAL cplx *value)
{
    int k = from[get_global_id(0)];
    value[k] = degrid_one(&s, taps, &at[k], grid);
}
