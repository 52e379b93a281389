/* cpu.c - the computation of one rank: its threads divide the segments of the rank's
 * bands.
 */
#include "part.h"

void grid_bands(const problem *p, const real *taps, const binning *bins, int begin,
                int end, cplx *grid)
{
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (int band = begin; band < end; band += BLOCKS)
        for (int column = 0; column < p->dims.size; column += COLUMNS)
            grid_segment(&p->dims, &bins->classes, taps, bins->first,
                         bins->visibilities, make_segment(band, end, column), grid);
}
