/* cpu.c - gridding and degridding. Threads take bands of the grid: nobody else writes
 * there, and no copy is needed.
 */
#include "host.h"

/* Rows of a band: as many as stay in a second-level cache while visibilities pass, 526
 * KB of a grid of 4096 float32 cells a row. */
enum { BAND = 16 };

/* Adds the visibilities of a plane to rows top .. bottom - 1 of the grid. Those with a
 * share there begin less than a footprint above the band, or in it. */
static void grid_band(const shape *s, const cplx *taps, const sorted *o, int plane,
                      int top, int bottom, cplx *grid)
{
    int above = top - s->width + 1;
    const int *first = o->first + (size_t)plane * o->rows;
    for (int k = first[above > 0 ? above : 0]; k < first[bottom]; k++) {
        int from = top - o->at[k].v, to = bottom - o->at[k].v;
        grid_one(s, taps, &o->at[k], o->value[k], from > 0 ? from : 0,
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
        for (int i = 0; i < o.planes; i++)
            grid_band(s, table + i * taps_count(p), &o, i, top, bottom, grid);
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

    for (int i = 0; i < o.planes; i++) {
        const cplx *taps = table + i * taps_count(p);
#pragma omp parallel for
        for (int k = first_of(&o, i); k < first_of(&o, i + 1); k++)
            value[k] = degrid_one(s, taps, &o.at[k], grid);
    }

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
