/* cpu.c - gridding and degridding, sequential: one visibility after the other. */
#include <stdlib.h>
#include <string.h>

#include "host.h"

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->is;
    cplx *grid = result;

    cplx *table = table_of(p);
    cplx *value = values_of(p);
    t->copies = 1;

    double ready = seconds();

    memset(grid, 0, (size_t)s->size * s->pitch * sizeof *grid);
    for (int k = 0; k < s->samples; k++) grid_one(s, table, &p->at[k], value[k], grid);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
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

    for (int k = 0; k < s->samples; k++)
        value[k] = degrid_one(s, table, &p->at[k], grid);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(table);
    return 0;
}
