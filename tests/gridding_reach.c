/* gridding_reach.c - tests that a visibility reaches every cell that its w-plane needs.
 * Linked with a back-end instead of common/gridding/main.c.
 *
 * Footprints that do not overlap are gridded with random taps: those beyond a random
 * distance are below the limit of accuracy=, so they may be omitted. A cell then has
 * the value of one visibility, without the others that would hide an error. The
 * distances of the footprints are random, so that each lies differently in the blocks.
 */
#include <math.h>
#include <stdlib.h>

#include "gridding.h"

typedef struct {
    double re, im;
} number;

static double uniform(double from, double to)
{
    return from + (to - from) * rand() / RAND_MAX;
}

static number random_number(double size)
{
    double angle = uniform(0, 6.283);
    return (number){size * cos(angle), size * sin(angle)};
}

static number product(number a, number b)
{
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Returns the tap i of a fraction of the plane of fp. */
static number tap(const problem *p, const footprint *fp, int fraction, int i)
{
    const shape *s = &p->dims;
    const number *taps = (const number *)p->taps;
    number c = taps[(fp->plane * s->oversampling + fraction) * s->width + i];
    if (fp->negative_w) c.im = -c.im;
    return c;
}

enum { PLANES = 5 };

/* Stores the taps of a plane, of which the largest is 1, and those farther than `reach`
 * from the middle are below the limit. One of those at this distance is above it. */
static void random_taps(number *taps, const shape *s, int reach, double limit)
{
    int middle = s->width / 2, one = rand() % s->oversampling;
    for (int f = 0; f < s->oversampling; f++)
        for (int i = 0; i < s->width; i++) {
            int distance = abs(i - middle);
            double size = distance > reach ? uniform(0, 0.999) * limit
                                           : limit * (f == one ? 1.001 : uniform(0, 2));
            taps[f * s->width + i] = random_number(distance ? size : 1);
        }
}

/* Counts of cells: with a wrong value, and with a tap that was omitted. */
static void test_problem(long *wrong, long *omitted)
{
    const double limits[] = {0, 1e-3, 0.01, 0.1};
    problem p = {.accuracy = limits[rand() % 4]};
    shape *s = &p.dims;
    int support = 1 + rand() % 20, reach[PLANES];
    *s = (shape){.width = 2 * support + 1,
                 .oversampling = 1 + rand() % 3,
                 .planes = PLANES,
                 .copies = 1,
                 .strips = {1, 1}};
    int spacing = s->width + rand() % 8, side = 10;
    s->size = side * spacing + rand() % 8;
    s->pitch = (s->size + 15) / 16 * 16 + 16;
    s->visibilities = side * side;
    size_t count = (size_t)s->visibilities, cells = (size_t)s->size * (size_t)s->pitch;

    size_t plane = (size_t)(s->oversampling * s->width);
    number *taps = allocate(PLANES * plane, sizeof *taps, "taps");
    for (int n = 0; n < PLANES; n++) {
        reach[n] = p.accuracy > 0 ? rand() % (support + 1) : support;
        random_taps(taps + (size_t)n * plane, s, reach[n],
                    p.accuracy > 0 ? p.accuracy : 0.5);
    }
    footprint *footprints = allocate(count, sizeof *footprints, "footprints");
    number *values = allocate(count, sizeof *values, "values");
    for (int n = 0; n < s->visibilities; n++) {
        int gap = spacing - s->width + 1;
        footprints[n] = (footprint){n % side * spacing + rand() % gap,
                                    n / side * spacing + rand() % gap,
                                    rand() % s->oversampling,
                                    rand() % s->oversampling,
                                    rand() % PLANES,
                                    rand() % 2};
        values[n] = random_number(1);
    }
    p.footprints = footprints;
    p.value = &values->re;
    p.taps = &taps->re;

    number *expected = allocate(cells, sizeof *expected, "a grid");
    double *size = allocate(cells, sizeof *size, "magnitudes");
    bool *optional = allocate(cells, sizeof *optional, "flags");
    float(*grid)[2] = aligned_alloc(64, cells * sizeof *grid);
    if (!grid) fail("no memory for a grid");
    for (size_t c = 0; c < cells; c++) {
        expected[c] = (number){0, 0};
        size[c] = 0;
        optional[c] = false;
        grid[c][0] = grid[c][1] = NAN;
    }
    for (size_t n = 0; n < count; n++) {
        const footprint *fp = &footprints[n];
        for (int j = 0; j < s->width; j++)
            for (int i = 0; i < s->width; i++) {
                size_t c = (size_t)((fp->v + j) * s->pitch + fp->u + i);
                expected[c] = product(
                    values[n], product(tap(&p, fp, fp->fv, j), tap(&p, fp, fp->fu, i)));
                size[c] = hypot(expected[c].re, expected[c].im);
                optional[c] = abs(i - support) > reach[fp->plane] ||
                              abs(j - support) > reach[fp->plane];
            }
    }
    run_times t = {0};
    if (gridding(&p, grid, &t)) fail("gridding: failed");
    for (int v = 0; v < s->size; v++)
        for (int u = 0; u < s->size; u++) {
            size_t c = (size_t)(v * s->pitch + u);
            double error =
                hypot(grid[c][0] - expected[c].re, grid[c][1] - expected[c].im);
            bool absent = optional[c] && grid[c][0] == 0 && grid[c][1] == 0;
            *wrong += !(error <= 2e-6 * size[c]) && !absent;
            *omitted += absent;
        }
    free(taps);
    free(footprints);
    free(values);
    free(expected);
    free(size);
    free(optional);
    free(grid);
}

int main(int argc, char **argv)
{
    run_name = "gridding-reach";
    int problems = argc > 1 ? atoi(argv[1]) : 1, failed = 0;
    long omitted = 0;
    for (int n = 0; n < problems; n++) {
        long wrong = 0;
        srand((unsigned)n);
        test_problem(&wrong, &omitted);
        if (wrong) printf("problem %d: %ld cells are wrong\n", n, wrong);
        failed += wrong > 0;
    }
    printf("omitted=%ld\n%d passed, %d failed\n", omitted, problems - failed, failed);
    return failed != 0;
}
