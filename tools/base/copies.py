"""copies.py - calls make, in the tree or in a changed copy of it."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.base import tree
from tools.base.runs import Argument

MAKE = ("Makefile", "config.mk", "rules.mk")
# All that a binary, its data and its checker are built from.
COPIED = (*MAKE, "common", "steps", "data", "verify")
# The variables of the make that called a tool, which must not reach a make or another tool
# that it calls.
ASKED = ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD", *re.findall(r"\w+", re.findall(
    r"^of_tools := ((?:.*\\\n)*.*)", (tree.ROOT / "Makefile").read_text(), re.M)[0])]


def environment(**variables: str) -> dict[str, str]:
    """The environment without the variables of make, and with others."""
    return {**{k: v for k, v in os.environ.items() if k not in ASKED}, **variables}


def make(*words: Argument, folder: Path = tree.ROOT) -> str | None:
    """Calls make in a folder. Returns None, or its first error message. words are targets,
    as paths below the folder, and variables, such as OPT=-O2."""
    done = subprocess.run(["make", "-s", "-C", folder, *map(str, words)], env=environment(),
                          capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = done.stderr.splitlines()
    return next((line for line in lines if "error" in line), lines[-1])


def built_with(program: tree.Program, step: tree.Step, backend: str, words: Sequence[str]) -> Path:
    """The binary of a step, built by make with some variables, in a folder of its own."""
    name = re.sub(r"\W+", "_", " ".join(words))
    folder = tree.build() / "with" / f"make{name}"
    target = folder / step.name / f"{program.name}-{backend}"
    problem = make(f"BUILD={os.path.relpath(folder, tree.ROOT)}", *words,
                          os.path.relpath(target, tree.ROOT))
    if problem:
        raise SystemExit(f"make {' '.join(words)}: {problem}")
    return target


def put(source: Path, target: Path) -> None:
    """Copies a file or a folder, with the times of modification."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)


class Copy:
    """A copy of the tree, with a build folder of its own. With `built`, the objects of
    common/ that the tree has built are copied, too."""

    def __init__(self, folder: Path, built: bool = False) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            put(tree.ROOT / name, folder / name)
        for name in ("flags", "toolchain", "common") if built else ():
            if (tree.build() / name).exists():
                put(tree.build() / name, folder / "build" / name)

    def binary(self, program: tree.Program, step: tree.Step, backend: str) -> Path:
        return self.folder / "build" / step.name / f"{program.name}-{backend}"

    def make(self, *binaries: Path, words: Sequence[str] = ()) -> str | None:
        """Builds binaries. Returns None, or the compiler's first error message."""
        return make("BUILD=build", *words, *(b.relative_to(self.folder) for b in binaries),
                    folder=self.folder)

    def restore(self, names: Iterable[str]) -> None:
        """Undoes the changes of files, which become newer than what was built from them."""
        for name in names:
            shutil.copyfile(tree.ROOT / name, self.folder / name)
