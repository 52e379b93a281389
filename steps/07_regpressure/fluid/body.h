/* body.h - what one cell costs, in each of the things a time step does.
 *
 * A field is (nx + 2)(ny + 2)(nz + 2) floats, i next in memory. A cell is named by its
 * (i, j, k); its neighbours in the three directions lie 1, a row and a plane away.
 */
#include "grid.h"
#include "portable.h"

BOTH_FN int row_of(grid g)
{
    return g.nx + 2;
}

BOTH_FN int plane_of(grid g)
{
    return row_of(g) * (g.ny + 2);
}

/* Where the cell (i, j, k) lies in a field, 0 .. n + 1 each. */
BOTH_FN int at(grid g, int i, int j, int k)
{
    return i + row_of(g) * j + plane_of(g) * k;
}

/* How many cells of one colour a row has, or one more: the lanes along x. */
BOTH_FN int lanes_of(grid g)
{
    return (g.nx + 1) / 2;
}

/* How far it is between two numbers, as an integer that is the larger the farther: the
 * bits of floats that are not negative are in their order, and NaN is above all. */
BOTH_FN int distance_bits(float a, float b)
{
    union {
        float number;
        int bits;
    } u;
    u.number = fabsf(a - b);
    return u.bits;
}

BOTH_FN float distance_of(int bits)
{
    union {
        float number;
        int bits;
    } u;
    u.bits = bits;
    return u.number;
}

BOTH_FN int larger(int a, int b)
{
    return a > b ? a : b;
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

/* What a cell becomes by one relaxation towards the solution of c x - a (sum of
 * neighbours) = x0; over_c is 1 / c. */
FN float relaxed(float x0, float west, float east, float south, float north,
                 float below, float above, float a, float over_c)
{
    return (x0 + a * (west + east + south + north + below + above)) * over_c;
}

/* Relaxes a cell. Returns how far it moved, in bits. */
FN int relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, int i, int j, int k,
                  int wall, float a, float over_c)
{
    int here = at(g, i, j, k), row = row_of(g), plane = plane_of(g);
    float old = x[here];
    float now = relaxed(x0[here], x[here - 1], x[here + 1], x[here - row],
                        x[here + row], x[here - plane], x[here + plane], a, over_c);
    store(x, g, i, j, k, wall, now);
    return distance_bits(now, old);
}

/* The same for the cells of a colour in two columns side by side, the lower of which is
 * i, upwards from plane first to last: in each plane one of the two has the colour. The
 * other one is a neighbour of three of them, below, beside and above, and is loaded
 * once. */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int wall, float a, float over_c)
{
    int row = row_of(g), plane = plane_of(g), most = 0;
    int right = (i + j + first + colour) % 2 == 0; /* the cell is in the right column */
    int here = at(g, i + right, j, first);
    float below = x[here - plane], beside = x[right ? here - 1 : here + 1];

    for (int k = first; k <= last; k++) {
        float above = x[here + plane];
        if (i + right <= g.nx) {
            float west = right ? beside : x[here - 1];
            float east = right ? x[here + 1] : beside;
            float old = x[here];
            float now = relaxed(x0[here], west, east, x[here - row], x[here + row],
                                below, above, a, over_c);
            store(x, g, i + right, j, k, wall, now);
            most = larger(most, distance_bits(now, old));
        }
        here += right ? plane - 1 : plane + 1;
        right = !right;
        below = beside;
        beside = above;
    }
    return most;
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
FN void advect_cell(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                    GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                    int k, int wall, float dt)
{
    int here = at(g, i, j, k), row = row_of(g), plane = plane_of(g);
    float x = origin(i, dt * g.nx * u[here], g.nx);
    float y = origin(j, dt * g.ny * v[here], g.ny);
    float z = origin(k, dt * g.nz * w[here], g.nz);
    int i0 = (int)x, j0 = (int)y, k0 = (int)z;
    float x1 = x - i0, x0 = 1 - x1;
    float y1 = y - j0, y0 = 1 - y1;
    float z1 = z - k0, z0 = 1 - z1;

    GLOBAL const float *near = d0 + at(g, i0, j0, k0), *far = near + plane;
    float value = z0 * (y0 * (x0 * near[0] + x1 * near[1]) +
                        y1 * (x0 * near[row] + x1 * near[row + 1])) +
                  z1 * (y0 * (x0 * far[0] + x1 * far[1]) +
                        y1 * (x0 * far[row] + x1 * far[row + 1]));
    store(d, g, i, j, k, wall, value);
}

/* How much flows out of a cell, as the pressure's equation wants it: scale is -1/2 over
 * the longest side. The pressure starts from 0. */
FN void divergence_cell(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                        grid g, int i, int j, int k, float scale)
{
    int here = at(g, i, j, k), row = row_of(g), plane = plane_of(g);
    float out = scale * (u[here + 1] - u[here - 1] + v[here + row] - v[here - row] +
                         w[here + plane] - w[here - plane]);
    store(div, g, i, j, k, SCALAR, out);
    store(p, g, i, j, k, SCALAR, 0);
}

/* Takes the pressure's gradient away from the velocity of a cell. */
FN void gradient_cell(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, int i, int j, int k)
{
    int here = at(g, i, j, k), row = row_of(g), plane = plane_of(g);
    store(u, g, i, j, k, ALONG_X, u[here] - 0.5f * (p[here + 1] - p[here - 1]));
    store(v, g, i, j, k, ALONG_Y, v[here] - 0.5f * (p[here + row] - p[here - row]));
    store(w, g, i, j, k, ALONG_Z, w[here] - 0.5f * (p[here + plane] - p[here - plane]));
}
