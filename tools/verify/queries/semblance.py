"""semblance.py - random queries of the semblance search, and tests of what it prints.

Drawn are gathers of one trace to hundreds with artificial waves, along x or y, in any unit,
with delays and dead traces; one value of each of A .. E up to thousands; and windows that
reach every end of a trace.

Left out are amplitudes whose squares overflow a float, and searches that take more than some
milliseconds.
"""
from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from tools.verify.queries import Query

POINTS = 6e5  # window samples of a search, at most
PAPER = {  # the values of set= that a smaller search can keep
    1: ("4120", "-480", "1.124", "0.005"),
    2: ("4120", "-480", "1.94", "0.005"),
    3: ("4120", "-480", "2.255", "0.005"),
}


# ---- data ------------------------------------------------------------------------------


class Gather:
    """The traces of a file, and the values that a query depends on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dt = rng.choice((1000, 2000, 4000, 4000, 4000, 500, 8000, 250, 3000, 1, 333,
                              65535, rng.randint(100, 20000)))
        self.ns = rng.choice((2, 3, 4, 7, 31, 61, 61, 101, 101, 127, 256, 257, 301,
                              rng.randint(2, 400), rng.randint(2, 400), 1009, 2502,
                              5000))
        most = max(2, min(400, 200000 // self.ns))
        self.alive = min(most, rng.choice((1, 2, 2, 3, 3, 5, 7, 8, 12, 12, 24, 33, 61,
                                           rng.randint(2, 40), 150, 300)))
        self.dead = rng.choice((0, 0, 0, 0, 1, 2, rng.randint(0, 9)))
        self.delay = self.drawn_delay()  # samples
        self.first = max(self.delay, 0)  # sample, counted from time 0
        self.end = self.ns + self.delay
        self.along_x = rng.random() < 0.4
        self.across = rng.random() < 0.15  # the other coordinate varies too
        self.spread = rng.choice((0, 1, 50, 100, 300, 1000, 3000))  # metres
        self.m0, self.h0 = self.drawn_point()

    def drawn_delay(self) -> Any:
        """delrt is in whole milliseconds, and the trace does not end before time 0."""
        rng, unit = self.rng, self.dt // math.gcd(self.dt, 1000)  # ms per possible delay
        step = 1000 * unit // self.dt
        if rng.random() < 0.75:
            return 0
        most = min(300 // step, 32000 // unit)
        least = -min((self.ns - 2) // step, most)
        return step * rng.randint(least, most) if most else 0

    def drawn_point(self) -> Any:
        rng = self.rng
        where = rng.choice((0, 0, 4120, 4120, -3000, 123456, 6.1e6, -6.1e6, 1e7))
        m0 = where + rng.choice((0, 0, 0.25, rng.uniform(-20, 20)))
        h0 = rng.choice((0, 0, -480, 480, 480, -0.5, rng.uniform(-2000, 2000)))
        return round(m0, 3), round(h0, 3)

    def scalco(self) -> int:
        """A unit with which coordinates near m0 fit into 32 bits."""
        most = abs(self.m0) + abs(self.h0) + 3 * self.spread + 100
        fitting = [s for s in (0, 1, -1, 10, -10, -100, 100, -1000, -10000, -3, 7, -7,
                               3, -32768) if s >= 0 or most * -s < 2**31 - 1]
        return self.rng.choice(fitting)

    def write(self, path: Path) -> None:
        rng = self.rng
        order = self.order = rng.choice("<<>")
        mixed, scalco = rng.random() < 0.25, self.scalco()
        waves = [(rng.uniform(0.2, 1), rng.choice((4.3, 7, 12, 30, 100)),
                  rng.uniform(0, 6.3)) for _ in range(3)]
        event = rng.uniform(0, self.end)
        kind = rng.choice(("waves", "waves", "event", "event", "noise", "ones", "zeros",
                           "muted"))
        self.dull = kind in ("zeros", "ones", "muted")
        loud = rng.choice((1, 1, 1, 1e-6, 1e5))
        noise = numpy.random.default_rng(rng.getrandbits(32))
        k = numpy.arange(self.ns) + self.delay
        dead = set(rng.sample(range(self.alive + self.dead), self.dead))
        self.varies: set[tuple[str, float]] = set()
        raw = []
        for i in range(self.alive + self.dead):
            if kind == "noise":
                wave = noise.uniform(-1, 1, self.ns)
            elif kind == "event":
                after = (k - event - rng.uniform(-2, 2)) / 4
                wave = (1 - after**2) * numpy.exp(-after**2 / 2)
                wave += 0.01 * noise.uniform(-1, 1, self.ns)
            elif kind in ("ones", "zeros"):
                wave = numpy.full(self.ns, 0.1 if kind == "ones" else 0)
            else:
                wave = sum(a * numpy.sin(2 * math.pi * k / p + f + 0.05 * i)
                           for a, p, f in waves)
                wave *= (kind == "waves") | (k > event)
            dm, dh = (rng.uniform(-self.spread, self.spread) for _ in "mh")
            raw.append(self.trace(order, self.scalco() if mixed else scalco, dm, dh,
                                  i in dead, loud * wave))
        path.write_bytes(b"".join(raw))

    def trace(self, order: str, scalco: int, dm: float, dh: float, dead: bool, wave: Any
              ) -> bytes:
        rng = self.rng
        header = bytearray(rng.randbytes(240) if rng.random() < 0.1 else 240)
        unit = scalco if scalco > 0 else -1 / scalco if scalco < 0 else 1
        m, h = self.m0 + dm, self.h0 + dh
        s, g = round((m - h) / unit), round((m + h) / unit)
        side = round(77 / unit)
        other = (side, side) if not self.across else (side, side + rng.randint(1, 9))
        x, y = ((s, g), other) if self.along_x else (other, (s, g))
        wide = 2**31 - 1
        if max(abs(v) for v in x + y) > wide:
            raise AssertionError(f"coordinates {x} {y} of scalco {scalco}")
        delay = self.delay * self.dt // 1000
        if dead:  # the header of a dead trace is not read
            delay += rng.choice((0, 1))
            wave = 0 * wave if rng.random() < 0.5 else wave
            x = (rng.randint(-wide, wide), x[1])
        kind = (2, 2, 6)[x[0] % 3] if dead else rng.choice((0, 1, 1, 1))
        struct.pack_into(order + "h", header, 28, kind)
        struct.pack_into(order + "i", header, 36, 0)   # offset: not known
        struct.pack_into(order + "h", header, 214, 0)  # scale of delrt
        struct.pack_into(order + "h4i", header, 70, scalco, x[0], y[0], x[1], y[1])
        if not dead:
            struct.pack_into(order + "h", header, 88, delay % 2)  # counit
        struct.pack_into(order + "h", header, 108, delay)
        struct.pack_into(order + "HH", header, 114, self.ns, self.dt)
        if not dead:
            exact = [v / -scalco if scalco < 0 else v * (scalco or 1) for v in x + y]
            self.varies |= {(axis, v) for axis, v in zip("xxyy", exact)}
        return bytes(header) + wave.astype(order + "f4").tobytes()

    def axis(self) -> list[str]:
        """axis=, which may be left out if the headers determine it."""
        clear = [axis for axis in "xy" if len([v for a, v in self.varies if a == axis]) > 1]
        right = "x" if self.along_x else "y"
        if clear == [right]:
            choices: list[list[str]] = [[], [], ["axis=auto"], [f"axis={right}"]]
            return self.rng.choice(choices)
        return [f"axis={right}"]


# ---- arguments -----------------------------------------------------------------------------


def window(rng: random.Random, g: Gather) -> Any:
    """(tau in seconds, half the window in samples)."""
    most = min(100, (g.end - g.first) // 2 - 1)
    half = rng.choice((0, 2, 2, 3, 4, 5))  # each new one is a kernel to build
    if rng.random() < 0.3:
        half = rng.choice((1, 3, 4, 6, 7, 8, 20, 50, 99, 100, 100, rng.randint(0, 100)))
    half = min(half, most)
    tau = half * g.dt * 1e-6
    if rng.random() < 0.3:
        tau += rng.uniform(0.1, 0.9) * g.dt * 1e-6
    return f"{tau:.9g}", half


def time_zero(rng: random.Random, g: Gather, half: int) -> str:
    last = g.end - 1
    k = rng.choice((g.first, last, half, last - half, half + 0.5, last - half - 1,
                    last - half - 1.5, rng.uniform(g.first, last),
                    rng.uniform(g.first, last), (g.first + last) / 2,
                    rng.randint(g.first, last)))
    text = f"{min(max(k, g.first), last) * g.dt * 1e-6:.9g}"
    # Rounding must not put the ends outside.
    end = last * (g.dt * 1e-6)
    while float(text) > end:
        text = repr(math.nextafter(end, 0))
    while float(text) < g.first * (g.dt * 1e-6):
        text = repr(g.first * (g.dt * 1e-6))
    return text


def counts(rng: random.Random, g: Gather, half: int) -> Any:
    """Values of A .. E: few mostly, one of them many sometimes."""
    if g.alive * (2 * half + 4) < 50 and rng.random() < 0.1:
        # More points than 16 bits can count.
        return rng.choice(([300, 250, 1, 1, 1], [1, 1, 70000, 1, 1], [70000, 1, 1, 1, 1],
                           [1, 270, 1, 1, 260]))
    points = max(1, POINTS / g.alive / (2 * half + 4))
    points = min(points, rng.choice((3, 20, 60, 200, 1000, 5000)))
    np = [1] * 5
    for k in rng.sample(range(5), 5):
        n = rng.choice((1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, rng.randint(1, 5000)))
        np[k] = max(1, min(n, int(points)))
        points /= np[k]
    return np


def ranges(rng: random.Random, g: Gather, half: int) -> Any:
    """P0, P1, N of A .. E as text: moveouts of a few windows up to many traces."""
    aperture = max(g.spread, 1)
    length = g.ns * g.dt * 1e-6
    strong = rng.choice((0, 0.003, 0.02, 0.02, 0.1, 0.1, 0.5, 3, 50))
    found = []
    for k, n in enumerate(counts(rng, g, half)):
        most = strong * length / aperture
        if k >= 2:
            most *= max(length, 1e-3) / aperture * rng.choice((1, 1, 3))
        most = min(most, 900)
        kind = rng.choice(("both", "both", "positive", "negative", "falling", "one",
                           "zero", "tight"))
        ends = {"both": (-most, most * 1.1), "positive": (0, most),
                "negative": (-most, 0), "falling": (most, -most * 0.9),
                "one": (most / 3, most / 3), "zero": (0, 0),
                "tight": (most / 2, most / 2 * 1.001)}[kind]
        digits = rng.choice((3, 9))
        found.append((f"{ends[0]:.{digits}g}", f"{ends[1]:.{digits}g}", str(n)))
    return found


def draw(rng: random.Random, folder: Path) -> Query:
    path = folder / "in.su"
    g = Gather(rng)
    g.write(path)
    tau, half = window(rng, g)
    t0 = time_zero(rng, g, half)
    searched = ranges(rng, g, half)
    point = [f"{g.m0:.12g}", f"{g.h0:.12g}", t0, tau]
    more = g.axis()
    if rng.random() < 0.3 or (g.dull and turned(g.ns) == g.ns):
        more.append("order=" + {"<": "little", ">": "big"}[g.order])
    elif rng.random() < 0.1:
        more.append("order=auto")
    # Barriers of cuda-cpu are slow: few threads if there are many groups.
    many = math.prod(int(r[2]) for r in searched[:3]) > 400
    if many and rng.random() < 0.95:
        more.append("local=" + rng.choice(("1,1,1", "2,1,1", "1,2,2")))
    elif rng.random() < 0.4:
        more.append("local=" + ",".join(map(str, group(rng))))
    if rng.random() < 0.2:
        arguments = [*point, *(w for r in searched for w in r), str(path), *more]
    else:
        keyed = dict(zip(("m0", "h0", "t0", "tau"), point))
        keyed |= {k: ",".join(r) for k, r in zip("abcde", searched)}
        arguments = [f"{k}={v}" for k, v in keyed.items()] + [f"in={path}"]
        chosen = rng.choice((0, 0, 0, 0, 1, 2, 3))
        if chosen:  # arguments take precedence over the set
            arguments.append(f"set={chosen}")
            arguments = [w for w in arguments if w not in
                     [f"{k}={v}" for k, v in zip(("m0", "h0"), PAPER[chosen])]]
        arguments += more
        rng.shuffle(arguments)
    return Query(arguments, {"OMP_NUM_THREADS": str(rng.choice((1, 2, 2, 3, 3, 8, 17, 64)))})


def turned(number: int) -> int:
    """A 16-bit number in the other byte order. If ns is the same in both, only the samples
    determine the byte order of a file, which constant samples cannot."""
    return number % 256 * 256 + number // 256


def group(rng: random.Random) -> Any:
    if rng.random() < 0.7:
        return rng.choice(((1, 1, 1), (3, 5, 2), (2, 1, 4), (64, 1, 1)))
    while True:
        local = [rng.choice((1, 1, 1, 2, 3, 4, 5, 7, 8, 16)) for _ in range(3)]
        if math.prod(local) <= 64:
            return local


# ---- what is printed -------------------------------------------------------------------


def wrong_output(arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path]) -> str | None:
    """A .. E, stack and semblance must be the numbers of out=, printed with the 9 digits
    that distinguish floats, and the maximum of the panel must be the semblance. Of whole
    output traces, the program prints how many there are."""
    if "stack" in files:
        of_job = {"Traces", "There", "Dead", "Points", "Time_init", "Time_run", "Time_search",
                  "Time_kernel"}
        missing = sorted(of_job - set(values))
        if missing:
            return f"stdout lacks {' '.join(missing)}"
        run, search = float(values["Time_run"]), float(values["Time_search"])
        if not 0 <= search <= run:
            return f"Time_search={search:g} is part of Time_run={run:g}"
        return None
    found = numpy.load(files["out"])
    names = ("A", "B", "C", "D", "E", "Stack", "Semblance")
    times = ("Time_init", "Time_run", "Time_kernel")
    shares = [k for k in ("Share", "Share_even") if k in values]
    if sorted(values) != sorted([*names, *times, *shares]):
        return f"stdout has {' '.join(values)}"
    for name, number in zip(names, found):
        if numpy.float32(values[name]) != number:
            return f"{name}={values[name]}, out= has {number:.9g}"
        if len(values[name].strip("-0.").replace(".", "").split("e")[0]) > 9:
            return f"{name}={values[name]}: more than 9 digits"
    for name in times:
        if not 0 <= float(values[name]) < 1e4:
            return f"{name}={values[name]}"
    for name in shares:
        if not 0 <= float(values[name]) <= 100:
            return f"{name}={values[name]}"
    if float(values["Time_kernel"]) > float(values["Time_run"]) * 1.5 + 1e-3:
        return f"Time_kernel={values['Time_kernel']}, Time_run={values['Time_run']}"
    if "panel" in files:
        most = numpy.load(files["panel"]).max()
        if most != found[6]:
            return f"Semblance={values['Semblance']}, the panel has {most:.9g}"
    return None
