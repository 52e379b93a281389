"""Draw the lanes of step 08 of semblance: semblance-08-lanes.svg, -08-permute.svg and
-08-threads.svg.

    python3 docs/figures/semblance_08.py

The numbers of threads follow from the sets of common/semblance/program.mk and from CHUNK_SAMPLES
of steps/08_vector/semblance/host.h; an NVIDIA H200 has 132 multiprocessors of 2,048 threads.
"""
from __future__ import annotations

from typing import Any

import theme

LANES = 4
NEAR = (7.2, 7.9, 8.7, 9.4)  # the arrivals of body.h
H200 = 132 * 2048
PARTS_LINE3, PARTS_SET2, CHUNK = 9 * 9 * 6, 20 ** 3, 128


def arrivals(ax: Any, title: str, names: tuple[str, ...], x: tuple[float, ...]) -> None:
    """The stored samples of one trace, and above them the arrival of each lane."""
    ax.plot(range(6, 13), [0] * 7, color=theme.GREY, linewidth=1)
    ax.plot(range(6, 13), [0] * 7, "o", color=theme.INK, markersize=5)
    for k in range(6, 13):
        ax.text(k, -0.42, str(k), ha="center", fontsize=8.5)
    for lane, (name, at) in enumerate(zip(names, x)):
        y = 0.5 + 0.42 * lane
        ax.plot([at, at], [0.06, y], ":", color=theme.A, linewidth=1)
        ax.plot(at, y, "s", color=theme.A, markersize=6)
        ax.text(at - 0.16, y - 0.08, f"lane {lane}: {name}", color=theme.A, fontsize=8.5,
                ha="right")
    ax.text(9, -0.85, "stored samples of one trace", ha="center", color=theme.GREY, fontsize=8.5)
    ax.set(xlim=(5.0, 12.6), ylim=(-1.0, 2.3), title=title)
    ax.axis("off")


def draw_lanes() -> None:
    fig, (left, right) = theme.figure(8.6, 2.6, ncols=2)
    arrivals(left, "A whole trace: lanes along t0", ("t0", "t0 + 1", "t0 + 2", "t0 + 3"),
             (7.2, 8.1, 9.1, 10.0))
    arrivals(right, "A single sample: lanes along (D, E)",
             ("D₀, E₀", "D₀, E₁", "D₀, E₂", "D₀, E₃"), (7.2, 7.5, 7.9, 8.2))
    theme.save(fig, "semblance-08-lanes.svg",
               "The arrivals of four lanes on one trace. Left: the lanes are four neighboring "
               "samples t0 of the output trace, and their arrivals are about one sample apart. "
               "Right: the lanes are four neighboring values of E, and their arrivals are less "
               "than half a sample apart. In both cases all lanes need samples from the same "
               "few places.")


def cells(ax: Any, y: float, first: int, names: tuple[str, ...], color: str) -> None:
    for k, name in enumerate(names):
        ax.add_patch(theme.plt.Rectangle((first + k - 0.5, y), 1, 0.5, fill=False,
                                         edgecolor=color, linewidth=1.2))
        ax.text(first + k, y + 0.25, name, ha="center", va="center", fontsize=8.5, color=color)


def permute(ax: Any) -> None:
    """One load of LANES neighboring samples, from which each lane selects its own."""
    near = [int(x) - int(NEAR[0]) for x in NEAR]
    ax.text(6.4, 3.25, "arrivals " + "   ".join(str(x) for x in NEAR), fontsize=8.5)
    ax.text(6.4, 2.85, "near        " + "       ".join(str(n) for n in near), fontsize=8.5)
    cells(ax, 1.7, 7, ("y[7]", "y[8]", "y[9]", "y[10]"), theme.INK)
    cells(ax, 0.2, 7, tuple(f"y[{7 + n}]" for n in near), theme.A)
    for lane, n in enumerate(near):
        ax.annotate("", (7 + lane, 0.74), (7 + n, 1.66),
                    arrowprops={"arrowstyle": "->", "color": theme.A, "linewidth": 1})
    ax.text(11.0, 1.95, "one load", va="center", fontsize=8.5)
    ax.text(11.0, 1.2, "one permutation", va="center", color=theme.A, fontsize=8.5)
    ax.text(11.0, 0.45, "lanes 0 .. 3", va="center", color=theme.A, fontsize=8.5)
    ax.set(xlim=(6.3, 13.2), ylim=(0, 3.6), title="Arrivals close together: load and permute")
    ax.axis("off")


def gather(ax: Any) -> None:
    """A load for each lane, because the samples are far apart."""
    cells(ax, 1.7, 6, ("y[3]", "..", "y[40]", "..", "y[77]", "y[91]"), theme.INK)
    cells(ax, 0.2, 7, ("y[3]", "y[40]", "y[77]", "y[91]"), theme.B)
    for lane, k in enumerate((6, 8, 10, 11)):
        ax.annotate("", (7 + lane, 0.74), (k, 1.66),
                    arrowprops={"arrowstyle": "->", "color": theme.B, "linewidth": 1})
    ax.text(6.4, 3.25, "arrivals 3.1   40.6   77.2   91.9", fontsize=8.5)
    ax.text(12.0, 1.2, "a load\nfor each lane", va="center", color=theme.B, fontsize=8.5)
    ax.text(12.0, 0.45, "lanes 0 .. 3", va="center", color=theme.B, fontsize=8.5)
    ax.set(xlim=(5.4, 14.2), ylim=(0, 3.6), title="Arrivals far apart: gather")
    ax.axis("off")


def draw_permute() -> None:
    fig, (left, right) = theme.figure(8.6, 2.7, ncols=2)
    permute(left)
    gather(right)
    theme.save(fig, "semblance-08-permute.svg",
               "Two ways to give four lanes their samples. Left: the arrivals 7.2, 7.9, 8.7 and "
               "9.4 are close together. One load reads y[7] to y[10], and one permutation gives "
               "the lanes y[7], y[7], y[8] and y[9]. Right: the arrivals are far apart, and each "
               "lane needs a load of its own.")


def draw_threads() -> None:
    rows = (("line3: one sample per launch", PARTS_LINE3, theme.B),
            ("line3: 128 samples per launch", PARTS_LINE3 * CHUNK, theme.A),
            ("set 2: one thread per (A, B, C)", PARTS_SET2, theme.B),
            ("set 2: one thread per (A, B, C, D)", PARTS_SET2 * 20, theme.A))
    fig, ax = theme.figure(8.6, 2.3)
    for i, (name, threads, color) in enumerate(rows):
        ax.barh(len(rows) - i, threads, color=color, height=0.62)
        ax.text(threads * 0.9, len(rows) - i, f"{threads:,}", va="center", ha="right",
                color=theme.FILL, fontsize=8.5)
    ax.axvline(H200, color=theme.INK, linewidth=1)
    ax.text(H200 * 1.1, 4.65, f"an H200\nholds\n{H200:,}", fontsize=8.5, va="top")
    ax.set(xscale="log", xlim=(100, 3e6), ylim=(0.4, 4.7),
           yticks=range(len(rows), 0, -1), xlabel="threads per launch")
    ax.set_yticklabels([row[0] for row in rows])
    theme.save(fig, "semblance-08-threads.svg",
               "Threads per launch on a logarithmic axis. The job line3 has 486 threads if a "
               "launch searches one sample, and 62,208 if it searches 128. Set 2 has 8,000 "
               "threads with one thread per (A, B, C), and 160,000 with one per (A, B, C, D). An "
               "H200 holds 270,336.")


def main() -> None:
    draw_lanes()
    draw_permute()
    draw_threads()


if __name__ == "__main__":
    main()
