/* body.h - the computation for one cell, for each operation of a time step.
 *
 * Method: stable fluids (J. Stam, SIGGRAPH 1999): implicit diffusion and pressure by
 * Gauss-Seidel relaxation in red-black order, semi-Lagrangian advection with trilinear
 * interpolation, and projection onto divergence-free fields.
 *
 * Layout: a field is an array [nz + 2][ny + 2][nx + 2] of floats, x fastest, with one
 * layer of ghost cells. The neighbours of a cell lie 1, one row and one plane away. The
 * caller passes inner cells (1 .. n along each axis) and fills the ghost cells first.
 */
#include "grid.h"
#include "portable.h"

/* Number of partial maxima in the two-stage reduction of the largest change. */
#define PARTIALS 64

HOST_DEVICE_FN int row_stride(grid g)
{
    return g.nx + 2;
}

HOST_DEVICE_FN int plane_stride(grid g)
{
    return row_stride(g) * (g.ny + 2);
}

/* Index of the cell (i, j, k) in a field; 0 .. n + 1 along each axis. */
HOST_DEVICE_FN int cell_index(grid g, int i, int j, int k)
{
    return i + row_stride(g) * j + plane_stride(g) * k;
}

/* Number of work-items along x for one colour: half the cells of a row, rounded up. */
HOST_DEVICE_FN int row_items(grid g)
{
    return (g.nx + 1) / 2;
}

/* True if the cell lies in the box; its indices are at least 1. */
FN int is_inner(grid g, position at)
{
    return at.i <= g.nx && at.j <= g.ny && at.k <= g.nz;
}

/* Absolute change of a cell as the bits of a non-negative float. Interpreted as
 * integers, these bits have the same order as the floats, and NaN is larger than any
 * number. */
HOST_DEVICE_FN int change_bits(float a, float b)
{
    union {
        float number;
        int bits;
    } u;
    u.number = fabsf(a - b);
    return u.bits;
}

HOST_DEVICE_FN float bits_to_change(int bits)
{
    union {
        float number;
        int bits;
    } u;
    u.bits = bits;
    return u.number;
}

HOST_DEVICE_FN int maximum(int a, int b)
{
    return a > b ? a : b;
}

/* Writes a cell and, if it lies at a wall, its ghost cells. No other cell uses these
 * ghost cells. */
FN void store(GLOBAL float *x, grid g, position at, int wall, float value)
{
    int i = at.i, j = at.j, k = at.k;
    x[cell_index(g, i, j, k)] = value;

    /* a single branch, rarely taken, for most cells */
    if (!((i == 1) | (i == g.nx) | (j == 1) | (j == g.ny) | (k == 1) | (k == g.nz)))
        return;

    float ghost_x = wall == ALONG_X ? -value : value;
    float ghost_y = wall == ALONG_Y ? -value : value;
    float ghost_z = wall == ALONG_Z ? -value : value;
    if (i == 1) x[cell_index(g, 0, j, k)] = ghost_x;
    if (i == g.nx) x[cell_index(g, g.nx + 1, j, k)] = ghost_x;
    if (j == 1) x[cell_index(g, i, 0, k)] = ghost_y;
    if (j == g.ny) x[cell_index(g, i, g.ny + 1, k)] = ghost_y;
    if (k == 1) x[cell_index(g, i, j, 0)] = ghost_z;
    if (k == g.nz) x[cell_index(g, i, j, g.nz + 1)] = ghost_z;
}

/* Relaxes one cell towards the solution of c x - a (sum of neighbours) = x0; inv_c is 1
 * / c. Returns its absolute change as bits (change_bits). */
FN int relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, position at,
                  int wall, float a, float inv_c)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    float old_value = x[idx];
    float new_value = (x0[idx] + a * (x[idx - 1] + x[idx + 1] + x[idx - row] +
                                      x[idx + row] + x[idx - plane] + x[idx + plane])) *
                      inv_c;
    store(x, g, at, wall, new_value);
    return change_bits(new_value, old_value);
}

/* Coordinate along an axis of n cells from which the flow reaches this cell, clamped to
 * the walls at 0.5 and n + 0.5. NaN becomes 0.5, so that the index stays valid. */
FN float backtrace(int cell, float distance, int n)
{
    float x = cell - distance;
    x = x > 0.5f ? x : 0.5f;
    return x < n + 0.5f ? x : n + 0.5f;
}

/* Semi-Lagrangian advection: returns d0 at the point from which the flow (u, v, w)
 * reaches a cell in dt, by trilinear interpolation. Velocity is in box lengths per unit
 * of time; a box is n cells long. */
FN float advected_value(GLOBAL const float *d0, GLOBAL const float *u,
                        GLOBAL const float *v, GLOBAL const float *w, grid g,
                        position at, float dt)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    float x = backtrace(at.i, dt * g.nx * u[idx], g.nx);
    float y = backtrace(at.j, dt * g.ny * v[idx], g.ny);
    float z = backtrace(at.k, dt * g.nz * w[idx], g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    GLOBAL const float *plane0 = d0 + cell_index(g, i0, j0, k0),
                       *plane1 = plane0 + plane;
    return z0 * (y0 * (x0 * plane0[0] + x1 * plane0[1]) +
                 y1 * (x0 * plane0[row] + x1 * plane0[row + 1])) +
           z1 * (y0 * (x0 * plane1[0] + x1 * plane1[1]) +
                 y1 * (x0 * plane1[row] + x1 * plane1[row + 1]));
}

/* Right-hand side of the pressure equation; scale is -1/2 divided by the number of
 * cells along the longest side. Sets the pressure to 0, its initial value. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, position at, float scale)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    float div_value = scale * (u[idx + 1] - u[idx - 1] + v[idx + row] - v[idx - row] +
                               w[idx + plane] - w[idx - plane]);
    store(div, g, at, SCALAR, div_value);
    store(p, g, at, SCALAR, 0);
}

/* Subtracts the gradient of the pressure from the velocity of one cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, position at)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    store(u, g, at, ALONG_X, u[idx] - 0.5f * (p[idx + 1] - p[idx - 1]));
    store(v, g, at, ALONG_Y, v[idx] - 0.5f * (p[idx + row] - p[idx - row]));
    store(w, g, at, ALONG_Z, w[idx] - 0.5f * (p[idx + plane] - p[idx - plane]));
}
