/* kernel.cl - the OpenCL kernels. One work-item computes one cell, with a
 * three-dimensional index (x, y, z); in a half sweep, the cells of one colour in two
 * columns of PLANES planes. The global size is rounded up to whole work-groups; the
 * surplus work-items return. The computation for a cell, and the layout of the fields,
 * are in body.h. */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"

/* The size of the box as compile-time constants (-D options), so that the strides are
 * constants, too. */
#define BOX ((grid){NX, NY, NZ})

/* SHARED: the work-groups of this device have local memory in hardware. On a CPU they
 * have none: a barrier there only splits the loop over the work-items into two. */

/* Writes one value on behalf of the host. */
__kernel void put(GLOBAL float *x, int index, float value)
{
    if (get_global_id(0) == 0) x[index] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    grid g = BOX;
    int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i > g.nx + 1 || j > g.ny + 1 || k > g.nz + 1) return;

    int idx = cell_index(g, i, j, k);
    x[idx] += dt * source[idx];
}

/* Half sweep n of a solve: relaxes the red cells if n is even, else the black ones.
 * Sets the flag of the sweep to 1 if a cell changed by more than the tolerance, or to
 * NaN. Returns at once if an earlier sweep has converged, that is, left its flag 0. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags, int n,
                    float tolerance, int wall, float a, float inv_c)
{
    int sweep = n / 2, colour = n % 2 ? BLACK : RED;
    if (sweep > 0 && !flags[sweep - 1]) return;

    grid g = BOX;
    position at = {1 + 2 * get_global_id(0), 1 + get_global_id(1),
                   1 + get_global_id(2) * PLANES};
    int last = at.k + PLANES - 1 < g.nz ? at.k + PLANES - 1 : g.nz, bits = 0;
    if (is_inner(g, at)) {
        at.i += (at.j + at.k + colour) % 2;
        bits = relax_columns(x, x0, g, at, last, wall, a, inv_c);
    }
    int unconverged = !(bits_to_change(bits) <= tolerance);

#if SHARED /* one work-item writes for its work-group */
    LOCAL int group_flag;
    int leader = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (leader) group_flag = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (unconverged) atomic_max(&group_flag, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    unconverged = leader && group_flag;
#endif
    if (unconverged) atomic_max(&flags[sweep], 1);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) store(d, g, at, wall, advected_value(d0, u, v, w, g, at, dt));
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         float scale)
{
    grid g = BOX;
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) divergence_cell(u, v, w, p, div, g, at, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) gradient_cell(u, v, w, p, g, at);
}
