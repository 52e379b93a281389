/* cpu.c - the OpenMP back-end: rows of cells are distributed over the threads; the loop
 * along a row has unit stride. */
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"

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
        fluid_clear(f);
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
    TIMED("copy", memcpy(dst, field[f], cells * sizeof(float)));
}

/* The operating system places a page of memory near the thread that first writes to it.
 * The planes are therefore cleared with the same schedule as they are computed. */
static void clear(float *x)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k <= g.nz + 1; k++)
        memset(x + cell_index(g, 0, 0, k), 0, (size_t)plane_stride(g) * sizeof(float));
}

void fluid_clear(int f)
{
    TIMED("clear", clear(field[f]));
}

static void add_source(float *x, const float *source)
{
    for (size_t c = 0; c < cells; c++) x[c] += s.dt * source[c];
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
}

/* Relaxes all cells of one colour. Cells of one colour are not neighbours, so they can
 * be relaxed in any order. Returns the largest change of a cell. */
static float relax_colour(float *x, const float *x0, int colour, int wall, float a,
                          float inv_c)
{
    int max_change = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(max : max_change)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1 + (j + k + colour) % 2; i <= g.nx; i += 2)
                max_change =
                    maximum(max_change,
                            relax_cell(x, x0, g, (position){i, j, k}, wall, a, inv_c));
    return bits_to_change(max_change);
}

int fluid_solve(int wall, int x_id, int x0_id, float a, float c)
{
    float *x = field[x_id];
    const float *x0 = field[x0_id];
    int sweeps = 0;
    float red, black;
    do {
        TIMED("relax red", red = relax_colour(x, x0, RED, wall, a, 1 / c));
        TIMED("relax black", black = relax_colour(x, x0, BLACK, wall, a, 1 / c));
        sweeps++;
    } while (sweeps < s.sweeps && !(red <= s.tolerance && black <= s.tolerance));
    return sweeps;
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1; i <= g.nx; i++) {
                position at = {i, j, k};
                store(d, g, at, wall, advected_value(d0, u, v, w, g, at, s.dt));
            }
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
    float scale = -0.5f / longest_side(g);
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1; i <= g.nx; i++)
                divergence_cell(u, v, w, p, div, g, (position){i, j, k}, scale);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
}

static void gradient(float *u, float *v, float *w, const float *p)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1; i <= g.nx; i++)
                gradient_cell(u, v, w, p, g, (position){i, j, k});
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
