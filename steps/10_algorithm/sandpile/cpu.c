/* cpu.c - topples the grids in parallel: OpenMP threads compute tiles of plan->tilew x
 * plan->tileh cells.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

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

/* Computes step n of all grids, from one array into another. flags[g] becomes the OR of
 * all new cells of grid g. */
static void step(const pile *p, const run_plan *plan, const cell *in, cell *out, int n,
                 cell *flags)
{
    int dim = p->dim;
    memset(flags, 0, p->batch * sizeof *flags);
#pragma omp parallel for collapse(3) schedule(runtime)
    for (int g = 0; g < p->batch; g++)
        for (int y = 1; y < dim - 1; y += plan->tileh)
            for (int x = 1; x < dim - 1; x += plan->tilew) {
                int w = min_int(plan->tilew, dim - 1 - x);
                int h = min_int(plan->tileh, dim - 1 - y);
                size_t grid = g * pile_cells(p);
                double begin = plan->trace ? seconds() : 0;
                cell tile_flags = do_tile(dim, in + grid, out + grid, x, y, w, h);
                trace_tile(plan->trace, n, g, (int[4]){x, y, w, h}, begin,
                           thread_number());
#pragma omp atomic
                flags[g] |= tile_flags;
            }
}

enum { MIN_TILE_ROWS = 2 }; /* the row above a shifted tile is in the tile above */

/* From this many grids per thread on, one band per grid keeps the threads busy: the
 * busiest thread then has at most 25 % more than the mean. */
enum { GRIDS_PER_THREAD = 4 };

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Properties that all bands share. */
typedef struct {
    int dim, side, width, mirror;
    const cell *masks; /* masks: cells inside the border; cells of the last column */
} grid_shape;

/* A band with its rows in bit planes. rows[0] is row range.first_stored of the grid. */
typedef struct {
    band range;
    cell *rows;
} stored_band;

/* Returns the row y of a band. */
static inline cell *band_row(stored_band b, int width, int y)
{
    return b.rows + (y - b.range.first_stored) * (ptrdiff_t)row_pitch(width);
}

/* Returns nonzero if any cell of rows y .. end - 1 has a four after n steps or, unless
 * the rows have one vector, after n - 1. */
static int any_fours(const grid_shape *shape, stored_band b, int n, int y, int end)
{
    int width = shape->width;
    bitvec or_fours = bitvec_at(GLOBAL, b.rows) ^ bitvec_at(GLOBAL, b.rows);
    for (int j = max_int(y, b.range.first_stored); j < min_int(end, b.range.end_stored);
         j++) {
        const cell *row = band_row(b, width, j);
        for (int w = 0; w < width; w += LANES) {
            bitvec fours = bitvec_at(GLOBAL, row + fours_offset(width, n) + w);
            if (width > LANES)
                fours |= bitvec_at(GLOBAL, row + fours_offset(width, n + 1) + w);
            or_fours |= fours & bitvec_at(GLOBAL, shape->masks + w);
        }
    }
    return bitvec_any(or_fours);
}

/* Computes step n of the rows first .. end - 1. Returns nonzero if it has left fours.
 */
static int do_rows(const grid_shape *shape, stored_band b, int n, int first, int end)
{
    int width = shape->width, found = 0;
    if (first < end)
        for (int w = 0; w < width; w += LANES)
            found |=
                bitvec_any(step_column(band_row(b, width, first) + w, w, width, n,
                                       end - first, bitvec_at(GLOBAL, shape->masks + w),
                                       bitvec_at(GLOBAL, shape->masks + width + w),
                                       shape->mirror, shape->side - 2 - first));
    return found;
}

/* Computes steps n .. n + LEVELS - 1 of rows of one vector each; step n + l computes
 * the rows first[l] .. end[l] - 1. The rows that each step has in common, shifted by
 * one row against the previous step, are computed in registers, the remaining triangles
 * at the border of the grid or of the band before and after. active[l] becomes nonzero
 * if step n + l has left fours. */
static void do_levels(const grid_shape *shape, stored_band b, int n,
                      const int first[LEVELS], const int end[LEVELS], char *active)
{
    int from = first[0], to = end[0];
    for (int l = 1; l < LEVELS; l++) {
        from = max_int(from, first[l] + l);
        to = min_int(to, end[l] + l);
    }
    if (shape->mirror) to = min_int(to, shape->side - 2);
    to = max_int(to, from);
    for (int l = 0; l < LEVELS; l++)
        active[l] = do_rows(shape, b, n + l, first[l], min_int(from - l, end[l]));
    if (from < to) {
        bitvec or_fours[LEVELS];
        cell *c = band_row(b, LANES, from);
        bitvec last_column = bitvec_at(GLOBAL, shape->masks + LANES);
        /* One call per kind, so that the loop does not distinguish them. */
        if (shape->mirror == MIRROR_EVEN)
            step_levels(c, n, to - from, last_column, MIRROR_EVEN, or_fours);
        else if (shape->mirror == MIRROR_ODD)
            step_levels(c, n, to - from, last_column, MIRROR_ODD, or_fours);
        else
            step_levels(c, n, to - from, last_column, MIRROR_NONE, or_fours);
        for (int l = 0; l < LEVELS; l++)
            active[l] |= bitvec_any(or_fours[l] & bitvec_at(GLOBAL, shape->masks));
    }
    for (int l = 0; l < LEVELS; l++)
        active[l] |= do_rows(shape, b, n + l, to - l, end[l]);
}

/* Clears the fours between the steps n .. n + LEVELS - 1 in the last rows before row
 * `end`, which the tile below reads. */
static void clear_levels(stored_band b, int n, int end)
{
    for (int y = max_int(end - LEVELS, b.range.first_stored + 1);
         y < min_int(end, b.range.end_stored); y++)
        memset(band_row(b, LANES, y) + fours_offset(LANES, n + 1), 0,
               LANES * sizeof(cell));
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
 * tile had fours in the two previous steps, the step is skipped (lazy evaluation).
 *
 * If a row is one vector, LEVELS steps are computed, or skipped, at once. Between them
 * only the last rows of a tile have fours in memory, so the other plane of fours of the
 * other rows is out of date, and the last steps of a run, computed one by one, are not
 * skipped. */
static void do_tile_planes(const grid_shape *shape, stored_band b, int n, int steps,
                           int y, int h, const char *above_active, char *active)
{
    int in_registers = shape->width == LANES;
    active[0] = active[1] = any_fours(shape, b, n, y - 1, y + h + 1);
    for (int s = 0, levels; s < steps; s += levels) {
        levels = in_registers && steps - s >= LEVELS ? LEVELS : 1;
        int first[LEVELS], end[LEVELS];
        int awake = active[s] | active[s + 1] | above_active[s];
        for (int l = 0; l < levels; l++) {
            first[l] = max_int(y - s - l, band_first_valid(b.range, s + l));
            end[l] =
                min_int(y - s - l + h, band_end_valid(b.range, shape->side, s + l));
            awake |= above_active[s + 1 + l];
        }
        memset(active + s + 2, 0, levels);
        if (levels > 1 && awake)
            do_levels(shape, b, n + s, first, end, active + s + 2);
        else if (levels > 1)
            clear_levels(b, n + s, y - s + h);
        else if (awake || in_registers)
            active[s + 2] = do_rows(shape, b, n + s, first[0], end[0]);
    }
}

/* Computes all tiles of a band, from top to bottom. band_flags[s] becomes nonzero if
 * the band is unstable after step s. A function of its own, because inlined into
 * topple_planes it would leave too few registers for the loop of step_column. */
NOINLINE_FN void do_band(const run_plan *plan, const grid_shape *shape, stored_band b,
                         int n, int steps, int g, cell band_flags[STEPS])
{
    int h = max_int(plan->tileh, MIN_TILE_ROWS);
    char buffers[2][STEPS + 2] = {{0}}, *above_active = buffers[0],
                            *active = buffers[1];
    memset(band_flags, 0, STEPS * sizeof *band_flags);
    for (int y = b.range.first_stored + 1; y < b.range.end_stored + steps; y += h) {
        double begin = plan->trace ? seconds() : 0;
        do_tile_planes(shape, b, n, steps, y, h, above_active, active);
        for (int s = 0; s < steps; s++) band_flags[s] |= 4 * active[s + 2];
        int first = max_int(y, b.range.first), end = min_int(y + h, b.range.end);
        if (first < end)
            trace_tile(plan->trace, n, g,
                       (int[4]){1, first, shape->dim - 2, end - first}, begin,
                       thread_number());
        if (first < end && shape->mirror) /* the tile stands for two tiles */
            trace_tile(plan->trace, n, g,
                       (int[4]){1, shape->dim - end, shape->dim - 2, end - first},
                       begin, thread_number());
        char *swap = above_active;
        above_active = active;
        active = swap;
    }
}

/* Copies the ghost rows of band i of a grid from its neighbors. */
static void fetch_ghosts(const stored_band *b, int i, int count, size_t pitch)
{
    band range = b[i].range;
    if (i > 0)
        memcpy(b[i].rows,
               b[i - 1].rows +
                   (range.first_stored - b[i - 1].range.first_stored) * pitch,
               (range.first - range.first_stored) * pitch * sizeof(cell));
    if (i < count - 1)
        memcpy(b[i].rows + (range.end - range.first_stored) * pitch,
               b[i + 1].rows + (range.end - b[i + 1].range.first_stored) * pitch,
               (range.end_stored - range.end) * pitch * sizeof(cell));
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

/* The bands of all grids: one per thread and grid if there are fewer grids than keep
 * the threads busy, else one per grid. */
typedef struct {
    stored_band *band;
    int per_grid, total; /* number of bands per grid, and of all grids */
    size_t pitch;
    cell *band_flags; /* [total][STEPS] */
    cell *rows;
} band_set;

/* Divides rows 1 .. side - 2 of each grid into bands. The thread that will compute a
 * band touches its memory first, before the clock starts: page faults take as long as
 * many steps. */
static band_set make_bands(int batch, int side)
{
    int inner = side - 2;
    band_set bands = {.pitch = row_pitch(plane_width(side))};
    bands.per_grid = batch < GRIDS_PER_THREAD * max_threads()
                         ? min_int(max_threads(), inner / STEPS)
                         : 1;
    bands.per_grid = max_int(bands.per_grid, 1);
    bands.total = bands.per_grid * batch;
    bands.band = allocate(bands.total, sizeof *bands.band, "the bands");
    bands.band_flags =
        allocate((size_t)bands.total * STEPS, sizeof(cell), "the flags of the bands");
    size_t rows = 0;
    for (int i = 0; i < bands.total; i++) {
        int k = i % bands.per_grid;
        bands.band[i].range = band_at(side, 1 + (int64_t)inner * k / bands.per_grid,
                                      1 + (int64_t)inner * (k + 1) / bands.per_grid);
        rows += bands.band[i].range.end_stored - bands.band[i].range.first_stored;
    }
    bands.rows =
        allocate_untouched(rows * bands.pitch, sizeof(cell), "the rows of the bands");
    cell *next = bands.rows;
    for (int i = 0; i < bands.total; i++) {
        band range = bands.band[i].range;
        bands.band[i].rows = next;
        next += (range.end_stored - range.first_stored) * bands.pitch;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < bands.total; i++) {
        stored_band b = bands.band[i];
        memset(b.rows, 0xff,
               (b.range.end_stored - b.range.first_stored) * bands.pitch *
                   sizeof(cell));
    }
    return bands;
}

/* Topples grids in bit planes, starting with step n. Returns the number of steps. */
static int topple_planes(pile *p, const run_plan *plan, int mirror, band_set bands,
                         cell *planes, int n, cell *flags)
{
    int side = stored_side(p->dim, mirror), batch = p->batch;
    int per_grid = bands.per_grid, total = bands.total;
    grid_shape shape = {p->dim, side, plane_width(side), mirror, planes};
    size_t pitch = bands.pitch;
    stored_band *b = bands.band;
    cell *band_flags = bands.band_flags;

#pragma omp parallel for schedule(static)
    for (int i = 0; i < total; i++) {
        band range = b[i].range;
        memcpy(b[i].rows,
               planes + ((size_t)(i / per_grid) * side + range.first_stored) * pitch,
               (range.end_stored - range.first_stored) * pitch * sizeof *planes);
    }

    cell any_flags = record_finished(p, plan, flags, n);
#pragma omp parallel
    while (any_flags > 3 && n < plan->max_iterations) {
        int steps = min_int(STEPS, plan->max_iterations - n);
#pragma omp for schedule(static)
        for (int i = 0; i < total; i++)
            do_band(plan, &shape, b[i], n, steps, i / per_grid,
                    band_flags + (size_t)i * STEPS);
#pragma omp for schedule(static) nowait
        for (int i = 0; i < total; i++)
            fetch_ghosts(b + i / per_grid * per_grid, i % per_grid, per_grid, pitch);
#pragma omp single
        for (int s = 0; s < steps; s++) {
            memset(flags, 0, batch * sizeof *flags);
            for (int i = 0; i < total; i++)
                flags[i / per_grid] |= band_flags[(size_t)i * STEPS + s];
            any_flags = record_finished(p, plan, flags, ++n);
        }
    }

    for (int i = 0; i < total; i++) {
        band range = b[i].range;
        memcpy(planes + ((size_t)(i / per_grid) * side + range.first) * pitch,
               b[i].rows + (range.first - range.first_stored) * pitch,
               (range.end - range.first) * pitch * sizeof *planes);
    }
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    int dim = p->dim;
    size_t cells = pile_cells(p), total = cells * p->batch;
    cell *in = allocate_untouched(total, sizeof *in, "the grids before a step");
    cell *out = allocate_untouched(total, sizeof *out, "the grids after a step");
    first_touch(p, plan, in, dim * sizeof *in);
    first_touch(p, plan, out, dim * sizeof *in);
    for (int g = 0; g < p->batch; g++) pile_clear_border(out + g * cells, dim);
    cell *flags = allocate(p->batch, sizeof *flags, "the flags of each grid");
    int mirror = find_mirror(p), side = stored_side(dim, mirror);
    cell *planes = allocate(total_words(p, side), sizeof *planes, "the bit planes");
    band_set bands = make_bands(p->batch, side);

    double ready = seconds();

    /* The synchronous rule, also for ASYNC. */
    int n = 0;
    for (int g = 0; g < p->batch; g++) flags[g] = pile_or(p->grid + g * cells, dim);
    if (record_finished(p, plan, flags, n) > 7) {
        memcpy(in, p->grid, total * sizeof *in);
        while (record_finished(p, plan, flags, n) > 7 && n < plan->max_iterations) {
            step(p, plan, in, out, n, flags);
            cell *swap = in;
            in = out;
            out = swap;
            n++;
        }
        memcpy(p->grid, in, total * sizeof *in);
    }

    /* From here on, every cell fits in three bits. */
    if (record_finished(p, plan, flags, n) <= 7) {
        pack_planes(p, mirror, n, planes);
        n = topple_planes(p, plan, mirror, bands, planes, n, flags);
        unpack_planes(planes, mirror, n, p);
    }

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(bands.rows);
    free(bands.band_flags);
    free(bands.band);
    free(planes);
    free(flags);
    free(in);
    free(out);
    return 0;
}
