/* host.h - functions that the host code of all devices shares. */
#include "sandpile.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 16 };

/* Returns the number of steps from step n to the next poll. */
static inline int steps_until_poll(const run_plan *plan, int n)
{
    int left = plan->max_iterations - n;
    return left < POLL_STEPS ? left : POLL_STEPS;
}

/* Returns how many of `steps` steps the pile needed: those up to the first one that
 * left it stable, whose flag is 0. Later steps have not changed it. */
static inline int steps_to_stable(const cell *flags, int steps, bool *stable)
{
    for (int s = 0; s < steps; s++) {
        *stable = !flags[s];
        if (*stable) return s + 1;
    }
    return steps;
}

/* Returns a new grid with the sentinel value in all cells, and 0 on the border, which
 * no step computes. The caller frees it. */
static inline cell *sentinel_grid(const pile *p)
{
    cell *grid = (cell *)allocate(pile_cells(p), sizeof *grid, "a grid");
    pile_clear_border(grid, p->dim);
    return grid;
}
