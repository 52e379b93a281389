"""instructions.py - make instructions: the instructions that a step executes, per unit of work.

Callgrind counts how often each instruction of one run is executed (`instructions` of
program.mk: a small query; one thread). Only code that is compiled from the step's own
sources counts: the functions of its C files, or its OpenCL kernel on a CPU. The counts are
exact and do not depend on other processes; a processor without performance counters, such as
a virtual machine, is enough. They are divided by the units of work of BUILD/PROGRAM-count,
for example the visits of the semblance search, and sorted into classes by objdump's names. So are
the misses of a simulated cache with this processor's sizes (VALGRIND_OPTS sets others), and the
mispredictions of a simple branch predictor; these are only printed.

llvm-mca simulates the pipeline of a processor (MCPU=, by default this one) for the
instructions that are executed at least once per two units. Its cycles per unit are a model
without cache misses and branch mispredictions: compare them with measured ones.

Writes results/instructions.csv, replacing the rows that it counted, and the instructions
with their counts to BUILD/instructions/STEP-PROGRAM-BACKEND.txt. Valgrind does not know
AVX-512: build with ARCH=-march=haswell for steps that use all of the processor. OpenCL
kernels are compiled within Valgrind, which hides AVX-512 from their compiler.
"""
from __future__ import annotations

import collections
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import options, results, runs, tree
from tools.base.results import Row
from tools.base.tree import BACKENDS, Program, Step
from tools.history import rungs
from tools.measure import bench, ceilings
from tools.measure.registers import tool

# Classes of instructions: the first pattern that matches the name decides.
CLASSES = {
    "div": r"v?div[sp][sd]", "sqrt": r"v?sqrt", "fma": r"vfn?m(add|sub)",
    "mul": r"v?mul[sp][sd]", "add": r"v?(add|sub)[sp][sd]", "convert": r"v?cvt",
    "move": r"v?(mov[aulhdqns]|broadcast|movs[sd])[a-z0-9]* .*[(x-z]mm|vbroadcast",
    "vector": r"v|.*mm", "branch": r"j", "call": r"call|ret"}
KINDS = [*CLASSES, "integer"]
COLUMNS = ["program", "step", "backend", "compiler", "flags", "query", "unit", "units",
           "instructions", "loads", "stores", *KINDS, "packed", "model", "model_cycles"]
# Callgrind's events: instructions, data reads and writes, their misses in the first level and the
# last one, conditional and indirect branches, mispredicted ones (*m).
EVENTS = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim".split()
MISSES = {"L1 misses": ("D1mr", "D1mw"), "LL misses": ("DLmr", "DLmw"),
          "mispredicted": ("Bcm", "Bim")}
Counts = Mapping[int, int]  # {address: executions}
Counter = collections.Counter[Any]


class CountError(Exception):
    """Why something cannot be counted, in a line."""


def valgrind(name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
    result = runs.run(["/usr/bin/env", "valgrind", *command], 1800, environment)
    if result.failure():
        reason = "an instruction that Valgrind does not know: build with ARCH=-march=haswell" \
            if "unhandled instruction" in result.err or "Illegal" in result.err \
            else str(result.failure())
        raise CountError(f"{name}: {reason}")


def executions(out: Path) -> Iterator[tuple[str, str, int, list[int]]]:
    """(object file, function, address, numbers of EVENTS) of each line of Callgrind's output."""
    where, function, called = "", "", False
    for line in out.read_text().splitlines():
        if line.startswith("ob="):
            where = line[3:]
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            called = True  # the next line belongs to the called function
        elif line.startswith("0x"):
            if not called:
                address, _, *costs = line.split()
                yield where, function, int(address, 16), list(map(int, costs))
            called = False


def disassemble(path: str) -> dict[int, str]:
    """{address: instruction} of an object file."""
    text = runs.run(["/usr/bin/env", "objdump", "-d", "--no-show-raw-insn", path], 60).out
    lines = re.finditer(r"^\s*([0-9a-f]+):\s+(\S[^#<\n]*)", text, re.M)
    return {int(m[1], 16): m[2].strip() for m in lines}


def place(counts: Counts, instructions: Mapping[int, str]) -> dict[int, int]:
    """The counts by address in the file: the distance to the address in memory is the
    number of pages for which all executed addresses are instructions."""
    lowest = min(counts) & ~0xfff
    for first in {a & ~0xfff for a in instructions}:
        if all(a - lowest + first in instructions for a in counts):
            return {a - lowest + first: n for a, n in counts.items()}
    raise CountError("executed addresses are not in the object file")


def functions_of(folder: Path) -> set[str]:
    """The functions that the objects of a back-end define."""
    objects = sorted(folder.glob("*.c.o"))
    text = runs.run(["/usr/bin/env", "nm", "--defined-only", *objects], 60).out
    return set(re.findall(r"^[0-9a-f]+ [tTwW] (\S+)", text, re.M))


def count(program: Program, step: Step, backend: str, query: Sequence[str], folder: Path
          ) -> tuple[dict[int, tuple[str, int]], Counter]:
    """({address: (instruction, executions)}, {event: number}) of the code of a step."""
    name = f"{step.name} {program.name} {backend}"
    binary = step.binary(program, backend)
    environment = {"OMP_NUM_THREADS": "1", "POCL_MAX_PTHREAD_COUNT": "1",
                   "POCL_CACHE_DIR": str(folder / "kernels")}
    on_device = not BACKENDS[backend].on_host
    if on_device:  # compiles the kernels
        valgrind(name, ["--tool=none", binary, *query], environment)
    out = folder / "callgrind.out"
    out.unlink(missing_ok=True)
    valgrind(name, ["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
                    "--cache-sim=yes", "--branch-sim=yes", "--compress-strings=no",
                    f"--callgrind-out-file={out}", binary, *query], environment)
    own = functions_of(tree.build() / "parts" / step.name / f"{program.name}-{backend}")
    by_file: dict[str, Counter] = collections.defaultdict(collections.Counter)
    events: Counter = collections.Counter()
    for path, function, at, costs in executions(out):
        base = re.sub(r"'\d+$", "", function)
        if str(folder) in path if on_device else base.split(".")[0] in own or base in own:
            by_file[path][at] += costs[0]
            events.update(dict(zip(EVENTS, costs)))
    if not by_file:
        raise CountError(f"{name}: no code of this step was executed")
    result: dict[int, tuple[str, int]] = {}
    for n, (path, found) in enumerate(by_file.items()):
        instructions = disassemble(path)
        for address, times in place(found, instructions).items():
            result[(n << 48) + address] = instructions[address], times
    return result, events


def is_memory(text: str) -> bool:
    return "(" in text and not text.startswith(("lea", "nop", "prefetch", "cs nop"))


def stores(text: str) -> bool:
    """Whether the destination, which AT&T's syntax puts last, is in memory."""
    operands = re.split(r",(?![^(]*\))", text.partition(" ")[2])
    return is_memory(text) and "(" in operands[-1] and not re.match(
        r"v?u?com|cmp|test|push|call|j|v?ptest", text)


def loads(text: str) -> bool:
    """Whether it reads memory: all operands in memory but the destination of a move."""
    return is_memory(text) and (not stores(text) or not re.match(r"v?mov|vextract", text))


def kind(text: str) -> str:
    return next((name for name, pattern in CLASSES.items() if re.match(pattern, text)),
                "integer")


def per_unit(found: Mapping[int, tuple[str, int]], units: float) -> Row:
    """Instructions per unit of work: all, loads, stores, those of each class, and packed
    ones, which compute several values."""
    sums: Counter = collections.Counter()
    for text, times in found.values():
        sums["instructions"] += times
        sums["loads"] += times * loads(text)
        sums["stores"] += times * stores(text)
        sums["packed"] += times * bool(re.match(r"\S+p[sd]\b", text))
        sums[kind(text)] += times
    return {key: f"{sums[key] / units:.2f}"
            for key in ("instructions", "loads", "stores", *KINDS, "packed")}


def path_of(found: Mapping[int, tuple[str, int]], units: float) -> Iterator[str]:
    """The instructions that are executed at least once per two units, in the order of their
    addresses, as often as in one unit."""
    for _, (text, times) in sorted(found.items()):
        if times >= 0.5 * units and not re.match(r"j|call|ret|nop|data16|cs nop|rep", text):
            yield from [text] * max(1, round(times / units))


def simulate(found: Mapping[int, tuple[str, int]], units: float, folder: Path) -> Row:
    """Cycles per unit by llvm-mca, or nothing if it is missing."""
    mca = tool("llvm-mca", "llvm-mca-14")
    source = folder / "path.s"
    source.write_text("\n".join(path_of(found, units)) + "\n")
    model = os.environ.get("MCPU") or "native"
    if not mca or not source.read_text().strip():
        return {"model": "", "model_cycles": ""}
    text = runs.run([mca, f"-mcpu={model}", "-iterations=200", source], 120).out
    cycles = re.search(r"Total Cycles:\s+(\d+)", text)
    return {"model": model, "model_cycles": f"{int(cycles[1]) / 200:.1f}" if cycles else ""}


def row(program: Program, step: Step, backend: str) -> Row:
    text = program.mk.get("instructions") or program.mk["tiny"]
    query = program.arguments(text)
    unit = program.mk["unit"]
    units = (ceilings.count(program, query) or {}).get(unit)
    if not units:
        raise SystemExit(f"{program.name}: {unit} are not counted: expected "
                         f"BUILD/{program.name}-count, from make tools")
    folder = tree.build() / "instructions" / f"{step.name}-{program.name}-{backend}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found, events = count(program, step, backend, query, folder)
    listing = folder.with_name(f"{folder.name}.txt")
    listing.write_text("".join(f"{times / units:9.3f}  {code}\n"
                               for _, (code, times) in sorted(found.items())))
    flags = [f for f in runs.flags(program)[1:] if not f.startswith("-W")]
    return {"program": program.name, "step": step.name, "backend": backend,
            "compiler": bench.about_this()["compiler"],
            "flags": " ".join(flags), "query": text,
            "unit": unit, "units": f"{units:.0f}", **per_unit(found, units),
            **{name: f"{sum(events[e] for e in parts) / units:.3g}"
               for name, parts in MISSES.items()},
            **simulate(found, units, folder)}


def countable(program: Program) -> list[tuple[Step, str]]:
    """The (step, back-end) that are wanted, built and can be counted."""
    wanted = os.environ.get("BACKEND", "").split() or list(BACKENDS)
    return [(step, b) for step in rungs.selected_steps()
            for b in step.available(program) if b in wanted and
            (BACKENDS[b].on_host or b == "ocl" and runs.opencl_on_cpu())]


def main() -> None:
    options.parse(options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "RUNGS"))
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is not installed: ./setup.sh publish")
    rows = []
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for step, backend in countable(program):
            runs.progress(f"{step.name} {program.name} {backend}")
            try:
                rows.append(row(program, step, backend))
            except CountError as error:
                print(f"left out: {error}")
    runs.progress("")
    if not rows:
        raise SystemExit("nothing is counted: expected a back-end of C, or OpenCL on a CPU, "
                         "that is built")
    shown = ["step", "backend", "instructions", "loads", "stores", *KINDS, *MISSES, "model_cycles"]
    for program_name in dict.fromkeys(r["program"] for r in rows):
        own = [r for r in rows if r["program"] == program_name]
        print(f"{program_name}: instructions per unit ({own[0]['unit']}), and cycles of a "
              "model of the pipeline")
        print(runs.table([shown, *([r[key] for key in shown] for r in own)]))
    path = results.FOLDER / "instructions.csv"
    results.replace(path, COLUMNS, [{key: r[key] for key in COLUMNS} for r in rows],
                    lambda r: (r["program"], r["step"], r["backend"]))
    print(f"written to {path}")


if __name__ == "__main__":
    main()
