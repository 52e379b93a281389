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

static inline shape shape_of(int dim)
{
    shape s = {dim, (dim + 1) / 4, 0xffffffff};
    int in_last = dim - 2 - 4 * (s.words - 1);
    if (in_last < 4) s.last = (1u << 8 * in_last) - 1;
    return s;
}

/* Words of all grids. */
static inline size_t words_of(const pile *p)
{
    return (size_t)p->dim * p->batch * (shape_of(p->dim).words + 2);
}

/* Where the cell at row y of all rows and column x is: the word, and its first bit. */
static inline size_t word_at(const pile *p, size_t y, int x, int *bit)
{
    *bit = 8 * ((x - 1) % 4);
    return y * (shape_of(p->dim).words + 2) + 1 + (x - 1) / 4;
}

/* All grids, a byte a cell; every cell must fit. */
static inline void pack_words(const pile *p, cell *to)
{
    size_t rows = (size_t)p->dim * p->batch;
    for (size_t i = 0; i < words_of(p); i++) to[i] = 0;
    for (size_t y = 0; y < rows; y++)
        for (int x = 1, bit; x < p->dim - 1; x++) {
            size_t word = word_at(p, y, x, &bit);
            to[word] |= p->grid[y * p->dim + x] << bit;
        }
}

/* The same of nobody's cells: poison, and 0 around it. */
static inline void blank_words(const pile *p, cell *to)
{
    size_t dim = p->dim, pitch = shape_of(p->dim).words + 2;
    for (size_t i = 0; i < words_of(p); i++) {
        size_t y = i / pitch % dim, x = i % pitch;
        bool around = y == 0 || y == dim - 1 || x == 0 || x == pitch - 1;
        to[i] = around ? 0 : 0xffffffff;
    }
}

static inline void unpack_words(pile *p, const cell *from)
{
    size_t rows = (size_t)p->dim * p->batch;
    for (size_t y = 0; y < rows; y++)
        for (int x = 1, bit; x < p->dim - 1; x++) {
            size_t word = word_at(p, y, x, &bit);
            p->grid[y * p->dim + x] = from[word] >> bit & 255;
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
