"""test_resume.py: a section that was stopped at any write of its journal is resumed.

SEMBLANCE_STOP=N ends the process after N half writes (journal.c). Every N is tried: what is
marked as complete is complete, and the same command then gives the bytes of a run that was
not stopped.
"""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers import front_ends, printed
from tests.sections import DATA, QUERY, outputs, read, traces
from tests.test_cluster import last, ranks

FILES = "s.su", "c.su", "p.npy"
TRACES = 4  # one of them dead: its aperture is empty
JOB = [f"in={DATA}", "m0=4040,9000,2", "h0=-500,30,2", "t0=0.4,0.004,3", "aperture=300,300",
       *QUERY]
HALF_WRITES = len(FILES) + TRACES * 2 * (len(FILES) + 2)  # creation; rows and two states


def run(binary, folder, prefix, stop=None):
    """Runs the job as one process, which is stopped after so many half writes."""
    env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    if stop is not None:
        env["SEMBLANCE_STOP"] = str(stop)
    return subprocess.run([os.path.abspath(binary), *JOB, *outputs(folder, prefix)],
                          cwd=folder, env=env, stdin=subprocess.DEVNULL, timeout=60,
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


@pytest.mark.parametrize("which", ["first", "last"])
def test_every_write(check, tmp_path, which):
    """One process is stopped at every half write."""
    binary = front_ends("semblance")[0][2] if which == "first" else last("omp")
    assert run(binary, tmp_path, "whole-").returncode == 0
    want = contents(tmp_path, "whole-")
    for stop in range(HALF_WRITES):
        stopped = run(binary, tmp_path, "k-", stop)
        check(f"stop {stop}: stops", stopped.returncode != -signal.SIGKILL
              and f"status {stopped.returncode}")
        marked = false_mark(tmp_path, "k-", "whole-")
        check(f"stop {stop}: marks", marked is not None and f"trace {marked} is not complete")
        resumed = run(binary, tmp_path, "k-")
        # A state has one byte that is not 0, which is in the first half of its write.
        complete = (max(0, stop - len(FILES)) + 1) // (2 * (len(FILES) + 2))
        there = int(printed(resumed.stdout).get("There", -1))
        check(f"stop {stop}: resumes", (resumed.returncode and resumed.stderr)
              or (there != complete and f"{there} traces complete, expected {complete}"))
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
def test_ranks(check, tmp_path):
    """Each of two ranks is stopped after N half writes of its own; the others end with it."""
    mpi = last("mpi")
    assert run(last("omp"), tmp_path, "whole-").returncode == 0
    want = contents(tmp_path, "whole-")
    for stop in range(HALF_WRITES):
        words = [*JOB, *outputs(tmp_path, "k-")]
        ranks(mpi, words, tmp_path, env={"SEMBLANCE_STOP": str(stop)})
        marked = false_mark(tmp_path, "k-", "whole-")
        check(f"stop {stop}: marks", marked is not None and f"trace {marked} is not complete")
        resumed = ranks(mpi, words, tmp_path)
        check(f"stop {stop}: resumes", resumed.returncode and resumed.err)
        check(f"stop {stop}: bytes", contents(tmp_path, "k-") != want and "differ")
        remove(tmp_path, "k-")
