"""new_step.py - make new-step: a folder for one more lesson.

    NAME=08_vector              its name: two digits, _, a word
    AFTER=07_regpressure        the step whose programs are copied; the last unless set

The programs are copied as they are, so that the new step builds and verifies at once.
step.mk and the READMEs are new: what is empty in them, make lint refuses until it is
written. Left out: the lessons.
"""
import os
import re
import shutil

from tools.history import tree

STEP_MK = """\
# kind: {kinds}.
# title: what the folder's name means, then what each program does in it. changes: the
# files that the lesson changes; shown: the one whose change a lesson shows, body.h unless
# said. predict: the speed over the step before, said before measuring, and why, as in:
# 2.0: half of the divisions are gone.
title    =
kind     = refactor
backends = {backends}
"""

PROGRAM_MK = """
title.{name}       =
changes.{name}     =
predict.{name}.cpu =
predict.{name}.gpu =
"""

README = """\
# {number} {words}

## The idea

## The programs

<!-- generated: programs -->
<!-- end -->
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


def after(steps):
    """The step that AFTER names, by name or number."""
    wanted = os.environ.get("AFTER")
    found = [s for s in steps if wanted in (None, "", s.name, s.number)]
    if not found:
        raise SystemExit(f"AFTER={wanted}: no such step, there are "
                         f"{' '.join(s.name for s in steps)}")
    return found[-1]


def main():
    name = os.environ.get("NAME", "")
    if not re.fullmatch(r"\d\d_[a-z0-9][a-z0-9_]*", name):
        raise SystemExit(f"NAME={name}: expected two digits, _ and a word, "
                         f"as in NAME=08_vector")
    steps = tree.steps()
    taken = [s.name for s in steps if s.number == name[:2]]
    if taken:
        raise SystemExit(f"NAME={name}: {taken[0]} has this number")
    source = after(steps)
    if name < source.name:
        raise SystemExit(f"NAME={name}: comes before {source.name}, which it continues")

    folder = tree.ROOT / "steps" / name
    started = {p: [s for s in steps if s.name <= source.name and s.has(p)]
               for p in tree.programs()}
    programs = [p for p, found in started.items() if found]
    for program in programs:
        shutil.copytree(started[program][-1].folder / program.name, folder / program.name)
        (folder / program.name / "README.md").write_text(
            LESSON.format(number=name[:2], name=program.name))
    shutil.copy(source.folder / "Makefile", folder)
    kinds = " ".join(k for k in tree.KINDS if k != "start")
    text = STEP_MK.format(kinds=kinds, backends=source.mk.get("backends", ""))
    text += "".join(f"backends.{p.name} = {named}\n" for p in programs
                    if (named := started[p][-1].mk.get(f"backends.{p.name}")))
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
