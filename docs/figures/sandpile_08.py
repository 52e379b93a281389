"""Draw an interleaved row of bit planes and the adder of step 08 of sandpile:
sandpile-08-planes.svg.

    python3 docs/figures/sandpile_08.py

The row has 12 cells in three words of four bits each; the program has words of 32 bits.
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "sandpile-08-planes.svg"
WIDTH, BITS = 3, 4
ADDERS = (  # x, y, name, inputs from above, sum, carry
    (11.3, 2.6, "left  right  up", "sum3", "carry3"),
    (11.3, 0.3, "ones  sum3  down", "ones'", "carry_ones"),
    (11.3, -2.0, "twos  carry3  carry_ones", "twos'", "fours'"))


def box(ax: Any, x: float, y: float, text: str, color: str, marked: bool = False) -> None:
    ax.add_patch(theme.plt.Rectangle((x, y), 1, 0.8, edgecolor=color, linewidth=1.2,
                                     facecolor=theme.FILL))
    ax.text(x + 0.5, y + 0.4, text, ha="center", va="center",
            color=theme.B if marked else theme.INK)


def main() -> None:
    fig, ax = theme.figure(8.6, 3.9)
    ax.set(xlim=(-1.6, 20.2), ylim=(-3.6, 4.6))
    ax.axis("off")
    for word in range(WIDTH):
        ax.text(word * 2 + 0.5, 3.7, f"word {word}", ha="center", fontsize=9, color=theme.GREY)
        for bit in range(BITS):
            cell = bit * WIDTH + word
            box(ax, word * 2, 2.6 - bit, str(cell), theme.A if word == 1 else theme.GREY,
                word == 0)
    for bit in range(BITS):
        ax.text(-0.3, 3.0 - bit, f"bit {bit}", ha="right", va="center", fontsize=9,
                color=theme.GREY)
        ax.annotate("", (1.95, 3.0 - bit), (1.05, 3.0 - bit),
                    arrowprops={"arrowstyle": "->", "color": theme.B})
    ax.text(-1.5, -1.45, "The left neighbors of the cells 1, 4, 7 and 10", fontsize=9.5)
    ax.text(-1.5, -2.15, "of word 1 are the cells 0, 3, 6 and 9 of word 0:", fontsize=9.5)
    ax.text(-1.5, -2.85, "a load, and no shift.", fontsize=9.5)
    for x, y, inputs, total, carry in ADDERS:
        ax.add_patch(theme.plt.Rectangle((x, y), 4.6, 0.8, edgecolor=theme.A, linewidth=1.2,
                                         facecolor=theme.FILL))
        ax.text(x + 2.3, y + 0.4, "full adder", ha="center", va="center")
        ax.text(x + 2.3, y + 1.12, inputs, ha="center", va="center", fontsize=9.5)
        ax.annotate("", (x + 5.5, y + 0.6), (x + 4.6, y + 0.6),
                    arrowprops={"arrowstyle": "->", "color": theme.INK})
        ax.annotate("", (x + 5.5, y + 0.1), (x + 4.6, y + 0.1),
                    arrowprops={"arrowstyle": "->", "color": theme.INK})
        ax.text(x + 5.6, y + 0.62, total, va="center", fontsize=9.5)
        ax.text(x + 5.6, y + 0.02, carry, va="center", fontsize=9.5)
    theme.save(fig, OUT,
               "Left: a row of 12 cells in three words of four bits. Word 0 holds the cells 0, 3, "
               "6 and 9, word 1 the cells 1, 4, 7 and 10, word 2 the cells 2, 5, 8 and 11, so the "
               "left neighbors of all cells of word 1 are word 0. Right: three full adders. The "
               "first adds left, right and up to sum3 and carry3, the second ones, sum3 and down "
               "to the new ones and carry_ones, the third twos, carry3 and carry_ones to the new "
               "twos and fours.")


if __name__ == "__main__":
    main()
