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
import statistics

from tools.base import copies, options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import BACKENDS, Program, Step
from tools.history import rungs
from tools.measure import bench, machine, same
from tools.measure.item import Item, run_interleaved

OWN, NATIVE = "default", "ARCH=-march=native"
FLAGS = {  # variables of make
    OWN: (),
    "-O0": ("OPT=-O0",),
    "-O2": ("OPT=-O2",),
    "-O3, any x86-64": ("OPT=-O3", "ARCH="),
    "-O3 -march=native": ("OPT=-O3", NATIVE),
    "-O3 -march=native, vectors of 128 bits": ("OPT=-O3", f"{NATIVE} -mprefer-vector-width=128"),
}
LANES = {
    "default, 4 lanes": ("EXTRA=-DLANES=4",),
    "-O3 -march=native, 8 lanes": ("OPT=-O3", NATIVE, "EXTRA=-DLANES=8"),
}
COLUMNS = "program step set flags seconds ratio low high is".split()


def measure(step: Step, program: Program, name: str, repeat: int) -> list[Row]:
    """The rows of a program in a step."""
    backend = next(b for b in step.available(program) if BACKENDS[b].on_host)
    lanes = any('"portable/lanes.h"' in f.read_text(encoding="utf-8")
                for f in (step.folder / program.name).glob("*.[hc]"))
    binaries = {flags: copies.built_with(program, step, backend, words) if words
                else step.binary(program, backend)
                for flags, words in (FLAGS | LANES if lanes else FLAGS).items()}
    items = {flags: Item(program, name, step, backend) for flags in binaries}
    for flags, item in items.items():
        item.alias = binaries[flags]
    second = bench.second_item(items[OWN])
    run_interleaved([*items.values(), second], f"{program.name}, set {name}", repeat)

    own = items[OWN]
    spread = verdict.spread_of([verdict.compare(second.seconds(), own.seconds())])
    rows = []
    for flags, item in items.items():
        found = verdict.compare(item.seconds(), own.seconds(), spread)
        if same.objects(binaries[flags], "cpu.c") == same.objects(binaries[OWN], "cpu.c"):
            found = verdict.Verdict(1, 1, 1, "" if flags == OWN else "same code")
        rows.append({"program": program.name, "step": step.number, "set": name, "flags": flags,
                     "seconds": f"{statistics.median(item.column('run')):.3f}",
                     "ratio": f"{found.ratio:.3f}", "low": f"{found.low:.3f}",
                     "high": f"{found.high:.3f}", "is": found.word})
    return rows


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "STEP", "PROGRAM", "SET", "REPEAT", "QUICK"))
    repeat = bench.repetitions(arguments.quick)
    path = results.FOLDER / f"{machine.name()}-flags.csv"
    for program in tree.selected(tree.programs(), "PROGRAM"):
        steps = [s for s in rungs.selected_steps() if s.has(program)]
        for step, name in itertools.product(
                steps if arguments.step else steps[:1],
                bench.sets_of(program, arguments.quick)):
            rows = measure(step, program, name, repeat)
            print(runs.table([COLUMNS] + [[r[c] for c in COLUMNS] for r in rows]),
                  flush=True)
            if not arguments.quick:
                results.replace(path, COLUMNS, rows, lambda r: (r["program"], r["step"]))


if __name__ == "__main__":
    main()
