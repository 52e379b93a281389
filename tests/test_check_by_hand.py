"""test_check_by_hand.py: what check=1 prints, repeated by hand: the live traces that are left out
follow from the rules that check.c describes, and each of them is filled by a job of its own, in
whose input the traces that must not be used are dead.
"""
import math
import random
import re
from dataclasses import dataclass

import numpy
import pytest

from tests import jobs
from tests.test_choose import splitmix64
from tests.test_job_relations import BINARIES
from tools.verify import section_oracle as oracle

COUNT = 5            # jobs in which parts of traces are compared, and others
WORK = 0.02          # output samples that are checked
VISITS = 5e6         # of samples, also in a short job
TRACES = 4, 48       # at least, at most
SAMPLES = 8, 64      # of each: at least, and as many as suffice
NEAREST, SHIFT = 24, 12
SEED = 58
DECIBEL = 0.02       # by which a printed ratio may differ


@dataclass
class LeftOut:
    """A live trace that is filled; numbers are those of the oracle's live traces."""
    number: int
    missing: list[bool]  # whether its shot, its receiver, its half-offset are left out
    kept: list[int]
    first: int
    samples: int


class Rules:
    """Which live traces a job tests."""

    def __init__(self, job):
        self.job, self.g = job, job.traces
        self.usable = numpy.any([near for near in job.near if near.sum() > 1], axis=0)
        self.largest = max(int(near.sum()) for near in job.near)
        self.order = sorted(numpy.flatnonzero(self.usable), key=lambda k: (self.g.m[k], k))

    def visits(self):
        """Window samples of the search of an output sample, on average."""
        job, total = self.job, 0.0
        for i, k in numpy.ndindex(8, 8):
            trace, sample = int(i / 8 * len(job.places)), int(k / 8 * len(job.t0))
            counts = job.ranges_at(job.places[trace][1], job.t0[sample])[:, 2]
            if job.coarse:
                counts = numpy.where(counts > 2, (counts + 1) // 2, counts)
            window = 1 if job.window == "moveout" else 2 * job.half + 1
            total += numpy.prod(counts) * job.near[trace].sum() * window
        return max(total / 64, 1)

    def same(self, k, m, h):
        """Whether trace k has the shot, the receiver and the half-offset of a place."""
        g = self.g
        return [abs(a - b) <= 0.5 for a, b in (
            (g.source[k], m - h), (g.receiver[k], m + h), (g.h[k], h))]

    def kept(self, k, missing):
        """The traces that trace k is filled from."""
        place = self.g.m[k], self.g.h[k]
        inside = numpy.flatnonzero(self.job.select(*place) & self.usable)
        return [i for i in inside if i != k and not any(
            a and b for a, b in zip(missing, self.same(i, *place), strict=True))]

    def chosen(self, output):
        """(number, missing, kept) of the trace that stands for an output trace, or None."""
        job, g, (m, h) = self.job, self.g, self.job.places[output]
        near = numpy.flatnonzero(job.near[output])
        same = [self.same(k, m, h) for k in near]
        missing = [not any(column) for column in zip(*same)] if same else [True] * 3
        scale = [1 / r if numpy.isfinite(r) and r > 0 else 1 for r in job.aperture]
        distance = {k: numpy.hypot((g.m[k] - m) * scale[0], (g.h[k] - h) * scale[1])
                    for k in self.order}
        low, high = job.ranges[0, 1], job.ranges[-1, 1]
        best = None
        for k in sorted(self.order, key=lambda k: distance[k])[:NEAREST]:
            kept = self.kept(k, missing)
            if low < high and not low <= g.h[k] <= high or not 2 <= len(kept) <= self.largest:
                continue
            if best is None or abs(len(kept) - len(near)) < abs(len(best[2]) - len(near)):
                best = k, missing, kept
        return best

    def samples(self, k):
        """The samples of a live trace at the output times."""
        row, job = self.g.samples[k], self.job
        return numpy.interp(numpy.array(job.t0) * 1e6 / job.dt, numpy.arange(len(row)), row)

    def span(self, k, samples):
        """(first, number) of the output times of trace k with the largest energy."""
        mute = self.job.muted_times(float(self.g.h[k]))
        row = self.samples(k)
        squares = (row - row.mean())[mute:] ** 2
        count = min(samples, len(squares))
        energy = [squares[i:i + count].sum() for i in range(len(squares) - count + 1)]
        return mute + (int(numpy.argmax(energy)) if count else 0), count

    def left_out(self):
        job, found = self.job, list[LeftOut]()
        samples = max(WORK * len(job.places) * len(job.t0), VISITS / self.visits())
        count = min(max(samples / SAMPLES[1], TRACES[0]), TRACES[1])
        count = int(min(count, samples / SAMPLES[0], len(self.g.m)))
        for i in range(count):
            part = len(job.places) / count
            output = int((i + float(splitmix64(i + 1, SEED)) * 2.0 ** -64) * part)
            one = self.chosen(min(output, len(job.places) - 1))
            if one and one[0] not in [t.number for t in found]:
                span = self.span(one[0], int(min(samples / count, len(job.t0))))
                if span[1]:
                    found.append(LeftOut(*one, *span))
        return found


def by_hand(job, wanted, one, folder):
    """The job that fills a tested trace."""
    g = wanted.traces
    alone = job.copy(output="places", places=[(float(g.m[one.number]), float(g.h[one.number]))],
                     axis_set=True)
    kept = {int(g.number[k]) for k in one.kept}
    for i, t in enumerate(alone.traces):
        t.dead |= i not in kept
    first, step, _ = job.t0 or (max(0, job.delay), 1, 0)
    alone.t0 = first + one.first * step, step, one.samples
    if job.velocity:
        alone = alone.copy(velocity=None, dip=None, period=None, tau=wanted.tau,
                           aperture=wanted.aperture, average=wanted.averaged)
        # The ranges of one half-offset serve for all.
        rows = oracle.numbers(folder / "made.txt")
        one_offset = (rows[:, 1] == rows[0, 1]).all()
        numpy.savetxt(folder / "rows.txt", numpy.delete(rows, 1, axis=1) if one_offset else rows,
                      "%.17g")
        alone.options |= {"ranges": "rows.txt", "refine": str(int(wanted.refined))}
    alone.options["check"] = "0"
    return alone


def ratios(job, rules, tested, binary, folder):
    """The SNR of a shifted neighbor of each filled trace, and of these traces, in dB; NaN of
    samples that are 0."""
    energy = error = rest = 0.0
    g = rules.g
    for one in tested:
        alone = jobs.run_job(by_hand(job, rules.job, one, folder), binary, folder,
                             wanted=("stack",))
        assert alone.status == 0, alone.err
        span = slice(one.first, one.first + one.samples)
        row = rules.samples(one.number)
        own = row[span] - row.mean()
        near = min(one.kept, key=lambda k: (numpy.hypot(
            g.m[k] - g.m[one.number], g.h[k] - g.h[one.number]), k))
        other = numpy.pad(rules.samples(near), SHIFT)
        explained = 0.0
        for shift in range(2 * SHIFT + 1):
            moved = other[one.first + shift:one.first + shift + one.samples]
            product, square = own @ moved, moved @ moved
            explained = max(explained, product ** 2 / square if product > 0 else 0)
        energy += own @ own
        error += ((row[span] - alone.stack[0]) ** 2).sum()
        rest += own @ own - explained
    if not energy:
        return math.nan, math.nan
    return 10 * math.log10(energy / rest), 10 * math.log10(energy / error)


def possible(job):
    """Whether single jobs give the same: ranges do not depend on the part of the times."""
    rows = len(job.rows or (0, 0))
    return not isinstance(job.mute, float) and (
        rows == 1 or job.options.get("window") != "moveout")


def expected(job, words, binary, folder, part):
    """(what a job has printed, the traces that are left out, their ratios); None if single runs
    cannot tell, or if the job does not compare parts of traces (or whole ones)."""
    made = ["ranges_out=made.txt"] * bool(job.velocity)
    jobs.remove(folder, "one-")
    ended = jobs.launch(binary, [*words, *made, "stack=one-stack"], folder)
    try:
        wanted = oracle.Job([*words, *made], folder, ended.stderr)
        if ended.returncode or not len(wanted.ranges):
            return None
        rules = Rules(wanted)
        tested = rules.left_out()
    except (oracle.Undecided, oracle.Refused):
        return None
    shorter = any(one.first + one.samples < len(wanted.t0) for one in tested)
    if not tested or any(one.samples < 2 for one in tested) or shorter != part:
        return None
    told = dict(re.findall(r"^Check_(\w+)=(.*)$", ended.stdout, re.M))
    return told, tested, ratios(job, rules, tested, binary, folder)


@pytest.mark.seconds(10)
def test_by_hand(check, tmp_path, everything):
    built = {f"{b[0][:2]} {b[1]}": b for b in jobs.chosen(*BINARIES)}
    judged = number = 0
    while judged < 2 * COUNT * (10 if everything else 1):
        number += 1
        rng = random.Random(f"check {number}")
        part = judged % 2 == 0
        job = jobs.draw(rng, passes="1", choose="0", **{
            "size": "long", "ranges": rng.choice(("older", "file", "offsets"))} if part else {})
        words = job.words(tmp_path)
        found = possible(job) and expected(job, words, built[rng.choice(("10 omp", "00 seq"))],
                                           tmp_path, part)
        if not found or math.isnan(found[2][1]):
            continue
        judged += 1
        (told, tested, right), name = found, f"job {number}: {' '.join(words)}"
        check.equal(f"{name}: traces", told.get("traces"), str(len(tested)))
        check.equal(f"{name}: shots", told.get("shots"), str(sum(t.missing[0] for t in tested)))
        for key, ratio in zip(("nearest", "SNR"), right, strict=True):
            value = float(told.get(key, "nan"))
            check(f"{name}: {key}", not abs(value - ratio) < DECIBEL and f"{value}, not {ratio}")
