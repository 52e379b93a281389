"""test_bounds.py: what a step leaves out can be left out. A wrong bound is a failure even if
the answer is right, so each is evaluated by itself, on input that is made for it.

Semblance: the upper bound of every node, an (A, B) with all C or with one C, is at least the
node's maximum in double precision (the checker's oracle) and the maximum that the same
back-end finds without bounds (semblance_bounds.c). Gridding: a visibility reaches every cell
that its w-plane needs (gridding_reach.c). Fluid: a solve stops after the first sweep whose
changes are within the tolerance (fluid_stop.c). Left out: MPI, whose ranks call these
functions of the other steps.

The sources are those next to BUILD, so that a mutant in a copy of the tree is tested, too.
"""
import random
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, printed, program_named, run, trace
from tools.base import tree

# The tree that BUILD was built from, if it is next to it.
SOURCES = next(path for path in (Path(BUILD).parent, Path(ROOT)) if (path / "steps").is_dir())
FLAGS = (Path(BUILD) / "flags").read_text().split()
TESTED = [name for name, b in tree.BACKENDS.items() if not b.launch and not b.needs_gpu]


def back_ends(program, file):
    """(step, back-end) of all that are built, of the steps that have a file."""
    found = [(step, backend) for step in tree.steps()
             if (step.folder / program.name / file).exists()
             for backend in step.available(program) if backend in TESTED]
    return found or pytest.skip("not built")


def compiled(program, step, backend, folder, test, include=""):
    """The binary of a test in C, linked with a back-end and, except for main.c, common/. The
    source of the back-end that the test includes is not linked, then main.c is."""
    about, common = tree.BACKENDS[backend], Path(BUILD) / "common"
    parts = Path(BUILD) / "parts" / step.name / f"{program.name}-{backend}"
    binary = folder / f"{step.number}-{backend}"
    compiled_test = folder / f"{step.number if include else ''}{test}.o"
    folders = [f"steps/{step.name}/{program.name}"] if include else []
    folders += ["common/" + name for name in ("run", "su", "portable", program.name, "opencl",
                                              "cuda", "hybrid")]
    objects = [parts / f"{name}.o" for name in about.sources if name != include]
    objects += [common / name for name in about.common]
    objects += [path for name in ("run", "su", program.name)
                for path in (common / name).glob("*.o") if include or path.stem != "main"]
    commands = [[*FLAGS, "-O1", "-fopenmp", *(f"-I{SOURCES / name}" for name in folders),
                 f'-DBACKEND="{include}"', "-c", f"tests/{test}.c", "-o", compiled_test]]
    commands = commands if include or not compiled_test.exists() else []
    libraries = ["-lOpenCL"] if "opencl" in about.needs else []
    commands.append([*FLAGS, "-fopenmp", compiled_test, *objects, *libraries, "-lfftw3_threads",
                     "-lfftw3", "-lfftw3f", "-lpng", "-lm", "-o", binary])
    for command in commands:
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    return binary


# Threads that spin at barriers would wait for those of other tests.
THREADS = {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}

# ---- semblance -----------------------------------------------------------------------

# How many searches: OpenCL compiles a kernel for each window.
SEARCHES = {"omp": 30, "cuda-cpu": 30}
DT = 0.004


def draw_search(rng, path):
    """The arguments of a search whose bounds are close to the maxima. Most arrivals do not
    change, the others span few samples, and may be at the ends of the traces. The samples of a
    trace are alike, and many traces have the opposite sign of the first. In every second
    search, `zigzag`, the samples of the first trace alternate, so that single samples
    determine the bounds."""
    zigzag = rng.random() < 0.5
    half, traces = 0 if zigzag else rng.choice((0, 0, 1, 2, 9)), rng.choice((2, 2, 3, 3, 6))
    ns = 2 * half + rng.randint(4, 40)
    middle, noise = rng.choice(((1, 0.02), (1, 0.1), (1, 0.1), (1, 0.5), (0, 1)))
    scale = rng.choice((1e-6, 1, 1, 1e5))
    with open(path, "wb") as file:
        for i in range(traces):
            value = scale * (rng.choice((1, 1, -1)) * rng.uniform(0.3, 1) if i else -0.3)
            samples = [value * (middle + noise * rng.uniform(-1, 1)) for _ in range(ns)]
            if zigzag:
                samples = [scale * (1 if i else -0.3 * (0.4, 1)[j % 2]) for j in range(ns)]
            # Otherwise it is at the output point.
            moves = i == 0 or (not zigzag and rng.random() < 0.2)
            sy, gy = (at + moves * rng.choice((-1, 1)) * rng.randint(*far) for at, far in (
                (-20, (2500, 3000) if zigzag else (500, 3000)),
                (80, (0, 500) if zigzag else (500, 3000))))
            file.write(trace(samples, sy=sy, gy=gy, scalco=-10))
    last = ns - half - 1
    inside = [rng.uniform(half, last) for _ in range(3)]
    k = rng.choice(inside if zigzag else [half, half, last, *inside])
    t0 = min(max(k + rng.uniform(-0.5, 0.5), 0), ns - 1) * DT
    words = [f"in={path}", "axis=y", "m0=3", "h0=5", f"t0={t0!r}", f"tau={half * DT!r}"]
    for key in "abcde":
        unit = DT / 300 if key in "ab" else 2 * t0 * DT / 300**2
        low = unit * rng.uniform(-2, 2) * rng.choice((0, 1))
        high = low + unit * rng.choice((-1, 1)) * rng.choice(
            (0, 0.01, 1, 4) if key in "abc" and not zigzag else
            (0, 0.01) if key in "abc" else (1, 4, 8) if zigzag else (0.1, 1, 4, 10))
        count = rng.choice({"a": (4, 9), "b": (4, 9), "c": (1, 2)}.get(
            key, (9, 20) if zigzag else (1, 4, 20)))
        words.append(f"{key}={low!r},{high!r},{count}")
    return words


def maxima(words, values, folder):
    """[1 + np[C]][cells]: the largest semblance of each (A, B) in double, less what rounding
    may take from it; first with all C, then with each value of C alone."""
    found = []
    searches = [words] + [[f"c={float(c)!r},{float(c)!r},1" if w.startswith("c=") else w
                           for w in words] for c in values]
    for n, alone in enumerate(searches):
        oracle = folder / f"{n}.npy"
        ended = run([f"{BUILD}/semblance-check", *alone, f"oracle={oracle}"], ROOT)
        assert ended.returncode == 0, ended.stderr
        found.append(numpy.load(oracle)[1:].reshape(-1, 3)[:, 0])
    return numpy.array(found)


@pytest.mark.seconds(10)
def test_semblance(check, tmp_path):
    program, truths, seen = program_named("semblance"), {}, set()
    for step, backend in back_ends(program, "bound.h"):
        name = f"{step.number} {backend}"
        source = tree.BACKENDS[backend].sources[0]
        text = tuple((SOURCES / "steps" / step.name / "semblance" / file).read_bytes()
                     for file in (source, "bound.h", "body.h"))
        if text in seen:
            continue
        seen.add(text)
        binary = compiled(program, step, backend, tmp_path, "semblance_bounds", source)
        close = 0
        for n in range(SEARCHES.get(backend, 12)):
            folder = tmp_path / str(n)
            folder.mkdir(exist_ok=True)
            words = draw_search(random.Random(f"bounds {n}"), folder / "in.su")
            ended = run([binary, *words], ROOT,
                        {"BOUNDS": str(folder), **THREADS})
            if ended.returncode:
                check(f"{name}, search {n}", ended.stderr)
                continue
            bounds, single, values = (numpy.load(folder / f"{what}.npy").astype(float)
                                      for what in ("bounds", "maxima", "c"))
            if n not in truths:
                truths[n] = maxima(words, values, folder)
            double = truths[n].reshape(bounds.shape)
            close += numpy.count_nonzero((0 < double) & (0.8 * bounds < double) & (bounds < 1))
            for what, truth in (("in double", double), ("without bounds", single)):
                at = numpy.unravel_index(numpy.argmax(truth - bounds), bounds.shape)
                check(f"{name}, search {n}", not numpy.all(bounds >= truth) and
                      f"node {at}: bound {bounds[at]:.9g}, maximum {what} {truth[at]:.9g}")
        check(f"{name}: bounds that are close to the maximum", close < 50 and close)


# ---- gridding, fluid -----------------------------------------------------------------


@pytest.mark.seconds(4)
def test_gridding(check, tmp_path):
    program = program_named("gridding")
    for step, backend in back_ends(program, "host.h"):
        if step.number < "10":  # all taps are used
            check(f"{step.number} {backend}", None)
            continue
        binary = compiled(program, step, backend, tmp_path, "gridding_reach")
        ended = run([binary, "15"], ROOT, THREADS)
        check.process(f"{step.number} {backend}", ended, 0, "15 passed, 0 failed")
        check(f"{step.number} {backend}: taps that are left out",
              int(printed(ended.stdout).get("omitted", 0)) < 1000 and ended.stdout)


# How many cells are tested, if not all; cuda-cpu and OpenCL take long to start a kernel.
CELLS = {"seq": "2185", "omp": "729", "cuda-cpu": "6", "hybrid-cuda-cpu": "6"}


@pytest.mark.seconds(10)
def test_fluid(check, tmp_path):
    program, seen = program_named("fluid"), set()
    for step, backend in back_ends(program, "cpu.c"):
        folder = SOURCES / "steps" / step.name / "fluid"
        names = {*tree.BACKENDS[backend].sources, *(p.name for p in folder.glob("*.h"))}
        names |= {"kernel.cl"} if backend == "ocl" else set()
        text = tuple((folder / name).read_bytes() for name in sorted(names))
        if (backend, text) in seen:
            continue
        seen.add((backend, text))
        binary = compiled(program, step, backend, tmp_path, "fluid_stop")
        kinds = [("cpu", THREADS)]
        if backend == "ocl" and step.number == "10":  # a GPU stops by another function
            kinds.append(("gpu", {**THREADS, "DEVICE_AS": "gpu"}))
        if backend == "omp":  # does several sweeps in a pass, and repeats one that was too long
            kinds.append(("1 thread", {"OMP_NUM_THREADS": "1", "CACHE_L2": "1"}))
        for kind, variables in kinds:
            ended = run([binary, CELLS.get(backend, "50")], ROOT, variables)
            check.process(f"{step.number} {backend} {kind}", ended, 0,
                          r"[1-9]\d* passed, 0 failed")
