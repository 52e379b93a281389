/* body.h - gridding of one visibility.
 *
 * Method: convolutional gridding with W-projection (Cornwell, Golap & Bhatnagar 2008,
 * "The noncoplanar baselines effect in radio interferometry: the W-projection
 * algorithm", IEEE J. Sel. Top. Signal Process. 2). The footprint of a visibility is
 * width x width cells of the grid; each cell receives the visibility times the value of
 * its convolution function (W-kernel) there. A visibility rarely lies at the middle of
 * a cell and has its own w, so there is one function per w-plane and per oversampled
 * fraction of a cell in v and in u.
 *
 * All arrays are row-major. The caller guarantees that every footprint lies inside the
 * grid and that no other thread adds to the same grid at the same time.
 */
#include "portable.h"
#include "real.h"
#include "shape.h"

/* OpenCL C and CUDA C have no complex numbers. */
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

/* Returns the convolution function of a visibility in the table
 * [planes][oversampling][oversampling][width][width]. */
FN GLOBAL const cplx *find_function(const shape *s, GLOBAL const cplx *table,
                                    GLOBAL const footprint *fp)
{
    size_t f =
        ((size_t)fp->plane * s->oversampling + fp->fv) * s->oversampling + fp->fu;
    return table + f * s->width * s->width;
}

/* Returns the value of the function at row j and column i of the footprint. */
FN cplx function_value(const shape *s, GLOBAL const cplx *function, int negative_w,
                       int j, int i)
{
    cplx c = function[j * s->width + i];
    return negative_w ? conjugate(c) : c;
}

/* Returns the index in the grid of row j and column i of a footprint. */
FN size_t cell_index(const shape *s, GLOBAL const footprint *fp, int j, int i)
{
    return (size_t)(fp->v + j) * s->pitch + fp->u + i;
}

/* Returns the first of the items 0 .. n - 1 that belong to range c, if they are divided
 * into so many contiguous ranges. */
FN int range_begin(int n, int ranges, int c)
{
    return (int)((long)n * c / ranges);
}

/* Adds visibility d to all cells of its footprint. */
FN void grid_visibility(const shape *s, GLOBAL const cplx *table,
                        GLOBAL const footprint *fp, cplx d, GLOBAL cplx *grid)
{
    GLOBAL const cplx *function = find_function(s, table, fp);
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++) {
            size_t cell = cell_index(s, fp, j, i);
            cplx c = function_value(s, function, fp->negative_w, j, i);
            grid[cell] = plus(grid[cell], times(d, c));
        }
}

/* Adds the visibilities of range c to `copy`, a grid that no other thread writes. */
FN void grid_range(const shape *s, GLOBAL const cplx *table,
                   GLOBAL const footprint *footprints, GLOBAL const cplx *value, int c,
                   GLOBAL cplx *copy)
{
    int last = range_begin(s->visibilities, s->copies, c + 1);
    for (int k = range_begin(s->visibilities, s->copies, c); k < last; k++)
        grid_visibility(s, table, &footprints[k], value[k], copy);
}
