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

/* The shape of a packed grid, known before the kernel runs. The first cell inside the
 * border is the first byte of a word. Each row begins and ends with a word that is
 * always 0, so that edges need no test:
 *
 *   | 0 | word 0 | word 1 | .. | word words-1 | 0 |
 *
 * So column x of the grid is byte x + 3 of a row. */
typedef struct {
    int dim;        /* cells per side, including the border */
    int words;      /* words per row, without the two zero words */
    cell last_mask; /* mask of the bytes of the last word that are inside the border */
} grid_shape;

/* Rows per work-item, one below the other. */
enum { RUN = 8 };

/* Computes one step of a column of `rows` words, from top to bottom. A word is loaded
 * once, as the lower neighbor, and then stays in registers as the center and as the
 * upper neighbor (rolling rows, register blocking).
 *
 * in and out point to the first row; the pitch is in words; mask selects the bytes
 * inside the border. Returns the OR of the new words. */
FN cell step_column(GLOBAL const cell *in, GLOBAL cell *out, int rows, int pitch,
                    cell mask)
{
    cell up = in[-pitch];
    cell center = in[0];
    cell or_values = 0;

    for (int row = 0; row < rows; row++) {
        cell down = in[pitch];
        cell v = next_grains4(center, in[-1], in[1], up, down) & mask;
        out[0] = v;
        or_values |= v;
        up = center;
        center = down;
        in += pitch;
        out += pitch;
    }
    return or_values;
}
