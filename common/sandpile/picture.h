/* picture.h - a pile as a picture. */
#ifndef PICTURE_H
#define PICTURE_H

#include "sandpile.h"

/* A PNG of all grids, side by side: a pixel a cell, a colour for each of 0 to 3 grains,
 * and white where a cell is about to topple. */
void picture_write(const char *path, const pile *p);

#endif
