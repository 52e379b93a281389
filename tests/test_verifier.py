"""test_verifier.py: each tool of verification reports a planted fault, and only that one.

A binary is a script that runs the first step and then makes one mistake: in one element, in
one run, with one number of threads. A checker is a script that prints what a test wants.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import mutants
from tests.helpers import ROOT
from tools.base import runs, tree
from tools.history import rungs
from tools.measure import item, variants
from tools.verify import coverage, execute, matrix, queries, random_queries, sanitize

SEMBLANCE = tree.programs()[0]
TINY = SEMBLANCE.arguments(SEMBLANCE.mk["tiny"])
OTHER = [a.replace("t0=0.6", "t0=0.61") for a in TINY]
STEPS = {step.number: step for step in tree.steps()}

BINARY = """#!{python} -SE
import os, signal, subprocess, sys
words, env = sys.argv[1:], os.environ
files = dict(word.split("=", 1) for word in words if word.startswith(("out=", "panel=")))
ended = subprocess.run([{real!r}, *(w for w in words if not w.startswith(("local=", "share=")))],
                       capture_output=True, text=True)
text, error, status = ended.stdout, ended.stderr, ended.returncode
with open(__file__ + ".calls", "a") as calls:
    calls.write(" ".join(words) + "\\n")
number = len(open(__file__ + ".calls").readlines())

def change(key, function, size=4):
    "Replaces the last bytes of an output."
    with open(files[key], "r+b") as file:
        file.seek(-size, 2)
        data = file.read()
        file.seek(-size, 2)
        file.write(function(data))

def number_changed(value):
    import struct
    return lambda data: struct.pack("<f", struct.unpack("<f", data)[0] + value)

if {when}:
    {what}
sys.stdout.write(text)
sys.stderr.write(error)
sys.exit(status)
"""


class Fake:
    """A folder of binaries that are scripts."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.real = folder, tree.build()
        for name in ("verify", "semblance-check", "data", "flags", "toolchain", "devices"):
            if (self.real / name).exists():
                (folder / name).symlink_to(self.real / name)
        monkeypatch.setenv("BUILD", str(folder))
        (folder / "bin").mkdir()
        self.script("bin/mpirun", '#!/bin/sh\nshift 2\nexec "$@"\n')
        monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
        for name in ("OMP_NUM_THREADS", "DEVICE_AS", "RANKS", "REQUIRE", "STEP", "RUNGS"):
            monkeypatch.delenv(name, raising=False)
        self.first = self.real / "00_sequential" / "semblance-seq"
        (folder / "00_sequential").mkdir()
        (folder / "00_sequential" / "semblance-seq").symlink_to(self.first)

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def binary(self, number, backend, what="pass", when="True"):
        """A binary of a step, with a mistake."""
        return self.script(f"{STEPS[number].name}/semblance-{backend}", BINARY.format(
            python=sys.executable, real=str(self.first), what=what, when=when))

    def checker(self, *lines, status=0):
        """A checker that prints lines, and adds its arguments to the file `checked`."""
        printed = "".join(f"echo '{line}'\n" for line in lines)
        return self.script("semblance-check", f'#!/bin/sh\necho "$@" >>{self.folder}/checked\n'
                           f"{printed}exit {status}\n")

    def checks(self):
        path = self.folder / "checked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture(name="fake")
def fake_build(tmp_path, monkeypatch):
    return Fake(tmp_path, monkeypatch)


@pytest.fixture(name="program")
def program_of_two_cases(fake):
    """The main program with two cases; of the second only few runs are made."""
    program = tree.Program("semblance")
    program.cases = {"tiny": TINY, "last": OTHER}
    return program


# ---- make verify -------------------------------------------------------------------------

ACCEPTED = "vacuous=0", "share=1", "worst=nothing differs", "verdict=ok"
LAST, BOTH = "'t0=0.61' in words", "'panel' in files"
# A mistake in the last case: (Python, what is reported).
MISTAKES = {
    "last element": ("change('panel', number_changed(-0.01))", r"panel\["),
    "NaN": ("change('panel', lambda data: bytes([0, 0, 192, 127]))", "nan"),
    "NaN of out": ("change('out', lambda data: bytes([0, 0, 192, 127]))", "nan"),
    "last bit": ("change('panel', lambda data: bytes([data[0] ^ 1]) + data[1:])",
                 "panel.npy against 00_sequential seq, norm=bytes"),
    "one byte less": ("os.truncate(files['panel'], os.path.getsize(files['panel']) - 1)",
                      "truncated|cannot be read"),
    "one byte more": ("open(files['panel'], 'ab').write(bytes(1))", "too long"),
    "shape": ("data = open(files['panel'], 'rb').read();"
              " open(files['panel'], 'wb').write(data.replace(b'(3, 2)', b'(2, 3)'))", "shape"),
    "no panel": ("os.remove(files['panel'])", "panel"),
    "no out": ("os.remove(files['out'])", "out"),
    "other file": ("open(os.path.dirname(files['out']) + '/more.npy', 'w')",
                   "writes more.npy, which was not requested"),
    "link": ("os.rename(files['out'], files['out'] + '.kept');"
             " os.symlink(files['out'] + '.kept', files['out'])", "not a regular file"),
    "crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "crashes: SIGSEGV"),
    "status": ("status = 3", "refuses: exit status 3"),
    "status and text": ("status, error = 1, 'late\\n'", "refuses: late"),
    "printed value": ("text = text.replace('Semblance=0.', 'Semblance=0.1')", "Semblance=0.1"),
    "printed time": ("text = text.replace('Time_run=', 'Time_run=nan ')", "Time_run=nan"),
    "no line": ("text = text.replace('Stack=', 'Stack ')", "stdout has"),
}


def report(fake, program, monkeypatch, capsys, number, backend):
    """(passed, the failures, all that is printed) of make verify."""
    monkeypatch.setenv("STEP", number)
    monkeypatch.setenv("BACKEND", backend)
    passed, failed = matrix.verify_program(program, False)
    return passed, failed, capsys.readouterr().out


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_in_the_last_case(fake, program, monkeypatch, capsys, name):
    what, pattern = MISTAKES[name]
    fake.binary("01", "omp", what, f"{LAST} and {BOTH}")
    passed, failed, table = report(fake, program, monkeypatch, capsys, "01", "omp")
    assert len(failed) == 1 and passed == 5, (passed, failed)
    assert failed[0].startswith("01_openmp semblance-omp last: "), failed
    assert re.search(pattern, failed[0]), failed
    assert "FAIL" in table


ONE_RUN = [("01", "omp", f"threads-{n}", f"env.get('OMP_NUM_THREADS') == '{n}'",
            f"tiny {n}-threads") for n in matrix.THREADS] + \
          [("02", "ocl", group, f"'{group}' in words", f"tiny {group}")
           for group in SEMBLANCE.groups] + \
          [("02", "ocl", "as-gpu", "env.get('DEVICE_AS') == 'gpu'", "tiny as-gpu")] + \
          [("12", "mpi", f"ranks-{n}", f"env.get('RANKS') == '{n}'", f"tiny {n}-ranks")
           for n in matrix.RANKS] + \
          [("11", "hybrid", f"share-{p}", f"'share={p}' in words", f"tiny share-{p}")
           for p in matrix.SHARES] + \
          [("01", "omp", "timed", f"{LAST} and not {BOTH}", "last, timed outputs"),
           ("01", "omp", "first run", "number == 1", "tiny"),
           ("01", "omp", "second run", "number == 2", "tiny, timed outputs")]


@pytest.mark.seconds(5)
def test_mistake_in_one_run(check, fake, program, monkeypatch, capsys):
    """The run is named, and no other run fails; without the mistake, none does."""
    for number, backend, name, when, place in ONE_RUN:
        binary = fake.binary(number, backend, "status = 3", when)
        Path(f"{binary}.calls").unlink(missing_ok=True)
        passed, failed, _ = report(fake, program, monkeypatch, capsys, number, backend)
        expected = f"{STEPS[number].name} semblance-{backend} {place}: "
        runs_made = len(Path(f"{binary}.calls").read_text().splitlines())
        check(name, (len(failed) != 1 or not failed[0].startswith(expected)) and f"{failed}")
        check.equal(f"{name}: runs", passed + 1, runs_made)
        fake.binary(number, backend)
        passed, failed, table = report(fake, program, monkeypatch, capsys, number, backend)
        check(f"{name}: without it", (failed or "FAIL" in table) and f"{failed}")
        check.equal(f"{name}: all runs", passed, runs_made)


def test_budget_of_the_first_step(check, fake, program, monkeypatch, capsys):
    """Files that the checker accepts are also compared with those of the first step."""
    fake.checker(*ACCEPTED)
    for value, expected in ((9e-6, 0), (1.2e-5, 1), (-1.2e-5, 1)):
        fake.binary("05", "omp", f"change('panel', number_changed({value}))", f"{LAST} and {BOTH}")
        _, failed, table = report(fake, program, monkeypatch, capsys, "05", "omp")
        check.equal(f"{value}", len(failed), expected)
        name = "05_algebra semblance-omp last: panel.npy against 00_sequential seq, 1e-05"
        check(f"{value}: named", expected and not failed[0].startswith(name) and f"{failed}")
        share = re.search(r"[89]\d\.\d %", table)
        check(f"{value}: share", not expected and not share and table)
    for number, backend, place, when in (
            ("05", "omp", "tiny 3-threads", "env.get('OMP_NUM_THREADS') == '3'"),
            ("05", "ocl", "tiny as-gpu", "env.get('DEVICE_AS') == 'gpu'")):
        fake.binary(number, backend, "change('panel', number_changed(1e-4))", when)
        _, failed, _ = report(fake, program, monkeypatch, capsys, number, backend)
        check(place, (len(failed) != 1 or f"{place}: panel.npy against" not in failed[0])
              and f"{failed}")
    fake.checker("vacuous=5.1", *ACCEPTED[1:])
    fake.binary("05", "omp")
    _, failed, _ = report(fake, program, monkeypatch, capsys, "05", "omp")
    check("vacuous", (len(failed) != 6 or "no result could violate" not in failed[-1])
          and f"{failed}")


def test_bytes_of_the_parent(check, fake, program, monkeypatch, capsys):
    """A refactoring has the bytes of its parent, not of the first step."""
    fake.checker(*ACCEPTED)
    bit = "change('panel', lambda data: bytes([data[0] ^ 1]) + data[1:])"
    for parent, child, expected in ((bit, bit, 0), (bit, "pass", 3), ("pass", bit, 3)):
        fake.binary("02", "ocl", parent, BOTH)
        fake.binary("03", "ocl", child, BOTH)
        program.cases = {"tiny": TINY}
        _, failed, _ = report(fake, program, monkeypatch, capsys, "03", "ocl")
        named = [f for f in failed if "panel.npy against 02_ocl_1d ocl, norm=bytes" in f]
        check(f"{parent}, {child}", (len(failed) < expected or failed != named or
                                     bool(failed) != bool(expected)) and f"{failed}")


def test_program_without_binaries(fake, program, monkeypatch, capsys):
    """What is not there is a failure, unless it is not required."""
    _, failed, _ = report(fake, program, monkeypatch, capsys, "01", "omp")
    assert len(failed) == 1 and "is not built or cannot run here" in failed[0]
    monkeypatch.setenv("REQUIRE", "none")
    monkeypatch.setattr(sys, "argv", ["matrix", "--program", "semblance"])
    assert matrix.main() == 1  # nothing was verified


# ---- a run and its checker -----------------------------------------------------------------


def test_run(check, tmp_path):
    for script, expected in (("exit 0", None), ("exit 1", "refuses: exit status 1"),
                             ("echo no >&2; exit 2", "refuses: no"),
                             ("kill -9 $$", "crashes: SIGKILL"), ("exit 139", "crashes: SIGSEGV")):
        check.equal(script, runs.run(["/bin/sh", "-c", script], 60).failure(), expected)
    # The command starts a process in another session, which killing its group does not end.
    hung = runs.run(["/bin/sh", "-c", f"setsid sleep 61 & echo $! >{tmp_path}/id; sleep 60"], 1)
    check("hangs", not (hung.failure() or "").startswith("hangs") and hung)
    left = Path("/proc", (tmp_path / "id").read_text().strip(), "exe")
    end = time.monotonic() + 20
    while left.exists() and time.monotonic() < end:
        time.sleep(0.1)
    check("nothing is left", left.exists())
    check("not built", not runs.run(["/no/such"], 60).failure() and "no failure")


@pytest.mark.parametrize(("lines", "status", "good"), [
    (ACCEPTED, 0, True), (ACCEPTED, 1, False), (ACCEPTED, 137, False), ((), 0, False),
    (("share=1",), 0, False), (("share=1", "verdict=FAIL no"), 0, False),
    (("share=1", "verdict=okay"), 0, False), (("share=101", "verdict=ok"), 0, False),
    (("share=nan", "verdict=ok"), 0, False), (("share=-1", "verdict=ok"), 0, False),
    (("verdict=ok",), 0, False), (("vacuous=nan", *ACCEPTED[1:]), 0, False)])
def test_checker_that_contradicts_itself(fake, tmp_path, lines, status, good):
    fake.checker(*lines, status=status)
    files = {o.key: tmp_path / o.file for o in SEMBLANCE.outputs}
    method = ["method=one"]
    assert runs.check(SEMBLANCE, TINY, files, "tiny", method)["ok"] == good
    words = fake.checks()[0].split()
    assert {*TINY, *method, f"result={files['out']}", f"panel={files['panel']}"} < set(words)
    assert [w for w in words if w.startswith("oracle=")]


def test_hang_and_crash(check, fake, tmp_path):
    for name, what, caught in (("hang", "import time; time.sleep(60)", "hangs"),
                               ("crash", "os.kill(os.getpid(), signal.SIGBUS)", "crashes"),
                               ("printed", "text = ''", "said"),
                               ("values", "change('out', number_changed(-0.2));"
                                " text = text and ''", "said")):
        fake.binary("01", "omp", what)
        outcome = execute.run_and_check(STEPS["01"], SEMBLANCE, "omp", TINY, tmp_path / name,
                                        name, timeout=0.5 if name == "hang" else 60)
        check(name, (outcome["ok"] or outcome["caught"] != caught) and outcome)
    fake.binary("01", "omp", "sys.exit(0)")
    outcome = execute.run_and_check(STEPS["01"], SEMBLANCE, "omp", TINY, tmp_path / "hang", "old")
    check("prints nothing", outcome["ok"] and "accepted")
    # The files of an earlier run are not taken for those of this one.
    fake.binary("01", "omp", "[os.remove(f) for f in files.values()]")
    outcome = execute.run_and_check(STEPS["01"], SEMBLANCE, "omp", TINY, tmp_path / "hang", "old")
    check("writes nothing", outcome["ok"] and "accepted")


# ---- caches --------------------------------------------------------------------------------


def test_keys(check, tmp_path):
    """A key changes with each part, and with nothing else."""
    (tmp_path / "a").write_text("12")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("12")
    base = [tmp_path / "a", "3", tmp_path / "folder"]
    key = runs.key(*base)
    check.equal("again", runs.key(*base), key)
    shutil.copy(tmp_path / "a", tmp_path / "b")
    check.equal("another name", runs.key(tmp_path / "b", *base[1:]), key)
    others = {"text": [base[0], "4", base[2]], "order": [base[0], base[2], "3"],
              "boundary": ["1", "23"], "boundary moved": ["12", "3"], "one part": ["123"],
              "text for a file": ["12", *base[1:]], "less": base[:2], "nothing": []}
    keys = {name: runs.key(*parts) for name, parts in others.items()} | {"": key}
    for name, change in (("last byte", lambda: (tmp_path / "a").write_text("13")),
                         ("in a folder", lambda: (tmp_path / "folder" / "x").write_text("13")),
                         ("renamed", lambda: (tmp_path / "folder" / "x").rename(
                             tmp_path / "folder" / "y")),
                         ("another file", lambda: (tmp_path / "folder" / "z").write_text(""))):
        change()
        keys[name] = runs.key(*base)
    check.equal("all differ", len(set(keys.values())), len(keys))


def test_name_of_an_oracle(check, fake, tmp_path):
    """The oracle's result of another query, file, checker or method is not read."""
    checker = fake.checker(*ACCEPTED)
    (tmp_path / "in.su").write_bytes(bytes(100000))
    words = [f"in={tmp_path}/in.su", "tau=1"]

    def path(words=words, method=(), name="x"):
        return runs.oracle_path(checker, SEMBLANCE, name, words, method)

    found = [path(), path([*words, "m0=1"]), path(words[:1]), path(method=["a=1"]),
             path([words[0], "tau=2"]), path(name="y")]
    for at in (0, 50000, 99999):
        data = bytearray(100000)
        data[at] = 1
        (tmp_path / "in.su").write_bytes(data)
        found.append(path())
    checker.write_text(checker.read_text() + "\n")
    found.append(path())
    check.equal("all differ", len(set(found)), len(found))


def test_checked_once(check, fake, tmp_path):
    """The checker is spared what it has seen, and only that."""
    fake.checker(*ACCEPTED)
    fake.binary("01", "omp")
    checked: dict[str, execute.Outcome] = {}
    (tmp_path / "in").mkdir()

    def run(words=TINY, method=(), what="pass", folder="x"):
        fake.binary("01", "omp", what)
        step = tree.Step("01_openmp")
        step.mk["check.semblance"] = " ".join(method)
        execute.run_and_check(step, SEMBLANCE, "omp", words, tmp_path / folder, "x",
                              checked=checked)
        return len(fake.checks())

    check.equal("first", run(), 1)
    check.equal("the same", run(folder="y"), 1)
    check.equal("other arguments", run([*TINY, "local=1,1,2"]), 2)
    check.equal("another method", run(method=["a=1"]), 3)
    check.equal("the last byte", run(what="change('panel', number_changed(1e-6))"), 4)
    fake.checker(*ACCEPTED, "another=1")
    check.equal("another checker", run(), 5)


def test_checked_with_its_folders(check, monkeypatch, tmp_path):
    """Files in a folder that an argument names, as snapshots, are outputs, too."""
    program = next(p for p in tree.programs() if p.name == "fletcher")
    folder, path = tmp_path / "s", tmp_path / "out.npy"
    folder.mkdir()
    path.write_text("out")
    seen: list[Path] = []

    def accept(*_, **__):
        seen.append(path)
        return {"ok": True}
    monkeypatch.setattr(execute, "produce", lambda *_, **__: {"ok": True, "files": {"out": path}})
    monkeypatch.setattr(execute, "check", accept)
    checked: dict[str, execute.Outcome] = {}
    for content, count in ("a", 1), ("a", 1), ("b", 2):
        (folder / "p-0001.npy").write_text(content)
        execute.run_and_check(tree.steps()[0], program, "seq", [f"snapshots={folder}"], tmp_path,
                              "x", checked=checked)
        check.equal(f"times of checking, after {content}", len(seen), count)


def test_outputs_measured(check, fake, tmp_path):
    """A measurement does not take another query's verification for its own."""
    fake.checker(*ACCEPTED)
    own = item.Item(SEMBLANCE, next(iter(SEMBLANCE.sets)), STEPS["00"], "seq")
    (tmp_path / "out.npy").write_bytes(b"1")
    for words, count in ((["a=1"], 1), (["a=1"], 1), (["a=2"], 2)):
        own.arguments = words
        own.verify({"out": tmp_path / "out.npy"})
        check.equal(f"{words}", len(fake.checks()), count)


def test_variant_is_built_again(check, fake):
    """If the flags, or what is built, changes."""
    variant = variants.points(SEMBLANCE)[0]
    keys = [variant.sources()]
    for name in ("flags", "toolchain"):
        (fake.folder / name).unlink(missing_ok=True)
        (fake.folder / name).write_text("another")
        keys.append(variant.sources())
    variant.make = ["OPT=-O1"]
    keys.append(variant.sources())
    check.equal("all differ", len(set(keys)), 4)


def test_rungs_are_written_again(check, tmp_path, monkeypatch):
    """If their folders were changed."""
    monkeypatch.setattr(rungs, "FOLDER", tmp_path)
    step = next(s for s in tree.steps() if any(rungs.paths(s, p) for p in tree.programs()))
    rungs.write(step)
    before = rungs.contents(step)
    path = next(tmp_path.glob("*/*/*.h"))
    for name, change in (("edited", lambda: path.write_text("x")), ("removed", path.unlink),
                         ("added", lambda: path.with_name("more.h").write_text(""))):
        change()
        check(name, rungs.contents(step) == before and "no change seen")
        rungs.write(step)
        check.equal(name, rungs.contents(step), before)


# ---- random queries ------------------------------------------------------------------------


def found(fake, numbers, query, sanitized=None):
    steps = [STEPS[n] for n in numbers]
    return {f"{s.number} {b}": reason for s, b, reason in random_queries.failures(
        SEMBLANCE, query, fake.folder / "random", "x", steps, sanitized=sanitized)}


@pytest.mark.seconds(5)
def test_random_mistakes(check, fake):
    """Each mistake of the last back-end that runs is reported, for it alone."""
    for name, (what, pattern) in MISTAKES.items():
        fake.binary("01", "omp", what)
        result = found(fake, ("00", "01"), queries.Query(OTHER))
        check(f"{name}: named", not re.search(pattern.replace(
            "panel.npy against 00_sequential seq, norm=bytes", "not the bytes of 00_sequential"),
            reason := result.pop("01 omp") or "") and f"{reason!r}")
        check(f"{name}: the others", list(result.values()) != [None] and f"{result}")
    fake.binary("01", "omp", MISTAKES["last bit"][0])
    check.equal("several answers", found(fake, ("00", "01"), queries.Query(OTHER, free=True)),
                {"00 seq": None, "01 omp": None})


class Sanitized:
    """All binaries, with the variables of a sanitizer."""

    def backends(self, step, program, name):
        return step.available(program)

    def choose(self, step, program, backend, name):
        return step.binary(program, backend), {}


@pytest.mark.parametrize("text", [
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1",
    "==1==ERROR: LeakSanitizer: detected memory leaks", "a.c:1:2: runtime error: overflow",
    "WARNING: ThreadSanitizer: data race (pid=1)",
    "AddressSanitizer:DEADLYSIGNAL"])
@pytest.mark.parametrize("what", ["error = {0!r}", "text = text + {0!r} + chr(10)",
                                  "error, status = {0!r}, 23"])
def test_report_of_a_sanitizer(fake, text, what):
    """Counts on either stream and with each exit status."""
    fake.binary("01", "omp", what.format(text))
    result = found(fake, ("00", "01"), queries.Query(OTHER), Sanitized())
    assert result["01 omp"] and result["00 seq"] is None


def test_search(check, fake, monkeypatch, capsys):
    """A failed query is printed with the command that repeats it, and counted."""
    monkeypatch.setenv("STEP", "00 01")
    fake.binary("01", "omp", "status = 3")
    search = random_queries.Search("7", "")
    search.folder = fake.folder / "random"
    for kept in (True, False):
        good = search.run(SEMBLANCE, "7-3", queries.Query(OTHER), fake.folder / "q", "make it")
        check("result", good == kept and "wrong")
        fake.binary("01", "omp")
    check.equal("counts", (search.passed, search.failed, search.queries), (3, 1, 2))
    text = capsys.readouterr().out
    check("printed", not re.search(r"FAIL semblance 7-3: 01_openmp omp: refuses: exit status 3\n"
                                   r" +make it", text) and text)


def test_variety(check, tmp_path):
    """The variables of the machine are drawn anew for each query."""
    for backend, least in (("omp", 5), ("mpi", 4), ("hybrid", 3), ("ocl", 5)):
        drawn = [random_queries.variation(backend, f"x-{n}") for n in range(60)]
        for name in sorted({key for _, env in drawn for key in env} - {"OMP_WAIT_POLICY"}):
            values = {env[name] for _, env in drawn}
            few = 2 if name == "DEVICE_AS" else min(least, 3)
            check(f"{backend} {name}", len(values) < few and f"{values}")
        check(f"{backend}: the same again", drawn[5] != random_queries.variation(backend, "x-5")
              and "differs")
    check("shares", len({words for words, _ in (random_queries.variation("hybrid", f"x-{n}")
                                                for n in range(60))}) < 8 and "few")
    both = {queries.drawn(SEMBLANCE, "v", n, tmp_path).timed for n in range(20)}
    check.equal("outputs", both, {True, False})


# ---- sanitizers ----------------------------------------------------------------------------


@pytest.fixture(name="session")
def session_in_a_folder(fake):
    return sanitize.Session("verifier", sample=True)


@pytest.mark.parametrize(("script", "good"), [
    ("echo fine", True), ("exit 1", False), ("kill -11 $$", False),
    ("echo 'x.c:1: runtime error: y' >&2", False), ("echo 'ERROR: AddressSanitizer: z'", False),
    ("echo 'ThreadSanitizer: data race' >&2; exit 0", False)])
def test_sanitized_run(session, capsys, script, good):
    session.run("it", ["/bin/sh", "-c", script])
    assert (session.passed, session.failed) == (int(good), int(not good))
    assert ("FAIL it" in capsys.readouterr().out) != good


def test_sanitized_session(check, session, fake):
    session.check_fault("tool", "found it", ["/bin/sh", "-c", "echo nothing"])
    check.equal("a fault that is not found", (session.passed, session.failed), (0, 1))
    session.check_fault("tool", "found it", ["/bin/sh", "-c", "echo found it >&2; exit 1"])
    check.equal("a fault that is found", (session.passed, session.failed), (1, 1))
    check.equal("no binaries", list(session.binaries(fake.folder / "none", ["omp"])), [])
    check.equal("no binaries: counted", (session.passed, session.failed), (1, 2))


@pytest.mark.parametrize(("script", "good"), [
    (": >$log", True), ("echo race >$log", False), (":", False), (": >$log; exit 1", False)])
def test_oclgrind(fake, session, script, good):
    """The log decides, and the exit status, too."""
    fake.script("bin/oclgrind", "#!/bin/sh\nwhile [ \"$1\" != --log ]; do shift; done\n"
                f"log=$2\n{script}\n")
    assert sanitize.oclgrind(session, session.folder / "log.txt", ["/bin/true"])[0] == good


# ---- coverage, planted bugs ------------------------------------------------------


def test_coverage(check, monkeypatch, capsys, fake):
    name = "steps/00_sequential/semblance/body.h"
    for missing, expected in ("100%", (17, 0)), ("94%   6", (16, 1)):
        fake.script("bin/gcovr", f"#!/bin/sh\necho '{name}  17  {expected[0]}  {missing}'\n"
                    f"echo 'TOTAL    17    {expected[0]}   90%'\n")
        check.equal(missing, coverage.report(fake.folder, [STEPS["00"]], [SEMBLANCE]), expected)
    check("named", f"{name}: never executed: 6" not in (text := capsys.readouterr().out) and text)
    fake.script("bin/gcovr", "#!/bin/sh\nexit 1\n")
    with pytest.raises(SystemExit):
        coverage.report(fake.folder, [STEPS["00"]], [SEMBLANCE])
    monkeypatch.setattr(queries, "drawn", lambda *words: queries.Query(OTHER))
    for what, failed in (("pass", 0), ("status = 3", 1)):
        fake.binary("01", "omp", what)
        (fake.folder / "01_openmp" / "semblance-seq").unlink(missing_ok=True)
        (fake.folder / "01_openmp" / "semblance-seq").symlink_to(fake.first)
        check.equal(what, coverage.run_all(SEMBLANCE, [STEPS["01"]], "1", 0,
                                           fake.folder / "c"), failed)


class Copy:
    """A copy of the tree in which a planted bug is a binary of Fake."""
    built = None

    def __init__(self, fake, *_, **__):
        self.folder = fake.folder / "copy"
        self.binary = lambda program, step, backend: step.binary(program, backend)

    def make(self, *binaries, words=()):
        return self.built

    def restore(self, names):
        pass


@pytest.mark.seconds(3)
def test_planted_bugs(check, fake, program, monkeypatch, capsys, tmp_path):
    """A bug that survives, or cannot be built, fails; so does a control that is rejected."""
    def planted_bug(name, trailers=""):
        path = tmp_path / f"{name}.patch"
        path.write_text("From: a <a@example.org>\nSubject: A bug\n\nStep: 01\nBackends: omp\n"
                        f"Found-by: cases\nClass: race\n{trailers}---\n--- a/steps/x\n"
                        "+++ b/steps/x\n@@ -1 +1 @@\n-a\n+b\n")
        return mutants.Mutant(path)

    bug, needs = planted_bug("bug"), planted_bug("needs", "Needs: avx512\n")
    monkeypatch.setattr(mutants.copies, "Copy", lambda *a, **k: Copy(fake))
    monkeypatch.setattr(mutants.patches, "apply", lambda path, folder: None)

    def tried(planted, what, expected, pattern, controls=False):
        fake.binary("01", "omp", what, f"{LAST} and {BOTH}")
        result = mutants.try_program(program, [planted], controls)
        text = capsys.readouterr().out
        check(f"{what} {pattern}", (result != expected or not re.search(pattern, text)) and
              f"{result}: {text}")

    tried(bug, "pass", (0, 1), "SURVIVES")
    for name in ("last element", "crash", "status", "no panel", "printed value"):
        tried(bug, MISTAKES[name][0], (1, 0), "ok .* last: ")
    tried(bug, "status = 3", (1, 1), "FAIL control 01 omp last: refuses", controls=True)
    monkeypatch.setattr(runs, "processor_has", lambda flag: False)
    tried(needs, "pass", (0, 0), "skipped: the planted bugs that need avx512")
    monkeypatch.setattr(runs, "processor_has", lambda flag: True)
    tried(needs, "pass", (0, 1), "SURVIVES")
    monkeypatch.setattr(Copy, "built", "error")
    tried(bug, "status = 3", (0, 1), "does not compile: error")
    monkeypatch.setattr(mutants.patches, "apply", lambda path, folder: "hunk")
    tried(bug, "status = 3", (0, 1), "hunk")
    with pytest.raises(SystemExit, match="Needs: wrong value"):
        planted_bug("wrong", "Needs: luck\n")


def test_variant_is_verified(fake, program, monkeypatch):
    """Each case of a variant is run and named."""
    variant = variants.points(SEMBLANCE)[0]
    monkeypatch.setattr(variant, "binary", lambda program, backend: fake.folder / "01_openmp" /
                        f"semblance-{backend}")
    variant.folder = fake.folder / "v"
    fake.binary("01", "omp", "status = 3", LAST)
    variant.arguments = []
    assert variants.verify(variant, program, "omp") == ["last: refuses: exit status 3"]


# ---- the counting of checks ------------------------------------------------------------------

CHECKS = '''
import pytest
def test_none(check): pass
def test_failed_then_skipped(check):
    check("a", "wrong"); pytest.skip("later")
def test_status(check): check.command("sh", "-c", "echo 3 passed, 0 failed; exit 1")
def test_failed(check): check.command("sh", "-c", "echo 3 passed, 1 failed")
def test_nothing(check): check.command("sh", "-c", "echo 0 passed, 0 failed")
def test_silent(check): check.command("true")
def test_good(check): check.command("sh", "-c", "echo skipped: a bug; echo 3 passed, 0 failed")
def test_skipped(): pytest.skip("no tool")
'''


@pytest.mark.seconds(2)
def test_checks_are_counted(check, tmp_path):
    """Nothing that fails is lost, and what is not tested is printed at the end of both runs."""
    (tmp_path / "test_x.py").write_text(CHECKS)
    env = {**os.environ, "NOT_TESTED": str(tmp_path / "not_tested")}
    for times in (1, 2):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest",
             "--rootdir", str(tmp_path), str(tmp_path / "test_x.py")], cwd=ROOT, env=env,
            capture_output=True, text=True)
        check.equal("failed", sorted(re.findall(r"FAILED \S+::test_(\w+)", done.stdout)), [
            "failed", "failed_then_skipped", "none", "nothing", "silent", "status"])
        block = done.stdout.partition("not tested on this machine:\n")[2]
        for what in "a bug", "no tool":
            check(what, not re.search(rf"^ +{what}" + r" \(2 times\)" * (times == 2) + "$", block,
                                      re.M) and done.stdout)


# ---- exit statuses ---------------------------------------------------------------------------


def status(monkeypatch, tool, *words):
    monkeypatch.setattr(sys, "argv", [tool.__name__, *words])
    return tool.main()


def test_status_of_verify(fake, monkeypatch, program):
    """1 if a run fails, or if none is made; 0 if all pass."""
    monkeypatch.setattr(tree, "programs", lambda: [program])
    words = ["--program", "semblance", "--step", "01", "--backend", "omp"]
    assert status(monkeypatch, matrix, *words) == 1
    for what, expected in (("status = 3", 1), ("pass", 0)):
        fake.binary("01", "omp", what, LAST)
        assert status(monkeypatch, matrix, *words) == expected


def test_status_of_random_queries(check, fake, monkeypatch, capsys):
    """1 if a run fails, if none is made, or if too many queries are vacuous."""
    monkeypatch.setattr(queries, "kept", lambda program: {})
    monkeypatch.setattr(queries, "drawn", lambda *words: queries.Query([]))
    words = ["--program", "semblance", "--seed", "9", "--backend", "omp", "--count"]
    for count, vacuous, bad, expected in (
            (20, lambda n: 0, "", 0), (20, lambda n: 6 * (n < 2), "", 0),
            (20, lambda n: 6 * (n < 3), "", 1), (20, lambda n: 5, "", 0), (1, lambda n: 0, "x", 1),
            (0, lambda n: 0, "", 1), (19, lambda n: 6, "", 0)):
        def failures(program, query, folder, name, *others, vacuous=vacuous, bad=bad):
            others[-1]["it"] = {"vacuous": vacuous(int(name.rpartition("-")[2]))}
            folder.mkdir(parents=True)
            yield STEPS["00"], "seq", bad

        monkeypatch.setattr(random_queries, "failures", failures)
        check.equal(f"{count} {bad}", status(monkeypatch, random_queries, *words, str(count)),
                    expected)
        shutil.rmtree(fake.folder / "random", ignore_errors=True)
        check("counts", f"{count - bool(bad)} passed" not in (out := capsys.readouterr().out)
              and out)


def test_status_of_sanitizers(check, fake, monkeypatch):
    """1 if a check fails, if none is made, or if a tool is missing."""
    monkeypatch.setattr(sanitize.copies, "make", lambda *words: None)

    def missing(session):
        raise sanitize.Missing("it")

    for name, tool, expected in (
            ("good", lambda session: session.check("a", True, ""), 0),
            ("bad", lambda session: session.check("a", False, ""), 1),
            ("nothing", lambda session: None, 1), ("missing", missing, 1)):
        monkeypatch.setattr(sanitize, "TOOLS", {"tool": tool})
        check.equal(name, status(monkeypatch, sanitize), expected)


def test_status_of_variants(check, fake, monkeypatch):
    """1 if a variant is rejected or not built, or if there is none."""
    variant = variants.points(SEMBLANCE)[0]
    monkeypatch.setattr(variant, "available", lambda program: ["omp"])
    for name, found, problem, rejected, expected in (
            ("good", [variant], None, [], 0), ("rejected", [variant], None, ["x"], 1),
            ("not built", [variant], "error", [], 1), ("none", [], None, [], 1)):
        monkeypatch.setattr(variant, "build", lambda program, problem=problem: problem)
        monkeypatch.setattr(variants, "points", lambda program, found=found: found)
        monkeypatch.setattr(variants, "verify", lambda *words, rejected=rejected: rejected)
        check.equal(name, status(monkeypatch, variants, "--program", "semblance"), expected)
