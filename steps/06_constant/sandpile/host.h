/* host.h - functions that the host code of all back-ends shares. */
#include "sandpile.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 16 };

/* Rejects options that only the CPU back-ends support: toppling in place, and the trace
 * of tiles per thread. */
static inline void reject_cpu_options(const run_plan *plan)
{
    if (plan->rule == ASYNC)
        fail("rule=async: not supported by this back-end: expected sync, or the "
             "back-end seq or omp");
    if (plan->trace)
        fail("trace=: not supported by this back-end: expected the back-end omp");
}

/* Returns new grids with the sentinel value in all cells, and 0 on the borders, which
 * no step computes. The caller frees them. */
static inline cell *sentinel_grids(const pile *p)
{
    size_t cells = pile_cells(p);
    cell *grids = (cell *)allocate(cells * p->batch, sizeof *grids, "the grids");
    for (int g = 0; g < p->batch; g++) pile_clear_border(grids + g * cells, p->dim);
    return grids;
}

static inline grid_shape make_shape(int dim)
{
    grid_shape s = {dim, (dim + 1) / 4, 0xffffffff};
    int cells_in_last = dim - 2 - 4 * (s.words - 1);
    if (cells_in_last < 4) s.last_mask = (1u << 8 * cells_in_last) - 1;
    return s;
}

/* Number of words in all grids. */
static inline size_t total_words(const pile *p)
{
    return (size_t)p->dim * p->batch * (make_shape(p->dim).words + 2);
}

/* Returns the index of the word that holds column x of row y (rows of all grids
 * counted), and in *shift the number of its lowest bit. */
static inline size_t word_at(const pile *p, size_t y, int x, int *shift)
{
    *shift = 8 * ((x - 1) % 4);
    return y * (make_shape(p->dim).words + 2) + 1 + (x - 1) / 4;
}

/* Packs all grids, one byte per cell; every cell must fit. */
static inline void pack_words(const pile *p, cell *to)
{
    size_t rows = (size_t)p->dim * p->batch;
    for (size_t i = 0; i < total_words(p); i++) to[i] = 0;
    for (size_t y = 0; y < rows; y++)
        for (int x = 1, shift; x < p->dim - 1; x++) {
            size_t word = word_at(p, y, x, &shift);
            to[word] |= p->grid[y * p->dim + x] << shift;
        }
}

/* Fills packed grids with the sentinel value, and with 0 around them. */
static inline void sentinel_words(const pile *p, cell *to)
{
    size_t dim = p->dim, pitch = make_shape(p->dim).words + 2;
    for (size_t i = 0; i < total_words(p); i++) {
        size_t y = i / pitch % dim, x = i % pitch;
        bool outside = y == 0 || y == dim - 1 || x == 0 || x == pitch - 1;
        to[i] = outside ? 0 : 0xffffffff;
    }
}

static inline void unpack_words(pile *p, const cell *from)
{
    size_t rows = (size_t)p->dim * p->batch;
    for (size_t y = 0; y < rows; y++)
        for (int x = 1, shift; x < p->dim - 1; x++) {
            size_t word = word_at(p, y, x, &shift);
            p->grid[y * p->dim + x] = from[word] >> shift & 255;
        }
}

/* Records n as the iteration count of every grid that is finished after n steps, stable
 * or not. flags[g] is more than 3 if grid g is unstable. Returns the OR of all flags.
 * Further steps do not change a stable grid. */
static inline cell record_finished(pile *p, const run_plan *plan, const cell *flags,
                                   int n)
{
    cell any_flags = 0;
    for (int g = 0; g < p->batch; g++) {
        bool finished = flags[g] <= 3 || n == plan->max_iterations;
        if (p->iterations[g] < 0 && finished) p->iterations[g] = n;
        any_flags |= flags[g];
    }
    return any_flags;
}
