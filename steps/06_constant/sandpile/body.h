/* body.h - what one cell of the pile costs. c points to it, dim cells are a row.
 *
 * Grains are numbers without a sign: the compiler knows what % and / by four are.
 */
#include "portable.h"
#include "cell.h"

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
 * means. */
FN cell8 mean(cell8 a, cell8 b)
{
    return (a + b + 1) >> 1;
}

FN cell8 after8(GLOBAL const cell8 *c, int dim)
{
    cell8 row = mean(c[-1] & 0xfc, c[1] & 0xfc);
    cell8 column = mean(c[-dim] & 0xfc, c[dim] & 0xfc);
    return (c[0] & 3) + mean(row, column);
}

/* The same for the four cells of a word, a byte each, the leftmost in the lowest: left,
 * right, up and down are the words around it. */
FN cell quarters(cell word)
{
    return word >> 2 & 0x3f3f3f3f;
}

FN cell after4(cell word, cell left, cell right, cell up, cell down)
{
    cell from_left = word << 8 | left >> 24;
    cell from_right = word >> 8 | right << 24;
    return (word & 0x03030303) + quarters(from_left) + quarters(from_right) +
           quarters(up) + quarters(down);
}

/* The shape of a grid of words, known before the kernel runs: the cells within the
 * border begin with a word, and a word that is always 0 stands before and after those
 * of a row. */
typedef struct {
    int dim;   /* cells a side, the border included */
    int words; /* words a row, without the two */
    cell last; /* ones in the bytes of the last that lie within the border */
} shape;

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
