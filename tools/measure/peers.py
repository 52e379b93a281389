"""peers.py - the public codes that make race compares with ours.

A Peer knows where a public code is, how it is built and run, what it prints, and how its
result is compared with ours. Nothing is fetched: the user has a checkout. A copy of it is
built by its own makefile, once with its own flags, and once with -O3 -march=native after
them. What the two codes do differently is written at each class.
"""
from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.base import runs, tree
from tools.base.tree import Output
from tools.measure import section
from tools.measure.item import Item

BUILDS = {"own flags": "", "-O3 -march=native": "-O3 -march=native"}
COMPILERS = "gcc", "g++"


def found(pattern: str, text: str) -> float:
    """The number that a program printed; NaN if there is none."""
    match = re.search(pattern, text)
    return runs.number(match[1]) if match else math.nan


class Peer:
    """A public code that does the work of one of our programs."""
    source = ""  # the repository, and the commit if the last one is not meant
    file = ""  # a file that the checkout must have
    part = "."  # the folder of the checkout that is built
    target: Sequence[str] = ()  # arguments of its make
    defines = ""  # more flags for both builds
    binary = ""
    builds = BUILDS
    # Our time: run, init+run or process. Of the public code, run is what it prints, and
    # another time that of the process.
    clock = "run"
    seconds = r"$^"  # the number of seconds in what it prints
    problems: dict[str, str] = {}  # our arguments; the first is the default, quick for QUICK=1
    sides: Sequence[str] = ()  # our steps, as in the bars of program.mk
    outputs: Sequence[Output] = ()  # of ours; none: those that are timed
    compared, limit = "", 0.0  # what is compared, and the largest difference
    short: list[str] = []  # an argument with which our checker verifies ours; none: each run

    def __init__(self, checkout: Path, problem: str, folder: Path) -> None:
        self.checkout, self.folder = checkout, folder
        self.values = dict(a.split("=", 1) for a in self.problems[problem].split())
        expected = f"expected a checkout of {self.source}"
        if not checkout.is_dir():
            raise SystemExit(f"PEER={checkout}: no such folder: {expected}")
        if not (checkout / self.file).exists():
            raise SystemExit(f"PEER={checkout}: has no {self.file}: {expected}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def arguments(self) -> list[str]:
        """Those of our program."""
        return [f"{key}={value}" for key, value in self.values.items()]

    def build(self, name: str) -> Path:
        """Builds a copy; compilers of this name, found first, add the flags. Returns the
        folder of the copy."""
        copy = self.folder / name.replace(" ", "")
        shutil.copytree(self.checkout / self.part, copy, ignore=shutil.ignore_patterns(".git"))
        self.prepare(copy)
        compilers = copy / "compilers"
        compilers.mkdir()
        for compiler in COMPILERS:
            script = compilers / compiler
            script.write_text(f'#!/bin/sh\nexec {shutil.which(compiler)} "$@" '
                              f"{self.builds[name]} {self.defines}\n")
            script.chmod(0o755)
        path = f"{compilers}{os.pathsep}{os.environ.get('PATH', '')}"
        command = [shutil.which("make") or "make", "MAKEFLAGS=", *self.target]
        failure = runs.run(command, env={"PATH": path}, folder=copy).failure()
        if failure or not (copy / self.binary).exists():
            raise SystemExit(f"PEER={self.checkout}: does not build, {name} "
                             f"({failure or 'without an error'}): expected {self.binary}")
        return copy

    def prepare(self, copy: Path) -> None:
        """Changes a copy before it is built."""

    def command(self, copy: Path) -> list[str]:
        return [str(copy / self.binary)]

    def time(self, result: runs.Result) -> float:
        """Seconds of a run; NaN if it printed none."""
        return found(self.seconds, result.out) if self.clock == "run" else result.seconds

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        """Keeps the result of ours, which the public code's is compared with."""
        raise NotImplementedError

    def difference(self, printed: str, copy: Path) -> float:
        """How far its result is from ours."""
        raise NotImplementedError

    def as_public(self, printed: str) -> str:
        """What the public code would print, if ours printed this; only with short."""
        raise NotImplementedError


class Fluid(Peer):
    """A course's program: red-black, and the fields of a step are sources of the next one, as
    with compat=minho. At a wall it reverses all components of the velocity, we only the normal
    one. It prints no time and writes no file: its process is compared with our init + run."""
    source = "danielsp45/3dfluid at 16d2b87, its last commit with OpenMP"
    file, target, binary = "main.cpp", ("par",), "fluid_sim"
    clock = "init+run"
    problems = {"84": "n=84 steps=100 compat=minho", "168": "n=168 steps=25 compat=minho",
                "quick": "n=20 steps=10 compat=minho"}
    sides = ("01 omp", "05 omp", "05 ocl", "08 omp", "09 omp", "10 omp", "10 ocl")
    compared, limit = "total density", 1e-2
    short = ["steps=2"]  # the checker would need several minutes per result
    events = """source 9 0
force 1 0 0 2
source 6 12
force 0 1 0 20
source 10 31
force 0 0 1 40
source 3 55
force 1 0 0 66
source 8 80
"""

    def arguments(self) -> list[str]:
        (self.folder / "events.txt").write_text(self.events)
        return [f"events={self.folder}/events.txt", *super().arguments()]

    def prepare(self, copy: Path) -> None:
        text, changes = re.subn(r"(#define SIZE) \d+", rf"\1 {self.values['n']}",
                                (copy / "main.cpp").read_text())
        if changes != 1:
            raise SystemExit(f"PEER={self.checkout}: main.cpp: {changes} lines with #define SIZE: "
                             f"expected a checkout of {self.source}")
        (copy / "main.cpp").write_text(text)
        (copy / "events.txt").write_text(f"{self.values['steps']}\n{self.events}")

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        self.total = float(runs.Result(0, item.printed, "").values()["total_density"])

    def difference(self, printed: str, copy: Path) -> float:
        return abs(found(r"timesteps: (\S+)", printed) / self.total - 1)

    def as_public(self, printed: str) -> str:
        return f"timesteps: {runs.Result(0, printed, '').values()['total_density']}"


class Fletcher(Peer):
    """The code that the paper begins with, one pass with 64-point cross derivatives. The
    velocities of its absorbing band are random, and not ours: p is compared in the points
    inside, while no wave has come back from the band. The time of both is that of the
    propagation, without the medium and without files."""
    source, file, part = "gabrielfrtg/fletcher-base", "original/OpenMP/Makefile", "original"
    target, binary = ("backend=OpenMP", "OMP_FLAG=-fopenmp"), "ModelagemFletcher.exe"
    seconds = r"Execution time \(s\) is (\S+)"
    problems = {"208": "nx=208 ny=208 nz=208 tmax=0.03", "120": "nx=120 ny=120 nz=120 tmax=0.1",
                "quick": "nx=24 ny=24 nz=24 tmax=0.01"}  # whole hundredths of a second
    sides = ("01 omp", "05 omp", "05 ocl", "08 omp", "09 omp", "09 ocl", "10 omp")
    compared, limit = "p at the end", 1e-4
    absorb, cell, dt, halo = 16, 12.5, 0.001, 4

    def arguments(self) -> list[str]:
        return ["form=TTI", f"absorb={self.absorb}", f"dt={self.dt}",
                *(f"d{axis}={self.cell}" for axis in "xyz"), *super().arguments()]

    def command(self, copy: Path) -> list[str]:
        # It rounds the number of steps up in float: half a step less gives the same number.
        tmax = float(self.values["tmax"]) - self.dt / 2
        return [*super().command(copy), "TTI", *(self.values[f"n{axis}"] for axis in "xyz"),
                str(self.absorb), *[str(self.cell)] * 3, str(self.dt), f"{tmax:g}"]

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        self.p = np.load(files["out"])

    def difference(self, printed: str, copy: Path) -> float:
        theirs = np.fromfile(copy / "TTI.rsf@", "f4")[-self.p.size:].reshape(self.p.shape)
        inner = (slice(self.absorb + self.halo, -self.absorb - self.halo),) * 3
        return float(abs(theirs - self.p)[inner].max() / abs(self.p[inner]).max())


class Gridding(Peer):
    """The benchmark that the paper begins with: as many updates as ours with preset=askap, at
    other random points and with another kernel, whose table has two dimensions (and 268 MB).
    The grids cannot be compared. It compares its own one with that of its sequential code, and
    the numbers of updates are compared. Its clock has steps of 0.01 s."""
    source, part = "ATNF/askap-benchmarks", "attic/tConvolveOMP"
    file = f"{part}/tConvolveOMP.cc"
    binary = "tConvolveOMP"
    defines = "-DGRIDING"  # without its degridding
    seconds = r"Num threads[^T]*Time (\S+)"
    problems = {"askap": "preset=askap visibilities=160000",
                "quick": "preset=askap visibilities=16000"}
    sides = ("01 omp", "05 omp", "05 ocl", "08 omp", "09 omp", "09 ocl", "10 omp")
    compared, limit = "number of updates", 1e-2

    def command(self, copy: Path) -> list[str]:
        return [*super().command(copy), "-n", self.values["visibilities"]]

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        values = runs.Result(0, item.printed, "").values()
        self.updates = float(values["Mpts/s"]) * float(values["Time_run"])

    def difference(self, printed: str, copy: Path) -> float:
        side = 2 * found(r"Support = (\d+)", printed) + 1
        updates = 1e-6 * found(r"nSamples = (\d+)", printed) * side ** 2
        return abs(updates / self.updates - 1) if "Pass" in printed else math.inf


class Semblance(Peer):
    """Semblance search in OpenCL, here with its zero-offset CRS operator,
    t^2 = (t0 + A dm)^2 + B dm^2 + 4 h^2 / v^2, which is ours at h0 = 0 with its B as D.

    The checkout must be built, with three changes for a CPU: CL_DEVICE_TYPE_GPU becomes
    CL_DEVICE_TYPE_ALL, the reader stops at the end of the file, and the mask of traces is
    filled with a byte instead of an int (PoCL refuses the int if the number of traces is not
    a multiple of 4). Both search all midpoints of the test line with the same 1020 tuples and
    windows of 5 samples. Their semblances are compared in the samples in which no trace is
    left out at the top or bottom of the record: there the rules differ."""
    source = "lmcad-unicamp/HighPerformanceSeismicStacking, built for this device"
    file = binary = "opencl/bin/single_host_linear_search"
    builds = {"as built": ""}
    clock = "process"
    problems = {"line": "aperture=160,590 tau=0.008"}
    sides = ("05 ocl", "08 omp", "08 ocl", "10 omp window=moveout", "10 ocl window=moveout")
    outputs = tree.OF_JOB
    compared, limit = "semblances", 1e-3
    middle = slice(100, 250)  # samples that no rule about the ends concerns
    speed, angle, part_of_c = 1800.0, 10.0, 0.1
    counts = 1, 30, 34  # velocities, A, B

    def arguments(self) -> list[str]:
        self.data = tree.build() / "data/semblance/line.su"
        midpoints = np.unique(section.positions(section.traces(self.data))[0])
        (self.folder / "places").write_text("".join(f"{m:.9g} 0\n" for m in midpoints))
        c = 4 / self.speed ** 2
        a, d = 2 * math.sin(math.radians(self.angle)) / self.speed, self.part_of_c * c
        return [f"in={self.data}", f"positions={self.folder}/places", *super().arguments(),
                f"a={-a:.9g},{a:.9g},{self.counts[1]}", "b=0,0,1", f"c={c:.9g},{c:.9g},1",
                f"d={-d:.9g},{d:.9g},{self.counts[2]}", "e=0,0,1"]

    def build(self, name: str) -> Path:
        return self.checkout

    def command(self, copy: Path) -> list[str]:
        result = self.folder / "result"
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        apm, aph = self.values["aperture"].split(",")
        return [*super().command(copy), "--input", str(self.data), "--output", f"{result}/",
                "--apm", apm, "--aph", aph, "--azimuth", "0", "--tau", self.values["tau"],
                "--traveltime", "zocrs", "--v0", str(self.speed), "--ain", str(self.angle),
                "--bpctg", str(self.part_of_c), "--lower-bounds", str(self.speed),
                "--upper-bounds", str(self.speed + 1), "--granularity", *map(str, self.counts),
                "--thread-count", "64", "--kernel-path",
                str(copy / "opencl/src/semblance/kernel"), "--verbose", "0"]

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        self.semblances = section.traces(files["coherence"])["samples"]

    def difference(self, printed: str, copy: Path) -> float:
        written = next((self.folder / "result").rglob("coherence.su"), None)
        theirs = section.traces(written)["samples"] if written else self.semblances[:0]
        if theirs.shape != self.semblances.shape:
            return math.inf
        return float(np.abs(theirs - self.semblances)[:, self.middle].max())


class Sandpile(Peer):
    """A toppling of 32 cells per AVX2 instruction, one byte each, until nothing topples, from
    six grains in every cell. It then goes on to the identity of the group; a copy ends before
    that. It has no makefile: its flags are those of its first comment. Both codes topple
    synchronously, so the numbers of steps are equal, too. The times are those of the processes;
    both write the stable pile."""
    source, part = "skeeto/scratch, animation/sandpiles.c", "animation"
    file, binary = f"{part}/sandpiles.c", "sandpiles"
    target = "sandpiles", "CC=gcc", "CFLAGS=-O3 -march=native -fopenmp"
    builds = {"own flags": ""}
    clock = "process"
    problems = {"512": "side=512", "quick": "side=64"}
    sides = ("01 omp", "05 omp", "08 omp", "09 omp", "10 omp", "10 ocl")
    compared, limit = "grains in a cell", 0.0

    def arguments(self) -> list[str]:
        pile = np.pad(np.full((int(self.values["side"]),) * 2, 6, np.int32), 1)
        np.save(self.folder / "six.npy", pile)
        return [f"config={self.folder}/six.npy"]

    def prepare(self, copy: Path) -> None:
        path, changes = copy / "sandpiles.c", 0
        text = path.read_text()
        for old, new in ((r"(define N) \d+", rf"\1 {self.values['side']}"),
                         (r"(?s)(stabilize\(\);).*stabilize\(\);", r"\1")):
            text, found = re.subn(old, new, text)
            changes += found
        if changes != 2:
            raise SystemExit(f"PEER={self.checkout}: {self.file}: {changes} places to change: "
                             f"expected a checkout of {self.source}")
        path.write_text(text)

    def command(self, copy: Path) -> list[str]:
        return ["/bin/sh", "-c", f"exec ./{self.binary} > pile.ppm"]

    def expect(self, item: Item, files: dict[str, Path]) -> None:
        self.pile = np.load(files["out"]).squeeze()[1:-1, 1:-1]

    def difference(self, printed: str, copy: Path) -> float:
        picture = np.fromfile(copy / "pile.ppm", "u1")[-3 * self.pile.size:]
        if picture.size != 3 * self.pile.size:
            return math.inf
        grains = np.full(256, 4)  # by the red component of the colour
        grains[[0xff, 0xf5, 0xfc, 0x44]] = 0, 1, 2, 3
        return float(abs(grains[picture[::3]] - self.pile.ravel()).max())


PEERS: dict[str, type[Peer]] = {"semblance": Semblance, "fletcher": Fletcher,
                                "gridding": Gridding, "fluid": Fluid,
                                "sandpile": Sandpile}
