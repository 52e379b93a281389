/* body.h - the toppling rule for one cell of the Abelian sandpile.
 *
 * A cell with n >= 4 grains keeps n % 4 and sends n / 4 to each of its four neighbors
 * (Bak, Tang and Wiesenfeld 1987). In a synchronous step all cells topple at once, from
 * one grid into another. In place, they topple one after the other. Both end with the
 * same stable grid, because topplings commute (Dhar 1990).
 *
 * A grid is row-major with dim cells per row. c points to a cell that is not on the
 * border; the caller guarantees that its four neighbors exist. Grains are unsigned, so
 * % 4 and / 4 compile to a mask and a shift.
 */
#include "sandpile.h"

/* Returns the grains of the cell after a synchronous step: the ones that it keeps, and
 * one quarter of each neighbor. */
static inline cell next_grains(const cell *c, int dim)
{
    return c[0] % 4 + c[-1] / 4 + c[1] / 4 + c[-dim] / 4 + c[dim] / 4;
}

/* Topples the cell in place, so that its neighbors see the change in the same sweep.
 * Returns the grains that each neighbor received. */
static inline cell topple_cell(cell *c, int dim)
{
    cell quarter = c[0] / 4;
    if (quarter) {
        c[0] %= 4;
        c[-1] += quarter;
        c[1] += quarter;
        c[-dim] += quarter;
        c[dim] += quarter;
    }
    return quarter;
}
