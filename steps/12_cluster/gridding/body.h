/* body.h - gridding of one segment of the grid, degridding of one visibility.
 *
 * Method: output-driven W-projection as in step 07, with cache blocking and Karatsuba's
 * (Gauss's) complex multiplication. A segment is a column of BLOCKS blocks, each of
 * ROWS x COLUMNS cells, one below the other. A work-item owns a segment. Per chunk of
 * CHUNK visibilities it computes their contributions to the segment's columns once
 * (visibility times the columns' taps; they stay in the L1 cache), and then adds them
 * to every block that they touch. The sums of a segment stay in the L2 cache; those of
 * the current block are in registers.
 *
 * The farther a w-plane is from w = 0, the wider is its convolution function. Planes
 * are grouped into classes by the support that they need, and the footprint of a
 * visibility is as wide as its class.
 *
 * Binning (host.h): a visibility belongs to the bin that contains the first cell of its
 * footprint. Bins are as wide as a vector. They are as high as a block, a row of blocks
 * being a band, or several times as high in classes with few visibilities.
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

/* A work-item computes VECTORS vectors of columns of a block: all of them on a CPU, one
 * column on a GPU, where COLUMNS neighbouring work-items share the block. 3 ROWS
 * VECTORS vector registers hold the sums of a block. */
#if !defined(VECTORS) && defined(__AVX512F__) /* 32 vector registers, not 16 */
#define VECTORS 2
#elif !defined(VECTORS)
#define VECTORS 1
#endif
#ifndef COLUMNS
#define COLUMNS (VECTORS * LANES)
#endif
#define BIN_COLUMNS (COLUMNS / VECTORS) /* of a bin: one vector */
#ifndef ROWS
#define ROWS 4
#endif
#ifndef BLOCKS
#define BLOCKS 64 /* sums of a segment: 96 KiB with AVX-512, in the L2 cache */
#endif
#ifndef CHUNK /* visibilities: 17.5 KiB of contributions with AVX-512 */
#define CHUNK 40
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
    int support[CLASSES];  /* of each class, ascending */
    int bin_rows[CLASSES]; /* rows of a bin, a multiple of ROWS */
    int first[CLASSES];    /* index of the first bin of each class */
} support_classes;

/* A sorted visibility. */
typedef struct {
    long taps_u, taps_v; /* index of the taps of column 0 and of row 0 of the grid */
    cplx d;              /* conjugated if w < 0 */
} sorted_visibility;

/* The contribution of a visibility to the segment's columns: the visibility times their
 * taps. */
typedef struct {
    lanes re[VECTORS], sum[VECTORS], im[VECTORS]; /* sum: re + im, negated if w < 0 */
    long taps_v;
    int negative_w; /* 1 if w < 0 */
} contribution;

/* The sums of a block: one per product of Karatsuba's algorithm, see
 * add_contributions(). `common` is the product that the real and the imaginary part
 * share. */
typedef struct {
    lanes re[ROWS][VECTORS], common[ROWS][VECTORS], im[ROWS][VECTORS];
} block_sums;

/* Returns the contribution of a visibility to the block's columns from `column` on, for
 * vectors begin .. end - 1 of the block. */
FN __attribute__((always_inline)) contribution
make_contribution(const shape *s, GLOBAL const real *taps, int column, int negative_w,
                  sorted_visibility vis, int begin, int end)
{
    contribution p;
    const real sign = negative_w ? -1 : 1;
    UNROLL
    for (int i = 0; i < VECTORS; i++) {
        if (i < begin || i >= end) continue;
        GLOBAL const real *cu = taps + vis.taps_u + column + i * LANES;
        const lanes cre = load(cu), cim = load(cu + STRIDE_OF(s));
        const lanes im = vis.d.re * cim + vis.d.im * cre;
        p.re[i] = vis.d.re * cre - vis.d.im * cim;
        p.sum[i] = sign * p.re[i] + im;
        p.im[i] = sign * im;
    }
    p.taps_v = vis.taps_v;
    p.negative_w = negative_w;
    return p;
}

/* Adds n contributions to vectors begin .. end - 1 of the sums of block `band`; both
 * are constants. Karatsuba's (Gauss's) algorithm multiplies complex numbers with three
 * real products instead of four. With t the contribution and c the tap of a row:
 *
 *     t c = (t.re (c.re + c.im) - t.sum c.im) + i (t.sum c.im + t.im (c.re - c.im))
 *
 * where t.sum = t.re + t.im. Each of the three products has sums of its own, and each
 * number of c is loaded once for all vectors. If w < 0, c.im has the opposite sign:
 * c.re + c.im and c.re - c.im are swapped. */
FN __attribute__((always_inline)) void add_to_vectors(const contribution *contributions,
                                                      int n, GLOBAL const real *taps,
                                                      int band, block_sums *sums,
                                                      int begin, int end)
{
    block_sums acc;
    UNROLL
    for (int j = 0; j < ROWS; j++) UNROLL
    for (int i = begin; i < end; i++) {
        acc.re[j][i] = sums->re[j][i];
        acc.common[j][i] = sums->common[j][i];
        acc.im[j][i] = sums->im[j][i];
    }
    for (int k = 0; k < n; k++) {
        contribution t = contributions[k];
        UNROLL
        for (int i = 0; i < VECTORS; i++) {
            if (i < begin || i >= end) continue;
            keep(t.re[i]);
            keep(t.sum[i]);
            keep(t.im[i]);
        }
        GLOBAL const real *c = taps + t.taps_v + 3 * ROWS * band;
        const long swap = 2 * t.negative_w;
        UNROLL
        for (int j = 0; j < ROWS; j++) {
            UNROLL
            for (int i = 0; i < VECTORS; i++)
                if (i >= begin && i < end) acc.re[j][i] += c[3 * j + swap] * t.re[i];
            UNROLL
            for (int i = 0; i < VECTORS; i++)
                if (i >= begin && i < end) acc.common[j][i] += c[3 * j + 1] * t.sum[i];
            UNROLL
            for (int i = 0; i < VECTORS; i++)
                if (i >= begin && i < end)
                    acc.im[j][i] += c[3 * j + 2 - swap] * t.im[i];
        }
    }
    UNROLL
    for (int j = 0; j < ROWS; j++) UNROLL
    for (int i = begin; i < end; i++) {
        sums->re[j][i] = acc.re[j][i];
        sums->common[j][i] = acc.common[j][i];
        sums->im[j][i] = acc.im[j][i];
    }
}

/* The instances of add_to_vectors() for all vectors, for the first and for the last. */
NOINLINE_FN void add_to_all(const contribution *contributions, int n,
                            GLOBAL const real *taps, int band, block_sums *sums)
{
    add_to_vectors(contributions, n, taps, band, sums, 0, VECTORS);
}

NOINLINE_FN void add_to_first(const contribution *contributions, int n,
                              GLOBAL const real *taps, int band, block_sums *sums)
{
    add_to_vectors(contributions, n, taps, band, sums, 0, 1);
}

NOINLINE_FN void add_to_last(const contribution *contributions, int n,
                             GLOBAL const real *taps, int band, block_sums *sums)
{
    add_to_vectors(contributions, n, taps, band, sums, VECTORS - 1, VECTORS);
}

/* The vectors of a block that a visibility can touch. */
enum { FIRST, ALL, LAST };

/* Adds the visibilities in bins left .. right of a band to blocks from_band .. to_band
 * - 1 of the segment. first[b] is the first visibility of bin b with w >= 0, first[b +
 * bins_per_band] that with w < 0. */
FN __attribute__((always_inline)) void
add_bins(const shape *s, GLOBAL const real *taps, GLOBAL const int *first,
         GLOBAL const sorted_visibility *visibilities, int left, int right, int touched,
         int column, int first_band, int from_band, int to_band, block_sums *sums)
{
    contribution contributions[CHUNK];
    int bins_per_band = CEIL_DIV(s->size, BIN_COLUMNS);
    if (left < 0) left = 0;
    if (right >= bins_per_band) right = bins_per_band - 1;
    if (left > right) return;
    GLOBAL const int *negative = first + bins_per_band;
    int n_negative = negative[right + 1] - negative[left]; /* visibilities with w < 0 */
    int n_all = n_negative + first[right + 1] - first[left];
    for (int k = 0; k < n_all; k += CHUNK) {
        int n = n_all - k < CHUNK ? n_all - k : CHUNK;
        for (int i = 0; i < n; i++)
            contributions[i] = make_contribution(
                s, taps, column, k + i < n_negative,
                visibilities[k + i < n_negative ? negative[left] + k + i
                                                : first[left] + k + i - n_negative],
                touched == LAST ? VECTORS - 1 : 0, touched == FIRST ? 1 : VECTORS);
        for (int b = from_band; b < to_band; b++) {
            block_sums *block = &sums[b - first_band];
            if (touched == ALL) add_to_all(contributions, n, taps, b, block);
            if (touched == FIRST) add_to_first(contributions, n, taps, b, block);
            if (touched == LAST) add_to_last(contributions, n, taps, b, block);
        }
    }
}

/* Grids BLOCKS blocks from band first_band on, but none from limit_band on, whose first
 * column is `column`. The visibilities are sorted by class, row of bins, sign of w and
 * column: bin b of a row begins at first[first of the class + (2 row + (w < 0))
 * bins_per_band + b]. */
FN void grid_segment(const shape *s, const support_classes *classes,
                     GLOBAL const real *taps, GLOBAL const int *first,
                     GLOBAL const sorted_visibility *visibilities, int first_band,
                     int limit_band, int column, GLOBAL cplx *grid)
{
    block_sums sums[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        for (int j = 0; j < ROWS; j++)
            for (int i = 0; i < VECTORS; i++)
                sums[b].re[j][i] = sums[b].common[j][i] = sums[b].im[j][i] = each(0);
    int bins_per_band = CEIL_DIV(s->size, BIN_COLUMNS);
    int end_band = first_band + BLOCKS < limit_band ? first_band + BLOCKS : limit_band;

    for (int c = 0; c < classes->count; c++) {
        int width = 2 * classes->support[c] + 1, bin = column / BIN_COLUMNS;
        int left = bin - (width + BIN_COLUMNS - 2) / BIN_COLUMNS;
        int bin_rows = classes->bin_rows[c], blocks = bin_rows / ROWS;
        /* Blocks from the first one of a bin on that its footprints can touch. */
        int reach = (bin_rows + width + ROWS - 2) / ROWS;
        int top = first_band < reach ? 0 : (first_band - reach) / blocks + 1;

        for (int bin_row = top; bin_row * blocks < end_band; bin_row++) {
            int from = bin_row * blocks,
                to = from + reach < end_band ? from + reach : end_band;
            if (from < first_band) from = first_band;
            GLOBAL const int *bins =
                first + classes->first[c] + (size_t)2 * bin_row * bins_per_band;
            if (VECTORS == 1) {
                add_bins(s, taps, bins, visibilities, left, bin, ALL, column,
                         first_band, from, to, sums);
                continue;
            }
            /* Footprints that end in the first vector, or begin in the last one, need
             * no products for the other vectors. */
            add_bins(s, taps, bins, visibilities, left, left, FIRST, column, first_band,
                     from, to, sums);
            add_bins(s, taps, bins, visibilities, left + 1, bin + VECTORS - 2, ALL,
                     column, first_band, from, to, sums);
            add_bins(s, taps, bins, visibilities, bin + VECTORS - 1, bin + VECTORS - 1,
                     LAST, column, first_band, from, to, sums);
        }
    }

    for (int b = first_band; b < end_band; b++)
        for (int j = 0; j < ROWS && b * ROWS + j < s->size; j++) {
            const block_sums *block = &sums[b - first_band];
            GLOBAL real *row =
                (GLOBAL real *)(grid + (size_t)(b * ROWS + j) * s->pitch + column);
            for (int w = 0; w < VECTORS; w++, row += 2 * LANES) {
                lanes re = block->re[j][w] - block->common[j][w];
                lanes im = block->common[j][w] + block->im[j][w];
                real cells[2 * LANES];
                for (int i = 0; i < LANES; i++) {
                    cells[2 * i] = lane(re, i);
                    cells[2 * i + 1] = lane(im, i);
                }
                stream(row, load(cells));
                stream(row + LANES, load(cells + LANES));
            }
        }
    streamed();
}

/* Returns the visibility that the grid predicts for a footprint. The products of LANES
 * columns with the real and with the imaginary part of each row's tap are summed over
 * all rows in registers; the taps of the columns multiply these sums at the end. */
FN cplx degrid_visibility(const shape *s, GLOBAL const real *taps,
                          GLOBAL const footprint *fp, GLOBAL const cplx *grid)
{
    const footprint place = *fp;
    const real sign = place.negative_w ? 1 : -1;
    GLOBAL const real *plane =
        taps + (size_t)place.plane * s->oversampling * REALS_PER_TAP * STRIDE_OF(s) +
        PAD;
    GLOBAL const real *cv = plane + place.fv * REALS_PER_TAP * STRIDE_OF(s);
    GLOBAL const real *cu = plane + place.fu * REALS_PER_TAP * STRIDE_OF(s);

    cplx d = {0, 0};
    for (int column = 0; column < s->width; column += LANES) {
        GLOBAL const real *cells =
            (GLOBAL const real *)(grid + (size_t)place.v * s->pitch + place.u + column);
        lanes re[2] = {each(0), each(0)}, im[2] = {each(0), each(0)};
        for (int j = 0; j < s->width; j++) {
            const lanes g0 = load(cells), g1 = load(cells + LANES);
            const real vre = cv[j], vim = sign * cv[STRIDE_OF(s) + j];
            re[0] += vre * g0;
            re[1] += vre * g1;
            im[0] += vim * g0;
            im[1] += vim * g1;
            cells += 2 * s->pitch;
        }
        for (int i = 0; i < LANES; i++) { /* lanes hold re, im, re, im, .. */
            int l = 2 * i % LANES, h = 2 * i / LANES, next = (2 * i + 1) / LANES;
            const real a = lane(re[h], l) - lane(im[next], (2 * i + 1) % LANES);
            const real b = lane(re[next], (2 * i + 1) % LANES) + lane(im[h], l);
            const real ure = cu[column + i], uim = sign * cu[STRIDE_OF(s) + column + i];
            d.re += a * ure - b * uim;
            d.im += a * uim + b * ure;
        }
    }
    return d;
}
