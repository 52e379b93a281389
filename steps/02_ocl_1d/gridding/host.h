/* host.h - tables and arrays that the host prepares before the first visibility. */
#include "gridding.h"
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
    cplx *table = (cplx *)allocate(table_length(p), sizeof *table,
                                   "the table of convolution functions");
    const double(*taps)[2] = (const double(*)[2])p->taps;
    cplx *c = table;
    for (int plane = 0; plane < s->planes; plane++)
        for (int fv = 0; fv < s->oversampling; fv++)
            for (int fu = 0; fu < s->oversampling; fu++)
                for (int j = 0; j < s->width; j++)
                    for (int i = 0; i < s->width; i++) {
                        size_t row = (size_t)plane * s->oversampling;
                        const double *v = taps[(row + fv) * s->width + j];
                        const double *u = taps[(row + fu) * s->width + i];
                        c->re = (real)(v[0] * u[0] - v[1] * u[1]);
                        c->im = (real)(v[0] * u[1] + v[1] * u[0]);
                        c++;
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
