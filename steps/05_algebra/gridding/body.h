/* body.h - what one visibility costs.
 *
 * Its footprint on the grid is width x width cells. Each of them gets the visibility
 * times the value that its convolution function has there. There are many such
 * functions, since a visibility rarely lies on the middle of a cell and has a w of its
 * own: one for each plane in w and each fraction of a cell in v and in u.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

/* A device's C has no complex numbers. */
typedef struct {
    real re, im;
} cplx;

FN cplx plus(cplx a, cplx b)
{
    return (cplx){a.re + b.re, a.im + b.im};
}

/* Where share c begins when n things are dealt out in a row, in `shares` shares. */
FN int range_begin(int n, int ranges, int c)
{
    return (int)((long)n * c / ranges);
}

/* Adds visibility d to the grid, in strip y of the footprint's rows and strip x of its
 * columns. Its function is a product, of the tap of the cell's row and the tap of its
 * column: the table is [planes][oversampling][width]. */
FN void grid_visibility(const shape *s, GLOBAL const cplx *table,
                        GLOBAL const footprint *fp, cplx d, int y, int x,
                        GLOBAL cplx *grid)
{
    const footprint place = *fp;
    const real sign = place.negative_w ? -1 : 1;
    GLOBAL const cplx *plane = table + place.plane * s->oversampling * s->width;
    GLOBAL const cplx *cv = plane + place.fv * s->width;
    GLOBAL const cplx *cu = plane + place.fu * s->width;

    int rows = range_begin(s->width, s->strips[0], y + 1);
    int left = range_begin(s->width, s->strips[1], x);
    int right = range_begin(s->width, s->strips[1], x + 1);
    for (int j = range_begin(s->width, s->strips[0], y); j < rows; j++) {
        /* t is d times the row's tap; `it`, i t or for the conjugate -i t, is what the
         * imaginary parts of the columns' taps multiply. */
        const real cre = cv[j].re, cim = sign * cv[j].im;
        const cplx t = {d.re * cre - d.im * cim, d.re * cim + d.im * cre};
        const cplx i_t = {-sign * t.im, sign * t.re};
        GLOBAL cplx *row = grid + (size_t)(place.v + j) * s->pitch + place.u;
        for (int i = left; i < right; i++) {
            real re = row[i].re + t.re * cu[i].re + i_t.re * cu[i].im;
            real im = row[i].im + t.im * cu[i].re + i_t.im * cu[i].im;
            row[i] = (cplx){re, im};
        }
    }
}

/* Waits for all of the group; on the host a group is one thread. */
#ifndef SYNC
#define SYNC() (void)0
#endif

/* Adds the visibilities of share c to a copy of the grid that no other group writes.
 * The strips of one footprint do not overlap, those of two footprints do: nobody goes
 * on to the next before all have done theirs. */
FN void grid_range(const shape *s, GLOBAL const cplx *table,
                   GLOBAL const footprint *footprints, GLOBAL const cplx *value, int c,
                   int y, int x, GLOBAL cplx *copy)
{
    int last = range_begin(s->visibilities, s->copies, c + 1);
    for (int k = range_begin(s->visibilities, s->copies, c); k < last; k++) {
        grid_visibility(s, table, &footprints[k], value[k], y, x, copy);
        SYNC();
    }
}

/* The visibility that the grid predicts at a place. */
FN cplx degrid_visibility(const shape *s, GLOBAL const cplx *table,
                          GLOBAL const footprint *fp, GLOBAL const cplx *grid)
{
    const footprint place = *fp;
    const real sign = place.negative_w ? 1 : -1;
    GLOBAL const cplx *plane = table + place.plane * s->oversampling * s->width;
    GLOBAL const cplx *cv = plane + place.fv * s->width;
    GLOBAL const cplx *cu = plane + place.fu * s->width;

    cplx d = {0, 0};
    for (int j = 0; j < s->width; j++) {
        GLOBAL const cplx *row = grid + (size_t)(place.v + j) * s->pitch + place.u;
        cplx sum = {0, 0}; /* of this row */
        for (int i = 0; i < s->width; i++) {
            real re = cu[i].re, im = sign * cu[i].im;
            sum.re += row[i].re * re - row[i].im * im;
            sum.im += row[i].re * im + row[i].im * re;
        }
        real re = cv[j].re, im = sign * cv[j].im;
        d.re += sum.re * re - sum.im * im;
        d.im += sum.re * im + sum.im * re;
    }
    return d;
}
