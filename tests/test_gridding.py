"""test_gridding.py: answers that are known without an oracle, and the mistakes of published
programs.
"""
import math
import re
from pathlib import Path

import numpy
import pytest
from matplotlib.image import imread

from tests.helpers import (
    BUILD,
    arguments,
    binaries,
    emptied,
    front_ends,
    npy,
    printed,
    program_named,
    run,
)
from tools.base import tree
from tools.verify import execute

QUERY = {"uv": "random", "visibilities": "20", "grid": "64", "support": "3",
         "oversampling": "4", "planes": "3", "cell": "200", "out": "out.npy"}

def save(path, rows, columns=6):
    """Writes float64 rows."""
    path.write_bytes(npy(rows, "<f8", (len(rows), columns)))


def read(path):
    """The numbers of a float .npy."""
    return numpy.load(path).ravel().tolist()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder for a file of visibilities, and one below it to run in."""
    folder = tmp_path_factory.mktemp("gridding")
    (folder / "work").mkdir()
    return folder / "work"


FRONT_ENDS = pytest.mark.parametrize("backend", ["seq", "ocl"])


def binary_of(backend):
    """The first sequential or the last OpenCL binary."""
    found = [path for _, b, path in front_ends("gridding") if b == backend]
    return found[0] if found else pytest.skip(f"no gridding-{backend} is built")


@FRONT_ENDS
def test_good_input(backend, work):
    ended = run([binary_of(backend), *arguments(QUERY, "image=a.png")], work)
    assert ended.returncode == 0 and "Mpts/s=" in ended.stdout, ended
    assert sorted(emptied(work)) == ["a.png", "out.npy"]


def grid_of(binary, work, changes):
    """The grid (or visibilities) of a good query, and what was printed."""
    result = run([binary, *arguments(QUERY, changes)], work)
    if result.returncode:
        raise RuntimeError(result.stderr)
    values = read(work / "out.npy")
    emptied(work)
    return values, printed(result.stdout)


@FRONT_ENDS
def test_known_answers(check, backend, work):
    """One visibility, and what it must look like."""
    binary = binary_of(backend)
    size, middle, support = 64, 32, 3
    base = "-uv -visibilities oversampling=8 planes=2 cell=100 precision=double in=../one.npy"

    def one(u, v, w, re=1.0, im=0.0):
        save(work.parent / "one.npy", [[u, v, w, re, im, 1.0],
                                       [0.0, 0.0, 500.0, 0.0, 0.0, 1.0]])
        values, _ = grid_of(binary, work, base)
        return {(i // 2 // size - middle, i // 2 % size - middle):
                complex(values[i], values[i + 1])
                for i in range(0, len(values), 2) if values[i] or values[i + 1]}

    # The footprint lies in the middle of the cell, as far to one side as to the other.
    cells = one(0, 0, 0)
    rows = sorted({v for v, _ in cells})
    check("centred", None if rows == list(range(-support, support + 1)) and
                all(abs(cells[v, u] - cells[-v, -u]) < 1e-12 for v, u in cells)
                else f"rows {rows}")
    # u moves columns and v rows; a fraction moves weight towards it.
    cells = one(500, -300, 0)
    peak = max(cells, key=lambda at: abs(cells[at]))
    check("rows are v", None if peak == (-3, 5) else f"peak at {peak}")
    cells = one(25, 0, 0)
    check("fraction's sign",
                None if abs(cells[0, 1]) > abs(cells[0, -1]) else "weight moved away from u")
    cells = one(0, 25, 0)
    check("fraction's sign in v",
                None if abs(cells[1, 0]) > abs(cells[-1, 0]) else "weight moved away from v")
    # The function of -w is the conjugate, and the grid is linear in the visibility.
    plus, minus = one(0, 0, 500), one(0, 0, -500)
    check("w < 0 is the conjugate", None if plus.keys() == minus.keys() and
                all(abs(plus[k] - minus[k].conjugate()) < 1e-12 for k in plus) and
                max(abs(plus[k].imag) for k in plus) > 1e-3 else "it is not")
    twice = one(0, 0, 500, 0, 2)
    check("linear", None if all(abs(twice[k] - 2j * plus[k]) < 1e-12
                                                for k in plus) else "it is not")
    # Outside is counted, not gridded, and not an error.
    _, said = grid_of(binary, work, "cell=100")
    outside = int(said["outside"])
    check("outside is counted", None if 0 < outside < 20 and
                int(said["visibilities"]) + outside == 20 else repr(said))


def test_image(check, work):
    """Each source is white in the picture, at its place, and as bright as a direct sum says."""
    ended = run([binary_of("seq"), "preset=small", "image=a.png"], work)
    picture = imread(work / "a.png")
    emptied(work)
    sources = re.findall(r"^# source: +(-?\d+) +(-?\d+) +\S+ +(\S+) +(\S+)", ended.stdout, re.M)
    check("sources", len(sources) != 6 and ended)
    for x, y, direct, found in sources:
        check(f"flux at {x}, {y}", abs(float(found) / float(direct) - 1) > 0.01 and found)
        check(f"picture at {x}, {y}", picture[128 - int(y), 128 + int(x)] < 0.99)


def test_empty_planes(check, work):
    """No visibility is near the planes between two groups that are far apart along w."""
    rows = [[x, -x, w, 1, 0, 1] for w in (0, 3e9) for x in (-20, 3, 30)]
    save(work.parent / "gap.npy", rows)
    images = []
    for _, backend, binary in front_ends("gridding"):
        ended = run([binary, "in=../gap.npy", "grid=64", "cell=200", "task=image", "field=1",
                     "accuracy=0.001", "out=image.npy"], work)
        check(f"{backend} runs", ended.returncode and ended.stderr)
        if not ended.returncode:
            images.append(numpy.load(work / "image.npy"))
            check(f"{backend}: image", abs(images[-1] - images[0]).max() > 1e-3)
        emptied(work)


def test_ducc0(check, work):
    """The image of task=image is that of ducc0, another program for the same sums. Debian has
    it as python3-ducc0 in some releases; setup.sh does not install it."""
    ducc0 = pytest.importorskip("ducc0")
    n, size, cell = 2000, 64, 40.0
    rows = numpy.random.default_rng(5).uniform(-0.45, 0.45, (n, 6)) * size * cell
    rows[:, 3:5] /= size * cell
    rows[:, 5] = 1
    numpy.save(work.parent / "rows.npy", rows)
    ended = run([binary_of("seq"), "in=../rows.npy", f"grid={size}", f"cell={cell}", "field=1",
                 "task=image", "accuracy=0.00001", "out=image.npy"], work)
    check("run", ended.returncode and ended.stderr)
    found = numpy.load(work / "image.npy")
    emptied(work)
    # ducc0 has the opposite sign of w, and the first axis is x.
    expected = ducc0.wgridder.ms2dirty(
        uvw=rows[:, :3] * [1, 1, -1], freq=numpy.array([299792458.0]),
        ms=(rows[:, 3:4] + 1j * rows[:, 4:5]), npix_x=size, npix_y=size,
        pixsize_x=1 / (size * cell), pixsize_y=1 / (size * cell), epsilon=1e-10,
        do_wstacking=True).T / n
    size_of_sum = numpy.hypot(rows[:, 3], rows[:, 4]).mean()
    check("rms", math.sqrt(((found - expected) ** 2).mean()) > 1e-5 * size_of_sum and found)


def test_spread_error(check):
    """The error of the convolution functions of task=image is below the bound from which
    their sizes are derived: the root mean square over the image and the positions in a cell."""
    text = Path("common/gridding/stack.c").read_text()
    scale, bound = map(float, re.findall(r"SPREAD_\w+ = ([\d.]+)", text))
    nodes, weights = numpy.polynomial.legendre.leggauss(64)
    for taps in range(3, 10):
        for sigma in (1.25, 1.5, 2, 2.5):
            beta = scale * math.pi * taps * (1 - 1 / (2 * sigma))
            f = numpy.linspace(0, 1 / (2 * sigma), 41)[:, None]
            spread = numpy.exp(beta * (numpy.sqrt(1 - nodes ** 2) - 1)) * weights * taps / 2
            transform = (spread * numpy.cos(math.pi * taps * f * nodes)).sum(1)[:, None]
            x = numpy.arange(-7, 8) - numpy.linspace(-0.5, 0.5, 41)[:, None]
            inside = numpy.maximum(1 - (2 * x / taps) ** 2, 0)
            tap = numpy.where(inside > 0, numpy.exp(beta * (numpy.sqrt(inside) - 1)), 0)
            found = (numpy.exp(2j * math.pi * f[:, :, None] * x) * tap).sum(2)
            error = math.sqrt((abs(found / transform - 1) ** 2).mean())
            check(f"{taps} taps, sigma={sigma}",
                  error > bound * math.exp(-math.pi * taps * math.sqrt(1 - 1 / sigma)) and error)


def test_wide_footprint(tmp_path):
    """The taps of a wide footprint need more pixels than those of others."""
    words = "uv=random visibilities=20 grid=640 support=300 oversampling=2 planes=2 cell=40"
    outcome = execute.run_and_check(tree.steps()[0], program_named("gridding"), "seq",
                                    words.split(), tmp_path, "wide")
    assert outcome["ok"], outcome["reason"]


def test_sources(check):
    """Properties of the source that a right result does not show."""
    for step in tree.steps():
        cuda, cpu = (step.folder / "gridding" / name for name in ("cuda.cu", "cpu.c"))
        if cuda.exists():
            kernels = re.findall(r"^KERNEL void (\w+)\(([^)]*)\)", cuda.read_text(), re.M)
            plain = [name for name, parameters in kernels
                     if re.search(r"const \w+ \*(?!__restrict__)", parameters)]
            check(f"{step.name}: what a kernel only reads is restrict",
                        None if kernels and not plain else f"not in {plain or cuda}")
        # A thread's copy of the grid has not been written by another before.
        text = cpu.read_text() if cpu.exists() else ""
        if '"copies of the grid"' in text:
            loops = text.count("schedule(static, 1)\n    for (int c = 0;")
            check(f"{step.name}: copies are first written by who uses them",
                        None if "untouched(s.copies - 1," in text and loops == 2
                        else "they are not")
        # The source contains what a lesson quotes, between lines of dots.
        folder = step.folder / "gridding"
        if not folder.is_dir():
            continue
        there = [path.read_text() for path in folder.iterdir() if path.suffix != ".md"]
        for quoted in re.findall(r"```c\n(.*?)```", (folder / "README.md").read_text(), re.S):
            for piece in quoted.split("...\n"):
                check(f"{step.name}: a lesson's quotation",
                            None if any(piece in text for text in there) else piece)


@pytest.mark.seconds(20)
def test_integers(check, work):
    """Every version gives the same integers, whatever the order of its sums."""
    expected = None
    for step, backend, binary in binaries("gridding"):
        found, _ = grid_of(binary, work, "kernel=integer" if backend == "seq" else
                           "kernel=integer strips=2,2 copies=2")
        expected = expected or found
        check(f"{step} {backend}", found != expected and "differ")


def image_of(folder, name, rows, words):
    """The outcome of an image by w stacking from rows u, v, w, re, im, weight."""
    path = folder / f"{name}.npy"
    numpy.save(path, numpy.asarray(rows, "<f8"))
    step = next(s for s in tree.steps() if s.number == "10")
    return execute.run_and_check(step, program_named("gridding"), "omp",
                                 [f"in={path}", "task=image", *words.split()], folder / name, name)


def seen(places, l, m, weight=1.0, flux=1.0):
    """Visibilities at (u, v), without w, of a source at (l, m)."""
    u, v = places
    value = flux * numpy.exp(-2j * numpy.pi * (u * l + v * m))
    return numpy.stack([u, v, 0 * u, value.real, value.imag, 0 * u + weight], axis=1)


def test_images(check, tmp_path):
    """Images have the requested accuracy: of a source near the edge of the field, seen so often
    that only the mean effect of rounding remains; of repeated positions; of small values; of
    fields beyond the horizon; and if all visibilities are 0."""
    draw = numpy.random.default_rng(3)
    many, few = (draw.uniform(-450, 450, (2, n)) for n in (79000, 60))
    drift = numpy.repeat(few, 1000, axis=1)
    wide = draw.uniform(-5, 5, (2, 300))
    for name, rows, words in (
            ("edge", seen(many, 0.022, -0.021), "grid=100 cell=10 field=0.5 accuracy=3e-3"),
            ("drift", seen(drift, 0.011, 0.007), "grid=100 cell=10 field=0.5 accuracy=1e-4"),
            ("small", seen(few, 0.011, 0.007, 1e-21, 1e-26), "grid=64 cell=15 accuracy=1e-4"),
            ("sky", seen(wide, 0.1, 0.2), "grid=64 cell=0.5 field=1 accuracy=1e-3"),
            ("zero", seen(few, 0, 0, flux=0.0), "grid=64 cell=15 accuracy=1e-3")):
        outcome = image_of(tmp_path, name, rows, words)
        check(name, not outcome["ok"] and outcome["reason"])


def test_far_and_denormal_positions(check, tmp_path):
    """u and v up to 1e15 have a place in the image; the largest |w| may be denormal."""
    draw = numpy.random.default_rng(5)
    rows = numpy.zeros((400, 6))
    rows[:, :2], rows[:, 3], rows[:, 5] = draw.uniform(-1e15, 1e15, (400, 2)), 1, 1
    numpy.save(tmp_path / "far.npy", rows)
    rows[:, :2], rows[:, 2] = draw.uniform(-200, 200, (400, 2)), 1e-323
    numpy.save(tmp_path / "flat.npy", rows)
    binary = next(b for s, _, b in binaries("gridding", ("omp",)) if s.startswith("10"))
    ended = run([binary, "in=far.npy", "task=image", "grid=1600", "cell=0.002", "accuracy=0.003",
                 "field=0.01", "out=far-out.npy"], tmp_path)
    check("far", ended.returncode and ended.stderr)
    if ended.returncode == 0:
        largest = abs(numpy.load(tmp_path / "far-out.npy")).max()
        check("far: the largest pixel", not largest < 1.01 and f"{largest}")
    ended = run([binary, "in=flat.npy", "grid=64", "cell=10", "support=3", "oversampling=4",
                 "planes=9", "out=flat-out.npy"], tmp_path)
    check("denormal", ended.returncode and ended.stderr)


def test_outside_of_the_field(check, work):
    """The checker refuses a pixel next to the field that is not 0, on each side of it."""
    field = ["uv=random", "visibilities=301", "grid=60", "cell=40", "baseline=700", "task=image",
             "accuracy=0.001", "field=0.5"]
    assert run([binary_of("seq"), *field, "out=image.npy"], work).returncode == 0
    right = numpy.load(work / "image.npy")
    first, last = 15, 44  # pixels of the field along each axis
    checker = [Path(BUILD, "gridding-check").absolute(), *field, "oracle=oracle.npy",
               "result=image.npy"]
    for place in None, (first - 1, 30), (last + 1, 30), (30, first - 1), (30, last + 1):
        image = right.copy()
        if place:
            image[place] = 1e-9
        numpy.save(work / "image.npy", image)
        ended = run(checker, work)
        refused = ended.returncode == 1 and "verdict=FAIL outside_field" in ended.stdout
        check(f"{place}", refused != bool(place) and ended)
    emptied(work)
