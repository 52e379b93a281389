/* body.h - what one cell costs, in each of the things a time step does.
 *
 * A field is (nx + 2)(ny + 2)(nz + 2) floats, i next in memory. A cell is named by its
 * (i, j, k); its neighbours in the three directions lie 1, a row and a plane away.
 */
#include "grid.h"
#include "portable.h"

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

/* How far it is between two numbers, as an integer that is the larger the farther: the
 * bits of floats that are not negative are in their order, and NaN is above all. */
BOTH_FN int change_bits(float a, float b)
{
    union {
        float number;
        int bits;
    } u;
    u.number = fabsf(a - b);
    return u.bits;
}

BOTH_FN float bits_to_change(int bits)
{
    union {
        float number;
        int bits;
    } u;
    u.bits = bits;
    return u.number;
}

BOTH_FN int maximum(int a, int b)
{
    return a > b ? a : b;
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

/* What a cell becomes by one relaxation towards the solution of c x - a (sum of
 * neighbours) = x0; over_c is 1 / c. */
FN float relaxed_value(float x0, float west, float east, float south, float north,
                       float below, float above, float a, float inv_c)
{
    return (x0 + a * (west + east + south + north + below + above)) * inv_c;
}

/* Relaxes a cell. Returns how far it moved, in bits. */
FN int relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, int i, int j, int k,
                  int wall, float a, float inv_c)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    float old_value = x[idx];
    float new_value =
        relaxed_value(x0[idx], x[idx - 1], x[idx + 1], x[idx - row], x[idx + row],
                      x[idx - plane], x[idx + plane], a, inv_c);
    store(x, g, i, j, k, wall, new_value);
    return change_bits(new_value, old_value);
}

/* The same for the cells of a colour in two columns side by side, the lower of which is
 * i, upwards from plane first to last: in each plane one of the two has the colour. The
 * other one is a neighbour of three of them, below, beside and above, and is loaded
 * once. */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int wall, float a, float inv_c)
{
    int row = row_stride(g), plane = plane_stride(g), max_change = 0;
    int right = (i + j + first + colour) % 2 == 0; /* the cell is in the right column */
    int idx = cell_index(g, i + right, j, first);
    float below = x[idx - plane], partner = x[right ? idx - 1 : idx + 1];

    for (int k = first; k <= last; k++) {
        float above = x[idx + plane];
        if (i + right <= g.nx) {
            float west = right ? partner : x[idx - 1];
            float east = right ? x[idx + 1] : partner;
            float old_value = x[idx];
            float new_value = relaxed_value(x0[idx], west, east, x[idx - row],
                                            x[idx + row], below, above, a, inv_c);
            store(x, g, i + right, j, k, wall, new_value);
            max_change = maximum(max_change, change_bits(new_value, old_value));
        }
        idx += right ? plane - 1 : plane + 1;
        right = !right;
        below = partner;
        partner = above;
    }
    return max_change;
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

/* How much flows out of a cell, as the pressure's equation wants it: scale is -1/2 over
 * the longest side. The pressure starts from 0. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, int i, int j, int k, float scale)
{
    int idx = cell_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    float div_value = scale * (u[idx + 1] - u[idx - 1] + v[idx + row] - v[idx - row] +
                               w[idx + plane] - w[idx - plane]);
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
