/* cpu.c - the sequential back-end: loops over the cells of the box. The loops iterate
 * over z, the axis with the largest stride, innermost; step 01 changes that. */
#include <stdlib.h>
#include <string.h>

#include "body.h"

static setup s;
static grid g;
static size_t cells; /* in a field, with ghost cells */
static float *field[FIELDS];

void fluid_begin(const setup *requested)
{
    s = *requested;
    g = s.g;
    cells = (size_t)plane_stride(g) * (g.nz + 2);
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
    field[f][cell_index(g, i, j, k)] = value;
}

void fluid_get(int f, float *dst)
{
    TIMED("copy", memcpy(dst, field[f], cells * sizeof(float)));
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

static void set_bnd(float *x, int wall)
{
    float sign_x = wall == ALONG_X ? -1 : 1;
    float sign_y = wall == ALONG_Y ? -1 : 1;
    float sign_z = wall == ALONG_Z ? -1 : 1;

    for (int j = 1; j <= g.ny; j++)
        for (int k = 1; k <= g.nz; k++) mirror_x(x, g, j, k, sign_x);

    for (int i = 1; i <= g.nx; i++)
        for (int k = 1; k <= g.nz; k++) mirror_y(x, g, i, k, sign_y);

    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++) mirror_z(x, g, i, j, sign_z);
}

/* Relaxes all cells of one colour. Cells of one colour are not neighbours, so they can
 * be relaxed in any order. Returns the largest change of a cell. */
static float relax_colour(float *x, const float *x0, int colour, float a, float c)
{
    float max_change = 0;
    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++)
            for (int k = 1 + (i + j + colour) % 2; k <= g.nz; k += 2)
                max_change = maximum(max_change,
                                     relax_cell(x, x0, g, (position){i, j, k}, a, c));
    return max_change;
}

/* Relaxes all cells in lexicographic order: each cell reads the new values of the
 * neighbours that precede it. */
static float relax_all(float *x, const float *x0, float a, float c)
{
    float max_change = 0;
    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++)
            for (int k = 1; k <= g.nz; k++)
                max_change = maximum(max_change,
                                     relax_cell(x, x0, g, (position){i, j, k}, a, c));
    return max_change;
}

int fluid_solve(int wall, int x_id, int x0_id, float a, float c)
{
    float *x = field[x_id];
    const float *x0 = field[x0_id];
    int sweeps = 0;
    float red, black = 0;
    do {
        if (s.gauss_seidel) {
            TIMED("relax", red = relax_all(x, x0, a, c));
        } else {
            TIMED("relax red", red = relax_colour(x, x0, RED, a, c));
            TIMED("relax black", black = relax_colour(x, x0, BLACK, a, c));
        }
        TIMED("set_bnd", set_bnd(x, wall));
        sweeps++;
    } while (sweeps < s.sweeps && !(maximum(red, black) <= s.tolerance));
    return sweeps;
}

static void advect(float *d, const float *d0, const float *u, const float *v,
                   const float *w)
{
    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++)
            for (int k = 1; k <= g.nz; k++)
                d[cell_index(g, i, j, k)] =
                    advected_value(d0, u, v, w, g, (position){i, j, k}, s.dt);
}

void fluid_advect(int wall, int d, int d0, int u, int v, int w)
{
    TIMED("advect", advect(field[d], field[d0], field[u], field[v], field[w]));
    TIMED("set_bnd", set_bnd(field[d], wall));
}

static void divergence(const float *u, const float *v, const float *w, float *p,
                       float *div)
{
    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++)
            for (int k = 1; k <= g.nz; k++)
                divergence_cell(u, v, w, p, div, g, (position){i, j, k},
                                longest_side(g));
}

void fluid_divergence(int u, int v, int w, int p, int div)
{
    TIMED("divergence", divergence(field[u], field[v], field[w], field[p], field[div]));
    TIMED("set_bnd", set_bnd(field[div], SCALAR));
    TIMED("set_bnd", set_bnd(field[p], SCALAR));
}

static void gradient(float *u, float *v, float *w, const float *p)
{
    for (int i = 1; i <= g.nx; i++)
        for (int j = 1; j <= g.ny; j++)
            for (int k = 1; k <= g.nz; k++)
                gradient_cell(u, v, w, p, g, (position){i, j, k});
}

void fluid_gradient(int u, int v, int w, int p)
{
    TIMED("gradient", gradient(field[u], field[v], field[w], field[p]));
    TIMED("set_bnd", set_bnd(field[u], ALONG_X));
    TIMED("set_bnd", set_bnd(field[v], ALONG_Y));
    TIMED("set_bnd", set_bnd(field[w], ALONG_Z));
}
