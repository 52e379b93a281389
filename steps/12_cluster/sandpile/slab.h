/* slab.h - the part of the grid that the threads of a host or of an MPI rank compute,
 * implemented by cpu.c.
 *
 * A slab is a band of rows (body.h) with `halo` ghost rows on each side. The ghost rows
 * are valid at the start of a block of at most `halo` steps, and each step leaves one
 * more of them invalid. In all calls, `planes` contains all rows of the grid in bit
 * planes, and rows are numbered as there.
 */
#ifndef SLAB_H
#define SLAB_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_HALO = 1024 };

/* Properties of the stored part of the grid that all slabs share. */
typedef struct {
    const run_plan *plan;
    int side, width, mirror, halo;
} grid_shape;

/* Allocates memory for the largest slab. */
void cpu_begin(const grid_shape *shape);
void cpu_end(void);

/* Assigns rows first .. end - 1 to the threads, and copies them and their ghost rows.
 * planes must remain valid, because its first row contains masks. */
void cpu_assign(int first, int end, const cell *planes);

/* cpu_read_rows copies own rows into planes; cpu_write_ghosts sets the ghost rows of
 * the slab. */
void cpu_read_rows(int first, int end, cell *planes);
void cpu_write_ghosts(const cell *planes);

/* Computes steps n .. n + steps - 1. flags[s] becomes 1 if step s has left the slab
 * unstable. */
void cpu_steps(int n, int steps, cell *flags);

/* Called, unless NULL, by each thread with the start and end of its work, on the clock
 * of seconds(). */
extern void (*cpu_on_busy)(int thread, double begin, double end);

#ifdef __cplusplus
}
#endif

#endif
