"""reach.py - which tests execute which lines: a map, made once per tree.

Builds everything once more in build/reach, for gcov, and runs the tests of the programs and
of verification there. Each test gets a line of build/reach/map.jsonl: its CPU seconds, the
binaries that it runs, and the lines that they execute. Kernels of OpenCL are not counted:
tests that run a binary count as tests of its kernel.

make() makes the map, again if a source or a test has changed since. As a plugin of pytest
(-p tests.reach) it records each test.
"""
from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.base import copies, tree

FOLDER = tree.ROOT / "build" / "reach"
# Tests that call make use the same flags.
FLAGS = {"BUILD": "build/reach", "OPT": "-O1", "EXTRA": "--coverage", "NVCC": "", "CCACHE": ""}
# Tests of what is not mutated: the build, rungs, measurements, pages, exercises.
OTHERS = """suites course contributing grade rungs measure report rebuild makefile systems slurm
tree cluster_model glossary mutate""".split()


class Entry:
    """One test of the map."""

    def __init__(self, name: str, seconds: float, binaries: Iterable[str],
                 lines: dict[str, str]) -> None:
        self.name, self.seconds, self.binaries = name, seconds, set(binaries)
        self.lines = {path: int(bits, 16) for path, bits in lines.items()}

    def executes(self, path: str, line: int | None) -> bool:
        """Whether it executes a line of a file; None: any line."""
        bits = self.lines.get(path, 0)
        return bool(bits >> line & 1 if line is not None else bits)


def binary(data: Path) -> str | None:
    """The binary that wrote a file of counters, below build/; None for objects of common/."""
    parts = data.parts
    if "parts" in parts:
        at = parts.index("parts")
        return f"{parts[at + 1]}/{parts[at + 2]}"
    if "common" in parts:
        return None
    folder = "tests/" * (data.parent.name == "tests")
    name = data.name.removesuffix(".gcda")
    return folder + (name.rpartition("-")[0] or name)


def counted(folder: Path) -> tuple[set[str], dict[str, str]]:
    """(binaries, {file: lines as bits of a hexadecimal number}) of the counters in a folder."""
    lines: dict[str, int] = {}
    data = sorted(folder.rglob("*.gcda"))
    for path in data:
        notes = Path("/", *path.relative_to(folder).parts).with_suffix(".gcno")
        if notes.exists():
            path.with_suffix(".gcno").symlink_to(notes)
    done = subprocess.run(["gcov", "--json-format", "--stdout", *data], cwd=folder,
                          capture_output=True)
    text = gzip.decompress(done.stdout) if done.stdout[:2] == b"\x1f\x8b" else done.stdout
    for document in text.splitlines():
        for file in json.loads(document)["files"]:
            if not os.path.isabs(file["file"]):
                bits = sum(1 << n for n in {line["line_number"] for line in file["lines"]
                                            if line["count"]})
                lines[file["file"]] = lines.get(file["file"], 0) | bits
    return {b for b in map(binary, data) if b}, {p: f"{b:x}" for p, b in lines.items() if b}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, None, None]:
    """Records one test."""
    folder = FOLDER / "counters" / str(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["GCOV_PREFIX"] = str(folder)
    began = sum(os.times()[:4])
    yield
    seconds = sum(os.times()[:4]) - began
    binaries, lines = counted(folder)
    with open(FOLDER / f"map-{os.getpid()}.jsonl", "a") as out:
        print(json.dumps([item.nodeid, round(seconds, 2), sorted(binaries), lines]), file=out)


MAP = FOLDER / "map.jsonl"


@cache
def entries() -> list[Entry]:
    """The tests of the map, quickest first; none if there is no map."""
    if not MAP.exists():
        return []
    found = [Entry(*json.loads(line)) for line in MAP.read_text().splitlines()]
    return sorted(found, key=lambda e: e.seconds)


def modules() -> list[str]:
    """The files of tests that the map has."""
    return [str(p.relative_to(tree.ROOT)) for p in sorted(tree.ROOT.glob("tests/test_*.py"))
            if p.stem.removeprefix("test_") not in OTHERS]


def make() -> None:
    """Makes the map if there is none, or if a source or a test has changed since."""
    sources = [p for folder in ("common", "steps", "verify")
               for p in (tree.ROOT / folder).rglob("*.[ch]*")]
    newest = max(p.stat().st_mtime for p in [*sources, *tree.ROOT.glob("tests/*.*")])
    if MAP.exists() and MAP.stat().st_mtime > newest:
        return
    problem = copies.make(*(f"{k}={v}" for k, v in FLAGS.items()), "binaries", "tools", "data",
                          "tests")
    if problem:
        raise SystemExit(problem)
    for path in FOLDER.glob("map*.jsonl"):
        path.unlink()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "not slow",
         "-p", "tests.reach", "-p", "no:cacheprovider", *modules()], cwd=tree.ROOT,
        env=copies.environment(**FLAGS))
    MAP.write_text("".join(p.read_text() for p in sorted(FOLDER.glob("map-*.jsonl"))))
    shutil.rmtree(FOLDER / "counters", ignore_errors=True)
    entries.cache_clear()
