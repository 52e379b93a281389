"""test_sandpile.py: what make verify does not ask of the sandpile.

Known answers: published numbers of steps and grains,
every size from 3 to 40 on the CPU, the asynchronous rule against the synchronous one, and
with estimates.
The published mistakes: a sandpile that stops after a guessed number of steps, or when
nothing has changed. The picture's colours, and the trace of tiles. How the code is meant
to be: memory is touched first by the threads that use it, what a CUDA kernel only reads is
marked so, and __syncthreads_or of CUDA on the CPU is right.
"""
import os
import re

import numpy
import pytest
from matplotlib.image import imread

from tests.helpers import BUILD, binaries, front_ends, npy, printed, run
from tools.base import runs, tree

CHECKER = os.path.join(BUILD, "sandpile-check")
KNOWN = {32: (241, 2136), 64: (1024, 9248), 128: (4242, 38344), 256: (17035, 157064)}
LARGE = {512: (69190, 633624)}  # for the fastest
COLOURS: dict[tuple[int, ...], int] = {
    (16, 24, 48): 0, (38, 110, 156): 1, (230, 178, 80): 2, (160, 52, 40): 3}



def grid(rows, dtype="<i4"):
    """The cells within the border, as .npy."""
    return npy(numpy.pad(numpy.array(rows), 1), dtype)


def read_int32(path):
    values = numpy.load(path)
    assert values.dtype == "<i4", path
    return values.ravel().tolist()

@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sandpile")
    (folder / "good.npy").write_bytes(grid([[4, 1], [0, 7]]))
    (folder / "bytes.npy").write_bytes(grid([[200, 1], [0, 7]], "|u1"))
    return folder


def last(backend):
    found = binaries("sandpile", (backend,))
    return found[-1][2] if found else pytest.skip(f"no sandpile-{backend} is built")


@pytest.fixture
def first():
    return front_ends("sandpile")[0][2]


def test_good_file(folder, first):
    for name in ("good", "bytes"):
        ended = run([first, f"config={name}.npy", "dim=4", "batch=1"], folder)
        assert ended.returncode == 0, ended.stderr


@pytest.mark.seconds(60)
def test_published_numbers(check, folder):
    """Published numbers, and every small size against the checker's oracles."""
    first = binaries("sandpile", ("seq",))[0][2]
    threads = {step: path for step, _, path in binaries("sandpile", ("omp",))}
    last = list(threads)[-1]
    for name, path in [("00_sequential", first), *threads.items()]:
        for dim, right in {**KNOWN, **(LARGE if name == last else {})}.items():
            # Threads that wait for each other at every step suffer from all that runs.
            threads_of = {"OMP_NUM_THREADS": "3" if dim < 100 else "1"}
            said = printed(run([path, f"dim={dim}"], folder, threads_of).stdout)
            got = int(said["iterations"]), int(said["grains"])
            check(f"{name} dim={dim}", got != right and f"{got}, not {right}")
    last = threads[last]
    said = printed(run([last, "dim=256", "config=big"], folder, {"OMP_NUM_THREADS": "1"}).stdout)
    check("big", said["iterations"] != "20521" and said["iterations"])
    for dim in range(3, 41):
        for config in ("4partout", "alea"):
            words = [f"dim={dim}", f"config={config}"]
            run([last, *words, "out=o.npy", "counts=c.npy", "tilew=9", "tileh=5"], folder,
                {"OMP_NUM_THREADS": "3"})
            told = run([CHECKER, *words, f"oracle=oracle{dim}{config}.npy",
                        "result=o.npy", "counts=c.npy"], folder)
            check(f"{config} dim={dim}",
                        told.returncode and (told.stdout + told.stderr)[-200:])


def test_unfinished_sweeps(check, folder):
    """The checker refuses an asynchronous result that is not stable, unless the limit of sweeps
    was reached; and one that has too many sweeps."""
    words = ["dim=37", "config=alea", "rule=async"]
    binary = last("omp")
    ended = run([binary, *words, "max_iterations=5", "out=sweeps.npy", "counts=five.npy"], folder)
    assert ended.returncode == 0, ended.stderr
    numpy.save(folder / "six.npy", numpy.array([6], "<i4"))
    for limit, counts, reason in ((5, "five", None), (6, "five", "not stable after 5 sweeps"),
                                  (10 ** 6, "five", "not stable after 5 sweeps"),
                                  (5, "six", "6 sweeps, expected 0 to 5")):
        told = run([CHECKER, *words, f"max_iterations={limit}", f"oracle=unfinished{limit}.npy",
                    "result=sweeps.npy", f"counts={counts}.npy"], folder)
        wrong = told.returncode if not reason else \
            told.returncode != 1 or reason not in told.stdout
        check(f"limit {limit}, {counts} sweeps", wrong and told)


@pytest.mark.seconds(60)
def test_asynchronous_rule(check, folder):
    """In place the same rest, whatever the tiles and threads; the sweeps are the tiles'
    own, not the threads'."""
    chosen = [binaries("sandpile", ("seq",))[0], *binaries("sandpile", ("omp",))]
    for step, backend, path in chosen:
        sweeps: dict[tuple[str, str], set] = {}
        for tiles in ("tilew=2 tileh=2", "tilew=7 tileh=3", "tilew=0 tileh=5"):
            for threads in ("1", "3"):
                for limit in ("", "max_iterations=9"):
                    words = ["dim=37", "config=alea", "batch=2", "rule=async",
                             *tiles.split(), *limit.split()]
                    ended = run([path, *words, "out=a.npy", "counts=n.npy"], folder,
                                {"OMP_NUM_THREADS": threads})
                    told = run([CHECKER, *words, f"oracle=async{limit}.npy",
                                "result=a.npy", "counts=n.npy"], folder)
                    check(f"{step} {backend} async {tiles} {limit} {threads}",
                                (ended.returncode or told.returncode) and
                                (ended.stderr + told.stdout + told.stderr)[-200:])
                    sweeps.setdefault((tiles, limit), set()).add(
                        tuple(read_int32(os.path.join(folder, "n.npy"))))
        check(f"{step} {backend}: sweeps depend on threads",
                    any(len(n) > 1 for n in sweeps.values()) and str(sweeps))
    # Between sweeps a cell holds more than twice the most that a file may say, and what
    # is written has 31 bits.
    with open(os.path.join(folder, "most.npy"), "wb") as file:
        file.write(grid([[10 ** 9] * 64] * 64))
    ended = run([chosen[1][2], "config=most.npy", "rule=async", "tilew=2", "tileh=2",
                 "max_iterations=12", "out=most_12.npy"], folder)
    cells = read_int32(os.path.join(folder, "most_12.npy"))
    check("in place, the most a cell holds",
                (ended.returncode or min(cells) < 0 or max(cells) <= 2 * 10 ** 9) and
                f"{min(cells)} to {max(cells)} {ended.stderr[-80:]}")


@pytest.mark.seconds(10)
def test_published_mistakes(check, folder):
    """What the paper's program does, and what it comes to."""
    path = binaries("sandpile", ("seq",))[0][2]
    for dim, factor in ((32, 7), (64, 8), (128, 8), (256, 8)):
        guess = dim // 32 * factor * dim
        steps = int(printed(run([path, f"dim={dim}"], folder).stdout)["iterations"])
        check(f"the guessed {guess} steps of dim={dim}, of {steps}",
                    (guess == steps) != (dim == 64) and "were fitted to dim=64 alone")
        said = printed(run([path, f"dim={dim}", f"max_iterations={guess}"], folder).stdout)
        check(f"a guess that is too low is seen, dim={dim}",
                    (said["stable"] == "1") != (guess >= steps) and said["stable"])
    # A cell of 4 among four cells of 4 does not change, and is not stable.
    run([path, "dim=9", "max_iterations=1", "out=one.npy"], folder)
    cells = read_int32(os.path.join(folder, "one.npy"))
    check("an unchanged cell may be unstable", cells[4 * 9 + 4] != 4 and cells)
    # The largest cell can grow, but not beyond the number it fills: 4 becomes 7.
    with open(os.path.join(folder, "seven.npy"), "wb") as file:
        file.write(grid([[0, 4, 0], [4, 3, 4], [0, 4, 0]]))
    run([path, "config=seven.npy", "max_iterations=1", "out=one.npy"], folder)
    most = max(read_int32(os.path.join(folder, "one.npy")))
    check("4 and 3 become 7", most != 7 and most)


def test_picture(check, folder):
    path = last("omp")
    run([path, "dim=20", "batch=2", "picture=p.png", "out=p.npy"], folder)
    pixels = (255 * imread(folder / "p.png")).round().astype(int)
    check("picture, shape", pixels.shape != (20, 40, 3))
    seen = [COLOURS.get(tuple(pixel)) for pixel in pixels.reshape(-1, 3).tolist()]
    cells = read_int32(os.path.join(folder, "p.npy"))
    right = [cells[g * 400 + y * 20 + x] for y in range(20) for g in range(2)
             for x in range(20)]
    check("picture, colours", seen != right and "a colour is another's")


@pytest.mark.seconds(10)
def test_bands(check, folder):
    """Avalanches that enter sleeping bands of two threads from above and from below."""
    cells = numpy.full((150, 150), 3)
    for row in (40, 120):
        cells[:] = 3
        cells[row, 60] = 4
        cells[row + 30:, :100] = cells[:row - 30, 100:] = 0
        (folder / f"lone{row}.npy").write_bytes(grid(cells))
        results = {}
        for step, backend, path in (binaries("sandpile", ("seq",))[0],
                                    *binaries("sandpile", ("omp",))):
            ended = run([path, f"config=lone{row}.npy", "out=lone.npy", "counts=n.npy"],
                        folder, {"OMP_NUM_THREADS": "2"})
            assert ended.returncode == 0, ended.stderr
            results[f"{step} {backend}"] = [read_int32(folder / name)
                                            for name in ("lone.npy", "n.npy")]
        right = results["00_sequential seq"]
        for name, found in results.items():
            check(f"{name}: row {row}", found != right and "another pile")


@pytest.mark.seconds(3)
def test_sources(check, folder):
    """What no result shows."""
    for step in tree.steps():
        texts = {path.name: path.read_text()
                 for path in (step.folder / "sandpile").glob("c*.c*")}
        cpu = texts.get("cpu.c", "")
        touched = re.search(r"#pragma omp parallel for(?:(?!\n}\n).)*?memset\([^;]*0xff", cpu,
                            re.S)
        if "omp parallel" in cpu:
            check(f"{step.name}: the threads that topple rows touch them first",
                  not (touched and "untouched(" in cpu) and "they do not")
        for name, words in re.findall(r"__global__ void (\w+)\(([^)]*)\)",
                                      texts.get("cuda.cu", "")):
            bare = [w.strip() for w in words.split(",")
                    if re.match(r"\s*const\b.*\*", w) and "__restrict__" not in w]
            check(f"{step.name} {name}: what is only read is __restrict__", bare)


def test_trace(check, tmp_path):
    """In each iteration that a trace has, the tiles of each grid cover it once."""
    words = ["config=alea", "dim=23", "batch=3", "max_iterations=4", "tilew=7", "tileh=5"]
    for step, _, path in binaries("sandpile", ("omp",)):
        ended = run([os.path.abspath(path), *words, "trace=t.csv"], tmp_path, {
            "OMP_NUM_THREADS": "3"})
        rows = [line.split(",") for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
        cells = numpy.zeros((4, 3, 23, 23), int)
        wrong = [ended.stderr] if ended.returncode or not rows else []
        for row in rows:
            iteration, grid, worker, x, y, w, h = map(int, row[:7])
            cells[iteration, grid, y:y + h, x:x + w] += 1
            if not 0 <= worker < 3 or w < 1 or not 0 <= float(row[7]) <= float(row[8]) < 6e7:
                wrong.append(row)
        for iteration, grid in {(int(row[0]), int(row[1])) for row in rows}:
            if len(set(cells[iteration, grid, 1:-1, 1:-1].flat)) != 1:
                wrong.append(f"iteration {iteration}, grid {grid}")
        check(f"{step}", wrong[:3] or cells[:, :, 1:-1, 1:-1].max() != 1 and cells.max()
              or len({row[1] for row in rows}) != 3 and "grids")


@pytest.mark.seconds(10)
def test_wide_rows(check, folder):
    """Rows of one vector of bits, of several, and of one and a bit more."""
    first = binaries("sandpile", ("seq",))[0]
    for dim in (258, 515, 1027):
        words = ["config=alea", f"dim={dim}", "max_iterations=3", "out=w.npy"]
        right = None
        for step, backend, path in (first, *binaries("sandpile", ("omp", "ocl", "hybrid", "mpi"))):
            if backend != "seq" and step < "08":
                continue
            command, variables = runs.launch(path, backend, {"RANKS": "2", "OMP_NUM_THREADS": "2"})
            ended = run([*command, *words], folder, variables)
            cells = ended.returncode or (folder / "w.npy").read_bytes()
            right = right or cells
            check(f"{step} {backend} dim={dim}", cells != right
                  and (ended.stderr or "another pile"))
            (folder / "w.npy").unlink()
