/* kernel.cl - the OpenCL kernels. On a GPU, one work-item computes one cell, with a
 * three-dimensional index (x, y, z); in a half sweep, the cells of one colour in two
 * columns of PLANES planes. The global size is rounded up to whole work-groups; the
 * surplus work-items return. The computation for a cell, and the layout of the fields,
 * are in body.h. The kernels for a CPU, which compute rows, are in rows.cl. */
#pragma OPENCL FP_CONTRACT OFF

#include "body.h"
#include "cosine.h"

/* The size of the box as compile-time constants (-D options), so that the strides are
 * constants, too. */
#define BOX ((grid){NX, NY, NZ})

/* SHARED: the work-groups of this device have local memory in hardware, as on a GPU. */

/* Writes one value on behalf of the host. */
__kernel void put(GLOBAL float *x, int index, float value)
{
    if (get_global_id(0) == 0) x[index] = value;
}

#if !SHARED
#include "rows.cl"
#else

/* The cell of a work-item. Consecutive work-items access consecutive memory. */
#define ITEM_CELL                                                                      \
    {                                                                                  \
        item_column(g, get_global_id(0)), 1 + get_global_id(1), 1 + get_global_id(2)   \
    }

__kernel void add_source(GLOBAL float *x, GLOBAL const float *source, float dt)
{
    int c = get_global_id(0);
    if (c < 2 * half_size(BOX)) x[c] += dt * source[c];
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

    /* one work-item writes for its work-group */
    LOCAL int group_flag;
    int leader = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (leader) group_flag = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (unconverged) atomic_max(&group_flag, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (leader && group_flag) atomic_max(&flags[sweep], 1);
}

__kernel void advect(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, int wall, float dt)
{
    grid g = BOX;
    position at = ITEM_CELL;
    if (is_inner(g, at)) store(d, g, at, wall, advected_value(d0, u, v, w, g, at, dt));
}

__kernel void divergence(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *div, float scale)
{
    grid g = BOX;
    position at = ITEM_CELL;
    if (is_inner(g, at)) divergence_cell(u, v, w, div, g, at, scale);
}

__kernel void gradient(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p)
{
    grid g = BOX;
    position at = ITEM_CELL;
    if (is_inner(g, at)) gradient_cell(u, v, w, p, g, at);
}
#endif

/* Direct solution of the pressure equation (cosine.h).
 *
 * Layout: modes[NZ][NY][PITCH] holds the right-hand side, then its cosine modes, then
 * the pressure; PITCH is NX, rounded up to whole vectors. A work-item transforms one
 * vector of columns (transform_y, transform_z), or solves along x for one vector of
 * planes (solve_x). Its private arrays hold two rows of vectors.
 */

FN dct_plan make_plan(int n, GLOBAL const float *table)
{
    dct_plan c = {n, n, table, table + n};
    while (c.odd % 2 == 0) c.odd /= 2;
    return c;
}

/* Transforms one vector of columns of plane k along y: forward from the field x to
 * modes, or inverse back to the field, with ghost cells. */
__kernel void transform_y(GLOBAL float *x, GLOBAL float *modes,
                          GLOBAL const float *table, int inverse)
{
    grid g = BOX;
    int first = 1 + LANES * get_global_id(0), k = 1 + get_global_id(1);
    int count = g.nx - first + 1 < LANES ? g.nx - first + 1 : LANES;
    if (count <= 0 || k > g.nz) return;

    lanes v[NY], w[NY];
    GLOBAL float *plane = modes + (size_t)PITCH * NY * (k - 1) + first - 1;
    for (int j = 0; j < NY; j++) {
        v[j] = each(0);
        if (inverse)
            v[j] = load(plane + PITCH * j);
        else
            for (int l = 0; l < count; l++)
                lane(v[j], l) = x[cell_index(g, first + l, 1 + j, k)];
    }
    dct_plan c = make_plan(NY, table);
    lanes *result = inverse ? dct3(c, v, w) : dct2(c, v, w);
    for (int j = 0; j < NY; j++)
        if (inverse)
            for (int l = 0; l < count; l++) {
                position at = {first + l, 1 + j, k};
                store(x, g, at, SCALAR, lane(result[j], l));
            }
        else
            unload(plane + PITCH * j, result[j]);
}

/* Transforms one vector of columns of row j along z, in place. */
__kernel void transform_z(GLOBAL float *modes, GLOBAL const float *table, int inverse)
{
    int first = LANES * get_global_id(0), j = get_global_id(1);
    if (first >= PITCH || j >= NY) return;

    lanes v[NZ], w[NZ];
    GLOBAL float *xz_slab = modes + PITCH * j + first;
    for (int k = 0; k < NZ; k++) v[k] = load(xz_slab + (size_t)PITCH * NY * k);
    dct_plan c = make_plan(NZ, table);
    lanes *result = inverse ? dct3(c, v, w) : dct2(c, v, w);
    for (int k = 0; k < NZ; k++) unload(xz_slab + (size_t)PITCH * NY * k, result[k]);
}

/* Solves along x for one vector of modes along z. table_y and table_z hold the
 * eigenvalues of the modes, then their scale factors. */
__kernel void solve_x(GLOBAL float *modes, GLOBAL const float *table_y,
                      GLOBAL const float *table_z)
{
    int first = LANES * get_global_id(0), j = get_global_id(1);
    int count = NZ - first < LANES ? NZ - first : LANES;
    if (count <= 0 || j >= NY) return;

    lanes v[NX], w[NX], eigenvalue = each(1);
    GLOBAL float *xz_slab = modes + PITCH * j;
    size_t plane = (size_t)PITCH * NY;
    for (int i = 0; i < NX; i++) v[i] = each(0);
    for (int l = 0; l < count; l++) {
        int k = first + l;
        float scale = table_y[NY + j] * table_z[NZ + k];
        lane(eigenvalue, l) = table_y[j] + table_z[k];
        for (int i = 0; i < NX; i++) lane(v[i], l) = scale * xz_slab[plane * k + i];
    }
    thomas_solve(v, w, NX, eigenvalue);
    for (int l = 0; l < count; l++)
        for (int i = 0; i < NX; i++) xz_slab[plane * (first + l) + i] = lane(v[i], l);
}
