"""section_search.py - searches along travel-time curves in double precision, and what rounding
to float can change in their results.

Shares no code with the steps or common/. section_oracle.py decides which traces, times and
curves belong to a job, and compares.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

Doubles = NDArray[numpy.float64]
Flags = NDArray[numpy.bool_]
FLOAT = 2.0 ** -24  # the largest relative error of rounding to float
# A curve that is less certain than this part of a step of the grid is not followed any more.
CERTAIN = 0.05
# Permitted error from printing and from the last sums: of the semblance, and of the amplitude
# relative to the largest sample.
MARGIN = 1e-6


@dataclass
class Aperture:
    """The traces around an output trace."""
    dm: Doubles    # [traces]: metres from the output trace
    dh: Doubles
    rows: Doubles  # [traces][ns]
    rate: float    # samples per second


    def relevant(self) -> tuple[Flags, Flags]:
        """Of A to E, those that move an arrival; those that may do so by rounding alone."""
        sizes = [abs(v).max() for v in (self.dm, self.dh, self.dh, self.dm, self.dm * self.dh)]
        return (numpy.array([size > 1e-5 for size in sizes]),
                numpy.array([0 < size <= 1e-5 for size in sizes]))


@dataclass
class Arrivals:
    """Where the curves of some tuples cross the traces of an aperture; arrays are [N][traces]."""
    rows: Doubles   # [traces][ns]
    x: Doubles      # samples
    error: Doubles  # effect of rounding on x
    exists: Flags   # t^2 >= 0
    likely: Flags   # rounding may make it so

    def at(self, half: int) -> tuple[Doubles, Flags, Flags, Flags]:
        """(samples x - half .. x + half, [N][traces][2 half + 1], 0 where they do not all
        exist; whether they exist, [N][traces]; whether rounding decides that for a trace, [N];
        whether all of them and their neighbours are 0, [N])."""
        x, ns = self.x, self.rows.shape[1]
        used = self.exists & (x >= half) & (x < ns - half - 1)
        unsure = (self.likely & ((abs(x - half) < self.error)
                                 | (abs(x - (ns - half - 1)) < self.error))).any(axis=1)
        first = numpy.where(used, numpy.floor(x), half).astype(int) - half
        index = first[..., None] + numpy.arange(2 * half + 1)
        part = numpy.where(used, x - numpy.floor(x), 0)[..., None]
        trace = numpy.arange(len(self.rows))[:, None]
        low, high = self.rows[trace, index], self.rows[trace, index + 1]
        loud = numpy.pad(numpy.cumsum(self.rows != 0, axis=1), ((0, 0), (1, 0)))
        number = trace[:, 0]
        silent = loud[number, numpy.minimum(first + 2 * half + 3, ns)] \
            == loud[number, numpy.maximum(first - 1, 0)]
        return ((low + part * (high - low)) * used[..., None], used, unsure,
                (silent | ~used).all(axis=1))


def arrivals(a: Aperture, t0: Doubles, tuples: Doubles, double: bool) -> Arrivals:
    """The curves of tuples [N][5] at t0 [N], and what rounding can change.

    In float, a traveltime is computed with about ten roundings of relative size 2^-24 each, and
    the differences dm, dh with one more: x, in samples, is wrong by at most dx = 16 * 2^-24
    times the largest number of samples that occurs in it. What follows the search is computed
    in double."""
    A, B, C, D, E = (column[:, None] for column in tuples.T)
    t0 = t0[:, None]
    linear = t0 + A * a.dm + B * a.dh
    square = linear ** 2 + C * a.dh ** 2 + D * a.dm ** 2 + E * a.dh * a.dm
    x = numpy.sqrt(numpy.maximum(square, 0)) * a.rate
    largest = a.rate * numpy.sqrt(
        (abs(t0) + abs(A * a.dm) + abs(B * a.dh)) ** 2 + abs(C) * a.dh ** 2
        + abs(D) * a.dm ** 2 + abs(E * a.dh * a.dm)).max(axis=1, keepdims=True) + 1
    # sqrt amplifies the error of the square where terms cancel, to its own root at most.
    rounding = 16 * (2.0 ** -48 if double else FLOAT) * largest ** 2
    return Arrivals(a.rows, x, rounding / numpy.maximum(x, rounding ** 0.5),
                    square >= 0, square * a.rate ** 2 > -rounding)


@dataclass
class Sample:
    """What searches find along N curves. unsure: a window begins or ends so close to an end of
    the record that rounding decides whether it is used."""
    tuples: Doubles           # [N][5]: A to E
    semblance: Doubles        # [N]
    stack: Doubles            # [N]: the mean of the traces on the curve
    smooth: Doubles           # [N]: that of their windows
    used: NDArray[numpy.int_]  # [N]: number of traces in the stack
    semblance_error: Doubles  # [N]: effect of rounding in float
    stack_error: Doubles
    unsure: Flags

    def part(self, which: slice | Flags) -> Sample:
        return Sample(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


class Found(Sample):
    """The curves that search=coarse may find; if unsure, the ends of their ranges."""


def joined(parts: Sequence[Sample]) -> Sample:
    return Sample(*(numpy.concatenate([getattr(p, name) for p in parts])
                    for name in Sample.__dataclass_fields__))


def rounding_of_values(at: Arrivals, used: Flags, half: int, double: bool) -> Doubles:
    """How wrong values may be, root mean square over the traces: by the arrival's error times
    the difference of two neighbouring samples, by the rounding of the interpolation, and of
    sums of up to (traces * window) terms."""
    slope = abs(numpy.diff(at.rows, axis=1)).max() if at.rows.shape[1] > 1 else 0
    terms = len(at.rows) + (0 if double else 2 * half) + 8
    square = (numpy.where(used, at.error, 0) ** 2).sum(axis=1)
    error: Doubles = numpy.sqrt(square / numpy.maximum(used.sum(axis=1), 1)) * slope
    return error + terms * FLOAT * abs(at.rows).max()


def semblance_error(relative: Doubles) -> Doubles:
    """The semblance is |P v|^2 / |v|^2 of all values v, P a projection, so a relative change r
    of v changes its root by at most 2 r / (1 - r)."""
    relative = numpy.minimum(relative, 0.5)
    return 4 * relative / (1 - relative) ** 2


def parallel(a: Aperture, half: int, t0: Doubles, tuples: Doubles, double: bool = False) -> Sample:
    """window=parallel, for tuples [N][5] at t0 [N]."""
    batch = max(1, int(1e6 / (len(a.rows) * (2 * half + 1))))
    if len(tuples) > batch:
        return joined([parallel(a, half, t0[i:i + batch], tuples[i:i + batch], double)
                       for i in range(0, len(tuples), batch)])
    at = arrivals(a, t0, tuples, double)
    v, used, unsure, silent = at.at(half)
    count = numpy.maximum(used.sum(axis=1), 1)
    energy = (v ** 2).sum(axis=(1, 2))
    good = ((~used).sum(axis=1) < 2) & (energy > 0)
    numerator = (v.sum(axis=1) ** 2).sum(axis=1)
    semblance = numpy.where(good, numerator / numpy.where(energy > 0, energy, 1) / count, 0)
    wrong = rounding_of_values(at, used, half, double)
    rms = numpy.sqrt(energy / (count * (2 * half + 1)))
    change = semblance_error(wrong / numpy.maximum(rms, wrong + 1e-300))
    change[silent | ((~used).sum(axis=1) >= 2)] = 0
    return Sample(tuples, semblance, v[..., half].sum(axis=1) / count,
                  v.sum(axis=(1, 2)) / (count * (2 * half + 1)), used.sum(axis=1), change,
                  wrong, unsure)


def moveout(a: Aperture, t0: Doubles, tuples: Doubles) -> Sample:
    """window=moveout: tuples [N][2 half + 1][5] at the times t0 [N][2 half + 1] of a window. Of
    each of these, S is the sum over the traces, Q that of the squares, K the number of traces;
    all are 0 at negative times, and where two traces have no arrival. The semblance is the sum
    of S^2 over that of K Q, and 0 where K Q is 0 in the middle. It is that of the values, those
    of one time multiplied by sqrt(K)."""
    n, window = t0.shape
    batch = max(1, int(1e6 / (len(a.rows) * window)))
    if n > batch:
        return joined([moveout(a, t0[i:i + batch], tuples[i:i + batch])
                       for i in range(0, n, batch)])
    at = arrivals(a, t0.ravel(), tuples.reshape(-1, 5), False)
    v, used, doubt, silent = at.at(0)
    K = used.sum(axis=1) * ((~used).sum(axis=1) < 2) * (t0.ravel() >= 0)
    S, Q = v[..., 0].sum(axis=1), (v[..., 0] ** 2).sum(axis=1)
    wrong = (rounding_of_values(at, used, window // 2, False) * (t0.ravel() >= 0)).reshape(n, -1)
    unsure = (doubt & (t0.ravel() >= 0)).reshape(n, -1).any(axis=1)
    mean = (S * (K > 0) / numpy.maximum(K, 1)).reshape(n, -1)[:, window // 2]
    K, S, Q = (array.reshape(n, -1) for array in (K, S, Q))
    energy = (K * Q).sum(axis=1)
    middle = window // 2
    # Rounding decides whether a sample is 0.
    power = (Q / numpy.maximum(K, 1))[:, middle] ** 0.5
    unsure |= ~silent.reshape(n, -1)[:, middle] & (K[:, middle] > 0) & (power <= wrong[:, middle])
    good = (K * Q)[:, middle] > 0
    semblance = numpy.where(good, (S ** 2 * (K > 0)).sum(axis=1)
                            / numpy.where(energy > 0, energy, 1), 0)
    relative = wrong.max(axis=1) * numpy.sqrt((K ** 2).sum(axis=1)) \
        / numpy.maximum(numpy.sqrt(energy), wrong.max(axis=1) + 1e-300)
    change = semblance_error(relative)
    change[(K[:, middle] == 0) | silent.reshape(n, -1)[:, middle]] = 0
    return Sample(tuples[:, middle], semblance, mean, mean, K[:, middle], change,
                  wrong[:, middle], unsure)


def weight(semblance: float, used: int) -> float:
    """The factor of a sample: the signal's share of the energy, (S - n) / (1 - n) if noise
    alone has semblance n, over the share S that the stack keeps."""
    noise = min(0.9, 3 / max(used, 1))
    return max(0, (semblance - noise) / (1 - noise)) / semblance if semblance > 0 else 0


# ---- search=coarse ---------------------------------------------------------------------

# A sample is not judged if rounding leaves more possible best curves than this.
STARTS_MAX = 60


def grid(ranges: Doubles) -> Doubles:
    """All tuples of ranges [5][P0, P1, N], [tuples][5], E fastest."""
    axes = [p0 + numpy.arange(int(n)) / n * (p1 - p0) for p0, p1, n in ranges]
    return numpy.stack(numpy.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 5)


def coarse(a: Aperture, half: int, t0: float, ranges: Doubles) -> Found:
    """search=coarse of a sample. A parameter has n values, the centres of n equal parts of a range;
    the first search has the centres of (n + 1) // 2 equal parts. Its best curve moves along A, then
    B, .. E, one step of the grid backwards or forwards, but not beyond the first and the last
    value, if the semblance is larger there. All curves are followed that rounding may make the
    best one."""
    p0, p1, n = ranges.T
    step, few = (p1 - p0) / n, (n + 1) // 2
    first = p0 + step * (n / few - 1) / 2
    relevant, doubtful = a.relevant()

    def search(tuples: Doubles) -> Sample:
        return parallel(a, half, numpy.full(len(tuples), t0), tuples)

    one = search(grid(numpy.stack([first, first + p1 - p0, few], axis=1)))
    starts, unsure = one.tuples[largest(one, a)], one.unsure.any()
    low, high = numpy.minimum(p0, p1 - step), numpy.maximum(p0, p1 - step)
    for k in numpy.flatnonzero((n > 1) & (relevant | doubtful)):
        if unsure or len(starts) > STARTS_MAX:
            break
        three = starts[:, None] + numpy.array([0, -1, 1])[:, None] * step[k] * numpy.eye(5)[k]
        three = numpy.clip(three, numpy.minimum(low, three[:, :1]),
                           numpy.maximum(high, three[:, :1])).reshape(-1, 5)
        near = search(three)
        unsure |= near.unsure.any()
        if nothing(near):
            continue
        error = near.semblance_error + MARGIN
        least = (near.semblance - error).reshape(-1, 3).max(axis=1).repeat(3)
        starts = numpy.unique(three[near.semblance + error >= least], axis=0)
    if unsure or len(starts) > STARTS_MAX:
        one = search(numpy.stack([low, high]))
        one.unsure[:] = True
    else:
        one = search(starts)
    return Found(*(getattr(one, name) for name in Sample.__dataclass_fields__))


# ---- curves after the search: refine= and average= ------------------------------------


@dataclass
class Curves:
    """The curves of the samples of an output trace, as far as rounding leaves them certain:
    each parameter is within `radius` of `centre`, the semblance from low to high."""
    centre: Doubles  # [T][5]
    radius: Doubles  # [T][5]
    low: Doubles     # [T]
    high: Doubles    # [T]


def nothing(sample: Sample) -> bool:
    """Whether the semblance of all tuples is certainly 0."""
    return not (sample.unsure.any() or sample.semblance.any() or sample.semblance_error.any())


def largest(sample: Sample, a: Aperture) -> NDArray[numpy.int_]:
    """The tuples of a sample whose semblance may be the largest; of tuples of the same curve,
    the first."""
    error = sample.semblance_error + MARGIN
    if sample.unsure.any() or isinstance(sample, Found):
        return numpy.arange(len(sample.semblance))
    if nothing(sample):
        return numpy.zeros(1, int)
    best = int(sample.semblance.argmax())
    some = numpy.flatnonzero(sample.semblance + error >= sample.semblance[best] - error[best])
    relevant, doubtful = a.relevant()
    if not doubtful.any():
        _, first = numpy.unique(sample.tuples[some] * relevant, axis=0, return_index=True)
        some = some[numpy.sort(first)]
    return some


def found(samples: Sequence[Sample], a: Aperture, rounding: Doubles) -> Curves:
    """The curves that searches find; rounding [T][5] is that of the parameters."""
    result = Curves(*(numpy.zeros((len(samples), n)) for n in (5, 5)),
                    *(numpy.zeros(len(samples)) for _ in "lh"))
    for k, sample in enumerate(samples):
        some = largest(sample, a)
        low, high = sample.tuples[some].min(axis=0), sample.tuples[some].max(axis=0)
        result.centre[k], result.radius[k] = (low + high) / 2, (high - low) / 2 + rounding[k]
        error = sample.semblance_error[some] + MARGIN
        # A full search finds the largest semblance, whichever tuple has it.
        least = min if isinstance(sample, Found) else max
        result.low[k] = 0 if sample.unsure.any() else least(sample.semblance[some] - error)
        result.high[k] = 1 if sample.unsure.any() else (sample.semblance[some] + error).max()
        if nothing(sample):
            result.low[k] = result.high[k] = 0
    return result


# A curve, and those at both ends of the radius of each parameter.
STARTS = numpy.concatenate([numpy.zeros((1, 5)), numpy.eye(5), -numpy.eye(5)])


def around(a: Aperture, half: int, t0: Doubles, centre: Doubles, radius: Doubles,
           offsets: Doubles, k: int) -> tuple[Doubles, Doubles, Flags]:
    """(semblances [T][11][offsets] at the STARTS moved by offsets [T][11][offsets] along
    parameter k; the effect of rounding in float; what rounding decides)."""
    starts = centre[:, None, :] + STARTS * radius[:, None, :]
    points = starts[:, :, None, :] + offsets[..., None] * numpy.eye(5)[k]
    times = numpy.broadcast_to(t0[:, None, None], points.shape[:3])
    one = parallel(a, half, times.ravel(), points.reshape(-1, 5), double=True)
    shape = points.shape[:3]
    return (one.semblance.reshape(shape),
            (one.semblance_error + 1e-7 * (one.semblance > 0)).reshape(shape),
            one.unsure.reshape(shape))


def wide(radius: Doubles, steps: Doubles, part: float) -> Flags:
    """Whether a curve is less certain than a part of a step of the grid."""
    return (radius > numpy.where(steps > 0, part * steps, numpy.inf)).any(axis=1)


def sensitivity(values: Doubles) -> Doubles:
    """How much a value at the STARTS changes within the radii: to the first order by the sum of
    the changes along the parameters, to the second by at most five times the sum."""
    change = abs(values[:, 1:] - values[:, :1]).reshape(len(values), 2, 5).max(axis=1)
    return 5 * change.sum(axis=1)


def refine(a: Aperture, half: int, t0: Doubles, curves: Curves, steps: Doubles) -> None:
    """Line searches along A, then B, .. E: the best of the point, those half a step away, and
    the maximum of the parabola through these three, if it has one, at an offset of at most half
    a step. steps [T][5]: 0 for a parameter with one value."""
    centre, radius = curves.centre, curves.radius
    relevant, doubtful = a.relevant()
    radius += steps / 2 * doubtful
    steps = steps * relevant
    exists = curves.high > 0
    lost = exists & ((curves.low <= 0) | wide(radius, steps, CERTAIN))
    earlier = curves.low.copy(), curves.high.copy()
    semblances(a, half, t0, curves, steps)
    for k in range(5):
        h = steps[:, k] / 2
        some = exists & ~lost & (h > 0)
        radius[lost, k] += h[lost]
        if not some.any():
            continue
        c, r, times, h = centre[some], radius[some], t0[some], h[some]
        three = numpy.array([0, -1, 1]) * h[:, None, None] * numpy.ones((1, len(STARTS), 1))
        f, e, unsure = around(a, half, times, c, r, three, k)
        here, before, after = f[..., 0], f[..., 1], f[..., 2]
        slope, bend = before - after, before + after - 2 * here
        bent = numpy.where(bend < 0, bend, -1)
        move = numpy.where(bend < 0, numpy.clip(h[:, None] / 2 * slope / bent, -h[:, None],
                                                h[:, None]), 0)
        error = e[:, 0, 1] + e[:, 0, 2]
        margin = error + 2 * e[:, 0, 0]
        reach = sensitivity(move) + h / 2 * (error / abs(bent[:, 0])
                                             + abs(slope[:, 0]) * margin / bent[:, 0] ** 2)
        reach = numpy.minimum(reach, 2 * h)
        is_bent = bend[:, 0] < 0
        doubtful = abs(bend[:, 0]) <= margin + sensitivity(bend)
        fourth = numpy.stack([move, move - reach[:, None], move + reach[:, None]], axis=2)
        g, e4, unsure4 = around(a, half, times, c, r, fourth, k)
        values = numpy.concatenate([f, g[..., :1]], axis=2)
        errors = numpy.concatenate([e[:, 0], e4[:, 0, :1]], axis=1) + numpy.stack(
            [sensitivity(values[..., i]) for i in range(4)], axis=1)
        errors[:, 3] += abs(g[:, 0, 1:] - g[:, 0, :1]).max(axis=1)
        value = values[:, 0]
        allowed = numpy.stack([numpy.ones(len(h), bool)] * 3 + [is_bent], axis=1)
        low = numpy.where(allowed, value - errors, -1).max(axis=1)
        chosen = allowed & (value + errors >= low[:, None])
        places = numpy.stack([0 * h, -h, h, move[:, 0]], axis=1)
        width = numpy.stack([0 * h, 0 * h, 0 * h, reach], axis=1)
        first = numpy.where(chosen, places - width, numpy.inf).min(axis=1)
        last = numpy.where(chosen, places + width, -numpy.inf).max(axis=1)
        give_up = unsure.any(axis=(1, 2)) | unsure4.any(axis=(1, 2)) | doubtful
        first, last = numpy.where(give_up, -h, first), numpy.where(give_up, h, last)
        number = numpy.flatnonzero(some)
        centre[number, k] += (first + last) / 2
        radius[number, k] += (last - first) / 2 + 2 * FLOAT * abs(centre[number, k])
        curves.low[number] = numpy.where(give_up, 0, low)
        curves.high[number] = numpy.where(
            give_up, 1, numpy.where(allowed, value + errors, 0).max(axis=1))
        lost[number] |= give_up | (radius[number, k] > 2 * CERTAIN * h)
    curves.low[lost], curves.high[lost] = 0, 1
    keep(curves, *earlier)


def keep(curves: Curves, low: Doubles, high: Doubles) -> None:
    """Where no window fits, the semblances are those before."""
    none, doubtful = curves.high <= 0, curves.low <= 0
    curves.low = numpy.where(none, low, numpy.where(
        doubtful, numpy.minimum(curves.low, low), curves.low))
    curves.high = numpy.where(none, high, numpy.where(
        doubtful, numpy.maximum(curves.high, high), curves.high))


def measure(a: Aperture, half: int, t0: Doubles, curves: Curves, steps: Doubles) -> None:
    """Sets the semblances of the curves that average= has moved."""
    before = curves.low.copy(), curves.high.copy()
    semblances(a, half, t0, curves, steps)
    keep(curves, *before)


def semblances(a: Aperture, half: int, t0: Doubles, curves: Curves, steps: Doubles) -> None:
    """Sets the semblances of the curves."""
    exists = curves.high > 0
    if not exists.any():
        return
    f, e, unsure = around(a, half, t0[exists], curves.centre[exists], curves.radius[exists],
                          numpy.zeros((exists.sum(), len(STARTS), 1)), 0)
    error = e[:, 0, 0] + sensitivity(f[..., 0])
    vague = unsure.any(axis=(1, 2)) | wide(curves.radius, steps, 2 * CERTAIN)[exists]
    curves.low[exists] = numpy.where(vague, 0, f[:, 0, 0] - error)
    curves.high[exists] = numpy.where(vague, 1, f[:, 0, 0] + error)


def average(curves: Curves, reach: int) -> None:
    """Means of the parameters over `reach` samples on both sides, weighted by semblance^4;
    where there is no curve, they do not change.

    With weights w + e, the mean differs from that with w by sum(e (c - mean)) / sum(w + e)."""
    low, high = numpy.maximum(curves.low, 0) ** 4, numpy.maximum(curves.high, 0) ** 4
    w, e = (low + high) / 2, (high - low) / 2
    centre, radius = curves.centre.copy(), curves.radius.copy()
    for i in numpy.flatnonzero(curves.high > 0):
        near = slice(max(0, i - reach), i + reach + 1)
        total = max(low[near].sum(), 1e-12)
        mean = (w[near, None] * centre[near]).sum(axis=0) / w[near].sum()
        curves.centre[i] = mean
        curves.radius[i] = (high[near, None] * radius[near]
                            + e[near, None] * abs(centre[near] - mean)).sum(axis=0) / total \
            + 2 * FLOAT * abs(mean)
        if curves.low[i] <= 0:  # there may be no curve
            curves.radius[i] += abs(centre[i] - mean) + radius[i]
