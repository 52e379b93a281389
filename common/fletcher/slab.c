/* slab.c - see slab.h. */
#include "slab.h"

__attribute__((weak)) slab slab_of(grid *g)
{
    return (slab){.total = g->sz, .first = 0, .own_first = 0, .own_end = g->sz};
}

__attribute__((weak)) void slab_require_equal(const char *what, const void *bytes,
                                              size_t size)
{
    (void)what, (void)bytes, (void)size;
}

__attribute__((weak)) void slab_gather(const slab *s, void *array, size_t size)
{
    (void)s, (void)array, (void)size;
}

__attribute__((weak)) void slab_write(const slab *s, const char *path, const npy *a)
{
    (void)s;
    npy_write(path, a);
}
