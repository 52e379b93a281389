"""fluid.py - random queries of the fluid simulation, and tests of what it prints.

Drawn are boxes of all shapes (one cell, two, flat, tall, rows of up to 1280, sometimes more
cells than 16 bits can count); all arguments, each also with its default; steps, sweeps and
rates from 0 to the limit of float; events of all sizes, none or many per step, in files of
different notations. Most boxes are from a fixed list, because OpenCL builds some kernels
for each box.

Left out are picture= and movie=, which tests/test_fluid.py tests; queries that take more
than some tenths of a second; and forces that move something farther than a float can tell
its cell.
"""
from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.base import tree
from tools.base.tree import Step
from tools.verify.queries import Query

BOXES = [(1, 1, 1), (2, 2, 2), (1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 1, 2),
         (1, 2, 2), (3, 3, 3), (3, 1, 2), (1, 3, 2), (2, 3, 1), (4, 4, 4), (5, 1, 1),
         (1, 6, 1), (1, 1, 7), (9, 9, 1), (8, 1, 7), (1, 7, 9), (7, 5, 3), (3, 5, 7),
         (5, 7, 3), (6, 4, 5), (16, 3, 2), (17, 2, 3), (15, 4, 5), (31, 2, 2),
         (33, 3, 1), (2, 19, 3), (3, 2, 21), (63, 1, 2), (64, 7, 1), (10, 9, 8),
         (12, 12, 12), (13, 11, 9), (129, 1, 1), (1, 300, 1), (1, 1, 257), (70, 8, 6),
         (1280, 1, 1)]
LARGE = [(62, 66, 68), (1280, 16, 15), (18, 1280, 12), (11, 17, 1280)]
GROUPS = [(1, 1, 1), (1, 1, 8), (1, 8, 1), (8, 1, 1), (64, 1, 1), (1, 64, 1),
          (1, 1, 64), (4, 4, 4), (3, 5, 2), (2, 3, 5), (5, 2, 3), (7, 1, 9), (2, 32, 1),
          (1, 2, 3)]
CHEAP = (14, 14, 1)
SMALL = 20  # boxes at the beginning of BOXES with few cells
COVERAGE = "2"  # a seed with solves that return to their start, which is rare
SPREAD = 1e-4  # the default of diff and visc
STEP = 0.1  # the default of dt, in seconds
SWEEPS = 20  # the default of sweeps
FLOAT = 1e35  # a bound on values, below the limit of float so that sums fit
FAR = 1e4  # cells that something may move in a step


def box(rng: random.Random, sweeps: int) -> Any:
    kind = rng.random()
    if kind < 0.02:
        return rng.choice(LARGE)
    if sweeps > 8 and kind < 0.7:
        return rng.choice(BOXES[:SMALL])
    if kind < 0.75:
        return rng.choice(BOXES)
    if kind < 0.85:
        return tuple(rng.randint(1, 3) for _ in range(3))
    if kind < 0.93:  # one axis long
        sides = [rng.randint(1, 4) for _ in range(3)]
        sides[rng.randrange(3)] = rng.randint(20, 400)
        return tuple(sides)
    return tuple(rng.randint(1, 14) for _ in range(3))


def rate(rng: random.Random, usual: float) -> float:
    """A time step, a diffusivity or a viscosity."""
    kind = rng.random()
    if kind < 0.4:
        return usual
    if kind < 0.55:
        return 0.0
    if kind < 0.85:
        return 10 ** rng.uniform(-6, 0)
    if kind < 0.95:
        return 10 ** rng.uniform(0, 3)
    return rng.choice([1e-45, 2e-38, 1e-30, 1e-12, 1e6, 1e12, 1e25, 1e29, 1e30])


def written(rng: random.Random, x: Any) -> str:
    """A number in one of the notations that people use."""
    form = rng.random()
    if form < 0.6:
        return f"{x:.9g}"
    if form < 0.75:
        return repr(float(x))
    if form < 0.85:
        return f"{x:e}"
    if form < 0.95:
        return f"{x:+.7G}"
    return float(x).hex()


def seconds(sides: Any, group: Any, steps: Any, sweeps: int) -> float:
    """An estimate of the time of cuda-cpu, which executes the threads of a block one after
    the other and switches between them at each barrier."""
    def launches(cells: Any, block: Any, ring: Any, barriers: Any) -> Any:
        if ring:
            block = [min(*pair) for pair in zip(cells, block)]
        threads = (block[0] + ring) * (block[1] + ring) * (1 if ring else block[2])
        blocks = math.prod(-(-side // b) for side, b in zip(cells, block))
        waits = barriers(block[2]) if threads > 1 else 0
        woken = threads * (2 if threads <= 32 else 1)
        return woken * 20e-6 + blocks * threads * (0.3e-6 + 3e-6 * waits)

    march = launches([(sides[0] + 3) // 2, *sides[1:]], group or (30, 6, 16), 2,
                     lambda planes: planes + 5)
    plain = launches(sides, group or (8, 8, 8), 0, lambda planes: 3)
    return steps * (6 * sweeps * (march + 2 * plain) + 14 * plain)


def power(base: float, exponent: int) -> float:
    """The power of a number from 1 on; infinity if it is too large for a double."""
    try:
        return float(base) ** exponent
    except OverflowError:
        return math.inf


def growth(facts: Mapping[str, Any], steps: Any, sweeps: int) -> Any:
    """An upper bound on the growth of velocities in all steps."""
    per_step = (1 + sweeps) ** 2
    if facts["keep"]:
        per_step *= 1 + facts["dt"] * (1 + sweeps)
    return power(per_step, min(steps, 400))


def limits(facts: Mapping[str, Any], steps: Any, sweeps: int) -> Any:
    """Upper bounds on sources and forces: sums must fit into a float, and nothing may move
    by more than FAR cells, because its cell would depend on rounding."""
    longest, dt = facts["longest"], facts["dt"]
    spread = 1 + 6 * dt * max(facts["visc"], facts["diff"]) * longest ** 2
    most = FLOAT / spread / growth(facts, steps, sweeps)
    far = FAR / max(dt * longest, 1e-30)
    if facts["keep"]:
        far /= min(10 * power(1 + dt, 2 * steps), growth(facts, steps, sweeps))
    return most, min(most, far)


def size(rng: random.Random, most: Any) -> float:
    """The size of a force or a source."""
    kind = rng.random()
    if kind < 0.35:
        x = rng.uniform(0, 12)
    elif kind < 0.6:  # moves that are large against a rounding at the tolerance
        x = 10 ** rng.uniform(-7, 0)
    elif kind < 0.7:
        x = rng.choice([0.0, 1.0, 1e-7, 2e-7, 1e-30, 1e-44])
    elif kind < 0.95:
        x = rng.uniform(0, 400)
    else:
        x = 10 ** rng.uniform(3, 30)
    return min(x, most)


def events(rng: random.Random, steps: Any, calm: bool, most: Any, fastest: Any, path: Path
           ) -> Any:
    """Writes a file of events. Returns the steps of its line `time`, or None."""
    lines: list[str] = []
    declared = rng.choice([None, None, steps, rng.randint(0, 4)])
    separator = rng.choice([" ", " ", "\t", "  \t "])
    scale = rng.choice([1, 1, 1, 1e-3])
    end = max(steps, 1) - 1
    times = sorted(rng.choice([0, 0, rng.randint(0, end), end, end + rng.randint(1, 9)])
                   for _ in range(rng.choice([1, 1, 2, 3, 5, 12])))
    if rng.random() < 0.8:
        times[0] = 0
    for t in times:
        if calm or rng.random() < 0.45:
            arguments = ["source", written(rng, scale * size(rng, most))]
        else:
            axes = rng.choice([(1, 1, 1), (1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
            arguments = ["force"] + [written(rng, rng.choice([-1, 1]) * axis * scale *
                                         size(rng, fastest)) for axis in axes]
        arguments.append(rng.choice([str(t), f"{t:03d}", f"+{t}"]))
        lines.append(separator.join(arguments))
    if declared is not None:
        lines.insert(0, f"time{separator}{declared}")
    for _ in range(rng.choice([0, 0, 1, 3])):
        lines.insert(rng.randint(0, len(lines)), rng.choice(
            ["", "   ", "# a comment", "#", "#time 3", " # source 1 0", "\t#é",
             "#" + "x" * 253]))
    ending = rng.choice(["\n", "\n", "\n", "\r\n" if all(len(l) < 250 for l in lines)
                         else "\n"])
    path.write_text(ending.join(lines) + ending * (rng.random() < 0.8), newline="")
    return declared


def draw(rng: random.Random, folder: Path) -> Query:
    sweeps = rng.choice([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 19, 20, 21, 40,
                         rng.randint(1, 60), 200])
    steps = rng.choice([0, 1, 1, 1, 2, 2, 3, 3, 4, 6, 9, 25])
    calm = rng.random() < 0.2  # no force: a field at rest converges in one sweep
    expected = 4 if calm and not sweeps else sweeps or SWEEPS
    sides = box(rng, expected)
    dt, diff, visc = (rate(rng, STEP), rate(rng, SPREAD), rate(rng, SPREAD))
    longest = max(sides)
    if not dt * longest * max(1, diff * longest, visc * longest) < 9e29:
        dt, diff, visc = rng.choice([(dt, 0.0, 0.0), (0.0, diff, visc),
                                     (STEP, SPREAD, visc)])
        if not dt * longest * max(1, visc * longest) < 9e29:
            dt = STEP
            visc = min(visc, 1e20)
    keep = rng.random() < 0.2
    local = min((group(rng, sides) for _ in range(2)),
                key=lambda local: seconds(sides, local, steps, expected))
    limit = rng.choice([0.1, 0.15, 0.15, 0.15, 0.3])
    if sides in LARGE:
        sweeps, steps, limit = rng.choice([1, 2]), 1, math.inf
    slow = sides in LARGE
    while not slow and seconds(sides, local, steps, expected) > limit:
        if steps > (1 if sweeps else 9):
            steps -= 1
        elif not sweeps:
            slow = True
        elif sweeps != 1:
            sweeps = expected = (sweeps or 10) // 2
        elif local != CHEAP:
            local = CHEAP
        else:
            break
    most = sweeps or SWEEPS

    facts = {"longest": longest, "dt": dt, "diff": diff, "visc": visc, "keep": keep}
    while limits(facts, steps, most)[1] < 1e-3 / max(1, dt):
        if keep and dt > STEP:
            dt = facts["dt"] = STEP
        elif steps > 1:
            steps -= 1
        elif max(diff, visc) > SPREAD:
            diff, visc = min(diff, SPREAD), min(visc, SPREAD)
            facts.update(diff=diff, visc=visc)
        else:
            break
    largest, fastest = limits(facts, steps, most)
    declared = events(rng, steps, calm, largest, fastest, folder / "events.txt")

    arguments = [f"events={folder / 'events.txt'}"]
    n = rng.choice(sides)
    if n != 42 or rng.random() < 0.9:
        arguments.append(f"n={n}")
    for name, side in zip(("nx", "ny", "nz"), sides):
        if side != n or rng.random() < 0.3:
            arguments.append(f"{name}={side}")
        elif rng.random() < 0.1:
            arguments.append(f"{name}=0")
    if declared != steps:
        arguments.append(f"steps={steps}")
    elif rng.random() < 0.3:
        arguments.append(rng.choice([f"steps={steps}", "steps=-1"]))
    for name, value, usual in (("dt", dt, STEP), ("diff", diff, SPREAD),
                               ("visc", visc, SPREAD)):
        if value != usual or rng.random() < 0.3:
            arguments.append(f"{name}={written(rng, value)}")
    if sweeps or rng.random() < 0.3:
        arguments.append(f"sweeps={sweeps}")
    if keep or rng.random() < 0.1:
        arguments.append("compat=minho" if keep else "compat=none")
    if rng.random() < 0.2:
        arguments.append(rng.choice(["solver=rb", "solver=gs"]))
    if rng.random() < 0.05:
        arguments.append(f"profile={rng.randint(0, 1)}")
    if local:
        arguments.append("local=" + ",".join(map(str, local)))
    rng.shuffle(arguments)
    # MALLOC_PERTURB_: glibc fills new memory with a byte that is not 0.
    threads = rng.choice([1, 1, 2, 2, 3, 4, 5, 8, 17, 33, rng.randint(1, 64),
                          rng.randint(32, 64), 64])
    env = {"OMP_NUM_THREADS": str(threads), "MALLOC_PERTURB_": str(rng.randint(1, 255))}
    # cuda-cpu is too slow for so many cells, or for all sweeps.
    fast = tuple(b for b in tree.BACKENDS if b not in tree.FOR_CHECKING)
    backends = fast if slow else ()
    return Query(arguments, env, backends)


def group(rng: random.Random, sides: Any) -> Any:
    """The work-group size along x, y, z; None to leave it to the back-end."""
    kind = rng.random()
    if sides in LARGE:
        return rng.choice([None, (64, 1, 1), (16, 4, 1)])
    if kind < 0.3:
        return None
    if kind < 0.8:
        return rng.choice(GROUPS)
    while True:
        sizes = tuple(rng.randint(1, rng.choice([2, 8, 64])) for _ in range(3))
        if math.prod(sizes) <= rng.choice([32, 64, 64, 128]):
            return sizes


def query_of(arguments: Sequence[str]) -> Any:
    """((nx, ny, nz), steps, sweeps per solve or 0, keep), from the arguments and the file."""
    values = dict(word.split("=", 1) for word in arguments)
    n = int(values.get("n", 42))
    sides = [int(values.get(name, 0)) or n for name in ("nx", "ny", "nz")]
    steps = int(values.get("steps", -1))
    if steps < 0:
        with open(values["events"], encoding="utf-8") as f:
            found = re.search(r"^\s*time\s+(\d+)", f.read(), re.M)
        steps = int(found[1]) if found else 100
    return sides, steps, int(values.get("sweeps", 0)), values.get("compat") == "minho"


def refusal(arguments: Sequence[str], step: Step, backend: str) -> str | None:
    """Only the sequential program visits the cells in lexicographic order (solver=gs)."""
    if "solver=gs" in arguments and (step.number, backend) != ("00", "seq"):
        return "solver=gs"
    return None


PRINTED = {"total_density", "sweeps", "Mcells/s", "Time_init", "Time_run",
           "Time_kernel"}


def wrong_output(arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path]) -> str | None:
    if set(values) - {"Share"} != PRINTED:
        return f"stdout has {sorted(values)}, expected {sorted(PRINTED)}"
    number = {key: float(text) for key, text in values.items()}
    (nx, ny, nz), steps, sweeps, keep = query_of(arguments)
    density = np.load(files["out"]).astype(float)
    total, done, outright = np.load(files["totals"])
    if density.shape != (nz, ny, nx):
        return f"out has the shape {density.shape}"

    # compat=minho: ghost cells at the six faces count, too; they equal their neighbors.
    right = density.sum()
    if keep:
        right += sum(density.take(side, axis).sum() for axis in range(3)
                     for side in (0, -1))
    if not abs(number["total_density"] - right) <= 2e-8 * abs(right):
        return f"total_density={values['total_density']}, out sums up to {right:.9g}"
    if not abs(number["total_density"] - total) <= 1e-8 * abs(total):
        return f"total_density={values['total_density']}, totals has {total:.9g}"
    if not values["sweeps"].isdigit() or number["sweeps"] != done:
        return f"sweeps={values['sweeps']}, totals has {done:.9g}"
    if not 6 * steps - outright <= done <= 6 * steps * (sweeps or SWEEPS) or \
            (sweeps and done != 6 * steps * sweeps):
        return f"sweeps={values['sweeps']} of {steps} steps, sweeps={sweeps} per solve"

    share = next((w[6:] for w in arguments if w.startswith("share=")), None)
    if not 0 <= number.get("Share", 0) <= 100 or (share and "Share" not in number) or \
            (share in ("0", "100") and number["Share"] != float(share) and steps):
        return f"Share={values.get('Share')} of share={share}"
    if not all(0 <= x < math.inf for x in number.values()):
        return f"not a time or a rate: {values}"
    updates = number["Mcells/s"] * number["Time_run"] * 1e6
    if not abs(updates - done * nx * ny * nz) <= 1e-7 * done * nx * ny * nz:
        return f"Mcells/s={values['Mcells/s']} in Time_run={values['Time_run']}: " \
               f"{updates:.9g} cells, not {done * nx * ny * nz:.9g}"
    if "profile=1" not in arguments and values["Time_kernel"] != values["Time_run"]:
        return f"Time_kernel={values['Time_kernel']} is not Time_run without profile=1"
    return None
