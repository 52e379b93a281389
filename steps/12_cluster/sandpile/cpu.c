/* cpu.c - the threads' part of the grid (slab.h): each thread computes a band with
 * ghost rows of its neighbors.
 */
#include <stdlib.h>
#include <string.h>

#include "slab.h"

enum { MIN_TILE_ROWS = 2 }; /* the row above a shifted tile is in the tile above */

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* A band with its rows in bit planes. rows[0] is row range.first_stored of the grid. */
typedef struct {
    band range;
    cell *rows;
} stored_band;

static struct {
    grid_shape shape;
    size_t pitch; /* words per row */
    band slab;
    stored_band *bands; /* from top to bottom */
    int count;
    cell *storage;     /* memory for their rows */
    const cell *masks; /* of cells inside the border, and of the last column */
} state;

void (*cpu_on_busy)(int, double, double);

static inline cell *band_row(stored_band b, int y)
{
    return b.rows + (y - b.range.first_stored) * state.pitch;
}

/* Computes step n of rows first .. end - 1. Returns nonzero if it has left fours. */
static int do_rows(stored_band b, int n, int first, int end)
{
    const grid_shape *shape = &state.shape;
    int width = shape->width, found = 0;
    for (int w = 0; w < width && first < end; w += LANES) {
        cell *c = band_row(b, first) + w;
        bitvec inside = bitvec_at(GLOBAL, state.masks + w);
        bitvec last_column = bitvec_at(GLOBAL, state.masks + width + w);
        found |=
            bitvec_any(step_column(c, w, width, n, end - first, inside, last_column,
                                   shape->mirror, shape->side - 2 - first));
    }
    return found;
}

/* Returns nonzero if any cell of rows y .. end - 1 has a four, after the last step or
 * the one before it. */
static int any_fours(stored_band b, int y, int end)
{
    int width = state.shape.width;
    bitvec or_fours = bitvec_fill(0);
    y = max_int(y, max_int(b.range.first_stored, 1));
    for (; y < min_int(end, b.range.end_stored); y++)
        for (int w = 0; w < width; w += LANES) {
            const cell *c = band_row(b, y) + w;
            bitvec fours = bitvec_at(GLOBAL, c + fours_offset(width, 0)) |
                           bitvec_at(GLOBAL, c + fours_offset(width, 1));
            or_fours |= fours & bitvec_at(GLOBAL, state.masks + w);
        }
    return bitvec_any(or_fours);
}

/* Computes steps n .. n + steps - 1 of a tile of h rows that begins at row y, as in
 * step 09. Rows of step s that are not valid after it are left out. flags[s] becomes
 * nonzero if step s has left fours. Returns whether the tile is active. */
static bool do_tile(stored_band b, int n, int steps, int y, int h, bool above_active,
                    char *flags)
{
    bool active = any_fours(b, y - 1, y + h + 1);
    for (int s = 0; s < steps && (active || above_active); s++) {
        int first = max_int(y - s, band_first_valid(b.range, s));
        int end = min_int(y - s + h, band_end_valid(b.range, state.shape.side, s));
        int found = do_rows(b, n + s, first, end);
        flags[s] |= found;
        active = active || found;
    }
    return active;
}

/* Computes all tiles of a band, from top to bottom. A function of its own, because
 * inlined into cpu_steps it would leave too few registers for the loop of step_column.
 */
NOINLINE_FN void do_band(stored_band b, int n, int steps, cell *flags)
{
    int h = max_int(state.shape.plan->tileh, MIN_TILE_ROWS);
    char band_flags[MAX_HALO];
    bool active = false;
    memset(band_flags, 0, steps);
    for (int y = b.range.first_stored + 1; y < b.range.end_stored + steps; y += h)
        active = do_tile(b, n, steps, y, h, active, band_flags);
    for (int s = 0; s < steps; s++)
        if (band_flags[s]) {
#pragma omp atomic write
            flags[s] = 1;
        }
}

/* Copies rows first .. end - 1 of a band from `from`, which points to row y. */
static void copy_rows(stored_band to, int first, int end, const cell *from, int y)
{
    if (first < end)
        memcpy(band_row(to, first), from + (first - y) * state.pitch,
               (end - first) * state.pitch * sizeof *from);
}

/* Copies the ghost rows of band i from its neighbors. A band has at least as many own
 * rows as ghost rows, so the neighbors hold all of them. */
static void fetch_ghosts(int i)
{
    const stored_band *b = &state.bands[i];
    if (i > 0)
        copy_rows(*b, b->range.first_stored, b->range.first, b[-1].rows,
                  b[-1].range.first_stored);
    if (i < state.count - 1)
        copy_rows(*b, b->range.end, b->range.end_stored, b[1].rows,
                  b[1].range.first_stored);
}

/* Returns the number of bands for `rows` rows: one per thread, but none has fewer rows
 * than its ghost zone. */
static int count_bands(int rows)
{
    return max_int(1, min_int(max_threads(), rows / state.shape.halo));
}

void cpu_begin(const grid_shape *shape)
{
    use_static_schedule();
    state.shape = *shape;
    state.pitch = row_pitch(shape->width);
    int count = count_bands(shape->side);
    size_t rows = shape->side + 2 * (size_t)shape->halo * count;
    state.bands = allocate(count, sizeof *state.bands, "the bands");
    state.storage =
        allocate_untouched(rows * state.pitch, sizeof(cell), "the rows of the bands");
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < rows; y++)
        memset(state.storage + y * state.pitch, 0xff, state.pitch * sizeof(cell));
}

void cpu_assign(int first, int end, const cell *planes)
{
    const grid_shape *shape = &state.shape;
    int64_t rows = end - first;
    cell *next = state.storage;
    state.slab = band_at(shape->side, first, end, shape->halo);
    state.masks = planes;
    state.count = rows ? count_bands(rows) : 0;
    for (int i = 0; i < state.count; i++) {
        band range = band_at(shape->side, first + rows * i / state.count,
                             first + rows * (i + 1) / state.count, shape->halo);
        state.bands[i] = (stored_band){range, next};
        next += (range.end_stored - range.first_stored) * state.pitch;
    }
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < state.count; i++)
        copy_rows(state.bands[i], state.bands[i].range.first_stored,
                  state.bands[i].range.end_stored, planes, 0);
}

void cpu_read_rows(int first, int end, cell *planes)
{
    for (int i = 0; i < state.count; i++) {
        stored_band b = state.bands[i];
        int top = max_int(b.range.first, first), bottom = min_int(b.range.end, end);
        if (top < bottom)
            memcpy(planes + top * state.pitch, band_row(b, top),
                   (bottom - top) * state.pitch * sizeof *planes);
    }
}

void cpu_write_ghosts(const cell *planes)
{
    if (!state.count) return;
    band slab = state.slab;
    copy_rows(state.bands[0], slab.first_stored, slab.first, planes, 0);
    copy_rows(state.bands[state.count - 1], slab.end, slab.end_stored, planes, 0);
}

void cpu_steps(int n, int steps, cell *flags)
{
    if (!state.count) return;
#pragma omp parallel
    {
        double begin = seconds();
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < state.count; i++) do_band(state.bands[i], n, steps, flags);
        if (cpu_on_busy) cpu_on_busy(thread_number(), begin, seconds());
#pragma omp barrier
#pragma omp for schedule(static, 1)
        for (int i = 0; i < state.count; i++) fetch_ghosts(i);
    }
}

void cpu_end(void)
{
    free(state.storage);
    free(state.bands);
}
