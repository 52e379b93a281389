/* field.h - memory for fields on the host.
 */
#ifndef FIELD_H
#define FIELD_H

#include <stddef.h>

/* n floats for what (which a message names), of which the first begins a cache line:
 * then so does the first point inside the halo, in every row of a padded grid. Nobody
 * has touched them. Give them back with field_free(). */
float *field_allocate(size_t n, const char *what);
void field_free(float *field);

#endif
