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
 * pile whose cells are 7 at most never leaves three bits: a word has one of 32 cells, a
 * row a plane of ones, one of twos and one of fours, which are what its cells give.
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
FN words walk(LOCAL cell *c, int w, int width, int n, int rows, words keep)
{
    int was = fours_of(width, n), is = fours_of(width, n + 1);
    words up = words_at(LOCAL, c + was - pitch_of(width));
    words here = words_at(LOCAL, c + was);
    words bits = up ^ up;

    for (int row = 0; row < rows; row++) {
        words ones = words_at(LOCAL, c), twos = words_at(LOCAL, c + width);
        words left =
            w == 0 ? put_first(c[was + width - 1] << 1, here) : load_words(c + was - 1);
        words right = w == width - LANES ? put_last(here, c[was - w] >> 1)
                                         : load_words(c + was + 1);
        words down = words_at(LOCAL, c + was + pitch_of(width));

        words three = left ^ right ^ up, more = carry(left, right, up);
        words again = carry(ones, three, down);
        words fours = carry(twos, more, again) & keep;
        words_at(LOCAL, c) = ones ^ three ^ down;
        words_at(LOCAL, c + width) = twos ^ more ^ again;
        words_at(LOCAL, c + is) = fours;
        bits |= fours;
        up = here;
        here = down;
        c += pitch_of(width);
    }
    return bits;
}

/* A band is rows from border to border, which makes up to STEPS steps without a word to
 * the others: it begins with as many rows of each neighbour around its own, and each
 * step spoils one of them. */
#ifndef STEPS /* the host may choose otherwise */
#define STEPS 32
#endif

typedef struct {
    int top, end;     /* its rows, and the borrowed: the first, and the one after */
    int first, after; /* its own */
} band;

BOTH_FN band band_at(int dim, int first, int after)
{
    band b = {first - STEPS, after + STEPS, first, after};
    if (b.top < 0) b.top = 0;
    if (b.end > dim) b.end = dim;
    return b;
}

/* The rows that are right after step s: the first, and the one after the last. Where a
 * band ends at the border nothing is spoiled. */
FN int first_of(band b, int s)
{
    return b.top == 0 ? 1 : b.top + 1 + s;
}

FN int after_of(band b, int dim, int s)
{
    return b.end == dim ? dim - 1 : b.end - 1 - s;
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
