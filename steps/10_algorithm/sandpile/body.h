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

/* Bit planes. Cells never exceed M | 3, where M is the largest cell: a cell keeps at
 * most 3 grains and receives at most M / 4 (rounded down) from each of four neighbors.
 * So once all cells are at most 7, they need three bits forever. A plane holds one bit
 * of many cells: ones, twos and fours. The fours are what a cell sends to each
 * neighbor, so the new value is
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

#if LANES > 1
/* Steps that a row passes while it is in registers: a processor with 16 vector
 * registers has enough for two. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define LEVELS 4
#else
#define LEVELS 2
#endif

/* Computes steps n .. n + LEVELS - 1 of rows of one vector each. Level l is step n + l;
 * it is shifted up by l rows, so in one iteration a row enters at the top and another
 * one, LEVELS - 1 rows above, leaves:
 *
 *   loaded: ones and twos of row r, fours of row r + 1
 *   level 0: row r, level 1: row r - 1, .. level LEVELS - 1: row r - LEVELS + 1
 *   stored: ones, twos and fours of row r - LEVELS + 1
 *
 * Between two levels, a row waits in registers: its ones and twos, and the fours of two
 * rows. These are loaded before the first iteration and stored after the last one.
 *
 * c points to the first row of level 0. No level may compute the last row of a
 * quarter. or_fours[l] gets the OR of the new fours of level l. */
FN void step_levels(LOCAL cell *c, int n, int rows, bitvec last_column, int mirror,
                    bitvec or_fours[LEVELS])
{
    const int pitch = row_pitch(LANES);
    bitvec ones[LEVELS], twos[LEVELS], up[LEVELS], center[LEVELS];

    UNROLL
    for (int l = 0; l < LEVELS; l++) {
        LOCAL cell *row = c - l * pitch, *fours = row + fours_offset(LANES, n + l);
        ones[l] = bitvec_at(LOCAL, row);
        twos[l] = bitvec_at(LOCAL, row + LANES);
        up[l] = bitvec_at(LOCAL, fours - pitch);
        center[l] = bitvec_at(LOCAL, fours);
        or_fours[l] = center[l] ^ center[l];
    }
    int fours_in = fours_offset(LANES, n), fours_out = fours_offset(LANES, n + LEVELS);
    for (int r = 0; r < rows; r++) {
        bitvec in_ones = bitvec_at(LOCAL, c), in_twos = bitvec_at(LOCAL, c + LANES);
        bitvec down = bitvec_at(LOCAL, c + pitch + fours_in);
        UNROLL
        for (int l = 0; l < LEVELS; l++) {
            bitvec row_ones = l ? ones[l] : in_ones, row_twos = l ? twos[l] : in_twos;
            ones[l] = in_ones;
            twos[l] = in_twos;

            bitvec left = bitvec_window(center[l] << 1, center[l], LANES - 1);
            bitvec right = right_neighbors(left, center[l],
                                           bitvec_window(center[l], center[l] >> 1, 1),
                                           last_column, mirror);
            bitvec sum3 = xor3(left, right, up[l]);
            bitvec carry3 = majority(left, right, up[l]);
            bitvec carry_ones = majority(row_ones, sum3, down);
            bitvec fours = majority(row_twos, carry3, carry_ones);
            in_ones = xor3(row_ones, sum3, down);
            in_twos = xor3(row_twos, carry3, carry_ones);
            or_fours[l] |= fours;
            up[l] = center[l];
            center[l] = down;
            down = fours;
        }
        LOCAL cell *out = c - (LEVELS - 1) * pitch;
        bitvec_at(LOCAL, out) = in_ones;
        bitvec_at(LOCAL, out + LANES) = in_twos;
        bitvec_at(LOCAL, out + fours_out) = down;
        c += pitch;
    }
    UNROLL
    for (int l = 1; l < LEVELS; l++) {
        LOCAL cell *row = c - l * pitch, *fours = row + fours_offset(LANES, n + l);
        bitvec_at(LOCAL, row) = ones[l];
        bitvec_at(LOCAL, row + LANES) = twos[l];
        bitvec_at(LOCAL, fours - pitch) = up[l];
        bitvec_at(LOCAL, fours) = center[l];
    }
}
#endif

/* A band is a set of full rows that computes up to STEPS steps without communication
 * (temporal blocking with ghost zones, also called overlapped tiling). In addition to
 * its own rows it stores STEPS ghost rows of each neighbor. Each step leaves one more
 * ghost row on each side invalid:
 *
 *   first_stored  ghost rows     valid after step s: from first_stored + 1 + s
 *   first         own rows
 *   end           ghost rows     valid after step s: to end_stored - 2 - s
 *   end_stored
 *
 * A band at the border of the grid has no ghost rows there. */
#ifndef STEPS /* the host may define another value */
#define STEPS 32
#endif

typedef struct {
    int first_stored,
        end_stored; /* stored rows, including ghost rows; end: one after the last */
    int first, end; /* own rows */
} band;

HOST_DEVICE_FN band band_at(int dim, int first, int end)
{
    band b = {first - STEPS, end + STEPS, first, end};
    if (b.first_stored < 0) b.first_stored = 0;
    if (b.end_stored > dim) b.end_stored = dim;
    return b;
}

/* The first row that is valid after step s, and one after the last. At the border of
 * the grid all rows stay valid. */
FN int band_first_valid(band b, int s)
{
    return b.first_stored == 0 ? 1 : b.first_stored + 1 + s;
}

FN int band_end_valid(band b, int dim, int s)
{
    return b.end_stored == dim ? dim - 1 : b.end_stored - 1 - s;
}
