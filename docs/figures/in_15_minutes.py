"""Draw the figures of docs/in-15-minutes.md for the steps 08 to 12 of semblance, whose lessons
have none: sketches, not measurements.

    python3 docs/figures/in_15_minutes.py
"""
from __future__ import annotations

from typing import Any

import theme


def panel(width: float, height: float) -> tuple[Any, Any]:
    """A figure of 6 x 1.7 inches whose axes are invisible and have these limits."""
    fig, ax = theme.figure(6, 1.7)
    ax.set(xlim=(0, width), ylim=(-0.1, height))
    ax.axis("off")
    return fig, ax


def box(ax: Any, x: float, y: float, width: float, text: str, color: str = theme.GREY) -> None:
    ax.add_patch(theme.plt.Rectangle((x, y), width, 0.8, facecolor=theme.FILL, edgecolor=color,
                                     linewidth=1.2))
    ax.text(x + width / 2, y + 0.4, text, ha="center", va="center", fontsize=8.5)


def lanes() -> None:
    """The drawing of body.h of step 08: four arrivals, one load, one permutation."""
    fig, ax = panel(10, 3.6)
    rows = (("arrivals", "7.2 7.9 8.7 9.4", theme.B), ("one load: samples", "7 8 9 10", theme.GREY),
            ("one permutation", "7 7 8 9", theme.A))
    for place, (name, values, color) in enumerate(rows):
        y = 2.6 - 1.2 * place
        ax.text(3.2, y + 0.4, name, ha="right", va="center")
        for lane, value in enumerate(values.split()):
            box(ax, 3.5 + 1.5 * lane, y, 1.5, value, color)
    theme.save(fig, "short-08-lanes.svg", "Four lanes with the arrivals 7.2, 7.9, 8.7 "
               "and 9.4. One load reads the samples 7 to 10. One permutation gives the lanes the "
               "samples 7, 7, 8 and 9.")


def reuse() -> None:
    """Four windows of five samples that overlap."""
    fig, ax = panel(10, 4.2)
    for sample in range(8):
        box(ax, 2.9 + 0.85 * sample, 0.2, 0.85, str(sample), theme.A)
    ax.text(2.6, 0.6, "samples of a trace", ha="right", va="center")
    for point in range(4):
        x = 2.9 + 0.85 * point
        ax.plot((x + 0.1, x + 4.15), (3.6 - 0.7 * point,) * 2, color=theme.B, lw=3)
        ax.text(2.6, 3.6 - 0.7 * point, f"window {point}", ha="right", va="center", fontsize=9)
    theme.save(fig, "short-09-reuse.svg", "Four windows of five samples overlap. They "
               "use 20 values, but only 8 different ones.")


def bounds() -> None:
    """Groups of points, in decreasing order of their bounds, and the incumbent."""
    fig, ax = theme.figure(6, 1.9)
    heights = [0.97, 0.9, 0.84, 0.71, 0.6, 0.55, 0.47, 0.42, 0.36, 0.31, 0.27, 0.22]
    best = 0.78
    ax.bar(range(len(heights)), heights, width=0.75, facecolor=theme.FILL,
           edgecolor=[theme.A if h > best else theme.GREY for h in heights])
    ax.axhline(best, color=theme.B)
    ax.text(11.4, best + 0.03, "largest semblance so far", ha="right", color=theme.B)
    ax.text(1, 1.03, "searched", ha="center", color=theme.A)
    ax.text(7, 0.56, "skipped", ha="center", color=theme.GREY)
    ax.set(xticks=[], yticks=[0, 0.5, 1], ylim=(0, 1.15), ylabel="bound",
           xlabel="groups of points, sorted by their bounds")
    theme.save(fig, "short-10-bounds.svg", "Twelve groups of points in decreasing order "
               "of their bounds. Only three bounds exceed the largest semblance so far; the other "
               "groups are skipped.")


def list_of_two() -> None:
    """What two workers take from one list."""
    fig, ax = panel(10, 2.6)
    ax.text(1.4, 1.8, "CPU", ha="right", va="center")
    ax.text(1.4, 0.6, "GPU", ha="right", va="center")
    for n, item in enumerate((0, 5, 6, 11, 12, 15)):
        box(ax, 1.7 + 1.3 * n, 1.4, 1.3, str(item), theme.A)
    x = 1.7
    for items, width in (("1 to 4", 2.8), ("7 to 10", 2.8), ("13, 14", 1.5)):
        box(ax, x, 0.2, width, items, theme.B)
        x += width
    theme.save(fig, "short-11-list.svg", "A CPU takes single items from a list, a GPU "
               "takes chunks of up to four. Both end at about the same time.")


def counter() -> None:
    """Three ranks take the numbers of traces from a counter."""
    fig, ax = panel(10, 3.9)
    ax.text(1.6, 3.4, "counter", ha="right", va="center")
    box(ax, 1.9, 3.0, 1.2, "7", theme.B)
    ranks = (((0, 2.0), (3, 2.4), (6, 2.2)), ((1, 2.6), (4, 3.2)), ((2, 3.0), (5, 3.5)))
    for rank, traces in enumerate(ranks):
        y = 1.9 - 0.95 * rank
        ax.text(1.6, y + 0.4, f"rank {rank}", ha="right", va="center")
        x = 1.9
        for trace, width in traces:
            box(ax, x, y, width, f"trace {trace}", theme.A)
            x += width
    theme.save(fig, "short-12-counter.svg", "Three ranks take the numbers of the traces "
               "0 to 6 from one counter, which then contains 7.")


if __name__ == "__main__":
    lanes()
    reuse()
    bounds()
    list_of_two()
    counter()
