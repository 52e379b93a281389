"""variants.py - make variants: builds and verifies the experiments off the path.

steps/NN/variants/NAME.PROGRAM.patch turns step NN into a variant: for example, something
that the step removed is still there. It is a patch of the tree, as patches.py reads it. Its
subject says what the variant is. Its trailers:

    Backends:   the back-ends that the variant has
    Arguments:  arguments of the query without which it makes no difference

The tree is copied to BUILD/variants, changed and built there. A variant passes if its
patch applies, and it builds and gives correct results on the cases of make verify. `make
papers` and `make bench VARIANTS=1` measure the times.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import copies, options, runs, tree
from tools.history import patches
from tools.base.tree import Program, Step
from tools.verify import execute


class Variant:
    """One variant. It has a name, a number and binaries, like a step. make are variables for
    make, such as OPT=-O2."""

    def __init__(self, path: Path, step: Step, make: Sequence[str] = ()) -> None:
        patch = patches.read(path)
        patch.check("Backends", "Arguments")
        self.path, self.step, self.make = path, step, list(make)
        self.point = path.name.split(".")[0]
        self.name, self.number = f"{step.name}/{self.point}", step.number
        self.about, self.backends = patch.subject, patch.words("Backends")
        self.arguments = patch.words("Arguments")
        if not self.backends:
            raise SystemExit(f"{tree.display(path)}: no trailer Backends: expected back-ends "
                             "of the variant")
        self.folder = tree.build() / "variants" / re.sub(
            r"[^\w.-]+", "_", " ".join([f"{self.number}.{path.stem}", *self.make]))

    def binary(self, program: Program, backend: str) -> Path:
        return self.folder / "build" / self.step.name / f"{program.name}-{backend}"

    def available(self, program: Program) -> list[str]:
        """The back-ends that can be built and run here."""
        return [b for b in self.step.available(program) if b in self.backends]

    def check_arguments(self, program: Program) -> list[str]:
        return self.step.check_arguments(program)

    def build(self, program: Program) -> str | None:
        """Builds the variant, unless nothing has changed since it was built. Returns None,
        or an error message."""
        wanted = [self.binary(program, b) for b in self.available(program)]
        stamp, now = self.folder / "stamp", self.sources()
        if stamp.exists() and stamp.read_text() == now and all(b.exists() for b in wanted):
            return None
        copy = copies.Copy(self.folder)
        problem = patches.apply(self.path, copy.folder)
        if problem:
            return problem
        problem = copy.make(*wanted, words=self.make)
        if problem:
            return f"does not compile: {problem}"
        stamp.write_text(now)
        return None

    def sources(self) -> str:
        """A digest of all that the binaries are built from, and with which flags and
        compilers."""
        return runs.key(self.path, *self.make, *(tree.ROOT / name for name in
                                                 (*copies.MAKE, "common", "steps")),
                        *(path for name in ("flags", "toolchain")
                          if (path := tree.build() / name).exists()))


def points(program: Program, make: Sequence[str] = ()) -> list[Variant]:
    """All variants of a program, in the order of the steps."""
    return [Variant(path, step, make) for step in tree.steps()
            for path in sorted((step.folder / "variants").glob(f"*.{program.name}.patch"))]


def verify(variant: Variant, program: Program, backend: str) -> list[str]:
    """The cases that are rejected, as "case: reason"."""
    rejected = []
    for case, arguments in program.cases.items():
        outcome = execute.run_and_check(
            variant.step, program, backend, [*arguments, *variant.arguments],
            variant.folder / "outputs", case,
            binary=variant.binary(program, backend))
        if not outcome["ok"]:
            rejected.append(f"{case}: {outcome['reason']}")
    return rejected


def main() -> int:
    parser = options.parser(__doc__, "PROGRAM")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these variants")
    wanted = options.parse(parser).names
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for variant in points(program):
            if wanted and variant.point not in wanted:
                continue
            runs.progress(f"{variant.name}: {variant.about}")
            problem = variant.build(program)
            found = {"": [problem]} if problem else {
                b: verify(variant, program, b) for b in variant.available(program)}
            runs.progress("")
            for backend, rejected in found.items():
                print("FAIL" if rejected else "ok  ", variant.name, backend, *rejected,
                      flush=True)
                passed, failed = passed + (not rejected), failed + bool(rejected)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
