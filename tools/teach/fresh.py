"""fresh.py - data that no attempt has seen, for the runs that are timed.

of(program, arguments, folder) makes of a set a query of the same size and difficulty whose
answer cannot have been stored: other samples, events, media or piles. No truth is known for
it; the checker's computation in double precision judges. A new program needs a function of
its name here.
"""
from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy

from tools.base.tree import Program, with_arguments

Generator = numpy.random.Generator


def value(arguments: Sequence[str], key: str, default: str = "") -> str:
    return next((a[len(key) + 1:] for a in arguments if a.startswith(f"{key}=")), default)


def semblance(arguments: Sequence[str], chance: Generator, folder: Path) -> list[str]:
    """The same traces in another order, with random amplitudes and more noise."""
    old, new = Path(value(arguments, "in")).read_bytes(), folder / "fresh.su"
    order, ns = next((o, ns) for o in "<>"
                     for ns in struct.unpack_from(f"{o}H", old, 114)
                     if ns and len(old) % (240 + 4 * ns) == 0)
    traces = numpy.frombuffer(old, [("header", "V240"), ("data", f"{order}f4", ns)])
    traces = chance.permutation(traces)
    traces["data"] *= chance.uniform(0.7, 1.3, (len(traces), 1))
    traces["data"] += chance.uniform(-0.005, 0.005, traces["data"].shape)
    new.write_bytes(traces.tobytes())
    return [f"in={new}"]


def fluid(arguments: Sequence[str], chance: Generator, folder: Path) -> list[str]:
    """The same events with random strengths."""
    def event(line: str) -> str:
        kind, *numbers, step = line.split()
        numbers = [f"{float(n) * chance.uniform(0.8, 1.2):.6g}" for n in numbers]
        return " ".join([kind, *numbers, step])

    text, new = Path(value(arguments, "events")).read_text(), folder / "fresh.txt"
    new.write_text(re.sub(r"^(source|force)\b.*", lambda m: event(m[0]), text,
                          flags=re.M))
    return [f"events={new}"]


def fletcher(arguments: Sequence[str], chance: Generator, folder: Path) -> list[str]:
    """Another medium, and another grid spacing."""
    return [f"{key}={chance.uniform(low, high):.6g}" for key, low, high in
            (("vpz", 2800, 3000), ("epsilon", 0.2, 0.24), ("delta", 0.08, 0.12),
             ("theta", 0.3, 1.2), ("phi", 0.3, 1.2), ("dx", 12.5, 13), ("dy", 12.5, 13),
             ("dz", 12.5, 13))]


def gridding(arguments: Sequence[str], chance: Generator, folder: Path) -> list[str]:
    """The same antennas at another frequency: other u, v, w, other visibilities."""
    return [f"frequency={chance.uniform(1.36e9, 1.4e9):.9g}"]


def sandpile(arguments: Sequence[str], chance: Generator, folder: Path) -> list[str]:
    """Another random pile; for other piles, about four grains per cell."""
    if value(arguments, "config") == "alea":
        return [f"seed={chance.integers(1 << 31)}"]
    dim, new = int(value(arguments, "dim")), folder / "fresh.npy"
    grid = numpy.zeros((int(value(arguments, "batch", "1")), dim, dim), "<i4")
    grid[:, 1:-1, 1:-1] = chance.integers(3, 6, grid[:, 1:-1, 1:-1].shape)
    numpy.save(new, grid)
    return [f"config={new}"]


DRAWN = {f.__name__: f for f in (semblance, fluid, fletcher, gridding, sandpile)}


def of(program: Program, arguments: Sequence[str], folder: Path) -> list[str]:
    """The arguments of a fresh query, whose files go to folder."""
    if program.name not in DRAWN:
        raise SystemExit(f"tools/teach/fresh.py: no function {program.name}: expected one "
                         f"that makes fresh data")
    drawn = DRAWN[program.name](arguments, numpy.random.default_rng(), folder)
    return with_arguments(arguments, drawn)
