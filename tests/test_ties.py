"""test_ties.py: of parameter tuples with equal semblance, every back-end finds the first in
the order of A, B, C, D, E (semblance.h).

The semblances are equal to the last bit because the samples are constant, or because no
tuple has one: all samples 0, no traveltime (t^2 < 0), or all windows outside of the record.
"""
import os
import subprocess

import numpy
import pytest

from tests.helpers import TIMEOUT, binaries, printed, run, trace
from tools.base import runs

NS, DT, TRACES = 120, 4000, 9
RANGES = {"a": (-1e-4, 2e-4, 3), "b": (-2e-4, 1e-4, 5), "c": (-1e-7, 3e-7, 4),
          "d": (-2e-7, 2e-7, 7), "e": (-1e-7, 1e-7, 9)}
# name: (value of all samples, t0 in seconds, ranges other than RANGES, semblance, stack)
QUERIES: dict[str, tuple[float, float, dict, float, float]] = {
    "constant": (0.75, 0.24, {}, 1, 0.75),
    "constant_negative": (-3.0, 0.24, {}, 1, -3.0),
    "zeros": (0.0, 0.24, {}, 0, 0),
    "no_traveltime": (1.0, 0.1, {"c": (-2, -1, 4), "d": (-2, -1, 7)}, 0, 0),
    "outside": (1.0, 0.24, {"c": (2, 3, 4), "d": (2, 3, 7)}, 0, 0),
    "one_value": (0.75, 0.24, dict.fromkeys("abcde", (1e-7, 1e-7, 5)), 1, 0.75),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ties")


@pytest.mark.seconds(40)
@pytest.mark.parametrize("name", QUERIES)
def test_first(check, folder, name):
    value, t0, other, semblance, stack = QUERIES[name]
    path = folder / f"{name}.su"
    # The output point lies between traces, so that no trace has dm = dh = 0.
    path.write_bytes(b"".join(trace([value] * NS, dt=DT, sy=10 * i - 105, gy=10 * i + 5)
                              for i in range(TRACES)))
    ranges = {**RANGES, **other}
    words = [f"in={path}", "m0=3", "h0=57", f"t0={t0}", "tau=0.008",
             *(f"{k}={p0},{p1},{n}" for k, (p0, p1, n) in ranges.items())]
    for step, backend, binary in binaries("semblance"):
        if backend == "cuda":
            continue
        # A GPU picks the best of all (A, B, C) itself: each step is one for half of the queries.
        device = ("cpu", "gpu")[(list(QUERIES).index(name) + int(step[:2])) % 2]
        command, more = runs.launch(os.path.abspath(binary), backend,
                                    {"RANKS": "3", "DEVICE_AS": device})
        ended = subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=TIMEOUT,
            env={**os.environ, "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive", **more})
        found = printed(ended.stdout)
        if ended.returncode:
            check(f"{step} {backend}", ended.stderr)
            continue
        got = [float(found[key]) for key in ("A", "B", "C", "D", "E")]
        want = [ranges[key][0] for key in "abcde"]
        check(f"{step} {backend}: the first tuple",
              not numpy.allclose(got, want, rtol=1e-6, atol=0) and f"{got}, expected {want}")
        result = [float(found["Semblance"]), float(found["Stack"])]
        check(f"{step} {backend}: semblance and stack",
              not numpy.allclose(result, [semblance, stack], rtol=1e-5, atol=0)
              and f"{result}, expected {[semblance, stack]}")


@pytest.mark.seconds(10)
@pytest.mark.parametrize("value", [0.75, 0.0])
def test_first_of_traces(check, tmp_path, value):
    """With window=moveout, too, for each sample of several output traces, although threads
    search the tuples in any order. The traces are too short for their mean to be subtracted."""
    ns, tried = 49, set()
    (tmp_path / "in.su").write_bytes(b"".join(
        trace([value] * ns, dt=DT, sy=10 * i - 105, gy=10 * i + 5) for i in range(TRACES)))
    (tmp_path / "places.txt").write_text("3 57\n1 52\n-4 53\n8 56\n")
    words = ["in=in.su", "positions=places.txt", "t0=0.08,0.004,10", "tau=0.008", "check=0",
             "window=moveout", *(f"{k}={p0},{p1},{n}" for k, (p0, p1, n) in RANGES.items())]
    for step, backend, binary in binaries("semblance"):
        if backend == "cuda":
            continue
        name = f"{step}-{backend}"
        command, more = runs.launch(os.path.abspath(binary), backend, {"RANKS": "2"})
        ended = run([*command, *words, f"stack={name}.su", f"parameters={name}.npy"], tmp_path,
                    {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive", **more})
        if "window=moveout: not in this step" in ended.stderr:
            continue
        tried.add(step[:2])
        check(name, ended.returncode and ended.stderr)
        if ended.returncode == 0:
            found = numpy.load(tmp_path / f"{name}.npy")
            want = numpy.array([RANGES[key][0] for key in "abcde"], "f4")
            wrong = (found != want).any(axis=-1)
            check(f"{name}: the first tuple", wrong.any() and
                  f"not in {wrong.sum()} of {wrong.size} samples: {found[wrong][0]}")
    check("steps", not {"00", "09", "10", "12"} <= tried and f"{tried}")
