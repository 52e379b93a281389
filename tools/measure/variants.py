"""variants.py - points that the papers measured between two steps.

    variants.py [NAME ...]    builds and verifies all of them, or those named; PROGRAM=

steps/NN/variants/NAME.PROGRAM.patch turns step NN into such a point: something that the
step removed is still there, or what it did is done by half. Where the patch would be
longer than half of the program, steps/NN/variants/NAME.PROGRAM/ takes its place, a folder
of whole files, which replace those of the step or are new; files that stay as they are
are not in it. The first line of the patch, or of the folder's file `about`, says which
back-ends the point has and what it is:

    # backends omp: the growing vector of step 00 is still there

A second line may give words for the query, without which the point makes no difference:

    # words solver=gs

The tree is copied to BUILD/variants, changed and built there. Called by itself, this
checks that every patch still applies without fuzz, that every file of a folder differs
from the step's, and that each point builds and gives right results on the cases of make
verify. papers.py times them, and make bench VARIANTS=1 does.
"""
import hashlib
import re
import sys

from tools.history import copies, runs, tree

HEADER = re.compile(r"# backends ([\w -]+): (.+)")
WORDS = re.compile(r"# words (.+)")
TIMEOUT = 60


class Variant:
    """One point. It is named like a step, and has binaries like one. path is a patch or
    a folder; make are words for make, as OPT=-O2."""

    def __init__(self, path, step, make=()):
        self.path, self.step, self.make = path, step, list(make)
        self.point = path.name.split(".")[0]
        self.name, self.number = f"{step.name}/{self.point}", step.number
        about = path / "about" if path.is_dir() else path
        if not about.is_file():
            raise SystemExit(f"{about}: expected a file that says what the point is")
        first, second = (about.read_text() + "\n").split("\n")[:2]
        header, words = HEADER.match(first), WORDS.match(second)
        if not header:
            raise SystemExit(f"{about}:1: expected # backends NAME ...: what it is")
        self.backends, self.about = header[1].split(), header[2]
        self.words = words[1].split() if words else []
        self.folder = tree.build() / "variants" / re.sub(
            r"[^\w.-]+", "_",
            " ".join([self.number + "." + path.name.removesuffix(".patch"), *self.make]))

    def binary(self, program, backend):
        return self.folder / "build" / self.step.name / f"{program.name}-{backend}"

    def available(self, program):
        """The back-ends that can be built here and run."""
        return [b for b in self.step.available(program) if b in self.backends]

    def build(self, program):
        """Makes the copy, unless it is there and nothing has changed since. None, or why
        that is not possible."""
        wanted = [self.binary(program, b) for b in self.available(program)]
        stamp, now = self.folder / "stamp", self.sources()
        if stamp.exists() and stamp.read_text() == now and all(b.exists() for b in wanted):
            return None
        copy = copies.Copy(self.folder)
        if self.path.is_dir():
            problem = copy.replace(self.path, self.step.folder / program.name)
        else:
            problem = copy.apply(self)
            problem = problem and f"the patch does not apply: {problem}"
        if problem:
            return problem
        problem = copy.make(*wanted, words=self.make)
        if problem:
            return f"does not compile: {problem}"
        stamp.write_text(now)
        return None

    def sources(self):
        """A hash of all that the binaries are made from."""
        mark = hashlib.sha256()
        for top in (self.path, *(tree.ROOT / name for name in
                                 ("Makefile", "config.mk", "common", "steps"))):
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                if path.is_file() and path.suffix != ".md":
                    mark.update(str(path).encode() + path.read_bytes())
        return mark.hexdigest()


def points(program, make=()):
    """All of a program, in the order of the steps."""
    return [Variant(path, step, make) for step in tree.steps()
            for form in ("", ".patch")
            for path in sorted((step.folder / "variants").glob(f"*.{program.name}{form}"))]


def verify(point, program, backend):
    """The cases that are rejected, as "case: reason"."""
    rejected = []
    for case, words in program.cases.items():
        got = runs.run_and_check(point.step, program, backend, [*words, *point.words],
                                 point.folder / "outputs", case, timeout=TIMEOUT,
                                 binary=point.binary(program, backend))
        if not got["ok"]:
            rejected.append(f"{case}: {got['reason']}")
    return rejected


def main():
    passed = failed = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for point in points(program):
            if sys.argv[1:] and point.point not in sys.argv[1:]:
                continue
            runs.progress(f"{point.name}: {point.about}")
            problem = point.build(program)
            found = {"": [problem]} if problem else {
                b: verify(point, program, b) for b in point.available(program)}
            runs.progress("")
            for backend, rejected in found.items():
                print("FAIL" if rejected else "ok  ", point.name, backend, *rejected,
                      flush=True)
                passed, failed = passed + (not rejected), failed + bool(rejected)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
