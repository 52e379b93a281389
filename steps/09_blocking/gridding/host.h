/* host.h - tables and arrays that the host prepares before the first visibility. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gridding.h"
#include "body.h"

/* Returns the number of elements of the table, padded for blocks of rows x columns. */
static inline size_t table_length(const problem *p, int rows, int columns)
{
    size_t stride = p->dims.width + 2 * PAD_OF(rows, columns);
    return p->dims.planes * p->dims.oversampling * REALS_PER_TAP * stride;
}

/* Returns the taps, rounded to `real`, in the padded layout of body.h. The caller frees
 * them. */
static real *make_table(const problem *p, int rows, int columns)
{
    int functions = p->dims.planes * p->dims.oversampling, width = p->dims.width;
    int pad = PAD_OF(rows, columns), stride = width + 2 * pad;
    size_t count = table_length(p, rows, columns);
    real *table = (real *)allocate(count, sizeof *table, "the table of taps");
    for (size_t i = 0; i < count; i++) table[i] = 0;
    for (int f = 0; f < functions; f++)
        for (int i = 0; i < width; i++) {
            const double *tap = p->taps + 2 * ((size_t)f * width + i);
            real *re = table + (size_t)REALS_PER_TAP * f * stride, *im = re + stride,
                 *row_taps = im + stride + 3 * (pad + i);
            re[pad + i] = (real)tap[0];
            im[pad + i] = row_taps[1] = (real)tap[1];
            row_taps[0] = (real)(tap[0] + tap[1]);
            row_taps[2] = (real)(tap[0] - tap[1]);
        }
    return table;
}

/* The visibilities, sorted by bin (a counting sort). */
typedef struct {
    int rows, columns; /* of a block */
    int bands;         /* rows of bins, and of blocks */
    size_t count;      /* bins in all: two per block, for w >= 0 and w < 0 */
    int *first;        /* [count + 1]: first visibility of each bin */
    int *bin;          /* [visibilities]: in the problem's order */
    sorted_visibility *visibilities; /* [visibilities], sorted */
    double seconds;                  /* duration of the sort */
} binning;

/* Returns the bin that contains the first cell of a footprint. */
HOST_DEVICE_FN int bin_of(const shape *s, int rows, int columns, const footprint *fp)
{
    int bin_row = 2 * (fp->v / rows) + fp->negative_w;
    return bin_row * CEIL_DIV(s->size, columns) + fp->u / columns;
}

/* Returns the visibility of a footprint as the kernels need it; value is its real and
 * its imaginary part. pad: of the table of taps. */
HOST_DEVICE_FN sorted_visibility make_visibility(const shape *s, int pad,
                                                 const footprint *fp,
                                                 const double *value)
{
    const long stride = s->width + 2 * pad, plane = (long)fp->plane * s->oversampling;
    sorted_visibility vis;
    vis.taps_u = (plane + fp->fu) * REALS_PER_TAP * stride + pad - fp->u;
    vis.taps_v = ((plane + fp->fv) * REALS_PER_TAP + 2) * stride + 3 * (pad - fp->v);
    vis.d.re = (real)value[0];
    vis.d.im = (real)(fp->negative_w ? -value[1] : value[1]);
    return vis;
}

/* Returns the bins, without the arrays of visibilities. */
static inline binning make_bins(const problem *p, int rows, int columns)
{
    binning bins;
    memset(&bins, 0, sizeof bins);
    bins.rows = rows;
    bins.columns = columns;
    bins.bands = CEIL_DIV(p->dims.size, rows);
    bins.count = (size_t)2 * bins.bands * CEIL_DIV(p->dims.size, columns);
    if (bins.count > INT_MAX)
        fail("grid=%d: %zu bins of visibilities: expected at most %d", p->dims.size,
             bins.count, INT_MAX);
    return bins;
}

/* The same with the arrays. bin_visibilities() fills them. */
static inline binning allocate_binning(const problem *p, int rows, int columns)
{
    int n = p->dims.visibilities;
    binning bins = make_bins(p, rows, columns);
    bins.first = (int *)allocate(bins.count + 2, sizeof *bins.first, "the bins");
    bins.bin = (int *)allocate(n, sizeof *bins.bin, "the bins of visibilities");
    bins.visibilities = (sorted_visibility *)allocate(n, sizeof *bins.visibilities,
                                                      "the sorted visibilities");
    return bins;
}

/* Sorts the visibilities by bin and measures the time. */
static inline void bin_visibilities(const problem *p, binning *bins)
{
    double start = seconds();
    int n = p->dims.visibilities, *first = bins->first, *bin = bins->bin;
    int pad = PAD_OF(bins->rows, bins->columns);

    memset(first, 0, (bins->count + 2) * sizeof *first);
    for (int k = 0; k < n; k++) {
        bin[k] = bin_of(&p->dims, bins->rows, bins->columns, &p->footprints[k]);
        first[bin[k] + 2]++;
    }
    for (size_t i = 0; i < bins->count; i++) first[i + 2] += first[i + 1];
    /* first[i + 1] is the next free position of bin i. */
    for (int k = 0; k < n; k++)
        bins->visibilities[first[bin[k] + 1]++] =
            make_visibility(&p->dims, pad, &p->footprints[k], p->value + 2 * k);
    bins->seconds = seconds() - start;
}

static inline void free_binning(binning *bins)
{
    free(bins->first);
    free(bins->bin);
    free(bins->visibilities);
}
