"""gridding.py - random queries of the gridding program, and tests of what it prints.

Drawn are grids from one cell, footprints that touch each edge and corner or lie outside, one
visibility up to more than 16 bits can count, and all arguments.

Left out are image=, whose picture and table no checker reads; coordinates that are within
rounding of the middle between two fractions or planes, unless that middle is exact; and
thousands of equal points with values that are no integers, whose roundings all have the
same sign.
"""
from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy

from tools.verify.queries import Query

LIGHT = 299792458
ANTENNAS = 36
KEYS = ("visibilities", "grid", "support", "oversampling", "planes", "cell")
PRESETS = {"small": ("tracks", 3001, 257, 9, 4, 5, 40),
           "default": ("tracks", 200000, 1024, 32, 8, 33, 10),
           "askap": ("random", 160000, 4096, 64, 8, 33, 5),
           "seed": ("random", 3200000, 4096, 64, 8, 33, 5)}
PRINTED = {"visibilities", "outside", "copies", "Mpts/s", "Time_init", "Time_sort",
           "Time_run", "Time_kernel", "Time_image"}
SHARED = {"Share", "Share_even"}  # printed by hybrid back-ends


# ---- what words mean ----------------------------------------------------------------

def asked(arguments: Sequence[str]) -> Any:
    """A query as a dict, what it does not say filled in."""
    values: dict[str, Any] = dict(word.split("=", 1) for word in arguments)
    preset: Any = PRESETS.get(values.get("preset", ""), ("tracks",) + (0,) * len(KEYS))
    values.setdefault("uv", preset[0])
    for key, value in zip(KEYS, preset[1:]):
        values[key] = float(values[key]) if key == "cell" and key in values \
            else int(values.get(key, value)) if key != "cell" else value
    for key, number in (("baseline", 2000), ("frequency", 1.4e9)):
        values[key] = float(values.get(key, number))
    for key, text in (("task", "grid"), ("kernel", "w"), ("copies", "0")):
        values.setdefault(key, text)
    return SimpleNamespace(**values)


def mixed(keys: Any, which: Any) -> Any:
    """splitmix64's numbers in 0 .. 1, as the made visibilities have them."""
    with numpy.errstate(over="ignore"):
        z = keys.astype(numpy.uint64) * numpy.uint64(0x9e3779b97f4a7c15)
        z += numpy.uint64(which + 1)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
        z ^= z >> numpy.uint64(31)
    return (z >> numpy.uint64(11)).astype(float) / 2.0 ** 53


def generated(n: Any, uv: str, extent: Any) -> Any:
    """u, v, w of visibilities that no file has."""
    k = numpy.arange(n)
    if uv == "random":
        return [extent * (mixed(k, which) - 0.5) for which in (3, 4, 5)]
    a = numpy.arange(ANTENNAS)
    radius, angle = extent / 4 * mixed(a, 1) ** 0.8, 2 * math.pi * mixed(a, 2)
    east, north = radius * numpy.cos(angle), radius * numpy.sin(angle)
    first, second = numpy.triu_indices(ANTENNAS, 1)
    times = -(-n // len(first))
    east, north = east[second] - east[first], north[second] - north[first]
    latitude, declination = math.radians(-26.7), math.radians(-45)
    x, z = -math.sin(latitude) * north, math.cos(latitude) * north
    hour = math.pi * ((numpy.arange(times)[:, None] + 0.5) / times - 0.5)
    ahead = numpy.cos(hour) * x - numpy.sin(hour) * east
    u = numpy.sin(hour) * x + numpy.cos(hour) * east
    v = math.cos(declination) * z - math.sin(declination) * ahead
    w = math.cos(declination) * ahead + math.sin(declination) * z
    return [part.ravel()[:n] for part in (u, v, w)]


def points(q: SimpleNamespace) -> Any:
    """u, v, w and weight of all visibilities, outside or not."""
    if hasattr(q, "in"):
        rows = numpy.load(getattr(q, "in")).astype(float)
        return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 5]
    u, v, w = generated(q.visibilities, q.uv, q.baseline * q.frequency / LIGHT)
    return u, v, w, numpy.ones(len(u))


def inside(q: SimpleNamespace, *coordinates: Any) -> Any:
    """Which visibilities are used: footprints inside the grid, or all for an image."""
    if getattr(q, "task", "grid") == "image":
        return numpy.full(len(coordinates[0]), True)
    all_in, half = True, q.oversampling // 2
    for x in coordinates:
        fine = numpy.floor(x / q.cell * q.oversampling + 0.5) + half
        centre = numpy.floor(fine / q.oversampling) + q.grid // 2
        all_in = all_in & (centre >= q.support) & (centre + q.support < q.grid)
    return all_in


def near_tie(x: Any) -> bool:
    """Whether any of x lies in the middle between two whole numbers, or nearly."""
    return bool(numpy.any(numpy.abs(x - numpy.floor(x) - 0.5) < 1e-9))


# ---- drawing -------------------------------------------------------------------------

def power_of_two(x: Any) -> bool:
    return math.frexp(x)[0] == 0.5


def shape(rng: random.Random) -> SimpleNamespace:
    """Sizes that a query of some milliseconds has: grid, support, oversampling, planes,
    cell, n, kernel, strips."""
    kind = rng.choices(("plain", "many", "broad", "fine", "deep", "large", "threads",
                        "race"), (66, 7, 5, 6, 5, 6, 1, 4))[0]
    kernel = rng.choice(("w", "w", "integer"))
    support = rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 16))
    over = rng.choice((1, 1, 2, 2, 3, 4, 5, 7, 8))
    planes = rng.choice((1, 1, 2, 2, 3, 4, 5, 9, 33))
    n = rng.choice((1, 2, 3, rng.randint(4, 40), rng.randint(4, 100),
                    rng.randint(40, 400)))
    strips = (rng.choice((1, 1, 2, 3, 5, rng.randint(1, 21))),
              rng.choice((1, 1, 2, 3, 5, rng.randint(1, 21))))
    slack = rng.choice((0, 0, 1, 2, 3, rng.randint(0, 60)))
    if kind == "many":
        support, strips = rng.choice((0, 0, 1, 2)), (1, 1)
        n = rng.choice((5000, 34000, 70000))
        slack = rng.choice((0, 1, 5, 60, 200))
    elif kind == "broad":
        support, n = rng.choice((32, 33, 64, 130)), rng.randint(1, 4)
        over, planes, slack = 1, 2, min(slack, 20)
    elif kind == "fine":
        over, support, planes = rng.choice((16, 31, 63, 64)), rng.choice((0, 1, 3)), 2
    elif kind == "deep":
        planes, over, support = rng.choice((64, 257, 1024)), rng.choice((1, 1, 2)), \
            rng.choice((0, 1, 2))
        kernel = "integer" if planes * over > 257 and rng.random() < 0.8 else kernel
    elif kind == "large":
        support, slack = min(support, 3), rng.choice((180, 250, 257, 330))
    elif kind == "threads":
        support, n, strips = rng.choice((16, 33)), rng.randint(1, 3), (1024, 1024)
    elif kind == "race":  # strips of the same cells, again and again
        support, slack = rng.choice((1, 2, 4)), rng.randint(0, 2)
        n = rng.randint(800, 2500)
        strips, planes = rng.choice(((2, 2), (3, 1), (1, 3), (2, 1), (1, 2))), 1
    width = 2 * support + 1
    while planes * over ** 2 * width ** 2 > 300000 and max(planes, over) > 1:
        if over > planes:
            over = (over + 1) // 2
        else:
            planes //= 2
    if n * width ** 2 > 600000:
        n = 600000 // width ** 2
    items = min(width, strips[0]) * min(width, strips[1])
    if kind not in ("threads", "race") and n * items > 2500:  # as many barriers
        strips = (1, rng.choice((1, 2)) if n <= 1200 else 1)
    cell = rng.choice((1.0, 8.0, 64.0, 0.5, 40.0, 10.0, round(rng.uniform(0.3, 300), 3),
                       1e-6, 1e9, 7e5))
    return SimpleNamespace(grid=width + slack, support=support, oversampling=over,
                           planes=planes, cell=cell, n=n, kernel=kernel, strips=strips)


def coordinate(rng: random.Random, q: SimpleNamespace, exact: bool) -> Any:
    """u or v: such that a footprint touches an edge, crosses it, or anywhere."""
    low, high = q.support, q.grid - 1 - q.support
    centre = rng.choice((low, high, rng.randint(low, high), rng.randint(low, high),
                         q.grid // 2, low - 1, high + 1))
    half = q.oversampling // 2
    first, last = -half, q.oversampling - 1 - half
    fraction = rng.choice((first, last, 0, rng.randint(first, last)))
    if exact and rng.random() < 0.3:
        between = rng.choice((-0.5, 0.5))
    else:
        between = rng.choice((0, rng.uniform(-0.45, 0.45)))
    if rng.random() < 0.02:
        return rng.choice((-1, 1)) * rng.choice((1e15, q.grid * q.cell * 10, 1e6))
    if rng.random() < 0.05:
        return rng.choice((0.0, -0.0))
    return (centre - q.grid // 2 + (fraction + between) / q.oversampling) * q.cell


def heights(rng: random.Random, q: SimpleNamespace, n: Any) -> Any:
    """w: both signs of all sizes, including 0."""
    largest = rng.choice((0.0, 1.0, 512.0, rng.uniform(0.1, 3) * q.cell ** 2,
                          rng.uniform(1, 100) * q.cell ** 2))
    if q.planes == 1 or q.kernel == "integer":
        largest = rng.choice((largest, 1e15, 1e-30))
    largest = min(largest, 1e15)
    if q.planes > 1 and q.kernel == "w":
        largest = min(largest, 3000 * q.cell ** 2)
    w: Any = []
    for _ in range(n):
        step = rng.randint(0, 2 * q.planes) / (2 * q.planes)
        size = largest * rng.choice((0, 0, 1, rng.random(), step))
        w.append(rng.choice((-1, 1)) * size)
    w = numpy.array(w)
    w[rng.randrange(n)] = rng.choice((-1, 1)) * largest
    return w


def apart(q: SimpleNamespace, w: Any, kind: str) -> Any:
    """w, rounded to the type of the file, without values near a tie that is not exact."""
    w = w.astype(kind).astype(float)
    most = numpy.abs(w).max()
    exact = power_of_two(most) and power_of_two(q.planes - 1)
    if q.planes == 1 or most == 0 or exact:
        return w
    planes = numpy.abs(w) / most * (q.planes - 1)
    near = numpy.abs(planes - numpy.floor(planes) - 0.5) < 1e-3
    return numpy.where(near, 0.25 * w / q.planes, w).astype(kind).astype(float)


def write_rows(rng: random.Random, q: SimpleNamespace, path: Path) -> None:
    """Writes a file of visibilities, at least one of which is inside and has a weight."""
    kind = rng.choice(("<f8", "<f8", "<f8", "<f4"))
    exact = power_of_two(q.cell) and power_of_two(q.oversampling)
    distinct = q.n
    if rng.random() < 0.3:  # equal points; by the thousand where sums are exact
        distinct = rng.randint(1, q.n) if q.kernel == "integer" else \
            max(q.n // rng.randint(2, 40), 1)
    distinct = min(distinct, 3000 if q.n > 3000 else distinct)
    source = numpy.random.default_rng(rng.getrandbits(64))
    rows = numpy.zeros((q.n, 6))
    places = [[coordinate(rng, q, exact), coordinate(rng, q, exact)]
              for _ in range(distinct)]
    places[0] = [coordinate(rng, q, exact) for _ in range(2)]
    middle = [0.0, -0.0]
    w = apart(q, heights(rng, q, distinct), kind)
    many = numpy.arange(q.n) % distinct
    if rng.random() < 0.5:
        many = source.permutation(many)
    rows[:, :2] = numpy.array(places)[many]
    rows[:, 2] = w[many]
    if q.kernel == "integer" and rng.random() < 0.8:
        rows[:, 3:5] = source.integers(-4, 5, (q.n, 2))
        rows[:, 5] = source.integers(0, 2, q.n) if rng.random() < 0.5 else 1
    else:
        rows[:, 3:5] = source.standard_normal((q.n, 2)) * rng.choice((1, 1, 1e-6, 1e9))
        weights = (0, 1, 0.5, 1e-3, 7) if rng.random() < 0.5 else (1,)
        rows[:, 5] = source.choice(weights, q.n)
        if rng.random() < 0.1:
            rows[:, rng.choice((3, 4))] = 0
    last = rng.randrange(q.n)
    if rng.random() < 0.1:  # all others are outside, or have the weight 0
        rows[:, rng.choice((0, 1))] = rng.choice((1e15, -1e15))
        rows[last, :2] = middle
    elif rng.random() < 0.1:
        rows[:, 5] = 0
    rows = rows.astype(kind)
    here = inside(q, rows[:, 0].astype(float), rows[:, 1].astype(float))
    if not numpy.any(here & (rows[:, 5] > 0)):
        rows[last, :2] = middle
        rows[last, 5] = 1
    with open(path, "wb") as file:
        numpy.lib.format.write_array(file, rows, version=rng.choice(((1, 0), (2, 0))))


def extent_of(rng: random.Random, q: SimpleNamespace, uv: str) -> Any:
    """baseline= and frequency= of generated visibilities: some inside, none at a tie."""
    extent = q.grid * q.cell * rng.choice((0.2, 0.7, 0.95, 1.0, 1.3, 3.0))
    frequency = rng.choice((1.4e9, 1e8, float(LIGHT), 2.5e12 if extent > 1e4 else 3e7))
    while True:
        extent *= rng.uniform(0.8, 0.99)
        baseline = float(f"{min(extent * LIGHT / frequency, 1e9):.7g}")
        u, v, w = generated(q.n, uv, baseline * frequency / LIGHT)
        if near_tie(numpy.abs(w) / numpy.abs(w).max() * (q.planes - 1)):
            q.planes -= 1
        elif numpy.any(inside(q, u, v)) and \
                not near_tie(numpy.concatenate((u, v)) / q.cell * q.oversampling):
            return baseline, frequency


def write_model(rng: random.Random, q: SimpleNamespace, path: Path) -> None:
    source = numpy.random.default_rng(rng.getrandbits(64))
    cells = (q.grid, q.grid, 2)
    model: Any
    if q.kernel == "integer":
        model = source.integers(-4, 5, cells)
    else:
        model = source.standard_normal(cells) * rng.choice((1, 1e-6, 1e6))
    if rng.random() < 0.2:
        model[source.random(cells[:2]) < 0.5] = 0
    numpy.save(path, model.astype(rng.choice(("<f8", "<f4"))))


def sky(rng: random.Random) -> Query:
    """A query that makes an image, in which the checker looks for the sources."""
    arguments = ["preset=small", "oversampling=16", f"strips={rng.choice(('3,2', '1,1'))}",
             f"task={rng.choice(('grid', 'degrid'))}"]
    if rng.random() < 0.5:
        arguments += [f"visibilities={rng.randint(2000, 3000)}"]
    return Query(arguments=arguments, env={"OMP_NUM_THREADS": rng.choice("1234")})


def image(rng: random.Random) -> Query:
    """A query of task=image. Tables of two dimensions grow with the square of the number
    of functions, which is at most twice the number of visibilities."""
    grid, cell = rng.randint(8, 200), rng.choice((1.0, 8.0, 40.0, rng.uniform(1, 300)))
    accuracy = rng.choice((1e-6, 1e-5, 1e-4, 1e-3, 0.01))
    n = rng.randint(1, 400 if accuracy >= 1e-3 else 40)
    baseline = grid * cell * rng.choice((0.3, 0.9, 1.0, 1.5)) * LIGHT / 1.4e9
    arguments = [f"visibilities={n}", f"uv={rng.choice(('random', 'tracks'))}",
                 f"grid={grid}", f"cell={cell!r}", f"baseline={baseline!r}", "task=image",
                 f"accuracy={accuracy:g}", f"field={rng.choice((0.5, 0.77, 1))}"]
    if n <= 40:
        arguments.append(f"strips={rng.randint(1, 4)},{rng.randint(1, 4)}")
    else:
        arguments.append("strips=1,1")
    return Query(arguments=arguments, env={"OMP_NUM_THREADS": rng.choice("1234")})


def draw(rng: random.Random, folder: Path) -> Query:
    """A valid query; its files are in folder."""
    if rng.random() < 0.01:
        return sky(rng)
    if rng.random() < 0.05:
        return image(rng)
    q = shape(rng)
    arguments: Any = {}
    source = rng.choice(("file", "file", "random", "tracks"))
    if source == "file":
        write_rows(rng, q, folder / "in.npy")
        arguments["in"] = folder / "in.npy"
    else:
        q.cell = min(max(q.cell, 0.5), 1e6)  # l is below 1, baselines below 1e9 m
        arguments["baseline"], arguments["frequency"] = map(repr, extent_of(rng, q, source))
        arguments["visibilities"], arguments["uv"] = q.n, source
    for key in ("grid", "support", "oversampling", "planes"):
        arguments[key] = getattr(q, key)
    arguments["cell"] = repr(q.cell)
    arguments["strips"] = f"{q.strips[0]},{q.strips[1]}"

    # A preset gives the values that no argument gives.
    if rng.random() < 0.2:
        name = rng.choice(list(PRESETS))
        for key, value in zip(("uv", *KEYS), PRESETS[name]):
            if key in arguments and str(arguments[key]) == str(value):
                del arguments[key]
        arguments["preset"] = name
    elif arguments.get("uv") == "tracks" and rng.random() < 0.5:
        del arguments["uv"]

    if q.kernel == "integer" or rng.random() < 0.3:
        arguments["kernel"] = q.kernel
    if rng.random() < 0.6:
        arguments["precision"] = rng.choice(("single", "double"))
    if rng.random() < 0.6:
        arguments["task"] = rng.choice(("degrid", "degrid", "grid"))
    if arguments.get("task") == "degrid" and rng.random() < 0.8:
        arguments["model"] = rng.choice(("sources", "noise", folder / "model.npy"))
        if arguments["model"] == folder / "model.npy":
            write_model(rng, q, folder / "model.npy")
    if rng.random() < 0.3:
        arguments["accuracy"] = rng.choice((0, 1e-12, 1e-5, 1e-3, 0.01, 0.1))
    width = 2 * q.support + 1
    if q.n * min(width, 5) * width <= 1000 and rng.random() < 0.7:
        del arguments["strips"]
    if rng.random() < 0.6:
        most = max(300000 // (q.grid * (q.grid + 32)), 1)
        arguments["copies"] = min(rng.choice((0, 1, 2, 3, 5, 17, 100, 1000)), most)
        if q.n * arguments["copies"] > 200000:
            arguments["copies"] = 2
    if source == "file" and rng.random() < 0.1:  # the file takes precedence
        arguments["visibilities"] = rng.randint(1, 100)
        arguments["uv"] = rng.choice(("tracks", "random"))
    threads = rng.choice((1, 2, 3, 4, 7, 16, 17, 64))
    if q.grid > 100:
        threads = min(threads, 4)

    arguments = [f"{key}={value}" for key, value in arguments.items()]
    if rng.random() < 0.2:
        resolved = asked(arguments)
        u, v, _, _ = points(resolved)
        arguments.append(f"strict={int(numpy.all(inside(resolved, u, v)))}")
    rng.shuffle(arguments)
    return Query(arguments=arguments, env={"OMP_NUM_THREADS": str(threads)})


# ---- what is printed -----------------------------------------------------------------

def misshared(q: SimpleNamespace, values: Mapping[str, str]) -> str | None:
    """What is wrong with Share=, the device's fraction of the visibilities, and Share_even=,
    the fraction with which both sides would end at the same time."""
    if q.task == "degrid" or not hasattr(q, "share") and "Share" not in values:
        return None  # the front end degrids alone
    had = float(values.get("Share", "nan"))
    if not 0 <= had <= 100:
        return f"Share={values.get('Share')}, expected 0 to 100"
    wanted = getattr(q, "share", "auto")
    if wanted in ("0", "100") and had != float(wanted):
        return f"Share={had:g} with share={wanted}"
    if not 0 <= float(values.get("Share_even", 0)) <= 100:
        return f"Share_even={values['Share_even']}, expected 0 to 100"
    return None


def wrong_output(arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path]) -> str | None:
    """What is wrong with the printed values."""
    missing = PRINTED ^ (set(values) - SHARED)
    if missing:
        return f"keys missing or too many: {' '.join(sorted(missing))}"
    q = asked(arguments)
    if wrong := misshared(q, values):
        return wrong
    u, v, _, _ = points(q)
    here = int(numpy.count_nonzero(inside(q, u, v)))
    for key, right in (("visibilities", here), ("outside", len(u) - here)):
        if values[key] != str(right):
            return f"{key}={values[key]}, right is {right}"
    written = numpy.load(files["out"], mmap_mode="r")
    shape_of_out = {"degrid": (here, 2), "image": (q.grid, q.grid)}.get(
        q.task, (q.grid, q.grid, 2))
    if written.shape != shape_of_out:
        return f"out has shape {written.shape}: expected {shape_of_out}"

    copies = int(values["copies"])
    if q.task == "degrid" and copies != 1:
        return f"copies={copies}: expected 1 for a grid that is only read"
    wanted = int(q.copies)
    if copies < 1 or (wanted and copies not in (1, wanted)) or copies > 100000:
        return f"copies={copies}, wanted are {wanted or 'as many as workers'}"

    times = {key: float(value) for key, value in values.items() if "Time_" in key}
    if not all(0 <= t < 3600 for t in times.values()):
        return f"times: {times}"
    run, sort = times["Time_run"], times["Time_sort"]
    if sort > run or not run:
        return f"Time_sort={sort:g} is part of Time_run={run:g}"
    rate = here * (2 * q.support + 1) ** 2 / run / 1e6
    if q.task == "image":  # the taps follow from accuracy=
        return None
    if abs(float(values["Mpts/s"]) / rate - 1) > 1e-4:
        return f"Mpts/s={values['Mpts/s']}, points over Time_run are {rate:g}"
    return None
