/* body.h - the toppling rule for cells of one byte.
 *
 * A cell with n >= 4 grains keeps n % 4 and sends n / 4 to each of its four neighbors
 * (Bak, Tang and Wiesenfeld 1987). In a synchronous step all cells topple at once, from
 * one grid into another.
 *
 * Cells never exceed M | 3, where M is the largest cell: a cell keeps at most 3 grains
 * and receives at most M / 4 (rounded down) from each of four neighbors, in total
 *
 *   3 + 4 (M / 4) = M | 3
 *
 * So once all cells fit in a byte, they always do. Until then the host topples a taller
 * pile with 32 bits per cell (topple_tall()).
 */
#include "portable.h"
#include "cell.h"

/* Returns the average of a and b, rounded up. x86 has an instruction for it (pavgb),
 * but none that shifts a vector of bytes. */
FN cell8 mean(cell8 a, cell8 b)
{
    return (a + b + 1) >> 1;
}

/* Returns the grains of the cell after a synchronous step. c points to a cell that is
 * not on the border, in a row-major grid with dim cells per row. The average of two
 * multiples of four is exact, and so is the average of two such averages: a quarter of
 * the sum of the four neighbors. */
FN cell8 next_grains(GLOBAL const cell8 *c, int dim)
{
    cell8 row = mean(c[-1] & 0xfc, c[1] & 0xfc);
    cell8 column = mean(c[-dim] & 0xfc, c[dim] & 0xfc);
    return (c[0] & 3) + mean(row, column);
}

/* The same rule for four cells in one 32-bit word (SIMD within a register). Each cell
 * is one byte; the leftmost cell is the lowest byte:
 *
 *   bits   31 .. 24   23 .. 16   15 .. 8   7 .. 0
 *   cell   4x + 3     4x + 2     4x + 1    4x
 *
 * left, right, up and down are the neighboring words. */
FN cell quarter_bytes(cell word)
{
    return word >> 2 & 0x3f3f3f3f;
}

FN cell next_grains4(cell word, cell left, cell right, cell up, cell down)
{
    cell from_left = word << 8 | left >> 24;
    cell from_right = word >> 8 | right << 24;
    return (word & 0x03030303) + quarter_bytes(from_left) + quarter_bytes(from_right) +
           quarter_bytes(up) + quarter_bytes(down);
}

/* Words per row, four cells each. The last word is padded with cells that stay 0. */
HOST_DEVICE_FN int words_per_row(int dim)
{
    return (dim + 3) / 4;
}

/* Returns a mask of the bytes of word x of a row that are inside the border. */
FN cell inside_mask(int x, int dim)
{
    int after_last = dim - 1 - 4 * x;
    cell mask = x == 0 ? 0xffffff00 : 0xffffffff;
    return after_last >= 4 ? mask : mask & ((1u << 8 * after_last) - 1);
}
