/* cpu.c - gridding and degridding. Threads take bands of the grid: nobody else writes
 * there, and no copy is needed.
 */
#include "host.h"

/* Rows of a band: as many as stay in a second-level cache while visibilities pass, 526
 * KB of a grid of 4096 float32 cells a row. */
enum { BAND = 16 };

/* Adds all visibilities to rows top .. bottom - 1 of the grid. Those with a share there
 * begin less than a footprint above the band, or in it. */
static void grid_band(const shape *s, const cplx *table, const sorted *o, int top,
                      int bottom, cplx *grid)
{
    int above = top - s->width + 1;
    for (int k = o->first[above > 0 ? above : 0]; k < o->first[bottom]; k++) {
        int from = top - o->at[k].v, to = bottom - o->at[k].v;
        grid_one(s, table, &o->at[k], o->value[k], from > 0 ? from : 0,
                 to < s->width ? to : s->width, 0, s->width, grid);
    }
}

int gridding(const problem *p, void *result, run_times *t)
{
    double start = seconds();
    const shape *s = &p->is;
    cplx *grid = result;

    cplx *table = table_of(p);
    t->copies = 1;

    double ready = seconds();

    sorted o = sort(p);

#pragma omp parallel for schedule(dynamic)
    for (int top = 0; top < s->size; top += BAND) {
        int bottom = top + BAND < s->size ? top + BAND : s->size;
        memset(grid + (size_t)top * s->pitch, 0,
               (size_t)(bottom - top) * s->pitch * sizeof *grid);
        grid_band(s, table, &o, top, bottom, grid);
    }

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

    cplx *table = table_of(p);
    cplx *value = allocate(s->samples, sizeof *value, "the sorted visibilities");
    t->copies = 1;

    double ready = seconds();

    sorted o = sort(p);

#pragma omp parallel for
    for (int k = 0; k < s->samples; k++)
        value[k] = degrid_one(s, table, &o.at[k], grid);

    unsort(&o, s->samples, value, result);

    double end = seconds();
    t->init = ready - start;
    t->sort = o.seconds;
    t->run = end - ready;
    t->kernel = t->run - t->sort;
    sorted_free(&o);
    free(value);
    free(table);
    return 0;
}
