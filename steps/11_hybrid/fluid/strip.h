/* strip.h - LANES cells of one colour at once, in C, OpenCL C and CUDA C.
 *
 * A row's full pairs of columns (1, 2), (3, 4) .. are dealt out to strips, LANES pairs
 * each. Whoever includes this has included body.h.
 */
#include "lanes.h"

/* The lanes that moved at most by the tolerance: never to NaN. */
FN mask moved_little(lanes now, lanes old, float tolerance)
{
    lanes move = now - old;
    return (move <= each(tolerance)) & (move >= each(-tolerance));
}

/* Writes LANES cells, in columns i, i + 2, i + 4 .., and their ghosts, which have the
 * other colour. */
FN void store_lanes(GLOBAL float *x, grid g, int i, int j, int k, int wall, lanes value)
{
    int row = row_of(g), plane = plane_of(g), last = i + 2 * (LANES - 1);
    unload(x + at(g, i, j, k), value);

    if (!((i == 1) | (last == g.nx) | (j == 1) | (j == g.ny) | (k == 1) | (k == g.nz)))
        return;

    GLOBAL float *beside = x + half_at(g, i + 1, j, k) + place(g, i, j, k);
    lanes across_x = wall == ALONG_X ? -value : value;
    lanes across_y = wall == ALONG_Y ? -value : value;
    lanes across_z = wall == ALONG_Z ? -value : value;
    if (i == 1) x[at(g, 0, j, k)] = lane(across_x, 0);
    if (last == g.nx) x[at(g, g.nx + 1, j, k)] = lane(across_x, LANES - 1);
    if (j == 1) unload(beside - row, across_y);
    if (j == g.ny) unload(beside + row, across_y);
    if (k == 1) unload(beside - plane, across_z);
    if (k == g.nz) unload(beside + plane, across_z);
}

/* What cells become by one relaxation towards the solution of c x - a (sum of
 * neighbours) = x0; over_c is 1 / c. */
FN lanes relaxed(lanes x0, lanes west, lanes east, lanes south, lanes north,
                 lanes below, lanes above, float a, float over_c)
{
    return (x0 + a * (west + east + south + north + below + above)) * over_c;
}

/* Relaxes LANES cells of one colour in a row; beside is their place in the other half,
 * and left the lower neighbours along x there. Ghosts stay as they were. Returns which
 * moved little. */
FN mask relax_lanes(GLOBAL float *cells, GLOBAL const float *beside,
                    GLOBAL const float *left, GLOBAL const float *x0, int row,
                    int plane, float a, float over_c, float tolerance)
{
    lanes old = load(cells);
    lanes now = relaxed(load(x0), load(left), load(left + 1), load(beside - row),
                        load(beside + row), load(beside - plane), load(beside + plane),
                        a, over_c);
    unload(cells, now);
    return moved_little(now, old, tolerance);
}

/* Relaxes a cell. Returns whether it moved too far to stop. */
FN int relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, int i, int j, int k,
                  int wall, float a, float over_c, float tolerance)
{
    GLOBAL const float *other = x + half_at(g, i + 1, j, k);
    int here = place(g, i, j, k), row = row_of(g), plane = plane_of(g);
    int left = left_of(here, i), cell = at(g, i, j, k);
    lanes old = each(x[cell]);
    lanes now =
        relaxed(each(x0[cell]), each(other[left]), each(other[left + 1]),
                each(other[here - row]), each(other[here + row]),
                each(other[here - plane]), each(other[here + plane]), a, over_c);
    store(x, g, i, j, k, wall, lane(now, 0));
    return !all(moved_little(now, old, tolerance));
}

/* All lanes but the first few. */
FN mask after(int few)
{
    lanes one = each(1);
    for (int l = 0; l < few; l++) lane(one, l) = 0;
    return one != each(0);
}

FN void mirror(GLOBAL float *ghosts, GLOBAL const float *cells, int count, float sign)
{
    for (int n = 0; n < count; n++) ghosts[n] = sign * cells[n];
}

/* Writes the ghosts of count cells in columns i, i + 2, i + 4 ..: those of a colour in
 * a row. */
FN void set_bnd(GLOBAL float *x, grid g, int i, int count, int j, int k, int wall)
{
    float sign_x = wall == ALONG_X ? -1 : 1;
    float sign_y = wall == ALONG_Y ? -1 : 1;
    float sign_z = wall == ALONG_Z ? -1 : 1;
    int row = row_of(g), plane = plane_of(g), here = place(g, i, j, k);
    GLOBAL float *cells = x + half_at(g, i, j, k) + here;
    GLOBAL float *beside = x + half_at(g, i + 1, j, k) + here;

    if (i == 1) x[at(g, 0, j, k)] = sign_x * cells[0];
    if (i + 2 * count - 2 == g.nx) x[at(g, g.nx + 1, j, k)] = sign_x * cells[count - 1];
    if (j == 1) mirror(beside - row, cells, count, sign_y);
    if (j == g.ny) mirror(beside + row, cells, count, sign_y);
    if (k == 1) mirror(beside - plane, cells, count, sign_z);
    if (k == g.nz) mirror(beside + plane, cells, count, sign_z);
}

/* Relaxes the cells of one colour in a row. The last vector begins early enough to be
 * full: to relax a cell twice changes nothing, since its neighbours are of the other
 * colour. Returns whether one moved too far to stop. */
FN int relax_row(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int j,
                 int k, int wall, float a, float over_c, float tolerance)
{
    int i = 1 + (j + k + colour) % 2, count = (g.nx - i + 2) / 2, far = 0;
    if (count < LANES) {
        for (; i <= g.nx; i += 2)
            far |= relax_cell(x, x0, g, i, j, k, wall, a, over_c, tolerance);
        return far;
    }
    int here = place(g, i, j, k), row = row_of(g), plane = plane_of(g);
    GLOBAL float *cells = x + half_at(g, i, j, k) + here;
    GLOBAL const float *beside = x + half_at(g, i + 1, j, k) + here;
    GLOBAL const float *left = beside + left_of(0, i);
    mask little = after(0);
    x0 += half_at(g, i, j, k) + here;
    for (int n = 0; n < count; n += LANES) {
        int m = n + LANES < count ? n : count - LANES;
        little &= relax_lanes(cells + m, beside + m, left + m, x0 + m, row, plane, a,
                              over_c, tolerance);
    }
    set_bnd(x, g, i, count, j, k, wall);
    return !all(little);
}

/* Relaxes the cells of a colour in LANES pairs of columns, the first of which is i,
 * upwards from plane first to last: in each plane either all left columns or all right
 * ones have the colour. The others are neighbours of three of them, below, beside and
 * above, and are loaded once. The first lanes, done of them, have been relaxed before.
 */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int done, int wall, float a,
                     float over_c, float tolerance)
{
    int right = (i + j + first + colour) % 2 == 0; /* the cells are in the right ones */
    int row = row_of(g), plane = plane_of(g), here = place(g, i + right, j, first);
    GLOBAL float *mine = x + half_at(g, i + right, j, first);
    GLOBAL const float *other = x + half_at(g, i + right + 1, j, first);
    x0 += half_at(g, i + right, j, first);
    mask fresh = after(done), little = after(0);
    lanes below = load(other + here - plane);
    lanes beside = load(other + here + (right ? -1 : 1));

    for (int k = first; k <= last; k++) {
        lanes old = load(mine + here), above = load(other + here + plane);
        lanes apart = load(other + here);
        lanes now = relaxed(load(x0 + here), right ? beside : apart,
                            right ? apart : beside, load(other + here - row),
                            load(other + here + row), below, above, a, over_c);
        now = pick(fresh, now, old);
        store_lanes(x, g, i + right, j, k, wall, now);
        little &= moved_little(now, old, tolerance);
        here += right ? plane - 1 : plane + 1;
        right = !right;
        below = beside;
        beside = above;
    }
    return !all(little);
}

/* How many vectors of so many lanes hold a row of each colour. */
BOTH_FN int vectors_across(grid g, int width)
{
    return (2 * row_of(g) + width - 1) / width;
}

/* How many strips a box has, of width pairs of columns each. */
BOTH_FN int strips_of(grid g, int width)
{
    return g.nx / 2 < width ? 1 : g.nx / 2 / width;
}

/* The vectors of strip n: one, and in the last strip another for what is left over,
 * which begins early enough to be full; none where there are less pairs than lanes. */
FN int vectors_of(grid g, int n)
{
    int pairs = g.nx / 2, last = n == strips_of(g, LANES) - 1;
    return pairs < LANES ? 0 : last && pairs % LANES ? 2 : 1;
}

/* Where vector v of them begins, and how many of its lanes were in the one before. */
FN int column_of(grid g, int n, int v)
{
    return 1 + 2 * (v ? g.nx / 2 - LANES : LANES * n);
}

FN int done_of(grid g, int n, int v)
{
    return v ? LANES * (n + 2) - g.nx / 2 : 0;
}

/* From which column on, to the end of the row, strip n takes cell by cell: those less
 * than a vector, or a last column that has no other beside it. */
FN int single_of(grid g, int n)
{
    if (n < strips_of(g, LANES) - 1) return g.nx + 1;
    return g.nx / 2 < LANES ? 1 : g.nx / 2 * 2 + 1;
}

/* Relaxes strip n in planes first to last; returns whether a cell moved too far to
 * stop. */
FN int relax_strip(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int n,
                   int j, int first, int last, int wall, float a, float over_c,
                   float tolerance)
{
    int far = 0;
    for (int v = 0; v < vectors_of(g, n); v++)
        far |= relax_columns(x, x0, g, colour, column_of(g, n, v), j, first, last,
                             done_of(g, n, v), wall, a, over_c, tolerance);
    for (int i = single_of(g, n); i <= g.nx; i++)
        for (int k = first + (i + j + first + colour + 1) % 2; k <= last; k += 2)
            far |= relax_cell(x, x0, g, i, j, k, wall, a, over_c, tolerance);
    return far;
}

/* What advect_cell, divergence_cell and gradient_cell do, for LANES cells in columns i,
 * i + 2, i + 4 .. */
FN void advect_lanes(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                     int k, int wall, float dt)
{
    int here = at(g, i, j, k);
    float value[LANES];
    for (int l = 0; l < LANES; l++)
        value[l] =
            carried(d0, u[here + l], v[here + l], w[here + l], g, i + 2 * l, j, k, dt);
    store_lanes(d, g, i, j, k, wall, load(value));
}

FN void divergence_lanes(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         grid g, int i, int j, int k, float scale)
{
    int other = half_at(g, i + 1, j, k), here = other + place(g, i, j, k);
    int left = left_of(here, i), row = row_of(g), plane = plane_of(g);
    lanes out = scale * (load(u + left + 1) - load(u + left) + load(v + here + row) -
                         load(v + here - row) + load(w + here + plane) -
                         load(w + here - plane));
    store_lanes(div, g, i, j, k, SCALAR, out);
    store_lanes(p, g, i, j, k, SCALAR, each(0));
}

/* The first lanes, done of them, have been here before. */
FN void gradient_lanes(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p, grid g, int i, int j, int k, int done)
{
    int mine = at(g, i, j, k), here = half_at(g, i + 1, j, k) + place(g, i, j, k);
    int left = left_of(here, i), row = row_of(g), plane = plane_of(g);
    lanes part = pick(after(done), each(0.5f), each(0));
    lanes px = part * (load(p + left + 1) - load(p + left));
    lanes py = part * (load(p + here + row) - load(p + here - row));
    lanes pz = part * (load(p + here + plane) - load(p + here - plane));
    store_lanes(u, g, i, j, k, ALONG_X, load(u + mine) - px);
    store_lanes(v, g, i, j, k, ALONG_Y, load(v + mine) - py);
    store_lanes(w, g, i, j, k, ALONG_Z, load(w + mine) - pz);
}
