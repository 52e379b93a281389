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
 * columns. The table is [planes][oversampling][oversampling][width][width]. */
FN void grid_visibility(const shape *s, GLOBAL const cplx *table,
                        GLOBAL const footprint *fp, cplx d, int y, int x,
                        GLOBAL cplx *grid)
{
    const footprint place = *fp;
    const real sign = place.negative_w ? -1 : 1;
    /* i d, or for the conjugate -i d, is what imaginary parts multiply. */
    const cplx i_d = {-sign * d.im, sign * d.re};
    size_t index = ((size_t)place.plane * s->oversampling + place.fv) * s->oversampling;
    GLOBAL const cplx *function = table + (index + place.fu) * s->width * s->width;

    int rows = range_begin(s->width, s->strips[0], y + 1);
    int left = range_begin(s->width, s->strips[1], x);
    int right = range_begin(s->width, s->strips[1], x + 1);
    for (int j = range_begin(s->width, s->strips[0], y); j < rows; j++) {
        GLOBAL const cplx *c = function + j * s->width;
        GLOBAL cplx *row = grid + (size_t)(place.v + j) * s->pitch + place.u;
        for (int i = left; i < right; i++) {
            real re = row[i].re + d.re * c[i].re + i_d.re * c[i].im;
            real im = row[i].im + d.im * c[i].re + i_d.im * c[i].im;
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
    size_t index = ((size_t)place.plane * s->oversampling + place.fv) * s->oversampling;
    GLOBAL const cplx *function = table + (index + place.fu) * s->width * s->width;

    cplx d = {0, 0};
    for (int j = 0; j < s->width; j++) {
        GLOBAL const cplx *c = function + j * s->width;
        GLOBAL const cplx *row = grid + (size_t)(place.v + j) * s->pitch + place.u;
        for (int i = 0; i < s->width; i++) {
            real re = c[i].re, im = sign * c[i].im;
            d.re += row[i].re * re - row[i].im * im;
            d.im += row[i].re * im + row[i].im * re;
        }
    }
    return d;
}
