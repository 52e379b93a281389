/* strip.h - operations on rows of cells, LANES cells of one colour at a time, in C and
 * OpenCL C.
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

/* Rows first to last of plane k. */
typedef struct {
    int k, first, last;
} part;

/* Flat index of the first cell of one colour in these rows: where a run begins. */
FN int run_begin(grid g, part r, int colour)
{
    int f = flat_index(g, 1, r.first, r.k);
    return f + (f + colour + 1) % 2;
}

/* Number of cells of one colour from flat index f, which has it, to the last row. */
FN int run_length(grid g, part r, int f)
{
    return (flat_index(g, g.nx, r.last, r.k) - f + 2) / 2;
}

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

/* The equation c x - a (sum of the neighbours) = x0 of a solve; inv_c is 1 / c.
 * from_zero: x is 0 before the solve, whatever is in memory. */
typedef struct {
    GLOBAL float *x;
    GLOBAL const float *x0;
    int from_zero, wall;
    float a, inv_c, tolerance;
} equation;

/* Mask of the lanes whose change is at most the tolerance; false for NaN. */
FN mask converged_lanes(lanes new_value, lanes old_value, float tolerance)
{
    lanes move = new_value - old_value;
    return (move <= each(tolerance)) & (move >= each(-tolerance));
}

/* Half sweep n of a solve, counted from 0 (even: red, odd: black), in a part, and in
 * the ghost cells between its rows. With `test`, returns true if a cell changed by more
 * than the tolerance; without, 0. */
FN int relax_run(equation e, grid g, int n, part r, int test)
{
    int row = row_pitch(g), plane = plane_pitch(g);
    int f = run_begin(g, r, n % 2 ? BLACK : RED), count = run_length(g, r, f);
    int was_zero = test && e.from_zero && n < 2;
    GLOBAL float *cells = e.x + field_index(g, f);
    GLOBAL const float *x0 = e.x0 + field_index(g, f);
    GLOBAL const float *west = e.x + field_index(g, f - 1), *east = west + 1;
    GLOBAL const float *south = e.x + field_index(g, f - row),
                       *north = e.x + field_index(g, f + row);
    GLOBAL const float *below = e.x + field_index(g, f - plane),
                       *above = e.x + field_index(g, f + plane);
    mask converged = each(0) == each(0);
    int c = 0, unconverged = 0;

    for (; c + LANES <= count; c += LANES) {
        lanes sum = load_row(west + c) + load_row(east + c) + load_row(south + c) +
                    load_row(north + c) + load_row(below + c) + load_row(above + c);
        lanes new_value = (load_row(x0 + c) + e.a * sum) * e.inv_c;
        if (test)
            converged &= converged_lanes(
                new_value, was_zero ? each(0) : load_row(cells + c), e.tolerance);
        unload_row(cells + c, new_value);
    }
    for (; c < count; c++) {
        float sum = west[c] + east[c] + south[c] + north[c] + below[c] + above[c];
        float new_value = (x0[c] + e.a * sum) * e.inv_c;
        float old_value = was_zero ? 0 : cells[c];
        if (test) unconverged |= !(fabsf(new_value - old_value) <= e.tolerance);
        cells[c] = new_value;
    }
    return unconverged | !all(converged);
}

/* The first half sweep if x is 0, in one row; as with neighbours, the sum changes -0 to
 * 0. Returns true if a cell changed by more than the tolerance. */
FN int relax_from_zero(equation e, grid g, part r)
{
    int f = run_begin(g, r, RED), count = run_length(g, r, f), c = 0, unconverged = 0;
    GLOBAL float *cells = e.x + field_index(g, f);
    GLOBAL const float *x0 = e.x0 + field_index(g, f);
    mask converged = each(0) == each(0);
    for (; c + LANES <= count; c += LANES) {
        lanes new_value = (load_row(x0 + c) + each(0)) * e.inv_c;
        converged &= converged_lanes(new_value, each(0), e.tolerance);
        unload_row(cells + c, new_value);
    }
    for (; c < count; c++) {
        cells[c] = (x0[c] + 0) * e.inv_c;
        unconverged |= !(fabsf(cells[c]) <= e.tolerance);
    }
    return unconverged | !all(converged);
}

/* Sets count ghost cells of one colour, from flat index f on in steps of `step`, to
 * sign times the inner cells next to them, which are at the flat distance d. */
FN void mirror(GLOBAL float *x, grid g, int f, int step, int count, int d, float sign)
{
    GLOBAL float *ghosts = x + field_index(g, f);
    GLOBAL const float *cells = x + field_index(g, f + d);
    for (int n = 0; n < count; n++)
        ghosts[n * (step / 2)] = sign * cells[n * (step / 2)];
}

FN void mirror_row(GLOBAL float *x, grid g, int colour, int j, int k, int d, float sign)
{
    part r = {k, j, j};
    int f = run_begin(g, r, colour);
    mirror(x, g, f, 2, run_length(g, r, f), d, sign);
}

/* The boundary condition of a field that is 0, whatever its cells hold in memory. */
enum { ZERO_WALLS = -1 };

/* Sets the ghost cells of one colour next to the rows of a part. */
FN void set_bnd(GLOBAL float *x, grid g, int colour, part r, int wall)
{
    float sign = wall == ZERO_WALLS ? 0 : 1;
    float sign_x = wall == ALONG_X ? -1 : sign;
    float sign_y = wall == ALONG_Y ? -1 : sign;
    float sign_z = wall == ALONG_Z ? -1 : sign;
    int row = row_pitch(g), plane = plane_pitch(g), k = r.k;
    for (int i = 0; i <= g.nx + 1; i += g.nx + 1) { /* in every second row */
        int j = r.first + (i + r.first + k + colour + 1) % 2;
        mirror(x, g, flat_index(g, i, j, k), 2 * row, (r.last - j + 2) / 2, i ? -1 : 1,
               sign_x);
    }
    if (r.first == 1) mirror_row(x, g, colour, 0, k, row, sign_y);
    if (r.last == g.ny) mirror_row(x, g, colour, g.ny + 1, k, -row, sign_y);
    for (int j = r.first; k == 1 && j <= r.last; j++)
        mirror_row(x, g, colour, j, 0, plane, sign_z);
    for (int j = r.first; k == g.nz && j <= r.last; j++)
        mirror_row(x, g, colour, j, g.nz + 1, -plane, sign_z);
}

FN void set_bnd_of_both(GLOBAL float *x, grid g, part r, int wall)
{
    set_bnd(x, g, RED, r, wall);
    set_bnd(x, g, BLACK, r, wall);
}

/* The same, with all ghost cells.
 *
 * The ghost cells of this colour are next to cells of the other colour, which the
 * previous half sweep has changed; they are needed by the next one. The first half
 * sweep leaves them as they are, or sets them to 0. Black cells are the last that a
 * solve changes: after it, the red ghost cells have to be set once more. (A black half
 * sweep must not set them, since runs of other workers read them.) */
FN int relax_rows(equation e, grid g, int n, part r, int test)
{
    int colour = n % 2 ? BLACK : RED, unconverged = 0;
    if (test || n == 0) /* row by row, without ghost cells */
        for (int j = r.first; j <= r.last; j++) {
            part row = {r.k, j, j};
            unconverged |= n == 0 && e.from_zero ? relax_from_zero(e, g, row)
                                                 : relax_run(e, g, n, row, 1);
        }
    else
        relax_run(e, g, n, r, 0);
    if (n > 0 || e.from_zero) set_bnd(e.x, g, colour, r, n > 0 ? e.wall : ZERO_WALLS);
    return test & unconverged;
}

/* Stores the right-hand side of the pressure equation. */
FN void divergence_rows(GLOBAL const float *u, GLOBAL const float *v,
                        GLOBAL const float *w, GLOBAL float *div, grid g, part r,
                        float scale)
{
    int row = row_pitch(g), plane = plane_pitch(g);
    for (int colour = RED; colour <= BLACK; colour++) {
        int f = run_begin(g, r, colour), count = run_length(g, r, f), n = 0;
        GLOBAL const float *west = u + field_index(g, f - 1), *east = west + 1;
        GLOBAL const float *south = v + field_index(g, f - row),
                           *north = v + field_index(g, f + row);
        GLOBAL const float *below = w + field_index(g, f - plane),
                           *above = w + field_index(g, f + plane);
        GLOBAL float *values = div + field_index(g, f);
        for (; n + LANES <= count; n += LANES)
            unload_row(values + n, scale * (load_row(east + n) - load_row(west + n) +
                                            load_row(north + n) - load_row(south + n) +
                                            load_row(above + n) - load_row(below + n)));
        for (; n < count; n++)
            values[n] =
                scale * (east[n] - west[n] + north[n] - south[n] + above[n] - below[n]);
    }
    set_bnd_of_both(div, g, r, SCALAR);
}

/* Subtracts half the difference of p at the flat distance d on both sides of a cell. */
FN void subtract_rows(GLOBAL float *x, GLOBAL const float *p, grid g, part r, int d,
                      int wall)
{
    for (int colour = RED; colour <= BLACK; colour++) {
        int f = run_begin(g, r, colour), count = run_length(g, r, f), n = 0;
        GLOBAL const float *before = p + field_index(g, f - d),
                           *after = p + field_index(g, f + d);
        GLOBAL float *cells = x + field_index(g, f);
        for (; n + LANES <= count; n += LANES)
            unload_row(cells + n, load_row(cells + n) - 0.5f * (load_row(after + n) -
                                                                load_row(before + n)));
        for (; n < count; n++) cells[n] -= 0.5f * (after[n] - before[n]);
    }
    set_bnd_of_both(x, g, r, wall);
}

/* Subtracts the gradient of the pressure from the velocity. */
FN void gradient_rows(GLOBAL float *u, GLOBAL float *v, GLOBAL float *w,
                      GLOBAL const float *p, grid g, part r)
{
    subtract_rows(u, p, g, r, 1, ALONG_X);
    subtract_rows(v, p, g, r, row_pitch(g), ALONG_Y);
    subtract_rows(w, p, g, r, plane_pitch(g), ALONG_Z);
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

/* Traces LANES cells back in time by dt: the cell `at` and every second one after it.
 */
FN origin trace(lanes u, lanes v, lanes w, grid g, position at, float dt)
{
    float ramp[LANES];
    for (int l = 0; l < LANES; l++) ramp[l] = 2 * l;
    lanes x = backtrace_lanes(each(at.i) + load(ramp), dt * g.nx * u, g.nx);
    lanes y = backtrace_lanes(each(at.j), dt * g.ny * v, g.ny);
    lanes z = backtrace_lanes(each(at.k), dt * g.nz * w, g.nz);
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

/* Advection of d0 to d by the flow (u, v, w). The last vector of a row starts early
 * enough to be full. */
FN void advect_rows(GLOBAL float *d, GLOBAL const float *d0, GLOBAL const float *u,
                    GLOBAL const float *v, GLOBAL const float *w, grid g, part r,
                    float dt)
{
    for (int j = r.first; j <= r.last; j++)
        for (int column = 1; column <= 2; column++) {
            int idx = cell_index(g, column, j, r.k), count = (g.nx - column + 2) / 2;
            for (int n = 0; n < count && count < LANES; n++) {
                position at = {column + 2 * n, j, r.k};
                d[idx + n] = advected_value(d0, u, v, w, g, at, dt);
            }
            for (int m = 0; m < count && count >= LANES; m += LANES) {
                int n = m + LANES < count ? m : count - LANES, c = idx + n;
                position at = {column + 2 * n, j, r.k};
                origin o =
                    trace(load_row(u + c), load_row(v + c), load_row(w + c), g, at, dt);
                unload_row(d + c, advected_lanes(d0, g, &o));
            }
        }
}
