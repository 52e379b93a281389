/* cpu.c - the toppling, row by row. */
#include <stdlib.h>
#include <string.h>

#include "body.h"

/* One step, from one grid into another: returns all new values or-ed, which is more
 * than 3 as long as a cell is unstable. */
static cell step(int dim, const cell *restrict in, cell *restrict out)
{
    cell bits = 0;
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++) {
            size_t i = (size_t)y * dim + x;
            out[i] = after(in + i, dim);
            bits |= out[i];
        }
    return bits;
}

/* One sweep in place: returns 0 where nothing toppled. */
static cell sweep(int dim, cell *grid)
{
    cell toppled = 0;
    for (int y = 1; y < dim - 1; y++)
        for (int x = 1; x < dim - 1; x++)
            toppled |= give(grid + (size_t)y * dim + x, dim);
    return toppled;
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    if (how->tiles) fail("trace=: the rows of this step are not tiles");
    int dim = p->dim;
    size_t cells = pile_cells(p);
    cell *in = allocate(cells, sizeof *in, "the grid before a step");
    cell *out = allocate(cells, sizeof *out, "the grid after a step");

    double ready = seconds();

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        int n = 0;

        if (how->how == ASYNC) {
            while (n < how->max_iterations && sweep(dim, grid)) n++;
            pile_border(grid, dim);
        } else {
            memcpy(in, grid, cells * sizeof *in);
            pile_border(out, dim);
            cell bits = pile_bits(in, dim);
            while (n < how->max_iterations && bits > 3) {
                bits = step(dim, in, out);
                cell *other = in;
                in = out;
                out = other;
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
