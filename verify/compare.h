/* compare.h - how far a candidate array is from a reference array.
 *
 * Differences are taken in double. Whoever judges must test `d <= budget` and nothing
 * else: a NaN in either array, and infinity against infinity, give a d that fails it.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "../common/run/run.h"

/* NORM_BYTES counts the elements whose bits differ: 0.0 and -0.0 are not equal then. */
typedef enum { NORM_MAX, NORM_L2, NORM_L1, NORM_BYTES } norm;

typedef struct {
    double d;       /* the norm of candidate - reference */
    double refnorm; /* the norm of the reference; NORM_BYTES: its number of elements */
    size_t worst;   /* the element that differs most; NORM_BYTES: the first that does */
    bool comparable; /* same type, same shape, at least one element; else d is NaN */
} comparison;

comparison compare(const npy *ref, const npy *cand, norm n);

/* Element i of any type as a double. */
double element(const npy *a, size_t i);

#endif
