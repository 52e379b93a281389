"""test_rungs.py: make diff, rungs, history and rungs-from-history on a tree of four small steps.

Step 02 consists of three rungs. The program prints a number; git bisect finds the rung that
changes it.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT, cut
from tools.base import copies

# Files that the small tree takes from this one.
TOOLS = ("tools/__init__.py", "tools/base", "tools/history", "common/backends.mk")

# The lines of body.h that the lessons change; the rest is the same in all steps.
LESSONS = {"00_a": "plain", "01_b": "threads", "02_c": "vectors", "03_d": "cache"}
BODY = "/* body */\nint n = 8;\n\nint how = {how};\n\nint tau = 2;\n\nint last = 1;\n"


# The rungs of step 02: a subject, and the file and the lines that it changes.
RUNGS = (("Rename the file of all steps", "same.c", "the same", "equal"),
         ("Compute in vectors", "body.h", "how = threads", "how = vectors"),
         ("Use more of them", "same.c", "in all", "in vectors"))
MESSAGE = """{subject}

It changes one line. The rest is as before.

Kind: refactor
Backends: omp
Predict-omp: 1.0: no operation changes
Predicted: before measuring
"""


def step_mk(name, *lines):
    """The text of a step.mk: each key begins with the name of the step."""
    return "".join(f"{name}.{line}\n" for line in lines)


class Tree:
    """The steps, and the tools."""

    def __init__(self, folder):
        self.folder = folder
        for step, how in LESSONS.items():
            self.write(step, "body.h", BODY.format(how=how))
            self.write(step, "same.c", "the same in all\n")
        self.write("00_a", "vector.h", "one\ntwo\nthree\n")
        for path in TOOLS:
            copies.put(Path(ROOT, path), Path(folder, path))
        self.note("common/prog/program.mk", "prog.title = a program\n")
        for step in LESSONS:
            self.note(f"steps/{step}/step.mk",
                      step_mk(step, "title = none", "kind = refactor", "backends = omp"))
            self.write(step, "README.md", "the lesson\n")

    def git(self, *words, folder="build/history/prog"):
        """Runs git, in the history unless told otherwise."""
        author = {f"GIT_{who}_{key}": "t" for who in ("AUTHOR", "COMMITTER")
                  for key in ("NAME", "EMAIL")}
        done = subprocess.run(["git", *words], cwd=Path(self.folder, folder), text=True,
                              capture_output=True, env={
                                  **os.environ, **author, "GIT_SEQUENCE_EDITOR": "true"})
        assert done.returncode == 0, done
        return done.stdout

    def series(self):
        """Cuts step 02 into rungs, which git writes."""
        folder = Path(self.folder, "series")
        shutil.copytree(Path(self.folder, "steps/01_b/prog"), folder)
        (folder / "README.md").unlink()
        self.git("init", "-q", folder="series")
        self.git("add", "-A", folder="series")
        self.git("commit", "-qm", "start", folder="series")
        for subject, name, old, new in RUNGS:
            (folder / name).write_text((folder / name).read_text().replace(old, new))
            self.git("commit", "-qam", MESSAGE.format(subject=subject), folder="series")
        self.git("format-patch", "-q", "-k", "--zero-commit", "HEAD~3", folder="series")
        for number, path in enumerate(sorted(folder.glob("*.patch")), 1):
            self.note(f"steps/02_c/rungs/prog/{number}-change.patch", path.read_text())
        for path in folder.glob("*.[ch]"):
            self.write("02_c", path.name, path.read_text())
        shutil.rmtree(folder)
        return self

    def patches(self):
        """{name: text} of the rungs of step 02."""
        return {p.name: p.read_text() for p in
                sorted(Path(self.folder, "steps/02_c/rungs/prog").glob("*"))}

    def sources(self):
        """{path: text} of all steps, with their lessons and patches."""
        return {str(p): p.read_text() for p in sorted(Path(self.folder, "steps").rglob("*"))
                if p.is_file()}

    def note(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def path(self, step, name):
        return os.path.join(self.folder, "steps", step, "prog", name)

    def write(self, step, name, text):
        self.note(f"steps/{step}/prog/{name}", text)

    def read(self, step, name):
        try:
            with open(self.path(step, name)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def edit(self, step, name, old, new):
        text = self.read(step, name)
        assert old in text
        self.write(step, name, text.replace(old, new))

    def module(self, name, *words, **variables):
        return subprocess.run([sys.executable, "-m", name, *words], cwd=self.folder,
                              capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], **variables})

    def rungs(self, command, **variables):
        return self.module("tools.history.repository", command,
                           **{"PROGRAM": "prog", **variables})

    def diff(self, **variables):
        return self.module("tools.history.diff", **variables)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    # Neither git nor the tools may see variables that were meant for another tree.
    for name in list(os.environ):
        if name.startswith("GIT_") or name in ("PROGRAM", "STEP"):
            monkeypatch.delenv(name)
    return Tree(str(tmp_path))


@pytest.fixture
def expect(check):
    def expect(name, good, seen=""):
        check(name, not good and (seen or "does not hold"))
    return expect


def refused(expect, name, done, *patterns):
    """One check: one line on stderr, which has all patterns."""
    expect(name, done.returncode == 1 and done.stderr.count("\n") == 1 and
           all(re.search(p, done.stderr) for p in patterns), done)


# ---- rungs -------------------------------------------------------------------------------


def test_list(tree, expect):
    tree.series()
    done = tree.rungs("list", STEP="02")
    expect("all", done.stdout.count("\n02.") == 3 and "prog, 02_c: 3 rungs" in done.stdout and
           "02.2  Compute in vectors\n      refactor: omp\n      predicted omp: 1.0: no oper" in
           done.stdout and "written before measuring" in done.stdout, done)
    done = tree.rungs("list", STEP="02.2", PROGRAM="")
    expect("one", re.findall(r"^02\.\d", done.stdout, re.M) == ["02.2"], done)
    for step in ("02.4", "02.0", "02.x"):
        refused(expect, step, tree.rungs("list", STEP=step),
                rf"^STEP={step}: no such rung: steps/02_c has 3 rungs of prog$")
    refused(expect, "a step without", tree.rungs("list", STEP="01.1"),
            "^STEP=01.1: no such rung: steps/01_b has no rungs$")
    refused(expect, "no rungs to list", tree.rungs("list", STEP="03"),
            "^STEP=03 PROGRAM=prog: no rungs: expected")
    refused(expect, "no such step", tree.rungs("list", STEP="07.1"), "no such step: expected")


def test_diff_of_rungs(tree, expect):
    """The parent of the first rung is the parent of the step; the last rung is the step."""
    tree.series()
    done = tree.diff(STEP="02.1")
    expect("first", done.stdout == "--- steps/01_b/prog/same.c\n"
           "+++ build/rungs/02.1/prog/same.c\n@@ -1 +1 @@\n-the same in all\n+equal in all\n",
           done)
    done = tree.diff(STEP="02.3")
    expect("last", "--- build/rungs/02.2/prog/same.c\n" in done.stdout, done)
    expect("is the step", all(
        Path(tree.folder, "build/rungs/02.3/prog", name).read_text() == tree.read("02_c", name)
        for name in ("body.h", "same.c")))
    expect("the step itself", "+++ steps/02_c/prog/body.h" in tree.diff(STEP="02").stdout)
    first = Path(tree.folder, "build/rungs/02.1/prog/body.h")
    before = first.stat().st_mtime_ns
    tree.edit("01_b", "same.c", "in all", "in\\all")
    refused(expect, "does not apply", tree.diff(STEP="02.1"),
            "^steps/02_c/rungs/prog/1-change.patch: does not apply: git apply: error: ")
    tree.edit("01_b", "same.c", "in\\all", "in all")
    expect("equal files are kept", tree.diff(STEP="02.2").returncode == 0 and
           first.stat().st_mtime_ns == before)


@pytest.mark.parametrize("name, text, message", [
    ("2-other.patch", None, "wrong name"), ("change.patch", None, "wrong name"),
    ("5-change.patch", None, "numbers 1 2 3 5: expected 1 to 4"),
    ("4-change.patch", "diff", "does not apply"),
    ("4-change.patch", "From: a <b@c>\nSubject: d\n\ne\n", "does not apply")])
def test_wrong_patches(tree, expect, name, text, message):
    patches = tree.series().patches()
    tree.note(f"steps/02_c/rungs/prog/{name}", text or patches["3-change.patch"])
    refused(expect, name, tree.rungs("write", STEP="02.1"), message)


# ---- the history ---------------------------------------------------------------------------


def test_history(tree, expect):
    tree.series()
    tree.note("steps/03_d/step.mk", step_mk(
        "03_d", "title = none", "kind = port", "backends = omp", "after = 01"))
    expect("written", tree.rungs("history").stdout == "build/history/prog: 6 commits, 4 steps\n")
    expect("tags", tree.git("tag").split() == ["00", "01", "02", "02.1", "02.2", "02.3", "03"])
    expect("a branch per step", tree.git("branch", "--format=%(refname:short)").split() ==
           list(LESSONS))
    expect("its parent", tree.git("rev-parse", "03^") == tree.git("rev-parse", "01"))
    expect("commits", tree.git("log", "--format=%s", "01..02").splitlines() ==
           [subject for subject, *_ in reversed(RUNGS)])
    expect("content", tree.git("show", "02:body.h") == tree.read("02_c", "body.h"))
    expect("no lessons", tree.git("ls-tree", "--name-only", "00").split() ==
           ["body.h", "same.c", "vector.h"])
    ids = tree.git("rev-parse", "00", "02.1", "03")
    shutil.rmtree(Path(tree.folder, "build"))
    expect("the same commits again", tree.rungs("history").returncode == 0 and
           tree.git("rev-parse", "00", "02.1", "03") == ids)
    tree.note("steps/04_e/step.mk", step_mk(
        "04_e", "title = new", "kind = port", "backends = omp"))
    tree.write("04_e", "body.h", BODY.format(how="new"))
    refused(expect, "a new step", tree.rungs("back"), "no branch 04_e: expected one for each")
    expect("is added", "7 commits, 5 steps" in tree.rungs("history").stdout)
    tree.write("02_c", "body.h", "other\n")
    refused(expect, "patches that do not give the step", tree.rungs("history"),
            "steps/02_c/rungs/prog: the patches do not give steps/02_c/prog")
    refused(expect, "which program", tree.rungs("history", PROGRAM=""), "PROGRAM= is not set")


def edit(tree, pattern, new, step):
    """Commits a change as a fixup of a step, and applies it there."""
    path = Path(tree.folder, "build/history/prog/body.h")
    text = path.read_text()
    assert pattern in text
    path.write_text(text.replace(pattern, new))
    tree.git("commit", "-qa", f"--fixup={step}")
    tree.git("rebase", "-q", "-i", f"{step}^")


def test_edit_a_step(tree, expect):
    """A change of step 01 reaches the later steps, and not their lessons."""
    before = tree.series().sources()
    tree.rungs("history")
    done = tree.rungs("back")
    expect("nothing", "nothing was edited" in done.stdout and tree.sources() == before, done)
    edit(tree, "tau = 2", "tau = 3", "01")
    refused(expect, "not written over", tree.rungs("history"),
            "has changes that are not in steps/: expected make rungs-from-history PROGRAM=prog")
    done = tree.rungs("back")
    expect("written", done.stdout == "".join(
        f"steps/{s}/prog: {n} patches\n" for s, n in (("01_b", 0), ("02_c", 3), ("03_d", 0))), done)
    for step, how in LESSONS.items():
        tau = 2 if step == "00_a" else 3
        expect(step, tree.read(step, "body.h") == BODY.format(how=how).replace("= 2", f"= {tau}"))
    expect("lessons", tree.read("01_b", "README.md") == "the lesson\n")
    expect("patches", list(tree.patches()) == [f"{n}-change.patch" for n in (1, 2, 3)])
    expect("they are up to date", tree.rungs("history").returncode == 0)
    ids = tree.git("rev-parse", "03")
    expect("and again", "nothing was edited" in tree.rungs("back").stdout and
           tree.rungs("history").returncode == 0 and tree.git("rev-parse", "03") == ids)
    edit(tree, "tau = 3", "tau = 4", "01")
    expect("FORCE=1", tree.rungs("history", FORCE="1").returncode == 0 and
           tree.git("rev-parse", "03") == ids)


def test_edit_rungs(tree, expect):
    """A rung is added, one is removed, and a step that was one commit is cut into two."""
    tree.series()
    tree.rungs("history")
    tree.git("checkout", "-q", "03_d")
    commits = tree.git("rev-list", "--reverse", "01..03").split()
    tree.git("checkout", "-q", "--detach", "01")
    for commit in (commits[0], commits[2], commits[3]):  # without 02.2
        if commit == commits[3]:
            tree.git("branch", "-f", "02_c")
            tree.note("build/history/prog/body.h", BODY.format(how="neither"))
            tree.git("commit", "-qam", MESSAGE.format(subject="Add a Rung; prepare"))
            tree.note("build/history/prog/body.h", BODY.format(how="cache"))
            tree.note("build/history/prog/same.c", "the same in all\n")
            tree.git("commit", "-qam", "Finish\n\nKind: memory")
            tree.git("branch", "-f", "03_d")
        else:
            tree.git("cherry-pick", commit)
    done = tree.rungs("back")
    expect("written", done.returncode == 0 and "02_c/prog: 2 patches" in done.stdout
           and "03_d/prog: 2 patches" in done.stdout, done)
    expect("the rest keeps its name", list(tree.patches()) ==
           ["1-change.patch", "2-change.patch"] and
           "how = threads" in tree.read("02_c", "body.h"))
    made = Path(tree.folder, "steps/03_d/rungs/prog")
    expect("new names", sorted(p.name for p in made.iterdir()) ==
           ["1-add-a-rung-prepare.patch", "2-finish.patch"], list(made.iterdir()))
    expect("no author of this machine", all(
        "From: project <project@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n" in text
        for text in tree.patches().values()))
    expect("they compose", tree.rungs("history").returncode == 0 and
           tree.git("log", "-1", "--format=%s", "03.1") == "Add a Rung; prepare\n")


def test_not_written_back(tree, expect):
    tree.series()
    tree.note("steps/03_d/step.mk", step_mk(
        "03_d", "title = none", "kind = port", "backends = omp", "after = 01"))
    refused(expect, "no history", tree.rungs("back"), "expected make history PROGRAM=prog first")
    tree.rungs("history")
    before = tree.sources()
    tree.note("build/history/prog/body.h", "changed\n")
    refused(expect, "not committed", tree.rungs("back"), "expected a clean work tree")
    tree.git("reset", "-q", "--hard")
    tree.git("checkout", "-q", "02_c")
    edit(tree, "tau = 2", "tau = 3", "01")
    done = tree.rungs("back")
    refused(expect, "a branch that was left", done, "03_d does not continue 01_b, which was "
            "edited: expected git rebase --onto 01_b refs/tags/01 03_d$")
    tree.git("rebase", "-q", "--onto", "01_b", "refs/tags/01", "03_d")
    tree.edit("02_c", "body.h", "n = 8", "n = 9")
    refused(expect, "edited in both places", tree.rungs("back"),
            "^steps/02_c/prog: changed since make history: expected the files of tag 02")
    tree.edit("02_c", "body.h", "n = 9", "n = 8")
    expect("nothing is written", tree.sources() == before)
    expect("then it is", tree.rungs("back").returncode == 0 and
           "tau = 3" in tree.read("03_d", "body.h"))
    tree.git("checkout", "-q", "00_a")
    tree.git("branch", "-D", "03_d")
    refused(expect, "no branch", tree.rungs("back"), "no branch 03_d: expected one for each step")


def test_bisect(tree, expect):
    """git bisect finds the rung in which a bug was planted."""
    tree.series()
    tree.rungs("history")
    tree.git("checkout", "-q", "03_d")
    edit(tree, "last = 1", "last = 0", "02.2")
    tree.git("bisect", "start", "03_d", "00")
    said = tree.git("bisect", "run", "sh", "-ec",
                    "printf '#include <stdio.h>\nenum { plain, threads, vectors, cache };\n"
                    "#include \"body.h\"\nint main(void) { return last != 1; }\n' "
                    "| gcc -I. -x c - -o ../program; ../program")
    expect("the rung", re.search(r"is the first bad commit\n(.+\n)+\n *Compute in vectors", said),
           said)


@pytest.mark.slow
@pytest.mark.seconds(60)
def test_bisect_with_make_verify(expect, tmp_path):
    """The same in a copy of this tree, where verification decides."""
    for name in (*copies.COPIED, "tools"):
        copies.put(Path(ROOT, name), tmp_path / name)
    cut(tmp_path, "02_ocl_1d", "03_ocl_3d", "sandpile")
    clean = copies.environment(PROGRAM="sandpile")

    def run(*command, folder=tmp_path / "build/history/sandpile"):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={
            **clean, "GIT_SEQUENCE_EDITOR": "true"})
        assert done.returncode == 0, done
        return done.stdout

    run("make", "history", folder=tmp_path)
    run("git", "checkout", "-q", "04_inline")
    run("sed", "-i", "s/return c.0. % 4/return c[0] % 5/", "body.h")
    run("git", "commit", "-qa", "--fixup=03.1")
    run("git", "rebase", "-q", "-i", "03.1^")
    run("git", "bisect", "start", "04_inline", "00")
    said = run("git", "bisect", "run", "make", "-C", "../../..", "verify", "STEP=history",
               "BACKEND=omp", "NVCC=", "has_opencl=", "has_mpi=")
    expect("the rung", re.search(r"is the first bad commit\n(.+\n)+\n *Add a comment", said), said)


# ---- make diff -----------------------------------------------------------------------------


def test_gap(tree, expect):
    """A step without the program is passed over: the step before is the last that has
    it."""
    shutil.rmtree(os.path.dirname(tree.path("01_b", "body.h")))
    done = tree.diff(STEP="02")
    expect("diff", done.returncode == 0
           and "--- steps/00_a/prog/body.h\n+++ steps/02_c/prog/body.h\n" in done.stdout
           and "-int how = plain;\n+int how = vectors;\n" in done.stdout, done)
    done = tree.diff(STEP="01", PROGRAM="prog")
    expect("diff of what is not there", done.returncode == 1 and "01_b has no prog"
          in done.stderr and done.stderr.count("\n") == 1, done)
    tree.rungs("history")
    expect("history", tree.git("rev-parse", "02^") == tree.git("rev-parse", "00"))


def test_diffs(tree, expect):
    done = tree.diff(STEP="00")
    expect("the first step", done.returncode == 0 and "no step to compare" in done.stdout, done)
    done = tree.diff(STEP="01")
    expect("is the lesson", done.stdout == (
        "--- steps/00_a/prog/body.h\n+++ steps/01_b/prog/body.h\n@@ -1,7 +1,7 @@\n"
        " /* body */\n int n = 8;\n \n-int how = plain;\n+int how = threads;\n \n"
        " int tau = 2;\n \n"
        "--- steps/00_a/prog/vector.h\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n"
        "-three\n") and done.returncode == 0, done)
    expect("again", tree.diff(STEP="01_b", PROGRAM="prog").stdout == done.stdout)
    tree.note("steps/01_b/variants/half.prog.patch", "half way\n")
    tree.write("01_b", "README.md", "the lesson\n")
    expect("no variants, no lessons", tree.diff(STEP="01").stdout == done.stdout)
    tree.edit("01_b", "body.h", "int n = 8;", "    int n = 8;")
    expect("white space", "\n+    int n = 8;" in tree.diff(STEP="01").stdout)
    expect("SPACES=0", "\n+    int n = 8;" not in tree.diff(STEP="01", SPACES="0").stdout)
    for variables in ({}, {"STEP": "07"}, {"STEP": "01", "PROGRAM": "none"}):
        done = tree.diff(**variables)
        expect(f"{variables}", done.returncode == 1 and done.stderr.count("\n") == 1, done)
