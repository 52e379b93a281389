/* main.c - the front end of every step and back-end: arguments, events, time steps and
 * output. */
#include "arguments.h"
#include "picture.h"
#include "profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char about[] =
    "simulates a fluid in a box with sources and forces in its middle\n"
    "(3-D stable fluids)";

typedef struct {
    setup s;
    size_t cells;  /* including ghost cells */
    float *padded; /* one field as fluid_get returns it, with ghost cells */
    float *inner;  /* [4][nz][ny][nx]: u, v, w, density */
} state;

static long deferred_sweeps; /* sweeps of solves that were completed later */

void report_sweeps(int sweeps)
{
    deferred_sweeps += sweeps;
}

__attribute__((weak)) int fluid_pressure(int p, int div)
{
    return fluid_solve(SCALAR, p, div, 1, 6);
}

static size_t inner_cells(grid g)
{
    return (size_t)g.nx * (size_t)g.ny * (size_t)g.nz;
}

/* Reads a field and copies its inner cells to their place in b->inner. b->padded holds
 * the whole field until the next call. */
static float *read_field(state *b, int field)
{
    grid g = b->s.g;
    float *dst = b->inner + (size_t)field * inner_cells(g), *start = dst;
    fluid_get(field, b->padded);
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++) {
            size_t row =
                ((size_t)k * (size_t)(g.ny + 2) + (size_t)j) * (size_t)(g.nx + 2);
            memcpy(dst, b->padded + row + 1, (size_t)g.nx * sizeof *dst);
            dst += g.nx;
        }
    return start;
}

static double sum(const float *x, size_t count)
{
    double s = 0;
    for (size_t i = 0; i < count; i++) s += x[i];
    return s;
}

/* Applies the events of one step; *next is the first event that has not been applied.
 */
static void apply_events(const state *b, const event_list *events, size_t *next,
                         int step)
{
    grid g = b->s.g;
    int i = g.nx / 2, j = g.ny / 2, k = g.nz / 2;
    i += !i; /* a side of one cell: the only inner index is 1 */
    j += !j;
    k += !k;
    for (; *next < events->count && events->item[*next].step == step; ++*next) {
        const event *e = &events->item[*next];
        for (int n = 0; n < (e->is_force ? 3 : 1); n++)
            fluid_put(e->is_force ? U + n : DENSITY, i, j, k, e->value[n]);
    }
}

enum { PATH_LENGTH = 4096 };

/* Returns the length of the path of a frame, even if it is longer than the array. */
static int frame_path(char path[PATH_LENGTH], const char *folder, int step)
{
    return snprintf(path, PATH_LENGTH, "%s/%06d.png", folder, step);
}

static void write_frame(const char *folder, int step, state *b, float peak)
{
    char path[PATH_LENGTH];
    frame_path(path, folder, step);
    picture_write(path, b->s.g, read_field(b, DENSITY), peak);
}

/* No frame may replace another result or an input. */
static void check_movie_folder(const char *folder, int steps)
{
    struct stat info;
    char path[PATH_LENGTH];
    if (stat(folder, &info))
        fail("movie=%s: cannot be written: %s", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode)) fail("movie=%s: expected a folder", folder);
    if (frame_path(path, folder, 0) >= 4000)
        fail("movie=: path too long: expected at most 4000 bytes");
    result_check("movie", path);
    for (int t = 1; t < steps; t++) {
        frame_path(path, folder, t);
        result_distinct("movie", path);
    }
}

int main(int argc, char **argv)
{
    run_name = "fluid";
    const char *out = NULL, *velocity = NULL, *totals = NULL, *picture = NULL,
               *movie = NULL;
    int profile = 0;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0, ".npy of the density [nz][ny][nx]", 0},
        {"velocity", ARG_TEXT, &velocity, 0, 0, ".npy of the velocity [3][nz][ny][nx]",
         0},
        {"totals", ARG_TEXT, &totals, 0, 0,
         ".npy of total density, sweeps, direct solves", 0},
        {"picture", ARG_TEXT, &picture, 0, 0, ".png of the density's middle slice", 0},
        {"movie", ARG_TEXT, &movie, 0, 0, "folder for one such picture per step", 0},
        {"profile", ARG_INT, &profile, 0, 1, "1: time and calls of each kernel", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra, about);
    state b = {.s = make_setup(&r)};
    physics p = make_physics(&r);
    event_list events = events_read(r.events);
    b.s.events = events.digest;
    int steps = step_count(&r, &events);
    if (out) result_check("out", out);
    if (velocity) result_check("velocity", velocity);
    if (totals) result_check("totals", totals);
    if (picture) result_check("picture", picture);
    if (movie) check_movie_folder(movie, steps);

    double start = seconds();
    grid g = b.s.g;
    size_t inner = inner_cells(g);
    b.cells = (size_t)(g.nx + 2) * (size_t)(g.ny + 2) * (size_t)(g.nz + 2);
    b.padded = allocate(b.cells, sizeof(float), "a field");
    b.inner = allocate(4 * inner, sizeof(float), "the inner cells of the fields");
    if (profile) profile_begin();
    fluid_begin(&b.s);
    double init = seconds() - start;

    double run = 0, kernel_before = profiled_seconds();
    solve_stats e = {0, 0};
    deferred_sweeps = 0;
    size_t next = 0;
    for (int t = 0; t < steps; t++) {
        double begin = seconds();
        apply_events(&b, &events, &next, t);
        fluid_step(&b.s, &p, &e);
        run += seconds() - begin;
        if (movie) write_frame(movie, t, &b, events.max_source);
        progress("step", t + 1, steps);
    }
    double begin = seconds();
    read_field(&b, DENSITY);
    run += seconds() - begin;
    e.sweeps += deferred_sweeps;
    double kernel = profile ? profiled_seconds() - kernel_before : run;

    /* With compat=minho the total includes ghost cells, as in the program that it
     * reproduces. */
    double total =
        r.keep_sources ? sum(b.padded, b.cells) : sum(b.inner + DENSITY * inner, inner);
    for (int f = U; f <= W; f++) read_field(&b, f);
    if (!isfinite(total) || !isfinite(sum(b.inner, 3 * inner)))
        fail("result is not finite after %d steps and %ld sweeps: expected smaller "
             "forces, dt, diff or visc",
             steps, e.sweeps);

    size_t nx = (size_t)g.nx, ny = (size_t)g.ny, nz = (size_t)g.nz;
    const float *density = b.inner + DENSITY * inner;
    if (out) npy_write(out, &(npy){NPY_F4, 3, {nz, ny, nx}, (void *)density});
    if (velocity) npy_write(velocity, &(npy){NPY_F4, 4, {3, nz, ny, nx}, b.inner});
    double counts[] = {total, (double)e.sweeps, (double)e.direct_solves};
    if (totals) npy_write(totals, &(npy){NPY_F8, 1, {3}, counts});
    if (picture) {
        float peak = 0;
        for (size_t i = 0; i < inner; i++) peak = fmaxf(peak, density[i]);
        picture_write(picture, g, density, peak);
    }

    printf("total_density=%.9g\nsweeps=%ld\n", total, e.sweeps);
    printf("Mcells/s=%.9g\n", (double)e.sweeps * (double)inner / run * 1e-6);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", init, run, kernel);
    if (profile) profile_print(run);
    fluid_end();
    if (fflush(stdout)) fail("standard output: cannot be written");
    events_free(&events);
    free(b.padded);
    free(b.inner);
    return 0;
}
