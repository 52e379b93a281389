"""random_queries.py - make verify-random: every step and back-end on random queries.

A query passes on a back-end if
  - the checker, which has the double-precision oracle, accepts its files;
  - the values that it prints agree with its files and arguments (tools/verify/queries);
  - in a step that only refactors, its files have the bytes of the earlier step, unless
    the query has several right answers.
The number of threads, and the processors and the L2 cache that a program believes in, vary.
Files that several back-ends write alike are checked once. The queries that were kept from
earlier failures run first. For a query that fails, the command that repeats it is printed,
and the query is kept in verify/kept/PROGRAM, unless BACKEND= is set. Several queries run
at a time.

SAN=1 runs the back-ends with AddressSanitizer and UBSan, built for three vector widths;
SAN=native only with the widest vectors that this processor has, and CUDA code on the CPU of
the last step only. Of the back-ends but seq and omp, some of the steps run a query
(tools/verify/sanitize.py).
"""
from __future__ import annotations

import os
import random
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tools.base import options, runs, tree
from tools.base.tree import BACKENDS, Program, Step
from tools.history import rungs
from tools.verify import execute, queries
from tools.verify.sanitize import REPORTED, Sanitized

FOUND = re.compile(r"AddressSanitizer: .*? on |LeakSanitizer: .*|runtime error: .*")
COUNT = 500  # queries, distributed cyclically among the programs
# The most queries that may be vacuous, as after a force so large that float determines no
# digit of a fluid: then execute.MAX_VACUOUS of the values, or more, have budgets that no
# result could violate. Only FEW queries or more are judged.
MAX_VACUOUS, FEW = 0.1, 20


def variation(backend: str, name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """(arguments, variables) that vary how a back-end runs: the fraction of the device, the
    number of ranks and threads, and the machine that it finds, which may have a GPU. The name
    of the query determines them."""
    draw = random.Random(f"{backend} {name}")
    vary = BACKENDS[backend].vary
    arguments: tuple[str, ...] = ()
    # Threads that spin at barriers, more of them than cores, would take most of the time.
    env = {"OMP_WAIT_POLICY": "passive", "PROCESSORS": draw.randint(1, 9),
           "CACHE_L2": draw.choice((1, 3000, 20000, 2**20, 2**31 - 1))}
    if "shares" in vary:
        arguments = "share=" + draw.choice(("auto", "0", "100", str(draw.randint(1, 99)))),
        env["OMP_NUM_THREADS"] = draw.randint(1, 3)
    if "ranks" in vary:
        env.update(RANKS=draw.choice((1, 2, 2, 3, 5, 8)), OMP_NUM_THREADS=draw.choice((1, 1, 2, 3)))
    if "threads" in vary:
        env["OMP_NUM_THREADS"] = draw.randint(1, 7)
    if backend == "ocl":
        env["POCL_MAX_PTHREAD_COUNT"] = draw.randint(1, 7)
    if "opencl" in (BACKENDS[backend].device, *BACKENDS[backend].needs):
        env["DEVICE_AS"] = draw.choice(("gpu", "cpu", "cpu"))
    return arguments, {key: str(value) for key, value in env.items()}


def failures(program: Program, query: queries.Query, folder: Path, name: str,
             steps: Sequence[Step], backends: Sequence[str] = (),
             sanitized: Sanitized | None = None,
             checked: dict[str, execute.Outcome] | None = None
             ) -> Iterator[tuple[Step, str, str | None]]:
    """Runs a query on all back-ends. Yields (step, back-end, what is wrong or None). `checked`
    receives the results of the checker, by the digest of the files."""
    checked = {} if checked is None else checked
    digests: dict[tuple[Step, str], str] = {}
    for step in steps:
        for backend in (sanitized.backends(step, program, name) if sanitized else
                        step.available(program)):
            if not query.has(backend) or (backends and backend not in backends):
                continue
            extra, env = variation(backend, f"random-{name}")
            binary = None
            if sanitized:
                binary, more = sanitized.choose(step, program, backend, f"random-{name}")
                env = {**env, **more}
            outcome = execute.run_and_check(
                step, program, backend, query.arguments, folder / f"{step.number}-{backend}",
                f"random-{name}", {**query.env, **env}, binary=binary, extra=extra,
                outputs=program.timed if query.timed else None, checked=checked)
            reason = None if outcome["ok"] else outcome["reason"]
            # A report counts whichever exit status the program had.
            report = outcome["result"].out + outcome["result"].err
            if sanitized and REPORTED.search(report):
                found = FOUND.search(report)
                reason = found[0] if found else "a sanitizer reports an error"
            elif outcome["ok"] and not outcome.get("refused"):
                mark = execute.digest(outcome["files"], query.arguments)
                digests[step, backend] = mark
                earlier = tree.bytes_reference(step, program, backend)
                if earlier and step.kind(program) == "refactor" and not query.free and \
                        digests.get(earlier, mark) != mark and not runs.on_gpu(backend):
                    reason = f"not the bytes of {earlier[0].name} {earlier[1]}"
            yield step, backend, reason


class Search:
    """The queries of one seed, and their results."""

    def __init__(self, seed: str, san: str) -> None:
        self.seed = seed
        self.options = f" SAN={san}" * bool(san)
        self.sanitized = Sanitized(every_width=san != "native") if san else None
        self.steps = rungs.selected_steps()
        self.backends = os.environ.get("BACKEND", "").split()
        self.folder = tree.build() / "random" / f"{seed}{san}"
        self.passed, self.failed, self.queries, self.vacuous = 0, 0, 0, 0
        self.lock = threading.Lock()

    def run(self, program: Program, name: str, query: queries.Query, folder: Path,
            command: str) -> bool:
        """Runs one query, and prints it if it fails. Returns whether it passed."""
        bad = []
        checked: dict[str, execute.Outcome] = {}
        for step, backend, reason in failures(program, query, folder, name, self.steps,
                                              self.backends, self.sanitized, checked):
            with self.lock:
                self.passed += not reason
                self.failed += bool(reason)
            if reason:
                bad.append((step, backend, reason))
        with self.lock:
            self.queries += 1
            self.vacuous += any(c["vacuous"] > execute.MAX_VACUOUS for c in checked.values())
            if bad:
                runs.progress("")
                step, backend, reason = bad[0]
                print(f"FAIL {program.name} {name}: {step.name} {backend}: {reason}")
                others = " ".join(f"{s.number}-{b}" for s, b, _ in bad[1:])
                print(f"     also in {others}\n" * bool(others) + f"     {command}",
                      flush=True)
            else:
                runs.progress(f"{self.queries} queries, {self.passed} runs passed, "
                              f"{self.failed} failed")
        return not bad

    def kept(self, program: Program) -> None:
        for name, query in queries.kept(program).items():
            folder = self.folder / f"{program.name}-kept-{name}"
            folder.mkdir(parents=True, exist_ok=True)
            self.run(program, name, query, folder,
                     f"make verify-random COUNT=0 PROGRAM={program.name}{self.options}")

    def drawn(self, program: Program, number: int) -> None:
        name = f"{self.seed}-{number}"
        folder = self.folder / f"{program.name}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        data = folder / "data"
        query = queries.drawn(program, self.seed, number, data)
        command = f"make verify-random SEED={self.seed} NUMBER={number} " \
                  f"PROGRAM={program.name}{self.options}"
        if self.run(program, name, query, folder, command):
            shutil.rmtree(folder)
        elif not self.backends:
            kept = queries.keep(program, name, query, data)
            print(f"     kept in {kept.relative_to(tree.ROOT)}", flush=True)
        for path in (tree.build() / "oracle" / program.name).glob(f"random-{name}-*"):
            path.unlink()


def main() -> int:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SEED", "COUNT", "SECONDS",
                            "NUMBER", "SAN", "RUNGS")
    parser.add_argument("--first", action="store_true",
                        help="start no query after the first failure")
    arguments = options.parse(parser)
    queries.require_numpy()
    seed = arguments.seed or str(int(time.time()))
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if queries.module(p)]
    search = Search(seed, arguments.san)
    end = time.monotonic() + float(arguments.seconds or 1e9)
    jobs: list[tuple[Callable[..., None], Any]] = []
    if arguments.number:
        jobs += [(search.drawn, (p, int(arguments.number))) for p in programs]
    else:
        jobs += [(search.kept, (p,)) for p in programs]
        jobs += [(search.drawn, (programs[i % len(programs)], i // len(programs)))
                 for i in range(int(arguments.count or COUNT))]

    def run(job: tuple[Callable[..., None], Any]) -> None:
        if time.monotonic() < end and not (arguments.first and search.failed):
            job[0](*job[1])

    with ThreadPoolExecutor(runs.processors()) as pool:
        list(pool.map(run, jobs))
    runs.progress("")
    print(f"SEED={seed}: {search.queries} queries, {search.vacuous} vacuous")
    if search.queries >= FEW and search.vacuous > MAX_VACUOUS * search.queries:
        search.failed += 1
        print(f"FAIL {search.vacuous} queries are vacuous: expected at most "
              f"{MAX_VACUOUS:.0%}")
    print(f"{search.passed} passed, {search.failed} failed")
    return 1 if search.failed or not search.passed else 0


if __name__ == "__main__":
    sys.exit(main())
