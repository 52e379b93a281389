/* cpu.c - sequential gridding, one visibility after the other. */
#include <stdlib.h>
#include <string.h>

#include "host.h"

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->dims;
    cplx *grid = result;

    cplx *table = make_table(p);
    cplx *value = make_values(p);
    t->copies = 1;

    double run_start = seconds();

    memset(grid, 0, (size_t)s->size * s->pitch * sizeof *grid);
    for (int k = 0; k < s->visibilities; k++)
        grid_visibility(s, table, &p->footprints[k], value[k], grid);

    double end = seconds();
    t->init = run_start - start;
    t->run = t->kernel = end - run_start;
    free(value);
    free(table);
    return 0;
}
