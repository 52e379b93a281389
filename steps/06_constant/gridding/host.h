/* host.h - what is made ready before the first visibility. */
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Taps of one plane. */
static inline size_t taps_count(const problem *p)
{
    return (size_t)p->is.oversampling * p->is.width;
}

/* The taps, rounded, of all planes for w >= 0 and then, conjugated, of those for w < 0;
 * to be freed. */
static cplx *table_of(const problem *p)
{
    size_t count = p->is.planes * taps_count(p);
    cplx *table = (cplx *)allocate(2 * count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) {
        table[i].re = table[count + i].re = (real)p->taps[2 * i];
        table[i].im = (real)p->taps[2 * i + 1];
        table[count + i].im = -table[i].im;
    }
    return table;
}

/* Which plane and row visibility k belongs to. */
static size_t bin_of(const problem *p, int k)
{
    const place *at = &p->at[k];
    return ((size_t)at->minus * p->is.planes + at->plane) * p->is.size + at->v;
}

/* The visibilities plane by plane, those of a plane by the first row of their
 * footprints, those of a row in their old order. */
typedef struct {
    int planes;  /* two for each of the problem's: w >= 0 and w < 0 */
    int rows;    /* of a plane: the grid's */
    int *first;  /* [planes * rows + 1]: where those of a row of a plane begin */
    int *from;   /* [samples]: which visibility of the problem it is */
    place *at;   /* [samples] */
    cplx *value; /* [samples], weighted */
    double seconds;
} sorted;

static sorted sort(const problem *p)
{
    double start = seconds();
    int n = p->is.samples, planes = 2 * p->is.planes, rows = p->is.size;
    size_t bins = (size_t)planes * rows;
    sorted o = {planes,
                rows,
                (int *)allocate(bins + 2, sizeof(int), "the rows of all planes"),
                (int *)allocate(n, sizeof(int), "the order"),
                (place *)allocate(n, sizeof(place), "the places"),
                (cplx *)allocate(n, sizeof(cplx), "the visibilities"),
                0};
    memset(o.first, 0, (bins + 2) * sizeof *o.first);
    for (int k = 0; k < n; k++) o.first[bin_of(p, k) + 2]++;
    for (size_t i = 0; i < bins; i++) o.first[i + 2] += o.first[i + 1];
    for (int k = 0; k < n; k++) {
        int to = o.first[bin_of(p, k) + 1]++; /* where the row goes on */
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

/* Where a plane begins. */
static inline int first_of(const sorted *o, int plane)
{
    return o->first[(size_t)plane * o->rows];
}

/* The problem's shape with the visibilities of one plane only. */
static inline shape plane_of(shape s, const sorted *o, int plane)
{
    s.samples = first_of(o, plane + 1) - first_of(o, plane);
    return s;
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
