/* picture.c - implements picture.h. The density varies over many powers of ten, so the
 * picture shows its cube root. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

enum { MIN_PIXELS = 400 }; /* minimum of the longer side */

/* Linear ramps of the cube root d of the value, chosen by eye: red is 0 from d = 0.63
 * on, green from d = 0.91 on, blue falls from 1 (up to d = 0.47) to 0.2. */
static void colour_map(float value, unsigned char rgb[3])
{
    float d = value > 0 ? cbrtf(value < 1 ? value : 1) : 0;
    rgb[0] = (unsigned char)(255 * fmaxf(0, 1 - 1.6f * d));
    rgb[1] = (unsigned char)(255 * fmaxf(0, 1 - 1.1f * d));
    rgb[2] = (unsigned char)(255 * fminf(1, 1.7f - 1.5f * d));
}

void picture_write(const char *path, grid g, const float *density, float peak)
{
    int longest = g.nx > g.ny ? g.nx : g.ny;
    int zoom = (MIN_PIXELS + longest - 1) / longest;
    size_t width = (size_t)(g.nx * zoom), height = (size_t)(g.ny * zoom);
    unsigned char *rgb = allocate(3 * width, height, "the picture");
    const float *plane = density + (size_t)(g.nz / 2) * (size_t)(g.nx * g.ny);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            size_t j = (size_t)g.ny - 1 - y / (size_t)zoom, i = x / (size_t)zoom;
            colour_map(peak > 0 ? plane[j * (size_t)g.nx + i] / peak : 0,
                       &rgb[3 * (y * width + x)]);
        }
    png_write(path, (int)width, (int)height, 3, rgb);
    free(rgb);
}
