/* strip.h - vectorized operations on LANES cells of one colour, in C, OpenCL C and CUDA
 * C.
 *
 * Layout: see body.h; the cells of one colour in a row are contiguous, so a vector of
 * LANES cells is one unaligned load. The columns of a row form pairs (1, 2), (3, 4) ..;
 * a strip is a group of LANES pairs (strip mining):
 *
 *      pairs      0 1 2 3   4 5 6 7   8 9        nx = 20, LANES = 4: two strips
 *      strip 0    v v v v
 *      strip 1              v v v v              its second vector starts at pair 6
 *                               v v   v v        so that it is full; pairs 6, 7 overlap
 *
 * The last vector of a row overlaps the previous one instead of being shorter. A last
 * column without a partner, and rows of fewer than LANES pairs, are computed cell by
 * cell. The caller includes body.h first.
 */
#include "lanes.h"

/* Mask of the lanes whose change is at most the tolerance; false for NaN. */
FN mask converged_lanes(lanes new_value, lanes old_value, float tolerance)
{
    lanes move = new_value - old_value;
    return (move <= each(tolerance)) & (move >= each(-tolerance));
}

/* Writes LANES cells, in columns i, i + 2, i + 4 .., and their ghost cells, which have
 * the other colour. */
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

/* New values of LANES cells by one relaxation towards the solution of c x - a (sum of
 * neighbours) = x0; inv_c is 1 / c. */
FN lanes relaxed_value(lanes x0, lanes west, lanes east, lanes south, lanes north,
                       lanes below, lanes above, float a, float inv_c)
{
    return (x0 + a * (west + east + south + north + below + above)) * inv_c;
}

/* Relaxes LANES contiguous cells of one colour in a row. opposite points to the same
 * indices in the other half, west to the neighbours at i - 1 there. Does not write
 * ghost cells. Returns the mask of the lanes that converged. */
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

/* Relaxes one cell. Returns true if it changed by more than the tolerance. */
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

/* Mask of the lanes from `first` on. */
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

/* Writes the ghost cells of the count cells of one colour in a row, in columns i, i +
 * 2, i + 4 .. */
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

/* Relaxes the cells of one colour in a row. The last vector starts early enough to be
 * full. Relaxing a cell twice gives the same value, because its neighbours have the
 * other colour. Returns true if a cell changed by more than the tolerance. */
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

/* Relaxes the cells of one colour in LANES pairs of columns, the first pair being (i, i
 * + 1), from plane first up to plane last. In each plane the cells of the colour are
 * either all in the left or all in the right columns. The other cells, their partners,
 * are neighbours in their own plane and in the planes below and above, and are loaded
 * once. The first `skip` lanes belong to the previous vector and keep their values.
 * Returns true if a cell changed by more than the tolerance. */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int skip, int wall, float a,
                     float inv_c, float tolerance)
{
    int right = (i + j + first + colour) % 2 == 0; /* in the right columns */
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

/* Number of vectors of this width that cover a row of each colour. */
HOST_DEVICE_FN int vectors_per_row(grid g, int width)
{
    return (2 * row_stride(g) + width - 1) / width;
}

/* Number of strips of a row, each of `width` pairs of columns; at least 1. */
HOST_DEVICE_FN int strip_count(grid g, int width)
{
    return g.nx / 2 < width ? 1 : g.nx / 2 / width;
}

/* Number of vectors of strip n: 1; 2 in the last strip if pairs remain; 0 if the row
 * has fewer than LANES pairs. */
FN int vector_count(grid g, int n)
{
    int pairs = g.nx / 2, last = n == strip_count(g, LANES) - 1;
    return pairs < LANES ? 0 : last && pairs % LANES ? 2 : 1;
}

/* First column of vector v of strip n, and the number of its lanes that the previous
 * vector has computed already. */
FN int first_column(grid g, int n, int v)
{
    return 1 + 2 * (v ? g.nx / 2 - LANES : LANES * n);
}

FN int lanes_to_skip(grid g, int n, int v)
{
    return v ? LANES * (n + 2) - g.nx / 2 : 0;
}

/* First column that strip n computes cell by cell, to the end of the row: all
 * columns of a row of fewer than LANES pairs, or a last column without a partner. nx +
 * 1: none. */
FN int first_single_column(grid g, int n)
{
    if (n < strip_count(g, LANES) - 1) return g.nx + 1;
    return g.nx / 2 < LANES ? 1 : g.nx / 2 * 2 + 1;
}

/* Relaxes strip n in planes first to last. Returns true if a cell changed by more than
 * the tolerance. */
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

/* Vectorized advect_cell, divergence_cell and gradient_cell for LANES cells in columns
 * i, i + 2, i + 4 .. */
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

/* The first `skip` lanes belong to the previous vector and keep their values. */
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
