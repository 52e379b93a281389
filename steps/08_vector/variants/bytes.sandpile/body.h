/* body.h - what one cell of the pile costs. c points to it, dim cells are a row.
 *
 * Grains are numbers without a sign: the compiler knows what % and / by four are.
 */
#include "portable.h"
#include "words.h"

/* What the cell holds after a step: what it keeps and what its neighbours give. */
FN cell after(GLOBAL const cell *c, int dim)
{
    return (c[0] & 3) + (c[-1] >> 2) + (c[1] >> 2) + (c[-dim] >> 2) + (c[dim] >> 2);
}

/* In a step no cell can come to hold more than the largest number that the largest cell
 * fills, (largest | 3): it keeps 3 at most and gets a quarter of that four times. So a
 * pile whose cells fit in a byte never leaves it.
 *
 * A vector of bytes cannot be shifted, but its mean with another one, rounded up, is
 * one instruction: of multiples of four it is exact, and so is the mean of two such
 * means. A row is pitch bytes. */
FN cell8 mean(cell8 a, cell8 b)
{
    return (a + b + 1) >> 1;
}

FN cell8 after8(GLOBAL const cell8 *c, int pitch)
{
    cell8 row = mean(c[-1] & 0xfc, c[1] & 0xfc);
    cell8 column = mean(c[-pitch] & 0xfc, c[pitch] & 0xfc);
    return (c[0] & 3) + mean(row, column);
}

/* A pile whose cells are 7 at most never leaves three bits: a word has one of 32 cells,
 * a row a plane of ones, one of twos and one of fours, which are what its cells give.
 *
 * Three bits have a sum and a carry. Three such adders are a step of 32 LANES cells. */
FN words carry(words a, words b, words c)
{
    return (a & b) | (c & (a ^ b));
}

/* The cells within the border are dealt to the words of a plane like cards: word w has
 * number w, w + width, w + 2 width .. of the row, the first in its lowest bit. Left of
 * all cells of a word is then the word before it. Before the first stands the last, a
 * bit higher, and after the last the first, a bit lower: what lies beyond the row is
 * not read, for others write it.
 *
 * A row is four planes: ones, twos, fours at even and fours at odd steps. A cell's ones
 * and twos are its own and change in place, its fours are others' business. */
BOTH_FN int fours_of(int width, int n)
{
    return (2 + n % 2) * width;
}

BOTH_FN int pitch_of(int width)
{
    return 4 * width;
}

/* Step n of a column of words, walked down: a word is read once as the one below, and
 * serves three rows, from registers. c points to word w of the first of the rows; keep
 * has ones in the cells within the border. Returns the new fours or-ed. */
FN words walk(GLOBAL cell *c, int w, int width, int n, int rows, words keep)
{
    int was = fours_of(width, n), is = fours_of(width, n + 1);
    words up = words_at(GLOBAL, c + was - pitch_of(width));
    words here = words_at(GLOBAL, c + was);
    words bits = up ^ up;

    for (int row = 0; row < rows; row++) {
        words ones = words_at(GLOBAL, c), twos = words_at(GLOBAL, c + width);
        words left =
            w == 0 ? put_first(c[was + width - 1] << 1, here) : load_words(c + was - 1);
        words right = w == width - LANES ? put_last(here, c[was - w] >> 1)
                                         : load_words(c + was + 1);
        words down = words_at(GLOBAL, c + was + pitch_of(width));

        words three = left ^ right ^ up, more = carry(left, right, up);
        words again = carry(ones, three, down);
        words fours = carry(twos, more, again) & keep;
        words_at(GLOBAL, c) = ones ^ three ^ down;
        words_at(GLOBAL, c + width) = twos ^ more ^ again;
        words_at(GLOBAL, c + is) = fours;
        bits |= fours;
        up = here;
        here = down;
        c += pitch_of(width);
    }
    return bits;
}

/* The same in place: the cell topples at once, and what it gives counts in this sweep.
 * Returns what each neighbour got. */
FN cell give(GLOBAL cell *c, int dim)
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
