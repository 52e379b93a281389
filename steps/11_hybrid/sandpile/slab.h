/* slab.h - a slab: the consecutive rows of a pile that one worker computes. The worker
 * is the threads of cpu.c, a device, or an MPI rank.
 *
 * The rows of all grids, including borders, are numbered one grid after the other: row
 * y of grid g is row g * side + y. So a slab shares at most its first and its last grid
 * with other slabs. Of these grids it also stores up to `halo` ghost rows on each side.
 * They are valid at the start of a temporal block of at most `halo` steps, and each
 * step leaves one more of them invalid.
 */
#ifndef SLAB_H
#define SLAB_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_HALO = 1024 };

typedef struct {
    const pile *p;
    const run_plan *plan;
    int mirror, halo;
    int packed;      /* nonzero: bit planes, as in body.h; 0: one word per cell */
    int side, pitch; /* rows per grid; words per row */
    int width;       /* words per plane row, if packed */
    int first, end;  /* own rows: first .. end - 1 */
} slab;

static inline int slab_total_rows(const slab *c)
{
    return c->p->batch * c->side;
}

/* The first stored row, and one after the last. There are no ghost rows where a slab
 * ends between two grids. */
static inline int slab_first_stored(const slab *c)
{
    int above = c->first < c->end ? c->first % c->side : 0;
    return c->first - (above < c->halo ? above : c->halo);
}

static inline int slab_end_stored(const slab *c)
{
    int y = c->first < c->end ? c->end % c->side : 0, below = y ? c->side - y : 0;
    return c->end + (below < c->halo ? below : c->halo);
}

/* The first row of its first grid that is valid after `steps` steps of a temporal
 * block, and one after the last row of its last grid. */
static inline int slab_first_valid(const slab *c, int steps)
{
    int y = c->first % c->side;
    return y > c->halo ? y - c->halo + steps : 1;
}

static inline int slab_end_valid(const slab *c, int steps)
{
    int y = c->end % c->side;
    return y && y + c->halo < c->side ? y + c->halo - steps : c->side - 1;
}

/* split_at returns the row at which to split the pile so that about `rows` inner rows
 * (borders not counted) lie before it; inner_rows returns the number of inner rows
 * before a split. */
static inline int split_at(const slab *c, double rows)
{
    int inner = c->side - 2, whole = (int)(rows + 0.5);
    return whole / inner * c->side + (whole % inner ? whole % inner + 1 : 0);
}

static inline int inner_rows(const slab *c, int split)
{
    int y = split % c->side;
    return split / c->side * (c->side - 2) + (y ? y - 1 : 0);
}

/* ---- cpu.c -------------------------------------------------------------------------
 *
 * In all calls, `rows` points to the first row that the call concerns. */

/* Allocates what is needed for a pile of the shape of *c in bit planes. */
void cpu_begin(const slab *c);
void cpu_end(void);

/* Assigns the slab *c to the threads. rows contains its stored rows. If packed, masks
 * is row 0 of any grid. */
void cpu_assign(const slab *c, const cell *rows, const cell *masks);

/* cpu_read_rows copies own rows first .. end - 1 into `rows`; cpu_set_ghosts sets the
 * ghost rows above the own rows. There are none below: the threads have the last rows.
 */
void cpu_read_rows(const slab *c, int first, int end, cell *rows);
void cpu_set_ghosts(const slab *c, const cell *above);

/* Computes steps n .. n + steps - 1. step_flags[s][g] gets bits: more than 3 if step s
 * left grid g unstable. Thread 0 calls callback, unless NULL, as soon as the first
 * `halo` own rows are ready. */
void cpu_steps(const slab *c, int n, int steps, cell *step_flags,
               void (*callback)(void));

/* Called, unless NULL, by each thread with the start and end of its work, on the clock
 * of seconds(). */
extern void (*cpu_on_busy)(int thread, double begin, double end);

#ifdef __cplusplus
}
#endif

#endif
