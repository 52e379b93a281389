"""Draw the figures of step 03 of semblance.

    python3 docs/figures/semblance_03.py
    python3 docs/figures/semblance_03.py --count ABC --set 2

semblance-03-work-items.svg: which points one work-item searches in steps 02 and 03, and where
it writes its result. semblance-03-coalescing.svg: which sectors of 32 bytes the 32 work-items
of a warp read with one load: two patterns for comparison, the samples of one trace in set 2,
and a trace header. --count draws nothing: it prints the mean number of sectors per load over
all warps of a search, if dimensions 0, 1 and 2 of the range stand for the three parameters.
"""
from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import theme

N = 20  # values of each parameter in set 2
WARP, SECTOR = 32, 8  # work-items of a warp; floats of a sector

# t0 of the output point, and the ranges of A to E; see common/semblance/arguments.c.
SETS = {"1": (1.124, (-0.1, -0.00143, 7.8e-7, -1e-7, -1e-7), (0.1, 0.00057, 9.8e-7, 1e-7, 1e-7)),
        "2": (1.94, (-0.00088484, -0.001194, 6.4e-7, 6.0e-10, 4.61e-8),
              (0.00111516, 0.000806, 8.4e-7, 8.0e-10, 6.61e-8))}
# dm and dh of the traces, in metres: recipe paper of data/semblance.c; and their samples.
TRACES = [(20.0 * i, 20.0 * j) for i in range(-10, 11) for j in range(4, -7, -1)
          if (i + j) % 2 == 0]
NS, PITCH, IDT, TAU = 2502, 2562, 500.0, 2
DRAWN = 100  # the trace of the figure


def rectangle(ax: Any, left: float, bottom: float, width: float, height: float,
              **options: Any) -> None:
    ax.add_patch(theme.plt.Rectangle((left, bottom), width, height, **options))


def grid(ax: Any, left: float, bottom: float, size: float) -> None:
    rectangle(ax, left, bottom, N * size, N * size, facecolor=theme.FILL,
              edgecolor=theme.GREY, linewidth=0.8)
    for i in range(1, N):
        ax.plot([left + i * size] * 2, [bottom, bottom + N * size], color=theme.LINE, lw=0.5)
        ax.plot([left, left + N * size], [bottom + i * size] * 2, color=theme.LINE, lw=0.5)


def strip(ax: Any, left: float, bottom: float, parts: int, marked: dict[int, str]) -> None:
    """A row of cells, some of them filled."""
    for i in range(parts):
        rectangle(ax, left + i * 0.34, bottom, 0.34, 0.5, edgecolor=theme.GREY, linewidth=0.7,
                  facecolor=marked.get(i, theme.FILL))


def work_items() -> None:
    fig, ax = theme.figure(8.6, 4.5)
    ax.set(xlim=(-0.9, 18.4), ylim=(-3.5, 7.6))
    ax.axis("off")
    size = 0.3

    # step 02: a column of (A, B), with all C, D, E
    ax.text(0, 7.25, "Step 02: one dimension, 20 work-items", fontweight="bold")
    grid(ax, 0, 0, size)
    rectangle(ax, 6 * size, 0, size, N * size, facecolor=theme.A, edgecolor=theme.A)
    rectangle(ax, 7 * size, 0, size, N * size, facecolor=theme.B, edgecolor=theme.B)
    ax.text(N * size / 2, -0.5, "A (dimension 0)", ha="center", fontsize=9)
    ax.text(-0.35, N * size / 2, "B", va="center", ha="center", fontsize=9)
    ax.text(0, 6.55, "work-items ia = 6 and 7; each searches\n20 B x 20 C x 20 D x 20 E = "
            "160,000 points", fontsize=8.5, va="center", linespacing=1.2)
    ax.text(0, -1.35, "part[ia][ib]: 400 results", fontsize=9)
    strip(ax, 0, -2.1, 23, dict.fromkeys(range(1, 11), theme.A)
          | dict.fromkeys(range(11, 21), theme.B))
    for left, text, color in ((1, "20 results of ia = 6", theme.A),
                              (11, "20 results of ia = 7", theme.B)):
        ax.text((left + 5) * 0.34, -2.55, text, ha="center", fontsize=8.3, color=color)
    ax.text(0, -3.2, "(10 of the 20 cells are drawn)", fontsize=8.3, color=theme.GREY)

    # step 03: a cube of (A, B, C)
    x0 = 9.3
    ax.text(x0, 7.25, "Step 03: three dimensions, 8000 work-items", fontweight="bold")
    grid(ax, x0, 0, size)
    depth = 0.085
    top = N * size
    for i in range(1, N + 1):
        ax.plot([x0 + i * depth, x0 + top + i * depth], [top + i * depth * 0.5] * 2,
                color=theme.LINE, lw=0.5)
        ax.plot([x0 + top + i * depth] * 2, [i * depth * 0.5, top + i * depth * 0.5],
                color=theme.LINE, lw=0.5)
    far = N * depth
    ax.plot([x0, x0 + far, x0 + top + far, x0 + top + far, x0 + top],
            [top, top + far * 0.5, top + far * 0.5, far * 0.5, 0], color=theme.GREY, lw=0.8)
    ax.plot([x0 + top, x0 + top + far], [top, top + far * 0.5], color=theme.GREY, lw=0.8)
    rectangle(ax, x0 + 4 * size, 8 * size, 4 * size, 4 * size, fill=False, edgecolor=theme.INK,
              linewidth=1.4)
    rectangle(ax, x0 + 6 * size, 9 * size, size, size, facecolor=theme.A, edgecolor=theme.A)
    rectangle(ax, x0 + 7 * size, 9 * size, size, size, facecolor=theme.B, edgecolor=theme.B)
    ax.annotate("work-group of\n4 x 4 x 4", (x0 + 4 * size, 11 * size), (x0 - 1.5, 5.0),
                fontsize=8.5, ha="center", va="center",
                arrowprops={"arrowstyle": "->", "color": theme.INK, "lw": 0.8})
    ax.text(x0 + top / 2, -0.5, "A (dimension 0)", ha="center", fontsize=9)
    ax.text(x0 - 0.35, 1.2, "B", va="center", ha="center", fontsize=9)
    ax.text(x0 + top + 1.15, 0.25, "C", fontsize=9)
    ax.annotate("two neighboring work-items;\neach searches\n20 D x 20 E = 400 points",
                (x0 + 7.5 * size, 9 * size), (x0 + 3.0, 1.1), fontsize=8.5, ha="center",
                va="center", arrowprops={"arrowstyle": "->", "color": theme.INK, "lw": 0.8})
    ax.text(x0, -1.35, "part[ia][ib][ic]: 8000 results", fontsize=9)
    strip(ax, x0, -2.1, 23, {3: theme.A, 19: theme.B})
    ax.plot([x0 + 10.9 * 0.34, x0 + 11.6 * 0.34], [-2.2, -1.5], color=theme.INK, lw=1)
    ax.plot([x0 + 11.4 * 0.34, x0 + 12.1 * 0.34], [-2.2, -1.5], color=theme.INK, lw=1)
    ax.annotate("", (x0 + 3.5 * 0.34, -2.4), (x0 + 19.5 * 0.34, -2.4),
                arrowprops={"arrowstyle": "<->", "color": theme.INK, "lw": 0.8, "shrinkA": 0,
                            "shrinkB": 0})
    ax.text(x0 + 11.5 * 0.34, -2.85, "20 B x 20 C = 400 results apart", ha="center", fontsize=8.3)
    theme.save(fig, "semblance-03-work-items.svg",
               "Left: in step 02 a work-item searches one column of the plane of A and B, 160,000 "
               "points, and writes 20 neighboring results. Right: in step 03 a work-item searches "
               "one cell of the cube of A, B and C, 400 points, and writes one result; "
               "neighboring work-items write results that are 400 elements apart.")


def arrivals(chosen: str, index: Any, trace: int) -> Any:
    """The arrivals in samples of points with the indices index[parameter] in one trace; -1 if
    the operator has none."""
    t0, low, high = SETS[chosen]
    a, b, c, d, e = (low[k] + np.asarray(index[k]) / N * (high[k] - low[k]) for k in range(5))
    dm, dh = TRACES[trace]
    t2 = (t0 + a * dm + b * dh) ** 2 + c * dh * dh + d * dm * dm + e * dh * dm
    return np.where(t2 < 0, -1, np.sqrt(np.maximum(t2, 0)) * IDT)


def warp(group: tuple[int, int, int], half: int) -> list[Any]:
    """The indices of the 32 work-items of one half of a work-group of 4 x 4 x 4."""
    lane = np.arange(WARP) + WARP * half
    return [4 * group[0] + lane % 4, 4 * group[1] + lane // 4 % 4, 4 * group[2] + lane // 16]


def count(order: str, chosen: str) -> None:
    """Prints the mean sectors per load; every fourth value of the other two parameters."""
    axes = ["ABCDE".index(name) for name in order]
    others = [k for k in range(5) if k not in axes]
    loads = sectors = lanes = 0
    for number in range(2 * 5 ** 3):
        half, cell = number % 2, number // 2
        lane = warp((cell % 5, cell // 5 % 5, cell // 25), half)
        for pair in range(25):
            index: list[Any] = [0] * 5
            for k, values in zip(axes, lane):
                index[k] = values
            index[others[0]], index[others[1]] = pair % 5 * 4, pair // 5 * 4
            skipped = np.zeros(WARP, int)
            for trace in range(len(TRACES)):
                x = arrivals(chosen, index, trace)
                inside = (x >= TAU) & (x < NS - TAU - 1)
                reads = inside & (skipped < 2)  # a point ends at its second trace outside
                skipped += ~inside
                if reads.any():
                    first = x[reads].astype(int) - TAU + trace * PITCH
                    loads, lanes = loads + 1, lanes + int(reads.sum())
                    sectors += len(np.unique(first // SECTOR))
    print(f"set {chosen}, dimensions {' '.join(order)}: {sectors / loads:.2f} sectors per load, "
          f"{lanes / loads:.1f} work-items that load")


def coalescing() -> None:
    dm, dh = TRACES[DRAWN]
    x = arrivals("2", [*warp((0, 0, 0), 0), 10, 10], DRAWN)
    samples = [int(position) - TAU for position in x]
    start = min(samples) // SECTOR * SECTOR - 2 * SECTOR
    rows = [("Consecutive elements: work-item i reads element i", list(range(WARP)), theme.A),
            (f"Samples of one trace (step 03, set 2, dm = {dm:.0f} m, dh = {dh:.0f} m)",
             [s - start for s in samples], theme.A),
            ("Every eighth element: work-item i reads element 8 i",
             [SECTOR * lane for lane in range(WARP)], theme.B),
            ("Coordinate sy of one trace: all work-items read the same element",
             [0] * WARP, theme.C)]
    fig, ax = theme.figure(8.6, 4.2)
    ax.set(xlim=(-2, 300), ylim=(-3.95, 0.45))
    ax.axis("off")
    for row, (title, cells, color) in enumerate(rows):
        y = -row * 1.05
        touched = sorted({cell // SECTOR for cell in cells})
        ax.text(0, y + 0.2, title, fontsize=9.5, fontweight="bold", va="center")
        for sector in range(WARP):
            rectangle(ax, sector * SECTOR, y - 0.3, SECTOR, 0.3, linewidth=0.7,
                      edgecolor=theme.GREY,
                      facecolor=theme.FILL if sector in touched else "none")
        for cell in sorted(set(cells)):
            rectangle(ax, cell, y - 0.3, 1, 0.3, facecolor=color, edgecolor="none")
        ax.text(262, y - 0.15, f"{len(touched)} sector{'s' * (len(touched) > 1)},\n"
                f"{len(set(cells))} element{'s' * (len(set(cells)) > 1)}", va="center",
                fontsize=9, color=color)
        if row == 1:
            ax.text(0, y - 0.44, f"sample {start}", fontsize=8.3, color=theme.GREY, va="center")
    ax.text(0, -3.75, "Each box is one sector: 32 bytes, 8 elements. Colored: what the 32 "
            "work-items of a warp read with one load.", fontsize=8.5, color=theme.GREY,
            va="center")
    theme.save(fig, "semblance-03-coalescing.svg",
               "Four rows of memory, divided into sectors of 8 elements. 32 work-items that read "
               "consecutive elements touch 4 sectors. In step 03, the work-items of a warp read 16 "
               "samples of one trace in 4 sectors. Work-items that read every eighth element touch "
               "32 sectors. All read the same coordinate of a trace header, in 1 sector.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", metavar="ORDER", help="three of the letters ABCDE")
    parser.add_argument("--set", default="2", dest="chosen", choices=SETS)
    options = parser.parse_args()
    if options.count is None:
        work_items()
        coalescing()
    elif len(set(options.count) & set("ABCDE")) == len(options.count) == 3:
        count(options.count, options.chosen)
    else:
        parser.error(f"--count: {options.count}: expected three different letters of ABCDE")


if __name__ == "__main__":
    main()
