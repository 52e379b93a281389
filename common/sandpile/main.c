/* main.c - the front end of every step and back-end: arguments, the pile, the toppling,
 * the answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "picture.h"

enum { TRACED = 1 << 18 }; /* tiles that a trace holds at most */

static void write_trace(const char *path, const trace *t, double start)
{
    FILE *f = result_open(path);
    if (!f) fail("%s: cannot be written: %s", path, strerror(errno));
    fprintf(f, "iteration,grid,worker,x,y,w,h,begin_us,end_us\n");
    for (size_t i = 0; i < t->used && i < t->room; i++) {
        const traced *a = &t->tile[i];
        fprintf(f, "%d,%d,%d,%d,%d,%d,%d,%.3f,%.3f\n", a->iteration, a->grid, a->worker,
                a->x, a->y, a->w, a->h, 1e6 * (a->begin - start),
                1e6 * (a->end - start));
    }
    if (result_close(f)) fail("%s: cannot be written: %s", path, strerror(errno));
    if (t->used > t->room)
        fprintf(stderr, "%s: %s has the first %zu tiles of %zu\n", run_name, path,
                t->room, t->used);
}

int main(int argc, char **argv)
{
    run_name = "sandpile";
    const char *out = NULL, *counts = NULL, *picture = NULL, *tiles = NULL;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0, ".npy of the grids", 0},
        {"counts", ARG_TEXT, &counts, 0, 0, ".npy of the iterations of each", 0},
        {"picture", ARG_TEXT, &picture, 0, 0, ".png, a colour a number of grains", 0},
        {"trace", ARG_TEXT, &tiles, 0, 0, ".csv: which thread did which tile; omp", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra,
                              "topples an Abelian sandpile until it is stable");
    if (out) npy_writable("out", out);
    if (counts) npy_writable("counts", counts);
    if (picture) npy_writable("picture", picture);
    if (tiles) npy_writable("trace", tiles);

    double start = seconds();
    pile p = request_pile(&r);
    trace seen = {.room = TRACED};
    if (tiles) {
        seen.tile = allocate(TRACED, sizeof *seen.tile, "the trace");
        r.plan.tiles = &seen;
    }
    uint64_t before = pile_grains(&p);
    double ready = seconds();

    run_times t;
    if (topple(&p, &r.plan, &t)) fail("the toppling failed");

    uint64_t after = pile_grains(&p);
    bool stable = true;
    int most = 0;
    double updates = 0;
    for (int g = 0; g < p.batch; g++) {
        stable = stable && pile_bits(p.grid + (size_t)g * pile_cells(&p), p.dim) < 4;
        if (p.iterations[g] > most) most = p.iterations[g];
        updates += (p.dim - 2.0) * (p.dim - 2.0) * p.iterations[g];
    }
    if (after > before) fail("%ju grains have come from nowhere", after - before);

    size_t batch = (size_t)p.batch, dim = (size_t)p.dim;
    npy grids = {NPY_I4, 3, {batch, dim, dim}, p.grid};
    if (batch == 1) grids = (npy){NPY_I4, 2, {dim, dim}, p.grid};
    if (out) npy_write(out, &grids);
    if (counts) npy_write(counts, &(npy){NPY_I4, 1, {batch}, p.iterations});
    if (picture) picture_write(picture, &p);
    if (tiles) write_trace(tiles, &seen, ready);

    printf("iterations=%d\ngrains=%ju\nsunk=%ju\nstable=%d\n", most, after,
           before - after, stable);
    printf("Gcells/s=%.4g\n", t.run > 0 ? updates / t.run * 1e-9 : 0);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", ready - start + t.init,
           t.run, t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(seen.tile);
    pile_free(&p);
    return 0;
}
