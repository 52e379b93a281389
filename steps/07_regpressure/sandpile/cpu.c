/* cpu.c - topples the grid in parallel: OpenMP threads compute tiles of plan->tilew x
 * plan->tileh cells of one byte.
 */
#include <stdlib.h>
#include <string.h>

#include "tall.h"
#include "body.h"

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Computes one step of a tile of w x h cells at (x, y). Returns the OR of all new
 * cells: more than 3 if and only if a cell is unstable. */
static cell8 do_tile(int dim, const cell8 *restrict in, cell8 *restrict out, int x,
                     int y, int w, int h)
{
    cell8 or_values = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) {
            size_t index = (size_t)j * dim + i;
            out[index] = next_grains(in + index, dim);
            or_values |= out[index];
        }
    return or_values;
}

/* Computes one synchronous step, from one grid into another. */
static cell8 step(const run_plan *plan, int dim, const cell8 *in, cell8 *out, int n)
{
    cell8 or_values = 0;
#pragma omp parallel for collapse(2) reduction(| : or_values) schedule(runtime)
    for (int y = 1; y < dim - 1; y += plan->tileh)
        for (int x = 1; x < dim - 1; x += plan->tilew) {
            int w = min_int(plan->tilew, dim - 1 - x),
                h = min_int(plan->tileh, dim - 1 - y);
            double begin = plan->trace ? seconds() : 0;
            or_values |= do_tile(dim, in, out, x, y, w, h);
            trace_tile(plan->trace, n, (int[4]){x, y, w, h}, begin, thread_number());
        }
    return or_values;
}

/* Fills the rows inside the border with 0xff bytes. Each row is filled by the thread
 * that will compute it, so that on a NUMA machine its pages are near that thread (first
 * touch). */
static void first_touch(const run_plan *plan, int dim, cell8 *grid)
{
    size_t row = dim * sizeof *grid;
#pragma omp parallel for schedule(runtime)
    for (int y = 1; y < dim - 1; y += plan->tileh)
        memset(grid + (size_t)y * dim, 0xff, min_int(plan->tileh, dim - 1 - y) * row);
}

/* Topples a pile of which every cell fits in a byte, from step n on; in and out are
 * workspace. Returns the number of the last step. */
static int topple_bytes(pile *p, const run_plan *plan, cell8 *in, cell8 *out, int n)
{
    size_t cells = pile_cells(p), dim = p->dim;
    pile_to_bytes(p, dim, 0, in);
    for (size_t i = 0; i < dim; i++)
        out[i] = out[cells - 1 - i] = out[i * dim] = out[i * dim + dim - 1] = 0;

    cell8 or_values = pile_or(p->grid, dim);
    while (n < plan->max_iterations && or_values > 3) {
        or_values = step(plan, dim, in, out, n);
        cell8 *swap = in;
        in = out;
        out = swap;
        n++;
    }
    pile_from_bytes(p, dim, 0, in);
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    cell8 *in = allocate_untouched(pile_cells(p), sizeof *in, "the grid before a step");
    cell8 *out =
        allocate_untouched(pile_cells(p), sizeof *out, "the grid after a step");
    first_touch(plan, p->dim, in);
    first_touch(plan, p->dim, out);

    double ready = seconds();

    /* rule=async: synchronous steps, which are faster than sweeps of wider cells. */
    int n = topple_tall(p, plan, 255);
    if (n < plan->max_iterations) n = topple_bytes(p, plan, in, out, n);
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(in);
    free(out);
    return 0;
}
