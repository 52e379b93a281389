"""copies.py - calling make, here and in a copy of the tree that something was changed in.
"""
import os
import shutil
import subprocess

from tools.history import tree

# All that a binary, its data and its checker are made of.
COPIED = ("Makefile", "config.mk", "common", "steps", "data", "verify")
# What was asked of the make that called is not asked of this one.
ASKED = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "STEP", "PROGRAM", "BACKEND", "SET", "ARGS",
         "BUILD")


def make(*words, folder=tree.ROOT):
    """Calls make in a folder: None, or its first complaint. words are targets, paths
    below the folder, and variables, as OPT=-O2."""
    env = {k: v for k, v in os.environ.items() if k not in ASKED}
    made = subprocess.run(["make", "-s", "-C", folder, *map(str, words)], env=env,
                          capture_output=True, text=True)
    if made.returncode == 0:
        return None
    said = made.stderr.splitlines()
    return next((line for line in said if "error" in line), said[-1])


def put(source, target):
    """Copies a file or a folder, which keep their times."""
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)


class Copy:
    """A copy of the tree that is built in a folder of its own; with what the tree has
    built of common/, where that is wanted."""

    def __init__(self, folder, built=False):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            put(tree.ROOT / name, folder / name)
        for name in ("flags", "common") if built else ():
            if (tree.build() / name).exists():
                put(tree.build() / name, folder / "build" / name)

    def binary(self, program, step, backend):
        return self.folder / "build" / step.name / f"{program.name}-{backend}"

    def make(self, *binaries, words=()):
        """Builds: None, or the compiler's first complaint."""
        return make("BUILD=build", *words, *(b.relative_to(self.folder) for b in binaries),
                    folder=self.folder)

    def apply(self, mutant):
        """None, or why the patch does not apply."""
        patched = subprocess.run(["patch", "-p1", "-s", "-F0", "-r-", "-d", self.folder,
                                  "--no-backup-if-mismatch", "-i", mutant.path],
                                 capture_output=True, text=True)
        return None if patched.returncode == 0 else patched.stdout.splitlines()[-1]

    def replace(self, folder, code):
        """Puts the files of a folder, but for `about`, in the place of those of code, a
        folder of the tree. None, or the first that makes no difference."""
        for path in sorted(p for p in folder.iterdir() if p.name != "about"):
            same = code / path.name
            if same.exists() and same.read_bytes() == path.read_bytes():
                return f"{path}: the same as the step's own: leave it out"
            shutil.copyfile(path, self.folder / code.relative_to(tree.ROOT) / path.name)
        return None

    def restore(self, mutant):
        for name in mutant.files:
            shutil.copyfile(tree.ROOT / name, self.folder / name)  # newer: is rebuilt


