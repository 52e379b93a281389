"""Draw what step 05 of semblance moves: semblance-05-algebra.svg.

    python3 docs/figures/semblance_05.py

Left: the five samples of a window lie at one fraction between two stored samples. Right: how
often each quantity of a search is computed in set 2, in step 04 and in step 05. The counts
are those of tools/measure/count_semblance.c.
"""
from __future__ import annotations

from typing import Any

import theme

TRACES, PARTS, POINTS, WINDOW = 116, 20 ** 3, 20 ** 5, 5  # of set 2
STORED = (0.20, 0.62, 1.00, 0.86, 0.34, -0.10)
FRACTION = 0.35


def interpolation(ax: Any) -> None:
    """Five window samples between six stored ones, all at the same fraction."""
    ax.plot(range(6), STORED, color=theme.GREY, linewidth=1)
    ax.plot(range(6), STORED, "o", color=theme.INK, markersize=5)
    for j in range(WINDOW):
        v = STORED[j + 1] * FRACTION + STORED[j] * (1 - FRACTION)
        ax.plot([j + FRACTION] * 2, [-0.42, v], ":", color=theme.A, linewidth=1)
        ax.plot(j + FRACTION, v, "s", color=theme.A, markersize=5)
        ax.plot([j, j + FRACTION], [-0.42] * 2, color=theme.A, linewidth=3.2,
                solid_capstyle="butt")
    ax.plot([0, 5.4], [-0.42, -0.42], color=theme.INK, linewidth=0.8)
    for k in range(6):
        ax.plot([k, k], [-0.46, -0.38], color=theme.INK, linewidth=0.8)
    for k, name in enumerate(("ix − 2", "ix − 1", "ix", "ix + 1", "ix + 2")):
        ax.text(k, -0.62, name, ha="center", fontsize=8.5)
    ax.annotate("x, the arrival in samples", (2 + FRACTION, -0.44), (2 + FRACTION, -0.98),
                ha="center", fontsize=8.5,
                arrowprops={"arrowstyle": "->", "color": theme.INK, "linewidth": 0.8})
    for k, shift in ((0, -0.42), (1, -0.42), (2, -0.2), (3, 0.12), (4, 0.12), (5, 0.08)):
        ax.text(k + shift, STORED[k] + 0.09, f"y[{k}]", fontsize=8.5)
    for y, mark, color, name in ((1.02, "o", theme.INK, "stored sample y[j]"),
                                 (0.82, "s", theme.A, "window sample v"),
                                 (0.62, "-", theme.A, "weight1")):
        ax.plot((3.95, 4.2) if mark == "-" else (4.12,), (y + 0.03,) * (1 + (mark == "-")), mark,
                color=color, markersize=5, linewidth=3.2)
        ax.text(4.3, y, name, color=color, fontsize=8.5)
    ax.text(-0.35, 1.52, "One fraction for the window (tau = 2, w = 5)", fontweight="bold")
    ax.text(-0.35, 1.30, "v = y[j + 1] · weight1 + y[j] · weight0", color=theme.A, fontsize=9)
    ax.set(xlim=(-0.5, 6.1), ylim=(-1.12, 1.64))
    ax.axis("off")


def levels(ax: Any) -> None:
    """One row for each loop: how often it is executed, and what is computed there."""
    rows = (
        ("once per trace", f"{TRACES}", "–", "dm, dh (by the host)"),
        ("per (A, B, C)\nand trace", f"{PARTS * TRACES:,}", "–", "t2_abc"),
        ("per point", f"{POINTS / 1e6:.1f} million", "semblance", "semblance, sum"),
        ("per visit: point\nand trace", f"{POINTS * TRACES / 1e6:.1f} million",
         "scale, dm, dh, t,\nall of t², √, · idt", "t² from t2_abc, √,\nweight1, weight0"),
        ("per window\nsample", f"{POINTS * TRACES * WINDOW / 1e6:,.0f} million",
         "k, x0, x1, fraction, ÷,\nv, num, den, sum", "v, num, den"),
    )
    left, height = (0.0, 1.75, 3.45, 5.95), 0.245
    ax.text(0, 1.52, "How often each quantity is computed (set 2)", fontweight="bold")
    for x, name, color in zip(left, ("loop", "times", "step 04", "step 05"),
                              (theme.GREY, theme.GREY, theme.B, theme.A)):
        ax.text(x, 1.30, name, color=color, fontsize=9)
    for i, row in enumerate(rows):
        y = 1.08 - i * 2 * height
        ax.plot([0, 8.5], [y + 0.14] * 2, color=theme.LINE, linewidth=0.8)
        for x, text, color in zip(left, row, (theme.INK, theme.INK, theme.B, theme.A)):
            ax.text(x, y, text, color=color, fontsize=8.5, va="top", linespacing=1.25)
    ax.set(xlim=(-0.05, 8.5), ylim=(-1.5, 1.64))
    ax.axis("off")


def main() -> None:
    fig, (left, right) = theme.figure(10.4, 3.6, ncols=2, width_ratios=(1, 1.5))
    interpolation(left)
    levels(right)
    theme.save(fig, "semblance-05-algebra.svg",
               "Left: for tau = 2, five window samples lie between six stored samples, all at "
               "the same fraction weight1. Right: how often each quantity is computed in step "
               "04 and in step 05. dm and dh move from 371.2 million visits to 116 traces, "
               "t2_abc from the visits to 928,000 pairs of (A, B, C) and trace, the weights "
               "from 1,856 million window samples to the visits, sum from the window samples "
               "to 3.2 million points.")


if __name__ == "__main__":
    main()
