"""test_semblance.py: what a back-end of the search promises beyond one answer: that many
searches with one state give what each gives by itself (semblance_calls.c); and that the
cases of make verify go through all of body.h and bound.h, the fast way and the slow one, so
that what they prove is proven of both; and that nodes err no more than they say
(semblance_nodes.c). What is compiled for this is compiled in a hurry, without -O3.

Run from the root; the objects are those of BUILD. Left out: what CUDA does on a GPU.
"""
import os
import re
import subprocess

import pytest

from tests.helpers import BUILD, ROOT, binaries, program_named, run
from tools.base import tree

INCLUDE = [f"-Icommon/{name}" for name in
           ("run", "su", "portable", "semblance", "opencl", "cuda", "hybrid", "mpi")]
FRONT = [f"{BUILD}/common/{name}.o" for name in
         ("semblance/arguments", "semblance/tables", "semblance/job", "semblance/survey",
          "semblance/line", "semblance/processes", "semblance/pick",
          "su/su", "run/run", "run/args", "run/npy")]
MAIN = [f"{BUILD}/common/semblance/{name}.o" for name in
        ("main", "headers", "criterion", "mute", "pass", "section", "dead", "choose", "check",
         "coarse", "refine", "fill", "journal")]
CASES = ("small", "outside", "wide")
STEPS = [s for s in tree.steps() if s.has(program_named("semblance"))]
# Arguments for a hybrid back-end: with a fixed fraction for the device, the bytes are the
# same in every run.
SHARES = ("share=0", "share=37", "share=100")


@pytest.fixture
def program():
    return program_named("semblance")


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


def sources(step, backend, owner=""):
    """The sources and objects of a back-end, as arguments for gcc. owner is the back-end
    whose kernel object is linked, if it is another one."""
    folder = f"steps/{step.name}/semblance"
    if backend == "seq":
        return ["-Wno-unknown-pragmas", f"{folder}/cpu.c"]
    if backend in ("omp", "mpi"):  # what a rank does
        return ["-fopenmp", f"{folder}/cpu.c"]
    if backend in ("ocl", "mpi-ocl"):
        return [f"{folder}/opencl.c",
                f"{BUILD}/parts/{step.name}/semblance-{owner or backend}/kernel.cl.o",
                f"{BUILD}/common/opencl/ocl.o", "-lOpenCL"]
    if backend == "hybrid":
        return ["-fopenmp", f"{folder}/hybrid.c", f"{folder}/cpu.c",
                f"{BUILD}/common/hybrid/hybrid.o", *sources(step, "ocl", backend)]
    if backend == "hybrid-cuda-cpu":
        return ["-fopenmp", f"{folder}/hybrid.c", f"{folder}/cpu.c",
                f"{BUILD}/common/hybrid/hybrid.o", *sources(step, "cuda-cpu")]
    return ["-fopenmp", "-x", "c", f"{folder}/cuda.cu", "-x", "none",
            f"{BUILD}/common/cuda/cuda_device-cpu.o", f"{BUILD}/common/cuda/cuda_cpu.o"]


@pytest.mark.seconds(20)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.number)
def test_calls(check, program, folder, step):
    with open(f"{BUILD}/flags", encoding="utf-8") as file:
        gcc = file.read().split()
    if not step.available(program):
        pytest.skip("not built")
    for backend in step.available(program):
        if backend in tree.NEED_GPU:
            continue
        name = f"{step.name} {backend}"
        binary = os.path.join(folder, name.replace(" ", "-"))
        made = subprocess.run(
            [*gcc, "-O1", *INCLUDE, "tests/semblance_calls.c", *sources(step, backend),
             *FRONT, "-lm", "-o", binary], cwd=ROOT, capture_output=True, text=True)
        if made.returncode:
            check(name, made.stderr[-300:])
            continue
        shares = [[s] for s in SHARES] if backend.startswith("hybrid") else [[]]
        for case, share in ((c, s) for c in CASES for s in shares):
            ended = run([binary, *program.cases[case], *share], ROOT)
            good = ended.returncode == 0 and "8 passed, 0 failed" in ended.stdout
            check(" ".join((f"{name}, {case}", *share)), None if good else
                        f"exit status {ended.returncode}: {ended.stdout}"
                        f"{ended.stderr[-300:]}")


# Branches that no case takes: ties of lanes of which the later has the earlier point.
NOT_TAKEN = re.compile(r"order < 0")


def untaken(said):
    """What gcov -b -t says of body.h and bound.h: lines that were not reached, and the
    conditions of an if that were always or never true."""
    source, line, found = "", "", []
    for text in said.splitlines():
        if ":Source:" in text:
            source = text.rpartition("/")[2]
        place = re.match(r" *[-\d#*=]+: *(\d+):(.*)", text)
        if place:
            line = f"{source}:{place[1]}: {place[2].strip()}"
        if source not in ("body.h", "bound.h") or NOT_TAKEN.search(line):
            continue
        if re.match(r" *#####:", text):
            found.append(f"not reached: {line}")
        condition = re.search(r": (\} else )?if \(", line)
        if condition and re.match(r"branch .*(taken 0%|never executed)", text):
            found.append(f"always or never true: {line}")
    return found


@pytest.mark.seconds(60)
def test_paths(check, program, folder):
    for step in tree.steps():
        if not step.has(program):
            continue
        backend = step.backends(program)[0]
        share = SHARES[:1] if backend == "hybrid" else ()
        name, place = f"{step.name} {backend}", os.path.join(folder, step.name)
        os.mkdir(place)
        binary = os.path.join(place, "covered")
        made = subprocess.run(
            ["gcc", "-std=c11", "-O0", "-fno-math-errno", "--coverage", "-dumpdir",
             place + "/", *INCLUDE, *sources(step, backend),
             *MAIN, *FRONT, "-lm", "-o", binary], cwd=ROOT,
            capture_output=True, text=True)
        if made.returncode:
            check(f"{name}: coverage", made.stderr[-300:])
            continue
        for words in program.cases.values():
            for panel in (), ("panel=/dev/null",):
                run([binary, *words, *panel, *share], ROOT)
        trace = [word for word in program.cases["small"] if not word.startswith("t0=")]
        for window in "parallel", "moveout":  # some steps refuse the second
            run([binary, *trace, *share, f"stack={place}/{window}.su", f"window={window}"], ROOT)
        only = "cpu.gcda" if share else ".gcda"  # the host's side, which has all the work
        notes = [os.path.join(place, f) for f in os.listdir(place) if f.endswith(only)]
        said = run(["gcov", "-b", "-t", *notes], ROOT).stdout
        found = untaken(said)
        if step.number < "08":  # a line is enough there: nothing has two ways
            found = [f for f in found if f.startswith("not reached")]
        reached = "body.h" in said
        check(f"{name}: paths", "; ".join(found) if reached else "gcov says nothing")


@pytest.mark.seconds(5)
def test_nodes(check, folder):
    for step in tree.steps():
        nodes = step.folder / "semblance" / "nodes.h"
        if not nodes.exists():
            continue
        binary = os.path.join(folder, "nodes")
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", *INCLUDE, f"-I{nodes.parent}",
             "tests/semblance_nodes.c", "-lm", "-o", binary], cwd=ROOT,
            capture_output=True, text=True)
        ended = made if made.returncode else run([binary], ROOT)
        good = ended.returncode == 0 and "4 passed, 0 failed" in ended.stdout
        check(f"{step.name}: nodes", None if good else ended.stdout + ended.stderr)


@pytest.mark.seconds(10)
def test_sorted_before_use(check, program, folder):
    """Threads take the cells in the order of their bounds only after all are sorted. qsort() is
    in the C library, where ThreadSanitizer sees no access: a race shows as a wrong result, in
    some of many runs."""
    words = [w for w in program.cases["awkward"] if w[:2] not in ("a=", "b=", "c=", "d=", "e=")]
    words += ["a=-2e-5,2.6e-4,120", "b=-3.2e-4,-8e-5,120", "c=6e-7,6e-7,1", "d=0,4e-7,2", "e=0,0,1"]
    for step, backend, binary in binaries("semblance", ("omp",)):
        if step < "10":
            continue
        found = {re.findall("^(?:[A-E]|Semblance)=.*$", run(
            [os.path.abspath(binary), *words], ROOT,
            {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}).stdout, re.M)[-1]
            for _ in range(60)}
        check(f"{step} {backend}", len(found) != 1 and f"{found}")
