/* kernel.cl - the OpenCL kernels. One work-item computes a strip of a row (strip.h); in
 * a sweep, the cells of one colour in a strip of a tile of planes. The global size is
 * rounded up to whole work-groups; the surplus work-items return. The layout of the
 * fields is described in body.h. */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"
#include "strip.h"

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
    int n = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    int vectors = vectors_per_row(g, LANES);
    if (n >= vectors || j > g.ny + 1 || k > g.nz + 1) return;

    int c = LANES * (n + vectors * (j + (g.ny + 2) * k)), end = 2 * half_size(g);
    if (c + LANES <= end)
        unload(x + c, load(x + c) + dt * load(source + c));
    else
        for (; c < end; c++) x[c] += dt * source[c];
}

/* Relaxes the cells of one colour. Sets flags[sweep] to 1 if a cell changed by more
 * than the tolerance, or to NaN. Returns at once if an earlier sweep has
 * converged, that is, left its flag 0. */
__kernel void relax(GLOBAL float *x, GLOBAL const float *x0, GLOBAL int *flags,
                    int planes, int sweep, float tolerance, int colour, int wall,
                    float a, float inv_c)
{
    if (sweep > 0 && !flags[sweep - 1]) return;

    grid g = BOX;
    int strip = get_global_id(0);
    int j = 1 + get_global_id(1);
    int first = 1 + get_global_id(2) * planes;
    int last = first + planes - 1 < g.nz ? first + planes - 1 : g.nz;
    int unconverged =
        strip < strip_count(g, LANES) && j <= g.ny &&
        relax_strip(x, x0, g, colour, strip, j, first, last, wall, a, inv_c, tolerance);

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
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strip_count(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vector_count(g, n); h++)
        advect_lanes(d, d0, u, v, w, g, first_column(g, n, h / 2) + h % 2, j, k, wall,
                     dt);
    for (int i = first_single_column(g, n); i <= g.nx; i++)
        advect_cell(d, d0, u, v, w, g, i, j, k, wall, dt);
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         float scale)
{
    grid g = BOX;
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strip_count(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vector_count(g, n); h++)
        divergence_lanes(u, v, w, p, div, g, first_column(g, n, h / 2) + h % 2, j, k,
                         scale);
    for (int i = first_single_column(g, n); i <= g.nx; i++)
        divergence_cell(u, v, w, p, div, g, i, j, k, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    int n = get_global_id(0), j = 1 + get_global_id(1), k = 1 + get_global_id(2);
    if (n >= strip_count(g, LANES) || j > g.ny || k > g.nz) return;

    for (int h = 0; h < 2 * vector_count(g, n); h++) {
        int i = first_column(g, n, h / 2) + h % 2;
        gradient_lanes(u, v, w, p, g, i, j, k, lanes_to_skip(g, n, h / 2));
    }
    for (int i = first_single_column(g, n); i <= g.nx; i++)
        gradient_cell(u, v, w, p, g, i, j, k);
}
