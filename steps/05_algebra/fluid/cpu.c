/* cpu.c - the fluid, rows of cells shared among threads; along a row cells are next to
 * each other in memory too.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

static setup s;
static grid g;
static size_t cells; /* of a field, with ghosts */
static float *field[FIELDS];

void fluid_begin(const setup *wanted)
{
    s = *wanted;
    refuse_gauss_seidel(&s);
    g = s.g;
    cells = cells_of(g);
    for (int f = 0; f < FIELDS; f++) {
        field[f] = untouched(cells, sizeof(float), "a field");
        fluid_clear(f);
    }
}

void fluid_end(void)
{
    for (int f = 0; f < FIELDS; f++) free(field[f]);
}

void fluid_put(int f, int i, int j, int k, float value)
{
    field[f][at(g, i, j, k)] = value;
}

void fluid_get(int f, float *to)
{
    TIMED("copy", join(g, field[f], to));
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

/* The cells of one colour in a row, from i = first in steps of 2: next to each other,
 * as are their neighbours. Where they begin in their half, the lower of the neighbours
 * along x in the other half, and both halves in a field. */
typedef struct {
    int first, count;
    int here, left, mine, other;
} stretch;

static inline stretch stretch_of(int colour, int j, int k)
{
    int first = 1 + (j + k + colour) % 2, here = place(g, first, j, k);
    int black = half_of(g), mine = colour == RED ? 0 : black;
    return (stretch){.first = first,
                     .count = (g.nx - first + 2) / 2,
                     .here = here,
                     .left = left_of(here, first),
                     .mine = mine,
                     .other = black - mine};
}

static inline void mirror(float *ghosts, const float *cells, int count, float sign)
{
#pragma omp simd
    for (int n = 0; n < count; n++) ghosts[n] = sign * cells[n];
}

/* Writes the ghosts of a stretch: at its ends, and beside it where it lies at a wall.
 */
static inline void set_bnd(float *x, stretch r, int j, int k, int wall)
{
    float sign_x = wall == ALONG_X ? -1 : 1;
    float sign_y = wall == ALONG_Y ? -1 : 1;
    float sign_z = wall == ALONG_Z ? -1 : 1;
    int row = row_of(g), plane = plane_of(g), last = r.first + 2 * (r.count - 1);
    const float *cells = x + r.mine + r.here;
    float *beside = x + r.other + r.here, *left = x + r.other + r.left;

    if (r.first == 1) left[0] = sign_x * cells[0];
    if (last == g.nx) left[r.count] = sign_x * cells[r.count - 1];
    if (j == 1) mirror(beside - row, cells, r.count, sign_y);
    if (j == g.ny) mirror(beside + row, cells, r.count, sign_y);
    if (k == 1) mirror(beside - plane, cells, r.count, sign_z);
    if (k == g.nz) mirror(beside + plane, cells, r.count, sign_z);
}

/* How many cells a vector takes at once. */
enum { LANES = 8 };

/* Relaxes count cells of a stretch, LANES at most, from its cell number from; each lane
 * notes in most how far its cell moved, in bits. */
static inline void relax_lanes(float *x, const float *x0, stretch r, int from,
                               int count, float a, float over_c, int most[LANES])
{
    const float *other = x + r.other;
    int here = r.here + from, left = r.left + from, row = row_of(g),
        plane = plane_of(g);

#pragma omp simd
    for (int n = 0; n < count; n++) {
        int cell = r.mine + here + n;
        float old = x[cell];
        float now = relaxed(other, x0[cell], here + n, left + n, row, plane, a, over_c);
        x[cell] = now;
        most[n] = larger(most[n], distance_bits(now, old));
    }
}

/* The cells of one colour in a row. The last vector begins early enough to be full: to
 * relax a cell twice changes nothing, since its neighbours are of the other colour. */
static inline void relax_row(float *x, const float *x0, int colour, int j, int k,
                             int wall, float a, float over_c, int most[LANES])
{
    stretch r = stretch_of(colour, j, k);
    int last = r.count - LANES; /* where the last vector begins */

    if (last < 0) relax_lanes(x, x0, r, 0, r.count, a, over_c, most);
    for (int n = 0; n < last + LANES && last >= 0; n += LANES)
        relax_lanes(x, x0, r, n < last ? n : last, LANES, a, over_c, most);
    set_bnd(x, r, j, k, wall);
}

/* Relaxes the cells of one colour: they have no neighbour of their own, so the order is
 * free. Returns how far the cell moved that moved most. */
static float relax_colour(float *x, const float *x0, int colour, int wall, float a,
                          float over_c)
{
    int largest = 0;
#pragma omp parallel reduction(max : largest)
    {
        int most[LANES] = {0};
#pragma omp for collapse(2) schedule(static)
        for (int k = 1; k <= g.nz; k++)
            for (int j = 1; j <= g.ny; j++)
                relax_row(x, x0, colour, j, k, wall, a, over_c, most);
        for (int n = 0; n < LANES; n++) largest = larger(largest, most[n]);
    }
    return distance_of(largest);
}

int fluid_solve(int wall, int to, int from, float a, float c)
{
    float *x = field[to];
    const float *x0 = field[from];
    int sweeps = 0;
    float red, black;
    do {
        TIMED("relax red", red = relax_colour(x, x0, RED, wall, a, 1 / c));
        TIMED("relax black", black = relax_colour(x, x0, BLACK, wall, a, 1 / c));
        sweeps++;
    } while (sweeps < s.sweeps && !(red <= s.tolerance && black <= s.tolerance));
    return sweeps;
}

static inline void advect_row(float *d, const float *d0, const float *u, const float *v,
                              const float *w, int colour, int j, int k, int wall)
{
    stretch r = stretch_of(colour, j, k);
#pragma omp simd
    for (int n = 0; n < r.count; n++) {
        int cell = r.mine + r.here + n;
        d[cell] =
            carried(d0, u[cell], v[cell], w[cell], g, r.first + 2 * n, j, k, s.dt);
    }
    set_bnd(d, r, j, k, wall);
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int colour = RED; colour <= BLACK; colour++)
                advect_row(d, d0, u, v, w, colour, j, k, wall);
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
}

static inline void divergence_row(const float *u, const float *v, const float *w,
                                  float *p, float *div, int colour, int j, int k)
{
    stretch r = stretch_of(colour, j, k);
    int row = row_of(g), plane = plane_of(g);
    float scale = -0.5f / longest_side(g);
    u += r.other;
    v += r.other;
    w += r.other;
#pragma omp simd
    for (int n = 0; n < r.count; n++) {
        div[r.mine + r.here + n] =
            outflow(u, v, w, r.here + n, r.left + n, row, plane, scale);
        p[r.mine + r.here + n] = 0;
    }
    set_bnd(div, r, j, k, SCALAR);
    set_bnd(p, r, j, k, SCALAR);
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int colour = RED; colour <= BLACK; colour++)
                divergence_row(u, v, w, p, div, colour, j, k);
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
}

static inline void gradient_row(float *u, float *v, float *w, const float *p,
                                int colour, int j, int k)
{
    stretch r = stretch_of(colour, j, k);
    int row = row_of(g), plane = plane_of(g);
    const float *beside = p + r.other + r.here, *left = p + r.other + r.left;
#pragma omp simd
    for (int n = 0; n < r.count; n++) {
        int cell = r.mine + r.here + n;
        u[cell] -= 0.5f * (left[n + 1] - left[n]);
        v[cell] -= 0.5f * (beside[n + row] - beside[n - row]);
        w[cell] -= 0.5f * (beside[n + plane] - beside[n - plane]);
    }
    set_bnd(u, r, j, k, ALONG_X);
    set_bnd(v, r, j, k, ALONG_Y);
    set_bnd(w, r, j, k, ALONG_Z);
}

static void gradient(float *u, float *v, float *w, const float *p)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int colour = RED; colour <= BLACK; colour++)
                gradient_row(u, v, w, p, colour, j, k);
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
