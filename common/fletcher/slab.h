/* slab.h - what this process has of the grid: all of it, unless a back-end that runs as
 * many processes defines these functions itself, in place of slab.c's.
 */
#ifndef SLAB_H
#define SLAB_H

#include "grid.h"
#include "run.h"

typedef struct {
    int total;              /* planes of the whole grid */
    int first;              /* which of them is plane 0 here */
    int own_first, own_end; /* planes here, own .. end - 1, that no other process has */
} slab;

/* Cuts the whole grid to the planes that this process updates, and HALO to either side.
 * The source's plane may then lie outside. */
slab slab_of(grid *g);

/* fail() unless all processes have the same bytes; what is named in the message. */
void slab_require_equal(const char *what, const void *bytes, size_t size);

/* array has `size` bytes for each plane of the whole grid, and here are those of the
 * own ones. Afterwards who prints has all. */
void slab_gather(const slab *s, void *array, size_t size);

/* Writes the planes of all, of which a->data has the own ones. fail() if path cannot be
 * written. */
void slab_write(const slab *s, const char *path, const npy *a);

#endif
