/* kernel.cl - the device side: one work-item per cell, or per cell of one colour, or
 * per face of a wall, counted in one dimension. Ranges are rounded up to whole
 * work-groups: what lies beyond does nothing.
 */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"

#define DEVICE_FN FN
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#include "march.h"

/* The box, which the compiler is told with -D, and all strides with it. */
#define BOX ((grid){NX, NY, NZ})

/* And how many numbers of a group become one in a round of its reduction, FAN: 2, or,
 * where a barrier ends one loop over the group and begins another, all at once. */

/* A value of the host's: the first work-item writes it. */
__kernel void put(GLOBAL float *x, int where, float value)
{
    if (get_global_id(0) == 0) x[where] = value;
}

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    grid g = BOX;
    int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i > g.nx + 1 || j > g.ny + 1 || k > g.nz + 1) return;

    int here = at(g, i, j, k);
    x[here] += dt * source[here];
}

/* One sweep: reads the black cells of x and writes those of spare, or the other way
 * round in every second sweep. How far the cell moved that moved most joins
 * largest[sweep], which is in bits: first within the group, then one atomic operation a
 * group. Once a sweep before was within the tolerance, nothing is done. */
__kernel void relax(GLOBAL float *x, GLOBAL float *spare, GLOBAL const float *x0,
                    GLOBAL int *largest, LOCAL float *tile, LOCAL int *moved,
                    int planes, int sweep, float tolerance, int wall, float a,
                    float over_c)
{
    if (sweep > 0 && distance_of(largest[sweep - 1]) <= tolerance) return;

    grid g = BOX;
    int width = get_local_size(0), height = get_local_size(1), items = width * height;
    int lx = get_local_id(0), ly = get_local_id(1), item = lx + width * ly;
    int slot = get_group_id(0) * (width - 2) + lx - 1;
    int j = get_group_id(1) * (height - 2) + ly;
    int first = 1 + get_group_id(2) * planes;
    int last = first + planes - 1 < g.nz ? first + planes - 1 : g.nz;
    int mine = lx > 0 && lx < width - 1 && slot < row_of(g) && ly > 0 &&
               ly < height - 1 && j <= g.ny;
    GLOBAL float *black = x + half_of(g);
    moved[item] =
        march(x, sweep % 2 ? spare : black, sweep % 2 ? black : spare, x0, g, slot, j,
              first, last, mine, tile, item, width, items, wall, a, over_c);

    for (int left; items > 1; items = left) {
        BARRIER();
        left = (items + FAN - 1) / FAN;
        int most = moved[item];
        for (int n = item + left; n < items && item < left; n += left)
            most = larger(most, moved[n]);
        if (item < left) moved[item] = most;
    }
    if (item == 0) atomic_max(&largest[sweep], moved[0]);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
    int i = 1 + get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (i <= g.nx && j <= g.ny && k <= g.nz)
        advect_cell(d, d0, u, v, w, g, i, j, k, wall, dt);
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         float scale)
{
    grid g = BOX;
    int i = 1 + get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (i <= g.nx && j <= g.ny && k <= g.nz)
        divergence_cell(u, v, w, p, div, g, i, j, k, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    int i = 1 + get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (i <= g.nx && j <= g.ny && k <= g.nz) gradient_cell(u, v, w, p, g, i, j, k);
}
