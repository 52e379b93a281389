/* fletcher.c - media for the wave modelling, with known extremes: a folded stack of
 * layers over a half-space that dips, on a grid of 19 x 23 x 21 points.
 *
 *     fletcher-data recipe=fold.PROPERTY out=FILE   prints PROPERTY LOW HIGH
 *
 * Each property is a file, float32 of (nz, ny, nx). Nothing is random: a file is the
 * same wherever it is made.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { NX = 19, NY = 23, NZ = 21, LAYERS = 4 };

typedef struct {
    const char *name;
    float layer_value[LAYERS]; /* from the top down */
    float slope; /* is added for each point along x: angles turn with the fold */
} property;

/* Shale over sand over shale over salt: fast and slow, strongly and hardly anisotropic,
 * epsilon below delta once, the axis tilted most where the fold is steep. */
static const property properties[] = {
    {"vpz", {2000, 2600, 2300, 4000}, 0},
    {"epsilon", {0.24f, 0.1f, 0.3f, 0}, 0},
    {"delta", {0.1f, 0.16f, -0.05f, 0}, 0},
    {"theta", {0.5f, 0.7f, -0.4f, 0}, 0.015625f},
    {"phi", {1, -0.5f, 2.5f, 0}, 0.0625f},
};
enum { COUNT = sizeof properties / sizeof properties[0] };

/* The layer at a point: a fold along x, a dip along y. */
static int layer_of(int x, int y, int z)
{
    double depth = z + 2.5 * cos(6.283185307179586 * x / NX) - 0.2 * y;
    if (z > NZ - 5) return LAYERS - 1;
    return depth < 5 ? 0 : depth < 9 ? 1 : 2;
}

int main(int argc, char **argv)
{
    run_name = "fletcher-data";
    const char *recipe = NULL, *out = NULL;
    arg table[] = {{"recipe", ARG_TEXT, &recipe, 0, 0,
                    "fold.vpz, fold.epsilon, fold.delta, fold.theta or fold.phi",
                    false},
                   {"out", ARG_TEXT, &out, 0, 0, ".npy to write", false},
                   {0}};
    args_parse(argc, argv, table,
               "makes one property of a folded medium and prints its extremes");
    if (!recipe) fail("recipe= is missing");
    if (!out) fail("out= is missing");

    const property *p = NULL;
    for (int k = 0; k < COUNT; k++)
        if (!strncmp(recipe, "fold.", 5) && !strcmp(recipe + 5, properties[k].name))
            p = &properties[k];
    if (!p)
        fail("recipe=%s: not one of fold.vpz fold.epsilon fold.delta fold.theta "
             "fold.phi",
             recipe);

    float *field = allocate((size_t)NX * NY * NZ, sizeof *field, p->name);
    float low = INFINITY, high = -INFINITY;
    size_t i = 0;
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++, i++) {
                field[i] = p->layer_value[layer_of(x, y, z)] + p->slope * (float)x;
                low = fminf(low, field[i]);
                high = fmaxf(high, field[i]);
            }
    npy_write(out, &(npy){NPY_F4, 3, {NZ, NY, NX}, field});
    free(field);
    printf("%s %.9g %.9g\n", p->name, low, high);
    if (fflush(stdout)) fail("standard output: cannot be written");
    return 0;
}
