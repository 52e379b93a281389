/* host.h - functions that the host code of all back-ends shares. */
#include "sandpile.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 16 };

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

/* Returns new grids with the sentinel value in all cells, and 0 on the borders, which
 * no step computes. The caller frees them. */
static inline cell *sentinel_grids(const pile *p)
{
    size_t cells = pile_cells(p);
    cell *grids = (cell *)allocate(cells * p->batch, sizeof *grids, "the grids");
    for (int g = 0; g < p->batch; g++) pile_clear_border(grids + g * cells, p->dim);
    return grids;
}

/* Records n as the iteration count of every grid that is finished after n steps, stable
 * or not. flags[g] is more than 3 if grid g is unstable. Returns the OR of all flags.
 * Further steps do not change a stable grid. */
static inline cell record_finished(pile *p, const run_plan *plan, const cell *flags,
                                   int n)
{
    cell any_flags = 0;
    for (int g = 0; g < p->batch; g++) {
        bool finished = flags[g] <= 3 || n == plan->max_iterations;
        if (p->iterations[g] < 0 && finished) p->iterations[g] = n;
        any_flags |= flags[g];
    }
    return any_flags;
}
