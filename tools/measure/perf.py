"""perf.py - make perf: the events that the paper counted, for a step's back-ends.

If `perf stat` can count, prints the paper's events of a whole run of the set that tables
show, with all threads. Otherwise, as in most virtual machines, Valgrind counts those of
plain C on a small query (`perf` of program.mk, or tiny) with one thread, inside the function
that back-ends implement. Its instruction counts are exact; its misses are those of a
simulated cache with this machine's sizes and of a simple branch predictor. Devices are not
counted, and neither tool measures time here.
"""
from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.history import options, runs, tree
from tools.history.runs import Argument
from tools.history.tree import BACKENDS, FOR_CHECKING, SHARED, Program, Step

# perf stat -B -e of the paper.
EVENTS = """cache-references cache-misses cycles instructions branches branch-misses
faults migrations""".split()
# Callgrind's names: instructions, data reads and writes and their misses in the first and
# the last level, conditional and indirect branches and their mispredictions.
SUMS = {
    "instructions": ["Ir"],
    "data accesses": ["Dr", "Dw"],
    "L1 misses": ["D1mr", "D1mw"],
    "LL misses": ["DLmr", "DLmw"],
    "branches": ["Bc", "Bi"],
    "mispredicted": ["Bcm", "Bim"],
}
Pairs = Sequence[tuple[Step, str]]
Rows = list[list[str]]


def grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def perf_counts(command: Sequence[Argument]) -> dict[str, int]:
    """{event: count} by perf stat; empty if it cannot count instructions."""
    result = runs.run(["/usr/bin/env", "perf", "stat", "-x", ";", "-e", ",".join(EVENTS),
                       *command], 600)
    counts = {}
    for line in result.err.splitlines():
        words = line.split(";")
        if len(words) > 2 and words[0].isdigit():
            counts[words[2].partition(":")[0]] = int(words[0])
    return counts if "instructions" in counts else {}


def valgrind_counts(command: Sequence[Argument], function: str, folder: Path
                    ) -> dict[str, int]:
    """{sum: count} inside a function, by callgrind."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "callgrind.out"
    out.unlink(missing_ok=True)
    result = runs.run(["/usr/bin/env", "valgrind", "--tool=callgrind", "--cache-sim=yes",
                       "--branch-sim=yes", f"--toggle-collect={function}",
                       f"--callgrind-out-file={out}", *command], 600,
                      env={"OMP_NUM_THREADS": "1"})
    if result.failure():
        raise SystemExit(f"valgrind {command[0]}: {result.failure()}")
    text = out.read_text()
    names = re.findall(r"^events: (.+)$", text, re.M)[0].split()
    numbers = re.findall(r"^(?:totals|summary): (.+)$", text, re.M)[0].split()
    events = dict(zip(names, map(int, numbers)))
    if not events.get("Ir"):
        raise SystemExit(f"valgrind {command[0]}: nothing was counted in {function}()")
    return {what: sum(events.get(e, 0) for e in parts) for what, parts in SUMS.items()}


def selected(program: Program) -> Pairs:
    """The (step, back-end) that are wanted and built."""
    wanted = os.environ.get("BACKEND", "").split() or \
        [b for b in BACKENDS if b not in FOR_CHECKING + SHARED]
    return [(step, b) for step in tree.selected(tree.steps(), "STEP")
            for b in step.available(program) if b in wanted]


def by_perf(program: Program, pairs: Pairs, name: str) -> Rows:
    rows = [["step", "back-end", *EVENTS]]
    for step, backend in pairs:
        runs.progress(f"{step.name} {backend}")
        counts = perf_counts([step.binary(program, backend), *program.sets[name]])
        rows.append([step.name, backend,
                     *(grouped(counts[e]) if e in counts else "-" for e in EVENTS)])
    return rows


def by_valgrind(program: Program, pairs: Pairs, function: str) -> Rows:
    query = program.arguments(program.mk.get("perf", program.mk["tiny"]))
    rows = [["step", "back-end", *SUMS]]
    for step, backend in pairs:
        if BACKENDS[backend].on_host:
            runs.progress(f"{step.name} {backend}")
            counts = valgrind_counts([step.binary(program, backend), *query], function,
                                     tree.build() / "perf")
            rows.append([step.name, backend, *(grouped(counts[s]) for s in SUMS)])
    return rows


def counted(program: Program, pairs: Pairs) -> tuple[Rows, str]:
    """(the rows of a program's table, how they were counted)."""
    if shutil.which("perf") and perf_counts(["true"]):
        name = (os.environ.get("SET", "").split() or [program.shown])[0]
        return by_perf(program, pairs, name), f"perf stat, set {name}, the whole run"
    if not shutil.which("valgrind"):
        raise SystemExit("perf stat cannot count on this machine, and valgrind is not "
                         "installed: expected one of them (./setup.sh publish)")
    function = program.mk.get("entry", "search")
    return by_valgrind(program, pairs, function), (
        f"valgrind, a small query, inside {function}(): perf stat cannot count on this "
        "machine")


def main() -> None:
    options.parse(options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SET", "RUNGS"))
    lines = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        pairs = selected(program)
        if pairs:
            rows, how = counted(program, pairs)
            runs.progress("")
            if len(rows) > 1:
                print(f"{program.name}: {how}")
                print(runs.table(rows))
            lines += len(rows) - 1
    if not lines:
        raise SystemExit("nothing to count: expected a back-end in plain C that is built")


if __name__ == "__main__":
    main()
