/* main.c - front end of every step and back-end: parses the arguments, prepares the
 * visibilities, calls one gridding, or degrids a model, writes the result and the image
 * of the sky.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "degrid.h"
#include "image.h"
#include "parallel.h"
#include "stack.h"

static const char about[] =
    "W-projection gridding: visibilities to grid and image, or grid to visibilities\n"
    "Arguments are key=value: a preset or a file (in=), and further keys.";

/* Removes the padding from a grid: [size][pitch][2] becomes [size][size][2], in
 * place. */
static void remove_pitch(const problem *p, size_t cell_bytes, char *grid)
{
    size_t row = (size_t)p->dims.size * cell_bytes,
           pitch = (size_t)p->dims.pitch * cell_bytes;
    for (size_t v = 1; v < (size_t)p->dims.size; v++)
        memmove(grid + v * row, grid + v * pitch, row);
}

typedef struct {
    const observation *o;
    double direct[SOURCES];
} directions;

/* Computes the direct sum for every threads-th source. */
static void sum_directly(void *context, int t, int threads)
{
    directions *to = context;
    const observation *o = to->o;
    for (int s = t; s < o->known; s += threads)
        to->direct[s] =
            direct_sum(o->d, o->n, o->norm, o->sources[s].l, o->sources[s].m);
}

/* Writes the image and prints for each source its flux in the direct sum and in the
 * image. */
static void report_image(const request *r, const observation *o, const double *image,
                         const char *path)
{
    image_write(path, image, r->grid);
    if (!o->known || r->integer) return;

    directions sums = {.o = o};
    parallel_run(parallel_threads(), sum_directly, &sums);
    printf("# source: x y (pixels from the centre), flux, direct sum, image, error\n");
    for (int s = 0; s < o->known; s++) {
        const source *src = &o->sources[s];
        int x = (int)lround(src->l * r->cell * r->grid);
        int y = (int)lround(src->m * r->cell * r->grid);
        double direct = sums.direct[s];
        double image_flux = image[(size_t)(y + r->grid / 2) * (size_t)r->grid +
                                  (size_t)(x + r->grid / 2)];
        printf("# source: %5d %5d  %.4f  %.4f  %.4f  %+.2f %%\n", x, y, src->flux,
               direct, image_flux, 100 * (image_flux - direct) / direct);
    }
}

typedef struct {
    const char *out, *picture; /* paths; NULL: not written */
} outputs;

/* Fails if a number of the result is not finite; `what` names it. */
static void check_finite(const npy *result, size_t numbers, const char *what)
{
    for (size_t i = 0; i < npy_count(result); i++)
        if (!isfinite(npy_element(result, i)))
            fail("%s %zu of the result is not finite: expected visibilities that do "
                 "not overflow in float",
                 what, i / numbers);
}

/* task=image. Returns the number of updates of cells. */
static double make_image(const request *r, const observation *o, outputs files,
                         run_times *t)
{
    double updates, *image = stack_image(r, o, gridding, t, &updates);
    if (run_rank) return updates;
    size_t size = (size_t)r->grid;
    npy result = {NPY_F8, 2, {size, size}, image};
    check_finite(&result, 1, "pixel");
    if (files.out) npy_write(files.out, &result);
    if (files.picture) report_image(r, o, image, files.picture);
    free(image);
    return updates;
}

/* task=degrid. Returns the number of uses of cells. */
static double make_visibilities(const request *r, const observation *o, outputs files,
                                run_times *t)
{
    double start = seconds();
    problem p = problem_of(r, o);
    double *model = degridding_model(r, &p), prepared = seconds();
    double *value = degrid(&p, model);
    t->init = prepared - start;
    t->run = t->kernel = seconds() - prepared;
    t->copies = 1;

    size_t visibilities = run_rank ? 0 : (size_t)p.dims.visibilities;
    npy result = {NPY_F8, 2, {visibilities, 2}, value};
    if (!r->double_precision) {
        float *rounded = (float *)value; /* in place */
        for (size_t i = 0; i < 2 * visibilities; i++) rounded[i] = (float)value[i];
        result.type = NPY_F4;
    }
    check_finite(&result, 2, "visibility");
    if (files.out) npy_write(files.out, &result);
    double updates = (double)p.dims.visibilities * p.dims.width * p.dims.width;
    free(value);
    free(model);
    problem_free(&p);
    return updates;
}

/* task=grid. Returns the number of updates of cells. */
static double make_grid(const request *r, const observation *o, outputs files,
                        run_times *t)
{
    double start = seconds();
    problem p = problem_of(r, o);
    size_t cell = 2 * (r->double_precision ? sizeof(double) : sizeof(float));
    size_t size = (size_t)p.dims.size;
    void *grid = allocate(size * (size_t)p.dims.pitch, cell, "the grid");
    double prepared = seconds() - start;

    if ((r->double_precision ? gridding_double : gridding)(&p, grid, t))
        fail("the gridding failed");
    t->init += prepared;

    /* If ranks share the work, only rank 0 has the result. */
    if (run_rank) size = 0;
    if (!run_rank) remove_pitch(&p, cell, grid);
    npy result = {r->double_precision ? NPY_F8 : NPY_F4, 3, {size, size, 2}, grid};
    check_finite(&result, 2, "cell");
    if (files.out) npy_write(files.out, &result);
    if (files.picture && !run_rank) {
        start = seconds();
        double *image = dirty_image(&result, o->norm);
        t->image = seconds() - start;
        report_image(r, o, image, files.picture);
        free(image);
    }
    double updates = (double)p.dims.visibilities * p.dims.width * p.dims.width;
    free(grid);
    problem_free(&p);
    return updates;
}

int main(int argc, char **argv)
{
    run_name = "gridding";
    outputs files = {NULL, NULL};
    arg extra[] = {
        {"out", ARG_TEXT, &files.out, 0, 0,
         ".npy of the grid [grid][grid][2], of the visibilities [n][2], or of the "
         "image "
         "[grid][grid]",
         0},
        {"image", ARG_TEXT, &files.picture, 0, 0,
         ".png of the sky, and a table of its sources", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra, about);
    if (files.out) result_check("out", files.out);
    if (files.picture) result_check("image", files.picture);
    if (files.picture && r.degrid)
        fail("image=%s: task=degrid makes no image", files.picture);

    double start = seconds();
    observation o = observe(&r);
    run_times t = {0};
    double read_seconds = seconds() - start;
    double updates = (r.image    ? make_image
                      : r.degrid ? make_visibilities
                                 : make_grid)(&r, &o, files, &t);

    printf("visibilities=%d\noutside=%d\ncopies=%d\n", o.n, o.outside, t.copies);
    printf("Mpts/s=%.6g\nTime_init=%.9g\nTime_sort=%.9g\nTime_run=%.9g\n"
           "Time_kernel=%.9g\nTime_image=%.9g\n",
           updates / t.run / 1e6, read_seconds + t.init, t.sort, t.run, t.kernel,
           t.image);
    if (fflush(stdout)) fail("standard output: cannot be written");
    observation_free(&o);
    return 0;
}
