"""jobs.py - random jobs of the main program: a survey, the options that fill it, and what a run
of them gives. test_job_relations.py and test_pairs.py change jobs in ways whose effect is known;
test_section_oracle.py compares them with an oracle.

All positions are multiples of 1/4 m and all ranges multiples of powers of two, so that shifts,
scales by powers of two and other units need no rounding: the results are then equal to the
last bit. An oracle needs no such values: loosen() changes them.
"""
from __future__ import annotations

import dataclasses
import math
import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from tests.helpers import TIMEOUT, binaries, printed
from tests.test_cluster import ranks
from tools.verify import section_oracle as oracle

DEAD = 2
MARK = slice(228, 240)  # the mark of the job in a header
# Units of A to E: about the range of a parameter is 100 of them.
UNITS = [2.0 ** -20, 2.0 ** -20, 2.0 ** -28, 2.0 ** -28, 2.0 ** -29]


@dataclass
class Trace:
    s: float  # positions of source and receiver along the line, metres
    g: float
    row: Any  # float32 samples
    fields: dict[str, int] = field(default_factory=dict)  # of the header
    dead: bool = False
    across: float = 0  # metres, in addition to that of the job
    head: bytes = bytes(oracle.HEADER)  # what the header has in other bytes


@dataclass
class Row:
    """Ranges at a time and a half-offset."""
    t0: float
    h0: float | None
    values: list[tuple[float, float, int]]  # P0, P1, N of A to E


@dataclass
class Job:
    traces: list[Trace]
    dt: int               # microseconds
    output: str           # grid, places, ends (of sources and receivers) or dead
    places: list[tuple[float, float]]  # midpoint and half-offset, unless output is dead
    t0: tuple[int, int, int] | None    # first sample from time 0 on, step and count
    rows: list[Row] | None             # None: velocity
    velocity: list[tuple[float, float, float]] | None  # time, smallest, largest
    form: str             # older, spaced, file: how ranges or velocity are written
    aperture: tuple[float, float] | None
    tau: float | None     # seconds
    mute: list[tuple[float, float]] | float | None
    options: dict[str, str]
    dip: float | None = None
    period: float | None = None
    average: float | None = None
    delay: int = 0        # samples from time 0 to the first one
    axis: str = "x"
    angle: float | None = None  # of an oblique line
    start: tuple[int, int] = 5000, -3000  # of this line, metres
    scalco: int = -4
    across: float = 0     # the other coordinate, metres
    order: str = "<"
    axis_set: bool = False   # whether axis= and order= are set
    order_set: bool = False

    def copy(self, **changes: Any) -> Job:
        """A job with other values; traces and rows may be changed."""
        job = dataclasses.replace(self, **{
            "traces": [dataclasses.replace(t, fields=dict(t.fields)) for t in self.traces],
            "options": dict(self.options), **changes})
        return job

    @property
    def ns(self) -> int:
        return len(self.traces[0].row)

    def coordinate(self, metres: float) -> int:
        scale = self.scalco
        return round(metres * -scale if scale < 0 else metres / (scale or 1))

    def header(self, t: Trace) -> dict[str, int]:
        other = "y" if self.axis == "x" else "x"
        across = self.across + t.across
        at = {"s" + self.axis: t.s, "g" + self.axis: t.g, "s" + other: across, "g" + other: across}
        if self.angle is not None:
            at = {end + axis: start + turn(self.angle) * x for end, x in (("s", t.s), ("g", t.g))
                  for axis, start, turn in zip("xy", self.start, (math.cos, math.sin))}
        return {"trid": DEAD if t.dead else 1, "delrt": self.delay * self.dt // 1000, **t.fields,
                "scalco": self.scalco, "ns": self.ns, "dt": self.dt,
                **{name: self.coordinate(x) for name, x in at.items()}}

    def survey(self) -> bytes:
        return b"".join(oracle.put(self.header(t), self.order, t.head)
                        + t.row.astype(self.order + "f4").tobytes() for t in self.traces)

    def words(self, folder: Path) -> list[str]:
        """Writes the files of the job; its options, without those of the outputs."""
        (folder / "in.su").write_bytes(self.survey())
        dt, words = self.dt * 1e-6, {"in": "in.su", **self.options}
        if self.output == "dead":
            words["fill"] = "dead"
        elif self.output == "grid":
            m, h = ([p[k] for p in self.places] for k in (0, 1))
            count = next((i for i in range(1, len(m)) if m[i] != m[0]), len(m))
            words["m0"] = series(m[::count], len(m) // count)
            words["h0"] = series(h[:count], count)
        else:
            ends = self.output == "ends"
            rows = [(m - h, m + h) for m, h in self.places] if ends else self.places
            (folder / "places.txt").write_text("sx gx  # metres\n" * ends + "".join(
                f"{x!r}\t{y!r}\n" for x, y in rows))
            words["positions"] = "places.txt"
        if self.t0:
            first, step, count = self.t0
            words["t0"] = f"{first * dt!r},{step * dt!r},{count}"
        if self.rows:
            words |= self.write_rows(folder)
        if self.velocity:
            (_, low, high), *others = self.velocity
            words["velocity"] = f"{low!r},{high!r}"
            if others or self.form == "file":
                words["velocity"] = "velocity.txt"
                (folder / "velocity.txt").write_text("".join(
                    f"{t!r} {(a + b) / 2!r} {(b - a) / 2!r}\n" for t, a, b in self.velocity))
        if self.aperture:
            words["aperture"] = "{!r},{!r}".format(*self.aperture)
        if isinstance(self.mute, float):
            words["mute"] = repr(self.mute)
        elif self.mute:
            words["mute"] = "mute.txt"
            (folder / "mute.txt").write_text("".join(f"{x!r} {t!r}\n" for x, t in self.mute))
        if self.axis_set:
            words["axis"] = self.axis
        if self.order_set:
            words["order"] = "little" if self.order == "<" else "big"
        for name in "tau", "dip", "period", "average":
            if getattr(self, name) is not None:
                words[name] = repr(getattr(self, name))
        return [f"{key}={value}" for key, value in words.items()]

    def write_rows(self, folder: Path) -> dict[str, str]:
        assert self.rows
        if len(self.rows) > 1 or self.form == "file":
            (folder / "ranges.txt").write_text("# t0 h0 A to E\n\n" + "".join(" ".join(
                [repr(r.t0), *[repr(r.h0)] * (r.h0 is not None),
                 *(f"{p0!r} {p1!r} {n}" for p0, p1, n in r.values)]) + "\n" for r in self.rows))
            return {"ranges": "ranges.txt"}
        if self.form == "older":
            return {key: f"{p0!r},{p1!r},{n}"
                    for key, (p0, p1, n) in zip("abcde", self.rows[0].values, strict=True)}
        return {key: f"{p0!r}:{p0 + (p1 - p0) / n * (n - 1)!r}:{n}" if n > 1 else repr(p0)
                for key, (p0, p1, n) in zip("abcde", self.rows[0].values, strict=True)}


def series(values: Sequence[float], count: int) -> str:
    return f"{values[0]!r}:{values[-1]!r}:{count}" if count > 1 else repr(values[0])


# ---- drawing -------------------------------------------------------------------------

# The values of each factor of a job; test_pairs.py combines each with each.
FACTORS: dict[str, tuple[Any, ...]] = {
    "output": ("grid", "places", "ends", "dead"),
    "t0": ("all", "some", "every other", "one"),
    "ranges": ("older", "spaced", "file", "times", "offsets", "pair", "velocities"),
    "aperture": ("narrow", "wide", "none"),
    "tau": (0, 1, 3, None),  # samples
    "mute": ("none", "table", "stretch"),
    "window": ("parallel", "moveout"),
    "search": ("full", "coarse"),
    "smooth": ("centre", "window"),
    "weight": ("semblance", "none"),
    "refine": (None, "0", "1"),
    "average": (None, 0, 2),  # samples
    "passes": ("1", "2"),
    "choose": ("0", "1"),
    "lost": ("none", "lot", "first", "shot", "most"),  # dead traces
    "zero": ("none", "some"),  # traces that are zero
    "delay": (0, 6, -7),  # samples
    "axis": ("x", "y"),
    "order": ("<", ">"),
    "scalco": (-4, -8, -16, 1),
    "bad": ("refuse", "skip"),
    "axis_set": (False, True),
    "order_set": (False, True),
    "period": (None, 8),  # samples
    "dip": (None, 2.0 ** -13),
    "size": ("small", "long", "many"),  # many samples, or traces in an aperture
}


def possible(choice: Mapping[str, Any]) -> bool:
    """Whether a job may have these values of some factors."""
    get = choice.get
    velocity = get("ranges") in ("pair", "velocities")
    rows = get("ranges", "pair") not in ("pair", "velocities")
    consecutive = get("window") == "moveout" or get("passes") == "2" or get("choose") == "1"
    return not (
        (rows and (get("mute") == "stretch" or get("choose") == "1" or get("period") or get("dip")))
        or ("ranges" in choice and not velocity and "tau" in choice and get("tau") is None)
        or (velocity and get("aperture") == "none" and get("lost") == "shot")
        or (get("output") == "dead" and (get("t0", "all") != "all" or (
            "lost" in choice and get("lost") == "none" and get("zero", "some") == "none")))
        # The distances of shots are not known, or all traces are dead.
        or (get("lost") == "most" and (not rows or get("zero") == "some"))
        or (get("window") == "moveout" and (
            get("smooth") == "window" or get("search") == "coarse"))
        or (get("size") == "many" and (get("passes") == "2" or get("choose") == "1"))
        or (consecutive and get("t0") == "every other")
        # Few live traces, of which choose= leaves some out; it takes long.
        or (get("choose") == "1" and (
            get("aperture") == "narrow" or get("lost") == "shot" or get("size", "small") != "small"
            or ("dip" in choice and not get("dip")))))


def draw_choice(rng: random.Random, **fixed: Any) -> dict[str, Any]:
    """A value of each factor; some are fixed."""
    for _ in range(100000):
        choice = {name: fixed.get(name, rng.choice(values)) for name, values in FACTORS.items()}
        if "choose" not in fixed and rng.random() < 0.93:
            choice["choose"] = "0"  # it takes 20 times as long
        if "size" not in fixed and rng.random() < 0.3:
            choice["size"] = "small"
        if possible(choice):
            return choice
    raise ValueError(f"no job has {fixed}")


def draw(rng: random.Random, **fixed: Any) -> Job:
    """A random job with these values of factors."""
    choice = draw_choice(rng, **fixed)
    dt, ns = rng.choice((1000, 2000, 4000)), rng.choice((41, 56, 64))
    velocity = choice["ranges"] in ("pair", "velocities")
    if velocity:  # D has fixed bounds: many values if the samples are short
        slow = choice["passes"] == "2" or choice["choose"] == "1"
        dt = 4000 if slow else rng.choice((2000, 4000))
    if choice["size"] == "long":
        ns = 150  # more than a chunk of samples
    delay, fraction = choice["delay"], 1 if choice["scalco"] == 1 else 4
    shots, channels = (7, 6) if choice["choose"] == "1" else rng.choice(((5, 4), (4, 5), (6, 4)))
    if choice["size"] == "many":
        shots, channels = 11, 8  # more than a group of traces
    shot_gap, gap = rng.choice((20, 25, 33)), rng.choice((20, 25))
    scale = dt / 2000  # of times; the moveout is in samples
    start = rng.randint(-4000, 4000)
    bent, period = rng.uniform(0, 0.3), rng.choice((7, 9)) * dt * 1e-6
    numbers = numpy.random.default_rng(rng.getrandbits(32))
    traces: list[Trace] = []
    for shot in range(shots):
        s = start + shot * shot_gap + rng.randrange(fraction) / fraction
        for channel in range(channels):
            g = s + 40 + channel * gap
            x = (g - s) / 2000 * scale  # seconds at 2000 m/s and 2 ms
            times = (numpy.arange(ns) + delay) * dt * 1e-6
            row = 0.1 * numbers.standard_normal(ns)
            for t, dip in (0.024, 1), (0.055, -1), (0.085, 1):
                arrival = numpy.hypot(t * scale, x) + dip * bent * 1e-4 * scale * shot * shot_gap
                u = numpy.pi / period * 0.863 * (times - arrival)
                row += (1 - 2 * u * u) * numpy.exp(-u * u)
            traces.append(Trace(s, g, row.astype("f4"), {
                "tracl": len(traces) + 1, "tracr": len(traces) + 1, "fldr": 10 + shot,
                "ep": 50 + 2 * shot, "tracf": channel + 1, "cdp": round((s + g) / 2 - start),
                "offset": round(g - s), "selev": 7 * shot, "gelev": round(g - start),
                "scalel": -10, "counit": 1}))
    lose(rng, choice, traces, channels)

    job = Job(traces, dt, choice["output"], [], None, None, None, "file", None, None, None, {},
              delay=delay, axis=choice["axis"], scalco=choice["scalco"],
              across=rng.choice((0, 7, -123)), order=choice["order"],
              axis_set=choice["axis_set"], order_set=choice["order_set"])
    if job.output != "dead":
        job.places = draw_places(rng, job, start, shots * shot_gap, gap)
    draw_times(rng, job, choice)
    draw_ranges(rng, job, choice, scale)
    if choice["aperture"] != "none":
        # About two shots, or most of the line; three channels, or most.
        wide = choice["aperture"] == "wide"
        low, high = ((45, 60), (31, 36)) if wide else ((26, 36), (21, 26))
        if velocity and wide:
            low, high = (32, 40), (27, 32)
        job.aperture = rng.randint(*low) + 0.3, rng.randint(*high) + 0.2
        if choice["size"] == "many" and wide and not velocity:
            job.aperture = 300.3, 110.2
    if choice["tau"] is not None:
        job.tau = choice["tau"] * dt * 1e-6
    if choice["average"] is not None:
        job.average = choice["average"] * dt * 1e-6
    if choice["mute"] == "stretch":
        job.mute = rng.choice((0.25, 0.5))
    elif choice["mute"] == "table":
        job.mute = [(45.0, rng.randint(4, 9) * dt * 1e-6),
                    (90.0, (rng.randint(9, 14) + rng.choice((0, 0.5))) * dt * 1e-6)]
    for name in "window", "search", "smooth", "weight", "refine", "passes", "choose", "bad":
        default = {"refine": None, "weight": "semblance", "passes": "1"}.get(name, FACTORS[name][0])
        if choice[name] is not None and (choice[name] != default or rng.random() < 0.2):
            job.options[name] = choice[name]
    reach = job.aperture or (0.6 * shot_gap, 5 * gap)
    if choice["choose"] == "1" and len(live_traces(job, reach)) < 9:
        return draw(rng, **choice)  # it needs 8
    return job


def live_traces(job: Job, reach: tuple[float, float]) -> list[int]:
    """The numbers of the live traces in the apertures."""
    gone = [t.dead or not numpy.isfinite(t.row).all() for t in job.traces]
    if job.output == "dead":
        gone = [dead or not t.row.any() for dead, t in zip(gone, job.traces, strict=True)]
    places = job.places or [((t.s + t.g) / 2, (t.g - t.s) / 2)
                            for dead, t in zip(gone, job.traces, strict=True) if dead]
    return [i for i, (dead, t) in enumerate(zip(gone, job.traces, strict=True)) if not dead
            and any(abs((t.s + t.g) / 2 - m) <= reach[0] and abs((t.g - t.s) / 2 - h) <= reach[1]
                    for m, h in places)]


def lose(rng: random.Random, choice: Mapping[str, Any], traces: list[Trace], channels: int) -> None:
    """Makes traces dead and zero, and writes into them what must not be used."""
    some = rng.sample(range(len(traces)), rng.randint(1, 4))
    middle = channels * (len(traces) // channels // 2)
    lost: Any = {"none": [], "lot": some, "first": [0, *rng.sample(range(1, channels), 2)],
            "shot": range(middle, middle + channels),
            "most": rng.sample(range(len(traces)), len(traces) - rng.randint(2, 5))}[choice["lost"]]
    for i in lost:
        traces[i].dead = True
        traces[i].fields |= {"delrt": 33, "scalel": 1, "counit": 3, "offset": -7}
        if rng.random() < 0.5:
            traces[i].row = numpy.full_like(traces[i].row, 1e3)
    if choice["zero"] == "some":
        for i in rng.sample(range(len(traces)), 2):
            traces[i].row = numpy.zeros_like(traces[i].row)
    if choice["bad"] == "skip":
        bad = traces[rng.randrange(len(traces))].row = traces[-1].row.copy()
        bad[rng.randrange(len(bad))] = rng.choice((numpy.nan, numpy.inf, -numpy.inf))


def draw_places(rng: random.Random, job: Job, start: int, length: int, gap: int
                ) -> list[tuple[float, float]]:
    fraction = 1 if job.scalco == 1 else 4
    m = start + length // 2 + rng.randint(20, 60) + rng.randrange(fraction) / fraction
    h = 20 + rng.randint(0, 2 * gap) + rng.randrange(fraction) / fraction
    if job.output == "grid":
        step_m, step_h = rng.choice((8, -11.5, 20)), rng.choice((10, -12.5))
        if fraction == 1:
            step_m, step_h = 2 * step_m // 2, 2 * step_h // 2
        counts = rng.choice(((1, 1), (1, 2), (2, 1), (3, 1), (2, 2)))
        return [(m + i * step_m, h + k * step_h) for i in range(counts[0])
                for k in range(counts[1])]
    places = [(m + rng.randint(-80, 80) / 4, h + rng.randint(-40, 40) / 4)
              for _ in range(rng.choice((1, 3, 4)))]
    if rng.random() < 0.3:  # one place twice, and one next to it, which has the same aperture
        places += [places[0], (places[0][0] + 1, places[0][1]), places[0]]
    return places + [(m + 9000, h)] * (rng.random() < 0.2)  # its aperture may be empty


def below_whole(job: Job, first: int) -> bool:
    """Whether a quotient of the time of a sample and the sampling interval is below the whole
    number that it stands for."""
    return (first * (job.dt * 1e-6) - job.delay * job.dt // 1000 * 1e-3) * 1e6 / job.dt \
        < first - job.delay


def draw_times(rng: random.Random, job: Job, choice: Mapping[str, Any]) -> None:
    begin, end = max(0, job.delay), job.ns + job.delay  # samples that exist
    if choice["t0"] == "one":
        job.t0 = rng.randint(begin + 10, end - 1), 1, 1
    elif choice["t0"] == "every other":
        job.t0 = begin + rng.randint(0, 4), 2, rng.randint(5, 15)
    elif choice["t0"] == "some":
        first = begin + rng.randint(0, 9)
        awkward = [k for k in range(begin, end - 2) if below_whole(job, k)]
        if awkward and rng.random() < 0.5:
            first = rng.choice(awkward)
        most = 5 if choice["choose"] == "1" else end - first
        job.t0 = first, 1, min(rng.randint(2, max(2, most)), end - first)


def draw_ranges(rng: random.Random, job: Job, choice: Mapping[str, Any], scale: float) -> None:
    kind = choice["ranges"]
    if kind in ("pair", "velocities"):
        low, high = rng.choice(((1600.0, 2400.0), (1750.0, 2250.0)))
        # Moveout in samples is that of 2 ms.
        low, high = low / scale, high / scale
        job.velocity = [(0.0, low, high)]
        job.form = rng.choice(("older", "file"))
        if kind == "velocities":
            job.velocity = [(0.02 * scale, low, high), (0.09 * scale, low + 64, high + 128)]
        job.period = choice["period"] and choice["period"] * job.dt * 1e-6
        job.dip = choice["dip"] and choice["dip"] * scale
        return

    def values() -> list[tuple[float, float, int]]:
        """P0, P1 and N of A to E; some have one value."""
        found = []
        for k, (unit, low, high, most) in enumerate(zip(
                UNITS, (-200, 0, 0, -20, -50), (200, 500, 300, 200, 50), (4, 4, 3, 3, 2),
                strict=True)):
            factor = scale if k < 2 else scale * scale
            n = rng.randint(1, most)
            p0, width = rng.randint(low, high), rng.randint(5, high // n + 5)
            if n == 1 and (kind == "spaced" or rng.random() < 0.5):
                width = 0  # refine=1 does not move the value
            found.append((p0 * unit * factor, (p0 + n * width) * unit * factor, n))
        return found

    job.form = kind if kind in ("older", "spaced") else "file"
    end = (job.ns + job.delay) * job.dt * 1e-6
    times = [0.0] if kind in ("older", "spaced", "file") else [0.0, 0.375 * end, end]
    offsets: list[float | None] = [None] if kind != "offsets" else [-256.0, 32.0, 256.0]
    job.rows = [Row(t, h, values()) for h in offsets for t in times]


# ---- values that round ---------------------------------------------------------------


def loosen(rng: random.Random, job: Job) -> None:
    """Changes a job to values that only an oracle can judge: other units and positions, lines
    that are oblique or not straight, other kinds of traces, fields and amplitudes."""
    lot = random.Random(rng.getrandbits(32))

    def some(*values: Any) -> Any:
        """One of the values; of most jobs the first."""
        return values[0] if rng.random() < 0.5 else rng.choice(values)

    job.scalco = some(job.scalco, 0, -1, -10, -100, 10, -1000)
    unit = 1 / -job.scalco if job.scalco < 0 else float(job.scalco or 1)
    origin = some(0, 6100000 if job.scalco >= -100 else -2000)
    sign, mixed = lot.choice((1, -1, 0)), lot.random() < 0.3
    kinds, tenths = lot.choice(((1,), (1, 1, 0), (11,), (12,), (17,))), lot.random() < 0.3
    loud, constant = some(1, 1e-5, 1e4), some(0, 20, 1000) if job.ns < 50 else 0
    reach = 3 if job.velocity else some(0, 3)  # of stations that are not at equal distances
    station = {x: x + origin + lot.uniform(-reach, reach) for t in job.traces for x in (t.s, t.g)}
    for t in job.traces:
        t.s, t.g = (round(station[x] / unit) * unit for x in (t.s, t.g))
        if t.row.any():
            t.row = (loud * (t.row + constant)).astype("f4")
        if not t.dead:
            t.fields |= {"trid": lot.choice(kinds), "offset": round(t.g - t.s) * (
                lot.choice((-1, 0, 1)) if mixed else sign)}
            if tenths:
                t.fields |= {"tscale": -10, "delrt": job.delay * job.dt // 100}
    shift = some(0, 10, 2.5, -0.7, 0.125, 5000)
    job.places = [(m + origin + shift, h if job.output == "grid" else h + some(0, 0.37, -1.21))
                  for m, h in job.places]
    live = [t for t in job.traces if not t.dead and numpy.isfinite(t.row).all() and t.row.any()]
    if len(live) > 8 and "choose" not in job.options:
        for t in some([], live[2::3]):
            t.fields |= {"trid": lot.choice((-1, 3, 4, 6, 10, 18, 28, 300)), "delrt": 3,
                         "tscale": 5, "counit": 3, "offset": 77}
    line = some("straight", "crooked", "oblique")
    if line == "oblique" and unit < 1:
        job.angle, job.axis_set, start = lot.uniform(-0.7, 0.7), False, live[0].s
        if job.scalco >= -100:
            job.start = lot.choice((job.start, (455000, 6100000)))
        for t in job.traces:
            t.s, t.g = t.s - start, t.g - start
        job.places = [(m - start, h) for m, h in job.places]
    elif line == "crooked":
        job.axis_set = True
        for t in job.traces:
            t.across = lot.randrange(40)
    if some(False, True):  # fields of which nothing is known
        for t in job.traces:
            t.head = lot.randbytes(oracle.HEADER)
            t.fields = {name: lot.randrange(-90, 900) for name in (
                "year", "tracl", "tracr", *oracle.ELEVATIONS)} | {"tscale": 0} | t.fields
    if job.tau is not None:
        job.tau += some(0, 0.5) * job.dt * 1e-6
    job.average = some(job.average, 2.5 * job.dt * 1e-6)
    if isinstance(job.mute, float):
        job.mute = some(job.mute, 0.1, 2.0)
    rows = job.rows or []
    # Between rows, a number of values is seldom a whole one; many D and E hardly move an arrival.
    many = rng.random() < 0.1 and job.options.get("passes") != "2"
    counts = [n for _, _, n in rows[0].values] if rows else []
    for row in rows:
        row.values = [(p0, p0 + 12 * 2.0 ** -34, 12) if many and k > 2 else (p0, p1, n)
                      for k, ((p0, p1, _), n) in enumerate(zip(row.values, counts, strict=True))]


# ---- running -------------------------------------------------------------------------


@dataclass
class Result:
    status: int
    err: str
    values: dict[str, str]  # printed, without times
    headers: list[bytes]    # of the output traces, without the mark of the job
    marks: list[bytes]
    stack: Any
    coherence: Any
    parameters: Any
    whole: bytes            # the survey with the filled traces, for fill=dead

    def fields(self, names: Sequence[str]) -> list[list[int]]:
        return [[oracle.get(h, name, "=") for name in names] for h in self.headers]


EVERYTHING = "stack", "coherence", "parameters"


def remove(folder: Path, prefix: str) -> None:
    for path in folder.glob(prefix + "*"):
        path.unlink()


def launch(binary: tuple[str, str, str], words: Sequence[str], folder: Path,
           variables: Mapping[str, str] | None = None, number: int = 2
           ) -> subprocess.CompletedProcess[str]:
    """Runs a back-end: (step, back-end, path)."""
    _, backend, path = binary
    env = {"OMP_NUM_THREADS": "2", **(variables or {})}
    if backend.startswith("mpi"):
        ended = ranks(path, words, folder, number, {**env, "OMP_NUM_THREADS": "1"})
        return subprocess.CompletedProcess(words, ended.returncode, ended.out, ended.err)
    return subprocess.run([os.path.abspath(path), *words], cwd=folder, text=True,
                          env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT)


def outputs(prefix: str, wanted: Sequence[str] = EVERYTHING) -> list[str]:
    return [f"{key}={prefix}{key}" for key in wanted]


def result(job: Job, folder: Path, prefix: str, ended: subprocess.CompletedProcess[str]
           ) -> Result:
    """What a run has left in a folder."""
    values = {key: value for key, value in printed(ended.stdout).items()
              if not key.startswith(("Time_", "Share", "Check_", "Mean_", "Dip_"))}
    found = Result(ended.returncode, ended.stderr, values, [], [], None, None, None, b"")
    if ended.returncode:
        return found
    if job.output == "dead":
        found.whole = (folder / f"{prefix}stack").read_bytes()
    for key in "coherence", "stack":
        path = folder / (prefix + key + ".filled" * (job.output == "dead" and key == "stack"))
        if not path.exists():
            continue
        headers, rows = oracle.split(path, "=")
        setattr(found, key, rows.astype("f4"))
        found.headers = [h[:MARK.start] for h in headers]
        found.marks = [h[MARK] for h in headers]
    if (folder / f"{prefix}parameters").exists():
        found.parameters = numpy.load(folder / f"{prefix}parameters")
    return found


def run_job(job: Job, binary: tuple[str, str, str], folder: Path,
            variables: Mapping[str, str] | None = None, more: Sequence[str] = (),
            wanted: Sequence[str] = EVERYTHING, number: int = 2) -> Result:
    """Runs a job anew."""
    remove(folder, "one-")
    words = [*job.words(folder), *outputs("one-", wanted), *more]
    return result(job, folder, "one-", launch(binary, words, folder, variables, number))


def chosen(*wanted: str) -> list[tuple[str, str, str]]:
    """(step, back-end, path) of the binaries that are built, of those named "10 omp"; a path
    that is not built is left out."""
    return [b for b in binaries("semblance") if f"{b[0][:2]} {b[1]}" in wanted]


# ---- comparing -----------------------------------------------------------------------


def differ(a: Any, b: Any) -> str:
    """Where two arrays have other bytes; empty if they are equal. 0 and -0 are equal."""
    if a is None or b is None:
        return "" if a is b else "one is missing"
    if a.shape != b.shape:
        return f"shapes {a.shape}, {b.shape}"
    wrong = ~((a == b) | (numpy.isnan(a) & numpy.isnan(b)))
    if not wrong.any():
        return ""
    first = tuple(map(int, numpy.argwhere(wrong)[0]))
    return f"{wrong.sum()} of {wrong.size}, first {first}: {a[first]!r}, {b[first]!r}"


def unequal(a: Result, b: Result, headers: Sequence[str] | None = None, printed: bool = True
            ) -> str:
    """What differs between two results: samples, printed values, and all bytes of the headers
    or the named fields. Empty if nothing does."""
    if a.status or b.status:
        return f"status {a.status} and {b.status}: {a.err}{b.err}"
    if printed and a.values != b.values:
        return f"printed {a.values}, {b.values}"
    for name in "coherence", "parameters", "stack":
        if text := differ(getattr(a, name), getattr(b, name)):
            return f"{name}: {text}"
    if headers is None and a.headers != b.headers:
        names = [name for name in oracle.FIELDS
                 if a.fields([name]) != b.fields([name])]
        return f"headers: {names}"
    if headers and a.fields(headers) != b.fields(headers):
        return f"headers {headers}: {a.fields(headers)}, {b.fields(headers)}"
    return ""


# The semblance is wrong by a few roundings of the values: of K traces, and of arrivals at up to
# 150 samples, times the slope. Two back-ends differ by about 2e-6 on most jobs.
SEMBLANCE_BUDGET = 1e-4


def far(a: Result, b: Result, amplitude: float, ties: float = 0.1) -> str:
    """What differs by more than rounding. Rounding may also decide between tuples of equal
    semblance: then the amplitudes need not be equal, but few samples may have ties."""
    if a.status or b.status:
        return f"status {a.status} and {b.status}: {a.err}{b.err}"
    if a.coherence.shape != b.coherence.shape:
        return f"shapes {a.coherence.shape}, {b.coherence.shape}"
    wrong = numpy.abs(a.coherence - b.coherence)
    if not wrong.max() <= SEMBLANCE_BUDGET:
        return f"semblance: {wrong.max()} at {numpy.unravel_index(wrong.argmax(), wrong.shape)}"
    p, q = a.parameters, b.parameters
    scale = numpy.maximum(numpy.abs(p).max(axis=(0, 1)), 1e-30)
    same = (numpy.abs(p - q) <= 1e-5 * scale).all(axis=2)
    if (~same).mean() > ties:
        return f"parameters: {(~same).mean()} of the samples differ"
    wrong = numpy.where(same, numpy.abs(a.stack - b.stack), 0)
    # The weight has a slope of at most 1 / (1 - n)^2 ~ 10 per semblance.
    if not wrong.max() <= 20 * SEMBLANCE_BUDGET * amplitude:
        return f"stack: {wrong.max()} of {amplitude}"
    return ""


def amplitude(job: Job) -> float:
    live = [t.row for t in job.traces if not t.dead and numpy.isfinite(t.row).all()]
    return float(max(numpy.abs(row).max() for row in live))
