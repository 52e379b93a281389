/* arguments.c - implements arguments.h. */
#include "arguments.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "parallel.h"
#include "taps.h"

static const double light = 299792458; /* speed of light, m/s */

/* askap is the benchmark that the paper parallelizes, seed is the paper's workload;
 * both draw their points at random. All presets have the same extent in the uv plane.
 * The numbers are visibilities, grid, support, oversampling and planes. */
static const struct {
    const char *uv;
    request sizes;
} presets[] = {{"tracks", {NULL, 3001, 257, 9, 4, 5, .cell = 40}},       /* small */
               {"tracks", {NULL, 200000, 1024, 32, 8, 33, .cell = 10}},  /* default */
               {"random", {NULL, 160000, 4096, 64, 8, 33, .cell = 5}},   /* askap */
               {"random", {NULL, 3200000, 4096, 64, 8, 33, .cell = 5}}}; /* seed */

static bool model_is_file(const request *r)
{
    return strcmp(r->model, "sources") && strcmp(r->model, "noise");
}

static void request_check(const request *r)
{
    const char *missing = !r->in && !r->visibilities ? "preset= or visibilities"
                          : !r->grid                 ? "preset= or grid"
                          : isnan(r->cell)           ? "preset= or cell"
                          : r->image                 ? NULL
                          : r->support < 0           ? "preset= or support"
                          : !r->oversampling         ? "preset= or oversampling"
                          : !r->planes               ? "preset= or planes"
                                                     : NULL;
    if (missing) fail("%s= is missing (help lists the keys)", missing);
    if (!r->image && 2 * r->support + 1 > r->grid)
        fail("support=%d: a footprint of %d cells per side does not fit a grid of %d",
             r->support, 2 * r->support + 1, r->grid);
    if (r->image && !(r->accuracy >= 1e-6 && r->accuracy <= 0.01))
        fail("task=image accuracy=%g: expected a number from 1e-6 to 0.01",
             r->accuracy);
    if (r->image && (r->integer || r->double_precision))
        fail("task=image: expected kernel=w and precision=single");
    if (r->image && r->grid * r->field < 4)
        fail("task=image field=%g: expected a field of at least 4 pixels", r->field);
    if (r->in) name_input("in", r->in);
    if (r->degrid && model_is_file(r)) name_input("model", r->model);
}

request request_parse(int argc, char **argv, arg *extra, const char *about)
{
    request r = {.support = -1, .cell = NAN};
    const char *preset = NULL, *uv = "tracks", *kernel = "w", *precision = "single";
    const char *task = "grid";

    /* The preset is applied first, so that other keys override it in any order. */
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "preset=", 7)) continue;
        int p =
            parse_choice("preset", argv[i] + 7, "small", "default", "askap", "seed");
        r = presets[p].sizes;
        uv = presets[p].uv;
    }
    r.baseline = 2000;
    r.frequency = 1.4e9;
    r.model = "sources";
    r.field = 0.5;

    arg table[] = {
        {"preset", ARG_TEXT, &preset, 0, 0,
         "small, default, askap or seed; other keys override it", 0},
        {"in", ARG_TEXT, &r.in, 0, 0,
         ".npy [n][6]: u, v, w (wavelengths), re, im, weight", 0},
        {"visibilities", ARG_INT, &r.visibilities, 1, 100000000,
         "number of visibilities to generate", 0},
        {"uv", ARG_TEXT, &uv, 0, 0,
         "distribution: tracks or random (askap, seed: random)", 0},
        {"baseline", ARG_DOUBLE, &r.baseline, 1e-3, 1e9, "extent of the uv plane, m",
         0},
        {"frequency", ARG_DOUBLE, &r.frequency, 1, 1e15, "observing frequency, Hz", 0},
        {"grid", ARG_INT, &r.grid, 1, 65536, "cells per side", 0},
        {"cell", ARG_DOUBLE, &r.cell, 1e-6, 1e9, "size of a cell, wavelengths", 0},
        {"support", ARG_INT, &r.support, 0, 4096,
         "a footprint has 2 support + 1 cells per side", 0},
        {"oversampling", ARG_INT, &r.oversampling, 1, 64,
         "sampling points of the kernel per cell", 0},
        {"planes", ARG_INT, &r.planes, 1, 1024,
         "number of w planes; 1: without the w term", 0},
        {"kernel", ARG_TEXT, &kernel, 0, 0,
         "w, or integer (sums are exact in any order)", 0},
        {"accuracy", ARG_DOUBLE, &r.accuracy, 0, 0.1,
         "taps below this fraction of the largest may be skipped; task=image: error of "
         "the image, 1e-6 to 0.01",
         0},
        {"field", ARG_DOUBLE, &r.field, 0.01, 1,
         "part of the side of the image that task=image computes", 0},
        {"precision", ARG_TEXT, &precision, 0, 0, "single or double", 0},
        {"task", ARG_TEXT, &task, 0, 0, "grid, degrid or image", 0},
        {"model", ARG_TEXT, &r.model, 0, 0,
         "grid to degrid: sources, noise, or .npy [grid][grid][2]", 0},
        {"strict", ARG_INT, &r.strict, 0, 1,
         "1: visibilities outside the grid are an error", 0},
        {"copies", ARG_INT, &r.copies, 0, 100000,
         "copies of the grid; 0: one per worker", 0},
        {"strips", ARG_INTS, r.strips, 1, 1024,
         "ROWS,COLUMNS: work-items per footprint", 2},
        {.value = extra},
    };
    args_parse(argc, argv, table, about);

    r.random = parse_choice("uv", uv, "tracks", "random");
    r.integer = parse_choice("kernel", kernel, "w", "integer");
    r.double_precision = parse_choice("precision", precision, "single", "double");
    int chosen = parse_choice("task", task, "grid", "degrid", "image");
    r.degrid = chosen == 1;
    r.image = chosen == 2;
    request_check(&r);
    return r;
}

/* ---- visibilities ---------------------------------------------------------------- */

static void read_visibilities(const request *r, observation *o)
{
    static const char *const column[6] = {"u", "v", "w", "re", "im", "weight"};
    npy a = npy_load(NULL, r->in);
    if ((a.type != NPY_F8 && a.type != NPY_F4) || a.dims != 2 || a.shape[1] != 6)
        fail("%s: wrong type or shape: expected floats of shape (n, 6): u, v, w, re, "
             "im, weight",
             r->in);
    if (a.shape[0] == 0) fail("%s: no visibilities: expected at least one", r->in);
    if (a.shape[0] > 100000000)
        fail("%s: %zu visibilities: expected at most 1e8", r->in, a.shape[0]);
    o->n = (int)a.shape[0];
    o->d = allocate(a.shape[0], sizeof *o->d, "the visibilities");
    double *to = (double *)o->d;
    for (size_t i = 0; i < 6 * a.shape[0]; i++) {
        to[i] = npy_element(&a, i);
        if (!isfinite(to[i]))
            fail("%s: visibility %zu: %s is not a finite number", r->in, i / 6 + 1,
                 column[i % 6]);
        if (fabs(to[i]) > 1e15)
            fail("%s: visibility %zu: %s is %g: expected at most 1e15", r->in,
                 i / 6 + 1, column[i % 6], to[i]);
        if (i % 6 == 5 && to[i] < 0)
            fail("%s: visibility %zu: weight is %g: expected 0 or more", r->in,
                 i / 6 + 1, to[i]);
    }
    free(a.data);
}

typedef struct {
    const request *r;
    observation *o;
} making;

/* Sets the values of a thread's part of the visibilities. */
static void make_values(void *context, int t, int threads)
{
    const making *m = context;
    const observation *o = m->o;
    int end = parallel_part(o->n, t + 1, threads);
    for (int k = parallel_part(o->n, t, threads); k < end; k++) {
        visibility *d = &o->d[k];
        sky_visibility(d, o->sources, o->known);
        if (m->r->integer) {
            d->re = floor(9 * sky_hash((unsigned long)k, 6)) - 4;
            d->im = floor(9 * sky_hash((unsigned long)k, 7)) - 4;
        }
    }
}

/* Calls fail() if a source is beyond the horizon, where it has no visibilities. */
static void require_visible(const request *r, const observation *o)
{
    double farthest = 0;
    for (int i = 0; i < o->known; i++)
        farthest = fmax(farthest, hypot(o->sources[i].l, o->sources[i].m));
    if (farthest > 1)
        fail("cell=%g: a source is beyond the horizon: expected more than %.3g "
             "wavelengths",
             r->cell, r->cell * farthest);
}

static void make_visibilities(const request *r, observation *o)
{
    double extent = r->baseline * r->frequency / light;
    o->n = r->visibilities;
    o->d = allocate((size_t)o->n, sizeof *o->d, "the visibilities");
    (r->random ? sky_random : sky_tracks)(o->d, o->n, extent);
    o->known = SOURCES;
    parallel_run(parallel_threads(), make_values, &(making){r, o});
}

/* Converts a coordinate, in cells from the first cell of the grid, to the first cell of
 * its footprint and the fraction of a cell: x is rounded to the nearest oversampled
 * point, and the footprint is centred on the cell nearest to that point. */
static bool place_on(const request *r, double x, int *first, int *fraction)
{
    int half = r->oversampling / 2;
    double point = floor(x * r->oversampling + 0.5) + half;
    double centre = floor(point / r->oversampling);
    if (!(centre >= r->support && centre + r->support < r->grid)) return false;
    *first = (int)centre - r->support;
    *fraction = (int)(point - centre * r->oversampling);
    return true;
}

/* Returns false if the footprint is not inside the grid. */
static bool place_of(const request *r, double wstep, const visibility *d, footprint *at)
{
    int middle = r->grid / 2;
    if (!place_on(r, d->u / r->cell + middle, &at->u, &at->fu)) return false;
    if (!place_on(r, d->v / r->cell + middle, &at->v, &at->fv)) return false;
    at->plane = (int)fmin(fabs(d->w) / wstep + 0.5, r->planes - 1);
    at->negative_w = d->w < 0;
    return true;
}

observation observe(const request *r)
{
    observation o = {0};
    sky_sources(o.sources, r->grid, r->cell);
    if (r->in)
        read_visibilities(r, &o);
    else
        make_visibilities(r, &o);

    double wmax = 0;
    for (int k = 0; k < o.n; k++) wmax = fmax(wmax, fabs(o.d[k].w));
    o.wstep = r->planes > 1 ? wmax / (r->planes - 1) : 1;
    if (!(o.wstep > 0)) o.wstep = 1; /* all w are 0, or nearly */

    int inside = 0;
    for (int k = 0; k < o.n; k++) {
        footprint at;
        if (!r->image && !place_of(r, o.wstep, &o.d[k], &at)) {
            if (r->strict)
                fail("visibility %d: (%g, %g) wavelengths is outside the grid of %d "
                     "cells of %g wavelengths with a margin of support=%d cells",
                     k + 1, o.d[k].u, o.d[k].v, r->grid, r->cell, r->support);
            continue;
        }
        o.d[inside++] = o.d[k];
        o.norm += o.d[k].weight;
    }
    o.outside = o.n - inside;
    o.n = inside;
    if (!inside)
        fail("all %d visibilities are outside the grid: expected at least one inside",
             o.outside);
    if (!r->degrid && !r->integer) require_visible(r, &o);
    if (!(o.norm > 0)) fail("all weights are 0: expected at least one above 0");
    return o;
}

void observation_free(observation *o)
{
    free(o->d);
}

/* ---- the problem ----------------------------------------------------------------- */

int grid_pitch(int size)
{
    /* No power of two, so that rows of a footprint do not map to the same cache set. */
    return (size + 15) / 16 * 16 + 16;
}

problem problem_of(const request *r, const observation *o)
{
    size_t n = (size_t)o->n;
    footprint *at = allocate(n, sizeof *at, "the footprints");
    double(*value)[2] = allocate(n, sizeof *value, "the weighted visibilities");
    for (size_t k = 0; k < n; k++) {
        place_of(r, o->wstep, &o->d[k], &at[k]);
        value[k][0] = o->d[k].weight * o->d[k].re;
        value[k][1] = o->d[k].weight * o->d[k].im;
    }
    int size = r->grid, width = 2 * r->support + 1;
    return (problem){.dims = {.visibilities = o->n,
                              .size = size,
                              .pitch = grid_pitch(size),
                              .width = width,
                              .oversampling = r->oversampling,
                              .planes = r->planes,
                              .copies = 1,
                              .strips = {1, 1}},
                     .footprints = at,
                     .value = (const double *)value,
                     .taps = r->integer
                                 ? integer_taps(r->planes, r->oversampling, width)
                                 : w_taps(r->planes, r->oversampling, width,
                                          o->wstep / (r->cell * r->cell)),
                     .accuracy = r->accuracy,
                     .copies = r->copies,
                     .strips = {r->strips[0], r->strips[1]}};
}

void problem_free(problem *p)
{
    free((void *)p->footprints);
    free((void *)p->value);
    free((void *)p->taps);
}

double *degridding_model(const request *r, const problem *p)
{
    size_t size = (size_t)p->dims.size, pitch = (size_t)p->dims.pitch;
    double *grid = allocate(size * pitch, 2 * sizeof *grid, "the model");
    if (!strcmp(r->model, "sources") && !r->integer) {
        source s[SOURCES];
        sky_sources(s, r->grid, r->cell);
        model_grid(grid, r->grid, p->dims.pitch, r->cell, s, SOURCES);
        return grid;
    }
    npy a = {0};
    if (model_is_file(r)) {
        a = npy_load("model", r->model);
        if ((a.type != NPY_F8 && a.type != NPY_F4) || a.dims != 3 ||
            a.shape[0] != size || a.shape[1] != size || a.shape[2] != 2)
            fail(
                "model=%s: wrong type or shape: expected floats of shape (%zu, %zu, 2)",
                r->model, size, size);
    }
    for (size_t v = 0; v < size; v++)
        for (size_t u = 0; u < 2 * pitch; u++) {
            size_t i = v * 2 * size + u;
            double x = u >= 2 * size ? 0
                       : a.data      ? npy_element(&a, i)
                       : r->integer  ? floor(9 * sky_hash(i, 8)) - 4
                                     : 2 * sky_hash(i, 8) - 1;
            if (!isfinite(x))
                fail("model=%s: cell %zu is not a finite number", r->model, i / 2);
            grid[v * 2 * pitch + u] = x;
        }
    free(a.data);
    return grid;
}

/* ---- memory ---------------------------------------------------------------------- */

int choose_copies(int requested, int workers, double bytes, double memory)
{
    int copies = requested ? requested : workers;
    if (copies * bytes > memory) {
        if (requested || bytes > memory)
            fail("%d copies of the grid: %.3g GB needed: expected at most %.3g GB, the "
                 "memory of the device",
                 copies, copies * bytes / 1e9, memory / 1e9);
        copies = (int)(memory / bytes);
    }
    return copies;
}
