/* taps.h - the convolution functions (W-kernels), as products of one-dimensional
 * functions.
 *
 * W-projection multiplies the sky by exp(2 pi i w (n - 1)) before the Fourier
 * transform. In the uv plane this is a convolution of the grid. With the small-field
 * approximation n - 1 = -(l^2 + m^2) / 2, whose error is of fourth order, exp(-pi i w
 * (l^2 + m^2)) is a function of l times the same function of m. Its transform has the
 * same form.
 */
#ifndef TAPS_H
#define TAPS_H

/* Returns the taps [planes][oversampling][width][2]. Tap i of fraction f is the
 * transform of taper times exp(-pi i w l^2), at i - support - (f - oversampling / 2) /
 * oversampling cells. Plane p is for w = p wstep; chirp is wstep divided by the square
 * of a cell, both in wavelengths. The caller frees the taps. */
double *w_taps(int planes, int oversampling, int width, double chirp);

/* Returns integers from -6 to 6 in the same layout, for tests: sums of their products
 * are exact in float, in any order. */
double *integer_taps(int planes, int oversampling, int width);

#endif
