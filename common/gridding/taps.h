/* taps.h - the convolution functions, as products of one-dimensional ones.
 *
 * To correct for w, the sky is multiplied by exp(2 pi i w (n - 1)) before it is summed,
 * and multiplying the sky is convolving the grid. With n - 1 = -(l^2 + m^2) / 2, which
 * is good to a fourth order, exp(-pi i w (l^2 + m^2)) is a product of a function of l
 * and the same function of m, and so is its transform.
 */
#ifndef TAPS_H
#define TAPS_H

/* [planes][oversampling][width][2], to be freed: tap i of fraction f is the transform
 * of taper times exp(-pi i w l^2), at i - support - (f - oversampling / 2) /
 * oversampling cells. Plane p is for w = p wstep; chirp is wstep over the square of a
 * cell, both in wavelengths. */
double *w_taps(int planes, int oversampling, int width, double chirp);

/* The same array of integers from -6 to 6, that mean nothing: sums of their products
 * are exact in float, in whatever order. */
double *integer_taps(int planes, int oversampling, int width);

#endif
