/* kernel.cl - the device side: one work-item per strip of a row, in a sweep of some
 * planes. Ranges are rounded up to whole
 * work-groups: what lies beyond does nothing.
 */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"
#include "strip.h"
#include "block.h"
#include "cosine.h"

/* The box, which the compiler is told with -D, and all strides with it. */
#define BOX ((grid){NX, NY, NZ})

/* SHARED: groups have memory of their own. Where they have none, a barrier only ends
 * one loop over the group and begins another. */

/* A value of the host's: the first work-item writes it. */
__kernel void put(GLOBAL float *x, int where, float value)
{
    if (get_global_id(0) == 0) x[where] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    grid g = BOX;
    int n = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    int across = vectors_across(g, LANES);
    if (n >= across || j > g.ny + 1 || k > g.nz + 1) return;

    int c = LANES * (n + across * (j + (g.ny + 2) * k)), end = 2 * half_of(g);
    if (c + LANES <= end)
        unload(x + c, load(x + c) + dt * load(source + c));
    else
        for (; c < end; c++) x[c] += dt * source[c];
}

/* moving[sweep] becomes 1 if a cell of the colour moved farther than the tolerance, or
 * is NaN. Once it was left 0 by a sweep before, nothing is done. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *moving,
                    int planes, int sweep, float tolerance, int colour, int wall,
                    float a, float over_c)
{
    if (sweep > 0 && !moving[sweep - 1]) return;

    grid g = BOX;
    int strip = get_global_id(0);
    int j = 1 + get_global_id(1);
    int first = 1 + get_global_id(2) * planes;
    int last = first + planes - 1 < g.nz ? first + planes - 1 : g.nz;
    int far = strip < strips_of(g, LANES) && j <= g.ny &&
              relax_strip(x, x0, g, colour, strip, j, first, last, wall, a, over_c,
                          tolerance);

#if SHARED /* one of the group writes for all */
    LOCAL int any;
    int one = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (one) any = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (far) any = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    far = one && any;
#endif
    if (far) moving[sweep] = 1;
}

/* One work-item per team, where groups have no memory of their own: a phase of a pass.
 */
__kernel void relax_some(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *moving,
                         int teams, int phase, int first, int sweeps, float tolerance,
                         int wall, float a, float over_c)
{
    int team = get_global_id(0);
    if (team < teams)
        relax_pass(x, x0, moving + first, BOX, team, teams, phase, sweeps, wall, a,
                   over_c, tolerance);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strips_of(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vectors_of(g, n); h++)
        advect_lanes(d, d0, u, v, w, g, column_of(g, n, h / 2) + h % 2, j, k, wall, dt);
    for (int i = single_of(g, n); i <= g.nx; i++)
        advect_cell(d, d0, u, v, w, g, i, j, k, wall, dt);
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         float scale)
{
    grid g = BOX;
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strips_of(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vectors_of(g, n); h++)
        divergence_lanes(u, v, w, p, div, g, column_of(g, n, h / 2) + h % 2, j, k,
                         scale);
    for (int i = single_of(g, n); i <= g.nx; i++)
        divergence_cell(u, v, w, p, div, g, i, j, k, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strips_of(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vectors_of(g, n); h++) {
        int i = column_of(g, n, h / 2) + h % 2;
        gradient_lanes(u, v, w, p, g, i, j, k, done_of(g, n, h / 2));
    }
    for (int i = single_of(g, n); i <= g.nx; i++) gradient_cell(u, v, w, p, g, i, j, k);
}

/* ---- the pressure outright
 * -------------------------------------------------------------- waves[nz][ny][PITCH]
 * holds it, or what it is made of; PITCH is nx, rounded up to vectors. A work-item has
 * a vector of columns, or in solve one of planes.
 */

FN cosines cosines_along(int n, GLOBAL const float *table)
{
    cosines c = {n, n, table, table + n};
    while (c.odd % 2 == 0) c.odd /= 2;
    return c;
}

/* Planes turned along y: what b holds, and back to p. */
__kernel void turn_y(GLOBAL float *x, GLOBAL float *waves, GLOBAL const float *table,
                     int back)
{
    grid g = BOX;
    int first = 1 + LANES * get_global_id(0), k = 1 + get_global_id(1);
    int count = g.nx - first + 1 < LANES ? g.nx - first + 1 : LANES;
    if (count <= 0 || k > g.nz) return;

    lanes v[NY], w[NY];
    GLOBAL float *plane = waves + (size_t)PITCH * NY * (k - 1) + first - 1;
    for (int j = 0; j < NY; j++) {
        v[j] = each(0);
        if (back)
            v[j] = load(plane + PITCH * j);
        else
            for (int l = 0; l < count; l++)
                lane(v[j], l) = x[at(g, first + l, 1 + j, k)];
    }
    cosines c = cosines_along(NY, table);
    lanes *found = back ? sum_of_cosines(c, v, w) : cosines_of(c, v, w);
    for (int j = 0; j < NY; j++)
        if (back)
            for (int l = 0; l < count; l++)
                store(x, g, first + l, 1 + j, k, SCALAR, lane(found[j], l));
        else
            unload(plane + PITCH * j, found[j]);
}

/* All waves along z. */
__kernel void turn_z(GLOBAL float *waves, GLOBAL const float *table, int back)
{
    int first = LANES * get_global_id(0), j = get_global_id(1);
    if (first >= PITCH || j >= NY) return;

    lanes v[NZ], w[NZ];
    GLOBAL float *slab = waves + PITCH * j + first;
    for (int k = 0; k < NZ; k++) v[k] = load(slab + (size_t)PITCH * NY * k);
    cosines c = cosines_along(NZ, table);
    lanes *found = back ? sum_of_cosines(c, v, w) : cosines_of(c, v, w);
    for (int k = 0; k < NZ; k++) unload(slab + (size_t)PITCH * NY * k, found[k]);
}

/* What is left along x. along_y and along_z: how stiff each wave is, and by what it is
 * multiplied. */
__kernel void solve_x(GLOBAL float *waves, GLOBAL const float *along_y,
                      GLOBAL const float *along_z)
{
    int first = LANES * get_global_id(0), j = get_global_id(1);
    int count = NZ - first < LANES ? NZ - first : LANES;
    if (count <= 0 || j >= NY) return;

    lanes v[NX], w[NX], stiff = each(1);
    GLOBAL float *slab = waves + PITCH * j;
    size_t plane = (size_t)PITCH * NY;
    for (int i = 0; i < NX; i++) v[i] = each(0);
    for (int l = 0; l < count; l++) {
        int k = first + l;
        float part = along_y[NY + j] * along_z[NZ + k];
        lane(stiff, l) = along_y[j] + along_z[k];
        for (int i = 0; i < NX; i++) lane(v[i], l) = part * slab[plane * k + i];
    }
    solve_rows(v, w, NX, stiff);
    for (int l = 0; l < count; l++)
        for (int i = 0; i < NX; i++) slab[plane * (first + l) + i] = lane(v[i], l);
}
