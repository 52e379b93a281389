"""test_mute.py: mute=, as a limit of the stretch. test_section_oracle.py has tables of times."""
import random
import re

import numpy
import pytest

from tests.helpers import binaries, front_ends, run
from tests.test_cluster import ranks
from tests.test_criterion import survey
from tools.verify import section_oracle as oracle

VELOCITY = 1600
OPTIONS = ["in=in.su", "positions=places.txt", f"velocity={VELOCITY},2900", "stack=s.su",
           "refine=0", "average=0", "coherence=c.su", "parameters=p.npy", "weight=none"]
PLACES = [(1100, 1250), (1100, 1225), (1112, 1287), (1100, 1100)]  # sx gx


def files(folder):
    return [(folder / name).read_bytes() for name in ("s.su", "c.su", "p.npy")]


@pytest.mark.parametrize("stretch", [0.1, 0.45, 2.5])
def test_stretch(check, tmp_path, stretch):
    survey(random.Random(4), tmp_path / "in.su")
    (tmp_path / "places.txt").write_text("sx gx\n" + "".join(f"{s} {g}\n" for s, g in PLACES))
    words = [*OPTIONS, f"mute={stretch}"]
    binary = binaries("semblance", ("omp",))[-1][2]
    ended = run([binary, *words, "ranges_out=r.txt"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    text = (tmp_path / "r.txt").read_text()
    options = re.search(r"tau=(\S+) aperture=(\S+),(\S+)", text)
    assert options
    tau, *reach = map(float, options.groups())
    rows = [[float(v) for v in line.split()] for line in text.splitlines() if line[0] != "#"]
    times = [0.004 * k for k in range(150)]
    job = oracle.Job([((s + g) / 2, (g - s) / 2) for s, g in PLACES], times, tau, rows,
                     (reach[0], reach[1]), "x", "=", weight="none", stretch=stretch,
                     velocity=VELOCITY)
    g = oracle.gather(tmp_path / "in.su", job)
    coherence, stack = (oracle.split(tmp_path / name, "=")[1] for name in ("c.su", "s.su"))
    parameters = numpy.load(tmp_path / "p.npy").astype("f8")
    size = abs(g.samples).max()
    muted = 0
    for i, (m, h) in enumerate(job.places):
        for k, t in enumerate(times):
            got = coherence[i, k], stack[i, k], parameters[i, k]
            if oracle.muted(job, g, h, t):
                muted += 1
                check(f"trace {i}, sample {k}", (got[0] or got[1] or got[2].any()) and "not zero")
            elif k % 7 == 0:
                used, why = oracle.judge(job, oracle.search(g, job, m, h, t), *got, size)
                check(f"trace {i}, sample {k}", not used <= 1 and why)
    check("muted", not 20 < muted < 400 and f"{muted}")
    want = files(tmp_path)
    for name in "s.su", "c.su", "p.npy":
        (tmp_path / name).unlink()
    for _, _, mpi in binaries("semblance", ("mpi",))[-1:]:
        ended = ranks(mpi, words, tmp_path)
        check("ranks", ended.returncode and ended.err)
        check("ranks: bytes", files(tmp_path) != want and "differ")


def test_passes(check, tmp_path):
    """Two passes with mute=; the files belong to another job without it."""
    survey(random.Random(4), tmp_path / "in.su")
    (tmp_path / "places.txt").write_text("sx gx\n1100 1250\n")
    binary = front_ends("semblance")[0][2]
    words = [binary, *OPTIONS, "tau=0.012", "aperture=30,30", "t0=0.04:0.2:41", "passes=2"]
    assert run([*words, "mute=0.45"], tmp_path).returncode == 0
    stack = oracle.split(tmp_path / "s.su", "=")[1][0]
    first = numpy.flatnonzero(stack)[0]
    check("first sample", not 8 < first < 30 and f"{first}")
    ended = run([*words, "mute=0.46"], tmp_path)
    check("another job", "belongs to another job" not in ended.stderr and ended)
