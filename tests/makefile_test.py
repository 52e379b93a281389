"""makefile_test.py: what make does before it makes anything, in a copy of the tree.

Looking at the tree is cheap: the compiler is asked a few questions once, and nothing that
another make left in the folder of what is built is read. A program has its own
declarations, or none: not those of the program read before it.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers import ROOT, Tally
from tools.history import copies, tree

CALLS = 6  # of the compiler at most, for make -n
COPIED = ("Makefile", "config.mk", "common", "steps", "data", "verify", "tools", "tests")

tally = Tally()
check = tally.check


def make(folder, *words):
    clean = {k: v for k, v in os.environ.items() if k not in copies.ASKED}
    return subprocess.run(["make", *words], cwd=folder, env=clean, capture_output=True,
                          text=True, timeout=300)


def questions(folder):
    """The compiler is a script that writes down that it was called."""
    log, compiler = folder / "calls", folder / "compiler"
    compiler.write_text(f'#!/bin/sh\necho "$*" >>{log}\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    done = make(folder, "-n", f"CC={compiler}")
    calls = log.read_text().splitlines() if log.exists() else []
    check("make -n", done.stderr if done.returncode else None)
    check("make -n calls the compiler", None if 0 < len(calls) <= CALLS else
          f"{len(calls)} times, at most {CALLS} are needed: " + "; ".join(calls[:8]))


def foreign(folder):
    """A copy of the tree that is built in build/ is not this tree."""
    for name in ("mutants/program", "variants/05.point", "grade/05_algebra", "asan", "san"):
        for inside in ("build/common/run", "common/run", "build/parts/05_algebra"):
            path = folder / "build" / name / inside / "x.d"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("$(error a file of another tree was read)\n")
    done = make(folder, "-n", "tools")
    check("files of copies are not read", done.stderr if done.returncode else None)
    mine = folder / "build" / "common" / "run"
    mine.mkdir(parents=True, exist_ok=True)
    (mine / "x.d").write_text("$(error mine was read)\n")
    done = make(folder, "-n", "tools")
    check("those of the tree are", None if "mine was read" in done.stderr else "no")
    (mine / "x.d").unlink()


def declarations(folder):
    """The last program says nothing but where its source is."""
    (folder / "common" / "zzz").mkdir()
    (folder / "common" / "zzz" / "program.mk").write_text("title = last\nsources = main.c\n")
    kept = ("recipes", "suffix", "again", "cflags", "libs")
    shown = " ".join(f"{v}=[$(strip $({v}_zzz))]" for v in kept)
    done = make(folder, "-s", f"--eval=shown: ; @echo '{shown}'", "shown")
    wanted = "recipes=[] suffix=[] again=[] cflags=[] libs=[-lm]"
    check("a program has no declarations of another", None
          if done.stdout.strip() == wanted else done.stdout + done.stderr)


def first_look(folder):
    """make run builds one program, without nvcc and without what only checks."""
    done = make(folder, "-n", "run", "NVCC=/no/nvcc", "has_gpu=", "has_opencl=yes")
    built = set(re.findall(r"-o (build/\d\d_\w+/\S+)", done.stdout))
    main = {path for path in built if re.search(r"/semblance-(seq|omp|ocl|openacc|hybrid|mpi|mpi-ocl)$", path)}
    check("make run", done.stderr if done.returncode else None)
    check("make run builds the main program", None if len(main) > 3 else done.stdout[-500:])
    check("make run builds no more", " ".join(built - main))
    check("make run needs no nvcc", None if "/no/nvcc" not in done.stdout else "no")
    done = make(folder, "-n", "run", "PROGRAM=all")
    built = set(re.findall(r"-o build/\d\d_\w+/(\w+)-omp", done.stdout))
    check("make run PROGRAM=all", " ".join(built ^ {p.name for p in tree.programs()}))


def one_step(folder):
    """One step is verified in a tree where nothing else was built: what a step that only
    refactors is compared with is built then."""
    step = next(s for s in tree.steps() if s.number == "04")
    program = next(p for p in tree.programs() if p.name == "sandpile")
    earlier = tree.ported(step, program, "omp")[0]
    done = make(folder, "verify", f"STEP={step.number}", f"PROGRAM={program.name}",
                "BACKEND=omp", "NVCC=", "has_opencl=", "has_mpi=")
    check("make verify STEP=04", done.stdout[-500:] + done.stderr[-500:]
          if done.returncode else None)
    check("make verify STEP=04 compares bytes", None
          if step.kind(program) == "refactor" and "% =" in done.stdout and
          (folder / "build" / earlier.name / "sandpile-omp").exists() else done.stdout[-500:])


def main():
    for test in (questions, foreign, declarations, first_look, one_step):
        with tempfile.TemporaryDirectory() as folder:
            for name in COPIED:
                copies.put(Path(ROOT, name), Path(folder, name))
            test(Path(folder))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
