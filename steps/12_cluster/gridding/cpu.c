/* cpu.c - what a rank computes: threads take segments of its bands, or its
 * visibilities.
 */
#include "part.h"

void grid_bands(const problem *p, const real *taps, const sorted *o, int begin, int end,
                cplx *grid)
{
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (int band = begin; band < end; band += BLOCKS)
        for (int column = 0; column < p->is.size; column += COLUMNS)
            grid_segment(&p->is, &o->all, taps, o->first, o->samples, band, end, column,
                         grid);
}

void degrid_all(const problem *p, const real *taps, const sorted *o, const cplx *grid,
                cplx *value)
{
#pragma omp parallel for
    for (int k = 0; k < p->is.samples; k++)
        value[o->from[k]] = degrid_one(&p->is, taps, &p->at[o->from[k]], grid);
}
