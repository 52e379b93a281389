/* cpu.c - the host's side: the loops of step 10, limited to one region. */
#include "sides.h"

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

void host_grid(const problem *p, const real *taps, const binning *bins,
               work_region region, cplx *grid)
{
    int bands = min_int(bins->bands, (region.row + region.rows) / ROWS);
    int columns = min_int(p->dims.size, region.column + region.columns);
    for (int band = region.row / ROWS; band < bands; band += BLOCKS)
        for (int column = region.column; column < columns; column += COLUMNS)
            grid_segment(&p->dims, &bins->classes, taps, bins->first,
                         bins->visibilities, make_segment(band, bands, column), grid);
}
