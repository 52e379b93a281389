/* verdict.h - functions of all checkers: caching an oracle's answer in a file, reading
 * a result of a given type and shape, random numbers, and collecting the outcome of
 * many comparisons. The report names the comparison that failed first or, if none
 * failed, the one that used the largest fraction of its budget.
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
    double share;    /* largest fraction of a budget used so far, percent */
    char worst[240]; /* the comparison that used it, or the first that failed */
    /* Values compared, and those that are vacuous: their budget is so large that every
     * value of their kind passes. */
    size_t values, vacuous;
} report;

#define NOTHING_DIFFERS                                                                \
    {                                                                                  \
        .ok = true, .worst = "nothing differs"                                         \
    }

/* Records a comparison: d >= 0 must be at most budget. After a failure the report does
 * not change, because later failures may be consequences of the first. */
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

/* Records a condition, which has no budget. */
#define require(r, condition, ...)                                                     \
    do {                                                                               \
        if (!(condition)) judge(r, INFINITY, 1, __VA_ARGS__);                          \
    } while (0)

/* Records a value that was compared, and whether it is vacuous. */
static inline void count_value(report *r, bool vacuous)
{
    r->values++;
    r->vacuous += vacuous;
}

/* Prints the report if a comparison was requested. Returns the exit status. */
static inline int verdict(const report *r, bool requested)
{
    double vacuous = r->values ? (double)r->vacuous / (double)r->values : 0;
    if (requested)
        printf("vacuous=%.3g\nshare=%.3g\nworst=%s\nverdict=%s%s\n", 100 * vacuous,
               r->share, r->worst, r->ok ? "ok" : "FAIL ", r->ok ? "" : r->worst);
    if (fflush(stdout)) fail("standard output: cannot be written");
    return r->ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns number n, counted from 1, of the random sequence splitmix64 (Steele, Lea and
 * Flood 2014) with that start. */
static inline uint64_t random_bits(uint64_t start, uint64_t n)
{
    uint64_t z = start + n * 11400714819323198485u;
    z ^= z >> 30;
    z *= 13787848793156543929u;
    z ^= z >> 27;
    z *= 10723151780598845931u;
    return z ^ z >> 31;
}

/* Reads the array in path, which must have the type and shape of `like`; otherwise
 * records a failure. fail() if path is not an .npy file. Returns an array whose data is
 * NULL after a failure, also after an earlier one, and if path is NULL. */
static inline npy read_result(report *r, const char *key, const char *path, npy like)
{
    static const char *const types[] = {"float32", "float64", "int32", "uint8"};
    if (!path || !r->ok) return (npy){0};
    npy a = npy_load(key, path);
    char shape[REASON_SIZE] = "";
    bool same = a.type == like.type && a.dims == like.dims;
    for (int i = 0; i < like.dims; i++) {
        size_t end = strlen(shape);
        snprintf(shape + end, sizeof shape - end, "%s%zu", i ? " x " : "",
                 like.shape[i]);
        same = same && a.shape[i] == like.shape[i];
    }
    if (same) return a;
    require(r, false, "%s: wrong type or shape: expected %s numbers of %s", key, shape,
            types[like.type]);
    free(a.data);
    return (npy){0};
}

/* Returns the `count` elements of an oracle's answer. Because it takes long to compute,
 * it is kept in a file, which begins with `id`, a digest of the query and its data. If
 * the file exists, *kept becomes true and the elements are read; fail() if their id or
 * number differs. Otherwise *kept becomes false, and the caller computes the elements
 * and calls oracle_keep(). oracle_free() releases them. */
static inline void *oracle_open(const char *path, npy_type type, size_t count,
                                uint64_t id, bool *kept)
{
    size_t all = count + sizeof id / npy_size(type);
    FILE *file = fopen(path, "rb");
    *kept = file != NULL;
    npy a = {.type = type, .dims = 1, .shape = {all}};
    if (file) {
        fclose(file);
        a = npy_load("oracle", path);
        if (a.type != type || a.dims != 1 || a.shape[0] != all ||
            memcmp(a.data, &id, sizeof id))
            fail("oracle=%s: belongs to another query or other data: "
                 "expected a file of this query",
                 path);
    } else {
        result_check("oracle", path);
        a.data = allocate(all, npy_size(type), "the oracle");
        memcpy(a.data, &id, sizeof id);
    }
    return (char *)a.data + sizeof id;
}

static inline void oracle_keep(const char *path, npy_type type, size_t count,
                               void *values)
{
    size_t all = count + sizeof(uint64_t) / npy_size(type);
    npy_write(path, &(npy){type, 1, {all}, (char *)values - sizeof(uint64_t)});
}

static inline void oracle_free(void *values)
{
    free((char *)values - sizeof(uint64_t));
}

#endif
