/* cpu.c - topples one slab of the pile in parallel: OpenMP threads compute tiles, or
 * bands in bit planes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "slab.h"

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Computes one step of a tile of w x h cells at (x, y). Returns the OR of all new
 * cells: more than 3 if and only if a cell is unstable. */
static cell do_tile(int dim, const cell *restrict in, cell *restrict out, int x, int y,
                    int w, int h)
{
    cell or_values = 0;
    for (int j = y; j < y + h; j++)
        for (int i = x; i < x + w; i++) {
            size_t index = (size_t)j * dim + i;
            out[index] = next_grains(in + index, dim);
            or_values |= out[index];
        }
    return or_values;
}

enum { MIN_TILE_ROWS = 2 }; /* the row above a shifted tile is in the tile above */

/* From this many grids per thread on, one band per grid keeps the threads busy: the
 * busiest thread then has at most 25 % more than the mean. */
enum { GRIDS_PER_THREAD = 4 };

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Computes step s of a temporal block for all rows that are valid after it, from one
 * array into another. flags[g] gets the OR of the new cells of grid g. */
static void step(const slab *slab, const cell *in, cell *out, int s, cell *flags)
{
    const run_plan *plan = slab->plan;
    int dim = slab->p->dim, first = slab->first / dim, last = (slab->end - 1) / dim;
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = first; g <= last; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            for (int x = 1; x < dim - 1; x += plan->tilew) {
                int top = max_int(y, g == first ? slab_first_valid(slab, s + 1) : 1);
                int end = g == last ? slab_end_valid(slab, s + 1) : dim - 1;
                int w = min_int(plan->tilew, dim - 1 - x);
                int h = min_int(y + plan->tileh, end) - top;
                if (h <= 0) continue;
                size_t grid = g * pile_cells(slab->p);
                cell tile_flags = do_tile(dim, in + grid, out + grid, x, top, w, h);
#pragma omp atomic
                flags[g] |= tile_flags;
            }
}

/* A band with its rows in bit planes. rows[0] is row range.first_stored of the grid. */
typedef struct {
    int grid;
    band range;
    cell *rows;
} stored_band;

static struct {
    cell *in, *out;     /* all grids, one word per cell, before and after a step */
    stored_band *bands; /* bands in bit planes, from top to bottom */
    int band_count;
    cell *storage;     /* memory for their rows */
    const cell *masks; /* masks: cells inside the border; cells of the last column */
    cell *band_flags;  /* [band_count][halo] */
} state;

void (*cpu_on_busy)(int, double, double);

/* Returns nonzero if any cell of rows y .. end - 1 has a four, before or after the last
 * step. */
static int any_fours(stored_band b, int width, int y, int end)
{
    bitvec or_fours = bitvec_at(GLOBAL, b.rows) ^ bitvec_at(GLOBAL, b.rows);
    for (int j = max_int(y, b.range.first_stored); j < min_int(end, b.range.end_stored);
         j++) {
        const cell *fours =
            b.rows + (size_t)(j - b.range.first_stored) * row_pitch(width) + 2 * width;
        for (int w = 0; w < 2 * width; w += LANES)
            or_fours |= bitvec_at(GLOBAL, fours + w);
    }
    return bitvec_any(or_fours);
}

/* Computes steps n .. n + steps - 1 of a tile of h rows that begins at row y. Each step
 * is shifted up by one row against the previous one, so that the rows that it reads are
 * ready (time skewing, a wavefront). The rows stay in the L1 cache for all steps:
 *
 *   row    y-2  y-1   y   y+1 .. y+h-1
 *   step 0            |-----------|
 *   step 1       |-----------|
 *   step 2  |-----------|
 *
 * active[s + 2] becomes nonzero if step s has left fours; active[0] and active[1]
 * describe the state before. above_active is the same of the tile above. If neither
 * tile had fours in the two previous steps, the step is skipped (lazy evaluation). */
static void do_tile_planes(const slab *slab, stored_band b, int n, int steps, int y,
                           int h, const char *above_active, char *active)
{
    int width = slab->width;
    active[0] = active[1] = any_fours(b, width, y - 1, y + h + 1);
    for (int s = 0; s < steps; s++) {
        int first_row = max_int(y - s, band_first_valid(b.range, s));
        int rows =
            min_int(y - s + h, band_end_valid(b.range, slab->side, s)) - first_row;
        active[s + 2] = 0;
        if (rows <= 0 ||
            !(above_active[s] | above_active[s + 1] | active[s] | active[s + 1]))
            continue;

        cell *c =
            b.rows + (size_t)(first_row - b.range.first_stored) * row_pitch(width);
        for (int w = 0; w < width; w += LANES) {
            bitvec inside = bitvec_at(GLOBAL, state.masks + w);
            bitvec last_column = bitvec_at(GLOBAL, state.masks + width + w);
            active[s + 2] |= bitvec_any(step_column(c + w, w, width, n + s, rows,
                                                    inside, last_column, slab->mirror,
                                                    slab->side - 2 - first_row));
        }
    }
}

/* Computes all tiles of a band, from top to bottom. band_flags[s] becomes nonzero if
 * the band is unstable after step s. Calls callback once the rows before row `ready`
 * are done. A function of its own, because inlined into cpu_steps it would leave too
 * few registers for the loop of step_column. */
NOINLINE_FN void do_band(const slab *slab, stored_band b, int n, int steps,
                         cell *band_flags, int ready, void (*callback)(void))
{
    int h = max_int(slab->plan->tileh, MIN_TILE_ROWS);
    char buffers[2][MAX_HALO + 2] = {{0}}, *above_active = buffers[0],
                               *active = buffers[1];
    memset(band_flags, 0, steps * sizeof *band_flags);
    for (int y = b.range.first_stored + 1; y < b.range.end_stored + steps; y += h) {
        do_tile_planes(slab, b, n, steps, y, h, above_active, active);
        for (int s = 0; s < steps; s++) band_flags[s] |= 4 * active[s + 2];
        char *swap = above_active;
        above_active = active;
        active = swap;
        if (callback && y + h - (steps - 1) >= ready) {
            callback();
            callback = NULL;
        }
    }
    if (callback) callback();
}

/* Copies the rows first .. end - 1 that two bands of a grid have in common. */
static void copy_common_rows(stored_band *to, const stored_band *from, int first,
                             int end, size_t pitch)
{
    first = max_int(first, max_int(to->range.first_stored, from->range.first));
    end = min_int(end, min_int(to->range.end_stored, from->range.end));
    if (to->grid == from->grid && first < end)
        memcpy(to->rows + (first - to->range.first_stored) * pitch,
               from->rows + (first - from->range.first_stored) * pitch,
               (end - first) * pitch * sizeof(cell));
}

/* Copies the ghost rows of band i from its neighbors. A band has at least as many own
 * rows as ghost rows, so the neighbors hold all of them. */
static void fetch_ghosts(int i, size_t pitch)
{
    stored_band *b = state.bands;
    if (i > 0) copy_common_rows(b + i, b + i - 1, 0, b[i].range.first, pitch);
    if (i < state.band_count - 1)
        copy_common_rows(b + i, b + i + 1, b[i].range.end, INT_MAX, pitch);
}

/* Fills the rows inside the border with 0xff bytes; `row` is the size of a row in
 * bytes. Each row is filled by the thread that will compute it, so that on a NUMA
 * machine its pages are near that thread (first touch). */
static void first_touch(const pile *p, const run_plan *plan, void *grids, size_t row)
{
    int dim = p->dim;
    char *first = grids;
#pragma omp parallel for collapse(2) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            memset(first + ((size_t)g * dim + y) * row, 0xff,
                   min_int(plan->tileh, dim - 1 - y) * row);
}

/* Returns the maximum number of bands for `rows` rows of a grid: one per thread if
 * there are fewer grids than keep the threads busy, but no band has fewer rows than its
 * ghost zone. */
static int max_bands(int grids, int rows, int halo)
{
    return max_int(1,
                   min_int(grids < GRIDS_PER_THREAD * max_threads() ? max_threads() : 1,
                           rows / halo));
}

void cpu_begin(const slab *c)
{
    const pile *p = c->p;
    const run_plan *plan = c->plan;
    size_t total = pile_cells(p) * p->batch, row = p->dim * sizeof(cell);
    use_static_schedule();
    state.in = allocate_untouched(total, sizeof(cell), "the grids before a step");
    state.out = allocate_untouched(total, sizeof(cell), "the grids after a step");
    first_touch(p, plan, state.in, row);
    first_touch(p, plan, state.out, row);
    for (int g = 0; g < p->batch; g++)
        pile_clear_border(state.out + g * pile_cells(p), p->dim);

    /* Memory for the bands of any slab, touched before the clock starts. */
    size_t grids = p->batch, bands_per_grid = max_bands(1, c->side, c->halo);
    size_t rows = grids * (c->side + 2 * c->halo * bands_per_grid), pitch = c->pitch;
    state.bands = allocate(grids * bands_per_grid, sizeof *state.bands, "the bands");
    state.band_flags = allocate(grids * bands_per_grid * c->halo, sizeof(cell),
                                "the flags of the bands");
    state.storage =
        allocate_untouched(rows * pitch, sizeof(cell), "the rows of the bands");
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < rows; y++)
        memset(state.storage + y * pitch, 0xff, pitch * sizeof(cell));
}

/* Divides rows first .. end - 1 of a grid into `count` bands, whose memory begins at
 * storage. Returns the end of that memory. */
static cell *make_bands(const slab *c, int count, int grid, int first, int end,
                        cell *storage)
{
    for (int i = 0; i < count; i++) {
        int64_t inner = end - first;
        band range = band_at(c->side, first + inner * i / count,
                             first + inner * (i + 1) / count, c->halo);
        state.bands[state.band_count++] = (stored_band){grid, range, storage};
        storage += (range.end_stored - range.first_stored) * c->pitch;
    }
    return storage;
}

void cpu_assign(const slab *c, const cell *rows, const cell *masks)
{
    size_t pitch = c->pitch, first_stored = slab_first_stored(c);
    int grid = c->first / c->side, grids = (c->end - 1) / c->side - grid + 1;
    if (c->first == c->end) grids = 0;
    if (!c->packed) {
        memcpy(state.in + first_stored * pitch, rows,
               (slab_end_stored(c) - first_stored) * pitch * sizeof *rows);
        return;
    }
    state.masks = masks;
    state.band_count = 0;
    cell *storage = state.storage;
    for (int g = grid; g < grid + grids; g++) {
        int top = g * c->side, first = max_int(c->first - top, 1);
        int end = min_int(c->end - top, c->side - 1);
        int count = max_bands(grids, end - first, c->halo);
        storage = make_bands(c, count, g, first, end, storage);
    }

#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < state.band_count; i++) {
        stored_band b = state.bands[i];
        size_t top = (size_t)b.grid * c->side + b.range.first_stored;
        memcpy(b.rows, rows + (top - first_stored) * pitch,
               (b.range.end_stored - b.range.first_stored) * pitch * sizeof *rows);
    }
}

void cpu_read_rows(const slab *c, int first, int end, cell *rows)
{
    size_t pitch = c->pitch;
    if (!c->packed)
        memcpy(rows, state.in + first * pitch, (end - first) * pitch * sizeof *rows);
    for (int i = 0; i < state.band_count && c->packed; i++) {
        stored_band b = state.bands[i];
        int base = b.grid * c->side;
        int own_first =
            b.range.first == 1 ? 0 : b.range.first; /* including the border */
        int own_end = b.range.end == c->side - 1 ? c->side : b.range.end;
        own_first = max_int(base + own_first, first);
        own_end = min_int(base + own_end, end);
        if (own_first < own_end)
            memcpy(rows + (own_first - first) * pitch,
                   b.rows + (own_first - base - b.range.first_stored) * pitch,
                   (own_end - own_first) * pitch * sizeof *rows);
    }
}

void cpu_set_ghosts(const slab *c, const cell *above)
{
    int first_stored = slab_first_stored(c);
    size_t pitch = c->pitch, size = (c->first - first_stored) * pitch * sizeof(cell);
    if (size)
        memcpy(c->packed ? state.bands[0].rows : state.in + first_stored * pitch, above,
               size);
}

void cpu_steps(const slab *c, int n, int steps, cell *step_flags,
               void (*callback)(void))
{
    size_t batch = c->p->batch, halo = c->halo;
    bool empty = c->first == c->end;
    for (int s = 0; s < steps && !c->packed && !empty; s++) {
        double begin = seconds();
        step(c, state.in, state.out, s, step_flags + s * batch);
        cell *swap = state.in;
        state.in = state.out;
        state.out = swap;
        if (cpu_on_busy) cpu_on_busy(0, begin, seconds());
    }
    if ((!c->packed || empty) && callback) callback();
    if (!c->packed || empty) return;

    int ready = min_int(c->first % c->side + c->halo, c->side);
#pragma omp parallel
    {
        double begin = seconds();
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < state.band_count; i++)
            do_band(c, state.bands[i], n, steps, state.band_flags + i * halo, ready,
                    i ? NULL : callback);
        if (cpu_on_busy) cpu_on_busy(thread_number(), begin, seconds());
        /* A single band has no ghost rows to copy. A barrier costs time even with one
         * thread. */
        if (state.band_count > 1) {
#pragma omp barrier
#pragma omp for schedule(static, 1) nowait
            for (int i = 0; i < state.band_count; i++) fetch_ghosts(i, c->pitch);
        }
    }
    for (int i = 0; i < state.band_count; i++)
        for (int s = 0; s < steps; s++)
            step_flags[s * batch + state.bands[i].grid] |=
                state.band_flags[i * halo + s];
}

void cpu_end(void)
{
    free(state.band_flags);
    free(state.storage);
    free(state.bands);
    free(state.out);
    free(state.in);
}
