"""fresh.py - data that no attempt has seen, for the runs that are timed.

of(program, words, folder) makes of a set a query as long and as hard, whose answer nobody
can have kept: other samples, events, media, piles. No truth is known of them: the
checker's own computation in double precision judges. A program that is new gets a
function of its name here.
"""
import re
import struct
from pathlib import Path

import numpy

from tools.history.runs import with_arguments


def value(words, key):
    return next((w[len(key) + 1:] for w in words if w.startswith(f"{key}=")), None)


def semblance(words, chance, folder):
    """The same traces in another order, each as loud as chance has it, with more noise."""
    old, new = Path(value(words, "in")).read_bytes(), folder / "fresh.su"
    order, ns = next((o, ns) for o in "<>"
                     for ns in struct.unpack_from(f"{o}H", old, 114)
                     if ns and len(old) % (240 + 4 * ns) == 0)
    traces = numpy.frombuffer(old, [("header", "V240"), ("data", f"{order}f4", ns)])
    traces = chance.permutation(traces)
    traces["data"] *= chance.uniform(0.7, 1.3, (len(traces), 1))
    traces["data"] += chance.uniform(-0.005, 0.005, traces["data"].shape)
    new.write_bytes(traces.tobytes())
    return [f"in={new}"]


def fluid(words, chance, folder):
    """The same events, each as strong as chance has it."""
    def event(line):
        what, *numbers, when = line.split()
        numbers = [f"{float(n) * chance.uniform(0.8, 1.2):.6g}" for n in numbers]
        return " ".join([what, *numbers, when])

    text, new = Path(value(words, "events")).read_text(), folder / "fresh.txt"
    new.write_text(re.sub(r"^(source|force)\b.*", lambda m: event(m[0]), text,
                          flags=re.M))
    return [f"events={new}"]


def fletcher(words, chance, folder):
    """Another rock, and points that lie otherwise."""
    return [f"{key}={chance.uniform(low, high):.6g}" for key, low, high in
            (("vpz", 2800, 3000), ("epsilon", 0.2, 0.24), ("delta", 0.08, 0.12),
             ("theta", 0.3, 1.2), ("phi", 0.3, 1.2), ("dx", 12.5, 13), ("dy", 12.5, 13),
             ("dz", 12.5, 13))]


def gridding(words, chance, folder):
    """The same array hears another frequency: other u, v, w, other visibilities."""
    return [f"frequency={chance.uniform(1.36e9, 1.4e9):.9g}"]


def sandpile(words, chance, folder):
    """Other cells where they are drawn; else about four grains in each."""
    if value(words, "config") == "alea":
        return [f"seed={chance.integers(1 << 31)}"]
    dim, new = int(value(words, "dim")), folder / "fresh.npy"
    grid = numpy.zeros((int(value(words, "batch") or 1), dim, dim), "<i4")
    grid[:, 1:-1, 1:-1] = chance.integers(3, 6, grid[:, 1:-1, 1:-1].shape)
    numpy.save(new, grid)
    return [f"config={new}"]


DRAWN = {f.__name__: f for f in (semblance, fluid, fletcher, gridding, sandpile)}


def of(program, words, folder):
    """The words of a fresh query, whose files go to folder."""
    if program.name not in DRAWN:
        raise SystemExit(f"tools/teach/fresh.py: no fresh data for {program.name}")
    drawn = DRAWN[program.name](words, numpy.random.default_rng(), folder)
    return with_arguments(words, drawn)
