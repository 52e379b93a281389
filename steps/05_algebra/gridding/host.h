/* host.h - tables and arrays that the host prepares before the first visibility. */
#include "gridding.h"
#include "body.h"

/* Returns the number of elements of the table. */
static inline size_t table_length(const problem *p)
{
    return (size_t)p->dims.planes * p->dims.oversampling * p->dims.width;
}

/* Returns the taps, rounded to `real`. The caller frees them. */
static cplx *make_table(const problem *p)
{
    size_t count = table_length(p);
    cplx *table = (cplx *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) {
        table[i].re = (real)p->taps[2 * i];
        table[i].im = (real)p->taps[2 * i + 1];
    }
    return table;
}

/* Returns the weighted visibilities. The caller frees them. */
static inline cplx *make_values(const problem *p)
{
    cplx *value =
        (cplx *)allocate(p->dims.visibilities, sizeof *value, "the visibilities");
    for (int k = 0; k < p->dims.visibilities; k++) {
        value[k].re = (real)p->value[2 * k];
        value[k].im = (real)p->value[2 * k + 1];
    }
    return value;
}

/* Returns the problem's shape. The number of copies of the grid is the number of
 * workers, limited by the size of the memory in bytes. */
static inline shape make_shape(const problem *p, int workers, double memory)
{
    shape s = p->dims;
    double bytes = (double)s.size * s.pitch * sizeof(cplx);
    s.copies = choose_copies(p->copies, workers, bytes, memory);
    return s;
}

/* Sets the number of strips per footprint: as the user asked, otherwise rows x columns.
 * A group has at most max_items work-items. */
static inline void choose_strips(shape *s, const problem *p, int rows, int columns,
                                 size_t max_items)
{
    s->strips[0] = p->strips[0] ? p->strips[0] : rows;
    s->strips[1] = p->strips[1] ? p->strips[1] : columns;
    for (int i = 0; i < 2; i++)
        if (s->strips[i] > s->width) s->strips[i] = s->width;
    while ((size_t)s->strips[0] * s->strips[1] > max_items)
        s->strips[s->strips[0] == 1] = (s->strips[s->strips[0] == 1] + 1) / 2;
}
