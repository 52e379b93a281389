"""test_resume.py: a section that was stopped at any write of its journal is resumed.

SEMBLANCE_STOP=N ends the process after N half writes (journal.c). Every N is tried: what is
marked as complete is complete, and the same command then gives the bytes of a run that was
not stopped.
"""
import os
import random
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers import TIMEOUT, front_ends, preloaded, printed
from tests.sections import DATA, QUERY, outputs, read, traces
from tests.test_cluster import last, ranks

FILES = "s.su", "c.su", "p.npy"
TRACES = 4  # one of them dead: its aperture is empty
JOB = [f"in={DATA}", "m0=4040,9000,2", "h0=-500,30,2", "t0=0.4,0.004,3", "aperture=300,300",
       *QUERY]
HALF_WRITES = len(FILES) + TRACES * 2 * (len(FILES) + 2)  # creation; rows and two states


def run(binary, folder, prefix, stop=None, sync="0"):
    """Runs the job as one process, which is stopped after so many half writes, and waits for
    the disk every `sync` seconds."""
    env = {**os.environ, "OMP_WAIT_POLICY": "passive", "SEMBLANCE_SYNC": sync}
    if stop is not None:
        env["SEMBLANCE_STOP"] = str(stop)
    return subprocess.run([os.path.abspath(binary), *JOB, *outputs(folder, prefix)],
                          cwd=folder, env=env, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                          capture_output=True, text=True)


def contents(folder: Path, prefix):
    return [read(folder / (prefix + name)) for name in FILES]


def remove(folder: Path, prefix):
    for path in folder.glob(prefix + "*"):
        path.unlink()


def false_mark(folder: Path, prefix, whole):
    """The number of a trace that is marked as complete and is not; None if there is none."""
    if not (folder / (prefix + "s.su")).exists():
        return None
    head, stack = traces(folder / (prefix + "s.su"))
    want_head, want = traces(folder / (whole + "s.su"))
    for i in range(TRACES):
        if head[i, 28] and (stack[i].tobytes() != want[i].tobytes()
                            or head[i].tobytes() != want_head[i].tobytes()):
            return i
    return None


@pytest.mark.parametrize("which", ["first", "last", "late"])
def test_every_write(check, tmp_path, which):
    """One process is stopped at every half write. `late`: all traces are marked at the end."""
    sync = "1e9" if which == "late" else "0"
    binary = front_ends("semblance")[0][2] if which == "first" else last("omp")
    assert run(binary, tmp_path, "whole-").returncode == 0
    want = contents(tmp_path, "whole-")
    dead = sum(int(h[28]) == 2 for h in traces(tmp_path / "whole-s.su")[0])
    for stop in range(HALF_WRITES):
        stopped = run(binary, tmp_path, "k-", stop, sync)
        check(f"stop {stop}: stops", stopped.returncode != -signal.SIGKILL
              and f"status {stopped.returncode}")
        marked = false_mark(tmp_path, "k-", "whole-")
        check(f"stop {stop}: marks", marked is not None and f"trace {marked} is not complete")
        resumed = run(binary, tmp_path, "k-")
        # A state has one byte that is not 0, which is in the first half of its write.
        rows = 2 * len(FILES)  # half writes of a trace
        if which == "late":
            complete = max(0, stop - len(FILES) - TRACES * rows + 1) // 4
        else:
            complete = (max(0, stop - len(FILES)) + 1) // (rows + 4)
        there = int(printed(resumed.stdout).get("There", -1))
        check(f"stop {stop}: resumes", (resumed.returncode and resumed.stderr)
              or (there != complete and f"{there} traces complete, expected {complete}"))
        check.equal(f"stop {stop}: dead traces", printed(resumed.stdout).get("Dead"), str(dead))
        check(f"stop {stop}: bytes", contents(tmp_path, "k-") != want and "differ")
        remove(tmp_path, "k-")
    ended = run(binary, tmp_path, "k-", HALF_WRITES)
    check("all half writes are known", ended.returncode and "there are more")


def test_again_and_again(check, tmp_path):
    """A job that is stopped in each of its runs, a little later each time, is completed."""
    binary = last("omp")
    assert run(binary, tmp_path, "whole-").returncode == 0
    for stop in range(2 * (len(FILES) + 2), 3 * (len(FILES) + 2)):
        for attempt in range(20):
            if run(binary, tmp_path, "k-", stop + attempt % 3).returncode == 0:
                break
        check(f"stop {stop}: ends", attempt == 19 and "never completed")
        check(f"stop {stop}: bytes", contents(tmp_path, "k-") != contents(tmp_path, "whole-")
              and "differ")
        remove(tmp_path, "k-")


@pytest.mark.seconds(60)
def test_ranks(check, tmp_path, everything):
    """Each of two ranks is stopped after N half writes of its own; the others end with it. In
    make test, every third N, from one on that is drawn."""
    mpi = last("mpi")
    assert run(last("omp"), tmp_path, "whole-").returncode == 0
    want = contents(tmp_path, "whole-")
    first, step = (0, 1) if everything else (random.randrange(3), 3)
    for stop in range(first, HALF_WRITES, step):
        words = [*JOB, *outputs(tmp_path, "k-")]
        ranks(mpi, words, tmp_path, env={"SEMBLANCE_STOP": str(stop)})
        marked = false_mark(tmp_path, "k-", "whole-")
        check(f"stop {stop}: marks", marked is not None and f"trace {marked} is not complete")
        resumed = ranks(mpi, words, tmp_path)
        check(f"stop {stop}: resumes", resumed.returncode and resumed.err)
        check(f"stop {stop}: bytes", contents(tmp_path, "k-") != want and "differ")
        remove(tmp_path, "k-")


# ---- what is on the disk ---------------------------------------------------------------

ROW = 240 + 4 * 3  # bytes of a trace of an SU file


@pytest.fixture(scope="module")
def recorder():
    return preloaded("tests/journal_order.c")


def trace_of(path, at):
    """(number of the trace, whether it is the mark) of a write."""
    if path.endswith(".npy"):
        return (at - 128) // (3 * 5 * 4), False
    return at // ROW, at % ROW == 28


def misordered(log: Path):
    """[what may be lost by a power failure]: a trace is marked before its samples are written
    and on the disk, a file gets its name before its content is, or the last writes never are."""
    waiting: dict[tuple[str, str], set[int]] = {}  # {(process, path): traces not on the disk}
    synced, marked, written, temporary, wrong = set(), set(), set(), "", []
    for line in log.read_text().splitlines():
        process, operation, at, size, path = line.split(" ", 4)
        if operation == "sync":
            waiting.pop((process, path), None)
            synced.add(os.path.basename(path))
        elif operation == "from":
            temporary = os.path.basename(path)
        elif operation == "rename" and temporary not in synced:
            wrong.append(f"{path} gets its name before a sync")
        elif operation == "write":
            trace, mark = trace_of(path, int(at))
            if mark and any(p == process and trace in traces
                            for (p, _), traces in waiting.items()):
                wrong.append(f"trace {trace} is marked in {path} before its samples are synced")
            if mark and (path, trace) not in written:
                wrong.append(f"trace {trace} is marked in {path} before its samples are written")
            if not mark:
                written.add((path, trace))
            # Samples that are written after a mark must be on the disk at the end, too.
            waiting.setdefault((process, path), set()).add(-1 if mark else trace)
            if mark:
                marked.add((os.path.basename(path), trace))
    wrong += [f"{path}: the last writes are not synced" for _, path in waiting]
    want = {(p, i) for p in ("k-s.su", "k-c.su") for i in range(TRACES)}
    return wrong + [f"marked: {sorted(marked)}"] * (marked != want)


@pytest.mark.seconds(5)
@pytest.mark.parametrize("sync", ["0", "1e9", "1e-3"])
def test_order(check, tmp_path, recorder, sync):
    """Samples are on the disk before their mark is written, and files before they get their
    names."""
    env = {"LD_PRELOAD": str(recorder), "JOURNAL_ORDER": str(tmp_path / "log"),
           "SEMBLANCE_SYNC": sync}
    words = [*JOB, *outputs(tmp_path, "k-")]
    for name, binary in ("seq", front_ends("semblance")[0][2]), ("omp", last("omp")), \
            ("mpi", last("mpi") if sync != "1e-3" else ""):
        if not binary:
            continue
        ended = ranks(binary, words, tmp_path, env=env) if name == "mpi" else subprocess.run(
            [os.path.abspath(binary), *words], cwd=tmp_path, env={**os.environ, **env},
            capture_output=True, text=True, timeout=TIMEOUT)
        check(f"{name}: runs", ended.returncode and ended.stderr)
        check(f"{name}: order", "; ".join(misordered(tmp_path / "log")))
        remove(tmp_path, "k-")
        (tmp_path / "log").unlink()


# ---- what belongs to a job -----------------------------------------------------------

ROWS = ["0.3 -2e-5 2e-4 3 -3e-4 -1e-4 2 4e-7 9e-7 2 1e-7 5e-7 2 0 3e-7 2",
        "0.5 -2e-5 3e-4 3 -3e-4 -1e-4 2 4e-7 9e-7 2 1e-7 5e-7 2 0 3e-7 2"]
OPTIONS = {"in": "in.su", "m0": "4040,40,2", "h0": "-500,30,2", "t0": "0.4,0.004,3",
           "tau": "0.008", "aperture": "80,90", "axis": "y", "ranges": "rows.txt",
           "offset": "ignore", "window": "parallel", "smooth": "centre",
           "weight": "semblance", "refine": "0", "average": "0"}
# The same with a file of velocities.
VELOCITY = {**OPTIONS, "ranges": "", "velocity": "v.txt", "mute": "0.4"}
NUMBERS = {**OPTIONS, "ranges": "", "a": "-2e-5:2e-4:2", "b": "-3e-4", "c": "4e-7", "d": "1e-7",
           "e": "0:2e-7:2"}
# Changes of one option each. "" leaves an option out. Those of files and of mute= are so small
# that no header and no sample of the input differs.
OTHERS = [(OPTIONS, {key: value}) for key, *values in (
    ("m0", "4041,40,2", "4040,41,2"), ("h0", "-501,30,2", "-500,31,2"), ("tau", "0.004"),
    ("t0", "0.404,0.004,3", "0.4,0.008,3"), ("aperture", "90,90", "80,100"),
    ("smooth", "window"), ("weight", "none"), ("window", "moveout"), ("search", "coarse"),
    ("mute", "mute.txt"),
    ("refine", "1"), ("average", "0.004"), ("axis", "x"), ("bad", "skip"), ("passes", "2"))
    for value in values]
OTHERS += [(OPTIONS, {"m0": "", "h0": "", "positions": "places.txt"})]
FILES_OF_ROWS = {**OPTIONS, "m0": "", "h0": "", "positions": "places.txt", "mute": "mutes.txt"}
OTHERS += [(FILES_OF_ROWS, {"positions": "places2.txt"}), (FILES_OF_ROWS, {"mute": "mutes2.txt"})]
OTHERS += [(NUMBERS, {key: value}) for key, value in (
    ("a", "-2e-5:2e-4:3"), ("b", "-2e-4"), ("c", "5e-7"), ("d", "2e-7"), ("e", "0:3e-7:2"))]
OTHERS += [(VELOCITY, {key: value}) for key, *values in (
    ("velocity", "v2.txt", "1500,2500"), ("mute", "0.400001"), ("dip", "1e-4"), ("period", "0.05"))
    for value in values]
# Options that do not change the result, or that name what OTHERS and test_other_job() change.
FREE = {"in", "ranges", "order", "local", "set", "choose", "check", "fill", "out", "panel",
        "stack", "coherence", "parameters", "ranges_out", "offset"}


def other_rows(row, column):
    """ROWS with one number changed."""
    lines = [line.split() for line in ROWS]
    number = lines[row][column]
    lines[row][column] = f"{int(number) + 1}" if column % 3 == 0 and column else \
        f"{float(number) * 1.01 + 1e-9:.9g}"
    return "".join(" ".join(line) + "\n" for line in lines)


def other_survey(folder: Path, place, header=False, dead=False):
    """Writes in.su, of which one trace differs: the nearest one to place (m, h), or, with
    place None, none."""
    head, samples = traces(DATA)
    sy = head[:, 76:80].copy().view("<i4")[:, 0].astype(float)
    gy = head[:, 84:88].copy().view("<i4")[:, 0].astype(float)
    if place:
        distance = abs((sy + gy) / 2 - place[0]) + abs((gy - sy) / 2 - place[1])
        i = int(distance.argmin())
        if header:
            head[i, 84] ^= 1  # the receiver
        if dead:
            head[i, 28] = 2
        samples[i, 111] += 0.5
    with open(folder / "in.su", "wb") as out:
        for h, row in zip(head, samples, strict=True):
            out.write(h.tobytes() + row.tobytes())


@pytest.fixture
def completed(tmp_path):
    """A folder with a completed job of OPTIONS; a function that repeats it with changes, or
    another one, and returns the process."""
    other_survey(tmp_path, None)
    for name, text in (("rows", "\n".join(ROWS)), ("mute", "0 0.402"),
                       ("places", "4040 -500\n" * 4),
                       ("places2", "4040 -500\n" * 3 + "4040 -500.0000001"),
                       ("mutes", "0 0.402\n900 0.4051"), ("mutes2", "0 0.402\n900 0.4052"),
                       ("v", "0.1 1900 300\n0.403 2000 300"),
                       ("v2", "0.1 1900 300\n0.403 2000 300\n0.41 2000 301")):
        (tmp_path / f"{name}.txt").write_text(text + "\n")
    binary = os.path.abspath(last("omp"))

    def again(options=OPTIONS, **changes):
        words = [f"{key}={value}" for key, value in {**options, **changes}.items() if value]
        return subprocess.run([binary, *words, *outputs(tmp_path)], cwd=tmp_path, text=True,
                              capture_output=True, timeout=TIMEOUT)
    first = again()
    assert first.returncode == 0, first.stderr
    return tmp_path, again


def test_other_job(check, completed):
    """Each change of what the result depends on is refused, and the files stay. Each option that
    help lists is in OTHERS or FREE."""
    folder, again = completed
    before = contents(folder, "")

    def refused(name, ended):
        check(f"{name}: refused", (ended.returncode != 1
                                   or "belongs to another job" not in ended.stderr)
              and f"status {ended.returncode}: {ended.stderr}")
        check(f"{name}: files", contents(folder, "") != before and "changed")

    text = subprocess.run([os.path.abspath(last("omp")), "help"], capture_output=True, text=True)
    listed = set(re.findall(r"^  (\w+)=", text.stdout, re.M))
    known = FREE.union(*(changes for _, changes in OTHERS))
    check("options", listed != known and f"of help and of this test: {listed ^ known}")
    for row in range(len(ROWS)):
        for column in range(16):
            (folder / "other.txt").write_text(other_rows(row, column))
            refused(f"row {row}, column {column}", again(ranges="other.txt"))
    for name in "samples", "header", "dead":
        other_survey(folder, (4060, -480), header=name == "header", dead=name == "dead")
        refused(name, again())


def test_other_option(check, completed):
    """A job is not resumed with another value of one option."""
    folder, again = completed
    for base in OPTIONS, FILES_OF_ROWS, NUMBERS, VELOCITY:
        for name in FILES:
            remove(folder, name)
        first = again(base)
        assert first.returncode == 0, first.stderr
        before = contents(folder, "")
        for same in {}, {"check": "0"}:  # what does not change the result
            check.equal("the same job", printed(again(base, **same).stdout).get("There"), "4")
        for changes in [changes for options, changes in OTHERS if options is base]:
            ended = again(base, **changes)
            # The results of the first of two passes have another name.
            message = r"\w+=\S+: is missing, but \w+=\S+ has completed traces: restore it, " \
                "or remove both" if "passes" in changes else "belongs to another job"
            check(f"{changes}: refused", not re.search(message, ended.stderr)
                  and f"status {ended.returncode}: {ended.stderr}")
            check(f"{changes}: files", contents(folder, "") != before and "changed")


def test_same_job(check, completed):
    """What the result does not depend on may change: traces outside of all apertures."""
    folder, again = completed
    before = contents(folder, "")
    other_survey(folder, (5000, 500))
    ended = again()
    check("far trace", ended.returncode and ended.stderr)
    check("far trace: bytes", contents(folder, "") != before and "changed")
