"""export.py - make export: one step of one program as a tree that stands alone.

    STEP=05 PROGRAM=semblance   gives BUILD/export/semblance-05_algebra.tar.gz

In it: the step's program and lesson, what all back-ends need of common/, the generator of
the data, the checker, and this tree's own Makefile and tools, so that `make`, `make
verify` and `make run` mean there what they mean here. Of step.mk only the lines that are
this program's are left. The same tree gives the same bytes. Left out: the other steps,
measuring, publishing.
"""
import gzip
import io
import re
import tarfile

from tools.history import diff, tree
from tools.teach import exercise

WHOLE = ("Makefile", "config.mk", "setup.sh", "LICENSE", "tools/__init__.py",
         "tools/history", "tools/teach/run.py", "tools/publish/section.py",
         "tools/verify/matrix.py", "verify/verify.c", "verify/compare.c", "verify/compare.h",
         "verify/verdict.h", "tools/verify/queries/__init__.py")

README = """\
# {title}

{program} as step {step} of an optimization history has it: {step_title}. The lesson is
`steps/{step}/{program}/README.md`; the history keeps every other version.

    ./setup.sh       installs what is missing (Debian packages)
    make             builds every back-end that can be built here: {backends}
    make run         runs them, each verified against double precision
    make verify      the same on small, awkward data

GNU Make, gcc and Python are enough for OpenMP. OpenCL needs its headers and a device, or
PoCL; CUDA needs nvcc and a GPU, and `cuda-cpu` is the same CUDA code on the CPU.
`build/{step}/{program}-{first} help` lists what the program can be told.

BSD 3-Clause, see LICENSE.
"""


def others():
    """Names of the folders of common/ that belong to a program."""
    return {p.name for p in tree.programs()}


def step_mk(step, program):
    """step.mk without the lines of other programs."""
    foreign = "|".join(others() - {program.name})
    text = (step.folder / "step.mk").read_text()
    return re.sub(rf"^\w+\.(?:{foreign})\b.*\n", "", text, flags=re.M).rstrip() + "\n"


def contents(step, program):
    """{path: bytes} of all that is packed."""
    chosen = [tree.ROOT / name for name in WHOLE]
    chosen += [p for p in (tree.ROOT / "common").iterdir()
               if p.name == program.name or p.name not in others()]
    chosen += (tree.ROOT / "verify").glob(f"check_{program.name}.c")
    chosen += (tree.ROOT / "verify").glob(f"oracle_{program.name}.[ch]")
    chosen += (tree.ROOT / "tools/verify/queries").glob(f"{program.name}.py")
    chosen += [tree.ROOT / "data" / f"{program.name}.c", step.folder / program.name,
               step.folder / "README.md", step.folder / "Makefile"]
    files = {}
    for top in chosen:
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                files[str(path.relative_to(tree.ROOT))] = path.read_bytes()
    files[f"steps/{step.name}/step.mk"] = step_mk(step, program).encode()
    backends = step.backends(program)
    files["README.md"] = README.format(
        title=program.title, program=program.name, step=step.name,
        step_title=step.title(program), backends=" ".join(backends),
        first=backends[0]).encode()
    return files


def pack(files, name, path):
    """A .tar.gz of name/..., without owners and dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "wb") as raw, \
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for inside, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size = len(data)
            entry.mode = 0o755 if inside.endswith(".sh") else 0o644
            tar.addfile(entry, io.BytesIO(data))
    temporary.replace(path)


def main():
    step, program = exercise.named()
    name = f"{program.name}-{step.name}"
    path = tree.build() / "export" / f"{name}.tar.gz"
    files = contents(step, program)
    pack(files, name, path)
    print(f"{diff.shown(path)}: {len(files)} files")


if __name__ == "__main__":
    main()
