"""mutants.py - make mutants: planted bugs, which verification must catch, every one.

    mutants.py [--chosen] [NAME ...]

    all of verify/mutants/PROGRAM/*.patch, or those named; PROGRAM= as make's
    --chosen    of each back-end of a program one, always the same

A mutant is a patch of the tree whose first line says which binary it spoils and how:

    # step 07 backend omp: the first trace is dropped
    # step 07 backend omp random: tau of 101 samples is taken for 100

The tree is copied, the patch applied there, the binary built and run on the cases of
make verify until one is rejected: by the checker, by the program's own checks, or
because it crashes or hangs. `random` says that no case reaches it: random queries follow,
always the same ones, %d at most. A mutant that passes all of them is a failure, and so is
a patch that no longer applies or does not compile. A patch of common/ spoils the checker
too, if that shares what it touches. The control are the tree's own binaries: they must
pass what caught a mutant of theirs.
"""
import re
import sys

from tools.history import copies, runs, tree
from tools.verify import queries

TIMEOUT = 20  # seconds a run: the slowest right one takes under one
RANDOM = 300  # queries
HEADER = re.compile(r"# step (\S+) backend (\S+?)( random)?: (.+)")
__doc__ %= RANDOM


class Mutant:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        lines = path.read_text().splitlines()
        header = HEADER.match(lines[0]) if lines else None
        if not header:
            raise SystemExit(f"{path}:1: expected # step NN backend NAME: the bug")
        number, self.backend, self.random, self.about = header.groups()
        named = [s for s in tree.steps() if number in (s.number, s.name)]
        if not named:
            raise SystemExit(f"{path}:1: there is no step {number}")
        self.step = named[0]
        self.files = [line[6:].split("\t")[0] for line in lines
                      if line.startswith("+++ b/")]

    def spoils(self):
        return self.step, self.backend


def chosen(mutants):
    """The last of each back-end that a case reaches: the later steps have more to spoil."""
    last = {}
    for m in sorted((m for m in mutants if not m.random), key=lambda m: m.step.number):
        last[m.backend] = m
    return [m for m in mutants if m in last.values()]


def rejected(copy, program, step, backend, case, binary=None, checker=None):
    """How a case is rejected, a dict; None if it passes. A case is one of the program's,
    or the number of a random query."""
    folder, env = copy.folder / "outputs", None
    if isinstance(case, int):
        query = queries.drawn(program, "mutants", case, folder / f"data-{case}")
        if not query.has(backend):
            return None
        words, env, case = query.words, query.env, f"random-{case}"
    else:
        words = program.cases[case]
    for outputs in (program.outputs, program.timed):
        outcome = runs.run_and_check(step, program, backend, words, folder, case, env=env,
                                     timeout=TIMEOUT, binary=binary, checker=checker,
                                     outputs=outputs)
        if not outcome["ok"]:
            return outcome
        if program.timed == program.outputs:
            break
    return None


def try_mutant(copy, program, mutant):
    """(the case that caught it or None, what happened)."""
    problem = copy.apply(mutant)
    if problem:
        return None, f"the patch does not apply: {problem}"
    binary = copy.binary(program, *mutant.spoils())
    checker = None
    if any(name.startswith("common/") for name in mutant.files):
        checker = copy.folder / "build" / program.checker().name
    problem = copy.make(binary, *([checker] if checker else []))
    if problem:
        return None, f"does not compile: {problem}"
    for case in [*program.cases, *(range(RANDOM) if mutant.random else [])]:
        outcome = rejected(copy, program, *mutant.spoils(), case, binary, checker)
        if outcome:
            by = "" if outcome["caught"] != "check" else "check: "
            return case, f"{case}: {by}{outcome['reason']}"
    return None, "SURVIVES"


def try_program(program, mutants):
    """Prints a line for each mutant and each control: how many passed and failed."""
    copy = copies.Copy(tree.build() / "mutants" / program.name, built=True)
    passed, failed = 0, 0
    caught_by = {}  # (step, back-end): the cases

    def say(good, *words):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        runs.progress("")
        print("ok  " if good else "FAIL", *words, flush=True)

    width = max(len(m.name) for m in mutants)
    for mutant in mutants:
        place = f"{mutant.name:{width}} {mutant.step.number} {mutant.backend:8}"
        if mutant.backend not in mutant.step.available(program):
            print("    ", place, "not built here")
            continue
        runs.progress(f"{mutant.name}: {mutant.about}")
        try:
            case, what = try_mutant(copy, program, mutant)
            say(case is not None, place, what if case is not None
                else f"{what} ({mutant.about})")
            if case is not None:
                caught_by.setdefault(mutant.spoils(), set()).add(case)
        finally:
            copy.restore(mutant)

    for (step, backend), cases in sorted(caught_by.items(), key=lambda c: c[0][0].name):
        runs.progress(f"control {step.name} {backend}")
        bad = {case: rejected(copy, program, step, backend, case) for case in cases}
        say(not any(bad.values()), f"control {step.number} {backend}",
            *(f"{case}: {o['reason']}" for case, o in bad.items() if o))
    return passed, failed


def main():
    wanted = [word for word in sys.argv[1:] if word != "--chosen"]
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        folder = tree.ROOT / "verify" / "mutants" / program.name
        mutants = [Mutant(p) for p in sorted(folder.glob("*.patch"))]
        if wanted:
            mutants = [m for m in mutants if m.name in wanted]
        if "--chosen" in sys.argv:
            mutants = chosen(mutants)
        if mutants:
            p, f = try_program(program, mutants)
            passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
