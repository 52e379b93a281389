"""Draw the quarter of a pile that step 10 of sandpile computes: sandpile-10-quarter.svg.

    python3 docs/figures/sandpile_10.py

The grid is computed here, in the middle of its way to the stable pile.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import theme
from matplotlib.colors import ListedColormap
from sandpile_00 import COLORS

OUT = "sandpile-10-quarter.svg"
DIM, STEPS = 66, 600
WHITE = "#ffffff"


def pile() -> Any:
    """The grid after STEPS steps; unstable cells hold 4 grains or more."""
    grid = np.zeros((DIM, DIM), np.uint8)
    grid[1:-1, 1:-1] = 4
    for _ in range(STEPS):
        quarter = grid // 4
        grid[1:-1, 1:-1] = (grid % 4)[1:-1, 1:-1] + quarter[1:-1, :-2] + quarter[1:-1, 2:] + \
            quarter[:-2, 1:-1] + quarter[2:, 1:-1]
    return grid[1:-1, 1:-1]


def cells(ax: Any, y: float, names: str, mirror: int, title: str) -> None:
    """A row of cells; those from `mirror` on are images."""
    ax.text(0, y + 1.15, title, fontsize=9.5)
    for x, name in enumerate(names):
        image = x >= mirror
        ax.add_patch(theme.plt.Rectangle((x, y), 1, 0.8, edgecolor=theme.GREY if image else theme.A,
                                         linewidth=1.2, facecolor=theme.FILL,
                                         linestyle=":" if image else "-"))
        ax.text(x + 0.5, y + 0.4, name, ha="center", va="center",
                color=theme.GREY if image else theme.INK)


def main() -> None:
    fig, (left, right) = theme.figure(8.6, 3.8, ncols=2, width_ratios=(1, 1.15))
    grid = np.minimum(pile(), 4)
    left.imshow(grid, cmap=ListedColormap((*COLORS, WHITE)), interpolation="none")
    half = len(grid) / 2
    left.add_patch(theme.plt.Rectangle((-0.5, -0.5), half, half, fill=False, linewidth=2.5,
                                       edgecolor=theme.B))
    left.axis("off")
    right.set(xlim=(-0.3, 8.2), ylim=(-2.4, 4.2))
    right.axis("off")
    cells(right, 2.2, "abccba", 3, "even: the right neighbor of c is c")
    cells(right, -0.6, "abcba", 3, "odd: the right neighbor of c is b")
    right.text(0, -1.9, "Only the cells with solid edges are computed.", fontsize=9.5)
    theme.save(fig, OUT,
               "Left: a pile of 64 x 64 cells after 600 steps, which equals its mirror images, "
               "left-right and top-bottom; a frame marks the quarter that is computed. Right: a "
               "row of six cells, a, b, c, c, b, a: the right neighbor of the third cell is a copy "
               "of itself. A row of five cells, a, b, c, b, a: it is a copy of the left neighbor.")


if __name__ == "__main__":
    main()
