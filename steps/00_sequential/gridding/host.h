/* host.h - tables and arrays that the host prepares before the first visibility. */
#include "body.h"

/* Returns the number of elements of the table. */
static inline size_t table_length(const problem *p)
{
    size_t functions =
        (size_t)p->dims.planes * p->dims.oversampling * p->dims.oversampling;
    return functions * p->dims.width * p->dims.width;
}

/* Returns the table of all convolution functions: the products of the taps in v and in
 * u. The caller frees it. */
static cplx *make_table(const problem *p)
{
    const shape *s = &p->dims;
    cplx *table =
        allocate(table_length(p), sizeof *table, "the table of convolution functions");
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

/* Returns the weighted visibilities. The caller frees them. */
static cplx *make_values(const problem *p)
{
    cplx *value = allocate(p->dims.visibilities, sizeof *value, "the visibilities");
    for (int k = 0; k < p->dims.visibilities; k++)
        value[k] = (cplx)((const double complex *)p->value)[k];
    return value;
}
