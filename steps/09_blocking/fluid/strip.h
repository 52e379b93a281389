/* strip.h - operations on rows of cells, LANES cells of one colour at a time, in C and
 * OpenCL C; and the relaxation of two columns, for a work-item of a GPU, which has one
 * lane, in OpenCL C and CUDA C.
 *
 * Layout: see body.h. The cells of one colour in some rows of a plane are contiguous: a
 * run. In a run lie also the ghost cells at the walls along x, and padding. A loop over
 * a run computes them like inner cells, which costs less than a loop per row, and
 * set_bnd() sets them afterwards:
 *
 *      g 1 1 1 1 g g 2 2 2 2 g g 3 3 3 3 g      g: ghost cells between rows 1, 2, 3
 *        ^----------- run -----------^
 *
 * The caller includes body.h first.
 */
#include "lanes.h"

/* Load and store LANES floats of device memory. PoCL compiles vload and vstore of 16
 * floats to instructions for 2. */
#if defined(__OPENCL_C_VERSION__) && LANES > 1
typedef lanes lanes_of_row __attribute__((aligned(4)));
#define load_row(p)      ((lanes) * (GLOBAL const lanes_of_row *)(p))
#define unload_row(p, v) (void)(*(GLOBAL lanes_of_row *)(p) = (v))
#else
#define load_row(p)      load(p)
#define unload_row(p, v) unload(p, v)
#endif

/* The first flat index from f on that has this colour. */
FN int first_of_colour(int f, int colour)
{
    return f + (f + colour + 1) % 2;
}

/* Number of cells of one colour from flat index first, which has it, to last. */
FN int run_length(int first, int last)
{
    return (last - first + 2) / 2;
}

/* Rows first to last of plane k. */
typedef struct {
    int k, first, last;
} part;

/* Number of the first row of a worker, counted over all planes from 0. Each worker has
 * as many rows as the others, to within one. */
FN int first_row(grid g, int worker, int workers)
{
    return (int)((long)g.ny * g.nz * worker / workers);
}

/* The part of rows n to end - 1 that lies in the plane of row n. */
FN part part_of(grid g, int n, int end)
{
    int k = n / g.ny, rest = end - k * g.ny;
    part r = {k + 1, n - k * g.ny + 1, rest < g.ny ? rest : g.ny};
    return r;
}

/* Iterates over rows begin to end - 1, one part r of them per plane. */
#define FOR_EACH_PART(r, g, begin, end)                                                \
    for (part r = part_of(g, begin, end); (g).ny * (r.k - 1) + r.first <= (end);       \
         r = part_of(g, (g).ny * (r.k - 1) + r.last, end))

/* The first row of a plane, if it is one of rows first to end - 1, else first. */
FN int row_to_begin(grid g, int plane, int first, int end)
{
    int row = (plane - 1) * g.ny;
    return row > first && row < end ? row : first;
}

/* Mask of the lanes whose change is at most the tolerance; false for NaN. */
FN mask converged_lanes(lanes new_value, lanes old_value, float tolerance)
{
    lanes move = new_value - old_value;
    return (move <= each(tolerance)) & (move >= each(-tolerance));
}

FN int converged_cell(float new_value, float old_value, float tolerance)
{
    return fabsf(new_value - old_value) <= tolerance;
}

/* Relaxes the cells of one colour from flat index f to last, which were 0 if `zero`,
 * whatever is in memory. With `test`, returns true if one of them changed by more than
 * the tolerance; without, 0. */
FN int relax_run(GLOBAL float *x, GLOBAL const float *x0, grid g, int f, int last,
                 int test, int zero, float a, float inv_c, float tolerance)
{
    int row = row_pitch(g), plane = plane_pitch(g), count = run_length(f, last);
    GLOBAL float *cells = x + field_index(g, f);
    GLOBAL const float *west = x + field_index(g, f - 1), *east = west + 1;
    GLOBAL const float *south = x + field_index(g, f - row),
                       *north = x + field_index(g, f + row);
    GLOBAL const float *below = x + field_index(g, f - plane),
                       *above = x + field_index(g, f + plane);
    mask converged = each(0) == each(0);
    int n = 0, unconverged = 0;

    x0 += field_index(g, f);
    for (; n + LANES <= count; n += LANES) {
        lanes sum = load_row(west + n) + load_row(east + n) + load_row(south + n) +
                    load_row(north + n) + load_row(below + n) + load_row(above + n);
        lanes new_value = (load_row(x0 + n) + a * sum) * inv_c;
        if (test)
            converged &= converged_lanes(
                new_value, zero ? each(0) : load_row(cells + n), tolerance);
        unload_row(cells + n, new_value);
    }
    for (; n < count; n++) {
        float new_value = relaxed_value(x0[n], west[n], east[n], south[n], north[n],
                                        below[n], above[n], a, inv_c);
        if (test)
            unconverged |= !converged_cell(new_value, zero ? 0 : cells[n], tolerance);
        cells[n] = new_value;
    }
    return unconverged | !all(converged);
}

/* The same if all neighbours are 0, too. The sum changes -0 to 0, as with neighbours.
 */
FN int relax_run_from_zero(GLOBAL float *x, GLOBAL const float *x0, grid g, int f,
                           int last, float inv_c, float tolerance)
{
    int n = 0, count = run_length(f, last), unconverged = 0;
    GLOBAL float *cells = x + field_index(g, f);
    mask converged = each(0) == each(0);
    x0 += field_index(g, f);
    for (; n + LANES <= count; n += LANES) {
        lanes new_value = (load_row(x0 + n) + each(0)) * inv_c;
        converged &= converged_lanes(new_value, each(0), tolerance);
        unload_row(cells + n, new_value);
    }
    for (; n < count; n++) {
        cells[n] = (x0[n] + 0) * inv_c;
        unconverged |= !converged_cell(cells[n], 0, tolerance);
    }
    return unconverged | !all(converged);
}

/* Sets count ghost cells of one colour, from flat index f on in steps of `step`, to
 * sign times the inner cells next to them, which are at the flat distance d; to 0 if
 * the sign is 0. */
FN void mirror(GLOBAL float *x, grid g, int f, int step, int count, int d, float sign)
{
    GLOBAL float *ghosts = x + field_index(g, f);
    GLOBAL const float *cells = x + field_index(g, f + d);
    for (int n = 0; n < count; n++)
        ghosts[n * (step / 2)] = sign == 0 ? 0 : sign * cells[n * (step / 2)];
}

FN void mirror_row(GLOBAL float *x, grid g, int colour, int j, int k, int d, float sign)
{
    int f = first_of_colour(flat_index(g, 1, j, k), colour);
    mirror(x, g, f, 2, run_length(f, flat_index(g, g.nx, j, k)), d, sign);
}

/* The boundary condition of a field that is 0, whatever its cells hold in memory. */
enum { ZERO_WALLS = -1 };

FN float wall_sign(int wall, int axis)
{
    return wall == ZERO_WALLS ? 0 : wall == axis ? -1 : 1;
}

/* Sets the ghost cells of one colour next to rows first to last of plane k. */
FN void set_bnd(GLOBAL float *x, grid g, int colour, int k, int first, int last,
                int wall)
{
    float sign_x = wall_sign(wall, ALONG_X);
    float sign_y = wall_sign(wall, ALONG_Y);
    float sign_z = wall_sign(wall, ALONG_Z);
    int row = row_pitch(g), plane = plane_pitch(g);
    for (int i = 0; i <= g.nx + 1; i += g.nx + 1) { /* in every second row */
        int j = first + (i + first + k + colour + 1) % 2;
        mirror(x, g, flat_index(g, i, j, k), 2 * row, (last - j + 2) / 2, i ? -1 : 1,
               sign_x);
    }
    if (first == 1) mirror_row(x, g, colour, 0, k, row, sign_y);
    if (last == g.ny) mirror_row(x, g, colour, g.ny + 1, k, -row, sign_y);
    if (k == 1)
        for (int j = first; j <= last; j++)
            mirror_row(x, g, colour, j, 0, plane, sign_z);
    if (k == g.nz)
        for (int j = first; j <= last; j++)
            mirror_row(x, g, colour, j, g.nz + 1, -plane, sign_z);
}

FN void set_bnd_of_both(GLOBAL float *x, grid g, int k, int first, int last, int wall)
{
    set_bnd(x, g, RED, k, first, last, wall);
    set_bnd(x, g, BLACK, k, first, last, wall);
}

/* Half sweep h of a solve, counted from 0 (even: red, odd: black), in rows first to
 * last of plane k. With `test`, returns true if a cell changed by more than the
 * tolerance; without, 0. With `zero`, x is 0 before the solve, whatever is in memory.
 *
 * The ghost cells of this colour are next to cells of the other colour, which the
 * previous half sweep has changed; they are needed by the next one. The first half
 * sweep leaves them as they are. Black cells are the last that a solve changes: after
 * it, the red ghost cells have to be set once more. (A black half sweep must not set
 * them, since runs of other workers read them.) */
FN int relax_rows(GLOBAL float *x, GLOBAL const float *x0, grid g, int h, int k,
                  int first, int last, int test, int zero, int wall, float a,
                  float inv_c, float tolerance)
{
    int colour = h % 2 ? BLACK : RED, begin = flat_index(g, 1, first, k),
        unconverged = 0;
    if (h == 0 && zero) {
        for (int j = first; j <= last; j++)
            unconverged |= relax_run_from_zero(
                x, x0, g, first_of_colour(flat_index(g, 1, j, k), colour),
                flat_index(g, g.nx, j, k), inv_c, tolerance);
        set_bnd(x, g, colour, k, first, last, ZERO_WALLS);
        return test & unconverged;
    }
    if (test || h == 0) /* row by row, without ghost cells */
        for (int j = first; j <= last; j++)
            unconverged |= relax_run(
                x, x0, g, first_of_colour(flat_index(g, 1, j, k), colour),
                flat_index(g, g.nx, j, k), 1, zero && h == 1, a, inv_c, tolerance);
    else
        relax_run(x, x0, g, first_of_colour(begin, colour),
                  flat_index(g, g.nx, last, k), 0, 0, a, inv_c, tolerance);
    if (h > 0) set_bnd(x, g, colour, k, first, last, wall);
    return test & unconverged;
}

/* Stores the right-hand side of the pressure equation in rows first to last of plane k.
 */
FN void divergence_rows(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *div, grid g, int k,
                        int first, int last, float scale)
{
    int row = row_pitch(g), plane = plane_pitch(g);
    for (int colour = RED; colour <= BLACK; colour++) {
        int f = first_of_colour(flat_index(g, 1, first, k), colour), n = 0;
        int count = run_length(f, flat_index(g, g.nx, last, k));
        GLOBAL const float *west = u + field_index(g, f - 1), *east = west + 1;
        GLOBAL const float *south = v + field_index(g, f - row),
                           *north = v + field_index(g, f + row);
        GLOBAL const float *below = w + field_index(g, f - plane),
                           *above = w + field_index(g, f + plane);
        GLOBAL float *values = div + field_index(g, f);
        for (; n + LANES <= count; n += LANES) {
            unload_row(values + n, scale * (load_row(east + n) - load_row(west + n) +
                                            load_row(north + n) - load_row(south + n) +
                                            load_row(above + n) - load_row(below + n)));
        }
        for (; n < count; n++) {
            values[n] = divergence_value(u, v, w, g, f + 2 * n, scale);
        }
    }
    set_bnd_of_both(div, g, k, first, last, SCALAR);
}

/* Subtracts the half differences of p at the flat distance d (see half_difference) in
 * rows first to last of plane k. */
FN void subtract_rows(GLOBAL float *x, GLOBAL const float *p, grid g, int k, int first,
                      int last, int d, int wall)
{
    for (int colour = RED; colour <= BLACK; colour++) {
        int f = first_of_colour(flat_index(g, 1, first, k), colour), n = 0;
        int count = run_length(f, flat_index(g, g.nx, last, k));
        GLOBAL const float *before = p + field_index(g, f - d),
                           *after = p + field_index(g, f + d);
        GLOBAL float *cells = x + field_index(g, f);
        for (; n + LANES <= count; n += LANES)
            unload_row(cells + n, load_row(cells + n) - 0.5f * (load_row(after + n) -
                                                                load_row(before + n)));
        for (; n < count; n++) cells[n] -= half_difference(p, g, f + 2 * n, d);
    }
    set_bnd_of_both(x, g, k, first, last, wall);
}

/* Subtracts the gradient of the pressure from the velocity. */
FN void gradient_rows(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, int k, int first, int last)
{
    subtract_rows(u, p, g, k, first, last, 1, ALONG_X);
    subtract_rows(v, p, g, k, first, last, row_pitch(g), ALONG_Y);
    subtract_rows(w, p, g, k, first, last, plane_pitch(g), ALONG_Z);
}

/* The points from which the flow reaches LANES cells: their distances from the corner
 * (i0, j0, k0) of the cell of the grid in which they lie, and the flat index of this
 * corner minus that of the cell's own position in the vector. Lanes in which it is
 * equal have moved by the same number of cells, so what they read is contiguous. */
typedef struct {
    lanes x1, y1, z1;
    union {
        mask lanes;
        int of[LANES];
    } corner;
} origin;

/* backtrace() for LANES cells. */
FN lanes backtrace_lanes(lanes cell, lanes distance, int n)
{
    lanes x = cell - distance, low = each(0.5f), high = each(n + 0.5f);
    x = pick(x > low, x, low);
    return pick(x < high, x, high);
}

/* Traces LANES cells in columns i, i + 2 .. of row (j, k) back in time by dt. */
FN origin trace(lanes u, lanes v, lanes w, grid g, int i, int j, int k, float dt)
{
    float ramp[LANES];
    for (int l = 0; l < LANES; l++) ramp[l] = 2 * l;
    lanes x = backtrace_lanes(each(i) + load(ramp), dt * g.nx * u, g.nx);
    lanes y = backtrace_lanes(each(j), dt * g.ny * v, g.ny);
    lanes z = backtrace_lanes(each(k), dt * g.nz * w, g.nz);
    mask i0 = whole(x), j0 = whole(y), k0 = whole(z);
    origin o = {x - real(i0), y - real(j0), z - real(k0), {whole(each(0))}};
    o.corner.lanes = flat_index(g, 0, 0, 0) + i0 - whole(load(ramp)) +
                     row_pitch(g) * j0 + plane_pitch(g) * k0;
    return o;
}

/* Interpolates d0 between the eight corners that are at flat index f for the first
 * lane, at f + 2 for the second .. */
FN lanes interpolated(GLOBAL const float *d0, grid g, const origin *o, int f)
{
    int row = row_pitch(g), plane = plane_pitch(g);
    lanes x1 = o->x1, y1 = o->y1, z1 = o->z1, x0 = 1 - x1, y0 = 1 - y1, z0 = 1 - z1;
    GLOBAL const float *same = d0 + half_offset(g, f),
                       *other = d0 + half_offset(g, f + 1);
    return z0 * (y0 * (x0 * load_row(same + f / 2) +
                       x1 * load_row(other + (f + 1) / 2)) +
                 y1 * (x0 * load_row(other + (f + row) / 2) +
                       x1 * load_row(same + (f + row + 1) / 2))) +
           z1 * (y0 * (x0 * load_row(other + (f + plane) / 2) +
                       x1 * load_row(same + (f + plane + 1) / 2)) +
                 y1 * (x0 * load_row(same + (f + plane + row) / 2) +
                       x1 * load_row(other + (f + plane + row + 1) / 2)));
}

/* d0 at the origins of LANES cells: one interpolation for each corner that lanes share,
 * of which the lanes with this corner are kept. */
FN lanes advected_lanes(GLOBAL const float *d0, grid g, const origin *o)
{
    lanes value = interpolated(d0, g, o, o->corner.of[0]);
    if (all(o->corner.lanes == o->corner.of[0])) return value;
    for (int l = 1; l < LANES; l++) {
        int corner = o->corner.of[l];
        if (corner != o->corner.of[l - 1])
            value =
                pick(o->corner.lanes == corner, interpolated(d0, g, o, corner), value);
    }
    return value;
}

/* Advection of `fields` fields d0[..] to d[..] by one flow, in rows first to last of
 * plane k. The last vector of a row starts early enough to be full. */
FN void advect_rows(int fields, GLOBAL float *const *d, GLOBAL const float *const *d0,
                    GLOBAL const float *u, GLOBAL const float *v, GLOBAL const float *w,
                    grid g, int k, int first, int last, float dt)
{
    for (int j = first; j <= last; j++)
        for (int column = 1; column <= 2; column++) {
            int idx = cell_index(g, column, j, k), count = (g.nx - column + 2) / 2;
            for (int n = 0; n < count && count < LANES; n++)
                for (int f = 0; f < fields; f++)
                    d[f][idx + n] =
                        advected_value(d0[f], u[idx + n], v[idx + n], w[idx + n], g,
                                       column + 2 * n, j, k, dt);
            for (int m = 0; m < count && count >= LANES; m += LANES) {
                int n = m + LANES < count ? m : count - LANES;
                origin o = trace(load_row(u + idx + n), load_row(v + idx + n),
                                 load_row(w + idx + n), g, column + 2 * n, j, k, dt);
                for (int f = 0; f < fields; f++)
                    unload_row(d[f] + idx + n, advected_lanes(d0[f], g, &o));
            }
        }
}

/* Relaxes the cells of one colour in columns i and i + 1, from plane first up to plane
 * last. In each plane one of the two cells has the colour: that in the left or that in
 * the right column. The other cell, its partner, is a neighbour in its own plane and in
 * the planes below and above, and is loaded once. Column i + 1 may be a ghost cell,
 * which is not written; other work-items may write its neighbours, which are not read.
 * Returns true if a cell changed by more than the tolerance. */
FN int relax_columns(GLOBAL float *x, GLOBAL const float *x0, grid g, int colour, int i,
                     int j, int first, int last, int wall, float a, float inv_c,
                     float tolerance)
{
    int right = (i + j + first + colour) % 2 == 0, unconverged = 0;
    int row = row_pitch(g), plane = plane_pitch(g);
    int f = flat_index(g, i + right, j, first);
    GLOBAL const float *own = x + half_offset(g, f), *other = x + half_offset(g, f + 1);
    x0 += half_offset(g, f);
    float below = i + right <= g.nx ? other[(f - plane) / 2] : 0;
    float partner = other[(f + (right ? -1 : 1)) / 2];

    for (int k = first; k <= last; k++) {
        int inside = i + right <= g.nx;
        float above = inside || k < last ? other[(f + plane) / 2] : 0;
        if (inside) {
            float outer = other[(f + (right ? 1 : -1)) / 2];
            float new_value = relaxed_value(
                x0[f / 2], right ? partner : outer, right ? outer : partner,
                other[(f - row) / 2], other[(f + row) / 2], below, above, a, inv_c);
            unconverged |= !converged_cell(new_value, own[f / 2], tolerance);
            store(x, g, i + right, j, k, wall, new_value);
        }
        f += right ? plane - 1 : plane + 1;
        right = !right;
        below = partner;
        partner = above;
    }
    return unconverged;
}
