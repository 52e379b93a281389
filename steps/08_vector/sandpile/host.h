/* host.h - functions that the host code of all back-ends shares. */
#include "tall.h"
#include "body.h"

/* Steps between two polls of the flags. */
enum { POLL_STEPS = 256 };

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

/* Words per plane row, and in a grid in bit planes. */
static inline int plane_width(int dim)
{
    int cells_per_vector = 32 * WIDTH_MULTIPLE;
    return (dim - 2 + cells_per_vector - 1) / cells_per_vector * WIDTH_MULTIPLE;
}

static inline size_t total_words(int dim)
{
    return (size_t)dim * row_pitch(plane_width(dim));
}

/* Packs the grid into bit planes after n steps; no cell may exceed 7. Row 0 (the
 * border) contains no cells; its ones plane holds the mask of the cells inside the
 * border. */
static inline void pack_planes(const pile *p, int n, cell *to)
{
    int dim = p->dim, width = plane_width(dim), fours = fours_offset(width, n);
    size_t pitch = row_pitch(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int y = 0; y < dim; y++) {
        const cell *row = p->grid + (size_t)y * dim + 1;
        cell *row_planes = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) row_planes[i] = 0;
        for (int x = 0; x < dim - 2; x += width) {
            int words = dim - 2 - x < width ? dim - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y ? row[x + w] : 1;
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
    size_t pitch = row_pitch(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (int y = 1; y < dim - 1; y++) {
        cell *row = p->grid + (size_t)y * dim + 1;
        const cell *row_planes = from + y * pitch;
        for (int x = 0; x < dim - 2; x += width) {
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
