/* compare.c - implements compare.h.
 *
 * A first pass finds the largest difference, which determines the worst element and
 * detects NaN. The l2 norm scales all differences by it before squaring, to avoid
 * underflow (the square of 1e-200 is 0, which would mean "equal") and overflow.
 */
#include "compare.h"

#include <math.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "compare.c must see NaN: build it without -ffast-math"
#endif

double element(const npy *a, size_t i)
{
    switch (a->type) {
    case NPY_F4:
        return (double)((const float *)a->data)[i];
    case NPY_F8:
        return ((const double *)a->data)[i];
    case NPY_I4:
        return ((const int32_t *)a->data)[i];
    case NPY_U1:
        return ((const uint8_t *)a->data)[i];
    }
    return NAN;
}

static bool comparable(const npy *ref, const npy *cand)
{
    if (ref->type != cand->type || ref->dims != cand->dims) return false;
    for (int i = 0; i < ref->dims; i++)
        if (ref->shape[i] != cand->shape[i]) return false;
    return npy_count(ref) > 0;
}

/* |candidate - reference|, or |reference| if cand is NULL. */
static double magnitude(const npy *ref, const npy *cand, size_t i)
{
    return fabs((cand ? element(cand, i) : 0) - element(ref, i));
}

/* The norm of candidate - reference, or of the reference if cand is NULL. */
static double norm_of(const npy *ref, const npy *cand, norm n, size_t *worst)
{
    size_t count = npy_count(ref);
    double largest = 0;
    *worst = 0;
    for (size_t i = 0; i < count && !isnan(largest); i++) {
        double e = magnitude(ref, cand, i);
        if (e <= largest) continue; /* false for NaN */
        largest = e;
        *worst = i;
    }
    if (n == NORM_MAX || largest == 0 || !isfinite(largest)) return largest;

    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double e = magnitude(ref, cand, i);
        sum += n == NORM_L1 ? e : (e / largest) * (e / largest);
    }
    return n == NORM_L1 ? sum : largest * sqrt(sum);
}

/* Counts the elements that differ in at least one bit. Returns NaN if the reference
 * contains a NaN: arrays that were never written hold the same NaN and must not compare
 * as equal. */
static double count_differing(const npy *ref, const npy *cand, size_t *worst)
{
    size_t count = npy_count(ref), size = npy_size(ref->type);
    double differing = 0;
    *worst = 0;
    for (size_t i = 0; i < count; i++) {
        const char *r = (const char *)ref->data + i * size;
        const char *c = (const char *)cand->data + i * size;
        if (isnan(element(ref, i))) {
            *worst = i;
            return NAN;
        }
        if (memcmp(r, c, size) == 0) continue;
        if (differing == 0) *worst = i;
        differing++;
    }
    return differing;
}

comparison compare(const npy *ref, const npy *cand, norm n)
{
    comparison r = {.d = NAN, .refnorm = NAN, .comparable = comparable(ref, cand)};
    if (!r.comparable) return r;

    size_t unused;
    if (n == NORM_BYTES) {
        r.d = count_differing(ref, cand, &r.worst);
        r.refnorm = (double)npy_count(ref);
    } else {
        r.d = norm_of(ref, cand, n, &r.worst);
        r.refnorm = norm_of(ref, NULL, n, &unused);
    }
    return r;
}
