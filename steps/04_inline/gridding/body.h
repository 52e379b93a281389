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
FN int share_of(int n, int shares, int c)
{
    return (int)((long)n * c / shares);
}

/* Adds visibility d to the grid, in strip y of the footprint's rows and strip x of its
 * columns. The table is [planes][oversampling][oversampling][width][width]. */
FN void grid_one(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                 cplx d, int y, int x, GLOBAL cplx *grid)
{
    const place here = *at;
    const real sign = here.minus ? -1 : 1;
    /* i d, or for the conjugate -i d, is what imaginary parts multiply. */
    const cplx id = {-sign * d.im, sign * d.re};
    size_t f = ((size_t)here.plane * s->oversampling + here.fv) * s->oversampling;
    GLOBAL const cplx *function = table + (f + here.fu) * s->width * s->width;

    int rows = share_of(s->width, s->strips[0], y + 1);
    int left = share_of(s->width, s->strips[1], x);
    int right = share_of(s->width, s->strips[1], x + 1);
    for (int j = share_of(s->width, s->strips[0], y); j < rows; j++) {
        GLOBAL const cplx *from = function + j * s->width;
        GLOBAL cplx *row = grid + (size_t)(here.v + j) * s->pitch + here.u;
        for (int i = left; i < right; i++) {
            real re = row[i].re + d.re * from[i].re + id.re * from[i].im;
            real im = row[i].im + d.im * from[i].re + id.im * from[i].im;
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
FN void grid_share(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                   GLOBAL const cplx *value, int c, int y, int x, GLOBAL cplx *copy)
{
    int last = share_of(s->samples, s->copies, c + 1);
    for (int k = share_of(s->samples, s->copies, c); k < last; k++) {
        grid_one(s, table, &at[k], value[k], y, x, copy);
        SYNC();
    }
}

/* The visibility that the grid predicts at a place. */
FN cplx degrid_one(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                   GLOBAL const cplx *grid)
{
    const place here = *at;
    const real sign = here.minus ? 1 : -1;
    size_t f = ((size_t)here.plane * s->oversampling + here.fv) * s->oversampling;
    GLOBAL const cplx *function = table + (f + here.fu) * s->width * s->width;

    cplx d = {0, 0};
    for (int j = 0; j < s->width; j++) {
        GLOBAL const cplx *from = function + j * s->width;
        GLOBAL const cplx *row = grid + (size_t)(here.v + j) * s->pitch + here.u;
        for (int i = 0; i < s->width; i++) {
            real re = from[i].re, im = sign * from[i].im;
            d.re += row[i].re * re - row[i].im * im;
            d.im += row[i].re * im + row[i].im * re;
        }
    }
    return d;
}
