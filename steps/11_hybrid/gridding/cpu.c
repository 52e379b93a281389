/* cpu.c - the host's side: the loops of step 10, over one piece instead of all.
 */
#include "sides.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

void host_grid(const problem *p, const real *taps, const sorted *o, piece at,
               cplx *grid)
{
    int bands = least(o->bands, (at.row + at.rows) / ROWS);
    int columns = least(p->is.size, at.column + at.columns);
    for (int band = at.row / ROWS; band < bands; band += BLOCKS)
        for (int column = at.column; column < columns; column += COLUMNS)
            grid_segment(&p->is, &o->all, taps, o->first, o->samples, band, column,
                         grid);
}

void host_degrid(const problem *p, const real *taps, const sorted *o, piece at,
                 const cplx *grid, cplx *value)
{
    int end = least(p->is.samples, at.row + at.rows);
    for (int k = at.row; k < end; k++)
        value[o->from[k]] = degrid_one(&p->is, taps, &p->at[o->from[k]], grid);
}
