/* body.h - what one visibility costs.
 *
 * Its footprint on the grid is width x width cells. Each of them gets the visibility
 * times the value that its convolution function has there. There are many such
 * functions, since a visibility rarely lies on the middle of a cell and has a w of its
 * own: one for each plane in w and each fraction of a cell in v and in u.
 */
#include <tgmath.h>

#include "gridding.h"

typedef REAL complex cplx;

/* Where the convolution function of a visibility begins in the table,
 * [planes][oversampling][oversampling][width][width]. */
static const cplx *function_of(const shape *s, const cplx *table, const place *at)
{
    size_t f =
        ((size_t)at->plane * s->oversampling + at->fv) * s->oversampling + at->fu;
    return table + f * s->width * s->width;
}

/* Its value at row j and column i of the footprint. */
static cplx value_at(const shape *s, const cplx *function, int minus, int j, int i)
{
    cplx c = function[j * s->width + i];
    return minus ? conj(c) : c;
}

/* Where row j and column i of a footprint are in the grid. */
static size_t cell_at(const shape *s, const place *at, int j, int i)
{
    return (size_t)(at->v + j) * s->pitch + at->u + i;
}

/* Adds visibility d to the grid. */
static void grid_one(const shape *s, const cplx *table, const place *at, cplx d,
                     cplx *grid)
{
    const cplx *function = function_of(s, table, at);
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++)
            grid[cell_at(s, at, j, i)] += d * value_at(s, function, at->minus, j, i);
}

/* The visibility that the grid predicts at a place. */
static cplx degrid_one(const shape *s, const cplx *table, const place *at,
                       const cplx *grid)
{
    const cplx *function = function_of(s, table, at);
    cplx d = 0;
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++)
            d += grid[cell_at(s, at, j, i)] *
                 conj(value_at(s, function, at->minus, j, i));
    return d;
}
