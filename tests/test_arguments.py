"""test_arguments.py: what the table of its arguments says about a program: the ends of all ranges,
values beyond them, texts that are no numbers, files that cannot be read or written. The table is
that which `help` prints, so a new argument is tested without a change here.
"""
import math
import os
import re
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.helpers import ROOT, arguments, binaries, program_named, run
from tools.base import tree
from tools.verify import execute

LITTLE = Path(ROOT, "verify/fuzz/corpus/su/little.su")
EVENTS = b"source 60 0\nforce 9 -5 3 0\n"
ONE = "a=0,0,1 b=0,0,1 c=0,0,1 d=0,0,1 e=0,0,1"
# Commands that succeed on all back-ends, and changes of them. Each argument has a meaning in one
# of the commands of its program.
QUERIES = {
    "sandpile": "dim=9 out=grid.npy counts=counts.npy picture=pile.png",
    "fluid": "events=good.txt nx=5 ny=4 nz=3 steps=2 sweeps=2 out=out.npy velocity=v.npy "
             "totals=t.npy picture=p.png",
    "fletcher": "form=TTI nx=5 ny=4 nz=6 absorb=1 dx=10 dy=11 dz=12 dt=0.001 tmax=0.003 "
                "out=out.npy q=q.npy picture=p.png snapshots=s",
    "gridding": "uv=random visibilities=20 grid=64 support=3 oversampling=4 planes=3 cell=200 "
                "out=out.npy image=a.png",
    "degridding": "uv=random visibilities=20 grid=64 support=3 oversampling=4 planes=3 cell=200 "
                  "task=degrid out=out.npy",
    "semblance": f"in=good.su m0=-480 h0=4120 t0=0.008 tau=0.002 {ONE} out=out.npy "
                 "panel=panel.npy",
    "section": f"in=good.su m0=-480 h0=4120 t0=0.004,0.002,2 tau=0.002 {ONE} stack=s.su "
               "coherence=c.su parameters=p.npy"}
VARIANTS = {"sandpile": ["", "-dim"], "gridding": [""], "degridding": [""], "section": [
    "", "-m0 -h0", "-m0 -h0 -t0", "-a -b -c -d -e",
    "-a -b -c -d -e velocity=1500,3000 in=near.su aperture=1e5,1e5"]}
PROGRAM_OF = {"degridding": "gridding", "section": "semblance"}
COMMANDS = {p: [(q, v) for q in QUERIES if PROGRAM_OF.get(q, q) == p for v in VARIANTS.get(q, [""])]
            for p in ("sandpile", "fluid", "fletcher", "gridding", "semblance")}


def words(query, changes="", *more):
    """The arguments of a query with changes, and then with more arguments, which may have
    blanks."""
    first = arguments(dict(word.split("=", 1) for word in QUERIES[query].split()), changes)
    return arguments(dict(word.split("=", 1) for word in first), list(more))


def write_inputs(folder):
    """The input files of the queries, and a pipe."""
    little = bytearray(LITTLE.read_bytes())
    (folder / "good.su").write_bytes(little)
    for at in range(70, len(little), len(little) // 3):
        little[at:at + 2] = b"\x18\xfc"  # scalco: positions in millimetres
    (folder / "near.su").write_bytes(little)
    (folder / "good.txt").write_bytes(EVENTS)
    numpy.save(folder / "good.npy", numpy.zeros((4, 4), "<i4"))
    os.mkfifo(folder / "pipe")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arguments")
    write_inputs(folder)
    return folder


def run_clean(folder, binary, words, variables=()):
    """Runs a command; returns (how it ended, the names of the files that it left), and removes
    these files."""
    before = set(folder.iterdir())
    ended = run([*["env"] * bool(variables), *variables, binary, *words], folder)
    left = set(folder.iterdir()) - before
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return ended, sorted(path.name for path in left)


def message(folder, binary, words):
    """The message of a command that is refused. It must be one line, and all that is left."""
    ended, left = run_clean(folder, binary, words)
    if ended.returncode == 0:
        return "none: the command succeeds"
    assert ended.returncode == 1 and not ended.stdout and not left, (binary, words, ended, left)
    name, _, text = ended.stderr.partition(": ")
    assert text.count("\n") == 1 and text[-1] == "\n" and name in COMMANDS, ended.stderr
    return text[:-1]


def table(binary):
    """[(key, type, text, low, high)] of the arguments of a binary."""
    found = {line.split("\t")[0]: line.split("\t")[1].upper()
             for line in run([binary, "keys"], ROOT).stdout.splitlines()}
    rows = re.findall(r"^  (\w+)=\S* +(.*?)(?: \(from (\S+) to (\S+)\))?$",
                      run([binary, "help"], ROOT).stdout, re.M)
    return [(key, found[key], text, low, high) for key, text, low, high in rows]


def rows(program, *kinds):
    """[(binary, row of its table)] of the first binary, and of the last one with arguments of
    its own: those of these kinds."""
    for _, _, binary in (*binaries(program, ("seq",))[:1], *binaries(program, ("hybrid",))[-1:]):
        for row in table(binary):
            if not kinds or row[1] in kinds:
                yield binary, row


PROGRAM = pytest.mark.parametrize("program", COMMANDS)


@PROGRAM
def test_numbers(check, folder, program):
    for binary, (key, kind, about, low, high) in rows(program, "INT", "INTS", "DOUBLE"):
        assert low and high, f"{key}: no range"
        whole, right, wrong = "", [low, high], ["x", "", "nan", "inf", f" {high}", f"{high}x"]
        if kind == "DOUBLE":
            wrong += [repr(math.nextafter(float(low), -math.inf)), "1e999",
                      repr(math.nextafter(float(high), math.inf))]
        else:
            low, high, whole = int(float(low)), int(float(high)), " whole"
            right = [low, low + 1, high - 1, high]
            wrong += [*map(str, (low - 1, high + 1, 10 ** 20)), f"{low}.0"]
        items = about.partition(":")[0].count(",") + 1 if kind == "INTS" else 1
        for value, place in product(right + wrong, range(items)):
            texts = ["1"] * items
            texts[place] = str(value)
            change = f"{key}={','.join(texts)}"
            found = message(folder, binary, words(program, "", change, "out=none/x"))
            expected = f"{key}={value}: expected a{whole} number from {low} to {high}"
            check(f"{binary} {change}", (found == expected) == (value in right) and found)
        for count in {items - 1, items + 1} if kind == "INTS" else ():
            change = f"{key}={','.join(['1'] * count)}"
            found = message(folder, binary, words(program, "", change))
            check(change, found != f"{change}: expected {about}" and found)


NO_FILE = r"[^:]+: (cannot be read: )?No such file or directory(: expected .*)?"
NOT_REGULAR = r"[^:]+: (cannot be read: |is )?(not a regular file|a directory)(: expected .*)?"
NOT_WRITTEN = r"[^:]+: (cannot be written: .*|not a folder and cannot be created|expected a folder)"


@PROGRAM
def test_texts(check, folder, program):
    """Each text is refused if it is empty, and if it is neither a choice nor a file that can be
    read or written. Two arguments do not name one file if one of them is written."""
    for binary, (key, _, about, *_) in rows(program, "TEXT"):
        found = message(folder, binary, words(program, "", f"{key}="))
        check(f"{key}=", not re.fullmatch(f"{key}=: expected .*", found) and found)
        for query in COMMANDS[program]:
            found = message(folder, binary, words(*query, f"{key}=none/x"))
            if re.match(f"{key}=none/x: (expected|cannot be written|not a folder)|{key}=.*: not "
                        "(supported|in this)", found) or re.fullmatch(NO_FILE, found):
                break
        else:
            check(f"{key}=none/x", found)
        if re.fullmatch(NO_FILE, found):
            for path in "..", "pipe", "/dev/zero":
                found = message(folder, binary, words(*query, f"{key}={path}"))
                check(f"{key}={path}", not re.fullmatch(NOT_REGULAR, found) and found)
        elif re.fullmatch(NOT_WRITTEN, found):
            for path in ["/dev/null/x", "../"][:2 - about.startswith("folder")]:
                found = message(folder, binary, words(*query, f"{key}={path}"))
                check(f"{key}={path}", not re.fullmatch(NOT_WRITTEN, found) and found)
            for other, value in (word.split("=") for word in words(*query)):
                if other != key and re.search(r"[^0-9]\.[a-z]+$", value):
                    found = message(folder, binary, words(*query, f"{key}=./{value}"))
                    check(f"{key}={value}", not re.fullmatch(
                        f"({key}= and {other}|{other}= and {key})= name the same file: .*{value}"
                        f"|{key}=.*: (expected a folder|cannot be written: No such.*)",
                        found) and found)


@PROGRAM
def test_keys(check, folder, program):
    for binary, (key, *_) in rows(program):
        for given, expected in (
                (key, rf"{key}: expected key=value; `{program} help` lists the keys"),
                (f"{key}_=1", rf"unknown key '{key}_' \(did you mean '{key}'\?\); known keys: .*"),
                (f"{key.upper()}=1", rf"unknown key '.*' \(did you mean '{key}'\?\); .* {key}.*")):
            found = message(folder, binary, [*words(program), given])
            check(given, not re.fullmatch(expected, found) and found)
    for given in words(program):
        found = message(folder, binary, [*words(program), given])
        check(f"{given} twice", found != f"{given.split('=')[0]} is given twice" and found)
    found = message(folder, binary, [*words(program), "=4"])
    check("no key", not found.startswith("unknown key '' (did you mean") and found)


# ---- sizes next to those of a vector, a word, a tile or a block ----------------------


def near(*multiples):
    return sorted({m + d for m in multiples for d in (-1, 0, 1)})


def series(first, last, *counts):
    return [f"{first},{last},{n}" for n in counts]


HUGE = 2**31 - 1
LOCAL = ["1,1,1", "2,2,2", "3,2,1", "1024,1,1", "1023,1,1", "1,1024,1", "1,1023,1", "1,1,1023"]
# Program, arguments, and values of further arguments: run k has value k of each list, whose values
# are repeated. {data} is the folder of the program's data.
SIZES: list[tuple[str, str, dict[str, list[Any]]]] = [
    ("sandpile", "config=alea", {
        "dim": [3, 4, *near(8, 16)], "batch": [1, 2, *near(8)], "seed": [0, 1, HUGE - 1, HUGE],
        "tilew": [0, 1, *near(16), 32767, 32768], "tileh": [*near(16), 32768, 0, 1, 32767]}),
    ("sandpile", "", {
        "dim": [*near(32, 64), 130], "max_iterations": [0, 1, 40, *near(32)],
        "halo": [0, 1, 2, *near(32), 1023, 1024], "local": LOCAL}),
    ("sandpile", "dim=9", {"max_iterations": [HUGE - 1, HUGE], "local": ["1,1,1024", "5,1,1"]}),
    ("fluid", "events={data}/short.txt sweeps=2 steps=2", {
        "nx": [1, 2, *near(8, 16, 32)], "ny": [16, 1, 7, 2, 17, 8, 15, 3, 9],
        "nz": [1, 9, 2, *near(16), 8, 7, 3], "local": LOCAL}),
    ("fluid", "events={data}/short.txt", {
        "n": [1, 2, 5], "sweeps": [0, 1, 2, *near(4, 8)], "steps": [-1, 0, 1], "profile": [0, 1]}),
    ("fletcher", "form=TTI dt=0.001 tmax=0.003", {
        "nx": [1, 2, *near(8, 16, 32), 40, 84, 88, 92], "ny": [1, 2, *near(4, 8)],
        "nz": [2, 1, 9, *near(4), 8, 7], "absorb": [0, 1, 2, *near(4)],
        "local": LOCAL}),
    ("fletcher", "form=TTI dt=0.001 tmax=0.003 nx=5 absorb=0", {
        "ny": near(16), "nz": [17, 15, 16], "local": ["1,1,1024", "2,2,2", "1,1,1"]}),
    ("gridding", "uv=random cell=20000", {
        "visibilities": [1, 2, *near(40)], "grid": [1, 2, *near(8)], "support": [0, 0, 3, 2, 4],
        "oversampling": [1, 2, 3, 7, 8, 9, 63, 64], "planes": [1, 2, 3, 1023, 1024],
        "strict": [0, 1], "copies": [0, 1, 2, 99999, 100000], "strips": ["1,1", "2,2", "3,3"]}),
    ("gridding", "uv=random visibilities=20 oversampling=4 planes=3 cell=1000", {
        "grid": near(16, 32, 64), "support": [5, 7, 4, 8, 3],
        "strips": ["4,4", "5,5", "3,3", "1023,1", "1024,1", "1,1023", "1,1024"]}),
    ("gridding", "uv=random oversampling=4 planes=3 cell=200 task=degrid", {
        "grid": near(64), "support": [0, 8, 9], "visibilities": near(40),
        "precision": ["single", "double"]}),
    ("semblance", "in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.008", {
        "a": series(-0.00002, 0.00026, 1, 2, *near(8)),
        "b": series(-0.00032, -0.00008, 1, 2, 8, 9, 7), "set": [1, 2, 3],
        "c": series(4e-7, 9e-7, 1, 2, 9, 7, 8), "d": series(1e-7, 5e-7, 1, 2),
        "e": series(0, 3e-7, 2, 1), "local": LOCAL}),
    ("semblance", "in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,2 "
     "b=-0.00032,-0.00008,2", {
         "c": series(4e-7, 9e-7, *near(16), 2), "d": series(1e-7, 5e-7, *near(16, 8)),
         "e": series(0, 3e-7, 17, 15, 16, 9, 7, 8), "local": [*LOCAL[3:], "1,1,1024"]})]


@pytest.mark.seconds(2)
@pytest.mark.drawn(20)  # new sizes are new kernels, which OpenCL compiles for seconds
@pytest.mark.parametrize("number, run", [
    pytest.param(number, run, id=f"{program}-{number}-{run}")
    for number, (program, _, lists) in enumerate(SIZES)
    for run in range(max(map(len, lists.values())))])
def test_sizes(check, tmp_path, number, run):
    name, first, lists = SIZES[number]
    program, checked = program_named(name), dict[str, execute.Outcome]()
    more = [f"{key}={values[run % len(values)]}" for key, values in lists.items()]
    data = str(tree.build().absolute() / "data" / name)
    for backend in "seq", "omp", "ocl", "hybrid":
        steps = [step for step in tree.steps() if backend in step.available(program)]
        for step in steps[:1] if backend == "seq" else steps[-1:]:
            got = execute.run_and_check(
                step, program, backend, [*first.replace("{data}", data).split(), *more],
                tmp_path, "sizes", checked=checked)
            check(f"{step.name} {backend} {more}", not got["ok"] and got["reason"])
