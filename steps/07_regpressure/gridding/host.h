/* host.h - what is made ready before the first visibility. */
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Elements of the table, with a pad for `columns`. */
static inline size_t table_count(const problem *p, int columns)
{
    size_t stride = p->is.width + 2 * PAD_OF(columns);
    return p->is.planes * p->is.oversampling * 2 * stride;
}

/* The taps, rounded, real and imaginary parts apart, zeros around; to be freed. */
static real *table_of(const problem *p, int columns)
{
    int rows = p->is.planes * p->is.oversampling, width = p->is.width;
    int pad = PAD_OF(columns), stride = width + 2 * pad;
    size_t count = table_count(p, columns);
    real *table = (real *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) table[i] = 0;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++)
            for (int part = 0; part < 2; part++)
                table[(2 * r + part) * (size_t)stride + pad + i] =
                    (real)p->taps[2 * ((size_t)r * width + i) + part];
    return table;
}

/* The visibilities by rising u, and for each band of ROWS rows two lists of those that
 * touch it, w >= 0 and w < 0, in the same order. */
typedef struct {
    int bands;
    int *first;  /* [2 * bands + 1]: where a list begins */
    int *list;   /* [first[2 * bands]]: indices of at and value */
    place *at;   /* [samples] */
    cplx *value; /* [samples] */
    double seconds;
} sorted;

static inline sorted sort(const problem *p)
{
    double start = seconds();
    int n = p->is.samples, width = p->is.width, columns = p->is.size + 1;
    sorted o;
    o.at = (place *)allocate(n, sizeof *o.at, "the places");
    o.value = (cplx *)allocate(n, sizeof *o.value, "the visibilities");
    int *next = (int *)allocate(columns + 1, sizeof *next, "the columns");
    memset(next, 0, (columns + 1) * sizeof *next);
    for (int k = 0; k < n; k++) next[p->at[k].u + 1]++;
    for (int i = 0; i < columns; i++) next[i + 1] += next[i];
    for (int k = 0; k < n; k++) {
        int to = next[p->at[k].u]++;
        o.at[to] = p->at[k];
        o.value[to].re = (real)p->value[2 * k];
        o.value[to].im = (real)p->value[2 * k + 1];
    }
    free(next);

    o.bands = (p->is.size + ROWS - 1) / ROWS;
    o.first = (int *)allocate(2 * o.bands + 2, sizeof *o.first, "the bands");
    memset(o.first, 0, (2 * o.bands + 2) * sizeof *o.first);
    for (int k = 0; k < n; k++)
        for (int b = o.at[k].v / ROWS; b <= (o.at[k].v + width - 1) / ROWS; b++)
            o.first[2 * b + o.at[k].minus + 2]++;
    double entries = 0;
    for (int i = 0; i < 2 * o.bands; i++) {
        entries += o.first[i + 2];
        if (entries > 2e9) fail("%g entries of bands, at most 2e9", entries);
        o.first[i + 2] += o.first[i + 1];
    }
    o.list = (int *)allocate(o.first[2 * o.bands + 1], sizeof *o.list, "the bands");
    for (int k = 0; k < n; k++) /* first[i + 1] is where list i goes on */
        for (int b = o.at[k].v / ROWS; b <= (o.at[k].v + width - 1) / ROWS; b++)
            o.list[o.first[2 * b + o.at[k].minus + 1]++] = k;
    o.seconds = seconds() - start;
    return o;
}

static inline void sorted_free(sorted *o)
{
    free(o->first);
    free(o->list);
    free(o->at);
    free(o->value);
}
