"""lot.py - make mutants SEED= COUNT=: bugs that are drawn by lot, and which test finds each.

Draws COUNT mutations (mutate.py) in each of four groups: common/, the steps of the main
program, those of the other programs, and what verifies them (verify/ and the tools that judge
results). FILES= names other files, as patterns of paths, which are then the only group. Each
mutation is made in a copy of the tree; what depends on the file is built, and tests run until
one fails, the quickest first:

    the tests that execute the line, by the map of reach.py, which is made once per tree:
        one of each function first, since tests of one function find the same
    make verify of the step and program; for common/, of the first and the later steps
    random queries of the same, then with AddressSanitizer and UBSan, for some seconds

A mutation that does not compile, or that leaves all binaries as they were, is replaced by the
next one. One that no test finds has survived: it is printed as a patch. If it changes no
result that a test could judge, a line of verify/mutants/equivalent.tsv says why, and it does not
count. At the end, the tests that found mutants must pass in the unchanged copy.

The last line has the score of each group; the exit status is 1 if one is below 90 percent.
With --sample, which make test uses, there is no map, the lot takes a minute, a mutant some
seconds, and the exit status is 0.
"""
from __future__ import annotations

import argparse
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests import reach
from tools.base import copies, options, runs, tree
from tools.base.tree import Program, Step
from tools.verify import mutate
from tools.verify.mutate import Mutation

BAR = 90  # percent
# Seconds: of queries, of the tests of a mutant in all, and of those of a sample.
QUERIES, SANITIZED, LIMIT, SAMPLE_LIMIT, SAMPLE = 12, 20, 210, 15, 60
BATCHES = (3, 12, 45, 60)  # seconds of tests that run in one process of pytest
SOURCES = (".c", ".h", ".cl", ".cu")
EQUIVALENT = tree.ROOT / "verify" / "mutants" / "equivalent.tsv"
# Tools that judge results; the others draw inputs, or are no part of what they test.
JUDGES = ("execute", "matrix", "random_queries", "section_check", "section_oracle")
# A variable that a mutant leaves unused is no error.
QUIET = b"".join(b'_Pragma("GCC diagnostic ignored \\"-W%s\\"") ' % word for word in (
    b"unused-variable", b"unused-but-set-variable", b"unused-parameter", b"unused-function",
    b"unused-value", b"uninitialized", b"type-limits", b"sign-compare", b"div-by-zero"))


def group(path: Path) -> str | None:
    """The group of a file; None if it is not mutated."""
    top, name = path.parts[0], path.name
    if top == "common" and path.suffix in SOURCES:
        return "common"
    if top == "steps" and path.suffix in SOURCES:
        return "semblance" if path.parts[2] == "semblance" else "companions"
    if top == "verify" and path.suffix in SOURCES and "fuzz" not in path.parts:
        return "verify"
    if path.parts[:2] == ("tools", "verify") and path.stem in JUDGES and name.endswith(".py"):
        return "verify"
    return None


@dataclass
class Command:
    """One way of testing a mutant."""
    name: str
    words: Sequence[str]
    env: dict[str, str]
    seconds: float  # that it takes when nothing is wrong, roughly
    binaries: Sequence[str] = ()  # below build/, that it runs

    def run(self, folder: Path, limit: float) -> str | None:
        """None if it passes, or how it failed."""
        mark = runs.mark()
        env = copies.environment(**self.env, BUILD="build", OMP_WAIT_POLICY="passive",
                                 **{mark: "1"})
        process = subprocess.Popen([sys.executable, "-m", *self.words], cwd=folder, env=env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            out, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return "hangs"
        finally:
            runs.end_marked(mark)
            process.wait()
        if process.returncode == 0:
            return None
        if "pytest" in self.words and process.returncode != 1:
            raise SystemExit(f"pytest ended with {process.returncode}: {out[-500:]}")
        failed = re.findall(r"^(?:FAILED|ERROR|FAIL) (.*)", out, re.M)
        return failed[0][:110] if failed else (out.strip().splitlines() or ["failed"])[-1][:110]


class Copy:
    """A copy of the tree with all that was built, for one mutant at a time."""

    def __init__(self, number: int) -> None:
        self.folder = tree.build() / "lot" / str(number)
        if not self.folder.is_absolute():
            self.folder = tree.ROOT / self.folder
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", "-s", "-n", tree.ROOT, self.folder], check=True)
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"],
                               cwd=tree.ROOT, capture_output=True, text=True).stdout
        for name in filter(None, files.split("\0")):
            if (tree.ROOT / name).is_file():
                copies.put(tree.ROOT / name, self.folder / name)
        subprocess.run(["git", "reset", "-q"], cwd=self.folder, check=True)
        target = self.folder / "build"
        built = [p for p in tree.build().iterdir() if p.name in (
            "parts", "common", "data", "tests", "flags", "toolchain", "oracle")
            or re.match(r"\d\d_", p.name) or p.is_file()]
        target.mkdir()
        for path in built:
            subprocess.run(["cp", "-a", path, target], check=True)

    def make(self, targets: Sequence[str]) -> str | None:
        return copies.make("BUILD=build", "JOBS=1", *(f"build/{t}" for t in targets),
                           folder=self.folder) if targets else None

    def changed(self, targets: Sequence[str]) -> list[str]:
        """The binaries that differ from those of the tree in more than their line numbers."""
        def code(path: Path) -> bytes:
            stripped = self.folder / "stripped"
            subprocess.run(["strip", "-g", "-o", stripped, path], check=True)
            return stripped.read_bytes()
        return [t for t in targets
                if code(self.folder / "build" / t) != code(tree.build() / t)]

    def restore(self, path: Path) -> None:
        """Undoes a mutation; the file becomes newer than what was built from it. Queries that
        found it are not kept."""
        shutil.copyfile(tree.ROOT / path, self.folder / path)
        shutil.rmtree(self.folder / "verify" / "kept")
        copies.put(tree.ROOT / "verify" / "kept", self.folder / "verify" / "kept")


# ---- what tests a mutant -------------------------------------------------------------------


def here(step: Step, program: Program) -> list[str]:
    """The binaries of a step that can run here, below build/."""
    return [f"{step.name}/{program.name}-{b}" for b in step.available(program)]


def of_file(path: Path) -> tuple[list[Program], list[Step]]:
    """The programs and the steps whose verification tests a file."""
    program = [p for p in tree.programs() if p.name in path.parts
               or path.stem.endswith(f"_{p.name}")]
    if path.parts[0] == "steps":
        return program, [s for s in tree.steps() if s.name in path.parts]
    last = {"opencl": "10", "cuda": "10", "portable": "10 08 05", "hybrid": "11",
            "mpi": "12"}.get(path.parts[1], "00 05 10 12")
    if path.parts[0] != "common":
        last = "00 10"
    if path.parts[0] == "tools":
        program = [p for p in tree.programs() if p.name in (
            ("semblance",) if "section" in path.name else ("sandpile",))]
    some = {"su": "semblance", "run": "sandpile semblance"}.get(path.parts[1], "")
    if not program:
        program = [p for p in tree.programs() if p.name in (some or p.name).split()]
    return program, [s for s in tree.steps() if s.number in last.split()]


def depending(path: Path) -> list[str]:
    """The binaries that tell whether a mutation of a file compiles and changes anything."""
    programs, steps = of_file(path)
    if path.parts[0] == "tools":
        return []
    if path.parts[0] == "verify":
        return ["verify"] if path.name == "verify.c" else [f"{p.name}-check" for p in programs]
    binaries = [b for s in steps for p in programs if s.has(p) for b in here(s, p)]
    return binaries if path.parts[0] == "steps" else binaries + ["tests/run_test",
                                                                 "tests/su_test"]


def pytest_command(names: Sequence[str], seconds: float, binaries: Sequence[str]) -> Command:
    return Command("tests", ["pytest", "-q", "-x", "-p", "no:cacheprovider", *names], {},
                   seconds, binaries)


def in_macro(path: Path, line: int) -> bool:
    """Whether a line belongs to a macro: gcov counts the lines that use it."""
    lines = path.read_text().splitlines()
    while line > 1 and lines[line - 2].endswith("\\"):
        line -= 1
    return lines[line - 1].lstrip().startswith("#define")


def varied(entries: Iterable[reach.Entry]) -> list[reach.Entry]:
    """The quickest test of each function, then the second of each, and so on."""
    place, ranked = Counter[str](), list[tuple[int, reach.Entry]]()
    for entry in entries:
        function = entry.name.partition("[")[0]
        ranked.append((place[function], entry))
        place[function] += 1
    return [entry for _, entry in sorted(ranked, key=lambda r: (r[0], r[1].seconds))]


def near(line: int) -> Iterator[int]:
    """A line, and those around it: the compiler may have joined their code."""
    yield line
    for distance in range(1, 6):
        yield from (line - distance, line + distance)


def by_map(mutation: Mutation) -> Iterator[Command]:
    """The tests that execute the line, in batches; those of its file if it is in a macro. Of a
    tool, those in files that name it."""
    path, left = str(mutation.path), reach.entries()
    if path.startswith("steps/") and "_CHECK(" in (tree.ROOT / path).read_text():
        yield pytest_command([f"tests/test_checked_calls.py::test_checked[{path}]"], 1, [])
    counted = any(e.executes(path, None) for e in left)
    binaries = set(depending(mutation.path))
    if mutation.path.suffix == ".py":
        word = re.compile(rf"\b{mutation.path.stem}\b")
        files = {m for m in reach.modules() if word.search((tree.ROOT / m).read_text())}
        left = [e for e in left if e.name.partition("::")[0] in files]
    elif not counted:
        left = [e for e in left if e.binaries & binaries]
    elif in_macro(tree.ROOT / path, mutation.line):
        left = [e for e in left if e.executes(path, None)]
    else:
        left = next((found for line in near(mutation.line)
                     if (found := [e for e in left if e.executes(path, line)])), [])
    left = varied(left)
    for limit in BATCHES:
        batch: list[reach.Entry] = []
        while left and sum(e.seconds for e in batch) + left[0].seconds <= limit:
            batch.append(left.pop(0))
        if batch:
            needed = {b for e in batch for b in e.binaries}
            yield pytest_command([e.name for e in batch], sum(e.seconds for e in batch),
                                 sorted(b for b in needed if (tree.build() / b).exists()))


def unit_tests(path: Path) -> Iterator[Command]:
    if path.parts[0] == "common" and path.parts[1] in ("run", "su"):
        yield pytest_command(["tests/test_c.py"], 1, ["tests/run_test", "tests/su_test"])


def of_programs(mutation: Mutation, backends: Sequence[str], sanitized: bool
                ) -> Iterator[Command]:
    """make verify, and random queries."""
    programs, steps = of_file(mutation.path)
    for program in programs:
        having = [s for s in steps if s.has(program)]
        names = {"STEP": " ".join(s.number for s in having), "PROGRAM": program.name}
        some = {"BACKEND": " ".join(backends)} if backends else {}
        built = [b for s in having for b in here(s, program)]
        if not having:
            continue
        if not sanitized:
            yield Command(f"verify {names['STEP']} {program.name}",
                          ["tools.verify.matrix", "--first"],
                          {**names, **some, "REQUIRE": "none"}, 15, built)
        yield Command(f"queries{' SAN=native' * sanitized} {names['STEP']} {program.name}",
                      ["tools.verify.random_queries", "--first"],
                      {**names, **({} if sanitized else some), "SEED": "lot", "COUNT": "300",
                       "SECONDS": str(SANITIZED if sanitized else QUERIES),
                       **({"SAN": "native"} if sanitized else {})}, QUERIES, built)


def commands(mutation: Mutation, changed: Sequence[str], quick: bool) -> Iterator[Command]:
    """All that tests a mutant, the quickest first."""
    path, in_step = mutation.path, mutation.path.parts[0] == "steps"
    backends = sorted({b.partition("/")[2].partition("-")[2] for b in changed}) \
        if in_step else []
    whole = list(of_programs(mutation, backends, False))
    if in_step:
        yield whole.pop(0)
    yield from unit_tests(path) if quick else by_map(mutation)
    yield from whole
    if not quick and path.parts[0] in ("steps", "common") and "check" not in path.name:
        yield from of_programs(mutation, backends, True)


# ---- mutants -------------------------------------------------------------------------------


@dataclass
class Verdict:
    mutation: Mutation
    outcome: str  # killed, survived, equivalent
    why: str
    seconds: float
    command: Command | None = None


def patch(mutation: Mutation) -> str:
    old = (tree.ROOT / mutation.path).read_bytes()
    before, after = (t.decode().splitlines(keepends=True) for t in (old, mutation.apply(old)))
    return "".join(difflib.unified_diff(before, after, f"a/{mutation.path}",
                                        f"b/{mutation.path}", n=1))


def equivalent() -> dict[tuple[str, str, str], str]:
    """{(file, line, mutated line): reason}"""
    rows = [line.split("\t") for line in EQUIVALENT.read_text().splitlines()[1:]] \
        if EQUIVALENT.exists() else []
    return {(row[0], row[1], row[2]): row[3] for row in rows}


def key(mutation: Mutation) -> tuple[str, str, str]:
    """What names a mutation in equivalent.tsv: the file, the line, and the mutated line."""
    old = (tree.ROOT / mutation.path).read_bytes()
    rows = [t.decode().split("\n")[mutation.line - 1].strip().replace("\t", " ")
            for t in (old, mutation.apply(old))]
    return str(mutation.path), rows[0], rows[1]


def try_mutation(copy: Copy, mutation: Mutation, sample: bool) -> Verdict | None:
    """Builds and tests a mutation. None if it does not compile or changes no binary."""
    began, path = time.monotonic(), mutation.path
    if key(mutation) in equivalent():
        return Verdict(mutation, "equivalent", equivalent()[key(mutation)], 0)
    text = mutation.apply((tree.ROOT / path).read_bytes())
    if path.suffix == ".py":
        try:
            compile(text, str(path), "exec")
        except SyntaxError:
            return None
    (copy.folder / path).write_bytes(text if path.suffix in (".py", ".cl") else QUIET + text)
    targets = depending(path)
    try:
        if copy.make(targets):
            return None
        changed = copy.changed(targets)
        if targets and not changed:
            return None
        spent = 0.0
        for command in commands(mutation, changed, sample):
            # A busy machine takes longer, but tests as much, except in a sample.
            spent += command.seconds
            left = SAMPLE_LIMIT - (time.monotonic() - began)
            if left < 1 if sample else spent > LIMIT:
                break
            problem = copy.make([b for b in command.binaries if b not in targets])
            if problem:
                return None
            why = command.run(copy.folder, left if sample else 120 + 8 * command.seconds)
            if why and not (sample and why == "hangs"):
                return Verdict(mutation, "killed", f"{command.name}: {why}",
                               time.monotonic() - began, command)
        return Verdict(mutation, "survived", "", time.monotonic() - began)
    finally:
        copy.restore(path)


class Lot:
    """The mutants of one seed."""

    def __init__(self, seed: str, count: int, patterns: Sequence[str], sample: bool) -> None:
        self.sample, self.count = sample, count
        files = [Path(p) for p in subprocess.run(
            ["git", "ls-files"], cwd=tree.ROOT, capture_output=True,
            text=True).stdout.splitlines() if (tree.ROOT / p).exists()]
        groups: dict[str, list[Path]] = {}
        for path in files:
            name = group(path)
            if name and (not patterns or any(fnmatch(str(path), p) for p in patterns)):
                groups.setdefault("files" if patterns else name, []).append(path)
        if not groups:
            raise SystemExit(f"FILES={' '.join(patterns)}: no file that can be mutated")
        self.drawn = {name: mutate.draw(random.Random(f"{seed} {name}"), paths)
                      for name, paths in groups.items()}
        self.verdicts: dict[str, list[Verdict]] = {name: [] for name in groups}
        self.started = dict.fromkeys(groups, 0)
        self.lock = threading.Lock()
        self.end = time.monotonic() + (SAMPLE if sample else 1e9)

    def next(self) -> tuple[str, Mutation] | None:
        """The next mutation, of the group that has the fewest."""
        with self.lock:
            name = min(self.started, key=lambda n: self.started[n])
            if self.started[name] >= self.count or time.monotonic() > self.end:
                return None
            self.started[name] += 1
            return name, next(self.drawn[name])

    def work(self, copy: Copy) -> None:
        while True:
            drawn = self.next()
            if not drawn:
                return
            name, mutation = drawn
            verdict = try_mutation(copy, mutation, self.sample)
            with self.lock:
                if not verdict:
                    self.started[name] -= 1
                    continue
                self.verdicts[name].append(verdict)
                print(f"{verdict.outcome:10} {mutation.path}:{mutation.line} {mutation.kind}  "
                      f"{verdict.why}  ({verdict.seconds:.0f} s)", flush=True)
                if verdict.outcome == "survived":
                    print(patch(mutation), end="", flush=True)

    def control(self, copy: Copy) -> None:
        """The tests that found mutants must pass without them."""
        found = {tuple(v.command.words[4:]): v.command for vs in self.verdicts.values()
                 for v in vs if v.command and "pytest" in v.command.words}
        for command in found.values():
            copy.make(command.binaries)
            why = command.run(copy.folder, 120 + 4 * command.seconds)
            if why:
                print(f"UNSURE: fails without a mutant, too: {why}")

    def score(self) -> tuple[str, bool]:
        parts, good = [], True
        for name, verdicts in self.verdicts.items():
            counted = [v for v in verdicts if v.outcome != "equivalent"]
            killed = sum(v.outcome == "killed" for v in counted)
            percent = 100 * killed / len(counted) if counted else 100
            parts.append(f"{name} {killed} of {len(counted)} ({percent:.0f} %)")
            good &= percent >= BAR
        return ", ".join(parts), good


def main() -> int:
    parser = options.parser(__doc__, "SEED", "COUNT")
    parser.add_argument("--files", default=os.environ.get("FILES", ""), metavar="FILES",
                        help="patterns of paths (default: all that are mutated)")
    parser.add_argument("--sample", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse(parser)
    seed = arguments.seed or str(int(time.time()))
    if not arguments.sample:
        reach.make()
    lot = Lot(seed, int(arguments.count or 40), arguments.files.split(), arguments.sample)
    processors = runs.processors()
    copies_made = [Copy(i) for i in range(processors)]
    with ThreadPoolExecutor(processors) as pool:
        list(pool.map(lot.work, copies_made))
    if not arguments.sample:
        lot.control(copies_made[0])
    shutil.rmtree(tree.build() / "lot", ignore_errors=True)
    text, good = lot.score()
    print(f"SEED={seed}")
    print(text)
    return 0 if good or arguments.sample else 1


if __name__ == "__main__":
    sys.exit(main())
