/* body.h - what a segment costs, a column of blocks of cells, and one visibility on the
 * way back.
 *
 * The grid is cut in blocks of ROWS x COLUMNS cells, and a work-item has BLOCKS of
 * them, one below the other. Their sums stay in a cache, those of the block at which
 * visibilities arrive in registers. What a visibility is worth in these columns is
 * worked out once for all blocks that it touches. Taps have zeros around them, so that
 * a block half outside a footprint needs no test: [planes][oversampling] times re[pad +
 * width + pad], im[..], and for the rows [..][3]: re + im, im, re - im.
 *
 * The farther a plane is from w = 0, the wider is its function. Planes are dealt out to
 * classes by what they need, and footprints are as wide as their class.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

#define LANE       REAL
#define LANE_BYTES REAL_BYTES
#include "lanes.h"

/* A work-item has WIDE vectors of columns: all of its block, or one of them where
 * COLUMNS work-items that run together have the others. */
#ifndef WIDE /* narrow footprints would leave much of more columns empty */
#define WIDE 1
#endif
#ifndef COLUMNS
#define COLUMNS (WIDE * LANES)
#endif
#if !defined(ROWS) && defined(__AVX512F__) /* 32 registers instead of 16 */
#define ROWS 8
#elif !defined(ROWS)
#define ROWS 4
#endif
#ifndef BLOCKS
#define BLOCKS 32
#endif
#ifndef CHUNK /* visibilities, as many as stay in the nearest cache */
#define CHUNK 40
#endif
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define PARTS                 5 /* of a function: STRIDE_OF taps each */
#define BINS_OF(size, n)      (((size) + (n)-1) / (n))

/* A device's C has no complex numbers. */
typedef struct {
    real re, im;
} cplx;

#ifndef CLASSES
#define CLASSES 8
#endif
typedef struct {
    int count;
    int support[CLASSES]; /* of the footprints of a class, ascending */
} classes;

/* A visibility as blocks want it. */
typedef struct {
    long u, v; /* where in the table the taps of column 0 and of row 0 would be */
    cplx d;    /* its conjugate where w < 0 */
} sample;

/* What it is worth in these columns: the visibility times their taps. */
typedef struct {
    lanes re[WIDE], both[WIDE], im[WIDE]; /* both: re + im, if w < 0 its negative */
    long v;
    int minus; /* w < 0 */
} part;

/* The sums of a block: of three products each, see add_parts(). */
typedef struct {
    lanes re[ROWS][WIDE], both[ROWS][WIDE], im[ROWS][WIDE];
} block;

FN part part_of(const shape *s, GLOBAL const real *taps, int column, int minus,
                sample d)
{
    part p;
    const real sign = minus ? -1 : 1;
    UNROLL
    for (int i = 0; i < WIDE; i++) {
        GLOBAL const real *cu = taps + d.u + column + i * LANES;
        const lanes cre = load(cu), cim = load(cu + STRIDE_OF(s));
        const lanes im = d.d.re * cim + d.d.im * cre;
        p.re[i] = d.d.re * cre - d.d.im * cim;
        p.both[i] = sign * p.re[i] + im;
        p.im[i] = sign * im;
    }
    p.v = d.v;
    p.minus = minus;
    return p;
}

/* Adds n parts to the sums of block `band`, whose rows' taps are c. A product of
 * complex numbers takes three of real ones, once sums of their parts are there:
 *
 *     t c = (t.re (c.re + c.im) - both c.im) + i (both c.im + t.im (c.re - c.im))
 *
 * Each of the three has a sum of its own, and a tap is loaded once for WIDE of them.
 * Where w < 0, c.im has the other sign. */
APART void add_parts(const part *parts, int n, GLOBAL const real *taps, int band,
                     block *sums)
{
    block sum = *sums;
    for (int k = 0; k < n; k++) {
        part t = parts[k];
        UNROLL
        for (int i = 0; i < WIDE; i++) {
            keep(t.re[i]);
            keep(t.both[i]);
            keep(t.im[i]);
        }
        GLOBAL const real *c = taps + t.v + 3 * ROWS * band;
        const long minus = 2 * t.minus;
        UNROLL
        for (int j = 0; j < ROWS; j++) {
            UNROLL
            for (int i = 0; i < WIDE; i++) sum.re[j][i] += c[3 * j + minus] * t.re[i];
            UNROLL
            for (int i = 0; i < WIDE; i++) sum.both[j][i] += c[3 * j + 1] * t.both[i];
            UNROLL
            for (int i = 0; i < WIDE; i++)
                sum.im[j][i] += c[3 * j + 2 - minus] * t.im[i];
        }
    }
    *sums = sum;
}

/* BLOCKS blocks from band `begin` on, less those that are not before band `last`,
 * whose first column is `column`. Visibilities lie in bins of ROWS x COLUMNS first
 * cells, those of a class apart, and of these those with w < 0: bin
 * [class][band][minus][b]; those along a band follow each other in `first`. Some of
 * the bins above and left of a block have footprints that reach it. */
FN void grid_segment(const shape *s, const classes *all, GLOBAL const real *taps,
                     GLOBAL const int *first, GLOBAL const sample *samples, int begin,
                     int last, int column, GLOBAL cplx *grid)
{
    part parts[CHUNK];
    block sums[BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
        for (int j = 0; j < ROWS; j++)
            for (int i = 0; i < WIDE; i++)
                sums[b].re[j][i] = sums[b].both[j][i] = sums[b].im[j][i] = each(0);
    int bands = BINS_OF(s->size, ROWS), bins = BINS_OF(s->size, COLUMNS);
    int end = begin + BLOCKS < last ? begin + BLOCKS : last;

    for (int c = 0; c < all->count; c++) {
        int width = 2 * all->support[c] + 1, right = column / COLUMNS;
        int left = right - (width + COLUMNS - 2) / COLUMNS;
        int below = (width + ROWS - 2) / ROWS; /* bands that a footprint reaches */
        int top = begin - below;
        if (left < 0) left = 0;
        if (top < 0) top = 0;

        for (int bin = top; bin < end; bin++) {
            int from = bin < begin ? begin : bin;
            int to = bin + below + 1 < end ? bin + below + 1 : end;
            GLOBAL const int *plus = first + (size_t)2 * (c * bands + bin) * bins,
                             *minus = plus + bins;
            int here = minus[right + 1] - minus[left]; /* visibilities with w < 0 */
            int both = here + plus[right + 1] - plus[left];
            for (int k = 0; k < both; k += CHUNK) {
                int n = both - k < CHUNK ? both - k : CHUNK;
                for (int i = 0; i < n; i++)
                    parts[i] =
                        part_of(s, taps, column, k + i < here,
                                samples[k + i < here ? minus[left] + k + i
                                                     : plus[left] + k + i - here]);
                for (int b = from; b < to; b++)
                    add_parts(parts, n, taps, b, &sums[b - begin]);
            }
        }
    }

    for (int b = begin; b < end; b++)
        for (int j = 0; j < ROWS && b * ROWS + j < s->size; j++) {
            const block *of = &sums[b - begin];
            GLOBAL real *row =
                (GLOBAL real *)(grid + (size_t)(b * ROWS + j) * s->pitch + column);
            for (int w = 0; w < WIDE; w++, row += 2 * LANES) {
                lanes re = of->re[j][w] - of->both[j][w];
                lanes im = of->both[j][w] + of->im[j][w];
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
FN cplx degrid_one(const shape *s, GLOBAL const real *taps, GLOBAL const place *at,
                   GLOBAL const cplx *grid)
{
    const place here = *at;
    const real sign = here.minus ? 1 : -1;
    GLOBAL const real *plane =
        taps + (size_t)here.plane * s->oversampling * PARTS * STRIDE_OF(s) + PAD;
    GLOBAL const real *cv = plane + here.fv * PARTS * STRIDE_OF(s);
    GLOBAL const real *cu = plane + here.fu * PARTS * STRIDE_OF(s);

    cplx d = {0, 0};
    for (int column = 0; column < s->width; column += LANES) {
        GLOBAL const real *cells =
            (GLOBAL const real *)(grid + (size_t)here.v * s->pitch + here.u + column);
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
