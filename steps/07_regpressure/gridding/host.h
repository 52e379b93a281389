/* host.h - what is made ready before the first visibility. */
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Elements of the table, with a pad for blocks of rows x columns. */
static inline size_t table_count(const problem *p, int rows, int columns)
{
    size_t stride = p->is.width + 2 * PAD_OF(rows, columns);
    return p->is.planes * p->is.oversampling * PARTS * stride;
}

/* The taps, rounded, real and imaginary parts apart, zeros around; to be freed. */
static real *table_of(const problem *p, int rows, int columns)
{
    int functions = p->is.planes * p->is.oversampling, width = p->is.width;
    int pad = PAD_OF(rows, columns), stride = width + 2 * pad;
    size_t count = table_count(p, rows, columns);
    real *table = (real *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) table[i] = 0;
    for (int f = 0; f < functions; f++)
        for (int i = 0; i < width; i++)
            for (int part = 0; part < 2; part++)
                table[(PARTS * f + part) * (size_t)stride + pad + i] =
                    (real)p->taps[2 * ((size_t)f * width + i) + part];
    return table;
}

/* The visibilities, bin by bin. */
typedef struct {
    int rows, columns; /* of a block */
    int bands;         /* rows of bins, and of blocks */
    size_t bins;       /* in all, two for each block: w >= 0 and w < 0 */
    int *first;        /* [bins + 1]: where a bin begins */
    int *bin;          /* [samples]: of each visibility of the problem */
    int *from;         /* [samples]: which visibility of the problem it is */
    sample *samples;   /* [samples] */
    double seconds;
} sorted;

static inline size_t bin_of(const problem *p, const sorted *o, const place *at)
{
    size_t along = 2 * (at->v / o->rows) + at->minus;
    return along * BINS_OF(p->is.size, o->columns) + at->u / o->columns;
}

/* Room for the visibilities, which come with sort(). */
static inline sorted sorted_for(const problem *p, int rows, int columns)
{
    int n = p->is.samples;
    sorted o;
    o.rows = rows;
    o.columns = columns;
    o.bands = BINS_OF(p->is.size, rows);
    o.bins = (size_t)2 * o.bands * BINS_OF(p->is.size, columns);
    o.first = (int *)allocate(o.bins + 2, sizeof *o.first, "the bins");
    o.bin = (int *)allocate(n, sizeof *o.bin, "the bins of visibilities");
    o.from = (int *)allocate(n, sizeof *o.from, "the order");
    o.samples = (sample *)allocate(n, sizeof *o.samples, "the sorted visibilities");
    o.seconds = 0;
    return o;
}

static inline void sort(const problem *p, sorted *o)
{
    double start = seconds();
    int n = p->is.samples, *first = o->first, *bin = o->bin;
    long pad = PAD_OF(o->rows, o->columns), stride = p->is.width + 2 * pad;

    memset(first, 0, (o->bins + 2) * sizeof *first);
    for (int k = 0; k < n; k++) {
        bin[k] = (int)bin_of(p, o, &p->at[k]);
        first[bin[k] + 2]++;
    }
    for (size_t i = 0; i < o->bins; i++) first[i + 2] += first[i + 1];
    for (int k = 0; k < n; k++) { /* first[i + 1] is where bin i goes on */
        const place *at = &p->at[k];
        int i = first[bin[k] + 1]++;
        sample *to = &o->samples[i];
        o->from[i] = k;
        long plane = at->plane * p->is.oversampling;
        to->u = (plane + at->fu) * PARTS * stride + pad - at->u;
        to->v = (plane + at->fv) * PARTS * stride + pad - at->v;
        to->d.re = (real)p->value[2 * k];
        to->d.im = (real)(at->minus ? -p->value[2 * k + 1] : p->value[2 * k + 1]);
    }
    o->seconds = seconds() - start;
}

static inline void sorted_free(sorted *o)
{
    free(o->first);
    free(o->bin);
    free(o->from);
    free(o->samples);
}
