"""test_refine.py: refine= and average=, compared with section_oracle.py, which starts from the
curves that the program finds without them.
"""
import random

import numpy
import pytest

from tests.helpers import binaries, run
from tests.test_criterion import survey
from tools.verify import section_oracle as oracle

FIRST, COUNT, TAU = 55, 30, 3  # samples of 4 ms
REACH = 60, 90
PLACES = [(1120, 70), (1130, 95)]
# E does not change: its range is one value.
RANGES = [-3e-4, 3e-4, 3, 1e-4, 6e-4, 4, 1e-6, -2e-7, 2, 0, 8e-7, 1, 2e-7, 2e-7, 1]


def words(*others):
    flat = [",".join(f"{v:.17g}" for v in RANGES[k:k + 3]) for k in range(0, 15, 3)]
    return ["in=in.su", "positions=places", f"t0={FIRST * 0.004:g},0.004,{COUNT}",
            f"tau={TAU * 0.004:g}", f"aperture={REACH[0]},{REACH[1]}",
            *(f"{k}={v}" for k, v in zip("abcde", flat, strict=True)), "stack=s.su",
            "coherence=c.su", "parameters=p.npy", *others]


@pytest.fixture
def fill(tmp_path):
    """A function that fills with further options: (coherence, parameters, amplitude)."""
    survey(random.Random(4), tmp_path / "in.su")
    (tmp_path / "places").write_text("".join(f"{m} {h}\n" for m, h in PLACES))
    binary = binaries("semblance", ("omp",))[-1][2]

    def filled(*others):
        ended = run([binary, *words(*others)], tmp_path)
        assert ended.returncode == 0, ended.stderr
        found = [oracle.split(tmp_path / name, "=")[1] for name in ("c.su", "s.su")]
        parameters = numpy.load(tmp_path / "p.npy").astype("f8")
        for name in "c.su", "s.su", "p.npy":
            (tmp_path / name).unlink()
        return found[0], parameters, found[1]
    return filled


@pytest.mark.parametrize("refined, reach", [(0, 0), (1, 0), (0, 2), (1, 5)])
def test_curves(check, tmp_path, fill, refined, reach):
    coherence, curves, _ = fill()
    got = fill(f"refine={refined}", f"average={reach * 0.004:g}")
    times = [(FIRST + k) * 0.004 for k in range(COUNT)]
    job = oracle.Job(PLACES, times, TAU * 0.004, [[0, *RANGES]], REACH, "x", "=")
    g = oracle.gather(tmp_path / "in.su", job)
    steps = numpy.array([abs(RANGES[k + 1] - RANGES[k]) / RANGES[k + 2] for k in range(0, 15, 3)])
    moved = 0
    for i, place in enumerate(PLACES):
        if refined:
            for k, t in enumerate(times):
                curves[i, k], coherence[i, k] = oracle.refine(g, job, *place, t, curves[i, k])
        if reach:
            curves[i] = oracle.average(coherence[i], curves[i], reach)
        for k, t in enumerate(times):
            name = f"trace {i}, sample {k}"
            here = oracle.search(g, job, *place, t, got[1][i, k][None])
            used, why = oracle.judge(job, here, got[0][i, k], got[2][i, k], got[1][i, k],
                                     abs(g.samples).max())
            check(f"{name}: values of its curve", not used <= 1 and why)
            want = oracle.search(g, job, *place, t, curves[i, k][None]).semblance[0]
            away = (abs(got[1][i, k] - curves[i, k]) / numpy.where(steps > 0, steps, 1)).max()
            moved += away < 0.01
            check(f"{name}: semblance", abs(want - here.semblance[0]) > 1e-3
                  and f"{here.semblance[0]}, expected {want}")
    # Rounding decides between two points of the same semblance.
    check("curves", moved < 0.95 * COUNT * len(PLACES) and f"{moved} agree")


def test_gains(check, fill):
    """refine= increases the semblance and average= does not decrease the mean much."""
    plain, refined = fill()[0], fill("refine=1")[0]
    check("not below", (refined < plain - 1e-6).any() and f"{(refined - plain).min()}")
    check("above", (refined > plain + 1e-3).mean() < 0.3 and f"{(refined > plain).mean()}")
