"""matrix.py - make verify: every program, step and back-end on every case.

A run passes if
  - the checker accepts its outputs: they are within the error budget of the
    double-precision oracle, and contain the events that the data are known to have;
  - they are within the budget of the first step's outputs, if the program has one;
  - in a step that only refactors, they have the bytes of the earlier step. Not on a GPU:
    its compilers choose anew in each step which multiplications and additions they fuse.
One case runs again with other work-group sizes, other numbers of threads or ranks, other
fractions of the work for the device, and with the OpenCL device treated as a GPU. If not
all outputs are requested when time is measured, every case also runs with those that are.

A back-end of a step that is not built or cannot run here is a failure if it is required.

Prints the largest fraction of the error budget that each back-end used, followed by `=`
if bytes were compared, and the cases in which some values are vacuous: their budgets are so
large that no result could violate them. The exit status is 0 only if everything passed.
Runs one thing at a time.
"""
from __future__ import annotations

import atexit
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tools.base import options, runs, tree
from tools.base.tree import BACKENDS, Output, Program, Step
from tools.history import rungs
from tools.verify import execute, queries

THREADS = (1, 3)
SHARES = (0, 1, 37, 99, 100)
RANKS = (1, 3, 8)
Variant = tuple[str, tuple[str, ...], dict[str, str]]  # name, arguments, environment


class Matrix:
    """The runs of one program; each is done once, when it is first needed."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.first = next(s for s in tree.steps() if s.has(program))
        # Another process may verify the same program.
        self.folder = tree.build() / "matrix" / f"{program.name}-{os.getpid()}"
        self.outcomes: dict[tuple[str, str], execute.Outcome] = {}
        self.checked: dict[str, dict[str, execute.Outcome]] = {}  # by case, by digest
        self.compared: dict[tuple[Any, ...], dict[str, str]] = {}
        self.on_gpu = cache(runs.on_gpu)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)

    def run(self, step: Step, backend: str, case: str, arguments: Sequence[str],
            variant: Variant = ("", (), {}), outputs: Sequence[Output] | None = None
            ) -> execute.Outcome:
        """The outcome of run_and_check(), with `bytes`: whether bytes were compared."""
        label, extra, env = variant
        name = "-".join(filter(None, (step.name, backend, label)))
        if (case, name) in self.outcomes:
            return self.outcomes[case, name]
        runs.progress(f"{self.program.name} {case} {name}")
        outcome = execute.run_and_check(
            step, self.program, backend, arguments, self.folder / case / name, case, env=env,
            extra=extra, outputs=outputs, checked=self.checked.setdefault(case, {}))
        outcome["bytes"] = False
        if outcome["ok"] and outcome["vacuous"] > execute.MAX_VACUOUS:
            outcome.update(ok=False, caught="vacuous", reason=f"{outcome['vacuous']:.2g} % of "
                           f"the values have budgets that no result could violate: expected "
                           f"at most {execute.MAX_VACUOUS} %")
        kernels = [s for s in BACKENDS[backend].sources if s.endswith((".cl", ".cu"))]
        if outcome["ok"] and kernels and not outcome.get("refused") and \
                not (BACKENDS[backend].sides or BACKENDS[backend].launch) and \
                not outcome["times"].get("kernel"):
            outcome.update(ok=False, caught="said", reason="Time_kernel=0: expected the time of "
                           "the kernels of a device")
        self.outcomes[case, name] = outcome
        if outcome["ok"]:
            self.compare_with_first(step, backend, case, arguments, outcome)
        if outcome["ok"] and step.kind(self.program) == "refactor":
            self.compare_bytes(step, backend, case, arguments, outcome)
        return outcome

    def compare_with_first(self, step: Step, backend: str, case: str,
                           arguments: Sequence[str], outcome: execute.Outcome) -> None:
        """Compares the outputs that have a budget with those of the first step."""
        origin = self.first.backends(self.program)[0]
        if (step, backend) == (self.first, origin):
            return
        reference = self.run(self.first, origin, case, arguments)
        for o in self.program.outputs:
            if o.budget is not None and o.key in outcome["files"]:
                self.compare(reference, outcome, o, [f"{o.budget:g}"],
                             f"{self.first.name} {origin}")

    def compare_bytes(self, step: Step, backend: str, case: str, arguments: Sequence[str],
                      outcome: execute.Outcome) -> None:
        earlier = tree.bytes_reference(step, self.program, backend)
        if not earlier or self.on_gpu(backend):
            return
        reference = self.run(*earlier, case, arguments)
        for o in self.program.outputs:
            if o.key in outcome["files"]:
                self.compare(reference, outcome, o, ["0", "norm=bytes"],
                             f"{earlier[0].name} {earlier[1]}")
        outcome["bytes"] = True

    def compare(self, reference: execute.Outcome, outcome: execute.Outcome, output: Output,
                how: list[str], against: str) -> None:
        """Runs BUILD/verify on one output, and notes in outcome if it differs too much.
        Two files that were compared before are not compared again."""
        files = [o["files"][output.key] for o in (reference, outcome)]
        key = (*(execute.digest({"": path}) for path in files), *how)
        if key not in self.compared:
            result = runs.run([tree.build() / "verify", *files, *how])
            lines = (line.strip().split(None, 1) for line in result.out.splitlines())
            values = {line[0]: line[1] for line in lines if len(line) > 1}
            failed = {} if result.status == 0 and 0 <= share_of(values) <= 100 else {
                "failed": values.get("worst", result.failure() or "verify prints no share")}
            self.compared[key] = {**values, **failed}
        values = self.compared[key]
        if "failed" in values:
            outcome.update(ok=False, caught="verify",
                           reason=f"{output.key}.npy against {against}, {how[-1]}: "
                                  f"{values['failed']}")
        elif len(how) == 1:
            outcome["share"] = max(outcome["share"] or 0, share_of(values))


def share_of(values: Mapping[str, str]) -> float:
    """The percent of the budget that BUILD/verify printed."""
    return runs.number(values.get("share", "").removesuffix(" %"))


def variants(program: Program, backend: str) -> list[Variant]:
    """The ways in which one case runs again, by `vary` of common/backends.mk."""
    def of_kind(kind: str) -> list[Variant]:
        kinds: dict[str, list[Variant]] = {
            "threads": [(f"{n}-threads", (), {"OMP_NUM_THREADS": str(n)}) for n in THREADS],
            "ranks": [(f"{n}-ranks", (), {"RANKS": str(n)}) for n in RANKS],
            "shares": [(f"share-{p}", (f"share={p}",), {"OMP_NUM_THREADS": "2"})
                       for p in SHARES],
            "groups": [(group, (group,), {}) for group in program.groups],
            "as-gpu": [("as-gpu", ("share=50",) if "shares" in about.vary else (),
                        {"DEVICE_AS": "gpu"})],
        }
        return kinds[kind]
    about = BACKENDS[backend]
    return [variant for kind in about.vary for variant in of_kind(kind)]


def outcomes_of(matrix: Matrix, step: Step, backend: str, cases: Mapping[str, list[str]]
                ) -> Iterator[tuple[str, execute.Outcome]]:
    """All runs that one back-end of one step has to pass: (name, outcome)."""
    program = matrix.program
    for case, arguments in cases.items():
        yield case, matrix.run(step, backend, case, arguments)
        if program.timed != program.outputs:
            yield f"{case}, timed outputs", matrix.run(
                step, backend, case, arguments, ("timed", (), {}), program.timed)
    case, arguments = next(iter(program.cases.items()))
    for variant in variants(program, backend):
        yield f"{case} {variant[0]}", matrix.run(step, backend, case, arguments, variant)


def cell(outcomes: Sequence[tuple[str, execute.Outcome]]) -> str:
    """What the table says of a back-end."""
    if not all(o["ok"] for _, o in outcomes):
        return "FAIL"
    share = max((o["share"] or 0 for _, o in outcomes), default=0)
    return f"{share:.1f} %" + " =" * all(o["bytes"] for _, o in outcomes)


def verify_program(program: Program, with_sets: bool, first: bool = False
                   ) -> tuple[int, list[str]]:
    """Prints the table of a program. Returns how many runs passed, and the failures; with
    `first`, returns after the first failure."""
    cases = dict(program.cases)
    if with_sets:
        cases.update({f"set{name}": program.sets[name] for name in program.usual})
    matrix = Matrix(program)
    only = os.environ.get("BACKEND", "").split()

    rows, passed, failed, missing = [], 0, [], set()
    for step in rungs.selected_steps():
        available = step.available(program)
        absent = [b for b in step.backends(program) if b not in available]
        missing |= set(absent)
        failed += [f"{step.name} {program.name}-{b}: is not built or cannot run here: "
                   f"expected, unless REQUIRE= names other back-ends"
                   for b in absent if b in required() and (not only or b in only)]
        cells = dict.fromkeys(BACKENDS, "")
        for backend in available:
            if only and backend not in only:
                continue
            outcomes = []
            for named in outcomes_of(matrix, step, backend, cases):
                outcomes.append(named)
                if first and not named[1]["ok"]:
                    return passed, [f"{step.name} {program.name}-{backend} {named[0]}: "
                                    f"{named[1]['reason']}"]
            bad = [(name, o) for name, o in outcomes if not o["ok"]]
            passed += len(outcomes) - len(bad)
            failed += [f"{step.name} {program.name}-{backend} {name}: {o['reason']}"
                       for name, o in bad]
            cells[backend] = cell(outcomes)
        if any(cells.values()):
            rows.append([step.name, step.kind(program), *cells.values()])
    runs.progress("")

    print(f"{program.name}: the largest fraction of the error budget, {len(cases)} cases")
    used = [i for i, column in enumerate(zip(*rows)) if any(column)]
    print(runs.table([[row[i] for i in used]
                      for row in (["step", "kind", *BACKENDS], *rows)] if used else []))
    vacuous = {case: max(o.get("vacuous", 0) for o in digests.values())
               for case, digests in matrix.checked.items() if digests}
    print("values that no result could violate:", ", ".join(
        f"{case} {percent:.2g} %" for case, percent in vacuous.items() if percent) or "none")
    if missing:
        print("not here:", " ".join(b for b in BACKENDS if b in missing))
    return passed, failed


def required() -> set[str]:
    """The back-ends that must be there."""
    wanted = os.environ.get("REQUIRE", "").split()
    if wanted:
        return set() if wanted == ["none"] else set(wanted)
    return {b.name for b in BACKENDS.values() if not {"cuda", "openacc"} & set(b.needs)}


def references() -> list[str]:
    """The binaries whose bytes those of the selected steps must have, as make names them."""
    build = os.environ.get("BUILD", "build")
    only = os.environ.get("BACKEND", "").split()
    needed = {}
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for step in rungs.selected_steps():
            for backend in step.available(program):
                here: tuple[Step, str] | None = (step, backend)
                while here and here[0].kind(program) == "refactor" and \
                        (not only or backend in only):
                    here = tree.bytes_reference(here[0], program, here[1])
                    if here:
                        needed[f"{build}/{here[0].name}/{program.name}-{here[1]}"] = True
    return list(needed)


def main() -> int:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "REQUIRE", "RUNGS")
    parser.add_argument("--sets", action="store_true",
                        help="the sets of make run, too, which take longer")
    parser.add_argument("--first", action="store_true",
                        help="stop after the first failure of each program")
    parser.add_argument("--needs", action="store_true",
                        help="only print what else must be built for the comparisons")
    arguments = options.parse(parser)
    if arguments.needs:
        print(*references())
        return 0
    queries.require_numpy()
    passed, failed = 0, []
    for program in tree.selected(tree.programs(), "PROGRAM"):
        some_passed, some_failed = verify_program(program, arguments.sets,
                                                      arguments.first)
        passed += some_passed
        failed += some_failed
    for line in failed:
        print("FAIL", line)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
