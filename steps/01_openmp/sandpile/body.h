/* body.h - what one cell of the pile costs. c points to it, dim cells are a row.
 *
 * Grains are numbers without a sign: the compiler knows what % and / by four are.
 */
#include "sandpile.h"

/* What the cell holds after a step: what it keeps and what its neighbours give. */
static inline cell after(const cell *c, int dim)
{
    return c[0] % 4 + c[-1] / 4 + c[1] / 4 + c[-dim] / 4 + c[dim] / 4;
}

/* The same in place: the cell topples at once, and what it gives counts in this sweep.
 * Returns what each neighbour got. */
static inline cell give(cell *c, int dim)
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
