"""Draw the tile of step 09 of fletcher, and why it stores py: fletcher-09-tile.svg.

    python3 docs/figures/fletcher_09.py

Left: the rows of one plane that one thread computes. Right: the rows in which a stored
derivative is needed, if pxy is the y derivative of px (step 08) and if it is the x derivative
of py (step 09).
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "fletcher-09-tile.svg"
HALO, ROWS = 4, 6  # rows on each side, and rows of the tile in the picture
OWN, EXTRA, POINT = theme.A, theme.B, theme.C


def row(ax: Any, left: float, width: float, y: float, color: str, alpha: float = 1) -> None:
    ax.add_patch(theme.plt.Rectangle((left, y + 0.12), width, 0.76, facecolor=color,
                                     edgecolor="none", alpha=alpha))


def tile(ax: Any) -> None:
    """The rows of a tile, and those of its neighbours."""
    ax.text(0, ROWS + 2 * HALO + 2.2, "One plane of a tile", fontweight="bold")
    for y in range(-1, ROWS + 2 * HALO + 1):
        own = HALO <= y < HALO + ROWS
        inside = 0 <= y < ROWS + 2 * HALO
        row(ax, 0, 5, y, OWN if own else EXTRA if inside else theme.LINE, 0.85 if inside else 0.6)
    for y, color, text in (
            (HALO + ROWS / 2, OWN, "T rows of the tile:\nall derivatives, and the new p and q"),
            (ROWS + 1.5 * HALO, EXTRA, "4 rows of the next tile:\nonly pz and pzz"),
            (HALO / 2, EXTRA, "4 rows of the tile before:\nonly pz and pzz")):
        ax.text(5.3, y, text, color=color, fontsize=9, va="center")
    ax.text(0, -2.2, "x: a whole row, in vectors", fontsize=9, color=theme.GREY)


def cross(ax: Any, left: float, title: str, name: str, along_y: bool) -> None:
    """The points of a stored derivative that pxy of one point reads."""
    ax.text(left, ROWS + 2 * HALO + 2.2, title, fontweight="bold")
    middle = HALO + ROWS // 2
    for y in range(middle - HALO, middle + HALO + 1):
        for x in range(2 * HALO + 1):
            read = (x == HALO) != (y == middle) and (x == HALO) == along_y
            here = x == HALO and y == middle
            ax.add_patch(theme.plt.Rectangle(
                (left + 0.62 * x, y + 0.12), 0.5, 0.76, edgecolor="none",
                facecolor=POINT if here else EXTRA if read and along_y else
                OWN if read else theme.FILL))
    text = f"reads {name} in 8 other rows:\na tile computes {name}\nin T + 8 rows" if along_y else \
        f"reads {name} in its own row:\na tile computes {name}\nin T rows"
    ax.text(left, middle - HALO - 0.5, text, fontsize=9, va="top",
            color=EXTRA if along_y else OWN)


def main() -> None:
    fig, ax = theme.figure(9.4, 4.0)
    ax.set(xlim=(-0.2, 26.2), ylim=(-2.8, ROWS + 2 * HALO + 3.2))
    ax.axis("off")
    tile(ax)
    cross(ax, 14, "Step 08: pxy = d(px)/dy", "px", True)
    cross(ax, 20.6, "Step 09: pxy = d(py)/dx", "py", False)
    theme.save(fig, OUT,
               "Left: one plane of a tile. All derivatives and the new fields are computed in the "
               "T rows of the tile; only pz and pzz are computed in four more rows on each side, "
               "which belong to the neighbouring tiles. Right: pxy of one point as the y "
               "derivative of px reads px in eight other rows, so a tile would compute px in "
               "T + 8 rows. As the x derivative of py it reads py in its own row only.")


if __name__ == "__main__":
    main()
