/* body.h - the computation for one cell, for each operation of a time step.
 *
 * Method: stable fluids (J. Stam, SIGGRAPH 1999): implicit diffusion and pressure by
 * Gauss-Seidel relaxation in red-black order, semi-Lagrangian advection with trilinear
 * interpolation, and projection onto divergence-free fields.
 *
 * Layout: cell (i, j, k) has the flat index f = i + R j + P k. The row pitch R and the
 * plane pitch P are odd, so f is odd exactly if i + j + k is: the red cells are those
 * with odd f. A field is split by colour, first all red cells, then all black ones, and
 * a cell is stored at index f / 2 of its half. For nx = 6, R = 9:
 *
 *      row j = 0   f:  0  1  2  3  4  5  6  7 |  8    i = 0 .. 7, one float of padding
 *      row j = 1   f:  9 10 11 12 13 14 15 16 | 17
 *
 *      red half        1  3  5  7  9 11 13 15 17 ..
 *      black half      0  2  4  6  8 10 12 14 16 ..
 *
 * A half begins and ends with MARGIN unused floats, and the flat indices with 2 MARGIN,
 * so that a vector may begin before the first cell and end after the last.
 *
 * The six neighbours of a cell are at f - 1, f + 1, f - R, f + R, f - P and f + P. All
 * are odd distances, so they lie in the other half, each at the same distance for all
 * cells of a colour, in every row. The caller passes inner cells only.
 */
#include "grid.h"
#include "portable.h"

enum { MARGIN = 16 }; /* at least the lanes of a vector */

HOST_DEVICE_FN int row_pitch(grid g)
{
    return (g.nx + 2) | 1;
}

HOST_DEVICE_FN int plane_pitch(grid g)
{
    return (row_pitch(g) * (g.ny + 2)) | 1;
}

HOST_DEVICE_FN int half_size(grid g)
{
    return (plane_pitch(g) * (g.nz + 2) + 1) / 2 + 2 * MARGIN;
}

/* Flat index of the cell (i, j, k); 0 .. n + 1 along each axis. */
HOST_DEVICE_FN int flat_index(grid g, int i, int j, int k)
{
    return 2 * MARGIN + i + row_pitch(g) * j + plane_pitch(g) * k;
}

/* Index in a field at which the half of the cell with flat index f begins, and that of
 * the cell itself. */
HOST_DEVICE_FN int half_offset(grid g, int f)
{
    return f % 2 ? 0 : half_size(g);
}

HOST_DEVICE_FN int field_index(grid g, int f)
{
    return half_offset(g, f) + f / 2;
}

HOST_DEVICE_FN int cell_index(grid g, int i, int j, int k)
{
    return field_index(g, flat_index(g, i, j, k));
}

/* Number of work-items along x for one colour: half the cells of a row, rounded up. */
HOST_DEVICE_FN int row_items(grid g)
{
    return (g.nx + 1) / 2;
}

/* Column of work-item id of a row, on a device where a work-item computes a cell.
 * Consecutive work-items access consecutive memory: the odd columns first, then the
 * even ones. */
FN int item_column(grid g, int id)
{
    int odd = row_items(g);
    return id < odd ? 1 + 2 * id : 2 + 2 * (id - odd);
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

/* Relaxes the cells of one colour in two adjacent columns, from the cell `at` up to
 * plane `last`, towards the solution of c x - a (sum of neighbours) = x0; inv_c is 1 /
 * c. The first of the columns has an odd i. In each plane exactly one of the two cells
 * has the colour; the other one is its partner. A partner is a neighbour of up to three
 * cells of the colour, in its own plane and in the planes below and above it, and is
 * loaded once (register blocking along z):
 *
 *       k + 1:   cell     partner = above         right = !right in each plane
 *       k:       partner  cell
 *       k - 1:   cell     partner = below
 *
 * Returns the largest change of a cell as bits (change_bits). */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, position at,
                     int last, int wall, float a, float inv_c)
{
    int row = row_pitch(g), plane = plane_pitch(g), max_change = 0;
    int right = at.i % 2 == 0; /* the cell is in the second column */

    /* If nx is odd, the second column of the last pair consists of ghost cells. Skip it
     * in the first and the last plane: there, other work-items write its neighbours. */
    if (at.i - right == g.nx) {
        last -= (right + last - at.k) % 2;
        at.i -= right;
        at.k += right;
        right = 0;
        if (at.k > last) return 0;
    }

    int f = flat_index(g, at.i, at.j, at.k);
    GLOBAL const float *own = x + half_offset(g, f), *other = x + half_offset(g, f + 1);
    x0 += half_offset(g, f);
    float below = other[(f - plane) / 2], partner = other[(f + (right ? -1 : 1)) / 2];

    for (; at.k <= last; at.k++) {
        float above = other[(f + plane) / 2];
        if (at.i <= g.nx) {
            float west = right ? partner : other[(f - 1) / 2];
            float east = right ? other[(f + 1) / 2] : partner;
            float old_value = own[f / 2];
            float new_value = (x0[f / 2] + a * (west + east + other[(f - row) / 2] +
                                                other[(f + row) / 2] + below + above)) *
                              inv_c;
            store(x, g, at, wall, new_value);
            max_change = maximum(max_change, change_bits(new_value, old_value));
        }
        int step = right ? -1 : 1; /* the next cell is in the other column */
        at.i += step;
        f += plane + step;
        right = !right;
        below = partner;
        partner = above;
    }
    return max_change;
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
    float x = backtrace(at.i, dt * g.nx * u[idx], g.nx);
    float y = backtrace(at.j, dt * g.ny * v[idx], g.ny);
    float z = backtrace(at.k, dt * g.nz * w[idx], g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    /* Corners of the interpolation cube that differ in one or three coordinates have
     * different colours. same: the half that contains the corner (i0, j0, k0). */
    int row = row_pitch(g), plane = plane_pitch(g), f = flat_index(g, i0, j0, k0);
    GLOBAL const float *same = d0 + half_offset(g, f),
                       *other = d0 + half_offset(g, f + 1);
    return z0 * (y0 * (x0 * same[f / 2] + x1 * other[(f + 1) / 2]) +
                 y1 * (x0 * other[(f + row) / 2] + x1 * same[(f + row + 1) / 2])) +
           z1 * (y0 * (x0 * other[(f + plane) / 2] + x1 * same[(f + plane + 1) / 2]) +
                 y1 * (x0 * same[(f + plane + row) / 2] +
                       x1 * other[(f + plane + row + 1) / 2]));
}

/* Right-hand side of the pressure equation; scale is -1/2 divided by the number of
 * cells along the longest side. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *div, grid g, position at,
                        float scale)
{
    int f = flat_index(g, at.i, at.j, at.k), row = row_pitch(g), plane = plane_pitch(g);
    int other = half_offset(g, f + 1);
    float div_value = scale * (u[other + (f + 1) / 2] - u[other + (f - 1) / 2] +
                               v[other + (f + row) / 2] - v[other + (f - row) / 2] +
                               w[other + (f + plane) / 2] - w[other + (f - plane) / 2]);
    store(div, g, at, SCALAR, div_value);
}

/* Subtracts the gradient of the pressure from the velocity of one cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, position at)
{
    int f = flat_index(g, at.i, at.j, at.k), row = row_pitch(g), plane = plane_pitch(g);
    int idx = field_index(g, f);
    p += half_offset(g, f + 1);
    store(u, g, at, ALONG_X, u[idx] - 0.5f * (p[(f + 1) / 2] - p[(f - 1) / 2]));
    store(v, g, at, ALONG_Y, v[idx] - 0.5f * (p[(f + row) / 2] - p[(f - row) / 2]));
    store(w, g, at, ALONG_Z, w[idx] - 0.5f * (p[(f + plane) / 2] - p[(f - plane) / 2]));
}
