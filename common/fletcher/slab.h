/* slab.h - the part of the grid that this process has. slab.c defines the functions for
 * one process with the whole grid; a back-end with several processes (MPI) replaces
 * them by its own.
 */
#ifndef SLAB_H
#define SLAB_H

#include "grid.h"
#include "run.h"

typedef struct {
    int total;              /* planes of the whole grid */
    int first;              /* number of plane 0 of this process in the whole grid */
    int own_first, own_end; /* planes own_first .. own_end - 1 are this process's own */
} slab;

/* Reduces the whole grid *g to the planes that this process updates and HALO planes on
 * either side. The plane of the source may then be outside. */
slab slab_of(grid *g);

/* Calls fail() unless all processes have the same bytes; the message names `what`. */
void slab_require_equal(const char *what, const void *bytes, size_t size);

/* Gathers an array with `size` bytes per plane of the whole grid. Each process has
 * filled in its own planes; afterwards process 0 has all of them. */
void slab_gather(const slab *s, void *array, size_t size);

/* Writes an array of the whole grid, of which a->data holds this process's own planes.
 * Calls fail() if path cannot be written. */
void slab_write(const slab *s, const char *path, const npy *a);

#endif
