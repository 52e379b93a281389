/* field.c - see field.h. */
#include "field.h"

#include <stdlib.h>

#include "grid.h"
#include "run.h"

enum { BYTES = LINE * sizeof(float) };

/* The field begins one cache line after the block, which is aligned to a cache line. */
float *field_allocate(size_t n, const char *what)
{
    char *block = allocate_untouched(n + LINE, sizeof(float), what);
    memory_forbid(block, BYTES);
    return (float *)(void *)(block + BYTES);
}

void field_free(float *field)
{
    if (field) free((char *)field - BYTES);
}
