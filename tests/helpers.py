"""helpers.py - what the Python tests share: finding binaries and running them, SU traces and
.npy files, and what a refused run must look like.

Run from the root of the tree; BUILD (default build) is where the binaries are.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy

from tools.base import copies, tree
from tools.history import patches, rungs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

BUILD = str(tree.build())

TIMEOUT = 900  # seconds: on a busy machine, too, only a process that hangs takes longer


def seed(variable):
    """The seed of a random test: that of an environment variable, or 1, or, with --all, one
    that has not been tried before."""
    anew = os.environ.get("DRAW_ANEW") and str(time.time_ns() // 10**6 % 10**6)
    return os.environ.get(variable) or anew or "1"


# ---- binaries ------------------------------------------------------------------------


def program_named(name):
    return next(p for p in tree.programs() if p.name == name)


def binaries(program, wanted=None):
    """[(step, back-end, path)] of all that are built and can run here."""
    program = program_named(program)
    return [(step.name, backend, str(step.binary(program, backend)))
            for step in tree.steps() for backend in step.available(program)
            if not wanted or backend in wanted]


def front_ends(program):
    """The first sequential and the last OpenCL binary, as binaries() has them: the other
    steps share all code that judges input."""
    first = binaries(program, ("seq",))[:1]
    assert first, f"no {program}-seq in {BUILD}: make binaries"
    return first + binaries(program, ("ocl",))[-1:]


def module(name, *words, root=ROOT, **variables):
    """Runs a module as make would; the result has returncode, stdout and stderr."""
    return subprocess.run([sys.executable, "-m", name, *words], cwd=root,
                          env=copies.environment(**{"BUILD": BUILD, **variables}),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=TIMEOUT)


def preloaded(*sources):
    """The value of LD_PRELOAD for libraries that are compiled from these files of C."""
    libraries = [Path(BUILD, "tests", Path(source).stem).with_suffix(".so").absolute()
                 for source in sources]
    for source, library in zip(sources, libraries, strict=True):
        source = Path(ROOT, source)
        if library.exists() and library.stat().st_mtime > source.stat().st_mtime:
            continue
        library.parent.mkdir(parents=True, exist_ok=True)
        made = f"{library}.{os.getpid()}"  # tests run at the same time
        subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-shared", "-fPIC", "-Wall",
                        "-Wextra", "-Werror", source, "-o", made, "-ldl"], check=True)
        os.replace(made, library)
    return " ".join(map(str, libraries))


def run(command, folder, environment=None, **options):
    """Runs command in folder; the result has returncode, stdout and stderr (text)."""
    options = {"stdout": subprocess.PIPE, "timeout": TIMEOUT, **options}
    return subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})},
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace", **options)


class Started(subprocess.Popen[str]):
    """A process, and what it has printed once it was waited for."""
    out = err = ""


def arguments(query, changes):
    """The arguments of a query, a dict, with changes: "key=value key=value", "-key" to leave
    one out, or a list of arguments that are added as they are."""
    query, added = dict(query), []
    if isinstance(changes, list):
        for argument in changes:
            query.pop(argument.partition("=")[0], None)
        return [f"{k}={v}" for k, v in query.items()] + changes
    for change in changes.split():
        key, equals, value = change.partition("=")
        if change.startswith("-") and not equals:
            del query[change[1:]]
        elif key in query:
            query[key] = value
        else:
            added.append(change)
    return [f"{k}={v}" for k, v in query.items()] + added


def printed(text):
    """The key=value lines of an output."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def emptied(folder):
    """Removes all that a folder holds; returns the names, of folders with a slash."""
    names = []
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            os.remove(os.path.join(place, name))
        for name in folders:
            os.rmdir(os.path.join(place, name))
        names += files + [f"{name}/" for name in folders]
    return names


def refusal(program, ended, pattern, folder, log=False):
    """What is wrong with how a run was refused, or None. It must end with exit status 1 and
    exactly one line on stderr, which begins with the program's name and has the pattern;
    with log, other lines may come before. Nothing on stdout; no file in folder, which is
    emptied."""
    left, lines = emptied(folder), ended.stderr.split("\n")
    if ended.returncode != 1:
        return f"exit status {ended.returncode}, expected 1: {ended.stderr[-200:]!r}"
    if ended.stdout or left:
        return f"stdout {ended.stdout[:100]!r}, left behind: {left}"
    if lines[-1] or len(lines) < 2 or len(lines) > 2 and not log:
        return f"{len(lines) - 1} lines on stderr, expected 1: {ended.stderr[:300]!r}"
    if not lines[-2].startswith(f"{program}: ") or not re.search(pattern, lines[-2]):
        return f"{lines[-2]!r}, expected {program}: and {pattern!r}"
    return None


# ---- rungs ---------------------------------------------------------------------------

RUNG = """{subject}

It changes what the subject says. All else is as before.

Kind: {kind}
Backends: omp ocl cuda cuda-cpu
Predict-omp: 1.0: for the tests
Predict-ocl: 1.0: for the tests
Predict-gpu: 1.0: for the tests
Predicted: before measuring
Reason: a series for the tests
"""


def cut(root, parent, step, program):
    """Cuts a step of the tree at root into two rungs: a comment, and the change. Returns the
    folder of the patches."""
    old, new, made = (Path(root, "steps", s, program) for s in (parent, step, f"{step}/rungs"))
    start = rungs.files(old)
    states = [start, {**start, "body.h": start["body.h"] + b"/* A comment. */\n"},
              rungs.files(new)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patches.git(folder, "init", "-q")
        for number, files in enumerate(states):
            rungs.put(files, folder)
            patches.git(folder, "add", "-A")
            patches.git(folder, "commit", "-q", "-m", RUNG.format(
                subject=("Start", "Add a comment", "Change the rest")[number],
                kind=("refactor", "refactor", "algebra")[number]))
        patches.git(folder, "format-patch", "-q", "-k", "--zero-commit", "HEAD~2")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        for number, path in enumerate(sorted(folder.glob("*.patch")), 1):
            shutil.copy(path, made / f"{number}-part.patch")
    return made


# ---- files ---------------------------------------------------------------------------


def table(name: str) -> list[Any]:
    """[(number of the line, column, ...)] of a table in this folder."""
    return [(number, *line.split("\t")) for number, line in
            enumerate(Path(ROOT, "tests", name).read_text().splitlines(), 1)
            if line and not line.startswith("#")]


def trace(samples, ns=None, dt=4000, sy=0, gy=0, sx=0, gx=0, scalco=1, order="<"):
    """One SU trace: 240 bytes of header, then float32 samples."""
    header = bytearray(240)
    struct.pack_into(order + "h4i", header, 70, scalco, sx, sy, gx, gy)
    struct.pack_into(order + "HH", header, 114, len(samples) if ns is None else ns, dt)
    return bytes(header) + struct.pack(f"{order}{len(samples)}f", *samples)


def npy(values, dtype, shape=None):
    """The bytes of an .npy file of version 1.0, whose header may claim another shape."""
    values = numpy.asarray(values, dtype)
    head = repr({"descr": dtype, "fortran_order": False, "shape": shape or values.shape})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + \
        values.tobytes()


def read_npy(path):
    """(shape, values) of a float32 .npy, as lists."""
    array = numpy.load(path)
    if array.dtype != "<f4" or not array.flags.c_contiguous:
        raise ValueError(f"{path}: {array.dtype}, expected float32 in C order")
    return list(array.shape), array.ravel().tolist()


def write_npy(path, shape, values):
    """Writes a float32 .npy of values in C order."""
    with open(path, "wb") as file:
        numpy.save(file, numpy.array(values, "<f4").reshape(shape))
