"""Draw the figures of steps 00, 05 and 07 of gridding: gridding-00-footprint.svg,
gridding-05-taps.svg and gridding-07-bins.svg.

    python3 docs/figures/gridding_00_to_07.py
"""
from __future__ import annotations

from typing import Any

import theme

SUPPORT = 2
WIDTH = 2 * SUPPORT + 1


def box(ax: Any, x: float, y: float, width: float, height: float, **style: Any) -> None:
    ax.add_patch(theme.plt.Rectangle((x, y), width, height, **style))


def cells(ax: Any, columns: int, rows: int) -> None:
    for x in range(columns):
        for y in range(rows):
            box(ax, x, y, 1, 1, fill=False, edgecolor=theme.LINE, linewidth=0.8)


def footprint(ax: Any, x: int, y: int, point: tuple[float, float], color: str) -> None:
    """The cells of a footprint, and the visibility in its middle cell."""
    box(ax, x, y, WIDTH, WIDTH, facecolor=color, alpha=0.25)
    box(ax, x, y, WIDTH, WIDTH, fill=False, edgecolor=color, linewidth=1.8)
    ax.plot(x + SUPPORT + point[0], y + SUPPORT + point[1], "x", color=color, markersize=8,
            markeredgewidth=2)


def draw_footprint() -> None:
    fig, ax = theme.figure(6.4, 3.4)
    cells(ax, 14, 9)
    footprint(ax, 1, 1, (0.7, 0.3), theme.A)
    footprint(ax, 4, 3, (0.2, 0.6), theme.B)
    ax.annotate("", (14.3, -0.5), (11.3, -0.5),
                arrowprops={"arrowstyle": "->", "color": theme.INK})
    ax.text(11.0, -0.5, "u", ha="right", va="center")
    ax.annotate("", (-0.5, 9.2), (-0.5, 6.2),
                arrowprops={"arrowstyle": "->", "color": theme.INK})
    ax.text(-0.5, 6.0, "v", ha="center", va="bottom")
    ax.text(9.6, 7.0, "a visibility (x) and its\nfootprint, 5 x 5 cells", color=theme.B,
            fontsize=9, va="center")
    ax.text(0.2, 7.6, "another one; the\nfootprints overlap", color=theme.A, fontsize=9,
            va="center")
    ax.set(xlim=(-1.2, 14.6), ylim=(9.4, -0.9), aspect="equal")
    ax.axis("off")
    theme.save(fig, "gridding-00-footprint.svg",
               "A grid of cells. A visibility lies between the middles of cells. Its footprint, "
               "5 x 5 cells around the nearest cell for a support of 2, receives the visibility "
               "times the convolution function. The footprint of a second visibility overlaps "
               "the first.")


TAPS = (0.12, 0.55, 1.0, 0.7, 0.2)  # real numbers here, for the drawing


def draw_taps() -> None:
    fig, ax = theme.figure(6.4, 3.0)

    def cell(x: float, y: float, value: float, color: str) -> None:
        box(ax, x, y, 1, 1, facecolor=color, alpha=0.08 + 0.87 * value)
        box(ax, x, y, 1, 1, fill=False, edgecolor=theme.GREY, linewidth=0.8)

    for j, row in enumerate(TAPS):
        cell(0, j, row, theme.B)
        for i, column in enumerate(reversed(TAPS)):
            cell(11.5 + i, j, row * column, theme.C)
    for i, column in enumerate(reversed(TAPS)):
        cell(3.5 + i, 2, column, theme.A)
    ax.text(2.2, 2.5, "x", ha="center", va="center", fontsize=14)
    ax.text(10.0, 2.5, "=", ha="center", va="center", fontsize=14)
    ax.text(0.5, 5.7, "taps of\nthe rows", ha="center", va="center", fontsize=9, color=theme.B)
    ax.text(6.0, 5.7, "taps of the columns", ha="center", va="center", fontsize=9,
            color=theme.A)
    ax.text(14.0, 5.7, "convolution function", ha="center", va="center", fontsize=9,
            color=theme.C)
    ax.text(6.0, 6.7, "step 05 stores these: 2 x width numbers", ha="center", fontsize=9)
    ax.text(14.0, 6.7, "step 04: width x width", ha="center", fontsize=9)
    ax.set(xlim=(-1.0, 17.6), ylim=(7.3, -0.4), aspect="equal")
    ax.axis("off")
    theme.save(fig, "gridding-05-taps.svg",
               "A column of taps times a row of taps gives all values of the convolution "
               "function in the footprint.")


def scatter(ax: Any) -> None:
    """A visibility, and arrows to the blocks that its footprint touches."""
    for x in range(4):
        for y in range(4):
            box(ax, 2 * x, 2 * y, 2, 2, fill=False, edgecolor=theme.LINE, linewidth=0.8)
    box(ax, 1.2, 1.4, 5, 5, facecolor=theme.B, alpha=0.18)
    box(ax, 1.2, 1.4, 5, 5, fill=False, edgecolor=theme.B, linewidth=1.6)
    for x in (2.0, 3.7, 5.4):
        for y in (2.2, 3.9, 5.6):
            if (x, y) != (3.7, 3.9):
                ax.annotate("", (x, y), (3.7, 3.9),
                            arrowprops={"arrowstyle": "->", "color": theme.B})
    ax.plot(3.7, 3.9, "x", color=theme.INK, markersize=8, markeredgewidth=2)
    ax.text(4, 8.7, "a visibility adds to all cells\nof its footprint", ha="center",
            va="center", fontsize=9)
    ax.text(0, -0.6, "Step 05: scatter", fontweight="bold")


def gather(ax: Any) -> None:
    """A block, and the bins whose footprints can overlap it."""
    for x in range(4):
        for y in range(4):
            mine = x in (0, 1, 2) and y in (0, 1, 2)
            box(ax, 2 * x, 2 * y, 2, 2, facecolor=theme.A if mine else "none",
                alpha=0.18 if mine else 1)
            box(ax, 2 * x, 2 * y, 2, 2, fill=False, edgecolor=theme.LINE, linewidth=0.8)
    for y in (1, 3, 5):
        ax.plot([0.4, 5.6], [y + 0.72, y + 0.72], color=theme.A, linewidth=1.6)
        for x in (0.6, 1.5, 2.7, 3.4, 4.6, 5.3):
            shift = 0.45 if y == 5 and x > 4 else 0.0
            ax.plot(x, y - 0.3 - shift, "x", color=theme.INK, markersize=6)
    box(ax, 4, 4, 2, 2, fill=False, edgecolor=theme.B, linewidth=2.4)
    ax.text(5, 5.25, "B", color=theme.B, ha="center", va="center", fontsize=13)
    ax.text(8.2, 1, "band", va="center", fontsize=9)
    ax.text(8.2, 3, "band", va="center", fontsize=9)
    ax.text(8.2, 5, "band of B", va="center", fontsize=9)
    ax.text(4, 8.7, "block B reads the visibilities of 9 bins:\none range (line) per band "
            "and sign of w", ha="center", va="center", fontsize=9)
    ax.text(0, -0.6, "Step 07: gather", fontweight="bold")


def draw_bins() -> None:
    fig, (left, right) = theme.figure(7.4, 3.6, ncols=2)
    scatter(left)
    gather(right)
    for ax in (left, right):
        ax.set(xlim=(-0.3, 10.2), ylim=(9.5, -1.3), aspect="equal")
        ax.axis("off")
    theme.save(fig, "gridding-07-bins.svg",
               "Left: scatter, a visibility adds to all cells of its footprint. Right: gather, "
               "the block B reads the visibilities of the bins whose footprints can overlap it, "
               "which lie above it and to its left; in each band they are contiguous in the "
               "sorted array.")


def main() -> None:
    draw_footprint()
    draw_taps()
    draw_bins()


if __name__ == "__main__":
    main()
