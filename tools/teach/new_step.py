"""new_step.py - make new-step: the folder of one more step.

    NAME=08_vector              its name: two digits, _, a word
    AFTER=07_regpressure        the step whose programs are copied; the last by default

The programs are copied as they are, so that the new step builds and verifies at once. step.mk
has what they need to build, and empty fields; a page has the headings and the generated parts
of the copied one. make lint refuses them until step.mk is written.
"""
from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools.base import options, tree
from tools.base.tree import Program, Step


def find_step(steps: list[Step], number: str) -> Step:
    """The step of a name or number, the last one if it is empty."""
    found = [s for s in steps if number in ("", s.name, s.number)]
    if not found:
        raise SystemExit(f"AFTER={number}: no such step: expected one of "
                         f"{' '.join(s.name for s in steps)}")
    return found[-1]


def find_source(name: str, after: str) -> Step:
    """The step that a new one of that name continues."""
    if not re.fullmatch(r"\d\d_[a-z0-9][a-z0-9_]*", name):
        raise SystemExit(f"NAME={name}: invalid name: expected two digits, _ and a word, as in "
                         f"08_vector")
    steps = tree.steps()
    taken = [s.name for s in steps if s.number == name[:2]]
    if taken:
        raise SystemExit(f"NAME={name}: {taken[0]} has this number: expected another")
    source = find_step(steps, after)
    if name < source.name:
        raise SystemExit(f"NAME={name}: comes before {source.name}, which it continues: "
                         f"expected a larger number")
    return source


def declarations(source: Step, programs: dict[Program, Step]) -> dict[str, str]:
    """{key: value} of step.mk. What a program of an earlier step needs is in its step.mk."""
    found = {"title": "", "kind": "refactor", "backends": source.mk["backends"]}
    if source is not tree.steps()[-1]:
        found["after"] = source.number
    for program, step in programs.items():
        found.update({f"{key}.{program.name}": step.mk[f"{key}.{program.name}"]
                      for key in ("backends", "cflags", "check")
                      if f"{key}.{program.name}" in step.mk})
        found.update(dict.fromkeys((f"{key}.{program.name}" for key in ("title", "changes")), ""))
        found.update(dict.fromkeys((f"predict.{program.name}.{d}" for d in ("cpu", "gpu")), ""))
    return found


def outline(page: Path, title: str) -> str:
    """A page without its text: its headings, and the marks of its generated parts."""
    lines = re.findall(r"^(?:## .*|<!-- (?:generated: .*|end) -->)$", page.read_text(), re.M)
    return "\n\n".join([f"# {title}", *lines]) + "\n"


def main() -> None:
    parser = options.parser(__doc__)
    parser.add_argument("--name", default=os.environ.get("NAME", ""), metavar="NAME")
    parser.add_argument("--after", default=os.environ.get("AFTER", ""), metavar="STEP")
    arguments = options.parse(parser)
    source = find_source(arguments.name, arguments.after)
    folder = tree.ROOT / "steps" / arguments.name
    number, _, words = arguments.name.partition("_")
    programs = {p: having[-1] for p in tree.programs()
                if (having := [s for s in tree.steps() if s.name <= source.name and s.has(p)])}
    for program, step in programs.items():
        shutil.copytree(step.folder / program.name, folder / program.name,
                        ignore=shutil.ignore_patterns("*.md"))
        (folder / program.name / "README.md").write_text(outline(
            step.folder / program.name / "README.md", f"{number} {program.name}"))
    shutil.copy(source.folder / "Makefile", folder)
    (folder / "README.md").write_text(outline(
        source.folder / "README.md", f"{number} {words.capitalize().replace('_', ' ')}"))
    (folder / "step.mk").write_text("".join(
        f"{arguments.name}.{key} = {value}".rstrip() + "\n"
        for key, value in declarations(source, programs).items()))

    place = f"steps/{arguments.name}"
    print(f"{place}: the programs of {source.name}. Now:")
    print(f"  1. change the programs; make diff STEP={number}; delete the programs that the "
          "step does not change")
    print(f"  2. write {place}/step.mk, before measuring (tools/base/tree.py explains its "
          "keys), and the pages; make lessons lint")
    print(f"  3. make verify STEP={number}; make bench STEP='{source.number} {number}'")


if __name__ == "__main__":
    main()
