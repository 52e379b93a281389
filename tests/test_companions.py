"""test_companions.py: what must hold between the outputs of two runs of a companion program,
without a reference: the same bytes with other threads, ranks, sizes of work-groups and tiles;
symmetries, superposition, shifts, conservation, and steps that are split.

Each test draws back-ends, queries and variations from a seed, which a test that fails
prints; RELATIONS_SEED sets it. With --all, more are drawn, with a new seed; STEP= draws from
these steps only.
"""
import math
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.helpers import ROOT, binaries, npy, program_named, run, seed
from tests.pairwise import pairwise
from tests.test_cluster import ranks
from tools.base import tree
from tools.base.tree import BACKENDS
from tools.history import rungs
from tools.verify import execute, queries

SEED = seed("RELATIONS_SEED")
NAMES = "fletcher", "gridding", "fluid", "sandpile"
GROUPS = "1,1,1", "3,5,2", "8,2,2", "2,2,2", "1,7,3", "64,1,1"
TILES = "0", "2", "3", "5", "8", "33", "64"
# Options that do not change the outputs.
NEUTRAL: dict[str, dict[str, Sequence[str]]] = {
    "fletcher": {"local": GROUPS},
    "gridding": {"copies": "01235", "strips": ("1,1", "2,3", "3,1", "5,2")},
    "fluid": {"local": GROUPS, "solver": ("rb",)},
    "sandpile": {"local": GROUPS, "tilew": TILES, "tileh": TILES,
                 "halo": ("0", "1", "2", "3", "5", "16", "33")},
}


class Point:
    """A back-end of a step, drawn by lot. Each run has other threads, ranks, fractions of the
    device and options of NEUTRAL."""

    def __init__(self, check, name, folder, key, backends=None):
        self.rng = random.Random(f"{SEED} {name} {key}")
        print(f"RELATIONS_SEED={SEED}")
        self.check, self.program, self.folder = check, program_named(name), folder
        points = [(step, backend) for step in rungs.selected_steps()
                  for backend in step.available(self.program)
                  if not backends or backend in backends]
        # Each back-end is as likely as each other: few steps have ranks or two sides.
        self.backend = self.rng.choice(sorted({backend for _, backend in points}))
        self.step = self.rng.choice([s for s, b in points if b == self.backend])
        self.name = f"{self.step.number} {self.backend} {key}"
        self.runs = 0

    def varied(self):
        """(options, variables) that do not change the outputs."""
        rng, about = self.rng, BACKENDS[self.backend]
        options = {key: rng.choice(values) for key, values in NEUTRAL[self.program.name].items()
                   if rng.random() < 0.6}
        if about.sides:
            options["share"] = rng.choice(("0", "1", "37", "50", "99", "100", "auto"))
        lanes = about.device == "opencl" or "opencl" in about.needs
        variables: dict[str, Any] = {
            "OMP_NUM_THREADS": rng.randint(1, 3 if about.launch else 7),
            "RANKS": rng.randint(1, 5), "POCL_MAX_PTHREAD_COUNT": rng.randint(1, 7),
            "PROCESSORS": rng.randint(1, 9), "CUDA_CPU_SEED": rng.randint(1, 99),
            "CACHE_L2": rng.choice((1, 3000, 20000, 2**20, 2**31 - 1))}
        if lanes and rng.random() < 0.3:
            variables["DEVICE_AS"] = "gpu"
        return options, variables

    def run(self, query, files=(), **arrays):
        """The outputs of a query, {key: array}; arrays are written to KEY.npy and given as
        KEY=. None, after a failed check, if the run fails."""
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir(parents=True)
        options, variables = self.varied()
        for key, array in arrays.items():
            numpy.save(folder / f"{key}.npy", numpy.ascontiguousarray(array))
            options[key] = folder / f"{key}.npy"
        options.update(query if isinstance(query, dict) else
                       (word.split("=", 1) for word in query.split()))
        words = [f"{key}={value}" for key, value in options.items()]
        print(f"{self.name}, run {self.runs}:", *words, variables)
        ended = execute.produce(self.step, self.program, self.backend, words, folder,
                                {key: str(value) for key, value in variables.items()})
        self.check(f"{self.name}: run {self.runs}", ended["reason"])
        if not ended["ok"]:
            pytest.fail(f"{self.name}: {ended['reason']}")
        found = {key: numpy.load(path) for key, path in ended["files"].items()}
        self.printed = ended["result"].values()
        return found

    def same(self, what, *pairs):
        """Checks that arrays have the same values. Denormal numbers count as 0: devices may
        flush them."""
        for found, expected in pairs:
            found, expected = numpy.asarray(found), numpy.asarray(expected)
            wrong = "shapes differ" if found.shape != expected.shape else \
                self.differ(abs(found.astype(float) - expected) > 2.0**-120)
            self.check(f"{self.name}: {what}", wrong)

    @staticmethod
    def differ(where):
        return where.any() and f"{numpy.count_nonzero(where)} of {where.size} differ, first at " \
            f"{numpy.argwhere(where)[0]}"

    def close(self, what, tolerance, *pairs, least=0.0):
        """Checks that arrays are equal within a fraction of the largest value, or of `least`
        if that is larger."""
        for found, expected in pairs:
            apart = abs(found.astype(float) - expected).max()
            size = max(abs(expected).max(), least)
            self.check(f"{self.name}: {what}", not apart <= tolerance * size and
                       f"differ by {apart:.3g} of {size:.3g}")


def points(check, name, tmp_path, everything, few, **limits):
    """Points, each with a folder of its own."""
    for number in range(10 * few if everything else few):
        yield Point(check, name, tmp_path / f"p{number}", number, **limits)


# ---- options that change nothing ------------------------------------------------------


def defaults(binary):
    """{key: default} of an option that has one, as help prints it."""
    found = re.findall(r"^  (\w+)=(\S+) ", run([binary, "help"], ROOT).stdout, re.M)
    # These zeros and this -1 mean that the option is missing, and are out of range.
    missing = {"dim": "0", "batch": "0", "visibilities": "0", "grid": "0", "oversampling": "0",
               "planes": "0", "support": "-1"}
    return {key: value for key, value in found if missing.get(key) != value}


@pytest.mark.seconds(20)
@pytest.mark.parametrize("name", NAMES)
def test_neutral(check, name, tmp_path, everything):
    """Random queries give the same bytes with other threads, options of NEUTRAL and explicit
    defaults. In gridding, the order of the sums may vary, unless they are exact."""
    program = program_named(name)
    for point in points(check, name, tmp_path, everything, 3):
        for number in range(100):
            query = queries.drawn(program, f"{SEED}-{point.name}", number, point.folder / "data")
            words = dict(word.split("=", 1) for word in query.arguments)
            whole = "in" not in words or not numpy.any(numpy.load(words["in"])[:, 3:] % 1)
            exact = name != "gridding" or words.get("kernel") == "integer" and whole or \
                words.get("task") == "degrid"
            # Which taps are omitted depends on the sizes of blocks.
            exact = exact and float(words.get("accuracy", 0)) == 0
            if exact and words.get("rule") != "async" and "trace" not in words and \
                    words.get("solver") != "gs" and query.has(point.backend):
                break
        for key in NEUTRAL[name]:
            words.pop(key, None)
        first = point.run(words)
        given = {key: value for key, value in defaults(
            point.step.binary(program, point.backend)).items()
            if key not in words and not (key == "uv" and "preset" in words)
            and not (key == "n" and "nx" in words)}
        again = point.run({**given, **words})
        point.same("defaults given", *((again[key], first[key]) for key in first))


# ---- sandpile -------------------------------------------------------------------------


def images(pile):
    """The eight images of a square under rotations and reflections."""
    turned = [numpy.rot90(pile, k) for k in range(4)]
    return numpy.stack(turned + [image.T for image in turned])


def bordered(cells):
    return numpy.pad(cells, [(0, 0)] * (cells.ndim - 2) + [(1, 1)] * 2).astype("<i4")


def sandpile(point):
    rng = numpy.random.default_rng(point.rng.getrandbits(32))
    side = point.rng.choice((1, 2, 5, 8, 15, 16, 17, 23, 31, 33))
    most = point.rng.choice((4, 8, 8, 20, 300 if side < 12 else 8))
    pile, other = rng.integers(0, most, (2, side, side))
    found = point.run({}, config=bordered(images(pile)))
    stable, counts = found["out"], found["counts"]
    point.same("images", (stable, bordered(images(stable[0, 1:-1, 1:-1]))),
               (counts, counts[:1].repeat(8)))
    point.check(f"{point.name}: stable", not (0 <= stable.min() <= stable.max() < 4)
          and stable.max())
    point.check(f"{point.name}: grains",
          int(point.printed["sunk"]) + stable.sum() != 8 * pile.sum() and point.printed)
    # The same grains in another order, and once more.
    ends = stable[:1, 1:-1, 1:-1]
    after = point.run({}, config=bordered(numpy.stack([ends[0] + other, pile + other,
                                                       ends[0]])))
    point.same("order of additions", (after["out"][0], after["out"][1]))
    point.same("stable", (after["out"][2], stable[0]), (after["counts"][2], 0))
    # Steps that are split.
    before = int(rng.integers(0, counts[0] + 1))
    half = point.run({"max_iterations": before}, config=bordered(pile[None]))["out"]
    rest = point.run({}, config=half)
    point.same(f"split after {before} of {counts[0]}", (rest["out"].squeeze(), stable[0]),
               (rest["counts"].sum() + before, counts[0]))
    # The same pile elsewhere: avalanches stay within a distance of two times its side.
    small = rng.integers(0, 6, (4, 4))
    places = rng.integers(9, point.rng.choice((20, 70)), (3, 2))
    large = numpy.zeros((3, *[int(places.max()) + 13] * 2), int)
    for grid, (y, x) in zip(large, places):
        grid[y:y + 4, x:x + 4] = small
    moved = point.run({}, config=bordered(large))
    parts = [grid[1:-1, 1:-1][y - 9:y + 13, x - 9:x + 13]
             for grid, (y, x) in zip(moved["out"], places)]
    point.same("moved", *((part, parts[0]) for part in parts[1:]),
               (moved["out"].sum((1, 2)), small.sum().repeat(3)))



@pytest.mark.seconds(10)
def test_sandpile_exchanges(check, tmp_path, everything):
    """Every number of ghost rows and height of a tile, for piles of 0 to 7 grains, which the
    bit planes hold at once, and for larger ones."""
    for point in points(check, "sandpile", tmp_path, everything, 3,
                        backends=("mpi", "hybrid", "hybrid-cuda-cpu")):
        rng = numpy.random.default_rng(point.rng.getrandbits(32))
        shape = point.rng.choice((1, 1, 2, 3)), *[point.rng.choice((23, 40, 61, 90))] * 2
        piles = bordered(rng.integers(0, point.rng.choice((8, 8, 300)), shape))
        query = {"max_iterations": point.rng.choice((7, 33, 50, 97))}
        first = Point(check, "sandpile", point.folder / "seq", "", ("seq",)).run(query,
                                                                                 config=piles)
        for _ in range(4):
            found = point.run({**query, "halo": point.rng.randint(1, 40),
                               "tileh": point.rng.randint(1, 40)}, config=piles)
            point.same("the first step", *((found[key], first[key]) for key in first))


# ---- gridding -------------------------------------------------------------------------


def gridding(point):
    rng = numpy.random.default_rng(point.rng.getrandbits(32))
    support, fine = int(rng.integers(0, 10)), int(rng.choice((1, 3, 4, 5, 8)))
    grid = 2 * support + int(rng.choice((1, 20, 41, 64)))
    cell, n = float(rng.choice((1, 8, 64))), int(rng.choice((1, 7, 40, 300)))
    # Multiples of a fraction of a cell; some footprints touch the edges.
    low, high = support - grid // 2, grid - 1 - support - grid // 2
    rows = numpy.empty((n, 6))
    rows[:, :2] = rng.integers(low, high + 1, (n, 2)) * cell
    rows[:, 2] = rng.integers(-8, 9, n) / 8 * cell**2
    rows[0, 2] = cell**2
    rows[:, 3:5] = rng.integers(-8, 9, (n, 2))
    rows[:, 5] = rng.integers(0, 3, n)
    rows[0, 5] = 1
    query = {"grid": grid, "support": support, "oversampling": fine, "cell": cell,
             "planes": int(rng.choice((1, 2, 9))), "kernel": "integer",
             "precision": rng.choice(("single", "double"))}

    def gridded(rows, **changes):
        return point.run({**query, **changes}, **{"in": rows})["out"]
    first = gridded(rows)
    point.same("permuted", (gridded(rng.permutation(rows)), first))
    twice = numpy.repeat(rows, 2, 0)
    twice[::2, 3:5] *= 2
    point.same("superposition", (gridded(twice), 3 * first))
    point.same("u and v exchanged",
               (gridded(rows[:, [1, 0, 2, 3, 4, 5]]), first.transpose(1, 0, 2)))
    apart = rows.copy()
    apart[::2, 5] = 0
    apart[0, 5], rest = rows[0, 5], rows.copy()
    rest[1::2, 5] = 0
    rest[0, 5] = 0
    if rest[:, 5].any():
        point.same("split", (gridded(apart) + gridded(rest), first))
    # A larger grid, in which all footprints move by whole cells.
    wide = gridded(rows + [3 * cell, -2 * cell, 0, 0, 0, 0], grid=grid + 8)
    corner = (grid + 8) // 2 - grid // 2
    block = wide[corner - 2:corner - 2 + grid, corner + 3:corner + 3 + grid]
    point.same("moved", (block, first), (wide.sum((0, 1)), first.sum((0, 1))))
    # Powers of two, with functions that are not integers.
    model = rng.standard_normal((grid, grid, 2))
    for task in "degrid", "grid":
        real = {"kernel": "w", "task": task}
        small = rows.copy()
        small[:, 3:5] *= 2.0**-20
        if task == "grid":
            point.close("scaled", 1e-6, (gridded(rows, **real),
                                         gridded(small, **real) * 2.0**20))
            continue
        values = [point.run({**query, **real}, **{"in": rows, "model": m})["out"]
                  for m in (model.astype("f4"), model.astype("f4") * 2.0**-20)]
        order = rng.permutation(n)
        found = point.run({**query, **real}, **{"in": rows[order],
                                                "model": model.astype("f4")})["out"]
        for what, pair in (("scaled", (values[0], values[1] * 2.0**20)),
                           ("permuted, degrid", (found, values[0][order]))):
            point.same(what, pair)



# ---- fluid ----------------------------------------------------------------------------


def written(path, events):
    """A file of events (step, source) and (step, force along x, y, z)."""
    lines = [f"{'force' if len(values) == 3 else 'source'} {' '.join(map(repr, values))} {step}"
             for step, *values in sorted(events, key=lambda event: event[0])]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def fluid(point):
    rng = point.rng
    sides = [rng.choice((1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33)) for _ in range(3)]
    steps = rng.choice((1, 2, 3))
    # At most one source per step.
    sources = [(step, float(rng.randint(1, 60)))
               for step in (0, rng.randrange(1, max(steps, 2)))]
    forces = [(rng.randrange(steps), *(rng.choice((-1, 1)) * rng.uniform(1, 9)
                                       for _ in range(3))) for _ in range(2)]
    query = {"steps": steps, "sweeps": rng.choice((1, 2, 3, 5, 20)),
             "visc": rng.choice((0, 1e-4, 0.01)), "diff": rng.choice((0, 1e-4, 0.01)),
             "compat": rng.choice(("none", "none", "minho"))}
    box = dict(zip(("nx", "ny", "nz"), sides))

    def flow(name, events, box=box, **changes):
        path = written(point.folder / f"{name}.txt", events)
        return point.run({**query, **box, **changes, "events": path})
    first = flow("first", sources + forces)
    # An event overwrites the earlier one of its kind and step; those after the last step
    # have no effect.
    late = flow("late", [(sources[0][0], 0.0), (forces[0][0], 1.0, 2.0, 3.0), *forces,
                         *sources, (steps, 7.0), (steps + 3, 1.0, 2.0, 3.0)])
    point.same("events without effect", *((late[key], first[key]) for key in first))
    # The density is linear in the sources, which do not change the velocity.
    eight = flow("eight", [(step, 8 * source) for step, source in sources] + forces)
    point.same("sources scaled", (eight["out"], 8 * first["out"]),
               (eight["velocity"], first["velocity"]))
    parts = [flow(f"part{number}", [(step, source * (number == k))
                                    for k, (step, source) in enumerate(sources)] + forces)
             for number in range(2)]
    point.close("sources added", 1e-5,
                (parts[0]["out"].astype(float) + parts[1]["out"], first["out"]))
    # Axes exchanged: the sums of neighbours have another order. (compat=minho treats the
    # axes differently.)
    order = rng.choice(((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)))
    plain = first if query["compat"] == "none" else flow("first", sources + forces,
                                                         compat="none")
    turned = flow("turned", sources + [(step, *(force[axis] for axis in order))
                                       for step, *force in forces],
                  dict(zip(("nx", "ny", "nz"), (sides[axis] for axis in order))),
                  compat="none")
    # Axis k of the turned box is axis order[k] of the first; arrays have z first.
    axes = [2 - order.index(2 - k) for k in range(3)]
    velocity = numpy.stack([turned["velocity"][order.index(axis)].transpose(axes)
                            for axis in range(3)])
    point.close("axes exchanged", 1e-4, (turned["out"].transpose(axes), plain["out"]))
    point.close("axes exchanged, velocity", 1e-4, (velocity, plain["velocity"]), least=9)
    still = flow("still", sources[:1], diff=0.01, compat="none", sweeps=200)
    point.check(f"{point.name}: still", numpy.count_nonzero(still["velocity"]))
    point.close("still, total", 1e-3, (still["out"].sum(keepdims=True),
                                       numpy.full((1, 1, 1), sources[0][1])))



# ---- fletcher -------------------------------------------------------------------------


def fletcher(point):
    rng = point.rng
    sides = [rng.choice((1, 2, 5, 8, 9, 15, 17, 24, 33)) for _ in range(3)]
    steps = rng.choice((1, 2, 3, 4, 7, 10, 11))
    theta, phi = rng.uniform(-1.5, 1.5), rng.uniform(-3, 3)
    query = {"form": rng.choice(("ISO", "VTI", "TTI", "TTI")), "dt": 0.001,
             "tmax": 0.001 * steps, "absorb": rng.choice((0, 0, 1, 3)),
             "vpz": rng.choice((2000.0, 3000.0)), "dx": 12.5, "dy": 11.0, "dz": 13.0}
    tilted = query["form"] == "TTI"

    def waves(sides=sides, theta=theta, phi=phi, **changes):
        box = dict(zip(("nx", "ny", "nz"), sides))
        tilt = {"theta": repr(theta), "phi": repr(phi)} if tilted else {}
        found = point.run({**query, **box, **tilt, **changes})
        return [found["out"], found["q"]]
    first = waves()
    scale = 2.0 ** rng.choice((-2, -1, 1, 2))
    point.same("velocities and distances scaled", *zip(waves(
        vpz=query["vpz"] * scale, **{key: query[key] * scale for key in ("dx", "dy", "dz")}),
        first))
    # Snapshots are the outputs of shorter runs.
    folder = point.folder / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    waves(sides, tmax=0.021 if rng.random() < 0.5 else 0.02, dt=0.0005,
          vpz=query["vpz"] / 2, snapshots=folder)
    for number in 1, 2:
        shorter = waves(tmax=0.01 * number, dt=0.0005, vpz=query["vpz"] / 2)
        point.same(f"snapshot {number}", (numpy.load(folder / f"p-000{number}.npy"),
                                          shorter[0]))
    # A grid in which the waves do not reach the faces, and one that is larger.
    few, reach = rng.choice((1, 2, 3)), 4
    inside = [2 * reach * few + rng.randint(1, 9) for _ in range(3)]
    more = [side + 2 * rng.randint(0, 9) for side in inside]
    small, large = (waves(n, absorb=0, tmax=0.001 * few) for n in (inside, more))
    cut = tuple(slice((b - a) // 2, (b - a) // 2 + a + 2 * reach)
                for a, b in zip(inside[::-1], more[::-1]))
    point.same("a larger grid", *((b[cut], a) for a, b in zip(small, large)))
    for a, b in zip(small, large):
        point.check(f"{point.name}: nothing outside",
              numpy.count_nonzero(a) != numpy.count_nonzero(b))
    # Mirror images. Sides of an odd number of points have the source in the middle.
    odd = [2 * (side // 2) + 1 for side in sides]
    base = waves(odd, absorb=0)
    flipped = [(2, -theta, -phi), (1, theta, -phi), (0, -theta, phi)]
    axis, turned, around = rng.choice(flipped)
    point.close("mirrored", 2e-6, *((numpy.flip(a, axis), b) for a, b in zip(
        waves(odd, turned, around, absorb=0), base)))
    # Axes exchanged: a direction (x, y, z) becomes (y, z, x).
    x, y, z = (math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi),
               math.cos(theta))
    if tilted:
        cycled = waves(odd[1:] + odd[:1], math.acos(x), math.atan2(z, y), absorb=0,
                       dx=query["dy"], dy=query["dz"], dz=query["dx"])
        point.close("axes exchanged", 2e-6, *((a.transpose(1, 2, 0), b)
                                              for a, b in zip(cycled, base)))



@pytest.mark.seconds(10)
@pytest.mark.parametrize("name", NAMES)
def test_relations(check, name, tmp_path, everything):
    relations = {"fletcher": fletcher, "gridding": gridding, "fluid": fluid, "sandpile": sandpile}
    for point in points(check, name, tmp_path, everything, 3):
        relations[name](point)


# ---- ranks that differ ------------------------------------------------------------------

RANKS = {
    "fletcher": "nx=3 ny=4 nz=9 absorb=1 tmax=0.002 vpz=in.npy",
    "gridding": "in=in.npy grid=40 support=2 oversampling=2 planes=2 cell=8",
    "fluid": "events=in.txt n=6 steps=1",
    "sandpile": "config=in.npy max_iterations=9"}
OTHER = {"form": "VTI", "uv": "random", "kernel": "integer", "precision": "double",
         "task": "degrid", "model": "noise", "compat": "minho", "rule": "async",
         "preset": "small"}
GROUP = {"local": "1,1,2", "strips": "1,2"}


def input_of(name, changed=False):
    """The bytes of the input file of RANKS."""
    if name == "fluid":
        return b"source 9 0\nforce 1 2 %d 0\n" % (3 + changed)
    values = {"fletcher": numpy.full((9, 4, 3), 2000.0, "<f4"),
              "gridding": numpy.ones((5, 6), "<f8"),
              "sandpile": bordered(numpy.full((12, 12), 5))}[name]
    if changed:
        values[tuple(size - 1 - (name == "sandpile") for size in values.shape)] += 1
    return npy(values, values.dtype.str)


@pytest.mark.seconds(5)
@pytest.mark.parametrize("name", NAMES)
def test_rank_that_differs(check, name, tmp_path, everything):
    """One rank has another value of an argument, or one more, or another file, none, or a part
    of it: the run ends with one line and leaves no output."""
    print(f"RELATIONS_SEED={SEED}")
    rng = random.Random(f"{SEED} ranks {name}")
    found = binaries(name, ("mpi",))
    if not found:
        pytest.skip("no MPI")
    binary, base = os.path.abspath(found[-1][2]), RANKS[name].split()
    source = base[-1 if name == "fletcher" else 0].partition("=")[2]
    folders = {what: tmp_path / what for what in ("same", "other", "none", "part")}
    for what, folder in folders.items():
        folder.mkdir()
        data = input_of(name, what == "other")
        if what != "none":
            (folder / source).write_bytes(data[:-5] if what == "part" else data)
    help_text, changes = run([binary, "help"], ROOT).stdout, []
    for key, value, text in re.findall(r"^  (\w+)=(\S*) +(.*)", help_text, re.M):
        ends = re.search(r"\(from (\S+) to (\S+)\)$", text)
        if ends:  # the least value, or another one if that is the default
            low, high = ends.groups()
            other = low if low != value else f"{min(float(low) + 1, float(high)):g}"
        else:
            other = OTHER.get(key, "other.npy")
        if key != "out" and f"{key}=in" not in RANKS[name]:
            changes.append(f"{key}={GROUP.get(key, other)}")
    cases = [*((change, "same") for change in changes), ("", "other"), ("", "none"), ("", "part")]
    some = [*rng.sample(cases[:-3], 3), rng.choice(cases[-3:])]
    for change, what in cases if everything else some:
        ranks_before, key = rng.randint(1, 3), change.partition("=")[0]
        there = [*base, "out=out.npy"]
        cut = rng.randrange(len(there))  # each argument is the last one in some runs
        there = there[cut:] + there[:cut]
        changed = [change if w.partition("=")[0] == key else w for w in there]
        changed += [change] * (bool(change) and changed == there)
        end = rng.choice(([], [":", "-wdir", folders["same"], "-n", "1", binary, *there]))
        p = ranks(binary, [], str(tmp_path), launch=list(map(str, [
            "-wdir", folders["same"], "-n", ranks_before, binary, *there, ":",
            "-wdir", folders[what], "-n", "1", binary, *changed, *end])))
        expected = {"same": f"the arguments: rank {ranks_before} differs from rank 0",
                    "other": f"rank {ranks_before} differs from rank 0",
                    "none": re.escape(source), "part": re.escape(source)}[what]
        lines = [line for line in p.err.splitlines() if line.startswith(f"{name}: ")]
        check(f"{change} {what}, rank {ranks_before}", (
            p.returncode != 1 or len(lines) != 1 or not re.search(expected, lines[0]) or p.out
            or list(tmp_path.glob("*/*out*"))) and f"{p.returncode} {p.out} {p.err[-500:]}")


# ---- every option with every other ------------------------------------------------------

# Values of options, None for an option that is not given. Not options of the program are steps,
# which determines tmax=, the variables, and the back-end, whose step is drawn.
MACHINE: dict[str, Sequence[str | None]] = {
    "OMP_NUM_THREADS": ("1", "2", "3", "7"), "RANKS": ("1", "2", "3", "5"),
    "CACHE_L2": ("1", "20000", "2147483647"), "PROCESSORS": ("1", "4"),
    "POCL_MAX_PTHREAD_COUNT": ("1", "3"), "DEVICE_AS": (None, "gpu"),
    "share": (None, "0", "30", "100"), "local": (None, "1,1,1", "3,5,2", "8,2,1")}
OPTIONS: dict[str, dict[str, Sequence[str | None]]] = {
    "fletcher": {
        "nx": ("1", "7", "24"), "ny": ("1", "5", "17"), "nz": ("2", "9", "20"),
        "absorb": ("0", "1", "5"), "steps": ("1", "2", "21", "24"), "dx": ("12.5", "10"),
        "dy": ("12.5", "11"), "dz": (None, "13"), "form": (None, "ISO", "VTI", "TTI"),
        "vpz": (None, "2500", "file"), "epsilon": (None, "0.3", "0.1", "file"),
        "delta": (None, "0.1", "0.4", "file"), "theta": (None, "-0.6", "file"),
        "phi": (None, "2", "file"), "sigma": (None, "0.6", "11"),
        "snapshots": (None, "folder"), "picture": (None, "picture.png")},
    "gridding": {
        "uv": (None, "random", "file"), "visibilities": ("3", "40", "300"),
        "grid": ("40", "65", "99"), "support": ("0", "1", "4", "9"),
        "oversampling": ("1", "4", "5"), "planes": ("1", "2", "9"), "cell": ("40", "64"),
        "baseline": ("100", "600"), "frequency": (None, "1.1e9"),
        "kernel": (None, "w", "integer"), "precision": (None, "single", "double"),
        "task": (None, "grid", "degrid", "image"), "field": (None, "1"), "strict": (None, "0"),
        "model": (None, "sources", "noise", "file"), "accuracy": (None, "0", "0.001", "0.1"),
        "copies": (None, "1", "3"), "strips": (None, "1,1", "3,2")},
    "fluid": {
        "n": ("3", "6"), "nx": ("0", "1", "9", "17"), "ny": ("0", "2", "8"),
        "nz": (None, "1", "5", "12"), "steps": ("-1", "0", "1", "3"),
        "dt": (None, "0", "0.5"), "diff": (None, "0", "0.01"), "visc": (None, "0", "0.02"),
        "sweeps": (None, "0", "1", "5", "20"), "compat": (None, "none", "minho"),
        "solver": (None, "rb"), "profile": (None, "1"), "events": ("short", "storm", "tiny")},
    "sandpile": {
        "config": (None, "dim", "alea", "big", "file"), "dim": ("3", "9", "18", "35", "66"),
        "batch": (None, "1", "2", "5"), "seed": (None, "7"),
        "max_iterations": ("0", "1", "17", "40"), "rule": (None, "sync", "async"),
        "tilew": (None, "2", "5", "33"), "tileh": (None, "2", "3", "8"),
        "halo": (None, "1", "2", "5", "40"), "trace": (None, "trace.csv")},
}
RANGES = {"vpz": (1500, 3500), "epsilon": (0, 0.3), "delta": (0, 0.3), "theta": (-1, 1),
          "phi": (-3, 3)}


def words_of(name: str, row: dict[str, Any], step: tree.Step, backend: str, folder: Path,
             rng: random.Random) -> list[str]:
    """The arguments of a row of options, without those that do not go together. Writes the
    files that it names."""
    row = {key: value for key, value in row.items() if value is not None}
    source = numpy.random.default_rng(rng.getrandbits(32))
    if name == "fletcher":
        row.update(dt="0.0005", tmax=str(0.0005 * int(row.pop("steps"))))
        if row.get("sigma") == "11" and row.get("delta") in ("0.4", "file"):
            row["delta"] = "0.1" if row.get("epsilon") != "file" else "0"  # not above epsilon
        if row.get("sigma") == "11" and row.get("form") == "ISO" and "epsilon" not in row:
            row["delta"] = "0"
        shape = [int(row[key]) for key in ("nz", "ny", "nx")]
        for key, ends in RANGES.items():
            if row.get(key) == "file":
                numpy.save(folder / f"{key}.npy", source.uniform(*ends, shape).astype("<f4"))
                row[key] = folder / f"{key}.npy"
        for key in "snapshots", "picture":
            if key in row:
                row[key] = folder / row[key]
        (folder / "folder").mkdir()
    elif name == "gridding":
        row.pop("local", None)
        if row.get("task") == "image":
            row = {key: value for key, value in row.items() if key not in ("kernel", "precision")}
            row["accuracy"] = "0.001"
        grid, support = int(row["grid"]), int(row["support"])
        if row.get("uv") == "file":
            n, reach = int(row["visibilities"]), (grid // 2 - support - 1) * float(row["cell"])
            rows = source.uniform(-reach, reach, (n, 6))
            rows[:, 3:5] = source.integers(-4, 5, (n, 2))
            rows[:, 5] = source.integers(0, 2, n)
            rows[0, 5] = 1
            numpy.save(folder / "in.npy", rows)
            row["in"] = folder / "in.npy"
            del row["uv"]
        if row.get("model") == "file":
            numpy.save(folder / "model.npy", source.integers(-4, 5, (grid, grid, 2)).astype("<f4"))
            row["model"] = folder / "model.npy"
    elif name == "fluid":
        row["events"] = program_named(name).data / f"{row['events']}.txt"
    else:
        if row.get("rule") == "async" and "cpu.c" not in BACKENDS[backend].sources:
            row["rule"] = "sync"
        if "trace" in row:
            row["trace"] = folder / row["trace"]
            if backend not in ("seq", "omp") or step.number == "00":
                del row["trace"]
        if row.get("config") == "file":
            side = int(row["dim"]) - 2
            numpy.save(folder / "pile.npy", bordered(
                source.integers(0, 9, (int(row.get("batch", 1)), side, side))))
            row["config"] = folder / "pile.npy"
    return [f"{key}={value}" for key, value in row.items()]


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", NAMES)
def test_pairs(check, name, tmp_path, everything):
    """Each pair of values of two options, on some step, against the oracle; some of them
    without --all."""
    print(f"RELATIONS_SEED={SEED}")
    rng, program = random.Random(f"{SEED} {name}"), program_named(name)
    having: dict[str, list] = {}
    for step in rungs.selected_steps():
        for backend in step.available(program):
            having.setdefault(backend, []).append(step)
    rows = pairwise({**OPTIONS[name], **MACHINE, "backend": list(having)})
    check("at most 200 rows", len(rows) > 200 and len(rows))
    for number, row in enumerate(rows if everything else rng.sample(rows, 6)):
        backend = row.pop("backend")
        env = {key: value for key in MACHINE if key.isupper() and (value := row.pop(key))}
        step, folder = rng.choice(having[backend]), tmp_path / str(number)
        folder.mkdir()
        share = row.pop("share") if BACKENDS[backend].sides else None
        row.pop("share", None)
        words = words_of(name, row, step, backend, folder, rng)
        outcome = execute.run_and_check(step, program, backend, words, folder / "out",
                                        f"pairs-{os.getpid()}-{number}", env,
                                        extra=[f"share={share}"] if share else ())
        for path in (tree.build() / "oracle" / name).glob(f"pairs-{os.getpid()}-{number}-*"):
            path.unlink()
        check(f"{step.number} {backend} {' '.join(words)} share={share} {env}",
              not outcome["ok"] and outcome["reason"])
