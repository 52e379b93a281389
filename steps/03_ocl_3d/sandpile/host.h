/* host.h - functions that the host code of all devices shares. */
#include "sandpile.h"
#include "body.h"

/* Returns a new grid with the sentinel value in all cells, and 0 on the border, which
 * no step computes. The caller frees it. */
static inline cell *sentinel_grid(const pile *p)
{
    cell *grid = (cell *)allocate(pile_cells(p), sizeof *grid, "a grid");
    pile_clear_border(grid, p->dim);
    return grid;
}
