"""coverage.py - make coverage: the lines of the steps that random queries do not execute.

Builds the back-ends that gcc compiles for the host once more, without optimization and
with counters (gcov), in build/coverage, and runs them on random queries; their results are
not checked here. Prints the lines of steps/*/*/{body.h,cpu.c} that no query has executed
(gcovr); the exit status is 0 only if there are none. Code that only devices run is not counted.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.base import copies, options, runs, tree
from tools.base.tree import BACKENDS, FOR_CHECKING, Program, Step
from tools.history import rungs
from tools.verify import execute, queries, random_queries

COUNT = 60  # queries per program; their seed is COVERAGE of the queries' module, or 1
FLAGS = "--coverage -fprofile-update=atomic"
FILES = r"body\.h|cpu\.c"


def binaries(program: Program, steps: Sequence[Step]) -> list[tuple[Step, str, Path]]:
    return [(step, name, step.binary(program, name)) for step in steps
            for name in step.backends(program)
            if "cpu.c" in BACKENDS[name].sources and name not in FOR_CHECKING
            and BACKENDS[name].compiler != "NVCC"]


def run_all(program: Program, steps: Sequence[Step], seed: str, number: int,
            folder: Path) -> int:
    """Runs a query on all binaries. Returns how many runs failed."""
    failed = 0
    query = queries.drawn(program, seed, number, folder)
    for step, backend, _ in binaries(program, steps):
        if not query.has(backend):
            continue
        variations = [random_queries.variation(backend, f"{seed}-{number}")]
        if "shares" in BACKENDS[backend].vary:  # the device must not have all of the work
            variations.append((("share=0",), {}))
        for extra, env in variations:
            outcome = execute.produce(
                step, program, backend, query.arguments, folder / f"{step.number}-{backend}",
                {**query.env, **env}, extra=extra,
                outputs=program.timed if query.timed else None)
            if not outcome["ok"]:
                failed += 1
                print(f"FAIL {program.name} {seed} {number} {step.name} {backend}: "
                      f"{outcome['reason']}", flush=True)
    shutil.rmtree(folder)
    return failed


def report(build: Path, steps: Sequence[Step], programs: Sequence[Program]) -> tuple[int, int]:
    """Prints the lines that were not executed. Returns (executed, not executed)."""
    places = [f"steps/{s.name}/{p.name}/" for s in steps for p in programs]
    done = subprocess.run(
        ["gcovr", "--root", ".", *(f"--filter={place}({FILES})$" for place in places), build],
        cwd=tree.ROOT, capture_output=True, text=True)
    found = re.search(r"^TOTAL +(\d+) +(\d+)", done.stdout, re.M)
    if done.returncode or not found:
        raise SystemExit(f"gcovr: {done.stderr.strip()}")
    for file, missing in re.findall(r"^(steps/\S+) .*% +(\S+)$", done.stdout, re.M):
        print(f"{file}: never executed: {missing}")
    return int(found[2]), int(found[1]) - int(found[2])


def main() -> int:
    arguments = options.parse(options.parser(__doc__, "STEP", "PROGRAM", "SEED", "COUNT"))
    queries.require_numpy()
    steps = rungs.selected_steps()
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if queries.module(p)]
    build = tree.build() / "coverage"
    shutil.rmtree(build, ignore_errors=True)
    folder = build.relative_to(tree.ROOT)
    os.environ["BUILD"] = str(folder)

    problem = copies.make(f"BUILD={folder}", "NVCC=", "CC=gcc", "CCACHE=", "OPT=-O0",
                          f"EXTRA={FLAGS}", *(path.relative_to(tree.ROOT) for p in programs
                                              for _, _, path in binaries(p, steps)))
    if problem:
        raise SystemExit(problem)
    jobs = [(p, steps, arguments.seed or getattr(queries.module(p), "COVERAGE", "1"), i,
             build / "random" / f"{p.name}-{i}")
            for i in range(int(arguments.count or COUNT)) for p in programs]
    with ThreadPoolExecutor(runs.processors()) as pool:
        failed = sum(pool.map(lambda job: run_all(*job), jobs))

    executed, missed = report(build, steps, programs)
    print(f"{executed} lines executed, {missed} not")
    print(f"{executed} passed, {missed + failed} failed")
    return 1 if missed or failed or not executed else 0


if __name__ == "__main__":
    sys.exit(main())
