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
static inline real *make_table(const problem *p, int rows, int columns)
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

/* Returns the support that a plane needs: all taps farther from the middle are smaller
 * than p->accuracy times the plane's largest tap. */
static inline int plane_support(const problem *p, int plane)
{
    int support = p->dims.width / 2, needed = 0;
    size_t row = (size_t)p->dims.oversampling * p->dims.width;
    const double(*taps)[2] = (const double(*)[2])p->taps + plane * row;
    double largest = 0;
    for (size_t i = 0; i < row; i++)
        largest = fmax(largest, hypot(taps[i][0], taps[i][1]));
    for (size_t i = 0; i < row; i++) {
        int distance = abs((int)(i % p->dims.width) - support);
        if (hypot(taps[i][0], taps[i][1]) >= p->accuracy * largest && distance > needed)
            needed = distance;
    }
    return needed;
}

/* Returns CLASSES classes of evenly spaced support, or one class if all taps are
 * needed. */
static inline support_classes make_classes(const problem *p)
{
    support_classes classes = {p->accuracy > 0 ? CLASSES : 1, {0}, 0, 0};
    for (int c = 0; c < classes.count; c++)
        classes.support[c] =
            (p->dims.width / 2 * (c + 1) + classes.count - 1) / classes.count;
    return classes;
}

/* Cells of a block, and the largest number of rows of a bin. */
typedef struct {
    int rows, columns, max_bin_rows;
} block_sizes;

/* Returns the sizes for which this file was compiled. A GPU's work-items add one
 * visibility at a time, so higher bins have no use. */
static inline block_sizes own_sizes(void)
{
    block_sizes own = {ROWS, COLUMNS, LANES == 1 ? ROWS : PAD / 2};
    return own;
}

/* Visibilities: chosen by trying 4, 8, 16 and 32 rows per bin on the timed sets. */
enum { MIN_TOGETHER = 2 };

/* The visibilities, sorted by bin (a counting sort). */
typedef struct {
    block_sizes block;
    support_classes classes;
    int *plane_class; /* [planes] */
    int bands;        /* rows of bins, and of blocks */
    size_t count;     /* bins in all: two per block and class, for w >= 0 and w < 0 */
    int *first;       /* [count + 1]: first visibility of each bin */
    int *bin;         /* [visibilities]: in the problem's order */
    int *permutation; /* [visibilities]: index in the problem */
    sorted_visibility *visibilities; /* [visibilities], sorted */
    double seconds;                  /* duration of the sort */
} binning;

/* Returns the bin that contains the first cell of a footprint. */
HOST_DEVICE_FN int bin_of(const shape *s, const support_classes *classes,
                          const int *plane_class, int columns, const footprint *fp)
{
    int c = plane_class[fp->plane];
    /* Rows and columns that the class omits on each side. */
    int margin = s->width / 2 - classes->support[c];
    int bin_row = 2 * ((fp->v + margin) / classes->bin_rows) + fp->negative_w;
    return c * classes->bins + bin_row * CEIL_DIV(s->size, columns) +
           (fp->u + margin) / columns;
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

/* Returns the rows of a bin: those of a block, doubled until a block and a row of bins
 * have MIN_TOGETHER visibilities in common, on average. Their contributions are added
 * together, while the sums of the block are in registers. Higher bins reach more blocks
 * in vain. */
static inline int choose_bin_rows(const problem *p, int classes, block_sizes block)
{
    double size = p->dims.size, per_row = p->dims.visibilities / size *
                                          (p->dims.width + block.columns) / size /
                                          classes;
    int rows = block.rows;
    while (rows * per_row < MIN_TOGETHER && 2 * rows <= block.max_bin_rows) rows *= 2;
    return rows;
}

/* Returns the bins, without the arrays of visibilities. */
static inline binning make_bins(const problem *p, block_sizes block)
{
    binning bins;
    memset(&bins, 0, sizeof bins);
    bins.block = block;
    bins.classes = make_classes(p);
    bins.bands = CEIL_DIV(p->dims.size, block.rows);
    bins.classes.bin_rows = choose_bin_rows(p, bins.classes.count, block);
    size_t per_class = (size_t)2 * CEIL_DIV(p->dims.size, bins.classes.bin_rows) *
                       CEIL_DIV(p->dims.size, block.columns);
    bins.classes.bins = (int)per_class;
    bins.count = bins.classes.count * per_class;
    bins.plane_class =
        (int *)allocate(p->dims.planes, sizeof *bins.plane_class, "the classes");
    for (int i = 0; i < p->dims.planes; i++) {
        int needed = plane_support(p, i), c = 0;
        while (bins.classes.support[c] < needed) c++;
        bins.plane_class[i] = c;
    }
    if (bins.count > INT_MAX)
        fail("grid=%d: %zu bins of visibilities: expected at most %d", p->dims.size,
             bins.count, INT_MAX);
    return bins;
}

/* The same with the arrays. bin_visibilities() fills them. */
static inline binning allocate_binning(const problem *p, block_sizes block)
{
    int n = p->dims.visibilities;
    binning bins = make_bins(p, block);
    bins.first = (int *)allocate(bins.count + 2, sizeof *bins.first, "the bins");
    bins.bin = (int *)allocate(n, sizeof *bins.bin, "the bins of visibilities");
    bins.permutation = (int *)allocate(n, sizeof *bins.permutation, "the order");
    bins.visibilities = (sorted_visibility *)allocate(n, sizeof *bins.visibilities,
                                                      "the sorted visibilities");
    return bins;
}

/* Sorts the visibilities by bin and measures the time. */
static inline void bin_visibilities(const problem *p, binning *bins)
{
    double start = seconds();
    int n = p->dims.visibilities, *first = bins->first, *bin = bins->bin;
    int pad = PAD_OF(bins->block.rows, bins->block.columns);

    memset(first, 0, (bins->count + 2) * sizeof *first);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int k = 0; k < n; k++)
        bin[k] = bin_of(&p->dims, &bins->classes, bins->plane_class,
                        bins->block.columns, &p->footprints[k]);
    for (int k = 0; k < n; k++) first[bin[k] + 2]++;
    for (size_t i = 0; i < bins->count; i++) first[i + 2] += first[i + 1];
    /* first[i + 1] is the next free position of bin i. */
    for (int k = 0; k < n; k++) bins->permutation[first[bin[k] + 1]++] = k;
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int i = 0; i < n; i++) {
        int k = bins->permutation[i];
        bins->visibilities[i] =
            make_visibility(&p->dims, pad, &p->footprints[k], p->value + 2 * k);
    }
    bins->seconds = seconds() - start;
}

static inline void free_binning(binning *bins)
{
    free(bins->plane_class);
    free(bins->first);
    free(bins->bin);
    free(bins->permutation);
    free(bins->visibilities);
}
