/* host.h - functions that the host code of all back-ends shares. */
#include "sandpile.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 512 };

/* Rejects options that only the CPU back-ends support: rule=async, and the trace of
 * tiles per thread. */
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

/* Tests whether every grid equals its mirror images, and returns the kind of symmetry.
 */
static inline int find_mirror(const pile *p)
{
    int dim = p->dim;
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        const cell *row = p->grid + y * dim;
        const cell *opposite = p->grid + (y / dim * dim + dim - 1 - y % dim) * dim;
        for (int x = 0; x < dim; x++)
            if (row[x] != row[dim - 1 - x] || row[x] != opposite[x]) return MIRROR_NONE;
    }
    return dim % 2 ? MIRROR_ODD : MIRROR_EVEN;
}

/* Cells per side of the part that is computed in bit planes, including the border or
 * the first mirrored row. */
static inline int stored_side(int dim, int mirror)
{
    return mirror ? (dim - 1) / 2 + 2 : dim;
}

/* Words per plane row, and in all grids in bit planes. */
static inline int plane_width(int side)
{
    int cells_per_vector = 32 * WIDTH_MULTIPLE;
    return (side - 2 + cells_per_vector - 1) / cells_per_vector * WIDTH_MULTIPLE;
}

static inline size_t total_words(const pile *p, int side)
{
    return (size_t)p->batch * side * row_pitch(plane_width(side));
}

/* Packs all grids into bit planes after n steps; no cell may exceed 7. Row 0 (the
 * border) contains no cells, but masks: its ones plane selects the cells inside the
 * border, its twos plane the last column. */
static inline void pack_planes(const pile *p, int mirror, int n, cell *to)
{
    int dim = p->dim, side = stored_side(dim, mirror);
    int width = plane_width(side), fours = fours_offset(width, n);
    size_t pitch = row_pitch(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)side * p->batch; y++) {
        const cell *row = p->grid + (y / side * dim + y % side) * dim + 1;
        cell *row_planes = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) row_planes[i] = 0;
        if (y % side == (size_t)side - 1) continue;
        for (int x = 0; x < side - 2; x += width) {
            int words = side - 2 - x < width ? side - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y % side ? row[x + w] : 1;
                row_planes[w] |= (v & 1) << x / width;
                row_planes[width + w] |= (v >> 1 & 1) << x / width;
                row_planes[fours + w] |= (v >> 2) << x / width;
            }
        }
        int last = side - 3;
        if (y % side == 0) row_planes[width + last % width] = 1u << last / width;
    }
}

static inline void unpack_planes(const cell *from, int mirror, int n, pile *p)
{
    int dim = p->dim, side = stored_side(dim, mirror);
    int width = plane_width(side), fours = fours_offset(width, n);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        cell *row = p->grid + y * dim;
        int up = y % dim, down = dim - 1 - up;
        size_t stored_row = y / dim * side + (up < down || !mirror ? up : down);
        const cell *row_planes = from + stored_row * row_pitch(width);
        for (int x = 0; x < side - 2 && up && down; x += width) {
            int words = side - 2 - x < width ? side - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell ones = row_planes[w] >> x / width & 1;
                cell twos = row_planes[width + w] >> x / width & 1;
                cell fours_bit = row_planes[fours + w] >> x / width & 1;
                row[1 + x + w] = ones + 2 * twos + 4 * fours_bit;
            }
        }
        for (int x = side - 1; x < dim - 1; x++) row[x] = row[dim - 1 - x];
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
