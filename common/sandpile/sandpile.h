/* sandpile.h - the interface between the front end (main.c) and the back-ends in
 * steps/.
 *
 * The front end handles arguments, input and output. A back-end does everything that
 * costs time: memory, devices, transfers and loops.
 *
 * The model is the Abelian sandpile: Bak, Tang and Wiesenfeld, Phys. Rev. Lett. 59, 381
 * (1987); Dhar, Phys. Rev. Lett. 64, 1613 (1990).
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

/* A set of square grids. A cell with n >= 4 grains is unstable. When it topples, it
 * keeps n % 4 grains and sends n / 4 to each of its four neighbors. The outermost cells
 * are a sink: they always hold 0, and grains that reach them are lost. */
typedef struct {
    int dim;         /* cells per side, including the border; at least 3 */
    int batch;       /* number of independent grids of this size; 1 in topple() */
    cell *grid;      /* [batch][dim][dim] grains; input and output of topple() */
    int *iterations; /* [batch]; output: steps until the first stable grid */
} pile;

/* SYNC: every step topples all unstable cells at once, from one grid into another; the
 * number of steps is a property of the pile. ASYNC: only the stable grid is required,
 * which is the same for every order of topplings. A back-end may topple in place for
 * ASYNC, or use the synchronous rule. */
typedef enum { SYNC, ASYNC } toppling_rule;

/* One tile of a trace: which thread computed it, and when. */
typedef struct {
    int iteration, grid, worker;
    int x, y, w, h;    /* cells */
    double begin, end; /* on the clock of seconds() */
} trace_record;

typedef struct {
    trace_record *record; /* [capacity] */
    size_t capacity, count;
    int grid; /* the grid of the batch that is being toppled */
} tile_trace;

typedef struct {
    toppling_rule rule;
    int max_iterations; /* upper limit, whether or not the grids are stable */
    int tilew, tileh;   /* cells per tile, CPU back-ends only; 1 .. dim */
    int group[3];       /* work-items per group; 0: the back-end chooses */
    tile_trace *trace;  /* NULL: no trace was requested */
    int halo; /* ghost rows of a neighbor, for hybrid and mpi; 0: the back-end chooses
               */
} run_plan;

typedef struct {
    double init;   /* seconds: device set-up, kernel build, allocation */
    double run;    /* transfers and steps */
    double kernel; /* the steps alone, on the device's own clock if it has one */
} run_times;

/* Topples the grid of *p until it is stable or plan->max_iterations is reached.
 * p->batch is 1: the front end calls the function once for each grid of a batch. The
 * caller provides a negative *p->iterations. Returns 0; errors end the program through
 * fail(). */
int topple(pile *p, const run_plan *plan, run_times *t);

/* Number of cells of one grid. */
static inline size_t pile_cells(const pile *p)
{
    return (size_t)p->dim * (size_t)p->dim;
}

/* Returns the bitwise OR of all cells of one grid: less than 4 if and only if the grid
 * is stable, less than 256 if and only if every cell is. */
cell pile_or(const cell *grid, int dim);

/* Copies the grid of *p to or from bytes: column x of row y is byte y * pitch + first +
 * x. pile_to_bytes() sets the other dim * pitch bytes to 0; every cell must fit. */
void pile_to_bytes(const pile *p, size_t pitch, size_t first, cell8 *to);
void pile_from_bytes(pile *p, size_t pitch, size_t first, const cell8 *from);

/* Sets the border of one grid to 0. */
void pile_clear_border(cell *grid, int dim);

/* fail() if the plan has options that only the CPU back-ends support: toppling in
 * place, and the trace of tiles. */
void reject_cpu_options(const run_plan *plan);

/* Returns the number of the calling thread. */
static inline int thread_number(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Returns the maximum number of threads. */
static inline int max_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Sets the static schedule for schedule(runtime) loops, unless OMP_SCHEDULE is set: all
 * tiles cost the same, and a thread then keeps its part of the grid in its cache. Also
 * creates the threads, so that their creation is not timed. */
static inline void use_static_schedule(void)
{
#ifdef _OPENMP
    if (!getenv("OMP_SCHEDULE")) omp_set_schedule(omp_sched_static, 0);
#pragma omp parallel
    thread_number();
#endif
}

/* Records a tile that `thread` has just finished. A trace keeps the first `capacity`
 * tiles. Does nothing if t is NULL. */
void trace_tile(tile_trace *t, int iteration, const int tile[4], double begin,
                int thread);

#ifdef __cplusplus
}
#endif

#endif
