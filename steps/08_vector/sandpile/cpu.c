/* cpu.c - topples the grid in parallel, in bit planes: OpenMP threads compute tiles of
 * plan->tileh rows.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Computes step n of rows y .. y + h - 1. A tile has whole rows, because the cells of a
 * row are interleaved over all words. Returns nonzero if a cell is unstable. */
static int do_tile(int width, cell *planes, int n, int y, int h)
{
    int unstable = 0;
    for (int w = 0; w < width; w += LANES) {
        cell *c = planes + (size_t)y * row_pitch(width) + w;
        bitvec inside = bitvec_at(GLOBAL, planes + w);
        unstable |= bitvec_any(step_column(c, w, width, n, h, inside));
    }
    return unstable;
}

/* Computes steps n .. n + steps - 1. flags[s] becomes nonzero if the grid is unstable
 * after step s. A step takes some microseconds, so there is one parallel region for all
 * steps, with one barrier per step. */
static void do_steps(const run_plan *plan, int dim, cell *planes, int n, int steps,
                     cell *flags)
{
    int width = plane_width(dim);
    memset(flags, 0, steps * sizeof *flags);
#pragma omp parallel
    for (int s = 0; s < steps; s++) {
#pragma omp for schedule(runtime)
        for (int y = 1; y < dim - 1; y += plan->tileh) {
            int h = min_int(plan->tileh, dim - 1 - y);
            double begin = plan->trace ? seconds() : 0;
            cell unstable = do_tile(width, planes, n + s, y, h);
            trace_tile(plan->trace, n + s, (int[4]){1, y, dim - 2, h}, begin,
                       thread_number());
#pragma omp atomic
            flags[s] |= unstable;
        }
    }
}

/* Fills the rows inside the border with 0xff bytes. Each row is filled by the thread
 * that will compute it, so that on a NUMA machine its pages are near that thread (first
 * touch). */
static void first_touch(const run_plan *plan, int dim, cell *planes)
{
    size_t pitch = row_pitch(plane_width(dim));
#pragma omp parallel for schedule(runtime)
    for (int y = 1; y < dim - 1; y += plan->tileh)
        memset(planes + y * pitch, 0xff,
               min_int(plan->tileh, dim - 1 - y) * pitch * sizeof *planes);
}

/* Topples a pile of which no cell exceeds 7, from step n on; planes is workspace.
 * Returns the number of the last step. */
static int topple_planes(pile *p, const run_plan *plan, cell *planes, int n)
{
    bool stable = pile_or(p->grid, p->dim) <= 3;
    pack_planes(p, n, planes);
    while (!stable && n < plan->max_iterations) {
        int steps = steps_until_poll(plan, n);
        cell flags[POLL_STEPS];
        do_steps(plan, p->dim, planes, n, steps, flags);
        n += steps_to_stable(flags, steps, &stable);
    }
    unpack_planes(planes, n, p);
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    cell *planes =
        allocate_untouched(total_words(p->dim), sizeof *planes, "the bit planes");
    first_touch(plan, p->dim, planes);

    double ready = seconds();

    int n = topple_tall(p, plan, 7);
    if (n < plan->max_iterations) n = topple_planes(p, plan, planes, n);
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(planes);
    return 0;
}
