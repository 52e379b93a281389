"""test_section.py: whole output traces: what they hold, what their headers say, and that
a job which was killed, ran out of disk or is asked for otherwise loses and mixes nothing.
"""
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import pytest

from tests.helpers import BUILD, TIMEOUT, Started, binaries, front_ends, printed
from tests.sections import DATA, JOB, QUERY, RANGES, outputs, read


def search(binary, words, folder, limit=None, wait=True):
    """Runs a binary in folder, with at most `limit` bytes a file."""
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p = Started([os.path.abspath(binary), *words], cwd=folder, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=limited if limit else None,
                env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    if wait:
        p.out, p.err = p.communicate(timeout=TIMEOUT)
    return p


@pytest.fixture(scope="module")
def first():
    return front_ends("semblance")[0][2]


@pytest.fixture(scope="module")
def last():
    return binaries("semblance", ("omp",))[-1][2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("sections"))


@pytest.fixture(scope="module")
def section(last, folder):
    """Makes the section of the last OpenMP step, whose files have the prefix all-; the
    folder."""
    p = search(last, [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "all-")], folder)
    assert p.returncode == 0, p.err
    return folder


def made(check, binary, folder, words, prefix=""):
    """Makes a section: the bytes of its files, or None and a failed check."""
    p = search(binary, [*words, *outputs(folder, prefix)], folder)
    check(f"section {prefix}{' '.join(words)[:60]}", p.returncode and p.err)
    if p.returncode:
        return None
    return [read(os.path.join(folder, prefix + n)) for n in ("s.su", "c.su", "p.npy")]


def test_headers(check, section):
    """As another reader sees them."""
    su = pytest.importorskip("segyio.su")
    path = os.path.join(section, "all-s.su")
    with su.open(path, endian="little", ignore_geometry=True) as f:
        check("samples' times", list(f.samples)[:2] != [400, 404]
                    and str(f.samples[:2]))
        for i in (0, 6, 19):
            h, m0, h0 = f.header[i], 4040 + 40 * (i // 4), -500 + 30 * (i % 4)
            got = [h[k] for k in (su.tracl, su.sy, su.gy,
                                  su.sx, su.offset, su.scalco,
                                  su.ns, su.dt, su.delrt,
                                  su.trid)]
            want = [i + 1, m0 - h0, m0 + h0, 0, 2 * h0, 1, 60, 4000, 400, 1]
            check(f"header {i}", got != want and f"{got}, expected {want}")


def test_point(check, last, folder):
    """FIRST:LAST:COUNT includes both ends, for a point, too."""
    spaced = [f"{k}={p}:{p + (q - p) / n * (n - 1):.17g}:{n}" for k, (p, q, n) in RANGES.items()]
    point = [f"in={DATA}", "m0=4120", "h0=-480", "t0=0.6", "tau=0.008", *spaced[:4], "e=1e-7"]
    made_point = search(last, [*point, "out=point.npy"], folder)
    check("a value", made_point.returncode and made_point.stderr)
    judged = search(f"{BUILD}/semblance-check", [*point, "oracle=o.npy", "result=point.npy"],
                    folder)
    check("checker", judged.returncode and judged.out + judged.err)


@pytest.mark.seconds(30)
@pytest.mark.parametrize("which, midpoints", [("first", 20), ("last", 400)])
def test_killed(check, folder, which, midpoints, request):
    """kill -9 at any moment, and the same command again: the same bytes.

    The moment is drawn from the shortest time that a whole run has taken, because the load of
    the machine changes; and jobs are started until at least three runs were interrupted. Each
    run of a job may take longer than the one before: on a machine that has become slow, a run
    must at some time get as far as a trace.
    """
    binary, times = request.getfixturevalue(which), 3
    words = [f"in={DATA}", f"m0=4000,{240 / midpoints},{midpoints}", "h0=-500,30,2",
             "t0=0.4,0.004,60", *QUERY]
    for name in os.listdir(folder):
        if name.startswith("whole-"):
            os.remove(os.path.join(folder, name))
    begin = time.monotonic()
    want = made(check, binary, folder, words, "whole-")
    shortest = time.monotonic() - begin
    rng, interrupted, n = random.Random(16), 0, 0
    while n < times or (interrupted < times and n < 100):
        for name in os.listdir(folder):  # k-s.su.XXXXXX too, of a kill while it was made
            if name.startswith("k-"):
                os.remove(os.path.join(folder, name))
        for attempt in range(200):
            begin, limit = time.monotonic(), shortest * 1.05 ** attempt
            p = search(binary, [*words, *outputs(folder, "k-")], folder, wait=False)
            try:
                p.out, p.err = p.communicate(timeout=rng.uniform(0.05, 0.6) * limit)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.communicate()
                interrupted += 1
                continue
            if attempt == 0:
                shortest = min(shortest, time.monotonic() - begin)
            break
        check(f"killed {n}: ends", p.returncode and f"status {p.returncode}: {p.err}")
        if p.returncode:
            break
        there = int(printed(p.out)["There"])
        check(f"killed {n}: says so", there > 0
              and f"{there} of {2 * midpoints} traces are complete already" not in p.err
              and p.err)
        got = [read(os.path.join(folder, "k-" + name)) for name in ("s.su", "c.su", "p.npy")]
        check(f"killed {n}: bytes", got != want and "differ")
        n += 1
    check("killed: at all", interrupted < times and f"only {interrupted} times in {n} jobs")


def test_refused(check, last, folder, section):
    """A job whose files belong to another one; files are as they were."""
    job = [f"in={DATA}", *JOB, *QUERY]
    done = outputs(folder, "all-")
    before = [read(os.path.join(folder, "all-" + n)) for n in ("s.su", "c.su", "p.npy")]
    shutil.copy(os.path.join(folder, "all-s.su"), os.path.join(folder, "lone.su"))
    cases = [
        ("other arguments", [*job[:-1], "e=0,4e-7,2", *done], "belongs to another job"),
        ("other data", [f"in={BUILD}/data/semblance/awkward.su", *job[1:], *done],
         "belongs to another job"),
        ("other aperture", [*job, "aperture=500,500", *done], "belongs to another job"),
        ("one of two", [*job, "stack=lone.su", "coherence=new.su"], "new.su: is missing"),
    ]
    for name, words, line in cases:
        p = search(last, words, folder)
        problem = (p.returncode != 1 and f"status {p.returncode}") \
            or (p.err.count("\n") != 1 and f"not one line: {p.err}") \
            or (line not in p.err and p.err)
        check(f"refused: {name}", problem)
    after = [read(os.path.join(folder, "all-" + n)) for n in ("s.su", "c.su", "p.npy")]
    check("refused: files stay", before != after and "they changed")


def test_full_disk(check, last, folder):
    """A full disk is reported before the work, and nothing is left."""
    p = search(last, [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "full-")], folder,
               limit=6000)
    left = [n for n in os.listdir(folder) if n.startswith("full-")]
    check("full disk: status", p.returncode != 1 and str(p.returncode))
    check("full disk: one line", ("full-s.su" not in p.err or
                                        p.err.count("\n") != 1) and p.err)
    check("full disk: nothing left", left and str(left))
