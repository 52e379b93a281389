/* verify.c - the program `verify`, which compares an array with its reference.
 *
 *     verify reference.npy candidate.npy budget [norm=max|l2|l1|bytes] [relative=1]
 *
 * Prints the norm of the difference, the budget, the fraction of the budget that is
 * used and the worst element. The exit status is 0 if the difference is at most the
 * budget (a NaN is not), and 1 otherwise and after an error.
 *
 * Differences are computed in double precision. Left out: tolerances per element, and a
 * list of all elements that differ.
 */
#include "../common/run/run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "verify.c must see NaN: build it without -ffast-math"
#endif

static const char usage[] =
    "compares an array with its reference\n\n"
    "  verify reference.npy candidate.npy budget [key=value ...]\n\n"
    "Exit status 0: the difference is at most the budget. 1: it is larger, or an "
    "error.";

/* NORM_BYTES counts the elements whose bits differ; it distinguishes 0.0 and -0.0. */
typedef enum { NORM_MAX, NORM_L2, NORM_L1, NORM_BYTES } norm;

/* ---- norms ----------------------------------------------------------------------- */

/* |candidate - reference|, or |reference| if cand is NULL. */
static double magnitude(const npy *ref, const npy *cand, size_t i)
{
    return fabs((cand ? npy_element(cand, i) : 0) - npy_element(ref, i));
}

/* The norm of candidate - reference, or of the reference if cand is NULL; NaN if a NaN
 * occurs, or infinity minus infinity. *worst is the element with the largest
 * difference. The l2 norm scales all differences by it before squaring, to avoid
 * underflow (the square of 1e-200 is 0, which would mean "equal") and overflow. */
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

/* Counts the elements that differ in at least one bit; *worst is the first of them. A
 * NaN differs from itself: arrays that were never written hold the same NaN and must
 * not compare as equal. */
static double count_differing(const npy *ref, const npy *cand, size_t *worst)
{
    size_t size = npy_size(ref->type);
    double differing = 0;
    *worst = 0;
    for (size_t i = 0; i < npy_count(ref); i++) {
        const char *r = (const char *)ref->data + i * size;
        const char *c = (const char *)cand->data + i * size;
        if (memcmp(r, c, size) == 0 && !isnan(npy_element(ref, i))) continue;
        if (differing == 0) *worst = i;
        differing++;
    }
    return differing;
}

/* ---- reading and printing -------------------------------------------------------- */

static npy read_or_fail(const char *path)
{
    npy a = npy_load(NULL, path);
    if (npy_count(&a) == 0) fail("%s: no elements: expected at least one", path);
    return a;
}

/* Formats type and shape, as in "float32 (3, 4)". */
static const char *describe(const npy *a, char text[256])
{
    static const char *const names[] = {[NPY_F4] = "float32",
                                        [NPY_F8] = "float64",
                                        [NPY_I4] = "int32",
                                        [NPY_U1] = "uint8"};
    int n = snprintf(text, 256, "%s (", names[a->type]);
    for (int i = 0; i < a->dims; i++)
        n += snprintf(text + n, 256 - (size_t)n, "%s%zu", i ? ", " : "", a->shape[i]);
    snprintf(text + n, 256 - (size_t)n, a->dims == 1 ? ",)" : ")");
    return text;
}

/* Prints the index of element `at` in each dimension, slowest first. */
static void print_index(const npy *a, size_t at)
{
    size_t index[8];
    for (int i = a->dims - 1; i >= 0; i--) {
        index[i] = at % a->shape[i];
        at /= a->shape[i];
    }
    putchar('[');
    for (int i = 0; i < a->dims; i++) printf("%s%zu", i ? ", " : "", index[i]);
    putchar(']');
}

int main(int argc, char **argv)
{
    const char *norm_name = "max";
    int relative = 0;
    arg table[] = {
        {"norm", ARG_TEXT, &norm_name, 0, 0,
         "max, l2, l1, or bytes (elements that differ in at least one bit, budget 0)",
         0},
        {"relative", ARG_INT, &relative, 0, 1,
         "1: divide by the same norm of the reference", 0},
        {0}};
    run_name = "verify";

    /* Keys follow three positional arguments. */
    if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help"))
        args_parse(argc, argv, table, usage);
    if (argc < 4)
        fail("%d arguments: expected reference.npy candidate.npy budget (see `verify "
             "help`)",
             argc - 1);
    double budget = parse_double("budget", argv[3], 0, DBL_MAX);
    if (argc > 4) args_parse(argc - 3, argv + 3, table, usage);
    norm n = (norm)parse_choice("norm", norm_name, "max", "l2", "l1", "bytes");
    if (n == NORM_BYTES && relative)
        fail("relative=1: norm=bytes cannot be relative: expected relative=0");
    if (n == NORM_BYTES) budget = 0;

    npy ref = read_or_fail(argv[1]), cand = read_or_fail(argv[2]);
    char r[256], c[256];
    if (strcmp(describe(&ref, r), describe(&cand, c)))
        fail("%s is %s, %s is %s: expected the same type and shape", argv[1], r,
             argv[2], c);
    size_t worst, unused;
    double d = n == NORM_BYTES ? count_differing(&ref, &cand, &worst)
                               : norm_of(&ref, &cand, n, &worst);
    bool differs = d != 0;
    if (relative) {
        double size = norm_of(&ref, NULL, n, &unused);
        if (size == 0 || isinf(size))
            fail("relative=1: the norm of %s is %g: expected a positive number",
                 argv[1], size);
        d /= size;
    }
    bool passed = d <= budget;

    printf("%s: %s against %s\n", passed ? "within budget" : "DIFFERS", argv[2],
           argv[1]);
    printf("  norm    %s%s\n", norm_name, relative ? ", relative" : "");
    printf("  value   %.9g\n", d);
    printf("  budget  %.9g\n", budget);
    printf("  share   %.3g %%\n", d == 0 ? 0 : 100 * (d / budget));
    printf("  worst   ");
    if (differs) {
        int digits = ref.type == NPY_F8 ? 17 : 9;
        print_index(&ref, worst);
        printf(" reference %.*g, candidate %.*g\n", digits, npy_element(&ref, worst),
               digits, npy_element(&cand, worst));
    } else {
        printf("no element differs\n");
    }
    free(ref.data);
    free(cand.data);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
