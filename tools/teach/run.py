"""run.py - make run: every step and back-end of a program, each verified.

    PROGRAM=    the main program by default; all: all of them, on all their sets
    SET=        by default the set that tables show, and the program's jobs (whole output
                traces); all: all sets that do not take long
    BACKEND=    by default all but those for checking (cuda-cpu)
    ARGS=       arguments in place of those of the set that have the same key:
                ARGS='in=my.su t0=1.2 local=8,2,2'

A short run is repeated, and the time is that of the shortest of at most five runs: a first
impression; make bench measures. Threads are bound to cores, as make bench does. The speedup
is that of the execution over the first step on the same set, if that is run, too. The exit
status is 0 only if every result of every run is verified.
"""
from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.history import options, runs, tree
from tools.history.tree import BACKENDS, Program, Step
from tools.measure import section
from tools.verify import execute

# The bar of a speedup: characters per doubling, and at most.
DOUBLING, BAR = 3, 28
FORM = f"{{:6}} {{:14}} {{:8}} {{:>8}} {{:>8}} {{:>8}}  {{:{BAR}}}  {{}}"

# A back-end runs until its runs took SECONDS together, but not more than RUNS times. OpenCL
# runs at least twice: PoCL compiles a kernel when it is first launched, and keeps it.
SECONDS, RUNS = 0.5, 5

Key = tuple[str, Step, str]  # set, step, back-end
Outcomes = dict[Key, dict[str, Any]]


def programs() -> Sequence[Program]:
    """The main program, or those that PROGRAM= names."""
    if os.environ.get("PROGRAM"):
        return tree.selected(tree.programs(), "PROGRAM")
    return tree.programs()[:1]


def sets(program: Program, arguments: Sequence[str]) -> Sequence[str]:
    """The names of the sets and jobs to run: no jobs with other arguments."""
    wanted = os.environ.get("SET", "").split()
    if wanted == ["all"] or not wanted and os.environ.get("PROGRAM") == "all":
        return program.usual
    if not wanted:
        wanted = [program.shown, *([] if arguments else program.mk.get("jobs", "").split())]
    return [name for name in wanted if name in program.sets or name in program.jobs]


def keys(program: Program, arguments: Sequence[str]) -> list[Key]:
    """Everything to run, in order."""
    wanted = os.environ.get("BACKEND", "").split()
    return [(name, step, backend) for name in sets(program, arguments)
            for step in tree.selected(tree.steps(), "STEP")
            for backend in step.available(program)
            if backend in wanted or not wanted and backend not in tree.FOR_CHECKING]


def devices(found: Sequence[Key]) -> str:
    """What the back-ends run on, in a line: seq: 1 core; omp: 2 threads; .."""
    backends = dict.fromkeys(backend for _, _, backend in found)
    return "; ".join(f"{b}: {runs.device(b)}" for b in backends)


def bar(speedup: float) -> str:
    """A bar on a logarithmic scale."""
    if speedup < 1:
        return "-" * bool(speedup)
    return "#" * min(BAR, 1 + round(DOUBLING * math.log2(speedup)))


def row(key: Key, got: Mapping[str, Any]) -> str:
    name, step, backend = key
    times = [f"{got['times'][k]:.3f}" if got["times"] else "" for k in ("init", "run")]
    share = "" if got["share"] is None else f" ({got['share']:.1f} %)"
    return FORM.format(name, step.name, backend, *times,
                       f"{got['speedup']:.2f}" if got["speedup"] else "", bar(got["speedup"]),
                       f"verified{share}" if got["ok"] else f"FAIL {got['reason']}")


def shortest(key: Key, program: Program, arguments: Sequence[str], folder: Path
             ) -> dict[str, Any]:
    """The outcome of the shortest run of a back-end, or of the first that failed."""
    name, step, backend = key
    checked: dict[str, dict[str, Any]] = {}
    best: dict[str, Any] = {}
    took, fewest = 0.0, 2 if "opencl" in BACKENDS[backend].needs else 1
    for n in range(RUNS):
        got = execute.run_and_check(step, program, backend, arguments, folder, f"set{name}",
                                    runs.bound(backend), outputs=program.timed_outputs(name),
                                    checked=checked)
        if not got["ok"] or not got["times"]:
            return got
        if not best or got["times"]["run"] < best["times"]["run"]:
            best = got
        took += got["times"]["run"]
        if took >= SECONDS and n + 1 >= fewest:
            break
    return best


def run_program(program: Program, arguments: Sequence[str]) -> Outcomes:
    """Runs and verifies all of a program."""
    found = keys(program, arguments)
    folder = runs.own_folder("run") / program.name
    print(f"{program.name}: {program.title}\n{runs.cpu_name()}; {devices(found)}")
    print(FORM.format("set", "step", "back-end", "init s", "run s", "times 00",
                      f"{'#' * DOUBLING}: twice as fast",
                      "result (percent of the error budget)"))
    first: dict[str, float] = {}
    outcomes: Outcomes = {}
    for n, key in enumerate(found, 1):
        name, step, backend = key
        runs.progress(f"[{n}/{len(found)}] set {name}, {step.name} {backend} ...")
        got = shortest(key, program, tree.with_arguments(program.query(name), arguments),
                       folder / f"{name}-{step.name}-{backend}")
        outcomes[key], times = got, got["times"]
        if times and not tree.before(step, program):
            first[name] = times["run"]
        got["speedup"] = first[name] / times["run"] if times and name in first else 0
        runs.progress("")
        print(row(key, got), flush=True)
    return outcomes


def fastest(outcomes: Outcomes) -> str:
    """A line about the fastest; "" if nothing is faster than the first step."""
    found = max(outcomes, key=lambda key: outcomes[key]["speedup"], default=None)
    if not found or outcomes[found]["speedup"] <= 1:
        return ""
    name, step, backend = found
    return f"{step.name} {backend} is {outcomes[found]['speedup']:.1f} times as fast as the " \
           f"first step (set {name}, shortest run; make bench measures)\n"


def filled(program: Program) -> str:
    """A line about a gap that the last OpenMP step fills; "" if the program has no sections
    or none is built."""
    if "section" not in program.mk:
        return ""
    try:
        return section.fill(program, "omp").text() + "\n"
    except section.NotBuilt:
        return ""


def main() -> int:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SET", "RUNGS")
    parser.add_argument("--args", default=os.environ.get("ARGS", ""), metavar="ARGS",
                        help="arguments of the query")
    arguments = options.split("ARGS", options.parse(parser).args)
    ran = failed = 0
    for program in programs():
        outcomes = run_program(program, arguments)
        print(fastest(outcomes) + filled(program), end="")
        ran += len(outcomes)
        failed += sum(not got["ok"] for got in outcomes.values())
    if not ran:
        raise SystemExit("make run: nothing to run: expected a SET and BACKEND that exist, and "
                         "binaries that are built")
    print(f"{ran - failed} verified, {failed} failed")
    if not failed:
        print("Next: make diff STEP=05 shows one step; steps/05_algebra/README.md explains "
              "it; make run PROGRAM=all runs everything")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
