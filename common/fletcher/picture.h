/* picture.h - a field's slice as a PNG: blue where it is negative, red where positive.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>

/* height rows of width floats, the first on top, stride floats apart; what is white is
 * 0, what is darkest the largest magnitude. fail() if path cannot be written. */
void picture_write(const char *path, const float *field, int width, int height,
                   size_t stride);

#endif
