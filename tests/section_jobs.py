"""section_jobs.py - random jobs of whole traces: strategies of Hypothesis, which draws surveys
and valid combinations of options, and shrinks those that fail.

A survey has 3 to 20 traces, or 72, of 30 to 100 samples: a line of shots, or traces by lot; some
dead or zero, some at one place. Left out: what is refused (messages.tsv), and large searches.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
import pytest

from tools.verify import section_oracle as oracle

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")
Draw = Callable[[Any], Any]


@dataclass
class Survey:
    axis: str            # x, y, or xy: oblique
    order: str
    dt: int
    ns: int
    delay: int           # samples
    unit: float          # metres per unit of scalco
    crooked: bool
    at: list[tuple[float, float]]  # midpoint and half-offset of each trace
    dead: set[int]
    zero: set[int]
    bad: set[int]
    other: set[int]      # auxiliary traces
    raw: bytes = b""

    @property
    def first(self) -> int:
        return max(self.delay, 0)

    @property
    def end(self) -> int:
        return self.ns + self.delay


@dataclass
class Drawn:
    """A job: the arguments, and the files that it reads."""
    arguments: list[str]
    files: dict[str, bytes] = field(repr=False)
    backend: int = 0  # of those that can run it
    variant: int = 0  # of the environment


def one_of(draw: Draw, *choices: Any) -> Any:
    """One of the choices; Hypothesis prefers the first."""
    return draw(st.sampled_from(choices))


def places(draw: Draw, step: float) -> list[tuple[float, float]]:
    """Midpoints and half-offsets, relative to the start of the line."""
    if one_of(draw, True, True, False):
        shots, channels = draw(st.integers(2, 4)), draw(st.integers(2, 5))
        if one_of(draw, *[False] * 9, True):
            shots, channels = 6, 12  # more traces than are processed at a time
        shot_gap, receiver_gap = one_of(draw, (25, 25), (50, 25), (20, 40), (24.5, 25))
        near, side = one_of(draw, 0, 50, 100), one_of(draw, 1, -1)
        irregular = one_of(draw, False, True)
        found = []

        def stations(count: int, gap: float) -> list[float]:
            gaps = [gap * (draw(st.integers(1, 3)) if irregular else 1) for _ in range(count)]
            return [sum(gaps[:i]) for i in range(count)]

        spread = stations(channels, receiver_gap)
        for source in stations(shots, shot_gap):
            for receiver in (source + side * (near + x) for x in spread):
                found.append(((source + receiver) / 2, (receiver - source) / 2))
    else:
        count = draw(st.integers(3, 16))
        found = [(20.0 * draw(st.integers(0, 6)), 20.0 * draw(st.integers(-3, 3)))
                 for _ in range(count)]
    for _ in range(one_of(draw, 0, 0, 1, 2)):  # several traces at one place
        found.append(found[draw(st.integers(0, len(found) - 1))])
    return [(round((m - h) / step) * step, round((m + h) / step) * step) for m, h in found]


def some_of(draw: Draw, count: int, at: list[tuple[float, float]]) -> set[int]:
    """The numbers of dead traces; at least two traces are live."""
    kind = one_of(draw, "none", "one", "first", "shot", "some", "most")
    all_ = set(range(count))
    if kind == "none":
        return set()
    if kind == "one":
        return {draw(st.integers(0, count - 1))}
    if kind == "first":
        return {0}
    if kind == "shot":
        shot = at[draw(st.integers(0, count - 1))][0]
        found = {i for i in all_ if at[i][0] == shot}
    elif kind == "some":
        found = draw(st.sets(st.integers(0, count - 1), max_size=count - 2))
    else:
        found = all_ - set(random.Random(draw(st.integers(0, 99))).sample(sorted(all_), 2))
    return found if len(found) <= count - 2 else set()


@st.composite
def surveys(draw: Draw) -> Survey:
    dt = one_of(draw, 4000, 2000, 1000, 500)
    ns = draw(st.integers(30, 100))
    delay = one_of(draw, 0, 0, 0, 8, -8, 2, -2, 20) if dt > 500 else one_of(draw, 0, 16, -4)
    scalco = one_of(draw, 1, 0, -1, -10, -100, 10, -1000)
    unit = 1 / -scalco if scalco < 0 else float(scalco or 1)
    origin = one_of(draw, 1000, 0, 6100000 if scalco >= -100 else 0, -2000)
    shift = one_of(draw, 0, 0, 0.5, 0.1) if unit < 1 else 0
    ends = [(s + origin + shift, g + origin) for s, g in places(draw, max(unit, 0.1))]
    count = len(ends)
    dead = some_of(draw, count, ends)
    live = [i for i in range(count) if i not in dead]
    zero = {live[draw(st.integers(0, len(live) - 1))]} if one_of(draw, False, False, True) \
        and len(live) > 2 else set()
    bad = {live[-1]} - zero if one_of(draw, *[False] * 5, True) and len(live) - len(zero) > 2 \
        else set()
    axis, order = one_of(draw, "x", "y"), one_of(draw, "<", ">")
    used = [i for i in live if i not in zero | bad]
    other = set(used[2::3]) if one_of(draw, False, False, True) else set()
    if unit < 1 and one_of(draw, False, True):
        axis = "xy"
        shift = next(s for i, (s, _) in enumerate(ends) if i in set(used) - other)
        ends = [(s - shift, g - shift) for s, g in ends]
    crooked = axis != "xy" and one_of(draw, False, True)
    survey = Survey(axis, order, dt, ns, delay, unit, crooked,
                    [((s + g) / 2, (g - s) / 2) for s, g in ends], dead, zero, bad, other)
    lot = random.Random(draw(st.integers(0, 999)))
    offset, loud = one_of(draw, 0, 0, 0, 20, 1000), one_of(draw, 1, 1, 1, 1e-5, 1e4)
    survey.raw = written(survey, ends, scalco, lot, offset, loud)
    return survey


def written(s: Survey, ends: list[tuple[float, float]], scalco: int, lot: random.Random,
            offset: float, loud: float) -> bytes:
    """The bytes of the survey: one event and noise; header fields that the samples do not
    depend on are drawn."""
    noise = numpy.random.default_rng(lot.getrandbits(32))
    scalel, counit = lot.choice((1, 0, -10, 10)), lot.choice((0, 1))
    signs = lot.choice(((-1, 1), (1, 1), (1, -1), (0, 0)))
    mixed = lot.random() < 0.3  # signs that differ on one side, too
    other, foreign = lot.choice((0, 7)), lot.random() < 0.5
    kinds = lot.choice(((1, 1, 0), (1,), (11,), (12,), (17,)))
    tenths = lot.choice((1, 1, 10)) if abs(s.delay * s.dt) < 3 * 10**6 else 1
    angle = lot.uniform(-0.7, 0.7)
    event, middle = lot.uniform(0.3, 0.8), s.at[len(s.at) // 2][0]
    raw = b""
    time = (numpy.arange(s.ns) + s.delay) * s.dt * 1e-6
    for i, (source, receiver) in enumerate(ends):
        m, h = s.at[i]
        values = {"cdp": 100 + i, "trid": 2 if i in s.dead else lot.choice(kinds),
                  "scalco": scalco, "scalel": scalel, "counit": counit,
                  "delrt": s.delay * s.dt // (1000 // tenths)
                  + (i in s.dead) * lot.choice((0, 4)),
                  "tscale": -tenths if tenths > 1 else lot.choice((0, 1, -1)),
                  "ns": s.ns, "dt": s.dt,
                  "offset": (lot.choice((-1, 0, 1)) if mixed else signs[h > 0])
                  * round(abs(2 * h))}
        for end, at in ("s", source), ("g", receiver):
            across = other + (lot.randrange(40) if s.crooked else 0)
            if s.axis == "xy":
                values |= {end + "x": round((5000 + math.cos(angle) * at) / s.unit),
                           end + "y": round((-3000 + math.sin(angle) * at) / s.unit)}
            else:
                values |= {end + s.axis: round(at / s.unit),
                           end + ("y" if s.axis == "x" else "x"): across}
        for name in ("fldr", "ep", "tracf", "tracl", "year", *oracle.ELEVATIONS):
            values[name] = lot.randrange(-90, 900)
        t = numpy.hypot(event * time[-1], abs(h) / 1000 + abs(m - middle) / 4000)
        u = (time - t) / (s.dt * 3e-6)
        row = numpy.exp(-u * u) * (1 - 2 * u * u) + 0.2 * noise.standard_normal(s.ns)
        row = loud * (row + offset)
        if i in s.zero:
            row *= 0
        if i in s.bad:
            row[lot.randrange(s.ns)] = lot.choice((numpy.nan, numpy.inf))
        if i in s.other:
            values |= {"trid": lot.choice((-1, 3, 4, 6, 10, 18, 28, 300)), "delrt": 3, "tscale": 5,
                       "counit": 3, "offset": 77, "sx": lot.randrange(-9999, 9999)}
        head = lot.randbytes(oracle.HEADER) if foreign else bytes(oracle.HEADER)
        raw += oracle.put(values, s.order, head) + row.astype(s.order + "f4").tobytes()
    return raw


# ---- options -------------------------------------------------------------------------


def text(x: float) -> str:
    return f"{x:.12g}"


def spaced(draw: Draw, first: float, step: float, count: int) -> str:
    """Values in one of the forms."""
    last = first + step * (count - 1)
    forms = [f"{text(first)}:{text(last)}:{count}", f"{text(first)},{text(step)},{count}"]
    return one_of(draw, *forms, *[text(first)] * (count == 1))


def outputs(draw: Draw, s: Survey, job: Drawn, line: bool) -> list[tuple[float, float]]:
    """Adds positions; returns them."""
    near = [s.at[draw(st.integers(0, len(s.at) - 1))] for _ in range(draw(st.integers(1, 3)))]
    shift = one_of(draw, 0, 10, 2.5, -0.7, 0.125, 5000)
    near = [(m + shift, h + one_of(draw, 0, 0, 5, -2.5)) for m, h in near]
    form = one_of(draw, "values", "positions", "ends")
    if s.dead | s.zero | s.bad and one_of(draw, False, True):
        job.arguments.append("fill=dead")
        return [s.at[i] for i in sorted(s.dead | s.zero | s.bad)]
    if form == "values":
        m_count, h_count = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        m_step, h_step = one_of(draw, 20, 12.5, -7.3), one_of(draw, 10, 0.5)
        (m, h) = near[0]
        job.arguments += [f"m0={spaced(draw, m, m_step, m_count)}",
                          f"h0={spaced(draw, h, h_step, h_count)}"]
        return [(m + i * m_step, h + j * h_step) for i in range(m_count) for j in range(h_count)]
    rows = near if form == "positions" else [(m - h, m + h) for m, h in near]
    head = ["# output traces"] + ["sx gx"] * (form == "ends") + [""]
    job.files["places"] = "\n".join(
        head + [f"{text(x)} {text(y)}" for x, y in rows] + [""]).encode()
    job.arguments.append("positions=places")
    return near


SPANS = 2e-4, 2e-4, 4e-7, 4e-7, 3e-7


def flat(draw: Draw, most: int) -> list[float]:
    """P0 P1 N of A to E."""
    row: list[float] = []
    many = most > 2 and one_of(draw, *[False] * 9, True)  # D and E that hardly move an arrival
    for k, span in enumerate(SPANS):
        count = draw(st.integers(1, 2 if many else most))
        middle = one_of(draw, 0.0, 0.5, -0.3, 1.0) * span + (k == 2) * 6e-7
        width = one_of(draw, 1.0, 0.37, 0.0) * span
        if many and k > 2:
            width, count = span / 500, 12
        row += [middle - width, middle + width, count]
    return row


def ranges(draw: Draw, s: Survey, job: Drawn, times: list[float], places_: list[Any], most: int,
           wide: float) -> None:
    """Adds a= to e=, or a file of rows."""
    if one_of(draw, True, False):
        for k, key in enumerate("abcde"):
            p0, p1, n = flat(draw, most)[3 * k:3 * k + 3]
            step = (p1 - p0) / n
            job.arguments.append(f"{key}=" + one_of(
                draw, f"{text(p0)}:{text(p0 + step * (n - 1))}:{n}", f"{text(p0)},{text(p1)},{n}")
                if n > 1 else f"{key}=" + one_of(draw, text(p0), f"{text(p0)},{text(p1)},1"))
        return
    low, high = max(min(times) - 1e-9, 0), max(times)
    knots = sorted({low, high + s.dt * 1e-6, *[one_of(draw, (low + high) / 2, times[-1])
                                               for _ in range(draw(st.integers(0, 1)))]})
    if one_of(draw, False, True):
        knots = knots[:1]
    rows = [[t, *flat(draw, most)] for t in knots]
    if one_of(draw, False, True):
        h = [h for _, h in places_]
        offsets = sorted({min(h) - wide, max(h) + wide, *[h[0]] * one_of(draw, 0, 1)})
        rows = [[row[0], x, *(row[1:] if i == 0 else flat(draw, most))]
                for i, x in enumerate(offsets) for row in rows]
    job.files["rows"] = ("# t0\n" + "\n".join(
        " ".join(f"{v:.17g}" for v in row) for row in rows) + "\n").encode()
    job.arguments.append("ranges=rows")


@st.composite
def jobs(draw: Draw) -> Drawn:
    s: Survey = draw(surveys())
    job = Drawn(["in=in.su"], {"in.su": s.raw})
    dt = s.dt * 1e-6
    by_velocity = one_of(draw, False, True)
    window = one_of(draw, "parallel", "moveout")
    passes = one_of(draw, 1, 1, 1, 2)
    choose = by_velocity and one_of(draw, *[False] * 9, True)
    places_ = outputs(draw, s, job, True)
    consecutive = window == "moveout" or passes == 2 or choose

    # times
    if "fill=dead" in job.arguments or one_of(draw, False, False, True):
        times = [(s.first + k) * dt for k in range(s.end - s.first)]
    else:
        grain = 1000 // int(numpy.gcd(1000, s.dt)) if s.dt < 1000 else 1
        start = s.first + grain * draw(st.integers(0, (s.end - s.first - 1) // grain))
        begin = s.delay * s.dt // 1000 * 1e-3
        below = [k for k in range(s.first, s.end - 1, grain)  # quotients below a whole number
                 if (float(text(k * dt)) - begin) * 1e6 / s.dt < k - s.delay]
        if below and (passes == 2 or one_of(draw, False, True)):
            start = one_of(draw, *below)
        stride = 1 if consecutive else draw(st.integers(1, 3))
        count = draw(st.integers(1, max(1, min(30, (s.end - 1 - start) // stride + 1))))
        job.arguments.append(f"t0={spaced(draw, start * dt, stride * dt, count)}")
        times = [(start + stride * k) * dt for k in range(count)]

    # the search
    half = one_of(draw, 1, 0, 2, 3, 5)
    tau = f"tau={text((half + one_of(draw, 0, 0, 0.5)) * dt)}"
    reach = one_of(draw, (50, 60), (25, 25), (12.5, 40), (400, 0), (20.2, 30.1))
    aperture = f"aperture={text(reach[0])},{text(reach[1])}"
    if by_velocity:
        low, high = one_of(draw, (1600, 2900), (2000, 2000), (1500, 1700))
        if one_of(draw, True, False):
            job.arguments.append(f"velocity={low},{high}")
        else:
            job.files["v"] = f"# t0 v dv\n0.05 {low + 100} 100\n\n0.1 {high} 50 # m/s\n".encode()
            job.arguments.append("velocity=v")
        job.arguments += [*[f"dip={one_of(draw, 1e-4, 0)}"] * one_of(draw, 1, 1, 0),
                          *[f"period={text(one_of(draw, 20, 40) * dt)}"] * one_of(draw, 1, 1, 0),
                          *["ranges_out=r.txt"] * one_of(draw, 1, 0),
                          *[tau] * one_of(draw, 1, 0), *[aperture] * one_of(draw, 1, 0)]
    else:
        job.arguments += [tau, *[aperture] * one_of(draw, 1, 1, 0)]
        wide = 500 if passes == 2 else one_of(draw, 7.5, 0.25)
        ranges(draw, s, job, times, places_, 2 if passes == 2 else 3, wide)
    if consecutive and one_of(draw, False, True) and window == "parallel" or window == "moveout":
        job.arguments.append(f"window={window}")
    if passes == 2:
        job.arguments.append("passes=2")
    if choose:
        job.arguments.append("choose=1")
    refine = one_of(draw, None, 0, 1)
    average = one_of(draw, None, 0, 1, 2.5)
    if refine is not None:
        job.arguments.append(f"refine={refine}")
    if average is not None:
        job.arguments.append(f"average={text(average * dt)}")
    if window == "parallel" and one_of(draw, False, True):
        job.arguments.append(f"smooth={one_of(draw, 'window', 'centre')}")
    if one_of(draw, False, True):
        job.arguments.append(f"weight={one_of(draw, 'none', 'semblance')}")
    mute = one_of(draw, None, None, None, "table", "stretch")
    if mute == "table":
        offsets = sorted({round(abs(2 * h), 6) for _, h in s.at})[:2]
        job.files["mute"] = "".join(
            f"{text(x)} {text(one_of(draw, times[len(times) // 2], times[0] + 3.3 * dt, 0))}\n"
            for x in offsets).encode()
        job.arguments.append("mute=mute")
    elif mute == "stretch" and by_velocity:
        job.arguments.append(f"mute={one_of(draw, 0.5, 0.1, 2)}")
    if s.bad:
        job.arguments.append("bad=skip")
    if s.crooked or s.axis != "xy" and one_of(draw, False, True):
        job.arguments.append(f"axis={s.axis}")
    if one_of(draw, False, True):
        job.arguments.append(f"order={'little' if s.order == '<' else 'big'}")

    # the outputs
    needs_stack = passes == 2 or choose or "fill=dead" in job.arguments
    wanted = one_of(draw, "scp", "scp", "scp", "scp", "cp", "s", "sc", "sp", "c")
    if needs_stack and "s" not in wanted:
        wanted = "s" + wanted
    job.arguments += [word for word in ("stack=s.su", "coherence=c.su", "parameters=p.npy")
                      if word[0] in wanted]
    job.backend, job.variant = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    return job
