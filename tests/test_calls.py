"""test_calls.py: a query that is answered after other queries, in the same process, gets the
answer that a process of its own gives. calls.c calls main() again, so that nothing is left
out: the front end, the back-end, the device.

A process answers two queries, the second one twice, then the first one again. Which two is
drawn: their sizes differ, or only other numbers. Of two queries one has an odd number of steps.
Checked are the last step of each back-end, and EARLIER.
"""
import random
import re

import pytest

from tests import helpers
from tests.helpers import ROOT, binaries, preloaded, printed, program_named, run
from tools.base import runs

QUERIES = {
    "semblance": (
        "in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.02 a=-0.00002,0.00026,5 "
        "b=-0.00032,-0.00008,4 c=4e-7,9e-7,5 d=1e-7,5e-7,4 e=0,3e-7,5",
        "in={data}/outside.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,3 "
        "b=-0.00022,0.00002,2 c=4e-7,9e-7,3 d=2e-7,6e-7,2 e=0,3e-7,3",
        "in={data}/outside.su m0=4110 h0=-470 t0=0.5 tau=0.008 a=-0.00012,0.00036,3 "
        "b=-0.00022,-0.00018,2 c=3e-7,8e-7,3 d=2e-7,6e-7,2 e=1e-7,4e-7,3",
        "in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.04 a=-0.00002,0.00026,7 "
        "b=-0.00032,-0.00008,6 c=4e-7,9e-7,5 d=1e-7,5e-7,4 e=0,3e-7,9"),
    "fletcher": (
        "nx=21 ny=9 nz=12 absorb=2 tmax=0.007",
        "form=VTI nx=5 ny=4 nz=6 absorb=1 dx=10 dt=0.0005 tmax=0.004",
        "form=TTI nx=5 ny=4 nz=6 absorb=1 dz=11 vpz=2500 theta=0.2 tmax=0.009",
        "nx=37 ny=11 nz=14 absorb=3 tmax=0.005"),
    "gridding": (
        "uv=random visibilities=509 grid=120 support=5 oversampling=5 planes=3 cell=100",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=200 task=degrid",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=250 task=degrid "
        "model=noise",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=200",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=250 accuracy=0.01",
        "uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80"),
    "fluid": (
        "events={data}/stir.txt nx=13 ny=5 nz=6 steps=1",
        "events={data}/short.txt nx=5 ny=4 nz=3 steps=2 sweeps=4 visc=0.01",
        "events={data}/tiny.txt nx=5 ny=4 nz=3 steps=3 dt=0.2 diff=0.01",
        "events={data}/stir.txt nx=21 ny=6 nz=7 steps=3"),
    "sandpile": (
        "dim=37 batch=2 max_iterations=10",
        "dim=9 max_iterations=7",
        "config=alea dim=9 max_iterations=9 seed=2",
        "dim=45 batch=3 max_iterations=11"),
}
EARLIER = {"05": ("omp",), "08": ("omp", "ocl"), "09": ("omp",)}
# Printed values that depend on the time.
TIMES = re.compile(r"Time_|.*/s$|Share_even")
# Fractions of the work for the device, of each query.
SHARES = 37, 100, 0, 60, 100, 37


@pytest.fixture(scope="module")
def calls():
    return preloaded("tests/calls.c")


def chosen(program):
    """{name: (back-end, path)} of the binaries that are called."""
    last, found = {}, {}
    for step, backend, path in binaries(program):
        last[backend] = (f"{step} {backend}", (backend, path))
        if backend in EARLIER.get(step[:2], ()):
            found[f"{step} {backend}"] = backend, path
    return {**found, **dict(last.values())}


@pytest.mark.seconds(20)
@pytest.mark.parametrize("name", QUERIES)
def test_calls(check, calls, tmp_path, name, everything):
    program = program_named(name)
    queries = [program.arguments(text) for text in QUERIES[name]]
    seed = helpers.seed("SEED")
    print(f"SEED={seed}")

    def call(backend, number, folder, place=""):
        """The arguments of a query, and the files that it writes."""
        files = {o.key: folder / f"{o.key}{place}.npy" for o in program.outputs}
        share = [f"share={SHARES[number]}"] * backend.startswith("hybrid")
        return [*queries[number], *share, *(f"{k}={p}" for k, p in files.items())], files

    def results(ended, files):
        """What a process printed last, without times, and the contents of files."""
        if ended.returncode:
            return ended.stderr[-300:]
        return [{k: v for k, v in printed(ended.stdout).items() if not TIMES.match(k)},
                *(path.read_bytes() for path in files.values())]

    for label, (backend, path) in chosen(name).items():
        start, variables = runs.launch(path, backend, {"RANKS": "2", "OMP_NUM_THREADS": "2"})
        order = random.Random(f"{seed} {label}").sample(
            range(len(queries)), len(queries) if everything else 2)
        want = {}
        (tmp_path / label).mkdir()
        for number in order:
            words, files = call(backend, number, tmp_path)
            want[number] = results(run([*start, *words], ROOT, variables), files)
        for first, second in zip(order[::2], order[1::2]):
            arguments, kept = [], []
            for place, number in enumerate((first, second, second, first)):
                words, files = call(backend, number, tmp_path / label, place)
                arguments += [*["--"] * bool(place), *words]
                kept.append(files)
            together = run([*start[:-1], "env", f"LD_PRELOAD={calls}", path, *arguments], ROOT,
                           variables)
            for place, number in enumerate((first, second, second, first)):
                found = results(together, kept[place])
                if not together.returncode:  # without keys that only other queries print
                    found[0] = {k: v for k, v in found[0].items() if k in want[number][0]}
                check(f"{label}: SEED={seed}, query {number + 1} as call {place + 1} of "
                      f"{first + 1} {second + 1}", found[place < 3:] != want[number][place < 3:]
                      and (found if together.returncode else "differs"))
