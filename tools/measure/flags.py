"""flags.py - make flags: 00_sequential under other compiler flags than config.mk's.

Builds the first step of each program in a folder of its own for every set of flags, runs
them in turns on the set that is shown, each run verified, and writes
results/MACHINE-flags.csv: the ratio to the tree's own flags, above 1 is faster, its 95 %
interval, and whether that is a difference (verdict.py; the tree's binary under a second
name says what is none). PROGRAM= chooses; REPEAT= rounds, 15 unless set and not fewer.
QUICK=1 is a look at the quick set: 3 rounds, written nowhere.
"""
import os
import random
import shutil
import statistics
import subprocess

from tools.history import results, runs, tree, verdict
from tools.measure import bench, machine, same

# Label: (OPT, ARCH); None is what config.mk has.
FLAGS = {
    "the tree's": None,
    "-O0": ("-O0", None),
    "-O2": ("-O2", None),
    "-O3, any x86-64": ("-O3", ""),
    "-O3 -march=native": ("-O3", "-march=native"),
    "-O3 -march=native, vectors of 128 bits":
        ("-O3", "-march=native -mprefer-vector-width=128"),
}
OWN, AGAIN = "the tree's", "the tree's again"
COLUMNS = "program set flags seconds ratio low high is".split()


def built(label, number, step, program):
    """The binary of a step under these flags."""
    if FLAGS[label] is None:
        return step.binary(program, "seq")
    opt, arch = FLAGS[label]
    folder = tree.build() / f"flags-{number}"
    words = [f"BUILD={os.path.relpath(folder, tree.ROOT)}", f"STEP={step.name}",
             f"PROGRAM={program.name}", f"OPT={opt}"]
    words += [] if arch is None else [f"ARCH={arch}"]
    target = folder / step.name / f"{program.name}-seq"
    made = subprocess.run(["make", "-s", *words, str(os.path.relpath(target, tree.ROOT))],
                          cwd=tree.ROOT, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"{label}: does not build: {made.stderr.strip()[-300:]}")
    return target


def item_of(program, name, step, label, binary):
    item = bench.Item(program, name, step, "seq")
    item.alias, item.label = binary, lambda: f"{program.name} {label}"
    return item


def measured(program, name, repeat):
    """The rows of a program."""
    step = next(s for s in tree.steps() if s.has(program))
    binaries = {label: built(label, n, step, program) for n, label in enumerate(FLAGS)}
    again = tree.build() / "bench" / "aa" / f"flags-{program.name}"
    again.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(binaries[OWN], again)
    items = {label: item_of(program, name, step, label, binary)
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
    for label in FLAGS:
        found = verdict.compare(items[label].seconds(), own.seconds(), spread)
        if codes[label] == codes[OWN]:
            found = verdict.Verdict(1, 1, 1, "" if label == OWN else "same code")
        rows.append({"program": program.name, "set": name, "flags": label,
                     "seconds": f"{statistics.median(items[label].column('run')):.3f}",
                     "ratio": f"{found.ratio:.3f}", "low": f"{found.low:.3f}",
                     "high": f"{found.high:.3f}", "is": found.word})
    return rows


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = bench.rounds_asked(quick)
    path = results.FOLDER / f"{machine.name()}-flags.csv"
    for program in tree.selected(tree.programs(), "PROGRAM"):
        rows = measured(program, program.quick if quick else program.shown, repeat)
        print(runs.table([COLUMNS] + [[r[c] for c in COLUMNS] for r in rows]), flush=True)
        if not quick:
            kept = [{"is": "", **r} for r in results.read(path)
                    if r["program"] != program.name] if path.exists() else []
            results.write(path, COLUMNS, sorted(kept + rows, key=lambda r: r["program"]))


if __name__ == "__main__":
    main()
