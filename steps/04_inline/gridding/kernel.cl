/* kernel.cl - device side: one work-group per copy of the grid, one work-item per strip
 * of the footprint.
 */
#define SYNC() barrier(CLK_GLOBAL_MEM_FENCE)
#include "body.h"

__kernel void grid_copies(shape s, GLOBAL const cplx *table,
                          GLOBAL const footprint *footprints, GLOBAL const cplx *value,
                          GLOBAL cplx *grid)
{
    int c = get_global_id(0);
    grid_range(&s, table, footprints, value, c, get_local_id(1), get_local_id(2),
               grid + c * ((size_t)s.size * s.pitch));
}

/* One work-item per cell of all copies. */
__kernel void clear(GLOBAL cplx *grid)
{
    grid[get_global_id(0)] = (cplx){0, 0};
}

/* Adds all copies to the first: one work-item per cell. */
__kernel void add_copies(shape s, GLOBAL cplx *grid)
{
    size_t cells = (size_t)s.size * s.pitch;
    size_t i = get_global_id(1) * s.pitch + get_global_id(0);
    for (int c = 1; c < s.copies; c++) grid[i] = plus(grid[i], grid[c * cells + i]);
}
