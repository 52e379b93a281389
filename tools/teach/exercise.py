"""exercise.py - make exercise, make reveal: a step as a task, and the book's answer.

    exercise.py exercise|reveal

    STEP=05 PROGRAM=semblance   which step, of which program
    WORK=work                   where attempts are: WORK/05_algebra/semblance
    FORCE=1                     begin anew: the attempt that is there is moved aside

An exercise starts from the code of the step before. What is to be done is in TASK.md,
drawn from the lesson and step.mk: the change and its reason, never its diff. reveal is
that diff: from the attempt to the book's step, or, where there is no attempt, from the
step before. Left out: judging an attempt, which is tools/teach/grade.py.
"""
import os
import re
import shutil
import sys

from tools.history import diff, tree
from tools.teach import jail

SECTIONS = ("What changes", "The idea")  # of the lesson, by how their headings begin
PROMISES = {
    "refactor": "The same operations in the same order: results keep every byte.",
    "port": "The same algorithm elsewhere: results stay within the error budget.",
    "algebra": "Roundings may change: results stay within the error budget.",
    "memory": "The same operations on other storage: results stay within the error "
              "budget.",
}


class Task:
    """One step of one program, the step before it, and the folder of the attempt."""

    def __init__(self, step, program):
        self.step, self.program = step, program
        self.before = tree.before(step, program)
        if not self.before:
            raise SystemExit(f"{step.name} is where {program.name} starts: there is "
                             f"nothing before it to start from")
        self.start = self.before.folder / program.name
        self.book = step.folder / program.name
        work = tree.ROOT / (os.environ.get("WORK") or "work")
        self.attempt = work / step.name / program.name

    def words(self):
        """What make is told to mean this task."""
        return f"STEP={self.step.number} PROGRAM={self.program.name}"


def named():
    """The step and the program that STEP= and PROGRAM= name, one of each."""
    step = tree.one_step("STEP=05 [PROGRAM=semblance]")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if len(programs) != 1:
        there = " ".join(p.name for p in tree.programs() if step.has(p))
        raise SystemExit(f"which program of {step.name}? PROGRAM= one of: {there}")
    return step, programs[0]


def chosen():
    return Task(*named())


# ---- the task in words ------------------------------------------------------------


def sections(path):
    """{heading: text} of a lesson, without what is generated; nothing if there is none."""
    text = path.read_text() if path.exists() else ""
    text = re.sub(r"<!-- generated:.*?<!-- end -->\n?", "", text, flags=re.S)
    blocks = re.split(r"^## (.+)\n", text, flags=re.M)[1:]
    return {heading: re.sub(r"\n{3,}", "\n\n", body).strip()
            for heading, body in zip(blocks[::2], blocks[1::2])}


def task_text(task):
    """What TASK.md says."""
    step, program = task.step, task.program
    parts = [f"# {step.name}: {step.title(program)}",
             f"This folder is {program.name} as step {task.before.name} left it. "
             f"Make it step {step.number}."]
    for folder in (step.folder, step.folder / program.name):
        for heading, text in sections(folder / "README.md").items():
            if heading.startswith(SECTIONS) and text:
                parts += [f"## {heading}", text]
    parts += ["## The prediction", "Speed over the step before, said before measuring:"]
    said = {device: step.prediction(program, device) for device in ("cpu", "gpu")}
    parts += ["\n".join(f"- {k.upper()}: {v or 'none'}" for k, v in said.items())]
    files = "\n".join(f"- `{name}`" for name in step.changes(program))
    parts += ["## What may change", f"{files}\n\n{PROMISES[step.kind(program)]} An "
              f"#include names what is in this folder, in `common/` or the compiler's."]
    parts += ["## Grading", "From the root of the tree:",
              f"    make grade {task.words()} BACKEND=omp    one back-end\n"
              f"    make grade {task.words()}                all that run here",
              f"An attempt must compile and be right on every case. Then it is timed, "
              f"in turns with\nsteps {task.before.number} and {step.number} of the book, "
              f"whose answer you see, when you have yours, with",
              f"    make reveal {task.words()}"]
    return "\n\n".join(parts) + "\n"


def exercise(task):
    if task.attempt.exists():
        if os.environ.get("FORCE", "") in ("", "0"):
            raise SystemExit(f"{diff.shown(task.attempt)}: there is an attempt already; "
                             f"FORCE=1 moves it aside and begins anew")
        aside, number = task.attempt, 0
        while aside.exists():
            number += 1
            aside = task.attempt.with_name(f"{task.program.name}.{number}")
        task.attempt.rename(aside)
        print(f"the attempt that was there is now {diff.shown(aside)}")
    text = task_text(task)
    shutil.copytree(task.start, task.attempt, ignore=shutil.ignore_patterns("*.md"))
    (task.attempt / "TASK.md").write_text(text)
    print(f"{diff.shown(task.attempt)}: the code of {task.before.name}; read "
          f"{diff.shown(task.attempt / 'TASK.md')}")


# ---- the answer ----------------------------------------------------------------


def reveal(task):
    if task.attempt.is_dir():
        old, whose = task.attempt, "your attempt"
    else:
        old, whose = task.start, f"step {task.before.name}"
    labels = f"  {whose}", f"  the book's {task.step.name}"
    found = diff.folders(old, task.book, labels, colour=sys.stdout.isatty())
    if not task.attempt.is_dir():
        print(f"{diff.shown(task.attempt)}: no attempt; what the book changes:")
    print(jail.shown("".join(found.values())) or f"{whose} and the book's {task.step.name} are the "
          f"same\n", end="")


def main():
    commands = {"exercise": exercise, "reveal": reveal}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    commands[sys.argv[1]](chosen())


if __name__ == "__main__":
    main()
