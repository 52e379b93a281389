/* cpu.c - gridding and degridding, the visibilities shared among threads. Footprints
 * overlap, so that two threads would add to the same cell at once: each thread has a
 * copy of the grid to itself, and the copies are added up at the end.
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
    const shape s = shape_of(p, threads(), main_memory());
    cplx *grid = result;

    cplx *table = table_of(p);
    cplx *value = values_of(p);
    size_t cells = (size_t)s.size * s.pitch;
    cplx *more = untouched(s.copies - 1, cells * sizeof *more, "copies of the grid");
    t->copies = s.copies;

    /* Memory lies near the processor whose thread writes to it first. The schedule is
     * that of the loop below, which gives thread 0 the grid itself. */
#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < s.copies; c++)
        if (c > 0) memset(more + (c - 1) * cells, 0xff, cells * sizeof *more);

    double ready = seconds();

#pragma omp parallel for schedule(static, 1)
    for (int c = 0; c < s.copies; c++) {
        cplx *copy = c == 0 ? grid : more + (c - 1) * cells;
        memset(copy, 0, cells * sizeof *copy);
        grid_share(&s, table, p->at, value, c, 0, 0, copy);
    }

#pragma omp parallel for
    for (size_t i = 0; i < cells; i++)
        for (int c = 1; c < s.copies; c++)
            grid[i] = plus(grid[i], more[(c - 1) * cells + i]);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(more);
    free(value);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->is;
    const cplx *grid = model;
    cplx *value = result;

    cplx *table = table_of(p);
    t->copies = 1;

    double ready = seconds();

#pragma omp parallel for
    for (int k = 0; k < s->samples; k++)
        value[k] = degrid_one(s, table, &p->at[k], grid);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(table);
    return 0;
}
