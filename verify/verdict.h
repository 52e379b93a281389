/* verdict.h - what all checkers share: the oracle that a file keeps, a result that must
 * have its type and shape, and the verdict on many comparisons, which names the one
 * that used most of its budget, or failed first.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "../common/run/run.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "a checker must see NaN: build it without -ffast-math"
#endif

typedef struct {
    bool ok;
    double share;    /* of a budget, in percent, the largest so far */
    char worst[240]; /* the check that used it, or the first that failed */
} report;

#define NOTHING_DIFFERS                                                                \
    {                                                                                  \
        .ok = true, .worst = "nothing differs"                                         \
    }

/* d, which is not negative, may be at most budget. The check that failed stays: what
 * comes after may be its consequence. */
__attribute__((format(printf, 4, 5))) static inline void
judge(report *r, double d, double budget, const char *format, ...)
{
    bool within = d <= budget; /* false for NaN */
    double share = d == 0 ? 0 : 100 * (d / budget);
    if (!r->ok || (within && share <= r->share)) return;
    r->ok = within;
    r->share = share;
    va_list values;
    va_start(values, format);
    vsnprintf(r->worst, sizeof r->worst, format, values);
    va_end(values);
}

/* What has no budget: true or not. */
#define require(r, condition, ...)                                                     \
    do {                                                                               \
        if (!(condition)) judge(r, INFINITY, 1, __VA_ARGS__);                          \
    } while (0)

/* Prints what came of it, where anything was asked; the exit status. */
static inline int verdict(const report *r, bool asked)
{
    if (asked)
        printf("share=%.3g\nworst=%s\nverdict=%s%s\n", r->share, r->worst,
               r->ok ? "ok" : "FAIL ", r->ok ? "" : r->worst);
    if (fflush(stdout)) fail("standard output: cannot be written");
    return r->ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The array in path, if it is one of type and shape like `like`; else data is NULL, and
 * the report says so. fail() if there is no array. */
static inline npy read_result(report *r, const char *key, const char *path, npy like)
{
    static const char *const types[] = {"float32", "float64", "int32", "uint8"};
    npy a;
    char why[NPY_WHY], shape[NPY_WHY] = "";
    if (npy_read(path, &a, why)) fail("%s=%s: %s", key, path, why);
    bool same = a.type == like.type && a.dims == like.dims;
    for (int i = 0; i < like.dims; i++) {
        size_t end = strlen(shape);
        snprintf(shape + end, sizeof shape - end, "%s%zu", i ? " x " : "",
                 like.shape[i]);
        same = same && a.shape[i] == like.shape[i];
    }
    if (same) return a;
    require(r, false, "%s: expected %s numbers of %s: another type or shape", key,
            shape, types[like.type]);
    free(a.data);
    return (npy){0};
}

/* An oracle takes a while, so it is kept: one array of all->type and all->shape, that
 * begins with so many bytes of identity, which say of what query it is. True if path
 * has it; a file of another query is refused. Where there is no file, all->data is room
 * for what is then to be computed, behind the identity. To be freed. */
static inline bool oracle_kept(const char *path, npy *all, const void *identity,
                               size_t bytes)
{
    FILE *there = fopen(path, "rb");
    if (!there) {
        npy_writable("oracle", path);
        all->data = allocate(npy_count(all), npy_size(all->type), "the oracle");
        memcpy(all->data, identity, bytes);
        return false;
    }
    fclose(there);

    npy a;
    char why[NPY_WHY];
    if (npy_read(path, &a, why)) fail("oracle=%s: %s", path, why);
    if (a.type != all->type || a.dims != 1 || a.shape[0] != all->shape[0] ||
        memcmp(a.data, identity, bytes))
        fail("oracle=%s: of another query or other data", path);
    *all = a;
    return true;
}

#endif
