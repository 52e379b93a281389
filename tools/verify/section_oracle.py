"""section_oracle.py - whole jobs in double precision, from the command line and the input files
to what is searched, and the headers of the output files: an independent reading of
docs/reference.md.

Shares no code with the steps or common/. It reads SU traces byte by byte at the positions of
the SEG-Y standard (rev. 1, trace header), selects apertures, derives ranges and builds the
headers that the output must have. section_search.py searches, section_check.py compares. A job
in whose choices rounding decides, such as an aperture that ends at a trace at 0.1 m, raises
Undecided.
"""
from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from tools.verify.section_search import Doubles

HEADER = 240
ORDER = "<" if struct.pack("=h", 1) == struct.pack("<h", 1) else ">"  # of this machine
DEAD = 2
DATA = {0, 1, *range(11, 18)}  # kinds of traces (trid) that are seismic data
# First byte, counted from 1, and type of the header fields that are read or written.
FIELDS = {"tracl": (1, "i"), "tracr": (5, "i"), "fldr": (9, "i"), "tracf": (13, "i"),
          "ep": (17, "i"), "cdp": (21, "i"), "trid": (29, "h"), "offset": (37, "i"),
          "gelev": (41, "i"), "selev": (45, "i"), "sdepth": (49, "i"), "gdel": (53, "i"),
          "sdel": (57, "i"), "swdep": (61, "i"), "gwdep": (65, "i"), "scalel": (69, "h"),
          "scalco": (71, "h"), "sx": (73, "i"), "sy": (77, "i"), "gx": (81, "i"),
          "gy": (85, "i"), "counit": (89, "h"), "delrt": (109, "h"), "ns": (115, "H"),
          "dt": (117, "H"), "year": (157, "h"), "tscale": (215, "h")}
# Last byte and width in bytes of the fields of a header: of SEG-Y, from 181 on of SU.
WIDTHS = (28, 4), (36, 2), (68, 4), (72, 2), (88, 4), (180, 2), (208, 4), (240, 2)
# The fields of output traces that are interpolated along the sources, the receivers, the
# midpoints and the half-offsets. Numbers continue outside the survey, elevations do not.
NUMBERS = {"fldr": "s", "ep": "s", "cdp": "m", "tracf": "h"}
ELEVATIONS = {"selev": "s", "sdepth": "s", "sdel": "s", "swdep": "s", "gelev": "g", "gdel": "g",
              "gwdep": "g"}
JOB = slice(228, 240)  # a mark and the hash of the job, which only the program knows
MARK = b"Semb"


class Undecided(Exception):
    """Rounding in double precision decides what the job does."""


class Refused(Exception):
    """The program must refuse the job; the message begins with this."""


# ---- traces --------------------------------------------------------------------------


def get(header: bytes, name: str, order: str) -> int:
    first, kind = FIELDS[name]
    return int(struct.unpack_from(order + kind, header, first - 1)[0])


def put(values: Mapping[str, int], order: str, header: bytes = bytes(HEADER)) -> bytes:
    """A header with these values, in all other bytes those of `header`."""
    raw = bytearray(header)
    for name, value in values.items():
        first, kind = FIELDS[name]
        struct.pack_into(order + kind, raw, first - 1, value)
    return bytes(raw)


def reversed_fields(header: bytes) -> bytes:
    """A header in the other byte order."""
    raw, begin = bytearray(header), 0
    for end, width in WIDTHS:
        for at in range(begin, end, width):
            raw[at:at + width] = raw[at:at + width][::-1]
        begin = end
    return bytes(raw)


def split(path: Path, order: str) -> tuple[list[bytes], Doubles]:
    """(headers, samples [traces][ns]) of an SU file."""
    raw = path.read_bytes()
    ns = get(raw[:HEADER], "ns", order)
    row = HEADER + 4 * ns
    assert len(raw) % row == 0, f"{path}: not traces of {ns} samples"
    starts = range(0, len(raw), row)
    samples = [numpy.frombuffer(raw, order + "f4", ns, i + HEADER) for i in starts]
    return [raw[i:i + HEADER] for i in starts], numpy.array(samples, "f8")


def byte_order(path: Path) -> str:
    """The order in which the traces end at the end of the file."""
    raw = path.read_bytes()
    for order in "<>":
        row = HEADER + 4 * get(raw[:HEADER], "ns", order)
        if len(raw) % row == 0 and len({raw[i + 114:i + 118]
                                        for i in range(0, len(raw), row)}) == 1:
            return order
    raise ValueError(f"{path}: not traces of one length")


def metres(values: Mapping[str, int], name: str) -> float:
    """A coordinate or an elevation of a header."""
    scale = values["scalel" if name in ELEVATIONS else "scalco"]
    return values[name] / -scale if scale < 0 else float(values[name] * (scale or 1))


@dataclass
class Traces:
    """The live traces that a pass uses; sample 0 is at time 0."""
    number: NDArray[numpy.int_]  # in the file
    source: Doubles
    receiver: Doubles
    samples: Doubles             # [traces][ns], muted
    fields: list[dict[str, int]]
    m: Doubles = field(init=False)
    h: Doubles = field(init=False)

    def __post_init__(self) -> None:
        self.m, self.h = (self.source + self.receiver) / 2, (self.receiver - self.source) / 2


# ---- options -------------------------------------------------------------------------


def values(text: str) -> list[float]:
    """FIRST:LAST:COUNT, FIRST,STEP,COUNT or one number."""
    if ":" in text:
        first, last, count = text.split(":")
        step = str((float(last) - float(first)) / max(int(count) - 1, 1))
    else:
        first, step, count = (*text.split(","), "0", "1")[:3]
    return [float(first) + float(step) * i for i in range(int(count))]


def limits(text: str) -> list[float]:
    """P0 P1 N of a range."""
    if "," in text:
        return [float(v) for v in text.split(",")]
    all_values = values(text)
    if len(all_values) == 1:
        return [all_values[0], all_values[0], 1]
    step = (float(text.split(":")[1]) - all_values[0]) / (len(all_values) - 1)
    return [all_values[0], all_values[0] + step * len(all_values), len(all_values)]


def rows_of(path: Path) -> list[list[str]]:
    """The rows of a text file, without comments and empty lines."""
    rows = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    return [row for row in rows if row]


def numbers(path: Path) -> Doubles:
    return numpy.array(rows_of(path), "f8")


def varying(fields: Sequence[Mapping[str, int]]) -> str:
    """The axes along which sources and receivers are not all at one place."""
    first = fields[0]
    return "".join(axis for axis in "xy" if any(
        metres(f, end + axis) != metres(first, "s" + axis) for f in fields for end in "sg"))


def places_of(f: Mapping[str, int]) -> Doubles:
    """x and y of source and receiver, in metres."""
    return numpy.array([[metres(f, end + axis) for axis in "xy"] for end in "sg"])


def direction(fields: Sequence[Mapping[str, int]]) -> tuple[Doubles, Doubles]:
    """The origin of an oblique line, which is the first source, and its unit vector, in which
    the larger component is positive: the line has the least squared distances."""
    points = numpy.concatenate([places_of(f) for f in fields])
    vector = numpy.linalg.svd(points - points.mean(axis=0))[2][0]
    return points[0], vector * numpy.sign(vector[abs(vector).argmax()])


def delay_of(f: Mapping[str, int]) -> Fraction:
    """The time of the first sample in microseconds."""
    scale = Fraction(f["tscale"] or 1)
    return f["delrt"] * 1000 * (scale if scale > 0 else -1 / scale)


def exact(*numbers_: Any) -> bool:
    """Whether sums of these numbers are not rounded: multiples of 1/64 below 2^40."""
    return all(bool((numpy.abs(n) < 2 ** 40).all() and (numpy.mod(n, 1 / 64) == 0).all())
               for n in map(numpy.asarray, numbers_))


class Job:
    """A command: its options and the survey that it reads. Files are relative to folder."""

    def __init__(self, arguments: Sequence[str], folder: Path = Path(), told: str = "") -> None:
        self.option = dict(a.split("=", 1) for a in arguments)
        self.folder = folder
        option = self.option
        if option.get("choose") == "1":  # the options that the program says it has chosen
            chosen = re.findall(r": chosen: (.*)", told)
            option |= dict(a.split("=", 1) for a in chosen[0].split())
        path = folder / option["in"]
        order = option.get("order", "auto")
        self.order = {"little": "<", "big": ">"}.get(order) or byte_order(path)
        self.heads, self.rows = split(path, self.order)
        self.values = [{name: get(h, name, self.order) for name in FIELDS} for h in self.heads]
        self.kept = [dict(v) for v in self.values]  # as in the file
        infinite = [i for i, row in enumerate(self.rows) if not numpy.isfinite(row).all()]
        self.bad = [i for i in infinite if self.values[i]["trid"] in DATA]
        assert not self.bad or option.get("bad") == "skip"
        for i in infinite:
            self.rows[i] = 0
        for i in self.bad:
            self.values[i]["trid"] = DEAD
        self.other = [i for i, v in enumerate(self.values) if v["trid"] not in {*DATA, DEAD}]
        self.fill = option.get("fill") == "dead"
        marked = [i for i, v in enumerate(self.values) if v["trid"] == DEAD]
        self.dead = [i for i, row in enumerate(self.rows)
                     if i in marked or self.fill and not row.any() and i not in self.other]
        self.zero = len(self.dead) - len(marked)
        for i in self.dead:
            self.values[i]["trid"] = DEAD
        self.live = [i for i, v in enumerate(self.values) if v["trid"] in DATA]
        self.kind = self.values[self.live[0]]["trid"] or 1
        self.ns, self.dt = len(self.rows[0]), self.values[0]["dt"]
        self.axis = option.get("axis", "auto")
        if self.axis == "auto":
            self.axis = varying([self.values[i] for i in self.live])
            assert self.axis, "cannot tell the axis"
        if len(self.axis) == 2:
            self.origin, self.vector = direction([self.values[i] for i in self.live])
        self.delay = int(delay_of(self.values[self.live[0]]) / self.dt)  # samples
        self.set_places()
        self.set_times()
        self.set_choices()
        self.traces = self.gather(self.rows)
        self.set_aperture()
        self.near = [self.select(m, h) for m, h in self.places]
        self.check_offset()
        self.set_ranges()

    def ends(self, i: int) -> tuple[float, float]:
        """The positions of source and receiver along the line."""
        if len(self.axis) == 2:
            source, receiver = numpy.round(
                (places_of(self.values[i]) - self.origin) @ self.vector, 3)
            return float(source), float(receiver)
        return (metres(self.values[i], "s" + self.axis), metres(self.values[i], "g" + self.axis))

    def set_places(self) -> None:
        option = self.option
        if self.fill:
            at = [self.ends(i) for i in self.dead]
            self.places = [((s + g) / 2, (g - s) / 2) for s, g in at]
        elif "positions" in option:
            rows = rows_of(self.folder / option["positions"])
            named = rows[0] == ["sx", "gx"]
            pairs = [(float(x), float(y)) for x, y in rows[named:]]
            self.places = [((s + g) / 2, (g - s) / 2) for s, g in pairs] if named else pairs
        else:
            self.places = [(m, h) for m in values(option["m0"]) for h in values(option["h0"])]

    def set_times(self) -> None:
        self.first = max(self.delay, 0)
        self.end = self.ns + self.delay
        dt = self.dt * 1e-6
        self.t0 = values(self.option["t0"]) if "t0" in self.option else \
            [self.first * dt + k * dt for k in range(self.end - self.first)]

    def set_choices(self) -> None:
        option = self.option
        self.window = option.get("window", "parallel")
        self.coarse = option.get("search", "full") == "coarse"
        self.smooth = option.get("smooth", "centre")
        self.weight = option.get("weight", "semblance")
        self.passes = int(option.get("passes", 1))
        self.velocity = numpy.zeros((0, 3))  # rows of time, smallest and largest velocity
        if "velocity" in option:
            if "," in option["velocity"]:
                low, high = (float(v) for v in option["velocity"].split(","))
                self.velocity = numpy.array([[0, low, high]])
            else:
                t, v, dv = numbers(self.folder / option["velocity"]).T
                self.velocity = numpy.array([t, v - dv, v + dv]).T
        self.refined = option.get("refine", "1" if "velocity" in option else "0") == "1"
        self.mute, self.stretch = numpy.zeros((0, 2)), 0.0
        if "mute" in option:
            try:
                self.stretch = float(option["mute"])
            except ValueError:
                self.mute = numbers(self.folder / option["mute"])

    # ---- the traces of a pass

    def mute_time(self, h: float) -> float:
        """Samples before this time are muted in traces with this half-offset."""
        if len(self.mute):
            return float(numpy.interp(2 * abs(h), *self.mute.T))
        if not self.stretch or not h:
            return 0
        # t / tn = 1 + stretch, with t^2 = tn^2 + (2 h / v)^2 and v at tn
        factor = math.sqrt((1 + self.stretch) ** 2 - 1)
        early, late = 0.0, 1e6
        for _ in range(200):
            tn = (early + late) / 2
            v = numpy.interp(tn, self.velocity[:, 0], self.velocity[:, 1])
            early, late = (tn, late) if tn * factor < 2 * abs(h) / v else (early, tn)
        return (1 + self.stretch) * late

    def muted_times(self, h: float) -> int:
        """How many output times are muted in a trace with this half-offset."""
        until = self.mute_time(h) - 1e-9 * self.dt
        if any(abs(t - until) < 1e-12 for t in self.t0):
            raise Undecided("the time of a mute is that of a sample")
        return sum(t < until for t in self.t0)

    def gather(self, rows: Doubles) -> Traces:
        source, receiver = numpy.array([self.ends(i) for i in self.live]).T
        rows = rows[self.live]
        rows = rows[:, -self.delay:] if self.delay < 0 else \
            numpy.pad(rows, ((0, 0), (self.delay, 0)))
        for row, half in zip(rows, (receiver - source) / 2, strict=True):
            first = self.mute_time(half) / self.dt * 1e6 - 1e-3
            if abs(first - round(first)) < 1e-9 and first > 0:
                raise Undecided("the time of a mute is that of a sample")
            row[:max(0, math.ceil(first))] = 0
        return Traces(numpy.array(self.live), source, receiver, rows,
                      [self.values[i] for i in self.live])

    def set_aperture(self) -> None:
        """aperture=, or, with velocity=, 0.6 of the larger of two distances in midpoint and 5
        times the distance between receivers in half-offset, with upper bounds."""
        if "aperture" in self.option:
            m, h = self.option["aperture"].split(",")
            self.aperture = float(m), float(h)
        elif len(self.velocity):
            shots, receivers = gaps(self.traces)
            self.aperture = (max(0.6 * shots, min(0.6 * receivers, 60.0)),
                             max(receivers, min(5 * receivers, 250.0)))
        else:
            self.aperture = math.inf, math.inf

    def select(self, m0: float, h0: float) -> NDArray[numpy.bool_]:
        """The traces in the aperture of an output trace."""
        g = self.traces
        near = numpy.ones(len(g.m), bool)
        for at, centre, reach in ((g.m, m0, self.aperture[0]), (g.h, h0, self.aperture[1])):
            distance = abs(at - centre)
            close = abs(distance - reach) < 1e-9 * (1 + abs(at) + abs(centre)) \
                if math.isfinite(reach) else near & False
            if close.any() and not exact(at[close], centre, reach):
                raise Undecided("an aperture ends at a trace")
            near &= distance <= reach
        return near

    def check_offset(self) -> None:
        """Raises Undecided if the means of the traces have much of their energy: they are
        subtracted then (tests/test_check.py)."""
        g = self.traces
        inside = numpy.any([near for near in self.near if near.sum() > 1] or [g.m < -math.inf],
                           axis=0)
        raw = self.rows[g.number[inside]][:, max(0, -self.delay):].astype(float)
        energy, constant = (raw ** 2).sum(), (raw.sum(axis=1) ** 2).sum() / raw.shape[1]
        if raw.shape[1] >= 50 and constant > (0.2 - 1e-6) * energy:
            raise Undecided("a constant offset")

    # ---- ranges

    def used(self) -> Traces:
        """The live traces from the first to the last one of the file that are in an aperture
        of two traces or more."""
        g = self.traces
        inside = numpy.any([near for near in self.near if near.sum() > 1] or [g.m < -math.inf],
                           axis=0)
        if not inside.any():
            return Traces(g.number[:0], g.source[:0], g.receiver[:0], g.samples[:0], [])
        low, high = g.number[inside].min(), g.number[inside].max()
        some = (g.number >= low) & (g.number <= high)
        return Traces(g.number[some], g.source[some], g.receiver[some], g.samples[some],
                      [f for f, s in zip(g.fields, some, strict=True) if s])

    def set_ranges(self) -> None:
        option = self.option
        self.tau = float(option["tau"]) if "tau" in option else math.nan
        self.averaged = float(option.get("average", "nan" if "velocity" in option else "0"))
        self.table: Doubles | None = None
        self.interpolated: dict[tuple[float, float], Doubles] = {}
        if "ranges" in option:
            rows = numbers(self.folder / option["ranges"])
            self.ranges = numpy.insert(rows, 1, 0, axis=1) if rows.shape[1] == 16 else rows
        elif not len(self.velocity):
            self.ranges = numpy.array([[0, 0, *(v for k in "abcde" for v in limits(option[k]))]])
        else:
            g = self.used()
            if not len(g.m):  # all output traces are dead
                self.half = self.reach = 0
                self.ranges = numpy.zeros((0, 17))
                return
            self.period = float(option["period"]) if "period" in option else \
                period(g, self.dt)
            if math.isnan(self.tau):
                self.tau = 0.6 * self.period
            if math.isnan(self.averaged):
                self.averaged = self.tau
            self.dip = float(option.get("dip", 0.68 / self.velocity[:, 1].min()))
            self.make_table()
        self.half = int(self.tau * 1e6 / self.dt + 1e-3)
        if self.half > 100 or 2 * self.half + 2 > self.end - self.first:
            raise Refused("tau=")
        step = abs(self.t0[1] - self.t0[0]) if len(self.t0) > 1 else math.inf
        self.reach = int(min(self.averaged / step, len(self.t0)) + 1e-3)

    def make_table(self) -> None:
        """Rows of ranges: times at most 0.05 s apart, from the first to the last output time;
        and 100 half-offsets (of h0=: as many as its values, at most 100), evenly spaced from
        the smallest to the largest of the output traces that can be filled, for passes=2 those
        of their apertures and ten more."""
        h = [h for (_, h), near in zip(self.places, self.near) if near.sum() > 1] or [
            h for _, h in self.places]
        low, high, count = min(h), max(h), 100
        if not self.fill and "h0" in self.option:
            count = len(values(self.option["h0"]))
        if low == high:
            count = 1
        if self.passes == 2:
            low, high, count = low - self.aperture[1], high + self.aperture[1], count + 10
        span = max(self.t0) - min(self.t0)
        intervals = span / 0.05
        times = math.ceil(intervals) + 1
        nearest = math.floor(intervals + 0.5)
        if nearest and abs(intervals - nearest) < 1e-9:  # rounding decides, the file tells
            table = self.folder / self.option.get("ranges_out", "")
            told = len(set(numbers(table)[:, 0])) if table.is_file() else 0
            if told not in (nearest + 1, nearest + 2):
                raise Undecided("the number of rows")
            times = told
        rows = []
        for h0 in numpy.linspace(low, high, min(count, 100)):
            for t in numpy.linspace(min(self.t0), max(self.t0), times):
                row = [t, h0]
                bounds = velocity_ranges(self.velocity, self.dip, self.period, h0,
                                         max(t, self.dt * 1e-6), self.aperture)
                for first, last, n in bounds:
                    if 1e-10 < n - math.floor(n) < 1e-8:
                        raise Undecided("the number of values of a range")
                    n = math.ceil(n - 1e-9)
                    middle = (last - first) / (2 * n)  # of the first of n parts
                    row += [first + middle, last + middle, n]
                rows.append(row)
        self.ranges = self.table = numpy.array(rows)

    def ranges_at(self, h0: float, t0: float) -> Doubles:
        """P0 P1 N of A to E at (h0, t0), interpolated between rows."""
        if (h0, t0) not in self.interpolated:
            self.interpolated[h0, t0] = self.between_rows(h0, t0)
        return self.interpolated[h0, t0].copy()

    def between_rows(self, h0: float, t0: float) -> Doubles:
        offsets = numpy.unique(self.ranges[:, 1])
        at_time = numpy.array([[numpy.interp(t0, some[:, 0], column) for column in some[:, 2:].T]
                               for some in (self.ranges[self.ranges[:, 1] == h]
                                            for h in offsets)])
        row = numpy.array([numpy.interp(h0, offsets, column) for column in at_time.T])
        for k in range(2, 15, 3):
            row[k] = self.count(row[k], k, h0, t0, offsets)
        return row.reshape(5, 3)

    def count(self, n: float, k: int, h0: float, t0: float, offsets: Doubles) -> int:
        """The nearest whole number, of two the larger."""
        if abs(n % 1 - 0.5) < 1e-9 and Fraction(n) != self.exactly(k, h0, t0, offsets):
            raise Undecided("the number of values between two rows")
        return math.floor(n + 0.5)

    def exactly(self, k: int, h0: float, t0: float, offsets: Doubles) -> Fraction:
        """Column k of the ranges at (h0, t0), interpolated without rounding."""
        def between(x: float, pairs: list[tuple[float, Fraction]]) -> Fraction:
            high = min((i for i, (at, _) in enumerate(pairs) if at >= x), default=len(pairs) - 1)
            (a, p), (b, q) = pairs[max(high - 1, 0)], pairs[high]
            if a == b:
                return q
            return p + (Fraction(x) - Fraction(a)) / (Fraction(b) - Fraction(a)) * (q - p)
        return between(h0, [(h, between(t0, [(row[0], Fraction(row[2 + k])) for row in
                                             self.ranges[self.ranges[:, 1] == h]]))
                            for h in offsets])


# ---- ranges from velocities ----------------------------------------------------------


def gaps(g: Traces) -> tuple[float, float]:
    """The lower quartiles of the distances between shots, and between receivers of a shot;
    what is at most 0.5 m apart is at one place."""
    shots = numpy.diff(numpy.unique(g.source))
    receivers = numpy.concatenate([numpy.diff(numpy.unique(g.receiver[g.source == s]))
                                   for s in numpy.unique(g.source)])
    if not len(shots) or not len(receivers):
        raise Refused("aperture= is missing")
    if (shots <= 0.5).any() or (receivers <= 0.5).any():
        raise Undecided("places that are nearly the same")
    return (float(numpy.quantile(shots, 0.25, method="lower")),
            float(numpy.quantile(receivers, 0.25, method="lower")))


def extremum(row: Doubles) -> int:
    """The index of the largest value, the first of equal ones."""
    best = int(row.argmax())
    near = numpy.flatnonzero(row >= row[best] - 1e-9 * abs(row).max())
    if len(near) > 1 and not (row[near] == 0).all():
        raise Undecided("two extrema of a correlation")
    return int(near[0])


def period(g: Traces, dt: float) -> float:
    """The distance of the minima on both sides of the maximum, within 0.125 s, of the mean
    correlation of each trace, without its mean, with its nearest neighbour."""
    ns = g.samples.shape[1]
    delays = min(int(0.125e6 / dt), (ns - 1) // 2)
    if delays < 1:
        return 2e-6 * dt
    total = numpy.zeros(2 * delays + 1)
    samples = g.samples - g.samples.mean(axis=1, keepdims=True)
    for i, row in enumerate(samples):
        distance = (g.m - g.m[i]) ** 2 + (g.h - g.h[i]) ** 2
        distance[i] = numpy.inf
        near = numpy.flatnonzero(distance <= distance.min() * (1 + 1e-12))
        if len(near) > 1 and not exact(g.source, g.receiver) and distance.min():
            raise Undecided("two nearest traces")
        other = samples[int(near[0])]
        size = numpy.sqrt((row ** 2).sum() * (other ** 2).sum())
        if size > 0:
            total += numpy.correlate(other, row, "full")[ns - 1 - delays:ns + delays] / size
    if not total.any():
        return 2e-6 * dt
    peak = extremum(total)
    left, right = extremum(-total[peak::-1]), extremum(-total[peak:])
    return (left + right or 2) * dt * 1e-6


def velocity_ranges(velocity: Doubles, dip: float, T: float, h: float, t: float,
                    reach: tuple[float, float]) -> Doubles:
    """The smallest and largest values of A to E and the numbers of them, not rounded up, for
    rows of (t0, smallest, largest) velocity, a largest dip and a period."""
    def z(column: int) -> float:
        """4 / v^2, for the velocity at the event's time at offset 0."""
        time, found = t, 0.0
        for _ in range(20):
            v = float(numpy.interp(time, velocity[:, 0], velocity[:, column]))
            found = min(4 / v ** 2, 0.95 * t * t / (h * h) if h else numpy.inf)
            time = (t * t - found * h * h) ** 0.5
        return found

    def time_shift(bounds: tuple[float, float], distance: float) -> float:
        early, late = (max(t * t + c * distance ** 2, 0) ** 0.5 for c in bounds)
        return float(late - early)

    fast, slow = z(2), z(1)
    b = min(fast * h / t, slow * h / t), max(fast * h / t, slow * h / t)
    middle = (fast + slow) / 2 - ((fast + slow) / 2 * h / t) ** 2
    c = middle - (slow - fast) / 2, middle + (slow - fast) / 2
    d = -4e-7, 1.2e-6
    shifts = (2 * dip * reach[0], (b[1] - b[0]) * reach[1], time_shift(c, reach[1]),
              time_shift(d, reach[0]), 0)
    bounds = ((-dip, dip), b, c, d, (0, 0))
    counts = [max(shift / (T / 8), 1) for shift in shifts]
    return numpy.array([(low, high, n) for (low, high), n in zip(bounds, counts, strict=True)])


# ---- headers -------------------------------------------------------------------------


def rounded(value: float) -> int:
    """The nearest whole number that a field can hold."""
    return int(numpy.clip(numpy.floor(value + 0.5 + 1e-6), -2**31, 2**31 - 1))


def along(at: Doubles, column: Doubles, x: float, grows: bool) -> float:
    """The values of traces at positions `at`, interpolated at x. Of traces at one position, the
    first in the file counts. Outside, a number grows as on average between the ends."""
    places, first = numpy.unique(at, return_index=True)
    if grows and len(places) > 1 and not places[0] <= x <= places[-1]:
        low, high = column[first[[0, -1]]]
        return float(low + (x - places[0]) / (places[-1] - places[0]) * (high - low))
    return float(numpy.interp(x, places, column[first]))


def scale_of_places(job: Job, places: Sequence[tuple[float, float]]) -> int:
    """The survey's scalco, or 1 to 1/10000 m: the first in which all coordinates along the line
    are whole, or the last; on an oblique line, from 1/1000 m on. From there, the finest one in
    which the coordinates fit into 32 bits."""
    oblique = len(job.axis) == 2
    scales = job.traces.fields[0]["scalco"], 1, -10, -100, -1000, -10000
    along_line = numpy.array([(m - h, m + h) for m, h in places])
    in_file = job.origin + along_line[..., None] * job.vector if oblique else along_line

    def units(coordinates: Doubles, k: int) -> Doubles:
        return coordinates * -scales[k] if scales[k] < 0 else coordinates / (scales[k] or 1)

    def whole(k: int) -> bool:
        return bool(abs(units(along_line, k) - numpy.round(units(along_line, k))).max() < 1e-3)

    last = len(scales) - 1
    found = next((k for k in range(4 * oblique, last) if whole(k)), last)
    while found and abs(units(in_file, found)).max() > 2**31 - 1:
        found -= 1
    return scales[found]


def header(job: Job, m: float, h: float, scalco: int) -> dict[str, int]:
    """The fields of an output trace, except the number, trid and the times, interpolated."""
    g, axis = job.traces, job.axis
    x = {"s": m - h, "g": m + h, "m": m, "h": h}
    at = {"s": g.source, "g": g.receiver, "m": g.m, "h": g.h}
    scalel = g.fields[0]["scalel"]
    found = {"scalco": scalco, "scalel": scalel, "counit": g.fields[0]["counit"]}
    for name, end in NUMBERS.items():
        column = numpy.array([f[name] for f in g.fields], "f8")
        found[name] = rounded(along(at[end], column, x[end], True))
    meter = {name: along(at[end], numpy.array([metres(f, name) for f in g.fields]), x[end], False)
             for name, end in ELEVATIONS.items()}
    origin, vector = (job.origin, job.vector) if len(axis) == 2 else \
        (numpy.zeros(2), numpy.array([axis == "x", axis == "y"], "f8"))
    normal = vector[::-1] * ((-1, 1) if len(axis) == 2 else (1, 1))
    beside = {}
    for k, end in enumerate("sg"):
        column = numpy.array([(places_of(f)[k] - origin) @ normal for f in g.fields])
        beside[end] = along(at[end], column, x[end], False)
        place = origin + x[end] * vector + beside[end] * normal
        meter |= {end + "x": float(place[0]), end + "y": float(place[1])}
    for name, value in meter.items():
        scale = scalel if name in ELEVATIONS else scalco
        found[name] = rounded(value * -scale if scale < 0 else value / (scale or 1))
    side = [f["offset"] for f, half in zip(g.fields, g.h, strict=True)
            if f["offset"] and half and (half > 0) == (h > 0)]
    sign = numpy.sign(side[0]) if side else 1 if h > 0 else -1
    found["offset"] = int(sign) * rounded(float(numpy.hypot(
        2 * h, beside["g"] - beside["s"])))
    return found


def headers(job: Job, places: Sequence[tuple[float, float]], alive: Sequence[bool]) -> list[bytes]:
    """The headers of output traces, in the byte order of this machine."""
    step = job.t0[1] - job.t0[0] if len(job.t0) > 1 else job.dt * 1e-6
    scalco = scale_of_places(job, places)
    live = job.values[job.live[0]]
    unit = delay_of({**live, "delrt": 1}) / 1000
    scaled = job.t0[0] * 1e3 / float(unit)  # the survey's scale if the delay is whole in it
    whole = live["delrt"] != 0 and abs(scaled - round(scaled)) < 1e-6 and scaled < 2**15
    delay = {"delrt": round(scaled), "tscale": live["tscale"]} if whole else \
        {"delrt": round(job.t0[0] * 1e3), "tscale": 0}
    if not delay["delrt"]:
        del delay["tscale"]
    result = []
    for i, (m, h) in enumerate(places):
        times = {"trid": job.kind if alive[i] else DEAD, **delay,
                 "ns": len(job.t0), "dt": round(step * 1e6)}
        replaced = [k for k in job.dead if all(
            abs(a - b) <= 1e-3 for a, b in zip(job.ends(k), (m - h, m + h), strict=True))]
        if replaced:  # a dead trace is at this place: its header is kept
            head = job.heads[replaced[0]]
            result.append(put(times, "=", head if job.order == ORDER else reversed_fields(head)))
        else:
            result.append(put({"tracl": i + 1, "tracr": i + 1, **header(job, m, h, scalco),
                               **times}, "="))
    return result
