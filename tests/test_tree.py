"""test_tree.py: tools on a tree that has errors or that is not like most steps.

If a program is missing from a step, every tool compares the next step with the last one
that has the program. An error in a step.mk, in the tables of results/ or on the command line
is reported in one line, without a traceback, and the exit status is not 0. All in copies of
the tree; nothing is built.
"""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT, TIMEOUT, cut
from tests.lint import NEW_LINES
from tools.base import copies, results, tree
from tools.history import diff, patches, rungs
from tools.base.tree import Program, Step
from tools.teach.exercise import MOST_LINES

COPIED = (*copies.COPIED, ".clang-format", "tests", "tools", "results", "docs", "README.md")

Done = subprocess.CompletedProcess[str]


class Copy:
    """The tree in a folder, and commands that run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            copies.put(Path(ROOT, name), self.folder / name)

    def run(self, *command: str | Path, **variables: str) -> Done:
        clean = {k: v for k, v in copies.environment().items() if not k.startswith("GIT_")}
        return subprocess.run(command, cwd=self.folder, env={**clean, **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT)

    def module(self, name: str, *words: str, **variables: str) -> Done:
        return self.run(sys.executable, "-m", name, *words, **variables)

    def path(self, step: Step, name: str) -> Path:
        return self.folder / "steps" / step.name / name

    def edit(self, path: Path, pattern: str, new: str) -> None:
        """Replaces what a pattern finds in a file, once at least."""
        text, count = re.subn(pattern, new, path.read_text(), flags=re.M)
        assert count, f"{path}: no {pattern}"
        path.write_text(text)


@pytest.fixture(name="copy")
def copy_of_tree(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "tree")


def all_of(done: Done) -> str:
    return f"exit status {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def well(check: Any, name: str, done: Done, *patterns: str) -> None:
    """One check: a command succeeded, and its output has all patterns."""
    good = done.returncode == 0 and all(re.search(p, done.stdout, re.M) for p in patterns)
    check(name, None if good else all_of(done))


def refused(check: Any, name: str, done: Done, *patterns: str) -> None:
    """One check: a command failed with one line, apart from make's own, that has all
    patterns."""
    lines = [line for line in done.stderr.splitlines()
             if not re.match(r"make: \*\*\* \[.*Error \d+$", line)]
    good = done.returncode != 0 and len(lines) == 1 and \
        all(re.search(p, lines[0]) for p in patterns)
    check(name, None if good else all_of(done))


def found(check: Any, name: str, done: Done, *patterns: str) -> None:
    """One check: lint failed, and printed a line for each pattern."""
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    missing = [p for p in patterns if not any(re.search(p, line) for line in lines)]
    check(name, all_of(done) if missing or done.returncode == 0 else None)


# ---- a step that does not have a program -----------------------------------------------


def gaps() -> Iterator[tuple[Step, Step, Step, Program]]:
    """(before, gap, after, program): three steps of a program, the second of which can be
    removed without a violation of what the third declares, and is then still an exercise."""
    for program in tree.programs():
        having = [s for s in tree.steps() if s.has(program)]
        for before, gap, after in zip(having, having[1:], having[2:]):
            changes = diff.folders(before.folder / program.name,
                                   after.folder / program.name)
            added = diff.count(changes.get("body.h", ""))[0]
            if rungs.paths(after, program):  # they continue the gap
                continue
            if sum(max(diff.count(text)) for text in changes.values()) > MOST_LINES:
                continue
            if set(changes) <= set(after.changes(program)) and \
               after.shown(program) == "body.h" and "body.h" in changes and \
               (added > NEW_LINES) == (f"reason.{program.name}" in after.mk):
                yield before, gap, after, program


def take_away(copy: Copy, step: Step, program: Program) -> None:
    """Removes a program from a step, with all declarations about it."""
    shutil.rmtree(copy.path(step, program.name))
    shutil.rmtree(copy.path(step, f"rungs/{program.name}"), ignore_errors=True)
    copy.edit(copy.path(step, "step.mk"), rf"^\w+\.\w+\.{program.name}\b.*\n", "")
    for path in copy.path(step, "variants").glob(f"*.{program.name}.patch"):
        path.unlink()
    for path in (copy.folder / "verify" / "mutants" / program.name).glob("*.patch"):
        if f"\nStep: {step.number}\n" in path.read_text():
            path.unlink()


ASK = """
import sys
from pathlib import Path

from tools.base import tree
from tools.teach import exercise, grade
step, program = exercise.named()
print("before", tree.before(step, program).name)
for backend in step.backends(program):
    print(backend, *(s if isinstance(s, str) else s.name for s in
                     tree.baseline(step, program, backend)))
    attempt = grade.Attempt(exercise.Task(step, program), Path("attempt"))
    print("start", grade.Grading(attempt, backend, 1, 1).start.step.name)
"""


def test_step_without_a_program(check: Any, copy: Copy) -> None:
    before, gap, after, program = next(gaps())
    take_away(copy, gap, program)
    name = program.name
    asked = {"PROGRAM": name, "STEP": after.number}
    paths = [f"steps/{s.name}/{name}/body.h" for s in (before, after)]
    nothing = {"PROGRAM": name, "STEP": gap.number}

    well(check, "gap: diff", copy.module("tools.history.diff", **asked),
         f"^--- {paths[0]}", rf"^\+\+\+ {paths[1]}")
    refused(check, "gap: diff of what is not there",
            copy.module("tools.history.diff", **nothing), f"{gap.name} has no {name}")
    well(check, "gap: lessons", copy.module("tools.publish.lessons"), after.name)
    well(check, "gap: lessons are up to date",
         copy.module("tools.publish.lessons", "--check"), " 0 failed")
    check("gap: the lesson shows the diff to the last that has it",
          f"compared with step {before.number}." not in
          copy.path(after, f"{name}/README.md").read_text() and "no")
    well(check, "gap: lint", copy.module("tests.lint", "steps"), " 0 failed")

    said = copy.run(sys.executable, "-c", ASK, **asked)
    steps = set(re.findall(r"\b\d\d_\w+", said.stdout))
    check("gap: bench and grade compare with the last that has it",
          None if said.returncode == 0 and steps == {before.name} else all_of(said))
    work = copy.folder / "work"
    well(check, "gap: exercise", copy.module("tools.teach.exercise", "exercise", WORK=str(work),
                                      **asked))
    task = work / after.name / name
    check("gap: exercise starts from the last that has it", subprocess.run(
        ["diff", "-rq", "-x", "*.md", copy.path(before, name), task],
        capture_output=True, text=True).stdout)
    check("gap: TASK.md says so", None if f"as {before.name} left it" in
          (task / "TASK.md").read_text() else (task / "TASK.md").read_text())
    refused(check, "gap: exercise of what is not there", copy.module(
        "tools.teach.exercise", "exercise", WORK=str(work), **nothing),
        f"not in {gap.name}")
    well(check, "gap: new-step", copy.module("tools.teach.new_step", NAME="90_more",
                                      AFTER=gap.name))
    check("gap: new-step continues the last that has it", subprocess.run(
        ["diff", "-rq", "-x", "*.md", copy.path(before, name),
         copy.folder / "steps" / "90_more" / name], capture_output=True,
        text=True).stdout)
    shutil.rmtree(copy.folder / "steps" / "90_more")

    well(check, "gap: history", copy.module("tools.history.repository", "history", PROGRAM=name))
    history = copy.folder / "build" / "history" / name
    check.equal("gap: history continues the last that has it",
                patches.git(history, "rev-parse", f"refs/tags/{after.number}^"),
                patches.git(history, "rev-parse", f"refs/tags/{before.number}"))

    well(check, "gap: make", copy.run("make", "-ns", "NVCC=", "binaries", *(
        f"{k}={v}" for k, v in nothing.items())))


# ---- program.mk ------------------------------------------------------------------------


def test_program_mk(check: Any, copy: Copy) -> None:
    mk = copy.folder / "common" / "sandpile" / "program.mk"
    for key in "quik", "sets.4", "cluster.output", "set.", "case":
        mk.write_text(Path(ROOT, "common/sandpile/program.mk").read_text()
                      + f"sandpile.{key} = 2\n")
        refused(check, f"program.mk, {key}", copy.module("tools.history.diff", STEP="05"),
                "common/sandpile/program.mk", f"{re.escape(key)}: there is no such key")
    mk.write_text(Path(ROOT, "common/sandpile/program.mk").read_text())


# ---- step.mk ---------------------------------------------------------------------------


def test_step_mk(check: Any, copy: Copy) -> None:
    step = next(s for s in tree.steps() if s.number == "05")
    program = tree.programs()[0]
    other = next(p for p in tree.programs()[1:] if step.has(p))
    mk = copy.path(step, "step.mk")
    good = mk.read_text()
    where = rf"steps/{step.name}/step.mk"
    tools = {"diff": ("tools.history.diff",), "lessons": ("tools.publish.lessons",),
             "matrix": ("tools.verify.matrix",)}
    unread = {"no_such_program": f"no_such_program: no such program.*{program.name}",
              "typed": "no such key", "twice": "is set twice",
              "no_equals": "expected key = value", "no_name": f"expected {step.name}.shown"}
    lines = {"no_such_program": f"{step.name}.title.no_such_program = x",
             "typed": f"{step.name}.predikt.{program.name}.cpu = 2",
             "twice": f"{step.name}.title.{program.name} = x", "no_equals": "title",
             "no_name": "shown = body.h"}
    for name, line in lines.items():
        mk.write_text(good + line + "\n")
        for tool, command in tools.items():
            refused(check, f"step.mk, {name}: {tool}", copy.module(*command, STEP="05"), where,
                    unread[name])
        found(check, f"step.mk, {name}: lint", copy.module("tests.lint", "steps"),
              f"{where}.*{unread[name]}")

    mk.write_text(re.sub(rf"^{step.name}\.(title\.{program.name}|shown\.{other.name})\b.*\n",
                         "", good, flags=re.M) + f"{step.name}.shown.{other.name} = seconds.h\n")
    found(check, "step.mk: lint", copy.module("tests.lint", "steps"),
          f"{where}:1: `shown.{other.name}` is seconds.h",
          f"{where}:1: no `title.{program.name}`")
    refused(check, "step.mk, shown: lessons", copy.module("tools.publish.lessons"), where,
            f"shown.{other.name}", "seconds.h")

    mk.write_text(re.sub(r"(?<=\.kind) .*", " = miracle", good, count=1))
    found(check, "step.mk, kind: lint", copy.module("tests.lint", "steps"),
          f"{where}:1: `kind` is miracle")
    mk.write_text(good)

    # A program whose sources were removed, but not its declarations and its lesson.
    folder = copy.path(step, other.name)
    for path in diff.sources(folder).values():
        path.unlink()
    found(check, "a lesson without its program: lint", copy.module("tests.lint", "steps"),
          f"steps/{step.name}/{other.name}: a lesson without its program",
          f"{where}:1: the step has no {other.name}.*title.{other.name}")
    asked = {"STEP": "05", "PROGRAM": other.name}
    refused(check, "a lesson without its program: diff",
            copy.module("tools.history.diff", **asked), f"has no {other.name}")


# ---- rungs -----------------------------------------------------------------------------


def test_rungs(check: Any, copy: Copy) -> None:
    """A step of two rungs: the tools take STEP=05.1, and lint finds what is wrong."""
    step, program = "05_algebra", "sandpile"
    folder = cut(copy.folder, "04_inline", step, program)
    asked = {"STEP": "05.2", "PROGRAM": program}
    well(check, "rungs: lint", copy.module("tests.lint", "steps"), " 0 failed")
    well(check, "rungs: list", copy.run("make", "-s", "rungs", "STEP=05"), "^05.2  Change the rest")
    well(check, "rungs: diff", copy.module("tools.history.diff", **asked),
         rf"^--- build/rungs/05.1/{program}/body.h")
    work = copy.folder / "work" / "05.2" / program
    small = {**asked, "BACKEND": "ocl"}
    refused(check, "rungs: too large an exercise", copy.module(
        "tools.teach.exercise", "exercise", **asked), r"\d+ changed lines, an exercise has")
    well(check, "rungs: exercise", copy.module("tools.teach.exercise", "exercise", **small))
    check("rungs: the exercise starts from the rung before", None if "/* A comment. */" in
          (work / "body.h").read_text() and "as 05.1 left it" in
          (work / "TASK.md").read_text() else "no")
    well(check, "rungs: reveal", copy.module("tools.teach.exercise", "reveal", **asked),
         rf"^\+\+\+ build/rungs/05.2/{program}/body.h")
    well(check, "rungs: export", copy.module("tools.teach.export", **asked), "sandpile-05.2.tar")
    shutil.unpack_archive(copy.folder / "build/export/sandpile-05.2.tar.gz", copy.folder / "packed")
    packed = copy.folder / "packed" / "sandpile-05.2"
    for place, word in ((copy.folder, "STEP=05.2"), (copy.folder, "RUNGS=1"), (packed, "STEP="),
                        (packed, "STEP=05.2")):
        well(check, f"rungs: make {word} in {place.name}", copy.run(
            "make", "-n", "-C", place, "NVCC=", "binaries", f"PROGRAM={program}", word),
            " -o build/05.2/sandpile-omp")
    well(check, "rungs: history", copy.run("make", "-s", "history", "PROGRAM=all"),
         *(rf"^build/history/{p.name}: \d+ commits, \d+ steps$" for p in tree.programs()))
    well(check, "rungs: make STEP=history", copy.run(
        "make", "-n", "NVCC=", "binaries", f"PROGRAM={program}", "STEP=history"),
        " -o build/history/sandpile-omp")
    refused(check, "rungs: there are two", copy.run("make", "-s", "run", "STEP=05.17"),
            "STEP=05.17: no such rung: steps/05_algebra has .*2 rungs of sandpile")

    path, last = folder / "1-part.patch", folder / "2-part.patch"
    good = text = path.read_text()
    for old, new in (("Add a comment", "Add a comment" + " that is long" * 5),
                     ("Kind: refactor", "Kind: miracle"), ("Backends: omp", "Backends: fpga omp"),
                     ("Predict-omp: 1.0: for the tests\n", ""),
                     ("Predicted: before", "Predicted: perhaps"), ("Reason:", "Raeson:"),
                     ("It changes what the subject says. All else is as before.\n\n", "")):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    last.write_text(last.read_text().replace("Reason: a series for the tests\n", ""))
    copy.edit(copy.folder / "steps" / step / program / "cpu.c", "^#include", "\n#include")
    where = f"rungs/{program}/1-part.patch:1: 05.1: "
    found(check, "rungs, what they declare: lint", copy.module("tests.lint", "steps"),
          f"{where}its subject has 78 characters", rf"{where}`Kind` is not .*\(miracle\)",
          f"{where}.* no back-end here: fpga", f"{where}no `Predict-omp`",
          f"{where}`Predicted` does not begin", f"{where}unknown trailers: Raeson",
          f"{where}no text says", "2-part.patch:1: 05.2: changes .* and has no `Reason`",
          f"rungs/{program}: the last patch does not give the step's: cpu.c")
    path.write_text(good.replace("--- a/body.h", "--- a/nothing.h"))
    found(check, "rungs, does not apply: lint", copy.module("tests.lint", "steps"),
          f"steps/{step}/rungs/{program}: cannot be applied: .*1-part.patch: does not apply")


# ---- results ---------------------------------------------------------------------------


def test_results(check: Any, copy: Copy) -> None:
    """A machine that has no OpenCL, no sequential run, or nothing of a program; then rows
    that nothing here is named like."""
    table = next(p for p in (copy.folder / "results").glob("*.csv")
                 if "over_previous" in p.read_text())
    rows = results.read(table)
    columns = list(rows[0])
    without: dict[str, list[dict[str, Any]]] = {
        "OpenCL": [r for r in rows if r["backend"] != "ocl"],
        "the sequential one": [r for r in rows if r["backend"] != "seq"],
        "fluid": [r for r in rows if r["program"] != "fluid"],
        "a step": [r for r in rows if not r["step"].startswith("05")],
        "anything": [],
    }
    for name, kept in without.items():
        results.write(table, columns, kept)
        well(check, f"results without {name}", copy.module("tools.publish.lessons"))
    well(check, "results without anything, again",
         copy.module("tools.publish.lessons", "--check"), " 0 failed")
    for column, value in (("backend", "fpga"), ("over_previous_is", "perhaps"),
                          ("program", "mandelbrot")):
        results.write(table, columns, [*rows[:-1], rows[-1] | {column: value}])
        refused(check, f"results: {column} {value}", copy.module("tools.publish.lessons"),
                table.name, value)
    column = "over_previous_is"
    results.write(table, [c for c in columns if c != column],
                  [{k: v for k, v in r.items() if k != column} for r in rows])
    refused(check, f"results without {column}", copy.module("tools.publish.lessons"), table.name,
            column)


# ---- the command line ------------------------------------------------------------------


def test_command_line(check: Any, copy: Copy) -> None:
    there = tree.steps()[-1].name
    for target in ("diff", "verify", "exercise", "export"):
        refused(check, f"make {target} STEP=99", copy.run("make", "-s", target, "STEP=99"),
                "STEP=99: no such step", there)
    refused(check, "make diff PROGRAM=none",
            copy.run("make", "-s", "diff", "STEP=05", "PROGRAM=none"),
            "PROGRAM=none: no such program", tree.programs()[0].name)
    refused(check, "make diff STEP='05 99'", copy.run("make", "-s", "diff", "STEP=05 99"),
            "STEP=99: no such step", there)
    refused(check, "make diff", copy.run("make", "-s", "diff"), "STEP= is not set")
    refused(check, "make diff STEP='04 05'", copy.run("make", "-s", "diff", "STEP=04 05"),
            "several steps")
