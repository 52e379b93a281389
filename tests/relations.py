"""relations.py - what a change of a job does to its result.

A relation changes a job (jobs.py) in a way whose effect is known, runs both, and returns what
is wrong, or "". `exact` relations require equal bytes. The others permit rounding: jobs.far()
has the budget; for them, only jobs are drawn whose curves are values of a grid.
test_job_relations.py draws jobs for each relation; test_pairs.py has a table of jobs.
"""
from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from tests import jobs
from tests.helpers import preloaded
from tests.jobs import Job, Result, Trace, far, run_job, unequal
from tools.base import runs
from tools.verify import section_oracle as oracle

Binary = tuple[str, str, str]
# Fields of output traces that do not depend on the coordinates.
NUMBERS = ("trid", "fldr", "ep", "cdp", "tracf", "ns", "dt", "delrt", "counit", "scalel",
           "selev", "gelev", "offset")


@dataclass
class Case:
    """One use of a relation."""
    rng: random.Random
    folder: Path
    binary: Binary
    others: Mapping[str, Binary] = field(default_factory=dict)  # "10 omp", by name

    def run(self, job: Job, **options: Any) -> Result:
        binary = options.pop("binary", self.binary)
        if binary[1].startswith("hybrid"):
            options["more"] = ["share=37", *options.get("more", ())]
        return run_job(job, binary, self.folder, **options)


Relation = Callable[[Case, Job], str]
Condition = Callable[[Job], bool]
RELATIONS: dict[str, tuple[Relation, Condition]] = {}


def relation(*conditions: Condition) -> Callable[[Relation], Relation]:
    """Registers a relation for jobs that fulfil the conditions."""
    def register(function: Relation) -> Relation:
        RELATIONS[function.__name__] = function, lambda job: all(c(job) for c in conditions)
        return function
    return register


# ---- conditions ----------------------------------------------------------------------


def fixed_ranges(job: Job) -> bool:
    return job.rows is not None


def fixed_period(job: Job) -> bool:
    return job.rows is not None or job.period is not None


def places(job: Job) -> bool:
    return job.output != "dead"


def finite(job: Job) -> bool:
    return all(numpy.isfinite(t.row).all() for t in job.traces)


def one_pass(job: Job) -> bool:
    return job.options.get("passes", "1") == "1" and not chooses(job)


def chooses(job: Job) -> bool:
    return job.options.get("choose") == "1"


def no_choice(job: Job) -> bool:
    return not chooses(job)


def not_refined(job: Job) -> bool:
    """Line searches round differently if they go the other way."""
    return job.options.get("refine", "0" if job.rows else "1") == "0"


def on_grid(job: Job) -> bool:
    """Whether curves are the best values of the grid, so that rounding changes few of them."""
    average = job.average if job.average is not None else 0 if job.rows else 1
    full = job.options.get("search") != "coarse"
    return one_pass(job) and not_refined(job) and average == 0 and full


def size(job: Job) -> float:
    return float(max([abs(t.row).max() for t in job.traces if not t.dead
                      and numpy.isfinite(t.row).all()], default=1))


# ---- another place, another unit -----------------------------------------------------


def moved(job: Job, place: Callable[[float, float], tuple[float, float]]) -> Job:
    """The job with other positions (source, receiver) of all traces and outputs."""
    other = job.copy(places=[])
    for t in other.traces:
        t.s, t.g = place(t.s, t.g)
    for m, h in job.places:
        s, g = place(m - h, m + h)
        other.places.append(((s + g) / 2, (g - s) / 2))
    return other


def with_rows(job: Job, h0: float, factors: list[float], t0: float = 1) -> Any:
    """The rows of a job with factors of the half-offset, of A to E, and of the time."""
    if not job.rows:
        return None
    rows = [jobs.Row(r.t0 * t0, r.h0 if r.h0 is None else r.h0 * h0,
                     [(p0 * f, p1 * f, n) for (p0, p1, n), f in
                      zip(r.values, factors, strict=True)]) for r in job.rows]
    return sorted(rows, key=lambda r: (r.h0 or 0, r.t0))


def scaled(found: Result, factors: list[float]) -> Result:
    """A result whose A to E are multiplied."""
    found.parameters = found.parameters * numpy.array(factors, "f4")
    return found


@relation(fixed_ranges, no_choice, not_refined)
def reversed_line(case: Case, job: Job) -> str:
    """The line runs the other way: A and B change their signs."""
    signs = [-1.0, -1, 1, 1, 1]
    other = moved(job, lambda s, g: (-s, -g))
    other.rows = with_rows(job, -1, signs)
    return unequal(scaled(case.run(job), signs), case.run(other), NUMBERS)


@relation(fixed_ranges, no_choice, not_refined)
def exchanged_ends(case: Case, job: Job) -> str:
    """Sources become receivers: B and E change their signs."""
    signs = [1.0, -1, 1, 1, -1]
    other = moved(job, lambda s, g: (g, s))
    other.rows = with_rows(job, -1, signs)
    return unequal(scaled(case.run(job), signs), case.run(other), ("trid",))


@relation()
def shifted_line(case: Case, job: Job) -> str:
    """The line is elsewhere, by whole metres."""
    by = case.rng.choice((-1, 1)) * case.rng.choice((1, 400, 123457, 6100000))
    if job.scalco == 1:
        by = by // 4 * 4
    return unequal(case.run(job), case.run(moved(job, lambda s, g: (s + by, g + by))), NUMBERS)


@relation(fixed_ranges, no_choice)
def twice_as_long(case: Case, job: Job) -> str:
    """All distances are doubled: A and B are halved, C, D and E divided by 4."""
    factors = [0.5, 0.5, 0.25, 0.25, 0.25]
    other = moved(job, lambda s, g: (2 * s, 2 * g))
    for trace in other.traces:
        trace.fields = trace.fields | {"offset": 2 * trace.fields["offset"]}
    other.rows = with_rows(job, 2, factors)
    if job.aperture:
        other.aperture = job.aperture[0] * 2, job.aperture[1] * 2
    if isinstance(job.mute, list):
        other.mute = [(2 * x, t) for x, t in job.mute]
    return unequal(scaled(case.run(job), factors), case.run(other), ("trid", "fldr", "ep"))


@relation(fixed_ranges, no_choice)
def twice_as_slow(case: Case, job: Job) -> str:
    """All times are doubled: A and B, too; C, D and E are multiplied by 4."""
    factors = [2.0, 2, 4, 4, 4]
    other = job.copy(dt=2 * job.dt, rows=with_rows(job, 1, factors, 2))
    if job.tau is not None:
        other.tau = 2 * job.tau
    if job.average is not None:
        other.average = 2 * job.average
    if isinstance(job.mute, list):
        other.mute = [(x, 2 * t) for x, t in job.mute]
    return unequal(scaled(case.run(job), factors), case.run(other),
                   [name for name in NUMBERS if name not in ("dt", "delrt")])


@relation(finite)
def other_unit(case: Case, job: Job) -> str:
    """scalco is another one in which all positions are whole numbers."""
    units = (0, -1, -2, -4) if job.scalco == 1 else (-4, -8, -32)
    exact = not on_grid(job) or case.rng.random() < 0.5
    other = job.copy(scalco=case.rng.choice(units if exact else (-100, -1000)))
    job.scalco = units[0]
    found, again = case.run(job), case.run(other)
    if not exact and (text := far(found, again, size(job))):
        return text
    if exact and (text := unequal(found, again, NUMBERS)):
        return text
    ends = "sx", "sy", "gx", "gy", "scalco"
    for a, b in zip(found.fields(ends), again.fields(ends), strict=True):
        metres = [[oracle.metres(dict(zip(ends, v, strict=True)), name) for name in ends[:4]]
                  for v in (a, b)]
        if metres[0] != metres[1]:
            return f"{a}, {b}"
    return ""


@relation()
def other_axis(case: Case, job: Job) -> str:
    """The line follows the other axis; axis= may be set."""
    other = job.copy(axis="y" if job.axis == "x" else "x", axis_set=case.rng.random() < 0.5)
    found, again = case.run(job), case.run(other)
    if text := unequal(found, again, NUMBERS):
        return text
    names = ["sx", "gx", "sy", "gy"]
    if found.fields(names) != again.fields([names[k] for k in (2, 3, 0, 1)]):
        return f"{found.fields(names)}, {again.fields(names)}"
    return ""


@relation()
def other_byte_order(case: Case, job: Job) -> str:
    """The other byte order; order= may be set. fill=dead writes that of the input."""
    other = job.copy(order="<" if job.order == ">" else ">", order_set=case.rng.random() < 0.5)
    found, again = case.run(job), case.run(other)
    if text := unequal(found, again) or found.marks != again.marks and "marks":
        return text
    if not found.whole:
        return ""
    a, b = (whole_survey(r.whole, j.order) for r, j in ((found, job), (again, other)))
    return "whole survey" if a[0] != b[0] else jobs.differ(a[1], b[1])


def whole_survey(raw: bytes, order: str) -> tuple[Any, Any]:
    """(fields of the headers, samples) of the bytes of an SU file."""
    ns = oracle.get(raw[:240], "ns", order)
    rows = numpy.frombuffer(raw, "u1").reshape(-1, 240 + 4 * ns)
    heads = [{name: oracle.get(h.tobytes(), name, order) for name in oracle.FIELDS} for h in rows]
    return heads, rows[:, 240:].copy().view(order + "f4").astype("f4")


@relation(finite)
def other_amplitude(case: Case, job: Job) -> str:
    """Amplitudes are multiplied by a power of two, negated or not."""
    factor = numpy.float32(case.rng.choice((-1, 1)) * 2.0 ** case.rng.randint(-30, 30))
    other = job.copy()
    for t in other.traces:
        t.row = t.row * factor
    found, again = case.run(job), case.run(other)
    found.stack = None if found.stack is None else found.stack * factor
    return unequal(found, again)


# ---- the same job, written in another way --------------------------------------------


@relation(places, fixed_period)
def other_form_of_places(case: Case, job: Job) -> str:
    """m0= and h0=, rows of m0 and h0, rows of sx and gx; ranges and times in another form."""
    forms = [f for f in ("grid", "places", "ends") if f != job.output]
    m, h = {p[0] for p in job.places}, {p[1] for p in job.places}
    if len(m) * len(h) > 1 and "grid" in forms:
        forms.remove("grid")
    other = job.copy(output=case.rng.choice(forms))
    if job.velocity and len(m) * len(h) > 1:
        return ""  # the table of ranges depends on the number of half-offsets
    # A range of one value is written in one way only.
    wide = any(n == 1 and p0 != p1 for r in job.rows or () for p0, p1, n in r.values)
    other.form = case.rng.choice(("older", "file") if wide else ("older", "spaced", "file"))
    if not job.t0 and not job.delay > 0:
        other.t0 = max(0, job.delay), 1, job.ns + min(job.delay, 0)
    return unequal(case.run(job), case.run(other))


@relation(places)
def other_delay(case: Case, job: Job) -> str:
    """Zeros after time 0 instead of a delay, and samples before time 0."""
    other = job.copy(delay=0)
    if not job.t0:
        job.t0 = other.t0 = max(0, job.delay), 1, job.ns + min(job.delay, 0)
    for t in other.traces:
        zeros = numpy.zeros(max(job.delay, 0), "f4")
        t.row = numpy.concatenate([zeros, t.row[max(-job.delay, 0):]])
    if job.delay == 0:
        other.delay = -case.rng.choice((1, 4))
        for t in other.traces:
            t.row = numpy.concatenate([numpy.full(-other.delay, 9, "f4"), t.row])
    if other.delay * job.dt % 1000:
        return ""
    return unequal(case.run(job), case.run(other))


@relation()
def between_samples(case: Case, job: Job) -> str:
    """tau= and average= are rounded down to samples, the times of mute= up; a thousandth of a
    sample is rounding."""
    def part() -> float:
        return case.rng.choice((0.5, 0.25, 0.99, -1e-4, -1e-4, 1e-4, -1e-9)) * job.dt * 1e-6
    step = job.t0[1] if job.t0 else 1
    job.average = case.rng.choice((1, 2, 3)) * step * job.dt * 1e-6
    other = job.copy()
    for name in "tau", "average":
        if getattr(job, name) is not None:
            setattr(other, name, max(0.0, getattr(job, name) + part()))
    if isinstance(job.mute, list):
        job.mute = [(x, float(numpy.ceil(t * 1e6 / job.dt - 1e-3)) * job.dt * 1e-6)
                    for x, t in ((0.0, job.mute[0][1]), (1e6, job.mute[0][1]))]
        earlier = part()
        other.mute = [(x, t - earlier) for x, t in job.mute]
    return unequal(case.run(job), case.run(other))


DEFAULTS = {"window": "parallel", "search": "full", "passes": "1", "choose": "0", "check": "1",
            "smooth": "centre", "weight": "semblance", "order": "auto", "bad": "refuse",
            "axis": "auto", "offset": "check"}


@relation()
def explicit_defaults(case: Case, job: Job) -> str:
    """Each option that is not set has its default as its value: the same job, to the mark."""
    words = {word.split("=")[0]: word for word in job.words(case.folder)}
    more = [f"{key}={value}" for key, value in DEFAULTS.items() if key not in words
            # choose= varies options that are not set; some defaults need velocity=.
            and not (chooses(job) and key in ("passes", "weight"))
            and not (key == "choose" and not job.velocity)]
    if not chooses(job):
        more += [f"refine={int(job.velocity is not None)}"] * ("refine" not in words)
        if job.rows:
            more += ["average=0"] * ("average" not in words)
            more += ["aperture=1e9,1e9"] * ("aperture" not in words)
    found, again = case.run(job), case.run(job, more=more)
    marks = found.marks != again.marks and "aperture=1e9,1e9" not in more and "mark of the job"
    return unequal(found, again) or marks or ""


@relation(no_choice, lambda job: job.velocity is not None)
def ranges_of_velocity(case: Case, job: Job) -> str:
    """The file of ranges_out=, with the options of its first line, gives the same result."""
    if isinstance(job.mute, float):
        job.mute = None
    path = case.folder / "made.txt"
    found = case.run(job, more=["ranges_out=made.txt"])
    if not path.exists():
        return found.err if found.status else ""  # no aperture has a trace
    told = path.read_text().splitlines()[0].split(" with ")[1].split()
    other = job.copy(velocity=None, dip=None, period=None, tau=None, aperture=None, average=None)
    other.options.pop("refine", None)
    return unequal(found, case.run(other, more=["ranges=made.txt", *told]))


@relation(chooses, fixed_period)
def chosen_options(case: Case, job: Job) -> str:
    """The options that choose=1 prints give its result."""
    found = case.run(job)
    if found.status:
        return found.err
    told = re.findall(r": chosen: (.*)", found.err)[0].split()
    files = [p.name for p in case.folder.glob("one-*") if re.search("choose|trial", p.name)]
    if files:
        return f"{files} are left"
    other = job.copy(tau=None, aperture=None, average=None)
    for key in "choose", "weight", "passes", "refine":
        other.options.pop(key, None)
    again = case.run(other, more=told)
    if found.status or again.status:
        return found.err + again.err
    # It prints 6 digits, which may change the last bit of the ranges.
    wrong = (abs(found.stack - again.stack) > 1e-4 * size(job)).mean()
    return f"stack: {wrong} of the samples differ" if wrong > 0.05 else ""


@relation()
def fewer_outputs(case: Case, job: Job) -> str:
    """Each output file has the same bytes if it is written without the others."""
    needed = {"stack"} if job.output == "dead" or chooses(job) or not one_pass(job) else set()
    wanted = sorted(needed | set(case.rng.sample(jobs.EVERYTHING, case.rng.randint(1, 2))))
    if "stack" not in wanted and "coherence" not in wanted:
        wanted.append(case.rng.choice(("stack", "coherence")))
    found, again = case.run(job), case.run(job, wanted=wanted)
    for key in jobs.EVERYTHING:
        if key not in wanted:
            setattr(found, key, None)
    return unequal(found, again)


# ---- other traces --------------------------------------------------------------------


@relation(places)
def dead_and_absent(case: Case, job: Job) -> str:
    """Dead traces may be left out, and others inserted, whatever they contain."""
    other = job.copy(traces=[t for t in job.copy().traces if not t.dead])
    for _ in range(case.rng.randint(0, 4)):
        like = case.rng.choice(job.traces)
        row = numpy.full_like(like.row, case.rng.choice((0, 1, -1e20)))
        fields = {"fldr": 99, "scalel": 1, "counit": 3, "offset": -5, "delrt": 77}
        t = Trace(like.s + case.rng.choice((3, 1000)), like.g + 1, row, fields, True)
        other.traces.insert(case.rng.randint(0, len(other.traces)), t)
    return unequal(case.run(job), case.run(other))


@relation()
def bad_and_dead(case: Case, job: Job) -> str:
    """bad=skip: traces with samples that are not finite count as dead."""
    job.options["bad"] = "skip"
    other = job.copy()
    for t in other.traces:
        t.dead |= not numpy.isfinite(t.row).all()
        if t.dead:
            t.row = numpy.where(numpy.isfinite(t.row), t.row, 0)
    found, again = case.run(job), case.run(other)
    a, b = (whole_survey(r.whole, job.order)[1] if r.whole else None for r in (found, again))
    return unequal(found, again) or jobs.differ(a, b)


@relation(lambda job: job.output == "dead")
def filled_and_placed(case: Case, job: Job) -> str:
    """fill=dead gives the dead traces the samples that their places have; all other bytes are
    those of the input."""
    gone = [i for i, t in enumerate(job.traces) if t.dead or not t.row.any()]
    bad = [i for i, t in enumerate(job.traces) if not numpy.isfinite(t.row).all()]
    if job.options.get("bad") == "skip":
        gone = sorted({*gone, *bad})
    other = job.copy(output="ends", places=[
        ((t.s + t.g) / 2, (t.g - t.s) / 2) for t in (job.traces[i] for i in gone)])
    for i in gone:
        other.traces[i].dead = True
    found, again = case.run(job), case.run(other)
    if text := unequal(found, again):
        return text
    want = bytearray(job.survey())
    row = len(want) // len(job.traces)
    for i, head, samples in zip(gone, found.fields(["trid"]), found.stack, strict=True):
        values = {**job.header(job.traces[i]), "trid": head[0],
                  "delrt": job.delay * job.dt // 1000}
        full = numpy.zeros(job.ns, job.order + "f4")
        full[max(0, -job.delay):] = samples
        want[i * row:(i + 1) * row] = oracle.put(values, job.order) + full.tobytes()
    return "" if want == found.whole else "the whole survey"


@relation(places, one_pass, lambda job: bool(job.aperture), fixed_period)
def outside_of_apertures(case: Case, job: Job) -> str:
    """Traces outside of all apertures do not matter, nor where they are in the file."""
    assert job.aperture
    dm, dh = job.aperture
    near: list[Trace] = []
    away: list[Trace] = []
    for t in job.copy().traces:
        used = any(abs((t.s + t.g) / 2 - m) <= dm and abs((t.g - t.s) / 2 - h) <= dh
                   for m, h in job.places)
        (near if used and not t.dead else away).append(t)
    if not any(not t.dead for t in near):
        return ""
    for t in away:
        if case.rng.random() < 0.5:
            t.row = numpy.full_like(t.row, case.rng.choice((0, 1e20)))
            near.insert(case.rng.randint(0, len(near)), t)
    names = "trid", "ns", "dt", "delrt"
    found, again = case.run(job), case.run(job.copy(traces=near))
    if "axis" in again.err:  # one trace is left, whose axis cannot be seen
        again = case.run(job.copy(traces=near), more=[f"axis={job.axis}"])
    return unequal(found, again, names)


@relation(places, fixed_ranges, one_pass)
def edge_of_the_aperture(case: Case, job: Job) -> str:
    """A trace at the distance of aperture= is used, on both sides; one beyond it is not."""
    t = case.rng.choice([t for t in job.traces if not t.dead])
    m, h = case.rng.choice(job.places)
    dm, dh = abs((t.s + t.g) / 2 - m), abs((t.g - t.s) / 2 - h)
    far_away = dm > 400
    job.places = [p for p in ((m, h), (m + 2 * ((t.s + t.g) / 2 - m), h)) if not far_away] \
        or job.places
    job.output = "places"
    beyond = case.rng.choice((1e-6, -1e-6, 0.01))
    near = job.copy(aperture=(dm, dh))
    if beyond > 0:
        return unequal(case.run(near), case.run(job.copy(aperture=(dm + beyond, dh + beyond))))
    within = job.copy(aperture=(dm + beyond, dh))
    without = job.copy(aperture=(dm, dh), traces=[
        u for u in job.copy().traces
        if all(abs(abs((u.s + u.g) / 2 - p[0]) - dm) > 1e-3 for p in job.places)])
    if far_away or dm < 1 or not any(not u.dead for u in without.traces):
        return ""
    found, again = case.run(within), case.run(without)
    if "axis" in again.err:
        again = case.run(without, more=[f"axis={job.axis}"] * (not job.axis_set))
    return unequal(found, again, ("trid", "ns", "dt"))


@relation(on_grid, places, fixed_period)
def other_order_of_traces(case: Case, job: Job) -> str:
    """The traces are in another order in the file: rounding."""
    other = job.copy()
    case.rng.shuffle(other.traces)
    found, again = case.run(job), case.run(other)
    names = "trid", "fldr", "ep", "cdp", "tracf", "selev", "gelev"
    return far(found, again, size(job)) or (found.fields(names) != again.fields(names)
                                            and f"{found.fields(names)}{again.fields(names)}") or ""


@relation(on_grid, places, fixed_period, lambda job: job.options.get("window") != "moveout")
def each_trace_twice(case: Case, job: Job) -> str:
    """Each trace is in the file twice. The factor of the amplitude depends on the number of
    traces, so there is none: weight=none. The second trace without an arrival ends a search, so
    curves must not leave the record: where one does, no sample is compared. A place with a
    single trace stays dead, unless that is there twice."""
    job.options["weight"] = "none"
    other = job.copy(traces=[t for t in job.copy().traces for _ in range(2)])
    found, again = case.run(job), case.run(other)
    if found.status or again.status:
        return found.err + again.err
    dead = ~found.coherence.any(axis=-1, keepdims=True)
    if (again.coherence > numpy.where(dead, 1, found.coherence) + jobs.SEMBLANCE_BUDGET).any():
        return f"{(again.coherence - found.coherence).max()} more semblance"
    inside = abs(again.coherence - found.coherence) <= jobs.SEMBLANCE_BUDGET
    for r in found, again:
        r.stack = numpy.where(inside, r.stack, 0)
        r.coherence = numpy.where(inside, r.coherence, 0)
        r.parameters = numpy.where(inside[..., None], r.parameters, 0)
    return far(found, again, size(job))


# ---- parts of a job ------------------------------------------------------------------


@relation(places, fixed_ranges, no_choice, lambda job: len(job.places) > 1)
def parts_of_the_places(case: Case, job: Job) -> str:
    """The output traces are those of jobs with a part of the places each, or one."""
    job.output = "places"
    cut = case.rng.randint(1, len(job.places) - 1)
    some = [job.places[:cut], job.places[cut:]]
    if case.rng.random() < 0.5:
        some = [[place] for place in job.places]
    parts = [case.run(job.copy(places=part)) for part in some]
    found = case.run(job)
    if any(p.status for p in parts):
        return "".join(p.err for p in parts)
    joined = parts[0]
    for name in "stack", "coherence", "parameters":
        setattr(joined, name, numpy.concatenate([getattr(p, name) for p in parts]))
    joined.headers = [h for p in parts for h in p.headers]
    joined.values = found.values
    return unequal(found, joined, [n for n in NUMBERS if n not in ("tracl", "tracr")])


@relation(on_grid, places, fixed_ranges, lambda job: job.t0 is None or job.t0[2] > 3)
def part_of_the_times(case: Case, job: Job) -> str:
    """The samples of a part of the times: samples are searched together, so they round
    differently. A window of window=moveout extends beyond the part."""
    first, step, count = job.t0 or (max(0, job.delay), 1, job.ns + min(job.delay, 0))
    if len(job.rows or ()) > 1 and job.options.get("window") == "moveout":
        return ""  # outside, ranges are those of the nearest sample
    begin = case.rng.randint(0, count - 2)
    end = case.rng.randint(begin + 1, count)
    part = case.run(job.copy(t0=(first + begin * step, step, end - begin)))
    found = case.run(job)
    if found.status or part.status:
        return found.err + part.err
    for name in "stack", "coherence", "parameters":
        setattr(found, name, getattr(found, name)[:, begin:end])
    return far(found, part, size(job))


@relation(places, no_choice, lambda job: job.options.get("passes") == "2",
          lambda job: not isinstance(job.mute, float))
def passes_by_hand(case: Case, job: Job) -> str:
    """Each live trace of an aperture is predicted by a run in which it is dead; the residual is
    searched by a single pass, and the sum is the result of passes=2."""
    found = case.run(job, more=["ranges_out=made.txt"] * bool(job.velocity))
    if found.status:
        return found.err
    single = job.copy()
    single.options["passes"] = "1"
    dm, dh = job.aperture or (1e9, 1e9)
    if job.velocity:  # all passes use the ranges of the first one
        told = (case.folder / "made.txt").read_text().splitlines()[0].split(" with ")[1].split()
        values = dict(word.split("=") for word in told)
        dm, dh = map(float, values["aperture"].split(","))
        single = single.copy(velocity=None, dip=None, period=None, tau=float(values["tau"]),
                             aperture=(dm, dh), average=float(values["average"]))
        single.options |= {"ranges": "made.txt", "refine": values["refine"]}
    one = case.run(single)
    residual = single.copy()
    first = job.t0[0] if job.t0 else max(0, job.delay)
    for i, t in enumerate(job.traces):
        m, h = (t.s + t.g) / 2, (t.g - t.s) / 2
        near = any(abs(m - a) <= dm and abs(h - b) <= dh for a, b in job.places)
        finite = job.options.get("bad") != "skip" or numpy.isfinite(t.row).all()
        if t.dead or not finite or not near:
            continue
        without = single.copy(output="places", places=[(m, h)])
        without.traces[i].dead = True
        live = case.run(without, wanted=("stack",))
        if live.status:
            return live.err
        at = first - job.delay
        count = live.stack.shape[1]
        residual.traces[i].row = t.row.copy()
        residual.traces[i].row[at:at + count] -= live.stack[0]
    two = case.run(residual)
    if one.status or two.status:
        return one.err + two.err
    one.stack = one.stack + two.stack
    return unequal(one, found, printed=False)


@relation(on_grid, places, lambda job: isinstance(job.mute, list))
def mute_by_hand(case: Case, job: Job) -> str:
    """Samples before the time of mute= are set to 0 in the input and in the output."""
    assert isinstance(job.mute, list)
    offsets, times = zip(*job.mute, strict=True)
    other = job.copy(mute=None)
    dt = job.dt * 1e-6
    for t in other.traces:
        end = numpy.interp(abs(t.g - t.s), offsets, times)
        early = (numpy.arange(job.ns) + job.delay) * dt < end - 1e-9
        t.row = numpy.where(early & numpy.isfinite(t.row), 0, t.row).astype("f4")
    found, again = case.run(job), case.run(other)
    if found.status or again.status:
        return found.err + again.err
    first, step, count = job.t0 or (max(0, job.delay), 1, job.ns + min(job.delay, 0))
    for i, (_, h) in enumerate(job.places):
        out = (first + step * numpy.arange(count)) * dt < numpy.interp(
            abs(2 * h), offsets, times) - 1e-9
        for values in again.stack, again.coherence, again.parameters:
            values[i, out] = 0
        if found.stack[i, out].any() or found.parameters[i, out].any():
            return f"trace {i} is not 0 before its mute"
    return far(found, again, size(job))


@relation(fixed_period, lambda job: isinstance(job.mute, float),
          lambda job: len(job.velocity or ()) == 1)
def stretch_as_table(case: Case, job: Job) -> str:
    """With one velocity, a limit of the stretch is a table of times: t / tn = 1 + stretch, with
    t^2 = tn^2 + (x / v)^2 at the offset x."""
    assert job.velocity and isinstance(job.mute, float)
    stretched = 1 + job.mute
    pairs = [(t.s, t.g) for t in job.traces] + [(m - h, m + h) for m, h in job.places]
    offsets = sorted({abs(g - s) for s, g in pairs} - {0.0})
    tn = 1 / job.velocity[0][1] / (stretched ** 2 - 1) ** 0.5
    table = [(x, stretched * tn * x) for x in offsets]
    other = job.copy(mute=[(0.0, 0.0)] * (0.0 in {g - s for s, g in pairs}) + table)
    return unequal(case.run(job), case.run(other))


# ---- other ways to compute it --------------------------------------------------------

MACHINES = ({"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "3"}, {"OMP_NUM_THREADS": "7"},
            {"PROCESSORS": "1"}, {"PROCESSORS": "5"}, {"CACHE_L2": "4096"},
            {"CACHE_L2": "9999999"}, {"POCL_MAX_PTHREAD_COUNT": "3"})


@relation()
def other_machine(case: Case, job: Job) -> str:
    """Other numbers of threads and processors, another cache, work-groups; ranks."""
    more = case.rng.choice(([], [], ["local=1,1,1"], ["local=3,1,2"], ["local=2,4,1"]))
    binary = case.binary
    if binary[:2] == case.others.get("10 omp", ())[:2] and case.rng.random() < 0.15:
        binary = case.others.get("12 mpi", binary)
    found = case.run(job)
    again = case.run(job, variables=case.rng.choice(MACHINES), more=more, binary=binary,
                     number=case.rng.choice((1, 3, 5)))
    text = found.err != again.err and f"messages {found.err!r}, {again.err!r}"
    return unequal(found, again) or text or ""


@relation(on_grid)
def other_back_end(case: Case, job: Job) -> str:
    """Another step or back-end: rounding."""
    moveout = job.options.get("window") == "moveout"
    names = sorted(n for n in case.others if not moveout or n[:2] in ("00", "09", "10", "12"))
    # Back-ends that start slowly are drawn less often.
    slow = case.rng.random() < 0.2
    names = [n for n in names if slow or not any(b in n for b in ("ocl", "mpi", "hybrid"))]
    other = case.others[case.rng.choice(names)]
    lanes = {"OPENCL_LANES": case.rng.choice(("1", "4", "8", "16"))}
    return far(case.run(job), case.run(job, binary=other, variables=lanes), size(job))


@relation(no_choice)
def same_process(case: Case, job: Job) -> str:
    """The job after another one in the same process, and again, as in a process of its own.
    calls.c calls main() again."""
    library = preloaded("tests/calls.c")
    other = jobs.draw(case.rng, choose="0", window=job.options.get("window", "parallel"))
    alone = case.run(job, wanted=("stack", "coherence"))
    for pair in (other, job), (job, job):
        start, variables = runs.launch(case.binary[2], case.binary[1], {"RANKS": "2"})
        words = [*start[:-1], "env", f"LD_PRELOAD={library}", str(Path(case.binary[2]).resolve())]
        for number, one in enumerate(pair):
            folder = case.folder / f"call{number}"
            folder.mkdir(exist_ok=True)
            jobs.remove(folder, "")
            words += [*["--"] * number, *(f"{k}={folder / v}" if (folder / v).exists() else w
                                          for w in one.words(folder)
                                          for k, _, v in [w.partition("=")])]
            words += ["share=37"] * case.binary[1].startswith("hybrid")
            words += jobs.outputs(f"{folder}/one-", ("stack", "coherence"))
        ended = subprocess.run(words, cwd=case.folder, capture_output=True, text=True,
                               env={**os.environ, "OMP_NUM_THREADS": "2", **variables})
        found = jobs.result(job, case.folder / "call1", "one-", ended)
        if text := unequal(found, alone, printed=False):
            return text
    return ""


@relation()
def interrupted(case: Case, job: Job) -> str:
    """The job is stopped at some writes of its journal, and resumed: the bytes of one run."""
    if case.binary[1].startswith("mpi"):
        return ""  # the ranks' writes are not in the same order each time
    words = [*job.words(case.folder), *["share=37"] * case.binary[1].startswith("hybrid")]
    found = case.run(job)
    if found.status:
        return found.err
    jobs.remove(case.folder, "k-")
    stop = case.rng.randint(0, 30)
    for _ in range(case.rng.choice((1, 2))):
        variables = {"SEMBLANCE_STOP": str(stop),
                     "SEMBLANCE_SYNC": case.rng.choice(("0", "1e9"))}
        ended = jobs.launch(case.binary, [*words, *jobs.outputs("k-")], case.folder, variables)
        if ended.returncode not in (0, -signal.SIGKILL):
            return f"stop {stop}: {ended.stderr}"
    ended = jobs.launch(case.binary, [*words, *jobs.outputs("k-")], case.folder)
    again = jobs.result(job, case.folder, "k-", ended)
    if text := unequal(found, again, printed=False) or found.marks != again.marks and "marks":
        return f"stop {stop}: {text}"
    return "" if found.whole == again.whole else "the whole survey"
