"""flags.py - make flags: 00_sequential under other compiler flags than config.mk's.

Builds the first step of each program in a folder of its own for every set of flags, runs
them in turns on the set that is shown, verified, and writes results/MACHINE-flags.csv:
the ratio to the tree's own flags, above 1 is faster. REPEAT= rounds, 5 unless set.
"""
import csv
import os
import statistics
import subprocess
from tools.history import results, runs, tree, verdict
from tools.measure import machine


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


def main():
    repeat = int(os.environ.get("REPEAT") or 5)
    rows = []
    for program in tree.selected(tree.programs(), "PROGRAM"):
        step = next(s for s in tree.steps() if s.has(program))
        name = program.shown
        binaries = {label: built(label, n, step, program)
                    for n, label in enumerate(FLAGS)}
        seconds = {label: [] for label in FLAGS}
        for n in range(repeat):
            for label, binary in binaries.items():
                runs.progress(f"round {n + 1} of {repeat}: {label}")
                got = runs.run_and_check(step, program, "seq", program.sets[name],
                                         tree.build() / "bench", f"set{name}",
                                         timeout=600, binary=binary)
                if not got["ok"]:
                    raise SystemExit(f"{label}: {got['reason']}")
                seconds[label].append(got["times"]["run"])
        runs.progress("")
        own = seconds["the tree's"]
        for label in FLAGS:
            q1, median, q3 = verdict.quartiles([a / b for a, b in zip(own, seconds[label])])
            rows.append({"program": program.name, "set": name, "flags": label,
                         "seconds": f"{statistics.median(seconds[label]):.3f}",
                         "ratio": f"{median:.3f}", "low": f"{q1:.3f}", "high": f"{q3:.3f}"})
    path = results.FOLDER / f"{machine.name()}-flags.csv"
    kept = []
    if path.exists():
        with path.open(newline="") as f:
            fresh = {r["program"] for r in rows}
            kept = [r for r in csv.DictReader(f) if r["program"] not in fresh]
    results.write(path, list(rows[0]), sorted(kept + rows, key=lambda r: r["program"]))
    print(path.read_text(), end="")


if __name__ == "__main__":
    main()
