/* field.c - see field.h. */
#include "field.h"

#include <stdint.h>
#include <stdlib.h>

#include "grid.h"
#include "run.h"

enum { BYTES = LINE * sizeof(float) };

/* Rounds the address up to a cache line, at least one line into the block. The bytes
 * before the field hold the address of the block, for free(). */
float *field_allocate(size_t n, const char *what)
{
    char *block = allocate_untouched(n + 2 * LINE, sizeof(float), what);
    char *field = block + 2 * BYTES - (uintptr_t)block % BYTES;
    ((void **)field)[-1] = block;
    return (float *)field;
}

void field_free(float *field)
{
    if (field) free(((void **)field)[-1]);
}
