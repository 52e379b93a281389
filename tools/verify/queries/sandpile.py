"""sandpile.py - random queries of the sandpile, and tests of what it prints.

Drawn are piles by name and from files of every type and shape that the program reads; sizes
at which a vector, a word, a tile or a work-group begins or ends; one grid up to some
hundred; cells of about 4, 256, 65536 and the maximum, alone at an edge or everywhere; limits
below, at and above the steps that a pile takes. Each pile is first toppled here, in NumPy,
so that a limit can be the exact number of steps and no query takes long. Toppling in place
is for back-ends with threads.

Left out are picture=, which tests/test_sandpile.py tests, and larger sizes.
"""
from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.base.tree import BACKENDS, Step
from tools.verify.queries import Query

COVERAGE = "3"  # a seed with ranks that have two bands, which is rare
MOST_GRAINS = 10**9
MOST_INT = 2**31 - 1
MOST_SIDE = 32768
GROUP = 1024  # work-items

# Side lengths before, at and after the sizes of the layouts: machine words of 4 cells, vectors
# of 64 cells, groups of 32 x 4 cells, runs of 8 rows and bands of 64 rows. There are few of
# them, because a device compiles a kernel for each. LARGE, (side, grids), has more cells than
# 16 bits can count and than one vector of 32-cell words holds; a quarter of its last pile, too.
SIDES = (3, 4, 5, 6, 7, 8, 9, 10, 13, 17, 18, 26, 27, 33, 34, 35, 50, 64, 65, 66, 67,
         121, 122, 123, 129, 130)
LARGE = ((257, 1), (258, 1), (300, 1), (370, 1), (130, 4), (93, 8), (65, 17),
         (514, 1), (515, 1))
GRAINS = (1, 3, 4, 5, 7, 8, 15, 16, 63, 64, 251, 252, 253, 254, 255, 256, 257, 259, 260,
          511, 1000, 1023, 1024, 1025, 4096, 65535, 65537, 10**6, 2**24 + 1,
          MOST_GRAINS - 1, MOST_GRAINS, *(2**n for n in range(16, 30, 2)))
TYPES = ("<f4", "<f8", "<i4", "|u1")
HOLDS = {"<f4": MOST_GRAINS, "<f8": MOST_GRAINS, "<i4": MOST_GRAINS, "|u1": 255}
IN_PLACE = tuple(b.name for b in BACKENDS.values() if "cpu.c" in b.sources)
KEYS = ("iterations", "grains", "sunk", "stable", "Gcells/s", "Time_init", "Time_run",
        "Time_kernel")


# ---- piles by name: the rules of common/sandpile, implemented again ---------------------


def splitmix64(state: Any) -> Any:
    """Numbers of 64 bits, for ever."""
    ones = 2**64 - 1
    while True:
        state = state + 0x9e3779b97f4a7c15 & ones
        z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & ones
        z = (z ^ z >> 27) * 0x94d049bb133111eb & ones
        yield z ^ z >> 31


def named(config: str, dim: int, batch: int, seed: int) -> Any:
    """[batch][dim][dim] grains of a pile by name."""
    grids = np.zeros((batch, dim, dim), np.int64)
    y, x = np.mgrid[:dim, :dim]
    inside = (y % (dim - 1) > 0) & (x % (dim - 1) > 0)
    for g, grid in enumerate(grids):
        if config == "4partout":
            grid[inside] = 4 + g
        elif config == "dim":
            apart = max(1, dim // 4)
            there = inside & (y % apart == 0) & (x % apart == 0)
            grid[there] = (y * x // 4)[there] + g
        elif config == "big":
            grid[dim // 2, dim // 2] = 100000 + g
        else:
            numbers = splitmix64((seed << 32) + g)
            for _ in range(max(1, dim // 8)):
                row = 1 + next(numbers) % (dim - 2)
                column = 1 + next(numbers) % (dim - 2)
                grid[row, column] = 1000 + next(numbers) % 4000
    return grids


def asked(arguments: Sequence[str]) -> Any:
    """[batch][dim][dim] grains before anything topples."""
    given: dict[str, Any] = {"config": "4partout", "batch": "1", "seed": "1"}
    given.update(dict(word.split("=", 1) for word in arguments))
    if given["config"].endswith(".npy"):
        grids = np.load(given["config"]).astype(np.int64)
        return grids if grids.ndim == 3 else grids[np.newaxis]
    return named(given["config"], *(int(given[key])
                                   for key in ("dim", "batch", "seed")))


# ---- piles of a file --------------------------------------------------------------


def place(rng: random.Random, inner: int) -> Any:
    """A row or column, 0 .. inner - 1: often the first or the last."""
    return rng.choice((0, inner - 1, inner // 2, rng.randrange(inner)))


def lone(rng: random.Random, inner: int) -> Any:
    """[inner][inner] grains: a cell beside the end of a tile, which alone topples."""
    grid = np.zeros((inner, inner), np.int64)
    ends = [n + rng.randint(-4, 3) for n in (0, 24, 48, 64, 72, 96, inner, *[120] * 3)]
    y, x = rng.choice(ends), rng.choice(ends)
    grid[min(max(y, 0), inner - 1), min(max(x, 0), inner - 1)] = rng.randint(4, 99)
    return grid


def cells(rng: random.Random, inner: int, most: Any) -> Any:
    """[inner][inner] grains, none above most."""
    grid = np.zeros((inner, inner), np.int64)
    fresh = np.random.default_rng(rng.getrandbits(32))
    few = [v for v in GRAINS if v <= most]
    kind = rng.choice(("none", "rest", "same", "some", "some", "mixed", "mixed", "line",
                       "board", "sparse", "sparse"))
    if kind == "rest":
        grid[:] = fresh.integers(0, 4, grid.shape)
    elif kind == "same":
        grid[:] = rng.choice(few)
    elif kind == "some":
        value = rng.choice(few)
        for _ in range(rng.choice((1, 1, 2, 5))):
            grid[place(rng, inner), place(rng, inner)] = value
            value = rng.choice((value, rng.choice(few)))
    elif kind == "mixed":
        grid[:] = fresh.integers(0, rng.choice((4, 5, 7, 9, 63, 255)) + 1, grid.shape)
    elif kind == "line":
        at, value = place(rng, inner), rng.choice(few)
        grid[(at, slice(None)) if rng.random() < 0.5 else (slice(None), at)] = value
    elif kind == "board":
        y, x = np.indices(grid.shape)
        grid[:] = rng.randint(0, 3)
        grid[(y + x) % 2 == 0] = rng.choice(few)
    elif kind == "sparse":
        grid[:] = fresh.integers(0, rng.choice(few) + 1, grid.shape)
        grid[fresh.random(grid.shape) > rng.choice((0.5, 0.1, 0.02))] = 0
    return grid


def mirror(rng: random.Random, inner: Any) -> Any:
    """Makes grids their own mirror images, one way or both, and then maybe not quite."""
    half = (inner.shape[1] + 1) // 2
    if rng.random() < 0.4:
        inner = inner[:1]  # the first grid alone
    if rng.random() < 0.8:
        inner[:, :, -half:] = inner[:, :, :half][:, :, ::-1].copy()
    if rng.random() < 0.8:
        inner[:, -half:] = inner[:, :half][:, ::-1].copy()
    if rng.random() < 0.2:
        at = rng.randrange(len(inner)), place(rng, half), place(rng, half)
        inner[at] = (inner[at] + 1) % 4


def write_npy(rng: random.Random, path: Path, grids: Any) -> None:
    """As NumPy writes it, or as others do: another order, other quotes, version 2."""
    most = grids.max()
    descr = rng.choice([d for d in TYPES if most <= HOLDS[d]])
    if descr == "<f4" and (grids.astype("<f4").astype(np.int64) != grids).any():
        descr = "<f8"
    if len(grids) == 1 and rng.random() < 0.6:
        grids = grids[0]
    data = grids.astype(descr)
    if descr[1] == "f" and rng.random() < 0.2:
        data[data == 0] = -0.0
    parts = [f"'descr': '{descr}'", "'fortran_order': False", f"'shape': {grids.shape}"]
    comma = rng.choice((", ", ""))
    if rng.random() < 0.2:
        rng.shuffle(parts)
    head = "{" + ", ".join(parts) + comma + "}"
    if rng.random() < 0.1:
        head = head.replace("'", '"')
    version = 2 if rng.random() < 0.1 else 1
    before = 10 if version == 1 else 12
    if rng.random() < 0.9:
        head += " " * (-(before + len(head) + 1) % 64)
    head += "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    Path(path).write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + head.encode()
                           + data.tobytes())


# ---- how long it takes --------------------------------------------------------------


def steps_to_rest(grids: Any, most: Any) -> Any:
    """Steps until the last grid rests; None if more than most."""
    grids = grids.copy()
    inner = grids[:, 1:-1, 1:-1]
    for n in range(most + 1):
        quarter = grids >> 2
        if not quarter.any():
            return n
        inner &= 3
        inner += quarter[:, :-2, 1:-1] + quarter[:, 2:, 1:-1]
        inner += quarter[:, 1:-1, :-2] + quarter[:, 1:-1, 2:]
    return None


def microseconds(dim: int, batch: int, group: Any, threads: int, in_place: bool) -> float:
    """Of a step of the slowest back-end, about. CUDA on the CPU has a thread of the
    system for each of a block's, and they wait for each other."""
    cells = 0.01 * batch * dim * dim
    if in_place:
        return 4 * 12 * threads * batch + cells
    across, down, deep = group or (32, 4, 1)  # deep counts in 03 alone
    blocks = math.ceil(dim / across) * math.ceil(dim / down) * batch
    flat = math.ceil(dim * dim / across) * batch
    return max(blocks * waiting(across * down * deep), flat * waiting(across),
               batch * 60, batch * 12 * threads) + cells


def waiting(threads: int) -> float:
    """Microseconds of a block of so many."""
    return 0.5 if threads == 1 else 18 * threads


# ---- the words ----------------------------------------------------------------------


def number(rng: random.Random, value: Any) -> Any:
    """A number as it is written, mostly."""
    text = rng.choice(("", "", "", "", "", "", "", "+", "0", "00"))
    return f"{text}{value}"


def draw_group(rng: random.Random) -> Any:
    """local=, or None. CUDA on the CPU has a thread of the system for each thread."""
    chance = rng.random()
    if chance < 0.15:
        return None
    if chance < 0.5:
        return (1, 1, rng.choice((1, 1, 1, 1, 5)))
    if chance < 0.97:
        across = rng.choice((1, 2, 3, 5, 6, 8, 13, 16, 30, 32, 33, 64))
        down = rng.choice([n for n in (1, 2, 3, 4, 7, 8, 16, 24, 31, 64)
                           if across * n <= 64])
        return (across, down, rng.choice((1, 1, 2, 3)))
    across = rng.choice((1, 2, 16, 32, 128, 1024))
    down = rng.choice([n for n in (1, 2, 8, 32, 64, 512, 1024) if across * n <= GROUP])
    return (across, down, GROUP // (across * down))


def draw_tile(rng: random.Random, dim: int, least: int) -> Any:
    """tilew= or tileh=; least is 2 where tiles of one cell are not taken."""
    few = (0, 2, 3, 4, 5, 8, 24, 63, 64, 65, dim - 3, dim - 2, dim - 1, dim, dim + 1,
           rng.randint(1, dim), MOST_SIDE, *([1] * 3))
    return rng.choice([n for n in few if n == 0 or n >= least])


def draw_shape(rng: random.Random, in_place: bool) -> Any:
    """(dim, batch)"""
    if rng.random() < 0.82 or in_place:
        dim = rng.choice(SIDES if rng.random() < 0.5 else SIDES[:14])
    else:
        dim = rng.randint(3, 140)
    chance = rng.random()
    if chance < 0.45:
        return dim, 1
    if chance < 0.9 or dim > 9:
        return dim, rng.choice((1, 2, 3, 4, 5, 7, 8))
    return dim, rng.choice((16, 17, 33))


def draw_limit(rng: random.Random, grids: Any, most: Any) -> Any:
    """max_iterations=, None where the pile rests without; most can be paid for."""
    rests = steps_to_rest(grids, most)
    corners = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, rng.randint(0, most)]
    corners += [most] * 6
    if rests is None:
        return rng.choice([n for n in corners if n <= most])
    if rng.random() < 0.4:
        return None
    corners += [max(0, rests - 1), rests, rests, rests + 1, rests + 16, MOST_INT]
    return rng.choice([n for n in corners if n <= most or n >= rests])


def draw_file(rng: random.Random, path: Path, shape: Any, in_place: bool) -> Any:
    """[batch][dim][dim] grains, which path then has."""
    grids = np.zeros(shape, np.int64)
    inner = grids[:, 1:-1, 1:-1]
    most = rng.choice((3, 255, 255, 4000, MOST_GRAINS, MOST_GRAINS))
    if in_place:  # the checker has to topple it to its end
        most = min(most, 7 if shape[1] > 52 else 4000 if shape[1] > 36 else most)
    alone = 0.5 if shape[1] > 118 else 0.05
    for grid in inner:
        few = rng.random() < alone
        grid[:] = lone(rng, len(grid)) if few else cells(rng, len(grid), most)
    if in_place and shape[1] < 36 and rng.random() < 0.1:
        inner[:] = MOST_GRAINS  # the more, the more a cell comes to hold
    if rng.random() < 0.3:
        mirror(rng, inner)
    if len(grids) > 8 and not in_place:  # 02 takes them one by one
        grids[rng.sample(range(len(grids)), len(grids) - 3)] &= 3
    write_npy(rng, path, grids)
    return grids


def draw_size(rng: random.Random, in_place: bool) -> Any:
    """(dim, batch, group, threads, steps that can be paid for)"""
    if rng.random() < 0.05 and not in_place:
        return (*rng.choice(LARGE), (1, 1, 1), rng.choice((1, 2, 7)),
                rng.choice((1, 2, 4)))
    if rng.random() < 0.1 and not in_place:  # of some words more than a tile has
        return (rng.choice(SIDES[-5:]), rng.choice((1, 1, 2)), (1, 1, 1),
                rng.choice((1, 2, 3)), rng.choice((2, 5, 17, 20)))
    paid = rng.choice([6e4] * 17 + [2e5] * 2 + [8e5])
    wanted = rng.choice((1, 3, 10, 20, 40, 150, 600))
    for _ in range(50):
        dim, batch = draw_shape(rng, in_place)
        group = draw_group(rng)
        threads = rng.choice((1, 2, 2, 3, 3, 4, 5, 8, rng.randint(1, 64), 64))
        most = int(paid / microseconds(dim, min(batch, 8), group, threads, in_place))
        if most >= wanted:
            return dim, batch, group, threads, most
    return 5, 1, (1, 1, 1), 2, wanted


def draw(rng: random.Random, folder: Path) -> Query:
    arguments = []
    in_place = rng.random() < 0.18
    dim, batch, group, threads, most = draw_size(rng, in_place)
    env = {"OMP_NUM_THREADS": str(threads)}
    if rng.random() < 0.25:
        env["OMP_SCHEDULE"] = rng.choice(("static", "static,1", "static,7", "dynamic",
                                          "dynamic,4", "guided", "auto"))

    names = (None, "4partout", "dim", "alea", "big")
    config = rng.choice((*names, *["file"] * (20 if dim > 118 else 6)))
    seed = rng.choice((0, 1, 2, MOST_INT, rng.randint(0, MOST_INT)))
    if config == "file":
        path = folder / rng.choice(("pile.npy", "p.npy", "a b=c.npy", ".npy.npy"))
        grids = draw_file(rng, path, (batch, dim, dim), in_place)
        arguments.append(f"config={path}")
        known = (0.2, 0.2, 0.2)
    else:
        if batch > 8:
            most = min(most, 2)
        grids = named(config or "4partout", dim, batch, seed)
        if config:
            arguments.append(f"config={config}")
        known = (1, batch > 1 or 0.3, config == "alea" or 0.1)
    for key, value, chance in zip(("dim", "batch", "seed"), (dim, batch, seed), known):
        if rng.random() < chance:
            arguments.append(f"{key}={number(rng, value)}")

    limit = draw_limit(rng, grids, most)
    if limit is not None:
        arguments.append(f"max_iterations={number(rng, limit)}")
    if in_place or rng.random() < 0.2:
        arguments.append("rule=" + ("async" if in_place else "sync"))
    for key in ("tilew", "tileh"):
        if rng.random() < 0.6:
            arguments.append(f"{key}={number(rng, draw_tile(rng, dim, 1 + in_place))}")
    if group:
        arguments.append("local=" + ",".join(number(rng, n) for n in group))
    rng.shuffle(arguments)
    also = random.Random(" ".join(w for w in arguments if not w.startswith("config=")))
    if also.random() < 0.6:
        arguments.append(f"halo={also.choice((0, 1, 2, 3, 5, 8, 16, 17, 31, 33, 1024))}")
    if also.random() < 0.05:
        arguments.append(f"trace={folder}/trace.csv")
    if in_place:  # tile by tile or row by row
        return Query(arguments, env, IN_PLACE, free=True)
    return Query(arguments, env)


def refusal(arguments: Sequence[str], step: Step, backend: str) -> str | None:
    """Only programs with tiles record which thread computed which of them."""
    if backend in ("seq", "omp") and step.number != "00":
        return None
    traced = any(word.startswith("trace=") for word in arguments)
    return "trace=: not supported" if traced else None


# ---- what is printed -----------------------------------------------------------------


def wrong_trace(path: Path, counts: Any, dim: int) -> str | None:
    """The tiles of the first step must contain all cells of the grids that toppled. Removes
    the file."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    path.unlink()
    missing = np.zeros((len(counts), dim, dim), bool)
    missing[counts > 0, 1:-1, 1:-1] = True
    for row in rows:
        step, grid, _, x, y, width, height = map(int, row[:7])
        if step == 0:
            missing[grid, y:y + height, x:x + width] = False
    return f"trace= does not have {missing.sum()} cells" if missing.any() else None


def shared(arguments: Sequence[str], values: Mapping[str, str], before: Any) -> Any:
    """What is wrong with how a device and its host say that they have shared."""
    share, even = (float(values.get(key, 0)) for key in ("Share", "Share_even"))
    if not (0 <= share <= 100 and 0 <= even <= 100):
        return f"prints a share of {share} %, and {even}"
    wanted = dict(word.split("=", 1) for word in arguments).get("share", "auto")
    if wanted == "auto" or "rule=async" in arguments:
        return None
    if share == 0 and before[-1].max() > 7:
        return None  # the steps of a tall pile are the host's, and there may be no others
    # As near as a row is, of a grid or of a quarter.
    row = 100 / ((before.shape[1] - 1) // 2)
    if abs(share - float(wanted)) > row / 2 + 0.1:
        return f"prints a share of {share} %, of which a row is {row:.1f} % at most"
    return None


def wrong_output(arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path]) -> str | None:
    values, more = dict(values), {}
    for key in ("Share", "Share_even"):
        if key in values:
            more[key] = values.pop(key)
    if set(values) != set(KEYS):
        return f"prints {' '.join(values) or 'nothing'}, expected {' '.join(KEYS)}"
    try:
        whole = {key: int(values[key]) for key in KEYS[:4]}
        rate, *times = (float(values[key]) for key in KEYS[4:])
    except ValueError as wrong:
        return f"prints no number: {wrong}"
    before = asked(arguments)
    after = np.load(files["out"]).astype(np.int64).reshape(-1, *before.shape[1:])
    counts = np.load(files["counts"])
    right = {"iterations": int(counts.max()), "grains": int(after.sum()),
             "sunk": int(before.sum() - after.sum()), "stable": int(after.max() < 4)}
    for key, value in right.items():
        if whole[key] != value:
            return f"prints {key}={whole[key]}, the files say {value}"
    if not all(0 <= t < math.inf for t in times):
        return f"prints a time of {min(times)} s"
    inner = before.shape[1] - 2
    updates = float(counts.sum()) * inner * inner
    expected = updates / times[1] * 1e-9 if times[1] else 0
    if not math.isclose(rate, expected, rel_tol=1e-3):
        return f"prints {rate} Gcells/s, {updates:g} updates in {times[1]} s"
    for word in arguments:
        problem = word.startswith("trace=") and wrong_trace(Path(word[6:]), counts, inner + 2)
        if problem:
            return problem
    # The share that is printed last is that of the last grid.
    return shared(arguments, {**values, **more}, before) if more and counts[-1] else None
