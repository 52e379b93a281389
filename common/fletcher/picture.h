/* picture.h - a slice of a field as a PNG file.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>

/* Writes `height` rows of `width` floats, `stride` floats apart, the first row on top.
 * Negative values are blue, positive values red and 0 is white; the value with the
 * largest magnitude is darkest. Calls fail() if path cannot be written. */
void picture_write(const char *path, const float *field, int width, int height,
                   size_t stride);

#endif
