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
        field[f] = allocate(cells, sizeof(float), "a field");
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

void fluid_clear(int f)
{
    TIMED("clear", memset(field[f], 0, cells * sizeof(float)));
}

static void add_source(float *x, const float *source)
{
    for (size_t c = 0; c < cells; c++) x[c] += s.dt * source[c];
}

void fluid_add(int x, int source)
{
    TIMED("add_source", add_source(field[x], field[source]));
}

/* Relaxes the cells of one colour in a row: next to each other, as are their
 * neighbours, so that a vector takes eight at once. The walls come after. */
static int relax_row(float *x, const float *x0, int colour, int j, int k, int wall,
                     float a, float over_c)
{
    int first = 1 + (j + k + colour) % 2, count = (g.nx - first) / 2 + 1;
    int here = place(g, first, j, k), left = left_of(here, first), most = 0;
    int black = half_of(g), mine = colour == RED ? 0 : black;
    int row = row_of(g), plane = plane_of(g);
    const float *other = x + black - mine;

#pragma omp simd reduction(max : most)
    for (int n = 0; n < count; n++) {
        float old = x[mine + here + n];
        float now = relaxed(other, x0[mine + here + n], here + n, left + n, row, plane,
                            a, over_c);
        x[mine + here + n] = now;
        most = larger(most, distance_bits(now, old));
    }

    bool inside = j > 1 && j < g.ny && k > 1 && k < g.nz;
    int step = inside && count > 1 ? 2 * (count - 1) : 2; /* both ends, or all */
    for (int i = first; i <= g.nx; i += step)
        store(x, g, i, j, k, wall, x[at(g, i, j, k)]);
    return most;
}

/* Relaxes the cells of one colour: they have no neighbour of their own, so the order is
 * free. Returns how far the cell moved that moved most. */
static float relax_colour(float *x, const float *x0, int colour, int wall, float a,
                          float over_c)
{
    int most = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(max : most)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            most = larger(most, relax_row(x, x0, colour, j, k, wall, a, over_c));
    return distance_of(most);
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

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w, int wall)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1; i <= g.nx; i++)
                advect_cell(d, d0, u, v, w, g, i, j, k, wall, s.dt);
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w], wall));
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
#pragma omp parallel for collapse(2) schedule(static)
    for (int k = 1; k <= g.nz; k++)
        for (int j = 1; j <= g.ny; j++)
            for (int i = 1; i <= g.nx; i++)
                divergence_cell(u, v, w, p, div, g, i, j, k, -0.5f / longest_side(g));
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
            for (int i = 1; i <= g.nx; i++) gradient_cell(u, v, w, p, g, i, j, k);
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
}
