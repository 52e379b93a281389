"""test_calls.py: a query that is answered after other queries, in the same process, gets the
answer that a process of its own gives. calls.c calls main() again, so that nothing is left
out: the front end, the back-end, the device.

The second query is smaller than the first. The third has the sizes of the first, and other
numbers. Checked are the last step of each back-end, and EARLIER.
"""
import subprocess

import pytest

from tests.helpers import ROOT, binaries, program_named, run
from tools.history import runs

QUERIES = {
    "semblance": (
        "in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.04 a=-0.00002,0.00026,7 "
        "b=-0.00032,-0.00008,6 c=4e-7,9e-7,5 d=1e-7,5e-7,4 e=0,3e-7,9",
        "in={data}/outside.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,3 "
        "b=-0.00022,0.00002,2 c=4e-7,9e-7,3 d=2e-7,6e-7,2 e=0,3e-7,5",
        "in={data}/small.su m0=4110 h0=-470 t0=0.5 tau=0.04 a=-0.00012,0.00036,7 "
        "b=-0.00022,-0.00018,6 c=3e-7,8e-7,5 d=2e-7,6e-7,4 e=1e-7,4e-7,9"),
    "fletcher": ("nx=37 ny=9 nz=12 absorb=3 tmax=0.006",
                 "form=VTI nx=5 ny=4 nz=6 absorb=1 dx=10 dt=0.0005 tmax=0.004",
                 "form=TTI nx=37 ny=9 nz=12 absorb=3 dz=11 vpz=2500 theta=0.2 tmax=0.006"),
    "gridding": (
        "uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80",
        "uv=tracks visibilities=97 grid=64 support=3 oversampling=4 planes=1 cell=200",
        "uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=90 "
        "accuracy=0.01",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=200 task=degrid",
        "visibilities=97 grid=64 support=3 oversampling=4 planes=3 cell=250 task=degrid "
        "model=noise"),
    "fluid": ("events={data}/stir.txt nx=21 ny=5 nz=6 steps=1",
              "events={data}/short.txt nx=5 ny=4 nz=3 steps=2 sweeps=4 visc=0.01",
              "events={data}/short.txt nx=21 ny=5 nz=6 steps=1 dt=0.2 diff=0.01"),
    "sandpile": ("config=alea dim=37 batch=2 seed=1 max_iterations=20",
                 "dim=9 max_iterations=7",
                 "config=alea dim=37 batch=2 seed=2 max_iterations=15"),
}
EARLIER = {"05": ("omp", "ocl"), "08": ("omp", "ocl"), "09": ("omp",)}
# The arguments of back-ends that share the work: a part for each side, in every query.
SHARES = {"hybrid": ["share=37"], "hybrid-cuda-cpu": ["share=37"]}


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    library = tmp_path_factory.mktemp("calls") / "calls.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "tests/calls.c", "-ldl", "-o", library],
                   cwd=ROOT, check=True)
    return library


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
def test_calls(check, calls, tmp_path, name):
    program = program_named(name)
    queries = [program.arguments(text) for text in QUERIES[name]]

    def answer(command, number, folder):
        files = {o.key: folder / f"{o.key}{number}.npy" for o in program.outputs}
        return [*command, *queries[number], *(f"{k}={p}" for k, p in files.items())], files

    for label, (backend, path) in chosen(name).items():
        words = SHARES.get(backend, [])
        together, environment, kept = [], {"OMP_NUM_THREADS": "2"}, {}
        (tmp_path / label).mkdir()
        for number in range(len(queries)):
            command, kept[number] = answer([], number, tmp_path / label)
            together += [*["--"] * bool(number), *command, *words]
        start, variables = runs.launch(path, backend, {"RANKS": "2", **environment})
        ended = run([*start[:-1], "env", f"LD_PRELOAD={calls}", path, *together], ROOT,
                    variables)
        check(f"{label}: {len(queries)} calls", ended.returncode and ended.stderr[-300:])
        for number in kept if not ended.returncode else ():
            command, files = answer(start, number, tmp_path)
            alone = run([*command, *words], ROOT, variables)
            differ = [key for key, file in files.items()
                      if alone.returncode or
                      file.read_bytes() != kept[number][key].read_bytes()]
            check(f"{label}: query {number + 1}", differ and f"{differ} {alone.stderr[-300:]}")
