"""mutants.py - make mutants: planted bugs, which verification must catch, every one.

    mutants.py [NAME ...]       all of verify/mutants/PROGRAM/*.patch, or those named;
                                PROGRAM= as make's

A mutant is a patch of the tree whose first line says which binary it spoils and how:

    # step 07 backend omp: the first trace is dropped

The tree is copied, the patch applied there, the binary built and run on the cases of
make verify until one is rejected: by the checker, by the program's own checks, or
because it crashes or hangs. A mutant that passes all of them is a failure, and so is a
patch that no longer applies or does not compile. The same binaries without the patch
are the control: they must pass.
"""
import os
import re
import shutil
import subprocess
import sys

import tree

COPIED = ("Makefile", "config.mk", "common", "steps", "data", "verify")
TIMEOUT = 20  # seconds a run: the slowest right one takes under one
HEADER = re.compile(r"# step (\S+) backend (\S+): (.+)")


class Mutant:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        lines = path.read_text().splitlines()
        header = HEADER.match(lines[0]) if lines else None
        if not header:
            raise SystemExit(f"{path}:1: expected # step NN backend NAME: the bug")
        number, self.backend, self.about = header.groups()
        named = [s for s in tree.steps() if number in (s.number, s.name)]
        if not named:
            raise SystemExit(f"{path}:1: there is no step {number}")
        self.step = named[0]
        self.files = [line[6:].split("\t")[0] for line in lines
                      if line.startswith("+++ b/")]

    def spoils(self):
        return self.step, self.backend


class Copy:
    """A copy of the tree that is built in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            source = tree.ROOT / name
            put = shutil.copytree if source.is_dir() else shutil.copy2
            folder.mkdir(parents=True, exist_ok=True)
            put(source, folder / name)

    def binary(self, program, step, backend):
        return self.folder / "build" / step.name / f"{program.name}-{backend}"

    def make(self, *binaries, words=()):
        """Builds; returns None, or the compiler's first complaint. words as OPT=-O2."""
        # What was asked of the make that called is not asked of this one.
        for_this = {k: v for k, v in os.environ.items()
                    if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "STEP", "PROGRAM",
                                 "BACKEND", "SET", "ARGS", "BUILD")}
        made = subprocess.run(["make", "-s", "-C", self.folder, "BUILD=build", *words,
                               *(b.relative_to(self.folder) for b in binaries)],
                              capture_output=True, text=True, env=for_this)
        if made.returncode == 0:
            return None
        said = made.stderr.splitlines()
        return next((line for line in said if "error" in line), said[-1])

    def apply(self, mutant):
        """None, or why the patch does not apply."""
        patched = subprocess.run(["patch", "-p1", "-s", "-F0", "-r-", "-d", self.folder,
                                  "--no-backup-if-mismatch", "-i", mutant.path],
                                 capture_output=True, text=True)
        return None if patched.returncode == 0 else patched.stdout.splitlines()[-1]

    def replace(self, folder, code):
        """Puts the files of a folder, but for `about`, in the place of those of code, a
        folder of the tree. None, or the first that makes no difference."""
        for path in sorted(p for p in folder.iterdir() if p.name != "about"):
            same = code / path.name
            if same.exists() and same.read_bytes() == path.read_bytes():
                return f"{path}: the same as the step's own: leave it out"
            shutil.copyfile(path, self.folder / code.relative_to(tree.ROOT) / path.name)
        return None

    def restore(self, mutant):
        for name in mutant.files:
            shutil.copyfile(tree.ROOT / name, self.folder / name)  # newer: is rebuilt


def judged(copy, program, step, backend, first_only):
    """The (case, outcome) of every rejected case; only the first, if one is enough."""
    rejected = []
    for case, words in program.cases.items():
        outcome = tree.run_and_check(step, program, backend, words,
                                     copy.folder / "outputs", case, timeout=TIMEOUT,
                                     binary=copy.binary(program, step, backend))
        if not outcome["ok"]:
            rejected.append((case, outcome))
            if first_only:
                break
    return rejected


def try_mutant(copy, program, mutant):
    """(caught, what happened)."""
    problem = copy.apply(mutant)
    if problem:
        return False, f"the patch does not apply: {problem}"
    problem = copy.make(copy.binary(program, *mutant.spoils()))
    if problem:
        return False, f"does not compile: {problem}"
    rejected = judged(copy, program, *mutant.spoils(), first_only=True)
    if not rejected:
        return False, "SURVIVES"
    case, outcome = rejected[0]
    by = "" if outcome["caught"] != "check" else "check: "
    return True, f"{case}: {by}{outcome['reason']}"


def try_program(program, mutants):
    """Prints a line for each control and each mutant: how many passed and failed."""
    copy = Copy(tree.build() / "mutants" / program.name)
    spoiled = sorted({m.spoils() for m in mutants}, key=lambda s: (s[0].name, s[1]))
    here = [s for s in spoiled if s[1] in s[0].available(program)]
    passed, failed = 0, 0

    def say(good, *words):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        tree.progress("")
        print("ok  " if good else "FAIL", *words, flush=True)

    tree.progress("building the control")
    problem = copy.make(*(copy.binary(program, *s) for s in here))
    if problem:
        say(False, f"control: does not build: {problem}")
        return passed, failed
    for step, backend in here:
        tree.progress(f"control {step.name} {backend}")
        rejected = judged(copy, program, step, backend, first_only=False)
        say(not rejected, f"control {step.number} {backend}",
            *(f"{case}: {o['reason']}" for case, o in rejected))

    width = max(len(m.name) for m in mutants)
    for mutant in mutants:
        place = f"{mutant.name:{width}} {mutant.step.number} {mutant.backend:8}"
        if mutant.spoils() not in here:
            print("    ", place, "not built here")
            continue
        tree.progress(f"{mutant.name}: {mutant.about}")
        try:
            caught, what = try_mutant(copy, program, mutant)
            say(caught, place, what if caught else f"{what} ({mutant.about})")
        finally:
            copy.restore(mutant)
    return passed, failed


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        folder = tree.ROOT / "verify" / "mutants" / program.name
        mutants = [Mutant(p) for p in sorted(folder.glob("*.patch"))]
        if wanted:
            mutants = [m for m in mutants if m.name in wanted]
        if mutants:
            p, f = try_program(program, mutants)
            passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
