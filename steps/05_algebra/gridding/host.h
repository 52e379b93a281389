/* host.h - what is made ready before the first visibility. */
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Elements of the table. */
static inline size_t table_count(const problem *p)
{
    return (size_t)p->is.planes * p->is.oversampling * p->is.width;
}

/* The taps, rounded; to be freed. */
static cplx *table_of(const problem *p)
{
    size_t count = table_count(p);
    cplx *table = (cplx *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) {
        table[i].re = (real)p->taps[2 * i];
        table[i].im = (real)p->taps[2 * i + 1];
    }
    return table;
}

/* The visibilities by the first row of their footprints, those of a row in their old
 * order. */
typedef struct {
    int *first;  /* [size + 1]: where those of a row begin */
    int *from;   /* [samples]: which visibility of the problem it is */
    place *at;   /* [samples] */
    cplx *value; /* [samples], weighted */
    double seconds;
} sorted;

static sorted sort(const problem *p)
{
    double start = seconds();
    int n = p->is.samples, rows = p->is.size;
    sorted o = {(int *)allocate(rows + 2, sizeof(int), "the rows"),
                (int *)allocate(n, sizeof(int), "the order"),
                (place *)allocate(n, sizeof(place), "the places"),
                (cplx *)allocate(n, sizeof(cplx), "the visibilities"), 0};
    memset(o.first, 0, (rows + 2) * sizeof *o.first);
    for (int k = 0; k < n; k++) o.first[p->at[k].v + 2]++;
    for (int i = 0; i < rows; i++) o.first[i + 2] += o.first[i + 1];
    for (int k = 0; k < n; k++) {
        int to = o.first[p->at[k].v + 1]++; /* where the row goes on */
        o.from[to] = k;
        o.at[to] = p->at[k];
        o.value[to].re = (real)p->value[2 * k];
        o.value[to].im = (real)p->value[2 * k + 1];
    }
    o.seconds = seconds() - start;
    return o;
}

static void sorted_free(sorted *o)
{
    free(o->first);
    free(o->from);
    free(o->at);
    free(o->value);
}

/* Degridded visibilities, from this order into the problem's. */
static inline void unsort(const sorted *o, int n, const cplx *value, cplx *result)
{
    for (int k = 0; k < n; k++) result[o->from[k]] = value[k];
}

/* The problem's shape, with as many copies of the grid as there are workers and as
 * memory bytes hold. */
static inline shape shape_of(const problem *p, int workers, double memory)
{
    shape s = p->is;
    double bytes = (double)s.size * s.pitch * sizeof(cplx);
    s.copies = copies_of(p->copies, workers, bytes, memory);
    return s;
}

/* Cuts the footprint as wanted, or in rows x columns; a group has room for so many. */
static inline void cut(shape *s, const problem *p, int rows, int columns, size_t room)
{
    s->strips[0] = p->strips[0] ? p->strips[0] : rows;
    s->strips[1] = p->strips[1] ? p->strips[1] : columns;
    for (int i = 0; i < 2; i++)
        if (s->strips[i] > s->width) s->strips[i] = s->width;
    while ((size_t)s->strips[0] * s->strips[1] > room)
        s->strips[s->strips[0] == 1] = (s->strips[s->strips[0] == 1] + 1) / 2;
}
