/* body.h - the toppling rule of the Abelian sandpile for one row of bit planes.
 *
 * A cell with n >= 4 grains keeps n % 4 and sends n / 4 to each of its four neighbors
 * (Bak, Tang and Wiesenfeld 1987). In a synchronous step all cells topple at once.
 */
#include "portable.h"
#include "bitplanes.h"

/* Bit planes. Cells never exceed M | 3, where M is the largest cell: a cell keeps at
 * most 3 grains and receives at most M / 4 (rounded down) from each of four neighbors.
 * So once all cells are at most 7, they need three bits forever (tall.h topples taller
 * piles until then). A plane holds one bit of many cells: ones, twos and fours. The
 * fours are what a cell sends to each neighbor, so the new value is
 *
 *   (ones + 2 twos) + left + right + up + down
 *
 * where the last four are bits of the neighbors' fours. Three full adders (sum: XOR;
 * carry: majority) compute it for 32 LANES cells at once: a carry-save adder.
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

/* A pile that equals its mirror images, left-right and top-bottom, stays symmetric, so
 * it is enough to compute one quarter. The row after the last row of the quarter is the
 * mirror image of the last row (even number of rows), or of the one before it (odd).
 * The same holds for columns. */
enum { MIRROR_NONE, MIRROR_EVEN, MIRROR_ODD };

/* Replaces the right neighbors of the cells of the last column: by mirror images, or by
 * the empty border. */
FN bitvec right_neighbors(bitvec left, bitvec center, bitvec right, bitvec last_column,
                          int mirror)
{
    if (mirror == MIRROR_NONE) return right & ~last_column;
    bitvec image = mirror == MIRROR_ODD ? left : center;
    return (image & last_column) | (right & ~last_column);
}

/* Computes step n of a column of vectors, `rows` rows from top to bottom. A vector of
 * fours is loaded once, as the lower neighbor, and then stays in registers as the
 * center and as the upper neighbor.
 *
 * c points to word w of the first row; `inside` selects the cells inside the border,
 * last_column those of the last column; last_row is the last row of a quarter, relative
 * to the first of these rows. The caller guarantees that rows above and below exist.
 * Bits of a row after its last cell hold arbitrary values, which no cell reads. Returns
 * the OR of the new fours. */
FN bitvec step_column(LOCAL cell *c, int w, int width, int n, int rows, bitvec inside,
                      bitvec last_column, int mirror, int last_row)
{
    int fours_in = fours_offset(width, n), fours_out = fours_offset(width, n + 1);
    bitvec up = bitvec_at(LOCAL, c + fours_in - row_pitch(width));
    bitvec center = bitvec_at(LOCAL, c + fours_in);
    bitvec or_fours = up ^ up;

    for (int row = 0; row < rows; row++) {
        bitvec ones = bitvec_at(LOCAL, c), twos = bitvec_at(LOCAL, c + width);
        bitvec left = w == 0 ? shift_in_first(c[fours_in + width - 1] << 1, center)
                             : bitvec_load(c + fours_in - 1);
        bitvec right = w == width - LANES ? shift_in_last(center, c[fours_in - w] >> 1)
                                          : bitvec_load(c + fours_in + 1);
        bitvec down = bitvec_at(LOCAL, c + fours_in + row_pitch(width));
        right = right_neighbors(left, center, right, last_column, mirror);
        if (mirror && row == last_row) down = mirror == MIRROR_ODD ? up : center;

        bitvec sum3 = xor3(left, right, up), carry3 = majority(left, right, up);
        bitvec carry_ones = majority(ones, sum3, down);
        bitvec fours = majority(twos, carry3, carry_ones);
        bitvec_at(LOCAL, c) = xor3(ones, sum3, down);
        bitvec_at(LOCAL, c + width) = xor3(twos, carry3, carry_ones);
        bitvec_at(LOCAL, c + fours_out) = fours;
        or_fours |= fours;
        up = center;
        center = down;
        c += row_pitch(width);
    }
    return or_fours & inside;
}

/* A band of a device: full rows that compute up to `ghosts` steps without communication
 * (temporal blocking with ghost zones, also called overlapped tiling). In addition to
 * its own rows it stores `ghosts` rows of each neighbor. Each step leaves one more
 * ghost row on each side invalid:
 *
 *   first_stored  ghost rows     valid after step s: from first_stored + 1 + s
 *   first         own rows
 *   end           ghost rows     valid after step s: to end_stored - 2 - s
 *   end_stored
 *
 * A band at the border of the grid has no ghost rows there. */
typedef struct {
    int first_stored,
        end_stored; /* stored rows, including ghost rows; end: one after the last */
    int first, end; /* own rows */
} band;

HOST_DEVICE_FN band band_at(int dim, int first, int end, int ghosts)
{
    band b = {first - ghosts, end + ghosts, first, end};
    if (b.first_stored < 0) b.first_stored = 0;
    if (b.end_stored > dim) b.end_stored = dim;
    return b;
}

/* The first row that is valid after step s, and one after the last. At the border of
 * the grid all rows stay valid. */
HOST_DEVICE_FN int band_first_valid(band b, int s)
{
    return b.first_stored == 0 ? 1 : b.first_stored + 1 + s;
}

HOST_DEVICE_FN int band_end_valid(band b, int dim, int s)
{
    return b.end_stored == dim ? dim - 1 : b.end_stored - 1 - s;
}
