"""Draw a segment and a chunk of step 09 of gridding: gridding-09-segment.svg.

    python3 docs/figures/gridding_09.py
"""
from __future__ import annotations

from typing import Any

import theme

ROWS, COLUMNS = 4, 16  # cells of a block, with AVX-512
BLOCKS, SHOWN = 10, 4  # blocks that are drawn, and the one that is computed now


def box(ax: Any, x: float, y: float, width: float, height: float, edge: str,
        fill: str = "none", line: float = 1.0) -> None:
    ax.add_patch(theme.plt.Rectangle((x, y), width, height, edgecolor=edge, facecolor=fill,
                                     linewidth=line))


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color,
                                            "linewidth": 1.4})


def main() -> None:
    fig, ax = theme.figure(8.6, 3.6)
    # A chunk: visibilities, and their contributions to the columns of the segment.
    for k in range(6):
        y = 7.4 - k
        ax.plot(0.5, y, "o", color=theme.A, markersize=5)
        arrow(ax, (0.8, y), (2.3, y), theme.GREY)
        box(ax, 2.5, y - 0.25, 3.2, 0.5, theme.A, theme.FILL)
    ax.text(0.5, 8.3, "a chunk of\nvisibilities", ha="center", va="bottom", color=theme.A)
    ax.text(4.1, 8.3, "contributions:\nvisibility × taps of columns", ha="center", va="bottom",
            color=theme.A)
    ax.text(4.1, 1.5, "computed once;\nin the L1 cache", ha="center", va="top",
            color=theme.GREY)
    # The segment: one block below the other. The chunk touches some of them.
    for b in range(BLOCKS):
        y = 8.6 - 0.85 * b
        now, touched = b == SHOWN, 2 <= b <= 7
        box(ax, 9.0, y - 0.85, 2.6, 0.85, theme.GREY,
            theme.B if now else theme.FILL if touched else "none", 1.0)
        if touched and not now:
            arrow(ax, (5.9, 4.9), (8.9, y - 0.42), theme.LINE)
    middle = 8.6 - 0.85 * SHOWN - 0.42
    arrow(ax, (5.9, 4.9), (8.9, middle), theme.B)
    ax.text(10.3, 8.75, "a segment: blocks of\nsums, in the L2 cache", ha="center", va="bottom")
    ax.text(7.3, 1.5, "added to each\nblock that\nthey touch", ha="center", va="top",
            color=theme.GREY)
    # The block that is computed now.
    size = 0.3
    for j in range(ROWS):
        for i in range(COLUMNS):
            box(ax, 13.0 + size * i, middle + 1.0 - size * 2 * (j + 1) + 0.3, size, 2 * size,
                theme.B, "none", 0.7)
    arrow(ax, (12.8, middle), (11.7, middle), theme.B)
    ax.text(13.0 + size * COLUMNS / 2, middle + 1.6,
            "the current block: 4 rows,\neach one vector of 16 lanes", ha="center", va="bottom",
            color=theme.B)
    ax.text(13.0 + size * COLUMNS / 2, middle - 1.5, "12 registers of sums:\n3 products per row",
            ha="center", va="top", color=theme.B)
    ax.set(xlim=(-0.8, 18.2), ylim=(-0.1, 10.2))
    ax.axis("off")
    theme.save(fig, "gridding-09-segment.svg",
               "One column of blocks. Left: visibilities of a chunk become contributions, which "
               "stay in the L1 cache. Middle: a segment of blocks, whose sums stay in the L2 "
               "cache. Right: the block that is computed now, whose sums are in registers. All "
               "contributions of the chunk are added to one block after the other.")


if __name__ == "__main__":
    main()
