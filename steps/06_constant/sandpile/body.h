/* body.h - the toppling rule for one cell of the Abelian sandpile.
 *
 * A cell with n >= 4 grains keeps n % 4 and sends n / 4 to each of its four neighbors
 * (Bak, Tang and Wiesenfeld 1987). In a synchronous step all cells topple at once, from
 * one grid into another. In place, they topple one after the other. Both end with the
 * same stable grid, because topplings commute (Dhar 1990).
 *
 * A grid is row-major with dim cells per row. c points to a cell that is not on the
 * border; the caller guarantees that its four neighbors exist. Grains are unsigned, so
 * % 4 and / 4 compile to a mask and a shift.
 */
#include "portable.h"
#include "cell.h"

/* Returns the grains of the cell after a synchronous step: the ones that it keeps, and
 * one quarter of each neighbor. */
FN cell next_grains(GLOBAL const cell *c, int dim)
{
    return (c[0] & 3) + (c[-1] >> 2) + (c[1] >> 2) + (c[-dim] >> 2) + (c[dim] >> 2);
}

/* Cells never exceed M | 3, where M is the largest cell: a cell keeps at most 3 grains
 * and receives at most M / 4 (rounded down) from each of four neighbors, in total
 *
 *   3 + 4 (M / 4) = M | 3
 *
 * So once all cells fit in a byte, they always do.
 *
 * x86 has no instruction that shifts a vector of bytes, but it has one (pavgb) that
 * averages two, rounding up. For multiples of four the average is exact, and so is the
 * average of two such averages: (a + b + c + d) / 4 in three instructions. */
FN cell8 mean(cell8 a, cell8 b)
{
    return (a + b + 1) >> 1;
}

FN cell8 next_grains8(GLOBAL const cell8 *c, int dim)
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

/* The shape of a grid of packed words, known before the kernel runs. The first cell
 * inside the border is the first byte of a word. Each row begins and ends with a word
 * that is always 0, so that edges need no test:
 *
 *   | 0 | word 0 | word 1 | .. | word words-1 | 0 | */
typedef struct {
    int dim;        /* cells per side, including the border */
    int words;      /* words per row, without the two zero words */
    cell last_mask; /* mask of the bytes of the last word that are inside the border */
} grid_shape;

/* Topples the cell in place, so that its neighbors see the change in the same sweep.
 * Returns the grains that each neighbor received. */
FN cell topple_cell(GLOBAL cell *c, int dim)
{
    cell quarter = c[0] / 4;
    if (quarter) {
        c[0] %= 4;
        c[-1] += quarter;
        c[1] += quarter;
        c[-dim] += quarter;
        c[dim] += quarter;
    }
    return quarter;
}
