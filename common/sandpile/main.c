/* main.c - the front end of every step and back-end: it parses the arguments, creates
 * the pile, calls topple() and writes the results.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "picture.h"

enum { TRACE_CAPACITY = 1 << 18 }; /* maximum number of tiles in a trace */

static void write_trace(const char *path, const tile_trace *t, double start)
{
    FILE *f = result_open(path);
    if (!f) fail("%s: cannot be written: %s", path, strerror(errno));
    fprintf(f, "iteration,grid,worker,x,y,w,h,begin_us,end_us\n");
    for (size_t i = 0; i < t->count && i < t->capacity; i++) {
        const trace_record *record = &t->record[i];
        fprintf(f, "%d,%d,%d,%d,%d,%d,%d,%.3f,%.3f\n", record->iteration, record->grid,
                record->worker, record->x, record->y, record->w, record->h,
                1e6 * (record->begin - start), 1e6 * (record->end - start));
    }
    if (result_close(f)) fail("%s: cannot be written: %s", path, strerror(errno));
    if (t->count > t->capacity)
        fprintf(stderr, "%s: %s: the trace contains only the first %zu of %zu tiles\n",
                run_name, path, t->capacity, t->count);
}

/* Topples all grids, one after the other. Returns the sums of the times. */
static run_times topple_all(pile *p, const run_plan *plan)
{
    run_times sum = {.init = 0};
    for (int g = 0; g < p->batch; g++) {
        pile one = {.dim = p->dim,
                    .batch = 1,
                    .grid = p->grid + (size_t)g * pile_cells(p),
                    .iterations = p->iterations + g};
        run_times t;
        if (plan->trace) plan->trace->grid = g;
        if (topple(&one, plan, &t)) fail("internal error: topple() failed");
        sum.init += t.init;
        sum.run += t.run;
        sum.kernel += t.kernel;
    }
    return sum;
}

int main(int argc, char **argv)
{
    run_name = "sandpile";
    const char *out = NULL, *counts = NULL, *picture = NULL, *trace_path = NULL;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0, "write the grids to this .npy file", 0},
        {"counts", ARG_TEXT, &counts, 0, 0,
         "write the iterations of each grid to this .npy file", 0},
        {"picture", ARG_TEXT, &picture, 0, 0,
         "write a .png file, one color per number of grains", 0},
        {"trace", ARG_TEXT, &trace_path, 0, 0,
         "write a .csv file: which thread computed which tile (omp)", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra,
                              "topples an Abelian sandpile until it is stable");
    if (out) result_check("out", out);
    if (counts) result_check("counts", counts);
    if (picture) result_check("picture", picture);
    if (trace_path) result_check("trace", trace_path);

    double start = seconds();
    pile p = request_pile(&r);
    if (picture && (double)p.dim * p.batch > PNG_SIDE_MAX)
        fail("picture=%s: too wide (%d grids of %d cells): expected at most %d cells",
             picture, p.batch, p.dim, PNG_SIDE_MAX);
    tile_trace trace = {.capacity = TRACE_CAPACITY};
    if (trace_path) {
        trace.record = allocate(TRACE_CAPACITY, sizeof *trace.record, "the trace");
        r.plan.trace = &trace;
    }
    uint64_t before = pile_grains(&p);
    double ready = seconds();

    run_times t = topple_all(&p, &r.plan);

    uint64_t after = pile_grains(&p);
    bool stable = true;
    int max_iterations = 0;
    double updates = 0;
    for (int g = 0; g < p.batch; g++) {
        stable = stable && pile_or(p.grid + (size_t)g * pile_cells(&p), p.dim) < 4;
        if (p.iterations[g] > max_iterations) max_iterations = p.iterations[g];
        updates += (p.dim - 2.0) * (p.dim - 2.0) * p.iterations[g];
    }
    if (after > before)
        fail("internal error: the number of grains grew by %ju", after - before);

    size_t batch = (size_t)p.batch, dim = (size_t)p.dim;
    npy grids = {NPY_I4, 3, {batch, dim, dim}, p.grid};
    if (batch == 1) grids = (npy){NPY_I4, 2, {dim, dim}, p.grid};
    if (out) npy_write(out, &grids);
    if (counts) npy_write(counts, &(npy){NPY_I4, 1, {batch}, p.iterations});
    if (picture) picture_write(picture, &p);
    if (trace_path) write_trace(trace_path, &trace, ready);

    printf("iterations=%d\ngrains=%ju\nsunk=%ju\nstable=%d\n", max_iterations, after,
           before - after, stable);
    printf("Gcells/s=%.4g\n", t.run > 0 ? updates / t.run * 1e-9 : 0);
    printf("Time_init=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n", ready - start + t.init,
           t.run, t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(trace.record);
    pile_free(&p);
    return 0;
}
