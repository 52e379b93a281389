"""Draw the pictures of the fluid program: fluid-00-step.svg, fluid-04-walls.svg and
fluid-07-columns.svg.

    python3 docs/figures/fluid.py

fluid-00-step.svg: the box, and the two operations that take nearly all of the time.
fluid-04-walls.svg: which work-item writes a ghost cell, in step 03 and in step 04.
fluid-07-columns.svg: the numbers that a work-item loads, in step 06 and in step 07.
"""
from __future__ import annotations

import math
from typing import Any

import theme


def square(ax: Any, x: float, y: float, fill: str = "none", edge: str = theme.LINE,
           **more: Any) -> None:
    """A cell, whose lower left corner is (x, y)."""
    ax.add_patch(theme.plt.Rectangle((x, y), 1, 1, facecolor=fill, edgecolor=edge, linewidth=0.9,
                                     **more))


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    ax.annotate("", xy=end, xytext=start, zorder=5,
                arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.3,
                            "shrinkA": 0, "shrinkB": 0})


def empty(ax: Any, title: str, width: float, low: float, high: float) -> None:
    ax.set(xlim=(-0.1, width), ylim=(low, high), title=title)
    ax.set_aspect("equal")
    ax.axis("off")


# ---- 00 ------------------------------------------------------------------------------------


def box(ax: Any) -> None:
    """A vortex, and the dye that it carries."""
    empty(ax, "The box: velocity and dye", 6.2, -1.7, 6.2)
    for i in range(6):
        for j in range(6):
            x, y = i + 0.5, j + 0.5
            near = math.hypot(x - 4.0, y - 3.9)
            square(ax, i, j, theme.A if near < 1.3 else theme.FILL,
                   alpha=0.75 if near < 0.8 else 0.4 if near < 1.3 else 1)
            u, v = -(y - 3), x - 3
            scale = 0.75 / max(1.0, math.hypot(u, v)) * min(1, 2.9 - 0.8 * math.hypot(u, v) / 2)
            u, v = u * scale / 2, v * scale / 2
            arrow(ax, (x - u, y - v), (x + u, y + v), theme.INK)
    ax.add_patch(theme.plt.Rectangle((0, 0), 6, 6, fill=False, edgecolor=theme.INK, linewidth=1.6))
    ax.text(0, -0.35, "Each cell holds a velocity\n(u, v, w) and a density of dye;\none plane "
            "of the box is shown.", fontsize=8.5, va="top")


def advection(ax: Any) -> None:
    empty(ax, "Advection: trace the flow back", 6.2, -1.7, 6.2)
    for i in range(5):
        for j in range(5):
            square(ax, i + 0.5, j + 0.5, theme.FILL)
    start, end = (4.0, 4.0), (2.4, 1.7)
    for x, y in ((2, 1), (3, 1), (2, 2), (3, 2)):
        ax.plot([x, end[0]], [y, end[1]], color=theme.B, linewidth=0.8, linestyle=":")
        ax.plot(x, y, "o", color=theme.B, markersize=6)
    arrow(ax, start, end, theme.INK)
    ax.plot(*start, "o", color=theme.A, markersize=8)
    ax.plot(*end, "x", color=theme.INK, markersize=7)
    ax.text(3.35, 2.75, "-dt (u, v, w)", fontsize=8.5)
    ax.text(0, -0.35, "The new value of the blue cell is\ninterpolated between the nearest\n"
            "cells (orange): 8 in three\ndimensions.", fontsize=8.5, va="top")


def relaxation(ax: Any) -> None:
    empty(ax, "Relaxation: red cells, then black", 6.2, -1.7, 6.2)
    for i in range(6):
        for j in range(6):
            ghost = i in (0, 5) or j in (0, 5)
            corner = i in (0, 5) and j in (0, 5)
            if corner:
                continue
            square(ax, i, j, "none" if ghost else theme.B if (i + j) % 2 else theme.FILL,
                   linestyle=":" if ghost else "-", edge=theme.GREY if ghost else theme.LINE)
    ax.add_patch(theme.plt.Rectangle((1, 1), 4, 4, fill=False, edgecolor=theme.INK, linewidth=1.6))
    for du, dv in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        arrow(ax, (3.5 + 0.95 * du, 2.5 + 0.95 * dv), (3.5 + 0.3 * du, 2.5 + 0.3 * dv), theme.INK)
    ax.text(0, -0.35, "A red cell (orange) is computed\nfrom its neighbours (6 in three\n"
            "dimensions). Dotted: ghost cells\noutside the walls.", fontsize=8.5, va="top")


def draw_step() -> None:
    fig, axes = theme.figure(9.4, 3.6, ncols=3)
    for ax, draw in zip(axes, (box, advection, relaxation)):
        draw(ax)
    theme.save(fig, "fluid-00-step.svg",
               "Three panels. The box: arrows of velocity turn around its middle, and a spot of "
               "dye. Advection: from a cell, an arrow leads back along the flow to a point between "
               "four cells, from which the value is interpolated. Relaxation: cells coloured like "
               "a chessboard; a cell is computed from its neighbours, and ghost cells surround "
               "the box.")


# ---- 04 ------------------------------------------------------------------------------------


def walls(ax: Any, title: str, fused: bool) -> None:
    empty(ax, title, 8.2, -1.4, 6.1)
    for i in range(8):
        for j in range(6):
            outside = i in (0, 7) or j in (0, 5)
            if i in (0, 7) and j in (0, 5):
                continue
            square(ax, i, j, "none" if outside else theme.FILL,
                   linestyle=":" if outside else "-", edge=theme.GREY if outside else theme.LINE)
    ax.add_patch(theme.plt.Rectangle((1, 1), 6, 4, fill=False, edgecolor=theme.INK, linewidth=1.6))
    if fused:
        for i, j in ((1, 3), (4, 4), (6, 1)):
            square(ax, i, j, theme.A, alpha=0.8)
        for start, end in (((1.3, 3.5), (0.4, 3.5)), ((4.5, 4.7), (4.5, 5.6)),
                           ((6.7, 1.5), (7.6, 1.5)), ((6.5, 1.3), (6.5, 0.4))):
            arrow(ax, start, end, theme.A)
        text = ("One launch per half sweep. The work-item that writes a cell\nat a wall also "
                "writes its ghost cell; at an edge it writes two.")
    else:
        for j in range(1, 5):
            arrow(ax, (1.4, j + 0.5), (0.4, j + 0.5), theme.B)
            arrow(ax, (6.6, j + 0.5), (7.6, j + 0.5), theme.B)
        for i in range(1, 7):
            arrow(ax, (i + 0.5, 1.4), (i + 0.5, 0.4), theme.B)
            arrow(ax, (i + 0.5, 4.6), (i + 0.5, 5.6), theme.B)
        text = ("After the sweep, one launch per axis reads the cells at\ntwo walls again, and "
                "writes their ghost cells.")
    ax.text(0, -0.35, text, fontsize=8.5, va="top")


def draw_walls() -> None:
    fig, axes = theme.figure(9.4, 4.0, ncols=2)
    walls(axes[0], "step 03: set_bnd after each sweep", False)
    walls(axes[1], "step 04: the boundary in the stencil", True)
    theme.save(fig, "fluid-04-walls.svg",
               "Two boxes of cells with a dotted ring of ghost cells. Step 03: after the sweep, "
               "separate launches copy all cells at the walls into the ring. Step 04: the "
               "work-item that computes a cell at a wall writes the ghost cell next to it, and "
               "two ghost cells at an edge.")


# ---- 07 ------------------------------------------------------------------------------------


def one_cell(ax: Any) -> None:
    empty(ax, "step 06: one cell", 5.2, -0.4, 6.3)
    for x, y in ((2, 2), (1, 2), (3, 2), (2, 1), (2, 3)):
        own = (x, y) == (2, 2)
        square(ax, x, y, theme.A if own else theme.FILL, alpha=0.8 if own else 1,
               edge=theme.GREY)
    for x, y, name in ((1.5, 2.5, "west"), (3.5, 2.5, "east"), (2.5, 1.5, "below"),
                       (2.5, 3.5, "above")):
        ax.text(x, y, name, ha="center", va="center", fontsize=8)
    ax.text(2.5, 2.5, "cell", ha="center", va="center", fontsize=8, color=theme.INK)
    ax.text(0, 0.6, "8 loads: the cell, x0, 4 neighbours\nhere, 2 in front and behind",
            fontsize=8.5, va="top")
    arrow(ax, (0.3, 3.9), (0.3, 5.1), theme.GREY)
    ax.text(0.45, 4.9, "z", fontsize=8.5)
    arrow(ax, (0.3, 3.9), (1.5, 3.9), theme.GREY)
    ax.text(1.3, 4.05, "x", fontsize=8.5)


def two_columns(ax: Any) -> None:
    empty(ax, "step 07: two columns, plane after plane", 9.4, -0.4, 6.3)
    for plane in range(5):
        for column in range(2):
            own = (plane + column) % 2 == 0
            square(ax, 2 + column, 1 + plane, theme.A if own else theme.B,
                   alpha=0.8 if own else 0.35, edge=theme.GREY)
            ax.text(2.5 + column, 1.5 + plane, "cell" if own else "partner", ha="center",
                    va="center", fontsize=7.5)
        square(ax, 1 if plane % 2 == 0 else 4, 1 + plane, theme.FILL, edge=theme.GREY)
        ax.text(0.85, 1.5 + plane, f"k {'+-'[plane < 2]} {abs(plane - 2)}" if plane != 2 else "k",
                ha="right", va="center", fontsize=8.5)
    for y in (1.5, 2.5, 3.5, 4.5):
        right = int(y - 1.5) % 2 == 0
        arrow(ax, (3.35 if right else 2.65, y + 0.15), (2.7 if right else 3.3, y + 0.85), theme.INK)
    for y, name in ((4.5, "above: the only partner that is loaded"),
                    (3.5, "partner: was above one plane ago"),
                    (2.5, "below: was partner one plane ago")):
        ax.text(5.25, y, name, va="center", fontsize=8.5)
    ax.text(1, 0.6, "6 loads per cell: the cell, x0, its outer neighbour (grey), above,\n"
            "2 in front and behind", fontsize=8.5, va="top")


def draw_columns() -> None:
    fig, axes = theme.figure(9.4, 3.9, ncols=2, width_ratios=(5.3, 9.5))
    one_cell(axes[0])
    two_columns(axes[1])
    theme.save(fig, "fluid-07-columns.svg",
               "Left, step 06: a cell and its neighbours, 8 loads. Right, step 07: two columns "
               "over five planes. In each plane one of the two cells is computed, and the other "
               "is its partner; they change sides from plane to plane. For plane k, the partner "
               "in plane k + 1 is loaded; those in planes k and k - 1 are in registers.")


def main() -> None:
    draw_step()
    draw_walls()
    draw_columns()


if __name__ == "__main__":
    main()
