/* kernel.cl - device side: one work-item per block of cells (CPU), or per column of a
 * block (GPU).
 */
#include "body.h"

__kernel void grid_blocks(shape s, GLOBAL const real *taps, GLOBAL const int *first,
                          GLOBAL const sorted_visibility *visibilities,
                          GLOBAL cplx *grid)
{
    grid_block(&s, taps, first, visibilities, get_global_id(1),
               get_global_id(0) * COLUMNS_PER_ITEM, grid);
}
