"""test_makefile.py: what make builds, and when, in copies of the tree.

Reading the Makefile is cheap: the compiler is called a few times, and no file that another
make left in the build folder is read. A program has its own declarations or none. Objects
are built anew when their headers or flags change. A back-end is added with one entry.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers import TIMEOUT
from tools.base import copies, tree

CALLS = 10  # the maximum number of compiler calls of make -n
COPIED = (*copies.COPIED, "tools", "tests", "setup.sh")


@pytest.fixture(name="folder")
def copy_of_tree(tmp_path: Path) -> Path:
    for name in COPIED:
        copies.put(tree.ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *words: str, succeeds: bool = True) -> str:
    """Runs make; its output and error messages."""
    done = subprocess.run(["make", *words], cwd=folder, env=copies.environment(),
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode == 0) == succeeds, done.stdout[-1000:] + done.stderr[-1000:]
    return done.stdout + done.stderr


def built(output: str) -> set[str]:
    """The files below build/ that commands of make's output write."""
    return set(re.findall(r" -o build/(\S+)", output))


def test_few_calls_of_the_compiler(folder: Path) -> None:
    log, compiler = folder / "calls", folder / "compiler"
    compiler.write_text(f'#!/bin/sh\necho "$*" >>{log}\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    make(folder, "-n", f"CC={compiler}")
    calls = log.read_text().splitlines()
    assert 0 < len(calls) <= CALLS, "\n".join(calls)


def test_warnings_of_new_compilers(folder: Path) -> None:
    """Warnings are errors only if the compiler is as old as those of the tests."""
    for major, errors in ((14, True), (15, False)):
        compiler = folder / f"gcc-{major}"
        compiler.write_text(f'#!/bin/sh\nexec gcc -U__GNUC__ -D__GNUC__={major} "$@"\n')
        compiler.chmod(0o755)
        plan = make(folder, "-n", f"CC={compiler}", "CCACHE=", "STEP=00", "PROGRAM=semblance")
        compiled = [line for line in plan.splitlines() if "/cpu.c" in line]
        assert compiled and any("-Werror" in line for line in compiled) == errors, compiled


def test_files_of_copies_are_not_read(folder: Path) -> None:
    for name in ("mutants/program", "variants/05.point", "grade/05_algebra", "asan", "san"):
        for inside in ("build/common/run", "common/run", "build/parts/05_algebra/x-omp"):
            path = folder / "build" / name / inside / "x.d"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("$(error a file of another tree was read)\n")
    make(folder, "-n", "tools")
    for inside in ("common/run", "parts/05_algebra/semblance-omp"):
        own = folder / "build" / inside / "x.d"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text("$(error its own file was read)\n")
        assert "its own file was read" in make(folder, "-n", "tools", succeeds=False)
        own.unlink()


def test_program_without_declarations(folder: Path) -> None:
    """The last program declares only where its source is."""
    (folder / "common" / "zzz").mkdir()
    (folder / "common" / "zzz" / "program.mk").write_text("zzz.sources = main.c\n")
    keys = ("recipes", "suffix", "double", "cflags", "libs")
    shown = " ".join(f"{key}=[$(strip $(zzz.{key}))]" for key in keys)
    assert make(folder, "-s", f"--eval=shown: ; @echo '{shown}'", "shown").strip() == \
        " ".join(f"{key}=[]" for key in keys)


@pytest.mark.parametrize("place", ["common/sandpile/program.mk", "steps/03_ocl_3d/step.mk"])
@pytest.mark.parametrize("name", ["steps", "programs", "rungs", "all_backends", "some_steps"])
def test_keys_without_a_name(folder: Path, place: str, name: str) -> None:
    """A key that lacks the name of what it declares cannot replace a variable of the Makefile."""
    plan = make(folder, "-n", "STEP=03", "PROGRAM=sandpile", "binaries")
    with open(folder / place, "a") as out:
        out.write(f"{name} = 100\n")
    assert make(folder, "-n", "STEP=03", "PROGRAM=sandpile", "binaries") == plan


@pytest.mark.parametrize("word, message", [
    ("STEPS=05", "STEPS=05: no such variable: expected one of STEP PROGRAM BACKEND SET "),
    ("BACKENDS=omp", "no such variable"), ("step=05", "no such variable"),
    ("STEP=05 99", "STEP=99: no such step: expected one of 00_sequential "),
    ("PROGRAM=fluid none", "PROGRAM=none: no such program: expected one of fletcher fluid "),
    ("BACKEND=omp fpga", "BACKEND=fpga: no such back-end: expected one of seq omp ")])
def test_unknown_values(word: str, message: str) -> None:
    output = make(tree.ROOT, "-n", "all", word, succeeds=False)
    assert message in output and output.count("\n") == 1, output


def test_known_variables() -> None:
    """Those of make, of compilers, of config.mk, of tools and of the programs' libraries."""
    make(tree.ROOT, "-n", "help", "CC=gcc", "CFLAGS=-O1", "V=1", "PYTHON=python3", "JOBS=1",
         "ARCH=", "CCACHE=", "CUDA=last", "PEER=x", "SYSTEM=avx2", "GRADE_BUSY=1", "RERUN=1",
         "OMP_NUM_THREADS=1", "DEVICE=cpu", "RANKS=2", "RELATIONS_SEED=7", "STEP=all")


def test_help() -> None:
    """Ten targets, which exist, on one page of a terminal."""
    lines = make(tree.ROOT, "-s", "help").splitlines()
    named = re.findall(r"^  make ([a-z]+)", "\n".join(lines), re.M)
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and len(named) == 10
    listed = re.findall(r"^make ([a-z-]+)", make(tree.ROOT, "-s", "help-all"), re.M)
    assert set(named) < set(listed)


def test_run_builds_what_runs_here(folder: Path) -> None:
    """make run builds one program, without nvcc and without back-ends that only check."""
    output = make(folder, "-n", "run-needs", "NVCC=/no/nvcc", "has_gpu=", "has_opencl=yes")
    binaries = {path for path in built(output) if re.match(r"\d\d_", path)}
    wrong = [b for b in binaries if not b.split("/")[1].startswith("semblance-") or
             b.split("-", 1)[1] in tree.NEED_GPU + tree.FOR_CHECKING]
    assert len(binaries) > 3 and not wrong, wrong
    assert not re.search(r"^/no/nvcc", output, re.M)
    output = make(folder, "-n", "run-needs", "PROGRAM=all")
    assert set(re.findall(r"-o build/\d\d_\w+/(\w+)-omp", output)) == \
        {p.name for p in tree.programs()}


def test_cuda_of_the_last_step(folder: Path) -> None:
    """CUDA=last, as make test uses it without a GPU, compiles CUDA code once per program."""
    def cuda(*words: str) -> list[str]:
        output = make(folder, "-n", "binaries", "NVCC=/no/nvcc", *words)
        return [b for b in built(output) if re.match(r"\d\d_", b)
                and b.split("-", 1)[1] in tree.NEED_GPU]
    last = cuda("CUDA=last")
    assert sorted(b.split("/")[1].split("-")[0] for b in last) == \
        sorted(p.name for p in tree.programs())
    assert set(last) < set(cuda())


def test_steps_that_are_compared_are_built(folder: Path) -> None:
    """One step is verified in a tree where nothing else was built: the step whose bytes it
    must have is built, too."""
    step = next(s for s in tree.steps() if s.number == "04")
    program = next(p for p in tree.programs() if p.name == "sandpile")
    reference = tree.bytes_reference(step, program, "omp")
    output = make(folder, "verify", f"STEP={step.number}", f"PROGRAM={program.name}",
                  "BACKEND=omp", "NVCC=", "has_opencl=", "has_mpi=")
    assert step.kind(program) == "refactor" and "% =" in output
    assert reference
    assert (folder / "build" / reference[0].name / "sandpile-omp").exists()


def test_headers_of_hybrid_objects(folder: Path) -> None:
    """The objects of a binary of several sources depend on the headers that they include."""
    binary = "build/11_hybrid/sandpile-hybrid-cuda-cpu"
    make(folder, binary)
    assert not built(make(folder, "V=1", binary))
    for header in ("common/hybrid/hybrid.h", "common/run/run.h",
                   "steps/11_hybrid/sandpile/sides.h"):
        (folder / header).touch()
        assert "parts/11_hybrid/sandpile-hybrid-cuda-cpu/hybrid.c.o" in \
            built(make(folder, "V=1", binary)), header


def test_flags_of_nvcc_and_mpicc(folder: Path) -> None:
    """A change of the flags of nvcc or of mpicc's name rebuilds what they compiled."""
    stamp = folder / "build" / "toolchain"
    make(folder, str(stamp.relative_to(folder)))
    old = stamp.stat().st_mtime_ns
    make(folder, "build/toolchain")
    assert stamp.stat().st_mtime_ns == old
    for change in ("CUDA_ARCH=sm_90", "MPICC=mpicc.other", "ACCFLAGS=-O0"):
        make(folder, "build/toolchain", change)
        assert change.split("=")[1] in stamp.read_text()


def test_ccache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ccache in PATH is called with a compiler, never with the assignments before mpicc."""
    if not shutil.which("mpicc"):
        pytest.skip("mpicc is not installed")
    log, ccache = folder / "calls", folder / "path" / "ccache"
    ccache.parent.mkdir()
    ccache.write_text(f'#!/bin/sh\ncase $1 in *=*) exit 1 ;; esac\necho "$1" >>{log}\nexec "$@"\n')
    ccache.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ccache.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CCACHE", raising=False)
    make(folder, "OPT=-O0", "CC=gcc", "build/12_cluster/sandpile-mpi")
    assert set(log.read_text().split()) == {"gcc"}


def test_a_new_backend_is_one_entry(folder: Path) -> None:
    """A block in common/backends.mk, and the steps that name it: it is built and verified."""
    table = folder / "common" / "backends.mk"
    table.write_text(table.read_text() + """
backends    += tasks
tasks.label   = OpenMP without vectors
tasks.sources = cpu.c
tasks.flags   = -fopenmp -fno-tree-vectorize
tasks.vary    = threads
""")
    declared = folder / "steps" / "01_openmp" / "step.mk"
    declared.write_text(re.sub(r"^(01_openmp.backends\s*=.*)", r"\1 tasks", declared.read_text(),
                               flags=re.M))
    output = make(folder, "verify", "STEP=01", "PROGRAM=sandpile", "BACKEND=tasks", "NVCC=",
                  "has_opencl=", "has_mpi=", "V=1")
    assert "-fno-tree-vectorize" in output
    assert (folder / "build/01_openmp/sandpile-tasks").exists()
    assert re.search(r"^01_openmp +refactor +\d", output, re.M), output[-500:]
    assert re.search(r"^[1-9]\d* passed, 0 failed$", output, re.M), output[-500:]
