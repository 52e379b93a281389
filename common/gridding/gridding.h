/* gridding.h - the interface between the front end (main.c) and the back-ends in
 * steps/.
 *
 * Gridding adds each visibility d, times its convolution function C, to the cells of
 * its footprint:
 *
 *     grid[v + j][u + i] += d C[j][i]
 *
 * with 0 <= i, j < width. C is separable: C[j][i] = c(fv, j) c(fu, i), where c(f, i)
 * are the taps of the visibility's w-plane for fraction f, or their conjugates if w <
 * 0.
 *
 * The taps of a plane decrease with their distance from the middle of the footprint.
 * Let r be the smallest distance beyond which all taps are smaller than `accuracy`
 * times the plane's largest tap. A back-end may treat the taps beyond r as 0; with
 * accuracy 0 it uses all taps.
 *
 * The front end owns arguments, input, output and images. A back-end owns everything
 * that determines the speed: memory, devices, transfers, loops.
 */
#ifndef GRIDDING_H
#define GRIDDING_H

#include "real.h"
#include "run.h"
#include "shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Complex numbers are pairs (re, im), in arrays whose last dimension is 2. */
typedef struct {
    shape dims;
    const footprint *footprints; /* [visibilities]; each lies inside the grid */
    const double *value; /* [visibilities][2]: the visibilities times their weights */
    const double *taps;  /* [planes][oversampling][width][2] */
    double accuracy;     /* 0 .. 0.1, see above */
    int copies;          /* requested copies of the grid; 0: one per worker */
    int strips[2];       /* requested strips per footprint; 0: the back-end chooses */
} problem;

typedef struct {
    double init;   /* seconds: device set-up, kernel build, allocation, tables */
    double sort;   /* sorting the visibilities; part of run */
    double run;    /* transfers, sorting and kernels */
    double kernel; /* the kernels alone, by the device's clock if it has one */
    double image;  /* from the grid to the image; set by the front end */
    int copies;    /* number of grids that were used */
} run_times;

/* grid is real[size][pitch][2], filled with NaN by the caller. The function writes the
 * first `size` cells of every row; it may write the padding between size and pitch.
 * Returns 0; errors end the program through fail(). */
int gridding(const problem *p, void *grid, run_times *t);

/* The same function with double for real; see real.h. */
#ifndef gridding
int gridding_double(const problem *p, void *grid, run_times *t);
#endif

/* Returns the number of copies of a grid of so many bytes: the requested number if it
 * is not 0, otherwise one per worker, but at most as many as fit into `memory` bytes.
 * fail() if the requested number does not fit, or not even one. */
int choose_copies(int wanted, int workers, double bytes, double memory);

#ifdef __cplusplus
}
#endif

#endif
