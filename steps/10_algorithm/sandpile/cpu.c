/* cpu.c - topples the grids in parallel: OpenMP threads compute tiles of plan->tilew x
 * plan->tileh cells.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "odometer.h"

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

/* A band: the rows of a grid that one call of do_band computes in a block of steps.
 * Step s computes rows first - s .. end - s - 1, but the first band of a grid always
 * begins at its first row, and the last one always ends at its last row. So the rows
 * that a band needs from the band above are those that the latter computes in the same
 * block, and there are no ghost rows. */
typedef struct {
    cell *rows; /* of the grid in bit planes */
    int first, end;
    char *active; /* active of its last tile, see do_tile_planes */
} skewed_band;

enum { BLOCK_STEPS = 64 }; /* maximum number of steps of a block */

/* Returns row y of the grid of a band. */
static inline cell *band_row(skewed_band b, int width, int y)
{
    return b.rows + y * (size_t)row_pitch(width);
}

/* Returns nonzero if any cell of rows y .. end - 1 has a four after n steps or, unless
 * the rows have one vector, after n - 1. */
static int any_fours(const grid_shape *shape, skewed_band b, int n, int y, int end)
{
    int width = shape->width;
    bitvec or_fours = bitvec_at(GLOBAL, b.rows) ^ bitvec_at(GLOBAL, b.rows);
    for (int j = max_int(y, 1); j < min_int(end, shape->side - 1); j++) {
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
static int do_rows(const grid_shape *shape, skewed_band b, int n, int first, int end)
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
static void do_levels(const grid_shape *shape, skewed_band b, int n,
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
static void clear_levels(const grid_shape *shape, skewed_band b, int n, int end)
{
    for (int y = max_int(end - LEVELS, 1); y < min_int(end, shape->side - 1); y++)
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
static void do_tile_planes(const grid_shape *shape, skewed_band b, int n, int steps,
                           int y, int h, const char *above_active, char *active)
{
    int in_registers = shape->width == LANES;
    active[0] = active[1] = any_fours(shape, b, n, y - 1, y + h + 1);
    for (int s = 0, levels; s < steps; s += levels) {
        levels = in_registers && steps - s >= LEVELS ? LEVELS : 1;
        int first[LEVELS], end[LEVELS];
        int awake = active[s] | active[s + 1] | above_active[s];
        for (int l = 0; l < levels; l++) {
            first[l] = max_int(y - s - l, 1);
            end[l] = min_int(y - s - l + h, shape->side - 1);
            awake |= above_active[s + 1 + l];
        }
        memset(active + s + 2, 0, levels);
        if (levels > 1 && awake)
            do_levels(shape, b, n + s, first, end, active + s + 2);
        else if (levels > 1)
            clear_levels(shape, b, n + s, y - s + h);
        else if (awake || in_registers)
            active[s + 2] = do_rows(shape, b, n + s, first[0], end[0]);
    }
}

/* Computes all tiles of a band, from top to bottom. above is `active` of the last tile
 * of the band above. band_flags[s] becomes nonzero if the band is unstable after step
 * s. A function of its own, because inlined into topple_planes it would leave too few
 * registers for the loop of step_levels. */
NOINLINE_FN void do_band(const run_plan *plan, const grid_shape *shape, skewed_band b,
                         const char *above, int n, int steps, int g, cell *band_flags)
{
    bool is_last = b.end == shape->side - 1;
    int stop = is_last ? b.end + steps : b.end;
    char buffers[2][BLOCK_STEPS + 2];
    memset(band_flags, 0, steps * sizeof *band_flags);
    for (int y = b.first, h, i = 0; y < stop; y += h, i = !i) {
        double begin = plan->trace ? seconds() : 0;
        h = max_int(plan->tileh, MIN_TILE_ROWS);
        if (!is_last && stop - y < h + MIN_TILE_ROWS) h = stop - y;
        do_tile_planes(shape, b, n, steps, y, h, above, buffers[i]);
        above = buffers[i];
        for (int s = 0; s < steps; s++) band_flags[s] |= 4 * above[s + 2];
        int end = min_int(y + h, b.end);
        if (y < end)
            trace_tile(plan->trace, n, g, (int[4]){1, y, shape->dim - 2, end - y},
                       begin, thread_number());
        if (y < end && shape->mirror) /* the tile stands for two tiles */
            trace_tile(plan->trace, n, g,
                       (int[4]){1, shape->dim - end, shape->dim - 2, end - y}, begin,
                       thread_number());
    }
    memcpy(b.active, above, steps + 2);
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

/* The bands of all grids, and their schedule. Band b of a grid computes block k of
 * `steps` steps in phase 2 k + b:
 *
 *   phase    0      1      2      3      4      5
 *   band 0   k = 0         1             2
 *   band 1          0             1             2
 *   band 2                 0             1
 *   band 3                        0             1
 *
 * It follows the band above, and the band below has finished block k - 1. Bands that
 * compute in the same phase have a band between them. So a thread that owns two bands
 * is always busy, and there is one barrier per phase. With one band per grid, each
 * phase is a block. */
typedef struct {
    skewed_band *band;
    int per_grid, total; /* number of bands per grid, and of all grids */
    int steps;           /* per block */
    int slots;           /* blocks whose flags are kept */
    cell *flags;         /* [slots][total][steps] */
    char *active;        /* [total][BLOCK_STEPS + 2] */
} band_set;

/* Bands with fewer rows would wait longer at barriers than they compute. */
enum { MIN_BAND_ROWS = 32 };

/* Divides rows 1 .. side - 2 of each grid into two bands per thread, or one band if
 * there are enough grids to keep the threads busy, or too few rows. The thread that
 * will compute a band touches its memory first, before the clock starts: page faults
 * take as long as many steps. */
static band_set make_bands(int batch, int side, cell *planes)
{
    int inner = side - 2, threads = max_threads(), width = plane_width(side);
    size_t pitch = row_pitch(width);
    band_set bands = {.per_grid = 1, .steps = BLOCK_STEPS};
    if (threads > 1 && batch < GRIDS_PER_THREAD * threads && inner / MIN_BAND_ROWS > 2)
        bands.per_grid = min_int(2 * threads, inner / MIN_BAND_ROWS);
    /* Bands of the same phase must not touch. */
    if (bands.per_grid > 1)
        bands.steps = min_int(BLOCK_STEPS, (inner / bands.per_grid - 2) / 4 * 4);
    bands.total = bands.per_grid * batch;
    bands.slots = bands.per_grid / 2 + 2;
    bands.band = allocate(bands.total, sizeof *bands.band, "the bands");
    bands.flags = allocate((size_t)bands.slots * bands.total * bands.steps,
                           sizeof(cell), "the flags of the bands");
    bands.active = allocate(bands.total, BLOCK_STEPS + 2, "the activity of the bands");
#pragma omp parallel for schedule(static)
    for (int i = 0; i < bands.total; i++) {
        /* All bands but the first and the last move by steps - 1 rows during a block.
         */
        int k = i % bands.per_grid, last = bands.per_grid - 1, shift = bands.steps / 2;
        skewed_band *b = &bands.band[i];
        b->rows = planes + (size_t)(i / bands.per_grid) * side * pitch;
        b->first = 1 + (int64_t)inner * k / bands.per_grid + (k ? shift : 0);
        b->end = 1 + (int64_t)inner * (k + 1) / bands.per_grid + (k < last ? shift : 0);
        b->active = bands.active + (size_t)i * (BLOCK_STEPS + 2);
        int top = k ? b->first : 0, bottom = k < last ? b->end : side;
        memset(band_row(*b, width, top), 0xff, (bottom - top) * pitch * sizeof(cell));
    }
    return bands;
}

/* Topples grids in bit planes, starting with step n. Returns the number of steps. */
static int topple_planes(pile *p, const run_plan *plan, int mirror, band_set bands,
                         cell *planes, int n, cell *flags)
{
    static const char asleep[BLOCK_STEPS + 2]; /* of the border above the first band */
    int side = stored_side(p->dim, mirror), batch = p->batch;
    int per_grid = bands.per_grid, total = bands.total, first_step = n;
    int stride = per_grid > 1 ? 2 : 1;
    grid_shape shape = {p->dim, side, plane_width(side), mirror, planes};
    int64_t blocks =
        ((int64_t)plan->max_iterations - n + bands.steps - 1) / bands.steps;

    /* Thread 0 finds out after phase k whether phase k + 2 is needed, so that all
     * threads read it after another barrier. */
    bool unstable = record_finished(p, plan, flags, n) > 3 && blocks > 0;
    bool more[2] = {unstable, unstable};
#pragma omp parallel
    for (int64_t phase = 0; more[phase % 2]; phase++) {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < total; i++) {
            int k = i % per_grid;
            int64_t block = (phase - k) / stride;
            if (phase < k || (phase - k) % stride || block >= blocks) continue;
            int begin = first_step + (int)(block * bands.steps);
            do_band(plan, &shape, bands.band[i], k ? bands.band[i - 1].active : asleep,
                    begin, min_int(bands.steps, plan->max_iterations - begin),
                    i / per_grid,
                    bands.flags + (block % bands.slots * total + i) * bands.steps);
        }
#pragma omp barrier
#pragma omp master
        {
            /* The block that the last bands have just finished. */
            int64_t block = (phase - per_grid + 1) / stride;
            if (unstable && phase >= per_grid - 1 &&
                (phase - per_grid + 1) % stride == 0) {
                const cell *block_flags =
                    bands.flags + block % bands.slots * total * bands.steps;
                int steps = min_int(bands.steps, plan->max_iterations - n);
                for (int s = 0; s < steps; s++) {
                    memset(flags, 0, batch * sizeof *flags);
                    for (int i = 0; i < total; i++)
                        flags[i / per_grid] |= block_flags[(size_t)i * bands.steps + s];
                    unstable = record_finished(p, plan, flags, ++n) > 3;
                }
                unstable = unstable && n < plan->max_iterations;
            }
            more[phase % 2] = unstable;
        }
    }
    return n;
}

/* What estimates the topplings of one grid. */
typedef struct {
    field start, grains, count; /* the grid at first and then, and its odometer */
    fire fire;
    bool used;
} estimate;

static estimate new_estimate(int n, bool mirror)
{
    return (estimate){.start = new_field(n, mirror),
                      .grains = new_field(n, mirror),
                      .count = new_field(n, mirror),
                      .fire = new_fire(n, mirror)};
}

static void free_estimate(estimate e)
{
    free(e.start.at);
    free(e.grains.at);
    free(e.count.at);
    free_fire(e.fire);
}

typedef struct {
    cell *in, *out; /* grids before and after a step */
    cell *flags;    /* of each grid */
    int mirror;
    cell *planes;
    band_set bands;
    estimate *estimates; /* of each grid, or NULL */
} workspace;

static workspace make_workspace(const pile *p, const run_plan *plan)
{
    int dim = p->dim;
    size_t cells = pile_cells(p), total = cells * p->batch;
    workspace w = {.mirror = find_mirror(p)};
    w.in = allocate_untouched(total, sizeof *w.in, "the grids before a step");
    w.out = allocate_untouched(total, sizeof *w.out, "the grids after a step");
    first_touch(p, plan, w.in, dim * sizeof *w.in);
    first_touch(p, plan, w.out, dim * sizeof *w.in);
    for (int g = 0; g < p->batch; g++) pile_clear_border(w.out + g * cells, dim);
    w.flags = allocate(p->batch, sizeof *w.flags, "the flags of each grid");
    int side = stored_side(dim, w.mirror);
    w.planes =
        allocate_untouched(total_words(p, side), sizeof *w.planes, "the bit planes");
    w.bands = make_bands(p->batch, side, w.planes);
    if (plan->rule == ASYNC && plan->max_iterations == INT_MAX) {
        w.estimates = allocate(p->batch, sizeof *w.estimates, "the estimates");
        for (int g = 0; g < p->batch; g++)
            w.estimates[g] = new_estimate(dim - 2, w.mirror != MIRROR_NONE);
    }
    return w;
}

static void free_workspace(workspace w, int batch)
{
    for (int g = 0; w.estimates && g < batch; g++) free_estimate(w.estimates[g]);
    free(w.estimates);
    free(w.bands.active);
    free(w.bands.flags);
    free(w.bands.band);
    free(w.planes);
    free(w.flags);
    free(w.out);
    free(w.in);
}

/* Topples all cells at once in each step, until the grids are stable or the limit of
 * the plan is reached. */
static void topple_synchronously(pile *p, const run_plan *plan, workspace w)
{
    int n = 0;
    size_t cells = pile_cells(p), total = cells * p->batch;
    for (int g = 0; g < p->batch; g++)
        w.flags[g] = pile_or(p->grid + g * cells, p->dim);
    if (record_finished(p, plan, w.flags, n) > 7) {
        memcpy(w.in, p->grid, total * sizeof *w.in);
        while (record_finished(p, plan, w.flags, n) > 7 && n < plan->max_iterations) {
            step(p, plan, w.in, w.out, n, w.flags);
            cell *swap = w.in;
            w.in = w.out;
            w.out = swap;
            n++;
        }
        memcpy(p->grid, w.in, total * sizeof *w.in);
    }

    /* From here on, every cell fits in three bits. */
    if (record_finished(p, plan, w.flags, n) <= 7) {
        pack_planes(p, w.mirror, n, w.planes);
        n = topple_planes(p, plan, w.mirror, w.bands, w.planes, n, w.flags);
        unpack_planes(w.planes, w.mirror, n, p);
    }
}

/* ---- the asynchronous rule ---------------------------------------------------------
 */

/* Copies a grid to or from a field. */
static void load_field(const cell *grid, field to)
{
#pragma omp parallel for if (to.rows >= SHARED_ROWS)
    for (int y = 1; y <= to.rows; y++)
        for (int x = 1; x <= to.rows; x++)
            field_row(to, y)[x] = (int)grid[(size_t)y * (to.n + 2) + x];
    mirror_field(to);
}

static void store_field(field from, cell *grid)
{
#pragma omp parallel for if (from.rows >= SHARED_ROWS)
    for (int y = 1; y <= from.n; y++) {
        const int *row = field_row(from, y <= from.rows ? y : from.n + 1 - y);
        cell *to = grid + (size_t)y * (from.n + 2);
        for (int x = 1; x <= from.rows; x++) to[x] = (cell)row[x];
        for (int x = from.rows + 1; x <= from.n; x++) to[x] = (cell)row[from.n + 1 - x];
    }
}

/* Tests whether an odometer can be proved: the stable grid must be able to burn, for
 * which it needs a grain per pair of neighbors. Also, four times the odometer must fit
 * an int: it is at most 0.074 times the product below (the torsion function of a
 * square). */
static bool can_be_estimated(const cell *grid, int n)
{
    uint64_t sum = 0;
    cell most = 0;
    for (size_t i = 0; i < (size_t)(n + 2) * (n + 2); i++) {
        sum += grid[i];
        if (grid[i] > most) most = grid[i];
    }
    return n >= MIN_SIDE && (double)sum >= 2.0 * n * (n - 1) &&
           (n + 1.0) * (n + 1) * most <= 5e9;
}

/* Topples a grid as often as estimated. */
static void estimate_grid(cell *grid, estimate *e)
{
    e->used = can_be_estimated(grid, e->grains.n);
    if (!e->used) return;
    load_field(grid, e->start);
    load_field(grid, e->grains);
    e->used = topple_estimated(e->grains, e->count);
    if (e->used) store_field(e->grains, grid);
}

/* Proves the result of a grid. If that fails, the grid is again what it was at first,
 * and the function returns false. */
static bool prove_grid(cell *grid, estimate *e)
{
    if (!e->used) return true;
    load_field(grid, e->grains);
    bool proved = prove(e->grains, e->count, &e->fire);
    store_field(proved ? e->grains : e->start, grid);
    return proved;
}

/* Topples grids until they are stable, in any order: first as often as estimated, then
 * synchronously. If the result of a grid cannot be proved, it begins anew without an
 * estimate. Several grids are divided among the threads. A single grid is shared by
 * all threads, without a loop over grids: inside of one, its own parallel loops would
 * be nested regions, which start new threads each time. */
static void topple_asynchronously(pile *p, const run_plan *plan, workspace w)
{
    size_t cells = pile_cells(p);
    if (p->batch == 1)
        estimate_grid(p->grid, w.estimates);
    else {
#pragma omp parallel for schedule(dynamic)
        for (int g = 0; g < p->batch; g++)
            estimate_grid(p->grid + g * cells, &w.estimates[g]);
    }
    topple_synchronously(p, plan, w);

    bool again = false;
    if (p->batch == 1) {
        again = !prove_grid(p->grid, w.estimates);
        if (again) p->iterations[0] = -1;
    } else {
#pragma omp parallel for schedule(dynamic) reduction(|| : again)
        for (int g = 0; g < p->batch; g++)
            if (!prove_grid(p->grid + g * cells, &w.estimates[g])) {
                p->iterations[g] = -1;
                again = true;
            }
    }
    if (again) topple_synchronously(p, plan, w);
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    workspace w = make_workspace(p, plan);

    double ready = seconds();

    if (w.estimates)
        topple_asynchronously(p, plan, w);
    else
        topple_synchronously(p, plan, w);

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free_workspace(w, p->batch);
    return 0;
}
