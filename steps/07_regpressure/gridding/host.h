/* host.h - what is made ready before the first visibility. */
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Elements of the table, with a pad for blocks of rows x columns. */
static inline size_t table_length(const problem *p, int rows, int columns)
{
    size_t stride = p->dims.width + 2 * PAD_OF(rows, columns);
    return p->dims.planes * p->dims.oversampling * REALS_PER_TAP * stride;
}

/* The taps, rounded, real and imaginary parts apart, zeros around; to be freed. */
static real *make_table(const problem *p, int rows, int columns)
{
    int functions = p->dims.planes * p->dims.oversampling, width = p->dims.width;
    int pad = PAD_OF(rows, columns), stride = width + 2 * pad;
    size_t count = table_length(p, rows, columns);
    real *table = (real *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) table[i] = 0;
    for (int f = 0; f < functions; f++)
        for (int i = 0; i < width; i++)
            for (int component = 0; component < 2; component++)
                table[(REALS_PER_TAP * f + component) * (size_t)stride + pad + i] =
                    (real)p->taps[2 * ((size_t)f * width + i) + component];
    return table;
}

/* The visibilities, bin by bin. */
typedef struct {
    int rows, columns; /* of a block */
    int bands;         /* rows of bins, and of blocks */
    size_t count;      /* in all, two for each block: w >= 0 and w < 0 */
    int *first;        /* [bins + 1]: where a bin begins */
    int *bin;          /* [samples]: of each visibility of the problem */
    int *permutation;  /* [samples]: which visibility of the problem it is */
    sorted_visibility *visibilities; /* [samples] */
    double seconds;
} binning;

static inline size_t bin_of(const problem *p, const binning *bins, const footprint *fp)
{
    size_t bin_row = 2 * (fp->v / bins->rows) + fp->negative_w;
    return bin_row * CEIL_DIV(p->dims.size, bins->columns) + fp->u / bins->columns;
}

/* Room for the visibilities, which come with sort(). */
static inline binning allocate_binning(const problem *p, int rows, int columns)
{
    int n = p->dims.visibilities;
    binning bins;
    bins.rows = rows;
    bins.columns = columns;
    bins.bands = CEIL_DIV(p->dims.size, rows);
    bins.count = (size_t)2 * bins.bands * CEIL_DIV(p->dims.size, columns);
    bins.first = (int *)allocate(bins.count + 2, sizeof *bins.first, "the bins");
    bins.bin = (int *)allocate(n, sizeof *bins.bin, "the bins of visibilities");
    bins.permutation = (int *)allocate(n, sizeof *bins.permutation, "the order");
    bins.visibilities = (sorted_visibility *)allocate(n, sizeof *bins.visibilities,
                                                      "the sorted visibilities");
    bins.seconds = 0;
    return bins;
}

static inline void bin_visibilities(const problem *p, binning *bins)
{
    double start = seconds();
    int n = p->dims.visibilities, *first = bins->first, *bin = bins->bin;
    long pad = PAD_OF(bins->rows, bins->columns), stride = p->dims.width + 2 * pad;

    memset(first, 0, (bins->count + 2) * sizeof *first);
    for (int k = 0; k < n; k++) {
        bin[k] = (int)bin_of(p, bins, &p->footprints[k]);
        first[bin[k] + 2]++;
    }
    for (size_t i = 0; i < bins->count; i++) first[i + 2] += first[i + 1];
    for (int k = 0; k < n; k++) { /* first[i + 1] is where bin i goes on */
        const footprint *fp = &p->footprints[k];
        int i = first[bin[k] + 1]++;
        sorted_visibility *vis = &bins->visibilities[i];
        bins->permutation[i] = k;
        long plane = fp->plane * p->dims.oversampling;
        vis->taps_u = (plane + fp->fu) * REALS_PER_TAP * stride + pad - fp->u;
        vis->taps_v = (plane + fp->fv) * REALS_PER_TAP * stride + pad - fp->v;
        vis->d.re = (real)p->value[2 * k];
        vis->d.im = (real)(fp->negative_w ? -p->value[2 * k + 1] : p->value[2 * k + 1]);
    }
    bins->seconds = seconds() - start;
}

static inline void free_binning(binning *bins)
{
    free(bins->first);
    free(bins->bin);
    free(bins->permutation);
    free(bins->visibilities);
}
