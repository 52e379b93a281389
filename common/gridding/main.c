/* main.c - front end of every step and back-end: parses the arguments, prepares the
 * visibilities, calls one gridding or degridding, writes the result and the image of
 * the sky.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "image.h"

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

static void *make_model(const request *r, const problem *p)
{
    double *model = degridding_model(r, p);
    if (r->double_precision) return model;
    size_t count = (size_t)p->dims.size * (size_t)p->dims.pitch * 2;
    float *grid = allocate(count, sizeof *grid, "the grid");
    for (size_t i = 0; i < count; i++) grid[i] = (float)model[i];
    free(model);
    return grid;
}

/* Writes the image and prints for each source its flux in the direct sum and in the
 * image. */
static void report_image(const request *r, const observation *o, const npy *grid,
                         const char *path)
{
    size_t count = npy_count(grid);
    double *cells = allocate(count, sizeof *cells, "the image");
    for (size_t i = 0; i < count; i++) cells[i] = npy_element(grid, i);
    double *image = dirty_image(cells, r->grid, o->norm);
    free(cells);
    image_write(path, image, r->grid);

    if (o->known && !r->integer)
        printf(
            "# source: x y (pixels from the centre), flux, direct sum, image, error\n");
    for (int s = 0; s < o->known && !r->integer; s++) {
        const source *src = &o->sources[s];
        int x = (int)lround(src->l * r->cell * r->grid);
        int y = (int)lround(src->m * r->cell * r->grid);
        double direct = direct_sum(o->d, o->n, o->norm, src->l, src->m);
        double image_flux = image[(size_t)(y + r->grid / 2) * (size_t)r->grid +
                                  (size_t)(x + r->grid / 2)];
        printf("# source: %5d %5d  %.4f  %.4f  %.4f  %+.2f %%\n", x, y, src->flux,
               direct, image_flux, 100 * (image_flux - direct) / direct);
    }
    free(image);
}

int main(int argc, char **argv)
{
    run_name = "gridding";
    const char *out = NULL, *picture = NULL;
    arg extra[] = {
        {"out", ARG_TEXT, &out, 0, 0,
         ".npy of the grid [grid][grid][2], or of the visibilities [n][2]", 0},
        {"image", ARG_TEXT, &picture, 0, 0,
         ".png of the sky, and a table of its sources", 0},
        {0},
    };
    request r = request_parse(argc, argv, extra, about);
    if (out) result_check("out", out);
    if (picture) result_check("image", picture);
    if (picture && r.degrid) fail("image=%s: task=degrid makes no image", picture);

    double start = seconds();
    observation o = observe(&r);
    problem p = problem_of(&r, &o);
    size_t cell = 2 * (r.double_precision ? sizeof(double) : sizeof(float));
    size_t size = (size_t)p.dims.size, visibilities = (size_t)p.dims.visibilities;
    void *grid = r.degrid ? make_model(&r, &p)
                          : allocate(size * (size_t)p.dims.pitch, cell, "the grid");
    void *value = r.degrid ? allocate(visibilities, cell, "the visibilities") : NULL;
    double read_seconds = seconds() - start;

    run_times t = {0};
    int status =
        r.degrid
            ? (r.double_precision ? degridding_double : degridding)(&p, grid, value, &t)
            : (r.double_precision ? gridding_double : gridding)(&p, grid, &t);
    if (status) fail("the gridding failed");

    /* If ranks share the work, only rank 0 has the result. */
    if (run_rank) size = visibilities = 0;
    if (!r.degrid && !run_rank) remove_pitch(&p, cell, grid);
    npy_type type = r.double_precision ? NPY_F8 : NPY_F4;
    npy result = r.degrid ? (npy){type, 2, {visibilities, 2}, value}
                          : (npy){type, 3, {size, size, 2}, grid};
    for (size_t i = 0; i < npy_count(&result); i++)
        if (!isfinite(npy_element(&result, i)))
            fail("%s %zu of the result is not finite: expected visibilities that do "
                 "not overflow in float",
                 r.degrid ? "visibility" : "cell", i / 2);
    if (out) npy_write(out, &result);
    if (picture && !run_rank) report_image(&r, &o, &result, picture);

    double points = (double)p.dims.visibilities * p.dims.width * p.dims.width;
    printf("visibilities=%d\noutside=%d\ncopies=%d\n", o.n, o.outside, t.copies);
    printf("Mpts/"
           "s=%.6g\nTime_init=%.9g\nTime_sort=%.9g\nTime_run=%.9g\nTime_kernel=%.9g\n",
           points / t.run / 1e6, read_seconds + t.init, t.sort, t.run, t.kernel);
    if (fflush(stdout)) fail("standard output: cannot be written");
    free(value);
    free(grid);
    problem_free(&p);
    observation_free(&o);
    return 0;
}
