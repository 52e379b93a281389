"""test_propagate.py: make propagate and make diff on a tree of four small steps, in a git
repository of their own.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tools.history import copies

# Files that the small tree takes from this one.
TOOLS = ("tools/__init__.py", "tools/history", "tools/teach/propagate.py",
         "common/backends.mk")

# The lines of body.h that the lessons change; the rest is the same in all steps.
LESSONS = {"00_a": "plain", "01_b": "threads", "02_c": "vectors", "03_d": "cache"}
BODY = "/* body */\nint n = 8;\n\nint how = {how};\n\nint tau = 2;\n\nint last = 1;\n"


class Tree:
    """A repository with the steps committed."""

    def __init__(self, folder):
        self.folder = folder
        for step, how in LESSONS.items():
            self.write(step, "body.h", BODY.format(how=how))
            self.write(step, "same.c", "the same in all\n")
        self.write("00_a", "vector.h", "one\ntwo\nthree\n")
        for path in TOOLS:
            copies.put(Path(ROOT, path), Path(folder, path))
        self.note("common/prog/program.mk", "title = a program\n")
        for step in LESSONS:
            self.note(f"steps/{step}/step.mk", "title = none\n")
        self.note(".gitignore", "__pycache__/\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.commit("x")

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True,
                              text=True, check=True)
        return done.stdout

    def commit(self, message):
        self.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam",
                 message)

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

    def status(self):
        return self.git("status", "--porcelain", "-uall")

    def module(self, name, *words, **variables):
        return subprocess.run([sys.executable, "-m", name, *words], cwd=self.folder,
                              capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], **variables})

    def propagate(self, step="", program=""):
        return self.module("tools.teach.propagate", "--from", step, "--program", program)

    def diff(self, **variables):
        return self.module("tools.history.diff", **variables)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    # Neither git nor the tools may see variables that were meant for another tree.
    for name in list(os.environ):
        if name.startswith("GIT_") or name in ("FROM", "PROGRAM", "STEP"):
            monkeypatch.delenv(name)
    return Tree(str(tmp_path))


@pytest.fixture
def expect(check):
    def expect(name, good, seen=""):
        check(name, not good and (seen or "does not hold"))
    return expect


def test_clean(tree, expect):
    tree.edit("00_a", "body.h", "tau = 2", "tau = 3")
    done = tree.propagate("00", "prog")
    expect("status", done.returncode == 0, done)
    for step, how in LESSONS.items():
        expected = BODY.format(how=how).replace("tau = 2", "tau = 3")
        expect(f"{step} has the fix and its lesson", tree.read(step, "body.h") == expected)
    expect("nothing else", tree.status().count("\n") == 4, tree.status())
    before = tree.status()
    again = tree.propagate("00_a", "prog")
    expect("a second time", again.returncode == 0 and tree.status() == before
          and tree.read("03_d", "body.h").count("tau = 3") == 1, again)


def test_from_the_middle(tree, expect):
    tree.edit("02_c", "body.h", "n = 8", "n = 9")
    expect("status", tree.propagate("02", "prog").returncode == 0)
    has = [step for step in LESSONS if "n = 9" in tree.read(step, "body.h")]
    expect("only later steps", has == ["02_c", "03_d"], has)


def test_own_words(tree, expect):
    """A fix that a later step keeps in another form goes on in that form."""
    tree.edit("01_b", "body.h", "how = threads;", "how = threads + 1;")
    done = tree.propagate("01", "prog")
    expect("stops", done.returncode == 1 and "steps/02_c/prog/body.h" in done.stderr, done)
    expect("says how to go on", "make propagate FROM=02_c PROGRAM=prog" in done.stderr)
    tree.edit("02_c", "body.h", "how = vectors;", "how = vectors + 1;")
    tree.edit("03_d", "body.h", "how = cache;", "how = vectors;")  # for a clean merge
    tree.git("add", "steps/03_d")
    done = tree.propagate("02", "prog")
    expect("goes on", done.returncode == 0
          and "how = vectors + 1;" in tree.read("03_d", "body.h"), done)


def test_conflict(tree, expect):
    """One file merges, the other does not: the step is left as it was, both files."""
    tree.edit("00_a", "body.h", "tau = 2", "tau = 3")
    tree.edit("00_a", "same.c", "the same", "a fix")
    tree.edit("02_c", "same.c", "the same", "a lesson")
    tree.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "y",
             "steps/02_c")  # and no other
    done = tree.propagate("00", "prog")
    expect("stops", done.returncode == 1, done)
    expect("names the file", "steps/02_c/prog/same.c" in done.stderr, done)
    expect("the step before is done", tree.read("01_b", "same.c") == "a fix in all\n"
          and "tau = 3" in tree.read("01_b", "body.h"))
    expect("the step is untouched", "tau = 2" in tree.read("02_c", "body.h")
          and tree.read("02_c", "same.c") == "a lesson in all\n")
    expect("what follows is untouched", "03_d" not in tree.status(), tree.status())
    expect("no traceback", "Traceback" not in done.stderr, done)


def test_new_file(tree, expect):
    tree.write("01_b", "new.h", "int added;\n")
    expect("status", tree.propagate("01", "prog").returncode == 0)
    has = [step for step in LESSONS if tree.read(step, "new.h")]
    expect("is in the later steps", has == ["01_b", "02_c", "03_d"], has)
    tree.write("02_c", "other.h", "here\n")
    tree.write("01_b", "other.h", "there\n")
    done = tree.propagate("01", "prog")
    expect("another of that name", done.returncode == 1
          and "steps/02_c/prog/other.h" in done.stderr
          and tree.read("02_c", "other.h") == "here\n", done)


def test_deleted_file(tree, expect):
    os.remove(tree.path("00_a", "same.c"))
    expect("status", tree.propagate("00", "prog").returncode == 0)
    expect("is gone everywhere", all(tree.read(s, "same.c") is None for s in LESSONS))


def test_deleted_but_changed(tree, expect):
    os.remove(tree.path("01_b", "body.h"))
    done = tree.propagate("01", "prog")
    expect("stops", done.returncode == 1 and "steps/02_c/prog/body.h" in done.stderr, done)
    expect("is kept", tree.read("02_c", "body.h") is not None)


def test_file_of_an_earlier_step(tree, expect):
    tree.edit("00_a", "vector.h", "two", "2")
    done = tree.propagate("00", "prog")
    expect("is not brought back", done.returncode == 0
          and all(tree.read(s, "vector.h") is None for s in ("01_b", "02_c", "03_d")),
          done)


def test_nothing_to_do(tree, expect):
    done = tree.propagate("01", "prog")
    expect("says so", done.returncode == 0 and "nothing has changed" in done.stdout, done)
    expect("touches nothing", tree.status() == "")
    tree.edit("03_d", "body.h", "n = 8", "n = 9")
    done = tree.propagate("03", "prog")
    expect("the last step", done.returncode == 0 and done.stderr == "", done)


def test_wrong_words(tree, expect):
    for arguments in ((), ("", "prog"), ("00",), ("07", "prog"), ("00", "none"),
                      ("0", "prog")):
        done = tree.propagate(*arguments)
        expect(f"{arguments}", done.returncode == 1 and done.stderr.count("\n") == 1, done)


def test_gap(tree, expect):
    """A step without the program is passed over: the step before is the last that has
    it."""
    shutil.rmtree(os.path.dirname(tree.path("01_b", "body.h")))
    tree.commit("z")
    done = tree.diff(STEP="02")
    expect("diff", done.returncode == 0
          and "--- steps/00_a/prog/body.h\n+++ steps/02_c/prog/body.h\n" in done.stdout
          and "-int how = plain;\n+int how = vectors;\n" in done.stdout, done)
    done = tree.diff(STEP="01", PROGRAM="prog")
    expect("diff of what is not there", done.returncode == 1 and "01_b has no prog"
          in done.stderr and done.stderr.count("\n") == 1, done)
    tree.edit("00_a", "body.h", "tau = 2", "tau = 3")
    done = tree.propagate("00", "prog")
    has = [step for step in LESSONS if "tau = 3" in (tree.read(step, "body.h") or "")]
    expect("propagate", done.returncode == 0 and has == ["00_a", "02_c", "03_d"], done)


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


def test_after(tree, expect):
    """Step 03 continues 01: what changes in 02 does not reach it, what changes in 01 does."""
    tree.note("steps/03_d/step.mk", "title = none\nafter = 01\n")
    tree.git("add", "-A")
    tree.commit("z")
    tree.edit("02_c", "body.h", "n = 8", "n = 9")
    done = tree.propagate("02", "prog")
    expect("02 has no step after it", done.returncode == 0
           and "n = 8" in tree.read("03_d", "body.h"), done)
    tree.edit("01_b", "body.h", "tau = 2", "tau = 3")
    done = tree.propagate("01", "prog")
    has = [step for step in LESSONS if "tau = 3" in tree.read(step, "body.h")]
    expect("both continue 01", done.returncode == 0 and has == ["01_b", "02_c", "03_d"], done)
