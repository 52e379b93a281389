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
#include <math.h>

#include "fluid.h"

static int row_stride(grid g)
{
    return g.nx + 2;
}

static int plane_stride(grid g)
{
    return row_stride(g) * (g.ny + 2);
}

/* Index of the cell (i, j, k) in a field; 0 .. n + 1 along each axis. */
static int cell_index(grid g, int i, int j, int k)
{
    return i + row_stride(g) * j + plane_stride(g) * k;
}

/* The larger of two non-negative numbers; NaN if either is NaN. */
static float maximum(float a, float b)
{
    return b > a || isnan(b) ? b : a;
}

/* Relaxes one cell towards the solution of c x - a (sum of neighbours) = x0. Returns
 * its absolute change. */
static float relax_cell(float *x, const float *x0, grid g, position at, float a,
                        float c)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    float old_value = x[idx];
    x[idx] = (x0[idx] + a * (x[idx - 1] + x[idx + 1] + x[idx - row] + x[idx + row] +
                             x[idx - plane] + x[idx + plane])) /
             c;
    return fabsf(x[idx] - old_value);
}

/* Set the ghost cells at the two walls across one axis to sign times their inner
 * neighbours. */
static void mirror_x(float *x, grid g, int j, int k, float sign)
{
    x[cell_index(g, 0, j, k)] = sign * x[cell_index(g, 1, j, k)];
    x[cell_index(g, g.nx + 1, j, k)] = sign * x[cell_index(g, g.nx, j, k)];
}

static void mirror_y(float *x, grid g, int i, int k, float sign)
{
    x[cell_index(g, i, 0, k)] = sign * x[cell_index(g, i, 1, k)];
    x[cell_index(g, i, g.ny + 1, k)] = sign * x[cell_index(g, i, g.ny, k)];
}

static void mirror_z(float *x, grid g, int i, int j, float sign)
{
    x[cell_index(g, i, j, 0)] = sign * x[cell_index(g, i, j, 1)];
    x[cell_index(g, i, j, g.nz + 1)] = sign * x[cell_index(g, i, j, g.nz)];
}

/* Coordinate along an axis of n cells from which the flow reaches this cell, clamped to
 * the walls at 0.5 and n + 0.5. NaN becomes 0.5, so that the index stays valid. */
static float backtrace(int cell, float distance, int n)
{
    float x = cell - distance;
    x = x > 0.5f ? x : 0.5f;
    return x < n + 0.5f ? x : n + 0.5f;
}

/* Semi-Lagrangian advection: returns d0 at the point from which the flow (u, v, w)
 * reaches a cell in dt, by trilinear interpolation. Velocity is in box lengths per unit
 * of time; a box is n cells long. */
static float advected_value(const float *d0, const float *u, const float *v,
                            const float *w, grid g, position at, float dt)
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

    const float *plane0 = d0 + cell_index(g, i0, j0, k0), *plane1 = plane0 + plane;
    return z0 * (y0 * (x0 * plane0[0] + x1 * plane0[1]) +
                 y1 * (x0 * plane0[row] + x1 * plane0[row + 1])) +
           z1 * (y0 * (x0 * plane1[0] + x1 * plane1[1]) +
                 y1 * (x0 * plane1[row] + x1 * plane1[row + 1]));
}

/* Right-hand side of the pressure equation: -1/2 (divergence) / n; n is the number of
 * cells along the longest side. Sets the pressure to 0, its initial value. */
static void divergence_cell(const float *u, const float *v, const float *w, float *p,
                            float *div, grid g, position at, int n)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    div[idx] = -0.5f *
               (u[idx + 1] - u[idx - 1] + v[idx + row] - v[idx - row] + w[idx + plane] -
                w[idx - plane]) /
               n;
    p[idx] = 0;
}

/* Subtracts the gradient of the pressure from the velocity of one cell. */
static void gradient_cell(float *u, float *v, float *w, const float *p, grid g,
                          position at)
{
    int idx = cell_index(g, at.i, at.j, at.k);
    int row = row_stride(g), plane = plane_stride(g);
    u[idx] -= 0.5f * (p[idx + 1] - p[idx - 1]);
    v[idx] -= 0.5f * (p[idx + row] - p[idx - row]);
    w[idx] -= 0.5f * (p[idx + plane] - p[idx - plane]);
}
