"""flags.py - make flags: a step with other compiler flags than those of config.mk.

Builds 00_sequential, or STEP=, once per set of flags, measures the binaries on the set that
tables show, or SET=, interleaved and verified as in bench.py, and writes
results/MACHINE-flags.csv: the speedup relative to the tree's own flags, its 95 % interval,
and whether that is a difference (verdict.py; the tree's binary under a second name is the
A/A pair). A step without a sequential back-end is measured with OpenMP; one with lanes also
with other numbers of them. QUICK=1 uses the quick set and 3 repetitions.
"""
from __future__ import annotations

import itertools
import os
import shutil
import statistics
from pathlib import Path

from tools.history import copies, options, results, runs, tree, verdict
from tools.history.results import Row
from tools.history.tree import BACKENDS, Program, Step
from tools.measure import bench, machine
from tools.measure.item import Item, interleaved

Flags = tuple[str | None, str | None, str | None]  # OPT, ARCH, EXTRA; None: config.mk's
OWN, SECOND = "the tree's", "the tree's again"
FLAGS: dict[str, Flags] = {
    OWN: (None, None, None),
    "-O0": ("-O0", None, None),
    "-O2": ("-O2", None, None),
    "-O3, any x86-64": ("-O3", "", None),
    "-O3 -march=native": ("-O3", "-march=native", None),
    "-O3 -march=native, vectors of 128 bits":
        ("-O3", "-march=native -mprefer-vector-width=128", None),
}
LANES: dict[str, Flags] = {
    "the tree's, 4 lanes": (None, None, "-DLANES=4"),
    "-O3 -march=native, 8 lanes": ("-O3", "-march=native", "-DLANES=8"),
}
COLUMNS = "program step set flags seconds ratio low high is".split()


class FlagsItem(Item):
    """A binary that was built with some flags."""

    def __init__(self, program: Program, name: str, step: Step, backend: str, flags: str,
                 binary: Path) -> None:
        super().__init__(program, name, step, backend)
        self.alias, self.flags = binary, flags

    def label(self) -> str:
        return f"{self.program.name} {self.flags}"


def flags_of(step: Step, program: Program) -> dict[str, Flags]:
    """The flags that make sense for the step."""
    sources = (step.folder / program.name).glob("*.[hc]")
    lanes = any('"portable/lanes.h"' in f.read_text(encoding="utf-8") for f in sources)
    return {**FLAGS, **LANES} if lanes else FLAGS


def built(flags: Flags, number: int, step: Step, program: Program, backend: str) -> Path:
    """The binary of a step with these flags."""
    if flags == FLAGS[OWN]:
        return step.binary(program, backend)
    folder = tree.build() / f"flags-{number}"
    target = folder / step.name / f"{program.name}-{backend}"
    words = [f"{name}={value}" for name, value in zip(("OPT", "ARCH", "EXTRA"), flags)
             if value is not None]
    problem = copies.make(f"BUILD={os.path.relpath(folder, tree.ROOT)}", *words,
                          os.path.relpath(target, tree.ROOT))
    if problem:
        raise SystemExit(f"{' '.join(words)}: does not build: {problem}")
    return target


def measured(step: Step, program: Program, name: str, repeat: int) -> list[Row]:
    """The rows of a program in a step."""
    backend = next(b for b in step.available(program) if BACKENDS[b].on_host)
    flags = flags_of(step, program)
    binaries = {label: built(flags[label], n, step, program, backend)
                for n, label in enumerate(flags)}
    second = tree.build() / "bench" / "aa" / f"flags-{program.name}"
    second.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(binaries[OWN], second)
    items = {label: FlagsItem(program, name, step, backend, label, binary)
             for label, binary in {**binaries, SECOND: second}.items()}
    interleaved(list(items.values()), f"{program.name}, set {name}", repeat)

    own = items[OWN]
    spread = verdict.spread_of([verdict.compare(items[SECOND].seconds(), own.seconds())])
    rows = []
    for label in flags:
        found = verdict.compare(items[label].seconds(), own.seconds(), spread)
        if same_binary(binaries[label], binaries[OWN]):
            found = verdict.Verdict(1, 1, 1, "" if label == OWN else "same code")
        rows.append({"program": program.name, "step": step.number, "set": name,
                     "flags": label,
                     "seconds": f"{statistics.median(items[label].column('run')):.3f}",
                     "ratio": f"{found.ratio:.3f}", "low": f"{found.low:.3f}",
                     "high": f"{found.high:.3f}", "is": found.word})
    return rows


def same_binary(binary: Path, other: Path) -> bool:
    """Whether two binaries have the same code, without debugging information."""
    texts = []
    for number, path in enumerate((binary, other)):
        stripped = tree.build() / "bench" / f"stripped-{number}"
        done = runs.run(["/usr/bin/env", "objcopy", "--strip-debug", "-R",
                         ".note.gnu.build-id", path, stripped], 60)
        if done.failure():
            raise SystemExit(f"objcopy {path}: {done.failure()}")
        texts.append(stripped.read_bytes())
    return texts[0] == texts[1]


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "STEP", "PROGRAM", "SET", "REPEAT", "QUICK"))
    repeat = bench.repetitions(arguments.quick)
    path = results.FOLDER / f"{machine.name()}-flags.csv"
    for program in tree.selected(tree.programs(), "PROGRAM"):
        steps = [s for s in tree.selected(tree.steps(), "STEP") if s.has(program)]
        for step, name in itertools.product(
                steps if arguments.step else steps[:1],
                bench.sets_of(program, arguments.quick)):
            rows = measured(step, program, name, repeat)
            print(runs.table([COLUMNS] + [[r[c] for c in COLUMNS] for r in rows]),
                  flush=True)
            if arguments.quick:
                continue
            results.replace(path, COLUMNS, rows, lambda r: (r["program"], r["step"]))


if __name__ == "__main__":
    main()
