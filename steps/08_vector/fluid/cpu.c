/* cpu.c - the OpenMP back-end: rows of cells are distributed over the threads; the
 * cells of one colour in the rows of a plane are one loop of unit stride. */
#include <omp.h>
#include <stdlib.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"
#include "strip.h"

static setup s;
static grid g;
static size_t cells; /* in a field, with ghost cells */
static float *field[FIELDS];

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
    }
}

void fluid_end(void)
{
    for (int f = 0; f < FIELDS; f++) free(field[f]);
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

/* Sets the red ghost cells after a solve. */
static void set_red_ghosts(equation e)
{
#pragma omp parallel
    FOR_OWN_PARTS(r) set_bnd(e.x, g, RED, r, e.wall);
}

int fluid_solve(int wall, int x, int x0, float a, float c)
{
    equation e = {field[x], field[x0], s.from_zero, wall, a, 1 / c, s.tolerance};
    int sweeps = 0;
    do {
        unconverged = 0;
        TIMED("relax red", half_sweep(e, 2 * sweeps));
        TIMED("relax black", half_sweep(e, 2 * sweeps + 1));
        sweeps++;
    } while (sweeps < s.sweeps && unconverged);
    set_red_ghosts(e);
    return sweeps;
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
