"""Draw the figures of steps 00, 05 and 07 of fletcher: fletcher-00-wavefront.svg,
fletcher-05-cross.svg and fletcher-07-planes.svg.

    python3 docs/figures/fletcher_00_to_07.py
"""
from __future__ import annotations

import math
from typing import Any

import theme

HALO = 4  # reach of the derivatives, in points
TILT = math.radians(30)
STRETCH = math.sqrt(1 + 2 * 0.24)  # velocity along the layers, relative to that across


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": color, "linewidth": 1.4})


def rock(ax: Any, title: str, tilted: bool) -> None:
    """The layers, the source, and the points that the wave has reached."""
    along, across = (math.cos(TILT), math.sin(TILT)), (-math.sin(TILT), math.cos(TILT))
    if tilted:
        for k in range(-5, 6):
            x, y = 0.55 * k * across[0], 0.55 * k * across[1]
            ax.plot([x - 4 * along[0], x + 4 * along[0]], [y - 4 * along[1], y + 4 * along[1]],
                    color=theme.LINE, linewidth=1.2)
    turns = [2 * math.pi * k / 120 for k in range(121)]
    a = 1.25 * (STRETCH if tilted else 1)
    front = [(a * math.cos(t) * along[0] + 1.25 * math.sin(t) * across[0],
              a * math.cos(t) * along[1] + 1.25 * math.sin(t) * across[1]) for t in turns]
    ax.plot(*zip(*front), color=theme.A, linewidth=2)
    ax.plot(0, 0, "o", color=theme.INK, markersize=5)
    ax.text(0.1, -0.3, "source", fontsize=9)
    if tilted:
        arrow(ax, (0, 0), (1.0 * across[0], 1.0 * across[1]), theme.B)
        ax.text(across[0] + 0.2, across[1] - 0.1, "axis n", color=theme.B, fontsize=9)
    ax.text(0, -1.95, "wavefront after some time", color=theme.A, fontsize=9, ha="center")
    ax.set(xlim=(-2.1, 2.1), ylim=(-2.1, 1.8), title=title, aspect="equal")
    ax.axis("off")


def draw_wavefront() -> None:
    fig, (left, right) = theme.figure(7, 3.2, ncols=2)
    rock(left, "Isotropic rock", False)
    rock(right, "Tilted layers", True)
    theme.save(fig, "fletcher-00-wavefront.svg",
               "A vertical cut through the rock. Left: in isotropic rock the wavefront is a "
               "circle around the source. Right: in rock with tilted layers it is an ellipse, "
               "longer along the layers than along the axis n, which is perpendicular to them.")


def grid(ax: Any, title: str, xlabel: str) -> None:
    for x in range(-5, 6):
        for y in range(-5, 6):
            ax.plot(x, y, ".", color=theme.LINE, markersize=4)
    ax.text(0, -6.4, xlabel, ha="center", fontsize=9)
    ax.text(-5.3, 6.2, title, fontweight="bold")
    ax.set(xlim=(-5.7, 5.7), ylim=(-7, 7), aspect="equal")
    ax.axis("off")


REACH = [k for k in range(-HALO, HALO + 1) if k]


def draw_cross() -> None:
    fig, axes = theme.figure(8.6, 3.4, ncols=3)
    grid(axes[0], "Step 04: 64 points", "all read for one point")
    for x in REACH:
        for y in REACH:
            axes[0].plot(x, y, "s", color=theme.B, markersize=5)
    grid(axes[1], "Step 05, pass 1", "8 points of a row; d/dx is stored")
    for x in REACH:
        axes[1].plot(x, 0, "s", color=theme.B, markersize=5)
    grid(axes[2], "Step 05, pass 2", "8 stored values of a column")
    for y in REACH:
        axes[2].plot(0, y, "D", color=theme.A, markersize=5)
    for ax in axes:
        ax.plot(0, 0, "o", color=theme.INK, markersize=6)
    theme.save(fig, "fletcher-05-cross.svg",
               "Left: the 64 points around one point that step 04 reads for one cross "
               "derivative. Middle: in step 05 a first pass stores the derivative along x, from "
               "8 points of a row. Right: a second pass reads 8 stored values of a column.")


def plane(ax: Any, x: float, y: float, color: str, fill: bool = False) -> None:
    """An xy plane of a field, drawn as a parallelogram."""
    ax.add_patch(theme.plt.Polygon(
        [(x, y), (x + 1.5, y), (x + 1.9, y + 0.34), (x + 0.4, y + 0.34)], closed=True,
        edgecolor=color, facecolor=color if fill else "none", alpha=0.75 if fill else 1,
        linewidth=1.2))


def planes(ax: Any, x: float, name: str, color: str, filled: range, count: int = 9) -> None:
    for z in range(count):
        plane(ax, x, 0.42 * z, color if z in filled else theme.LINE, z in filled)
    ax.text(x + 0.9, -0.5, name, ha="center", fontsize=8.5)


def two_loops(ax: Any) -> None:
    """All planes of the fields, which pass through the caches twice."""
    planes(ax, 0, "p, q", theme.B, range(9))
    planes(ax, 3.2, "4 fields of\nderivatives", theme.A, range(9))
    planes(ax, 6.4, "next p, q", theme.C, range(9))
    arrow(ax, (2.0, 1.9), (3.2, 1.9), theme.INK)
    arrow(ax, (5.2, 1.9), (6.4, 1.9), theme.INK)
    ax.text(2.6, 2.1, "loop 1", ha="center", fontsize=8.5)
    ax.text(5.8, 2.1, "loop 2", ha="center", fontsize=8.5)
    ax.set(title="Step 05: two loops over the grid")


def one_loop(ax: Any) -> None:
    """Nine planes of the fields, and the plane that they determine."""
    planes(ax, 0, "p, q", theme.B, range(9))
    planes(ax, 3.2, "6 planes of\nderivatives", theme.A, range(4, 5), 0)
    plane(ax, 3.2, 0.42 * 4, theme.A, True)
    planes(ax, 6.4, "next p, q", theme.C, range(4, 5))
    arrow(ax, (2.0, 1.9), (3.2, 1.9), theme.INK)
    arrow(ax, (5.2, 1.9), (6.4, 1.9), theme.INK)
    ax.text(-0.2, 0.42 * 8 + 0.1, "z + 4", ha="right", fontsize=8.5)
    ax.text(-0.2, 0.42 * 4 + 0.1, "z", ha="right", fontsize=8.5)
    ax.text(-0.2, 0.1, "z - 4", ha="right", fontsize=8.5)
    ax.set(title="Step 07: for each plane z")


def draw_planes() -> None:
    fig, (left, right) = theme.figure(9.2, 2.9, ncols=2)
    two_loops(left)
    one_loop(right)
    for ax in (left, right):
        ax.set(xlim=(-1.2, 8.5), ylim=(-1.0, 4.0))
        ax.axis("off")
    theme.save(fig, "fletcher-07-planes.svg",
               "Left: step 05 has two loops over the whole grid; the first writes four fields "
               "of derivatives to memory, the second reads them. Right: step 07 computes the "
               "derivatives of one plane from nine planes of p and q, and updates this plane "
               "while the derivatives are in the cache.")


def main() -> None:
    draw_wavefront()
    draw_cross()
    draw_planes()


if __name__ == "__main__":
    main()
