/* levels.h - several steps of rows of one vector each, in registers, for cpu.c, which
 * includes body.h before.
 *
 * A row is one vector if the stored part of the grid has at most 32 LANES columns: with
 * symmetry, a grid of 1024 x 1024 cells with AVX-512, of 512 x 512 cells with AVX2. The
 * rows of wider grids have more vectors than there are registers.
 */
#ifndef LEVELS_H
#define LEVELS_H

/* Steps that a row passes while it is in registers: a processor with 16 vector
 * registers has enough for two. */
#ifdef __AVX512F__
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
FN void step_levels(cell *c, int n, int rows, bitvec last_column, int mirror,
                    bitvec or_fours[LEVELS])
{
    const int pitch = row_pitch(LANES);
    bitvec ones[LEVELS], twos[LEVELS], up[LEVELS], center[LEVELS];

    UNROLL
    for (int l = 0; l < LEVELS; l++) {
        cell *row = c - l * pitch, *fours = row + fours_offset(LANES, n + l);
        ones[l] = bitvec_at(GLOBAL, row);
        twos[l] = bitvec_at(GLOBAL, row + LANES);
        up[l] = bitvec_at(GLOBAL, fours - pitch);
        center[l] = bitvec_at(GLOBAL, fours);
        or_fours[l] = center[l] ^ center[l];
    }
    int fours_in = fours_offset(LANES, n), fours_out = fours_offset(LANES, n + LEVELS);
    for (int r = 0; r < rows; r++) {
        bitvec in_ones = bitvec_at(GLOBAL, c), in_twos = bitvec_at(GLOBAL, c + LANES);
        bitvec down = bitvec_at(GLOBAL, c + pitch + fours_in);
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
        cell *out = c - (LEVELS - 1) * pitch;
        bitvec_at(GLOBAL, out) = in_ones;
        bitvec_at(GLOBAL, out + LANES) = in_twos;
        bitvec_at(GLOBAL, out + fours_out) = down;
        c += pitch;
    }
    UNROLL
    for (int l = 1; l < LEVELS; l++) {
        cell *row = c - l * pitch, *fours = row + fours_offset(LANES, n + l);
        bitvec_at(GLOBAL, row) = ones[l];
        bitvec_at(GLOBAL, row + LANES) = twos[l];
        bitvec_at(GLOBAL, fours - pitch) = up[l];
        bitvec_at(GLOBAL, fours) = center[l];
    }
}

#endif
