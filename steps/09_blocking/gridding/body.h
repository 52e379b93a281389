/* body.h - what a segment costs, a column of blocks of cells, and one visibility on the
 * way back.
 *
 * The grid is cut in blocks of ROWS x COLUMNS cells, and a work-item has BLOCKS of
 * them, one below the other. Their sums stay in a cache, those of the block at which
 * visibilities arrive in registers. What a visibility is worth in these columns is
 * worked out once for all blocks that it touches. Taps have zeros around them, so that
 * a block half outside a footprint needs no test: [planes][oversampling] times re[pad +
 * width + pad], im[..], and for the rows [..][3]: re + im, im, re - im.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

#define LANE       REAL
#define LANE_BYTES REAL_BYTES
#include "lanes.h"

/* A work-item has WIDE vectors of columns: all of its block, or one of them where
 * COLUMNS work-items that run together have the others. */
#if !defined(VECTORS) && defined(__AVX512F__) /* 32 registers instead of 16 */
#define VECTORS 2
#elif !defined(VECTORS)
#define VECTORS 1
#endif
#ifndef COLUMNS
#define COLUMNS (VECTORS * LANES)
#endif
#ifndef ROWS
#define ROWS 4
#endif
#ifndef BLOCKS
#define BLOCKS 64
#endif
#ifndef CHUNK /* visibilities, as many as stay in the nearest cache */
#define CHUNK 40
#endif
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define REALS_PER_TAP         5 /* of a function: STRIDE_OF taps each */
#define CEIL_DIV(size, n)     (((size) + (n)-1) / (n))

/* A device's C has no complex numbers. */
typedef struct {
    real re, im;
} cplx;

/* A visibility as blocks want it. */
typedef struct {
    long taps_u,
        taps_v; /* where in the table the taps of column 0 and of row 0 would be */
    cplx d;     /* its conjugate where w < 0 */
} sorted_visibility;

/* What it is worth in these columns: the visibility times their taps. */
typedef struct {
    lanes re[VECTORS], sum[VECTORS],
        im[VECTORS]; /* both: re + im, if w < 0 its negative */
    long taps_v;
    int negative_w; /* w < 0 */
} contribution;

/* The sums of a block: of three products each, see add_parts(). */
typedef struct {
    lanes re[ROWS][VECTORS], common[ROWS][VECTORS], im[ROWS][VECTORS];
} block_sums;

FN contribution make_contribution(const shape *s, GLOBAL const real *taps, int column,
                                  int negative_w, sorted_visibility vis)
{
    contribution p;
    const real sign = negative_w ? -1 : 1;
    UNROLL
    for (int i = 0; i < VECTORS; i++) {
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

/* Adds n parts to the sums of block `band`, whose rows' taps are c. A product of
 * complex numbers takes three of real ones, once sums of their parts are there:
 *
 *     t c = (t.re (c.re + c.im) - both c.im) + i (both c.im + t.im (c.re - c.im))
 *
 * Each of the three has a sum of its own, and a tap is loaded once for WIDE of them.
 * Where w < 0, c.im has the other sign. */
APART void add_contributions(const contribution *contributions, int n,
                             GLOBAL const real *taps, int band, block_sums *sums)
{
    block_sums acc = *sums;
    for (int k = 0; k < n; k++) {
        contribution t = contributions[k];
        UNROLL
        for (int i = 0; i < VECTORS; i++) {
            keep(t.re[i]);
            keep(t.sum[i]);
            keep(t.im[i]);
        }
        GLOBAL const real *c = taps + t.taps_v + 3 * ROWS * band;
        const long swap = 2 * t.negative_w;
        UNROLL
        for (int j = 0; j < ROWS; j++) {
            UNROLL
            for (int i = 0; i < VECTORS; i++) acc.re[j][i] += c[3 * j + swap] * t.re[i];
            UNROLL
            for (int i = 0; i < VECTORS; i++)
                acc.common[j][i] += c[3 * j + 1] * t.sum[i];
            UNROLL
            for (int i = 0; i < VECTORS; i++)
                acc.im[j][i] += c[3 * j + 2 - swap] * t.im[i];
        }
    }
    *sums = acc;
}

/* BLOCKS blocks from band `begin` on, whose first column is `column`. Visibilities lie
 * in bins of ROWS x COLUMNS first cells, those with w < 0 apart: bin [band][minus][b]
 * begins at first[(2 band + minus) bins + b], and those along a band follow each other.
 * Some of the bins above and left of a block have footprints that reach it. */
FN void grid_segment(const shape *s, GLOBAL const real *taps, GLOBAL const int *first,
                     GLOBAL const sorted_visibility *visibilities, int first_band,
                     int column, GLOBAL cplx *grid)
{
    contribution contributions[CHUNK];
    block_sums sums[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        for (int j = 0; j < ROWS; j++)
            for (int i = 0; i < VECTORS; i++)
                sums[b].re[j][i] = sums[b].common[j][i] = sums[b].im[j][i] = each(0);
    int bands = CEIL_DIV(s->size, ROWS), bins_per_band = CEIL_DIV(s->size, COLUMNS);
    int end_band = first_band + BLOCKS < bands ? first_band + BLOCKS : bands;
    int right = column / COLUMNS, left = right - (s->width + COLUMNS - 2) / COLUMNS;
    int reach = (s->width + ROWS - 2) / ROWS; /* bands that a footprint reaches */
    int top = first_band - reach;
    if (left < 0) left = 0;
    if (top < 0) top = 0;

    for (int bin_band = top; bin_band < end_band; bin_band++) {
        int from_band = bin_band < first_band ? first_band : bin_band;
        int to_band = bin_band + reach + 1 < end_band ? bin_band + reach + 1 : end_band;
        GLOBAL const int *first_positive = first + (size_t)2 * bin_band * bins_per_band,
                         *first_negative = first_positive + bins_per_band;
        int n_negative = first_negative[right + 1] -
                         first_negative[left]; /* visibilities with w < 0 */
        int n_all = n_negative + first_positive[right + 1] - first_positive[left];
        for (int k = 0; k < n_all; k += CHUNK) {
            int n = n_all - k < CHUNK ? n_all - k : CHUNK;
            for (int i = 0; i < n; i++)
                contributions[i] = make_contribution(
                    s, taps, column, k + i < n_negative,
                    visibilities[k + i < n_negative
                                     ? first_negative[left] + k + i
                                     : first_positive[left] + k + i - n_negative]);
            for (int b = from_band; b < to_band; b++)
                add_contributions(contributions, n, taps, b, &sums[b - first_band]);
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

/* The visibility that the grid predicts at a place. Here LANES columns stay in
 * registers while the rows pass, times the real and times the imaginary part of each
 * row's tap; the columns' taps come last. */
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
        for (int i = 0; i < LANES; i++) { /* the lanes are re, im, re, im .. */
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
