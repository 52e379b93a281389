/* body.h - what one cell costs, in each of the things a time step does.
 *
 * A field is (nx + 2)(ny + 2)(nz + 2) floats, i next in memory. A cell is named by its
 * (i, j, k); its neighbours in the three directions lie 1, a row and a plane away.
 */
#include "grid.h"
#include "portable.h"

/* Of how many parts the largest move is found in two stages. */
#define PARTIALS 64

BOTH_FN int row_stride(grid g)
{
    return g.nx + 2;
}

BOTH_FN int plane_stride(grid g)
{
    return row_stride(g) * (g.ny + 2);
}

/* Where the cell (i, j, k) lies in a field, 0 .. n + 1 each. */
BOTH_FN int cell_index(grid g, int i, int j, int k)
{
    return i + row_stride(g) * j + plane_stride(g) * k;
}

/* How many cells of one colour a row has, or one more: the lanes along x. */
BOTH_FN int row_items(grid g)
{
    return (g.nx + 1) / 2;
}

/* The larger of two numbers that are not negative; NaN is larger than any. */
BOTH_FN float maximum(float a, float b)
{
    return b > a || isnan(b) ? b : a;
}

/* Writes a cell, and its ghosts where it lies at a wall: nobody else reads those. */
FN void store(GLOBAL float *x, grid g, int i, int j, int k, int wall, float value)
{
    x[cell_index(g, i, j, k)] = value;

    /* One branch a cell, and rarely taken. */
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

/* One relaxation of a cell towards the solution of c x - a (sum of neighbours) = x0;
 * returns how far it moved. */
FN float relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, int i, int j,
                    int k, int wall, float a, float c)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    float old_value = x[idx];
    float new_value = (x0[idx] + a * (x[idx - 1] + x[idx + 1] + x[idx - row] +
                                      x[idx + row] + x[idx - plane] + x[idx + plane])) /
                      c;
    store(x, g, i, j, k, wall, new_value);
    return fabsf(new_value - old_value);
}

/* Where along an axis of n cells the flow came from, at most half a cell beyond the
 * outermost: NaN too ends up there. */
FN float backtrace(int cell, float distance, int n)
{
    float x = cell - distance;
    x = x > 0.5f ? x : 0.5f;
    return x < n + 0.5f ? x : n + 0.5f;
}

/* What the flow (u, v, w) brings to a cell in dt: d0 there where it came from, between
 * eight cells. Velocity is in boxes, n cells long, a unit of time. */
FN void advect_cell(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                    GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                    int k, int wall, float dt)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    float x = backtrace(i, dt * g.nx * u[idx], g.nx);
    float y = backtrace(j, dt * g.ny * v[idx], g.ny);
    float z = backtrace(k, dt * g.nz * w[idx], g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    GLOBAL const float *plane0 = d0 + cell_index(g, i0, j0, k0),
                       *plane1 = plane0 + plane;
    float value = z0 * (y0 * (x0 * plane0[0] + x1 * plane0[1]) +
                        y1 * (x0 * plane0[row] + x1 * plane0[row + 1])) +
                  z1 * (y0 * (x0 * plane1[0] + x1 * plane1[1]) +
                        y1 * (x0 * plane1[row] + x1 * plane1[row + 1]));
    store(d, g, i, j, k, wall, value);
}

/* How much flows out of a cell, as the pressure's equation wants it; n is the longest
 * side. The pressure starts from 0. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, int i, int j, int k, int n)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    float div_value = -0.5f *
                      (u[idx + 1] - u[idx - 1] + v[idx + row] - v[idx - row] +
                       w[idx + plane] - w[idx - plane]) /
                      n;
    store(div, g, i, j, k, SCALAR, div_value);
    store(p, g, i, j, k, SCALAR, 0);
}

/* Takes the pressure's gradient away from the velocity of a cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, int i, int j, int k)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    store(u, g, i, j, k, ALONG_X, u[idx] - 0.5f * (p[idx + 1] - p[idx - 1]));
    store(v, g, i, j, k, ALONG_Y, v[idx] - 0.5f * (p[idx + row] - p[idx - row]));
    store(w, g, i, j, k, ALONG_Z, w[idx] - 0.5f * (p[idx + plane] - p[idx - plane]));
}
