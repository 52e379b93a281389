"""draw.py - every drawing of the report and of make papers, as SVG, with matplotlib.

A drawing is a file of its own: letters stay letters, the same numbers give the same bytes,
and it follows light and dark by itself. A unit is a pixel of the page: the page never
makes a drawing smaller, so that no letter is below SMALL. Lines are labelled where they
end. Left out: numbers that are not handed in.
"""
from __future__ import annotations

import csv
import logging
import re
import statistics
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

try:
    import matplotlib
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
except ImportError as error:
    raise SystemExit(f"{error.name} not found (Debian: python3-{error.name})") from None

from tools.history import results, spans, tree
from tools.history.results import Row

PHONE, CARD, PAGE = 340, 220, 720  # px: widths on a page
SMALL, NORMAL = 11, 12  # px: letters
# {colour: the same in a dark theme}. Those of the back-ends are also in report.css.
DARK = {"#ffffff": "#15181c", "#1c2026": "#e3e5e8", "#5a6370": "#a0a8b3",
        "#dde1e6": "#353b43", "#646c78": "#a9b0ba", "#1c5fab": "#7cb1ee",
        "#b04e06": "#f0a25c", "#0b7465": "#5ccfba", "#75489c": "#c6a3ea",
        "#9c2a5b": "#f08fb7", "#63680a": "#ccd05c", "#357a21": "#86cf70",
        "#7a5a48": "#d3b49f", "#9c2f1f": "#f09a8a", "#e9b44c": "#c08a1e"}
PAPER, INK, SOFT, LINE = list(DARK)[:4]
COLOURS = dict(zip(("seq", "omp", "ocl", "cuda", "hybrid", "openacc", "hybrid-cuda", "mpi",
                    "mpi-ocl"), list(DARK)[4:]))
COLOURS |= {"cuda-cpu": COLOURS["cuda"], "hybrid-cuda-cpu": COLOURS["hybrid-cuda"]}
MARKS = {"seq": "s", "omp": "o", "ocl": "D", "cuda": "^", "cuda-cpu": "v", "openacc": "P",
         "hybrid": "h", "hybrid-cuda": "H", "hybrid-cuda-cpu": "8", "mpi": "X",
         "mpi-ocl": "d"}
THEIRS, START = list(DARK)[13:]  # a paper's numbers; initialisation
SERIES = list(dict.fromkeys(COLOURS.values())) + [THEIRS, START]

for added in tree.BACKENDS:  # a back-end without a colour of its own
    COLOURS.setdefault(added, SERIES[len(COLOURS) % len(SERIES)])
    MARKS.setdefault(added, "*")

logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # of fonts not here
matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "history", "font.size": NORMAL,
    "font.family": ["system-ui", "Helvetica", "Arial", "DejaVu Sans", "sans-serif"],
    "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": SOFT,
    "axes.labelsize": NORMAL, "axes.titlesize": 13, "axes.titlelocation": "left",
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelsize": NORMAL,
    "ytick.labelsize": NORMAL, "xtick.major.size": 0, "ytick.major.size": 0,
    "grid.color": LINE, "grid.linewidth": 1, "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER, "axes.facecolor": "none", "text.parse_math": False})


def number(value: Any) -> str:
    """Three digits or so: 0.080, 0.95, 2.04, 12.3, 1240."""
    value = float(value)
    if value < 0.0995:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 \
        else f"{value:.0f}"


# ---- a figure ----------------------------------------------------------------------


def sheet(width: float, height: float) -> Any:
    return Figure(figsize=(width / 72, height / 72), dpi=72)


def panel(figure: Any, left: float, top: float, right: float, bottom: float, **more: Any) -> Any:
    """Axes with these margins, in px: top and bottom both from the upper edge."""
    width, height = figure.get_size_inches() * 72
    return figure.add_axes([left / width, 1 - bottom / height,
                            (width - left - right) / width, (bottom - top) / height],
                           **more)


def words(figure: Any, x: float, y: float, text: str, **more: Any) -> Any:
    """Text in a figure, px from its upper left corner."""
    width, height = figure.get_size_inches() * 72
    return figure.text(x / width, 1 - y / height, text, **more)


def save(figure: Any, path: Path) -> None:
    """Writes it, whole or not at all: no date, the size in px, a second set of colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    figure.savefig(temporary, format="svg", metadata=dict.fromkeys(
        ("Date", "Creator", "Format", "Type")))
    style = "".join(f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
                    for light, dark in DARK.items() for what in ("fill", "stroke"))
    width, height = figure.get_size_inches() * 72
    text = temporary.read_text().replace(
        f'width="{width:g}pt" height="{height:g}pt"', f'width="{width:g}" height="{height:g}"')
    temporary.write_text(text.replace(
        "</style>", f"@media screen and (prefers-color-scheme:dark){{{style}}}</style>", 1))
    temporary.replace(path)


def apart(wanted: Any, distance: float) -> list[float]:
    """Places of labels, in the order of those wanted, moved so that none overlap."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    for _ in range(100):
        for i in range(len(placed) - 1):
            lack = distance - (placed[i + 1] - placed[i])
            if lack > 0:
                placed[i] -= lack / 2
                placed[i + 1] += lack / 2
    return [y for _, y in sorted(zip(order, placed))]


def logarithmic(axis: Any, low: float, high: float, most: int = 6) -> None:
    """A logarithmic axis with round numbers, at most so many."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log",
                     f"{axis.axis_name}lim": (low / 1.15, high * 1.15)})
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0 ** e for e in range(-4, 8) for d in digits
                 if low / 1.15 <= d * 10.0 ** e <= high * 1.15]
        if len(ticks) <= most:
            break
    axis.set_major_locator(FixedLocator(ticks[::-(-len(ticks) // most)]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def label_ends(axes: Any, ends: Any) -> None:
    """Names of lines at the right edge: [(text, value, colour)]."""
    height = axes.get_window_extent().height
    wanted = [axes.transData.transform((0, value))[1] for _, value, _ in ends]
    bottom = axes.get_window_extent().y0
    for (text, _, colour), y in zip(ends, apart(wanted, 13)):
        axes.text(1, (y - bottom) / height, " " + text, transform=axes.transAxes,
                  va="center", color=colour, fontweight="bold", fontsize=SMALL)


def names_wide(names: Sequence[str]) -> int:
    """The margin, in px, that names of lines need, or those of most machines."""
    return max(56, 10 + 7 * max(map(len, names)))


# ---- the staircase -----------------------------------------------------------------


def stairs(path: Path, steps: Any, series: Any, width: int = PHONE,
           ylabel: str = "speedup over step 00") -> None:
    """steps: their numbers; series: {back-end: {index of step: (value, low, high)}}. The
    best of all is named."""
    small = width < PHONE
    top, bottom = (16, 132) if small else (32, 232)
    figure = sheet(width, bottom + (18 if small else 34))
    axes = panel(figure, 38, top, names_wide(series), bottom)
    values = [v for points in series.values() for three in points.values() for v in three]
    logarithmic(axes.yaxis, min(values + [1]), max(values + [2]), 4 if small else 6)
    axes.grid(axis="y")
    axes.axhline(1, color=SOFT, linewidth=1, linestyle=(0, (3, 3)))
    wide = width - 38 - names_wide(series)
    every = -(-len(steps) * (22 if small else 18) // wide)
    axes.set_xticks(range(0, len(steps), every), steps[::every])
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.spines[:].set_visible(False)
    for place, (backend, points) in enumerate(series.items()):
        xs, (ys, low, high) = sorted(points), zip(*(points[x] for x in sorted(points)))
        edges = [x - 0.5 for x in xs] + [xs[-1] + 0.5]
        axes.stairs(ys, edges, baseline=None, color=COLOURS[backend], linewidth=1.8)
        if not small:
            dodge = (place - (len(series) - 1) / 2) * 0.8 / len(series)
            axes.errorbar([x + dodge for x in xs], ys, yerr=[
                [y - v for y, v in zip(ys, low)], [v - y for y, v in zip(ys, high)]],
                fmt=MARKS[backend], color=COLOURS[backend], markersize=5, elinewidth=1.2,
                markeredgecolor=PAPER, markeredgewidth=0.6)
    end: int = max(max(points) for points in series.values())
    value, x, backend = max((v[0], x, b) for b, points in series.items()
                            for x, v in points.items())
    axes.plot(x, value, MARKS[backend], color=COLOURS[backend], markersize=7,
              markeredgecolor=PAPER)
    axes.annotate(number(value), (x, value), (0, 6), textcoords="offset points",
                  ha="right" if x > end - 2 else "center", fontweight="bold")
    if not small:
        words(figure, 2, 14, ylabel, color=SOFT)
        axes.set_xlabel("step")
    label_ends(axes, [(b, points[max(points)][0], COLOURS[b])
                      for b, points in series.items() if b != "seq" or max(points) == end])
    save(figure, path)


def shares(path: Path, steps: Any, series: Any) -> None:
    """Like stairs, but values are percent of what the machine can do at most."""
    figure = sheet(PHONE, 266)
    axes = panel(figure, 38, 32, names_wide(series), 232)
    axes.grid(axis="y")
    for place, (backend, points) in enumerate(series.items()):
        wide = 0.8 / len(series)
        axes.bar([x + (place + 0.5) * wide - 0.4 for x in points], points.values(), wide,
                 color=COLOURS[backend])
    most = max(v for points in series.values() for v in points.values())
    axes.set(xlim=(-0.5, len(steps) - 0.5), ylim=(0, max(1, 1.1 * most)))
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5))
    axes.set_xticks(range(len(steps)), steps)
    axes.spines[["left"]].set_visible(False)
    axes.set_xlabel("step")
    words(figure, 2, 14, "percent of the machine's ceiling", color=SOFT)
    end = max(map(max, series.values()))
    label_ends(axes, [(b, points[max(points)], COLOURS[b]) for b, points in series.items()
                      if b != "seq" or max(points) == end])
    save(figure, path)


# ---- more ranks than there are -----------------------------------------------------------


def ranks(path: Path, curve: Any, points: Any, knee: Any, weak: bool = False) -> None:
    """What a model says of 1, 2, .. ranks, curve: [(ranks, value)], beside what was
    measured, points: {ranks: (value, low, high)}. Values are times as fast as one rank, or,
    where each rank has as much work however many they are (weak), percent of that."""
    figure = sheet(PHONE, 266)
    axes = panel(figure, 38, 32, 56, 232)
    most = max([p for p, _ in curve] + list(points) + [2])
    places = [p for p in (1, 4, 16, 64, 256, 1024, 4096) if p <= most]
    colour = COLOURS["mpi"]
    if weak:
        axes.set(ylim=(0, 112))
    else:
        values = [v for _, v in curve] + [v for three in points.values() for v in three]
        logarithmic(axes.yaxis, min(values + [1]), max([most, *values]))
    axes.set_xscale("log")
    axes.set(xlim=(0.85, 1.15 * most))
    axes.set_xticks(places, map(str, places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid()
    axes.spines[:].set_visible(False)
    ideal = [(1, 100), (most, 100)] if weak else [(1, 1), (most, most)]
    axes.plot(*zip(*ideal), color=SOFT, linewidth=1, linestyle=(0, (1, 3)))
    ends = [("ideal", ideal[-1][1], SOFT)]
    if curve:
        axes.plot(*zip(*curve), color=colour, linewidth=1.8, linestyle=(0, (5, 3)))
        ends.append(("model", curve[-1][1], colour))
    if knee:
        at = dict(curve)[knee]
        axes.plot(knee, at, "o", markersize=11, markerfacecolor="none",
                  markeredgecolor=THEIRS, markeredgewidth=1.8)
        axes.annotate(f"knee: {knee}", (knee, at), (8, 8) if weak else (8, -14),
                      textcoords="offset points", color=THEIRS, fontweight="bold",
                      fontsize=SMALL)
    for number_of, (mid, low, high) in points.items():
        axes.errorbar(number_of, mid, yerr=[[mid - low], [high - mid]], fmt=MARKS["mpi"],
                      color=INK, markersize=7, markeredgecolor=PAPER, elinewidth=1.2,
                      markeredgewidth=0.6, zorder=3)
    words(figure, 2, 14, "percent of one rank's pace" if weak
          else "times as fast as one rank", color=SOFT)
    words(figure, PHONE - 8, 14, "✖ measured", color=INK, fontsize=SMALL, ha="right")
    axes.set_xlabel("ranks of one thread" + ", as much work each" * weak)
    label_ends(axes, ends)
    save(figure, path)


# ---- what the search sees ------------------------------------------------------------


def gather(path: Path, traces: Any, t0: float, dt: float, arrivals: Any,
           bare: bool = False) -> None:
    """Traces around the time t0 as greys, and where the moveout found meets them: lines of
    (number from 1, time). bare is a small one without axes."""
    half = round(0.1 / dt)
    first = max(0, round(t0 / dt) - half)
    shown = traces[:, first:first + 2 * half]
    extent = 0.5, len(traces) + 0.5, (first + shown.shape[1] - 0.5) * dt, (first - 0.5) * dt
    figure = sheet(*((CARD, 132) if bare else (PHONE, 320)))
    axes = panel(figure, 0, 0, 0, 132) if bare else panel(figure, 60, 8, 8, 278)
    most = np.abs(shown).max()
    axes.imshow(shown.T, cmap="Greys", vmin=-most, vmax=most, aspect="auto", extent=extent)
    for places in arrivals:
        axes.plot(*zip(*places), color="#d1480b", linewidth=1.2 if bare else 1.6)
    axes.set(xlim=extent[:2], ylim=extent[2:], xlabel="trace", ylabel="time, s")
    if bare:
        axes.set_axis_off()
    save(figure, path)


def section(path: Path, sheets: Any, dt: float) -> None:
    """Panels side by side, (title, midpoints, samples [trace][sample]), in the same greys."""
    figure = sheet(PAGE, 320)
    most = np.abs(sheets[-1][2]).max()
    wide = (PAGE - 60 - 8 - 2 * 16) / len(sheets)
    for i, (title, m, samples) in enumerate(sheets):
        left = 60 + i * (wide + 16)
        axes = panel(figure, left, 24, PAGE - left - wide, 278)
        half = (m[1] - m[0]) / 2
        extent = m[0] - half, m[-1] + half, (samples.shape[1] - 0.5) * dt, -0.5 * dt
        axes.imshow(samples.T, cmap="Greys", vmin=-most, vmax=most, aspect="auto",
                    extent=extent)
        axes.set_title(title)
        axes.set(xlabel="midpoint, m", ylabel="" if i else "time, s")
        if i:
            axes.set_yticklabels([])
    save(figure, path)


def search_panel(path: Path, values: Any, a: Any, b: Any, found: Any) -> None:
    """The largest semblance of each (A, B); a and b are (from, to) in s/m, found the best
    pair."""
    figure = sheet(PHONE, 320)
    axes = panel(figure, 62, 8, 66, 278)
    step = [(p[1] - p[0]) / n for p, n in zip((a, b), values.shape)]
    extent = [1e3 * v for p, d in zip((a, b), step) for v in (p[0] - d / 2, p[1] - d / 2)]
    drawn = axes.imshow(values.T, origin="lower", cmap="viridis", vmin=0, extent=extent,
                        aspect="auto")
    axes.plot(1e3 * found[0], 1e3 * found[1], "o", markersize=13, markerfacecolor="none",
              markeredgecolor="#d1480b", markeredgewidth=2)
    axes.set(xlabel="A, ms/m", ylabel="B, ms/m")
    bar = figure.colorbar(drawn, cax=panel(figure, PHONE - 58, 8, 44, 278))
    bar.outline.set_visible(False)
    save(figure, path)


# ---- the figures of the papers -------------------------------------------------------


def headed(figure: Any, high: float, caption: str, top: float = 72) -> str:
    """A sheet for a figure of tools/measure/papers.py: its title, a space, its
    caption."""
    found = sheet(PAGE, top + high + 66)
    for n, line in enumerate(textwrap.wrap(figure.heading(), 76)):
        words(found, 12, 20 + 16 * n, line, fontsize=13, fontweight="bold")
    for n, line in enumerate(textwrap.wrap(caption, 105)):
        words(found, 12, top + high + 46 + 13 * n, line, fontsize=SMALL, color=SOFT)
    return found


def label_width(labels: Sequence[str]) -> int:
    """Width of the longest label, in px."""
    return 14 + 7 * max(map(len, labels))


def across(axes: Any, labels: Sequence[str]) -> None:
    """Bars lie: one label a bar, the first on top."""
    axes.set_yticks(range(len(labels)), labels, color=INK)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def device(row: Row) -> str:
    return COLOURS["cuda"] if row["backend"] == "gpu" else COLOURS["omp"]


def paper(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """A figure of several runs; unit is what the program calls its rate."""
    {"bars": bars, "lines": lines, "rates": rates, "heat": heat}[figure.kind](
        path, figure, rows, unit, caption)


def seconds(value: Any) -> str:
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def bars(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """A row of two panels for each set: seconds, and the speedup over the sequential
    program, the paper's beside it."""
    sets = list(dict.fromkeys(r["set"] for r in rows))
    tall, gap, top = 24 * len(figure.bars), 62, 112
    drawn = headed(figure, len(sets) * (tall + gap) - gap + 40, caption)
    for x, colour, sign, text in ((12, START, "■", "initialisation"),
                                  (130, COLOURS["omp"], "■", "execution, CPU"),
                                  (262, COLOURS["cuda"], "■", "execution, GPU"),
                                  (470, INK, "●", "here"), (540, THEIRS, "◇", "the paper")):
        words(drawn, x, 60, sign, color=colour)
        words(drawn, x + 14, 60, text)
    found = [r[k] for r in rows for k in ("speedup", "paper_speedup") if r[k] != ""]
    left = label_width([r["label"] for r in rows])
    for n, name in enumerate(sets):
        mine = [r for r in rows if r["set"] == name]
        y = top + n * (tall + gap)
        times = panel(drawn, left, y, 290, y + tall)
        speed = panel(drawn, 460, y, 20, y + tall)
        across(times, [r["label"] for r in mine])
        across(speed, [""] * len(mine))
        totals = [r["total_mean"] for r in mine if r["total_mean"] != ""]
        times.set_xlim(0, 1.35 * max(totals, default=1))
        times.set_title(f"Set {name}")
        logarithmic(speed.xaxis, min(found + [1]), max(found + [1.5]))
        speed.axvline(1, color=SOFT, linewidth=1)
        for i, r in enumerate(mine):
            if r["total_mean"] == "":
                times.text(0, i, f" {r['mark']}", va="center", color=SOFT, fontsize=SMALL)
            else:
                times.barh(i, r["init_mean"], 0.7, color=START)
                times.barh(i, r["run_mean"], 0.7, r["init_mean"], color=device(r),
                           xerr=r["total_sd"], error_kw={"ecolor": INK, "elinewidth": 1})
                times.text(r["total_mean"] + r["total_sd"], i,
                           f" {seconds(r['total_mean'])}", va="center", fontsize=SMALL)
                speed.plot(r["speedup"], i, "o", color=INK, markersize=6)
            if r["paper_speedup"] != "":
                speed.plot(r["paper_speedup"], i, "D", color=THEIRS, markersize=7,
                           markerfacecolor="none", markeredgewidth=1.6)
        if n == len(sets) - 1:
            times.set_xlabel("seconds")
            speed.set_xlabel("speedup over the sequential program")
    save(drawn, path)


def rates(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """Bars: the mean over the sets, the paper's beside it."""
    labels = list(dict.fromkeys(r["label"] for r in rows))
    drawn = headed(figure, 26 * len(labels) + 20, caption)
    axes = panel(drawn, label_width(labels), 72, 30, 72 + 26 * len(labels))
    across(axes, labels)
    most = 1
    for i, label in enumerate(labels):
        mine = [r for r in rows if r["label"] == label]
        our, their = ([r[k] for r in mine if r[k] != ""] for k in ("rate_mean", "paper_rate"))
        if our:
            value = statistics.mean(our)
            axes.barh(i, value, 0.7, color=device(mine[0]))
            axes.text(value, i, f" {value:,.0f}" if value >= 1000 else f" {value:.4g}",
                      va="center", fontsize=SMALL)
        else:
            axes.text(0, i, f" {mine[0]['mark']}", va="center", color=SOFT, fontsize=SMALL)
        if their:
            axes.plot(statistics.mean(their), i, "D", color=THEIRS, markersize=7,
                      markerfacecolor="none", markeredgewidth=1.6)
            words(drawn, 600, 60, "◇ the paper", color=THEIRS)
        most = max([most] + [statistics.mean(v) for v in (our, their) if v])
    axes.set(xlim=(0, 1.14 * most), xlabel=unit)
    save(drawn, path)


OURS = {"speedup": "speedup", "rate": "rate_mean", "seconds": "run_mean"}


def lines(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """A panel for each set, or one in which the sets are x."""
    swept = figure.swept()
    parts = [[r for r in rows if r["set"] == name] for name in
             dict.fromkeys(r["set"] for r in rows)] if swept else [list(rows)]
    value = figure.values.get("value", "speedup")
    drawn = headed(figure, len(parts) * 290 - 20, caption)
    for n, part in enumerate(parts):
        axes = panel(drawn, 56, 82 + 290 * n, 240, 302 + 290 * n)
        axes.grid()
        places = list(dict.fromkeys(r["x"] for r in part))
        plain = all(re.fullmatch(r"[\d.]+", p) for p in places)
        at = {x: float(x) if plain else i for i, x in enumerate(places)}
        if min(at.values()) > 0 and max(at.values()) > 4 * min(at.values()):
            axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(list(at.values()), at)
        for i, label in enumerate(dict.fromkeys(r["label"] for r in part)):
            mine = [r for r in part if r["label"] == label]
            for column, style, more in ((OURS[value], "o-", ""),
                                        (f"paper_{value}", "D", ", the paper")):
                points = [(at[r["x"]], r[column]) for r in mine if r[column] != ""]
                if points:
                    axes.plot(*zip(*points), style, color=SERIES[i % len(SERIES)],
                              markersize=5, markerfacecolor="none" if more else None,
                              label=label + more)
        if swept == "share":
            mark_even(axes, part)
        axes.set_ylim(0, None)
        axes.set(ylabel=unit if value == "rate" else value,
                 title=f"Set {part[0]['set']}" if swept else "")
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False,
                    fontsize=SMALL)
        if n == len(parts) - 1:
            axes.set_xlabel({"OMP_NUM_THREADS": "threads",
                             "": figure.values.get("x", "set")}.get(
                                 swept, figure.values.get("x", swept)))
    save(drawn, path)


def mark_even(axes: Any, rows: Sequence[Row]) -> None:
    """p*, from the times of the first label's sides alone."""
    took = {r["x"]: r["run_mean"] for r in rows if r["label"] == rows[0]["label"]}
    host, device = took.get("0"), took.get("100")
    if host and device:
        even = 100 * host / (host + device)
        axes.axvline(even, color=SOFT, linewidth=1, linestyle=(0, (3, 3)))
        axes.text(even, 1.01, f"p* {even:.0f}", transform=axes.get_xaxis_transform(),
                  ha="center", va="bottom", color=SOFT, fontsize=SMALL)


def heat(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """The first label on the first set: x is the sweep, y the rows."""
    rows = [r for r in rows if (r["label"], r["set"]) == (rows[0]["label"],
                                                          rows[0]["set"])]
    xs, ys = (list(dict.fromkeys(r[k] for r in rows)) for k in "xy")
    cells = np.full((len(ys), len(xs)), np.nan)
    for r in rows:
        if r["rate_mean"] != "":
            cells[ys.index(r["y"]), xs.index(r["x"])] = r["rate_mean"]
    drawn = headed(figure, 40 * len(ys) + 20, caption)
    axes = panel(drawn, 80, 72, 120, 72 + 40 * len(ys))
    axes.imshow(cells, cmap="cividis", aspect="auto")
    middle = (np.nanmin(cells) + np.nanmax(cells)) / 2
    for (y, x), value in np.ndenumerate(cells):
        if value == value:
            axes.text(x, y, f"{value:.3g}", ha="center", va="center",
                      color="black" if value > middle else "#fffffe")
    axes.set_xticks(range(len(xs)), xs)
    axes.set_yticks(range(len(ys)), ys)
    axes.set(xlabel=figure.swept(), ylabel=figure.values["rows"].partition(" ")[0])
    words(drawn, PAGE - 110, 84, unit, color=SOFT)
    save(drawn, path)


def write_shares(said: Any, path: Path) -> None:
    """The table that profile=1 prints, as a csv."""
    found = re.findall(r"^(\S.*?) +([\d.]+) % +([\d.]+) +(\d+)$", said, re.M)
    if not found:
        raise SystemExit(f"{path.name}: profile=1 printed no table")
    columns = ["kernel", "share", "seconds", "calls"]
    results.write(path, columns, [dict(zip(columns, row)) for row in found])


def inside(path: Path, figure: Any, found: Any, caption: str) -> None:
    """A figure of one run each: found is [(bar, csv)]."""
    parts = []
    for bar, file in found:
        with file.open(newline="") as f:
            parts.append((bar.label, list(csv.DictReader(f))))
    {"shares": kernels, "trace": trace, "busy": busy}[figure.kind](path, figure, parts,
                                                                   caption)


def kernels(path: Path, figure: Any, parts: Any, caption: str) -> None:
    """A panel for each bar: the kernels, the largest first."""
    top, most = 92, max(float(r["share"]) for _, rows in parts for r in rows)
    drawn = headed(figure, sum(24 * len(rows) + 66 for _, rows in parts) - 20, caption)
    for label, rows in parts:
        axes = panel(drawn, label_width([r["kernel"] for r in rows]), top, 30, top + 24 * len(rows))
        across(axes, [r["kernel"] for r in rows])
        axes.barh(range(len(rows)), [float(r["share"]) for r in rows], 0.7,
                  color=COLOURS["omp"])
        for i, r in enumerate(rows):
            axes.text(float(r["share"]), i, f" {r['share']} %, {r['calls']} calls",
                      va="center", fontsize=SMALL)
        axes.set(title=label, xlim=(0, 1.3 * most))
        top += 24 * len(rows) + 66
    axes.set_xlabel("share of the time, %")
    save(drawn, path)


def trace(path: Path, figure: Any, parts: Any, caption: str) -> None:
    """A panel for each bar: the tiles of the first iterations, a row a thread."""
    top, end = 92, 0.0
    threads = [sorted({int(r["worker"]) for r in rows}) for _, rows in parts]
    drawn = headed(figure, sum(36 * len(who) + 66 for who in threads) - 20, caption)
    panels = []
    for (label, rows), who in zip(parts, threads):
        first = sorted({int(r["iteration"]) for r in rows})[:4]
        mine = [r for r in rows if int(r["iteration"]) in first]
        start = min(float(r["begin_us"]) for r in mine)
        axes = panel(drawn, 80, top, 30, top + 36 * len(who))
        across(axes, [f"thread {w}" for w in who])
        for r in mine:
            begin, stop = float(r["begin_us"]) - start, float(r["end_us"]) - start
            axes.barh(who.index(int(r["worker"])), stop - begin, 0.76, begin,
                      color=SERIES[first.index(int(r["iteration"])) % len(SERIES)],
                      edgecolor=PAPER, linewidth=0.3)
            end = max(end, stop)
        axes.set_title(label)
        panels.append(axes)
        top += 36 * len(who) + 66
    for axes in panels:
        axes.set_xlim(0, 1.02 * end)
    axes.set_xlabel("microseconds; a colour an iteration, a box a tile")
    save(drawn, path)


# ---- what host and device share -------------------------------------------------------

GAP = 76  # px between timelines
# Colours of what is done, the two that differ most first.
DOING = [COLOURS[b] for b in ("omp", "ocl", "cuda", "hybrid", "openacc", "mpi", "hybrid-cuda",
                              "mpi-ocl", "seq")]


def share_curve(path: Path, rows: Sequence[Row], key: str) -> None:
    """What a sweep of shares took (key run: seconds) or reached (key over_sum: its rate
    over the sum of both alone), against the percent of the work that the device had. The
    line is what would be if each side took as long for its part as it takes alone; p* is
    where both end at once. Rows are those of tools/measure/shares.py."""
    of = {r["share"]: r for r in rows}
    took = key == "run"
    value, low, high = ("run_median", "run_low", "run_high") if took else \
        (key, f"{key}_low", f"{key}_high")
    host, device = (float(of[s]["run_median"]) for s in ("0", "100"))
    even = float(of["auto"]["even"])
    figure = sheet(PHONE, 290)
    axes = panel(figure, 46, 62, 16, 250)
    axes.grid()
    p = np.linspace(0, 100, 201)
    model = np.maximum((1 - p / 100) * host, p / 100 * device)
    axes.plot(p, model if took else host * device / (host + device) / model, color=SOFT,
              linewidth=1)
    axes.axvline(even, color=SOFT, linewidth=1, linestyle=(0, (3, 3)))
    swept = sorted((s for s in of if s.isdigit()), key=int)
    for names, style, colour in ((swept, "o-", COLOURS["hybrid"]),
                                 (["auto"], "D", COLOURS["ocl"])):
        y, less, more = ([float(of[s][k]) for s in names] for k in (value, low, high))
        x = [float(of[s]["share_had"] or (even if s == "auto" else s)) for s in names]
        axes.errorbar(x, y, yerr=[[max(0, a - b) for a, b in zip(y, less)],
                                  [max(0, b - a) for a, b in zip(y, more)]],
                      fmt=style, color=colour, markersize=5 if len(names) > 1 else 7,
                      elinewidth=1.2, linewidth=1.2, markeredgecolor=PAPER,
                      markeredgewidth=0.6, zorder=3)
    top = max(float(of[s][high]) for s in (*swept, "auto"))
    axes.set(xlim=(-3, 103), ylim=(0, 1.06 * max(top, 0 if took else 1)),
             xlabel="percent of the work for the device")
    axes.text(even, 1.01, f"p* {even:.0f}", transform=axes.get_xaxis_transform(), ha="center",
              va="bottom", color=SOFT, fontsize=SMALL)
    words(figure, 2, 14, "seconds" if took else "rate over the sum of both sides alone",
          color=SOFT)
    for at, colour, sign, text in ((8, COLOURS["hybrid"], "●", "swept"),
                                   (74, COLOURS["ocl"], "◆", "auto"),
                                   (134, SOFT, "—", "if each were as fast as alone")):
        words(figure, at, 34, sign, color=colour)
        words(figure, at + 15, 34, text, fontsize=SMALL)
    save(figure, path)


def timeline(axes: Any, own: Any, colours: Any, longest: Any) -> None:
    """A row each who; how much of the time they were busy is at the right. What begins at
    0 is a whole run, and has the axis of the longest."""
    begin, end = min(s.begin for s in own), spans.end(own)
    lasts = end - begin or 1
    long = lasts if begin else longest
    scale, unit = next((10.0 ** d, u) for d, u in ((0, "seconds"), (3, "milliseconds"),
                                                   (6, "microseconds"))
                       if long >= 2 * 10.0 ** -d or d == 6)
    rows = spans.by_owner(own)
    across(axes, list(rows))
    for i, found in enumerate(rows.values()):
        for s in found:
            axes.barh(i, scale * (s.end - s.begin), 0.7, scale * (s.begin - begin),
                      color=colours[s.what], edgecolor=PAPER, linewidth=0.3)
        busy = 100 * sum(s.busy for s in found) / lasts
        axes.text(1.005, i, f"{busy:.0f} %", transform=axes.get_yaxis_transform(),
                  va="center", fontsize=SMALL)
    axes.set(xlim=(0, scale * long), xlabel=unit)


def timelines(drawn: Any, top: float, parts: Any) -> None:
    """Panels one below the other, [(title, spans)], and over them what each colour is."""
    doing = list(dict.fromkeys(s.what for _, own in parts for s in own))
    colours = {what: DOING[i % len(DOING)] for i, what in enumerate(doing)}
    x = 12
    for what in doing:
        words(drawn, x, top, "■", color=colours[what])
        words(drawn, x + 15, top, what)
        x += 36 + 7 * len(what)
    left = label_width([who for _, own in parts for who in spans.by_owner(own)])
    longest = max([spans.end(own) for _, own in parts
                   if not min(s.begin for s in own)], default=0) or 1
    top += 44
    for title, own in parts:
        axes = panel(drawn, left, top, 52, top + 26 * len(spans.by_owner(own)))
        timeline(axes, own, colours, longest)
        axes.set_title(title)
        top += 26 * len(spans.by_owner(own)) + GAP


def timelines_high(parts: Any) -> Any:
    return 20 + sum(26 * len(spans.by_owner(own)) + GAP for _, own in parts)


def busy_times(path: Path, parts: Any) -> None:
    """Who was busy when, [(title, spans)]."""
    drawn = sheet(PAGE, timelines_high(parts))
    timelines(drawn, 16, parts)
    save(drawn, path)


def busy(path: Path, figure: Any, parts: Any, caption: str) -> None:
    """A panel for each bar: who was busy when, of the whole run."""
    parts = [(label, spans.merged(own, spans.end(own) / 400)) for label, own in
             ((label, [spans.from_row(r) for r in rows]) for label, rows in parts)]
    drawn = headed(figure, timelines_high(parts) - 40, caption)
    timelines(drawn, 60, parts)
    save(drawn, path)
