/* cpu.c - the MPI + OpenMP back-end: each rank computes a slab of planes, whose rows
 * are distributed over its threads; the loop along a row has unit stride. */
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"
#include "cosine.h"
#include "slab.h"

/* Maximum number of sweeps between two global reductions of the flags: all sweeps of a
 * solve (SWEEPS). */
enum { BATCH = 20 };

static setup s;
static grid g;
static slab own_slab; /* the planes of this rank */
static size_t cells;  /* in a field, with ghost cells */
static float *field[FIELDS];
static dct_plan plan_y, plan_z;
static float *eigenvalue_y, *eigenvalue_z, *scale_y, *scale_z; /* per cosine mode */
static float *modes; /* [planes][ny][pitch]: right-hand side, modes along y, pressure */
static float *row_modes;     /* [nz][rows][pitch]: the same, distributed by rows */
static size_t pitch;         /* row length of both: nx, rounded up to whole vectors */
static float *initial;       /* x before the solve, if it was not 0 */
static bool is_zero[FIELDS]; /* true: all cells of a field are 0 */

/* Sets the calling thread's flush-to-zero mode: denormal floats (below 1.2e-38) are
 * read and written as 0. Many processors compute denormals in a slow special path. New
 * threads inherit the mode of the thread that creates them. */
static void flush_denormals(void)
{
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | 0x40 /* DAZ: operands, too */);
#elif defined(__aarch64__)
    unsigned long word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 1ul << 24 /* FZ */));
#endif
}

static dct_plan make_plan(int n, float **eigenvalue, float **scale)
{
    int odd = odd_factor(n);
    float *factors = allocate((size_t)n, sizeof *factors, "cosines");
    float *odd_matrix =
        allocate((size_t)odd * (size_t)odd, sizeof *odd_matrix, "cosines");
    *eigenvalue = allocate((size_t)n, sizeof **eigenvalue, "cosine modes");
    *scale = allocate((size_t)n, sizeof **scale, "cosine modes");
    fill_dct_factors(n, factors);
    fill_odd_matrix(odd, odd_matrix);
    fill_modes(n, *eigenvalue, *scale);
    return (dct_plan){n, odd, factors, odd_matrix};
}

void fluid_begin(const setup *requested)
{
#pragma omp parallel
    flush_denormals();
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    cells = field_size(g);
    plan_y = make_plan(g.ny, &eigenvalue_y, &scale_y);
    plan_z = make_plan(g.nz, &eigenvalue_z, &scale_z);
    pitch = (size_t)(g.nx + LANES - 1) / LANES * LANES;
    own_slab = find_slab(&s);
    modes = allocate_untouched(pitch * (size_t)g.ny *
                                   (size_t)(own_slab.last - own_slab.first + 2),
                               sizeof *modes, "a pressure");
    row_modes = allocate_untouched(pitch * (size_t)(own_slab.rows + 1) * (size_t)g.nz,
                                   sizeof *row_modes, "a pressure");
    initial = allocate_untouched(cells, sizeof(float), "a field");
    for (int f = 0; f < FIELDS; f++) {
        field[f] = allocate_untouched(cells, sizeof(float), "a field");
        fluid_clear(f);
    }
    ranks_begin(field, modes, row_modes, pitch);
}

void fluid_end(void)
{
    ranks_end();
    for (int f = 0; f < FIELDS; f++) free(field[f]);
    free(initial);
    free(modes);
    free(row_modes);
    free((void *)plan_y.factors);
    free((void *)plan_y.odd_matrix);
    free((void *)plan_z.factors);
    free((void *)plan_z.odd_matrix);
    free(eigenvalue_y);
    free(eigenvalue_z);
    free(scale_y);
    free(scale_z);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    field[f][cell_index(g, i, j, k)] = value;
    is_zero[f] = false;
}

/* Rank 0, which writes the output, receives the field; the other ranks get zeros. */
void fluid_get(int f, float *dst)
{
    TIMED("copy to rank 0", gather_on_rank_0(field[f]));
    if (run_rank)
        memset(dst, 0,
               (size_t)(g.nx + 2) * (size_t)(g.ny + 2) * (size_t)(g.nz + 2) *
                   sizeof *dst);
    else
        TIMED("copy", merge_colours(g, field[f], dst));
}

/* Iterates over the planes of this rank and the adjacent ones. The operating system
 * places a page of memory near the thread that first writes to it; all loops over
 * planes therefore have the same schedule. */
#define FOR_EACH_PLANE(k)                                                              \
    _Pragma("omp parallel for schedule(static)") for (int k = own_slab.first - 1;      \
                                                      k <= own_slab.last + 1; k++)

static void clear(float *x)
{
    FOR_EACH_PLANE(k)
    {
        size_t plane = (size_t)plane_stride(g), red = plane * (size_t)k;
        memset(x + red, 0, plane * sizeof(float));
        memset(x + half_size(g) + red, 0, plane * sizeof(float));
    }
}

static void copy(float *dst, const float *src)
{
    FOR_EACH_PLANE(k)
    {
        size_t plane = (size_t)plane_stride(g), red = plane * (size_t)k,
               black = red + (size_t)half_size(g);
        memcpy(dst + red, src + red, plane * sizeof(float));
        memcpy(dst + black, src + black, plane * sizeof(float));
    }
}

void fluid_clear(int f)
{
    TIMED("clear", clear(field[f]));
    is_zero[f] = true;
}

static void add_source(float *x, const float *source)
{
    FOR_EACH_PLANE(k)
    {
        int plane = plane_stride(g), red = plane * k, black = red + half_size(g);
        for (int c = 0; c < plane; c++) {
            x[red + c] += s.dt * source[red + c];
            x[black + c] += s.dt * source[black + c];
        }
    }
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
    is_zero[x] = false;
}

/* Relaxes the cells of one colour in some planes. Returns true if a cell changed by
 * more than the tolerance. */
static int relax_planes(float *x, const float *x0, int colour, int first, int last,
                        int step, int wall, float a, float inv_c)
{
    int unconverged = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(| : unconverged)
    for (int k = first; k <= last; k += step)
        for (int j = 1; j <= g.ny; j++)
            unconverged |=
                relax_row(x, x0, g, colour, j, k, wall, a, inv_c, s.tolerance);
    return unconverged;
}

/* Executes the next sweeps of a solve, one colour at a time. The outermost planes are
 * relaxed first; they are sent while the planes between them are relaxed. Returns the
 * first of these sweeps, counted from 1, after which the solve has converged on all
 * ranks; 0: none. */
static int relax(int x_id, const float *x0, int sweeps, int wall, float a, float inv_c)
{
    int flags[BATCH] = {0};
    int border_step =
        own_slab.last > own_slab.first ? own_slab.last - own_slab.first : 1;
    for (int h = 0; h < 2 * sweeps; h++) {
        int *flag = &flags[h / 2], colour = h % 2 ? BLACK : RED;
        *flag |= relax_planes(field[x_id], x0, colour, own_slab.first, own_slab.last,
                              border_step, wall, a, inv_c);
        halo_begin(x_id, colour);
        *flag |= relax_planes(field[x_id], x0, colour, own_slab.first + 1,
                              own_slab.last - 1, 1, wall, a, inv_c);
        halo_end(x_id, colour);
    }
    if (s.tolerance < 0) return 0;
    reduce_flags(flags, sweeps);
    for (int n = 0; n < sweeps; n++)
        if (!flags[n]) return n + 1;
    return 0;
}

/* Exchanges the planes next to the slab, both colours. */
static void halo(int f)
{
    for (int colour = RED; colour <= BLACK; colour++) halo_begin(f, colour);
    for (int colour = RED; colour <= BLACK; colour++) halo_end(f, colour);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Transforms row j of all planes along z, solves along x, and transforms back. This x-z
 * slab is small enough for a core's cache. */
static void solve_slab(int j, lanes *v, lanes *w)
{
    size_t plane = pitch * (size_t)own_slab.rows;
    float *xz_slab = row_modes + pitch * (size_t)(j - own_slab.first_row);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(xz_slab + plane * (size_t)k + i);
        lanes *result = dct2(plan_z, v, w);
        for (int k = 0; k < g.nz; k++)
            unload(xz_slab + plane * (size_t)k + i, result[k]);
    }
    for (int k = 0; k < g.nz; k += LANES) {
        lanes eigenvalue = each(1), scale = each(0);
        int count = g.nz - k < LANES ? g.nz - k : LANES;
        for (int l = 0; l < count; l++) {
            lane(eigenvalue, l) = eigenvalue_y[j] + eigenvalue_z[k + l];
            lane(scale, l) = scale_y[j] * scale_z[k + l];
        }
        for (int i = 0; i < g.nx; i++) {
            for (int l = 0; l < count; l++)
                lane(v[i], l) = xz_slab[plane * (size_t)(k + l) + (size_t)i];
            v[i] *= scale;
        }
        thomas_solve(v, w, g.nx, eigenvalue);
        for (int i = 0; i < g.nx; i++)
            for (int l = 0; l < count; l++)
                xz_slab[plane * (size_t)(k + l) + (size_t)i] = lane(v[i], l);
    }
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(xz_slab + plane * (size_t)k + i);
        lanes *result = dct3(plan_z, v, w);
        for (int k = 0; k < g.nz; k++)
            unload(xz_slab + plane * (size_t)k + i, result[k]);
    }
}

/* Transforms plane k along y, forward or inverse. */
static void transform_plane(int k, int inverse, lanes *v, lanes *w)
{
    float *plane = modes + pitch * (size_t)g.ny * (size_t)(k - own_slab.first);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int j = 0; j < g.ny; j++) v[j] = load(plane + pitch * (size_t)j + i);
        lanes *result = inverse ? dct3(plan_y, v, w) : dct2(plan_y, v, w);
        for (int j = 0; j < g.ny; j++) unload(plane + pitch * (size_t)j + i, result[j]);
    }
}

/* Copies the inner cells of plane k from a field to modes, or back with ghost cells. */
static void copy_plane(int k, float *x, int to_field)
{
    for (int j = 0; j < g.ny; j++) {
        float *row =
            modes + pitch * ((size_t)j + (size_t)g.ny * (size_t)(k - own_slab.first));
        for (int i = 1; i <= 2 && i <= g.nx; i++) {
            float *cells = x + cell_index(g, i, j + 1, k);
            int count = (g.nx - i + 2) / 2;
            if (to_field) {
                for (int n = 0; n < count; n++) cells[n] = row[i - 1 + 2 * n];
                set_bnd(x, g, i, count, j + 1, k, SCALAR);
            } else {
                for (int n = 0; n < count; n++) row[i - 1 + 2 * n] = cells[n];
            }
        }
        for (size_t i = (size_t)g.nx; i < pitch && !to_field; i++) row[i] = 0;
    }
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. Transforms along y need
 * whole planes, those along z need rows of all planes; all-to-all transposes
 * redistribute the data in between. */
static void solve_pressure(float *p, float *b)
{
    size_t longest = (size_t)longest_side(g);
#pragma omp parallel
    {
        lanes *v = allocate_untouched(longest, sizeof *v, "a line of the pressure"),
              *w = allocate_untouched(longest, sizeof *w, "a line of the pressure");
#pragma omp for schedule(static)
        for (int k = own_slab.first; k <= own_slab.last; k++) {
            copy_plane(k, b, 0);
            transform_plane(k, 0, v, w);
        }
#pragma omp master
        transpose_to_rows();
#pragma omp barrier
#pragma omp for schedule(static)
        for (int j = own_slab.first_row; j < own_slab.first_row + own_slab.rows; j++)
            solve_slab(j, v, w);
#pragma omp master
        transpose_to_planes();
#pragma omp barrier
#pragma omp for schedule(static)
        for (int k = own_slab.first; k <= own_slab.last; k++) {
            transform_plane(k, 1, v, w);
            copy_plane(k, p, 1);
        }
        free(v);
        free(w);
    }
}

/* Convergence requires a global reduction. It is executed once per batch of sweeps. The
 * number of sweeps is predicted from the previous solve of the same kind: all but the
 * last of them form the first batch, the following ones are executed one by one. If
 * one of the sweeps of the first batch has already converged on all ranks, the solve is
 * repeated from its initial values, up to that sweep. */
int fluid_solve(int wall, int x_id, int x0_id, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        TIMED("pressure", solve_pressure(field[x_id], field[x0_id]));
        is_zero[x_id] = false;
        return 0;
    }

    static int previous_sweeps[ALONG_Z + 1][FIELDS];
    float *x = field[x_id];
    const float *x0 = field[x0_id];
    int predicted = s.tolerance < 0 ? s.sweeps : previous_sweeps[wall][x_id] - 1,
        done = 0, last = 0;
    TIMED("copy halo", halo(x_id));
    if (predicted > 1 && !is_zero[x_id]) copy(initial, x);

    while (done < s.sweeps && !last) {
        int batch = predicted > done ? smaller(predicted - done, BATCH) : 1;
        TIMED("relax", last = relax(x_id, x0, batch, wall, a, 1 / c));
        if (last) last += done;
        done += batch;
    }
    if (last && last < done) {
        if (is_zero[x_id])
            clear(x);
        else
            copy(x, initial);
        TIMED("relax", relax(x_id, x0, last, wall, a, 1 / c));
        done = last;
    }
    previous_sweeps[wall][x_id] = done;
    is_zero[x_id] = false;
    return done;
}

/* Iterates over the rows of each colour. The inner cells of a row are in columns i, i +
 * 2 ..; there are count of them. */
#define FOR_EACH_COLOUR_ROW(i, count, j, k)                                            \
    for (int k = own_slab.first; k <= own_slab.last; k++)                              \
        for (int j = 1; j <= g.ny; j++)                                                \
            for (int i = 1, count = (g.nx + 1) / 2; i <= 2 && count > 0;               \
                 i++, count = g.nx / 2)

/* Range of planes from which the flow w reaches this rank's cells in one time step. */
static void find_source_planes(const float *w, int *lowest, int *highest)
{
    int low = g.nz, high = -1;
#pragma omp parallel for reduction(min : low) reduction(max : high)
    FOR_EACH_COLOUR_ROW(i, count, j, k)
    {
        int idx = cell_index(g, i, j, k);
        for (int n = 0; n < count; n++) {
            int below = (int)backtrace(k, s.dt * g.nz * w[idx + n], g.nz);
            low = below < low ? below : low;
            high = below > high ? below : high;
        }
    }
    *lowest = low;
    *highest = high + 1;
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    FOR_EACH_COLOUR_ROW(i, count, j, k)
    {
        int idx = cell_index(g, i, j, k);
#pragma omp simd
        for (int n = 0; n < count; n++)
            d[idx + n] = advected_value(d0, u[idx + n], v[idx + n], w[idx + n], g,
                                        i + 2 * n, j, k, s.dt);
        set_bnd(d, g, i, count, j, k, wall);
    }
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    int low, high;
    TIMED("find source planes", find_source_planes(field[w], &low, &high));
    TIMED("copy planes", gather_planes(field[d0], low, high));
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
    is_zero[d] = false;
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
    float scale = -0.5f / longest_side(g);
    int row = row_stride(g), plane = plane_stride(g);
#pragma omp parallel for collapse(2) schedule(static)
    FOR_EACH_COLOUR_ROW(i, count, j, k)
    {
        int own = cell_index(g, i, j, k);
        int idx = half_offset(g, i + 1, j, k) + half_index(g, i, j, k),
            west = west_index(idx, i);
#pragma omp simd
        for (int n = 0; n < count; n++) {
            div[own + n] = outflow(u, v, w, idx + n, west + n, row, plane, scale);
            p[own + n] = 0;
        }
        set_bnd(div, g, i, count, j, k, SCALAR);
        set_bnd(p, g, i, count, j, k, SCALAR);
    }
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    TIMED("copy halo", halo(w));
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
    is_zero[div] = false;
    is_zero[p] = true;
}

static void gradient(float *u, float *v, float *w, const float *p)
{
    int row = row_stride(g), plane = plane_stride(g);
#pragma omp parallel for collapse(2) schedule(static)
    FOR_EACH_COLOUR_ROW(i, count, j, k)
    {
        int own = cell_index(g, i, j, k),
            idx = half_offset(g, i + 1, j, k) + half_index(g, i, j, k);
        const float *west = p + west_index(idx, i), *opposite = p + idx;
#pragma omp simd
        for (int n = 0; n < count; n++) {
            u[own + n] -= 0.5f * (west[n + 1] - west[n]);
            v[own + n] -= 0.5f * (opposite[n + row] - opposite[n - row]);
            w[own + n] -= 0.5f * (opposite[n + plane] - opposite[n - plane]);
        }
        set_bnd(u, g, i, count, j, k, ALONG_X);
        set_bnd(v, g, i, count, j, k, ALONG_Y);
        set_bnd(w, g, i, count, j, k, ALONG_Z);
    }
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("copy halo", halo(p));
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
    is_zero[u] = is_zero[v] = is_zero[w] = false;
}
