/* cpu.c - the OpenMP back-end: rows of cells are distributed over the threads; the
 * cells of one colour in the rows of a plane are one loop of unit stride. */
#include <omp.h>
#include <stdlib.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"

static setup s;
static grid g;
static size_t cells; /* in a field, with ghost cells */
static float *field[FIELDS];
static bool is_zero[FIELDS]; /* all cells of a field are 0, whatever is in memory */

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

/* Writes the zeros of a field that is 0, for operations that read its memory. */
static void fill_zeros(int f)
{
    if (is_zero[f]) TIMED("clear", clear(field[f]));
    is_zero[f] = false;
}

void fluid_begin(const setup *requested)
{
#pragma omp parallel
    flush_denormals();
    s = *requested;
    reject_gauss_seidel(&s);
    g = s.g;
    cells = field_size(g);
    for (int f = 0; f < FIELDS; f++) {
        field[f] = allocate_untouched(cells, sizeof(float), "a field");
        clear(field[f]);
        is_zero[f] = true;
    }
}

void fluid_end(void)
{
    for (int f = 0; f < FIELDS; f++) free(field[f]);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    fill_zeros(f);
    field[f][cell_index(g, i, j, k)] = value;
}

void fluid_get(int f, float *dst)
{
    fill_zeros(f);
    TIMED("copy", merge_colours(g, field[f], dst));
}

/* Iterates over the rows of the calling thread, one part of them per plane. */
#define FOR_OWN_PARTS(r)                                                               \
    FOR_EACH_PART(r, g, first_row(g, omp_get_thread_num(), omp_get_num_threads()),     \
                  first_row(g, omp_get_thread_num() + 1, omp_get_num_threads()))

void fluid_clear(int f)
{
    is_zero[f] = true;
}

/* With compat=minho, four fields of sources per time step are not 0. */
static void add_source(float *x, const float *source)
{
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < cells; c++) x[c] += s.dt * source[c];
}

void fluid_add(int x, int source)
{
    if (is_zero[source]) return;
    fill_zeros(x);
    TIMED("add_source", add_source(field[x], field[source]));
}

/* A sweep has not converged if a single cell changes by more than the tolerance: the
 * witness. Cells are tested only until one is found. It is likely to be near the
 * previous one, so each thread begins at the plane in which one was found last.
 *
 * unconverged: a witness of this sweep has been found, or none is needed. */
static int unconverged, witness_plane;

/* Half sweep h in rows begin to end - 1. Looks for a witness as long as there is none.
 */
static void relax(float *x, const float *x0, int h, int begin, int end, int zero,
                  int wall, float a, float inv_c)
{
    FOR_EACH_PART(r, g, begin, end)
    {
        int found;
#pragma omp atomic read
        found = unconverged;
        if (!relax_rows(x, x0, g, h, r.k, r.first, r.last, !found, zero, wall, a, inv_c,
                        s.tolerance))
            continue;
#pragma omp atomic write
        unconverged = 1;
#pragma omp atomic write
        witness_plane = r.k;
    }
}

/* Half sweep h of a solve, counted from 0. Cells of one colour are not neighbours, so
 * they can be relaxed in any order. */
static void half_sweep(float *x, const float *x0, int h, int zero, int wall, float a,
                       float inv_c)
{
    int witness = witness_plane;
#pragma omp parallel
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        int first = first_row(g, t, threads), end = first_row(g, t + 1, threads),
            begin = row_to_begin(g, witness, first, end);
        relax(x, x0, h, begin, end, zero, wall, a, inv_c);
        relax(x, x0, h, first, begin, zero, wall, a, inv_c);
    }
}

/* Sets the red ghost cells after a solve. */
static void set_red_ghosts(float *x, int wall)
{
#pragma omp parallel
    FOR_OWN_PARTS(r) set_bnd(x, g, RED, r.k, r.first, r.last, wall);
}

int fluid_solve(int wall, int x_id, int x0_id, float a, float c)
{
    float *x = field[x_id];
    const float *x0 = field[x0_id];
    int sweeps = 0, zero = is_zero[x_id];
    fill_zeros(x0_id);
    do {
        int h = 2 * sweeps;
        unconverged = s.tolerance < 0;
        TIMED("relax red", half_sweep(x, x0, h, zero, wall, a, 1 / c));
        TIMED("relax black", half_sweep(x, x0, h + 1, zero, wall, a, 1 / c));
        sweeps++;
    } while (sweeps < s.sweeps && unconverged);
    set_red_ghosts(x, wall);
    is_zero[x_id] = false;
    return sweeps;
}

static void advect(int wall, float *d, const float *d0, const float *u, const float *v,
                   const float *w)
{
#pragma omp parallel
    FOR_OWN_PARTS(r)
    {
        advect_rows(1, &d, &d0, u, v, w, g, r.k, r.first, r.last, s.dt);
        set_bnd_of_both(d, g, r.k, r.first, r.last, wall);
    }
}

/* Advection of the velocity by itself: the origin of a cell is computed once for its
 * three components. */
static void advect_velocity(float *const d[3], const float *const d0[3])
{
#pragma omp parallel
    FOR_OWN_PARTS(r)
    {
        advect_rows(3, d, d0, d0[0], d0[1], d0[2], g, r.k, r.first, r.last, s.dt);
        for (int n = 0; n < 3; n++)
            set_bnd_of_both(d[n], g, r.k, r.first, r.last, ALONG_X + n);
    }
}

/* The three components of the velocity, which are advected in three calls (step.h), are
 * computed together in the third call. */
void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    static float *to[3];
    const float *const flow[] = {field[u], field[v], field[w]};
    const int operands[] = {d0, u, v, w};
    for (int n = 0; n < 4; n++) fill_zeros(operands[n]);
    is_zero[d] = false;
    if (wall == SCALAR) {
        TIMED("advect", advect(wall, field[d], field[d0], flow[0], flow[1], flow[2]));
        return;
    }
    to[wall - ALONG_X] = field[d];
    if (wall == ALONG_Z) TIMED("advect", advect_velocity(to, flow));
}

static void divergence(const float *u, const float *v, const float *w, float *div)
{
    float scale = -0.5f / longest_side(g);
#pragma omp parallel
    FOR_OWN_PARTS(r)
    divergence_rows(u, v, w, div, g, r.k, r.first, r.last, scale);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    const int operands[] = {u, v, w};
    for (int n = 0; n < 3; n++) fill_zeros(operands[n]);
    is_zero[p] = true;
    is_zero[div] = false;
    TIMED("divergence", divergence(field[u], field[v], field[w], field[div]));
}

static void gradient(float *u, float *v, float *w, const float *p)
{
#pragma omp parallel
    FOR_OWN_PARTS(r)
    gradient_rows(u, v, w, p, g, r.k, r.first, r.last);
}

void fluid_gradient(int u, int v, int w, int p)
{
    const int operands[] = {u, v, w, p};
    for (int n = 0; n < 4; n++) fill_zeros(operands[n]);
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
