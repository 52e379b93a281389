/* compare.h - norms of the difference between a candidate array and its reference.
 *
 * Differences are computed in double precision. Callers must test `d <= budget`, not
 * its negation: a NaN in either array, and infinity minus infinity, make d a NaN.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "../common/run/run.h"

/* NORM_BYTES counts the elements whose bits differ; it distinguishes 0.0 and -0.0. */
typedef enum { NORM_MAX, NORM_L2, NORM_L1, NORM_BYTES } norm;

typedef struct {
    double d;        /* the norm of candidate - reference */
    double refnorm;  /* the norm of the reference; NORM_BYTES: its number of elements */
    size_t worst;    /* element with the largest difference; NORM_BYTES: the first that
                        differs */
    bool comparable; /* same type and shape, at least one element; else d is NaN */
} comparison;

comparison compare(const npy *ref, const npy *cand, norm n);

/* Returns element i of an array of any type as a double. */
double element(const npy *a, size_t i);

#endif
