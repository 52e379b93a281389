"""diff.py - make diff: what a step changes, as a unified diff of its sources.

Lessons explain the diff and are no part of it; neither are variants. Files come in the
order of their names and without dates, so that the same tree always gives the same bytes.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.base import options, tree
from tools.base.tree import Program, Step
from tools.history import rungs

SOURCES = (".c", ".h", ".cl", ".cu")


def sources(folder: Path | None) -> dict[str, Path]:
    """{name: path} of the sources of a program; none if there is no folder."""
    found = folder.rglob("*") if folder else ()
    return {str(p.relative_to(folder)): p for p in sorted(found)  # type: ignore[arg-type]
            if p.is_file() and p.suffix in SOURCES}


def folders(old: Path | None, new: Path | None, labels: tuple[str, str] = ("", ""),
            colour: bool = False, spaces: bool = True, context: int = 3,
            only: str = "") -> dict[str, str]:
    """{name: unified diff} of the sources that differ in two folders, each of which may be
    None; of one source if `only` is set. The labels are appended to the paths. Without
    `spaces`, lines that differ only in white space count as equal."""
    before, after = sources(old), sources(new)
    found = {}
    for name in [only] if only else sorted(before | after):
        paths = [files.get(name, Path(os.devnull)) for files in (before, after)]
        if paths[0].read_bytes() == paths[1].read_bytes():
            continue
        names = [str(path) if str(path) == os.devnull else tree.display(path) for path in paths]
        done = subprocess.run(
            ["diff", f"-U{context}", f"--color={'always' if colour else 'never'}",
             *([] if spaces else ["-w"]),
             *(f"--label={n}{label}" for n, label in zip(names, labels)), *paths],
            capture_output=True, text=True, errors="replace")
        if done.returncode > 1:
            raise SystemExit(f"diff: {done.stderr.strip()}")
        if done.stdout:
            found[name] = done.stdout
    return found


def step_changes(step: Step, program: Program, **how: Any) -> dict[str, str]:
    """What a step changes in a program, as folders() returns it. All files of a program's
    first step are new."""
    earlier = tree.before(step, program)
    old = earlier.folder / program.name if earlier else None
    return folders(old, step.folder / program.name, **how)


def count(text: str) -> tuple[int, int]:
    """(added, removed) lines of a unified diff without colour."""
    body = text.splitlines()[2:]
    added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
    return added, removed


def main() -> None:
    arguments = options.parse(options.parser(__doc__, "STEP", "PROGRAM", "SPACES"))
    step = rungs.one_step("make diff STEP=05 [PROGRAM=semblance]")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if step.has(p)]
    if not programs:
        raise SystemExit(f"{step.name} has no {arguments.program}: expected a step that has it")
    first = [p.name for p in programs if not tree.before(step, p)]
    if first:
        print(f"{step.name} is the first step of {' '.join(first)}: no step to compare with")
    for program in programs:
        if program.name not in first:
            changes = step_changes(step, program, colour=sys.stdout.isatty(),
                                   spaces=arguments.spaces != "0")
            print(*changes.values(), sep="", end="")


if __name__ == "__main__":
    main()
