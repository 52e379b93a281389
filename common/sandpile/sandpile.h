/* sandpile.h - the contract between the front end (main.c) and the back-ends in steps/.
 *
 * The front end owns arguments, input and output; a back-end owns everything that costs
 * time: memory, devices, transfers, loops.
 */
#ifndef SANDPILE_H
#define SANDPILE_H

#include "cell.h"
#include "run.h"
#ifdef _OPENMP
#include <omp.h>
#include <stdlib.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A cell of four grains or more topples: it keeps the rest of the division by four and
 * gives each of its four neighbours the quotient. The outermost cells are a sink: what
 * falls there is gone, and they always hold 0. */
typedef struct {
    int dim;         /* cells a side, the border included; 3 or more */
    int batch;       /* independent grids, all of this size */
    cell *grid;      /* [batch][dim][dim] grains; taken, and given back toppled */
    int *iterations; /* [batch]; given back: steps until the first stable grid */
} pile;

/* SYNC: all cells at once, from one grid into another; the number of steps is a
 * property of the pile. ASYNC: only the stable grid is asked for, which is
 * the same in any order: in place, a sweep at a time, or as a step does it fastest. */
typedef enum { SYNC, ASYNC } rule;

/* Which thread did which tile, and when. */
typedef struct {
    int iteration, grid, worker;
    int x, y, w, h;    /* cells */
    double begin, end; /* by seconds() */
} traced;

typedef struct {
    traced *tile; /* [room] */
    size_t room, used;
} trace;

typedef struct {
    rule how;
    int max_iterations; /* stop there, stable or not */
    int tilew, tileh;   /* cells of a tile, on the CPU; 1 .. dim */
    int group[3];       /* work-items a group; 0 where the back-end is to choose */
    trace *tiles;       /* NULL: not asked for */
    int halo; /* rows that are shared with a neighbour; 0 where the back-end is to
                 choose */
} plan;

typedef struct {
    double init;   /* seconds: device set-up, kernel build, allocation */
    double run;    /* transfers and steps */
    double kernel; /* the steps alone, by the device's own clock where it has one */
} run_times;

/* Topples the grids of *p until all are stable. The caller provides p->iterations,
 * poisoned. Returns 0; what cannot go on ends in fail(). */
int topple(pile *p, const plan *how, run_times *t);

/* Cells of one grid. */
static inline size_t pile_cells(const pile *p)
{
    return (size_t)p->dim * (size_t)p->dim;
}

/* All cells of one grid or-ed: below 4 if and only if it is stable, below 256 if and
 * only if every cell is. */
cell pile_bits(const cell *grid, int dim);

/* Sets the border of one grid to 0. */
void pile_border(cell *grid, int dim);

/* The thread that asks. */
static inline int worker(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* How many there are at most. */
static inline int threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Deals the tiles of schedule(runtime) out beforehand, since they are all alike, unless
 * OMP_SCHEDULE says otherwise: a thread then keeps its part of the grid in its cache.
 * Has the threads made too: to set up is not to topple. */
static inline void deal_evenly(void)
{
#ifdef _OPENMP
    if (!getenv("OMP_SCHEDULE")) omp_set_schedule(omp_sched_static, 0);
#pragma omp parallel
    worker();
#endif
}

/* Notes a tile that worker `who` has just ended; the first `room` tiles are kept. Does
 * nothing without a trace. */
void trace_tile(trace *t, int iteration, int grid, const int tile[4], double begin,
                int who);

#ifdef __cplusplus
}
#endif

#endif
