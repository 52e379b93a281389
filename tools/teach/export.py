"""export.py - make export: one step of one program as a tree that stands alone.

    STEP=05 PROGRAM=semblance   gives BUILD/export/semblance-05_algebra.tar.gz
    STEP=05.3                   gives one of the step's rungs

It contains the program and its lesson, what all back-ends need of common/, the generator of
the data, the checker, and the Makefile and tools of this tree, so that `make`, `make verify`
and `make run` do there what they do here. Of step.mk it has the lines of this program only.
The same tree gives the same bytes. Left out: the other steps, measuring, publishing.
"""
from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tools.base import copies, options, tree
from tools.base.tree import Program, Step
from tools.teach import exercise

WHOLE = (*copies.MAKE, "setup.sh", "LICENSE", "tools/__init__.py",
         "tools/base", "tools/history", "tools/teach/run.py", "tools/measure/section.py",
         "tools/measure/machine.py",
         "tools/verify/matrix.py", "tools/verify/execute.py",
         "tools/verify/section_check.py", "tools/verify/section_oracle.py",
         "tools/verify/section_search.py",
         "tools/verify/queries/__init__.py", "verify/verify.c", "verify/verdict.h")

README = """\
# {title}

The program {program} of step {step} of an optimization history: {step_title}. The lesson is
`steps/{step}/{program}/README.md`; the history contains the other versions.

    ./setup.sh       installs the packages that are missing
    make             builds every back-end that can be built: {backends}
    make run         runs them and verifies the results against double precision
    make verify      the same for small and difficult inputs

GNU Make, gcc and Python are enough for OpenMP. OpenCL needs its headers and a device, or
PoCL; CUDA needs nvcc and a GPU, and `cuda-cpu` is the same CUDA code on the CPU.
`build/{step}/{program}-{first} help` lists its arguments.

BSD 3-Clause, see LICENSE.
"""


def programs() -> set[str]:
    """Names of the folders of common/ that belong to a program."""
    return {p.name for p in tree.programs()}


def step_mk(step: Step, program: Program) -> str:
    """step.mk without the lines of other programs."""
    foreign = "|".join(programs() - {program.name})
    text = (step.folder / "step.mk").read_text()
    return re.sub(rf"^{step.name}\.\w+\.(?:{foreign})\b.*\n", "", text, flags=re.M).rstrip() + "\n"


def contents(step: Step, program: Program) -> dict[str, bytes]:
    """{path: content} of all that is packed."""
    chosen = [tree.ROOT / name for name in WHOLE]
    chosen += [p for p in (tree.ROOT / "common").iterdir()
               if p.name == program.name or p.name not in programs()]
    chosen += (tree.ROOT / "verify").glob(f"check_{program.name}.c")
    chosen += (tree.ROOT / "verify").glob(f"oracle_{program.name}.[ch]")
    chosen += (tree.ROOT / "tools/verify/queries").glob(f"{program.name}.py")
    chosen += [tree.ROOT / "data" / f"{program.name}.c"]
    own = [step.folder / name for name in (program.name, "README.md", "Makefile")]
    files: dict[str, bytes] = {}
    for top in [*chosen, *own]:
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                name = Path("steps", step.name, path.relative_to(step.folder)) if top in own \
                    else path.relative_to(tree.ROOT)
                files[str(name)] = path.read_bytes()
    files[f"steps/{step.name}/step.mk"] = step_mk(step, program).encode()
    backends = step.backends(program)
    files["README.md"] = README.format(
        title=program.title, program=program.name, step=step.name,
        step_title=step.title(program), backends=" ".join(backends),
        first=backends[0]).encode()
    return files


def pack(files: Mapping[str, bytes], name: str, path: Path) -> None:
    """A .tar.gz of name/..., without owners and dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "wb") as raw, \
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped, \
            tarfile.TarFile(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for inside, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size = len(data)
            entry.mode = 0o755 if inside.endswith(".sh") else 0o644
            tar.addfile(entry, io.BytesIO(data))
    temporary.replace(path)


def main() -> None:
    options.parse(options.parser(__doc__, "STEP", "PROGRAM"))
    step, program = exercise.named()
    name = f"{program.name}-{step.name}"
    path = tree.build() / "export" / f"{name}.tar.gz"
    files = contents(step, program)
    pack(files, name, path)
    print(f"{tree.display(path)}: {len(files)} files")


if __name__ == "__main__":
    main()
