"""test_passes.py: passes=2, compared with single passes over each trace, and resumed after a
stop at any write.
"""
import contextlib
import os
import pty
import random
import re
import signal
import subprocess

import numpy
import pytest

from tests.helpers import binaries, front_ends, printed, run
from tests.sections import traces
from tests.test_cluster import ranks
from tests.test_criterion import survey

OPTIONS = ["tau=0.012", "a=-2e-4,3e-4,3", "b=0,6e-4,4", "c=2e-7,8e-7,2", "d=0,6e-7,2", "e=0,1e-7,1"]
FIRST, COUNT = 60, 25  # samples of 4 ms
T0 = f"t0={FIRST * 0.004:g},0.004,{COUNT}"
PLACES = [(1100, 1250), (1100, 1275), (1100, 9000)]  # sx gx; the last has an empty aperture
REACH = 40, 60


def words(path, places, output, *others):
    (path / f"{output}.places").write_text("sx gx\n" + "".join(f"{s} {g}\n" for s, g in places))
    options = OPTIONS[:1] if any(word.startswith("ranges=") for word in others) else OPTIONS
    return [f"positions={output}.places", T0, *options, f"aperture={REACH[0]},{REACH[1]}",
            f"stack={output}", *others]


def samples(path):
    return traces(path)[1]


def write_mute(path, offsets, stretch, velocities):
    """Writes the table of mute= that has the effect of a limit of the stretch, for rows of
    (t0, smallest velocity)."""
    t0, smallest = zip(*velocities)
    with open(path, "w") as out:
        for offset in sorted({abs(x) for x in offsets}):
            tn = 0.0
            for _ in range(100):  # t / tn = 1 + stretch, with t^2 = tn^2 + (offset / v(tn))^2
                tn = offset / numpy.interp(tn, t0, smallest) / ((1 + stretch) ** 2 - 1) ** 0.5
            out.write(f"{offset} {(1 + stretch) * tn:.9f}\n")


@pytest.mark.parametrize("case", ["grid", "refine", "velocity", "velocities"])
def test_two_passes(check, tmp_path, case):
    """Each live trace is predicted by a run in which it is dead; the residual is searched by a
    single pass: the sum has the bytes of passes=2. With velocity= and mute=, the single passes
    have the files of ranges_out= and of write_mute()."""
    survey(random.Random(4), tmp_path / "in.su")
    binary = binaries("semblance", ("omp",))[-1][2]
    head, rows = traces(tmp_path / "in.su")
    source, receiver = head[:, 72:76].copy().view("<i4"), head[:, 80:84].copy().view("<i4")
    m, h = (source + receiver)[:, 0] / 2, (receiver - source)[:, 0] / 2
    further = ["refine=1", "average=0.008"] if case == "refine" else []
    asked = words(tmp_path, PLACES, "two.su", "passes=2", "coherence=c.su", *further)
    if case.startswith("velocit"):
        known = [(0.05, 1400), (0.3, 2700)] if case == "velocities" else [(0, 1600)]
        (tmp_path / "v.txt").write_text("".join(f"{t} {v + 200} 200\n" for t, v in known))
        write_mute(tmp_path / "mute.txt", 2 * h, 0.05, known)
        asked = [word for word in asked if word[:2] not in ("a=", "b=", "c=", "d=", "e=")]
        asked += ["mute=0.05", "ranges_out=r.txt",
                  "velocity=v.txt" if case == "velocities" else "velocity=1600,2000"]
        further = ["ranges=r.txt", "mute=mute.txt", "refine=1", "average=0.012"]
    ended = run([binary, "in=in.su", *asked], tmp_path)
    assert ended.returncode == 0, ended.stderr
    ended = run([binary, "in=in.su", *words(tmp_path, PLACES, "one.su", "coherence=c1.su",
                                            *further)], tmp_path)
    assert ended.returncode == 0, ended.stderr
    residual = rows.copy()
    predicted = 0
    for i in range(len(rows)):
        near = any(abs(m[i] - (s + g) / 2) <= REACH[0] and abs(h[i] - (g - s) / 2) <= REACH[1]
                   for s, g in PLACES)
        if not near or head[i, 28] == 2:
            continue
        dead = head.copy()
        dead[i, 28] = 2
        (tmp_path / "dead.su").write_bytes(b"".join(
            d.tobytes() + row.tobytes() for d, row in zip(dead, rows, strict=True)))
        (tmp_path / "live.su").unlink(missing_ok=True)
        ended = run([binary, "in=dead.su", *words(
            tmp_path, [(int(source[i, 0]), int(receiver[i, 0]))], "live.su", *further)], tmp_path)
        assert ended.returncode == 0, ended.stderr
        residual[i, FIRST:FIRST + COUNT] -= samples(tmp_path / "live.su")[0]
        predicted += 1
    check("live traces", predicted < 10 and f"{predicted}")
    (tmp_path / "residual.su").write_bytes(b"".join(
        h.tobytes() + row.tobytes() for h, row in zip(head, residual, strict=True)))
    check("residual", (samples(tmp_path / "two.su.residual") != residual).any() and "differs")
    ended = run([binary, "in=residual.su", *words(tmp_path, PLACES, "rest.su", *further)], tmp_path)
    assert ended.returncode == 0, ended.stderr
    want = samples(tmp_path / "one.su") + samples(tmp_path / "rest.su")
    check("sum", (samples(tmp_path / "two.su") != want).any() and "differs")
    check("second pass", not samples(tmp_path / "rest.su").any() and "adds nothing")
    check("coherence", (samples(tmp_path / "c.su") != samples(tmp_path / "c1.su")).any()
          and "is not that of the first pass")
    for _, _, mpi in binaries("semblance", ("mpi",))[-1:]:
        ended = ranks(mpi, ["in=in.su", *words(tmp_path, PLACES, "ranks.su", "passes=2",
                                               *further)], tmp_path)
        check("ranks", ended.returncode and ended.err)
        check("ranks: bytes", (samples(tmp_path / "ranks.su") != want).any() and "differ")


def test_resumed(check, tmp_path):
    """A job that is stopped at any write is resumed to the same bytes."""
    survey(random.Random(4), tmp_path / "in.su")
    binary = os.path.abspath(front_ends("semblance")[0][2])
    job = ["in=in.su", "t0=0.24,0.004,2", *words(tmp_path, PLACES[1:], "s.su", "passes=2")]
    job.remove(T0)
    assert run([binary, *job], tmp_path).returncode == 0
    want, stop, work = (tmp_path / "s.su").read_bytes(), 0, ("", ".first", ".live", ".residual")
    while stop < 1000:
        for name in work:
            (tmp_path / f"s.su{name}").unlink(missing_ok=True)
        stopped = run([binary, *job], tmp_path, {"SEMBLANCE_STOP": str(stop)})
        if stopped.returncode == 0:
            break
        check(f"stop {stop}: stops", stopped.returncode != -signal.SIGKILL and stopped.stderr)
        resumed = run([binary, *job], tmp_path)
        check(f"stop {stop}: resumes", resumed.returncode and resumed.stderr)
        check(f"stop {stop}: bytes", (tmp_path / "s.su").read_bytes() != want and "differ")
        stop += 5
    check("stops", not 20 < stop < 1000 and f"{stop}")
    again = run([binary, *job], tmp_path)
    check("complete", printed(again.stdout).get("There") != "2" and again.stdout)


def test_progress(check, tmp_path):
    """On a terminal, each pass shows its progress: at least its first and its last trace."""
    survey(random.Random(4), tmp_path / "in.su")
    binary = os.path.abspath(front_ends("semblance")[0][2])
    terminal, device = pty.openpty()
    text = b""
    with subprocess.Popen([binary, "in=in.su", *words(tmp_path, PLACES, "s.su", "passes=2")],
                          cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=device) as process:
        os.close(device)
        with contextlib.suppress(OSError):  # the end of the other side
            while more := os.read(terminal, 4096):
                text += more
    os.close(terminal)
    check("status", process.returncode)
    shown = [(int(i), int(n)) for i, n in re.findall(rb"(\d+) of (\d+) traces, ", text)]
    live = len(samples(tmp_path / "s.su.live"))
    for passes, count in (2, len(PLACES)), (1, live):
        for i in 1, count:
            check.equal(f"{i} of {count} traces", shown.count((i, count)), passes)
