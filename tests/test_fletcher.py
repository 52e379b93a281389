"""test_fletcher.py: what is known of the waves without a reference: where fields lie,
derivatives of polynomials, p = q in isotropic rock, the speed of a front along layers and
across them, the tilt of its ellipse, energy that stays bounded.
"""
import array
import math
import os
import re
import subprocess
import tempfile

import numpy
import pytest

from tests.helpers import (
    BUILD,
    ROOT,
    arguments,
    binaries,
    emptied,
    front_ends,
    npy,
    printed,
    run,
)
from tools.base import tree
from tools.verify.queries import fletcher as queries

# A good call: every case changes something of it.
QUERY = {"nx": "5", "ny": "4", "nz": "6", "absorb": "1", "dx": "10", "dy": "11", "dz": "12",
         "dt": "0.001",
         "tmax": "0.003", "out": "out.npy", "q": "q.npy", "picture": "p.png", "snapshots": "s"}


def field(path):
    """(shape, values) of a float32 .npy."""
    values = numpy.load(path)
    return list(values.shape), array.array("f", values.tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two media of QUERY's grid, and a folder work/."""
    folder = tmp_path_factory.mktemp("fletcher")
    (folder / "work").mkdir()
    for name, kind in ("good", "<f4"), ("good8", "<f8"):
        (folder / f"{name}.npy").write_bytes(npy([2000.0] * 120, kind, (6, 4, 5)))
    return folder


@pytest.fixture
def work(folder):
    yield folder / "work"
    emptied(folder / "work")


@pytest.fixture(params=["seq", "ocl"])
def binary(request):
    """The first sequential and the last OpenCL binary."""
    found = [path for _, b, path in front_ends("fletcher") if b == request.param]
    return found[0] if found else pytest.skip(f"no fletcher-{request.param} is built")


@pytest.fixture
def sequential():
    return front_ends("fletcher")[0][2]


@pytest.fixture
def threads():
    """The last OpenMP binary."""
    return binaries("fletcher", ("omp",))[-1][2]


def call(changes):
    return arguments(QUERY, changes)


def test_good_input(check, binary, work):
    """What is right is modelled; otherwise the tests above would prove nothing."""
    for changes in ("", "vpz=../good.npy", "vpz=../good8.npy delta=0.1", "vpz=2500 sigma=11",
                    "nx=1 ny=1 nz=1", "local=3,2,1"):
        ended, left = run([binary, *call(changes)], work), sorted(emptied(work))
        good = ended.returncode == 0 and not ended.stderr and \
            "MSamples/s=" in ended.stdout and left == ["out.npy", "p.png", "q.npy", "s/"]
        check(changes, not good and (ended, left))
    ended = run([binary, *call("absorb=0")], work)
    check("absorb=0 warns", (ended.returncode or not re.fullmatch(
        r"fletcher: absorb=0: .*\n", ended.stderr)) and ended)


# ---- what is written ---------------------------------------------------------------


def test_snapshots(check, sequential, work):
    """One per hundredth of a second; the last equals out=. And the picture."""
    ended = run([sequential, *call("tmax=0.03")], work)
    names = sorted(os.listdir(os.path.join(work, "s")))
    same = False
    if names:
        with open(os.path.join(work, "s", names[-1]), "rb") as last, \
                open(os.path.join(work, "out.npy"), "rb") as out:
            same = last.read() == out.read()
    expected = [f"p-{n:04}.npy" for n in (1, 2, 3)]
    check("snapshots", None if names == expected and same else
                f"{names}, the last one is out.npy: {same}; {ended.stderr}")
    asked = queries.Asked([f"picture={work / 'p.png'}"])
    check("picture", queries.picture_is_wrong(asked, numpy.load(work / "out.npy")))
    first = (work / "s" / names[0]).read_bytes() if names else b""
    run([sequential, *call("tmax=0.01 -snapshots -picture")], work)
    check("first snapshot", first != (work / "out.npy").read_bytes() and "differs")


def test_wrong_snapshots(check, sequential, work):
    """The checker refuses each snapshot after a small change, also a single one."""
    for tmax, count in ("0.01", 1), ("0.03", 3):
        words = call(f"tmax={tmax} -picture")
        assert run([sequential, *words], work).returncode == 0
        query = [word for word in words if not word.startswith(("out=", "q="))]
        checker = [os.path.abspath(f"{BUILD}/fletcher-check"), *query, f"oracle={tmax}.npy",
                   "p=out.npy", "q=q.npy"]
        ended = run(checker, work)
        check(f"{count}: right", (ended.returncode or "verdict=ok" not in ended.stdout) and ended)
        for number in range(1, count + 1):
            path = work / "s" / f"p-{number:04}.npy"
            right = path.read_bytes()
            values = numpy.load(path)
            values.flat[abs(values).argmax()] *= 1.001
            numpy.save(path, values)
            ended = run(checker, work)
            check(f"{path.name} of {count}", (ended.returncode != 1 or f"verdict=FAIL {path.name}"
                                              not in ended.stdout) and ended)
            path.write_bytes(right)


# ---- what is known -----------------------------------------------------------------


@pytest.mark.seconds(5)
def test_polynomials(check, folder):
    for step in tree.steps():
        if not (step.folder / "fletcher").is_dir():
            continue
        program = os.path.join(folder, "weights")
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", "-Wno-unknown-pragmas", "-Icommon/portable",
             "-Icommon/fletcher", f"-Isteps/{step.name}/fletcher", "-DLANES=1",
             "tests/fletcher_weights.c", "-o", program], cwd=ROOT, capture_output=True,
            text=True)
        if made.returncode:
            check(f"{step.name}: polynomials", made.stderr[-300:])
            continue
        ended = run([program], folder)
        check(f"{step.name}: polynomials",
                    None if ended.returncode == 0 and "exact" in ended.stdout
                    else ended.stdout)


# Points inside, and threads: more of these than rows; shares that are not equal; rows
# too long for a cache.
LAYOUTS = ("nx=1 ny=1 nz=1 1", "nx=5 ny=3 nz=2 64", "nx=21 ny=50 nz=3 7",
           "nx=29 ny=90 nz=70 2", "nx=600 ny=9 nz=1 3")


@pytest.mark.seconds(30)
def test_layout(check, folder):
    """Fields as each step's cpu.c makes them, in memory that is not 0 by chance."""
    program = os.path.join(folder, "layout")
    front = [os.path.join(BUILD, "common", f"{name}.o") for name in (
        "fletcher/model", "fletcher/field", "fletcher/slab", "run/run", "run/args", "run/npy")]
    for step in tree.steps():
        source = step.folder / "fletcher" / "cpu.c"
        if not source.exists():
            continue
        tiles = ["-DTILES"] if "static int tile_rows;" in source.read_text() else []
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", "-fopenmp", *tiles, "-Icommon/portable",
             "-Icommon/run", "-Icommon/fletcher", f"-I{source.parent}",
             "tests/fletcher_layout.c", *front, "-lm", "-o", program], cwd=ROOT,
            capture_output=True, text=True)
        if made.returncode:
            check(f"{step.name}: layout", made.stderr[-300:])
            continue
        for sizes in LAYOUTS:
            ended = run([program, *sizes.split()], folder, {"MALLOC_PERTURB_": "85"})
            good = ended.returncode == 0 and ended.stdout == "right\n"
            check(f"{step.name}: layout, {sizes}",
                        None if good else f"exit status {ended.returncode}: "
                                          f"{ended.stdout}{ended.stderr[-300:]}")


# L2 cache in KB, rows, floats per row, threads: rows of a tile. Grids of 120, 208 and 768
# points; few rows per thread; a cache that holds no tile at all.
TILES = (("512 152 176 2", 76), ("2048 152 176 2", 76), ("512 240 272 2", 60),
         ("1024 240 272 2", 120), ("2048 240 272 2", 120), ("512 800 848 4", 12),
         ("2048 800 848 4", 67), ("2048 240 272 64", 4), ("1 240 272 2", 8))


def test_tiles(check, folder):
    """Tiles of the rows that the cache holds, as many for each thread."""
    program = os.path.join(folder, "tiles")
    front = [os.path.join(BUILD, "common", "run", f"{name}.o") for name in ("run", "args", "npy")]
    for step in tree.steps():
        header = step.folder / "fletcher" / "tile.h"
        if not header.exists() or "rows_per_tile" not in header.read_text():
            continue
        subprocess.run(["gcc", "-std=c11", "-Icommon/run", "-Icommon/fletcher",
                        f"-I{header.parent}", "tests/fletcher_tiles.c", *front, "-lm", "-o",
                        program], cwd=ROOT, check=True)
        for sizes, rows in TILES:
            cache, *numbers = sizes.split()
            ended = run([program, *numbers], folder, {"CACHE_L2": str(int(cache) * 1024)})
            check(f"{step.name}: tile for {sizes}",
                  None if ended.stdout == f"{rows}\n" else f"{ended.stdout}: expected {rows}")


def bounds_of_maps(source, include):
    """What gcc would do with the clauses of an OpenACC source on a device: the maps that
    take a pointer for the 8 bytes of itself, as it does where a clause has no bounds."""
    folders = [f"-I{folder}" for folder in include]
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "gimple")
        made = subprocess.run(["gcc", "-std=c11", "-fopenacc", f"-fdump-tree-gimple={dump}",
                               *folders, "-S", "-o", os.devnull, source], cwd=ROOT,
                              capture_output=True, text=True)
        if made.returncode:
            return [made.stderr[-300:]]
        with open(dump, encoding="utf-8") as file:
            maps = re.findall(r"map\((?!firstprivate)[^)]*\)", file.read())
    return [m for m in maps if "[len: 8]" in m] if maps else ["no maps at all"]


@pytest.mark.seconds(10)
def test_device_maps(check):
    """`present(p)` on a pointer asks for the pointer, and `delete(p)` gives back 8 bytes:
    on the host, which has no maps, nobody would notice."""
    include = ["common/portable", "common/run", "common/fletcher"]
    for path in sorted(tree.ROOT.glob("steps/*/fletcher/openacc.c")):
        name = path.relative_to(tree.ROOT / "steps")
        wrong = bounds_of_maps(path, [path.parent, *include])
        check(f"{name}: bounds of maps", "; ".join(wrong) or None)


def test_single_precision(check):
    """The paper's listing has a double 2.0 in the middle of float arithmetic."""
    for path in sorted(tree.ROOT.glob("steps/*/fletcher/body.h")):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        doubles = re.findall(r"\b\d+\.\d*(?:e[+-]?\d+)?(?![\dfe])|\bdouble\b", code)
        check(f"{path.parent.parent.name}: float only", ", ".join(doubles))


def modelled(binary, work, query):
    ended = run([binary, *query.split()], work, {"OMP_NUM_THREADS": "2"})
    if ended.returncode:
        raise RuntimeError(f"{binary} {query}: {ended.stderr}")
    return {k: float(v) for k, v in printed(ended.stdout).items()}


@pytest.mark.seconds(2)
def test_isotropic_medium(check, threads, work):
    modelled(threads, work, "form=ISO nx=21 ny=18 nz=25 absorb=4 tmax=0.1 out=p.npy q=q.npy")
    p, q = field(os.path.join(work, "p.npy"))[1], field(os.path.join(work, "q.npy"))[1]
    good = p.tobytes() == q.tobytes() and any(p)
    check("isotropic rock: p is q", None if good else "they differ")
    emptied(work)


def front(values):
    """Where, in grid points from the first, a wave that comes from there changes its sign
    last: behind the first lobe of the source's signal."""
    limit = 0.005 * max(abs(v) for v in values)
    at = max(i for i, v in enumerate(values) if abs(v) > limit)
    while values[at] * values[at - 1] > 0:
        at -= 1
    before, after = values[at - 1], values[at]
    return at - 1 + before / (before - after)


@pytest.mark.seconds(20)
def test_front_speeds(check, threads, work):
    """In upright layers p travels at vpz sqrt(1 + 2 epsilon) along them, at vpz across."""
    modelled(threads, work, "form=VTI nx=130 ny=70 nz=130 absorb=0 tmax=0.18 out=p.npy "
                           "snapshots=s dx=10 dy=10 dz=10")
    known = {"along x": 3000 * math.sqrt(1.48), "along z": 3000.0}
    places: dict[str, list[float]] = {name: [] for name in known}
    for number in (13, 17):
        (sz, sy, sx), p = field(os.path.join(work, "s", f"p-{number:04}.npy"))
        middle = (sz // 2 * sy + sy // 2) * sx + sx // 2
        places["along x"].append(front(p[middle:middle + sx // 2 - 4]))
        places["along z"].append(front(p[middle::sx * sy][:sz // 2 - 4]))
    for name, speed in known.items():
        got = (places[name][1] - places[name][0]) * 10 / 0.04
        check(f"speed of a front {name}",
                    None if abs(got / speed - 1) < 0.01 else f"{got:.0f} m/s, not {speed:.0f}")
    emptied(work)


@pytest.mark.seconds(20)
def test_tilt_of_the_ellipse(check, threads, work):
    """The ellipse's long axis lies across the axis of symmetry, which dips towards +x."""
    for theta, sign in ((0.6, -1), (-0.6, 1)):
        modelled(threads, work, f"form=TTI theta={theta} phi=0 nx=60 ny=44 nz=60 absorb=0 "
                               "tmax=0.12 out=p.npy")
        (sz, sy, sx), p = field(os.path.join(work, "p.npy"))
        plane = [p[(z * sy + sy // 2) * sx:][:sx] for z in range(sz)]
        mixed = sum((x - sx // 2) * (z - sz // 2) * v * v
                    for z, row in enumerate(plane) for x, v in enumerate(row))
        round_ = sum(((x - sx // 2) ** 2 + (z - sz // 2) ** 2) * v * v
                     for z, row in enumerate(plane) for x, v in enumerate(row))
        check(f"tilt of the front, theta {theta}",
                    None if sign * mixed > 0.02 * round_ else f"{mixed / round_:.3f}")
        emptied(work)


@pytest.mark.seconds(20)
def test_energy_is_bounded(check, threads, work):
    """2,000 steps at the limit of stability: no energy comes from nowhere."""
    for form, dt in (("ISO", 0.00187), ("VTI", 0.00154), ("TTI", 0.00154)):
        query = f"form={form} nx=20 ny=17 nz=23 absorb=4 dt={dt} tmax="
        early = modelled(threads, work, query + str(400 * dt))["Energy"]
        late = modelled(threads, work, query + str(2000 * dt))["Energy"]
        check(f"{form}: energy after 2,000 steps",
                    None if 0 < late < 4 * early else f"{late:g}, {early:g} after 400")
