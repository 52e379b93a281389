/* cpu.c - the toppling of some rows of the pile, tiles of which are shared among
 * threads. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"

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

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Step s of an epoch of all rows that are right after it, from one array into another;
 * bits[g] get those of grid g. */
static void step(const column *of, const cell *in, cell *out, int s, cell *bits)
{
    const plan *how = of->how;
    int dim = of->p->dim, first = of->first / dim, last = (of->after - 1) / dim;
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = first; g <= last; g++)
        for (int y = 1; y < dim - 1; y += how->tileh)
            for (int x = 1; x < dim - 1; x += how->tilew) {
                int top = larger(y, g == first ? first_right(of, s + 1) : 1);
                int end = g == last ? after_right(of, s + 1) : dim - 1;
                int w = smaller(how->tilew, dim - 1 - x);
                int h = smaller(y + how->tileh, end) - top;
                if (h <= 0) continue;
                size_t grid = g * pile_cells(of->p);
                cell of_tile = do_tile(dim, in + grid, out + grid, x, top, w, h);
#pragma omp atomic
                bits[g] |= of_tile;
            }
}

/* A thread's band of a grid in bits; rows begins with row `top` of the grid. */
typedef struct {
    int grid;
    band at;
    cell *rows;
} part;

static struct {
    cell *in, *out; /* the column in numbers, before and after a step */
    part *b;        /* the bands in bits, from top to bottom */
    int bands;
    cell *room;        /* for their rows */
    const cell *masks; /* the cells within the border, and of the last column */
    cell *found;       /* [bands][halo] */
} own;

void (*cpu_busy)(int, double, double);

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
static void do_tile_bits(const column *of, part b, int n, int steps, int y, int h,
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
            words keep = words_at(GLOBAL, own.masks + w);
            words fold = words_at(GLOBAL, own.masks + width + w);
            live[s + 2] |= any_bit(walk(c + w, w, width, n + s, rows, keep, fold,
                                        of->mirror, of->side - 2 - from));
        }
    }
}

/* The same of all tiles of a band, from top to bottom. found[s] becomes what step s has
 * found. feed is called once the rows before row `ready` are done. Apart from
 * cpu_steps, which would leave too few registers to walk's loop. */
APART void do_band(const column *of, part b, int n, int steps, cell *found, int ready,
                   void (*feed)(void))
{
    int h = larger(of->how->tileh, 2);
    char live[2][HALO_MOST + 2] = {{0}}, *above = live[0], *here = live[1];
    memset(found, 0, steps * sizeof *found);
    for (int y = b.at.top + 1; y < b.at.end + steps; y += h) {
        do_tile_bits(of, b, n, steps, y, h, above, here);
        for (int s = 0; s < steps; s++) found[s] |= 4 * here[s + 2];
        char *other = above;
        above = here;
        here = other;
        if (feed && y + h - (steps - 1) >= ready) {
            feed();
            feed = NULL;
        }
    }
    if (feed) feed();
}

/* Copies what two bands of a grid have in common of the rows first .. after - 1. */
static void copy(part *to, const part *from, int first, int after, size_t pitch)
{
    first = larger(first, larger(to->at.top, from->at.first));
    after = smaller(after, smaller(to->at.end, from->at.after));
    if (to->grid == from->grid && first < after)
        memcpy(to->rows + (first - to->at.top) * pitch,
               from->rows + (first - from->at.top) * pitch,
               (after - first) * pitch * sizeof(cell));
}

/* Fetches the borrowed rows of band i from its neighbours: it has more rows than that.
 */
static void borrow(int i, size_t pitch)
{
    part *b = own.b;
    if (i > 0) copy(b + i, b + i - 1, 0, b[i].at.first, pitch);
    if (i < own.bands - 1) copy(b + i, b + i + 1, b[i].at.after, INT_MAX, pitch);
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

/* Bands of a grid at most, of that many rows: one for each thread where there are fewer
 * grids than would keep them busy, but none shorter than what it borrows. */
static int bands_most(int grids, int rows, int halo)
{
    return larger(1, smaller(grids < 4 * threads() ? threads() : 1, rows / halo));
}

void cpu_begin(const column *c)
{
    const pile *p = c->p;
    const plan *how = c->how;
    size_t all = pile_cells(p) * p->batch, row = p->dim * sizeof(cell);
    deal_evenly();
    own.in = untouched(all, sizeof(cell), "the grids before a step");
    own.out = untouched(all, sizeof(cell), "the grids after a step");
    spread(p, how, own.in, row);
    spread(p, how, own.out, row);
    for (int g = 0; g < p->batch; g++) pile_border(own.out + g * pile_cells(p), p->dim);

    /* Room for the bands of any part of the column, touched before the clock runs. */
    size_t grids = p->batch, most = bands_most(1, c->side, c->halo);
    size_t rows = grids * (c->side + 2 * c->halo * most), pitch = c->pitch;
    own.b = allocate(grids * most, sizeof *own.b, "the bands");
    own.found = allocate(grids * most * c->halo, sizeof(cell), "what a band has found");
    own.room = untouched(rows * pitch, sizeof(cell), "the rows of the bands");
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < rows; y++)
        memset(own.room + y * pitch, 0xff, pitch * sizeof(cell));
}

/* Notes the bands of a grid's rows first .. after - 1, whose own begin at room. Returns
 * where they end. */
static cell *cut_bands(const column *c, int bands, int grid, int first, int after,
                       cell *room)
{
    for (int i = 0; i < bands; i++) {
        int64_t here = after - first;
        band at = band_at(c->side, first + here * i / bands,
                          first + here * (i + 1) / bands, c->halo);
        own.b[own.bands++] = (part){grid, at, room};
        room += (at.end - at.top) * c->pitch;
    }
    return room;
}

void cpu_take(const column *c, const cell *rows, const cell *masks)
{
    size_t pitch = c->pitch, base = first_kept(c);
    int grid = c->first / c->side, grids = (c->after - 1) / c->side - grid + 1;
    if (c->first == c->after) grids = 0;
    if (!c->packed) {
        memcpy(own.in + base * pitch, rows,
               (after_kept(c) - base) * pitch * sizeof *rows);
        return;
    }
    own.masks = masks;
    own.bands = 0;
    cell *room = own.room;
    for (int g = grid; g < grid + grids; g++) {
        int top = g * c->side, first = larger(c->first - top, 1);
        int after = smaller(c->after - top, c->side - 1);
        int bands = bands_most(grids, after - first, c->halo);
        room = cut_bands(c, bands, g, first, after, room);
    }

#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < own.bands; i++) {
        part b = own.b[i];
        size_t top = (size_t)b.grid * c->side + b.at.top;
        memcpy(b.rows, rows + (top - base) * pitch,
               (b.at.end - b.at.top) * pitch * sizeof *rows);
    }
}

void cpu_give(const column *c, int first, int after, cell *rows)
{
    size_t pitch = c->pitch;
    if (!c->packed)
        memcpy(rows, own.in + first * pitch, (after - first) * pitch * sizeof *rows);
    for (int i = 0; i < own.bands && c->packed; i++) {
        part b = own.b[i];
        int base = b.grid * c->side;
        int top = b.at.first == 1 ? 0 : b.at.first; /* with the border */
        int end = b.at.after == c->side - 1 ? c->side : b.at.after;
        top = larger(base + top, first);
        end = smaller(base + end, after);
        if (top < end)
            memcpy(rows + (top - first) * pitch,
                   b.rows + (top - base - b.at.top) * pitch,
                   (end - top) * pitch * sizeof *rows);
    }
}

void cpu_keep(const column *c, const cell *above, const cell *below)
{
    size_t row = c->pitch * sizeof(cell), pitch = c->pitch;
    size_t up = (c->first - first_kept(c)) * row,
           down = (after_kept(c) - c->after) * row;
    if (c->first == c->after) return;
    if (!c->packed) {
        if (up) memcpy(own.in + first_kept(c) * pitch, above, up);
        if (down) memcpy(own.in + c->after * pitch, below, down);
        return;
    }
    part last = own.b[own.bands - 1];
    if (up) memcpy(own.b[0].rows, above, up);
    if (down) memcpy(last.rows + (last.at.after - last.at.top) * pitch, below, down);
}

void cpu_steps(const column *c, int n, int steps, cell *found, void (*feed)(void))
{
    size_t batch = c->p->batch, halo = c->halo;
    bool none = c->first == c->after;
    for (int s = 0; s < steps && !c->packed && !none; s++) {
        double begin = seconds();
        step(c, own.in, own.out, s, found + s * batch);
        cell *other = own.in;
        own.in = own.out;
        own.out = other;
        if (cpu_busy) cpu_busy(0, begin, seconds());
    }
    if ((!c->packed || none) && feed) feed();
    if (!c->packed || none) return;

    int ready = smaller(c->first % c->side + c->halo, c->side);
#pragma omp parallel
    {
        double begin = seconds();
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < own.bands; i++)
            do_band(c, own.b[i], n, steps, own.found + i * halo, ready,
                    i ? NULL : feed);
        if (cpu_busy) cpu_busy(worker(), begin, seconds());
        /* A band alone borrows nothing; a barrier costs a single thread, too. */
        if (own.bands > 1) {
#pragma omp barrier
#pragma omp for schedule(static, 1) nowait
            for (int i = 0; i < own.bands; i++) borrow(i, c->pitch);
        }
    }
    for (int i = 0; i < own.bands; i++)
        for (int s = 0; s < steps; s++)
            found[s * batch + own.b[i].grid] |= own.found[i * halo + s];
}

void cpu_end(void)
{
    free(own.found);
    free(own.room);
    free(own.b);
    free(own.out);
    free(own.in);
}
