/* stack.h - images by w stacking: the grid has a third dimension, w, and visibilities
 * are convolved in all three.
 *
 * The image is the sum over visibilities of d exp(2 pi i (u l + v m + w (n - 1))). For
 * equally spaced samples this would be a Fourier transform in three dimensions, of
 * which only the surface n = sqrt(1 - l^2 - m^2) is needed. Each visibility is spread
 * over the nearest samples, with the same short function phi in each of u, v and w:
 *
 *     plane k:  G_k = sum of phi((w - w_k) / dw) d, gridded with phi in u and v
 *     image  =  sum of exp(2 pi i w_k (n - 1)) FFT(G_k), divided by the transforms of
 *               phi at l, m and n - 1
 *
 * In contrast to W-projection, the functions do not become wider with w, and every size
 * follows from the accuracy that is asked for. The method is described by Arras et al.
 * (2021), A&A 646, A58, and by Ye et al. (2022), MNRAS 510, 4110.
 */
#ifndef STACK_H
#define STACK_H

#include "arguments.h"

/* Returns the image [grid][grid], divided by o->norm; 0 beyond the field. The caller
 * frees it; NULL for ranks other than 0. `grid_on` is the back-end's gridding(). Sets
 * *updates to the number of updates of cells. */
double *stack_image(const request *r, const observation *o,
                    int (*grid_on)(const problem *p, void *grid, run_times *t),
                    run_times *t, double *updates);

#endif
