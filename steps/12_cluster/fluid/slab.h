/* slab.h - distribution of the box over the ranks: a slab of planes for each rank, and
 * for the pressure solver also a slab of rows. mpi.c implements the communication.
 *
 * A field is allocated for the whole box on each rank, and a plane has the same index
 * on all ranks. The operating system provides memory only for the planes that a rank
 * writes. The caller includes body.h first.
 */
#ifndef SLAB_H
#define SLAB_H

#include "fluid.h"

typedef struct {
    int first, last;     /* inner planes; first > last: none */
    int bottom, top;     /* the same, including ghost planes at the walls */
    int first_row, rows; /* rows of the pressure solver, from 0 */
} slab;

/* The cells of one colour in a plane are contiguous. Index in a field of the first of
 * them, with ghost cells, and their number in planes first to last. */
static inline size_t half_plane(grid g, int k, int colour)
{
    int f = flat_index(g, 0, 0, k);
    return (size_t)field_index(g, f + (f + colour + 1) % 2);
}

static inline size_t half_planes_length(grid g, int first, int last, int colour)
{
    return half_plane(g, last + 1, colour) - half_plane(g, first, colour);
}

/* Checks that all ranks have the same events, and returns the slab of this rank. */
slab find_slab(const setup *s);

/* Creates the persistent requests, for modes[planes of this rank][ny][pitch] and
 * row_modes[nz][rows of this rank][pitch]. */
void ranks_begin(float *const field[FIELDS], float *modes, float *row_modes,
                 size_t pitch);
void ranks_end(void);

/* Exchange of the planes next to the slab with the neighbouring ranks, one colour.
 * Between halo_begin and halo_end the outermost planes of this colour must not be
 * written. */
void halo_begin(int field, int colour);
void halo_end(int field, int colour);

/* Global maximum: flags[n] becomes 1 on all ranks if it is 1 on any rank. */
void reduce_flags(int *flags, int count);

/* Receives planes low to high of x, with ghost cells, from the ranks that have them;
 * low > high: none. */
void gather_planes(float *x, int low, int high);

/* Gathers all planes of x on rank 0. */
void gather_on_rank_0(float *x);

/* Transposes of the pressure solver: from planes to rows, and back. */
void transpose_to_rows(void);
void transpose_to_planes(void);

#endif
