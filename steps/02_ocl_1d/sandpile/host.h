/* host.h - what the host of a device prepares. */
#include "sandpile.h"
#include "body.h"

/* Only threads of the CPU topple in place, and only they have a name to trace. */
static inline void for_devices(const plan *how)
{
    if (how->how == ASYNC) fail("rule=async: the back-ends seq and omp have it");
    if (how->tiles) fail("trace=: the back-end omp has it");
}

/* A grid that nobody has written: poison, and the border 0, since no cell of it is ever
 * computed. To be freed. */
static inline cell *blank_grid(const pile *p)
{
    cell *grid = (cell *)allocate(pile_cells(p), sizeof *grid, "a grid");
    pile_border(grid, p->dim);
    return grid;
}
