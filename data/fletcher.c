/* fletcher.c - generates media for the wave modelling: folded layers over a half-space,
 * on a grid of 19 x 23 x 21 points.
 *
 *     fletcher-data recipe=fold.PROPERTY out=FILE   prints PROPERTY LOW HIGH
 *
 * Writes one property as float32 of shape (nz, ny, nx), and prints its minimum and
 * maximum. Nothing is random: the files are the same on all machines.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

enum { NX = 19, NY = 23, NZ = 21, LAYERS = 4 };

typedef struct {
    const char *name;
    float layer_value[LAYERS]; /* from the top layer down */
    float slope; /* change per point along x, so that angles vary over the fold */
} property;

/* Shale, sand, shale, salt. The layers differ in velocity and anisotropy; epsilon is
 * below delta in the sand, and the salt is isotropic. */
static const property properties[] = {
    {"vpz", {2000, 2600, 2300, 4000}, 0},
    {"epsilon", {0.24f, 0.1f, 0.3f, 0}, 0},
    {"delta", {0.1f, 0.16f, -0.05f, 0}, 0},
    {"theta", {0.5f, 0.7f, -0.4f, 0}, 0.015625f},
    {"phi", {1, -0.5f, 2.5f, 0}, 0.0625f},
};
enum { COUNT = sizeof properties / sizeof properties[0] };

/* Returns the layer at a point: folded along x, dipping along y. */
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
    args_parse(
        argc, argv, table,
        "generates one property of a folded medium and prints its minimum and maximum");
    if (!recipe) fail("recipe=: missing: expected fold.PROPERTY");
    if (!out) fail("out=: missing: expected a file");

    const property *p = NULL;
    for (int k = 0; k < COUNT; k++)
        if (!strncmp(recipe, "fold.", 5) && !strcmp(recipe + 5, properties[k].name))
            p = &properties[k];
    if (!p)
        fail("recipe=%s: unknown: expected fold.vpz, fold.epsilon, fold.delta, "
             "fold.theta "
             "or fold.phi",
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
