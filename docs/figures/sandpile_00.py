"""Draw a toppling cell and a stable pile, for step 00 of sandpile: sandpile-00-pile.svg.

    python3 docs/figures/sandpile_00.py

The pile is computed here, step by step: 126 x 126 cells that begin with four grains each.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import theme
from matplotlib.colors import ListedColormap

OUT = "sandpile-00-pile.svg"
DIM, STEPS = 128, 4242
COLORS = ("#101830", "#266e9c", "#e6b250", "#a03428")  # those of picture=
BEFORE, AFTER = ((0, 2, 0), (3, 9, 1), (0, 0, 0)), ((0, 4, 0), (5, 1, 3), (0, 2, 0))


def stable_pile() -> Any:
    """The grid after the step that leaves it stable."""
    grid = np.zeros((DIM, DIM), np.uint8)
    grid[1:-1, 1:-1] = 4
    steps = 0
    while grid.max() > 3:
        quarter = grid // 4
        grid[1:-1, 1:-1] = (grid % 4)[1:-1, 1:-1] + quarter[1:-1, :-2] + quarter[1:-1, 2:] + \
            quarter[:-2, 1:-1] + quarter[2:, 1:-1]
        steps += 1
    assert steps == STEPS, steps
    return grid


def cells(ax: Any, left: float, values: Any, title: str) -> None:
    """Nine cells with their grains; the cell in the middle is the one that topples."""
    ax.text(left + 1.5, 3.35, title, ha="center")
    for y, row in enumerate(values):
        for x, grains in enumerate(row):
            middle = x == y == 1
            ax.add_patch(theme.plt.Rectangle((left + x, 2 - y), 1, 1, edgecolor=theme.GREY,
                                             facecolor=theme.FILL, linewidth=0.8))
            corner = x != 1 and y != 1
            ax.text(left + x + 0.5, 2.5 - y, "" if corner else str(grains), ha="center",
                    va="center", fontsize=12, fontweight="bold" if middle else "normal",
                    color=theme.B if middle else theme.INK)


def main() -> None:
    fig, (ax, pile) = theme.figure(8.6, 4.0, ncols=2, width_ratios=(1.15, 1))
    ax.set(xlim=(-0.1, 8.3), ylim=(-1.6, 4.2), aspect="equal")
    ax.axis("off")
    cells(ax, 0, BEFORE, "before")
    cells(ax, 5.1, AFTER, "after")
    ax.annotate("", (4.9, 1.5), (3.2, 1.5), arrowprops={"arrowstyle": "->", "color": theme.INK})
    ax.text(0, -0.6, "The cell holds 9 grains. It keeps 9 % 4 = 1,", fontsize=9.5)
    ax.text(0, -1.15, "and each of its neighbors gets 9 / 4 = 2.", fontsize=9.5)
    pile.imshow(stable_pile(), cmap=ListedColormap(COLORS), interpolation="none")
    pile.axis("off")
    for grains, color in enumerate(COLORS):
        pile.add_patch(theme.plt.Rectangle((4 + 32 * grains, DIM + 4), 7, 7, facecolor=color,
                                           edgecolor=theme.GREY, linewidth=0.6, clip_on=False))
        pile.text(14 + 32 * grains, DIM + 8, str(grains), va="center", fontsize=9.5)
    theme.save(fig, OUT,
               "Left: a cell with 9 grains topples. It keeps 1 grain, and each of its four "
               "neighbors, which held 2, 3, 1 and 0, gets 2. Right: the stable pile of 126 x 126 "
               "cells that began with four grains each, one color per number of grains: a square "
               "with nested symmetric patterns.")


if __name__ == "__main__":
    main()
