"""test_headers.py: what the headers of real surveys contain, and every search must obey.

A small gather is written in ways that mean the same: along x or along y, in any unit, far
from the origin, with dead traces, with a delay. A search must give the same answer, to the
byte if nothing needs rounding. Tested are the first search, which reads headers, and the
last on the host and on a device, which get metres. What is refused is in test_messages.py,
su_line() by itself in su_test.c; random queries run all other steps.
"""
from __future__ import annotations

import math
import os
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import BUILD, binaries, run, trace

NS, TRACES = 61, 7
UNITS = (0, 1, -1, 10, -10, -100, 100, -3, 7, -10000)
CHECKER = os.path.join(BUILD, "semblance-check")


class Survey:
    """A line of traces, in whole metres that every unit of UNITS divides, or nearly."""

    def __init__(self) -> None:
        rng = random.Random(5)
        self.at = [(700 * rng.randint(-5, 5), 700 * rng.randint(-5, 5))
                   for _ in range(TRACES)]
        self.waves = [[math.sin(j / 3 + i / 5) + 0.1 * rng.uniform(-1, 1)
                       for j in range(NS)] for i in range(TRACES)]

    def bytes(self, axis: str = "y", units: Sequence[int] = (1,), origin: float = 0,
              other: float = 0, order: str = "<", delay: int = 0,
              samples: Callable[[list[float]], list[float]] | None = None, **more: Any
              ) -> bytes:
        """units: scalco of one trace after the other. origin and other: added along the
        line and across. delay: delrt. more: arguments of helpers.trace."""
        raw = b""
        for i, (s, g) in enumerate(self.at):
            scalco = units[i % len(units)]
            scale = scalco if scalco > 0 else -1 / scalco if scalco < 0 else 1
            along = [round((v + origin) / scale) for v in (s, g)]
            across = [round(other / scale)] * 2
            x, y = (along, across) if axis == "x" else (across, along)
            wave = self.waves[i] if samples is None else samples(self.waves[i])
            one = bytearray(trace(wave, sx=x[0], gx=x[1], sy=y[0], gy=y[1],
                                  scalco=scalco, order=order, **more))
            struct.pack_into(order + "h", one, 108, delay)
            raw += one
        return raw


class Bench:
    """Searches gathers with three binaries."""

    def __init__(self, check: Any, folder: Path) -> None:
        self.check, self.folder = check, folder
        self.binaries = (binaries("semblance", ("seq",))[:1]
                         + binaries("semblance", ("omp",))[-1:]
                         + binaries("semblance", ("ocl",))[-1:])
        self.answers: dict[Any, Any] = {}

    def answer(self, raw: bytes, binary: str, m0: float | str = 0, h0: float = 0,
               t0: float | str = 0.12, more: Sequence[str] = ()) -> tuple[Any, str]:
        """(stdout without times and the bytes of both files, stderr) of a search that the
        checker accepts; otherwise (a text, "")."""
        key = raw, binary, m0, h0, t0, more
        if key in self.answers:
            return self.answers[key]
        with open(os.path.join(self.folder, "in.su"), "wb") as file:
            file.write(raw)
        arguments = ["in=in.su", f"m0={m0}", f"h0={h0}", f"t0={t0}", "tau=0.008",
                     "a=-2e-5,2e-5,3", "b=-2e-5,3e-5,2", "c=-1e-9,3e-9,3", "d=-2e-9,1e-9,2",
                     "e=-1e-9,1e-9,2", *more]
        done = run([binary, *arguments, "out=out.npy", "panel=panel.npy"], self.folder)
        if done.returncode:
            return done.stderr, ""
        printed = [line for line in done.stdout.splitlines() if not line.startswith("Time_")]
        files = []
        for name in ("out.npy", "panel.npy"):
            with open(os.path.join(self.folder, name), "rb") as file:
                files.append(file.read())
        oracle = os.path.join(self.folder, "oracle.npy")
        checked = run([CHECKER, *arguments, f"oracle={oracle}", "result=out.npy",
                       "panel=panel.npy"], self.folder)
        os.remove(oracle)
        if checked.returncode:
            return checked.stdout + checked.stderr, ""
        self.answers[key] = (printed, files), done.stderr
        return self.answers[key]

    def same(self, what: str, one: bytes, two: bytes, here: Mapping[str, Any] = {},
             there: Mapping[str, Any] = {}) -> None:
        """Searches both gathers with all binaries: the answers are equal, and something is
        found. here, there: arguments of answer()."""
        for step, backend, path in self.binaries:
            first, _ = self.answer(one, path, **dict(here))
            second, _ = self.answer(two, path, **dict(there))
            problem = None
            if isinstance(first, str) or isinstance(second, str):
                problem = next(a for a in (first, second) if isinstance(a, str))
            elif first != second:
                problem = f"{first[0]} and {second[0]}"
            elif float(first[0][-1].partition("=")[2]) < 0.05:
                problem = f"nothing was found: {first[0]}"
            self.check(f"{what}, {step} {backend}", problem)


@pytest.fixture(name="bench")
def bench_of_test(check: Any, tmp_path: Path) -> Bench:
    return Bench(check, tmp_path)


@pytest.fixture(name="survey")
def survey_of_test() -> Survey:
    return Survey()


def test_twins(bench: Bench, survey: Survey) -> None:
    """The line runs along x or along y; the other coordinate is 0, or some other."""
    for unit in UNITS:
        bench.same(f"x and y, scalco {unit}", survey.bytes("x", (unit,)),
                   survey.bytes("y", (unit,)))
    bench.same("x and y, units mixed", survey.bytes("x", UNITS), survey.bytes("y", UNITS))
    bench.same("x and y, big-endian", survey.bytes("x", order=">"), survey.bytes("y"))
    bench.same("x and y, the other a constant", survey.bytes("x", other=-123456),
               survey.bytes("y", other=99), {"more": ("axis=auto",)}, {})
    bench.same("axis=x and axis=y", survey.bytes("x"), survey.bytes("y"),
               {"more": ("axis=x",)}, {"more": ("axis=y",)})


def test_units(bench: Bench, survey: Survey) -> None:
    """A unit of a metre, or of many, is exact: 700 of 1, 70 of 10, 7 of 100 ..."""
    for unit in (0, -1, 10, 100, 7):
        bench.same(f"scalco {unit} and 1", survey.bytes(units=(unit,)), survey.bytes())
    bench.same("mixed and 1", survey.bytes(units=(10, 1, 0, 7, -1, 100)), survey.bytes())


def test_far_from_the_origin(bench: Bench, survey: Survey) -> None:
    """Whole metres are subtracted without rounding, whatever they are."""
    for origin, scalco in ((6.1e6, -100), (-6.1e6, -100), (1e7, -10), (1e7, 1),
                           (1.2e6, -1000), (4900, -10000), (6.3e6, 7)):
        bench.same(f"{origin:g} m, scalco {scalco}",
                   survey.bytes("x", (scalco,), origin=origin),
                   survey.bytes("y", (scalco,)),
                   {"m0": f"{origin + 100.25:.12g}", "h0": -40.5},
                   {"m0": "100.25", "h0": -40.5})


def test_dead(bench: Bench, survey: Survey) -> None:
    whole = survey.bytes()
    row = len(whole) // TRACES
    lost = bytearray(trace([9.0] * NS, sx=5, sy=-7, gx=1, scalco=-100))
    struct.pack_into("<h", lost, 28, 2)
    with_dead = bytes(lost) + whole[:3 * row] + 2 * bytes(lost) + whole[3 * row:]
    bench.same("dead traces", with_dead, whole)
    for step, backend, path in bench.binaries:
        _, message = bench.answer(with_dead, path)
        right = "semblance: in.su: 3 of 10 traces are dead (trid 2) and ignored\n"
        bench.check(f"dead traces are counted, {step} {backend}",
                          None if message == right else message)


def padded(number: int, wave: list[float]) -> list[float]:
    return [0.0] * number + wave


def cut(number: int, wave: list[float]) -> list[float]:
    return wave[number:]


def test_delays(bench: Bench, survey: Survey) -> None:
    """A trace that begins later has zeros before, one that begins earlier is cut."""
    for samples in (1, 9):
        later: Callable[[list[float]], list[float]] = partial(padded, samples)
        bench.same(f"delrt {4 * samples}", survey.bytes(delay=4 * samples),
                   survey.bytes(samples=later))
        earlier: Callable[[list[float]], list[float]] = partial(cut, samples)
        bench.same(f"delrt {-4 * samples}", survey.bytes("x", delay=-4 * samples),
                   survey.bytes(samples=earlier))
        ends: dict[str, Any] = {"t0": f"{4e-3 * (60 + samples):.9g}"}
        for step, backend, path in bench.binaries:
            found, _ = bench.answer(survey.bytes(delay=4 * samples), path, **ends)
            bench.check(f"the last sample after a delay, {step} {backend}",
                              found if isinstance(found, str) else None)


def test_orders(bench: Bench, survey: Survey) -> None:
    """ns 257 and dt 4112 read the same in both byte orders."""
    def longer(wave: list[float]) -> list[float]:
        return [wave[k % NS] for k in range(257)]
    little, big = (survey.bytes(samples=longer, dt=0x1010, order=order) for order in "<>")
    bench.same("orders that headers do not tell", little, big)
