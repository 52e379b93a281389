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

FN cplx times(cplx a, cplx b)
{
    return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

FN cplx conjugate(cplx a)
{
    return (cplx){a.re, -a.im};
}

/* Where the convolution function of a visibility begins in the table,
 * [planes][oversampling][oversampling][width][width]. */
FN GLOBAL const cplx *function_of(const shape *s, GLOBAL const cplx *table,
                                  GLOBAL const place *at)
{
    size_t f =
        ((size_t)at->plane * s->oversampling + at->fv) * s->oversampling + at->fu;
    return table + f * s->width * s->width;
}

/* Its value at row j and column i of the footprint. */
FN cplx value_at(const shape *s, GLOBAL const cplx *function, int minus, int j, int i)
{
    cplx c = function[j * s->width + i];
    return minus ? conjugate(c) : c;
}

/* Where row j and column i of a footprint are in the grid. */
FN size_t cell_at(const shape *s, GLOBAL const place *at, int j, int i)
{
    return (size_t)(at->v + j) * s->pitch + at->u + i;
}

/* Where share c begins when n things are dealt out in a row, in `shares` shares. */
FN int share_of(int n, int shares, int c)
{
    return (int)((long)n * c / shares);
}

/* Adds visibility d to the grid. */
FN void grid_one(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                 cplx d, GLOBAL cplx *grid)
{
    GLOBAL const cplx *function = function_of(s, table, at);
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++) {
            size_t cell = cell_at(s, at, j, i);
            cplx c = value_at(s, function, at->minus, j, i);
            grid[cell] = plus(grid[cell], times(d, c));
        }
}

/* Adds the visibilities of share c to a copy of the grid that nobody else writes. */
FN void grid_share(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                   GLOBAL const cplx *value, int c, GLOBAL cplx *copy)
{
    int last = share_of(s->samples, s->copies, c + 1);
    for (int k = share_of(s->samples, s->copies, c); k < last; k++)
        grid_one(s, table, &at[k], value[k], copy);
}

/* The visibility that the grid predicts at a place. */
FN cplx degrid_one(const shape *s, GLOBAL const cplx *table, GLOBAL const place *at,
                   GLOBAL const cplx *grid)
{
    GLOBAL const cplx *function = function_of(s, table, at);
    cplx d = {0, 0};
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++) {
            cplx c = value_at(s, function, at->minus, j, i);
            d = plus(d, times(grid[cell_at(s, at, j, i)], conjugate(c)));
        }
    return d;
}
