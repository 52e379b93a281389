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

/* Words per row, four cells each. The last word is padded with cells that stay 0. */
static inline int words_per_row(int dim)
{
    return (dim + 3) / 4;
}

/* Packs all grids, one byte per cell; every cell must fit. A row of `to` has
 * words_per_row(dim) words. */
static inline void pack_words(const pile *p, cell *to)
{
    size_t dim = p->dim, rows = dim * p->batch, words = words_per_row(p->dim);
    for (size_t y = 0; y < rows; y++) {
        for (size_t x = 0; x < words; x++) to[y * words + x] = 0;
        for (size_t x = 0; x < dim; x++)
            to[y * words + x / 4] |= p->grid[y * dim + x] << 8 * (x % 4);
    }
}

/* Fills packed grids with the sentinel value, and the first and last row of each with
 * 0. */
static inline void sentinel_words(const pile *p, cell *to)
{
    size_t dim = p->dim, words = words_per_row(p->dim);
    for (size_t i = 0; i < dim * p->batch * words; i++) {
        size_t y = i / words % dim;
        to[i] = y == 0 || y == dim - 1 ? 0 : 0xffffffff;
    }
}

static inline void unpack_words(pile *p, const cell *from)
{
    size_t dim = p->dim, rows = dim * p->batch, words = words_per_row(p->dim);
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < dim; x++)
            p->grid[y * dim + x] = from[y * words + x / 4] >> 8 * (x % 4) & 255;
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
