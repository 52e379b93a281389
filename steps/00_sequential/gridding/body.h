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
#include <tgmath.h>

#include "gridding.h"

typedef REAL complex cplx;

/* Returns the convolution function of a visibility in the table
 * [planes][oversampling][oversampling][width][width]. */
static const cplx *find_function(const shape *s, const cplx *table, const footprint *fp)
{
    size_t f =
        ((size_t)fp->plane * s->oversampling + fp->fv) * s->oversampling + fp->fu;
    return table + f * s->width * s->width;
}

/* Returns the value of the function at row j and column i of the footprint. */
static cplx function_value(const shape *s, const cplx *function, int negative_w, int j,
                           int i)
{
    cplx c = function[j * s->width + i];
    return negative_w ? conj(c) : c;
}

/* Returns the index in the grid of row j and column i of a footprint. */
static size_t cell_index(const shape *s, const footprint *fp, int j, int i)
{
    return (size_t)(fp->v + j) * s->pitch + fp->u + i;
}

/* Adds visibility d to all cells of its footprint. */
static void grid_visibility(const shape *s, const cplx *table, const footprint *fp,
                            cplx d, cplx *grid)
{
    const cplx *function = find_function(s, table, fp);
    for (int j = 0; j < s->width; j++)
        for (int i = 0; i < s->width; i++)
            grid[cell_index(s, fp, j, i)] +=
                d * function_value(s, function, fp->negative_w, j, i);
}
