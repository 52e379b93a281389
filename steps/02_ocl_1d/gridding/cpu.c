/* cpu.c - gridding with the visibilities divided among threads.
 * Footprints overlap, so two threads could add to the same cell at the same time.
 * Therefore each thread adds to its own copy of the grid; at the end, all threads sum
 * up the copies.
 */
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "host.h"

static int threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape s = make_shape(p, threads(), memory_limit());
    cplx *grid = result;

    cplx *table = make_table(p);
    cplx *value = make_values(p);
    size_t cells = (size_t)s.size * s.pitch;
    cplx *extra =
        allocate_untouched(s.copies - 1, cells * sizeof *extra, "copies of the grid");
    t->copies = s.copies;

    /* First touch: a page of memory is allocated on the socket of the thread that
     * writes to it first. This loop has the schedule of the loop below, in which thread
     * 0 uses the grid itself. */
#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < s.copies; c++)
        if (c > 0) memset(extra + (c - 1) * cells, 0xff, cells * sizeof *extra);

    double run_start = seconds();

#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < s.copies; c++) {
        cplx *copy = c == 0 ? grid : extra + (c - 1) * cells;
        memset(copy, 0, cells * sizeof *copy);
        grid_range(&s, table, p->footprints, value, c, copy);
    }

#pragma omp parallel for
    for (size_t i = 0; i < cells; i++)
        for (int c = 1; c < s.copies; c++)
            grid[i] = plus(grid[i], extra[(c - 1) * cells + i]);

    double end = seconds();
    t->init = run_start - start;
    t->run = t->kernel = end - run_start;
    free(extra);
    free(value);
    free(table);
    return 0;
}
