"""same.py - whether two steps' back-ends are the same code, so that times cannot differ.

Of C without calls of a device, the objects that make built are compared, without symbols and
lines. Other sources have the line numbers of their calls in their objects, or are compiled when
the program runs: of these the texts are compared, and those of the headers of the same folder,
without comments, each run of white space replaced by a blank.
"""
from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

from tools.base import runs
from tools.base.tree import BACKENDS, Program, Step
from tools.measure.variants import Variant

OBJECTS = ("cpu.c", "openacc.c")  # the sources whose objects are compared


def output_of(*command: str | Path) -> bytes:
    """What a command prints, which must succeed."""
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{command[0]}: fails: cannot compare the code: "
                         f"{done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def strip_object(path: Path) -> bytes:
    """An object without symbols, and without what OpenACC compiles for a GPU: the same loops are
    also compiled for the host."""
    with tempfile.NamedTemporaryFile() as file:
        output_of("objcopy", "--strip-unneeded", "--remove-section=.gnu.offload_lto*", path,
                Path(file.name))
        return Path(file.name).read_bytes()


def source_text(path: Path, seen: set[Path]) -> bytes:
    """A source and the headers of its folder that it includes. Nothing is expanded, since
    macros may be defined when the program runs."""
    if path in seen or not path.exists():  # common/ is the same for all
        return b""
    seen.add(path)
    found = b" ".join(output_of(runs.compiler(), "-fpreprocessed", "-dD", "-E", "-P", "-x", "c",
                              path).split())
    return found + b"\0".join(source_text(path.parent / name, seen) for name in
                              re.findall(r'^#include "([^"]+)"', path.read_text(), re.M))


def objects(binary: Path, source: str) -> list[bytes]:
    """The objects of a source in a binary of make, stripped."""
    folder = binary.parent.parent / "parts" / binary.parent.name / binary.name
    return [strip_object(path) for path in sorted(folder.rglob(f"{source}.o"))]


def code(step: Step | Variant, program: Program, backend: str) -> str:
    """A digest of the code of a back-end of a step or a variant."""
    binary, folder = step.binary(program, backend), step.folder
    flags: list[str] = []
    if isinstance(step, Variant):  # it has a copy of the tree
        if step.path.is_file() and "+++ b/common/" in step.path.read_text():
            return step.name  # what is compared here leaves out common/
        flags, folder = step.make, folder / "steps" / step.step.name
    about = step.step if isinstance(step, Variant) else step
    flags = [*flags, about.mk.get(f"cflags.{program.name}", "")]
    parts: list[bytes] = []
    for source in BACKENDS[backend].sources:
        parts += source in OBJECTS and objects(binary, source) or [
            str(flags).encode(), source_text(folder / program.name / source, set())]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
