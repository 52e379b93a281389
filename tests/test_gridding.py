"""test_gridding.py: what can be wrong with what gridding is given, answers that are known
without an oracle, and the mistakes of published programs.

Bad input must end with exit status 1 and one line on stderr that says what is wrong;
nothing on stdout, no output file. Run on the first sequential and the last OpenCL binary.
"""
import math
import re

import numpy
import pytest

from tests.helpers import arguments, binaries, emptied, front_ends, npy, printed, refusal, run
from tools.history import tree

QUERY = {"uv": "random", "visibilities": "20", "grid": "64", "support": "3",
         "oversampling": "4", "planes": "3", "cell": "200", "out": "out.npy"}

# name, what it changes in QUERY, what the line must say.
BAD = [
    ("no visibilities", "visibilities=0", r"visibilities=0: expected a whole number from 1"),
    ("visibilities a word", "visibilities=many", r"visibilities=many: expected"),
    ("grid 0", "grid=0", r"grid=0: expected a whole number from 1"),
    ("support over the grid", "support=32", r"support=32: a footprint of 65 .* grid of 64"),
    ("support negative", "support=-1", r"support=-1: expected"),
    ("cell 0", "cell=0", r"cell=0: expected a number from"),
    ("cell nan", "cell=nan", r"cell=nan: expected a number"),
    ("oversampling 0", "oversampling=0", r"oversampling=0: expected"),
    ("planes 0", "planes=0", r"planes=0: expected"),
    ("baseline inf", "baseline=inf", r"baseline=inf: expected a number"),
    ("frequency 0", "frequency=0", r"frequency=0: expected"),
    ("preset", "preset=huge", r"preset=huge: expected small, default, askap or seed"),
    ("uv", "uv=spiral", r"uv=spiral: expected tracks or random"),
    ("kernel", "kernel=box", r"kernel=box: expected w or integer"),
    ("precision", "precision=half", r"precision=half: expected single or double"),
    ("accuracy 1", "accuracy=1", r"accuracy=1: expected a number"),
    ("accuracy negative", "accuracy=-1", r"accuracy=-1: expected a number"),
    ("task", "task=clean", r"task=clean: expected grid or degrid"),
    ("strips of one", "strips=4", r"strips=4: expected ROWS,COLUMNS"),
    ("strips of three", "strips=4,4,4", r"strips=4,4,4: expected ROWS,COLUMNS"),
    ("strips 0", "strips=0,1", r"strips=0: expected a whole number from 1"),
    ("copies negative", "copies=-1", r"copies=-1: expected"),
    ("strict 2", "strict=2", r"strict=2: expected"),
    ("unknown key", "suport=3", r"unknown key 'suport' \(did you mean 'support'\?\)"),
    ("no grid", "-grid", r"grid= is missing"),
    ("no cell", "-cell", r"cell= is missing"),
    ("no visibilities at all", "-visibilities", r"visibilities= is missing"),
    ("outside, strict", "cell=100 strict=1", r"visibility \d+: .* outside the grid"),
    ("all outside", "cell=0.001", r"all 20 visibilities are outside the grid"),
    ("too large for memory", "grid=65536 precision=double",
     r"too large \(.* GB\): expected at most"),
    ("out in no folder", "out=none/out.npy", r"out=none/out\.npy: cannot be written"),
    ("image in no folder", "image=none/a.png", r"image=none/a\.png: cannot be written"),
    ("image of visibilities", "task=degrid image=a.png", r"task=degrid makes no image"),
    ("no such file", "in=none.npy", r"none\.npy: .*No such file"),
    ("not .npy", "in=../text.npy", r"text\.npy: "),
    ("empty file", "in=../zero.npy", r"zero\.npy: "),
    ("five columns", "in=../five.npy", r"expected floats of shape \(n, 6\)"),
    ("no rows", "in=../none.npy", r"none\.npy: no visibilities"),
    ("NaN in u", "in=../nan_u.npy", r"visibility 2: u is not a finite number"),
    ("NaN in re", "in=../nan_re.npy", r"visibility 3: re is not a finite number"),
    ("infinite weight", "in=../inf.npy", r"visibility 1: weight is not a finite number"),
    ("negative weight", "in=../minus.npy", r"visibility 2: weight is -1: expected 0"),
    ("no weight", "in=../light.npy", r"all weights are 0"),
    ("truncated", "in=../cut.npy", r"cut\.npy: "),
    ("model of another shape", "task=degrid model=../five.npy", r"\(64, 64, 2\)"),
    ("no model", "task=degrid model=there", r"model=there: "),
]


def save(path, rows, columns=6):
    """Writes float64 rows."""
    path.write_bytes(npy(rows, "<f8", (len(rows), columns)))


def read(path):
    """The numbers of a float .npy."""
    return numpy.load(path).ravel().tolist()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Files of visibilities, most of them damaged, and a folder below them to run in."""
    folder, good = tmp_path_factory.mktemp("gridding"), [
        [10.0 * k, -20.0 * k, 5.0 * k, 1.0, 0.5, 1.0] for k in range(4)]

    def changed(name, row, column, value):
        rows = [list(r) for r in good]
        rows[row][column] = value
        save(folder / name, rows)

    save(folder / "good.npy", good)
    save(folder / "five.npy", [r[:5] for r in good], 5)
    save(folder / "none.npy", [])
    save(folder / "light.npy", [r[:5] + [0.0] for r in good])
    changed("nan_u.npy", 1, 0, math.nan)
    changed("nan_re.npy", 2, 3, math.nan)
    changed("inf.npy", 0, 5, math.inf)
    changed("minus.npy", 1, 5, -1.0)
    (folder / "text.npy").write_text("u v w\n")
    (folder / "zero.npy").touch()
    (folder / "cut.npy").write_bytes((folder / "good.npy").read_bytes()[:-7])
    (folder / "work").mkdir()
    return folder / "work"


FRONT_ENDS = pytest.mark.parametrize("backend", ["seq", "ocl"])


def binary_of(backend):
    """The first sequential or the last OpenCL binary."""
    found = [path for _, b, path in front_ends("gridding") if b == backend]
    return found[0] if found else pytest.skip(f"no gridding-{backend} is built")


@FRONT_ENDS
@pytest.mark.parametrize("changes, pattern", [
    pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in BAD])
def test_bad_input(backend, work, changes, pattern):
    ended = run([binary_of(backend), *arguments(QUERY, changes)], work)
    assert not refusal("gridding", ended, pattern, work)


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
