"""test_course.py: what a class uses: make run, exercise, reveal, export, new-step.

A new step is made in a copy of the tree; an export is unpacked elsewhere and built with an
empty environment.
"""
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT, module, program_named
from tools.base import copies, tree
from tools.teach import export as packing

STEP, BEFORE, PROGRAM = "05_algebra", "04_inline", "semblance"
START = Path(ROOT, "steps", BEFORE, PROGRAM)
TASK = {"STEP": STEP.split("_")[0], "PROGRAM": PROGRAM}


def make(folder, *words, environment=None):
    return subprocess.run(["make", "-s", *words], cwd=folder,
                          env=environment or copies.environment(), capture_output=True,
                          text=True, timeout=TIMEOUT)


def all_of(done):
    return f"exit status {done.returncode}: {done.stdout}{done.stderr}"


# ---- exercise and reveal ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.seconds(5)
def test_exercise_and_reveal(check, tmp_path):
    folder = tmp_path
    work = str(folder / "work")
    attempt = folder / "work" / STEP / PROGRAM

    def exercise(command="exercise", **variables):
        return module("tools.teach.exercise", command, **{**TASK, "WORK": work, **variables})

    check.process("exercise", exercise(), 0, "TASK.md")
    same = subprocess.run(["diff", "-r", "-x", "*.md", START, attempt],
                          capture_output=True, text=True)
    check("exercise: the files of the step before", same.stdout)
    text = (attempt / "TASK.md").read_text()
    step = next(s for s in tree.steps() if s.name == STEP)
    program = next(p for p in tree.programs() if p.name == PROGRAM)
    needed = [step.title(program), "make grade STEP=05", "`body.h`",
              step.mk[f"predict.{PROGRAM}.cpu"]]
    check("TASK.md says what to do", [n for n in needed if n not in text])
    given_away = [line for line in text.splitlines()
                  if re.match(r"[-+@]{2}|[-+] {4}|```diff", line)]
    check("TASK.md does not give the answer", given_away)
    links = re.findall(r"\]\((?!\w+:)([^)#]+)", text)
    check("TASK.md: links work", [x for x in links if not (attempt / x).exists()] or not links)
    headings = re.findall("^## .*", text, re.M)
    check("TASK.md: no section twice", len(set(headings)) < len(headings) and headings)

    (attempt / "mine.h").write_text("/* mine */\n")
    check.process("exercise: an attempt is kept", exercise(), 1, "there is an attempt")
    check("exercise: one line", exercise().stderr.count("\n") != 1)
    shown = exercise("reveal", BACKEND="omp")
    check.process("reveal", shown, 0, f"--- steps/{BEFORE}/{PROGRAM}/body.h",
                  f"\\+\\+\\+ steps/{STEP}/")
    check("reveal: the task alone", "mine" in shown.stdout or "kernel.cl" in shown.stdout)
    done = exercise(STEP="05.2")
    check.process("exercise of a rung", done, 0, "05.2/semblance/TASK.md")
    text = (folder / "work" / "05.2" / PROGRAM / "TASK.md").read_text()
    check("an expectation says so, without its number",
          text.count("expected after a prototype, so without") != 3 and text)
    check.process("exercise: by default semblance", exercise(STEP="06", PROGRAM=""), 0,
                  "06_constant/semblance")
    check.process("too large, with rungs", exercise(STEP="02"), 1, "353 changed lines",
                  r"STEP=02\.1 to 02\.5")
    check.process("too large", exercise(STEP="09"), 1, "changed lines, .* at most 150: expected")
    check.process("exercise FORCE=1", exercise(FORCE="1"), 0, f"{PROGRAM}.1")
    check("exercise FORCE=1: the earlier one is renamed",
          (attempt / "mine.h").exists() or
          not (attempt.with_name(f"{PROGRAM}.1") / "mine.h").exists())
    check.process("exercise: no step before", exercise(STEP="00"), 1, "first step of")
    check.process("exercise: which step", exercise(STEP=""), 1, "STEP= is not set: expected")
    check.process("exercise: which program", exercise(PROGRAM="fluid sandpile"), 1,
                  "PROGRAM=fluid sandpile: several programs: expected one")


# ---- export -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.seconds(120)
def test_export(check, tmp_path):
    folder = tmp_path
    check.process("export", module("tools.teach.export", **TASK), 0, r"\.tar\.gz: \d+ files")
    name = f"{PROGRAM}-{STEP}"
    path = Path(BUILD, "export", f"{name}.tar.gz")
    packed = path.read_bytes()
    module("tools.teach.export", **TASK)
    check("export: the same tree gives the same bytes", packed != path.read_bytes())
    with tarfile.open(path) as tar:
        names = tar.getnames()
        check("export: all in one folder",
              [n for n in names if not n.startswith(f"{name}/")])
        tar.extractall(folder)
    texts = {p: p.read_text() for p in (folder / name).rglob("*") if p.is_file()}
    check("export: nothing of this place", [p.name for p, text in texts.items()
                                            if ROOT in text])
    others = [s.name for s in tree.steps() if s.name != STEP]
    check("export: no other step",
          [n for n in names if any(other in n for other in others)])

    # Without nvcc, which takes long; make test builds its code elsewhere.
    bare = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    check.process("export: make", make(folder / name, "NVCC=", environment=bare), 0)
    done = make(folder / name, "verify", "NVCC=", environment=bare)
    program = next(p for p in tree.programs() if p.name == PROGRAM)
    check.process("export: make verify", done, 0, r"\d+ passed, 0 failed")
    passed = int((re.findall(r"(\d+) passed", done.stdout) or ["0"])[-1])
    check("export: every case of two back-ends", passed < 2 * len(program.cases))
    kernel = folder / name / "steps" / STEP / PROGRAM / "body.h"
    kernel.write_text(kernel.read_text().replace("used++", "used += 2"))
    done = make(folder / name, "verify", "NVCC=", "BACKEND=omp", environment=bare)
    check.process("export: make verify finds a bug", done, 2, "FAIL", r"[1-9]\d* failed")
    make(folder / name, "clean", "NVCC=", environment=bare)
    check("export: make clean", (folder / name / "build").exists())


@pytest.mark.slow
@pytest.mark.seconds(5)
def test_every_export(check):
    """What is packed of a step has the sources of all its back-ends, in every step and program."""
    for step in tree.steps():
        for program in filter(step.has, tree.programs()):
            packed = packing.contents(step, program)
            where = f"steps/{step.name}/{program.name}"
            check(f"export of {where}", " ".join(
                b for b in step.backends(program)
                if any(f"{where}/{name}" not in packed for name in tree.BACKENDS[b].sources)))


# ---- new-step -----------------------------------------------------------------------


def copy_of_tree(folder):
    """The tree, and of what is built all that a test of one step needs."""
    last = tree.steps()[-1].name
    for name in (*copies.COPIED, "tools", "tests"):
        copies.put(Path(ROOT, name), folder / name)
    (folder / "build").mkdir()
    for name in ("flags", "toolchain", "common", "data", "oracle", "00_sequential", last, "verify",
                 f"{PROGRAM}-check", f"{PROGRAM}-data"):
        if Path(BUILD, name).exists():
            copies.put(Path(BUILD, name), folder / "build" / name)
    return last


@pytest.mark.slow
@pytest.mark.seconds(60)
def test_new_step(check, tmp_path):
    folder = tmp_path
    last = copy_of_tree(folder)
    number = f"{int(last[:2]) + 1:02}"
    name = f"{number}_dummy"

    def new(**variables):
        return module("tools.teach.new_step", root=folder, **variables)

    check.process("new-step: no name", new(), 1, "expected two digits")
    check.process("new-step: number taken", new(NAME=f"{last[:2]}_other"), 1, last)
    check.process("new-step: before what it continues", new(NAME="00_x", AFTER="03"), 1, "0")
    check.process("new-step: after no step", new(NAME=name, AFTER="77"), 1, "no such step")
    check.process("new-step", new(NAME=name), 0, f"the programs of {last}", "make lint|lint")
    steps = folder / "steps"
    pair = steps / last / PROGRAM, steps / name / PROGRAM
    same = subprocess.run(["diff", "-r", "-x", "*.md", *pair], capture_output=True,
                          text=True)
    check("new-step: the code of the last", same.stdout)
    mine = f"{int(number) + 1}_mine"
    check.process("new-step AFTER=", new(NAME=mine, AFTER="01"), 0)
    changed = module("tools.history.diff", root=folder, STEP=mine[:2], PROGRAM="all")
    check("new-step AFTER=: changes nothing", changed.returncode or changed.stdout)
    check("new-step: no answers", list(steps.glob(f"{mine}/*/answers.md")))
    shutil.rmtree(steps / mine)
    lint = module("tests.lint", "steps", root=folder).stdout
    for rule in ("no `title`", f"no `title.{PROGRAM}`", f"no `predict.{PROGRAM}`"):
        check(f"new-step: lint says {rule}",
              None if f"steps/{name}/step.mk:1: {rule}" in lint else lint)
    check.process("new-step: make lists it", make(folder, "STEP=zz"), 2, name)

    backend = tree.steps()[-1].backends(program_named(PROGRAM))[0]
    binaries = [f"build/00_sequential/{PROGRAM}-seq", f"build/{last}/{PROGRAM}-{backend}",
                f"build/{name}/{PROGRAM}-{backend}", "tools"]
    check.process("new-step: builds", make(folder, "-j2", *binaries), 0)
    done = module("tools.verify.matrix", root=folder, BUILD="build", STEP=number,
                  PROGRAM=PROGRAM, BACKEND=backend)
    check.process("new-step: verifies", done, 0, rf"{name} +refactor .*=", " 0 failed")
    shutil.rmtree(folder / "steps" / name)
    gone = make(folder, "STEP=zz")
    check("new-step: taken away", None if name not in gone.stderr else all_of(gone))


# ---- run ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.seconds(20)
def test_first_look(check, tmp_path):
    """make run, with the arguments of a query that takes little time."""
    folder = tmp_path
    program = next(p for p in tree.programs() if p.name == PROGRAM)
    tiny = program.mk["tiny"].replace("{data}", str(program.data))
    asked = {"STEP": "00 05", "BACKEND": "seq omp", "ARGS": tiny}
    done = module("tools.teach.run", **asked)
    check.process("run", done, 0, rf"\A{PROGRAM}: ", r"00_sequential +seq +.* ok, \d",
           r"05_algebra +omp +.* ok, \d", r"\n2 verified, 0 failed", r"Next: make \w+")
    done = module("tools.teach.run", **asked, PROGRAM=PROGRAM, SET="all")
    check.process("run SET=all", done, 0, rf"\n{2 * len(program.usual)} verified, 0 failed")
    check("run: the width of a line", [s for s in done.stdout.splitlines() if len(s) > 80])
    for variables, said in (({"SET": "none"}, "no such set: expected one of 1 2"),
                            ({"SET": "askap"}, "no such set: expected one of 1 2"),
                            ({"BACKEND": "none"}, "no such back-end: expected one of seq"),
                            ({"BACKEND": "mpi"}, "nothing to run"),
                            ({"PROGRAM": "none"}, "no such program"),
                            ({"STEP": "99"}, "no such step")):
        done = module("tools.teach.run", **{**asked, **variables})
        check.process(f"run {variables}", done, 1, said)
        check(f"run {variables}: one line", done.stderr.count("\n") != 1)

    # A binary that does nothing is not verified. The rest is that of the tree.
    for path in Path(BUILD).iterdir():
        if path.name not in ("05_algebra", "run"):
            (folder / path.name).symlink_to(path)
    (folder / "05_algebra").mkdir()
    (folder / "05_algebra" / f"{PROGRAM}-omp").symlink_to("/bin/true")
    done = module("tools.teach.run", **asked, BUILD=str(folder))
    check.process("run finds what is not verified", done, 1, "05_algebra .*FAIL",
           r"\n1 verified, 1 failed")
