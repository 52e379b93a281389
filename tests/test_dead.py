"""test_dead.py: fill=dead writes the whole survey, in which the dead traces have the samples
that positions= gives, and all other bytes are those of the input.
"""
import random
import signal

import numpy
import pytest

from tests.helpers import binaries, front_ends, run
from tests.sections import traces
from tests.test_cluster import ranks
from tests.test_criterion import DT, survey
from tools.verify import section_oracle as oracle

OPTIONS = ["tau=0.012", "a=-2e-4,3e-4,3", "b=0,6e-4,4", "c=2e-7,8e-7,2", "d=0,6e-7,2",
           "e=0,1e-7,1", "aperture=40,60"]
DELAY = 20  # milliseconds
LOST = 7    # a dead trace far from all others


def inputs(tmp_path, order):
    """Writes in.su, in a byte order, and marked.su, in which zero traces are marked as dead.
    Returns the headers and samples of in.su, and the numbers of the dead traces."""
    survey(random.Random(4), tmp_path / "survey.su")
    heads, samples = oracle.split(tmp_path / "survey.su", "=")
    dead, rows = [], []
    for i, (head, row) in enumerate(zip(heads, samples, strict=True)):
        values = {name: oracle.get(head, name, "=") for name in oracle.FIELDS}
        if values["trid"] == 2 or not row.any() or i == LOST:
            dead.append(i)
        if i == LOST:
            values |= {"trid": 2, "sx": 90000, "gx": 90100}
        values |= {"delrt": DELAY if values["trid"] != 2 else 3, "fldr": 7 * i, "cdp": 3 * i}
        rows.append((values, row))
    for name, marked in ("in.su", False), ("marked.su", True):
        (tmp_path / name).write_bytes(b"".join(
            oracle.put({**values, "trid": 2 if marked and i in dead else values["trid"]}, order)
            + row.astype(order + "f4").tobytes() for i, (values, row) in enumerate(rows)))
    return rows, dead


def places(tmp_path, rows, dead):
    (tmp_path / "places.txt").write_text("sx gx\n" + "".join(
        f"{rows[i][0]['sx']} {rows[i][0]['gx']}\n" for i in dead))
    return "positions=places.txt"


@pytest.mark.parametrize("order, passes", [("<", 1), (">", 2)])
def test_fill(check, tmp_path, order, passes):
    rows, dead = inputs(tmp_path, order)
    binary = binaries("semblance", ("omp",))[-1][2]
    words = [*OPTIONS, f"passes={passes}"]
    ended = run([binary, "in=marked.su", *words, places(tmp_path, rows, dead), "stack=s.su",
                 "coherence=c.su"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    ended = run([binary, "in=in.su", *words, "fill=dead", "stack=all.su", "coherence=all_c.su"],
                tmp_path)
    check("numbers", "3 of 64 traces are to be filled: 2 with trid 2, 1 all zero"
          not in ended.stderr and ended.stderr)
    want, filled = [], iter(traces(tmp_path / "s.su")[1])
    for i, (values, row) in enumerate(rows):
        if i in dead:
            values = {**values, "trid": 2 if i == LOST else 1, "delrt": DELAY}
            row = next(filled)
            check(f"trace {i}", row.any() == (i == LOST) and "zero or not")
        want.append(oracle.put(values, order) + row.astype(order + "f4").tobytes())
    check("bytes", (tmp_path / "all.su").read_bytes() != b"".join(want) and "differ")
    check("coherence", not numpy.array_equal(traces(tmp_path / "all_c.su")[1],
                                             traces(tmp_path / "c.su")[1]) and "differs")
    for _, _, mpi in binaries("semblance", ("mpi",))[-1:]:
        ended = ranks(mpi, ["in=in.su", *words, "fill=dead", "stack=ranks.su"], tmp_path)
        check("ranks", ended.returncode and ended.err)
        check("ranks: bytes", (tmp_path / "ranks.su").read_bytes() != b"".join(want) and "differ")


def test_before_time_0(check, tmp_path):
    """Live traces keep the samples before time 0; filled traces have zeros there."""
    rows, dead = inputs(tmp_path, "<")
    early = b"".join(oracle.put({**values, "delrt": -2 * DT // 1000}, "=")
                     + row.astype("f4").tobytes() for values, row in rows)
    (tmp_path / "in.su").write_bytes(early)
    binary = binaries("semblance", ("omp",))[-1][2]
    ended = run([binary, "in=in.su", *OPTIONS, "fill=dead", "stack=all.su"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    head, samples = traces(tmp_path / "all.su")
    filled = traces(tmp_path / "all.su.filled")[1]
    kept = numpy.setdiff1d(range(len(rows)), dead)
    check("live", (samples[kept] != traces(tmp_path / "in.su")[1][kept]).any() and "differ")
    check("filled", ((samples[dead][:, 2:] != filled).any() or samples[dead][:, :2].any())
          and "differ")


def test_resumed(check, tmp_path):
    """A job that is stopped is resumed to the same bytes, and may be repeated."""
    inputs(tmp_path, "<")
    binary = front_ends("semblance")[0][2]
    job = [binary, "in=in.su", *OPTIONS[:-1], "aperture=30,30", "fill=dead", "stack=all.su"]
    assert run(job, tmp_path).returncode == 0
    want = (tmp_path / "all.su").read_bytes()
    check("again", (run(job, tmp_path).returncode or (tmp_path / "all.su").read_bytes() != want)
          and "fails or differs")
    for stop in range(0, 14, 3):
        for name in "all.su", "all.su.filled":
            (tmp_path / name).unlink(missing_ok=True)
        stopped = run(job, tmp_path, {"SEMBLANCE_STOP": str(stop)})
        check(f"stop {stop}: stops", (stopped.returncode != -signal.SIGKILL
                                      or (tmp_path / "all.su").exists()) and stopped.stderr)
        check(f"stop {stop}: resumes", run(job, tmp_path).returncode)
        check(f"stop {stop}: bytes", (tmp_path / "all.su").read_bytes() != want and "differ")


def test_complete(check, tmp_path):
    """The filled survey has no dead trace; files that the job did not write are kept."""
    rows, dead = inputs(tmp_path, "<")
    (tmp_path / "in.su").write_bytes(b"".join(
        oracle.put(values, "<") + row.astype("<f4").tobytes()
        for i, (values, row) in enumerate(rows) if i != LOST))
    binary = binaries("semblance", ("omp",))[-1][2]
    job = [binary, "in=in.su", *OPTIONS, "fill=dead", "stack=all.su"]
    (tmp_path / "all.su").write_bytes(b"mine")
    ended = run(job, tmp_path)
    check("kept", ("exists, but is not an output of this job" not in ended.stderr
                   or (tmp_path / "all.su").read_bytes() != b"mine") and ended)
    (tmp_path / "all.su").unlink()
    check("filled", run(job, tmp_path).returncode)
    job[1] = "in=all.su"
    job[-1] = "stack=twice.su"
    ended = run(job, tmp_path)
    check("complete", "no trace is dead" not in ended.stderr and ended)
