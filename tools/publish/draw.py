"""draw.py - the figures of make papers, section and survey, as SVG, with matplotlib.

The look, and light and dark, are those of docs/figures/theme.py. Sizes are inches of a page,
on which a figure is shown at its size. Left out: numbers that are not passed to a function.
"""
from __future__ import annotations

import re
import statistics
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import numpy as np
    from matplotlib.ticker import LogLocator, NullLocator
except ImportError as error:
    raise SystemExit(f"{error.name} not found (Debian: python3-{error.name})") from None

from docs.figures import theme
from tools.history import results, spans, tree
from tools.history.results import Row
from tools.history.spans import Span

if TYPE_CHECKING:
    from tools.measure.survey import Picture

PHONE, CARD, PAGE = 3.54, 2.29, 7.5  # inches: widths on a page
SMALL = 8.5  # points
# Colors of the back-ends on light and on dark pages.
COLOURS = {name: theme.color(*pair) for name, pair in {
    "seq": ("#646c78", "#a9b0ba"), "omp": ("#1c5fab", "#7cb1ee"), "ocl": ("#b04e06", "#f0a25c"),
    "cuda": ("#0b7465", "#5ccfba"), "hybrid": ("#75489c", "#c6a3ea"),
    "openacc": ("#9c2a5b", "#f08fb7"), "hybrid-cuda": ("#63680a", "#ccd05c"),
    "mpi": ("#357a21", "#86cf70"), "mpi-ocl": ("#7a5a48", "#d3b49f")}.items()}
THEIRS = theme.color("#9c2f1f", "#f09a8a")  # a paper's numbers
START = theme.color("#e9b44c", "#c08a1e")  # initialization
# Colors of what has no color of its own, the two that differ most first.
SERIES = [COLOURS[b] for b in ("omp", "ocl", "cuda", "hybrid", "openacc", "mpi", "hybrid-cuda",
                               "mpi-ocl", "seq")] + [THEIRS, START]
COLOURS |= {"cuda-cpu": COLOURS["cuda"], "hybrid-cuda-cpu": COLOURS["hybrid-cuda"]}
MARKS = {"seq": "s", "omp": "o", "ocl": "D", "cuda": "^", "cuda-cpu": "v", "openacc": "P",
         "hybrid": "h", "hybrid-cuda": "H", "hybrid-cuda-cpu": "8", "mpi": "X",
         "mpi-ocl": "d"}
for added in tree.BACKENDS:
    COLOURS.setdefault(added, SERIES[len(COLOURS) % len(SERIES)])
    MARKS.setdefault(added, "*")
DASHED: dict[str, Any] = {"color": theme.GREY, "linewidth": 1, "linestyle": (0, (3, 3))}
PAPER: dict[str, Any] = {"color": THEIRS, "markersize": 6, "markerfacecolor": "none",
                         "linestyle": ""}

theme.plt.rcParams.update({"text.parse_math": False, "axes.axisbelow": True,
                           "xtick.major.size": 0, "ytick.major.size": 0})


# ---- pieces ------------------------------------------------------------------------


def save(figure: Any, path: Path, about: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    theme.save(figure, path, about)


def logarithmic(axis: Any, values: Iterable[float]) -> None:
    """A logarithmic axis with round numbers, on which all values lie."""
    low, high = min(values), max(values)
    axis.axes.set(**{f"{axis.axis_name}scale": "log",
                     f"{axis.axis_name}lim": (low / 1.15, high * 1.15)})
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def key(axes: Any, **more: Any) -> None:
    """The legend, at the right of a panel."""
    axes.legend(**{"loc": "upper left", "bbox_to_anchor": (1, 1), "fontsize": SMALL,
                   "handlelength": 1.5, "borderaxespad": 0, **more})


def across(axes: Any, labels: Sequence[str]) -> None:
    """Bars lie: one label per bar, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def sheet(figure: Any, caption: str, bars: Sequence[float], columns: int = 1) -> tuple[Any, Any]:
    """A page of panels, each as high as so many bars, with the title of a figure of a paper
    and its caption: (figure, panels by row and column)."""
    drawn, panels = theme.figure(
        PAGE, 1.2 + 0.25 * sum(bars) + 0.6 * len(bars), nrows=len(bars), ncols=columns,
        squeeze=False, gridspec_kw={"height_ratios": [n + 0.6 for n in bars]})
    drawn.suptitle(textwrap.fill(figure.heading(), 76), x=0.01, ha="left", fontweight="bold")
    drawn.supxlabel(textwrap.fill(caption, 110), x=0.01, ha="left", fontsize=SMALL,
                    color=theme.GREY)
    return drawn, panels


# ---- what the search sees ------------------------------------------------------------


def greys(axes: Any, samples: Any, most: float, extent: Sequence[float]) -> None:
    """Traces as grey levels, time downwards."""
    axes.imshow(samples.T, cmap="Greys", vmin=-most, vmax=most, aspect="auto", extent=extent)


def section(path: Path, sheets: Any, dt: float) -> None:
    """Panels side by side, (title, midpoints, samples [trace][sample]), in the same greys."""
    figure, panels = theme.figure(PAGE, 3.3, ncols=len(sheets), sharey=True)
    most = np.abs(sheets[-1][2]).max()
    for axes, (title, m, samples) in zip(panels, sheets):
        half = (m[1] - m[0]) / 2
        greys(axes, samples, most, (m[0] - half, m[-1] + half,
                                    (samples.shape[1] - 0.5) * dt, -0.5 * dt))
        axes.set(xlabel="midpoint, m", title=title)
    panels[0].set_ylabel("time, s")
    save(figure, path, "A line of traces: as recorded, filled, and the truth")


def filled_survey(p: Picture) -> None:
    """Panels of traces as greys, and below the SNR of the filled ones."""
    figure, places = theme.figure(PAGE, 5.2)
    places.remove()
    grid = figure.add_gridspec(2, len(p.sheets), height_ratios=(2.2, 1))
    most = 0.6 * np.abs(p.sheets[-2][1]).max()
    for k, (title, samples) in enumerate(p.sheets):
        axes = figure.add_subplot(grid[0, k])
        greys(axes, samples, most, (p.m[0], p.m[-1], p.times[1], p.times[0]))
        axes.set(title=title, xlabel="midpoint, km", ylabel="" if k else "time, s")
        axes.tick_params(labelleft=k == 0)
    axes = figure.add_subplot(grid[1, :])
    for (label, values), colour, marker in zip(p.snr, (theme.A, theme.B), "os"):
        axes.plot(p.dead, values, marker=marker, markersize=4, color=colour, label=label)
    edge = 0.01 * (p.m[-1] - p.m[0])  # so that no marker is cut
    axes.set(xlabel="midpoint of the filled trace, km", ylabel="SNR, dB",
             xlim=(p.m[0] - edge, p.m[-1] + edge))
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.3), ncols=2)
    gain = (p.snr[0][1] - p.snr[1][1]).mean()
    save(figure, p.path, f"The {p.name} survey: traces of one offset, of which some are "
         f"missing; filled; the truth; the difference; below, the signal-to-noise ratio of each "
         f"filled trace, on average {gain:.1f} dB above that of the best NMO mean")


# ---- the figures of the papers -------------------------------------------------------


def device(row: Row) -> str:
    return COLOURS["cuda"] if row["backend"] == "gpu" else COLOURS["omp"]


def paper(path: Path, figure: Any, rows: Sequence[Row], unit: str, caption: str) -> None:
    """A figure of several runs; unit is what the program calls its rate."""
    kinds: dict[str, Callable[..., Any]] = {"bars": bars, "lines": lines, "rates": rates,
                                            "heat": heat}
    save(kinds[figure.kind](figure, rows, unit, caption), path, figure.heading())


def bar(axes: Any, row: Row, i: int, parts: Mapping[str, float], text: str,
        error: float = 0) -> None:
    """One bar of parts {color: length} and a text; without parts, why there is no bar."""
    left = 0.0
    for color, length in parts.items():
        axes.barh(i, length, 0.7, left, color=color)
        left += length
    if error:
        axes.errorbar(left, i, xerr=error, color=theme.INK, elinewidth=1)
    axes.text(left + error, i, f" {text if parts else row['mark']}", va="center",
              color=theme.INK if parts else theme.GREY, fontsize=SMALL)


def bars(figure: Any, rows: Sequence[Row], unit: str, caption: str) -> Any:
    """A row of two panels for each set: seconds, and the speedup over the sequential
    program, the paper's next to it."""
    sets = list(dict.fromkeys(r["set"] for r in rows))
    drawn, panels = sheet(figure, caption, [len(figure.bars)] * len(sets), 2)
    found = [r[k] for r in rows for k in ("speedup", "paper_speedup") if r[k] != ""]
    for name, (times, speed) in zip(sets, panels):
        mine = [r for r in rows if r["set"] == name]
        across(times, [r["label"] for r in mine])
        across(speed, [""] * len(mine))
        logarithmic(speed.xaxis, [1, 1.5, *found])
        speed.axvline(1, color=theme.GREY, linewidth=1)
        for i, r in enumerate(mine):
            total = r["total_mean"]
            bar(times, r, i, {} if total == "" else
                {START: r["init_mean"], device(r): r["run_mean"]},
                total != "" and f"{total:.3g} s", total != "" and r["total_sd"])
            for value, style in (("speedup", {"color": theme.INK}), ("paper_speedup", PAPER)):
                if r[value] != "":
                    speed.plot(r[value], i, "D" if style is PAPER else "o", **style)
        totals = [r["total_mean"] for r in mine if r["total_mean"] != ""]
        times.set(title=f"Set {name}", xlim=(0, 1.4 * max(totals, default=1)))
    for color, label in ((START, "initialization"), (COLOURS["omp"], "execution, CPU"),
                         (COLOURS["cuda"], "execution, GPU")):
        panels[0, 1].plot([], [], "s", color=color, label=label)
    panels[0, 1].plot([], [], "o", color=theme.INK, label="here")
    panels[0, 1].plot([], [], "D", **PAPER, label="the paper")
    key(panels[0, 1])
    panels[-1, 0].set_xlabel("seconds")
    panels[-1, 1].set_xlabel("speedup over the sequential program")
    return drawn


def rates(figure: Any, rows: Sequence[Row], unit: str, caption: str) -> Any:
    """Bars: the mean over the sets, the paper's next to it."""
    labels = list(dict.fromkeys(r["label"] for r in rows))
    drawn, [[axes]] = sheet(figure, caption, [len(labels)])
    across(axes, labels)
    for i, label in enumerate(labels):
        mine = [r for r in rows if r["label"] == label]
        our, their = ([r[k] for r in mine if r[k] != ""] for k in ("rate_mean", "paper_rate"))
        value = statistics.mean(our) if our else 0
        bar(axes, mine[0], i, {device(mine[0]): value} if our else {},
            f"{value:,.0f}" if value >= 1000 else f"{value:.4g}")
        if their:
            axes.plot(statistics.mean(their), i, "D", **PAPER, label="the paper")
            key(axes, handles=axes.lines[-1:])
    axes.margins(x=0.15)
    axes.set(xlim=(0, None), xlabel=unit)
    return drawn


OURS = {"speedup": "speedup", "rate": "rate_mean", "seconds": "run_mean"}


def lines(figure: Any, rows: Sequence[Row], unit: str, caption: str) -> Any:
    """A panel for each set, or one in which the sets are x."""
    swept = figure.swept()
    parts = [[r for r in rows if r["set"] == name] for name in
             dict.fromkeys(r["set"] for r in rows)] if swept else [list(rows)]
    value = figure.values.get("value", "speedup")
    drawn, panels = sheet(figure, caption, [9] * len(parts))
    for [axes], part in zip(panels, parts):
        axes.grid()
        places = list(dict.fromkeys(r["x"] for r in part))
        plain = all(re.fullmatch(r"[\d.]+", p) for p in places)
        at = {x: float(x) if plain else i for i, x in enumerate(places)}
        if min(at.values()) > 0 and max(at.values()) > 4 * min(at.values()):
            axes.set_xscale("log")
        axes.set_xticks(list(at.values()), at)
        axes.xaxis.set_minor_locator(NullLocator())
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
            took = {r["x"]: r["run_mean"] for r in part if r["label"] == part[0]["label"]}
            if took.get("0") and took.get("100"):
                mark_even(axes, 100 * took["0"] / (took["0"] + took["100"]))
        axes.set(ylim=(0, None), ylabel=unit if value == "rate" else value,
                 title=f"Set {part[0]['set']}" if swept else "")
        key(axes)
    name = figure.values.get("x", swept or "set")
    axes.set_xlabel("threads" if swept == "OMP_NUM_THREADS" else name)
    return drawn


def mark_even(axes: Any, even: float) -> None:
    """p*, the percentage of the work with which both sides end at once."""
    axes.axvline(even, **DASHED)
    axes.text(even, 1.01, f"p* {even:.0f}", transform=axes.get_xaxis_transform(), ha="center",
              va="bottom", color=theme.GREY, fontsize=SMALL)


def heat(figure: Any, rows: Sequence[Row], unit: str, caption: str) -> Any:
    """The first label on the first set: x is the sweep, y the rows."""
    rows = [r for r in rows if (r["label"], r["set"]) == (rows[0]["label"], rows[0]["set"])]
    xs, ys = (list(dict.fromkeys(r[k] for r in rows)) for k in "xy")
    cells = np.full((len(ys), len(xs)), np.nan)
    for r in rows:
        if r["rate_mean"] != "":
            cells[ys.index(r["y"]), xs.index(r["x"])] = r["rate_mean"]
    drawn, [[axes]] = sheet(figure, caption, [1.6 * len(ys)])
    image = axes.imshow(cells, cmap="cividis", aspect="auto")
    for (y, x), value in np.ndenumerate(cells):
        if value == value:
            axes.text(x, y, f"{value:.3g}", ha="center", va="center",
                      color="black" if image.norm(value) > 0.5 else "white")
    axes.set_xticks(range(len(xs)), xs)
    axes.set_yticks(range(len(ys)), ys)
    axes.set(xlabel=figure.swept(), ylabel=figure.values["rows"].partition(" ")[0])
    drawn.colorbar(image, label=unit).outline.set_visible(False)
    return drawn


def write_shares(text: str, path: Path) -> None:
    """The table that profile=1 prints, as a csv."""
    found = re.findall(r"^(\S.*?) +([\d.]+) % +([\d.]+) +(\d+)$", text, re.M)
    if not found:
        raise SystemExit(f"{path.name}: profile=1 printed no table")
    columns = ["kernel", "share", "seconds", "calls"]
    results.write(path, columns, [dict(zip(columns, row)) for row in found])


def inside(path: Path, figure: Any, found: Any, caption: str) -> None:
    """A figure of one run each: found is [(bar, csv)]."""
    parts = []
    for label, file in found:
        parts.append((label.label, results.read(file)))
    if figure.kind == "shares":
        drawn = kernels(figure, parts, caption)
    else:
        read = tiles if figure.kind == "trace" else whole_run
        timed = [(label, read(rows)) for label, rows in parts]
        drawn, panels = sheet(figure, caption, [len(spans.by_owner(own)) for _, own in timed])
        timelines(panels, timed)
    save(drawn, path, figure.heading())


def kernels(figure: Any, parts: Any, caption: str) -> Any:
    """A panel for each bar: the kernels, the largest first."""
    drawn, panels = sheet(figure, caption, [len(rows) for _, rows in parts])
    most = max(float(r["share"]) for _, rows in parts for r in rows)
    for [axes], (label, rows) in zip(panels, parts):
        across(axes, [r["kernel"] for r in rows])
        for i, r in enumerate(rows):
            bar(axes, r, i, {COLOURS["omp"]: float(r["share"])},
                f"{r['share']} %, {r['calls']} calls")
        axes.set(title=label, xlim=(0, 1.3 * most))
    axes.set_xlabel("share of the time, %")
    return drawn


# ---- tiles ------------------------------------------------------------------------------


def tiles(rows: Sequence[Mapping[str, str]]) -> list[Span]:
    """The tiles of the first iterations of a trace, from 0 on."""
    first = sorted({int(r["iteration"]) for r in rows})[:4]
    mine = [r for r in rows if int(r["iteration"]) in first]
    start = min(float(r["begin_us"]) for r in mine)
    ends = ((1e-6 * (float(r["begin_us"]) - start), 1e-6 * (float(r["end_us"]) - start), r)
            for r in mine)
    return [Span(begin, end, f"thread {r['worker']}", f"iteration {r['iteration']}",
                 end - begin) for begin, end, r in ends]


def whole_run(rows: Sequence[Mapping[str, str]]) -> list[Span]:
    """The spans of a run that can be told apart in a drawing."""
    own = [spans.from_row(r) for r in rows]
    return spans.merged(own, spans.end(own) / 400)


def timelines(panels: Any, parts: Sequence[tuple[str, Sequence[Span]]]) -> None:
    """Draws who did what when: a panel for each (title, spans), a row for each who, with the
    percentage of the time that it was busy. What begins at 0 is a whole run, and has the
    axis of the longest."""
    doing = list(dict.fromkeys(s.what for _, own in parts for s in own))
    colours = dict(zip(doing, SERIES * len(doing)))
    longest = max([spans.end(own) for _, own in parts
                   if not min(s.begin for s in own)], default=0)
    for [axes], (title, own) in zip(panels, parts):
        begin, rows = min(s.begin for s in own), spans.by_owner(own)
        lasts = spans.end(own) - begin or 1
        length = lasts if begin else longest or 1
        scale, unit = next((10.0 ** d, u) for d, u in ((0, "seconds"), (3, "milliseconds"),
                                                       (6, "microseconds"))
                           if length >= 2 * 10.0 ** -d or d == 6)
        across(axes, [f"{who}, {100 * sum(s.busy for s in found) / lasts:.0f} %"
                      for who, found in rows.items()])
        for i, found in enumerate(rows.values()):
            axes.barh([i] * len(found), [scale * (s.end - s.begin) for s in found], 0.7,
                      [scale * (s.begin - begin) for s in found],
                      color=[colours[s.what] for s in found], edgecolor=theme.FILL,
                      linewidth=0.3)
        axes.set(title=title, xlim=(0, scale * length), xlabel=unit)
    for what, color in colours.items():
        panels[0, 0].plot([], [], "s", color=color, label=what)
    key(panels[0, 0])


