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
FIELDS = {"tracl": (1, "i"), "tracr": (5, "i"), "cdp": (21, "i"), "trid": (29, "h"),
          "offset": (37, "i"), "scalco": (71, "h"), "sx": (73, "i"), "sy": (77, "i"),
          "gx": (81, "i"), "gy": (85, "i"), "counit": (89, "h"), "delrt": (109, "h"),
          "ns": (115, "H"), "dt": (117, "H")}
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


@dataclass
class Gather:
    """The traces of a line that are not dead; sample 0 of each is at time 0."""
    m: Doubles
    h: Doubles
    cdp: list[int]
    samples: Doubles
    dt: float  # microseconds


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


def gather(path: Path, job: Job) -> Gather:
    headers, rows = split(path, job.order)
    place, alive = [], [i for i, h in enumerate(headers)
                        if get(h, "trid", job.order) != DEAD]
    for i in alive:
        scale = get(headers[i], "scalco", job.order)
        unit = 1 / -scale if scale < 0 else scale or 1
        place.append([get(headers[i], end + job.axis, job.order) * unit for end in "sg"])
    source, receiver = numpy.array(place, "f8").T
    dt = get(headers[0], "dt", job.order)
    delay = get(headers[alive[0]], "delrt", job.order) * 1000 // dt
    rows = rows[alive]
    rows = rows[:, -delay:] if delay < 0 else numpy.pad(rows, ((0, 0), (delay, 0)))
    return Gather((source + receiver) / 2, (receiver - source) / 2,
                  [get(headers[i], "cdp", job.order) for i in alive], rows, dt)


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


def search(g: Gather, job: Job, m0: float, h0: float, t0: float,
           tuples: Doubles | None = None) -> Sample:
    """The semblance and the mean of the windows for every tuple (or those given), and what
    rounding to float can change.

    A traveltime is computed with about ten roundings of relative size 2^-24 each, and the
    differences dm, dh with one more: x, in samples, is wrong by at most dx = 16 * 2^-24 times
    the largest number of samples that occurs in it. A value changes by at most dx times the
    difference of two neighbouring samples, and by the rounding of the interpolation. The
    semblance is |P v|^2 / |v|^2 of all values v, P a projection, so a relative change r of v
    changes its root by at most 2 r / (1 - r).
    """
    near = aperture(g, job, m0, h0)
    tuples = grid(ranges_at(job, h0, t0)) if tuples is None else tuples
    rate, ns = 1e6 / g.dt, g.samples.shape[1]
    half = int(job.tau * rate + 1e-3)
    dm, dh, rows = g.m[near] - m0, g.h[near] - h0, g.samples[near]
    a, b, c, d, e = (column[:, None] for column in tuples.T)
    linear = t0 + a * dm + b * dh
    square = linear ** 2 + c * dh ** 2 + d * dm ** 2 + e * dh * dm
    x = numpy.sqrt(numpy.maximum(square, 0)) * rate
    largest = rate * numpy.sqrt((t0 + abs(a * dm) + abs(b * dh)) ** 2 + abs(c) * dh ** 2
                                + abs(d) * dm ** 2 + abs(e * dh * dm)).max() + 1
    # sqrt amplifies the error of the square where terms cancel.
    rounding = 16 * 2.0 ** -24 * largest ** 2
    dx = rounding / numpy.maximum(x, 1)
    used = (square >= 0) & (x >= half) & (x < ns - half - 1)
    exists = square * rate ** 2 > -rounding  # else there surely is no traveltime
    unsure = (exists & ((x < 1) & (half == 0) | (abs(x - half) < dx)
                        | (abs(x - (ns - half - 1)) < dx))).any(axis=1)

    first = numpy.where(used, numpy.floor(x), half).astype(int) - half
    index = first[..., None] + numpy.arange(2 * half + 1)
    part = numpy.where(used, x - numpy.floor(x), 0)[..., None]
    trace = numpy.arange(len(rows))[:, None]
    low, high = rows[trace, index], rows[trace, index + 1]
    v = (low + part * (high - low)) * used[..., None]
    count = numpy.maximum(used.sum(axis=1), 1)
    energy = (v ** 2).sum(axis=(1, 2))
    good = ((~used).sum(axis=1) < 2) & (energy > 0)
    numerator = (v.sum(axis=1) ** 2).sum(axis=1)
    semblance = numpy.where(good, numerator / numpy.where(energy > 0, energy, 1) / count, 0)
    chosen = v if job.smooth == "window" else v[..., half:half + 1]
    stack = numpy.where(good, chosen.sum(axis=(1, 2)) / (count * chosen.shape[2]), 0)

    slope = abs(numpy.diff(rows, axis=1)).max() if ns > 1 else 0
    size = abs(rows).max()
    # Interpolation, and sums of up to (traces * window) terms.
    terms = len(rows) + 2 * half + 8
    wrong = numpy.where(used, dx, 0).max(axis=1) * slope + terms * 2.0 ** -24 * size
    rms = numpy.sqrt(energy / (count * (2 * half + 1)))
    relative = numpy.minimum(wrong / numpy.maximum(rms, 1e-300), 0.5)
    change = 4 * relative / (1 - relative) ** 2
    return Sample(tuples, semblance, stack, used.sum(axis=1), change, wrong, unsure)


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


def nearest(g: Gather, m0: float, h0: float) -> int:
    """cdp of the nearest trace; of equally near ones the first in the file."""
    return g.cdp[int(numpy.argmin((g.m - m0) ** 2 + (g.h - h0) ** 2))]


def headers(g: Gather, job: Job) -> list[bytes]:
    """The headers of all output traces, in the byte order of this machine. Coordinates have the
    coarsest unit, 1 to 1/10000 m, in which all are whole."""
    ends = numpy.array([(m - h, m + h) for m, h in job.places])
    parts = 1
    while parts < 10000 and abs(ends * parts - numpy.round(ends * parts)).max() >= 1e-3:
        parts *= 10
    step = job.t0[1] - job.t0[0] if len(job.t0) > 1 else g.dt * 1e-6
    result = []
    for i, (m, h) in enumerate(job.places):
        alive = aperture(g, job, m, h).sum() >= 2
        values = {"tracl": i + 1, "tracr": i + 1, "cdp": nearest(g, m, h),
                  "trid": 1 if alive else DEAD, "offset": int(numpy.floor(2 * h + 0.5)),
                  "scalco": -parts if parts > 1 else 1, "counit": 1,
                  "delrt": round(job.t0[0] * 1e3), "ns": len(job.t0), "dt": round(step * 1e6),
                  "s" + job.axis: round((m - h) * parts), "g" + job.axis: round((m + h) * parts)}
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
