/* cpu.c - gridding and degridding. Threads take segments of the grid: nobody else
 * writes there, and no copy is needed.
 */
#include "host.h"

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->is;
    cplx *grid = result;

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    t->copies = 1;

    double ready = seconds();

    sort(p, &o);

#pragma omp parallel for schedule(dynamic) collapse(2)
    for (int band = 0; band < o.bands; band += BLOCKS)
        for (int column = 0; column < s->size; column += COLUMNS)
            grid_segment(s, table, o.first, o.samples, band, column, grid);

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = t->run - t->sort;
    sorted_free(&o);
    free(table);
    return 0;
}

int degridding(const problem *p, const void *model, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->is;
    const cplx *grid = model;
    cplx *value = result;

    real *table = table_of(p, ROWS, COLUMNS);
    sorted o = sorted_for(p, ROWS, COLUMNS);
    t->copies = 1;

    double ready = seconds();

    sort(p, &o);

#pragma omp parallel for
    for (int k = 0; k < s->samples; k++)
        value[o.from[k]] = degrid_one(s, table, &p->at[o.from[k]], grid);

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = t->run - t->sort;
    sorted_free(&o);
    free(table);
    return 0;
}
