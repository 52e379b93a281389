"""mutants.py - make mutants: planted bugs, each of which verification must detect.

A mutant is a patch of the tree, verify/mutants/PROGRAM/NAME.patch, in git's mail format,
like a rung (tools/history/patches.py). Its subject says what is wrong. Its trailers:

    Step:       the step whose binary it changes, as 07
    Backends:   the back-end whose binary it changes
    Found-by:   what detects it: `cases`, those of make verify; `random`, which means that
                no case detects it, but one of at most 300 random queries, always the same
                ones; or a test, as tests/test_npy.py
    Class:      one of CLASSES
    Needs:      a property of the machine (NEEDS): the binary is built for it, whatever
                ARCH= is, and the mutant is skipped if the processor does not have it

The tree is copied, the patch applied there, the binary built and run on what detects the
bug until one run is rejected: by the checker, by the program's own checks, or because it
crashes or hangs. A mutant that passes is a failure, and so is a patch that does not apply
or does not compile. A patch of common/ changes the checker, too, if that shares the file.
The cases run as on one machine (MACHINE), whichever this one is. As a control, the unchanged
binaries must pass the cases that detected their mutants.
"""
from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.helpers import seed
from tools.base import copies, options, runs, tree
from tools.history import patches
from tools.base.tree import BACKENDS, Program, Step
from tools.verify import execute, queries

TIMEOUT = 60  # seconds per run: the slowest correct one takes less than one
RANDOM = 300  # queries
CHOSEN = 5  # seconds of processor time per program; the last mutant may take 30 more
# {property: (flag of /proc/cpuinfo, the variable of make that builds for it)}
NEEDS = {"avx512": ("avx512f", "ARCH=-march=native"), "avx2": ("avx2", "ARCH=-march=x86-64-v3")}
# The cores and the L2 cache that binaries find. Each rank of MPI has one thread.
MACHINE = {"PROCESSORS": "2", "OMP_NUM_THREADS": "2", "POCL_MAX_PTHREAD_COUNT": "2",
           "CACHE_L2": "1048576"}
CLASSES = {
    "checker": "what a checker may overlook: a single NaN, memory that is never written",
    "format": "the rules of a file or of a command line",
    "halo": "ghost zones, halos, and other elements that belong to a neighbour",
    "header": "the headers of output traces",
    "journal": "what a resumed job finds",
    "key": "a hash that does not depend on all that it should",
    "large": "wrong only beyond a size",
    "padding": "alignment, padding, the last vector of a row, the last block of a launch",
    "race": "a missing barrier, wait or private buffer",
    "rank": "an error or a difference of one rank",
    "rounding": "values that are rounded, or trusted although they are not exact",
    "shape": "wrong only for one shape of input",
    "share": "the cut between device and host, ranks, threads or blocks",
    "skip": "work that is left out: bounds, convergence, sleeping tiles",
    "stale": "values of an earlier call, pass, batch, step or trace",
    "tie": "which of several equal values is taken",
}
# A case of the program, the number of a random query, or a test.
Case = str | int | Path


class Mutant:
    def __init__(self, path: Path) -> None:
        patch = patches.read(path)
        patch.check("Step", "Backends", "Found-by", "Class", "Needs")
        self.path, self.name, self.about = path, path.stem, patch.subject

        def trailer(key: str, expected: str, values: Iterable[str]) -> str:
            value = patch.trailers.get(key, "")
            if value not in values:
                raise SystemExit(f"{tree.display(path)}: {key}: wrong value ({value}): expected "
                                 f"{expected}")
            return value

        steps = {s.number: s for s in tree.steps()}
        self.step = steps[trailer("Step", "the number of a step", steps)]
        self.backend = trailer("Backends", "one back-end", BACKENDS)
        self.needs = trailer("Needs", f"one of {' '.join(NEEDS)}", ("", *NEEDS))
        self.flag, self.make = NEEDS.get(self.needs, ("", ""))
        self.kind = trailer("Class", "one of CLASSES in tests/mutants.py", CLASSES)
        found_by = patch.trailers.get("Found-by", "")
        self.test = tree.ROOT / found_by if found_by.startswith("tests/") else None
        named = [found_by] if self.test and Path(tree.ROOT, found_by.split("::")[0]).is_file() \
            else []
        self.random = trailer("Found-by", "cases, random or a test",
                              ("cases", "random", *named)) == "random"
        self.files = list(patches.sizes(path))

    @property
    def target(self) -> tuple[Step, str]:
        return self.step, self.backend


def of(program: Program) -> list[Mutant]:
    folder = tree.ROOT / "verify" / "mutants" / program.name
    return [Mutant(path) for path in sorted(folder.glob("*.patch"))]


def drawn(mutants: Sequence[Mutant], seed: str) -> list[Mutant]:
    """Those that a case detects however the threads run, in an order drawn by lot."""
    certain = [m for m in mutants if not m.test and not m.random and m.kind != "race"]
    return random.Random(seed).sample(certain, len(certain))


def processor_time() -> float:
    """Seconds of this process and of all those that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


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
    # How a hybrid divides the work depends on time: half of it is for the device, too.
    shares: list[tuple[str, ...]] = [(), *[("share=50",)] * bool(BACKENDS[backend].sides)]
    for share in shares:
        for outputs in (program.outputs, program.timed):
            outcome = execute.run_and_check(
                step, program, backend, arguments, folder, name, env=env, timeout=TIMEOUT,
                binary=binary, checker=checker, outputs=outputs, extra=share)
            if not outcome["ok"]:
                return outcome
            if program.timed == program.outputs:
                break
    return None


def try_mutant(copy: copies.Copy, program: Program, mutant: Mutant) -> tuple[Case | None, str]:
    """(the case that detects it or None, what happened)."""
    problem = patches.apply(mutant.path, copy.folder)
    if problem:
        return None, problem
    binary = copy.binary(program, *mutant.target)
    checker: Path | None = None
    if any(name.startswith("common/") for name in mutant.files):
        checker = copy.folder / "build" / program.checker().name
    problem = copy.make(binary, *([checker] if checker else []), words=mutant.make.split())
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


def try_program(program: Program, mutants: Sequence[Mutant], controls: bool,
                seconds: float = float("inf")) -> tuple[int, int]:
    """Prints a line for each mutant and each control. Starts no mutant after so many seconds
    of processor time. Returns how many passed and failed."""
    end = processor_time() + seconds
    copy = copies.Copy(tree.build() / "mutants" / program.name, built=True)
    results: list[bool] = []
    detected_by: dict[tuple[Step, str], set[Case]] = {}

    def report(passed: bool, *words: str) -> None:
        results.append(passed)
        runs.progress("")
        print("ok  " if passed else "FAIL", *words, flush=True)

    width = max(len(m.name) for m in mutants)
    for mutant in mutants:
        if results and processor_time() > end:
            break
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
                        help=f"a sample, drawn by lot, of the mutants that cases detect: of each "
                        f"program, as many as {CHOSEN} seconds of processor time permit; without "
                        f"controls, which make test runs anyway")
    parser.add_argument("--seed", default=seed("SEED"), help="of the lot")
    arguments = options.parse(parser)
    queries.require_numpy()
    if arguments.chosen:
        print(f"--seed {arguments.seed}")
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        mutants = of(program)
        if arguments.names:
            mutants = [m for m in mutants if m.name in arguments.names]
        if arguments.chosen:
            mutants = drawn(mutants, arguments.seed)
        if mutants:
            some_passed, some_failed = try_program(
                program, mutants, not arguments.chosen,
                CHOSEN if arguments.chosen else float("inf"))
            passed, failed = passed + some_passed, failed + some_failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
