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
    int dim = p->dim;
    size_t cells = pile_cells(p);
    cell *in = allocate(cells, sizeof *in, "the grid before a step");
    cell *out = allocate(cells, sizeof *out, "the grid after a step");

    double ready = seconds();

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        int n = 0;

        if (plan->rule == ASYNC) {
            while (n < plan->max_iterations && sweep(dim, grid)) n++;
            pile_clear_border(grid, dim);
        } else {
            memcpy(in, grid, cells * sizeof *in);
            pile_clear_border(out, dim);
            cell flags = pile_or(in, dim);
            while (n < plan->max_iterations && flags > 3) {
                flags = step(dim, in, out);
                cell *swap = in;
                in = out;
                out = swap;
                n++;
            }
            memcpy(grid, in, cells * sizeof *in);
        }
        p->iterations[g] = n;
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(in);
    free(out);
    return 0;
}
