/* image.h - transforms a grid to an image of the sky, and a sky to a grid. */
#ifndef IMAGE_H
#define IMAGE_H

#include "gridding.h"
#include "sky.h"

/* Returns the anti-aliasing taper at x, in units of the image's side from its centre: 1
 * at the centre, 0 at 1/2 and beyond. */
double taper(double x);

/* Returns the dirty image [size][size] of a grid [size][size][2] (without padding): its
 * Fourier transform, divided by the taper and by norm, the sum of the weights; 0 where
 * the taper is at most 0.01. The caller frees it. */
double *dirty_image(const npy *grid, double norm);

/* Computes the grid [size][pitch][2] whose image is the given sources. */
void model_grid(double *grid, int size, int pitch, double cell, const source *s, int n);

/* Returns the true value of the dirty image in direction (l, m): the direct Fourier sum
 * over the visibilities, divided by norm. Exact but slow. */
double direct_sum(const visibility *d, int n, double norm, double l, double m);

/* Writes the image as a grey PNG, from -5 % of its peak (black) to 50 % (white). */
void image_write(const char *path, const double *image, int size);

#endif
