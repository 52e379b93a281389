"""ceilings.py - make ceilings: the peaks of this machine, and how near a run came to them.

Runs BUILD/ceilings with each number of threads (1, 2, 4 .. all), and BUILD/ceilings-cuda if
there is a GPU; writes results/MACHINE-ceilings.csv. Of several repetitions the best counts:
other processes make a rate worse, never better.

roofline() compares a measured time with them. step.mk declares what a step does, in units
that BUILD/PROGRAM-count counts for a query:

    flops.semblance    = 15 visits + 2 used + 6 samples
    bytes.semblance.l1 = 8 visits + 4 used + 4 samples

flops are the single-precision operations of the source; a square root and a division count as
one each. A program of integers declares `peak = integer` in program.mk; its flops are the
32-bit integer operations of the source. A vector of bytes or bits computes four or 32 cells
with one of them, and a logical function of three operands is one. bytes.PROGRAM.LEVEL is the
least that any build of this source must transfer from that level of memory (l1, l2, l3, dram).
The ceiling is the minimum of the arithmetic peak and, for each declared level, of its
bandwidth times flops per byte. It is an upper bound: a run above it is SUSPICIOUS, that is,
wrongly timed, wrongly counted, or on a machine whose peaks were disturbed when they were
measured.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.base import options, results, runs, tree
from tools.base.results import Row
from tools.base.tree import Program, Step
from tools.measure import machine as here

COLUMNS = ["machine", "device", "threads", "ceiling", "value", "unit"]
REPETITIONS = 2
LEVELS = ("l1", "l2", "l3", "dram")


# ---- measuring ---------------------------------------------------------------------


Peaks = dict[str, tuple[float, str]]  # {ceiling: (value, unit)}


def path_of(machine: str) -> Path:
    return results.FOLDER / f"{machine}-ceilings.csv"


def thread_counts() -> list[int]:
    """1, 2, 4 .. and all."""
    cores = runs.processors()
    return sorted({2 ** n for n in range(cores.bit_length())} | {cores})


def peaks_of(tool: str, *arguments: str) -> Peaks:
    """What a tool measures."""
    result = runs.run([tree.build() / tool, *arguments], 300)
    if result.failure():
        raise SystemExit(f"{tool}: {result.failure()}")
    return {name: (float(text.split()[0]), text.split()[1])
            for name, text in result.values().items()}


def add_best(known: Peaks, found: Peaks) -> None:
    for name, peak in found.items():
        known[name] = max(known.get(name, peak), peak)


def measured_here() -> list[Row]:
    """The rows of this machine."""
    by_threads: dict[int, Peaks] = {threads: {} for threads in thread_counts()}
    busy_before, own_before = here.busy(), here.own()
    for n in range(REPETITIONS):
        for threads, known in by_threads.items():
            runs.progress(f"repetition {n + 1} of {REPETITIONS}: {threads} threads")
            add_best(known, peaks_of("ceilings", f"threads={threads}"))
    runs.progress("")
    used = here.own() - own_before
    if here.busy() - busy_before - used > here.FOREIGN * used:
        print("busy: other processes ran at the same time; these may be too low")
    found: list[tuple[str, Any, Peaks]] = [
        (runs.cpu_name(), threads, known) for threads, known in by_threads.items()]
    if tree.has_gpu() and (tree.build() / "ceilings-cuda").exists():
        found.append((runs.gpu_name(), "", peaks_of("ceilings-cuda")))
    return [dict(zip(COLUMNS, (here.name(), device, threads, name, f"{value:.4g}", unit)))
            for device, threads, known in found for name, (value, unit) in known.items()]


# ---- roofline ----------------------------------------------------------------------


@cache
def ceilings(machine: str) -> dict[tuple[str, int | str], dict[str, float]]:
    """{(device, threads): {ceiling: value}} as measured; threads is "" on a GPU."""
    found: dict[tuple[str, int | str], dict[str, float]] = {}
    for row in results.read(path_of(machine)):
        threads: int | str = int(row["threads"]) if row["threads"] else ""
        found.setdefault((row["device"], threads), {})[row["ceiling"]] = float(row["value"])
    return found


def ceilings_of(machine: str, device: str, threads: int | str) -> dict[str, float] | None:
    """The peaks of a device, as bench.py names it, for the next number of threads that was
    measured. None if there are none."""
    known = ceilings(machine)
    if (device, "") in known:
        return known[device, ""]
    counts = sorted(int(n) for name, n in known if n != "" and (
        name in device or re.fullmatch(r"(host, )?\d+ (core|threads?)", device)))
    enough = [n for n in counts if n >= int(threads)]
    if not enough:
        return None
    return next(v for (_, n), v in known.items() if n == enough[0])


@cache
def work(program: Program, name: str) -> dict[str, float] | None:
    """The counts of a set; None for a job."""
    return count(program, program.sets[name]) if name in program.sets else None


def count(program: Program, arguments: Sequence[str]) -> dict[str, float] | None:
    """What BUILD/PROGRAM-count counts for a query, {unit: number}; None if the program has
    no such tool. Kept in BUILD/count until the tool or the query changes."""
    tool = tree.build() / f"{program.name}-count"
    if not tool.exists():
        return None
    mark = runs.query_key(arguments, tool)
    kept = tree.build() / "count" / program.name / f"{mark[:16]}.txt"
    if not kept.exists():
        result = runs.run([tool, *arguments], 600)
        if result.failure():
            raise SystemExit(f"{tool.name}: {result.failure()}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(result.out)
    lines = (line.partition("=") for line in kept.read_text().splitlines())
    return {unit: float(number) for unit, _, number in lines}


def total(text: str, counted: Mapping[str, float], where: str) -> float:
    """The value of "15 visits + 6 samples", given the count of each unit."""
    result = 0.0
    for term in text.split("+"):
        number, _, unit = term.strip().partition(" ")
        if unit not in counted:
            raise SystemExit(f"{where}: {term.strip()}: expected a number and one of "
                             f"{', '.join(counted)}")
        result += float(number) * counted[unit]
    return result


def roofline(program: Program, step: Step, name: str, seconds: float, threads: int | str,
             device: str, machine: str | None = None) -> Row | None:
    """How near a run of set `name` came to the machine's peak: a dict of gflops (reached,
    1e9 per second), ceiling_name, ceiling (the same unit), share (of it) and suspicious.
    None if nothing is declared, counted or measured."""
    declared = step.mk.get(f"flops.{program.name}")
    known = ceilings_of(machine or here.name(), device, threads)
    counted = work(program, name) if declared and known else None
    if not declared or not known or not counted:
        return None
    where = f"{step.folder}/step.mk"
    flops = total(declared, counted, where)
    peak = program.mk.get("peak", "fma")
    if peak not in known:
        return None
    limits = {peak: known[peak]}
    for level in LEVELS:
        text = step.mk.get(f"bytes.{program.name}.{level}")
        if text and level in known:
            limits[level] = known[level] * flops / total(text, counted, where)
    nearest = min(limits, key=lambda level: limits[level])
    gflops = flops / seconds * 1e-9
    return {"gflops": gflops, "ceiling_name": nearest, "ceiling": limits[nearest],
            "share": gflops / limits[nearest], "suspicious": gflops > limits[nearest]}


def main() -> None:
    options.parse(options.parser(__doc__))
    rows = measured_here()
    path = path_of(here.name())
    results.write(path, COLUMNS, rows)
    print(runs.table([COLUMNS[1:]] + [[str(r[c]) for c in COLUMNS[1:]] for r in rows]))
    print(f"written to {path.relative_to(tree.ROOT)}")


if __name__ == "__main__":
    main()
