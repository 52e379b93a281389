"""section_check.py - decides whether the output files of a job of whole traces are right.

findings() compares all files of a job, of each pass too, with what section_oracle.py reads and
section_search.py finds, value by value. Two passes are judged one after the other: the second
one on the residual that the first one has left in a file.

check() is for jobs that are timed: the semblance and the stack of the tuple that was found are
computed for each sample, the semblances of all tuples only for every 13th: that takes seconds.
What has been judged is kept while the process runs, because the steps and back-ends find the
same values at most samples.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from tools.base import runs
from tools.verify import section_search as curves
from tools.verify.section_oracle import (
    DEAD,
    FIELDS,
    JOB,
    MARK,
    Job,
    Traces,
    Undecided,
    get,
    headers,
    numbers,
    put,
    split,
)
from tools.verify.section_search import FLOAT, MARGIN, Aperture, Doubles, Sample

EVERY = 13  # samples of a job that is timed
ROUNDED = 0.000501  # of a number that is printed with 3 digits after the point
STEEP = 0.9  # of dip=: the energy along curves that are steeper is printed


@dataclass
class Finding:
    """One comparison. used: the fraction of the error budget, which exceeds 1 or is NaN if the
    value is wrong."""
    file: str
    index: tuple[int, ...]  # of the value in the file
    value: float
    expected: float
    budget: float

    @property
    def used(self) -> float:
        difference = abs(self.value - self.expected)
        return difference / self.budget if self.budget else numpy.inf if difference else \
            difference

    def __str__(self) -> str:
        return f"{self.file}{list(self.index)}: {self.value}, expected {self.expected} " \
               f"within {self.budget:.3g}"


def said(file: str, right: bool, what: str) -> Finding:
    """A comparison without a budget."""
    return Finding(f"{file}: {what}", (), 0 if right else 1, 0, 0)


@dataclass
class Pass:
    """One search of output traces in traces. files: {stack, coherence, parameters: name and
    values [output trace][time]}, of those that are known."""
    traces: Traces
    places: Sequence[tuple[float, float]]
    near: Sequence[NDArray[numpy.bool_]]
    files: Mapping[str, tuple[str, Doubles]]


class Judge:
    """Compares the files of a job; searches all tuples at one of `every` samples."""

    def __init__(self, job: Job, every: int = 1) -> None:
        self.job, self.every = job, every
        self.grids: dict[tuple[float, ...], Doubles] = {}
        self.whole: dict[tuple[int, int], Sample] = {}  # of (trace, time): along all tuples

    def tuples(self, h: float, t: float, counts: Doubles | None = None) -> Doubles:
        ranges = self.job.ranges_at(h, t)
        if counts is not None:
            ranges[:, 2] = counts
        key = tuple(ranges.ravel())
        if key not in self.grids:
            self.grids[key] = curves.grid(ranges)
        return self.grids[key]

    def search(self, a: Aperture, h: float, times: Sequence[float], nearest: Mapping[int, Doubles]
               ) -> list[Sample]:
        """What the searches of an output trace may find at each time, along all tuples, or
        along that which is nearest to some parameters."""
        job = self.job
        if job.coarse:
            return [curves.coarse(a, job.half, t, job.ranges_at(h, t)) for t in times]
        sets = [self.tuples(h, t) for t in times]
        chosen = [slice(None) if k not in nearest else
                  slice(i := int((abs(sets[k] - nearest[k]) / (abs(sets[k]).max(axis=0) + 1e-30)
                                  ).max(axis=1).argmin()), i + 1) for k in range(len(times))]
        if job.window == "parallel":
            t0 = numpy.concatenate([numpy.full(len(s[c]), t) for s, c, t in
                                    zip(sets, chosen, times, strict=True)])
            one = curves.parallel(a, job.half, t0, numpy.concatenate(
                [s[c] for s, c in zip(sets, chosen, strict=True)]))
        else:
            dt, window = job.dt * 1e-6, numpy.arange(-job.half, job.half + 1)
            t0_of, curves_of = [], []
            for t, which in zip(times, chosen, strict=True):
                counts = job.ranges_at(h, t)[:, 2]
                around = [round((t + k * dt) / dt) * dt for k in window]
                some = numpy.stack([
                    self.tuples(h, min(max(near, job.t0[0]), job.t0[-1]), counts)[which]
                    for near in around], axis=1)
                t0_of.append(numpy.broadcast_to(around, some.shape[:2]))
                curves_of.append(some)
            one = curves.moveout(a, numpy.concatenate(t0_of), numpy.concatenate(curves_of))
        ends = numpy.cumsum([len(s[c]) for s, c in zip(sets, chosen, strict=True)])
        return [one.part(slice(end - len(s[c]), end))
                for s, c, end in zip(sets, chosen, ends, strict=True)]

    def some(self, a: Aperture, i: int, h: float, times: Sequence[float],
             nearest: Mapping[int, Doubles]) -> list[Sample]:
        """The same for output trace i, without repeating searches along all tuples."""
        wanted = [k for k in range(len(times)) if k not in nearest and (i, k) not in self.whole]
        for k, sample in zip(wanted, self.search(a, h, [times[k] for k in wanted], {})
                             if wanted else (), strict=True):
            self.whole[i, k] = sample
        few = sorted(nearest)
        found = dict(zip(few, self.search(a, h, [times[k] for k in few], {
            n: nearest[k] for n, k in enumerate(few)}) if few else (), strict=True))
        return [found[k] if k in found else self.whole[i, k] for k in range(len(times))]

    def files(self, names: Mapping[str, str]) -> Iterator[Finding]:
        """All comparisons of the output files of the job, {option: name}."""
        job, folder = self.job, self.job.folder
        for name in names.values():
            yield said(name, (folder / name).is_file() or not len(job.ranges), "is missing")
        stack = names.get("stack", "") + ".filled" * job.fill
        if "ranges_out" in names and job.table is not None:
            yield from compare_table(job, names["ranges_out"])
        known: dict[str, tuple[str, Doubles]] = {}
        for key, name in names.items():
            if key == "parameters":
                known[key] = name, numpy.load(folder / name).astype("f8")
                shape = len(job.places), len(job.t0), 5
                yield said(name, known[key][1].shape == shape, f"shape, expected {shape}")
            elif key != "ranges_out":
                name = stack if key == "stack" else name
                yield from compare_headers(job, name, folder / name, job.places, job.near)
                known[key] = name, split(folder / name, "=")[1]
        if stack and "coherence" in names:
            heads = [split(folder / name, "=")[0] for name in (
                stack + ".first" * (job.passes == 2), names["coherence"])]
            yield said(names["coherence"], heads[0] == heads[1], "other headers than the stack")
        if job.passes == 1:
            yield from self.run(Pass(job.traces, job.places, job.near, known))
        else:
            known.pop("stack")
            yield from compare_passes(job, self, known, stack)
        if job.fill:
            yield from compare_survey(job, names["stack"])

    def run(self, p: Pass) -> Iterator[Finding]:
        for i in range(len(p.places)):
            yield from self.trace(p, i)

    def trace(self, p: Pass, i: int) -> Iterator[Finding]:
        """Judges output trace i."""
        job = self.job
        (m, h), near = p.places[i], p.near[i]
        muted = len(job.t0) if near.sum() < 2 else job.muted_times(h)
        for name, array in p.files.values():
            for index in numpy.ndindex(array[i][:muted].shape):
                yield Finding(name, (i, *index), array[(i, *index)], 0, 0)
        times = job.t0[muted:]
        if not times:
            return
        g = p.traces
        a = Aperture(g.m[near] - m, g.h[near] - h, g.samples[near], 1e6 / job.dt)
        known = {key: (name, array[i, muted:]) for key, (name, array) in p.files.items()}
        size = abs(g.samples).max() if len(g.samples) else 0.0
        nearest = {}
        if self.every > 1 and "parameters" in known:
            nearest = {k: known["parameters"][1][k] for k in range(len(times))
                       if (k + i) % self.every}
        samples = self.search(a, h, times, nearest) if self.every == 1 else \
            self.some(a, i, h, times, nearest)
        of_ranges = [job.ranges_at(h, t) for t in times]
        # Rounding errors: parameters in float, their interpolation in double.
        least = 2.0 ** -48 * abs(job.ranges[:, 2:]).max(axis=0).reshape(5, 3)[:, :2].max(axis=1)
        rounding = numpy.array([4 * FLOAT * (abs(r[:, 0]) + abs(r[:, 1])) + least
                                for r in of_ranges])
        at = (i, muted)
        if job.coarse:  # values are a step from others, which are rounded
            rounding *= 2
        if not (job.refined or job.reach):
            for k, sample in enumerate(samples):
                yield from self.sample(known, at, k, sample, a, rounding[k], size,
                                       k in nearest)
            return
        steps = numpy.array([abs(r[:, 1] - r[:, 0]) / r[:, 2] for r in of_ranges])
        yield from self.moved(a, known, at, numpy.array(times), samples, rounding, steps, size)

    def amplitude(self, sample: Sample, k: int, semblance: float) -> float:
        """The output sample of a curve whose semblance is known."""
        if semblance <= 0:
            return 0.0
        mean = (sample.smooth if self.job.smooth == "window" else sample.stack)[k]
        factor = 1 if self.job.weight == "none" else \
            curves.weight(semblance, int(sample.used[k]))
        return float(factor * mean)

    def sample(self, known: Mapping[str, tuple[str, Doubles]], at: tuple[int, int], k: int,
               sample: Sample, a: Aperture, rounding: Doubles, size: float, nearest: bool
               ) -> Iterator[Finding]:
        """Judges a sample whose curve is one of those of the search."""
        i, index = at[0], at[1] + k
        if isinstance(sample, curves.Found) and sample.unsure.any():
            return
        some = numpy.arange(len(sample.semblance)) if nearest else curves.largest(sample, a)
        error = sample.semblance_error + MARGIN
        if "parameters" in known:
            name, parameters = known["parameters"][0], known["parameters"][1][k]
            wrong = (abs(sample.tuples - parameters) / (rounding + 1e-30)).max(axis=1)
            at_grid = int(wrong.argmin())
            for c in range(5):
                yield Finding(name, (i, index, c), parameters[c], sample.tuples[at_grid, c],
                              rounding[c])
            if at_grid not in some:
                yield said(name, False, f"trace {i}, sample {index}: semblance "
                           f"{sample.semblance[at_grid]}, the largest is "
                           f"{sample.semblance.max()}")
            # Equal tuples stand for each other.
            some = numpy.flatnonzero(wrong <= wrong[at_grid])
        if sample.unsure[some].any():
            return
        reported = None
        if "coherence" in known:
            reported = known["coherence"][1][k]
            best = some[abs(sample.semblance[some] - reported).argmin()]
            yield Finding(known["coherence"][0], (i, index), reported, sample.semblance[best],
                          error[best])
            some = some[abs(sample.semblance[some] - reported) <= error[some]]
            if not len(some):
                return
        if "stack" not in known:
            return
        name, value = known["stack"][0], known["stack"][1][k]
        choices = []
        for c in some:
            s = float(sample.semblance[c])
            range_ = [reported] if reported is not None else [s, s - error[c], s + error[c]]
            middle, *others = [self.amplitude(sample, c, v) for v in range_]
            if reported is None and s <= error[c] and not curves.nothing(sample):
                others.append(0.0)
            budget = sample.stack_error[c] + MARGIN * size + max(
                [abs(v - middle) for v in others], default=0)
            choices.append(Finding(name, (i, index), value, middle, budget))
        yield min(choices, key=lambda f: f.used if f.used == f.used else numpy.inf)

    def moved(self, a: Aperture, known: Mapping[str, tuple[str, Doubles]], at: tuple[int, int],
              times: Doubles, samples: Sequence[Sample], rounding: Doubles, steps: Doubles,
              size: float) -> Iterator[Finding]:
        """Judges an output trace whose curves refine= and average= have moved."""
        job, (i, muted) = self.job, at
        where = curves.found(samples, a, rounding)
        if job.refined:
            curves.refine(a, job.half, times, where, steps)
        if job.reach and len(job.t0) > 1:
            curves.average(where, job.reach)
            curves.measure(a, job.half, times, where, steps)
        wide = curves.wide(where.radius, steps, curves.CERTAIN) | (where.low <= 0)
        if "parameters" in known:
            for k, c in numpy.ndindex(len(times), 5):
                yield Finding(known["parameters"][0], (i, muted + k, c),
                              known["parameters"][1][k, c], where.centre[k, c],
                              where.radius[k, c] + rounding[k, c])
        if "coherence" in known and "parameters" not in known:
            for k in range(len(times)):
                low, high = max(where.low[k], 0), max(where.high[k], 0)
                yield Finding(known["coherence"][0], (i, muted + k), known["coherence"][1][k],
                              (low + high) / 2, (high - low) / 2 + MARGIN * (high > 0))
        if "parameters" in known and "coherence" in known:
            # The curves are known: what follows from them is certain.
            one = curves.parallel(a, job.half, times, known["parameters"][1], double=True)
            for k in numpy.flatnonzero(~one.unsure):
                reported = known["coherence"][1][k]
                low, high = max(where.low[k], 0), max(where.high[k], 0)
                if one.semblance[k] <= one.semblance_error[k]:  # perhaps that before
                    expected, error = (low + high) / 2, (high - low) / 2
                elif high == 0 or (low == 0 and reported == 0):
                    expected, error = 0, one.semblance_error[k]
                else:
                    expected, error = one.semblance[k], one.semblance_error[k]
                yield Finding(known["coherence"][0], (i, muted + k), reported, expected,
                              error + MARGIN * (expected > 0))
                if "stack" in known:
                    yield Finding(known["stack"][0], (i, muted + k), known["stack"][1][k],
                                  self.amplitude(one, k, reported),
                                  one.stack_error[k] + MARGIN * size * (reported > 0))
        elif "stack" in known:
            starts = where.centre[:, None] + curves.STARTS * where.radius[:, None]
            count = len(curves.STARTS)
            one = curves.parallel(a, job.half, numpy.repeat(times, count), starts.reshape(-1, 5),
                                  double=True)
            for k in range(len(times)):
                part = one.part(slice(count * k, count * (k + 1)))
                if part.unsure.any() or wide[k] and where.high[k] > 0:
                    continue
                middle = self.amplitude(part, 0, (where.low[k] + where.high[k]) / 2)
                ends = numpy.array([[self.amplitude(part, c, v) for c in range(count)]
                                    for v in (where.low[k], where.high[k])])
                change = abs(ends[:, :1] - middle).max() + curves.sensitivity(ends).max()
                yield Finding(known["stack"][0], (i, muted + k), known["stack"][1][k], middle,
                              part.stack_error.max() + MARGIN * size + change)


def compare_headers(job: Job, name: str, path: Path, places: Sequence[tuple[float, float]],
                    near: Sequence[NDArray[numpy.bool_]]) -> Iterator[Finding]:
    """The headers of an SU file of output traces."""
    heads, _ = split(path, "=")
    wanted = headers(job, places, [n.sum() > 1 for n in near])
    yield said(name, len(heads) == len(wanted), f"{len(heads)} traces, not {len(wanted)}")
    for i, (head, want) in enumerate(zip(heads, wanted, strict=False)):
        wrong = [k + 1 for k in range(JOB.start) if head[k] != want[k]]
        yield said(name, not wrong, f"trace {i}: bytes {wrong} of the header: "
                   f"{ {f: get(head, f, '=') for f in FIELDS} }, expected "
                   f"{ {f: get(want, f, '=') for f in FIELDS} }")
        yield said(name, head[JOB.start:JOB.start + 4] == MARK, f"trace {i}: no mark")


def findings(job: Job, every: int = 1) -> Iterator[Finding]:
    """All comparisons of the output files of a job."""
    return Judge(job, every).files({key: job.option[key] for key in (
        "stack", "coherence", "parameters", "ranges_out") if key in job.option})


def compare_passes(job: Job, judge: Judge, files: Mapping[str, tuple[str, Doubles]], stack: str
                   ) -> Iterator[Finding]:
    """The files of passes=2: each is judged with those before it."""
    folder = job.folder
    first, live, residual = (f"{stack}.{name}" for name in ("first", "live", "residual"))
    base = split(folder / first, "=")[1]
    yield from compare_headers(job, first, folder / first, job.places, job.near)
    yield from judge.run(Pass(job.traces, job.places, job.near,
                              {**files, "stack": (first, base)}))

    # The live traces in apertures, in the order of midpoints, each without itself.
    g = job.traces
    inside = sorted(numpy.flatnonzero(numpy.any([*job.near, g.m < -math.inf], axis=0)).tolist(),
                    key=lambda k: (g.m[k], k))
    rows = job.rows.copy().astype("f4")
    if inside:
        places = [(float(g.m[k]), float(g.h[k])) for k in inside]
        near = []
        for k, place in zip(inside, places, strict=True):
            near.append(job.select(*place))
            near[-1][k] = False
        if not len(job.ranges) and any(some.sum() > 1 for some in near):
            raise Undecided("ranges that the first pass does not have")
        predicted = split(folder / live, "=")[1]
        yield from compare_headers(job, live, folder / live, places, near)
        yield from judge.run(Pass(g, places, near, {"stack": (live, predicted)}))
        start = round(job.t0[0] / job.dt * 1e6) - job.delay
        for k, row in zip(inside, predicted, strict=True):
            rows[g.number[k], start:start + len(job.t0)] -= row.astype("f4")
    heads, rest = split(folder / residual, job.order)
    wanted = [put({"trid": DEAD}, job.order, head) if i in job.bad else head
              for i, head in enumerate(job.heads)]
    yield said(residual, heads == wanted, "headers differ")
    for i, k in zip(*numpy.nonzero(rest != rows), strict=True):
        yield Finding(residual, (int(i), int(k)), rest[i, k], float(rows[i, k]), 0)
    total = split(folder / stack, "=")[1]
    yield from judge.run(Pass(job.gather(rest), job.places, job.near,
                              {"stack": (stack, total - base)}))


def compare_survey(job: Job, name: str) -> Iterator[Finding]:
    """The whole survey that fill=dead writes."""
    heads, filled = split(job.folder / f"{name}.filled", "=")
    raw = (job.folder / name).read_bytes()
    start = round(job.t0[0] / job.dt * 1e6) - job.delay
    wanted = b""
    for i, (head, row) in enumerate(zip(job.heads, job.rows, strict=True)):
        if i in job.dead:
            k = job.dead.index(i)
            live = job.values[job.live[0]]
            head = put({"trid": get(heads[k], "trid", "="), "delrt": live["delrt"],
                        **({"tscale": live["tscale"]} if live["delrt"] else {})},
                       job.order, head)
            row = numpy.zeros(job.ns)
            row[start:start + len(job.t0)] = filled[k]
        wanted += head + row.astype(job.order + "f4").tobytes()
    wrong = [k for k, (a, b) in enumerate(zip(raw, wanted, strict=False)) if a != b]
    yield said(name, raw == wanted, f"{len(raw)} bytes, not {len(wanted)}; {len(wrong)} differ, "
               f"from {wrong[:1]} on")


def compare_table(job: Job, name: str) -> Iterator[Finding]:
    """The file of ranges_out=."""
    assert job.table is not None
    text = (job.folder / name).read_text()
    said_ = re.search(r"tau=(\S+) aperture=(\S+),(\S+) refine=(\S+) average=(\S+)", text)
    yield said(name, bool(said_), "no line of options")
    wanted = [job.tau, *job.aperture, job.refined, job.averaged]
    for k, value in enumerate(wanted if said_ else ()):
        yield Finding(name, (-1, k), float(said_[k + 1]) if said_ else 0, value, 1e-12 * value)
    told = numbers(job.folder / name)
    yield said(name, told.shape == job.table.shape, f"{told.shape}, not {job.table.shape}")
    if told.shape == job.table.shape:
        scale = abs(job.table).max(axis=0)
        for i, k in numpy.ndindex(told.shape):
            yield Finding(name, (i, k), told[i, k], job.table[i, k], 1e-9 * scale[k])


def printed(job: Job, out: str, err: str) -> Iterator[Finding]:
    """What a job of one pass prints."""
    alive = [i for i, near in enumerate(job.near) if near.sum() > 1]
    points = sum(len(job.t0) - job.muted_times(job.places[i][1]) for i in alive)
    found = dict(re.findall(r"^(\w+)=(.*)$", out, re.M))
    expected = {"Traces": len(job.places), "There": 0, "Dead": len(job.places) - len(alive)}
    if job.passes == 1:
        expected["Points"] = points
    for key, number in expected.items():
        yield said("standard output", found.get(key) == str(number),
                   f"{key}={found.get(key)}, not {number}")
    yield from means(job, found)
    total, zero = len(job.rows), 0
    g = job.used()
    lines = {f"{len(job.bad)} of {total} traces have samples that are not finite": job.bad,
             f"{len(job.dead) - len(job.bad)} of {total} traces are dead":
             len(job.dead) > len(job.bad) and not job.fill,
             f"{len(job.other)} of {total} traces are not seismic data": job.other,
             "positions are metres from": len(job.axis) == 2,
             f"{len(job.dead)} of {total} traces are to be filled: "
             f"{len(job.dead) - job.zero} with trid 2, {job.zero} all zero": job.fill,
             f"{len(job.places) - len(alive)} of {len(job.places)} output traces have less than "
             "2 traces": len(alive) < len(job.places)}
    raw = job.rows[g.number]
    zero = int((~raw[:, max(0, -job.delay):].any(axis=1)).sum())
    lines[f"{zero} of {len(raw)} live traces are all zero"] = zero
    for line, present in lines.items():
        yield said("standard error", (line in err) == bool(present), f"{line!r}: {err!r}")


def means(job: Job, found: Mapping[str, str]) -> Iterator[Finding]:
    """The means that are printed, of the output files of the first pass."""
    option, folder = job.option, job.folder
    alive = [i for i, near in enumerate(job.near) if near.sum() > 1]
    points = sum(len(job.t0) - job.muted_times(job.places[i][1]) for i in alive)
    if not points or "coherence" not in option:
        return
    name = "standard output"
    coherence = split(folder / option["coherence"], "=")[1]
    yield Finding(name, (-1, 0), float(found.get("Mean_semblance", "nan")),
                  coherence.sum() / points, ROUNDED)
    if "parameters" not in option or "stack" not in option or not len(job.velocity):
        return
    stack = option["stack"] + ".filled" * job.fill + ".first" * (job.passes == 2)
    energy = split(folder / stack, "=")[1] ** 2
    steep = abs(numpy.load(folder / option["parameters"])[:, :, 0]) / job.dip
    most, least = (float(energy[steep > STEEP * (1 + sign * 1e-6)].sum() / energy.sum())
                   if energy.any() else 0 for sign in (-1, 1))
    yield Finding(name, (-1, 1), float(found.get("Dip_steep", "nan")), (most + least) / 2,
                  (most - least) / 2 + ROUNDED)


@cache
def kept_judge(key: str, *arguments: str) -> Judge:
    return Judge(Job(arguments), EVERY)


def judge_of(*arguments: str) -> Judge:
    """The oracle of a job and of the contents of its files."""
    return kept_judge(runs.query_key(arguments), *arguments)


def check(arguments: Sequence[str], files: Mapping[str, Path]) -> dict[str, Any]:
    """Like runs.check(): ok, share in percent, reason."""
    worst = 0.0, "none"
    for found in judge_of(*arguments).files(
            {key: str(path.absolute()) for key, path in files.items()}):
        used = found.used if found.used == found.used else numpy.inf
        if used > worst[0]:
            worst = used, str(found)
        if used > 1:
            break
    return {"ok": worst[0] <= 1, "share": 100 * worst[0], "reason": worst[1]}
