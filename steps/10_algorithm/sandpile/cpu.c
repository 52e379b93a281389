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

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* What all bands have in common. */
typedef struct {
    int dim, side, width, mirror;
    const cell *masks; /* the cells within the border, and of the last column */
} shape;

/* A thread's band of a grid in bits; rows begins with row `top` of the grid. */
typedef struct {
    band at;
    cell *rows;
} part;

/* Is any cell of the rows y .. end - 1, before or after the last step, about to give?
 */
static int any_fours(part b, int width, int y, int end)
{
    words bits = words_at(GLOBAL, b.rows) ^ words_at(GLOBAL, b.rows);
    for (int j = larger(y, b.at.top); j < smaller(end, b.at.end); j++) {
        const cell *fours =
            b.rows + (size_t)(j - b.at.top) * pitch_of(width) + 2 * width;
        for (int w = 0; w < 2 * width; w += LANES) bits |= words_at(GLOBAL, fours + w);
    }
    return any_bit(bits);
}

/* Steps n .. n + steps - 1 of the rows y .. y + h - 1 of a band, each step a row above
 * the one before, whose neighbours so are ready: the rows above are. Rows are stepped
 * again while they are in the nearest cache. live[s + 2] becomes whether step s has
 * left fours, live[0] and live[1] are for before; above is the same of the rows above.
 * Where neither had any in the two steps before, there is nothing to do. */
static void do_tile_bits(const shape *of, part b, int n, int steps, int y, int h,
                         const char *above, char *live)
{
    int width = of->width;
    live[0] = live[1] = any_fours(b, width, y - 1, y + h + 1);
    for (int s = 0; s < steps; s++) {
        int from = larger(y - s, first_of(b.at, s));
        int rows = smaller(y - s + h, after_of(b.at, of->side, s)) - from;
        live[s + 2] = 0;
        if (rows <= 0 || !(above[s] | above[s + 1] | live[s] | live[s + 1])) continue;

        cell *c = b.rows + (size_t)(from - b.at.top) * pitch_of(width);
        for (int w = 0; w < width; w += LANES) {
            words keep = words_at(GLOBAL, of->masks + w);
            words fold = words_at(GLOBAL, of->masks + width + w);
            live[s + 2] |= any_bit(walk(c + w, w, width, n + s, rows, keep, fold,
                                        of->mirror, of->side - 2 - from));
        }
    }
}

/* The same of all tiles of a band, from top to bottom. found[s] becomes what step s has
 * found. Apart from topple_bits, which would leave too few registers to walk's loop. */
APART void do_band(const plan *how, const shape *of, part b, int n, int steps, int g,
                   cell found[STEPS])
{
    int h = larger(how->tileh, 2);
    char live[2][STEPS + 2] = {{0}}, *above = live[0], *here = live[1];
    memset(found, 0, STEPS * sizeof *found);
    for (int y = b.at.top + 1; y < b.at.end + steps; y += h) {
        double begin = how->tiles ? seconds() : 0;
        do_tile_bits(of, b, n, steps, y, h, above, here);
        for (int s = 0; s < steps; s++) found[s] |= 4 * here[s + 2];
        int first = larger(y, b.at.first), after = smaller(y + h, b.at.after);
        if (first < after)
            trace_tile(how->tiles, n, g, (int[4]){1, first, of->dim - 2, after - first},
                       begin, worker());
        if (first < after && of->mirror) /* which is two tiles at once */
            trace_tile(how->tiles, n, g,
                       (int[4]){1, of->dim - after, of->dim - 2, after - first}, begin,
                       worker());
        char *other = above;
        above = here;
        here = other;
    }
}

/* Fetches the borrowed rows of band number i of a grid from its neighbours. */
static void borrow(const part *b, int i, int bands, size_t pitch)
{
    band at = b[i].at;
    if (i > 0)
        memcpy(b[i].rows, b[i - 1].rows + (at.top - b[i - 1].at.top) * pitch,
               (at.first - at.top) * pitch * sizeof(cell));
    if (i < bands - 1)
        memcpy(b[i].rows + (at.after - at.top) * pitch,
               b[i + 1].rows + (at.after - b[i + 1].at.top) * pitch,
               (at.end - at.after) * pitch * sizeof(cell));
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

/* The bands of all grids: one for each thread, where there are fewer grids than would
 * keep them busy. */
typedef struct {
    part *part;
    int each, all; /* of a grid, and of all */
    size_t pitch;
    cell *found; /* [all][STEPS] */
    cell *rows;
} bands;

/* Cuts rows 1 .. side - 2 of each grid. Who will step a band touches its memory first,
 * and before the clock runs: that takes as long as many steps. */
static bands cut_bands(int batch, int side)
{
    int inner = side - 2;
    bands cut = {.pitch = pitch_of(width_of(side))};
    cut.each = batch < 4 * threads() ? smaller(threads(), inner / STEPS) : 1;
    cut.each = larger(cut.each, 1);
    cut.all = cut.each * batch;
    cut.part = allocate(cut.all, sizeof *cut.part, "the bands");
    cut.found =
        allocate((size_t)cut.all * STEPS, sizeof(cell), "what a band has found");
    size_t rows = 0;
    for (int i = 0; i < cut.all; i++) {
        int k = i % cut.each;
        cut.part[i].at = band_at(side, 1 + (int64_t)inner * k / cut.each,
                                 1 + (int64_t)inner * (k + 1) / cut.each);
        rows += cut.part[i].at.end - cut.part[i].at.top;
    }
    cut.rows = untouched(rows * cut.pitch, sizeof(cell), "the rows of the bands");
    cell *next = cut.rows;
    for (int i = 0; i < cut.all; i++) {
        band at = cut.part[i].at;
        cut.part[i].rows = next;
        next += (at.end - at.top) * cut.pitch;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < cut.all; i++) {
        part b = cut.part[i];
        memset(b.rows, 0xff, (b.at.end - b.at.top) * cut.pitch * sizeof(cell));
    }
    return cut;
}

/* Steps of grids in bits from number n on; returns the number of the last. */
static int topple_bits(pile *p, const plan *how, int mirror, bands cut, cell *planes,
                       int n, cell *bits)
{
    int side = side_of(p->dim, mirror), batch = p->batch;
    int each = cut.each, all = cut.all;
    shape of = {p->dim, side, width_of(side), mirror, planes};
    size_t pitch = cut.pitch;
    part *b = cut.part;
    cell *found = cut.found;

#pragma omp parallel for schedule(static)
    for (int i = 0; i < all; i++) {
        band at = b[i].at;
        memcpy(b[i].rows, planes + ((size_t)(i / each) * side + at.top) * pitch,
               (at.end - at.top) * pitch * sizeof *planes);
    }

    cell left = note(p, how, bits, n);
#pragma omp parallel
    while (left > 3 && n < how->max_iterations) {
        int steps = smaller(STEPS, how->max_iterations - n);
#pragma omp for schedule(static)
        for (int i = 0; i < all; i++)
            do_band(how, &of, b[i], n, steps, i / each, found + (size_t)i * STEPS);
#pragma omp for schedule(static) nowait
        for (int i = 0; i < all; i++)
            borrow(b + i / each * each, i % each, each, pitch);
#pragma omp single
        for (int s = 0; s < steps; s++) {
            memset(bits, 0, batch * sizeof *bits);
            for (int i = 0; i < all; i++)
                bits[i / each] |= found[(size_t)i * STEPS + s];
            left = note(p, how, bits, ++n);
        }
    }

    for (int i = 0; i < all; i++) {
        band at = b[i].at;
        memcpy(planes + ((size_t)(i / each) * side + at.first) * pitch,
               b[i].rows + (at.first - at.top) * pitch,
               (at.after - at.first) * pitch * sizeof *planes);
    }
    return n;
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
    int mirror = mirror_of(p), side = side_of(dim, mirror);
    cell *planes = allocate(words_of(p, side), sizeof *planes, "the grids in bits");
    bands cut = cut_bands(p->batch, side);

    double ready = seconds();

    /* All cells at once, also where only the rest is asked for (ASYNC). */
    int n = 0;
    for (int g = 0; g < p->batch; g++) bits[g] = pile_bits(p->grid + g * cells, dim);
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
        pack_bits(p, mirror, n, planes);
        n = topple_bits(p, how, mirror, cut, planes, n, bits);
        unpack_bits(planes, mirror, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(cut.rows);
    free(cut.found);
    free(cut.part);
    free(planes);
    free(bits);
    free(in);
    free(out);
    return 0;
}
