/* cpu.c - the host's side: rows of cells shared among threads; along a row cells are
 * next to each other in memory too.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "host.h"
#include "block.h"
#include "cosine.h"
#include "sides.h"

/* Sweeps in one pass, at most. */
#ifndef DEPTH
#define DEPTH 4
#endif

static setup s;
static grid g;
static size_t cells; /* of a field, with ghosts */
static float *field[FIELDS];
static cosines along_y, along_z;
static float *stiff_y, *stiff_z, *part_y, *part_z; /* of each wave */
static float *waves;       /* [nz][ny][pitch]: a pressure, or what it is made of */
static size_t pitch;       /* of its rows: nx, rounded up to whole vectors */
static float *start;       /* what a solve started from, where that is not 0 */
static bool blank[FIELDS]; /* whether all of a field is 0 */

/* From now on a thread takes denormals, below 1.2e-38, for 0 and makes none: many
 * processors compute them apart, and slowly. Threads start with what their maker has.
 */
static void flush_denormals(void)
{
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | 0x40 /* DAZ: in what is read too */);
#elif defined(__aarch64__)
    unsigned long word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | 1ul << 24));
#endif
}

static cosines waves_along(int n, float **stiff, float **part)
{
    int odd = odd_of(n);
    float *twice = allocate((size_t)n, sizeof *twice, "cosines");
    float *base = allocate((size_t)odd * (size_t)odd, sizeof *base, "cosines");
    *stiff = allocate((size_t)n, sizeof **stiff, "waves");
    *part = allocate((size_t)n, sizeof **part, "waves");
    fill_twice(n, twice);
    fill_base(odd, base);
    fill_stiff(n, *stiff, *part);
    return (cosines){n, odd, twice, base};
}

static void host_clear(int f);

void host_begin(const setup *wanted, int threads)
{
    omp_set_num_threads(threads);
#pragma omp parallel
    flush_denormals();
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    cells = cells_of(g);
    along_y = waves_along(g.ny, &stiff_y, &part_y);
    along_z = waves_along(g.nz, &stiff_z, &part_z);
    pitch = (size_t)(g.nx + LANES - 1) / LANES * LANES;
    waves = allocate(pitch * (size_t)g.ny * (size_t)(g.nz + LANES), sizeof *waves,
                     "a pressure");
    start = untouched(cells, sizeof(float), "a field");
    for (int f = 0; f < FIELDS; f++) {
        field[f] = untouched(cells, sizeof(float), "a field");
        host_clear(f);
    }
}

void host_end(void)
{
    for (int f = 0; f < FIELDS; f++) free(field[f]);
    free(start);
    free(waves);
    free((void *)along_y.twice);
    free((void *)along_y.base);
    free((void *)along_z.twice);
    free((void *)along_z.base);
    free(stiff_y);
    free(stiff_z);
    free(part_y);
    free(part_z);
}

static void host_put(int f, int i, int j, int k, float value)
{
    field[f][at(g, i, j, k)] = value;
    blank[f] = false;
}

float *host_field(int f)
{
    blank[f] = false;
    return field[f];
}

/* A page of memory lies near the thread that first writes to it: planes are shared here
 * as they are when they are computed. */
static void clear(float *x)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k <= g.nz + 1; k++) {
        size_t plane = (size_t)plane_of(g), red = plane * (size_t)k;
        memset(x + red, 0, plane * sizeof(float));
        memset(x + half_of(g) + red, 0, plane * sizeof(float));
    }
}

static void host_clear(int f)
{
    TIMED("clear", clear(field[f]));
    blank[f] = true;
}

static void add_source(float *x, const float *source)
{
    for (size_t c = 0; c < cells; c++) x[c] += s.dt * source[c];
}

static void host_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
    blank[x] = false;
}

/* The next sweeps of a solve, in one pass. Returns the first after which no cell moved
 * farther than the tolerance, counted from 1; 0 if there is none. */
static int relax(float *x, const float *x0, int teams, int sweeps, int wall, float a,
                 float over_c)
{
    int far[DEPTH] = {0};
#pragma omp parallel num_threads(teams)
    {
        int found[DEPTH] = {0};
        for (int phase = 0; phase < 2; phase++) {
            relax_pass(x, x0, found, g, omp_get_thread_num(), omp_get_num_threads(),
                       phase, sweeps, wall, a, over_c, s.tolerance);
#pragma omp barrier
        }
#pragma omp critical
        for (int n = 0; n < sweeps; n++) far[n] |= found[n];
    }
    for (int n = 0; n < sweeps; n++)
        if (!far[n]) return n + 1;
    return 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* All waves along z of row j, and along x what is left: a slab that a core's cache
 * holds. */
static void solve_slab(int j, lanes *v, lanes *w)
{
    size_t plane = pitch * (size_t)g.ny;
    float *slab = waves + pitch * (size_t)j;
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(slab + plane * (size_t)k + i);
        lanes *found = cosines_of(along_z, v, w);
        for (int k = 0; k < g.nz; k++) unload(slab + plane * (size_t)k + i, found[k]);
    }
    for (int k = 0; k < g.nz; k += LANES) {
        lanes stiff = each(1), part = each(0);
        int count = g.nz - k < LANES ? g.nz - k : LANES;
        for (int l = 0; l < count; l++) {
            lane(stiff, l) = stiff_y[j] + stiff_z[k + l];
            lane(part, l) = part_y[j] * part_z[k + l];
        }
        for (int i = 0; i < g.nx; i++) {
            for (int l = 0; l < count; l++)
                lane(v[i], l) = slab[plane * (size_t)(k + l) + (size_t)i];
            v[i] *= part;
        }
        solve_rows(v, w, g.nx, stiff);
        for (int i = 0; i < g.nx; i++)
            for (int l = 0; l < count; l++)
                slab[plane * (size_t)(k + l) + (size_t)i] = lane(v[i], l);
    }
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int k = 0; k < g.nz; k++) v[k] = load(slab + plane * (size_t)k + i);
        lanes *found = sum_of_cosines(along_z, v, w);
        for (int k = 0; k < g.nz; k++) unload(slab + plane * (size_t)k + i, found[k]);
    }
}

/* Waves along y of plane k, or there and back. */
static void turn_plane(int k, int back, lanes *v, lanes *w)
{
    float *plane = waves + pitch * (size_t)g.ny * (size_t)k;
    for (size_t i = 0; i < pitch; i += LANES) {
        for (int j = 0; j < g.ny; j++) v[j] = load(plane + pitch * (size_t)j + i);
        lanes *found = back ? sum_of_cosines(along_y, v, w) : cosines_of(along_y, v, w);
        for (int j = 0; j < g.ny; j++) unload(plane + pitch * (size_t)j + i, found[j]);
    }
}

/* The plane k of waves from a field, or to one. */
static void copy_plane(int k, float *x, int back)
{
    for (int j = 0; j < g.ny; j++) {
        float *row = waves + pitch * ((size_t)j + (size_t)g.ny * (size_t)k);
        for (int i = 1; i <= 2 && i <= g.nx; i++) {
            float *cells = x + at(g, i, j + 1, k + 1);
            int count = (g.nx - i + 2) / 2;
            if (back) {
                for (int n = 0; n < count; n++) cells[n] = row[i - 1 + 2 * n];
                set_bnd(x, g, i, count, j + 1, k + 1, SCALAR);
            } else {
                for (int n = 0; n < count; n++) row[i - 1 + 2 * n] = cells[n];
            }
        }
        for (size_t i = (size_t)g.nx; i < pitch && !back; i++) row[i] = 0;
    }
}

/* Room for so many vectors. */
static lanes *aligned(size_t count)
{
    lanes *p = aligned_alloc(64, (count * sizeof *p + 63) / 64 * 64);
    if (!p) fail("no memory for %zu vectors", count);
    return p;
}

/* The pressure, outright: 6 p - (the six neighbours) = b. */
static void solve_pressure(float *p, float *b)
{
    size_t longest = (size_t)longest_side(g);
#pragma omp parallel
    {
        lanes *v = aligned(longest), *w = aligned(longest);
#pragma omp for schedule(static)
        for (int k = 0; k < g.nz; k++) {
            copy_plane(k, b, 0);
            turn_plane(k, 0, v, w);
        }
#pragma omp for schedule(static)
        for (int j = 0; j < g.ny; j++) solve_slab(j, v, w);
#pragma omp for schedule(static)
        for (int k = 0; k < g.nz; k++) {
            turn_plane(k, 1, v, w);
            copy_plane(k, p, 1);
        }
        free(v);
        free(w);
    }
}

/* Whether a sweep was the last one is known only after its pass. So it is guessed: all
 * but one of those that the last such solve took go without a look, and then one by
 * one. Where one of them would have ended the solve, all is done once more, from the
 * start. */
static int host_solve(int wall, int to, int from, float a, float c)
{
    if (s.tolerance >= 0 && a == 1 && c == 6) {
        TIMED("pressure", solve_pressure(field[to], field[from]));
        blank[to] = false;
        return 0;
    }

    static int taken[ALONG_Z + 1][FIELDS];
    float *x = field[to];
    const float *x0 = field[from];
    int teams = teams_of(g, omp_get_max_threads()), depth = depth_of(g, teams, DEPTH);
    int guess = s.tolerance < 0 ? s.sweeps : taken[wall][to] - 1, done = 0, last = 0;
    if (guess > 1 && !blank[to]) memcpy(start, x, cells * sizeof *x);

    while (done < s.sweeps && !last) {
        int some = guess > done ? smaller(guess - done, depth) : 1;
        TIMED("relax", last = relax(x, x0, teams, some, wall, a, 1 / c));
        if (last) last += done;
        done += some;
    }
    if (last && last < done) {
        if (blank[to])
            clear(x);
        else
            memcpy(x, start, cells * sizeof *x);
        int some;
        for (done = 0; done < last; done += some) {
            some = smaller(last - done, depth);
            TIMED("relax", relax(x, x0, teams, some, wall, a, 1 / c));
        }
    }
    taken[wall][to] = done;
    blank[to] = false;
    return done;
}

/* The cells of each colour in each row: count of them, in columns i, i + 2 .. */
#define EACH_STRETCH(i, count, j, k)                                                   \
    for (int k = 1; k <= g.nz; k++)                                                    \
        for (int j = 1; j <= g.ny; j++)                                                \
            for (int i = 1, count = (g.nx + 1) / 2; i <= 2 && count > 0;               \
                 i++, count = g.nx / 2)

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int here = at(g, i, j, k);
#pragma omp simd
        for (int n = 0; n < count; n++)
            d[here + n] = carried(d0, u[here + n], v[here + n], w[here + n], g,
                                  i + 2 * n, j, k, s.dt);
        set_bnd(d, g, i, count, j, k, wall);
    }
}

static void host_advect(int wall, int d, int d0, int u, int v, int w)
{
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
    blank[d] = false;
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
    float scale = -0.5f / longest_side(g);
    int row = row_of(g), plane = plane_of(g);
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int mine = at(g, i, j, k);
        int here = half_at(g, i + 1, j, k) + place(g, i, j, k), left = left_of(here, i);
#pragma omp simd
        for (int n = 0; n < count; n++) {
            div[mine + n] = outflow(u, v, w, here + n, left + n, row, plane, scale);
            p[mine + n] = 0;
        }
        set_bnd(div, g, i, count, j, k, SCALAR);
        set_bnd(p, g, i, count, j, k, SCALAR);
    }
}

static void host_divergence(int u, int v, int w, int p, int div)
{
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
    blank[div] = false;
    blank[p] = true;
}

static void gradient(float *u, float *v, float *w, const float *p)
{
    int row = row_of(g), plane = plane_of(g);
#pragma omp parallel for collapse(2) schedule(static)
    EACH_STRETCH(i, count, j, k)
    {
        int mine = at(g, i, j, k), here = half_at(g, i + 1, j, k) + place(g, i, j, k);
        const float *left = p + left_of(here, i), *beside = p + here;
#pragma omp simd
        for (int n = 0; n < count; n++) {
            u[mine + n] -= 0.5f * (left[n + 1] - left[n]);
            v[mine + n] -= 0.5f * (beside[n + row] - beside[n - row]);
            w[mine + n] -= 0.5f * (beside[n + plane] - beside[n - plane]);
        }
        set_bnd(u, g, i, count, j, k, ALONG_X);
        set_bnd(v, g, i, count, j, k, ALONG_Y);
        set_bnd(w, g, i, count, j, k, ALONG_Z);
    }
}

static void host_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
    blank[u] = blank[v] = blank[w] = false;
}

const side host = {host_put,    host_clear,      host_add,     host_solve,
                   host_advect, host_divergence, host_gradient};
