/* strip.h - LANES cells of one colour at once, in C, OpenCL C and CUDA C.
 *
 * A row's full pairs of columns (1, 2), (3, 4) .. are dealt out to strips, LANES pairs
 * each. Whoever includes this has included body.h.
 */
#include "lanes.h"

/* The lanes that moved at most by the tolerance: never to NaN. */
FN mask converged_lanes(lanes new_value, lanes old_value, float tolerance)
{
    lanes move = new_value - old_value;
    return (move <= each(tolerance)) & (move >= each(-tolerance));
}

/* Writes LANES cells, in columns i, i + 2, i + 4 .., and their ghosts, which have the
 * other colour. */
FN void store_lanes(GLOBAL float *x, grid g, int i, int j, int k, int wall, lanes value)
{
    int row = row_stride(g), plane = plane_stride(g), last = i + 2 * (LANES - 1);
    unload(x + cell_index(g, i, j, k), value);

    if (!((i == 1) | (last == g.nx) | (j == 1) | (j == g.ny) | (k == 1) | (k == g.nz)))
        return;

    GLOBAL float *opposite = x + half_offset(g, i + 1, j, k) + half_index(g, i, j, k);
    lanes ghost_x = wall == ALONG_X ? -value : value;
    lanes ghost_y = wall == ALONG_Y ? -value : value;
    lanes ghost_z = wall == ALONG_Z ? -value : value;
    if (i == 1) x[cell_index(g, 0, j, k)] = lane(ghost_x, 0);
    if (last == g.nx) x[cell_index(g, g.nx + 1, j, k)] = lane(ghost_x, LANES - 1);
    if (j == 1) unload(opposite - row, ghost_y);
    if (j == g.ny) unload(opposite + row, ghost_y);
    if (k == 1) unload(opposite - plane, ghost_z);
    if (k == g.nz) unload(opposite + plane, ghost_z);
}

/* What cells become by one relaxation towards the solution of c x - a (sum of
 * neighbours) = x0; over_c is 1 / c. */
FN lanes relaxed_value(lanes x0, lanes west, lanes east, lanes south, lanes north,
                       lanes below, lanes above, float a, float inv_c)
{
    return (x0 + a * (west + east + south + north + below + above)) * inv_c;
}

/* Relaxes LANES cells of one colour in a row; beside is their place in the other half,
 * and left the lower neighbours along x there. Ghosts stay as they were. Returns which
 * moved little. */
FN mask relax_lanes(GLOBAL float *cells, GLOBAL const float *opposite,
                    GLOBAL const float *west, GLOBAL const float *x0, int row,
                    int plane, float a, float inv_c, float tolerance)
{
    lanes old_value = load(cells);
    lanes new_value = relaxed_value(
        load(x0), load(west), load(west + 1), load(opposite - row),
        load(opposite + row), load(opposite - plane), load(opposite + plane), a, inv_c);
    unload(cells, new_value);
    return converged_lanes(new_value, old_value, tolerance);
}

/* Relaxes a cell. Returns whether it moved too far to stop. */
FN int relax_cell(GLOBAL float *x, GLOBAL const float *x0, grid g, int i, int j, int k,
                  int wall, float a, float inv_c, float tolerance)
{
    GLOBAL const float *other = x + half_offset(g, i + 1, j, k);
    int idx = half_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    int west = west_index(idx, i), cell = cell_index(g, i, j, k);
    lanes old_value = each(x[cell]);
    lanes new_value =
        relaxed_value(each(x0[cell]), each(other[west]), each(other[west + 1]),
                      each(other[idx - row]), each(other[idx + row]),
                      each(other[idx - plane]), each(other[idx + plane]), a, inv_c);
    store(x, g, i, j, k, wall, lane(new_value, 0));
    return !all(converged_lanes(new_value, old_value, tolerance));
}

/* All lanes but the first few. */
FN mask lanes_from(int first)
{
    lanes selected = each(1);
    for (int l = 0; l < first; l++) lane(selected, l) = 0;
    return selected != each(0);
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
    int row = row_stride(g), plane = plane_stride(g), idx = half_index(g, i, j, k);
    GLOBAL float *cells = x + half_offset(g, i, j, k) + idx;
    GLOBAL float *opposite = x + half_offset(g, i + 1, j, k) + idx;

    if (i == 1) x[cell_index(g, 0, j, k)] = sign_x * cells[0];
    if (i + 2 * count - 2 == g.nx)
        x[cell_index(g, g.nx + 1, j, k)] = sign_x * cells[count - 1];
    if (j == 1) mirror(opposite - row, cells, count, sign_y);
    if (j == g.ny) mirror(opposite + row, cells, count, sign_y);
    if (k == 1) mirror(opposite - plane, cells, count, sign_z);
    if (k == g.nz) mirror(opposite + plane, cells, count, sign_z);
}

/* Relaxes the cells of one colour in a row. The last vector begins early enough to be
 * full: to relax a cell twice changes nothing, since its neighbours are of the other
 * colour. Returns whether one moved too far to stop. */
FN int relax_row(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int j,
                 int k, int wall, float a, float inv_c, float tolerance)
{
    int i = 1 + (j + k + colour) % 2, count = (g.nx - i + 2) / 2, unconverged = 0;
    if (count < LANES) {
        for (; i <= g.nx; i += 2)
            unconverged |= relax_cell(x, x0, g, i, j, k, wall, a, inv_c, tolerance);
        return unconverged;
    }
    int idx = half_index(g, i, j, k), row = row_stride(g), plane = plane_stride(g);
    GLOBAL float *cells = x + half_offset(g, i, j, k) + idx;
    GLOBAL const float *opposite = x + half_offset(g, i + 1, j, k) + idx;
    GLOBAL const float *west = opposite + west_index(0, i);
    mask converged = lanes_from(0);
    x0 += half_offset(g, i, j, k) + idx;
    for (int n = 0; n < count; n += LANES) {
        int m = n + LANES < count ? n : count - LANES;
        converged &= relax_lanes(cells + m, opposite + m, west + m, x0 + m, row, plane,
                                 a, inv_c, tolerance);
    }
    set_bnd(x, g, i, count, j, k, wall);
    return !all(converged);
}

/* Relaxes the cells of a colour in LANES pairs of columns, the first of which is i,
 * upwards from plane first to last: in each plane either all left columns or all right
 * ones have the colour. The others are neighbours of three of them, below, beside and
 * above, and are loaded once. The first lanes, done of them, have been relaxed before.
 */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int skip, int wall, float a,
                     float inv_c, float tolerance)
{
    int right = (i + j + first + colour) % 2 == 0; /* the cells are in the right ones */
    int row = row_stride(g), plane = plane_stride(g),
        idx = half_index(g, i + right, j, first);
    GLOBAL float *own = x + half_offset(g, i + right, j, first);
    GLOBAL const float *other = x + half_offset(g, i + right + 1, j, first);
    x0 += half_offset(g, i + right, j, first);
    mask update_mask = lanes_from(skip), converged = lanes_from(0);
    lanes below = load(other + idx - plane);
    lanes partner = load(other + idx + (right ? -1 : 1));

    for (int k = first; k <= last; k++) {
        lanes old_value = load(own + idx), above = load(other + idx + plane);
        lanes outer = load(other + idx);
        lanes new_value = relaxed_value(
            load(x0 + idx), right ? partner : outer, right ? outer : partner,
            load(other + idx - row), load(other + idx + row), below, above, a, inv_c);
        new_value = pick(update_mask, new_value, old_value);
        store_lanes(x, g, i + right, j, k, wall, new_value);
        converged &= converged_lanes(new_value, old_value, tolerance);
        idx += right ? plane - 1 : plane + 1;
        right = !right;
        below = partner;
        partner = above;
    }
    return !all(converged);
}

/* How many vectors of so many lanes hold a row of each colour. */
BOTH_FN int vectors_per_row(grid g, int width)
{
    return (2 * row_stride(g) + width - 1) / width;
}

/* How many strips a box has, of width pairs of columns each. */
BOTH_FN int strip_count(grid g, int width)
{
    return g.nx / 2 < width ? 1 : g.nx / 2 / width;
}

/* The vectors of strip n: one, and in the last strip another for what is left over,
 * which begins early enough to be full; none where there are less pairs than lanes. */
FN int vector_count(grid g, int n)
{
    int pairs = g.nx / 2, last = n == strip_count(g, LANES) - 1;
    return pairs < LANES ? 0 : last && pairs % LANES ? 2 : 1;
}

/* Where vector v of them begins, and how many of its lanes were in the one before. */
FN int first_column(grid g, int n, int v)
{
    return 1 + 2 * (v ? g.nx / 2 - LANES : LANES * n);
}

FN int lanes_to_skip(grid g, int n, int v)
{
    return v ? LANES * (n + 2) - g.nx / 2 : 0;
}

/* From which column on, to the end of the row, strip n takes cell by cell: those less
 * than a vector, or a last column that has no other beside it. */
FN int first_single_column(grid g, int n)
{
    if (n < strip_count(g, LANES) - 1) return g.nx + 1;
    return g.nx / 2 < LANES ? 1 : g.nx / 2 * 2 + 1;
}

/* Relaxes strip n in planes first to last; returns whether a cell moved too far to
 * stop. */
FN int relax_strip(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int n,
                   int j, int first, int last, int wall, float a, float inv_c,
                   float tolerance)
{
    int unconverged = 0;
    for (int v = 0; v < vector_count(g, n); v++)
        unconverged |=
            relax_columns(x, x0, g, colour, first_column(g, n, v), j, first, last,
                          lanes_to_skip(g, n, v), wall, a, inv_c, tolerance);
    for (int i = first_single_column(g, n); i <= g.nx; i++)
        for (int k = first + (i + j + first + colour + 1) % 2; k <= last; k += 2)
            unconverged |= relax_cell(x, x0, g, i, j, k, wall, a, inv_c, tolerance);
    return unconverged;
}

/* What advect_cell, divergence_cell and gradient_cell do, for LANES cells in columns i,
 * i + 2, i + 4 .. */
FN void advect_lanes(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                     GLOBAL const float *v, GLOBAL const float *w, grid g, int i, int j,
                     int k, int wall, float dt)
{
    int idx = cell_index(g, i, j, k);
    float value[LANES];
    for (int l = 0; l < LANES; l++)
        value[l] = advected_value(d0, u[idx + l], v[idx + l], w[idx + l], g, i + 2 * l,
                                  j, k, dt);
    store_lanes(d, g, i, j, k, wall, load(value));
}

FN void divergence_lanes(GLOBAL const float *u, GLOBAL const float *v,
                         GLOBAL const float *w, GLOBAL float *p, GLOBAL float *div,
                         grid g, int i, int j, int k, float scale)
{
    int other = half_offset(g, i + 1, j, k), idx = other + half_index(g, i, j, k);
    int west = west_index(idx, i), row = row_stride(g), plane = plane_stride(g);
    lanes div_value =
        scale * (load(u + west + 1) - load(u + west) + load(v + idx + row) -
                 load(v + idx - row) + load(w + idx + plane) - load(w + idx - plane));
    store_lanes(div, g, i, j, k, SCALAR, div_value);
    store_lanes(p, g, i, j, k, SCALAR, each(0));
}

/* The first lanes, done of them, have been here before. */
FN void gradient_lanes(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                       GLOBAL const float *p, grid g, int i, int j, int k, int skip)
{
    int own = cell_index(g, i, j, k),
        idx = half_offset(g, i + 1, j, k) + half_index(g, i, j, k);
    int west = west_index(idx, i), row = row_stride(g), plane = plane_stride(g);
    lanes scale = pick(lanes_from(skip), each(0.5f), each(0));
    lanes px = scale * (load(p + west + 1) - load(p + west));
    lanes py = scale * (load(p + idx + row) - load(p + idx - row));
    lanes pz = scale * (load(p + idx + plane) - load(p + idx - plane));
    store_lanes(u, g, i, j, k, ALONG_X, load(u + own) - px);
    store_lanes(v, g, i, j, k, ALONG_Y, load(v + own) - py);
    store_lanes(w, g, i, j, k, ALONG_Z, load(w + own) - pz);
}
