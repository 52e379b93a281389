"""diff.py - what differs between two folders, and what a step changes (make diff).

    STEP=05 [PROGRAM=fletcher] [SPACES=0] python3 -m tools.history.diff

SPACES=0 leaves out lines that have only been indented anew, as by a loop that goes. Only
sources are compared: lessons are about the diff, variants have diffs of their own.
Files come in the order of their names and without dates, so that the same tree always
gives the same bytes.
"""
import os
import subprocess
import sys

from tools.history import tree

SOURCES = (".c", ".h", ".cl", ".cu")


def shown(path):
    """A path as it is written from the root of the tree."""
    return str(path.relative_to(tree.ROOT) if path.is_relative_to(tree.ROOT) else path)


def sources(folder):
    """{name: path} of the sources of a program; none where there is no folder."""
    found = folder.rglob("*") if folder else ()
    return {str(p.relative_to(folder)): p for p in sorted(found)
            if p.is_file() and p.suffix in SOURCES}


def folders(old, new, labels=("", ""), colour=False, spaces=True, context=3):
    """{name: unified diff} of the sources in which two folders differ, either of which
    may be None; the labels are put behind the paths, context lines around a change. No
    colour, unless asked for."""
    before, after = sources(old), sources(new)
    found = {}
    for name in sorted(before | after):
        paths = [files.get(name, os.devnull) for files in (before, after)]
        names = [os.devnull if path == os.devnull else shown(path) for path in paths]
        done = subprocess.run(
            ["diff", f"-U{context}", f"--color={'always' if colour else 'never'}",
             *([] if spaces else ["-w"]),
             *(f"--label={n}{l}" for n, l in zip(names, labels)), *paths],
            capture_output=True, text=True, errors="replace")
        if done.returncode > 1:
            raise SystemExit(f"diff: {done.stderr.strip()}")
        if done.stdout:
            found[name] = done.stdout
    return found


def of_step(step, program, **how):
    """What a step changes in a program, as folders() has it; of a program's first step,
    all its files, as new."""
    earlier = tree.before(step, program)
    return folders(earlier and earlier.folder / program.name, step.folder / program.name,
                   **how)


def count(text):
    """(added, removed) lines of a unified diff without colour."""
    body = text.splitlines()[2:]
    return tuple(sum(line.startswith(sign) for line in body) for sign in "+-")


def main():
    step = tree.one_step("make diff STEP=05 [PROGRAM=semblance]")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if not programs:
        raise SystemExit(f"{step.name} has no {os.environ['PROGRAM']}: the step before it "
                         f"that has it counts")
    first = [p.name for p in programs if not tree.before(step, p)]
    if first:
        print(f"{step.name} is the first step of {' '.join(first)}: there is nothing "
              f"before it to compare with")
    for program in programs:
        if program.name not in first:
            print(*of_step(step, program, colour=sys.stdout.isatty(),
                           spaces=os.environ.get("SPACES") != "0").values(),
                  sep="", end="")


if __name__ == "__main__":
    main()
