/* host.h - what is made ready before the first visibility. */
#include "body.h"

/* Elements of the table. */
static inline size_t table_count(const problem *p)
{
    size_t functions = (size_t)p->is.planes * p->is.oversampling * p->is.oversampling;
    return functions * p->is.width * p->is.width;
}

/* The table of all convolution functions, products of the taps in v and in u; to be
 * freed.
 */
static cplx *table_of(const problem *p)
{
    const shape *s = &p->is;
    cplx *table =
        allocate(table_count(p), sizeof *table, "the table of convolution functions");
    const double complex *taps = (const double complex *)p->taps;
    cplx *c = table;
    for (int plane = 0; plane < s->planes; plane++)
        for (int fv = 0; fv < s->oversampling; fv++)
            for (int fu = 0; fu < s->oversampling; fu++)
                for (int j = 0; j < s->width; j++)
                    for (int i = 0; i < s->width; i++) {
                        size_t row = (size_t)plane * s->oversampling;
                        *c++ = (cplx)(taps[(row + fv) * s->width + j] *
                                      taps[(row + fu) * s->width + i]);
                    }
    return table;
}

/* The weighted visibilities; to be freed. */
static cplx *values_of(const problem *p)
{
    cplx *value = allocate(p->is.samples, sizeof *value, "the visibilities");
    for (int k = 0; k < p->is.samples; k++)
        value[k] = (cplx)((const double complex *)p->value)[k];
    return value;
}
