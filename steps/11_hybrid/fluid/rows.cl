/* rows.cl - the kernels for a CPU, with the names and parameters of those in kernel.cl.
 * There are WORKERS work-items, one per core, each of which computes as many rows as a
 * thread of cpu.c (strip.h). */
#include "strip.h"
#include "block.h"

/* The rows of a work-item; a surplus work-item has none. */
#define WORKER    min((int)get_global_id(0), WORKERS)
#define OWN_FIRST first_row(BOX, WORKER, WORKERS)
#define OWN_END   first_row(BOX, min(WORKER + 1, WORKERS), WORKERS)

/* Iterates over these rows, one part of them per plane. */
#define FOR_OWN_PARTS(r) FOR_EACH_PART(r, g, OWN_FIRST, OWN_END)

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    long cells = 2 * half_size(BOX), end = cells * min(WORKER + 1, WORKERS) / WORKERS;
    for (long c = cells * WORKER / WORKERS; c < end; c++) x[c] += dt * source[c];
}

/* Half sweep n of a solve in rows begin to end - 1. *flag is the plane of a cell that
 * changed by more than the tolerance, or to NaN: of the witness that the sweep has not
 * converged; 0 if none is known yet. Cells are tested only until one is found. */
void relax_parts(equation e, GLOBAL int *flag, int begin, int end, int n)
{
    grid g = BOX;
    FOR_EACH_PART(r, g, begin, end)
    if (relax_rows(e, g, n, r, !atomic_or(flag, 0))) atomic_max(flag, r.k);
}

/* Half sweep n of a solve, beginning at the plane of the previous sweep's witness. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags, int n,
                    float tolerance, int wall, float a, float inv_c)
{
    GLOBAL int *flag = flags + n / 2;
    int witness = n > 1 ? flag[-1] : NZ / 2;
    if (n > 1 && !witness) return;

    equation e = {x, x0, FROM_ZERO, wall, a, inv_c, tolerance};
    int begin = row_to_begin(BOX, witness, OWN_FIRST, OWN_END);
    relax_parts(e, flag, begin, OWN_END, n);
    relax_parts(e, flag, OWN_FIRST, begin, n);
}

/* One phase of a pass over sweeps `first` to first + sweeps - 1 of a solve. */
__kernel void relax_wavefront(GLOBAL float *x, GLOBAL const float *x0,
                              GLOBAL int *flags, int phase, int first, int sweeps,
                              float tolerance, int wall, float a, float inv_c)
{
    equation e = {x, x0, FROM_ZERO, wall, a, inv_c, tolerance};
    if (WORKER < WORKERS)
        relax_pass(e, BOX, WORKER, WORKERS, phase, first, sweeps, flags);
}

/* Sets the red ghost cells after a solve. */
__kernel void set_red_ghosts(GLOBAL float *x, int wall)
{
    grid g = BOX;
    FOR_OWN_PARTS(r) set_bnd(x, g, RED, r, wall);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
    FOR_OWN_PARTS(r)
    {
        advect_rows(d, d0, u, v, w, g, r, dt);
        set_bnd_of_both(d, g, r, wall);
    }
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *div, float scale)
{
    grid g = BOX;
    FOR_OWN_PARTS(r) divergence_rows(u, v, w, div, g, r, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    FOR_OWN_PARTS(r) gradient_rows(u, v, w, p, g, r);
}
