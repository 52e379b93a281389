"""patches.py - reads and applies patches: rungs, variants and planted bugs.

A patch is in git's mail format: a subject, which says what it changes; a text, which says
why; trailers, "Key: value", which declare what tools need; and a diff of the tree.
"""
from __future__ import annotations

import email
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.base import tree

# The author of all commits that are made here, and their date, so that their ids do not change.
WHEN = "2026-01-01T00:00:00+0000"
IDENTITY = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in
            (("NAME", "project"), ("EMAIL", "project@example.org"), ("DATE", WHEN))}


class GitError(SystemExit):
    """A git command fails; the message is its error in one line."""


def git(folder: Path, *words: str | Path, text: str = "") -> str:
    """The output of a git command in a folder, of the repository in this folder and no other.
    The settings of the user do not matter."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    fixed = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
             "GIT_CEILING_DIRECTORIES": str(folder.parent.resolve())}
    done = subprocess.run(["git", *words], cwd=folder, input=text, capture_output=True, text=True,
                          errors="replace", env={**clean, **IDENTITY, **fixed})
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["fails"]
        first = next((line for line in lines if re.match("error|fatal", line)), lines[0])
        raise GitError(f"git {words[0]}: {first}")
    return done.stdout


@dataclass(frozen=True)
class Patch:
    """One patch, and what it declares."""
    path: Path
    subject: str
    body: str  # without the trailers
    trailers: Mapping[str, str]

    def words(self, trailer: str) -> list[str]:
        return self.trailers.get(trailer, "").split()

    def check(self, *known: str) -> None:
        """Ends with a message about a trailer that is not known."""
        for key in self.trailers.keys() - set(known):
            raise SystemExit(f"{tree.display(self.path)}: {key}: unknown trailer: expected "
                             f"{', '.join(sorted(known))}")

    @property
    def after(self) -> bool:
        """Whether its predictions were written after a prototype or a measurement."""
        return self.trailers.get("Predicted", "").startswith("after")

    @property
    def predictions(self) -> Mapping[str, str]:
        """{omp, ocl or gpu: the speedup and its reason, as in a step.mk}. A speedup that was
        not predicted before measuring says so."""
        said = f", {tree.EXPECTED}:" if self.after else ":"
        return {key[8:]: value if value.startswith("none") else value.replace(":", said, 1)
                for key, value in self.trailers.items() if key.startswith("Predict-")}


@cache
def read(path: Path) -> Patch:
    """A patch; path is absolute. Its last paragraph has the trailers, if all its lines are some;
    a line that starts with a space continues the line before."""
    mail = email.message_from_string(path.read_text(encoding="utf-8", errors="replace"))
    subject = re.sub(r"\s+", " ", mail.get("Subject", ""))
    message = mail.get_payload().partition("\n---\n")[0].strip()
    *paragraphs, last = message.split("\n\n")
    lines = re.sub(r"\n\s+", " ", last).splitlines()
    trailers = {found[1]: found[2] for line in lines
                if (found := re.fullmatch(r"([\w-]+): (.*)", line))}
    if len(trailers) < len(lines):
        paragraphs, trailers = [*paragraphs, last], {}
    return Patch(path, subject, "\n\n".join(paragraphs), trailers)


def sizes(path: Path) -> dict[str, int]:
    """{file: the number of lines that are added or removed, whichever is more}."""
    listed = (line.split("\t") for line in
              git(tree.ROOT, "apply", "--numstat", path).splitlines())
    return {name: max(int(added), int(removed)) for added, removed, name in listed}


def apply(path: Path, folder: Path, *options: str) -> str | None:
    """Applies a patch to the files of a folder, without fuzz. Returns None, or why it does not
    apply."""
    try:
        git(folder, "apply", *options, path)
    except GitError as error:
        return f"{tree.display(path)}: does not apply: {error}"
    return None
