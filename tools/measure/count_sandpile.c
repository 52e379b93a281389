/* count_sandpile.c - how much work a query is, exactly: the cells that topplings look
 * at. tools/measure/ceilings.py turns it into bytes.
 *
 *     sandpile-count QUERY   prints cells= steps= dim=
 *
 * A cell is one cell within the border in one step of its grid, up to the step that
 * leaves it stable. How many steps that takes nobody knows without taking them: they
 * are taken here, as plainly as can be. A step of a tile's halo, or of a grid that
 * waits for the others of its batch, is not counted: nobody asked for it.
 */
#include <stdlib.h>

#include "arguments.h"

/* Steps of one grid of dim x dim cells, at most `most`; other is room for it. */
static int steps_of(int dim, cell *grid, cell *other, int most)
{
    cell *in = grid, *out = other;
    int n = 0;
    for (cell bits = pile_bits(grid, dim); bits > 3 && n < most; n++) {
        bits = 0;
        for (size_t y = 1; y < (size_t)dim - 1; y++) {
            const cell *restrict c = in + y * dim;
            cell *restrict to = out + y * dim;
            for (int x = 1; x < dim - 1; x++) {
                cell around =
                    c[x - 1] / 4 + c[x + 1] / 4 + c[x - dim] / 4 + c[x + dim] / 4;
                to[x] = c[x] % 4 + around;
                bits |= to[x];
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
    if (r.plan.how == ASYNC) fail("rule=async: its cells are not counted");
    pile p = request_pile(&r);
    cell *room = allocate(pile_cells(&p), sizeof *room, "a grid");
    double steps = 0;
    for (int g = 0; g < p.batch; g++) {
        pile_border(room, p.dim);
        steps +=
            steps_of(p.dim, p.grid + g * pile_cells(&p), room, r.plan.max_iterations);
    }
    printf("cells=%.0f\nsteps=%.0f\ndim=%d\n", steps * (p.dim - 2.0) * (p.dim - 2.0),
           steps, p.dim);
    free(room);
    pile_free(&p);
    return 0;
}
