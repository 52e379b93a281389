/* verify.c - the program `verify`, which compares an array with its reference.
 *
 *     verify reference.npy candidate.npy budget [norm=max|l2|l1|bytes] [relative=1]
 *
 * Prints the norm of the difference, the budget, the fraction of the budget that is
 * used and the worst element. The exit status is 0 if the difference is at most the
 * budget (a NaN is not), and 1 otherwise and after an error.
 *
 * Left out: tolerances per element, and a list of all elements that differ.
 */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "compares an array with its reference\n\n"
    "  verify reference.npy candidate.npy budget [key=value ...]\n\n"
    "Exit status 0: the difference is at most the budget. 1: it is larger, or an "
    "error.";

static npy read_or_fail(const char *path)
{
    npy a;
    char reason[REASON_SIZE];
    if (npy_read(path, &a, reason) != 0) fail("%s: %s", path, reason);
    if (npy_count(&a) == 0) fail("%s: no elements: expected at least one", path);
    return a;
}

/* "float32 (3, 4)" */
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
    comparison c = compare(&ref, &cand, n);
    if (!c.comparable) {
        char r[256], k[256];
        fail("%s is %s, %s is %s: expected the same type and shape", argv[1],
             describe(&ref, r), argv[2], describe(&cand, k));
    }
    if (relative && (c.refnorm == 0 || isinf(c.refnorm)))
        fail("relative=1: the norm of %s is %g: expected a positive number", argv[1],
             c.refnorm);
    double d = relative ? c.d / c.refnorm : c.d;
    bool passed = d <= budget;

    printf("%s: %s against %s\n", passed ? "within budget" : "DIFFERS", argv[2],
           argv[1]);
    printf("  norm    %s%s\n", norm_name, relative ? ", relative" : "");
    printf("  value   %.9g\n", d);
    printf("  budget  %.9g\n", budget);
    printf("  share   %.3g %%\n", d == 0 ? 0 : 100 * (d / budget));
    printf("  worst   ");
    if (c.d == 0) {
        printf("no element differs\n");
    } else {
        int digits = ref.type == NPY_F8 ? 17 : 9;
        print_index(&ref, c.worst);
        printf(" reference %.*g, candidate %.*g\n", digits, element(&ref, c.worst),
               digits, element(&cand, c.worst));
    }
    free(ref.data);
    free(cand.data);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
