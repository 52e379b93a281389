/* host.h - functions that the host code of all devices shares. */
#include "sandpile.h"
#include "body.h"

/* Rejects options that only the CPU back-ends support: toppling in place, and the trace
 * of tiles per thread. */
static inline void reject_cpu_options(const run_plan *plan)
{
    if (plan->rule == ASYNC)
        fail("rule=async: not supported by this back-end: expected sync, or the "
             "back-end seq or omp");
    if (plan->trace)
        fail("trace=: not supported by this back-end: expected the back-end omp");
}

/* Returns a new grid with the sentinel value in all cells, and 0 on the border, which
 * no step computes. The caller frees it. */
static inline cell *sentinel_grid(const pile *p)
{
    cell *grid = (cell *)allocate(pile_cells(p), sizeof *grid, "a grid");
    pile_clear_border(grid, p->dim);
    return grid;
}
