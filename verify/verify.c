/* verify.c - is a result close enough to its reference? The program `verify`.
 *
 *     verify reference.npy candidate.npy budget [norm=max|l2|l1|bytes] [relative=1]
 *
 * Prints the norm, the budget, the share of it that is used and the worst element, and
 * exits with 0 only where `d <= budget` holds: NaN fails. Everything else is 1.
 *
 * Left out: tolerances per element and lists of what differs; one number decides.
 */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "is a result close enough to its reference?\n\n"
    "  verify reference.npy candidate.npy budget [key=value ...]\n\n"
    "Exit status 0: the difference is at most budget. 1: it is not, or an error.";

static const char *const norm_names[] = {
    [NORM_MAX] = "max", [NORM_L2] = "l2", [NORM_L1] = "l1", [NORM_BYTES] = "bytes"};
enum { NORMS = sizeof norm_names / sizeof norm_names[0] };

static norm norm_named(const char *name)
{
    for (int i = 0; i < NORMS; i++)
        if (!strcmp(name, norm_names[i])) return (norm)i;
    fail("norm=%s: expected max, l2, l1 or bytes", name);
}

static npy read_or_fail(const char *path)
{
    npy a;
    char why[NPY_WHY];
    if (npy_read(path, &a, why) != 0) fail("%s: %s", path, why);
    if (npy_count(&a) == 0) fail("%s: an array of no elements proves nothing", path);
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

/* Where element `at` lies: its index in each dimension, slowest first. */
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
         "max, l2, l1, or bytes: the number of elements that differ in a bit, budget 0",
         false},
        {"relative", ARG_INT, &relative, 0, 1,
         "1: divided by the same norm of the reference", false},
        {0}};
    run_name = "verify";

    /* The keys follow three names; a call with fewer is wrong or asks for help. */
    if (argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], "help"))
        args_parse(argc, argv, table, usage);
    if (argc < 4)
        fail("expected reference.npy candidate.npy budget; `verify help` explains");
    double budget = parse_double("budget", argv[3], 0, DBL_MAX);
    if (argc > 4) args_parse(argc - 3, argv + 3, table, usage);
    norm n = norm_named(norm_name);
    if (n == NORM_BYTES && relative) fail("relative=1: norm=bytes counts, it has none");
    if (n == NORM_BYTES) budget = 0;

    npy ref = read_or_fail(argv[1]), cand = read_or_fail(argv[2]);
    comparison c = compare(&ref, &cand, n);
    if (!c.comparable) {
        char r[256], k[256];
        fail("%s is %s, %s is %s: they must match", argv[1], describe(&ref, r), argv[2],
             describe(&cand, k));
    }
    if (relative && (c.refnorm == 0 || isinf(c.refnorm)))
        fail("relative=1: the norm of %s is %g", argv[1], c.refnorm);
    double d = relative ? c.d / c.refnorm : c.d;
    bool proven = d <= budget;

    printf("%s: %s against %s\n", proven ? "within budget" : "DIFFERS", argv[2],
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
    return proven ? EXIT_SUCCESS : EXIT_FAILURE;
}
