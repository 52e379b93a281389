"""stacking.py - make stacking PEER=CHECKOUT: a public code for the same search, timed beside ours.

The public code is lmcad-unicamp/HighPerformanceSeismicStacking: semblance search in OpenCL,
here with its zero-offset CRS operator, t^2 = (t0 + A dm)^2 + B dm^2 + 4 h^2 / v^2, which is
ours at h0 = 0 with its B as D. CHECKOUT/opencl/bin/single_host_linear_search must be built.
It needs three changes to run on a CPU: CL_DEVICE_TYPE_GPU becomes CL_DEVICE_TYPE_ALL, the
reader stops at the end of the file, and the mask of traces is filled with a byte instead of
an int (PoCL refuses the int if the number of traces is not a multiple of 4).

Both search all midpoints of the test line with the same 1020 tuples and windows of 5 samples.
First their semblances are compared: they must agree to 0.001 in the samples in which no
trace is left out at the top or bottom of the record (there the rules differ). Then both run
alternately; the times are those of whole processes.
"""
from __future__ import annotations

import math
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from tools.history import options, runs, tree
from tools.measure import section

VELOCITY, ANGLE, PART_OF_C, TAU, APERTURE = 1800.0, 10.0, 0.1, 0.008, (160, 590)
COUNTS = 1, 30, 34  # velocities, A, B
OURS = (("05", "ocl", ""), ("08", "omp", ""), ("08", "ocl", ""),
        ("10", "omp", "window=moveout"), ("10", "ocl", "window=moveout"))
AGREE, MIDDLE = 0.001, slice(100, 250)  # samples that no rule about the ends concerns


def our_command(step: str, backend: str, word: str, data: Path, folder: Path) -> list[str]:
    """The command of one of our steps."""
    found = next(s for s in tree.steps() if s.number == step)
    program = next(p for p in tree.programs() if p.name == "semblance")
    c = 4 / VELOCITY ** 2
    a, d = 2 * math.sin(math.radians(ANGLE)) / VELOCITY, PART_OF_C * c
    return [str(found.binary(program, backend)), f"in={data}", f"positions={folder}/places",
            f"aperture={APERTURE[0]},{APERTURE[1]}", f"tau={TAU}",
            f"a={-a:.9g},{a:.9g},{COUNTS[1]}", "b=0,0,1", f"c={c:.9g},{c:.9g},1",
            f"d={-d:.9g},{d:.9g},{COUNTS[2]}", "e=0,0,1", f"coherence={folder}/c.su",
            f"stack={folder}/s.su", *word.split()]


def peer_command(checkout: Path, data: Path, folder: Path) -> list[str]:
    """The command of the public code."""
    apm, aph = APERTURE
    return [str(checkout / "opencl/bin/single_host_linear_search"), "--input", str(data),
            "--output", f"{folder}/", "--apm", str(apm), "--aph", str(aph), "--azimuth", "0",
            "--tau", str(TAU), "--traveltime", "zocrs", "--v0", str(VELOCITY),
            "--ain", str(ANGLE), "--bpctg", str(PART_OF_C),
            "--lower-bounds", str(VELOCITY), "--upper-bounds", str(VELOCITY + 1),
            "--granularity", *map(str, COUNTS), "--thread-count", "64",
            "--kernel-path", str(checkout / "opencl/src/semblance/kernel"), "--verbose", "0"]


def timed(command: list[str], folder: Path, places: str) -> float:
    """Seconds that the process takes, with a folder for its output that only has places."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "places").write_text(places)
    environment = {"POCL_AFFINITY": "1", "OMP_PROC_BIND": "true", **os.environ}
    start = time.monotonic()
    result = runs.run(command, 600, environment)
    seconds = time.monotonic() - start
    if result.failure():
        raise SystemExit(f"{command[0]}: {result.failure()}")
    return seconds


def largest_difference(peer: Path, ours: Path) -> float:
    """The largest difference of the semblances in the middle of the record."""
    theirs = section.traces(next(peer.rglob("coherence.su")))["samples"]
    own = section.traces(ours / "c.su")["samples"]
    if theirs.shape != own.shape:
        raise SystemExit(f"stacking: {theirs.shape} samples of the public code, {own.shape} ours")
    return float(np.abs(theirs - own)[:, MIDDLE].max())


def main() -> int:
    parser = options.parser(__doc__, "REPEAT")
    parser.add_argument("peer", metavar="CHECKOUT", type=Path)
    arguments = options.parse(parser)
    rounds = int(arguments.repeat or 7)
    data = tree.build() / "data/semblance/line.su"
    folder = tree.build() / "stacking"
    peer = peer_command(arguments.peer.resolve(), data, folder / "peer")
    commands = {"public OpenCL code": peer, **{
        " ".join(filter(None, side)): our_command(*side, data, folder / "ours")
        for side in OURS}}
    midpoints = np.unique(section.positions(section.traces(data))[0])
    places = "".join(f"{m:.9g} 0\n" for m in midpoints)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for n in range(rounds + 1):
        for name, command in commands.items():
            seconds = timed(command, folder / ("peer" if command is peer else "ours"), places)
            if n:  # the first round compiles kernels
                times[name].append(seconds)
            elif name == "08 omp":
                difference = largest_difference(folder / "peer", folder / "ours")
                if not difference <= AGREE:
                    raise SystemExit(f"stacking: semblances differ by {difference:.2g}: "
                                     f"expected at most {AGREE}")
                print(f"semblances agree to {difference:.1g}")
    theirs = times["public OpenCL code"]
    rows = [["code", "process, s", "times as fast", "smallest", "largest"]]
    for name, own in times.items():
        ratios = sorted(a / b for a, b in zip(theirs, own, strict=True))
        rows.append([name, f"{statistics.median(own):.3f}", f"{statistics.median(ratios):.1f}",
                     f"{ratios[0]:.1f}", f"{ratios[-1]:.1f}"])
    print(runs.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
