"""flags.py - make flags: a step under other compiler flags than config.mk's.

Builds 00_sequential, or STEP=, in a folder of its own for every set of flags, runs them in
turns on the set that is shown, or SET=, each run verified, and writes
results/MACHINE-flags.csv: the ratio to the tree's own flags, above 1 is faster, its 95 %
interval, and whether that is a difference (verdict.py; the tree's binary under a second
name says what is none). PROGRAM= chooses; REPEAT= rounds, 15 unless set and not fewer. A
step without a sequential back-end is measured as OpenMP; one with lanes also under other
numbers of them. QUICK=1 is a look at the quick set: 3 rounds, written nowhere.
"""
import itertools
import os
import random
import shutil
import statistics
import subprocess

from tools.history import results, runs, tree, verdict
from tools.measure import bench, machine, same

# Label: (OPT, ARCH, EXTRA); None is what config.mk has.
FLAGS = {
    "the tree's": None,
    "-O0": ("-O0", None, None),
    "-O2": ("-O2", None, None),
    "-O3, any x86-64": ("-O3", "", None),
    "-O3 -march=native": ("-O3", "-march=native", None),
    "-O3 -march=native, vectors of 128 bits":
        ("-O3", "-march=native -mprefer-vector-width=128", None),
}
LANES = {
    "the tree's, 4 lanes": (None, None, "-DLANES=4"),
    "-O3 -march=native, 8 lanes": ("-O3", "-march=native", "-DLANES=8"),
}
OWN, AGAIN = "the tree's", "the tree's again"
COLUMNS = "program step set flags seconds ratio low high is".split()


def flags_of(step, program):
    """Those that make sense for the step."""
    sources = (step.folder / program.name).glob("*.[hc]")
    lanes = any('"portable/lanes.h"' in f.read_text(encoding="utf-8") for f in sources)
    return {**FLAGS, **LANES} if lanes else FLAGS


def built(flags, number, step, program, backend):
    """The binary of a step under these flags."""
    if flags is None:
        return step.binary(program, backend)
    folder = tree.build() / f"flags-{number}"
    words = [f"BUILD={os.path.relpath(folder, tree.ROOT)}", f"STEP={step.name}",
             f"PROGRAM={program.name}"]
    words += [f"{name}={value}" for name, value in zip(("OPT", "ARCH", "EXTRA"), flags)
              if value is not None]
    target = folder / step.name / f"{program.name}-{backend}"
    made = subprocess.run(["make", "-s", *words, str(os.path.relpath(target, tree.ROOT))],
                          cwd=tree.ROOT, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"{' '.join(words)}: does not build: "
                         f"{made.stderr.strip()[-300:]}")
    return target


def item_of(program, name, step, backend, label, binary):
    item = bench.Item(program, name, step, backend)
    item.alias, item.label = binary, lambda: f"{program.name} {label}"
    return item


def measured(step, program, name, repeat):
    """The rows of a program in a step."""
    backend = "seq" if "seq" in step.available(program) else "omp"
    flags = flags_of(step, program)
    binaries = {label: built(flags[label], n, step, program, backend)
                for n, label in enumerate(flags)}
    again = tree.build() / "bench" / "aa" / f"flags-{program.name}"
    again.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(binaries[OWN], again)
    items = {label: item_of(program, name, step, backend, label, binary)
             for label, binary in {**binaries, AGAIN: again}.items()}
    codes = {label: same.linked(binary) for label, binary in binaries.items()}
    order, chance = list(items.values()), random.Random(1)
    for n in range(repeat):
        runs.stage(f"{program.name}, set {name}, round {n + 1} of {repeat}")
        chance.shuffle(order)
        for item in order:
            runs.progress(f"round {n + 1} of {repeat}: {item.label()}")
            item.run()
    runs.progress("")

    own = items[OWN]
    spread = verdict.spread_of([verdict.compare(items[AGAIN].seconds(), own.seconds())])
    rows = []
    for label in flags:
        found = verdict.compare(items[label].seconds(), own.seconds(), spread)
        if codes[label] == codes[OWN]:
            found = verdict.Verdict(1, 1, 1, "" if label == OWN else "same code")
        rows.append({"program": program.name, "step": step.number, "set": name,
                     "flags": label,
                     "seconds": f"{statistics.median(items[label].column('run')):.3f}",
                     "ratio": f"{found.ratio:.3f}", "low": f"{found.low:.3f}",
                     "high": f"{found.high:.3f}", "is": found.word})
    return rows


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = bench.rounds_asked(quick)
    path = results.FOLDER / f"{machine.name()}-flags.csv"
    for program in tree.selected(tree.programs(), "PROGRAM"):
        steps = [s for s in tree.selected(tree.steps(), "STEP") if s.has(program)]
        for step, name in itertools.product(
                steps if os.environ.get("STEP") else steps[:1],
                bench.sets_of(program, quick)):
            rows = measured(step, program, name, repeat)
            print(runs.table([COLUMNS] + [[r[c] for c in COLUMNS] for r in rows]),
                  flush=True)
            if quick:
                continue
            own = (program.name, step.number)
            kept = [r for r in results.read(path) if (r["program"], r["step"]) != own] \
                if path.exists() else []
            results.write(path, COLUMNS,
                          sorted(kept + rows, key=lambda r: (r["program"], r["step"])))


if __name__ == "__main__":
    main()
