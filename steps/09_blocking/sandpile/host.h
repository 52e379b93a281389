/* host.h - what the host prepares and notes, whatever the back-end. */
#include "sandpile.h"
#include "body.h"

/* Steps between two looks at what they found. */
enum { LOOK = 256 };

/* Only threads of the CPU topple in place, and only they have a name to trace. */
static inline void for_devices(const plan *how)
{
    if (how->how == ASYNC) fail("rule=async: the back-ends seq and omp have it");
    if (how->tiles) fail("trace=: the back-end omp has it");
}

/* Grids that nobody has written: poison, and the border 0, since no cell of it is ever
 * computed. To be freed. */
static inline cell *blank_grids(const pile *p)
{
    size_t cells = pile_cells(p);
    cell *grids = (cell *)allocate(cells * p->batch, sizeof *grids, "the grids");
    for (int g = 0; g < p->batch; g++) pile_border(grids + g * cells, p->dim);
    return grids;
}

/* Words of a vector of this or another device. */
enum { VECTOR = LANES > 8 ? LANES : 8 };

/* Words of a plane, and of all grids in bits. */
static inline int width_of(int dim)
{
    int vector = 32 * VECTOR;
    return (dim - 2 + vector - 1) / vector * VECTOR;
}

static inline size_t words_of(const pile *p)
{
    return (size_t)p->batch * p->dim * pitch_of(width_of(p->dim));
}

/* All grids in bits after n steps; no cell may be above 7. Row 0 holds no cells, and so
 * has a mask: ones in all cells within the border. */
static inline void pack_bits(const pile *p, int n, cell *to)
{
    int dim = p->dim, width = width_of(dim), fours = fours_of(width, n);
    size_t pitch = pitch_of(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        const cell *row = p->grid + y * dim + 1;
        cell *bits = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) bits[i] = 0;
        for (int x = 0; x < dim - 2; x += width) {
            int words = dim - 2 - x < width ? dim - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y % dim ? row[x + w] : 1;
                bits[w] |= (v & 1) << x / width;
                bits[width + w] |= (v >> 1 & 1) << x / width;
                bits[fours + w] |= (v >> 2) << x / width;
            }
        }
    }
}

static inline void unpack_bits(const cell *from, int n, pile *p)
{
    int dim = p->dim, width = width_of(dim), fours = fours_of(width, n);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        cell *row = p->grid + y * dim + 1;
        const cell *bits = from + y * pitch_of(width);
        for (int x = 0; x < dim - 2 && y % dim; x += width) {
            int words = dim - 2 - x < width ? dim - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell one = bits[w] >> x / width & 1;
                cell two = bits[width + w] >> x / width & 1;
                cell four = bits[fours + w] >> x / width & 1;
                row[x + w] = one + 2 * two + 4 * four;
            }
        }
    }
}

/* Notes the grids that have come to their end after n steps, stable or not; bits[g]
 * is more than 3 if a cell of grid g is unstable. Returns those of all grids or-ed. A
 * stable grid stays what it is, however often it is stepped. */
static inline cell note(pile *p, const plan *how, const cell *bits, int n)
{
    cell all = 0;
    for (int g = 0; g < p->batch; g++) {
        bool ends = bits[g] <= 3 || n == how->max_iterations;
        if (p->iterations[g] < 0 && ends) p->iterations[g] = n;
        all |= bits[g];
    }
    return all;
}
