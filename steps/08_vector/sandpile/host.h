/* host.h - functions that the host code of all back-ends shares. */
#include "sandpile.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 256 };

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

/* A row has a multiple of this many words, so that it consists of whole vectors on this
 * and on other devices. */
enum { WIDTH_MULTIPLE = LANES > 8 ? LANES : 8 };

/* Words per plane row, and in all grids in bit planes. */
static inline int plane_width(int dim)
{
    int cells_per_vector = 32 * WIDTH_MULTIPLE;
    return (dim - 2 + cells_per_vector - 1) / cells_per_vector * WIDTH_MULTIPLE;
}

static inline size_t total_words(const pile *p)
{
    return (size_t)p->batch * p->dim * row_pitch(plane_width(p->dim));
}

/* Packs all grids into bit planes after n steps; no cell may exceed 7. Row 0 (the
 * border) contains no cells; its ones plane holds the mask of the cells inside the
 * border. */
static inline void pack_planes(const pile *p, int n, cell *to)
{
    int dim = p->dim, width = plane_width(dim), fours = fours_offset(width, n);
    size_t pitch = row_pitch(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        const cell *row = p->grid + y * dim + 1;
        cell *row_planes = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) row_planes[i] = 0;
        for (int x = 0; x < dim - 2; x += width) {
            int words = dim - 2 - x < width ? dim - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y % dim ? row[x + w] : 1;
                row_planes[w] |= (v & 1) << x / width;
                row_planes[width + w] |= (v >> 1 & 1) << x / width;
                row_planes[fours + w] |= (v >> 2) << x / width;
            }
        }
    }
}

static inline void unpack_planes(const cell *from, int n, pile *p)
{
    int dim = p->dim, width = plane_width(dim), fours = fours_offset(width, n);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        cell *row = p->grid + y * dim + 1;
        const cell *row_planes = from + y * row_pitch(width);
        for (int x = 0; x < dim - 2 && y % dim; x += width) {
            int words = dim - 2 - x < width ? dim - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell ones = row_planes[w] >> x / width & 1;
                cell twos = row_planes[width + w] >> x / width & 1;
                cell fours_bit = row_planes[fours + w] >> x / width & 1;
                row[x + w] = ones + 2 * twos + 4 * fours_bit;
            }
        }
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
