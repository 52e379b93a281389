/* cpu.c - the OpenMP back-end: rows of cells are distributed over the threads; the
 * cells of one colour in the rows of a plane are one loop of unit stride. */
#include <omp.h>
#include <stdlib.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#define SIDE(name) host_##name
#include "sides.h"
#include "host.h"
#include "strip.h"
#include "block.h"
#include "passes.h"
#include "cosine.h"

/* Maximum number of sweeps per pass; README.md has the measurement of this choice. */
#ifndef DEPTH
#define DEPTH 4
#endif

static setup s;
static grid g;
static size_t cells; /* in a field, with ghost cells */
static float *field[FIELDS];
static float *initial;      /* x before a solve in passes, unless it was 0 */
static int *flags;          /* [s.sweeps]: 1 if a sweep of a pass has not converged */
static sweep_record record; /* predicts the number of sweeps */
static dct_plan plan_y, plan_z;
static float *eigenvalue_y, *eigenvalue_z, *scale_y, *scale_z; /* per cosine mode */
static float *modes; /* [nz][ny][pitch]: right-hand side, its cosine modes, pressure */
static size_t pitch; /* row length of modes: nx, rounded up to whole vectors */

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

/* The operating system places a page of memory near the thread that first writes to it.
 * Each thread therefore clears about the rows that it computes. */
static void clear(float *x)
{
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cells / 2; c++) x[c] = x[cells / 2 + c] = 0;
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
    initial = allocate_untouched(cells, sizeof(float), "a field");
    flags = allocate((size_t)s.sweeps, sizeof *flags, "convergence flags");
    record = (sweep_record){.a = -1};
    plan_y = make_plan(g.ny, &eigenvalue_y, &scale_y);
    plan_z = make_plan(g.nz, &eigenvalue_z, &scale_z);
    pitch = (size_t)(g.nx + LANES - 1) / LANES * LANES;
    modes = allocate(pitch * (size_t)g.ny * (size_t)(g.nz + LANES), sizeof *modes,
                     "a pressure");
    for (int f = 0; f < FIELDS; f++) {
        field[f] = allocate_untouched(cells, sizeof(float), "a field");
        clear(field[f]);
    }
}

void fluid_end(void)
{
    for (int f = 0; f < FIELDS; f++) free(field[f]);
    free(initial);
    free(flags);
    free(modes);
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

void fluid_get(int f, float *dst)
{
    TIMED("copy", merge_colours(g, field[f], dst));
}

void fluid_clear(int f)
{
    if (!s.from_zero) TIMED("clear", clear(field[f]));
}

/* The host receives fields of the device. */
float *host_field(int f)
{
    return field[f];
}

/* Iterates over the rows of the calling thread, one part of them per plane. */
#define FOR_OWN_PARTS(r)                                                               \
    FOR_EACH_PART(r, g, first_row(g, omp_get_thread_num(), omp_get_num_threads()),     \
                  first_row(g, omp_get_thread_num() + 1, omp_get_num_threads()))

static void add_source(float *x, const float *source)
{
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cells; c++) x[c] += s.dt * source[c];
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
}

/* A sweep has not converged if a single cell changes by more than the tolerance: the
 * witness. Cells are tested only until one is found. It is likely to be near the
 * previous one, so each thread begins at the plane in which one was found last. */
static int unconverged, witness_plane; /* unconverged: a witness has been found */

/* Half sweep n in rows begin to end - 1. Looks for a witness as long as there is none.
 */
static void relax(equation e, int n, int begin, int end)
{
    FOR_EACH_PART(r, g, begin, end)
    {
        int found;
#pragma omp atomic read
        found = unconverged;
        if (!relax_rows(e, g, n, r, !found)) continue;
#pragma omp atomic write
        unconverged = 1;
#pragma omp atomic write
        witness_plane = r.k;
    }
}

/* Half sweep n of a solve, counted from 0. Cells of one colour are not neighbours, so
 * they can be relaxed in any order. */
static void half_sweep(equation e, int n)
{
    int witness = witness_plane;
#pragma omp parallel
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        int first = first_row(g, t, threads), end = first_row(g, t + 1, threads),
            begin = row_to_begin(g, witness, first, end);
        relax(e, n, begin, end);
        relax(e, n, first, begin);
    }
}

/* The sweeps of step 08, for boxes in which passes of several sweeps gain nothing. */
static int solve_by_sweeps(equation e)
{
    int sweeps = 0;
    do {
        unconverged = 0;
        TIMED("relax red", half_sweep(e, 2 * sweeps));
        TIMED("relax black", half_sweep(e, 2 * sweeps + 1));
        sweeps++;
    } while (sweeps < s.sweeps && unconverged);
    return sweeps;
}

/* Passes of several sweeps need many planes, and pay only if the two fields of a solve
 * are much larger than the second-level caches of the threads. README.md has the
 * measurement of CACHES. */
enum { CACHES = 4 };

static bool passes_pay(void)
{
    int threads = omp_get_max_threads();
    double caches = CACHES * (double)machine_l2_cache() * threads;
    return worker_count(g, threads) == threads && pass_depth(g, threads, DEPTH) > 1 &&
           2 * (double)cells * sizeof(float) > caches;
}

/* Executes sweeps of a solve in one pass (passes.h). */
static int relax_wavefront(const void *solve, int first, int sweeps)
{
    const equation *e = solve;
    double begin = profiling() ? seconds() : 0;
    for (int n = first; n < first + sweeps; n++) flags[n] = 0;
#pragma omp parallel num_threads(worker_count(g, omp_get_max_threads()))
    for (int phase = 0; phase < 2; phase++) {
        relax_pass(*e, g, omp_get_thread_num(), omp_get_num_threads(), phase, first,
                   sweeps, flags);
#pragma omp barrier
    }
    if (profiling()) profile_record("relax", seconds() - begin);
    for (int n = first; n < first + sweeps; n++)
        if (!flags[n]) return n + 1;
    return 0;
}

static void copy(float *dst, const float *src)
{
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cells; c++) dst[c] = src[c];
}

static void restore(const void *solve)
{
    const equation *e = solve;
    if (!e->from_zero) TIMED("restore", copy(e->x, initial));
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
    int sweeps, predicted = predict_sweeps(&record, wall, x, a);
    if (passes_pay()) {
        int workers = worker_count(g, omp_get_max_threads());
        if (!e.from_zero) TIMED("save", copy(initial, e.x));
        sweeps = solve_by_passes(&s, predicted, pass_depth(g, workers, DEPTH),
                                 relax_wavefront, restore, &e);
    } else {
        sweeps = solve_by_sweeps(e);
    }
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
    size_t plane = pitch * (size_t)g.ny;
    float *row = modes + pitch * (size_t)j;
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
    float *plane = modes + pitch * (size_t)g.ny * (size_t)k;
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
        float *row = modes + pitch * ((size_t)j + (size_t)g.ny * (size_t)k);
        for (int i = 1; i <= 2 && i <= g.nx; i++) {
            float *cells = x + cell_index(g, i, j + 1, k + 1);
            int count = (g.nx - i + 2) / 2;
            if (to_field) {
                for (int n = 0; n < count; n++) cells[n] = row[i - 1 + 2 * n];
            } else {
                for (int n = 0; n < count; n++) row[i - 1 + 2 * n] = cells[n];
            }
        }
        for (size_t i = (size_t)g.nx; i < pitch && !to_field; i++) row[i] = 0;
    }
    part rows = {k + 1, 1, g.ny};
    if (to_field) set_bnd_of_both(x, g, rows, SCALAR);
}

/* Solves the pressure equation 6 p - (sum of the six neighbours) = b directly: DCT-II
 * along y and z, Thomas algorithm along x, inverse transforms. See R. W. Hockney, A
 * fast direct solution of Poisson's equation using Fourier analysis, JACM 12 (1965). */
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
        for (int k = 0; k < g.nz; k++) {
            copy_plane(k, b, 0);
            transform_plane(k, 0, v, w);
        }
#pragma omp for schedule(static)
        for (int j = 0; j < g.ny; j++) solve_slab(j, v, w, slab);
#pragma omp for schedule(static)
        for (int k = 0; k < g.nz; k++) {
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
    TIMED("divergence", divergence(field[u], field[v], field[w], field[div]));
}

static void gradient(float *u, float *v, float *w, const float *p)
{
#pragma omp parallel
    FOR_OWN_PARTS(r) gradient_rows(u, v, w, p, g, r);
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
