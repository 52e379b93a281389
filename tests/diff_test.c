/* diff_test.c - tests of the program verify and of its norms.
 *
 *     diff_test build/verify
 *
 * The program is called on files that are written for each case. Arrays that must not
 * pass are tested in every norm. The norms are tested through compare().
 */
#define _XOPEN_SOURCE 700 /* POSIX 2008 with realpath */

#include "../verify/compare.h"

#include "c_test.h"
#undef fail /* run.h declares another */

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/diff_test.XXXXXX";
static char *verify; /* its absolute path */
static char output[4096];

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    unlink("r.npy");
    unlink("c.npy");
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

/* Runs `verify arguments`; returns the exit status and stores all output in `output`.
 */
static int call(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "'%s' %s 2>&1", verify, arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    output[fread(output, 1, sizeof output - 1, f)] = 0;
    int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Writes both arrays and runs `verify r.npy c.npy arguments`. */
static int judge(npy r, npy c, const char *arguments)
{
    char all[256];
    npy_write("r.npy", &r);
    npy_write("c.npy", &c);
    snprintf(all, sizeof all, "r.npy c.npy %s", arguments);
    return call(all);
}

#define COUNT(...) (sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define F4(...)    ((npy){NPY_F4, 1, {COUNT(__VA_ARGS__)}, (float[]){__VA_ARGS__}})
#define F8(...)    ((npy){NPY_F8, 1, {COUNT(__VA_ARGS__)}, (double[]){__VA_ARGS__}})
#define I4(...)    ((npy){NPY_I4, 1, {COUNT(__VA_ARGS__)}, (int32_t[]){__VA_ARGS__}})
#define U1(...)    ((npy){NPY_U1, 1, {COUNT(__VA_ARGS__)}, (uint8_t[]){__VA_ARGS__}})

static void assert_fails_in_every_norm(npy r, npy c)
{
    static const char *const arguments[] = {"1e300",
                                            "1e300 norm=l1",
                                            "1e300 norm=l2",
                                            "1e300 relative=1",
                                            "0 norm=bytes",
                                            "1e300 norm=l1 relative=1",
                                            "1e300 norm=l2 relative=1"};
    for (size_t i = 0; i < LENGTH(arguments); i++) {
        assert_int_equal(judge(r, c, arguments[i]), 1);
        assert_non_null(strstr(output, "DIFFERS"));
    }
}

/* ---- comparisons --------------------------------------------------------------- */

TEST(equal)
{
    const npy arrays[] = {F4(1, -2, 3e38f), F8(1, -2, 1e308), I4(1, -2, INT32_MAX),
                          U1(0, 255)};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(judge(arrays[i], arrays[i], "0"), 0);
        assert_int_equal(judge(arrays[i], arrays[i], "0 norm=l2"), 0);
        assert_int_equal(judge(arrays[i], arrays[i], "0 norm=l1 relative=1"), 0);
        assert_int_equal(judge(arrays[i], arrays[i], "0 norm=bytes"), 0);
    }
}

TEST(around_the_budget)
{
    npy r = F8(1, 2, 4), c = F8(1, 2.25, 4.5);
    assert_int_equal(judge(r, c, "0.50001"), 0);
    assert_int_equal(judge(r, c, "0.5"), 0);
    assert_int_equal(judge(r, c, "0.49999999999999994"), 1);
    assert_int_equal(judge(r, c, "0"), 1);
    assert_int_equal(judge(r, c, "0.75 norm=l1"), 0);
    assert_int_equal(judge(r, c, "0.7499 norm=l1"), 1);
    assert_int_equal(judge(r, c, "0.5591 norm=l2"), 0);
    assert_int_equal(judge(r, c, "0.5590 norm=l2"), 1);
    assert_int_equal(judge(r, c, "0.125 relative=1"), 0);
    assert_int_equal(judge(r, c, "0.1249 relative=1"), 1);

    /* Differences of unsigned integers, and beyond the range of int32, are exact. */
    assert_int_equal(judge(U1(1), U1(255), "253"), 1);
    assert_int_equal(judge(I4(INT32_MIN), I4(INT32_MAX), "4294967294"), 1);
    assert_int_equal(judge(I4(INT32_MIN), I4(INT32_MAX), "4294967295"), 0);
}

TEST(what_is_printed)
{
    float r[6] = {1, 2, 3, 4, 5, 6}, c[6] = {1, 2, 3, 4, 5.5f, 6.25f};
    npy ref = {NPY_F4, 2, {2, 3}, r}, cand = {NPY_F4, 2, {2, 3}, c};
    assert_int_equal(judge(ref, cand, "2"), 0);
    assert_string_equal(output, "within budget: c.npy against r.npy\n"
                                "  norm    max\n"
                                "  value   0.5\n"
                                "  budget  2\n"
                                "  share   25 %\n"
                                "  worst   [1, 1] reference 5, candidate 5.5\n");
    assert_int_equal(judge(ref, cand, "1 norm=bytes"), 1);
    assert_string_equal(output, "DIFFERS: c.npy against r.npy\n"
                                "  norm    bytes\n"
                                "  value   2\n"
                                "  budget  0\n"
                                "  share   inf %\n"
                                "  worst   [1, 1] reference 5, candidate 5.5\n");
    assert_int_equal(judge(ref, ref, "0"), 0);
    assert_string_equal(output, "within budget: c.npy against r.npy\n"
                                "  norm    max\n"
                                "  value   0\n"
                                "  budget  0\n"
                                "  share   0 %\n"
                                "  worst   no element differs\n");
}

TEST(nan_and_infinity)
{
    assert_fails_in_every_norm(F4(1, 2, 3), F4(1, NAN, 3));
    assert_non_null(strstr(output, "worst   [1] reference 2, candidate nan\n"));
    assert_fails_in_every_norm(F8(1, 2, 3), F8(NAN, NAN, NAN)); /* never written */
    assert_fails_in_every_norm(F4(1, NAN, 3), F4(1, 2, 3));
    assert_fails_in_every_norm(F4(1, NAN, 3), F4(1, NAN, 3));
    assert_fails_in_every_norm(F8(1, 2), F8(1, -INFINITY));
    assert_fails_in_every_norm(F8(INFINITY, NAN), F8(INFINITY, NAN));

    npy inf = F8(1, INFINITY); /* inf - inf is NaN; equal bits are equal */
    assert_int_equal(judge(inf, inf, "1e300"), 1);
    assert_int_equal(judge(inf, inf, "1e300 norm=l2"), 1);
    assert_int_equal(judge(inf, inf, "0 norm=bytes"), 0);
    assert_int_equal(judge(inf, F8(1, -INFINITY), "1e300"), 1);
}

TEST(signed_zero)
{
    assert_int_equal(judge(F4(1, 0.0f), F4(1, -0.0f), "0"), 0);
    assert_int_equal(judge(F4(1, 0.0f), F4(1, -0.0f), "0 norm=bytes"), 1);
    assert_non_null(strstr(output, "worst   [1] reference 0, candidate -0\n"));
}

/* ---- what is refused ----------------------------------------------------------- */

TEST(shapes_and_types)
{
    float x[6] = {0};
    npy a = {NPY_F4, 2, {2, 3}, x};
    const npy others[] = {{NPY_F4, 2, {3, 2}, x},
                          {NPY_F4, 1, {6}, x},
                          {NPY_F4, 3, {2, 3, 1}, x},
                          {NPY_F4, 2, {2, 2}, x},
                          {NPY_I4, 2, {2, 3}, x}};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(judge(a, others[i], "1e9"), 1);
        assert_non_null(strstr(output, "expected the same type and shape\n"));
        assert_int_equal(judge(others[i], a, "0 norm=bytes"), 1);
    }
    assert_int_equal(judge(a, others[4], "1"), 1);
    assert_string_equal(output,
                        "verify: r.npy is float32 (2, 3), c.npy is int32 (2, 3): "
                        "expected the same type and shape\n");
    npy none = {NPY_F4, 2, {0, 3}, x};
    assert_int_equal(judge(none, none, "1"), 1);
    assert_string_equal(output, "verify: r.npy: no elements: expected at least one\n");
}

TEST(unreadable_files)
{
    npy a = F4(1, 2, 3);
    judge(a, a, "0");
    assert_int_equal(truncate("c.npy", 139), 0);
    assert_int_equal(call("r.npy c.npy 1"), 1);
    assert_string_equal(output, "verify: c.npy: truncated (139 bytes): expected 140\n");
    assert_int_equal(call("c.npy r.npy 1"), 1);
    assert_int_equal(truncate("c.npy", 141), 0);
    assert_int_equal(call("r.npy c.npy 1"), 1);
    assert_int_equal(truncate("c.npy", 0), 0);
    assert_int_equal(call("r.npy c.npy 1"), 1);
    assert_string_equal(output, "verify: c.npy: not an .npy file\n");
    assert_int_equal(call("r.npy none.npy 1"), 1);
    assert_string_equal(output, "verify: none.npy: No such file or directory\n");
}

TEST(arguments)
{
    npy a = F4(1, 2, 3), zero = F4(0, 0);
    static const char *const bad[] = {"-1",
                                      "nan",
                                      "inf",
                                      "''",
                                      "1x",
                                      "",
                                      "1 norm=l3",
                                      "1 relative=2",
                                      "1 nrom=l2",
                                      "1 norm=",
                                      "1 0",
                                      "1e400",
                                      "1 norm=l2 norm=l1",
                                      "0 norm=bytes relative=1"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        assert_int_equal(judge(a, a, bad[i]), 1);
        assert_ptr_equal(strstr(output, "verify: "), output);
        assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
    }
    assert_int_equal(judge(a, a, "-1"), 1);
    assert_string_equal(output, "verify: budget=-1: expected a number, 0 or more\n");
    assert_int_equal(judge(zero, zero, "1 relative=1"), 1);
    assert_string_equal(
        output,
        "verify: relative=1: the norm of r.npy is 0: expected a positive number\n");

    assert_int_equal(call(""), 1);
    assert_non_null(strstr(output, "verify reference.npy candidate.npy budget"));
    assert_int_equal(call("help"), 0);
    assert_int_equal(call("--help"), 0);
    assert_int_equal(call("r.npy c.npy"), 1);
}

/* ---- the norms ----------------------------------------------------------------- */

TEST(norms)
{
    npy r = F8(1, -3, 0), c = F8(4, 1, 0);
    comparison m = compare(&r, &c, NORM_MAX);
    assert_true(m.comparable && m.d == 4 && m.refnorm == 3 && m.worst == 1);
    assert_true(compare(&r, &c, NORM_L1).d == 7);
    assert_true(compare(&r, &c, NORM_L1).refnorm == 4);
    assert_true(fabs(compare(&r, &c, NORM_L2).d - 5) < 1e-14);
    assert_true(compare(&r, &c, NORM_L2).worst == 1);
    m = compare(&r, &c, NORM_BYTES);
    assert_true(m.d == 2 && m.refnorm == 3 && m.worst == 0);

    /* Differences whose squares underflow or overflow. */
    npy zero = F8(0, 0), tiny = F8(3e-200, 4e-200), big = F8(3e200, 4e200);
    assert_true(fabs(compare(&zero, &tiny, NORM_L2).d / 5e-200 - 1) < 1e-14);
    assert_true(fabs(compare(&zero, &big, NORM_L2).d / 5e200 - 1) < 1e-14);
    npy low = F8(-DBL_MAX, 0), high = F8(DBL_MAX, 0);
    assert_true(isinf(compare(&low, &high, NORM_L2).d));

    npy shorter = F8(1, -3);
    m = compare(&r, &shorter, NORM_MAX);
    assert_true(!m.comparable && isnan(m.d));
}

int main(int argc, char **argv)
{
    run_name = "diff_test";
    if (argc != 2) fail("expected the path of the program verify");
    verify = realpath(argv[1], NULL);
    if (!verify) fail("%s: no such program", argv[1]);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),
        cmocka_unit_test(around_the_budget),
        cmocka_unit_test(what_is_printed),
        cmocka_unit_test(nan_and_infinity),
        cmocka_unit_test(signed_zero),
        cmocka_unit_test(shapes_and_types),
        cmocka_unit_test(unreadable_files),
        cmocka_unit_test(arguments),
        cmocka_unit_test(norms),
    };
    int failed = cmocka_run_group_tests(tests, folder_make, folder_remove);
    free(verify);
    return failed;
}
