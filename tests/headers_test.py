"""headers_test.py: what the headers of real surveys say, and every search must heed.

A small gather is written in ways that mean the same, along x or along y, in any unit, far
from the origin, with dead traces, with a delay; a search must give the same answer, to
the byte where nothing needs rounding. Asked are the first search, which sees headers, and
the last on the host and on a device, which see metres. Left out: what is refused, which
is in bad_input.py, su_line() by itself, which is in su_test.c, and all other steps, which
random queries ask.
"""
import math
import os
import random
import struct
import sys
import tempfile

from tests.helpers import BUILD, Tally, binaries, run, trace

NS, TRACES = 61, 7
UNITS = (0, 1, -1, 10, -10, -100, 100, -3, 7, -10000)
CHECKER = os.path.join(BUILD, "semblance-check")


class Survey:
    """A line of traces, in whole metres that every unit of UNITS divides, or nearly."""

    def __init__(self):
        rng = random.Random(5)
        self.at = [(700 * rng.randint(-5, 5), 700 * rng.randint(-5, 5))
                   for _ in range(TRACES)]
        self.waves = [[math.sin(j / 3 + i / 5) + 0.1 * rng.uniform(-1, 1)
                       for j in range(NS)] for i in range(TRACES)]

    def bytes(self, axis="y", units=(1,), origin=0, other=0, order="<", delay=0,
              samples=None, **more):
        """units: a scalco for one trace after the other. origin and other: what is added
        along the line and across. delay: delrt. more: as of helpers.trace."""
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
    def __init__(self, tally, folder):
        self.tally, self.folder = tally, folder
        self.binaries = (binaries("semblance", ("seq",))[:1]
                         + binaries("semblance", ("omp",))[-1:]
                         + binaries("semblance", ("ocl",))[-1:])
        self.answers = {}

    def answer(self, raw, binary, m0=0, h0=0, t0=0.12, more=()):
        """(stdout but times and the bytes of both files, stderr) of a search, whose
        checker must agree; a text where it does not."""
        key = raw, binary, m0, h0, t0, more
        if key in self.answers:
            return self.answers[key]
        with open(os.path.join(self.folder, "in.su"), "wb") as file:
            file.write(raw)
        words = ["in=in.su", f"m0={m0}", f"h0={h0}", f"t0={t0}", "tau=0.008",
                 "a=-2e-5,2e-5,3", "b=-2e-5,3e-5,2", "c=-1e-9,3e-9,3", "d=-2e-9,1e-9,2",
                 "e=-1e-9,1e-9,2", *more]
        ended = run([binary, *words, "out=out.npy", "panel=panel.npy"], self.folder)
        if ended.returncode:
            return ended.stderr, ""
        said = [line for line in ended.stdout.splitlines() if not line.startswith("Time_")]
        files = []
        for name in ("out.npy", "panel.npy"):
            with open(os.path.join(self.folder, name), "rb") as file:
                files.append(file.read())
        oracle = os.path.join(self.folder, "oracle.npy")
        checked = run([CHECKER, *words, f"oracle={oracle}", "result=out.npy",
                       "panel=panel.npy"], self.folder)
        os.remove(oracle)
        if checked.returncode:
            return checked.stdout + checked.stderr, ""
        self.answers[key] = (said, files), ended.stderr
        return self.answers[key]

    def same(self, what, one, two, here=(), there=()):
        """Both gathers are searched everywhere: the answers are equal and found
        something. here, there: the arguments of answer()."""
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
            self.tally.check(f"{what}, {step} {backend}", problem)


def twins(bench, survey):
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


def units(bench, survey):
    """A unit of a metre, or of many, is exact: 700 of 1, 70 of 10, 7 of 100 ..."""
    for unit in (0, -1, 10, 100, 7):
        bench.same(f"scalco {unit} and 1", survey.bytes(units=(unit,)), survey.bytes())
    bench.same("mixed and 1", survey.bytes(units=(10, 1, 0, 7, -1, 100)), survey.bytes())


def far_from_the_origin(bench, survey):
    """Whole metres are subtracted without rounding, whatever they are."""
    for origin, scalco in ((6.1e6, -100), (-6.1e6, -100), (1e7, -10), (1e7, 1),
                           (1.2e6, -1000), (4900, -10000), (6.3e6, 7)):
        bench.same(f"{origin:g} m, scalco {scalco}",
                   survey.bytes("x", (scalco,), origin=origin),
                   survey.bytes("y", (scalco,)),
                   {"m0": f"{origin + 100.25:.12g}", "h0": -40.5},
                   {"m0": "100.25", "h0": -40.5})


def dead(bench, survey):
    whole = survey.bytes()
    row = len(whole) // TRACES
    lost = bytearray(trace([9.0] * NS, sx=5, sy=-7, gx=1, scalco=-100))
    struct.pack_into("<h", lost, 28, 2)
    with_dead = bytes(lost) + whole[:3 * row] + 2 * bytes(lost) + whole[3 * row:]
    bench.same("dead traces", with_dead, whole)
    for step, backend, path in bench.binaries:
        _, said = bench.answer(with_dead, path)
        right = "semblance: in.su: 3 of 10 traces are dead (trid 2), not used\n"
        bench.tally.check(f"dead traces are counted, {step} {backend}",
                          None if said == right else said)


def delays(bench, survey):
    """A trace that begins later has zeros before, one that begins earlier is cut."""
    for samples in (1, 9):
        bench.same(f"delrt {4 * samples}", survey.bytes(delay=4 * samples),
                   survey.bytes(samples=lambda w: [0.0] * samples + w))
        bench.same(f"delrt {-4 * samples}", survey.bytes("x", delay=-4 * samples),
                   survey.bytes(samples=lambda w: w[samples:]))
        ends = {"t0": f"{4e-3 * (60 + samples):.9g}"}
        for step, backend, path in bench.binaries:
            found, _ = bench.answer(survey.bytes(delay=4 * samples), path, **ends)
            bench.tally.check(f"the last sample after a delay, {step} {backend}",
                              found if isinstance(found, str) else None)


def orders(bench, survey):
    """ns 257 and dt 4112 read the same in both byte orders."""
    def longer(wave):
        return [wave[k % NS] for k in range(257)]
    bench.same("orders that headers do not tell", *(
        survey.bytes(samples=longer, dt=0x1010, order=order) for order in "<>"))


def main():
    tally, survey = Tally(), Survey()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(tally, folder)
        for test in (twins, units, far_from_the_origin, dead, delays, orders):
            test(bench, survey)
    sys.exit(tally.finish())


if __name__ == "__main__":
    main()
