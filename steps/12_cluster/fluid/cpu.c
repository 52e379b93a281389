/* cpu.c - the MPI + OpenMP back-end: each rank computes a slab of planes, whose rows
 * are distributed over its threads; the cells of one colour in the rows of a plane are
 * one loop of unit stride. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"
#include "strip.h"
#include "passes.h"
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
static float *initial;      /* x before a solve in passes, unless it was 0 */
static sweep_record record; /* predicts the number of sweeps */
static dct_plan plan_y, plan_z;
static float *eigenvalue_y, *eigenvalue_z, *scale_y, *scale_z; /* per cosine mode */
static float *modes; /* [planes][ny][pitch]: right-hand side, modes along y, pressure */
static float *row_modes; /* [nz][rows][pitch]: the same, distributed by rows */
static size_t pitch;     /* row length of both: nx, rounded up to whole vectors */

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

/* Iterates over the planes of this rank and the adjacent ones. The operating system
 * places a page of memory near the thread that first writes to it; all loops over
 * planes therefore have the same schedule. */
#define FOR_EACH_PLANE(k)                                                              \
    _Pragma("omp parallel for schedule(static)") for (int k = own_slab.first - 1;      \
                                                      k <= own_slab.last + 1; k++)

static void clear(float *x)
{
    FOR_EACH_PLANE(k)
    for (int colour = RED; colour <= BLACK; colour++)
        memset(x + half_plane(g, k, colour), 0,
               half_planes_length(g, k, k, colour) * sizeof *x);
}

static void copy(float *dst, const float *src)
{
    FOR_EACH_PLANE(k)
    for (int colour = RED; colour <= BLACK; colour++)
        memcpy(dst + half_plane(g, k, colour), src + half_plane(g, k, colour),
               half_planes_length(g, k, k, colour) * sizeof *dst);
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
    own_slab = find_slab(&s);
    initial = allocate_untouched(cells, sizeof(float), "a field");
    record = (sweep_record){.a = -1};
    plan_y = make_plan(g.ny, &eigenvalue_y, &scale_y);
    plan_z = make_plan(g.nz, &eigenvalue_z, &scale_z);
    pitch = (size_t)(g.nx + LANES - 1) / LANES * LANES;
    modes = allocate_untouched(pitch * (size_t)g.ny *
                                   (size_t)(own_slab.last - own_slab.first + 2),
                               sizeof *modes, "a pressure");
    row_modes = allocate_untouched(pitch * (size_t)(own_slab.rows + 1) * (size_t)g.nz,
                                   sizeof *row_modes, "a pressure");
    for (int f = 0; f < FIELDS; f++) {
        field[f] = allocate_untouched(cells, sizeof(float), "a field");
        clear(field[f]);
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

void fluid_clear(int f)
{
    if (!s.from_zero) TIMED("clear", clear(field[f]));
}

/* Row n of the calling thread is at least OWN_ROW(first, last, 0) and less than
 * OWN_ROW(first, last, 1), if the rows of planes first to last are divided evenly among
 * the threads. */
#define OWN_ROW(first, last, next)                                                     \
    (g.ny * ((first)-1) + first_row((grid){g.nx, g.ny, (last) - (first) + 1},          \
                                    omp_get_thread_num() + (next),                     \
                                    omp_get_num_threads()))

/* Iterates over the rows of the calling thread, one part of them per plane. */
#define FOR_OWN_PARTS_OF(r, first, last)                                               \
    if ((first) <= (last))                                                             \
    FOR_EACH_PART(r, g, OWN_ROW(first, last, 0), OWN_ROW(first, last, 1))
#define FOR_OWN_PARTS(r) FOR_OWN_PARTS_OF(r, own_slab.first, own_slab.last)

static void add_source(float *x, const float *source)
{
    FOR_EACH_PLANE(k)
    for (int colour = RED; colour <= BLACK; colour++) {
        size_t first = half_plane(g, k, colour);
        size_t end = first + half_planes_length(g, k, k, colour);
        for (size_t c = first; c < end; c++) x[c] += s.dt * source[c];
    }
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
}

/* Half sweep n in some planes. Returns true if a cell changed by more than the
 * tolerance, or if `unconverged` says so of other planes. */
static int relax_planes(equation e, int n, int first, int last, int unconverged)
{
    const int found = unconverged; /* a reduction starts at 0 in each thread */
#pragma omp parallel reduction(| : unconverged)
    FOR_OWN_PARTS_OF(r, first, last)
    unconverged |= relax_rows(e, g, n, r, !(found | unconverged));
    return unconverged;
}

/* Exchanges the planes next to the slab, both colours. */
static void halo(int f)
{
    for (int colour = RED; colour <= BLACK; colour++) halo_begin(f, colour);
    for (int colour = RED; colour <= BLACK; colour++) halo_end(f, colour);
}

/* A solve: its equation, and the number of the field x. */
typedef struct {
    equation e;
    int x;
} numbered_equation;

/* Executes sweeps of a solve (passes.h), one colour at a time. The outermost planes are
 * relaxed first; they are sent while the planes between them are relaxed. Whether a
 * sweep has converged on all ranks is known after a global reduction. */
static int relax(const void *solve, int first, int sweeps)
{
    const numbered_equation *q = solve;
    int flags[BATCH] = {0}, lowest = own_slab.first, highest = own_slab.last;
    for (int n = 2 * first; n < 2 * (first + sweeps); n++) {
        int flag = flags[n / 2 - first], colour = n % 2 ? BLACK : RED;
        if (lowest <= highest) flag = relax_planes(q->e, n, lowest, lowest, flag);
        if (lowest < highest) flag = relax_planes(q->e, n, highest, highest, flag);
        halo_begin(q->x, colour);
        flags[n / 2 - first] = relax_planes(q->e, n, lowest + 1, highest - 1, flag);
        halo_end(q->x, colour);
    }
    if (s.tolerance < 0) return 0;
    reduce_flags(flags, sweeps);
    for (int n = 0; n < sweeps; n++)
        if (!flags[n]) return first + n + 1;
    return 0;
}

static void restore(const void *solve)
{
    const numbered_equation *q = solve;
    if (!q->e.from_zero) copy(q->e.x, initial);
}

/* Sets the red ghost cells after a solve. */
static void set_red_ghosts(equation e)
{
#pragma omp parallel
    FOR_OWN_PARTS(r) set_bnd(e.x, g, RED, r, e.wall);
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    equation e = {field[x], field[x0], s.from_zero, wall, a, 1 / c, s.tolerance};
    numbered_equation q = {e, x};
    if (!s.from_zero) {
        TIMED("copy halo", halo(x));
        TIMED("save", copy(initial, e.x));
    }
    int sweeps, predicted = predict_sweeps(&record, wall, x, a);
    TIMED("relax", sweeps = solve_by_passes(&s, predicted, BATCH, relax, restore, &q));
    record_sweeps(&record, wall, x, a, sweeps);
    set_red_ghosts(e);
    return sweeps;
}

/* Transposes LANES vectors. */
static void transpose(const lanes *src, lanes *dst)
{
    for (int i = 0; i < LANES; i++)
        for (int l = 0; l < LANES; l++) lane(dst[i], l) = lane(src[l], i);
}

/* The cosine modes (j, k) to (j, k + LANES - 1): solves along x, in place. */
static void solve_modes(int j, int k, lanes *x, lanes *inv_pivot)
{
    lanes eigenvalue = each(1), scale = each(0);
    for (int l = 0; l < LANES && k + l < g.nz; l++) {
        lane(eigenvalue, l) = eigenvalue_y[j] + eigenvalue_z[k + l];
        lane(scale, l) = scale_y[j] * scale_z[k + l];
    }
    for (int i = 0; i < g.nx; i++) x[i] *= scale;
    thomas_solve(x, inv_pivot, g.nx, eigenvalue);
}

/* Transforms row j of all planes along z, solves along x, and transforms back. In the
 * x-z slab, which is small enough for a core's cache, a vector holds LANES modes along
 * z: slab[modes / LANES][pitch]. */
static void solve_slab(int j, lanes *v, lanes *w, lanes *slab)
{
    size_t plane = pitch * (size_t)own_slab.rows;
    float *row = row_modes + pitch * (size_t)(j - own_slab.first_row);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(row + plane * (size_t)k + i);
        const lanes *result = dct2(plan_z, v, w);
        for (int k = 0; k < g.nz; k += LANES)
            transpose(result + k, slab + pitch * (size_t)(k / LANES) + i);
    }
    for (int k = 0; k < g.nz; k += LANES)
        solve_modes(j, k, slab + pitch * (size_t)(k / LANES), w);
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k += LANES)
            transpose(slab + pitch * (size_t)(k / LANES) + i, v + k);
        const lanes *result = dct3(plan_z, v, w);
        for (int k = 0; k < g.nz; k++) unload(row + plane * (size_t)k + i, result[k]);
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
            } else {
                for (int n = 0; n < count; n++) row[i - 1 + 2 * n] = cells[n];
            }
        }
        for (size_t i = (size_t)g.nx; i < pitch && !to_field; i++) row[i] = 0;
    }
    part rows = {k, 1, g.ny};
    if (to_field) set_bnd_of_both(x, g, rows, SCALAR);
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. Transforms along y need
 * whole planes, those along z need rows of all planes; all-to-all transposes
 * redistribute the data in between. */
static void solve_pressure(float *p, float *b)
{
    size_t longest = (size_t)longest_side(g) + LANES, vectors = longest / LANES * pitch;
#pragma omp parallel
    {
        lanes *v = allocate_untouched(longest, sizeof *v, "a line of the pressure"),
              *w = allocate_untouched(longest, sizeof *w, "a line of the pressure"),
              *slab =
                  allocate_untouched(vectors, sizeof *slab, "a slab of the pressure");
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
            solve_slab(j, v, w, slab);
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
        free(slab);
    }
}

/* Sweeps if their number is fixed. */
int fluid_pressure(int p, int div)
{
    if (s.tolerance < 0) return fluid_solve(SCALAR, p, div, 1, 6);
    TIMED("pressure", solve_pressure(field[p], field[div]));
    return 0;
}

/* Range of planes from which the flow w reaches this rank's cells in one time step. */
static void find_source_planes(const float *w, int *lowest, int *highest)
{
    int low = g.nz, high = -1;
#pragma omp parallel reduction(min : low) reduction(max : high)
    FOR_OWN_PARTS(r)
    for (int j = r.first; j <= r.last; j++)
        for (int i = 1; i <= g.nx; i++) {
            float distance = s.dt * g.nz * w[cell_index(g, i, j, r.k)];
            int below = (int)backtrace(r.k, distance, g.nz);
            low = below < low ? below : low;
            high = below > high ? below : high;
        }
    *lowest = low;
    *highest = high + 1;
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel
    FOR_OWN_PARTS(r)
    {
        advect_rows(d, d0, u, v, w, g, r, s.dt);
        set_bnd_of_both(d, g, r, wall);
    }
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    int low, high;
    TIMED("find source planes", find_source_planes(field[w], &low, &high));
    TIMED("copy planes", gather_planes(field[d0], low, high));
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
}

static void divergence(const float *u, const float *v, const float *w, float *div)
{
    float scale = -0.5f / longest_side(g);
#pragma omp parallel
    FOR_OWN_PARTS(r) divergence_rows(u, v, w, div, g, r, scale);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    fluid_clear(p);
    TIMED("copy halo", halo(w));
    TIMED("divergence", divergence(field[u], field[v], field[w], field[div]));
}

static void gradient(float *u, float *v, float *w, const float *p)
{
#pragma omp parallel
    FOR_OWN_PARTS(r) gradient_rows(u, v, w, p, g, r);
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("copy halo", halo(p));
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
