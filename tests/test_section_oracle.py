"""test_section_oracle.py: whole jobs, from the file to the file, compared with
tools/verify/section_oracle.py, which computes them in double precision.

Surveys and options are drawn (section_jobs.py), and jobs that fail are shrunk: the message has
the command that repeats the smallest one. Some jobs are always the same; others follow from a
seed that is printed. SECTION_SEED repeats them, SECTION_JOBS sets their number.
"""
import os
import shutil
import time
from pathlib import Path

import hypothesis
import pytest

from tests import section_jobs
from tests.helpers import BUILD, binaries
from tools.history import runs
from tools.verify import random_queries
from tools.verify import section_oracle as oracle

PARTS = 4
JOBS = int(os.environ.get("SECTION_JOBS", 60))  # of each kind
SEED = int(os.environ.get("SECTION_SEED", time.time()))
# Steps and back-ends, and how often each is drawn. The first is simplest.
DRAWN = [(("00_sequential", "seq"), 4), (("10_algorithm", "omp"), 10),
         (("05_algebra", "omp"), 2), (("08_vector", "omp"), 2), (("09_blocking", "omp"), 2),
         (("10_algorithm", "ocl"), 3), (("09_blocking", "ocl"), 1), (("08_vector", "ocl"), 1),
         (("05_algebra", "ocl"), 1), (("10_algorithm", "cuda-cpu"), 3),
         (("09_blocking", "cuda-cpu"), 1), (("05_algebra", "cuda-cpu"), 1),
         (("11_hybrid", "hybrid"), 1), (("11_hybrid", "hybrid-cuda-cpu"), 1),
         (("12_cluster", "mpi"), 2), (("12_cluster", "mpi-ocl"), 1)]
MOVEOUT = {("00_sequential", "seq"), *(("10_algorithm", b) for b in ("omp", "ocl", "cuda-cpu")),
           ("12_cluster", "mpi"), ("12_cluster", "mpi-ocl")}
SHRINKING = 30  # seconds
UNDECIDED = {}
MOST = 4e7      # window samples of a search that is judged


def backends(job):
    built = {(step, backend): path for step, backend, path in binaries("semblance")}
    able = [(name, count) for name, count in DRAWN if name in built
            and ("window=moveout" not in job.arguments or name in MOVEOUT)]
    names = [name for name, count in able for _ in range(count)]
    name = names[job.backend % len(names)]
    return *name, os.path.abspath(built[name])


def folder_of_worker():
    folder = Path(BUILD, "section_jobs", os.environ.get("PYTEST_XDIST_WORKER", "main")).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(job, folder):
    """Runs a job in an empty folder; returns (what was run, how it ended)."""
    for name, content in job.files.items():
        (folder / name).write_bytes(content)
    step, backend, binary = backends(job)
    extra, env = random_queries.variation(backend, f"section {job.variant}")
    command, env = runs.launch(binary, backend, env)
    words = [*map(str, command), *job.arguments, *extra]
    ended = runs.run(words, 120, env, folder)
    shown = " ".join(f"{k}={v}" for k, v in env.items() if k in (
        "OMP_NUM_THREADS", "CACHE_L2", "PROCESSORS", "POCL_MAX_PTHREAD_COUNT", "OPENCL_LANES"))
    return f"cd {folder} && {shown} {' '.join(words)}", ended


def cost(job):
    """Window samples of its searches."""
    if not len(job.ranges):
        return 0
    places = len(job.places) + (len(job.live) if job.passes == 2 else 0)
    points = max(oracle.numpy.prod(job.ranges[:, 4::3].max(axis=0)), 1)
    return places * len(job.t0) * points * len(job.live) * (2 * job.half + 1)


def problem(job, folder):
    """What is wrong with a job, or None; "" if it is not judged."""
    command, ended = run(job, folder)
    too_few = "live traces in the apertures: expected at least"
    if "choose=1" in job.arguments and too_few in ended.err:
        return ""
    try:
        if "choose=1" in job.arguments and ended.status:
            arguments = [a for a in job.arguments if a != "choose=1"]
        else:
            arguments = job.arguments
        wanted = oracle.Job(arguments, folder, ended.err)
        if ended.status:
            return f"{command}\n{ended.failure()}"
        if cost(wanted) > MOST:
            return ""
        found = [*oracle.findings(wanted)]
        if "choose=1" not in job.arguments:
            found += oracle.printed(wanted, ended.out, ended.err)
    except oracle.Undecided as reason:
        UNDECIDED[str(reason)] = UNDECIDED.get(str(reason), 0) + 1
        return ""
    except oracle.Refused as text:
        right = ended.status == 1 and f"semblance: {text}" in ended.err
        return None if right else f"{command}\n{ended.failure()}, expected {text}: {ended.err}"
    wrong = [str(f) for f in found if not f.used <= 1]
    return "\n".join([command, *wrong[:5], f"{len(wrong)} of {len(found)} values are wrong"]) \
        if wrong else None


def judged(count, **settings):
    """A test of some drawn jobs."""
    results = {}
    started = []

    @hypothesis.settings(max_examples=count, deadline=None, database=None, print_blob=False,
                         suppress_health_check=list(hypothesis.HealthCheck), **settings)
    @hypothesis.given(section_jobs.jobs())
    def test(job):
        key = repr(job)
        if started and time.monotonic() - started[0] > SHRINKING and key not in results:
            return  # shrunk enough
        folder = folder_of_worker()
        results[key] = what = problem(job, folder)
        if what:
            started.append(time.monotonic())
            raise AssertionError(what)

    return test, results


def report(results, check):
    counted = [what for what in results.values() if what is None]
    check("judged", len(counted) < 0.6 * len(results) and f"{len(counted)} of {len(results)}")


@pytest.mark.seconds(20)
@pytest.mark.parametrize("part", range(PARTS))
def test_fixed(check, part, everything):
    test, results = judged(JOBS // PARTS, derandomize=True)
    hypothesis.seed(part)(test)
    test = hypothesis.settings(test, derandomize=False)
    test()
    report(results, check)


@pytest.mark.seconds(20)
@pytest.mark.parametrize("part", range(PARTS))
def test_drawn(check, part, everything):
    print(f"SECTION_SEED={SEED}")
    test, results = judged((10 if everything else 1) * JOBS // PARTS)
    hypothesis.seed(f"{SEED} {part}")(test)()
    report(results, check)
