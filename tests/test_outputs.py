"""test_outputs.py: how runs end whose output cannot be written: standard output that is full or
closed, a full disk, a kernel that does not build, a signal.
"""
import fnmatch
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from functools import partial

import pytest

from tests.helpers import (
    BUILD,
    ROOT,
    TIMEOUT,
    arguments,
    binaries,
    emptied,
    preloaded,
    refusal,
    run,
)
from tools.base import copies, runs

# program: words for a short run; the keys of its outputs, and for folders their first file.
EVERY = {
    "semblance": ("in={folder}/good.su m0=-480 h0=4120 t0=0.008 tau=0.002 a=0,0,1 b=0,0,1 "
                  "c=0,0,1 d=0,0,1 e=0,0,1", {"out": "out", "panel": "panel"}),
    "fletcher": ("form=ISO nx=3 ny=4 nz=5 absorb=1 tmax=0.02",
                 {"out": "out", "q": "q", "picture": "picture", "snapshots": "p-0001.npy"}),
    "gridding": ("uv=random visibilities=50 grid=33 support=2 oversampling=2 planes=2 "
                 "cell=520 strips=1,1", {"out": "out", "image": "image"}),
    "fluid": ("events={folder}/events.txt n=5 steps=1 sweeps=2",
              {"out": "out", "velocity": "velocity", "totals": "totals",
               "picture": "picture", "movie": "000000.png"}),
    "sandpile": ("dim=9", {"out": "out", "counts": "counts", "picture": "picture",
                           "trace": "trace"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Input files, and an empty folder work/ to run in."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "work").mkdir()
    shutil.copy(os.path.join(ROOT, "verify/fuzz/corpus/su/little.su"), folder / "good.su")
    (folder / "events.txt").write_text("source 60 0\nforce 9 -5 3 0\n")
    return folder


@pytest.fixture
def work(folder):
    yield folder / "work"
    emptied(folder / "work")


@pytest.fixture(params=EVERY)
def program(request):
    return request.param


def last(program, backend):
    found = binaries(program, (backend,))
    return found[-1][2] if found else pytest.skip(f"no {program}-{backend} is built")


def words(program, folder, *changes):
    """The arguments of a short run, and those of changes in their place or at the end."""
    text = EVERY[program][0].replace("{folder}", str(folder))
    return arguments(dict(word.split("=", 1) for word in text.split()), list(changes))


@pytest.mark.parametrize("backend", ["seq", "ocl"])
def test_standard_output(check, program, backend, folder, work):
    """Help, and standard output that is full or closed."""
    binary = last(program, backend) if backend == "ocl" else binaries(program, ("seq",))[0][2]
    for options, status in ((), 1), (("help",), 0), (("--help",), 0), (("x=1", "-h"), 0):
        ended = run([binary, *options], work)
        good = ended.returncode == status and not ended.stderr and \
            "key=default:" in ended.stdout and "local=" in ended.stdout + "local=" * (
                program == "gridding")
        check(f"{options}", not good and ended)
    full = "standard output: cannot be written"
    for options in words(program, folder), ["help"]:
        with open("/dev/full", "w") as device:
            ended = run([binary, *options], work, stdout=device)
        ended.stdout = ""
        check(f"full, {options[0]}", refusal(program, ended, full, work))
    ended = run([binary, *words(program, folder)], work, stdout=None,
                preexec_fn=lambda: os.close(1))
    ended.stdout = ""
    check("closed", refusal(program, ended, full, work))


@pytest.mark.seconds(20)
def test_kernel_that_does_not_build(check, tmp_path, folder, work):
    """A copy of the step with a line of kernel.cl that no compiler takes."""
    step = last("semblance", "ocl").split("/")[-2]
    for name in copies.MAKE:
        shutil.copy(os.path.join(ROOT, name), tmp_path)
    for name in "common", "tools", f"steps/{step}":
        shutil.copytree(os.path.join(ROOT, name), tmp_path / name)
    path = f"steps/{step}/semblance/kernel.cl"
    lines = (tmp_path / path).read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if "get_global_id" in line)
    lines.insert(at, "    int broken = no_such_thing;")
    (tmp_path / path).write_text("\n".join(lines))

    problem = copies.make("BUILD=build", "OPT=-O0", f"build/{step}/semblance-ocl",
                          folder=tmp_path)
    assert not problem, problem
    ended = run([tmp_path / f"build/{step}/semblance-ocl", *words("semblance", folder)], work)
    check("last line", refusal("semblance", ended, "kernel does not build", work, log=True))
    place = f"{path}:{at + 1}"
    check("place", place not in ended.stderr and f"{place} is not in {ended.stderr[:500]!r}")


def file_limit(size):
    """For a child: limits the size of a file, in bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.seconds(10)
def test_full_disk(check, program, folder, work):
    name, binary = program, binaries(program, ("omp",))[0][2]
    for key, path in EVERY[name][1].items():
        options = words(name, folder, f"{key}={'.' if '.' in path else path}")
        ended = run([binary, *options], work)
        sizes = {p.name: p.stat().st_size for p in work.iterdir()}
        check(f"{key}=, no limit", (path not in sizes or ended.returncode) and ended)
        emptied(work)
        size = sizes.get(path, 0)
        line = rf"[=/ ]{re.escape(path)}: cannot be written: File too large"
        # The length of a trace of times varies.
        almost = size - 1 if path.endswith((".npy", ".png")) else size * 3 // 4
        for limit in sorted({0, size // 2, almost}):
            ended = run([binary, *options], work, preexec_fn=file_limit(limit))
            check(f"{key}=, {limit} of {size} bytes", refusal(name, ended, line, work))


def test_limit_of_standard_output(check, program, folder, work):
    """A run without output files, whose standard output is a file that may not grow."""
    binary = binaries(program, ("omp",))[0][2]
    with open(folder / "text", "w") as text:
        ended = run([binary, *words(program, folder)], work, stdout=text,
                    preexec_fn=file_limit(0))
    ended.stdout = ""
    check("limit", refusal(program, ended, "standard output: cannot be written", work))


@pytest.mark.seconds(5)
def test_full_disk_of_ranks(check, folder, work):
    """A field of which each rank writes a part: the disk is full at once, or takes half. The
    rank that created a folder removes it late, as on a busy machine."""
    command, environment = runs.launch(last("fletcher", "mpi"), "mpi", {
        "RANKS": "3", "LD_PRELOAD": preloaded("tests/cluster_full.c"), "FULL_AFTER": "0",
        "FULL_RMDIR": "1000000"})
    parts: tuple[dict[str, str], ...] = {}, {"FULL_PART": "1"}
    for part in parts:
        ended = run([*command, *words("fletcher", folder, "out=out.npy", "snapshots=s")], work,
                    {**environment, **part})
        lines = [line for line in ended.stderr.splitlines() if line.startswith("fletcher: ")]
        line = r"fletcher: (out|s/p-0001)\.npy: cannot be written: No space left on device"
        check(f"{part}", (len(lines) != 1 or not re.fullmatch(line, lines[0]) or
                          not ended.returncode or emptied(work)) and ended)


@pytest.mark.seconds(20)
def test_signals(check, folder, work):
    """A movie that would take hours is interrupted while its pictures are written."""
    binary = binaries("fluid", ("omp",))[0][2]
    rng = random.Random(3)
    options = words("fluid", folder, "n=3", "steps=1000000", "movie=.")
    for number in (signal.SIGINT, signal.SIGTERM) * 10:
        # A process that was started in the background may ignore the signal.
        child = subprocess.Popen([binary, *options], cwd=work, stderr=subprocess.PIPE,
                                 preexec_fn=partial(signal.signal, number, signal.SIG_DFL))
        while child.poll() is None and "000001.png" not in os.listdir(work):
            time.sleep(0.001)
        time.sleep(0.01 * rng.random())
        child.send_signal(number)
        stderr = child.communicate(timeout=TIMEOUT)[1]
        parts = [name for name in emptied(work) if not fnmatch.fnmatch(name, "??????.png")]
        check(number.name, (child.returncode != -number or parts or stderr) and
              f"exit status {child.returncode}, left {parts}, stderr {stderr!r}")


def test_pocl_cache(folder, work):
    """The disk on which PoCL keeps its kernels is full."""
    binary = last("semblance", "ocl")
    if "PoCL" not in run([os.path.join(BUILD, "devices")], work).stdout:
        pytest.skip("no PoCL")
    ended = run([binary, *words("semblance", folder, "out=out.npy")], work,
                {"POCL_CACHE_DIR": str(folder / "cache"), "DEVICE": "cpu"},
                preexec_fn=file_limit(0))
    assert not refusal("semblance", ended, r"POCL_CACHE_DIR=\S+/cache: cannot be written: "
                       "File too large", work)
