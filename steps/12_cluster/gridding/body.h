/* body.h - gridding of one segment of the grid.
 *
 * Method: output-driven W-projection as in step 07, with cache blocking. A segment is a
 * column of BLOCKS blocks, each of ROWS x COLUMNS cells, one below the other. A
 * work-item owns a segment. Per chunk of CHUNK visibilities it computes their
 * contributions to the segment's columns once (visibility times the columns' taps; they
 * stay in the L1 cache), and then adds them to every block that they touch. The sums of
 * a segment stay in the L2 cache; those of the current block are in registers.
 *
 * Complex numbers are multiplied by Karatsuba's (Gauss's) algorithm.
 *
 * The farther a w-plane is from w = 0, the wider is its convolution function. Planes
 * are grouped into classes by the support that they need, and the footprint of a
 * visibility is as wide as its class.
 *
 * Binning (host.h): a visibility belongs to the bin that contains the first cell of its
 * footprint. A row of blocks is a band. Bins are as wide as a block, and as high or, if
 * there are few visibilities, several times as high.
 *
 *             left        right
 *           +-----+-----+-----+   x  bins whose footprints can overlap block B. In
 *      top  |  x  |  x  |  x  |      each band, the visibilities of bins left .. right
 *           +-----+-----+-----+      are contiguous in the sorted array.
 *     band  |  x  |  x  |  B  |
 *           +-----+-----+-----+
 *
 * Taps: [planes][oversampling] functions of REALS_PER_TAP rows of STRIDE_OF(s) numbers,
 * each with PAD zeros, width taps, PAD zeros. The last three rows are interleaved, tap
 * by tap, for the Karatsuba products with the taps of rows:
 *
 *     | re .. | im .. | re+im, im, re-im, re+im, im, re-im, ..  |
 *
 * The zeros make a test unnecessary where a block extends beyond a footprint.
 *
 * The caller guarantees that every footprint lies inside the grid and that the
 * visibilities are sorted by class and into bins.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

#define LANE       REAL
#define LANE_BYTES REAL_BYTES
#include "lanes.h"

/* A work-item computes LANES columns of a block: all of them on a CPU, one on a GPU,
 * where COLUMNS neighbouring work-items share the block. 3 ROWS of the 16 vector
 * registers of AVX2 hold the sums of a block. */
#ifndef COLUMNS
#define COLUMNS LANES
#endif
#ifndef ROWS
#define ROWS 4
#endif
#ifndef BLOCKS
#define BLOCKS 64 /* sums of a segment: 48 KiB with AVX-512, in the L2 cache */
#endif
#ifndef CHUNK /* visibilities: 16 KiB of contributions with AVX-512 */
#define CHUNK 64
#endif
/* Zeros on each side of the taps. A block that overlaps only other footprints of the
 * same bin extends beyond this one by less than twice its size. Bins are at most half
 * as high as this number. */
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define REALS_PER_TAP         5 /* rows of STRIDE_OF numbers per function */
#define CEIL_DIV(size, n)     (((size) + (n)-1) / (n))

/* OpenCL C and CUDA C have no complex numbers. */
typedef struct {
    real re, im;
} cplx;

#ifndef CLASSES
#define CLASSES 8 /* chosen, not tuned */
#endif
typedef struct {
    int count;
    int support[CLASSES]; /* of each class, ascending */
    int bin_rows;         /* rows of a bin, a multiple of ROWS */
    int bins;             /* of each class */
} support_classes;

/* A sorted visibility. */
typedef struct {
    long taps_u, taps_v; /* index of the taps of column 0 and of row 0 of the grid */
    cplx d;              /* conjugated if w < 0 */
} sorted_visibility;

/* The contribution of a visibility to the segment's columns: the visibility times their
 * taps. */
typedef struct {
    lanes re, sum, im; /* sum: re + im, negated if w < 0 */
    long taps_v;
    int negative_w; /* 1 if w < 0 */
} contribution;

/* The sums of a block: one per product of Karatsuba's algorithm, see
 * add_contributions(). `common` is the product that the real and the imaginary part
 * share. */
typedef struct {
    lanes re[ROWS], common[ROWS], im[ROWS];
} block_sums;

/* The blocks of bands begin .. end - 1, at most BLOCKS, from column `column` on. */
typedef struct {
    int begin, end, column;
} segment;

/* Returns the segment from band `begin` on that ends before band `limit`. */
FN segment make_segment(int begin, int limit, int column)
{
    segment part = {begin, begin + BLOCKS < limit ? begin + BLOCKS : limit, column};
    return part;
}

/* Returns the contribution of a visibility to the LANES columns from `column` on. */
FN contribution make_contribution(const shape *s, GLOBAL const real *taps, int column,
                                  int negative_w, sorted_visibility vis)
{
    contribution t;
    const real sign = negative_w ? -1 : 1;
    GLOBAL const real *cu = taps + vis.taps_u + column;
    const lanes cre = load(cu), cim = load(cu + STRIDE_OF(s));
    const lanes im = vis.d.re * cim + vis.d.im * cre;
    t.re = vis.d.re * cre - vis.d.im * cim;
    t.sum = sign * t.re + im;
    t.im = sign * im;
    t.taps_v = vis.taps_v;
    t.negative_w = negative_w;
    return t;
}

/* Adds n contributions to the sums of block `band`. Karatsuba's (Gauss's) algorithm
 * multiplies complex numbers with three real products instead of four. With t the
 * contribution and c the tap of a row:
 *
 *     t c = (t.re (c.re + c.im) - t.sum c.im) + i (t.sum c.im + t.im (c.re - c.im))
 *
 * where t.sum = t.re + t.im. Each of the three products has sums of its own. If w < 0,
 * c.im has the opposite sign: c.re + c.im and c.re - c.im are swapped. */
NOINLINE_FN void add_contributions(const contribution *contributions, int n,
                                   GLOBAL const real *taps, int band, block_sums *sums)
{
    block_sums acc = *sums;
    for (int k = 0; k < n; k++) {
        const contribution t = contributions[k];
        GLOBAL const real *c = taps + t.taps_v + 3 * ROWS * band;
        const long swap = 2 * t.negative_w;
        UNROLL
        for (int j = 0; j < ROWS; j++) {
            acc.re[j] += c[3 * j + swap] * t.re;
            acc.common[j] += c[3 * j + 1] * t.sum;
            acc.im[j] += c[3 * j + 2 - swap] * t.im;
        }
    }
    *sums = acc;
}

/* Grids a segment. The visibilities are sorted by class, row of bins, sign of w and
 * column: bin b of a row begins at first[first of the class + (2 row + (w < 0))
 * bins_per_row + b]. */
FN void grid_segment(const shape *s, const support_classes *classes,
                     GLOBAL const real *taps, GLOBAL const int *first,
                     GLOBAL const sorted_visibility *visibilities, segment part,
                     GLOBAL cplx *grid)
{
    contribution contributions[CHUNK];
    block_sums sums[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        for (int j = 0; j < ROWS; j++)
            sums[b].re[j] = sums[b].common[j] = sums[b].im[j] = each(0);
    int bins_per_row = CEIL_DIV(s->size, COLUMNS), right = part.column / COLUMNS;
    int blocks = classes->bin_rows / ROWS; /* of a bin, one below the other */

    for (int c = 0; c < classes->count; c++) {
        int width = 2 * classes->support[c] + 1;
        int left = right - (width + COLUMNS - 2) / COLUMNS;
        /* Blocks from the first one of a bin on that its footprints can touch. */
        int reach = (classes->bin_rows + width + ROWS - 2) / ROWS;
        if (left < 0) left = 0;

        int top = part.begin < reach ? 0 : (part.begin - reach) / blocks + 1;
        for (int bin_row = top; bin_row * blocks < part.end; bin_row++) {
            int from = bin_row * blocks,
                to = from + reach < part.end ? from + reach : part.end;
            if (from < part.begin) from = part.begin;
            GLOBAL const int *positive =
                first + (size_t)c * classes->bins + (size_t)2 * bin_row * bins_per_row;
            GLOBAL const int *negative = positive + bins_per_row;
            int n_negative = negative[right + 1] - negative[left];
            int n_all = n_negative + positive[right + 1] - positive[left];
            for (int k = 0; k < n_all; k += CHUNK) {
                int n = n_all - k < CHUNK ? n_all - k : CHUNK;
                for (int i = 0; i < n; i++)
                    contributions[i] = make_contribution(
                        s, taps, part.column, k + i < n_negative,
                        visibilities[k + i < n_negative
                                         ? negative[left] + k + i
                                         : positive[left] + k + i - n_negative]);
                for (int b = from; b < to; b++)
                    add_contributions(contributions, n, taps, b, &sums[b - part.begin]);
            }
        }
    }

    for (int b = part.begin; b < part.end; b++)
        for (int j = 0; j < ROWS && b * ROWS + j < s->size; j++) {
            const block_sums *block = &sums[b - part.begin];
            GLOBAL cplx *row = grid + (size_t)(b * ROWS + j) * s->pitch + part.column;
            lanes re = block->re[j] - block->common[j];
            lanes im = block->common[j] + block->im[j];
            for (int i = 0; i < LANES; i++) row[i] = (cplx){lane(re, i), lane(im, i)};
        }
}
