"""Draw the rows that two bands compute in a block of steps, for step 09 of sandpile:
sandpile-09-bands.svg.

    python3 docs/figures/sandpile_09.py
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "sandpile-09-bands.svg"
STEPS, ROWS = 6, 24  # of a block, and of the grid
SPLIT = ROWS // 2


def steps(ax: Any, title: str, bands: Any) -> None:
    """One line per step; bands: for each, its color, and the first row and the end of a step."""
    ax.set(xlim=(-2.2, ROWS + 0.3), ylim=(-1.6, STEPS + 1.3))
    ax.axis("off")
    ax.text(ROWS / 2, STEPS + 0.8, title, ha="center")
    for s in range(STEPS):
        y = STEPS - 1 - s
        ax.text(-0.4, y + 0.35, f"step {s}", ha="right", va="center", fontsize=8.5,
                color=theme.GREY)
        for i, (color, rows) in enumerate(bands):
            first, end = rows(s)
            ax.add_patch(theme.plt.Rectangle((first, y + 0.36 * (1 - i)), end - first, 0.34,
                                             facecolor=color, edgecolor="none"))
    ax.plot((SPLIT, SPLIT), (-0.2, STEPS + 0.2), color=theme.GREY, linewidth=0.8,
            linestyle="--")
    ax.text(ROWS / 2, -1.2, "row of the grid", ha="center", fontsize=9, color=theme.GREY)


def main() -> None:
    fig, (left, right) = theme.figure(8.6, 3.0, ncols=2)
    steps(left, "ghost zones: bands overlap",
          ((theme.A, lambda s: (0, SPLIT + STEPS - 1 - s)),
           (theme.B, lambda s: (SPLIT - STEPS + 1 + s, ROWS))))
    shift = STEPS // 2
    steps(right, "skewed: the second band follows the first",
          ((theme.A, lambda s: (0, SPLIT + shift - s)),
           (theme.B, lambda s: (SPLIT + shift - s, ROWS))))
    theme.save(fig, OUT,
               "The rows that two bands compute in six steps. Left, with ghost zones: in step 0 "
               "each band computes five rows of the other band, too, in step 1 four, and in step 5 "
               "none, so both can compute at the same time. Right, skewed: the border between the "
               "bands moves up by one row per step, no row is computed twice, and the second band "
               "begins when the first one is done.")


if __name__ == "__main__":
    main()
