"""perf.py - make perf: the events that the paper counted, for a step's back-ends.

    STEP= PROGRAM= BACKEND= SET= choose, as make's

Where `perf stat` can count, the paper's events over a whole run of the set that is shown, with
all threads. Where it cannot, as in most virtual machines, Valgrind counts the CPU
back-ends on a small query (program.mk's perf, or tiny), with one thread, inside the
function that back-ends implement and nowhere else. There instructions are exact; misses
are those of a simulated cache of this machine's sizes and of a simple branch predictor.
Left out: time, which neither measures here; devices.
"""
import os
import re
import shutil

from tools.history import runs, tree

# perf stat -B -e of the paper.
EVENTS = """cache-references cache-misses cycles instructions branches branch-misses
faults migrations""".split()
# What callgrind calls them: instructions, data reads and writes and their misses in the
# first and the last level, conditional and indirect branches and their mispredictions.
SUMS = {
    "instructions": ["Ir"],
    "data accesses": ["Dr", "Dw"],
    "L1 misses": ["D1mr", "D1mw"],
    "LL misses": ["DLmr", "DLmw"],
    "branches": ["Bc", "Bi"],
    "mispredicted": ["Bcm", "Bim"],
}


def grouped(number):
    return f"{number:,}".replace(",", " ")


def perf_counts(command):
    """{event: count} by perf stat; None where it does not count instructions."""
    ended = runs.run(["/usr/bin/env", "perf", "stat", "-x", ";", "-e", ",".join(EVENTS),
                      *command], 600)
    counts = {}
    for line in ended.err.splitlines():
        words = line.split(";")
        if len(words) > 2 and words[0].isdigit():
            counts[words[2].partition(":")[0]] = int(words[0])
    return counts if "instructions" in counts else None


def valgrind_counts(command, function, folder):
    """{what: count} inside function, by callgrind."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "callgrind.out"
    out.unlink(missing_ok=True)
    ended = runs.run(["/usr/bin/env", "valgrind", "--tool=callgrind", "--cache-sim=yes",
                      "--branch-sim=yes", f"--toggle-collect={function}",
                      f"--callgrind-out-file={out}", *command], 600,
                     env={"OMP_NUM_THREADS": "1"})
    if ended.failure():
        raise SystemExit(f"valgrind {command[0]}: {ended.failure()}")
    text = out.read_text()
    names = re.search(r"^events: (.+)$", text, re.M)[1].split()
    numbers = re.search(r"^(?:totals|summary): (.+)$", text, re.M)[1].split()
    events = dict(zip(names, map(int, numbers)))
    if not events.get("Ir"):
        raise SystemExit(f"valgrind {command[0]}: nothing was counted in {function}()")
    return {what: sum(events.get(e, 0) for e in parts) for what, parts in SUMS.items()}


def chosen(program):
    """(step, back-end) of what is asked for and built."""
    wanted = os.environ.get("BACKEND", "").split()
    return [(step, b) for step in tree.selected(tree.steps(), "STEP")
            for b in step.available(program)
            if b in wanted or not wanted and b in ("seq", "omp", "openacc", "ocl", "cuda")]


def counted(program, pairs):
    """Rows of a table for a program, and a line on how they were counted."""
    name = (os.environ.get("SET", "").split() or [program.shown])[0]
    words = program.sets[name]
    by_perf = shutil.which("perf") and perf_counts(["true"])
    if by_perf:
        rows = [["step", "back-end", *EVENTS]]
        for step, backend in pairs:
            runs.progress(f"{step.name} {backend}")
            counts = perf_counts([step.binary(program, backend), *words]) or {}
            rows.append([step.name, backend, *(grouped(counts[e]) if e in counts else "-"
                                               for e in EVENTS)])
        return rows, f"perf stat, set {name}, the whole run"
    if not shutil.which("valgrind"):
        raise SystemExit("perf stat cannot count here, and valgrind is missing")
    words = program.arguments(program.mk.get("perf", program.mk["tiny"]))
    function = program.mk.get("entry", "search")
    rows = [["step", "back-end", *SUMS]]
    for step, backend in pairs:
        if backend not in ("seq", "omp"):
            continue
        runs.progress(f"{step.name} {backend}")
        counts = valgrind_counts([step.binary(program, backend), *words], function,
                                 tree.build() / "perf")
        rows.append([step.name, backend, *(grouped(counts[s]) for s in SUMS)])
    return rows, (f"valgrind, a small query, inside {function}(): perf stat does not "
                  "count on this machine")


def main():
    lines = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        pairs = chosen(program)
        if pairs:
            rows, how = counted(program, pairs)
            runs.progress("")
            if len(rows) > 1:
                print(f"{program.name}: {how}")
                print(runs.table(rows))
            lines += len(rows) - 1
    if not lines:
        raise SystemExit("nothing to count: is it built, and is there a seq or omp?")


if __name__ == "__main__":
    main()
