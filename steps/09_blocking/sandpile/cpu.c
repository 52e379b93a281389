/* cpu.c - topples the grid in parallel, in bit planes: OpenMP threads compute blocks of
 * steps of bands of rows.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum {
    BLOCK_STEPS = 32,  /* maximum number of steps of a block */
    MIN_TILE_ROWS = 2, /* the row above a shifted tile is in the tile above */
    MIN_BAND_ROWS = 32 /* shorter bands would wait longer than they compute */
};

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* The grid in bit planes. */
typedef struct {
    const run_plan *plan;
    int dim, width;
    cell *planes;
} packed_grid;

static inline cell *grid_row(const packed_grid *grid, int y)
{
    return grid->planes + (size_t)y * row_pitch(grid->width);
}

/* Computes step n of rows first .. end - 1. Returns nonzero if it has left fours. */
static int do_rows(const packed_grid *grid, int n, int first, int end)
{
    int width = grid->width, found = 0;
    for (int w = 0; w < width && first < end; w += LANES) {
        cell *c = grid_row(grid, first) + w;
        bitvec inside = bitvec_at(GLOBAL, grid->planes + w);
        found |= bitvec_any(step_column(c, w, width, n, end - first, inside));
    }
    return found;
}

/* Returns nonzero if any cell of rows y .. end - 1 has a four, after the last step or
 * the one before it. */
static int any_fours(const packed_grid *grid, int y, int end)
{
    int width = grid->width;
    bitvec or_fours = bitvec_fill(0);
    for (int j = max_int(y, 1); j < min_int(end, grid->dim - 1); j++) {
        const cell *fours = grid_row(grid, j) + fours_offset(width, 0);
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
 * flags[s] becomes nonzero if step s has left fours. A tile is active if it has fours
 * before or after any of these steps. A tile without fours whose neighbor above is not
 * active has nothing to compute (lazy evaluation). Returns whether it is active. */
static bool do_tile(const packed_grid *grid, int n, int steps, int y, int h,
                    bool above_active, char *flags)
{
    bool active = any_fours(grid, y - 1, y + h + 1);
    for (int s = 0; s < steps && (active || above_active); s++) {
        int first = max_int(y - s, 1), end = min_int(y - s + h, grid->dim - 1);
        int found = do_rows(grid, n + s, first, end);
        flags[s] |= found;
        active = active || found;
    }
    return active;
}

/* A band: the rows that one call of do_band computes in a block of steps. Step s
 * computes rows first - s .. end - s - 1, but the first band always begins at row 1,
 * and the last one always ends at row dim - 2. So the rows that a band needs from the
 * band above are those that the latter computes in the same block, and there are no
 * ghost rows. */
typedef struct {
    int first, end;
    bool active; /* whether its last tile is, see do_tile */
} skewed_band;

/* Computes all tiles of a band, from top to bottom. above is the band above, or NULL.
 * flags[s] becomes 1 if the band is unstable after step s. A function of its own,
 * because inlined into topple_planes it would leave too few registers for the loop of
 * step_column. */
NOINLINE_FN void do_band(const packed_grid *grid, skewed_band *b,
                         const skewed_band *above, int n, int steps, cell *flags)
{
    tile_trace *trace = grid->plan->trace;
    bool is_last = b->end == grid->dim - 1, active = above && above->active;
    int stop = is_last ? b->end + steps : b->end;
    char band_flags[BLOCK_STEPS] = {0};
    for (int y = b->first, h; y < stop; y += h) {
        double begin = trace ? seconds() : 0;
        h = max_int(grid->plan->tileh, MIN_TILE_ROWS);
        if (!is_last && stop - y < h + MIN_TILE_ROWS) h = stop - y;
        active = do_tile(grid, n, steps, y, h, active, band_flags);
        int end = min_int(y + h, b->end);
        if (y < end)
            trace_tile(trace, n, (int[4]){1, y, grid->dim - 2, end - y}, begin,
                       thread_number());
    }
    b->active = active;
    for (int s = 0; s < steps; s++)
        if (band_flags[s]) {
#pragma omp atomic write
            flags[s] = 1;
        }
}

/* The bands of a grid, and their schedule. Band b computes block k of `steps` steps in
 * phase 2 k + b:
 *
 *   phase    0      1      2      3      4      5
 *   band 0   k = 0         1             2
 *   band 1          0             1             2
 *   band 2                 0             1
 *   band 3                        0             1
 *
 * It follows the band above, and the band below has finished block k - 1. Bands that
 * compute in the same phase have a band between them. So a thread that owns two bands
 * is always busy, and there is one barrier per phase. A single band computes a block in
 * each phase. */
typedef struct {
    skewed_band *band;
    int count;
    int steps;   /* per block */
    int slots;   /* blocks whose flags are kept */
    cell *flags; /* [slots][steps]: 1 if the grid is unstable after this step */
} band_set;

/* Divides rows 1 .. dim - 2 into two bands per thread, or one band if there are too few
 * rows. The thread that will compute a band touches its memory first, before the clock
 * starts: page faults take as long as many steps. */
static band_set make_bands(const packed_grid *grid)
{
    int inner = grid->dim - 2, threads = max_threads();
    size_t pitch = row_pitch(grid->width);
    band_set bands = {.count = 1, .steps = BLOCK_STEPS};
    if (threads > 1 && inner / MIN_BAND_ROWS > 2)
        bands.count = min_int(2 * threads, inner / MIN_BAND_ROWS);
    /* Bands of the same phase must not touch. */
    if (bands.count > 1)
        bands.steps = min_int(BLOCK_STEPS, (inner / bands.count - 2) / 4 * 4);
    bands.slots = bands.count / 2 + 2;
    bands.band = allocate(bands.count, sizeof *bands.band, "the bands");
    size_t flags = (size_t)bands.slots * bands.steps;
    bands.flags = allocate(flags, sizeof(cell), "the flags of the blocks");
    memset(bands.flags, 0, flags * sizeof(cell));
#pragma omp parallel for schedule(static)
    for (int k = 0; k < bands.count; k++) {
        /* All bands but the first and the last move by steps - 1 rows in a block. */
        int last = bands.count - 1, shift = bands.steps / 2;
        skewed_band *b = &bands.band[k];
        b->first = 1 + (int64_t)inner * k / bands.count + (k ? shift : 0);
        b->end = 1 + (int64_t)inner * (k + 1) / bands.count + (k < last ? shift : 0);
        int top = k ? b->first : 0, bottom = k < last ? b->end : grid->dim;
        memset(grid_row(grid, top), 0xff, (bottom - top) * pitch * sizeof(cell));
    }
    return bands;
}

/* Topples the grid, starting with step n. Returns the number of steps. Further steps do
 * not change a stable grid. */
static int topple_planes(const packed_grid *grid, band_set bands, int n)
{
    int limit = grid->plan->max_iterations, first_step = n;
    int stride = bands.count > 1 ? 2 : 1;
    int64_t blocks = ((int64_t)limit - n + bands.steps - 1) / bands.steps;

    /* Thread 0 finds out after phase k whether phase k + 2 is needed, so that all
     * threads read it after another barrier. */
    bool more[2] = {true, true}, unstable = true;
#pragma omp parallel
    for (int64_t phase = 0; more[phase % 2]; phase++) {
#pragma omp for schedule(static) nowait
        for (int k = 0; k < bands.count; k++) {
            int64_t block = (phase - k) / stride;
            if (phase < k || (phase - k) % stride || block >= blocks) continue;
            int begin = first_step + (int)(block * bands.steps);
            do_band(grid, &bands.band[k], k ? &bands.band[k - 1] : NULL, begin,
                    min_int(bands.steps, limit - begin),
                    bands.flags + block % bands.slots * bands.steps);
        }
#pragma omp barrier
#pragma omp master
        {
            /* The last band has finished a block in each phase, or in every other. */
            int64_t done = phase - (bands.count - 1);
            if (unstable && done >= 0 && done % stride == 0) {
                cell *flags = bands.flags + done / stride % bands.slots * bands.steps;
                int steps = min_int(bands.steps, limit - n);
                for (int s = 0; s < steps && unstable; s++, n++) unstable = flags[s];
                memset(flags, 0, bands.steps * sizeof *flags);
                unstable = unstable && n < limit;
            }
            more[phase % 2] = unstable;
        }
    }
    return n;
}

int topple(pile *p, const run_plan *plan, run_times *t)
{
    double start = seconds();

    use_static_schedule();
    int dim = p->dim;
    cell *planes =
        allocate_untouched(total_words(dim), sizeof *planes, "the bit planes");
    packed_grid grid = {plan, dim, plane_width(dim), planes};
    band_set bands = make_bands(&grid);

    double ready = seconds();

    int n = topple_tall(p, plan, 7);
    if (pile_or(p->grid, dim) > 3 && n < plan->max_iterations) {
        pack_planes(p, n, planes);
        n = topple_planes(&grid, bands, n);
        unpack_planes(planes, n, p);
    }
    *p->iterations = n;

    double end = seconds();
    t->init = ready - start;
    t->run = t->kernel = end - ready;
    free(bands.flags);
    free(bands.band);
    free(planes);
    return 0;
}
