/* kernel.cl - the OpenCL kernels. On a GPU, one work-item computes a cell; in a sweep,
 * the cells of one colour in two columns of a tile of planes. On a CPU, there are
 * WORKERS work-items, each of which computes as many rows as a thread of cpu.c
 * (strip.h). The global size is rounded up to whole work-groups; the surplus work-items
 * return. The layout of the fields is described in body.h. */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"
#include "strip.h"
#include "block.h"

/* The size of the box as compile-time constants (-D options), so that the strides are
 * constants, too. */
#define BOX ((grid){NX, NY, NZ})

/* SHARED: the work-groups of this device have local memory in hardware, as on a GPU. On
 * a CPU they have none: a barrier there only splits the loop over the work-items. */

/* The cell of a work-item on a GPU; the number of a work-item on a CPU. */
#define ITEM_I item_column(g, get_global_id(0))
#define ITEM_J (1 + (int)get_global_id(1))
#define ITEM_K (1 + (int)get_global_id(2))
#define WORKER ((int)get_global_id(0))

/* Iterates over the rows of a work-item on a CPU, one part of them per plane. */
#define FOR_OWN_PARTS(r)                                                               \
    FOR_EACH_PART(r, g, first_row(g, WORKER, WORKERS),                                 \
                  first_row(g, WORKER + 1, WORKERS))

/* Writes one value on behalf of the host. */
__kernel void put(GLOBAL float *x, int index, float value)
{
    if (get_global_id(0) == 0) x[index] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    int c = LANES * (int)get_global_id(0), end = 2 * half_size(BOX);
    if (c + LANES <= end)
        unload(x + c, load(x + c) + dt * load(source + c));
    else
        for (; c < end; c++) x[c] += dt * source[c];
}

#if SHARED
/* Relaxes the cells of one colour in two columns of a tile of planes. Sets flags[sweep]
 * to 1 if a cell changed by more than the tolerance, or to NaN. Returns at once if an
 * earlier sweep has converged, that is, left its flag 0. One work-item writes for its
 * work-group. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags,
                    int sweep, float tolerance, int colour, int wall, float a,
                    float inv_c, int planes)
{
    if (sweep > 0 && !flags[sweep - 1]) return;

    grid g = BOX;
    int i = 1 + 2 * get_global_id(0);
    int j = 1 + get_global_id(1);
    int first = 1 + get_global_id(2) * planes;
    int last = first + planes - 1 < g.nz ? first + planes - 1 : g.nz;
    int unconverged =
        i <= g.nx && j <= g.ny &&
        relax_columns(x, x0, g, colour, i, j, first, last, wall, a, inv_c, tolerance);

    LOCAL int group_flag;
    int leader = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (leader) group_flag = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (unconverged) atomic_max(&group_flag, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (leader && group_flag) atomic_max(&flags[sweep], 1);
}

#else
/* Relaxes rows begin to end - 1. *flag is the plane of a cell that changed by more than
 * the tolerance, or to NaN: of the witness that the sweep has not converged; 0 if none
 * is known yet. Cells are tested only until one is found. */
void relax_parts(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flag, int begin,
                 int end, int h, int zero, float tolerance, int wall, float a,
                 float inv_c)
{
    grid g = BOX;
    FOR_EACH_PART(r, g, begin, end)
    if (relax_rows(x, x0, g, h, r.k, r.first, r.last, !atomic_or(flag, 0), zero, wall,
                   a, inv_c, tolerance))
        atomic_max(flag, r.k);
}

/* Relaxes the cells of one colour in the rows of a work-item, beginning at the plane
 * of the previous sweep's witness. zero: x is 0 before the solve. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags,
                    int sweep, float tolerance, int colour, int wall, float a,
                    float inv_c, int zero)
{
    if (sweep > 0 && !flags[sweep - 1]) return;
    if (WORKER >= WORKERS) return;

    int first = first_row(BOX, WORKER, WORKERS), h = 2 * sweep + colour;
    int end = first_row(BOX, WORKER + 1, WORKERS), begin = first;
    begin = row_to_begin(BOX, sweep > 0 ? flags[sweep - 1] : NZ / 2, first, end);
    relax_parts(x, x0, flags + sweep, begin, end, h, zero, tolerance, wall, a, inv_c);
    relax_parts(x, x0, flags + sweep, first, begin, h, zero, tolerance, wall, a, inv_c);
}
#endif

/* Executes one phase of a pass on a CPU, one worker per work-item. */
__kernel void relax_wavefront(GLOBAL float *x, GLOBAL const float *x0,
                              GLOBAL int *flags, int phase, int first, int sweeps,
                              float tolerance, int zero, int wall, float a, float inv_c)
{
    if (WORKER < WORKERS)
        relax_pass(x, x0, BOX, WORKER, WORKERS, phase, first, sweeps, flags, zero, wall,
                   a, inv_c, tolerance);
}

/* Sets the red ghost cells after a solve on a CPU. */
__kernel void set_red_ghosts(GLOBAL float *x, int wall)
{
    if (WORKER >= WORKERS) return;
    grid g = BOX;
    FOR_OWN_PARTS(r) set_bnd(x, g, RED, r.k, r.first, r.last, wall);
}

/* Advection of a scalar, or on a GPU also of a component of the velocity. */
__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
#if SHARED
    if (ITEM_I <= g.nx && ITEM_J <= g.ny && ITEM_K <= g.nz)
        advect_cell(d, d0, u, v, w, g, ITEM_I, ITEM_J, ITEM_K, wall, dt);
#else
    if (WORKER >= WORKERS) return;
    FOR_OWN_PARTS(r)
    {
        advect_rows(1, &d, &d0, u, v, w, g, r.k, r.first, r.last, dt);
        set_bnd_of_both(d, g, r.k, r.first, r.last, wall);
    }
#endif
}

/* Advection of the velocity on a CPU: the origin of a cell is computed once for its
 * three components. */
__kernel void advect_velocity(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                              GLOBAL const float *u0, GLOBAL const float *v0,
                              GLOBAL const float *w0, float dt)
{
    grid g = BOX;
    GLOBAL float *d[3] = {u, v, w};
    GLOBAL const float *d0[3] = {u0, v0, w0};
    if (WORKER >= WORKERS) return;
    FOR_OWN_PARTS(r)
    {
        advect_rows(3, d, d0, u0, v0, w0, g, r.k, r.first, r.last, dt);
        set_bnd_of_both(u, g, r.k, r.first, r.last, ALONG_X);
        set_bnd_of_both(v, g, r.k, r.first, r.last, ALONG_Y);
        set_bnd_of_both(w, g, r.k, r.first, r.last, ALONG_Z);
    }
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *div, float scale)
{
    grid g = BOX;
#if SHARED
    if (ITEM_I <= g.nx && ITEM_J <= g.ny && ITEM_K <= g.nz)
        divergence_cell(u, v, w, div, g, ITEM_I, ITEM_J, ITEM_K, scale);
#else
    if (WORKER >= WORKERS) return;
    FOR_OWN_PARTS(r)
    divergence_rows(u, v, w, div, g, r.k, r.first, r.last, scale);
#endif
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
#if SHARED
    if (ITEM_I <= g.nx && ITEM_J <= g.ny && ITEM_K <= g.nz)
        gradient_cell(u, v, w, p, g, ITEM_I, ITEM_J, ITEM_K);
#else
    if (WORKER >= WORKERS) return;
    FOR_OWN_PARTS(r)
    gradient_rows(u, v, w, p, g, r.k, r.first, r.last);
#endif
}
