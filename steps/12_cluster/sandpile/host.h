/* host.h - what the host prepares and notes, whatever the back-end. */
#include "sandpile.h"
#include "body.h"

/* Words of a vector of this or another device. */
enum { VECTOR = LANES > 8 ? LANES : 8 };

/* Whether all grids are their own mirror images, and of which kind. */
static inline int mirror_of(const pile *p)
{
    int dim = p->dim;
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        const cell *row = p->grid + y * dim;
        const cell *other = p->grid + (y / dim * dim + dim - 1 - y % dim) * dim;
        for (int x = 0; x < dim; x++)
            if (row[x] != row[dim - 1 - x] || row[x] != other[x]) return WHOLE;
    }
    return dim % 2 ? ODD : EVEN;
}

/* Cells a side of what is stepped in bits, the border or what mirrors included. */
static inline int side_of(int dim, int mirror)
{
    return mirror ? (dim - 1) / 2 + 2 : dim;
}

/* Words of a plane, and of all grids in bits. */
static inline int width_of(int side)
{
    int vector = 32 * VECTOR;
    return (side - 2 + vector - 1) / vector * VECTOR;
}

static inline size_t words_of(const pile *p, int side)
{
    return (size_t)p->batch * side * pitch_of(width_of(side));
}

/* All grids in bits after n steps; no cell may be above 7. Row 0 holds no cells, and so
 * has masks: ones in all cells within the border, and twos in a quarter's last column.
 */
static inline void pack_bits(const pile *p, int mirror, int n, cell *to)
{
    int dim = p->dim, side = side_of(dim, mirror);
    int width = width_of(side), fours = fours_of(width, n);
    size_t pitch = pitch_of(width);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)side * p->batch; y++) {
        const cell *row = p->grid + (y / side * dim + y % side) * dim + 1;
        cell *bits = to + y * pitch;
        for (size_t i = 0; i < pitch; i++) bits[i] = 0;
        if (y % side == (size_t)side - 1) continue;
        for (int x = 0; x < side - 2; x += width) {
            int words = side - 2 - x < width ? side - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell v = y % side ? row[x + w] : 1;
                bits[w] |= (v & 1) << x / width;
                bits[width + w] |= (v >> 1 & 1) << x / width;
                bits[fours + w] |= (v >> 2) << x / width;
            }
        }
        int last = side - 3;
        if (mirror && y % side == 0) bits[width + last % width] = 1u << last / width;
    }
}

static inline void unpack_bits(const cell *from, int mirror, int n, pile *p)
{
    int dim = p->dim, side = side_of(dim, mirror);
    int width = width_of(side), fours = fours_of(width, n);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t y = 0; y < (size_t)dim * p->batch; y++) {
        cell *row = p->grid + y * dim;
        int up = y % dim, down = dim - 1 - up;
        size_t stepped = y / dim * side + (up < down || !mirror ? up : down);
        const cell *bits = from + stepped * pitch_of(width);
        for (int x = 0; x < side - 2 && up && down; x += width) {
            int words = side - 2 - x < width ? side - 2 - x : width;
            for (int w = 0; w < words; w++) {
                cell one = bits[w] >> x / width & 1;
                cell two = bits[width + w] >> x / width & 1;
                cell four = bits[fours + w] >> x / width & 1;
                row[1 + x + w] = one + 2 * two + 4 * four;
            }
        }
        for (int x = side - 1; x < dim - 1; x++) row[x] = row[dim - 1 - x];
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
