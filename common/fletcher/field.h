/* field.h - memory for fields on the host.
 */
#ifndef FIELD_H
#define FIELD_H

#include <stddef.h>

/* Allocates n floats, not initialized and not touched, so that the thread that writes
 * to a page first decides where it is placed. The first float is aligned to a cache
 * line; in a padded grid the first point inside the halo then is as well, in every row.
 * `what` is named in the message if memory is exhausted. Free with field_free(). */
float *field_allocate(size_t n, const char *what);
void field_free(float *field);

#endif
