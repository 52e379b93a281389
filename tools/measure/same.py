"""same.py - whether two steps' back-ends are the same code, so that times cannot differ.

The sources of a back-end are compiled with the flags of its binary and compared as
tools/history/same_code.py compares two versions of the tree: code, data and strings,
without line numbers and names. For OpenCL the host's objects are compared, whose strings
are the options of the kernel's build, and the text of the kernel without comments and white
space. For nvcc only such texts are compared: to compile all steps takes it longer than to
measure them. common/ is the same for all steps. The result is kept in BUILD/same until the
binary changes.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.history import runs, same_code, tree
from tools.history.same_code import Compilation
from tools.history.tree import BACKENDS, Program, Step
from tools.measure.variants import Variant

Point = tuple[Step | Variant, Program, str]


def required(command: Sequence[str], folder: Path) -> str:
    """What a command prints, which must succeed."""
    text = same_code.output(command, folder)
    if text is None:
        raise SystemExit(f"{command[0]}: fails: cannot compare the code: {' '.join(command)}")
    return text


def kernel_text(folder: Path, name: str, seen: set[str]) -> list[str]:
    """A source and the headers of its own folder that it includes, without comments, each
    run of white space replaced by a blank. Macros may be defined when the program runs, so
    nothing is expanded."""
    path = folder / name
    if name in seen or not path.exists():  # common/ is the same for all
        return []
    seen.add(name)
    text = required(["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c", str(path)], folder)
    found = [f"{name}: {' '.join(text.split())}"]
    for inner in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        found += kernel_text(folder, inner, seen)
    return found


def texts_of(sources: Path, program: Program, backend: str, flags: Sequence[str],
             root: Path) -> list[str]:
    """Texts that are equal for two steps if their code is. sources is the step's folder,
    root the tree with its common/; flags begin with the compiler."""
    about = BACKENDS[backend]
    options = [*same_code.INCLUDES, f"-Icommon/{program.name}"]
    precisions: list[list[str]] = [[]]
    if "double" in program.mk:
        precisions.append(program.mk["double"].split())
    texts: list[str] = []
    with tempfile.TemporaryDirectory(prefix="same-") as name:
        # A compiler writes down where it found a source: all are found in the same place.
        folder = Path(name)
        shutil.copytree(sources, folder / "x")
        (folder / "common").symlink_to(root / "common")
        for source in about.sources:
            if source.endswith(".cl") or about.compiler == "NVCC":
                texts += kernel_text(sources, source, set())
                continue
            for more in precisions:
                command = ["mpicc" if about.compiler == "MPICC" else flags[0], *flags[1:],
                           *about_flags(backend), *options, *more, *same_code.REPRODUCIBLE]
                if source.endswith(".cu"):
                    command += ["-x", "c"]
                code = same_code.compiled(Compilation(f"x/{source}", tuple(command)), folder)
                if code is None:
                    raise SystemExit(f"{sources / source}: does not compile: cannot compare "
                                     "the code")
                texts.append(code.text())
    return texts


def about_flags(backend: str) -> list[str]:
    """The flags of a back-end, without variables of make."""
    return [f for f in BACKENDS[backend].flags if not f.startswith("$")]


def code(step: Step | Variant, program: Program, backend: str) -> str:
    """A digest of the code of a back-end of a step or a variant."""
    root, build, folder = tree.ROOT, tree.build(), step.folder
    if isinstance(step, Variant):  # it has a copy of the tree
        root, build, folder = folder, folder / "build", folder / "steps" / step.step.name
        if step.path.is_file() and "+++ b/common/" in step.path.read_text():
            return step.name  # what is compared here leaves out common/
    binary = step.binary(program, backend)
    mark = runs.key(binary, Path(__file__), Path(same_code.__file__), root / "common",
                    folder / program.name, folder / "step.mk", *runs.flags(program, build))
    kept = tree.build() / "same" / program.name / f"{backend}-{mark}"
    if not kept.exists():
        flags = [*runs.flags(program, build),
                 *same_code.declared(root, folder / "step.mk", f"cflags.{program.name}")]
        texts = texts_of(folder / program.name, program, backend, flags, root)
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.{step.number}.{backend}")
        temporary.write_text(hashlib.sha256("\0".join(texts).encode()).hexdigest())
        temporary.replace(kept)
    return kept.read_text()


def codes(wanted: Iterable[Point]) -> dict[Point, str]:
    """{(step, program, back-end): digest of its code}, computed on all cores."""
    wanted = list(wanted)
    with ThreadPoolExecutor(runs.processors()) as pool:
        return dict(zip(wanted, pool.map(lambda point: code(*point), wanted)))
