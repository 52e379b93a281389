/* body.h - the computation for one cell, for each operation of a time step.
 *
 * Method: stable fluids (J. Stam, SIGGRAPH 1999): implicit diffusion and pressure by
 * Gauss-Seidel relaxation in red-black order, semi-Lagrangian advection with trilinear
 * interpolation, and projection onto divergence-free fields.
 *
 * Layout: a field is split by colour, first all red cells (odd i + j + k), then all
 * black ones. Each half is an array [nz + 2][ny + 2][row], row = (nx + 3) / 2, and cell
 * i is stored at index i / 2 of its row. For nx = 6:
 *
 *      j + k even   i:  0 1 2 3 4 5 6 7       j + k odd   i:  0 1 2 3 4 5 6 7
 *                       B R B R B R B R                       R B R B R B R B
 *      red row          1   3   5   7         red row         0   2   4   6
 *      black row        0   2   4   6         black row       1   3   5   7
 *
 * All six neighbours of a cell are in the other half. There, the neighbours along y and
 * z are one row and one plane away from the cell's own index, and the two along x are
 * at the indices west_index() and west_index() + 1. The caller passes inner cells only.
 */
#include "grid.h"
#include "portable.h"

HOST_DEVICE_FN int row_stride(grid g)
{
    return (g.nx + 3) / 2;
}

HOST_DEVICE_FN int plane_stride(grid g)
{
    return row_stride(g) * (g.ny + 2);
}

HOST_DEVICE_FN int half_size(grid g)
{
    return plane_stride(g) * (g.nz + 2);
}

/* half_index: index of the cell (i, j, k) in its half; 0 .. n + 1 along each axis.
 * half_offset: index at which the half of this cell begins. cell_index: their sum, the
 * index in a field. */
HOST_DEVICE_FN int half_index(grid g, int i, int j, int k)
{
    return i / 2 + row_stride(g) * j + plane_stride(g) * k;
}

HOST_DEVICE_FN int half_offset(grid g, int i, int j, int k)
{
    return (i + j + k) % 2 ? 0 : half_size(g);
}

HOST_DEVICE_FN int cell_index(grid g, int i, int j, int k)
{
    return half_offset(g, i, j, k) + half_index(g, i, j, k);
}

/* Index, in the other half, of the neighbour at i - 1 of a cell i whose index is idx.
 * The neighbour at i + 1 follows it. */
FN int west_index(int idx, int i)
{
    return idx - 1 + i % 2;
}

/* Writes a cell and, if it lies at a wall, its ghost cells. No other cell uses these
 * ghost cells. */
FN void store(GLOBAL float *x, grid g, int i, int j, int k, int wall, float value)
{
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

/* Coordinate along an axis of n cells from which the flow reaches this cell, clamped to
 * the walls at 0.5 and n + 0.5. NaN becomes 0.5, so that the index stays valid. */
FN float backtrace(int cell, float distance, int n)
{
    float x = cell - distance;
    x = x > 0.5f ? x : 0.5f;
    return x < n + 0.5f ? x : n + 0.5f;
}

/* Semi-Lagrangian advection of one cell: interpolates d0 trilinearly at the point from
 * which the flow (u, v, w) reaches the cell in dt. Velocity is in box lengths per
 * unit of time; a box is n cells long. */
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

    /* Corners of the interpolation cube that differ in one or three coordinates have
     * different colours. same: the half that contains the corner (i0, j0, k0); other:
     * the other half; 0 or 1: column i0 or i0 + 1. */
    int corner = row * j0 + plane * k0;
    int same0 = corner + half_offset(g, i0, j0, k0) + i0 / 2;
    int other1 = corner + half_offset(g, i0 + 1, j0, k0) + (i0 + 1) / 2;
    int other0 = other1 - i0 % 2, same1 = same0 + i0 % 2;
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

/* Right-hand side of the pressure equation; scale is -1/2 divided by the number of
 * cells along the longest side. idx is the cell's index in the other half; its
 * neighbours along x are at west and west + 1. */
FN float outflow(GLOBAL const float *u, GLOBAL const float *v, GLOBAL const float *w,
                 int idx, int west, int row, int plane, float scale)
{
    return scale * (u[west + 1] - u[west] + v[idx + row] - v[idx - row] +
                    w[idx + plane] - w[idx - plane]);
}

/* Stores it for one cell, and sets the pressure to 0, its initial value. */
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

/* Subtracts the gradient of the pressure from the velocity of one cell. */
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
