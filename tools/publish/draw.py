"""draw.py - the figures of make papers, section and survey, as SVG, with matplotlib.

The look, and light and dark, are those of docs/figures/theme.py. Sizes are inches of a page,
on which a figure is shown at its size. Left out: numbers that are not passed to a function.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import numpy as np
    from matplotlib.ticker import LogLocator, NullLocator
except ImportError as error:
    raise SystemExit(f"{error.name} not found (Debian: python3-{error.name})") from None

from docs.figures import theme

if TYPE_CHECKING:
    from tools.publish.survey import Picture

PAGE = 7.5  # inches, the width of a page
# Colors on light and on dark pages, the two that differ most first, and a paper's numbers.
SERIES = [theme.color(*pair) for pair in (
    ("#1c5fab", "#7cb1ee"), ("#b04e06", "#f0a25c"), ("#0b7465", "#5ccfba"),
    ("#75489c", "#c6a3ea"), ("#9c2a5b", "#f08fb7"), ("#357a21", "#86cf70"),
    ("#646c78", "#a9b0ba"))]
THEIRS = theme.color("#9c2f1f", "#f09a8a")
SHAPES = "osD^vPX"

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
    axes.legend(**{"loc": "upper left", "bbox_to_anchor": (1, 1), "fontsize": 8.5,
                   "handlelength": 1.5, "borderaxespad": 0, **more})


def across(axes: Any, labels: Sequence[str]) -> None:
    """Bars lie: one label per bar, the first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


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
