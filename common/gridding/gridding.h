/* gridding.h - the contract between the front end and the back-ends in steps/.
 *
 * Gridding adds each visibility d to its footprint on the grid, times its convolution
 * function; degridding is the adjoint, a dot product of the footprint with the
 * conjugate of the same function:
 *
 *     gridding      grid[v + j][u + i] += d C[j][i]
 *     degridding    d = sum of grid[v + j][u + i] conj(C[j][i])
 *
 * with 0 <= i, j < width. C is separable: C[j][i] = c(fv, j) c(fu, i), with c(f, i) the
 * taps of the visibility's plane, or their conjugates where its w is negative.
 *
 * A plane's taps fall off with their distance from the middle of the footprint. Those
 * so far out that they and all beyond are smaller than `accuracy` times the plane's
 * largest may be taken for 0, if a back-end knows how to make use of that; with 0, none
 * may.
 *
 * The front end owns arguments, input, output and images. A back-end owns everything
 * that costs time: memory, devices, transfers, loops.
 */
#ifndef GRIDDING_H
#define GRIDDING_H

#include "real.h"
#include "run.h"
#include "shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Complex numbers are pairs, re and im, in arrays that end in [2]. */
typedef struct {
    shape dims;
    const footprint *footprints; /* [samples]; every footprint lies inside the grid */
    const double *value;         /* [samples][2]: visibilities, times their weights */
    const double *taps;          /* [planes][oversampling][width][2] */
    double accuracy;             /* 0 .. 0.1: see above */
    int copies;    /* wanted of the grid, 0: as many as there are workers */
    int strips[2]; /* wanted of a footprint, 0: the back-end chooses */
} problem;

typedef struct {
    double init;   /* seconds: device set-up, kernel build, allocation, tables */
    double sort;   /* putting visibilities in another order; part of run */
    double run;    /* transfers, sorting and kernel */
    double kernel; /* the kernels alone, by the device's own clock where it has one */
    int copies;    /* of the grid that were used */
} run_times;

/* grid is real[size][pitch][2], poisoned by the caller. All size columns of all rows
 * are written; what lies between size and pitch may be. Returns 0; what cannot go on
 * ends in fail(). */
int gridding(const problem *p, void *grid, run_times *t);

/* value is real[samples][2], poisoned by the caller. The grid is finite, zeros beyond
 * size. */
int degridding(const problem *p, const void *grid, void *value, run_times *t);

/* The same with double for real; see real.h. */
#ifndef gridding
int gridding_double(const problem *p, void *grid, run_times *t);
int degridding_double(const problem *p, const void *grid, void *value, run_times *t);
#endif

/* How many copies of a grid of so many bytes to make: as wanted, or one for each of so
 * many workers, but no more than memory bytes hold; fail() if that is less than one. */
int choose_copies(int wanted, int workers, double bytes, double memory);

/* Bytes of main memory. */
double main_memory(void);

#ifdef __cplusplus
}
#endif

#endif
