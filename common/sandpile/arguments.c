/* arguments.c - implements arguments.h. */
#include "arguments.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM_MAX = 32768, BATCH_MAX = 65535 };

/* Within a sweep of the asynchronous rule, a cell can hold slightly more than twice the
 * initial maximum, and results are written with 31 bits. */
static const double GRAINS_MAX = 1e9;

static const char expected[] = "expected 4partout, dim, alea, big or FILE.npy";

/* ---- configurations: each fills grid g of a batch, whose cells are 0 ---------------
 */

static void four_everywhere(const request *r, int g, cell *grid)
{
    for (int y = 1; y < r->dim - 1; y++)
        for (int x = 1; x < r->dim - 1; x++) grid[(size_t)y * r->dim + x] = 4 + (cell)g;
}

/* Piles on a lattice with a spacing of dim / 4; they grow to the right and downwards.
 */
static void lattice(const request *r, int g, cell *grid)
{
    int step = r->dim / 4 > 1 ? r->dim / 4 : 1;
    for (int y = step; y < r->dim - 1; y += step)
        for (int x = step; x < r->dim - 1; x += step)
            grid[(size_t)y * r->dim + x] = (cell)(y * (int64_t)x / 4) + (cell)g;
}

/* dim / 8 random cells with 1000 .. 4999 grains, different ones in each grid. */
static void random_cells(const request *r, int g, cell *grid)
{
    uint64_t start = ((uint64_t)r->seed << 32) + (uint64_t)g, n = 0;
    uint64_t inner = r->dim - 2u;
    for (int left = r->dim / 8 > 1 ? r->dim / 8 : 1; left; left--) {
        uint64_t y = 1 + splitmix64(start, ++n) % inner;
        uint64_t x = 1 + splitmix64(start, ++n) % inner;
        grid[y * (uint64_t)r->dim + x] = 1000 + (cell)(splitmix64(start, ++n) % 4000);
    }
}

static void centre(const request *r, int g, cell *grid)
{
    grid[(size_t)(r->dim / 2) * r->dim + r->dim / 2] = 100000 + (cell)g;
}

static const struct {
    const char *name;
    void (*fill)(const request *, int, cell *);
} configurations[] = {
    {"4partout", four_everywhere},
    {"dim", lattice},
    {"alea", random_cells},
    {"big", centre},
};

/* ---- a file ---------------------------------------------------------------------- */

static bool is_file(const char *config)
{
    size_t n = strlen(config);
    return n > 4 && !strcmp(config + n - 4, ".npy");
}

/* Returns cell i of the file, counted over all grids, after checking it. */
static cell grains(const request *r, const npy *a, size_t i)
{
    size_t dim = (size_t)r->dim, x = i % dim, y = i / dim % dim, g = i / dim / dim;
    double v = npy_element(a, i);
    if (!(v >= 0 && v <= GRAINS_MAX) || v != floor(v))
        fail("%s: %g grains at grid %zu, row %zu, column %zu: expected a whole number "
             "from 0 to %.0f",
             r->config, v, g, y, x, GRAINS_MAX);
    if (v > 0 && (x == 0 || y == 0 || x == dim - 1 || y == dim - 1))
        fail("%s: %g grains at grid %zu, row %zu, column %zu: expected 0 on the border",
             r->config, v, g, y, x);
    return (cell)v;
}

static npy read_file(request *r)
{
    npy a = npy_load(NULL, r->config);
    size_t rows = a.dims < 2 ? 0 : a.shape[a.dims - 1],
           first = a.dims == 3 ? a.shape[0] : 1;
    if (a.dims < 2 || a.dims > 3 || a.shape[a.dims - 2] != rows || first < 1)
        fail("%s: wrong shape: expected (dim, dim) or (batch, dim, dim)", r->config);
    if (rows < 3 || rows > DIM_MAX || first > BATCH_MAX)
        fail(
            "%s: %zu grids of %zu x %zu cells: expected 1 to %d grids of 3 to %d cells "
            "per side",
            r->config, first, rows, rows, BATCH_MAX, DIM_MAX);
    if (r->dim && (size_t)r->dim != rows)
        fail("dim=%d: differs from %s: expected %zu", r->dim, r->config, rows);
    if (r->batch && (size_t)r->batch != first)
        fail("batch=%d: differs from %s: expected %zu", r->batch, r->config, first);
    r->dim = (int)rows;
    r->batch = (int)first;
    return a;
}

/* ---- the command line -------------------------------------------------------------
 */

request request_parse(int argc, char **argv, arg *extra, const char *about)
{
    request r = {.config = "4partout",
                 .seed = 1,
                 .plan = {.max_iterations = INT_MAX, .tileh = 64}};
    const char *how = "sync";
    arg table[] = {
        {"dim", ARG_INT, &r.dim, 3, DIM_MAX, "cells per side, border included", 0},
        {"config", ARG_TEXT, &r.config, 0, 0, "4partout, dim, alea, big or FILE.npy",
         0},
        {"seed", ARG_INT, &r.seed, 0, INT_MAX, "random seed of config=alea", 0},
        {"batch", ARG_INT, &r.batch, 1, BATCH_MAX,
         "grids; grid g is another draw of alea, or has g more grains per pile", 0},
        {"max_iterations", ARG_INT, &r.plan.max_iterations, 0, INT_MAX,
         "stop after this number of iterations, even if unstable", 0},
        {"rule", ARG_TEXT, &how, 0, 0,
         "sync, or async: only the final state is defined (seq, omp)", 0},
        {"tilew", ARG_INT, &r.plan.tilew, 0, DIM_MAX,
         "width of a tile, cells; 0: the whole row", 0},
        {"tileh", ARG_INT, &r.plan.tileh, 0, DIM_MAX,
         "height of a tile, rows; 0: the whole grid", 0},
        {"halo", ARG_INT, &r.plan.halo, 0, 1024,
         "ghost rows per neighbour (hybrid, mpi); 0: chosen by the program", 0},
        {ARG_LOCAL(r.plan.group)},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);

    const int *group = r.plan.group;
    if (group[0] * group[1] * (int64_t)group[2] > 1024)
        fail("local=%d,%d,%d: too many work-items: expected at most 1024", group[0],
             group[1], group[2]);
    r.plan.rule = parse_choice("rule", how, "sync", "async") ? ASYNC : SYNC;
    if (r.plan.rule == ASYNC && (r.plan.tilew == 1 || r.plan.tileh == 1))
        fail("rule=async: tiles are too small: expected at least 2 x 2 cells");
    size_t c = 0, count = sizeof configurations / sizeof *configurations;
    while (c < count && strcmp(r.config, configurations[c].name)) c++;
    if (c == count && !is_file(r.config)) fail("config=%s: %s", r.config, expected);
    if (c < count && !r.dim) fail("dim= is missing (help lists the keys)");
    if (c == count) name_input("config", r.config);
    return r;
}

pile request_pile(request *r)
{
    npy file = {.data = NULL};
    if (is_file(r->config)) file = read_file(r);
    if (!r->batch) r->batch = 1;
    pile p = {.dim = r->dim, .batch = r->batch};
    size_t cells = pile_cells(&p), all = cells * (size_t)p.batch;
    p.grid = allocate(all, sizeof *p.grid, "the grids");
    p.iterations = allocate((size_t)p.batch, sizeof(int), "the iterations");

    if (file.data) {
        for (size_t i = 0; i < all; i++) p.grid[i] = grains(r, &file, i);
        free(file.data);
    } else {
        memset(p.grid, 0, all * sizeof *p.grid);
        size_t c = 0;
        while (strcmp(r->config, configurations[c].name)) c++;
        for (int g = 0; g < p.batch; g++)
            configurations[c].fill(r, g, p.grid + (size_t)g * cells);
    }
    run_plan *w = &r->plan;
    if (!w->tilew || w->tilew > r->dim) w->tilew = r->dim;
    if (!w->tileh || w->tileh > r->dim) w->tileh = r->dim;
    return p;
}

uint64_t pile_grains(const pile *p)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pile_cells(p) * (size_t)p->batch; i++) sum += p->grid[i];
    return sum;
}

void pile_free(pile *p)
{
    free(p->grid);
    free(p->iterations);
}
