"""test_fluid.py: what is known of the answers of the fluid program, and that steps which
promise the same operations give the same bytes on every back-end.
"""
import os
import pathlib
import re
import shutil
import subprocess

import numpy
import pytest
from matplotlib.image import imread

from tests.helpers import (
    ROOT,
    arguments,
    binaries,
    emptied,
    printed,
    program_named,
    read_npy,
    run,
)
from tools.base import runs, tree
from tools.verify import execute

GOOD = "source 60 0\nforce 9 -5 3 0\nforce -4 7 11 1\nsource 45.5 2\n"
QUERY = {"events": "../good.txt", "nx": "5", "ny": "4", "nz": "3", "steps": "2",
         "sweeps": "2", "out": "out.npy", "velocity": "v.npy", "totals": "t.npy",
         "picture": "p.png"}

def command(changes):
    return arguments(QUERY, changes)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Files of events, and a folder below them to run in."""
    folder = tmp_path_factory.mktemp("fluid")
    (folder / "good.txt").write_text(GOOD)
    (folder / "dos.txt").write_bytes(GOOD.replace("\n", "\r\n").encode())
    (folder / "still.txt").write_text("source 100 0\n")
    (folder / "wild.txt").write_text("source 1 0\n" + "".join(
        f"force 3.4e38 3.4e38 -3.4e38 {t}\n" for t in range(6)))
    (folder / "work").mkdir()
    return folder / "work"


def some(backend):
    """(step, binary): the first sequential one, or the last of another back-end."""
    found = binaries("fluid", (backend,))
    assert found or backend not in ("seq", "omp"), "make binaries"
    return found[0 if backend == "seq" else -1][::2] if found else \
        pytest.skip(f"no fluid-{backend} is built")


def front_end(*backends):
    return pytest.mark.parametrize("backend", backends)


@pytest.mark.skipif(not shutil.which("oclgrind"), reason="oclgrind is not installed")
def test_small_groups(check, work):
    """On a GPU whose work-groups have at most 256 work-items. (Oclgrind's status is 0.)"""
    for step, _, binary in binaries("fluid", ("ocl",)):
        ended = run(["oclgrind", "--max-wgsize", "256", binary,
                     *command("nx=16 ny=16 nz=16 steps=1")], work, {"DEVICE_AS": "gpu"})
        check(step, "Time_run=" not in ended.stdout and ended.stderr[-300:])


def colors(values):
    """Of the middle slice, in 0 .. 255 (picture.c)."""
    d = numpy.cbrt(numpy.clip(values[len(values) // 2, ::-1], 0, 1))
    return 255 * numpy.stack([numpy.maximum(0, 1 - 1.6 * d), numpy.maximum(0, 1 - 1.1 * d),
                              numpy.minimum(1, 1.7 - 1.5 * d)], -1)


@front_end("seq", "ocl", "omp")
def test_known_answers(check, backend, work):
    """What is known without an oracle."""
    step, binary = some(backend)

    def holds(name, condition, detail=""):
        check(name, not condition and f"does not hold: {detail}")

    result = run([binary, *command("movie=. steps=3")], work)
    left = sorted(os.listdir(work))
    holds("good input", result.returncode == 0 and not result.stderr, result.stderr)
    holds("files", left == ["000000.png", "000001.png", "000002.png", "out.npy", "p.png",
                            "t.npy", "v.npy"], left)
    if result.returncode == 0:
        shape, density = read_npy(os.path.join(work, "out.npy"))
        holds("shape", shape == [3, 4, 5], shape)
        total = float(printed(result.stdout)["total_density"])
        holds("total", abs(sum(density) - total) < 1e-4 * total, (sum(density), total))
        holds("sweeps", printed(result.stdout)["sweeps"] == "36", printed(result.stdout)["sweeps"])
        density = numpy.load(work / "out.npy")
        for picture, peak in ("p.png", density.max()), ("000002.png", 60):
            pixels = 255 * imread(work / picture)
            wrong = abs(pixels[40::80, 40::80] + 0.5 - colors(density / peak)).max()
            holds(picture, pixels.shape == (320, 400, 3) and wrong < 0.6, wrong)
    emptied(work)

    result = run([binary, *command("events=../dos.txt")], work)
    holds("lines that end with CR LF", result.returncode == 0, result.stderr)

    # Nothing stirs: mass stays, velocity is 0, and what spreads stays symmetric. With
    # sides of an odd number of cells the middle cell is not in the middle: n / 2.
    result = run([binary, "events=../still.txt", "n=6", "diff=0.01", "sweeps=200",
                  "out=out.npy", "velocity=v.npy"], work)
    _, x = read_npy(os.path.join(work, "out.npy"))
    _, v = read_npy(os.path.join(work, "v.npy"))
    holds("mass", abs(sum(x) - 100) < 1e-3, sum(x))
    holds("still", not any(v))
    holds("between 0 and its source", min(x) >= 0 and max(x) <= 100, (min(x), max(x)))
    cell = {(n // 36, n // 6 % 6, n % 6): value for n, value in enumerate(x)}
    odd = max(abs(cell[k, j, i] - cell[i, k, j]) for k, j, i in cell)
    holds("the same along all axes", odd < 1e-4, odd)

    # A step of 0 moves nothing: the source stays where it is.
    run([binary, "events=../good.txt", "n=4", "dt=0", "steps=1", "out=out.npy"], work)
    _, x = read_npy(os.path.join(work, "out.npy"))
    holds("dt 0", sum(1 for value in x if value) == 1 and max(x) == 60, max(x))

    # NaN never counts as converged: every solve of velocity takes all sweeps.
    result = run([binary, *command("events=../wild.txt visc=1e20 dt=1 steps=6 sweeps=0")],
                 work)
    sweeps = int(re.findall(r"(\d+) sweeps", result.stderr)[0])
    solves = 4 if step >= "10" else 6  # those that sweep
    holds("NaN does not converge", sweeps > solves * 20 * 4, sweeps)
    emptied(work)


@pytest.mark.seconds(10)
def test_gauss_seidel(check, work):
    """What only the first step has, against the oracle; and not what colors give."""
    program = program_named("fluid")
    step = next(s for s in tree.steps() if s.has(program))
    colors = {}
    for case, words in program.cases.items():
        files = []
        for solver in ("rb", "gs"):
            got = execute.run_and_check(step, program, "seq", [*words, f"solver={solver}"],
                                     work, f"{case}-{solver}")
            check(f"{step.name} solver={solver}, {case}",
                        None if got["ok"] else got["reason"])
            files.append(pathlib.Path(work, "out.npy").read_bytes())
        colors[case] = files[0] == files[1]
    check("solver=gs differs from solver=rb",
                "the same bytes in all cases" if all(colors.values()) else None)
    emptied(work)


@pytest.mark.seconds(60)
def test_same_bytes(check, work):
    """Until the algebra changes all back-ends do the same operations in the same order,
    and so they do after it. Memory is full of what nobody wrote: fields that threads
    clear together must be cleared to the last cell."""
    first: dict[str, list[bytes]] = {}
    for step, backend, binary in binaries("fluid"):
        if backend == "cuda":
            continue
        kind = "before the algebra" if step < "05" else "after it"
        result = run([binary, *command("steps=1 -picture -totals")], work,
                     {"MALLOC_PERTURB_": "165"})
        files = []
        for name in ("out.npy", "v.npy"):
            with open(os.path.join(work, name), "rb") as f:
                files.append(f.read())
        expected = first.setdefault(kind, files)
        check(f"{step} {backend}: same bytes {kind}",
                    result.stderr if result.returncode else
                    None if files == expected else "differs")
        emptied(work)


@pytest.mark.seconds(5)
def test_passes(check, work):
    """Passes of several sweeps, by several threads, give the bytes of single sweeps. Step 09
    chooses by the size of the cache."""
    for step, backend, binary in binaries("fluid", ("omp",)):
        if step < "09":
            continue
        for threads, box in ("1", "nz=9"), ("2", "nz=31"), ("3", "nz=50"):
            files = []
            for cache in ("1", "2147483647"):
                result = run([binary, *command(f"steps=3 sweeps=20 -picture {box}")], work,
                             {"CACHE_L2": cache, "OMP_NUM_THREADS": threads})
                files.append([pathlib.Path(work, name).read_bytes()
                              for name in ("out.npy", "v.npy", "t.npy")
                              if result.returncode == 0])
                emptied(work)
            check(f"{step} {backend}, {threads} threads, {box}",
                  None if files[0] and files[0] == files[1] else result.stderr or "differs")


def test_order_of_workers(check, tmp_path):
    """The workers of a phase of a pass may run in any order (fluid_passes.c): a race that shows
    only if one thread is late."""
    for step in tree.steps():
        folder = step.folder / "fluid"
        if not (folder / "block.h").exists():
            continue
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", "-fopenmp", "-Icommon/run", "-Icommon/portable",
             "-Icommon/fluid", f"-I{folder}", "tests/fluid_passes.c", "-lm", "-o",
             tmp_path / "passes"], cwd=ROOT, capture_output=True, text=True)
        ended = made if made.returncode else run([tmp_path / "passes"], ROOT)
        check.process(step.name, ended, 0, r"^[1-9]\d{3} passed, 0 failed$")


@pytest.mark.seconds(60)
def test_shared_work(check, work):
    """Whoever shares the work, a host and a device or ranks of any number, also more than
    there are planes: the bytes of the last OpenMP step, and its sweeps."""
    shares = [([binary, f"share={share}"], f"share={share}", {"OMP_NUM_THREADS": "2"})
              for _, _, binary in binaries("fluid", ("hybrid",))
              for share in ("0", "1", "50", "99", "100", "auto")]
    for _, backend, binary in binaries("fluid", ("mpi",)):
        for ranks in "1", "2", "3", "5", "8":
            start, variables = runs.launch(binary, backend, {"RANKS": ranks})
            shares.append((start, f"{ranks} ranks", variables))
    alone: list = [([binary], "", {}) for _, _, binary in binaries("fluid", ("omp",))[-1:]]
    for query in ("nx=37 ny=9 nz=20 steps=7", "n=9 steps=5 compat=minho dt=0.3",
                  "nx=6 ny=8 nz=3 steps=4 sweeps=5", "nx=5 ny=1 nz=1 steps=3"):
        first = None
        for start, name, variables in alone + shares:
            result = run([*start, "events=../good.txt", *query.split(), "out=out.npy",
                          "velocity=v.npy", "totals=t.npy"], work, variables)
            files = [pathlib.Path(work, f).read_bytes() for f in sorted(os.listdir(work))]
            first = first or files
            check(f"{name}, {query}: the bytes of threads alone",
                        result.stderr if result.returncode else
                        None if files == first and len(files) == 3 else "differs")
            emptied(work)


def test_late_copies(check, work):
    """The host does not write into a field that the device has still to copy: commands that
    run at once (CUDA_CPU_SEED=3), as late as CUDA permits (4), or at a random time (2) give
    the same bytes. The number of sweeps is that of the host alone."""
    binary = some("hybrid-cuda-cpu")[1]
    (work.parent / "pushed.txt").write_text(
        "source 60 0\n" + "".join(f"force {t + 3} -5 4 {t}\n" for t in range(6)))
    query = "steps=6 -sweeps -picture events=../pushed.txt"
    run([binary, *command(f"{query} share=0")], work)
    sweeps = numpy.load(work / "t.npy")[1]
    emptied(work)
    for share in "10", "25", "50", "100":
        first = None
        for seed in "3", "4", "2":
            result = run([binary, *command(f"{query} share={share}")], work,
                         {"CUDA_CPU_SEED": seed})
            found = numpy.load(work / "t.npy")[1] if result.returncode == 0 else 0
            files = [pathlib.Path(work, f).read_bytes() for f in sorted(os.listdir(work))]
            first = first or files
            check(f"share={share}, seed {seed}", result.stderr if result.returncode else
                  None if files == first and len(files) == 3 else "differs")
            check(f"share={share}, seed {seed}, sweeps",
                  found != sweeps and f"are {found}: expected {sweeps}")
            emptied(work)


@front_end("seq", "ocl", "omp", "cuda-cpu")
def test_profiles(check, backend, work):
    """profile=1 books every command on the device's clock; without, nobody looks."""
    binary = some(backend)[1]
    for profile in (0, 1):
        result = run([binary, *command(f"profile={profile} -out -velocity -totals "
                                       "-picture")], work)
        values = printed(result.stdout)
        table = re.findall(r"^([a-z_ ]+?) +[\d.]+ % +[\d.]+ +(\d+)$", result.stdout, re.M)
        calls = sum(int(n) for name, n in table if name.startswith("relax"))
        # A call of "relax" is a pass, of all that was asked for; the others are a colour.
        # A pass that takes two launches has two phases.
        told = (12, 24) if any(name == "relax" for name, _ in table) else (48,)
        same = values["Time_kernel"] == values["Time_run"]
        check(f"profile={profile}", None if (
            calls in told and not same if profile else not table and same)
            else f"does not hold: {table} {values}")


@pytest.mark.seconds(5)
def test_direct_solver(check, work):
    """The last step solves the pressure outright; the first one comes to the same, if it is
    given the time. How far from that it is otherwise is seen too: the test sees something."""

    def fields(binary, words):
        result = run([binary, "events=../good.txt", "nx=12", "ny=7", "nz=9", "steps=4",
                      "out=out.npy", "velocity=v.npy", *words], work)
        found = [read_npy(os.path.join(work, name))[1] for name in ("out.npy", "v.npy")]
        emptied(work)
        return found if result.returncode == 0 else [[1], [1]]

    def apart(a, b):
        squares = sum((x - y) ** 2 for x, y in zip(a, b))
        return (squares / sum(x * x for x in b)) ** 0.5 if len(a) == len(b) else 1

    first = binaries("fluid", ("seq",))[0][2]
    step, backend, last = binaries("fluid", ("omp",))[-1]
    right, short = fields(first, ["sweeps=3000"]), fields(first, [])
    for name, found, there, few in zip(("density", "velocity"), fields(last, []), right,
                                       short):
        far, before = apart(found, there), apart(few, there)
        check(f"{step} {backend}, {name} as with 3000 sweeps",
                    None if far < 2e-6 else f"relative L2 {far:.3g}")
        check(f"{name} of 20 sweeps is not", None if before > 20 * far else
                    f"relative L2 {before:.3g}, of {step} {far:.3g}")


def test_direct_declared(check, work):
    """The checker expects direct solves of the steps that declare them, and of no others:
    neither a wrong number of them nor results of another method are accepted."""
    program = program_named("fluid")
    query = [f"events={pathlib.Path(work).parent}/good.txt", "nx=6", "ny=5", "nz=4", "steps=2"]
    first, last = (next(s for s in tree.steps() if s.number == n) for n in ("09", "10"))
    files = {o.key: pathlib.Path(work, f"{o.key}.npy") for o in program.outputs}

    def accepts(by):
        return runs.check(program, query, files, "direct", by.check_arguments(program))["ok"]

    for step, other in (first, last), (last, first):
        run([step.binary(program, "omp"), *query, *(f"{k}={p}" for k, p in files.items())],
            work)
        check(f"{step.name}", not accepts(step) and "is rejected")
        check(f"{step.name} as {other.name}", accepts(other) and "is accepted")
        totals = numpy.load(files["totals"])
        numpy.save(files["totals"], [*totals[:2], 4 - totals[2]])
        check(f"{step.name}, wrong number", accepts(step) and "is accepted")
        check(f"{step.name} as {other.name}, wrong number", accepts(other) and "is accepted")
        emptied(work)


@pytest.mark.parametrize("sides", ["nx=1 ny=1280 nz=1", "nx=2 ny=1 nz=640"])
def test_long_box(sides, work):
    """What a transform of a long side loses is within the budgets of the oracle."""
    program, step = program_named("fluid"), next(s for s in tree.steps() if s.number == "10")
    query = ["events=../good.txt", *sides.split(), "steps=1"]
    files = {o.key: work / f"{o.key}.npy" for o in program.outputs}
    run([step.binary(program, "omp"), *query, *(f"{k}={p}" for k, p in files.items())], work)
    query[0] = f"events={work.parent}/good.txt"
    found = runs.check(program, query, files, "long", step.check_arguments(program))
    assert found["ok"], found["reason"]
    emptied(work)


def test_large_box(check, work):
    """Boxes that are too large for budgets of the oracle are judged in each cell, too: faults
    far from the events, where the values are small, are found."""
    program, step = program_named("fluid"), binaries("fluid", ("omp",))[0]
    query = [f"events={pathlib.Path(work).parent}/good.txt", "nx=51", "ny=50", "nz=50",
             "steps=1"]
    files = {o.key: pathlib.Path(work, f"{o.key}.npy") for o in program.outputs}
    outputs = [f"{k}={p}" for k, p in files.items()]

    def judged(key="", values=None):
        if key:
            numpy.save(work / "changed.npy", values)
        found = runs.check(program, [*query, "sweeps=20"],
                           {**files, **({key: work / "changed.npy"} if key else {})},
                           "large", ())
        return None if found["ok"] else found["reason"]

    run([step[2], *query, "sweeps=19", *outputs], work)
    fewer = numpy.load(files["velocity"])
    run([step[2], *query, "sweeps=20", *outputs], work)
    velocity, density = numpy.load(files["velocity"]), numpy.load(files["out"])
    check("unchanged", judged())

    def wrong(name, key, values):
        reason = judged(key, values)
        check(name, "is accepted" if not reason else
              "within" not in reason and f"not found by its cell: {reason}")

    edge, plane, near = velocity.copy(), velocity.copy(), density.copy()
    edge[:, 0, 8, 9] *= 1.1
    plane[:, 0] = fewer[:, 0]
    near[24, 24, 19:21] = near[24, 24, [20, 19]]
    wrong("velocity of a cell at a wall", "velocity", edge)
    wrong("a sweep less in the first plane", "velocity", plane)
    wrong("densities of two cells exchanged", "out", near)


def test_sources(check):
    """What a run cannot show: kernels say of what they only read that nobody writes it,
    queues keep times only where somebody asks, and threads touch their memory first."""
    program = program_named("fluid")
    for step in tree.steps():
        folder = step.folder / program.name
        for name, pattern, missing in (
                ("cuda.cu", r"__global__ void \w+\([^)]*\bconst \w+ \*(?!__restrict__ )",
                 "a const pointer of a kernel is not __restrict__"),
                ("opencl.c", r"(?<!profiling\(\) \? )CL_QUEUE_PROFILING_ENABLE",
                 "a queue that keeps times whoever asks"),
                ("cpu.c", r"field\[f\] = allocate\(",
                 "one thread touches all fields first")):
            if (folder / name).exists() and "omp" in step.backends(program):
                found = re.search(pattern, (folder / name).read_text())
                check(f"{step.name} {name}", missing if found else None)


def test_quotations(check):
    """What a lesson quotes by hand still stands in its step, or stood in the one before."""
    program = program_named("fluid")

    def lines(step):
        return {line.strip() for path in (step.folder / program.name).glob("*.*")
                if path.suffix != ".md" for line in path.read_text().splitlines()}

    for step in filter(lambda s: s.has(program), tree.steps()):
        text = (step.folder / program.name / "README.md").read_text()
        text = re.sub(r"<!-- generated: .*?<!-- end -->", "", text, flags=re.S)
        now, earlier = lines(step), tree.before(step, program)
        before = lines(earlier) if earlier else set()
        for kind, block in re.findall(r"^```(c|diff)\n(.*?)^```$", text, re.M | re.S):
            for line in block.splitlines():
                gone, line = line.startswith("-") and kind == "diff", (
                    line[1:] if kind == "diff" else line).strip()
                check(f"{step.name} README.md quotes `{line}`",
                            None if line in (before if gone else now) else "is not there")
