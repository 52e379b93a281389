/* picture.c - see picture.h. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char colors[5][3] = {
    {16, 24, 48},    /* 0 grains: dark blue */
    {38, 110, 156},  /* 1: blue */
    {230, 178, 80},  /* 2: yellow */
    {160, 52, 40},   /* 3: red */
    {255, 255, 255}, /* 4 or more, unstable: white */
};

void picture_write(const char *path, const pile *p)
{
    size_t dim = (size_t)p->dim, batch = (size_t)p->batch, cells = pile_cells(p);
    unsigned char *pixels = allocate(cells * batch, 3, "the picture");
    for (size_t y = 0; y < dim; y++)
        for (size_t g = 0; g < batch; g++)
            for (size_t x = 0; x < dim; x++) {
                cell v = p->grid[g * cells + y * dim + x];
                memcpy(pixels + 3 * ((y * batch + g) * dim + x), colors[v < 4 ? v : 4],
                       3);
            }
    png_write(path, p->dim * p->batch, p->dim, 3, pixels);
    free(pixels);
}
