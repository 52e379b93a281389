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
static const cplx *find_function(const shape *s, const cplx *table, const footprint *fp)
{
    size_t f =
        ((size_t)fp->plane * s->oversampling + fp->fv) * s->oversampling + fp->fu;
    return table + f * s->width * s->width;
}

/* Its value at row j and column i of the footprint. */
static cplx function_value(const shape *s, const cplx *function, int negative_w, int j,
                           int i)
{
    cplx c = function[j * s->width + i];
    return negative_w ? conj(c) : c;
}

/* Where row j and column i of a footprint are in the grid. */
static size_t cell_index(const shape *s, const footprint *fp, int j, int i)
{
    return (size_t)(fp->v + j) * s->pitch + fp->u + i;
}

/* Where share c begins when n things are dealt out in a row, in `shares` shares. */
static int range_begin(int n, int ranges, int c)
{
    return (int)((long)n * c / ranges);
}

/* Adds visibility d to the grid. */
static void grid_visibility(const shape *s, const cplx *table, const footprint *fp,
                            cplx d, cplx *grid)
{
    const cplx *function = find_function(s, table, fp);
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++)
            grid[cell_index(s, fp, j, i)] +=
                d * function_value(s, function, fp->negative_w, j, i);
}

/* Adds the visibilities of share c to a copy of the grid that nobody else writes. */
static void grid_range(const shape *s, const cplx *table, const footprint *footprints,
                       const cplx *value, int c, cplx *copy)
{
    int last = range_begin(s->visibilities, s->copies, c + 1);
    for (int k = range_begin(s->visibilities, s->copies, c); k < last; k++)
        grid_visibility(s, table, &footprints[k], value[k], copy);
}

/* The visibility that the grid predicts at a place. */
static cplx degrid_visibility(const shape *s, const cplx *table, const footprint *fp,
                              const cplx *grid)
{
    const cplx *function = find_function(s, table, fp);
    cplx d = 0;
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++)
            d += grid[cell_index(s, fp, j, i)] *
                 conj(function_value(s, function, fp->negative_w, j, i));
    return d;
}
