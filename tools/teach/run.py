"""run.py - make run: every step and back-end of a program, each result verified.

    STEP= PROGRAM= BACKEND=   by default all steps of the main program; PROGRAM=all: all
                              programs, on all their sets
    SET=    by default the small set that program.mk names, and the jobs (whole output traces);
            all: all sets that do not take long
    ARGS=   arguments in place of those of the set that have the same key:
            ARGS='in=my.su t0=1.2 local=8,2,2'

Back-ends that only check are left out unless BACKEND= names them. If neither STEP=, BACKEND= nor
SET= is given, so are those that program.mk omits because another row has the same code, and the
jobs of most steps.

With --build (make run), each step is built before it runs, the first one before all others.
A short run is repeated, and the time is that of the shortest of at most five runs: a first
impression; make bench measures. Threads are bound to cores, as make bench does. The speedup
is that of the execution over the first step on the same set, if that is run, too. The exit
status is 0 only if every result of every run is verified.
"""
from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import copies, options, runs, tree
from tools.base.tree import BACKENDS, Program, Step
from tools.history import rungs
from tools.measure import machine, section
from tools.verify import execute

LINE, BAR = 80, 14  # characters of a line, and of a bar, at most: one per factor of two
FORM = f"{{:14}} {{:11}} {{:>7}} {{:>8}} {{:>7}} {{:{BAR}}} {{}}"
HEADER = FORM.format("step", "back-end", "init ms", "run ms", "speedup", "#: twice", "verified")

# A back-end runs until its runs took SECONDS together, but not more than RUNS times. OpenCL
# runs at least twice: PoCL compiles a kernel when it is first launched, and keeps it.
SECONDS, RUNS = 0.5, 5

Key = tuple[str, Step, str]  # set, step, back-end
Outcomes = dict[Key, dict[str, Any]]


def keys(program: Program, steps: Sequence[Step], others: bool) -> list[Key]:
    """What to run of these steps, of what is built, in order; no jobs if the query has other
    arguments."""
    asked, wanted = os.environ["SET"].split(), os.environ["BACKEND"].split()
    omitted, of_jobs = ([] if asked or wanted or os.environ["STEP"] else
                        program.mk.get(key, "").split() for key in ("run_omits", "run_jobs"))
    sets = asked or [program.mk.get("run", program.shown),
                     *([] if others else program.mk.get("jobs", "").split())]
    if asked == ["all"] or not asked and os.environ["PROGRAM"] == "all":
        sets = list(program.usual)
    return [(name, step, backend) for name in sets if name in {**program.sets, **program.jobs}
            for step in steps if name in program.sets or step.number in (of_jobs or step.number)
            for backend in step.available(program)
            if backend in (wanted or BACKENDS) and f"{step.number}-{backend}" not in omitted
            and (wanted or backend not in tree.FOR_CHECKING)]


def build(program: Program, steps: Sequence[Step]) -> None:
    """Builds steps, and what checks them. Prints one line if anything had to be built."""
    start, count, messages = time.monotonic(), 0, ""
    folder = os.path.relpath(tree.build(), tree.ROOT)
    words = ["make", "run-needs", f"PROGRAM={program.name}", f"BUILD={folder}",
             f"STEP={' '.join(step.name for step in steps)}", f"BACKEND={os.environ['BACKEND']}"]
    with subprocess.Popen(words, cwd=tree.ROOT, env=copies.environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith(f"  {folder}/"):  # a file that is made
                count += 1
                runs.progress(f"building: {count} files")
            else:
                messages += line
    runs.progress("")
    if process.returncode:
        raise SystemExit(messages.rstrip())
    if count:
        print(f"{messages}built {count} files in {time.monotonic() - start:.0f} s", flush=True)


def amount(value: float) -> str:
    """A number with at least two digits, in at most eight characters below ten million."""
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def row(key: Key, got: Mapping[str, Any]) -> str:
    _, step, backend = key
    times = [amount(1000 * got["times"][k]) if got["times"] else "" for k in ("init", "run")]
    speedup, share = got["speedup"], got["share"]
    bar = "#" * min(BAR, 1 + round(math.log2(speedup))) if speedup >= 1 else "-" * bool(speedup)
    result = "verified" if share is None else f"ok, {share:.1f} %"
    return FORM.format(step.name, backend, *times, amount(speedup) if speedup else "", bar,
                       result if got["ok"] else "FAIL").rstrip() + \
        ("" if got["ok"] else f"\n    {got['reason']}")


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


def run_program(program: Program, arguments: Sequence[str], building: bool) -> Outcomes:
    """Runs and verifies all of a program; to begin with, the first step on the first set."""
    steps = [s for s in rungs.selected_steps() if s.has(program)]
    folder = runs.own_folder("run") / program.name
    print(f"{program.name}: {program.title}\n{runs.cpu_name()}", flush=True)
    shown, first = "", {}
    outcomes: Outcomes = {}
    for last in (False, True):
        some = steps if last else steps[:1]
        if building and some:
            build(program, some)
        found = keys(program, some, bool(arguments))
        for key in found:
            name, step, backend = key
            if key in outcomes or not last and name != found[0][0]:
                continue
            if name != shown:
                shown = name
                query = " ".join(re.sub("/.*/", "", word) for word in program.query(name))
                print("\n" + textwrap.shorten(f"{name}: {query}", LINE, placeholder=" ..") +
                      f"\n{HEADER}")
            runs.progress(f"{step.name} {backend} ...")
            got = shortest(key, program, tree.with_arguments(program.query(name), arguments),
                           folder / f"{name}-{step.name}-{backend}")
            outcomes[key], times = got, got["times"]
            if times and not tree.before(step, program):
                first[name] = times["run"]
            got["speedup"] = first[name] / times["run"] if times and name in first else 0
            runs.progress("")
            print(row(key, got), flush=True)
    return outcomes


def summary(program: Program, outcomes: Outcomes) -> None:
    """Prints what the back-ends run on, the fastest of them, and the gap that the last OpenMP
    step filled, if that is one of the jobs."""
    print("\nok, N %: verified; N % of the permitted error was used")
    for backend in dict.fromkeys(backend for _, _, backend in outcomes):
        print(f"{backend}: {runs.device(backend)}"[:LINE])
    found = max(outcomes, key=lambda key: outcomes[key]["speedup"], default=None)
    if found and outcomes[found]["speedup"] > 1:
        name, step, backend = found
        print(f"{step.name} {backend} is {amount(outcomes[found]['speedup'])} times as fast as "
              f"the first step ({name})")
    name = program.mk.get("section", "")
    filled = [key for key in outcomes if key[0] == name and key[2] == "omp"]
    if filled and outcomes[filled[-1]]["ok"]:
        got = outcomes[filled[-1]]
        gap = section.compare(*filled[-1][1:], got["times"]["run"], program.query(name),
                              got["files"]["stack"])
        print(f"\n{gap.text()}\n\n{gap.drawn()}\n")


def main() -> int:
    os.environ["PROGRAM"] = os.environ.get("PROGRAM") or tree.programs()[0].name
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SET", "RUNGS")
    parser.add_argument("--args", default=os.environ.get("ARGS", ""), metavar="ARGS",
                        help="arguments of the query")
    parser.add_argument("--build", action="store_true", help="build before running")
    given = options.parse(parser)
    arguments = options.split("ARGS", given.args)
    ran = failed = 0
    load = machine.Load()
    for program in tree.selected(tree.programs(), "PROGRAM"):
        outcomes = run_program(program, arguments, given.build)
        summary(program, outcomes)
        ran += len(outcomes)
        failed += sum(not got["ok"] for got in outcomes.values())
    if not ran:
        raise SystemExit("make run: nothing to run: expected a BACKEND that the steps have, and "
                         "binaries that are built")
    print(f"{ran - failed} verified, {failed} failed; a first impression: make bench measures")
    if load.foreign() > machine.FOREIGN:
        print(f"Other processes used {100 * load.foreign():.0f} % of the CPU time: "
              "these times are doubtful.")
    if not failed:
        print("Next: make diff STEP=05 PROGRAM=semblance, steps/05_algebra/README.md, make help")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
