"""test_surroundings.py: what users' machines bring along: values of the environment, names of
folders, other users' files, line ends, a missing cache of the compiler or module of Python.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, module
from tools.base import copies, runs, tree


def make(*words, folder=ROOT, **variables):
    return subprocess.run(["make", "-s", *words], cwd=folder, text=True, capture_output=True,
                          env=copies.environment(**variables), stdin=subprocess.DEVNULL,
                          timeout=120)


@pytest.mark.parametrize("name", ["a b", "", "-x", "a:b", "a%b"])
def test_build_folder(check, name):
    check.process(name, make("help", f"BUILD={name}"), 2,
                  r"BUILD=.*: expected the name of a folder")


def test_blank_in_path(check, monkeypatch):
    """The folder of the data is inserted after the arguments were split."""
    monkeypatch.setenv("BUILD", "/a b/c")
    program = tree.Program("fluid")
    words = program.arguments("events={data}/x.txt nx=3")
    check.equal("words", words, ["events=/a b/c/data/fluid/x.txt", "nx=3"])


def test_own_folders(check):
    """Two processes have different folders, which are removed when they end."""
    code = "from tools.base import runs; p = runs.own_folder('own'); print(p); input()"
    two = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=copies.environment(BUILD=BUILD)) for _ in range(2)]
    paths = [Path(p.stdout.readline().strip()) for p in two]  # type: ignore[union-attr]
    check("different", paths[0] == paths[1] or not all(p.is_dir() for p in paths))
    for process in two:
        process.communicate("\n")
    check("removed", any(p.exists() for p in paths))


@pytest.mark.parametrize("name, variables, message", [
    ("tools.teach.run", {"ARGS": "it's"}, "ARGS=it's: No closing quotation"),
    ("tools.verify.random_queries", {"COUNT": "x"}, "COUNT=x: expected a number"),
    ("tools.teach.run", {"OMP_NUM_THREADS": "x", "STEP": "00"}, "")])
def test_values(check, name, variables, message):
    """Nonsense gives one line, not a traceback."""
    done = module(name, **variables)
    check("no traceback", "Traceback" in done.stderr and done.stderr)
    check(message, message not in done.stderr and done.stderr)


def test_numbers(check, monkeypatch):
    for text in ("0", "x", "100000", "-1"):
        monkeypatch.setenv("RANKS", text)
        with pytest.raises(SystemExit, match="RANKS=.*expected a whole number from 1 to 4096"):
            runs.ranks()
    monkeypatch.setenv("RANKS", "3")
    check.equal("3", runs.ranks(), 3)


def test_missing_module(check):
    """A Python without numpy gives one line that names PYTHON=."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", "import tools, numpy"], cwd=ROOT,
                          text=True, capture_output=True, env={**os.environ, "PYTHONPATH": ""})
    lines = done.stderr.splitlines()
    check("one line", (len(lines) != 1 or "has no module numpy: " not in lines[0]
                       or "PYTHON=" not in lines[0]) and done.stderr)


def test_virtual_environment(check, tmp_path):
    """A virtual environment without numpy is left out."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    done = make("-pn", "help", VIRTUAL_ENV=str(tmp_path))
    check("PYTHON", f"PYTHON := {python}" in done.stdout and "used")


def test_broken_ccache(check, tmp_path):
    """A ccache that cannot write its folder is left out."""
    broken = tmp_path / "ccache"
    broken.write_text("#!/bin/sh\necho 'ccache: error: no home' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = make("-pn", "help", PATH=f"{tmp_path}:{os.environ['PATH']}")
    check("CCACHE", f"CCACHE := {broken}" in done.stdout and "used")


def test_carriage_returns(check, tmp_path):
    """A kernel with the line ends of Windows gives the same array."""
    source = Path(ROOT, "steps/02_ocl_1d/sandpile")
    texts = []
    for ends in "\n", "\r\n":
        shutil.rmtree(tmp_path / "s", ignore_errors=True)
        shutil.copytree(source, tmp_path / "s")
        for path in (tmp_path / "s").glob("*.[ch]*"):
            path.write_bytes(path.read_bytes().replace(b"\n", ends.encode()))
        texts.append(subprocess.run(
            ["awk", "-v", f"path=s {ROOT}/common/portable {ROOT}/common/sandpile", "-f",
             f"{ROOT}/common/opencl/embed.awk", "s/kernel.cl"], cwd=tmp_path,
            capture_output=True, text=True).stdout)
    check("same", not texts[0] or texts[0] != texts[1])


def test_unwritable_build(check, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as ended:
        runs.writable(tmp_path / "file" / "run")
    check("message", "cannot be written: Not a directory" not in str(ended.value) and ended)
