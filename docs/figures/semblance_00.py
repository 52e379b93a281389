"""Draw the figures of lesson 00 of semblance: the geometry, a gather, the five parameters, and
the loops that the steps 00 to 07 distribute.

    python3 docs/figures/semblance_00.py

Traces, events and curves are computed with the formulas and numbers of data/semblance.c (recipes
`paper` and `line`), without noise.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import theme
from matplotlib.patches import Rectangle

M0, H0 = 4120.0, -480.0  # the output point, m
Values = Any  # a number or an array of them


def traveltime(t0: float, p: tuple[float, ...], dm: Values, dh: Values) -> Values:
    """The traveltime in seconds; p is A, B (s/m), C, D and E (s^2/m^2)."""
    a, b, c, d, e = p
    return np.sqrt((t0 + a * dm + b * dh) ** 2 + c * dh ** 2 + d * dm ** 2 + e * dh * dm)


def ricker(frequency: float, t: Values) -> Values:
    x = (np.pi * frequency * t) ** 2
    return (1 - 2 * x) * np.exp(-x)


def geometry() -> None:
    """A source, a receiver and their midpoint; all traces of the recipe `paper`."""
    fig, (left, right) = theme.figure(9, 3.7, ncols=2, width_ratios=[1.15, 1])
    left.set(xlim=(-0.3, 10.6), ylim=(-4.8, 2.2), aspect="equal")
    left.axis("off")
    left.plot([-0.3, 10.3], [0, 0], color=theme.INK)
    left.text(-0.3, 0.2, "surface", color=theme.GREY, fontsize=9)
    x = np.linspace(-0.3, 10.3, 2)
    left.plot(x, -3.4 + 0.12 * (x - 5), color=theme.GREY)
    left.text(-0.3, -4.7, "reflector", color=theme.GREY, fontsize=9)
    source, receiver, mid = 1.6, 8.4, 5.0
    # The image of the source in the reflector gives the point of reflection.
    slope, offset = 0.12, -3.4 - 0.12 * 5
    factor = 2 * (slope * source + offset) / (1 + slope ** 2)
    image = np.array([source - slope * factor, factor])
    ray = np.array([receiver, 0.0]) - image
    s = (slope * image[0] + offset - image[1]) / (ray[1] - slope * ray[0])
    hit = image + s * ray
    for start, end in (((source, 0), hit), (hit, (receiver, 0))):
        left.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": theme.A, "lw": 1.6,
                                                  "shrinkA": 0, "shrinkB": 0})
    left.plot([source], [0], marker="*", ms=13, color=theme.B, clip_on=False)
    left.plot([receiver], [0], marker="v", ms=9, color=theme.C, clip_on=False)
    left.plot([mid], [0], marker="|", ms=12, color=theme.INK)
    left.text(source - 0.75, -0.8, "source s", ha="center", color=theme.B)
    left.text(receiver + 0.95, -0.8, "receiver g", ha="center", color=theme.C)
    left.text(mid, -0.95, "midpoint\nm = (g + s) / 2", ha="center", va="center", fontsize=9)
    for start, sign in ((source, 1), (receiver, -1)):
        left.annotate("", (mid - 0.06 * sign, 0.6), (start, 0.6), arrowprops={
            "arrowstyle": "<|-|>", "color": theme.INK, "lw": 1, "shrinkA": 0, "shrinkB": 0})
        left.text((start + mid) / 2, 0.8, "half-offset h", ha="center", fontsize=9)
    left.text(mid, 1.55, "h = (g − s) / 2", ha="center", fontsize=9)
    left.set_title("One trace: a source and a receiver")

    # The rule of fill_gather() in data/semblance.c.
    grid = [(i, j) for i in range(-10, 11) for j in range(4, -7, -1) if (i + j) % 2 == 0][:116]
    right.plot([M0 + 20 * i for i, _ in grid], [H0 + 20 * j for _, j in grid], "o", ms=3.5,
               color=theme.GREY, label="the 116 traces")
    right.plot([M0], [H0], "o", ms=8, color=theme.B, label="output point (m0, h0)")
    trace = (M0 + 120, H0 + 60)
    right.plot(*trace, "o", ms=6, color=theme.A)
    right.annotate("", (trace[0], H0), (M0, H0),
                   arrowprops={"arrowstyle": "<->", "color": theme.A, "shrinkB": 0})
    right.annotate("", trace, (trace[0], H0),
                   arrowprops={"arrowstyle": "<->", "color": theme.A, "shrinkA": 0})
    box = {"facecolor": theme.FILL, "edgecolor": "none", "pad": 1.5}
    right.text(M0 + 60, H0 - 12, "dm", ha="center", va="center", color=theme.A, bbox=box)
    right.text(trace[0] + 14, H0 + 30, "dh", va="center", color=theme.A, bbox=box)
    right.set(xlabel="midpoint m (metres)", ylabel="half-offset h (metres)", ylim=(-612, -345))
    right.legend(loc="upper left", ncols=2, fontsize=9, handletextpad=0.3, columnspacing=1)
    right.set_title("All traces of sets 1 to 3, one dot each")
    theme.save(fig, "semblance-00-geometry.svg",
               "Left: a source and a receiver on the surface, the ray that a reflector sends from "
               "one to the other, the midpoint between them and the half-offset. Right: the 116 "
               "traces of sets 1 to 3 by midpoint and half-offset, around the output point; dm and "
               "dh are the distances of a trace from the output point.")


def semblance(windows: Any) -> float:
    """windows[trace][sample]"""
    return float((windows.sum(axis=0) ** 2).sum() / (len(windows) * (windows ** 2).sum()))


def gather() -> None:
    """Traces of the recipe `line` around its gap, two curves, and the windows along them."""
    events = ((0.8, (-0.0001, -0.0002, 7e-7, 2e-7, 0), 1.0),
              (1.1, (0.00015, -0.0001, 6e-7, 1e-7, 5e-8), 0.8))
    right_curve = events[0][1]
    wrong_curve = (0.00004, -0.0002, 7e-7, 2e-7, 0.0)
    t0, tau = 0.8, 2
    present = [dm for dm in range(-250, 251, 50) if abs(dm) >= 51]
    times = 0.004 * np.arange(170, 240)
    curve_dm = np.linspace(-275, 275, 111)

    def trace(dm: Values, t: Values) -> Values:
        return sum(amplitude * ricker(20, t - traveltime(start, p, dm, 0.0))
                   for start, p, amplitude in events)

    fig, (left, a, b) = theme.figure(9.4, 4.1, ncols=3, width_ratios=[2, 1, 1])
    left.axvspan(-75, 75, color=theme.FILL, lw=0)
    left.text(0, 0.686, "missing traces", ha="center", va="top", color=theme.GREY, fontsize=9)
    for dm in present:
        left.plot(dm + 18 * trace(dm, times), times, color=theme.GREY, lw=0.9)
    left.plot([0], [t0], "o", ms=8, color=theme.B)
    left.annotate("output sample (m0, h0, t0)", (0, t0), (0, 0.74), ha="center", color=theme.B,
                  fontsize=9, arrowprops={"arrowstyle": "->", "color": theme.B})
    for p, tint in ((right_curve, theme.A), (wrong_curve, theme.C)):
        left.plot(curve_dm, traveltime(t0, p, curve_dm, 0.0), color=tint)
    t = traveltime(t0, right_curve, curve_dm, 0.0)
    left.fill_between(curve_dm, t - 0.004 * tau, t + 0.004 * tau, color=theme.A, alpha=0.2, lw=0)
    left.text(-272, 0.868, "first point:\nA = −0.0001 s/m", color=theme.A, fontsize=9, va="top")
    left.text(272, 0.845, "second point:\nA = 0.00004 s/m", color=theme.C, fontsize=9, va="top",
              ha="right")
    left.set(xlabel="dm (metres)", ylabel="time (seconds)", ylim=(0.925, 0.68), xlim=(-290, 290))
    left.set_title("A gather, and the curves of two points")

    samples = np.arange(-tau, tau + 1)
    dms = np.array(present, dtype=float)[:, None]
    for axes, p, tint, name in ((a, right_curve, theme.A, "first"),
                                (b, wrong_curve, theme.C, "second")):
        windows = trace(dms, traveltime(t0, p, dms, 0.0) + 0.004 * samples)
        for window in windows:
            axes.plot(window, samples, "s-", ms=2.5, lw=0.8, color=tint)
        axes.set(ylim=(2.4, -2.4), xlim=(-0.8, 1.1), xlabel="amplitude", yticks=samples)
        axes.set_title(f"Windows, {name} point:\nsemblance {semblance(windows):.2f}")
    a.set_ylabel("sample of the window")
    a.text(0.15, 0, "8 equal\nwindows", color=theme.A, fontsize=9, ha="center", va="center")
    theme.save(fig, "semblance-00-gather.svg",
               "Left: traces side by side with a gap, and two curves through the output sample in "
               "the gap; the first follows the reflection, the second does not. Middle: the "
               "windows along the first curve are almost equal. Right: the windows along the "
               "second curve are not.")


def parameters() -> None:
    """How each parameter changes the curve."""
    t0 = 0.8
    base = (0.0, 0.0, 7e-7, 2e-7, 0.0)
    x = np.linspace(-400, 400, 81)
    panels = (("A: slope\nalong the midpoint", 0, (-1e-4, 0, 1e-4), "dm"),
              ("B: slope\nalong the half-offset", 1, (-1e-4, 0, 1e-4), "dh"),
              ("C: curvature\nalong the half-offset", 2, (3e-7, 7e-7, 11e-7), "dh"),
              ("D: curvature\nalong the midpoint", 3, (-2e-7, 2e-7, 6e-7), "dm"),
              ("E: slope along dm\nthat changes with dh", 4, (-6e-7, 0, 6e-7), "dm"))
    fig, axes = theme.figure(10, 3.0, ncols=5, sharey=True)
    for ax, (title, index, values, axis) in zip(axes, panels):
        for value, tint, style in zip(values, (theme.B, theme.INK, theme.A), ("--", "-", "-.")):
            p = tuple(value if k == index else base[k] for k in range(5))
            dm, dh = (x, 0 * x + (200 if index == 4 else 0)) if axis == "dm" else (0 * x, x)
            ax.plot(x, traveltime(t0, p, dm, dh), color=tint, ls=style)
        ax.set(xlabel=f"{axis} (metres)", xticks=(-400, 0, 400))
        if index != 4:
            ax.plot([0], [t0], "o", color=theme.GREY, ms=5)
        ax.set_title(title)
    axes[0].set_ylabel("traveltime t (seconds)")
    for label, tint, style in (("smaller value", theme.B, "--"), ("middle value", theme.INK, "-"),
                               ("larger value", theme.A, "-.")):
        axes[0].plot([], [], color=tint, ls=style, label=label)
    axes[0].legend(loc="upper left", fontsize=9, borderpad=0, labelspacing=0.2)
    axes[0].set_ylim(0.92, 0.695)
    axes[4].text(0, 0.905, "at dh = 200 metres", ha="center", fontsize=9, color=theme.GREY)
    theme.save(fig, "semblance-00-parameters.svg",
               "Five graphs of the traveltime, one for each parameter, with a small, a middle and "
               "a large value. A and B change the slope of the curve along midpoint and half-"
               "offset, C and D its curvature, and E how the slope along the midpoint changes with "
               "the half-offset.")


def loops() -> None:
    """The loop nest, and which of its loops each step distributes."""
    levels = [("samples t0 of the output", "1; line3: 1,128"), ("values of A", "20"),
              ("values of B", "20"), ("values of C", "20"), ("values of D", "20"),
              ("values of E", "20"), ("traces", "116"), ("samples of the window", "5")]
    # Column: steps, device, the levels whose iterations are distributed.
    columns: tuple[tuple[str, str, tuple[int, ...]], ...] = (
        ("00", "one core", ()), ("01, 02", "OpenMP", (1,)), ("02", "OpenCL,\nCUDA", (1,)),
        ("03 – 07", "OpenMP", (1, 2, 3)), ("03 – 07", "OpenCL,\nCUDA", (1, 2, 3)))
    fig, ax = theme.figure(9, 4.2)
    ax.set(xlim=(0, 11.2), ylim=(-0.6, 10.2))
    ax.axis("off")
    ax.text(0, 9.3, "loop over", fontweight="bold")
    ax.text(4.75, 9.3, "iterations\n(set 2)", fontweight="bold", ha="right", va="center")
    for n, (name, count) in enumerate(levels):
        y = 7.6 - n
        ax.text(0.18 * n, y + 0.35, name, va="center")
        ax.text(4.75, y + 0.35, count, va="center", ha="right")
        ax.plot([0, 11.2], [y - 0.08, y - 0.08], color=theme.LINE, lw=0.6)
    for k, (steps, device, parallel) in enumerate(columns):
        x = 5.1 + 1.24 * k
        ax.text(x + 0.5, 9.75, steps, ha="center", fontweight="bold")
        ax.text(x + 0.5, 9.1, device, ha="center", va="center", fontsize=9)
        for n in range(len(levels)):
            y = 7.6 - n
            shared = n in parallel
            tint = theme.A if device == "OpenMP" else theme.B
            ax.add_patch(Rectangle((x, y), 1.02, 0.78, lw=1, facecolor=tint if shared
                                   else theme.FILL, edgecolor=tint if shared else theme.LINE))
        if parallel:
            count = 20 ** len(parallel)
            ax.text(x + 0.5, -0.15, f"{count:,}", ha="center", va="center", fontsize=9)
        else:
            ax.text(x + 0.5, -0.15, "1", ha="center", va="center", fontsize=9)
    ax.text(4.75, -0.15, "pieces of work", ha="right", va="center", fontweight="bold")
    theme.save(fig, "semblance-00-loops.svg",
               "The eight nested loops of a search: samples t0, A, B, C, D, E, traces, and samples "
               "of the window. Step 00 distributes none of them. Step 01, and step 02 on all its "
               "back-ends, distribute the loop over A, 20 pieces of work; the steps 03 to 07 "
               "distribute the loops over A, B and C, 8,000 pieces.")


if __name__ == "__main__":
    geometry()
    gather()
    parameters()
    loops()
