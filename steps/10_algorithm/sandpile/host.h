/* host.h - functions that the host code of all back-ends shares. */
#include "tall.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 512 };

/* Returns the number of steps from step n to the next poll. */
static inline int steps_until_poll(const run_plan *plan, int n)
{
    int left = plan->max_iterations - n;
    return left < POLL_STEPS ? left : POLL_STEPS;
}

/* Returns how many of `steps` steps the pile needed: those up to the first one that
 * left it stable, whose flag is 0. Later steps have not changed it. */
static inline int steps_to_stable(const cell *flags, int steps, bool *stable)
{
    for (int s = 0; s < steps; s++) {
        *stable = !flags[s];
        if (*stable) return s + 1;
    }
    return steps;
}

/* A row has a multiple of this many words, so that it consists of whole vectors on this
 * and on other devices. */
enum { WIDTH_MULTIPLE = LANES > 8 ? LANES : 8 };

/* Tests whether the grid equals its mirror images, and returns the kind of symmetry. */
static inline int find_mirror(const pile *p)
{
    size_t dim = p->dim;
    for (size_t y = 0; y < dim; y++) {
        const cell *row = p->grid + y * dim, *opposite = p->grid + (dim - 1 - y) * dim;
        for (size_t x = 0; x < dim; x++)
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

/* Words per plane row, and in the stored part of a grid in bit planes. */
static inline int plane_width(int side)
{
    int cells_per_vector = 32 * WIDTH_MULTIPLE;
    return (side - 2 + cells_per_vector - 1) / cells_per_vector * WIDTH_MULTIPLE;
}

static inline size_t total_words(int side)
{
    return (size_t)side * row_pitch(plane_width(side));
}

/* Packs the grid into bit planes after n steps; no cell may exceed 7. Row 0 (the
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
    for (int y = 0; y < side; y++) {
        const cell *row = p->grid + (size_t)y * dim + 1;
        cell *row_planes = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) row_planes[i] = 0;
        for (int x = 0; x < side - 2 && y < side - 1; x += width) {
            int words = side - 2 - x < width ? side - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y ? row[x + w] : 1;
                row_planes[w] |= (v & 1) << x / width;
                row_planes[width + w] |= (v >> 1 & 1) << x / width;
                row_planes[fours + w] |= (v >> 2) << x / width;
            }
        }
    }
    int last = side - 3;
    to[width + last % width] = 1u << last / width;
}

static inline void unpack_planes(const cell *from, int mirror, int n, pile *p)
{
    int dim = p->dim, side = stored_side(dim, mirror);
    int width = plane_width(side), fours = fours_offset(width, n);
    size_t pitch = row_pitch(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int y = 1; y < dim - 1; y++) {
        cell *row = p->grid + (size_t)y * dim;
        const cell *row_planes = from + (y < side - 1 ? y : dim - 1 - y) * pitch;
        for (int x = 0; x < side - 2; x += width) {
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
