"""fletcher.py - random queries of the wave modelling, and tests of what it prints.

Drawn are grids of one point, of a few, with one side long, with rows so long that few of
them fill a cache, with planes of more points than 16 bits can count; bands of 0 points and
more, padding or none; one step, two, three, or so many that waves meet every face;
spacings that agree, differ or differ by orders of magnitude; steps up to the limit of
stability and far below it; all forms, and each property left out, a number, or a file
that is constant, constant except for one point, layered, a slope or random; work-group
sizes that divide no side; 1 to 64 threads; pictures and snapshots.

Rock in which plane waves grow is refused, so it is drawn anew. If delta exceeds epsilon,
waves can grow where velocities vary: such rock gets few steps.

wrong_output() compares the energy and the picture with the files, the memory with the
number of fields that a step can have, and the rate with the points and Time_run. It does
not judge times.
"""
from __future__ import annotations

import math
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.verify.queries import Query

HALO = 4
LINE = 16  # floats of a cache line
ROCKS = (10, 7)  # fields of the rock that a step takes
DERIVED = 6  # planes of derivatives
# A workspace of march.h: for p and q of two rows at a time, or of one (a rung of step 09).
WORK_ROWS = (4 * (2 + 4 + 2 * 16), 2 * (2 + 2 + 2 * 16))
RING = 9  # planes of each derivative in the paper's program
PROPERTIES = ("vpz", "epsilon", "delta", "theta", "phi")
FORMS = {"ISO": (3000, 0, 0, 0, 0), "VTI": (3000, 0.24, 0.1, 0, 0),
         "TTI": (3000, 0.24, 0.1, math.pi / 4, 1)}
SNAPSHOT = 0.01  # seconds from one to the next

# ---- drawing ----------------------------------------------------------------------


def draw_sides(rng: random.Random) -> Any:
    """Points inside along x, y, z, and of the band."""
    kind = rng.choice(("tiny", "tiny", "few", "few", "long", "long", "row"))
    absorb = rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 7))
    if kind == "tiny":
        n = [rng.choice((1, 1, 2, 3)) for _ in range(3)]
        absorb = rng.choice((0, 0, 1, 2) if rng.random() < 0.9 else (0, 16))
    elif kind == "few":
        n = [rng.randint(1, 14) for _ in range(3)]
    elif kind == "long":
        n = [rng.choice((1, 1, 2, 3)) for _ in range(3)]
        axis = rng.randrange(3)
        n[axis] = rng.randint(15, (150, 150, 40)[axis])
        absorb = rng.choice((0, 0, 1, 2))
    elif rng.random() < 0.3:  # longer than a cache can hold
        n = [rng.randint(850, 1500), rng.choice((1, 2, 6)), rng.choice((1, 9))]
        absorb = 0
    elif rng.random() < 0.15:  # a plane of more points than 16 bits count, so narrow
        n = [rng.randint(1000, 1400), 1, 1]  # that waves come to its last rows
        n[1], absorb = 65536 // (n[0] + 2 * HALO) - HALO + rng.randint(0, 4), 0
    else:
        n = [rng.randint(150, 400), rng.choice((1, 2, 9)), rng.choice((1, 2))]
        absorb = 0
    return n, absorb


def draw_number(rng: random.Random, key: str) -> Any:
    if key == "vpz":
        return rng.choice((1500, 3000, 4481.5, rng.uniform(300, 7000)))
    if key in ("epsilon", "delta"):
        return rng.choice((0, 0.1, 0.24, -0.1, rng.uniform(-0.3, 0.6)))
    return rng.choice((0, math.pi / 4, -0.6, 1, -1, 3, -99.5, 100,
                       rng.uniform(-100, 100), rng.uniform(-1.6, 1.6)))


def spelled(rng: random.Random, value: Any) -> str:
    """A number in one of the notations that people use."""
    if value == int(value):
        return rng.choice([format(value, how) for how in (".0f", ".1f", "+.0f", ".6e")])
    text = repr(value)
    if text.startswith("0.") and rng.random() < 0.3:
        text = text[1:]
    return text


def draw_values(rng: random.Random, key: str, n: Any) -> Any:
    """An array of a property, [nz][ny][nx]."""
    shape = n[::-1]
    values = np.full(shape, draw_number(rng, key))
    how = rng.choice(("same", "but one", "layers", "slope", "random", "random"))
    if how == "but one":
        at = rng.choice((0, values.size - 1, rng.randrange(values.size)))
        values.flat[at] = draw_number(rng, key)
    elif how == "layers":
        for z in range(shape[0]):
            values[z] = draw_number(rng, key)
    elif how == "slope":
        axis = rng.randrange(3)
        ends = np.linspace(draw_number(rng, key), draw_number(rng, key), shape[axis])
        values = np.broadcast_to(np.moveaxis(ends.reshape(-1, 1, 1), 0, axis),
                                 shape).copy()
    elif how == "random":
        for i in range(values.size):
            values.flat[i] = draw_number(rng, key)
    return values.astype(rng.choice(("<f4", "<f8")))


def draw_rock(rng: random.Random, folder: Path, n: Any) -> Any:
    """(arguments, each property as a number or an array, sigma)."""
    form = rng.choice(("ISO", "VTI", "TTI", "TTI", None))
    arguments = [f"form={form}"] if form else []
    rock = dict(zip(PROPERTIES, FORMS[form or "TTI"]))
    how = rng.choice(("form", "numbers", "mixed", "mixed", "files"))
    for key in PROPERTIES:
        kind = {"form": "no", "numbers": "number", "files": "file",
                "mixed": rng.choice(("no", "number", "file"))}[how]
        if kind == "number":
            rock[key] = draw_number(rng, key)
            arguments.append(f"{key}={spelled(rng, rock[key])}")
        elif kind == "file":
            values = draw_values(rng, key, n)
            np.save(folder / f"{key}.npy", values)
            rock[key] = values.astype(np.float32).astype(np.float64)
            arguments.append(f"{key}={folder / key}.npy")
    extreme = rng.random()
    if extreme < 0.03:
        rock["vpz"] = rng.choice((1e-3, 0.5, 1e6, 1e9))
        arguments = [w for w in arguments if not w.startswith("vpz=")]
        arguments.append(f"vpz={rock['vpz']:g}")
    elif extreme < 0.06:
        key = rng.choice(("epsilon", "delta"))
        rock[key] = rng.choice((-0.49999, -0.45, 3.0, 100.0))
        arguments = [w for w in arguments if not w.startswith(key)]
        arguments.append(f"{key}={rock[key]!r}")
    if rng.random() < 0.4:  # a special case of the equations
        rock["delta"] = rock["epsilon"]
        arguments = [w for w in arguments if not w.startswith("delta=")]
        arguments += [w.replace("epsilon=", "delta=") for w in arguments
                  if w.startswith("epsilon=")] or [f"delta={rock['epsilon']}"]
    sigma = 0.75
    if rng.random() < 0.3:
        sigma = rng.choice((0.75, 0.1, 1e-3, 5, 10, 10.001, 1e9, rng.uniform(0.3, 2)))
        arguments.append(f"sigma={sigma!r}")
    return arguments, rock, sigma


def draw_spacings(rng: random.Random) -> Any:
    """Metres along x, y, z."""
    kind = rng.choice(("usual", "same", "differ", "differ", "differ", "far"))
    if kind == "usual":
        return None, [12.5] * 3
    d = [rng.choice((12.5, 10, 11, 13, rng.uniform(5, 20))) for _ in range(3)]
    if kind == "same":
        d = [d[0]] * 3
    elif kind == "far":
        d[rng.randrange(3)] *= rng.choice((0.1, 10, 1000))
    if rng.random() < 0.05:
        scale = rng.choice((1e-3 / min(d), 1e6 / max(d)))
        d = [min(max(v * scale, 1e-3), 1e6) for v in d]
    return [f"d{axis}={v!r}" for axis, v in zip("xyz", d)], d


def longest_step(rock: Any, sigma: float, d: Any) -> Any:
    """The longest stable time step, in seconds."""
    vpz, epsilon, delta = (np.asarray(rock[k], float) for k in PROPERTIES[:3])
    shear = 0 if sigma > 10 else np.max(vpz * np.sqrt(abs(epsilon - delta) / sigma))
    fastest = np.max(vpz) * math.sqrt(1 + 2 * max(np.max(epsilon), 0))
    x, n = 1 + 2 * epsilon, 1 + 2 * delta
    s = abs(epsilon - delta) / sigma * (sigma <= 10)
    inclined = 0.0  # between the axes, waves can be faster if delta exceeds epsilon
    for a in np.linspace(0, 1, 257):
        b = 1 - a
        root = ((x - s) * a - (1 - s) * b) ** 2 + 4 * (1 - s) * (n - s) * a * b
        square = (x * a + b + s + np.sqrt(np.maximum(root, 0))) / 2
        inclined = max(inclined, np.max(np.where((delta > epsilon) | (s > n),
                                                 vpz * np.sqrt(square), 0)))
    return 0.45 * min(d) / max(fastest, shear, inclined)


def refused(rock: Any, sigma: float) -> bool:
    """Whether plane waves grow, or nearly so, in some of the rock, whatever the time step."""
    epsilon, delta = (np.asarray(rock[k], float) for k in ("epsilon", "delta"))
    x, n = 1 + 2 * epsilon, 1 + 2 * delta
    s = abs(epsilon - delta) / sigma * (sigma <= 10)
    above = delta > epsilon
    high = np.minimum(1 + delta + np.sqrt(x), 10)
    complex_speeds = (s > 0.99 * np.where(above, 1, np.minimum(n, 1))) & (
        s < 1.01 * np.where(above, np.maximum(n, 1), 1))
    return bool(np.any(complex_speeds | above & (sigma > 0.99 * high)))


def grows(rock: Any, sigma: float) -> Any:
    """Whether solutions can grow without bound."""
    return np.any(np.asarray(rock["delta"]) > np.asarray(rock["epsilon"]))


def draw_local(rng: random.Random, n: Any, absorb: int, steps: Any) -> Any:
    """local=X,Y,Z, or nothing. In cuda-cpu, the threads of a block are executed one
    after the other, so large blocks must be few."""
    kind = rng.choice(("no", "no", "one", "few", "few", "flat", "many"))
    sides = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 32, 64)
    group = [1, 1, 1]
    if kind == "no":
        return []
    if kind == "few":
        group = [rng.choice((1, 2, 3, 4, 5)) for _ in range(3)]
    elif kind == "flat":
        group[rng.randrange(3)] = rng.choice(sides)
    elif kind == "many":
        group = [rng.choice(sides) for _ in range(3)]
    points = [k + 2 * absorb for k in n]
    blocks = 1
    for p, g in zip(points[:2], group):
        blocks *= -(-p // g)
    threads = math.prod(group)
    if threads > 1 and (threads > 64 or
                        threads * blocks * points[2] * steps > 4000):
        return []
    return ["local=" + ",".join(map(str, group))]


def draw(rng: random.Random, folder: Path) -> Query:
    n, absorb = draw_sides(rng)
    arguments = [f"n{axis}={k}" for axis, k in zip("xyz", n)]
    if absorb != 16 or rng.random() < 0.5:
        arguments.append(f"absorb={absorb}")
    properties, rock, sigma = draw_rock(rng, folder, n)
    while refused(rock, sigma):
        properties, rock, sigma = draw_rock(rng, folder, n)
    spacings, d = draw_spacings(rng)
    limit = longest_step(rock, sigma, d)
    while not limit > 2e-9:  # what is fast is then also large
        d = [min(v * 1000, 1e6) for v in d]
        spacings = [f"d{axis}={v!r}" for axis, v in zip("xyz", d)]
        limit = longest_step(rock, sigma, d)
    arguments += properties + (spacings or [])

    dt = limit * rng.choice((1 - 1e-9, 0.99, 0.9, 0.5, rng.uniform(0.3, 1), 0.1, 1e-3))
    dt = float(min(max(dt, 1e-9), 1e3))  # numpy 2 would write np.float64(..)
    if limit >= 0.001 and rng.random() < 0.1:
        dt = 0.001
    else:
        arguments.append(f"dt={dt!r}")
    inner = math.prod(k + 2 * absorb for k in n)
    most = min(300, max(2, 40000 // inner), max(2, 500 // (n[2] + 2 * absorb)))
    if inner > 40000:
        most = 12
    if grows(rock, sigma):
        most = min(most, 12)
    steps = rng.choice((1, 2, 3, rng.randint(1, min(most, 20)), most,
                        rng.randint(1, most)))
    part = rng.choice((0, 1e-3, 0.5, 0.999, rng.random()))
    tmax = 1e-9 if steps == 1 and rng.random() < 0.5 else (steps - part) * dt
    if 0.1 / most < dt < 0.1 and rng.random() < 0.2:
        steps = math.ceil(0.1 / dt)
    else:
        arguments.append(f"tmax={max(tmax, 1e-9)!r}")

    threads = rng.choice((1, 2, 3, 4, 7, 16, 64, rng.randint(1, 64)))
    if threads > 8 and steps * (n[2] + 2 * absorb) > 200:
        threads = rng.randint(1, 4)
    arguments += draw_local(rng, n, absorb, steps)
    if rng.random() < 0.3:
        arguments.append(f"snapshots={folder}/snapshots")
    if rng.random() < (0.2 if max(n) < 800 else 0.6):
        arguments.append(f"picture={folder}/picture.png")
    rng.shuffle(arguments)
    return Query(arguments=arguments, env={"OMP_NUM_THREADS": str(threads)})


# ---- what is printed --------------------------------------------------------------

PRINTED = {"MSamples/s", "Steps", "Energy", "Memory", "Time_init", "Time_run",
           "Time_kernel"}
SHARED: tuple[set[str], ...] = (  # also printed, by ranks and by hybrid back-ends
    set(), {"Ranks"}, {"Share"}, {"Share", "Share_even"})


class Asked:
    """The meaning of the arguments, except for the rock."""

    def __init__(self, arguments: Sequence[str]) -> None:
        given = dict(word.split("=", 1) for word in arguments)
        self.n = [int(given.get(f"n{axis}", 216)) for axis in "xyz"]
        absorb = int(given.get("absorb", 16))
        self.updated = math.prod(k + 2 * absorb for k in self.n)
        self.sides = [k + 2 * (absorb + HALO) for k in self.n]
        self.dt = float(given.get("dt", 0.001))
        tmax = float(given.get("tmax", 0.1))
        self.steps = max(1, math.ceil(tmax / self.dt - 1e-6))
        self.snapshots = given.get("snapshots")
        self.picture = given.get("picture")
        self.share = given.get("share", "auto")

    def snapshot_steps(self) -> Any:
        """The steps after which a snapshot is written: at most one after each."""
        found: list[int] = []
        for it in range(1, self.steps + 1):
            if it * self.dt + 1e-9 >= (len(found) + 1) * SNAPSHOT:
                found.append(it)
        return found


def odd_lines(floats: int) -> int:
    lines = -(-floats // LINE)
    return (lines + 1 - lines % 2) * LINE


def memory_is_wrong(asked: Asked, memory: Any, values: Mapping[str, str]) -> str | None:
    """Compares the memory with what a step can have: the rock, p and q twice, and, of the
    derivatives of both along two axes, none, whole fields, one plane each (the first rung of
    step 07), the planes (DERIVED) of each plane of a slab, the rows of a workspace per tile
    (WORK_ROWS), or nine planes each, as in the paper. A device next to the host stores the grid
    once more; ranks have slabs with halos."""
    sx, sy, sz = asked.sides
    pitch = odd_lines(LINE - HALO + sx)
    plane = odd_lines(pitch * sy)
    field = plane * sz + 208
    ranks, two_sided = int(values.get("Ranks", 1)), "Share" in values and asked.share != "0"
    row_floats = -(-(sx - 2 * HALO) // LINE) * LINE + 2 * LINE
    if ranks > 1 or two_sided:
        slabs = field + (2 * HALO * plane + 208) * (ranks - 1) + field * two_sided
        tiles = (memory / 4 - (ROCKS[-1] + 4) * slabs) / (WORK_ROWS[0] * row_floats)
        if tiles == int(tiles) and ranks <= tiles <= 4096:
            return None
        return f"Memory={memory:.0f}: {ranks} slabs, or two sides, have {slabs} floats"
    for rock in ROCKS:
        derivatives = memory / 4 - (rock + 4) * field
        if derivatives in (0, 4 * field, 4 * plane, 4 * RING * plane):
            return None
        slab = derivatives / (DERIVED * plane)
        if slab == int(slab) and 1 <= slab <= sz - 2 * HALO:
            return None
        tiles = [derivatives / (rows * row_floats) for rows in WORK_ROWS]
        if any(n == int(n) and 1 <= n <= 4096 for n in tiles):
            return None
    return (f"Memory={memory:.0f}: a field has {field} floats, a plane {plane}, "
            f"a row {pitch}")


def halo_is_wrong(name: str, field: Any) -> str | None:
    inner = field[(slice(HALO, -HALO),) * 3]
    if not np.all(np.isfinite(field)):
        return f"{name} is not finite"
    if np.count_nonzero(field) != np.count_nonzero(inner):
        return f"the halo of {name} is not 0"
    return None


def snapshots_are_wrong(asked: Asked, p: Any) -> str | None:
    """Tests that all snapshots were written; the checker judges their values. A snapshot
    that was tested gets an old time, so that it does not count for the next run."""
    folder = Path(asked.snapshots or "")
    steps = asked.snapshot_steps()
    names = [f"p-{i:04}.npy" for i in range(1, len(steps) + 1)]
    there = sorted(path.name for path in folder.iterdir())
    if there != names:
        return f"snapshots: {there}, expected {names}"
    for name in names:
        seen = (folder / name).stat().st_mtime == 0
        os.utime(folder / name, (0, 0))
        if seen:
            return f"{name} was not written"
        field = np.load(folder / name)
        if field.shape != p.shape or field.dtype != np.float32:
            return f"{name}: {field.dtype} of {field.shape}"
        if halo_is_wrong(name, field):
            return halo_is_wrong(name, field)
    if steps and steps[-1] == asked.steps and field.tobytes() != p.tobytes():
        return f"{names[-1]} is not p at the end"
    return None


def picture_is_wrong(asked: Asked, p: Any) -> str | None:
    """Red where p is positive, blue where it is negative, white where there is none."""
    path = Path(asked.picture or "")
    from matplotlib.image import imread  # here, because it takes long and is rarely needed
    pixels = (255 * imread(path)).round()
    path.unlink()
    values = p[:, p.shape[1] // 2, :]
    if pixels.shape[:2] != values.shape:
        return f"the picture is {pixels.shape[1]} x {pixels.shape[0]}"
    most = np.max(np.abs(values))
    strength = np.sqrt(np.abs(values) / most if most > 0 else values)
    fade, full = 255 * (1 - strength), 255 - 60 * strength
    for colour, expected in enumerate((np.where(values > 0, full, fade), fade,
                                       np.where(values > 0, fade, full))):
        if np.max(np.abs(pixels[:, :, colour] + 0.5 - expected)) > 0.51:
            return f"the picture's colour {colour} is not that of p"
    return None


def wrong_output(arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path]) -> str | None:
    asked = Asked(arguments)
    if set(values) - PRINTED not in SHARED or not set(values) >= PRINTED:
        return f"printed {sorted(values)}, expected {sorted(PRINTED)}"
    number = {key: float(text) for key, text in values.items()}
    if not all(0 <= v < math.inf for v in number.values()):
        return f"not all printed numbers are finite and above 0: {values}"
    p, q = np.load(files["out"]), np.load(files["q"])
    for name, field in (("p", p), ("q", q)):
        if field.shape != tuple(asked.sides[::-1]) or field.dtype != np.float32:
            return f"{name} is {field.dtype} of {field.shape}"
        if halo_is_wrong(name, field):
            return halo_is_wrong(name, field)
    if values["Steps"] != str(asked.steps):
        return f"Steps={values['Steps']}, expected {asked.steps}"
    energy = sum(float(np.sum(f.astype(float) ** 2)) for f in (p, q))
    if not math.isclose(number["Energy"], energy, rel_tol=1e-8):
        return f"Energy={values['Energy']}, that of the files is {energy:.9g}"
    rate = asked.updated * asked.steps / 1e6
    if not math.isclose(number["MSamples/s"] * number["Time_run"], rate, rel_tol=1e-6):
        return (f"MSamples/s={values['MSamples/s']} in {values['Time_run']} s: "
                f"there are {rate:.9g} million")
    return (memory_is_wrong(asked, number["Memory"], values)
            or (asked.snapshots and snapshots_are_wrong(asked, p))
            or (asked.picture and picture_is_wrong(asked, p))
            or None)
