"""exercise.py - make exercise, make reveal: a step as a task, and the book's answer.

    exercise.py exercise|reveal

    STEP=05 PROGRAM=semblance   which step, of which program
    WORK=work                   where attempts are: WORK/05_algebra/semblance
    FORCE=1                     begin anew: the attempt that is there is moved aside

An exercise starts from the code of the step before. What is to be done is in TASK.md,
drawn from the lesson and step.mk: the change and its reason, never its diff. reveal is
that diff: from the attempt to the book's step, or, where there is no attempt, from the
step before. Left out: judging an attempt, which is bench/grade.py.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "verify"))
import tree  # noqa: E402

SOURCES = (".c", ".h", ".cl", ".cu")
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
        earlier = [s for s in tree.steps() if s.name < step.name and s.has(program)]
        if not earlier:
            raise SystemExit(f"{step.name} is where {program.name} starts: there is "
                             f"nothing before it to start from")
        self.before = earlier[-1]
        self.start = self.before.folder / program.name
        self.book = step.folder / program.name
        work = tree.ROOT / (os.environ.get("WORK") or "work")
        self.attempt = work / step.name / program.name

    def words(self):
        """What make is told to mean this task."""
        return f"STEP={self.step.number} PROGRAM={self.program.name}"


def named():
    """The step and the program that STEP= and PROGRAM= name, one of each."""
    if not os.environ.get("STEP"):
        raise SystemExit("which step? STEP=05 [PROGRAM=semblance]")
    steps = tree.selected(tree.steps(), "STEP")
    if len(steps) > 1:
        raise SystemExit(f"one step at a time: {' '.join(s.name for s in steps)}")
    step, = steps
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if len(programs) != 1:
        there = " ".join(p.name for p in tree.programs() if step.has(p))
        raise SystemExit(f"which program of {step.name}? PROGRAM= one of: {there}")
    return step, programs[0]


def chosen():
    return Task(*named())


def shown(path):
    """A path as it is written from the root of the tree."""
    return str(path.relative_to(tree.ROOT) if path.is_relative_to(tree.ROOT) else path)


# ---- the task in words ------------------------------------------------------------


def sections(text, program):
    """{heading: text} of a lesson: what is said for all programs and what is said of one,
    which stands under its name. Without what is generated, and without diffs."""
    text = re.sub(r"<!-- generated:.*?<!-- end -->\n?", "", text, flags=re.S)
    text = re.sub(r"^```diff\n.*?^```\n", "", text, flags=re.S | re.M)
    names = {p.name for p in tree.programs()}
    found, heading, fenced, whose = {}, None, False, None
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        level, _, words = line.partition(" ")
        if level in ("##", "###") and not fenced:
            heading = words.strip()
            if level == "##":
                whose = heading.lower() if heading.lower() in names else None
            if whose not in (None, program.name):
                heading = None
            else:
                found[heading] = []
        elif heading:
            found[heading].append(line)
    return {name: re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
            for name, lines in found.items()}


def task_text(task):
    """What TASK.md says."""
    step, program = task.step, task.program
    parts = [f"# {step.name}: {step.title}",
             f"This folder is {program.name} as step {task.before.name} left it. "
             f"Make it step {step.number}."]
    lesson = step.folder / "README.md"
    if lesson.exists():
        for heading, text in sections(lesson.read_text(), program).items():
            if heading.startswith(SECTIONS) and text:
                parts += [f"## {heading}", text]
    parts += ["## The prediction", "Speed over the step before, said before measuring:"]
    said = {device: step.prediction(program, device) for device in ("cpu", "gpu")}
    parts += ["\n".join(f"- {k.upper()}: {v or 'none'}" for k, v in said.items())]
    files = "\n".join(f"- `{name}`" for name in step.changes(program))
    parts += ["## What may change", f"{files}\n\n{PROMISES[step.kind(program)]}"]
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
            raise SystemExit(f"{shown(task.attempt)}: there is an attempt already; "
                             f"FORCE=1 moves it aside and begins anew")
        aside, number = task.attempt, 0
        while aside.exists():
            number += 1
            aside = task.attempt.with_name(f"{task.program.name}.{number}")
        task.attempt.rename(aside)
        print(f"the attempt that was there is now {shown(aside)}")
    text = task_text(task)
    shutil.copytree(task.start, task.attempt)
    (task.attempt / "TASK.md").write_text(text)
    print(f"{shown(task.attempt)}: the code of {task.before.name}; read "
          f"{shown(task.attempt / 'TASK.md')}")


# ---- differences ------------------------------------------------------------------


def differences(old, new, labels=("", ""), colour="never"):
    """{name: unified diff} of the sources in which two folders differ; the labels are
    put behind the paths."""
    names = {p.relative_to(folder) for folder in (old, new) for p in folder.rglob("*")
             if p.is_file() and p.suffix in SOURCES}
    found = {}
    for name in sorted(names):
        pair = [f / name if (f / name).is_file() else os.devnull for f in (old, new)]
        label = [f"--label={shown(f / name)}{what}"
                 for f, what in zip((old, new), labels)]
        diff = subprocess.run(["diff", "-u", f"--color={colour}", *label, *pair],
                              capture_output=True, text=True, errors="replace")
        if diff.returncode > 1:
            raise SystemExit(diff.stderr.strip())
        if diff.stdout:
            found[str(name)] = diff.stdout
    return found


def lines(diffs):
    """(added, removed) lines of uncoloured differences."""
    bodies = [line for text in diffs.values() for line in text.splitlines()[2:]]
    return tuple(sum(b.startswith(sign) for b in bodies) for sign in "+-")


def reveal(task):
    colour = "always" if sys.stdout.isatty() else "never"
    if task.attempt.is_dir():
        old, whose = task.attempt, "your attempt"
    else:
        old, whose = task.start, f"step {task.before.name}"
    labels = f"  {whose}", f"  the book's {task.step.name}"
    found = differences(old, task.book, labels, colour)
    if not task.attempt.is_dir():
        print(f"{shown(task.attempt)}: no attempt; what the book changes:")
    print("".join(found.values()) or f"{whose} and the book's {task.step.name} are the "
          f"same\n", end="")


def main():
    commands = {"exercise": exercise, "reveal": reveal}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        raise SystemExit(__doc__)
    commands[sys.argv[1]](chosen())


if __name__ == "__main__":
    main()
