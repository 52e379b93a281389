/* kernel.cl - the device side: one work-item per cell, or per cell of one colour, or
 * per face of a wall, counted in one dimension. Ranges are rounded up to whole
 * work-groups: what lies beyond does nothing.
 */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"

/* A value of the host's: the first work-item writes it. */
__kernel void put(GLOBAL float *x, int index, float value)
{
    if (get_global_id(0) == 0) x[index] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt,
                         int cells)
{
    int id = get_global_id(0);
    if (id < cells) x[id] += dt * source[id];
}

/* Each work-item notes how far its cell of the colour moved: the red one, and then the
 * larger of both. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL float *change,
                    grid g, int colour, float a, float c)
{
    int id = get_global_id(0), items = row_items(g);
    int j = 1 + id / items % g.ny;
    int k = 1 + id / items / g.ny;
    int i = 1 + id % items * 2 + (j + k + colour) % 2;
    if (k > g.nz) return;

    float max_change = colour == RED ? 0 : change[id];
    if (i <= g.nx)
        max_change = maximum(max_change, relax_cell(x, x0, g, i, j, k, a, c));
    change[id] = max_change;
}

/* The largest of what PARTS work-items find, each in its part of moved. */
__kernel void find_largest(GLOBAL const float *change, int count, GLOBAL float *partial)
{
    int id = get_global_id(0);
    if (id >= PARTIALS) return;

    float max_change = 0;
    for (int n = id; n < count; n += PARTIALS)
        max_change = maximum(max_change, change[n]);
    partial[id] = max_change;
}

__kernel void walls_x(GLOBAL float *x, grid g, float sign)
{
    int id = get_global_id(0), j = 1 + id % g.ny, k = 1 + id / g.ny;
    if (k <= g.nz) mirror_x(x, g, j, k, sign);
}

__kernel void walls_y(GLOBAL float *x, grid g, float sign)
{
    int id = get_global_id(0), i = 1 + id % g.nx, k = 1 + id / g.nx;
    if (k <= g.nz) mirror_y(x, g, i, k, sign);
}

__kernel void walls_z(GLOBAL float *x, grid g, float sign)
{
    int id = get_global_id(0), i = 1 + id % g.nx, j = 1 + id / g.nx;
    if (j <= g.ny) mirror_z(x, g, i, j, sign);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, grid g, float dt)
{
    int id = get_global_id(0);
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) advect_cell(d, d0, u, v, w, g, i, j, k, dt);
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         grid g, int longest)
{
    int id = get_global_id(0);
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) divergence_cell(u, v, w, p, div, g, i, j, k, longest);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p, grid g)
{
    int id = get_global_id(0);
    int i = 1 + id % g.nx, j = 1 + id / g.nx % g.ny, k = 1 + id / g.nx / g.ny;
    if (k <= g.nz) gradient_cell(u, v, w, p, g, i, j, k);
}
