/* cpu.c - topples the grids in parallel: OpenMP threads compute tiles of plan->tilew x
 * plan->tileh cells.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

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

/* Computes step n of all grids, from one array into another. flags[g] becomes the OR of
 * all new cells of grid g. */
static void step(const pile *p, const run_plan *plan, const cell *in, cell *out, int n,
                 cell *flags)
{
    int dim = p->dim;
    memset(flags, 0, p->batch * sizeof *flags);
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            for (int x = 1; x < dim - 1; x += plan->tilew) {
                int w = min_int(plan->tilew, dim - 1 - x);
                int h = min_int(plan->tileh, dim - 1 - y);
                size_t grid = g * pile_cells(p);
                double begin = plan->trace ? seconds() : 0;
                cell tile_flags = do_tile(dim, in + grid, out + grid, x, y, w, h);
                trace_tile(plan->trace, n, g, (int[4]){x, y, w, h}, begin,
                           thread_number());
#pragma omp atomic
                flags[g] |= tile_flags;
            }
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
static cell sweep(const run_plan *plan, int dim, cell *grid, int g, int n)
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
                trace_tile(plan->trace, n, g, (int[4]){x, y, w, h}, begin,
                           thread_number());
            }
    }
    return toppled;
}

/* Fills the rows inside the border with 0xff bytes. Each row is filled by the thread
 * that will compute it, so that on a NUMA machine its pages are near that thread (first
 * touch). */
static void first_touch(const pile *p, const run_plan *plan, cell *grids)
{
    int dim = p->dim;
    size_t row = dim * sizeof *grids;
#pragma omp parallel for collapse(2) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            memset(grids + ((size_t)g * dim + y) * dim, 0xff,
                   min_int(plan->tileh, dim - 1 - y) * row);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    int dim = p->dim;
    size_t cells = pile_cells(p), total = cells * p->batch;
    cell *in = allocate_untouched(total, sizeof *in, "the grids before a step");
    cell *out = allocate_untouched(total, sizeof *out, "the grids after a step");
    first_touch(p, plan, in);
    first_touch(p, plan, out);
    for (int g = 0; g < p->batch; g++) pile_clear_border(out + g * cells, dim);
    cell *flags = allocate(p->batch, sizeof *flags, "the flags of each grid");

    double ready = seconds();

    if (plan->rule == ASYNC) {
        for (int g = 0; g < p->batch; g++) {
            cell *grid = p->grid + g * cells;
            int n = 0;
            while (n < plan->max_iterations && sweep(plan, dim, grid, g, n)) n++;
            pile_clear_border(grid, dim);
            p->iterations[g] = n;
        }
    } else {
        memcpy(in, p->grid, total * sizeof *in);
        int n = 0;
        for (int g = 0; g < p->batch; g++) flags[g] = pile_or(in + g * cells, dim);
        while (record_finished(p, plan, flags, n) > 3 && n < plan->max_iterations) {
            step(p, plan, in, out, n, flags);
            cell *swap = in;
            in = out;
            out = swap;
            n++;
        }
        memcpy(p->grid, in, total * sizeof *in);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(flags);
    free(in);
    free(out);
    return 0;
}
