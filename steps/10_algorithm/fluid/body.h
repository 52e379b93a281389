/* body.h - what one cell costs, in each of the things a time step does.
 *
 * A cell is named by its (i, j, k). A field is two halves, first the red cells (odd i +
 * j + k) and then the black, each of them nz + 2 planes of ny + 2 rows of every other
 * cell: cell i lies at i / 2. All neighbours of a cell are in the other half; those
 * along y and z lie a row and a plane away from its own place there.
 */
#include "grid.h"
#include "portable.h"

BOTH_FN int row_stride(grid g)
{
    return (g.nx + 3) / 2;
}

BOTH_FN int plane_stride(grid g)
{
    return row_stride(g) * (g.ny + 2);
}

BOTH_FN int half_size(grid g)
{
    return plane_stride(g) * (g.nz + 2);
}

/* Where the cell (i, j, k), 0 .. n + 1 each, lies in its half, where that begins, and
 * where the cell lies in a field. */
BOTH_FN int half_index(grid g, int i, int j, int k)
{
    return i / 2 + row_stride(g) * j + plane_stride(g) * k;
}

BOTH_FN int half_offset(grid g, int i, int j, int k)
{
    return (i + j + k) % 2 ? 0 : half_size(g);
}

BOTH_FN int cell_index(grid g, int i, int j, int k)
{
    return half_offset(g, i, j, k) + half_index(g, i, j, k);
}

/* Where the lower neighbour along x of cell i, which lies here in its half, lies in the
 * other half; the upper one follows. */
FN int west_index(int idx, int i)
{
    return idx - 1 + i % 2;
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
FN float advected_value(GLOBAL const float *d0, float u, float v, float w, grid g,
                        int i, int j, int k, float dt)
{
    int row = row_stride(g), plane = plane_stride(g);
    float x = backtrace(i, dt * g.nx * u, g.nx);
    float y = backtrace(j, dt * g.ny * v, g.ny);
    float z = backtrace(k, dt * g.nz * w, g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    /* Corners that differ in one or three coordinates have different colours. */
    int corner = row * j0 + plane * k0;
    int same0 = corner + half_offset(g, i0, j0, k0) + i0 / 2;
    int other1 = corner + half_offset(g, i0 + 1, j0, k0) + (i0 + 1) / 2;
    int other0 = other1 - i0 % 2, same1 = same0 + i0 % 2; /* beside them */
    return z0 * (y0 * (x0 * d0[same0] + x1 * d0[other1]) +
                 y1 * (x0 * d0[other0 + row] + x1 * d0[same1 + row])) +
           z1 * (y0 * (x0 * d0[other0 + plane] + x1 * d0[same1 + plane]) +
                 y1 * (x0 * d0[same0 + plane + row] + x1 * d0[other1 + plane + row]));
}

FN void advect_cell(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                    GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                    int k, int wall, float dt)
{
    int idx = cell_index(g, i, j, k);
    store(d, g, i, j, k, wall,
          advected_value(d0, u[idx], v[idx], w[idx], g, i, j, k, dt));
}

/* How much flows out of a cell, as the pressure's equation wants it: scale is -1/2 over
 * the longest side. Its neighbours are around here, along x at left and the next. */
FN float outflow(GLOBAL const float *u, GLOBAL const float *v, GLOBAL const float *w,
                 int idx, int west, int row, int plane, float scale)
{
    return scale * (u[west + 1] - u[west] + v[idx + row] - v[idx - row] +
                    w[idx + plane] - w[idx - plane]);
}

/* Notes it for a cell, and lets the pressure start from 0. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, int i, int j, int k, float scale)
{
    int idx = half_offset(g, i + 1, j, k) + half_index(g, i, j, k),
        west = west_index(idx, i);
    float div_value =
        outflow(u, v, w, idx, west, row_stride(g), plane_stride(g), scale);
    store(div, g, i, j, k, SCALAR, div_value);
    store(p, g, i, j, k, SCALAR, 0);
}

/* Takes the pressure's gradient away from the velocity of a cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, int i, int j, int k)
{
    int row = row_stride(g), plane = plane_stride(g), own = cell_index(g, i, j, k);
    int idx = half_offset(g, i + 1, j, k) + half_index(g, i, j, k),
        west = west_index(idx, i);
    store(u, g, i, j, k, ALONG_X, u[own] - 0.5f * (p[west + 1] - p[west]));
    store(v, g, i, j, k, ALONG_Y, v[own] - 0.5f * (p[idx + row] - p[idx - row]));
    store(w, g, i, j, k, ALONG_Z, w[own] - 0.5f * (p[idx + plane] - p[idx - plane]));
}
