/* picture.h - writes a pile as a picture. */
#ifndef PICTURE_H
#define PICTURE_H

#include "sandpile.h"

/* Writes a PNG with all grids in a row from left to right. One pixel is one cell. Each
 * of 0 to 3 grains has a color of its own; unstable cells are white. */
void picture_write(const char *path, const pile *p);

#endif
