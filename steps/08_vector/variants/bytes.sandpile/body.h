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
#include "bitplanes.h"

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
 * average of two such averages: (a + b + c + d) / 4 in three instructions. A row has
 * pitch bytes. */
FN cell8 mean(cell8 a, cell8 b)
{
    return (a + b + 1) >> 1;
}

FN cell8 next_grains8(GLOBAL const cell8 *c, int pitch)
{
    cell8 row = mean(c[-1] & 0xfc, c[1] & 0xfc);
    cell8 column = mean(c[-pitch] & 0xfc, c[pitch] & 0xfc);
    return (c[0] & 3) + mean(row, column);
}

/* Bit planes. Once all cells are at most 7, they need three bits forever. A plane holds
 * one bit of many cells: ones, twos and fours. The fours are what a cell sends to each
 * neighbor. Three full adders (sum: XOR; carry: majority) compute a step for 32 LANES
 * cells at once: a carry-save adder.
 * bitplanes.h defines xor3() and majority(). */

/* Layout of a plane: `width` words per row. The cells inside the border are
 * interleaved: cell i is bit i / width of word i % width.
 *
 *            word 0     word 1       ..   word width - 1
 *   bit 0    cell 0     cell 1       ..   cell width - 1
 *   bit 1    cell width cell width+1 ..   cell 2 width - 1
 *   ..
 *   bit 31   cell 31 width           ..   cell 32 width - 1
 *
 * So the left neighbors of all cells of a word are the previous word, without a shift.
 * The left neighbor of word 0 is the last word, shifted up by one bit; the right
 * neighbor of the last word is word 0, shifted down by one bit. Words outside the row
 * are not read, because other threads may be writing them.
 *
 * Layout of a row: four planes.
 *
 *   | ones | twos | fours of even steps | fours of odd steps |
 *
 * A cell's ones and twos are read only by the cell itself, so they are updated in
 * place. Its fours are read by its neighbors, so a step reads one plane of fours and
 * writes the other. */
HOST_DEVICE_FN int fours_offset(int width, int n)
{
    return (2 + n % 2) * width;
}

HOST_DEVICE_FN int row_pitch(int width)
{
    return 4 * width;
}

/* Computes step n of a column of vectors, `rows` rows from top to bottom. A vector of
 * fours is loaded once, as the lower neighbor, and then stays in registers as the
 * center and as the upper neighbor.
 *
 * c points to word w of the first row; `inside` selects the cells inside the border.
 * The caller guarantees that rows above and below exist. Returns the OR of the new
 * fours. */
FN bitvec step_column(GLOBAL cell *c, int w, int width, int n, int rows, bitvec inside)
{
    int fours_in = fours_offset(width, n), fours_out = fours_offset(width, n + 1);
    bitvec up = bitvec_at(GLOBAL, c + fours_in - row_pitch(width));
    bitvec center = bitvec_at(GLOBAL, c + fours_in);
    bitvec or_fours = up ^ up;

    for (int row = 0; row < rows; row++) {
        bitvec ones = bitvec_at(GLOBAL, c), twos = bitvec_at(GLOBAL, c + width);
        bitvec left = w == 0 ? shift_in_first(c[fours_in + width - 1] << 1, center)
                             : bitvec_load(c + fours_in - 1);
        bitvec right = w == width - LANES ? shift_in_last(center, c[fours_in - w] >> 1)
                                          : bitvec_load(c + fours_in + 1);
        bitvec down = bitvec_at(GLOBAL, c + fours_in + row_pitch(width));

        bitvec sum3 = xor3(left, right, up), carry3 = majority(left, right, up);
        bitvec carry_ones = majority(ones, sum3, down);
        bitvec fours = majority(twos, carry3, carry_ones) & inside;
        bitvec_at(GLOBAL, c) = xor3(ones, sum3, down);
        bitvec_at(GLOBAL, c + width) = xor3(twos, carry3, carry_ones);
        bitvec_at(GLOBAL, c + fours_out) = fours;
        or_fours |= fours;
        up = center;
        center = down;
        c += row_pitch(width);
    }
    return or_fours;
}

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
