/* cpu.c - topples the grid in parallel: OpenMP threads compute tiles of plan->tilew x
 * plan->tileh cells.
 */
#include <stdlib.h>
#include <string.h>

#include "sandpile.h"
#include "body.h"

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Computes one step of a tile of w x h cells at (x, y). Returns the OR of all new
 * cells: more than 3 if and only if a cell is unstable. */
static cell do_tile(int dim, const cell *restrict in, cell *restrict out, int x, int y,
                    int w, int h)
{
    cell or_values = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) {
            size_t index = (size_t)j * dim + i;
            out[index] = next_grains(in + index, dim);
            or_values |= out[index];
        }
    return or_values;
}

/* Computes one synchronous step, from one grid into another. */
static cell step(const run_plan *plan, int dim, const cell *in, cell *out, int n)
{
    cell or_values = 0;
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

/* Topples the cells of a tile in place. Returns 0 if no cell toppled. */
static cell do_tile_in_place(int dim, cell *grid, int x, int y, int w, int h)
{
    cell toppled = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++)
            toppled |= topple_cell(grid + (size_t)j * dim + i, dim);
    return toppled;
}

/* Computes one sweep in place. A tile changes the cells around it, so tiles that topple
 * at the same time must not touch: the tiles have four colors in a 2 x 2 pattern, and
 * one color is processed after the other (multicolor ordering, the four-color form of
 * red-black). */
static cell sweep(const run_plan *plan, int dim, cell *grid, int n)
{
    cell toppled = 0;
    for (int color = 0; color < 4; color++) {
        int left = 1 + color % 2 * plan->tilew, top = 1 + color / 2 * plan->tileh;
#pragma omp parallel for collapse(2) reduction(| : toppled) schedule(runtime)
        for (int y = top; y < dim - 1; y += 2 * plan->tileh)
            for (int x = left; x < dim - 1; x += 2 * plan->tilew) {
                int w = min_int(plan->tilew, dim - 1 - x);
                int h = min_int(plan->tileh, dim - 1 - y);
                double begin = plan->trace ? seconds() : 0;
                toppled |= do_tile_in_place(dim, grid, x, y, w, h);
                trace_tile(plan->trace, n, (int[4]){x, y, w, h}, begin,
                           thread_number());
            }
    }
    return toppled;
}

/* Fills the rows inside the border with 0xff bytes. Each row is filled by the thread
 * that will compute it, so that on a NUMA machine its pages are near that thread (first
 * touch). */
static void first_touch(const run_plan *plan, int dim, cell *grid)
{
    size_t row = dim * sizeof *grid;
#pragma omp parallel for schedule(runtime)
    for (int y = 1; y < dim - 1; y += plan->tileh)
        memset(grid + (size_t)y * dim, 0xff, min_int(plan->tileh, dim - 1 - y) * row);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    int dim = p->dim, n = 0;
    size_t size = pile_cells(p) * sizeof(cell);
    cell *in = allocate_untouched(pile_cells(p), sizeof *in, "the grid before a step");
    cell *out = allocate_untouched(pile_cells(p), sizeof *out, "the grid after a step");
    first_touch(plan, dim, in);
    first_touch(plan, dim, out);

    double ready = seconds();

    if (plan->rule == ASYNC) {
        while (n < plan->max_iterations && sweep(plan, dim, p->grid, n)) n++;
        pile_clear_border(p->grid, dim);
    } else {
        memcpy(in, p->grid, size);
        pile_clear_border(out, dim);
        cell or_values = pile_or(in, dim);
        while (n < plan->max_iterations && or_values > 3) {
            or_values = step(plan, dim, in, out, n);
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
