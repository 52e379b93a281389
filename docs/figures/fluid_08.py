"""Draw the pictures of fluid 08 to 12.

    python3 docs/figures/fluid_08.py

fluid-08-run.svg: two rows of cells, and the half of one colour with a run.
fluid-09-wavefront.svg: the planes of two workers in a pass of four sweeps.
fluid-10-direct.svg: transform, tridiagonal solves, inverse transform.
fluid-12-transpose.svg: planes of ranks become rows of ranks.
"""
from __future__ import annotations

from typing import Any

import theme
from fluid import arrow, empty, square


def label(ax: Any, x: float, y: float, text: str, **more: Any) -> None:
    ax.text(x, y, text, ha="center", va="center", fontsize=more.pop("fontsize", 7.5), **more)


# ---- 08 ------------------------------------------------------------------------------------


def draw_run() -> None:
    fig, ax = theme.figure(9.4, 3.3)
    empty(ax, "Two rows with nx = 6; the number is the flat index f", 18.4, -4.2, 2.6)
    for f in range(18):
        row, i = divmod(f, 9)
        red, ghost = f % 2 == 1, i in (0, 7)
        square(ax, i, 1 - 1.1 * row, theme.B if red else theme.FILL,
               alpha=0.35 if ghost or i == 8 else 0.9, linestyle=":" if ghost or i == 8 else "-")
        label(ax, i + 0.5, 1.5 - 1.1 * row, f"{f}")
    for row in range(2):
        label(ax, 10.6, 1.5 - 1.1 * row, f"row j + {row}" if row else "row j", fontsize=8.5)
    label(ax, 14.3, 1.0, "dotted: ghost cells (i = 0, 7)\nand one float of padding (i = 8)",
          fontsize=8.5)
    for n in range(9):
        f = 2 * n + 1
        outside = f % 9 in (0, 7, 8)
        square(ax, n, -2.4, theme.B, alpha=0.35 if outside else 0.9,
               linestyle=":" if outside else "-")
        label(ax, n + 0.5, -1.9, f"{f}")
    label(ax, 11.9, -1.9, "the red half of the field", fontsize=8.5)
    arrow(ax, (4.0, -2.75), (0.0, -2.75), theme.INK)
    arrow(ax, (4.0, -2.75), (8.0, -2.75), theme.INK)
    ax.text(0, -3.1, "a run: the red cells of both rows, 8 or 16 in one load; the ghost cells in "
            "it are set again afterwards", fontsize=8.5, va="top")
    theme.save(fig, "fluid-08-run.svg",
               "Above: two rows of cells in alternating colours. Below: the red half of the same "
               "rows as one array; the run begins at the first inner red cell and ends at the "
               "last, and the two ghost cells between the rows lie in it.")


# ---- 09 ------------------------------------------------------------------------------------


def draw_wavefront() -> None:
    fig, ax = theme.figure(9.4, 5.0)
    empty(ax, "A pass of two sweeps (4 half sweeps), two workers", 15, -1.6, 16.6)
    for h in range(4):
        for k in range(1, 17):
            border = 7 + h
            upper = k >= border
            front = k + h
            begin = 7 if upper else 1
            phase = 0 if front < begin + 8 else 1
            square(ax, h + 1, k - 1, theme.A if upper else theme.B,
                   alpha=0.85 if phase == 0 else 0.35)
            label(ax, h + 1.5, k - 0.5, f"{phase}")
    for h in range(4):
        label(ax, h + 1.5, -0.5, f"{h}")
        ax.plot([h + 1, h + 2], [6 + h, 6 + h], color=theme.INK, linewidth=2)
        if h:
            ax.plot([h + 1, h + 1], [5 + h, 6 + h], color=theme.INK, linewidth=2)
    label(ax, 3, -1.2, "half sweep", fontsize=8.5)
    label(ax, 0.4, 8, "plane", fontsize=8.5, rotation=90)
    for y, text in ((13.2, "blue: the upper worker; orange: the lower one"),
                    (11.8, "0, 1: the phase in which a worker relaxes a plane"),
                    (9.4, "thick line: the border rises by one plane per\nhalf sweep, so the "
                          "upper worker never reads\na plane that the lower one has to compute"),
                    (6.4, "The lower worker reads the first planes of the\nupper one: they are "
                          "done in phase 0, and\na barrier follows.")):
        ax.text(5.8, y, text, fontsize=8.5, va="center")
    theme.save(fig, "fluid-09-wavefront.svg",
               "Planes against half sweeps, for two workers. The border between them is a "
               "diagonal that rises by one plane per half sweep. In phase 0, each worker computes "
               "the first wavefront steps above its lower border; in phase 1, the rest.")


# ---- 10 ------------------------------------------------------------------------------------


def draw_direct() -> None:
    fig, ax = theme.figure(9.4, 2.9)
    empty(ax, "The solution of the pressure equation", 23.6, -2.6, 5.2)
    stages = ("div(x, y, z)", "modes(x, ky, kz)", "p(x, y, z)")
    for n, name in enumerate(stages):
        left = 9.4 * n
        for i in range(4):
            for j in range(4):
                solved = n == 1
                square(ax, left + i, j, theme.A if solved and j == 2 else theme.FILL,
                       alpha=0.8 if solved and j == 2 else 1)
        if n != 1:
            for i in range(4):
                arrow(ax, (left + i + 0.5, 0.3), (left + i + 0.5, 3.7), theme.B)
        else:
            arrow(ax, (left + 0.3, 2.5), (left + 3.7, 2.5), theme.INK)
            arrow(ax, (left + 3.7, 2.3), (left + 0.3, 2.3), theme.INK)
        label(ax, left + 2, 4.5, name, fontsize=8.5)
        if n < 2:
            arrow(ax, (left + 5.2, 2), (left + 8.2, 2), theme.GREY)
    for x, text in ((2, "DCT-II along y and z:\ncolumns (orange)"),
                    (11.4, "Thomas algorithm along x: one line per mode,\nforward and backward"),
                    (20.8, "DCT-III, the inverse,\nalong z and y")):
        ax.text(x, -0.5, text, ha="center", va="top", fontsize=8.5)
    theme.save(fig, "fluid-10-direct.svg",
               "Three stages from left to right: the planes of the box are transformed along y "
               "and z; one line along x per mode is solved; the inverse transforms lead back to "
               "a box.")


# ---- 12 ------------------------------------------------------------------------------------


def draw_transpose() -> None:
    fig, ax = theme.figure(9.4, 3.4)
    empty(ax, "Three ranks: planes become rows", 23.6, -2.2, 6.2)
    colors = (theme.A, theme.B, theme.GREY)
    for left, by_rows in ((1, False), (11, True)):
        for y in range(6):
            for z in range(6):
                rank = (y if by_rows else 5 - z) // 2
                square(ax, left + y, z, colors[rank], alpha=0.6)
                label(ax, left + y + 0.5, z + 0.5, f"{rank}")
        ax.text(left + 2.4, -0.5, "y", fontsize=8.5)
        ax.text(left - 0.7, 3, "z", fontsize=8.5)
        ax.text(left, -1.0, "rows of all planes: transform along z" if by_rows else
                "whole planes: transform along y", fontsize=8.5, va="top")
    arrow(ax, (7.4, 3.4), (10.2, 3.4), theme.INK)
    arrow(ax, (10.2, 2.6), (7.4, 2.6), theme.INK)
    for left in (1, 11):
        ax.add_patch(theme.plt.Rectangle((left + 2, 4), 2, 2, fill=False, edgecolor=theme.INK,
                                         linewidth=2))
    ax.text(17.6, 5, "thick: the block that\nrank 0 sends to rank 1", fontsize=8.5, va="center")
    theme.save(fig, "fluid-12-transpose.svg",
               "Left: the box divided by planes among three ranks. Right: the same box divided "
               "by rows. Each rank sends one block to each other rank, and receives one from "
               "each.")


def main() -> None:
    draw_run()
    draw_wavefront()
    draw_direct()
    draw_transpose()


if __name__ == "__main__":
    main()
