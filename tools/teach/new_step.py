"""new_step.py - make new-step: the folder of one more step.

    NAME=08_vector              its name: two digits, _, a word
    AFTER=07_regpressure        the step whose programs are copied; the last by default

The programs are copied as they are, so that the new step builds and verifies at once.
step.mk and the READMEs are new: make lint refuses them until what is empty is written.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Sequence

from tools.history import options, tree
from tools.history.tree import Step

STEP_MK = """\
# kind: {kinds}.
# title: what the folder's name means, then what each program does in it. changes: the
# files that the lesson changes; shown: the one whose change a lesson shows, by default
# body.h. predict: the speedup over the step before, predicted before measuring, and why, as
# in 2.0: half of the divisions are gone. check: arguments of the checker, which a step needs
# if its method gives other results.
title    =
kind     = refactor
backends = {backends}
{after}"""

PROGRAM_MK = """
title.{name}       =
changes.{name}     =
predict.{name}.cpu =
predict.{name}.gpu =
"""

README = """\
# {number} {words}

## The idea

## What it gains

<!-- generated: programs -->
<!-- end -->

## When it does not help
"""

LESSON = """\
# {number} {name}

## What changes

## The lines that matter

<!-- generated: diff -->
<!-- end -->

## The prediction

<!-- generated: predict -->
<!-- end -->

## Measured

<!-- generated: measured -->
<!-- end -->

## What surprised

## Exercises

## Run it

    make run STEP={number} PROGRAM={name}
"""


def after(steps: Sequence[Step], wanted: str) -> Step:
    """The step that AFTER names, by name or number."""
    found = [s for s in steps if wanted in ("", s.name, s.number)]
    if not found:
        raise SystemExit(f"AFTER={wanted}: no such step: expected one of "
                         f"{' '.join(s.name for s in steps)}")
    return found[-1]


def checked(name: str, wanted: str) -> Step:
    """The step that a new one of that name continues."""
    if not re.fullmatch(r"\d\d_[a-z0-9][a-z0-9_]*", name):
        raise SystemExit(f"NAME={name}: invalid name: expected two digits, _ and a word, as in "
                         f"08_vector")
    steps = tree.steps()
    taken = [s.name for s in steps if s.number == name[:2]]
    if taken:
        raise SystemExit(f"NAME={name}: {taken[0]} has this number: expected another")
    source = after(steps, wanted)
    if name < source.name:
        raise SystemExit(f"NAME={name}: comes before {source.name}, which it continues: "
                         f"expected a larger number")
    return source


def parsed() -> argparse.Namespace:
    parser = options.parser(__doc__)
    parser.add_argument("--name", default=os.environ.get("NAME", ""), metavar="NAME")
    parser.add_argument("--after", default=os.environ.get("AFTER", ""), metavar="STEP")
    return options.parse(parser)


def main() -> None:
    found = parsed()
    name, source, steps = found.name, checked(found.name, found.after), tree.steps()
    folder = tree.ROOT / "steps" / name
    started = {p: [s for s in steps if s.name <= source.name and s.has(p)]
               for p in tree.programs()}
    programs = [p for p, having in started.items() if having]
    for program in programs:
        shutil.copytree(started[program][-1].folder / program.name, folder / program.name,
                        ignore=shutil.ignore_patterns("*.md"))
        (folder / program.name / "README.md").write_text(
            LESSON.format(number=name[:2], name=program.name))
    shutil.copy(source.folder / "Makefile", folder)
    kinds = " ".join(k for k in tree.KINDS if k != "start")
    text = STEP_MK.format(
        kinds=kinds, backends=source.mk.get("backends", ""),
        after="" if source is steps[-1] else f"after    = {source.number}\n")
    text += "".join(f"{key}.{p.name} = {named}\n" for p in programs
                    for key in ("backends", "cflags", "check")
                    if (named := started[p][-1].mk.get(f"{key}.{p.name}")))
    text += "".join(PROGRAM_MK.format(name=p.name) for p in programs)
    (folder / "step.mk").write_text(text)
    number, _, words = name.partition("_")
    (folder / "README.md").write_text(README.format(
        number=number, words=words.capitalize().replace("_", " ")))

    place = f"steps/{name}/{programs[0].name}"
    print(f"steps/{name}: the programs of {source.name}. Now:")
    print(f"  1. change {place}/; make diff STEP={number}; delete the programs that the "
          f"step does not change")
    print("  2. write step.mk, before measuring, and the READMEs; make lessons lint")
    print(f"  3. make; make verify STEP={number}; "
          f"make bench STEP='{source.number} {number}'")


if __name__ == "__main__":
    main()
