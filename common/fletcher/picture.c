/* picture.c - see picture.h. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

#include "run.h"

/* How much darker red or blue the largest magnitude is than pure red or blue, of 255.
 * The value is chosen by eye. */
enum { DARKENING = 60 };

void picture_write(const char *path, const float *field, int width, int height,
                   size_t stride)
{
    float max = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            max = fmaxf(max, fabsf(field[(size_t)y * stride + (size_t)x]));

    unsigned char *pixels =
        allocate(3 * (size_t)width * (size_t)height, 1, "the picture");
    unsigned char *pixel = pixels;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++, pixel += 3) {
            float v = max > 0 ? field[(size_t)y * stride + (size_t)x] / max : 0;
            float strength = sqrtf(fabsf(v)); /* makes weak waves visible */
            unsigned char fade = (unsigned char)(255 * (1 - strength));
            unsigned char dark = (unsigned char)(255 - DARKENING * strength);
            pixel[0] = v > 0 ? dark : fade;
            pixel[1] = fade;
            pixel[2] = v > 0 ? fade : dark;
        }
    png_write(path, width, height, 3, pixels);
    free(pixels);
}
