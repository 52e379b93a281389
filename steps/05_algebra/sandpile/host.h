/* host.h - what the host prepares and notes, whatever the back-end. */
#include "sandpile.h"
#include "body.h"

/* Steps of a device between two looks at what it found. */
enum { LOOK = 16 };

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

/* Words of four cells a row, the last filled up with cells that stay 0. */
static inline int words_of(int dim)
{
    return (dim + 3) / 4;
}

/* All grids, a byte a cell; every cell must fit. to holds words_of(dim) words a row. */
static inline void pack_words(const pile *p, cell *to)
{
    size_t dim = p->dim, rows = dim * p->batch, words = words_of(p->dim);
    for (size_t y = 0; y < rows; y++) {
        for (size_t x = 0; x < words; x++) to[y * words + x] = 0;
        for (size_t x = 0; x < dim; x++)
            to[y * words + x / 4] |= p->grid[y * dim + x] << 8 * (x % 4);
    }
}

/* The same of nobody's cells: poison, and 0 in the rows of the border. */
static inline void blank_words(const pile *p, cell *to)
{
    size_t dim = p->dim, words = words_of(p->dim);
    for (size_t i = 0; i < dim * p->batch * words; i++) {
        size_t y = i / words % dim;
        to[i] = y == 0 || y == dim - 1 ? 0 : 0xffffffff;
    }
}

static inline void unpack_words(pile *p, const cell *from)
{
    size_t dim = p->dim, rows = dim * p->batch, words = words_of(p->dim);
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < dim; x++)
            p->grid[y * dim + x] = from[y * words + x / 4] >> 8 * (x % 4) & 255;
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
