"""test_passes.py: passes=2, resumed after a stop at any write, and its progress. relations.py
compares it with single passes over each trace.
"""
import contextlib
import os
import pty
import random
import re
import signal
import subprocess

from tests.helpers import front_ends, printed, run
from tests.sections import traces
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
