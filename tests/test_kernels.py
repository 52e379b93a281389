"""test_kernels.py: kernels of semblance that no query reaches: as OpenCL C 1.2, in a folder
that misleads, with memory for few work-items, for more work-groups than a GPU takes, with as many
traces as fit, and far from the traces; and what lessons quote.
"""
import os
import random
import re
import subprocess

import numpy as np
import pytest

from tests.helpers import ROOT, binaries, run, trace
from tools.base import tree
from tools.measure import registers

WORDS = ["in=in.su", "axis=y", "m0=0", "h0=0", "t0=0.08", "tau=0.008", "out=out.npy",
         "panel=panel.npy"]
SEARCH = ["a=-2e-4,2e-4,7", "b=-2e-4,2e-4,5", "c=1e-7,5e-7,3", "d=1e-7,3e-7,2", "e=0,3e-7,1"]
BUDGET = 1e-5  # absolute, for semblance and stack


def sources(name):
    """[(step, path)] of a source of semblance."""
    paths = ((s.name, s.folder / "semblance" / name) for s in tree.steps())
    return [(step, path) for step, path in paths if path.exists()]


@pytest.fixture
def search(check, tmp_path):
    """Runs a binary in a folder with four traces; its out.npy and panel.npy, or None."""
    rng = random.Random(11)
    (tmp_path / "in.su").write_bytes(b"".join(
        trace([rng.gauss(0, 1) for _ in range(61)], sy=rng.randint(-99, 99),
              gy=rng.randint(-99, 99)) for _ in range(4)))

    def search(name, binary, *words):
        ended = run([binary, *(words or WORDS + SEARCH)], tmp_path)
        check(name, ended.returncode and ended.stderr)
        return None if ended.returncode else [np.load(tmp_path / f) for f in
                                              ("out.npy", "panel.npy")]
    return search


@pytest.fixture
def equal(check, search):
    """Checks that a binary finds what the first step finds."""
    first = search("the first step", binaries("semblance", ("seq",))[0][2])

    def equal(name, binary, *words):
        found = search(name, binary, *words)
        if found:
            far = max(abs(np.subtract(a[..., -2:] if a.ndim == 1 else a,
                                      b[..., -2:] if b.ndim == 1 else b)).max()
                      for a, b in zip(found, first))
            check(f"{name}: results", not far <= BUDGET and far)
    return equal


def test_misleading_folder(equal, tmp_path):
    """Kernels are in the binary: files of the folder with their names are not read."""
    for name in ("kernel.cl", "body.h", "query.h", "portable.h"):
        (tmp_path / name).write_text("this is not a kernel\n")
    for step, _, binary in binaries("semblance", ("ocl",)):
        equal(step, binary)


def test_few_work_items(check, equal, tmp_path):
    """From 05 on, devices have a row of memory for each work-item, but only so many: with
    memory for a few, each work-item must take several parts."""
    step = [s for s, path in sources("host.h") if "T2_ABC_BYTES" in path.read_text()][-1]
    few = {backend: f"{tmp_path}/build/{step}/semblance-{backend}"
           for _, backend, _ in binaries("semblance", ("ocl", "cuda-cpu"))}
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    made = subprocess.run(["make", "-s", f"BUILD={tmp_path}/build", "EXTRA=-DT2_ABC_BYTES=200",
                           *few.values()], cwd=ROOT, env=clean, capture_output=True, text=True)
    check("builds", made.returncode and made.stderr)
    for backend, binary in few.items() if not made.returncode else ():
        for local in "1,1,1", "2,2,2", "3,1,2", "1,2,3", "2,3,1":
            equal(f"{backend}, {local}", binary, *WORDS, *SEARCH, f"local={local}")


@pytest.mark.seconds(20)
def test_many_values(check, search):
    """More values of a parameter than a grid of CUDA has blocks along y and z, 65535, on all
    steps; the last steps have one dimension. More values than 16 bits count of the others."""
    last = {backend: step for step, backend, _ in binaries("semblance")}
    for key in "abcde":
        ranges = [f"{k}=2e-7,4e-7,{70000 if k == key else 1}" for k in "abcde"]
        words = [*WORDS, *ranges, "local=1,1,1"]
        want = search(key, binaries("semblance", ("seq",))[0][2], *words)
        for step, backend, binary in binaries("semblance", ("omp", "cuda-cpu", "ocl")):
            if step != last[backend] and (backend != "cuda-cpu" or key not in "bc"):
                continue
            found = search(f"{step} {backend}, {key}", binary, *words)
            if found:
                far = max(abs(a[..., -2:] - b[..., -2:]).max() if a.ndim == 1 else
                          abs(a - b).max() for a, b in zip(found, want))
                check(f"{step} {backend}: 70000 values of {key}", not far <= BUDGET and far)


def test_most_traces(check, search, tmp_path):
    """The constant memory of a GPU has room for some traces, of which the last is used. One more
    is refused."""
    rng = random.Random(5)
    rows = [trace([rng.gauss(0, 1) for _ in range(61)], sy=n % 89, gy=n % 97) for n in range(97)]
    limits = {step: int(found[1]) for step, path in sources("cuda.cu") if
              (found := re.search(r"#define TRACES_MAX (\d+)", path.read_text()))}
    for step, backend, binary in binaries("semblance", ("cuda-cpu", "hybrid-cuda-cpu")):
        if step not in limits:
            continue
        (tmp_path / "in.su").write_bytes(b"".join(
            rows[n % len(rows)] for n in range(limits[step])))
        words = [*WORDS, *SEARCH[2:], "a=-2e-4,2e-4,2", "b=0,0,1"]
        words += ["share=100"] * backend.startswith("hybrid")
        want = search(step, binaries("semblance", ("seq",))[0][2], *words[:len(WORDS) + 5])
        found = search(f"{step} {backend}", binary, *words)
        check(f"{step} {backend}: {limits[step]} traces", found and want and
              abs(found[1] - want[1]).max() > BUDGET and found[1])
        with open(tmp_path / "in.su", "ab") as file:
            file.write(rows[0])
        ended = run([binary, *words], tmp_path)
        check(f"{step} {backend}: one more", (ended.returncode != 1 or not re.search(
            rf"{limits[step] + 1} traces: constant memory holds {limits[step]}$",
            ended.stderr.strip())) and ended.stderr)


def test_far_away(check, search):
    """Large but valid values are searched, and nothing is found."""
    wild = ["a=-1e3,1e3,3", "b=-1e3,1e3,2", "c=-1e3,1e3,2", "d=0,1e3,2", "e=0,1,1", "m0=1e9",
            "h0=-1e9"]
    words = [w for w in WORDS if w[:2] not in ("m0", "h0")]
    for step, backend, binary in binaries("semblance"):
        found = search(f"{step} {backend}", binary, *(words + wild))
        check(f"{step} {backend}: finds", found and found[0][6] != 0 and found[0])


@pytest.mark.seconds(10)
def test_opencl_c(check, tmp_path):
    """clang as the strictest reader of OpenCL C 1.2, with local memory both in use and replaced
    by private memory. It must refuse local memory that a function declares."""
    clang = registers.tool("clang-14", "clang")
    if not clang:
        pytest.skip("clang-14 not found (Debian: clang-14)")
    wrong = tmp_path / "wrong.cl"
    wrong.write_text("void f(void) { __local float num[8]; num[0] = 0; }\n"
                     "__kernel void search(void) { f(); }\n")
    for step, path in [("wrong", wrong), *sources("kernel.cl")]:
        for local in "", "__private":
            ended = subprocess.run(
                [clang, "-x", "cl", "-cl-std=CL1.2", "-Wall", "-Wextra", "-Werror",
                 "-fsyntax-only", "-Xclang", "-finclude-default-header", "-D", "WINDOW=11",
                 "-D", "SLICES=8", *(["-D", f"LOCAL={local}"] if local else []),
                 f"-I{path.parent}", "-Icommon/portable",
                 "-Icommon/semblance", str(path)], cwd=ROOT, capture_output=True, text=True)
            check(f"{step} {local}", (ended.returncode == 0) == (path == wrong)
                  and (ended.stderr[:600] or "is accepted"))


def test_quotations(check):
    """C that a lesson quotes is in one of the step's sources, line by line and in this order.
    A lesson may leave out lines, for which it may write two dots, and comments."""
    def lines(text):
        bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        return [line.strip() for line in bare.splitlines() if line.strip(" .")]

    def left_of(quoted, source):
        rest = iter(lines(source))
        return [line for line in quoted if line not in rest]
    for step, lesson in sources("README.md"):
        texts = [p.read_text() for p in lesson.parent.iterdir() if p.suffix != ".md"]
        for number, text in enumerate(re.findall(r"```c\n(.*?)```", lesson.read_text(), re.S), 1):
            left = min((left_of(lines(text), source) for source in texts), key=len)
            check(f"{step}, quotation {number}", left and f"not in a source: {left[0]}")
