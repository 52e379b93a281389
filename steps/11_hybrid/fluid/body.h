/* body.h - what one cell costs, in each of the things a time step does.
 *
 * A cell is named by its (i, j, k). A field is two halves, first the red cells (odd i +
 * j + k) and then the black, each of them nz + 2 planes of ny + 2 rows of every other
 * cell: cell i lies at i / 2. All neighbours of a cell are in the other half; those
 * along y and z lie a row and a plane away from its own place there.
 */
#include "grid.h"
#include "portable.h"

BOTH_FN int row_of(grid g)
{
    return (g.nx + 3) / 2;
}

BOTH_FN int plane_of(grid g)
{
    return row_of(g) * (g.ny + 2);
}

BOTH_FN int half_of(grid g)
{
    return plane_of(g) * (g.nz + 2);
}

/* Where the cell (i, j, k), 0 .. n + 1 each, lies in its half, where that begins, and
 * where the cell lies in a field. */
BOTH_FN int place(grid g, int i, int j, int k)
{
    return i / 2 + row_of(g) * j + plane_of(g) * k;
}

BOTH_FN int half_at(grid g, int i, int j, int k)
{
    return (i + j + k) % 2 ? 0 : half_of(g);
}

BOTH_FN int at(grid g, int i, int j, int k)
{
    return half_at(g, i, j, k) + place(g, i, j, k);
}

/* Where the lower neighbour along x of cell i, which lies here in its half, lies in the
 * other half; the upper one follows. */
FN int left_of(int here, int i)
{
    return here - 1 + i % 2;
}

/* Writes a cell, and its ghosts where it lies at a wall: nobody else reads those. */
FN void store(GLOBAL float *x, grid g, int i, int j, int k, int wall, float value)
{
    x[at(g, i, j, k)] = value;

    /* One branch a cell, and rarely taken. */
    if (!((i == 1) | (i == g.nx) | (j == 1) | (j == g.ny) | (k == 1) | (k == g.nz)))
        return;

    float across_x = wall == ALONG_X ? -value : value;
    float across_y = wall == ALONG_Y ? -value : value;
    float across_z = wall == ALONG_Z ? -value : value;
    if (i == 1) x[at(g, 0, j, k)] = across_x;
    if (i == g.nx) x[at(g, g.nx + 1, j, k)] = across_x;
    if (j == 1) x[at(g, i, 0, k)] = across_y;
    if (j == g.ny) x[at(g, i, g.ny + 1, k)] = across_y;
    if (k == 1) x[at(g, i, j, 0)] = across_z;
    if (k == g.nz) x[at(g, i, j, g.nz + 1)] = across_z;
}

/* Where along an axis of n cells the flow came from, at most half a cell beyond the
 * outermost: NaN too ends up there. */
FN float origin(int cell, float distance, int n)
{
    float x = cell - distance;
    x = x > 0.5f ? x : 0.5f;
    return x < n + 0.5f ? x : n + 0.5f;
}

/* What the flow (u, v, w) brings to a cell in dt: d0 there where it came from, between
 * eight cells. Velocity is in boxes, n cells long, a unit of time. */
FN float carried(GLOBAL const float *d0, float u, float v, float w, grid g, int i,
                 int j, int k, float dt)
{
    int row = row_of(g), plane = plane_of(g);
    float x = origin(i, dt * g.nx * u, g.nx);
    float y = origin(j, dt * g.ny * v, g.ny);
    float z = origin(k, dt * g.nz * w, g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    /* Corners that differ in one or three coordinates have different colours. */
    int corner = row * j0 + plane * k0;
    int near = corner + half_at(g, i0, j0, k0) + i0 / 2;
    int odd = corner + half_at(g, i0 + 1, j0, k0) + (i0 + 1) / 2;
    int back = odd - i0 % 2, even = near + i0 % 2; /* beside them */
    return z0 * (y0 * (x0 * d0[near] + x1 * d0[odd]) +
                 y1 * (x0 * d0[back + row] + x1 * d0[even + row])) +
           z1 * (y0 * (x0 * d0[back + plane] + x1 * d0[even + plane]) +
                 y1 * (x0 * d0[near + plane + row] + x1 * d0[odd + plane + row]));
}

FN void advect_cell(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                    GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                    int k, int wall, float dt)
{
    int here = at(g, i, j, k);
    store(d, g, i, j, k, wall, carried(d0, u[here], v[here], w[here], g, i, j, k, dt));
}

/* How much flows out of a cell, as the pressure's equation wants it: scale is -1/2 over
 * the longest side. Its neighbours are around here, along x at left and the next. */
FN float outflow(GLOBAL const float *u, GLOBAL const float *v, GLOBAL const float *w,
                 int here, int left, int row, int plane, float scale)
{
    return scale * (u[left + 1] - u[left] + v[here + row] - v[here - row] +
                    w[here + plane] - w[here - plane]);
}

/* Notes it for a cell, and lets the pressure start from 0. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, int i, int j, int k, float scale)
{
    int here = half_at(g, i + 1, j, k) + place(g, i, j, k), left = left_of(here, i);
    float out = outflow(u, v, w, here, left, row_of(g), plane_of(g), scale);
    store(div, g, i, j, k, SCALAR, out);
    store(p, g, i, j, k, SCALAR, 0);
}

/* Takes the pressure's gradient away from the velocity of a cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, int i, int j, int k)
{
    int row = row_of(g), plane = plane_of(g), mine = at(g, i, j, k);
    int here = half_at(g, i + 1, j, k) + place(g, i, j, k), left = left_of(here, i);
    store(u, g, i, j, k, ALONG_X, u[mine] - 0.5f * (p[left + 1] - p[left]));
    store(v, g, i, j, k, ALONG_Y, v[mine] - 0.5f * (p[here + row] - p[here - row]));
    store(w, g, i, j, k, ALONG_Z, w[mine] - 0.5f * (p[here + plane] - p[here - plane]));
}
