"""picture.py - make picture: draws a survey, the survey with its filled traces, and how well the
traces around them agree.

make picture IN=a.su STACK=filled.su [COHERENCE=coherence.su] [APERTURE=DM,DH] [GAIN=0.25]
[OUT=filled.svg]: STACK is the whole survey, as fill=dead writes it, or has only the filled
traces, and with t0= only a part of their times. Both OUT.svg and OUT.png are written (default:
the name of STACK).

The first row is a section of one half-offset, the one with the most filled traces; the second is
in the order of the survey. Each has up to 240 traces. With COHERENCE, the third column is the
semblance of each filled sample, and with the APERTURE of the job its weight. GAIN: all traces are
divided by the root mean square of the live ones that are shown, over so many seconds; 0: they are
not.
"""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import numpy as np
    from matplotlib.ticker import MaxNLocator

    from docs.figures import theme
except ImportError as error:
    raise SystemExit(f"make picture: {error.name} not found by {sys.executable} (Debian: "
                     f"python3-{error.name}; another Python: make PYTHON=)") from None

from tools.base import options
from tools.publish import segy
from tools.publish.segy import DATA, DEAD, File, Refused

SHOWN = 240       # traces of a row
COLUMNS = 1200    # of a panel, in pixels
CLIP = 98         # percentile of the amplitudes that is black
NOISE, NOISE_MAX = 3, 0.9  # constants of the weight, as in common/semblance/fill.c
WIDTH, HEIGHT = 10.5, 3.9  # inches: the width, and the height of a row


@dataclass
class Survey:
    """The traces of IN and STACK, in one order. Half-offsets, midpoints in metres."""
    source: File
    stack: File
    before: Any    # number of each trace in IN, -1: none
    after: Any     # and in STACK, -1: as in IN
    auxiliary: Any  # whether it is no seismic data,
    missing: Any   # whether it is a trace to be filled,
    filled: Any    # and whether it has been filled
    row: Any       # of each trace, its number in COHERENCE, or -1 if it has none
    m: Any
    h: Any
    t0: float      # of the first sample, s
    dt: float      # s
    shown: slice   # the samples of IN that STACK has, too

    def samples(self, numbers: Any, filled: bool) -> Any:
        """[trace][sample] of some traces; dead and auxiliary ones are NaN."""
        found = np.full((len(numbers), self.source.ns), np.nan)
        old, new = self.source.mapped(), self.stack.mapped()
        for row, i in enumerate(numbers):
            if self.filled[i] and filled:
                found[row, self.shown] = new[self.after[i]]["samples"]
            elif not self.missing[i] and not self.auxiliary[i]:
                found[row] = old[self.before[i]]["samples"]
        return found


# ---- which traces -------------------------------------------------------------------------


def kinds(file: File) -> tuple[Any, Any]:
    """(whether each trace is dead or, if it has data, all zero; whether it is auxiliary, such as
    a sweep), as fill=dead selects them."""
    dead, auxiliary = [], []
    for _, traces in file.blocks():
        trid = file.field(traces, 29, "i2")
        data = np.isin(trid, DATA)
        dead.append((trid == DEAD) | data & ~traces["samples"].any(axis=1))
        auxiliary.append(~data & (trid != DEAD))
    return np.concatenate(dead), np.concatenate(auxiliary)


def places(keys: dict[str, Any], direction: Any = None) -> tuple[Any, Any, Any]:
    """(midpoints, half-offsets, direction) along the line, whose direction has the largest
    spread of the traces with data."""
    s, g = (np.stack([keys[end + "x"], keys[end + "y"]], axis=1) for end in "sg")
    if direction is None:
        data = np.isin(keys["trid"], DATA)
        every = np.concatenate([s[data], g[data]])
        direction = np.linalg.eigh(np.cov((every - every.mean(axis=0)).T))[1][:, -1]
        direction = direction * np.sign(direction[np.argmax(abs(direction))])
    return (s + g) @ direction / 2, (g - s) @ direction / 2, direction


def start(file: File, trace: Any) -> float:
    """The time of the first sample, s."""
    delay, scale = (float(file.field(trace, at, "i2")[0]) for at in (109, 215))
    return 1e-3 * delay * (scale or 1 if scale >= 0 else -1 / scale)


def combine(source: File, stack: File) -> Survey:
    (ns, dt), (part, step) = (segy.check_su([file], "") for file in (source, stack))
    old, new = segy.keys(source), segy.keys(stack)
    dead, auxiliary = kinds(source)
    whole = source.count == stack.count and all(
        (old[k] == new[k]).all() for k in ("sx", "sy", "gx", "gy"))
    m, h, direction = places(old)
    first_live = int(np.argmax(~dead & ~auxiliary))
    t0 = start(source, source.mapped()[first_live:][:1])
    late = (start(stack, stack.mapped()[first_live * whole:][:1]) - t0) / (dt * 1e-6)
    if step != dt or abs(late - round(late)) > 1e-3 or not 0 <= round(late) <= ns - part:
        raise Refused(f"STACK={stack.path}: {part} samples of {step} us: expected samples of "
                      f"{source.path}, which has {ns} of {dt} us")
    # As in the program, places on an oblique line begin at the first source of data.
    data = np.isin(old["trid"], DATA)
    oblique = all(np.ptp(np.concatenate([old[e + xy][data] for e in "sg"])) > 0 for xy in "xy")
    origin = (m - h)[first_live] if oblique else 0.0
    if whole:
        before = after = np.arange(source.count)
        missing, filled = dead, dead & (new["trid"] != DEAD)
        row = np.where(missing, np.cumsum(missing) - 1, -1)
    else:
        order, _ = segy.merged(source, stack)
        of_stack = order >= source.count
        before = np.where(of_stack, -1, order)
        row = after = np.where(of_stack, order - source.count, -1)
        missing = np.concatenate([dead, np.full(stack.count, True)])[order]
        auxiliary = np.concatenate([auxiliary, np.full(stack.count, False)])[order]
        filled = of_stack & np.concatenate([dead, new["trid"] != DEAD])[order]
        more = places(new, direction)
        m, h = (np.concatenate(both)[order] for both in ((m, more[0]), (h, more[1])))
    if not filled.any():
        raise Refused(f"STACK={stack.path}: no filled trace: expected traces that are dead in "
                      f"{source.path}, or others than there")
    return Survey(source, stack, before, after, auxiliary, missing, filled, row, m - origin, h,
                  t0, dt * 1e-6, slice(round(late), round(late) + part))


def one_offset(of: Survey) -> Any:
    """The traces of the half-offset with the most filled ones, by midpoint; of traces at one
    midpoint, the first."""
    steps = np.diff(np.unique(np.round(of.h, 2)))
    reach = 0.25 * np.quantile(steps[steps > 0.5], 0.25) if (steps > 0.5).any() else 0.5
    ordered = np.sort(of.h[of.filled])
    counts = np.searchsorted(ordered, ordered + reach) - np.searchsorted(ordered, ordered - reach)
    # If several offsets have as many, the smallest one is taken: it has most of the events.
    best = min(ordered[counts == counts.max()], key=abs)
    here = np.flatnonzero(abs(of.h - best) <= reach)
    _, first = np.unique(np.round(of.m[here], 2), return_index=True)
    return here[first]


def most_filled(of: Survey, numbers: Any) -> Any:
    """Up to SHOWN of these traces, around the place with the most filled ones."""
    sums = np.concatenate([[0], np.cumsum(of.filled[numbers])])
    width = min(SHOWN, len(numbers))
    found = sums[width:] - sums[:-width]
    best = np.flatnonzero(found == found.max())
    first = int(best[len(best) // 2])
    return numbers[first:first + width]


def weights(of: Survey, coherence: File, aperture: str) -> tuple[Any, str]:
    """(semblance or weight of each missing trace [trace][sample], which of both)"""
    count = (of.row >= 0).sum()
    if (coherence.count, coherence.ns) != (count, of.stack.ns):
        raise Refused(f"COHERENCE={coherence.path}: {coherence.count} traces of {coherence.ns} "
                      f"samples: expected those of the {count} missing traces")
    values = coherence.mapped()["samples"].astype(float)
    if not aperture:
        return values, "semblance"
    try:
        dm, dh = (float(word) for word in aperture.split(","))
    except ValueError:
        raise Refused(f"APERTURE={aperture}: expected DM,DH in metres, as the program printed "
                      f"it") from None
    live, weight = ~of.missing & ~of.auxiliary, np.zeros_like(values)
    for i in np.flatnonzero(of.row >= 0):
        row = of.row[i]
        count = (live & (abs(of.m - of.m[i]) <= dm) & (abs(of.h - of.h[i]) <= dh)).sum()
        noise = min(NOISE / max(count, 1), NOISE_MAX)
        weight[row] = np.maximum(values[row] - noise, 0) / (1 - noise) / np.maximum(
            values[row], 1e-30)
    return weight, "weight"


def chosen(of: Survey, values: Any, numbers: Any) -> Any:
    """Values of missing traces [missing trace][sample] as [trace][sample] of these traces, NaN in
    the others."""
    found = np.full((len(numbers), of.source.ns), np.nan)
    here = of.row[numbers] >= 0
    found[here, of.shown] = values[of.row[numbers[here]]]
    return found


# ---- drawing ------------------------------------------------------------------------------


def columns(x: Any, traces: Any, step: float) -> tuple[Any, tuple[float, float]]:
    """Traces at the places x as pixels [time][column], and the first and last place. Places
    farther than most of a step from a trace are NaN."""
    low, high = x[0] - step / 2, x[-1] + step / 2
    at = np.linspace(low, high, COLUMNS + 1)[:-1] + (high - low) / COLUMNS / 2
    right = np.clip(np.searchsorted(x, at), 1, max(len(x) - 1, 1))
    if len(x) == 1:
        return np.repeat(traces, COLUMNS, axis=0).T, (low, high)
    nearest = np.where(at - x[right - 1] <= x[right] - at, right - 1, right)
    pixels = traces[nearest]
    pixels[abs(x[nearest] - at) > 0.75 * step] = np.nan
    return pixels.T, (low, high)


def gain(traces: Any, seconds: float, dt: float) -> Any:
    """The factor of each sample."""
    if seconds == 0:
        return np.ones(traces.shape[1])
    power = np.nan_to_num(np.nanmean(traces ** 2, axis=0))
    width = min(2 * round(seconds / dt / 2) + 1, 2 * len(power) - 1)
    ones = np.convolve(np.ones_like(power), np.ones(width))[width // 2:][:len(power)]
    mean = np.convolve(power, np.ones(width))[width // 2:][:len(power)] / ones
    return 1 / np.sqrt(np.maximum(mean, 1e-4 * mean.max() or 1))


def draw(of: Survey, values: Any, name: str, seconds: float, png: bool) -> Any:
    """The figure. png: with the colors of light pages, which an SVG file has in a style sheet."""
    def colour(placeholder: str) -> str:
        return theme.COLORS[placeholder][0] if png else placeholder

    section, row = (most_filled(of, numbers)
                    for numbers in (one_offset(of), np.arange(len(of.filled))))
    rows = [(section, of.m[section],
             f"midpoint, m (half-offset {np.median(of.h[section]):.4g} m)"),
            (row, row + 1.0, "trace, in the order of the survey")]
    rows = rows[len(section) < 3:]  # two traces are no section
    figure, panels = theme.figure(WIDTH, 0.6 + HEIGHT * len(rows), nrows=len(rows),
                                  ncols=2 + (values is not None), squeeze=False, sharey=True)
    end = of.t0 + of.source.ns * of.dt
    for axes, (numbers, x, label) in zip(panels, rows):
        before, after = (of.samples(numbers, filled) for filled in (False, True))
        factor = gain(before if np.isfinite(before).any() else after, seconds, of.dt)
        loud = abs(before * factor)[np.isfinite(before)]
        most = float(np.percentile(loud, CLIP)) if len(loud) and loud.any() else 1.0
        step = float(np.median(np.diff(x)))
        sheets = [("input", before * factor, {"cmap": "Greys", "vmin": -most, "vmax": most}),
                  ("filled", after * factor, {"cmap": "Greys", "vmin": -most, "vmax": most})]
        if values is not None:
            sheets.append((f"{name} of the filled samples", chosen(of, values, numbers),
                           {"cmap": "viridis", "vmin": 0, "vmax": 1}))
        for one, (title, traces, style) in zip(axes, sheets):
            pixels, ends = columns(x, traces, step)
            image = one.imshow(pixels, aspect="auto", extent=(*ends, end - of.dt / 2,
                                                              of.t0 - of.dt / 2),
                               interpolation="antialiased", **style)
            one.set_title(title, pad=10)
            one.set_xlabel(label)
            one.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            one.ticklabel_format(axis="x", style="plain", useOffset=False)
            one.set_facecolor(colour(theme.FILL))
            marked = x[of.filled[numbers]]
            one.hlines(np.full(len(marked), 1.012), marked - step / 2, marked + step / 2,
                       colors=colour(theme.B), linewidth=3, clip_on=False,
                       transform=one.get_xaxis_transform())
            one.set_ylim(end - of.dt / 2, of.t0 - of.dt / 2)
        axes[0].set_ylabel("time, s")
        if values is not None:
            figure.colorbar(image, ax=axes[-1], shrink=0.8, pad=0.02)
    scale = f"divided by the RMS over {seconds:g} s" if seconds else "no gain"
    stays = int((of.missing & ~of.filled).sum())
    figure.suptitle(
        f"{Path(of.source.path).name}: {int(of.filled.sum())} of {len(of.filled)} traces filled "
        f"(orange bars)" + (f", {stays} stay dead" if stays else "") +
        f"; {scale}, black at the {CLIP}th percentile", x=0.01, ha="left", fontsize=10)
    return figure


def main(words: list[str] | None = None) -> int:
    parser = options.parser(__doc__, "IN", "STACK", "COHERENCE", "APERTURE", "GAIN", "OUT")
    given = vars(options.parse(parser, words))
    base = os.path.splitext(given["out"] or given["stack"])[0]
    try:
        for name in "IN", "STACK":
            if not given[name.lower()]:
                raise Refused(f"{name}= is not set: expected make picture IN=FILE STACK=FILE")
        try:
            seconds = float(given["gain"] or 0.25)
        except ValueError:
            seconds = -1
        if not 0 <= seconds < float("inf"):
            raise Refused(f"GAIN={given['gain']}: expected seconds, or 0 for none")
        of = combine(segy.read_su(given["in"]), segy.read_su(given["stack"]))
        values, name = weights(of, segy.read_su(given["coherence"]), given["aperture"]) \
            if given["coherence"] else (None, "")
        inputs = [given[k] for k in ("in", "stack", "coherence") if given[k]]
        about = f"The survey {given['in']} and the same with its missing traces filled"
        for end in "svg", "png":
            with theme.colors_of(end), segy.result(f"{base}.{end}", *inputs) as out:
                figure = draw(of, values, name, seconds, end == "png")
                theme.save(figure, out.name, about, end)
            print(f"{base}.{end}")
    except Refused as reason:
        print(f"make picture: {reason}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"make picture: {error.filename or base}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    segy.stop_cleanly()
    sys.exit(main())
