/* cpu.c - the toppling, tiles of the grid shared among threads. */
#include <stdlib.h>
#include <string.h>

#include "host.h"

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

/* Step n of all grids, from one array into another; bits[g] become those of grid g. */
static void step(const pile *p, const plan *how, const cell *in, cell *out, int n,
                 cell *bits)
{
    int dim = p->dim;
    memset(bits, 0, p->batch * sizeof *bits);
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += how->tileh)
            for (int x = 1; x < dim - 1; x += how->tilew) {
                int w = smaller(how->tilew, dim - 1 - x);
                int h = smaller(how->tileh, dim - 1 - y);
                size_t grid = g * pile_cells(p);
                double begin = how->tiles ? seconds() : 0;
                cell of_tile = do_tile(dim, in + grid, out + grid, x, y, w, h);
                trace_tile(how->tiles, n, g, (int[4]){x, y, w, h}, begin, worker());
#pragma omp atomic
                bits[g] |= of_tile;
            }
}

/* The same in bits: rows y .. y + h - 1, for their cells are dealt to all words. */
static cell do_tile_bits(int width, cell *grid, int n, int y, int h)
{
    cell bits = 0;
    for (int w = 0; w < width; w += LANES) {
        cell *c = grid + (size_t)y * pitch_of(width) + w;
        bits |= any_bit(walk(c, w, width, n, h, words_at(GLOBAL, grid + w)));
    }
    return 4 * bits;
}

/* Steps n .. n + steps - 1 of grids in bits; bits[s][g] become those of grid g after
 * step s. A step takes some microseconds: threads are called once for all of them, and
 * meet once after each. */
static void step_bits(const pile *p, const plan *how, cell *grids, int n, int steps,
                      cell *bits)
{
    int dim = p->dim, batch = p->batch, width = width_of(dim);
    memset(bits, 0, (size_t)steps * batch * sizeof *bits);
#pragma omp parallel
    for (int s = 0; s < steps; s++) {
#pragma omp for collapse(2) schedule(runtime)
        for (int g = 0; g < batch; g++)
            for (int y = 1; y < dim - 1; y += how->tileh) {
                int h = smaller(how->tileh, dim - 1 - y);
                cell *grid = grids + (size_t)g * dim * pitch_of(width);
                double begin = how->tiles ? seconds() : 0;
                cell found = do_tile_bits(width, grid, n + s, y, h);
                trace_tile(how->tiles, n + s, g, (int[4]){1, y, dim - 2, h}, begin,
                           worker());
#pragma omp atomic
                bits[s * batch + g] |= found;
            }
    }
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
 * where memory has several places, a page is near the thread that touched it first.
 * A row is that many bytes. */
static void spread(const pile *p, const plan *how, void *grids, size_t row)
{
    int dim = p->dim;
    char *first = grids;
#pragma omp parallel for collapse(2) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += how->tileh)
            memset(first + ((size_t)g * dim + y) * row, 0xff,
                   smaller(how->tileh, dim - 1 - y) * row);
}

int topple(pile *p, const plan *how, run_times *t)
{
    double start = seconds();

    deal_evenly();
    int dim = p->dim;
    size_t cells = pile_cells(p), all = cells * p->batch;
    cell *in = untouched(all, sizeof *in, "the grids before a step");
    cell *out = untouched(all, sizeof *out, "the grids after a step");
    spread(p, how, in, dim * sizeof *in);
    spread(p, how, out, dim * sizeof *in);
    for (int g = 0; g < p->batch; g++) pile_border(out + g * cells, dim);
    cell *bits =
        allocate((size_t)LOOK * p->batch, sizeof *bits, "the bits of each step");
    size_t row = pitch_of(width_of(dim)) * sizeof *bits;
    cell *planes = untouched(words_of(p), sizeof *planes, "the grids in bits");
    spread(p, how, planes, row);

    double ready = seconds();

    if (how->how == ASYNC) {
        for (int g = 0; g < p->batch; g++) {
            cell *grid = p->grid + g * cells;
            int n = 0;
            while (n < how->max_iterations && sweep(how, dim, grid, g, n)) n++;
            pile_border(grid, dim);
            p->iterations[g] = n;
        }
    } else {
        int n = 0;
        for (int g = 0; g < p->batch; g++)
            bits[g] = pile_bits(p->grid + g * cells, dim);
        if (note(p, how, bits, n) > 7) {
            memcpy(in, p->grid, all * sizeof *in);
            while (note(p, how, bits, n) > 7 && n < how->max_iterations) {
                step(p, how, in, out, n, bits);
                cell *other = in;
                in = out;
                out = other;
                n++;
            }
            memcpy(p->grid, in, all * sizeof *in);
        }

        /* From here on three bits are enough for any cell. */
        if (note(p, how, bits, n) <= 7) {
            pack_bits(p, n, planes);
            cell left = note(p, how, bits, n);
            while (left > 3 && n < how->max_iterations) {
                int steps = smaller(LOOK, how->max_iterations - n);
                step_bits(p, how, planes, n, steps, bits);
                for (int s = 0; s < steps; s++)
                    left = note(p, how, bits + s * p->batch, ++n);
            }
            unpack_bits(planes, n, p);
        }
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(planes);
    free(bits);
    free(in);
    free(out);
    return 0;
}
