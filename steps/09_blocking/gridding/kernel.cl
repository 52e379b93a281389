/* kernel.cl - device side: one work-item per segment. */
#include "body.h"

__kernel void grid_segments(shape s, GLOBAL const real *taps, GLOBAL const int *first,
                            GLOBAL const sorted_visibility *visibilities,
                            GLOBAL cplx *grid)
{
    segment part = make_segment(get_global_id(1) * BLOCKS, CEIL_DIV(s.size, ROWS),
                                get_global_id(0) * LANES);
    grid_segment(&s, taps, first, visibilities, part, grid);
}
