/* gridding.c - generates the visibility files for the checks of gridding.
 *
 *     gridding-data recipe=file out=file.npy
 *
 * A file is float64 [n][6]: u, v, w in wavelengths, re, im, weight. The program prints
 * its sources, one per line: l m flux. Presets need no file: common/gridding generates
 * their visibilities at run time.
 */
#include "sky.h"

#include <stdlib.h>
#include <string.h>

/* Tracks with unequal weights and w of both signs. Five points lie outside a grid of
 * 257 cells of 40 wavelengths, and one lies just inside. */
static void recipe_file(const char *out)
{
    enum { N = 2003, OUTSIDE = 5 };
    const source s[] = {{20 / (257 * 40.0), -31 / (257 * 40.0), 1.5},
                        {-12 / (257 * 40.0), -9 / (257 * 40.0), 1}};
    static visibility d[N];
    sky_tracks(d, N, 2000 * 1.4e9 / 299792458);
    for (int k = 0; k < OUTSIDE; k++) {
        d[400 * k].u = k % 2 ? -5200 : 4900;
        d[400 * k].v = 1000 * k - 5100;
    }
    d[1].u = (128 - 9) * 40.0;
    for (int k = 0; k < N; k++) {
        sky_visibility(&d[k], s, 2);
        d[k].weight = 0.5 + sky_hash((unsigned long)k, 10);
    }
    npy_write(out, &(npy){NPY_F8, 2, {N, 6}, d});
    for (int i = 0; i < 2; i++) printf("%.17g %.17g %g\n", s[i].l, s[i].m, s[i].flux);
}

int main(int argc, char **argv)
{
    run_name = "gridding-data";
    const char *recipe = NULL, *out = NULL;
    arg table[] = {{"recipe", ARG_TEXT, &recipe, 0, 0, "file", 0},
                   {"out", ARG_TEXT, &out, 0, 0, ".npy to write", 0},
                   {0}};
    args_parse(argc, argv, table, "generates visibilities of known sources");
    if (!recipe || strcmp(recipe, "file"))
        fail("recipe=%s: unknown recipe: expected file", recipe ? recipe : "");
    if (!out) fail("out= is missing");
    recipe_file(out);
    return 0;
}
