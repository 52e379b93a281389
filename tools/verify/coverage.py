"""coverage.py - make coverage: the lines of the steps that random queries do not execute.

Builds the back-ends that gcc compiles for the host once more, without optimization and
with counters (gcov), in build/coverage, and runs them on random queries; their results are
not checked here. Prints the lines of steps/*/*/{body.h,cpu.c} that no query has executed;
the exit status is 0 only if there are none. Code that only devices run is not counted.
"""
from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.history import copies, options, runs, tree
from tools.history.tree import BACKENDS, FOR_CHECKING, Program, Step
from tools.verify import execute, queries, random_queries

COUNT = 60  # queries per program; their seed is COVERAGE of the queries' module, or 1
FLAGS = "--coverage -fprofile-update=atomic"
FILES = ("body.h", "cpu.c")


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


def counted(build: Path) -> dict[str, dict[int, int]]:
    """{file: {line: number of executions, in all binaries}}"""
    lines: dict[str, dict[int, int]] = {}
    for notes in build.rglob("*.gcda"):
        text = subprocess.run(["gcov", "--json-format", "--stdout", notes.resolve()],
                              cwd=notes.parent.resolve(), capture_output=True,
                              check=True).stdout
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
        for line in text.splitlines():
            for file in json.loads(line)["files"]:
                counts = lines.setdefault(file["file"], {})
                for at in file["lines"]:
                    number = at["line_number"]
                    counts[number] = counts.get(number, 0) + at["count"]
    return lines


def report(build: Path, steps: Sequence[Step], programs: Sequence[Program]) -> tuple[int, int]:
    """Prints the lines that were not executed. Returns (executed, not executed)."""
    lines, executed, missed = counted(build), 0, 0
    for path in (s.folder / p.name / f for s in steps for p in programs for f in FILES):
        if not path.exists():
            continue
        name = str(path.relative_to(tree.ROOT))
        text = path.read_text().splitlines()
        for number, times in sorted(lines.get(name, {0: 0}).items()):
            executed += times > 0
            missed += times == 0
            if times == 0:
                shown = text[number - 1].strip() if number else "not compiled"
                print(f"{name}:{number}: never executed: {shown}")
    return executed, missed


def main() -> int:
    arguments = options.parse(options.parser(__doc__, "STEP", "PROGRAM", "SEED", "COUNT"))
    queries.require_numpy()
    steps = tree.selected(tree.steps(), "STEP")
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
