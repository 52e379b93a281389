/* fluid_stop.c - tests when a solve stops. Linked with a back-end instead of
 * common/fluid/main.c.
 *
 * A solve stops after the first sweep in which no cell changes by more than the
 * tolerance. Three kinds of solves, each followed by others, so that what a back-end
 * keeps of a solve must not matter:
 *
 *   one cell   only one cell is not 0. It changes by more than the tolerance in sweep
 *              1, so the solve takes two sweeps; or by less, then it takes one. No
 *              change of another cell replaces one that was overlooked.
 *   NaN        the right-hand side of one cell is NaN: the solve takes all sweeps
 *   random     the same sweeps in double precision show the changes, which must be
 *              larger than the tolerance in all sweeps but the last, and the field
 *              after the last one
 */
#include <math.h>
#include <stdlib.h>

#include "fluid.h"

enum { SWEEPS = 20 };
static const float TOLERANCE = 1e-7f;
static const double ROUNDINGS = 16 * 0x1p-24; /* of the largest value of a field */

static grid g;
static int reported, passed, failed;

void report_sweeps(int sweeps)
{
    reported += sweeps;
}

static double uniform(double from, double to)
{
    return from + (to - from) * rand() / RAND_MAX;
}

static size_t at(int i, int j, int k)
{
    return (size_t)i +
           (size_t)(g.nx + 2) * ((size_t)j + (size_t)(g.ny + 2) * (size_t)k);
}

#define FOR_EACH_CELL(i, j, k)                                                         \
    for (int k = 1; k <= g.nz; k++)                                                    \
        for (int j = 1; j <= g.ny; j++)                                                \
            for (int i = 1; i <= g.nx; i++)

/* Sets a cell and the ghost cells that belong to it. */
static void set(double *x, int i, int j, int k, int wall, double v)
{
    const int n[] = {g.nx, g.ny, g.nz}, walls[] = {ALONG_X, ALONG_Y, ALONG_Z};
    x[at(i, j, k)] = v;
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2; side++) {
            int c[] = {i, j, k};
            if (c[d] != (side ? n[d] : 1)) continue;
            c[d] += side ? 1 : -1;
            x[at(c[0], c[1], c[2])] = wall == walls[d] ? -v : v;
        }
}

/* Relaxes the cells of one colour. Returns the largest change. */
static double relax(double *x, const double *x0, int odd, int wall, double a, double c)
{
    double largest = 0;
    FOR_EACH_CELL(i, j, k)
    {
        if ((i + j + k) % 2 != odd) continue;
        double sum = x[at(i - 1, j, k)] + x[at(i + 1, j, k)] + x[at(i, j - 1, k)] +
                     x[at(i, j + 1, k)] + x[at(i, j, k - 1)] + x[at(i, j, k + 1)];
        double v = (x0[at(i, j, k)] + a * sum) / c;
        largest = fmax(largest, fabs(v - x[at(i, j, k)]));
        set(x, i, j, k, wall, v);
    }
    return largest;
}

/* Writes the cells of a field that are not 0. */
static void put(int f, const double *x)
{
    fluid_clear(f);
    for (int k = 0; k <= g.nz + 1; k++)
        for (int j = 0; j <= g.ny + 1; j++)
            for (int i = 0; i <= g.nx + 1; i++)
                if (x[at(i, j, k)] != 0) fluid_put(f, i, j, k, (float)x[at(i, j, k)]);
}

/* Returns the sweeps of a solve, and its result. */
static int solve(const double *x, const double *x0, int wall, float a, float *found)
{
    put(DENSITY, x);
    put(DENSITY0, x0);
    reported = 0;
    int sweeps = fluid_solve(wall, DENSITY, DENSITY0, a, 1 + 6 * a);
    fluid_get(DENSITY, found);
    return sweeps + reported;
}

static void check(bool good, const char *what, int i, int j, int k, int sweeps)
{
    passed += good;
    failed += !good;
    if (!good && failed < 10)
        printf("%s, cell %d %d %d: %d sweeps\n", what, i, j, k, sweeps);
}

static void test_cell(int i, int j, int k, double *x, double *x0, float *found)
{
    const double size[] = {3 * TOLERANCE, 0.9 * TOLERANCE, NAN};
    const int expected[] = {2, 1, SWEEPS};
    const char *const what[] = {"one cell", "less", "NaN"};
    int kind = rand() % 8 > 2 ? 0 : 1 + rand() % 2, wall = rand() % (ALONG_Z + 1);
    double *changed = kind == 2 ? x0 : x;
    set(changed, i, j, k, wall, size[kind] * (rand() % 2 ? 1 : -1));
    int sweeps = solve(x, x0, wall, 0.01f, found);
    check(sweeps == expected[kind], what[kind], i, j, k, sweeps);
    set(changed, i, j, k, wall, 0);
}

static void test_random(double *x, double *x0, float *found)
{
    float a = (float)pow(10, uniform(-2, 0.5));
    double size = pow(10, uniform(-7, -2)), slack = size * ROUNDINGS;
    int wall = rand() % (ALONG_Z + 1);
    for (int n = 0; n < 60; n++) {
        int i = 1 + rand() % g.nx, j = 1 + rand() % g.ny, k = 1 + rand() % g.nz;
        if (n % 2)
            set(x, i, j, k, wall, (float)(size * uniform(-1, 1)));
        else
            set(x0, i, j, k, SCALAR, (float)(size * uniform(-1, 1)));
    }
    int sweeps = solve(x, x0, wall, a, found);
    check(sweeps >= 1 && sweeps <= SWEEPS, "number", 0, 0, 0, sweeps);
    for (int n = 1; n <= sweeps && n <= SWEEPS; n++) {
        double change = relax(x, x0, 1, wall, a, 1 + 6 * (double)a);
        change = fmax(change, relax(x, x0, 0, wall, a, 1 + 6 * (double)a));
        if (n < sweeps)
            check(change > TOLERANCE - slack, "stops late", 0, 0, n, sweeps);
        else if (n < SWEEPS)
            check(change <= TOLERANCE + slack, "stops early", 0, 0, n, sweeps);
    }
    double error = 0;
    FOR_EACH_CELL(i, j, k)
    error = fmax(error, fabs(found[at(i, j, k)] - x[at(i, j, k)]));
    check(error <= slack, "not the field of this sweep", 0, 0, 0, sweeps);
    FOR_EACH_CELL(i, j, k)
    {
        set(x, i, j, k, SCALAR, 0);
        set(x0, i, j, k, SCALAR, 0);
    }
}

int main(int argc, char **argv)
{
    run_name = "fluid-stop";
    int tests = argc > 1 ? atoi(argv[1]) : 100;
    g = (grid){19, 5, 23};
    setup s = {.g = g, .dt = 1, .sweeps = SWEEPS, .tolerance = TOLERANCE};
    fluid_begin(&s);
    size_t cells = at(g.nx + 1, g.ny + 1, g.nz + 1) + 1;
    double *x = allocate(cells, sizeof *x, "x"),
           *x0 = allocate(cells, sizeof *x0, "x0");
    float *found = allocate(cells, sizeof *found, "a result");
    for (size_t c = 0; c < cells; c++) x[c] = x0[c] = 0;
    for (int n = 0; n < tests; n++) {
        int c = (int)((long)n * g.nx * g.ny * g.nz / tests);
        test_cell(1 + c % g.nx, 1 + c / g.nx % g.ny, 1 + c / g.nx / g.ny, x, x0, found);
        if (n % (1 + tests / 20) == 0) test_random(x, x0, found);
    }
    fluid_end();
    free(x);
    free(x0);
    free(found);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
