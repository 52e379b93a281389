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
FN GLOBAL const cplx *find_function(const shape *s, GLOBAL const cplx *table,
                                    GLOBAL const footprint *fp)
{
    size_t f =
        ((size_t)fp->plane * s->oversampling + fp->fv) * s->oversampling + fp->fu;
    return table + f * s->width * s->width;
}

/* Its value at row j and column i of the footprint. */
FN cplx function_value(const shape *s, GLOBAL const cplx *function, int negative_w,
                       int j, int i)
{
    cplx c = function[j * s->width + i];
    return negative_w ? conjugate(c) : c;
}

/* Where row j and column i of a footprint are in the grid. */
FN size_t cell_index(const shape *s, GLOBAL const footprint *fp, int j, int i)
{
    return (size_t)(fp->v + j) * s->pitch + fp->u + i;
}

/* Where share c begins when n things are dealt out in a row, in `shares` shares. */
FN int range_begin(int n, int ranges, int c)
{
    return (int)((long)n * c / ranges);
}

/* Adds visibility d to the grid, in strip y of the footprint's rows and strip x of its
 * columns. */
FN void grid_visibility(const shape *s, GLOBAL const cplx *table,
                        GLOBAL const footprint *fp, cplx d, int y, int x,
                        GLOBAL cplx *grid)
{
    GLOBAL const cplx *function = find_function(s, table, fp);
    int rows = range_begin(s->width, s->strips[0], y + 1);
    int columns = range_begin(s->width, s->strips[1], x + 1);
    for (int j = range_begin(s->width, s->strips[0], y); j < rows; j++)
        for (int i = range_begin(s->width, s->strips[1], x); i < columns; i++) {
            size_t cell = cell_index(s, fp, j, i);
            cplx c = function_value(s, function, fp->negative_w, j, i);
            grid[cell] = plus(grid[cell], times(d, c));
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
    GLOBAL const cplx *function = find_function(s, table, fp);
    cplx d = {0, 0};
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++) {
            cplx c = function_value(s, function, fp->negative_w, j, i);
            d = plus(d, times(grid[cell_index(s, fp, j, i)], conjugate(c)));
        }
    return d;
}
