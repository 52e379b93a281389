/* image.h - from the grid to the sky, and back to a grid.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include "gridding.h"
#include "sky.h"

/* The anti-aliasing taper at x, in parts of the image's side from its centre: 1 there,
 * 0 from 1/2 on. */
double taper(double x);

/* The dirty image [size][size] of a grid [size][size][2] (no pitch): its Fourier
 * transform over the taper and over norm, the sum of the weights. Where the taper is
 * too small to divide by, 0. To be freed. */
double *dirty_image(const double *grid, int size, double norm);

/* The grid [size][pitch][2] of which the sources are the image. */
void model_grid(double *grid, int size, int pitch, double cell, const source *s, int n);

/* What the sources and the PSF's sidelobes truly add up to in direction (l, m): the
 * direct sum over the visibilities, over norm. Exact, slow. */
double direct_sum(const visibility *d, int n, double norm, double l, double m);

/* A picture of the image, grey, from -5 % of its peak (black) to half of it (white). */
void image_write(const char *path, const double *image, int size);

#endif
