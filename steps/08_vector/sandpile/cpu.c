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

/* Computes one step of rows y .. y + h - 1 in bit planes. A tile has whole rows,
 * because the cells of a row are interleaved over all words. */
static cell do_tile_planes(int width, cell *grid, int n, int y, int h)
{
    cell or_fours = 0;
    for (int w = 0; w < width; w += LANES) {
        cell *c = grid + (size_t)y * row_pitch(width) + w;
        or_fours |=
            bitvec_any(step_column(c, w, width, n, h, bitvec_at(GLOBAL, grid + w)));
    }
    return 4 * or_fours;
}

/* Computes steps n .. n + steps - 1 in bit planes. flags[s][g] becomes nonzero if grid
 * g is unstable after step s. A step takes some microseconds, so there is one parallel
 * region for all steps, with one barrier per step. */
static void step_planes(const pile *p, const run_plan *plan, cell *grids, int n,
                        int steps, cell *flags)
{
    int dim = p->dim, batch = p->batch, width = plane_width(dim);
    memset(flags, 0, (size_t)steps * batch * sizeof *flags);
#pragma omp parallel
    for (int s = 0; s < steps; s++) {
#pragma omp for collapse(2) schedule(runtime)
        for (int g = 0; g < batch; g++)
            for (int y = 1; y < dim - 1; y += plan->tileh) {
                int h = min_int(plan->tileh, dim - 1 - y);
                cell *grid = grids + (size_t)g * dim * row_pitch(width);
                double begin = plan->trace ? seconds() : 0;
                cell tile_flags = do_tile_planes(width, grid, n + s, y, h);
                trace_tile(plan->trace, n + s, g, (int[4]){1, y, dim - 2, h}, begin,
                           thread_number());
#pragma omp atomic
                flags[s * batch + g] |= tile_flags;
            }
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

/* Fills the rows inside the border with 0xff bytes; `row` is the size of a row in
 * bytes. Each row is filled by the thread that will compute it, so that on a NUMA
 * machine its pages are near that thread (first touch). */
static void first_touch(const pile *p, const run_plan *plan, void *grids, size_t row)
{
    int dim = p->dim;
    char *first = grids;
#pragma omp parallel for collapse(2) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            memset(first + ((size_t)g * dim + y) * row, 0xff,
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
    first_touch(p, plan, in, dim * sizeof *in);
    first_touch(p, plan, out, dim * sizeof *in);
    for (int g = 0; g < p->batch; g++) pile_clear_border(out + g * cells, dim);
    cell *flags = allocate((size_t)POLL_STEPS * p->batch, sizeof *flags,
                           "the flags of each step");
    size_t row = row_pitch(plane_width(dim)) * sizeof *flags;
    cell *planes = allocate_untouched(total_words(p), sizeof *planes, "the bit planes");
    first_touch(p, plan, planes, row);

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
        int n = 0;
        for (int g = 0; g < p->batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
        if (record_finished(p, plan, flags, n) > 7) {
            memcpy(in, p->grid, total * sizeof *in);
            while (record_finished(p, plan, flags, n) > 7 && n < plan->max_iterations) {
                step(p, plan, in, out, n, flags);
                cell *swap = in;
                in = out;
                out = swap;
                n++;
            }
            memcpy(p->grid, in, total * sizeof *in);
        }

        /* From here on, every cell fits in three bits. */
        if (record_finished(p, plan, flags, n) <= 7) {
            pack_planes(p, n, planes);
            cell any_flags = record_finished(p, plan, flags, n);
            while (any_flags > 3 && n < plan->max_iterations) {
                int steps = min_int(POLL_STEPS, plan->max_iterations - n);
                step_planes(p, plan, planes, n, steps, flags);
                for (int s = 0; s < steps; s++)
                    any_flags = record_finished(p, plan, flags + s * p->batch, ++n);
            }
            unpack_planes(planes, n, p);
        }
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(planes);
    free(flags);
    free(in);
    free(out);
    return 0;
}
