"""Draw four cells in a word, for step 05 of sandpile: sandpile-05-word.svg.

    python3 docs/figures/sandpile_05.py

Each row is one line of next_grains4 (body.h) for the word in the middle. The leftmost cell is
the lowest byte, so << 8 moves the cells to the right.
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "sandpile-05-word.svg"
LEFT, WORD, RIGHT = (0, 2, 1, 6), (5, 3, 8, 4), (9, 0, 1, 2)
UP, DOWN = (4, 0, 4, 7), (0, 4, 1, 12)
X = 4.7  # of the word


def row(ax: Any, y: float, x: float, values: Any, color: str, marked: Any = ()) -> None:
    """Cells side by side; `marked` are those that come from a neighboring word."""
    for i, value in enumerate(values):
        ax.add_patch(theme.plt.Rectangle((x + i, y), 1, 0.8, edgecolor=color, linewidth=1.2,
                                         facecolor=theme.FILL))
        ax.text(x + i + 0.5, y + 0.4, str(value), ha="center", va="center",
                color=theme.B if i in marked else theme.INK)


def main() -> None:
    from_left, from_right = (LEFT[3], *WORD[:3]), (*WORD[1:], RIGHT[0])
    parts = [[v // 4 for v in values] for values in (from_left, from_right, UP, DOWN)]
    kept = [v % 4 for v in WORD]
    total = [sum(values) for values in zip(kept, *parts)]
    fig, ax = theme.figure(8.6, 4.1)
    ax.set(xlim=(-0.1, 17.4), ylim=(-7.4, 1.9))
    ax.axis("off")
    for x, name, values in ((0, "left", LEFT), (X, "word", WORD), (2 * X, "right", RIGHT)):
        row(ax, 0, x, values, theme.A if name == "word" else theme.GREY,
            {"left": (3,), "word": (), "right": (0,)}[name])
        ax.text(x + 2, 1.05, name, ha="center", color=theme.GREY, fontsize=9)
    lines = [("word & 0x03030303", kept, ()),
             ("(word << 8 | left >> 24) >> 2 & 0x3f3f3f3f", parts[0], (0,)),
             ("(word >> 8 | right << 24) >> 2 & 0x3f3f3f3f", parts[1], (3,)),
             ("up >> 2 & 0x3f3f3f3f,  up = 4 0 4 7", parts[2], ()),
             ("down >> 2 & 0x3f3f3f3f,  down = 0 4 1 12", parts[3], ())]
    for i, (text, values, marked) in enumerate(lines):
        y = -1.35 - 0.95 * i
        row(ax, y, X, values, theme.GREY, marked)
        ax.text(X + 4.3, y + 0.4, text, va="center", fontsize=9, family="monospace")
        if i:
            ax.text(X - 0.35, y + 0.4, "+", ha="center", va="center")
    y = -1.35 - 0.95 * len(lines) - 0.2
    ax.plot([X, X + 4], [y + 0.98] * 2, color=theme.INK, linewidth=0.8)
    row(ax, y, X, total, theme.A)
    ax.text(X - 0.35, y + 0.4, "=", ha="center", va="center")
    ax.text(X + 4.3, y + 0.4, "the word after the step: four cells at once", va="center",
            fontsize=9)
    theme.save(fig, OUT,
               "A word holds four cells of one byte: 5, 3, 8 and 4. One mask gives what they keep, "
               "1, 3, 0 and 0. Shifted by one byte, with the last cell of the word on the left, it "
               "holds the left neighbors 6, 5, 3 and 8; one shift and one mask divide them by "
               "four: 1, 1, 0 and 2. The same is done for the right, upper and lower neighbors. "
               f"The sum is {total[0]}, {total[1]}, {total[2]} and {total[3]}.")


if __name__ == "__main__":
    main()
