"""test_rebuild.py: what make builds anew after a change, in a copy of the tree.

The binaries of five back-ends of sandpile and two tools are built once. Then each test
changes a file, or a variable, and compares the objects and binaries that make writes with
those that it has to write: none is outdated, and none is built without need. A script takes
the place of nvcc, so that the rules for GPUs are tested without CUDA.
"""
from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import test_makefile
from tools.base import copies, tree

TARGETS = [f"build/{name}" for name in (
    "01_openmp/sandpile-omp", "11_hybrid/sandpile-hybrid", "11_hybrid/sandpile-hybrid-cuda-cpu",
    "11_hybrid/sandpile-hybrid-cuda", "12_cluster/sandpile-mpi", "devices", "sandpile-check",
    "fluid-check")]

# Writes the object, and the headers that gcc finds.
NVCC = r"""#!/bin/sh
for word; do
    case $previous in -o) output=$word ;; -MF) rule=$word ;; esac
    case $word in -I*) folders="$folders $word" ;; *.cu) source=$word ;; esac
    previous=$word
done
[ -z "$rule" ] || gcc -D__CUDACC__ -x c -MM -MG -MP -MT "$output" -MF "$rule" $folders "$source"
echo >"$output"
"""


class Tree:
    """A copy of the tree in which TARGETS were built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in test_makefile.COPIED:
            copies.put(tree.ROOT / name, folder / name)
        nvcc = folder / "nvcc"
        nvcc.write_text(NVCC)
        nvcc.chmod(0o755)
        self.files = self.make()
        assert not self.make(), "the second make builds something"

    def make(self, *words: str) -> set[str]:
        """The files below build/ that make writes."""
        return test_makefile.built(test_makefile.make(
            self.folder, "V=1", f"NVCC={self.folder}/nvcc", "OPT=-O0", "ARCH=", "CCACHE=",
            *TARGETS, *words))

    def matching(self, patterns: str) -> set[str]:
        """The files that match any of the patterns; each pattern has to match a file."""
        found: set[str] = set()
        for pattern in patterns.split():
            matches = {f for f in self.files if fnmatch(f, pattern)}
            assert matches, f"no file is called {pattern}"
            found |= matches
        return found

    def binaries(self, objects: set[str]) -> set[str]:
        """The binaries that are linked from any of the objects of parts/."""
        return {re.sub(r"^parts/([^/]*/[^/]*)/.*", r"\1", o) for o in objects
                if o.startswith("parts/")}


@pytest.fixture(name="built", scope="module")
def built_copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("rebuild"))


COMPILED_BY_GCC = ("common/run/* common/sandpile/* common/opencl/* common/hybrid/*"
                   " common/cuda/*cpu.o devices *-check parts/*")
ALL_BINARIES = "[01]*_*/sandpile-*"
# A file, and what has to be written after it was changed, besides the binaries of the objects.
CHANGES = {
    "steps/01_openmp/sandpile/body.h": "parts/01_openmp/*",
    "steps/11_hybrid/sandpile/body.h": "parts/11_hybrid/*",
    "steps/11_hybrid/sandpile/cpu.c": "parts/11_hybrid/*/cpu.c.o",
    "steps/11_hybrid/sandpile/cuda.cu": "parts/11_hybrid/*/cuda.cu.o",
    "steps/11_hybrid/sandpile/hybrid.c": "parts/11_hybrid/*/hybrid.c.o",
    "steps/11_hybrid/sandpile/opencl.c": "parts/*/opencl.c.o",
    "steps/11_hybrid/sandpile/kernel.cl": "parts/*/kernel.cl.*",
    "steps/12_cluster/sandpile/slab.h": "parts/12_cluster/*",
    "steps/12_cluster/sandpile/mpi.c": "parts/12_cluster/*/mpi.c.o",
    "common/opencl/embed.awk": "parts/*/kernel.cl.*",
    "common/opencl/ocl.h": "parts/*/opencl.c.o common/opencl/ocl.o",
    "common/opencl/ocl.c": "common/opencl/ocl.o 11_hybrid/sandpile-hybrid",
    "common/opencl/devices.c": "devices",
    "common/mpi/ranks.h": "parts/*/mpi.c.o common/mpi/ranks.o",
    "common/hybrid/hybrid.h": "parts/11_hybrid/*/hybrid.c.o parts/*/opencl.c.o"
                              " parts/*/cuda.cu.o common/hybrid/hybrid.o",
    "common/cuda/cuda_device.h": "parts/*/cuda.cu.o common/cuda/cuda_*",
    "common/cuda/cuda_cpu.h": "parts/*-cuda-cpu/cuda.cu.o common/cuda/*cpu.o",
    "common/run/npy.c": f"common/run/npy.o {ALL_BINARIES} *-check",
    "common/sandpile/main.c": f"common/sandpile/main.o {ALL_BINARIES}",
    "common/backends.mk": ALL_BINARIES,
    "verify/check_sandpile.c": "sandpile-check",
    "verify/verdict.h": "*-check",
    "verify/oracle_fluid.h": "fluid-check",
}


@pytest.mark.parametrize("file", CHANGES)
def test_a_changed_file(built: Tree, file: str) -> None:
    built.make()
    (built.folder / file).touch()
    expected = built.matching(CHANGES[file])
    assert built.make() == expected | built.binaries(expected)
    assert not built.make()


@pytest.mark.parametrize("variable, patterns", [
    ("MPICC=OMPI_CC=gcc MPICH_CC=gcc  mpicc", "parts/* common/mpi/ranks.o"),
    ("NVFLAGS=-O1", "parts/* common/cuda/cuda_device.o common/mpi/ranks.o"),
    ("CUDA_ARCH=sm_90", "parts/* common/cuda/cuda_device.o common/mpi/ranks.o"),
    ("ACCFLAGS=-no-pie", "parts/* common/cuda/cuda_device.o common/mpi/ranks.o"),
    ("EXTRA=-DUNUSED", COMPILED_BY_GCC),
    ("sandpile.libs=-lpng -lpthread", "parts/*"),
])
def test_a_changed_variable(built: Tree, variable: str, patterns: str) -> None:
    """A change of flags builds what they concern. Of nvcc's and mpicc's flags the stamp is one,
    so that more may be built, but not what gcc alone compiles in common/."""
    built.make()
    expected = built.matching(patterns)
    written = built.make(variable)
    assert expected <= written, expected - written
    assert patterns == COMPILED_BY_GCC or not {f for f in written if f.startswith("common/run/")}
    assert not built.make(variable)


def test_the_goal_does_not_change_what_is_built(tmp_path: Path) -> None:
    """One binary is compiled and linked by the same commands, whatever make is asked for."""
    for name in test_makefile.COPIED:
        copies.put(tree.ROOT / name, tmp_path / name)
    binary = "build/01_openmp/sandpile-omp"
    commands = {}
    for goal in (binary, "binaries", "all", "run-needs", "verify", "mutants", "bench"):
        output = test_makefile.make(tmp_path, "-n", "V=1", "NVCC=", "PROGRAM=sandpile", goal)
        lines = output.replace("\\\n", "").splitlines()
        commands[goal] = {re.sub(r"\s+", " ", line) for line in lines
                          if re.search(rf" -o build/(parts/01_openmp/sandpile-omp/\S+|"
                                       rf"common/(run|sandpile)/\S+|{binary[6:]})$", line)}
        assert len(commands[goal]) > 5 and commands[goal] == commands[binary], goal
