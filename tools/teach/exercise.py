"""exercise.py - make exercise, make reveal: a step as a task, and the reference solution.

    STEP=05 PROGRAM=semblance   which step, of which program
    WORK=work                   where attempts are: WORK/05_algebra/semblance
    FORCE=1                     start again: the attempt that is there is renamed

An exercise starts from the code of the step before. TASK.md says what is to be done; it is
taken from the lesson and step.mk: the change and its reason, never its diff. `reveal` prints
the diff from the attempt to the tree's step, or from the step before if there is no attempt.
tools/teach/grade.py grades an attempt.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from tools.history import diff, options, tree
from tools.history.tree import Program, Step
from tools.teach import sandbox

# Sections of the lesson that the task repeats, by how their headings begin.
SECTIONS = ("What changes", "The idea", "In one sentence")
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


def named() -> tuple[Step, Program]:
    """The step and the program that STEP= and PROGRAM= name, one of each."""
    step = tree.one_step("STEP=05 [PROGRAM=semblance]")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if len(programs) != 1:
        there = " ".join(p.name for p in tree.programs() if step.has(p))
        raise SystemExit(f"which program of {step.name}? PROGRAM= one of: {there}")
    return step, programs[0]


def add_work(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--work", metavar="FOLDER", default=os.environ.get("WORK") or "work",
                        help="folder of the attempts (default: work)")


def chosen(work: str) -> Task:
    return Task(*named(), work)


# ---- the task in words ------------------------------------------------------------


def sections(path: Path) -> dict[str, str]:
    """{heading: text} of a lesson, without its generated parts; empty if there is none."""
    text = path.read_text() if path.exists() else ""
    text = re.sub(r"<!-- generated:.*?<!-- end -->\n?", "", text, flags=re.S)
    blocks = re.split(r"^## (.+)\n", text, flags=re.M)[1:]
    return {heading: re.sub(r"\n{3,}", "\n\n", body).strip()
            for heading, body in zip(blocks[::2], blocks[1::2])}


def task_text(task: Task) -> str:
    """The content of TASK.md."""
    step, program = task.step, task.program
    parts = [f"# {step.name}: {step.title(program)}",
             f"This folder is {program.name} as step {task.before.name} left it. "
             f"Make it step {step.number}."]
    for folder in (step.folder, step.folder / program.name):
        for heading, text in sections(folder / "README.md").items():
            if heading.startswith(SECTIONS) and text:
                parts += [f"## {heading}", text]
    parts += ["## The prediction",
              "Speedup over the step before, predicted before measuring:"]
    predicted = {device: step.prediction(program, device) for device in ("cpu", "gpu")}
    parts += ["\n".join(f"- {k.upper()}: {v or 'none'}" for k, v in predicted.items())]
    files = "\n".join(f"- `{name}`" for name in step.changes(program))
    parts += ["## What may change", f"{files}\n\n{PROMISES[step.kind(program)]} The compiler "
              f"finds what is in this folder, in `common/` and in the system's folders."]
    parts += ["## Grading", "From the root of the tree:",
              f"    make grade {task.variables()} BACKEND=omp    one back-end\n"
              f"    make grade {task.variables()}                all that run here",
              f"An attempt must compile and be right on every case. Then it is timed, "
              f"interleaved\nwith step {task.before.number} and the reference solution. To see "
              f"the reference solution:",
              f"    make reveal {task.variables()}"]
    return "\n\n".join(parts) + "\n"


def exercise(task: Task, force: bool) -> None:
    if task.attempt.exists():
        if not force:
            raise SystemExit(f"{diff.display(task.attempt)}: there is an attempt already; "
                             f"FORCE=1 renames it and starts again")
        renamed, number = task.attempt, 0
        while renamed.exists():
            number += 1
            renamed = task.attempt.with_name(f"{task.program.name}.{number}")
        task.attempt.rename(renamed)
        print(f"the earlier attempt is now {diff.display(renamed)}")
    text = task_text(task)
    shutil.copytree(task.start, task.attempt, ignore=shutil.ignore_patterns("*.md"))
    (task.attempt / "TASK.md").write_text(text)
    print(f"{diff.display(task.attempt)}: the code of {task.before.name}; read "
          f"{diff.display(task.attempt / 'TASK.md')}")


# ---- the reference solution ----------------------------------------------------------


def reveal(task: Task) -> None:
    if task.attempt.is_dir():
        old, name = task.attempt, "your attempt"
    else:
        old, name = task.start, f"step {task.before.name}"
        print(f"{diff.display(task.attempt)}: no attempt; what the reference solution changes:")
    labels = f"  {name}", f"  the reference solution of {task.step.name}"
    found = diff.folders(old, task.solution, labels, colour=sys.stdout.isatty())
    print(sandbox.shown("".join(found.values())) or
          f"{name} and the reference solution of {task.step.name} are equal\n", end="")


def main() -> None:
    parser = options.parser(__doc__, "STEP", "PROGRAM")
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
