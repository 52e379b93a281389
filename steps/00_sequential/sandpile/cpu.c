/* cpu.c - topples the grid row by row, in one thread. */
#include <stdlib.h>
#include <string.h>

#include "body.h"

/* Computes one synchronous step, from one grid into another. Returns the OR of all new
 * cells: more than 3 if and only if a cell is unstable. */
static cell step(int dim, const cell *restrict in, cell *restrict out)
{
    cell or_values = 0;
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++) {
            size_t i = (size_t)y * dim + x;
            out[i] = next_grains(in + i, dim);
            or_values |= out[i];
        }
    return or_values;
}

/* Computes one sweep in place. Returns 0 if no cell toppled. */
static cell sweep(int dim, cell *grid)
{
    cell toppled = 0;
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++)
            toppled |= topple_cell(grid + (size_t)y * dim + x, dim);
    return toppled;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    if (plan->trace)
        fail("trace=: not supported by step 00, which has no tiles: expected step 01 "
             "or later");
    int dim = p->dim, n = 0;
    size_t size = pile_cells(p) * sizeof(cell);
    cell *in = allocate(pile_cells(p), sizeof *in, "the grid before a step");
    cell *out = allocate(pile_cells(p), sizeof *out, "the grid after a step");

    double ready = seconds();

    if (plan->rule == ASYNC) {
        while (n < plan->max_iterations && sweep(dim, p->grid)) n++;
        pile_clear_border(p->grid, dim);
    } else {
        memcpy(in, p->grid, size);
        pile_clear_border(out, dim);
        cell or_values = pile_or(in, dim);
        while (n < plan->max_iterations && or_values > 3) {
            or_values = step(dim, in, out);
            cell *swap = in;
            in = out;
            out = swap;
            n++;
        }
        memcpy(p->grid, in, size);
    }
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(in);
    free(out);
    return 0;
}
