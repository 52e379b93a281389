/* count_sandpile.c - computes the exact amount of work of a query.
 * tools/measure/ceilings.py converts it to bytes.
 *
 *   sandpile-count QUERY   prints cells= steps= dim=
 *
 * The unit is one cell inside the border in one step of its grid, up to the step that
 * leaves the grid stable. The number of steps is known only by computing them, which
 * this program does in the simplest way. Redundant steps of ghost rows, and steps of a
 * grid that is already stable while others of its batch are not, do not count.
 */
#include <stdlib.h>

#include "arguments.h"

/* Returns the number of steps of one grid of dim x dim cells, at most `limit`. scratch
 * is memory for a second grid. */
static int steps_of(int dim, cell *grid, cell *scratch, int limit)
{
    cell *in = grid, *out = scratch;
    int n = 0;
    for (cell or_values = pile_or(grid, dim); or_values > 3 && n < limit; n++) {
        or_values = 0;
        for (size_t y = 1; y < (size_t)dim - 1; y++) {
            const cell *restrict c = in + y * dim;
            cell *restrict to = out + y * dim;
            for (int x = 1; x < dim - 1; x++) {
                cell received =
                    c[x - 1] / 4 + c[x + 1] / 4 + c[x - dim] / 4 + c[x + dim] / 4;
                to[x] = c[x] % 4 + received;
                or_values |= to[x];
            }
        }
        cell *swap = in;
        in = out;
        out = swap;
    }
    return n;
}

int main(int argc, char **argv)
{
    run_name = "sandpile-count";
    arg extra[] = {{0}};
    request r = request_parse(argc, argv, extra, "counts the work of a toppling");
    if (r.plan.rule == ASYNC) fail("rule=async: its cells are not counted");
    pile p = request_pile(&r);
    cell *scratch = allocate(pile_cells(&p), sizeof *scratch, "a grid");
    double steps = 0;
    for (int g = 0; g < p.batch; g++) {
        pile_clear_border(scratch, p.dim);
        steps += steps_of(p.dim, p.grid + g * pile_cells(&p), scratch,
                          r.plan.max_iterations);
    }
    printf("cells=%.0f\nsteps=%.0f\ndim=%d\n", steps * (p.dim - 2.0) * (p.dim - 2.0),
           steps, p.dim);
    free(scratch);
    pile_free(&p);
    return 0;
}
