/* body.h - what one block of cells costs, and one visibility on the way back.
 *
 * The grid is cut in blocks of ROWS x COLUMNS cells. The sums of a block stay in
 * registers while all visibilities pass whose footprints touch it; they are written
 * once and read never. Each cell gets the visibility times the tap of its row and the
 * tap of its column; taps have zeros around them, so that a block half outside a
 * footprint needs no test. They lie apart, real parts and imaginary parts:
 * [planes][oversampling][2][pad + width + pad].
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

/* A work-item has all columns of its block, or one of them where COLUMNS work-items
 * that run together have the others. */
#ifndef ROWS
#define ROWS 8
#endif
#ifndef COLUMNS
#define COLUMNS 8
#endif
#ifndef COLUMNS_PER_ITEM
#define COLUMNS_PER_ITEM COLUMNS
#endif
#define PAD_OF(rows, columns) (2 * ((rows) > (columns) ? (rows) : (columns)))
#define PAD                   PAD_OF(ROWS, COLUMNS)
#define STRIDE_OF(s)          ((s)->width + 2 * PAD)
#define REALS_PER_TAP         2 /* of a function: STRIDE_OF taps each */
#define CEIL_DIV(size, n)     (((size) + (n)-1) / (n))

/* A device's C has no complex numbers. */
typedef struct {
    real re, im;
} cplx;

/* A visibility as blocks want it. */
typedef struct {
    int taps_u,
        taps_v; /* where in the table the taps of column 0 and of row 0 would be */
    cplx d;     /* its conjugate where w < 0 */
} sorted_visibility;

/* The block whose first column is `column`, in a band of ROWS rows. Visibilities lie in
 * bins of ROWS x COLUMNS first cells, those with w < 0 apart: bin [band][minus][b]
 * begins at first[(2 band + minus) bins + b], and those along a band follow each other.
 * Some of the bins above and left of the block have footprints that reach it.
 *
 * Where w < 0 the function is a conjugate. Since d conj(C) is the conjugate of conj(d)
 * C, those are summed first, as if C were not conjugated, and their sum is. */
FN void grid_block(const shape *s, GLOBAL const real *taps, GLOBAL const int *first,
                   GLOBAL const sorted_visibility *visibilities, int band, int column,
                   GLOBAL cplx *grid)
{
    real re[ROWS][COLUMNS_PER_ITEM], im[ROWS][COLUMNS_PER_ITEM];
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLUMNS_PER_ITEM; i++) re[j][i] = im[j][i] = 0;
    int bins_per_band = CEIL_DIV(s->size, COLUMNS), right = column / COLUMNS;
    int left = right - (s->width + COLUMNS - 2) / COLUMNS;
    int top = band - (s->width + ROWS - 2) / ROWS;
    if (left < 0) left = 0;
    if (top < 0) top = 0;

    for (int negative_w = 1; negative_w >= 0; negative_w--) {
        for (int b = top; b <= band; b++) {
            GLOBAL const int *band_first =
                first + (size_t)(2 * b + negative_w) * bins_per_band;
            int last = band_first[right + 1];
            for (int k = band_first[left]; k < last; k++) {
                const sorted_visibility vis = visibilities[k];
                GLOBAL const real *cu = taps + vis.taps_u + column;
                GLOBAL const real *cv = taps + vis.taps_v + band * ROWS;
                real tre[COLUMNS_PER_ITEM], tim[COLUMNS_PER_ITEM];
                for (int i = 0; i < COLUMNS_PER_ITEM; i++) {
                    const real cre = cu[i], cim = cu[STRIDE_OF(s) + i];
                    tre[i] = vis.d.re * cre - vis.d.im * cim;
                    tim[i] = vis.d.re * cim + vis.d.im * cre;
                }
                UNROLL
                for (int j = 0; j < ROWS; j++) {
                    const real vre = cv[j], vim = cv[STRIDE_OF(s) + j];
                    for (int i = 0; i < COLUMNS_PER_ITEM; i++) {
                        re[j][i] = re[j][i] + vre * tre[i] - vim * tim[i];
                        im[j][i] = im[j][i] + vre * tim[i] + vim * tre[i];
                    }
                }
            }
        }
        if (negative_w)
            for (int j = 0; j < ROWS; j++)
                for (int i = 0; i < COLUMNS_PER_ITEM; i++) im[j][i] = -im[j][i];
    }

    for (int j = 0; j < ROWS && band * ROWS + j < s->size; j++) {
        GLOBAL cplx *row = grid + (size_t)(band * ROWS + j) * s->pitch + column;
        for (int i = 0; i < COLUMNS_PER_ITEM; i++) row[i] = (cplx){re[j][i], im[j][i]};
    }
}

/* The visibility that the grid predicts at a place. */
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
    for (int j = 0; j < s->width; j++) {
        GLOBAL const cplx *row = grid + (size_t)(place.v + j) * s->pitch + place.u;
        cplx sum = {0, 0}; /* of this row */
        for (int i = 0; i < s->width; i++) {
            real re = cu[i], im = sign * cu[STRIDE_OF(s) + i];
            sum.re += row[i].re * re - row[i].im * im;
            sum.im += row[i].re * im + row[i].im * re;
        }
        real re = cv[j], im = sign * cv[STRIDE_OF(s) + j];
        d.re += sum.re * re - sum.im * im;
        d.im += sum.re * im + sum.im * re;
    }
    return d;
}
