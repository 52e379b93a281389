"""mutants.py - make mutants: planted bugs, each of which verification must detect.

A mutant is a patch of the tree, verify/mutants/PROGRAM/NAME.patch, whose first line says
which binary it changes and how:

    # step 07 backend omp: the first trace is dropped
    # step 07 backend omp random: tau of 101 samples is taken for 100
    # step 10 backend omp tests/test_section_oracle.py: counts are truncated
    # step 00 backend seq tests/test_npy.py::test_header: any version is read
    # step 10 backend omp needs avx512: the second of two vectors is dropped

The tree is copied, the patch applied there, the binary built and run on the cases of
make verify until one is rejected: by the checker, by the program's own checks, or because
it crashes or hangs. `random` means that no case detects the bug: at most 300 random
queries follow, always the same ones. `needs` names a property of the machine (NEEDS): the
mutant is built for it, whatever ARCH= is, and skipped if the processor does not have it.
The cases run as on one machine (MACHINE), whichever this one is. A mutant that passes all of
them is a failure, and so is a patch that does not apply or does not compile. A patch of
common/ changes the checker, too, if that shares the file. As a control, the unchanged
binaries must pass the cases that detected their mutants.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.history import copies, options, runs, tree
from tools.history.tree import BACKENDS, Program, Step
from tools.verify import execute, queries

TIMEOUT = 60  # seconds per run: the slowest correct one takes less than one
RANDOM = 300  # queries
HEADER = re.compile(r"# step (\S+) backend (\S+?)( needs \S+)?( random)?( tests/\S+)?: (.+)")
# {property: (flag of /proc/cpuinfo, the variable of make that builds for it)}
NEEDS = {"avx512": ("avx512f", "ARCH=-march=native"), "avx2": ("avx2", "ARCH=-march=x86-64-v3")}
# The cores and the L2 cache that binaries find. Each rank of MPI has one thread.
MACHINE = {"PROCESSORS": "2", "OMP_NUM_THREADS": "2", "POCL_MAX_PTHREAD_COUNT": "2",
           "CACHE_L2": "1048576"}
# A case of the program, the number of a random query, or a test.
Case = str | int | Path


class Mutant:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem
        lines = path.read_text().splitlines()
        header = HEADER.match(lines[0]) if lines else None
        if not header:
            raise SystemExit(f"{path}:1: expected # step NN backend NAME: the bug")
        number, self.backend, needs, self.random, test, self.about = header.groups()
        self.needs = (needs or " needs ").removeprefix(" needs ")
        if self.needs and self.needs not in NEEDS:
            raise SystemExit(f"{path}:1: needs: unknown ({self.needs}): expected one of "
                             f"{' '.join(NEEDS)}")
        self.flag, make = NEEDS.get(self.needs, ("", ""))
        self.make = make.split()
        self.test = tree.ROOT / test.strip() if test else None
        named = [s for s in tree.steps() if number in (s.number, s.name)]
        if not named:
            raise SystemExit(f"{path}:1: there is no step {number}")
        self.step = named[0]
        self.files = [line[6:].split("\t")[0] for line in lines
                      if line.startswith("+++ b/")]

    @property
    def target(self) -> tuple[Step, str]:
        return self.step, self.backend


def sample(mutants: Sequence[Mutant]) -> list[Mutant]:
    """For each back-end, the mutant of the last step that a case detects; for each file of
    tests, one that a test of it detects."""
    last = {}
    for m in sorted((m for m in mutants if not m.random), key=lambda m: m.step.number):
        last[str(m.test).partition("::")[0] if m.test else m.backend] = m
    return [m for m in mutants if m in last.values()]


def test_rejection(copy: copies.Copy, program: Program, step: Step, backend: str, test: Path
                   ) -> execute.Outcome | None:
    """How a test, which needs the first step and the checker, too, rejects the binaries of a
    copy."""
    wanted = [copy.binary(program, step, backend),
              copy.binary(program, tree.steps()[0], "seq")]
    # Unit tests that it runs.
    text = Path(str(test).partition("::")[0]).read_text()
    units = [path.stem for path in tree.ROOT.glob("tests/*_test.c") if path.stem in text]
    if units and not (copy.folder / "tests").exists():
        (copy.folder / "tests").symlink_to(tree.ROOT / "tests")
    wanted += [copy.folder / "build" / "tests" / name for name in units]
    # The test also runs what else is there: binaries of other mutants.
    for path in (copy.folder / "build").glob(f"*/{program.name}-*"):
        if path.is_file() and path not in wanted:
            path.unlink()
    problem = copy.make(*wanted, copy.folder / "build" / program.checker().name)
    if problem:  # what a test needs must build with each mutant
        raise SystemExit(f"{test}: {problem}")
    data = copy.folder / "build" / "data"
    if not data.exists():
        data.symlink_to(tree.build().absolute() / "data")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test],
        cwd=tree.ROOT, env={**os.environ, "BUILD": str((copy.folder / "build").absolute())},
        capture_output=True, text=True, timeout=100 * TIMEOUT)
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        raise SystemExit(f"{test}: pytest ended with {done.returncode}: {done.stdout[-500:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return {"ok": False, "caught": "test", "reason": failed[0] if failed else "failed"}


def rejection(copy: copies.Copy, program: Program, step: Step, backend: str, case: Case,
              binary: Path | None = None, checker: Path | None = None
              ) -> execute.Outcome | None:
    """How a case is rejected; None if it passes."""
    folder = copy.folder / "outputs"
    env = {**MACHINE, **({"OMP_NUM_THREADS": "1"} if BACKENDS[backend].launch else {})}
    if isinstance(case, Path):
        return test_rejection(copy, program, step, backend, case)
    if isinstance(case, int):
        query = queries.drawn(program, "mutants", case, folder / f"data-{case}")
        if not query.has(backend):
            return None
        arguments, env, name = query.arguments, {**env, **query.env}, f"random-{case}"
    else:
        arguments, name = program.cases[case], case
    for outputs in (program.outputs, program.timed):
        outcome = execute.run_and_check(step, program, backend, arguments, folder, name, env=env,
                                     timeout=TIMEOUT, binary=binary, checker=checker,
                                     outputs=outputs)
        if not outcome["ok"]:
            return outcome
        if program.timed == program.outputs:
            break
    return None


def try_mutant(copy: copies.Copy, program: Program, mutant: Mutant) -> tuple[Case | None, str]:
    """(the case that detects it or None, what happened)."""
    problem = copy.apply(mutant.path)
    if problem:
        return None, f"the patch does not apply: {problem}"
    binary = copy.binary(program, *mutant.target)
    checker: Path | None = None
    if any(name.startswith("common/") for name in mutant.files):
        checker = copy.folder / "build" / program.checker().name
    problem = copy.make(binary, *([checker] if checker else []), words=mutant.make)
    if problem:
        return None, f"does not compile: {problem}"
    cases: list[Case] = [*program.cases, *(range(RANDOM) if mutant.random else [])]
    if mutant.test:
        cases = [mutant.test]
    for case in cases:
        outcome = rejection(copy, program, *mutant.target, case, binary, checker)
        if outcome:
            by = "" if outcome["caught"] != "check" else "check: "
            if isinstance(case, Path):
                return case, outcome["reason"]
            return case, f"{case}: {by}{outcome['reason']}"
    return None, "SURVIVES"


def try_program(program: Program, mutants: Sequence[Mutant], controls: bool
                ) -> tuple[int, int]:
    """Prints a line for each mutant and each control. Returns how many passed and failed."""
    copy = copies.Copy(tree.build() / "mutants" / program.name, built=True)
    results: list[bool] = []
    detected_by: dict[tuple[Step, str], set[Case]] = {}

    def report(passed: bool, *words: str) -> None:
        results.append(passed)
        runs.progress("")
        print("ok  " if passed else "FAIL", *words, flush=True)

    width = max(len(m.name) for m in mutants)
    for mutant in mutants:
        place = f"{mutant.name:{width}} {mutant.step.number} {mutant.backend:8}"
        if mutant.backend not in mutant.step.available(program):
            print("    ", place, "not built here")
            continue
        if mutant.flag and not runs.processor_has(mutant.flag):
            print("    ", place, f"skipped: the planted bugs that need {mutant.needs}")
            continue
        runs.progress(f"{mutant.name}: {mutant.about}")
        try:
            case, what = try_mutant(copy, program, mutant)
        finally:
            copy.restore(mutant.files)
        report(case is not None, place, what if case is not None
               else f"{what} ({mutant.about})")
        if case is not None:
            detected_by.setdefault(mutant.target, set()).add(case)

    for (step, backend), cases in sorted(detected_by.items() if controls else (),
                                         key=lambda c: c[0][0].name):
        runs.progress(f"control {step.name} {backend}")
        bad = {case: rejection(copy, program, step, backend, case) for case in cases}
        report(not any(bad.values()), f"control {step.number} {backend}",
               *(f"{case}: {o['reason']}" for case, o in bad.items() if o))
    return sum(results), len(results) - sum(results)


def main() -> int:
    parser = options.parser(__doc__, "PROGRAM")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--chosen", action="store_true",
                        help="a sample: one per back-end and per file of tests, of each "
                        "program; without controls, which make test runs anyway")
    arguments = options.parse(parser)
    queries.require_numpy()
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        folder = tree.ROOT / "verify" / "mutants" / program.name
        mutants = [Mutant(p) for p in sorted(folder.glob("*.patch"))]
        if arguments.names:
            mutants = [m for m in mutants if m.name in arguments.names]
        if arguments.chosen:
            mutants = sample(mutants)
        if mutants:
            some_passed, some_failed = try_program(program, mutants, not arguments.chosen)
            passed, failed = passed + some_passed, failed + some_failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
