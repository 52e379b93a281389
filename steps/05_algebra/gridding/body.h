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

/* Returns the first of the items 0 .. n - 1 that belong to range c, if they are divided
 * into so many contiguous ranges. */
FN int range_begin(int n, int ranges, int c)
{
    return (int)((long)n * c / ranges);
}

/* Adds visibility d to strip (y, x) of its footprint: y counts strips of rows, x strips
 * of columns. The convolution function is separable, the product of one tap per row and
 * one tap per column; the table is [planes][oversampling][width]. */
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
        /* t is d times the tap of the row. The factor of the imaginary parts of the
         * column taps is i t, or -i t for a conjugate function. */
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

/* Barrier for all work-items of a group. On the host a group is one thread. */
#ifndef SYNC
#define SYNC() (void)0
#endif

/* Adds the visibilities of range c to `copy`, a grid that no other group writes. The
 * strips of one footprint do not overlap, but those of two footprints do. The barrier
 * keeps all work-items of the group at the same visibility. */
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
