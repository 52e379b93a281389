/* slab.h - the box dealt out to ranks: planes of cells, a slab each; and for the
 * pressure rows of waves. What they tell one another is mpi.c.
 *
 * A field is as long as the box in every rank, and a plane lies where it lies in all of
 * them, but only those that a rank writes to cost it memory.
 */
#ifndef SLAB_H
#define SLAB_H

#include "fluid.h"

typedef struct {
    int first, last;     /* inner planes; first > last: none */
    int bottom, top;     /* the same, with the ghosts of the walls */
    int first_row, rows; /* of waves: counted from 0, and how many */
} slab;

/* This rank's, and once there is memory: waves[planes of this rank][ny][pitch] and
 * columns[nz][rows of this rank][pitch] are what a pressure goes through. */
slab slab_of(grid g);
void ranks_begin(float *const field[FIELDS], float *modes, float *row_modes,
                 size_t pitch);
void ranks_end(void);

/* The planes beside this rank's, the cells of a colour, from those who have them, and
 * to them what lies beside theirs: it is on its way until halo_end, and nobody touches
 * the outermost planes of this colour. */
void halo_begin(int field, int colour);
void halo_end(int field, int colour);

/* far[n] becomes 1 in all ranks if it is in one. */
void reduce_flags(int *far, int count);

/* Planes low to high of x, ghosts too, wherever they are; low > high: none. */
void gather_planes(float *x, int low, int high);

/* All planes of x to rank 0. */
void gather_on_rank_0(float *x);

/* The waves from planes to rows, and back. */
void transpose_to_rows(void);
void transpose_to_planes(void);

#endif
