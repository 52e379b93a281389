/* kernel.cl - the OpenCL kernels. One work-item computes one cell or one cell of one
 * colour, with a three-dimensional index (x, y, z). The global size is rounded up to
 * whole work-groups; the surplus work-items return. The computation for a cell, and the
 * layout of the fields, are in body.h. */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"

/* Writes one value on behalf of the host. */
__kernel void put(GLOBAL float *x, int index, float value)
{
    if (get_global_id(0) == 0) x[index] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, grid g, float dt)
{
    int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i > g.nx + 1 || j > g.ny + 1 || k > g.nz + 1) return;

    int idx = cell_index(g, i, j, k);
    x[idx] += dt * source[idx];
}

/* Relaxes the cells of one colour, one per work-item. change[id] receives, as bits, the
 * change of the work-item's red cell, and then the larger change of its red and its
 * black cell. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *change, grid g,
                    int colour, int wall, float a, float inv_c)
{
    position at = {1 + 2 * get_global_id(0), 1 + get_global_id(1),
                   1 + get_global_id(2)};
    if (!is_inner(g, at)) return;

    int id = at.i / 2 + row_items(g) * (at.j - 1 + g.ny * (at.k - 1));
    at.i += (at.j + at.k + colour) % 2;
    int max_change = colour == RED ? 0 : change[id];
    if (at.i <= g.nx)
        max_change = maximum(max_change, relax_cell(x, x0, g, at, wall, a, inv_c));
    change[id] = max_change;
}

/* First stage of the reduction: each of PARTIALS work-items finds the maximum of every
 * PARTIALS-th element of change. */
__kernel void find_largest(GLOBAL const int *change, int count, GLOBAL int *partial)
{
    int id = get_global_id(0);
    if (id >= PARTIALS) return;

    int max_change = 0;
    for (int n = id; n < count; n += PARTIALS)
        max_change = maximum(max_change, change[n]);
    partial[id] = max_change;
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, grid g, int wall,
                     float dt)
{
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) store(d, g, at, wall, advected_value(d0, u, v, w, g, at, dt));
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         grid g, float scale)
{
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) divergence_cell(u, v, w, p, div, g, at, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p, grid g)
{
    position at = {1 + get_global_id(0), 1 + get_global_id(1), 1 + get_global_id(2)};
    if (is_inner(g, at)) gradient_cell(u, v, w, p, g, at);
}
