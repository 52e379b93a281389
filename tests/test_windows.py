"""test_windows.py: what rounds in a search. Each back-end has an instance for each length of a
window: each must give what step 00 gives. And amplitudes that would reveal a sum by differences, a
margin without a unit or a small denominator are found by hill climbing: the error is maximized.
"""
import random

import numpy
import pytest

from tests import jobs
from tests.test_job_relations import BINARIES
from tools.verify import section_oracle as oracle
from tools.verify import section_search

PLAIN = {"output": "places", "ranges": "older", "aperture": "wide", "mute": "none",
         "weight": "none", "refine": "0", "average": None, "passes": "1", "choose": "0",
         "lost": "none", "zero": "none", "bad": "refuse", "delay": 0, "scalco": -4}


@pytest.fixture(scope="module")
def built():
    return {f"{b[0][:2]} {b[1]}": b for b in jobs.chosen(*BINARIES)}


def run(job, binary, folder):
    more = ["share=37"] * binary[1].startswith("hybrid")
    found = jobs.run_job(job, binary, folder, more=more)
    assert found.status == 0, found.err
    return found


# Half windows that are tried: those with an instance of their own, the next ones, some more.
HALVES = (*range(13), 16, 33, 70)
RARE = {"12 mpi": 5, "10 ocl": 9, "11 hybrid": 9}  # they start slowly


@pytest.mark.seconds(10)
@pytest.mark.parametrize("samples", [1, 20])
def test_each_window(check, tmp_path, built, everything, samples):
    """One sample is searched by other instances than many."""
    rng = random.Random("windows")
    job = jobs.draw(rng, window="parallel", smooth="window", t0="one", tau=0, size="long", **PLAIN)
    # The values of D move the arrivals by some samples.
    assert job.rows
    values = job.rows[0].values
    wide = [(p0, p0 + 9 * (p1 - p0 + 1e-7), 5) for p0, p1, n in values[3:4]]
    job.rows[0].values = values[:3] + wide + values[4:]
    job.t0 = 70, 1, samples
    for number, half in enumerate(HALVES):
        job.tau = half * job.dt * 1e-6
        want = run(job, built["00 seq"], tmp_path)
        for name in sorted({"08 omp", "09 omp", "10 omp", "10 cuda-cpu", *RARE} & {*built}):
            if name in RARE and number % RARE[name] and not everything:
                continue
            check(f"{name}, {2 * half + 1} samples",
                  jobs.far(want, run(job, built[name], tmp_path), jobs.amplitude(job)))


# ---- amplitudes ----------------------------------------------------------------------

# Five times the largest error of a back-end that a long search has found.
BUDGET = 2e-5
BURST = 12  # the first samples may be large


def amplitudes(job, plain, state):
    """Sets the samples of a job: a constant, a burst in the first samples, factors."""
    for i, (t, row) in enumerate(zip(job.traces, plain, strict=True)):
        row = row + state["constant"] * 10.0 ** state["size"]
        row[:state["length"]] *= 10.0 ** state["burst"]
        row *= 10.0 ** (state["trace"] if i % state["every"] == 0 else 0)
        row *= 10.0 ** state["all"]
        t.row = (row * min(1, 1e16 / abs(row).max())).astype("f4")  # squares fit a float


STATES = {"constant": (0, 1, -1), "size": (2, 4, 6), "length": (0, 1, 5, BURST),
          "burst": (2, 4, 6, 8), "trace": (0, -2, 3, 5), "every": (2, 3, 50),
          "all": (0, -14, 10)}


def after_burst(job, folder, count):
    """[places][samples]: whether all arrivals are later than the burst, with their windows."""
    about = oracle.Job(job.words(folder), folder)
    rate = 1e6 / about.dt
    good = []
    for (m, h), near in zip(about.places, about.near, strict=True):
        a = section_search.Aperture(about.traces.m[near] - m, about.traces.h[near] - h,
                                    about.traces.samples[near], rate)
        for k in range(count):
            tuples = section_search.grid(about.ranges_at(h, k / rate))
            x = section_search.arrivals(a, numpy.full(len(tuples), k / rate), tuples, True).x
            good.append(not near.any() or x.min() > BURST + about.half + 2)
    return numpy.array(good).reshape(len(about.places), count)


@pytest.mark.seconds(10)
@pytest.mark.parametrize("window", ["parallel", "moveout"])
def test_amplitudes(check, tmp_path, built, everything, window, monkeypatch):
    """Step 00 adds the samples of each window anew: an error that is larger than its own is that
    of another algorithm."""
    names = ["05 omp", "08 omp", "09 omp", "10 omp", "10 cuda-cpu"]
    names = [n for n in names if n in built and (window == "parallel" or n == "10 omp")]
    monkeypatch.setattr(oracle.Job, "check_offset", lambda job: None)  # only its times are used
    rng = random.Random(f"amplitudes {window}")
    for start in range(20 if everything else 2):
        job = jobs.draw(rng, window=window, smooth="centre", t0="all", size="small",
                        tau=rng.choice((1, 3)), **PLAIN)
        job.places = job.places[:2]
        plain = [t.row.astype("f8") for t in job.traces]
        state = {key: rng.choice(values) for key, values in STATES.items()}
        worst = -1.0
        for step in range(60 if everything else 7):
            other = {**state, (key := rng.choice([*STATES])): rng.choice(STATES[key])}
            other = state if step == 0 else other
            amplitudes(job, plain, other)
            want = run(job, built["00 seq"], tmp_path)
            good = after_burst(job, tmp_path, want.stack.shape[1])
            check(f"start {start}: samples", good.mean() < 0.1 and f"{good.mean()} are compared")
            error = 0.0
            for name in names:
                found = run(job, built[name], tmp_path)
                off = float(numpy.where(good, abs(found.coherence - want.coherence), 0).max())
                check(f"{name}, start {start}, step {step}", not off <= BUDGET
                      and f"semblance differs by {off}: {other}")
                error = max(error, off)
            if error >= worst:
                state, worst = other, error
        print(f"{window}, start {start}: {worst:.2g} of {BUDGET} with {state}")
