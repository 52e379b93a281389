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

/* Bytes of a vector, of any machine: 64 is AVX-512. */
enum { VECTOR_BYTES = 64 };

static inline int whole_vectors(int cells)
{
    return (cells + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
}

/* The same in bytes, a vector of them at a time. A row is pitch long, whole vectors,
 * and so is a tile's part of it; keep is 255 within the border and 0 elsewhere. */
static cell do_tile8(int pitch, const cell8 *restrict keep, const cell8 *restrict in,
                     cell8 *restrict out, int x, int y, int w, int h)
{
    cell8 bits[VECTOR_BYTES] = {0};
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i += VECTOR_BYTES) {
            size_t at = (size_t)j * pitch + i;
#pragma omp simd
            for (int k = 0; k < VECTOR_BYTES; k++) {
                cell8 v = after8(in + at + k, pitch) & keep[i + k];
                out[at + k] = v;
                bits[k] |= v;
            }
        }

    cell8 of_tile = 0;
    for (int k = 0; k < VECTOR_BYTES; k++) of_tile |= bits[k];
    return of_tile;
}

static void step8(const pile *p, const plan *how, const cell8 *keep, const cell8 *in,
                  cell8 *out, int n, cell *bits)
{
    int dim = p->dim, pitch = whole_vectors(dim), tilew = whole_vectors(how->tilew);
    memset(bits, 0, p->batch * sizeof *bits);
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += how->tileh)
            for (int x = 0; x < pitch; x += tilew) {
                int w = smaller(tilew, pitch - x);
                int h = smaller(how->tileh, dim - 1 - y);
                size_t grid = (size_t)g * dim * pitch;
                double begin = how->tiles ? seconds() : 0;
                cell of_tile = do_tile8(pitch, keep, in + grid, out + grid, x, y, w, h);
                trace_tile(how->tiles, n, g, (int[4]){x, y, w, h}, begin, worker());
#pragma omp atomic
                bits[g] |= of_tile;
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
    cell *bits = allocate(p->batch, sizeof *bits, "the bits of each grid");
    size_t pitch = whole_vectors(dim), rows = (size_t)dim * p->batch;
    size_t bytes = rows * pitch;
    cell8 *room = untouched(pitch + 2 * bytes + VECTOR_BYTES, 1, "the bytes");
    cell8 *keep = room + VECTOR_BYTES -
                  (uintptr_t)room % VECTOR_BYTES; /* all at a whole vector */
    cell8 *in8 = keep + pitch, *out8 = in8 + bytes;
    memset(keep, 0, pitch);
    memset(keep + 1, 255, dim - 2);
    spread(p, how, in8, pitch);
    spread(p, how, out8, pitch);
    for (size_t y = 0; y < rows; y += dim) {
        memset(out8 + y * pitch, 0, pitch);
        memset(out8 + (y + dim - 1) * pitch, 0, pitch);
    }

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
        memcpy(in, p->grid, all * sizeof *in);
        int n = 0;
        for (int g = 0; g < p->batch; g++) bits[g] = pile_bits(in + g * cells, dim);
        while (note(p, how, bits, n) > 255 && n < how->max_iterations) {
            step(p, how, in, out, n, bits);
            cell *other = in;
            in = out;
            out = other;
            n++;
        }

        /* From here on a byte is enough for any cell. */
        if (note(p, how, bits, n) <= 255) {
            for (size_t y = 0; y < rows; y++)
                for (int x = 0; x < dim; x++) in8[y * pitch + x] = in[y * dim + x];
            while (note(p, how, bits, n) > 3 && n < how->max_iterations) {
                step8(p, how, keep, in8, out8, n, bits);
                cell8 *other = in8;
                in8 = out8;
                out8 = other;
                n++;
            }
            for (size_t y = 0; y < rows; y++)
                for (int x = 0; x < dim; x++) in[y * dim + x] = in8[y * pitch + x];
        }
        memcpy(p->grid, in, all * sizeof *in);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(room);
    free(bits);
    free(in);
    free(out);
    return 0;
}
