/* picture.h - a slice through the density as a picture. */
#ifndef PICTURE_H
#define PICTURE_H

#include "fluid.h"

/* Writes the plane k = nz / 2 of density[nz][ny][nx] as a PNG file, y upwards. The
 * colour map runs from white (0) through blue to black (peak). */
void picture_write(const char *path, grid g, const float *density, float peak);

#endif
