"""exercise.py - make exercise, make reveal: a step as a task, and the reference solution.

    STEP=05 PROGRAM=semblance   which step or rung, of which program (by default the first
                                that the step has)
    BACKEND=omp                 the task is this back-end alone
    WORK=work                   where attempts are: WORK/05_algebra/semblance
    FORCE=1                     start again: the attempt that is there is renamed

An exercise starts from the code of the step before, or of the rung before. TASK.md says what
is to be done; it is taken from the lesson, or from the patch of the rung: the change and its
reason, never its diff or its gain. A change of more than MOST_LINES is refused: its rungs are
tasks. `reveal` prints the change of the reference solution. tools/teach/grade.py grades an
attempt.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from tools.base import options, tree
from tools.history import diff, rungs
from tools.base.tree import BACKENDS, Program, Step

MOST_LINES = 150  # added or removed
PROMISES = {
    "refactor": "The same operations in the same order: the results have the same bytes.",
    "port": "The same algorithm elsewhere: the results stay within the error budget.",
    "algebra": "Rounding may change: the results stay within the error budget.",
    "memory": "The same operations on other storage: the results stay within the error "
              "budget.",
}


class Task:
    """One step of one program, the step before it, and the folder of the attempt."""

    def __init__(self, step: Step, program: Program, work: str = "work") -> None:
        self.step, self.program = step, program
        before = tree.before(step, program)
        if not before:
            raise SystemExit(f"STEP={step.number}: the first step of {program.name}: expected "
                             f"one with a step before it to start from")
        self.before = before
        self.start = before.folder / program.name
        self.solution = step.folder / program.name
        self.attempt = tree.ROOT / work / step.name / program.name

    def variables(self) -> str:
        """The variables of make that select this task."""
        return f"STEP={self.step.number} PROGRAM={self.program.name}"

    def of_backends(self, name: str, backends: list[str]) -> bool:
        """Whether a file belongs to some back-ends: no source of others alone; none: to all."""
        users = {b.name for b in BACKENDS.values() if name in b.sources}
        return not backends or not users or not users.isdisjoint(backends)

    def diffs(self, backends: list[str], colour: bool = False) -> dict[str, str]:
        """{file: diff} of the reference solution, for some back-ends or all."""
        found = diff.folders(self.start, self.solution, colour=colour)
        return {name: text for name, text in found.items() if self.of_backends(name, backends)}

    def lines(self, backends: list[str]) -> int:
        return sum(max(diff.count(text)) for text in self.diffs(backends).values())

    def rungs(self) -> str:
        """The rungs of the step, as values of STEP=."""
        count, number = len(rungs.paths(self.step, self.program)), self.step.number
        return f"STEP={number}.1 to {number}.{count} (make rungs {self.variables()})" * bool(count)


def named() -> tuple[Step, Program]:
    """The step that STEP= names, and the program that PROGRAM= names, or the first."""
    step = rungs.one_step("STEP=05 [PROGRAM=semblance]")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if not programs:
        raise SystemExit(f"PROGRAM={os.environ['PROGRAM']}: not in {step.name}: expected one of "
                         f"{' '.join(p.name for p in tree.programs() if step.has(p))}")
    if len(programs) > 1 and os.environ.get("PROGRAM"):
        raise SystemExit(f"PROGRAM={os.environ['PROGRAM']}: several programs: expected one")
    return step, programs[0]


def backends_asked() -> list[str]:
    return os.environ.get("BACKEND", "").split()


def add_work(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--work", metavar="FOLDER", default=os.environ.get("WORK") or "work",
                        help="folder of the attempts (default: work)")


def chosen(work: str) -> Task:
    return Task(*named(), work)


# ---- the task in words ------------------------------------------------------------


def section(path: Path, heading: str, place: Path) -> list[str]:
    """A section of a page, without its generated parts, with links that work in a folder."""
    text = path.read_text() if path.exists() else ""
    text = re.sub(r"<!-- generated:.*?<!-- end -->\n?", "", text, flags=re.S)
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found:
        return []

    def link(match: re.Match[str]) -> str:
        name, mark, anchor = match[1].partition("#")
        return f"]({os.path.relpath(path.parent / name if name else path, place)}{mark}{anchor})"
    body = re.sub(r"\]\((?!\w+:)([^)]*)\)", link, re.sub(r"\n{3,}", "\n\n", found[1]).strip())
    return [f"## {heading}", body]


def lesson(task: Task) -> list[str]:
    """What the lesson says about the change: in full, or the idea of the step and the change."""
    step, page = task.step, task.step.folder / task.program.name / "README.md"
    change = section(page, "What changes", task.attempt)
    if isinstance(step, rungs.Rung):
        return change
    return [*(section(page, "The idea", task.attempt) or
              section(step.folder / "README.md", "The idea", task.attempt)), *change]


def predictions(task: Task) -> list[str]:
    """The predictions that were made before measuring, and the reasons of all."""
    step, program = task.step, task.program
    if isinstance(step, rungs.Rung):
        found = dict(rungs.of_step(step.step, program)[step.place - 1].predictions)
    else:
        found = {device: step.prediction(program, device) for device in ("cpu", "gpu")}
    lines = []
    for target, text in found.items():
        ratio, _, reason = text.partition(":")
        if reason:
            after = tree.EXPECTED in ratio
            lines.append(f"- {target}, {tree.EXPECTED}, so without its number:{reason}" if after
                         else f"- {target}, predicted before measuring: {ratio}:{reason}")
    return ["## The prediction", "Write down yours first. Ours, relative to the code that you "
            "start from:", "\n".join(lines)] if lines else []


def task_text(task: Task) -> str:
    """The content of TASK.md."""
    step, program, backends = task.step, task.program, backends_asked()
    files = "\n".join(f"- `{name}`" for name in step.changes(program)
                      if task.of_backends(name, backends))
    make_grade = f"    make grade {task.variables()}"
    return "\n\n".join([
        f"# {step.name}: {step.title(program)}",
        f"This folder is {program.name} as {task.before.name} left it. "
        f"Make it {step.name}." + f" Smaller tasks: {task.rungs()}." * bool(task.rungs()),
        *lesson(task), *predictions(task),
        "## Permitted changes", f"{files}\n\n{PROMISES[step.kind(program)]} The compiler "
        f"finds what is in this folder, in `common/` and in the system's folders.",
        "## Grading", "From the root of the tree:",
        f"{make_grade} BACKEND={' '.join(backends) or 'omp'}    one back-end\n"
        f"{make_grade}                all that run here",
        f"An attempt must compile and be right on every case. Then it is timed, "
        f"interleaved\nwith {task.before.name} and the reference solution. To see "
        f"the reference solution:",
        f"    make reveal {task.variables()}"]) + "\n"


def refuse_large(task: Task) -> None:
    """Ends with a message if the change is no exercise."""
    lines = task.lines(backends_asked())
    if lines <= MOST_LINES:
        return
    small = [b for b in task.step.backends(task.program) if 0 < task.lines([b]) <= MOST_LINES]
    instead = [task.rungs(), f"BACKEND= one of {' '.join(small)}" * bool(small)]
    raise SystemExit(f"{task.variables()}: {lines} changed lines, an exercise has at most "
                     f"{MOST_LINES}: expected {', or '.join(filter(None, instead)) or 'less'}")


def exercise(task: Task, force: bool) -> None:
    refuse_large(task)
    if task.attempt.exists():
        if not force:
            raise SystemExit(f"{tree.display(task.attempt)}: there is an attempt already; "
                             f"FORCE=1 renames it and starts again")
        number = len(list(task.attempt.parent.glob(f"{task.program.name}.*"))) + 1
        renamed = task.attempt.rename(task.attempt.with_name(f"{task.program.name}.{number}"))
        print(f"the earlier attempt is now {tree.display(renamed)}")
    text = task_text(task)
    shutil.copytree(task.start, task.attempt, ignore=shutil.ignore_patterns("*.md"))
    (task.attempt / "TASK.md").write_text(text)
    print(f"{tree.display(task.attempt)}: the code of {task.before.name}; read "
          f"{tree.display(task.attempt / 'TASK.md')}")


# ---- the reference solution ----------------------------------------------------------


def reveal(task: Task) -> None:
    print(*task.diffs(backends_asked(), sys.stdout.isatty()).values(), sep="", end="")


def main() -> None:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND")
    parser.add_argument("command", choices=("exercise", "reveal"))
    add_work(parser)
    parser.add_argument("--force", action="store_true", default=options.is_set("FORCE"),
                        help="rename an attempt that is there, and start again")
    found = options.parse(parser)
    if found.command == "exercise":
        exercise(chosen(found.work), found.force)
    else:
        reveal(chosen(found.work))


if __name__ == "__main__":
    main()
