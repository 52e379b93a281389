/* host.h - what the host prepares and notes, whatever the back-end. */
#include "sandpile.h"
#include "body.h"

/* Only threads of the CPU topple in place, and only they have a name to trace. */
static inline void for_devices(const plan *how)
{
    if (how->how == ASYNC) fail("rule=async: the back-ends seq and omp have it");
    if (how->tiles) fail("trace=: the back-end omp has it");
}

/* Grids that nobody has written: poison, and the border 0, since no cell of it is ever
 * computed. To be freed. */
static inline cell *blank_grids(const pile *p)
{
    size_t cells = pile_cells(p);
    cell *grids = (cell *)allocate(cells * p->batch, sizeof *grids, "the grids");
    for (int g = 0; g < p->batch; g++) pile_border(grids + g * cells, p->dim);
    return grids;
}

/* Notes the grids that have come to their end after n steps, stable or not; bits[g]
 * is more than 3 if a cell of grid g is unstable. Returns those of all grids or-ed. A
 * stable grid stays what it is, however often it is stepped. */
static inline cell note(pile *p, const plan *how, const cell *bits, int n)
{
    cell all = 0;
    for (int g = 0; g < p->batch; g++) {
        bool ends = bits[g] <= 3 || n == how->max_iterations;
        if (p->iterations[g] < 0 && ends) p->iterations[g] = n;
        all |= bits[g];
    }
    return all;
}
