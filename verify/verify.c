/* verify.c - the program `verify`, which compares an array with its reference.
 *
 *     verify reference.npy candidate.npy budget [norm=max|bytes]
 *
 * Prints the largest difference, or how many elements differ (norm=bytes), the budget,
 * the fraction of the budget that is used and the worst element. The exit status is 0
 * if the difference is at most the budget (a NaN is not), and 1 otherwise and after an
 * error.
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

/* ---- norms ----------------------------------------------------------------------- */

/* The largest difference; NaN if a NaN occurs, or infinity minus infinity. *worst is
 * its element. */
static double largest_difference(const npy *ref, const npy *cand, size_t *worst)
{
    double largest = 0;
    *worst = 0;
    for (size_t i = 0; i < npy_count(ref) && !isnan(largest); i++) {
        double e = fabs(npy_element(cand, i) - npy_element(ref, i));
        if (e <= largest) continue; /* false for NaN */
        largest = e;
        *worst = i;
    }
    return largest;
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
    arg table[] = {
        {"norm", ARG_TEXT, &norm_name, 0, 0,
         "max, or bytes (elements that differ in at least one bit, budget 0)", 0},
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
    bool bytes = parse_choice("norm", norm_name, "max", "bytes");
    if (bytes) budget = 0;

    npy ref = read_or_fail(argv[1]), cand = read_or_fail(argv[2]);
    char r[256], c[256];
    if (strcmp(describe(&ref, r), describe(&cand, c)))
        fail("%s is %s, %s is %s: expected the same type and shape", argv[1], r,
             argv[2], c);
    size_t worst;
    double d = bytes ? count_differing(&ref, &cand, &worst)
                     : largest_difference(&ref, &cand, &worst);
    bool passed = d <= budget;

    printf("%s: %s against %s\n", passed ? "within budget" : "DIFFERS", argv[2],
           argv[1]);
    printf("  norm    %s\n", norm_name);
    printf("  value   %.9g\n", d);
    printf("  budget  %.9g\n", budget);
    printf("  share   %.3g %%\n", d == 0 ? 0 : 100 * (d / budget));
    printf("  worst   ");
    if (d != 0) {
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
