"""test_section_oracle.py: whole jobs, from the file to the file, compared with
tools/verify/section_oracle.py in double precision.

Jobs are drawn (jobs.py), and those that fail are shrunk: the message has
the command that repeats the smallest one. The jobs are always the same; with --all, most
follow from a new seed, which is printed. SECTION_SEED repeats it, SECTION_JOBS sets the number.
"""
import itertools
import os
import random
import re
import shutil
import struct
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests import helpers, jobs
from tests.helpers import BUILD, binaries, seed
from tests.test_criterion import survey
from tools.base import runs
from tools.verify import random_queries, section_check
from tools.verify import section_oracle as oracle

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

PARTS = 4       # of each test, so that processes share it
JOBS = int(os.environ.get("SECTION_JOBS", 80))  # of each test
SEED = seed("SECTION_SEED")
SHRINKING = 10  # seconds, after the first failure
MOST = 1e8      # window samples of the searches of a job that is judged
VAGUE = 0.1     # an error budget of a semblance that says little
# Steps and back-ends, and how often each is drawn. The first is simplest.
DRAWN = [(("00_sequential", "seq"), 4), (("10_algorithm", "omp"), 10),
         (("05_algebra", "omp"), 2), (("08_vector", "omp"), 2), (("09_blocking", "omp"), 2),
         (("10_algorithm", "ocl"), 3), (("09_blocking", "ocl"), 1), (("08_vector", "ocl"), 1),
         (("05_algebra", "ocl"), 1), (("10_algorithm", "cuda-cpu"), 3),
         (("09_blocking", "cuda-cpu"), 1), (("05_algebra", "cuda-cpu"), 1),
         (("11_hybrid", "hybrid"), 1), (("11_hybrid", "hybrid-cuda-cpu"), 1),
         (("12_cluster", "mpi"), 2), (("12_cluster", "mpi-ocl"), 1)]
MOVEOUT = {name for name, _ in DRAWN if name[0][:2] in ("00", "09", "10", "12")}
# Values of factors that are drawn more often than others.
OFTEN = {"output": ["dead"] * 2, "ranges": ["pair", "velocities"], "aperture": ["narrow"] * 2,
         "t0": ["some", "one"], "choose": ["0"] * 14, "size": ["small"] * 5}


@dataclass
class Drawn:
    job: jobs.Job
    outputs: list[str]  # as arguments
    backend: int        # of those that can run it
    variant: int        # of the environment

    def arguments(self, folder):
        """Writes the files of the job."""
        return [*self.job.words(folder), *self.outputs]


@st.composite
def drawn_jobs(draw):
    """A value of each factor, then the rest: Hypothesis prefers the first values."""
    choice: dict[str, Any] = {}
    # Factors that limit others come last: they can still be chosen then.
    for name in sorted(jobs.FACTORS, key=lambda name: -len(jobs.FACTORS[name])):
        values = [v for v in (*jobs.FACTORS[name], *OFTEN.get(name, ()))
                  if jobs.possible({**choice, name: v})]
        hypothesis.assume(values)
        choice[name] = draw(st.sampled_from(values))
    rng = draw(st.randoms(use_true_random=False))
    job = jobs.draw(rng, **choice)
    jobs.loosen(rng, job)
    wanted = draw(st.sampled_from(("scp", "scp", "scp", "scp", "cp", "s", "sc", "sp", "c")))
    if choice["passes"] == "2" or choice["choose"] == "1" or choice["output"] == "dead":
        wanted += "s"
    outputs = [word for word in ("stack=s.su", "coherence=c.su", "parameters=p.npy")
               if word[0] in wanted]
    if job.velocity and draw(st.booleans()):
        outputs.append("ranges_out=r.txt")
    return Drawn(job, outputs, draw(st.integers(0, 99)), draw(st.integers(0, 99)))


def backends(job, arguments):
    built = {(step, backend): path for step, backend, path in binaries("semblance")}
    able = [(name, count) for name, count in DRAWN if name in built
            and ("window=moveout" not in arguments or name in MOVEOUT)]
    names = [name for name, count in able for _ in range(count)]
    name = names[job.backend % len(names)]
    return *name, os.path.abspath(built[name])


def folder_of_worker():
    """An empty folder, which is kept if a test fails."""
    folder = Path(BUILD, "section_jobs", str(os.getpid())).absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(job, arguments, folder):
    """Runs a job in its folder; returns (what was run, how it ended)."""
    step, backend, binary = backends(job, arguments)
    extra, env = random_queries.variation(backend, f"section {job.variant}")
    command, env = runs.launch(binary, backend, env)
    words = [*map(str, command), *arguments, *extra]
    ended = runs.run(words, 120, {**env, "LD_PRELOAD": helpers.preloaded("tests/host_leaks.c")},
                     folder)
    shown = " ".join(f"{k}={v}" for k, v in env.items() if k in (
        "OMP_NUM_THREADS", "CACHE_L2", "PROCESSORS", "POCL_MAX_PTHREAD_COUNT", "OPENCL_LANES"))
    return f"cd {folder} && {shown} {' '.join(words)}", ended


def cost(job):
    """Window samples of its searches."""
    if not len(job.ranges):
        return 0
    places = len(job.places) + (len(job.live) if job.passes == 2 else 0)
    points = max(numpy.prod(job.ranges[:, 4::3].max(axis=0)), 1)
    return places * len(job.t0) * points * len(job.live) * (2 * job.half + 1)


class Tally:
    """Runs drawn jobs, and counts what was judged."""

    def __init__(self):
        self.results, self.undecided = {}, Counter[str]()
        self.vague = 0      # jobs whose error budgets say little
        self.failed = None  # when a job failed first

    def judge(self, job):
        folder = folder_of_worker()
        arguments = job.arguments(folder)
        key = f"{arguments} {job} {(folder / 'in.su').read_bytes()!r}"
        if key not in self.results:
            if self.failed and time.monotonic() - self.failed > SHRINKING:
                return  # shrunk enough
            self.results[key] = self.problem(job, arguments, folder)
        what = self.results[key]
        if what:
            self.failed = self.failed or time.monotonic()
            raise AssertionError(what)

    def problem(self, job, arguments, folder):
        """What is wrong with a job, or None; "" if it is not judged."""
        command, ended = run(job, arguments, folder)
        choose = "choose=1" in arguments
        if choose and "live traces in the apertures: expected at least" in ended.err:
            return ""
        try:
            wanted = oracle.Job([a for a in arguments if not (choose and ended.status)
                                 or a != "choose=1"], folder, ended.err)
            if ended.status or "not released" in ended.err:
                return f"{command}\n{ended.failure() or ended.err}"
            if cost(wanted) > MOST:
                raise oracle.Undecided("a large search")
            found = [*section_check.findings(wanted)]
            if not choose:
                found += section_check.printed(wanted, ended.out, ended.err)
        except oracle.Undecided as reason:
            self.undecided[str(reason)] += 1
            return ""
        except oracle.Refused as text:
            right = ended.status == 1 and f"semblance: {text}" in ended.err
            return None if right else f"{command}\n{ended.failure()}, expected {text}: {ended.err}"
        of_semblance = [f for f in found if f.file == "c.su" and f.index]
        self.vague += 2 * sum(f.budget > VAGUE for f in of_semblance) > len(of_semblance)
        wrong = [str(f) for f in found if not f.used <= 1]
        return "\n".join([command, *wrong[:5], f"{len(wrong)} of {len(found)} values are wrong"]) \
            if wrong else None

    def report(self, check):
        judged = [what for what in self.results.values() if what is None]
        check("judged", len(judged) < 0.5 * len(self.results)
              and f"{len(judged)} of {len(self.results)}, {self.undecided}")
        check("budgets", self.vague > 0.35 * len(judged)
              and f"most are large in {self.vague} of {len(judged)} jobs")


def drawn(count, seed, judge):
    """Judges drawn jobs, and shrinks one that fails."""
    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=count, deadline=None, database=None, print_blob=False,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(drawn_jobs())
    def test(job):
        judge(job)
    test()
    shutil.rmtree(folder_of_worker())


@pytest.mark.seconds(10)
@pytest.mark.parametrize("window, search", [
    ("parallel", "full"), ("moveout", "full"), ("parallel", "coarse")])
def test_each_backend(check, window, search):
    """One job, whose first samples are large, on each back-end that has the window; those of
    OpenCL as a CPU and as a GPU, which picks the best points itself."""
    job = jobs.draw(random.Random("each"), window=window, search=search, passes="1", choose="0",
                    output="places", ranges="velocities", smooth="centre", t0="some", tau=2,
                    refine="0", average=0)
    for t in job.traces[::3]:
        t.row[:1] *= 1000
    outputs, tried = ["stack=s.su", "coherence=c.su", "parameters=p.npy"], set()
    for number, variant in itertools.product(range(sum(count for _, count in DRAWN)), range(5)):
        drawn_job, folder = Drawn(job, outputs, number, variant), folder_of_worker()
        arguments = drawn_job.arguments(folder)
        step, backend, _ = backends(drawn_job, arguments)
        device = random_queries.variation(backend, f"section {variant}")[1].get("DEVICE_AS", "")
        if (step, backend, device) not in tried:
            tried.add((step, backend, device))
            what = Tally().problem(drawn_job, arguments, folder)
            check(f"{window}, {search}: {step} {backend} {device}",
                  "not judged" if what == "" else what)
    check("GPUs", len([name for name in tried if "gpu" in name]) < 3 and f"{tried}")


@pytest.mark.seconds(20)
@pytest.mark.parametrize("part", range(PARTS))
def test_fixed(check, part):
    tally = Tally()
    drawn(JOBS // PARTS, f"fixed {part}", tally.judge)
    tally.report(check)


@pytest.mark.seconds(20)
@pytest.mark.parametrize("part", range(PARTS))
def test_drawn(check, part, everything):
    print(f"SECTION_SEED={SEED}")
    tally = Tally()
    drawn((10 if everything else 1) * JOBS // PARTS, f"{SEED} {part}", tally.judge)
    check("jobs", not tally.results and "none")


# ---- what is wrong is noticed --------------------------------------------------------

KINDS = {"moveout": lambda job: job.window == "moveout" and not job.refined and not job.reach,
         "parallel": lambda job: job.window == "parallel" and not (
             job.coarse or job.refined or job.reach),
         "coarse": lambda job: job.coarse and not job.refined and not job.reach,
         "refined": lambda job: job.refined and not job.reach,
         "averaged": lambda job: job.reach > 0,
         "two passes": lambda job: job.passes == 2,
         "fill=dead": lambda job: job.fill and job.near[0].sum() > 1,
         "velocity=": lambda job: job.table is not None and "ranges_out" in job.option}


def put(path, index, value):
    """Changes a value of an output file."""
    if path.suffix == ".npy":
        array = numpy.load(path)
        array[index] = value
        numpy.save(path, array)
        return
    raw = bytearray(path.read_bytes())
    order = "=" if path.suffix != ".residual" else oracle.byte_order(path)
    row = oracle.HEADER + 4 * oracle.get(raw[:oracle.HEADER], "ns", order)
    struct.pack_into(order + "f", raw, row * index[0] + oracle.HEADER + 4 * index[1], value)
    path.write_bytes(raw)


def accepted(wanted):
    return all(f.used <= 1 for f in section_check.findings(wanted))


def notice(check, name, wanted, folder):
    """Changes one value of each file by 1.5 error budgets, up and down, each field of the
    headers by 1, and a number of the table of ranges."""
    found = [f for f in section_check.findings(wanted)
             if f.index and f.used <= 1 and f.index[0] >= 0]
    lot = random.Random(name)
    for file in sorted({f.file for f in found if not f.file.endswith(".txt")}):
        some = [f for f in found if f.file == file]
        narrow = [f for f in some if 0 < f.budget < VAGUE] or some
        kept = (folder / file).read_bytes()
        for one in lot.sample(narrow, min(4, len(narrow))):
            for sign in -1, 1:
                put(folder / file, one.index, one.expected + sign * (1.5 * one.budget or 1e-6))
                check(f"{name}: {one} {sign:+}", accepted(wanted) and "accepted")
                (folder / file).write_bytes(kept)
    for path in folder.glob("*.su*"):
        if path.name == "in.su":
            continue
        kept, residual = path.read_bytes(), path.suffix == ".residual"
        order = wanted.order if wanted.fill and path.name == "s.su" or residual else "="
        every = (*oracle.FIELDS, *(200, 90, 228) * (order == "="))
        for field in ("tracl", "gy") if residual else every:
            raw = bytearray(kept)
            if isinstance(field, int):
                raw[field] ^= 1
            elif field == "ns":
                continue
            else:
                value = oracle.get(kept[:oracle.HEADER], field, order)
                raw[:oracle.HEADER] = oracle.put({field: value ^ 1}, order, kept[:oracle.HEADER])
            path.write_bytes(raw)
            check(f"{name}: {path.name}, {field}", accepted(wanted) and "accepted")
        path.write_bytes(kept)
    if wanted.table is not None and "ranges_out" in wanted.option:
        path = folder / wanted.option["ranges_out"]
        kept = path.read_text()
        number = re.findall(r"(?m)^[-\d.e]+ [-\d.e]+  (\S+)", kept)[-1]
        path.write_text(kept.replace(number, repr(float(number) * (1 + 1e-6))))
        check(f"{name}: ranges_out=", accepted(wanted) and "accepted")
        path.write_text(kept)


def notice_numbers(check, name, wanted, ended):
    """Adds 1 to each number that is printed and that the job determines."""
    for key in "Traces", "There", "Dead", *["Points"] * (wanted.passes == 1):
        found = re.search(rf"(?m)^{key}=(\d+)$", ended.out)
        out = ended.out.replace(found[0], f"{key}={int(found[1]) + 1}") if found else ended.out
        refused = any(f.used > 1 for f in section_check.printed(wanted, out, ended.err))
        check(f"{name}: {key}", (out == ended.out or not refused) and "accepted")
    for key in ["Mean_semblance", *["Dip_steep"] * (len(wanted.velocity) > 0)]:
        found = re.search(rf"(?m)^{key}=(.*)$", ended.out)
        assert found, key
        out = ended.out.replace(found[0], f"{key}={float(found[1]) + 0.002:.3f}")
        refused = any(f.used > 1 for f in section_check.printed(wanted, out, ended.err))
        check(f"{name}: {key}", not refused and "accepted")


@pytest.mark.seconds(20)
def test_noticed(check):
    """A result that is wrong by 1.5 budgets in one value of any file, or a number that is
    printed, is refused."""
    missing = dict(KINDS)

    def judge(job):
        folder = folder_of_worker()
        arguments = job.arguments(folder)
        if not missing or not {"stack=s.su", "coherence=c.su", "parameters=p.npy"} \
                <= set(arguments) or "choose=1" in arguments:
            return
        _, ended = run(job, arguments, folder)
        try:
            wanted = oracle.Job(arguments, folder)
            kind = next((k for k, fits in missing.items() if fits(wanted)), None)
            alive = any(near.sum() > 1 for near in wanted.near)
            if ended.status or not kind or not alive or cost(wanted) > MOST / 500:
                return
            notice(check, kind, wanted, folder)
            notice_numbers(check, kind, wanted, ended)
        except (oracle.Undecided, oracle.Refused):
            return
        del missing[kind]

    drawn(400, "noticed", judge)
    check("kinds", missing and f"{list(missing)} were not drawn")


BUDGETS = {"window=parallel": {"s.su": 5.4624e-05, "c.su": 0.0017246, "p.npy": 1.3043e-12},
           "window=moveout": {"s.su": 5.4709e-05, "c.su": 0.0017938, "p.npy": 1.3043e-12},
           "search=coarse": {"s.su": 5.564e-05, "c.su": 0.0017533, "p.npy": 2.6086e-12},
           "refine=1": {"s.su": 3.8091e-06, "c.su": 8.3065e-05, "p.npy": 1.77e-08}}


@pytest.mark.parametrize("option", BUDGETS)
def test_budgets(check, tmp_path, option):
    """The mean error budgets of a job that does not change are these: no check is looser."""
    survey(random.Random(4), tmp_path / "in.su")
    arguments = ["in=in.su", "m0=1150", "h0=75,25,2", "t0=0.2,0.004,25", "tau=0.012",
                 "a=-2e-4,3e-4,3", "b=1e-4,6e-4,4", "c=2e-7,8e-7,2", "d=1e-7,6e-7,2", "e=1e-8",
                 "aperture=60,90", option, "stack=s.su", "coherence=c.su", "parameters=p.npy"]
    binary = os.path.abspath(binaries("semblance", ("seq",))[0][2])
    ended = helpers.run([binary, *arguments], tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = [*section_check.findings(oracle.Job(arguments, tmp_path))]
    for name, expected in BUDGETS[option].items():
        mean = numpy.exp(numpy.mean([numpy.log(f.budget) for f in found
                                     if f.file == name and f.budget]))
        check(name, abs(mean / expected - 1) > 0.01 and f"{mean:.5g}, not {expected}")
    check("right", [str(f) for f in found if not f.used <= 1])
