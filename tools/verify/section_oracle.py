"""section_oracle.py - whole sections in double precision, from the file to the headers.

Shares no code with the steps or common/: it reads SU traces byte by byte at the positions of
the SEG-Y standard (rev. 1, trace header), selects apertures, interpolates ranges, searches
all parameter tuples and builds the headers that the output must have.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

Doubles = NDArray[numpy.float64]
HEADER = 240
DEAD = 2
# First byte, counted from 1, and type of the header fields that are read or written.
FIELDS = {"tracl": (1, "i"), "tracr": (5, "i"), "fldr": (9, "i"), "tracf": (13, "i"),
          "ep": (17, "i"), "cdp": (21, "i"), "trid": (29, "h"), "offset": (37, "i"),
          "gelev": (41, "i"), "selev": (45, "i"), "sdepth": (49, "i"), "gdel": (53, "i"),
          "sdel": (57, "i"), "swdep": (61, "i"), "gwdep": (65, "i"), "scalel": (69, "h"),
          "scalco": (71, "h"), "sx": (73, "i"), "sy": (77, "i"), "gx": (81, "i"),
          "gy": (85, "i"), "counit": (89, "h"), "delrt": (109, "h"), "ns": (115, "H"),
          "dt": (117, "H"), "year": (157, "h")}
# The fields of output traces that are interpolated along the sources, the receivers, the
# midpoints and the half-offsets. Numbers continue outside the survey, elevations do not.
NUMBERS = {"fldr": "s", "ep": "s", "cdp": "m", "tracf": "h"}
ELEVATIONS = {"selev": "s", "sdepth": "s", "sdel": "s", "swdep": "s", "gelev": "g", "gdel": "g",
              "gwdep": "g"}
JOB = slice(228, 240)  # a mark and the hash of the job, which only the program knows
# Permitted error from printing and from the last sums: of the semblance, and of the amplitude
# relative to the largest sample.
MARGIN = 1e-6


def get(header: bytes, name: str, order: str) -> int:
    first, kind = FIELDS[name]
    return int(struct.unpack_from(order + kind, header, first - 1)[0])


def put(values: dict[str, int], order: str) -> bytes:
    """A header with these values, all other bytes 0."""
    raw = bytearray(HEADER)
    for name, value in values.items():
        first, kind = FIELDS[name]
        struct.pack_into(order + kind, raw, first - 1, value)
    return bytes(raw)


def split(path: Path, order: str) -> tuple[list[bytes], Doubles]:
    """(headers, samples [traces][ns]) of an SU file."""
    raw = path.read_bytes()
    ns = get(raw[:HEADER], "ns", order)
    row = HEADER + 4 * ns
    assert len(raw) % row == 0, f"{path}: not traces of {ns} samples"
    starts = range(0, len(raw), row)
    samples = [struct.unpack_from(f"{order}{ns}f", raw, i + HEADER) for i in starts]
    return [raw[i:i + HEADER] for i in starts], numpy.array(samples, "f8")


def metres(values: dict[str, int], name: str) -> float:
    """A coordinate or an elevation of a header."""
    scale = values["scalel" if name in ELEVATIONS else "scalco"]
    return values[name] / -scale if scale < 0 else float(values[name] * (scale or 1))


@dataclass
class Job:
    """The options of a section. rows: t0, then P0 P1 N of A to E, as in ranges=FILE; with h0
    after t0 or without."""
    places: Sequence[tuple[float, float]]  # midpoint and half-offset of each output trace
    t0: Sequence[float]  # seconds; evenly spaced
    tau: float
    rows: Sequence[Sequence[float]]
    aperture: tuple[float, float]
    axis: str
    order: str
    smooth: str = "centre"
    weight: str = "semblance"
    window: str = "parallel"
    mute: Sequence[tuple[float, float]] = ()  # rows of offset and time
    stretch: float = 0  # limit of t / tn - 1, for the velocity
    velocity: float = 0


@dataclass
class Gather:
    """The traces of a line that are not dead; sample 0 of each is at time 0."""
    m: Doubles
    h: Doubles
    fields: list[dict[str, int]]  # of their headers
    samples: Doubles
    dt: float  # microseconds
    dead: Sequence[dict[str, int]] = ()


@dataclass
class Sample:
    """What an output sample may be. Each tuple is A to E. unsure: a window of this tuple
    begins or ends so close to an end of the record that rounding decides whether it is used."""
    tuples: Doubles                 # [N][5]
    semblance: Doubles              # [N]
    stack: Doubles                  # [N]: the amplitude before the weight
    used: NDArray[numpy.int_]       # [N]: number of traces in the stack
    semblance_error: Doubles        # [N]: effect of rounding in float
    stack_error: Doubles
    unsure: NDArray[numpy.bool_]


def mute_time(job: Job, h: float) -> float:
    """Samples before this time are muted in traces with this half-offset."""
    if job.mute:
        return float(numpy.interp(2 * abs(h), *numpy.transpose(job.mute)))
    if job.stretch:  # t / tn = 1 + stretch, with t^2 = tn^2 + (2 h / v)^2
        tn = 2 * abs(h) / job.velocity / ((1 + job.stretch) ** 2 - 1) ** 0.5
        return (1 + job.stretch) * tn
    return 0


def muted(job: Job, g: Gather, h: float, t0: float) -> bool:
    return t0 < mute_time(job, h) - 1e-9 * g.dt


def gather(path: Path, job: Job) -> Gather:
    headers, rows = split(path, job.order)
    fields = [{name: get(h, name, job.order) for name in FIELDS} for h in headers]
    alive = [i for i, values in enumerate(fields) if values["trid"] != DEAD]
    source, receiver = numpy.array([[metres(fields[i], end + job.axis) for end in "sg"]
                                    for i in alive]).T
    dt = get(headers[0], "dt", job.order)
    delay = get(headers[alive[0]], "delrt", job.order) * 1000 // dt
    rows = rows[alive]
    rows = rows[:, -delay:] if delay < 0 else numpy.pad(rows, ((0, 0), (delay, 0)))
    for row, half in zip(rows, (receiver - source) / 2, strict=True):
        row[:max(0, int(numpy.ceil(mute_time(job, half) / dt * 1e6 - 1e-3)))] = 0
    return Gather((source + receiver) / 2, (receiver - source) / 2,
                  [fields[i] for i in alive], rows, dt,
                  [values for values in fields if values["trid"] == DEAD])


def ranges_at(job: Job, h0: float, t0: float) -> Doubles:
    """P0 P1 N of A to E at (h0, t0): interpolated between rows. Rows of 17 have h0 after t0."""
    rows = numpy.array(job.rows, "f8")
    if rows.shape[1] == 16:
        rows = numpy.insert(rows, 1, 0, axis=1)
    offsets = numpy.unique(rows[:, 1])
    at_time = numpy.array([[numpy.interp(t0, some[:, 0], column) for column in some[:, 2:].T]
                           for some in (rows[rows[:, 1] == h] for h in offsets)])
    return numpy.array([numpy.interp(h0, offsets, column) for column in at_time.T]).reshape(5, 3)


def grid(ranges: Doubles) -> Doubles:
    """All tuples, [N][5], E fastest."""
    axes = []
    for p0, p1, count in ranges:
        n = int(numpy.floor(count + 0.5))
        axes.append(p0 + numpy.arange(n) / n * (p1 - p0))
    return numpy.stack(numpy.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 5)


def aperture(g: Gather, job: Job, m0: float, h0: float) -> NDArray[numpy.bool_]:
    return (abs(g.m - m0) <= job.aperture[0]) & (abs(g.h - h0) <= job.aperture[1])


@dataclass
class Arrivals:
    """Where the curves of some tuples cross the traces of an aperture; arrays are [N][traces],
    [N][1] or, of the whole aperture, [traces]."""
    rows: Doubles                  # [traces][ns]
    x: Doubles                     # samples
    error: Doubles                 # effect of rounding on x
    exists: NDArray[numpy.bool_]   # t^2 >= 0
    likely: NDArray[numpy.bool_]   # rounding may make it so

    def at(self, half: int) -> tuple[Doubles, NDArray[numpy.bool_], NDArray[numpy.bool_]]:
        """(samples x - half .. x + half, [N][traces][2 half + 1], 0 where they do not all
        exist; whether they exist, [N][traces]; whether rounding decides that for a trace,
        [N])."""
        x, ns = self.x, self.rows.shape[1]
        used = self.exists & (x >= half) & (x < ns - half - 1)
        unsure = (self.likely & ((abs(x - half) < self.error)
                                 | (abs(x - (ns - half - 1)) < self.error))).any(axis=1)
        first = numpy.where(used, numpy.floor(x), half).astype(int) - half
        index = first[..., None] + numpy.arange(2 * half + 1)
        part = numpy.where(used, x - numpy.floor(x), 0)[..., None]
        trace = numpy.arange(len(self.rows))[:, None]
        low, high = self.rows[trace, index], self.rows[trace, index + 1]
        return (low + part * (high - low)) * used[..., None], used, unsure


def arrivals(g: Gather, job: Job, m0: float, h0: float, t0: float, tuples: Doubles) -> Arrivals:
    """The curves of the tuples, and what rounding to float can change.

    A traveltime is computed with about ten roundings of relative size 2^-24 each, and the
    differences dm, dh with one more: x, in samples, is wrong by at most dx = 16 * 2^-24 times
    the largest number of samples that occurs in it."""
    near = aperture(g, job, m0, h0)
    rate = 1e6 / g.dt
    dm, dh = g.m[near] - m0, g.h[near] - h0
    a, b, c, d, e = (column[:, None] for column in tuples.T)
    linear = t0 + a * dm + b * dh
    square = linear ** 2 + c * dh ** 2 + d * dm ** 2 + e * dh * dm
    x = numpy.sqrt(numpy.maximum(square, 0)) * rate
    largest = rate * numpy.sqrt((t0 + abs(a * dm) + abs(b * dh)) ** 2 + abs(c) * dh ** 2
                                + abs(d) * dm ** 2 + abs(e * dh * dm)).max() + 1
    # sqrt amplifies the error of the square where terms cancel, to its own root at most.
    rounding = 16 * 2.0 ** -24 * largest ** 2
    return Arrivals(g.samples[near], x, rounding / numpy.maximum(x, rounding ** 0.5),
                    square >= 0, square * rate ** 2 > -rounding)


def rounding_of_values(at: Arrivals, used: NDArray[numpy.bool_], half: int) -> Doubles:
    """How wrong values may be, root mean square over the traces: by the arrival's error times
    the difference of two neighbouring samples, by the rounding of the interpolation, and of
    sums of up to (traces * window) terms."""
    slope = abs(numpy.diff(at.rows, axis=1)).max() if at.rows.shape[1] > 1 else 0
    terms = len(at.rows) + 2 * half + 8
    square = (numpy.where(used, at.error, 0) ** 2).sum(axis=1)
    error: Doubles = numpy.sqrt(square / numpy.maximum(used.sum(axis=1), 1)) * slope
    return error + terms * 2.0 ** -24 * abs(at.rows).max()


def semblance_error(relative: Doubles) -> Doubles:
    """The semblance is |P v|^2 / |v|^2 of all values v, P a projection, so a relative change r
    of v changes its root by at most 2 r / (1 - r)."""
    relative = numpy.minimum(relative, 0.5)
    return 4 * relative / (1 - relative) ** 2


def half_window(g: Gather, job: Job) -> int:
    return int(job.tau * 1e6 / g.dt + 1e-3)


def search(g: Gather, job: Job, m0: float, h0: float, t0: float,
           tuples: Doubles | None = None) -> Sample:
    """The semblance and the mean of the windows for every tuple (or those given, which then
    are those of all times), and what rounding to float can change."""
    if job.window == "moveout":
        return search_moveout(g, job, m0, h0, t0, tuples)
    half = half_window(g, job)
    tuples = grid(ranges_at(job, h0, t0)) if tuples is None else tuples
    at = arrivals(g, job, m0, h0, t0, tuples)
    v, used, unsure = at.at(half)
    count = numpy.maximum(used.sum(axis=1), 1)
    energy = (v ** 2).sum(axis=(1, 2))
    good = ((~used).sum(axis=1) < 2) & (energy > 0)
    numerator = (v.sum(axis=1) ** 2).sum(axis=1)
    semblance = numpy.where(good, numerator / numpy.where(energy > 0, energy, 1) / count, 0)
    chosen = v if job.smooth == "window" else v[..., half:half + 1]
    stack = numpy.where(good, chosen.sum(axis=(1, 2)) / (count * chosen.shape[2]), 0)

    wrong = rounding_of_values(at, used, half)
    rms = numpy.sqrt(energy / (count * (2 * half + 1)))
    change = semblance_error(wrong / numpy.maximum(rms, 1e-300))
    return Sample(tuples, semblance, stack, used.sum(axis=1), change, wrong, unsure)


def search_moveout(g: Gather, job: Job, m0: float, h0: float, t0: float,
                   tuples: Doubles | None) -> Sample:
    """The same for windows of the arrivals at neighbouring t0. Of the samples k of a window,
    S is the sum over the traces, Q that of the squares, K the number of traces; all are 0 at
    negative times, and where two traces have no arrival. A tuple stands for the same fractions
    of the ranges at all samples of the window. The semblance is the sum of S^2 over
    that of K Q, and 0 where K Q is 0 at t0 itself. It is that of the values, those of sample k
    times sqrt(K)."""
    half, dt = half_window(g, job), g.dt * 1e-6
    inside = [min(max(t, job.t0[0]), job.t0[-1])
              for t in (t0 + k * dt for k in range(-half, half + 1))]
    counts = ranges_at(job, h0, t0)[:, 2]
    numerator = energy = size = wrong = numpy.zeros(1)
    unsure = numpy.zeros(1, bool)
    middle = None
    for k, at_most in zip(range(-half, half + 1), inside, strict=True):
        time = round((t0 + k * dt) / dt) * dt
        if time < 0:
            continue
        if tuples is None:
            ranges = ranges_at(job, h0, at_most)
            ranges[:, 2] = counts
            curves = grid(ranges)
        else:
            curves = tuples
        at = arrivals(g, job, m0, h0, time, curves)
        v, used, doubt = at.at(0)
        K = used.sum(axis=1) * ((~used).sum(axis=1) < 2)
        S, Q = v[..., 0].sum(axis=1), (v[..., 0] ** 2).sum(axis=1)
        numerator = numerator + numpy.where(K > 0, S ** 2, 0)
        energy = energy + K * Q
        size = size + K ** 2
        error = rounding_of_values(at, used, half)
        wrong = numpy.maximum(wrong, error)
        unsure = unsure | doubt
        if k == 0:
            middle = curves, K, K * Q > 0, numpy.where(K > 0, S / numpy.maximum(K, 1), 0), error
    assert middle
    curves, K, good, stack, error = middle
    semblance = numpy.where(good, numerator / numpy.where(energy > 0, energy, 1), 0)
    relative = wrong * numpy.sqrt(size) / numpy.maximum(numpy.sqrt(energy), 1e-300)
    return Sample(curves, semblance, stack, K, semblance_error(relative), error, unsure)


def weight(job: Job, semblance: float, used: int) -> float:
    """The factor of a sample: the signal's share of the energy, (S - n) / (1 - n) if noise
    alone has semblance n, over the share S that the stack keeps."""
    if job.weight == "none":
        return 1
    noise = min(0.9, 3 / max(used, 1))
    return max(0, (semblance - noise) / (1 - noise)) / semblance if semblance > 0 else 0


def distances(tuples: Doubles, parameters: Doubles, scale: Doubles) -> Doubles:
    """How far parameters are from each of the tuples."""
    return (abs(tuples - parameters) / scale).max(axis=1)


def scale_of(tuples: Doubles) -> Doubles:
    """The size of each parameter."""
    return abs(tuples).max(axis=0) + 1e-30


def judge(job: Job, sample: Sample, semblance: float, stack: float, parameters: Doubles,
          size: float, scale: Doubles | None = None) -> tuple[float, str]:
    """(fraction of the error budget that an output sample used, which exceeds 1 or is NaN if
    it is wrong; what is wrong). `size` is the largest amplitude of the input, `scale` that of
    the parameters unless the sample has all tuples."""
    distance = distances(sample.tuples, parameters,
                         scale_of(sample.tuples) if scale is None else scale)
    found, sure = int(distance.argmin()), ~sample.unsure
    if not distance[found] <= 1e-5:
        return numpy.inf, f"parameters {parameters} are not on the grid"
    if sure.all() and sample.semblance.max() == 0 and found:
        return numpy.inf, f"tuple {found} of equal ones, expected the first"
    error = sample.semblance_error
    used = [(0.0, "none")]
    if sure[found]:
        # The weight follows from the coherence that the program reports, which is compared.
        amplitude = weight(job, semblance, sample.used[found]) * sample.stack[found]
        used += [(abs(semblance - sample.semblance[found]) / (error[found] + MARGIN),
                  f"coherence {semblance}, expected {sample.semblance[found]}"),
                 (abs(stack - amplitude) / (sample.stack_error[found] + MARGIN * size),
                  f"stack {stack}, expected {amplitude}")]
    if sure.any():
        lack = (sample.semblance - semblance) / (error + error[found] + MARGIN)
        used.append((lack[sure].max(), f"coherence {semblance}, but the largest is "
                                       f"{sample.semblance[sure].max()}"))
    return max(used, key=lambda u: u[0] if u[0] == u[0] else numpy.inf)


def judge_amplitude(job: Job, sample: Sample, stack: float, size: float) -> tuple[float, str]:
    """Like judge(), of a result of which only the amplitude is known: that of one of the tuples
    whose semblance may be the largest. `size` is the largest amplitude of the input."""
    error = sample.semblance_error + MARGIN
    if sample.unsure.any():
        return 0.0, "unsure"
    best = int(sample.semblance.argmax())
    used, expected = numpy.inf, 0.0
    for k in numpy.flatnonzero(sample.semblance >= sample.semblance[best] - error - error[best]):
        s = float(sample.semblance[k])
        weights = [weight(job, s + e, sample.used[k]) for e in (-error[k], 0, error[k])]
        budget = sample.stack_error[k] + MARGIN * size \
            + (max(weights) - min(weights)) * abs(sample.stack[k])
        amplitude = weights[1] * sample.stack[k]
        if abs(stack - amplitude) / budget < used:
            used, expected = abs(stack - amplitude) / budget, amplitude
    return used, f"stack {stack}, expected {expected}"


# ---- curves after the search: refine= and average= ------------------------------------


def refine(g: Gather, job: Job, m0: float, h0: float, t0: float, start: Doubles
           ) -> tuple[Doubles, float]:
    """(tuple, semblance) after the line searches from a tuple of the grid: for each parameter,
    the best of the point, those half a step away, and the maximum of the parabola through
    these three, if it has one, at an offset of at most half a step."""
    def semblance(tuples: list[Doubles]) -> Doubles:
        return search(g, job, m0, h0, t0, numpy.array(tuples)).semblance

    point, value = numpy.array(start, "f8"), float(semblance([start])[0])
    for k, (p0, p1, count) in enumerate(ranges_at(job, h0, t0)):
        step = numpy.zeros(5)
        step[k] = abs(p1 - p0) / numpy.floor(count + 0.5) / 2
        if step[k] == 0:
            continue
        tried = [point, point - step, point + step]
        before, after = semblance(tried[1:])
        curvature = before + after - 2 * value
        if curvature < 0:
            tried.append(point + numpy.clip((before - after) / (2 * curvature), -1, 1) * step)
        found = numpy.array([value, *semblance(tried[1:])])
        point, value = tried[int(found.argmax())], float(found.max())
    return point, value


def average(coherence: Doubles, parameters: Doubles, reach: int) -> Doubles:
    """The parameters [time][5] of a trace: means over `reach` samples on both sides, weighted
    by coherence^4; where there is no curve, they do not change."""
    result = parameters.copy()
    for i in numpy.flatnonzero(coherence > 0):
        near = slice(max(0, i - reach), i + reach + 1)
        result[i] = numpy.average(parameters[near], axis=0, weights=coherence[near] ** 4)
    return result


def rounded(value: float) -> int:
    return int(numpy.floor(value + 0.5 + 1e-6))


def along(at: Doubles, values: Doubles, x: float, grows: bool) -> float:
    """The values of traces at positions `at`, interpolated at x. Of traces at one position, the
    first in the file counts. Outside, a number grows as on average between the ends."""
    places, first = numpy.unique(at, return_index=True)
    if grows and len(places) > 1 and not places[0] <= x <= places[-1]:
        low, high = values[first[[0, -1]]]
        return float(low + (x - places[0]) / (places[-1] - places[0]) * (high - low))
    return float(numpy.interp(x, places, values[first]))


def scale_of_places(job: Job, survey: int) -> int:
    """The survey's scalco, or 1 to 1/10000 m: the first in which all coordinates are whole."""
    ends = numpy.array([(m - h, m + h) for m, h in job.places])
    for scale in (survey, 1, -10, -100, -1000, -10000):
        units = ends * -scale if scale < 0 else ends / (scale or 1)
        if abs(units - numpy.round(units)).max() < 1e-3:
            break
    return scale


def header(g: Gather, job: Job, m: float, h: float, scalco: int) -> dict[str, int]:
    """The fields of an output trace, except the number, trid and the times: those of the first
    dead trace at its place, or interpolated."""
    x = {"s": m - h, "g": m + h, "m": m, "h": h}
    for values in g.dead:
        if all(abs(metres(values, end + job.axis) - x[end]) <= 1e-3 for end in "sg"):
            return values
    at = {"s": g.m - g.h, "g": g.m + g.h, "m": g.m, "h": g.h}
    scalel = g.fields[0]["scalel"]
    found = {"scalco": scalco, "scalel": scalel, "counit": g.fields[0]["counit"]}
    for name, axis in NUMBERS.items():
        values_of = numpy.array([f[name] for f in g.fields], "f8")
        found[name] = rounded(along(at[axis], values_of, x[axis], True))
    other = "y" if job.axis == "x" else "x"
    across = {"s" + other: "s", "g" + other: "g"}
    meter = {name: along(at[axis], numpy.array([metres(f, name) for f in g.fields]), x[axis], False)
             for name, axis in {**ELEVATIONS, **across}.items()}
    meter |= {"s" + job.axis: x["s"], "g" + job.axis: x["g"]}
    for name, value in meter.items():
        scale = scalel if name in ELEVATIONS else scalco
        found[name] = rounded(value * -scale if scale < 0 else value / (scale or 1))
    side = [f["offset"] for f, half in zip(g.fields, g.h, strict=True)
            if f["offset"] and half and (half > 0) == (h > 0)]
    sign = numpy.sign(side[0]) if side else 1 if h > 0 else -1
    found["offset"] = int(sign) * rounded(float(numpy.hypot(
        2 * h, meter["g" + other] - meter["s" + other])))
    return found


def headers(g: Gather, job: Job) -> list[bytes]:
    """The headers of all output traces, in the byte order of this machine."""
    step = job.t0[1] - job.t0[0] if len(job.t0) > 1 else g.dt * 1e-6
    scalco = scale_of_places(job, g.fields[0]["scalco"])
    result = []
    for i, (m, h) in enumerate(job.places):
        alive = aperture(g, job, m, h).sum() >= 2
        values = {"tracl": i + 1, "tracr": i + 1, **header(g, job, m, h, scalco),
                  "trid": 1 if alive else DEAD, "delrt": round(job.t0[0] * 1e3),
                  "ns": len(job.t0), "dt": round(step * 1e6)}
        result.append(put(values, "="))
    return result


# ---- ranges from velocities ----------------------------------------------------------


def gaps(g: Gather) -> tuple[float, float]:
    """The lower quartiles of the distances between shots, and between receivers of a shot."""
    source, receiver = numpy.round(g.m - g.h, 3), numpy.round(g.m + g.h, 3)
    shots = numpy.diff(numpy.unique(source))
    receivers = numpy.concatenate([numpy.diff(numpy.unique(receiver[source == s]))
                                   for s in numpy.unique(source)])
    return (float(numpy.quantile(shots, 0.25, method="lower")),
            float(numpy.quantile(receivers, 0.25, method="lower")))


def period(g: Gather) -> float:
    """The distance of the minima on both sides of the maximum, within 0.125 s, of the mean
    correlation of each trace with its nearest neighbour."""
    ns = g.samples.shape[1]
    delays = min(int(0.125e6 / g.dt + 1e-9), (ns - 1) // 2)
    total = numpy.zeros(2 * delays + 1)
    for i, row in enumerate(g.samples):
        distance = (g.m - g.m[i]) ** 2 + (g.h - g.h[i]) ** 2
        distance[i] = numpy.inf
        other = g.samples[int(distance.argmin())]
        size = numpy.sqrt((row ** 2).sum() * (other ** 2).sum())
        if size > 0:
            total += numpy.correlate(other, row, "full")[ns - 1 - delays:ns + delays] / size
    peak = int(total.argmax())
    left, right = int(total[:peak + 1].argmin()), peak + int(total[peak:].argmin())
    return (right - left) * g.dt * 1e-6


def velocity_ranges(velocity: Doubles, dip: float, T: float, h: float, t: float,
                    reach: tuple[float, float]) -> Doubles:
    """P0 P1 N of A to E, for rows of (t0, smallest, largest) velocity, a largest dip and a
    period. N is a float, before it is rounded up."""
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
