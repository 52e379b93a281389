/* cpu.c - the toppling, tiles of the grid shared among threads. */
#include <stdlib.h>
#include <string.h>

#include "body.h"

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* A step of one tile, w x h cells from (x, y): returns all new values or-ed, which is
 * more than 3 as long as a cell is unstable. */
static cell do_tile(int dim, const cell *restrict in, cell *restrict out, int x, int y,
                    int w, int h)
{
    cell bits = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) {
            size_t at = (size_t)j * dim + i;
            out[at] = after(in + at, dim);
            bits |= out[at];
        }
    return bits;
}

/* One step, from one grid into another. */
static cell step(const plan *how, int dim, const cell *in, cell *out, int g, int n)
{
    cell bits = 0;
#pragma omp parallel for collapse(2) reduction(| : bits) schedule(runtime)
    for (int y = 1; y < dim - 1; y += how->tileh)
        for (int x = 1; x < dim - 1; x += how->tilew) {
            int w = smaller(how->tilew, dim - 1 - x),
                h = smaller(how->tileh, dim - 1 - y);
            double begin = how->tiles ? seconds() : 0;
            bits |= do_tile(dim, in, out, x, y, w, h);
            trace_tile(how->tiles, n, g, (int[4]){x, y, w, h}, begin, worker());
        }
    return bits;
}

/* The same in place: returns 0 where nothing toppled. */
static cell do_tile_in_place(int dim, cell *grid, int x, int y, int w, int h)
{
    cell toppled = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++)
            toppled |= give(grid + (size_t)j * dim + i, dim);
    return toppled;
}

/* One sweep in place. A tile gives to the cells around it: tiles that are toppled at
 * the same time have another one between them, in four colours, one after the other. */
static cell sweep(const plan *how, int dim, cell *grid, int g, int n)
{
    cell toppled = 0;
    for (int colour = 0; colour < 4; colour++) {
        int left = 1 + colour % 2 * how->tilew, top = 1 + colour / 2 * how->tileh;
#pragma omp parallel for collapse(2) reduction(| : toppled) schedule(runtime)
        for (int y = top; y < dim - 1; y += 2 * how->tileh)
            for (int x = left; x < dim - 1; x += 2 * how->tilew) {
                int w = smaller(how->tilew, dim - 1 - x);
                int h = smaller(how->tileh, dim - 1 - y);
                double begin = how->tiles ? seconds() : 0;
                toppled |= do_tile_in_place(dim, grid, x, y, w, h);
                trace_tile(how->tiles, n, g, (int[4]){x, y, w, h}, begin, worker());
            }
    }
    return toppled;
}

/* Fills the rows that are toppled with poison, each by the thread that will topple it:
 * where memory has several places, a page is near the thread that touched it first. */
static void spread(const plan *how, int dim, cell *grid)
{
    size_t row = dim * sizeof *grid;
#pragma omp parallel for schedule(runtime)
    for (int y = 1; y < dim - 1; y += how->tileh)
        memset(grid + (size_t)y * dim, 0xff, smaller(how->tileh, dim - 1 - y) * row);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    deal_evenly();
    int dim = p->dim;
    size_t cells = pile_cells(p);
    cell *in = untouched(cells, sizeof *in, "the grid before a step");
    cell *out = untouched(cells, sizeof *out, "the grid after a step");
    spread(how, dim, in);
    spread(how, dim, out);

    double ready = seconds();

    for (int g = 0; g < p->batch; g++) {
        cell *grid = p->grid + g * cells;
        int n = 0;

        if (how->how == ASYNC) {
            while (n < how->max_iterations && sweep(how, dim, grid, g, n)) n++;
            pile_border(grid, dim);
        } else {
            memcpy(in, grid, cells * sizeof *in);
            pile_border(out, dim);
            cell bits = pile_bits(in, dim);
            while (n < how->max_iterations && bits > 3) {
                bits = step(how, dim, in, out, g, n);
                cell *other = in;
                in = out;
                out = other;
                n++;
            }
            memcpy(grid, in, cells * sizeof *in);
        }
        p->iterations[g] = n;
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(in);
    free(out);
    return 0;
}
