"""test_messages.py: what a program says about input that is wrong. Each case differs in one fault
from a command that succeeds, so that no other check can hide a missing one. What follows from the
table of arguments is in test_arguments.py.
"""
import functools
import os
import re
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.helpers import BUILD, ROOT, binaries, run
from tests.test_arguments import LITTLE, QUERIES, run_clean, words, write_inputs
from tools.base import tree
from tools.verify import section_oracle as oracle

PROGRAMS = {p.name for p in tree.programs()}
CASES: list[tuple[str, str, str, Any]] = []


def case(command, changes, message, content=None):
    """One case. `command` is a program: its first sequential binary and the last one of the
    back-ends ocl, hybrid and cuda-cpu; or PROGRAM-BACKEND: the last binary of a back-end; or the
    path of a binary in build/. Variables and the options of env(1) may come before it. `changes`
    begin with {QUERY} or are all arguments; `content` is that of the file x.npy. The command must
    print one line with the message, in which * stands for any text, and leave no file. A message
    that begins with a colon or a comma follows the last argument."""
    if message[0] in ":,":
        message = changes.split(" ")[-1] + message
    CASES.append((command, changes, message, content))


def cases(command, base, *rows):
    """Cases that add arguments to a base: rows of (arguments, message)."""
    for changes, message in rows:
        case(command, f"{base} {changes}".strip(), message)


def files(command, base, *rows):
    """Cases whose last argument names a file: rows of (its content, message). A message that
    begins with a colon or a comma follows the file, and for most arguments KEY=FILE."""
    key = base.split()[-1]
    for content, message in rows:
        if message[0] in ":,":
            message = key * (key not in ("in=", "config=", "events=")) + "x.npy" + message
        case(command, f"{base}x.npy", message, content)


def array(kind, shape, value, changes=()):
    values = numpy.full(shape, value, kind)
    for index, other in dict(changes).items():
        values.flat[index] = other
    return values


def header(text, after=b"", version=b"\x01\x00"):
    """A file of NumPy with this text as its header."""
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text.encode() + after


def su(samples=None, order="<", **fields):
    """The small file of three traces with other values of fields: one, or one per trace."""
    heads, rows = oracle.split(LITTLE, "<")
    text = b""
    for i, (head, row) in enumerate(zip(heads, rows if samples is None else samples, strict=True)):
        values = {name: v[i] if isinstance(v, tuple) else v for name, v in fields.items()}
        text += oracle.put(values, "<", head) + numpy.asarray(row).astype(order + "f4").tobytes()
    return text


def corpus(name):
    return (LITTLE.parent / name).read_bytes()


def reel(text, dt=0, ns=8, order=">", texts=0):
    """A file of SEG-Y: the headers of the reel, then traces."""
    binary = bytearray(400)
    for at, value in (16, dt), (20, ns), (24, 5), (304, texts):
        struct.pack_into(order + "h", binary, at, value)
    return text * 3200 + binary + text * 3200 * texts + corpus(
        "big.su" if order == ">" else "little.su")


def with_samples(*changes):
    rows = oracle.split(LITTLE, "<")[1]
    samples = numpy.array(rows)
    for trace, sample, value in changes:
        samples[trace, sample] = value
    return su(samples)


# ---- all programs --------------------------------------------------------------------

for name in ("sandpile", "semblance", "gridding", "fluid", "fletcher-omp"):
    for threads in ("100000", "2,4097"):
        case(f"OMP_NUM_THREADS={threads} {name}", f"{{{name.partition('-')[0]}}}",
             f"OMP_NUM_THREADS={threads}: expected a whole number from 1 to 4096")
for processors in ("0", "4097"):
    case(f"PROCESSORS={processors} fletcher-hybrid", "{fletcher}",
         f"PROCESSORS={processors}: expected a whole number from 1 to 4096")
for name in sorted(PROGRAMS):
    cases(f"{name}-hybrid", f"{{{name}}}", *(
        (f"share={x}", ": expected auto, or 0 to 100 percent for the device")
        for x in ("-1", "-0.001", "100.1", "nan", "inf", "half", "50%")))
for name, base, key in (
        *(("gridding", "{gridding}", k)
          for k in ("visibilities", "grid", "support", "oversampling", "planes", "cell")),
        *(("semblance", "{semblance}", k) for k in ("in", "m0", "h0", "t0", "tau", *"abcde")),
        ("sandpile", "{sandpile}", "dim"), ("fluid", "{fluid}", "events")):
    case(name, f"{base} -{key}", "preset= or " * (name == "gridding")
         + f"{key}= is missing (help lists the keys)")

# ---- .npy files ----------------------------------------------------------------------

files("sandpile", "{sandpile} -dim config=", *(
    (content if isinstance(content, bytes) else header(content), message) for content, message in (
        (b"this is not an array", ": not an .npy file"),
        (header("\n", version=b"\x03\x00"), ": .npy version 3.0: expected 1.0 or 2.0"),
        (header("{'descr'" + " " * 99)[:18], ": truncated: the file ends inside the header"),
        ("(1,)\n", ": header is not a dictionary"),
        ("{'descr'}", ": header is damaged at byte 8"),
        ("{'descr': 4}", ": unsupported type: expected <f4, <f8, <i4 or |u1"),
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (4, 4), }\n",
         ": unsupported type '<i8': expected <f4, <f8, <i4 or |u1"),
        ("{'fortran_order': True}", ": not in C order: expected fortran_order False"),
        ("{'size': 3}", ": header key 'size' is unknown or occurs twice"),
        ("{'shape': (3)}", ": wrong shape: expected a tuple of 0 to 8 sizes"),
        ("{'descr': '<i4'}", ": incomplete header: expected descr, fortran_order and shape"),
        ("{} x", ": text follows the dictionary of the header"),
        (header("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 3), }\n", b"0123"),
         ": truncated (74 bytes): expected 106"),
        (header("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n", b"0123456789abc"),
         ": too long (81 bytes): expected 80"),
        (f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({2**32}, {2**32}), }}\n",
         ": wrong shape: more elements than memory can hold"),
        (b"\x93NUMPY\2\0\0\0\1\0", ": header of 65536 bytes: expected less than 65536"))))

# ---- sandpile ------------------------------------------------------------------------

SHAPE = ": wrong shape: expected (dim, dim) or (batch, dim, dim)"
GRAINS = "expected a whole number from 0 to 1000000000"
cases("sandpile", "{sandpile}",
      ("out=/dev/full", "/dev/full: cannot be written: No space left on device"),
      ("rule=async tilew=1", "rule=async: tiles are too small: expected at least 2 x 2 cells"),
      *((f"local={local}", ": too many work-items: expected at most 1024")
        for local in ("64,64,1", "16,1,65", "1,32,33")),
      ("config=.npy", ": expected 4partout, dim, alea, big or FILE.npy"),
      ("config=good.npy dim=5", ": differs from good.npy: expected 4"),
      ("-dim config=good.npy batch=2", ": differs from good.npy: expected 1"),
      ("dim=32768 batch=65535", "the grids: too large (2.81e+05 GB): expected at most * GB, "
       "the memory limit"))
files("sandpile", "{sandpile} -dim config=",
      *((array("<i4", shape, 0), SHAPE)
        for shape in ((9,), (3, 4), (1, 1, 3, 3), (0, 3, 3), (4, 3, 4))),
      *((array("|u1", shape, 0), f": {shape[0]} grids of {shape[1]} x {shape[1]} cells: expected 1 "
         "to 65535 grids of 3 to 32768 cells per side") for shape in ((1, 2, 2), (65536, 3, 3))),
      *((array("<i4", (3, 3), 0, {at: 1}), f": 1 grains at grid 0, row {at // 3}, column {at % 3}: "
         "expected 0 on the border") for at in (0, 1, 3, 5, 7)),
      *((array(kind, (4, 4), 0, {at: value}), f": {value:.6g} grains at grid 0, row {at // 4}, "
         f"column {at % 4}: {GRAINS}") for kind, at, value in (
             ("<f8", 0, -1), ("<i4", 6, -1), ("<f4", 9, 0.5), ("<f8", 10, numpy.nan),
             ("<i4", 5, 10**9 + 1))))
cases("sandpile", "{sandpile}",
      ("dim=17 batch=58824 max_iterations=0",
       "picture=pile.png: too wide (58824 grids of 17 cells): expected at most 1000000 cells"))
cases("sandpile-hybrid", "{sandpile}",
      ("trace=t.csv",
       "trace=: not supported by this back-end: expected busy=, or the back-end omp"))
case("fluid-hybrid", "{fluid} -out -velocity -totals -picture busy=/dev/full",
     ": cannot be written: No space left on device")
cases("sandpile-ocl", "{sandpile}",
      ("rule=async", ": not supported by this back-end: expected sync, or the back-end seq or omp"),
      ("trace=t.csv", "trace=: not supported by this back-end: expected the back-end omp"))
case("00_sequential/sandpile-seq", "{sandpile} trace=t.csv",
     "trace=: not supported by step 00, which has no tiles: expected step 01 or later")

# ---- fluid ---------------------------------------------------------------------------

LARGE = "too large (dt n max(1, diff n, visc n) is {}): expected less than 1e30"
cases("fluid", "{fluid}",
      ("dt=1e20 visc=1e20", f"dt=1e+20 diff=0.0001 visc=1e+20: {LARGE.format('2.5e+41')}"),
      ("dt=1e30", f"dt=1e+30 diff=0.0001 visc=0.0001: {LARGE.format('5e+30')}"),
      ("diff=1e30", f"dt=0.1 diff=1e+30 visc=0.0001: {LARGE.format('2.5e+30')}"),
      ("visc=1e30", f"dt=0.1 diff=0.0001 visc=1e+30: {LARGE.format('2.5e+30')}"),
      ("movie=good.txt", ": expected a folder"),
      ("movie=. picture=000001.png", "picture= and movie= name the same file: ./000001.png"),
      (f"movie={'./' * 2000}", "movie=: path too long: expected at most 4000 bytes"))
case("fluid-omp", "{fluid} solver=gs",
     ": no parallel version (lexicographic order): expected rb")
case("fluid", "{fluid} visc=1e20 dt=1 steps=6 sweeps=0 events=x.npy", "result is not finite after "
     "6 steps and * sweeps: expected smaller forces, dt, diff or visc", "source 1 0\n" + "".join(
         f"force 3.4e38 3.4e38 -3.4e38 {step}\n" for step in range(6)))
NOT_FIRST = "time: not the first entry: expected before all sources and forces"
STEP = "expected a step, a whole number from 0 to 1000000"
files("fluid", "{fluid} events=",
      ("", ": no event in 0 lines"), ("# nothing\n\n", ": no event in 2 lines"),
      ("source 1 0\n\0source 1 0\n", ":2: a zero byte: expected text"),
      ("source 1 0\nsource 2 1\0source 3 2", ":2: a zero byte: expected text"),
      ("time 3\ntime 3\n", f":2: {NOT_FIRST}"),
      ("source 60 0\nforce 9 -5 3 0\nforce -4 7 11 1\ntime 3\n", f":4: {NOT_FIRST}"),
      ("time\n", ":1: expected time N"),
      ("source 60 0\nsink 3 3\n", ":2: sink: expected source, force or time"),
      ("source 60\n", ":1: wrong number of fields (2): expected source D T"),
      ("\nforce 1 2 3\n", ":2: wrong number of fields (4): expected force X Y Z T"),
      ("force 1 2 3 4 5\n", ":1: wrong number of fields (6): expected force X Y Z T"),
      *((f"source {x} 0\n", f":1: {x}: expected a number from 0 to 3.4e38")
        for x in ("much", "-1", "nan", "1e39")),
      *((f"force 0 {x} 0 0\n", f":1: {x}: expected a number from -3.4e38 to 3.4e38")
        for x in ("inf", "1e39")),
      *((f"source 3 {x}\n", f":1: {x}: {STEP}") for x in ("-1", "1.5", "99999999999")),
      ("source 3 5\nsource 3 4\n",
       ":2: step 4 comes after step 5: expected steps that do not decrease"),
      (f"source 1 0\nsource {'9' * 300} 0\n", ":2: too long: expected at most 255 bytes"))

# ---- fletcher ------------------------------------------------------------------------

UNSTABLE = ": unstable: expected at most {} s for {} m between points and {} m/s"
GROW = ": waves grow without bound where epsilon={} and delta={} (z {}, y {}, x {}): expected {}"
TOO_LARGE = "nx={0} ny={0} nz={0}: a grid of {1} points: too large ({2} GB): expected at most * " \
    "GB, the memory limit"
ROCK = ": expected above 0, at most 1e9"
ANISOTROPY = ": expected above -0.5, at most 100"
cases("fletcher", "{fletcher}",
      *((f"vpz={x}", ROCK) for x in ("0", "-1500", "1.1e9")),
      *((f"vpz={x}", ": expected a number") for x in ("nan", "3000m/s")),
      *((f"{key}={x}", ANISOTROPY) for key in ("epsilon", "delta") for x in (-0.5, 101)),
      *((f"{key}={x}", ": expected -100 to 100 radians") for key in ("theta", "phi")
        for x in (-101, 1000)),
      ("epsilon=2layers.npy", ": No such file or directory"),
      *((f"dt={dt}", UNSTABLE.format(0.00123299, 10, 3649.66)) for dt in (1, 0.002)),
      ("form=ISO dt=0.00151", UNSTABLE.format(0.0015, 10, 3000)),
      *((f"{key}=2", f"dt=0.001{UNSTABLE.format(0.000246598, 2, 3649.66)}")
        for key in ("dx", "dy", "dz")),
      ("vpz=5000", f"dt=0.001{UNSTABLE.format(0.000739795, 10, 6082.76)}"),
      ("sigma=0.001", f"dt=0.001{UNSTABLE.format(0.000126741, 10, 35505.4)}"),
      ("epsilon=4", f"dt=0.001{UNSTABLE.format(0.000499712, 10, 9005.19)}"),
      ("epsilon=0 delta=0.6 sigma=1 dt=0.0014", UNSTABLE.format("*", 10, "*")),
      ("tmax=1e6 dt=1e-6", "tmax=1e+06: too many steps (1e+12 of 1e-06 s): expected at most "
       "2147483647"),
      ("nx=20000 ny=20000 nz=20000", TOO_LARGE.format(20000, "8.01e+12", "4.49e+05")),
      ("nx=30000 ny=30000 nz=30000 dt=1e-9 tmax=1e-9",
       TOO_LARGE.format(30000, "2.7e+13", "1.51e+06")),
      ("nx=100000 ny=100000 nz=100000 absorb=10000",
       TOO_LARGE.format(100000, "1.73e+15", "9.68e+07")),
      ("epsilon=0.05 delta=0.25 sigma=2.3", GROW.format(0.05, 0.25, 0, 0, 0, "at most 2.29881")),
      ("epsilon=0.05 delta=0.25 sigma=1e9",
       "sigma=1e+09" + GROW.format(0.05, 0.25, 0, 0, 0, "at most 2.29881")),
      ("epsilon=0.1 delta=-0.4 sigma=2.4", GROW.format(0.1, -0.4, 0, 0, 0, "at least 2.5")),
      ("tmax=0.021 snapshots=. out=p-0002.npy",
       "out= and snapshots= name the same file: ./p-0002.npy"),
      (f"snapshots={'./' * 2000}x",
       f"snapshots={'./' * 50}...: too long: expected at most 4000 characters"))
case("fletcher", "{fletcher} delta=x.npy epsilon=0.2 sigma=11",
     GROW.format(0.2, 0.3, 2, 1, 3, "at most 2.48322"), array("<f4", (6, 4, 5), 0.1, {48: 0.3}))
files("fletcher", "{fletcher} vpz=",
      (array("<i4", (6, 4, 5), 1), ": expected float32 or float64"),
      *((array("<f4", shape, 2000), f": wrong shape {text}: expected (nz, ny, nx) = (6, 4, 5)")
        for shape, text in (((6, 4, 4), "(6, 4, 4)"), ((5, 4, 6), "(5, 4, 6)"), (120, "(120)"))),
      *((array("<f4", (6, 4, 5), 2000, {77: x}), f": {x:g} at (z 3, y 3, x 2){ROCK}")
        for x in (numpy.nan, numpy.inf, 0, -2000, 2e9)))
for key, at, x, where, expected in (("epsilon", 50, -0.5, "2, y 2, x 0", ANISOTROPY),
                                    ("delta", 50, 101, "2, y 2, x 0", ANISOTROPY),
                                    ("theta", 0, -101, "0, y 0, x 0",
                                     ": expected -100 to 100 radians"),
                                    ("phi", 119, 1000, "5, y 3, x 4",
                                     ": expected -100 to 100 radians")):
    files("fletcher", f"{{fletcher}} {key}=",
          (array("<f4", (6, 4, 5), 0.1, {at: x}), f": {x} at (z {where}){expected}"))
BLOCKS = "local: {} blocks along y and z: expected at most 65535 along each, with more threads"
case("03_ocl_3d/fletcher-cuda-cpu", "form=ISO nx=1 ny=1 nz=65534 absorb=1 tmax=0.001 "
     "local=1,1,1 out=out.npy", BLOCKS.format("3 x 65536"))
case("07_regpressure/fletcher-cuda-cpu", "form=ISO nx=1 ny=65534 nz=1 absorb=1 tmax=0.001 "
     "local=1,1,1 out=out.npy", BLOCKS.format("65536 x 1"))
GROWN = "p and q have grown without bound (energy *): expected rock with delta at most " \
    "epsilon and an axis that turns slowly, or fewer steps than {}"
case("fletcher-omp", "nx=12 ny=12 nz=12 epsilon=0 delta=0.3 sigma=0.6 theta=0 dt=0.001 tmax=0.8 "
     "absorb=6 out=o.npy vpz=x.npy", GROWN.format(800),
     array("<f4", (12, 12, 12), 1500, dict.fromkeys(range(0, 1728, 5), 3000)))
case("fletcher-omp", "nx=24 ny=24 nz=24 epsilon=0.3 delta=0.1 sigma=9 phi=0 dt=0.001 tmax=1.5 "
     "absorb=4 out=o.npy theta=x.npy", GROWN.format(1500),
     array("<f4", (24, 24, 24), 0, dict.fromkeys(range(6912, 13824), 1.57)))
case("fletcher-mpi", "{fletcher} out=/dev/full",
     "/dev/full: cannot be written: No space left on device")

# ---- gridding ------------------------------------------------------------------------

OUTSIDE = "all {} visibilities are outside the grid: expected at least one inside"
FOOTPRINT = ": a footprint of {} cells per side does not fit a grid of {}"
STRICT = "visibility {}: {} wavelengths is outside the grid of {} cells of {} wavelengths with a " \
    "margin of support={} cells"
cases("gridding", "preset=small",
      ("support=200", FOOTPRINT.format(401, 257)),
      ("task=degrid image=p.png", ": task=degrid makes no image"))
cases("gridding", "{gridding}",
      ("support=32", FOOTPRINT.format(65, 64)),
      ("task=image", "task=image accuracy=0: expected a number from 1e-6 to 0.01"),
      *((f"task=image accuracy=0.001 {x}", "task=image: expected kernel=w and precision=single")
        for x in ("kernel=integer", "precision=double")),
      ("task=image accuracy=0.001 field=0.02",
       "task=image field=0.02: expected a field of at least 4 pixels"),
      ("task=image accuracy=0.001 cell=1 baseline=1e9", "task=image: w extends over 2.1676e+09 "
       "wavelengths: * planes needed: expected at most 65536"),
      ("cell=100 strict=1", STRICT.format(3, "(3665, 2356.5)", 64, 100, 3)),
      ("baseline=0.1 cell=0.1",
       "cell=0.1: a source is beyond the horizon: expected more than 0.178 wavelengths"),
      ("cell=0.001", OUTSIDE.format(20)),
      ("grid=65536 precision=double", "the grid: too large (68.7 GB): expected at most * GB, the "
       "memory limit"))
case("01_openmp/gridding-omp", "{gridding} grid=4000 copies=100000", "100000 copies of the grid: "
     "1.29e+04 GB needed: expected at most * GB, the memory of the device")
TYPE = ": wrong type or shape: expected floats of shape (n, 6): u, v, w, re, im, weight"
files("gridding", "{gridding} in=",
      *((array(kind, shape, 1), TYPE)
        for kind, shape in (("<f8", (3, 5)), ("<i4", (3, 6)), ("<f8", (6,)))),
      (array("<f8", (0, 6), 1), ": no visibilities: expected at least one"),
      *((array("<f8", (3, 6), 1, {6 * row + column: value}),
         f": visibility {row + 1}: {name} is not a finite number")
        for row, (column, name), value in zip(
            (0, 1, 2) * 2, enumerate(("u", "v", "w", "re", "im", "weight")),
            (numpy.nan, numpy.inf) * 3)),
      *((array("<f8", (3, 6), 1, {6 + column: -1.1e15}),
         f": visibility 2: {name} is -1.1e+15: expected at most 1e15")
        for column, name in enumerate("uvw")),
      (array("<f8", (3, 6), 1, {11: -1}), ": visibility 2: weight is -1: expected 0 or more"),
      (array("<f8", (3, 6), 0), "all weights are 0: expected at least one above 0"),
      *((array("<f8", (1, 6), 1, {column: x}), OUTSIDE.format(1))
        for column in (0, 1) for x in (1e6, -1e6)))
files("gridding", "preset=small strict=1 in=",
      (array("<f8", (3, 6), 1e6), STRICT.format(1, "(1e+06, 1e+06)", 257, 40, 9)))
MODEL = ": wrong type or shape: expected floats of shape (64, 64, 2)"
files("gridding", "{degridding} model=",
      *((array(kind, shape, 0), MODEL) for kind, shape in (
          ("<f8", (9, 9)), ("<f8", (63, 64, 2)), ("<f8", (64, 63, 2)), ("<f8", (64, 64, 3)),
          ("<i4", (64, 64, 2)), ("<f8", (64, 64, 2, 1)))),
      (array("<f8", (64, 64, 2), 0, {8191: numpy.nan}), ": cell 4095 is not a finite number"),
      (array("<f8", (64, 64, 2), 1e300), "visibility 0 of the result is not finite: expected "
       "visibilities that do not overflow in float"))

# ---- semblance: arguments ------------------------------------------------------------

for key, low, high in (*((key, "-1000", "1000") for key in "abcde"), ("m0", "-1e9", "1e9"),
                       ("h0", "-1e9", "1e9"), ("t0", "0", "1e30")):
    NUMBER = f": expected a number from {low} to {high}"
    cases("semblance", "{semblance}",
          *((f"{key}={x}", NUMBER) for x in ("x", "nan", "inf", "1s", "-1e31", "1e31")),
          *((f"{key}=0:{x}:2", f"{key}={x}{NUMBER}") for x in ("x", "nan", "1e31")),
          *((f"{key}={x}", ": expected FIRST:LAST:COUNT")
            for x in ("0,1", "0:1", "0:1:2:3", "0,1,2,3", ",0,1,2", f"0.{'0' * 160},1,22")),
          (f"{key}=0:1:1", ": one value from 0 to 1: expected a count of 2 or more"),
          *((f"{key}=0:1:{n}", f"{key}={n}: expected a whole number from 1 to "
             f"{2147483647 if key in 'abcde' else 1000000000}")
            for n in ("0", "-3", "1.5", "abc", "3000000000", "")))
COMPLETE = "np: a search of {} points: expected at most 9e+15"
RECORDED = ": expected {} s, the recorded time of the traces"
WINDOW = ": {} samples: expected at most 100 samples of 2000 us"
ALL = " ".join(f"{key}=0,1,{{0}}" for key in "abcde")
cases("semblance", "{semblance}",
      *((f"aperture={x}", "aperture=-1: expected a number from 0 to 1e9")
        for x in ("1,-1", "-1,1")),
      ("aperture=1", ": expected DM,DH"),
      ("aperture=0,0 m0=9", "aperture: no trace within it (m0=9 h0=4120): expected at least one"),
      ("m0=0,1e9,3", ": the last value is 2e+09: expected -1e+09 to 1e+09"),
      ("m0=0,1,5", "m0, h0, t0: 5 output points: expected stack=FILE for more than one"),
      *((f"{key}={x}", f"{key}= is for traces: expected stack= or coherence=, too")
        for key, x in (("parameters", "p.npy"), ("smooth", "window"), ("weight", "none"),
                       ("refine", 1), ("average", 0.004), ("window", "moveout"),
                       ("search", "coarse"), ("mute", 0.5))),
      ("passes=2", "passes= is for traces: expected stack=, too"),
      ("-m0 -h0 positions=p_good.txt",
       "positions= is for traces: expected stack= or coherence=, too"),
      ("-a -b -c -d -e velocity=1500,3000",
       "velocity= is for traces: expected stack= or coherence=, too"),
      ("-a -b -c -d -e ranges=rows.txt a=0,0,1",
       "a= and ranges= are both set: expected only one of them"),
      ("t0=1.124", RECORDED.format("0 to 0.014")),
      ("t0=1e9", f"t0=1e+09{RECORDED.format('0 to 0.014')}"),
      ("tau=1", WINDOW.format(500)), ("tau=1e30", f"tau=1e+30{WINDOW.format('5e+32')}"),
      ("tau=0.008", ": a window of 9 samples does not fit traces of 8 samples"),
      (" ".join(ALL.format(2**31 - 1).split()[:3]), COMPLETE.format("9.90352e+27")),
      (ALL.format(2**31 - 1), COMPLETE.format("4.56719e+46")),
      (ALL.format(65536), COMPLETE.format("1.20893e+24")),
      ("a=0,1,1000000 b=0,1,1000000 c=0,0,1 d=0,0,1 e=0,0,1", "np: 1e+12 (A, B, C): too large "
       "(3.2e+04 GB): expected at most * GB, the memory limit"),
      ("order=big", "good.su: is byte-swapped: little-endian, not big-endian"),
      ("out=good_link.su", "in= and out= name the same file: good_link.su"))
case("semblance", QUERIES["semblance"].replace("good.su", "a\nb"),
     "a?b: cannot be read: No such file or directory")
for count in 1, 19:
    case("semblance", " ".join(map(str, range(1, count + 1))), f"{count} arguments: expected 20: "
         "M0 H0 T0 TAU, P0 P1 N of A to E, FILE (or key=value; help lists the keys)")
PAPER = "0 0 {} 0.008 -1e-4 1e-4 {}" + " -1e-4 1e-4 2" * 4 + " good.su"
cases("semblance", "",
      *((PAPER.format(t0, 2), f"t0={t0}: expected a number from 0 to 1e30")
        for t0 in ("late", "t0=1")),
      (PAPER.format(0.08, "two"), "a=two: expected a whole number from 1 to 2147483647"),
      (f"{PAPER.format(0.08, 2)} more", ": expected key=value; `semblance help` lists the keys"),
      (f"{PAPER.format(0.08, 2)} outt=x.npy", "unknown key 'outt' (did you mean 'out'?); *"))
CONSECUTIVE = ": t0 from 0.004 s in steps of 0.004 s: expected consecutive samples of 2000 us"
STEPS = "t0: steps of {} s, expected a whole number of microseconds, 1 to 65535"
cases("semblance", "{section}",
      ("m0=0:2e9:3", "m0=2e9: expected a number from -1e9 to 1e9"),
      ("m0=0,1,40000 h0=0,1,40000",
       "m0, h0, t0: 3.2e+09 output points: expected at most 1000000000"),
      ("-t0 m0=0,1,40000 h0=0,1,4000",
       "m0, h0: 1.28e+09 output points: expected at most 1000000000"),
      *((f"{key}=o.npy", f"{key}= is for one output point: expected only stack=, coherence= and "
         "parameters= for traces") for key in ("out", "panel")),
      *((f"{key}={x}", f"{key}= is for velocity=: expected that, too") for key, x in (
          ("dip", 1e-4), ("period", 0.04), ("ranges_out", "r.txt"), ("choose", 1))),
      ("mute=0.5", ": a limit of the stretch is for velocity=: expected that, too"),
      ("passes=2 t0=0.004,0.004,2", f"passes=2{CONSECUTIVE}"),
      ("window=moveout smooth=window", ": not with window=moveout: expected smooth=centre"),
      ("window=moveout search=coarse", ": not with window=moveout: expected search=full"),
      ("t0=0.008,1e-7,3", STEPS.format("1e-07")), ("t0=0.004,0.0000015,2", STEPS.format("1.5e-06")),
      ("in=slow.su tau=0 t0=0.065,0.07,2", STEPS.format(0.07)),
      ("in=slow.su tau=0 t0=0.065,1e-6,65536", "t0: 65536 samples, expected at most 65535 a trace"),
      ("t0=0.004,0.002,50", f"t0=0.102{RECORDED.format('0 to 0.014')}"),
      ("t0=0.004,-0.002,3", STEPS.format(-0.002)),
      ("t0=0.004,-0.002,5", ": the last value is -0.004: expected 0 to 1e+30"),
      ("t0=0.0085,0.002,2", "t0: starts at 0.0085 s, expected a whole number of milliseconds, at "
       "most 32767 (delrt of a trace)"),
      ("stack=near.su", ": exists, but is not an output of this job: remove it or name another "
       "file"),
      ("stack=good_link.su", "in= and stack= name the same file: good_link.su"),
      *((f"{key}={path}s.su", f"stack= and {key}= name the same file: {path}s.su")
        for key in ("coherence", "parameters") for path in ("", "./")),
      *((f"{key}=good.su", f"in= and {key}= name the same file: good.su")
        for key in ("coherence", "parameters")),
      *((f"{key}=none/s.su", ": cannot be written: No such file or directory")
        for key in ("stack", "coherence", "parameters")))
cases("00_sequential/semblance-seq", "{section} window=moveout",
      ("t0=0.004,0.004,2", f"window=moveout{CONSECUTIVE}"),
      ("d=0,0,50000 e=0,0,50000",
       "np: a search of 2.5e+09 points: expected at most 2^31 - 1 with window=moveout"))
case("semblance", "{section} d=0,0,50000 e=0,0,50000",
     "np: * (A, B, C) and 2.5e+09 (D, E): expected at most 2^30 of each")
case("semblance", "{section} -a -b -c -d -e in=near.su velocity=1500,3000 period=0.02 dip=1000 "
     "aperture=1e9,1e9", COMPLETE.format("*"))
case("semblance-hybrid", "{section} window=moveout",
     ": not in this step or back-end: expected window=parallel")
BOTH = "{}= and {}= are both set: expected only one of them"
cases("semblance", "{section}",
      ("positions=p_good.txt", BOTH.format("m0", "positions")),
      ("-m0 positions=p_good.txt", BOTH.format("h0", "positions")),
      ("fill=dead", BOTH.format("m0", "fill")), ("-m0 fill=dead", BOTH.format("h0", "fill")),
      ("-m0 -h0 fill=dead", BOTH.format("t0", "fill")),
      ("-m0 -h0 -t0 positions=p_good.txt fill=dead", BOTH.format("positions", "fill")),
      ("-m0 -h0 -t0 -stack fill=dead", "fill= is for traces: expected stack=, too"),
      ("-m0 -h0 -t0 fill=dead",
       "good.su: no trace is dead (trid 2 or all zero): expected at least one for fill=dead"),
      ("-m0 -h0 -t0 fill=dead stack=near.su",
       ": exists, but is not an output of this job: remove it or name another file"),
      ("-m0 -h0 -t0 fill=dead stack=none/s.su", ": cannot be written: No such file or directory"),
      ("-b -c -d -e velocity=1500,3000", BOTH.format("a", "velocity")))
case("semblance", "{section} -a -b -c -d -e in=near.su velocity=1500,3000", "aperture= is missing: "
     "cannot tell the distances between shots and receivers: expected DM,DH")
cases("semblance", "{section} -a -b -c -d -e velocity=1500,3000 aperture=1000,1000",
      ("ranges=rows.txt", BOTH.format("ranges", "velocity")),
      ("mute=4", ": expected a number from 0.01 to 3"),
      ("-stack choose=1", "choose= is for traces: expected stack=, too"),
      ("choose=1 t0=0.004,0.004,2", f"choose=1{CONSECUTIVE}"),
      ("in=near.su aperture=1e5,1e5 choose=1", ": 3 live traces in the apertures: expected at "
       "least 8"),
      ("aperture=1e9,1e9", "good.su: 3 of 3 traces: source and receiver are more than 210 m "
       "apart, which needs more than 5 times the recorded 0.014 s at velocity=3000: expected "
       "metres: check scalco and counit"),
      ("velocity=1500,x", "velocity=x: expected a number from 1 to 100000"),
      ("velocity=0,1", "velocity=0: expected a number from 1 to 100000"),
      ("velocity=1,2,3", ": expected VMIN,VMAX or a file"),
      ("velocity=3000,1500", ": the smallest is above the largest: expected VMIN,VMAX"))

# ---- semblance: files of rows --------------------------------------------------------

FLAT = " 0 0 1" * 5
COLUMNS = " columns: expected 16: t0, then P0 P1 N of A, B, C, D and E; or 17 in all rows, with " \
    "h0 after t0"
ROWS = (("# no row\n", ": no rows: expected at least one"),
        ("0.1 1 \0\n", ", line 1: a zero byte: expected text"),
        ("1 " * 600, ", line 1: too long: expected at most 1023 bytes"))
files("semblance", "{semblance} -a -b -c -d -e ranges=", *ROWS,
      ("0.4 0 0 1\n", f", line 1: 4{COLUMNS}"),
      (f"soon{FLAT}\n", ", line 1: t0=soon: expected a number from 0 to 1e30"),
      (f"0.4{FLAT[:-1]}many\n", ", line 1: E=many: expected a whole number from 1 to 2147483647"),
      (f"0.0 north{FLAT}\n", ", line 1: h0=north: expected a number from -1e9 to 1e9"),
      (f"0.4{FLAT}\n" * 2, ", line 2: t0 is 0.4 after 0.4: expected increasing times"),
      (f"0.0 4000{FLAT}\n0.0 3900{FLAT}\n",
       ", line 2: h0 is 3900 after 4000: expected increasing half-offsets"),
      (f"0.0 4000{FLAT}\n0.1{FLAT}\n", f", line 2: 16{COLUMNS}"),
      (f"0.0 4000{FLAT}\n0.0 4100{FLAT}\n",
       "ranges: rows from 4000 to 4100 m: expected rows for h0 from 4120 to 4120 m"),
      (f"0.5{FLAT}\n0.6{FLAT}\n",
       "ranges: rows from 0.5 to 0.6 s: expected rows for t0 from 0.008 to 0.008 s"))
files("semblance", "{section} -m0 -h0 positions=", *ROWS,
      ("1 2 3\n", ", line 1: 3 columns: expected 2: m0 h0, or sx gx with these names in the first "
       "row"),
      ("x 2\n", ", line 1=x: expected a number from -1e9 to 1e9"),
      ("sx gx\n", ": no rows: expected at least one"))
files("semblance", "{section} mute=", *ROWS,
      ("100 0.1 5", ", line 1: 3 columns: expected 2: offset and time"),
      *((f"{x} 0.1", f", line 1={x}: expected a number from 0 to 1e9") for x in ("near", "-100")),
      ("100 0.1\n100 0.2", ", line 2: the offset is 100 after 100: expected increasing offsets"))
files("semblance", "{section} -a -b -c -d -e velocity=", *ROWS,
      ("0.1 1500\n", ", line 1: 2 columns: expected 3: t0, v and its tolerance dv"),
      ("0.1 fast 100\n", ", line 1=fast: expected a number from 1 to 100000"),
      ("0.1 100 100\n", ", line 1: 100 m/s less 100 m/s: expected at least 1 m/s"),
      ("0.1 1500 100\n0.1 1600 100\n", ", line 2: t0 is 0.1 after 0.1: expected increasing times"))

# ---- semblance: SU files -------------------------------------------------------------

SEGY = ': is SEG-Y with its reel header ({} bytes): expected SU, where trace 1 begins at the ' \
    'first byte: the page "Use your own data" explains the conversion'
STOPS = ": trace {} stops after {} of {} bytes: the file is truncated ({}-endian)"
DIFFERS = ": trace {}: {}: expected {} as in trace 1: the file is damaged or its {} (little-endian)"
BAD = ": trace {}: sample {} of 8 is not a finite number: the file is damaged or its samples are " \
    "not IEEE floats (bad=skip ignores such traces)"
APART = ": trace 1: source and receiver are 824 m apart, offset is {}; or offset=ignore"
CROOKED = ": x and y vary, not along a straight line: 254.3 m away from one of 886 m (0 % of the " \
    "source-receiver distances become shorter): expected at most 5 %: select a straight part, or " \
    "one coordinate by axis=x or axis=y"
FAR = ": trace 1: {} at -2.14748e+08 m is too far from the output point's {} m (scalco=-10): " \
    "expected a distance of 32 bits"
LINES = b"not traces at all, but a line of text\n" * 30
files("semblance", "{semblance} in=",
      (b"", ": is empty: expected at least one trace"),
      (b"little", ": trace 1 stops after 6 bytes of its 240-byte header: the file is truncated"),
      (corpus("header_only.su"), STOPS.format(1, 240, 272, "little")),
      (corpus("truncated_big_header.su"), STOPS.format(3, 100, 272, "big")),
      (corpus("truncated_little.su"), STOPS.format(3, 267, 272, "little")),
      (su() + b"\0", STOPS.format(4, 1, 272, "little")),
      (LINES, STOPS.format(1, 1140, 114344, "little")),
      (corpus("ns_zero.su"), ": trace 1: ns is 0 (little-endian): expected 1 to 65535"),
      (corpus("dt_zero.su"), ": trace 1: dt is 0 (little-endian): expected 1 to 65535 us"),
      (corpus("ns_changes.su"), DIFFERS.format(3, "ns is 7", 8, "traces differ in length")),
      (su(dt=(2000, 3000, 2000)),
       DIFFERS.format(2, "dt is 3000", 2000, "sampling interval changes")),
      *((with_samples((trace, sample, value)), BAD.format(trace + 1, sample + 1))
        for trace, sample, value in ((2, 7, numpy.nan), (2, 7, numpy.inf), (0, 0, -numpy.inf))),
      (su([[0.5] * 8] * 3, ">"),
       ": its samples are byte-swapped: headers are little-endian, samples big-endian"),
      (su(counit=(0, 2, 0)), ": trace 2: counit is 2, so its coordinates are angles: expected "
       "lengths: project them to metres, for example with PROJ, or set counit to 1 if they are "
       "lengths"),
      *((content, SEGY.format(size)) for content, size in (
          (reel(b"\x40"), 3600), (reel(b" ", order="<"), 3600), (reel(b"\x40", texts=2), 10000),
          (reel(b"\x40", ns=0), 3600), (reel(b"\0", 4000, 0), 3600))),
      (su(offset=8248), APART.format("8248, a factor of 0.0999 as in most traces: set scalco to 1 "
                                     "if offset is right (it is -10)")),
      (su(offset=82), APART.format("82, a factor of 10 as in most traces: set scalco to -100 if "
                                   "offset is right (it is -10)")),
      (su(offset=2704), APART.format("2704, a factor of 0.305 as in most traces: one is in feet: "
                                     "convert it to metres")),
      (su(offset=(8, 264, 2048)), APART.format("8, and most traces differ, too: expected positions "
                                               "in sx, sy, gx and gy")),
      (su(trid=(12, 13, 0)), ": trace 2: trid is 13, but 12 in trace 1: expected one kind of data: "
       "select it, for example with suwind key=trid"),
      (su(trid=(6, 2, -1)), ": none of its 3 traces has seismic data: expected trid 0, 1, 11..17"),
      (su(trid=2), ": all of its 3 traces are dead (trid 2)"),
      (su(delrt=(0, 2, 0)), ": trace 2: delrt is 2 ms, other traces have 0"),
      (su(delrt=2, tscale=(-10, 0, 0)), ": trace 2: delrt is 2 ms, other traces have 0.2"),
      (su(delrt=2, tscale=7), ": trace 1: delrt is 2 and its scale in bytes 215-216 is 7: expected "
       "1, 10, 100, 1000 or 10000, negative to divide, or 0 if delrt is in ms"),
      (su(dt=3000, delrt=1), ": delrt is 1 ms, not a whole number of samples of 3000 us"),
      (su(delrt=-16), ": delrt is -16 ms: the traces end before time 0"),
      (su(dt=1, delrt=255), ": delrt is 255 ms: 255008 samples from time 0, at most 65535"),
      (su(sy=0, gy=0), ": cannot tell which axis the line follows (neither x nor y varies): set "
       "axis=x or axis=y"),
      (su(sx=(4000, 0, 0)), CROOKED),
      (su(gy=(-2**31, 3660, 3680)), FAR.format("receiver", 3640)))
files("semblance", "{semblance} m0=4120 h0=-480 in=",
      (su(sy=(-2**31, 0, 0)), FAR.format("source", 4600)))
files("semblance", "{semblance} axis=auto in=", (su(sx=(4000, 0, 0)), CROOKED))
files("semblance", "{semblance} order=little in=", (reel(b"\x40"), SEGY.format(3600)), (
    corpus("big.su"), ": is byte-swapped: big-endian, not little-endian"))
files("semblance", "{semblance} axis=auto m0=5e6 in=", (su(sx=(9, 0, 0)), ": trace 1: at * and * m "
      "on an oblique line, too far from the output point's * and * m: expected a distance of 32 "
      "bits, in millimetres"))
case("semblance", "{semblance} in=x.npy t0=0 tau=0",
     ": a window of 1 samples does not fit traces of 1 samples", corpus("one_sample.su"))
for changes, message in (("t0=0.036", RECORDED.format("0.004 to 0.018")),
                         ("t0=0.003", RECORDED.format("0.004 to 0.018")),
                         ("tau=0.08", ": a window of 81 samples does not fit traces of 8 samples")):
    case("semblance", f"{{semblance}} in=x.npy {changes}", message, su(delrt=4))

# ---- OpenCL --------------------------------------------------------------------------

CACHE = "{}: cannot be written: {} (PoCL compiles kernels there{})"
OTHER = "; set POCL_CACHE_DIR for another folder"
for variables, message in (
        ("DEVICE=9:0", "{}: no platform 9, there are 1"),
        ("DEVICE=0:99", "{}: no device 99, platform 0 has 1"),
        ("DEVICE=0:-1", "{}: no device -1, platform 0 has 1"),
        *((f"DEVICE={x}", "{}: expected platform:device as in 0:1, gpu or cpu")
          for x in ("banana", "0:0x")),
        ("DEVICE=99999999999:0", "{}: no platform 99999999999, there are 1"),
        (f"DEVICE=0:{'9' * 20}", f"{{}}: no device {'9' * 20}, platform 0 has 1"),
        ("OCL_ICD_VENDORS=/nonexistent", "no OpenCL platform: install one (Debian: pocl-opencl-icd "
         "for the CPU) or set OCL_ICD_VENDORS"),
        ("DEVICE_AS=fpga", "{}: expected gpu or cpu"),
        *((f"DEVICE=cpu POCL_CACHE_DIR={path}", CACHE.format("{}", why, "")) for path, why in (
            ("/dev/null/x", "Not a directory"), ("good.su", "Not a directory"),
            ("/proc/x", "No such file or directory"))),
        ("-u POCL_CACHE_DIR -u XDG_CACHE_HOME DEVICE=cpu HOME=/dev/null",
         CACHE.format("/dev/null/.cache/pocl/kcache", "Not a directory", OTHER)),
        ("-u POCL_CACHE_DIR -u XDG_CACHE_HOME DEVICE=cpu XDG_CACHE_HOME=/dev/null",
         CACHE.format("/dev/null/pocl/kcache", "Not a directory", OTHER)),
        ("OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd DEVICE=gpu",
         "{}: no such device: `make devices` lists all"),
        (f"POCL_CACHE_DIR={'./' * 2045}xxxxxx",
         f"POCL_CACHE_DIR={'./' * 50}...: too long: expected at most 4095 characters")):
    case(f"{variables} semblance-ocl", "{semblance}", message.format(variables.split()[-1]))
case("semblance-ocl", "{semblance} local=1024,1024,64",
     "local: work-group of 67108864, expected at most 4096 on this device")

# ---- verify and the checkers ---------------------------------------------------------

cases("verify", "r.npy",
      ("", "1 arguments: expected reference.npy candidate.npy budget (see `verify help`)"),
      ("c.npy -1", "budget=-1: expected a number, 0 or more"),
      ("c.npy 0", "r.npy is float32 (3,), c.npy is float32 (2,): expected the same type and shape"),
      ("none.npy 0", "none.npy: No such file or directory"),
      ("nothing.npy 0", "nothing.npy: no elements: expected at least one"),
      ("r.npy 0 norm=l3", ": expected max or bytes"))
OTHER = ": belongs to another query or other data: expected a file of this query"
ROCK = "nx=4 ny=4 nz=4 absorb=1 dt=0.0005 tmax=0.001 form=TTI"
FLOW = "events=good.txt n=4 steps=1 sweeps=1"
SEARCH = QUERIES["semblance"].partition(" out=")[0]
CHECKS: list[tuple[Any, ...]] = [
    ("sandpile", "dim=4", ("", "oracle= is missing"), ("oracle=r.npy", OTHER)),
    ("sandpile", "oracle=o.npy", ("", "dim= is missing (help lists the keys)"),
     ("dim=4 rule=both", ": expected sync or async"),
     ("dim=4 config=round", ": expected 4partout, dim, alea, big or FILE.npy"),
     ("config=none.npy", ": No such file or directory"),
     ("dim=5 config=good.npy",
      ": wrong shape (1 grids of 4 x 4): expected 0 grids of side 5")),
    ("fletcher", ROCK, ("", "oracle=: missing: expected a file"), (
        " ".join(f"truth={x}" for x in "abcdef"), ": too many truth=: expected at most 5")),
    ("fletcher", f"{ROCK} oracle=o.npy", ("vpz=none.npy", ": No such file or directory")),
    ("fluid", "n=4", ("", "events= is missing"), ("events=good.txt", "oracle= is missing")),
    ("fluid", f"{FLOW} oracle=o.npy", ("pressure=x", ": expected relaxed or direct"),
     ("events=none.txt", ": cannot be read")),
    ("gridding", "", ("grid=9", "the query is incomplete: expected preset=, or all sizes"),
     ("preset=tiny", ": unknown preset: expected small, default, askap or seed"),
     ("preset=small", "oracle= is missing")),
    ("gridding", "preset=small oracle=o.npy",
     ("in=none.npy", "none.npy: No such file or directory"),
     ("task=degrid model=none.npy", ": No such file or directory")),
    ("semblance", SEARCH, ("", "oracle= is missing"), ("oracle=r.npy", OTHER)),
    ("semblance", "oracle=o.npy", ("", "in= is missing"),
     ("in=good.su m0=x", ": not a number")),
    ("semblance", f"{SEARCH} oracle=o.npy", ("tau=1", ": too long"),
     ("a=0,0", ": not FIRST:LAST:COUNT or P0,P1,N"), ("in=none.su", "none.su: cannot be read"),
     ("result=none.npy", ": No such file or directory"))]
for name, query, *rows in CHECKS:
    cases(f"{name}-check", query, *rows)
FILES: list[tuple[Any, ...]] = [
    ("sandpile", "oracle=o.npy config=", (array("<i4", (9,), 0), f"config=x.npy{SHAPE}"),
     (array("<f8", (4, 4), -1), "config=x.npy: wrong value at index 0 (-1): expected a whole "
      "number of grains")),
    ("fletcher", f"{ROCK} oracle=o.npy vpz=", (
        array("<f4", (6, 4, 4), 1), ": wrong type or size: expected 64 floating-point numbers")),
    ("fluid", f"{FLOW} oracle=o.npy events=", *(
        (content, f"events=x.npy: {message}") for content, message in (
            ("drain 60 0", "line 1: not an event: expected time, source or force"),
            ("source 60 1.5", "line 1: wrong step: expected a whole number from 0 to 1000000"),
            ("# nothing", "no event: expected at least one")))),
    ("gridding", "preset=small oracle=o.npy in=", (
        array("<f8", (3, 5), 0), ": wrong type or shape: expected floats of shape (n, 6)"),
     (array("<f8", (3, 6), 1e6),
      "no visibility to grid: expected that the program rejects this query")),
    ("gridding", "preset=small task=degrid oracle=o.npy model=", (
        array("<f8", (9, 9), 0), ": wrong type or shape: expected floats of the shape of the "
        "grid")),
    ("semblance", f"{SEARCH} oracle=o.npy in=",
     (corpus("truncated_little.su"), ": not traces of one length"),
     (su(sy=0, gy=0), ": cannot tell which axis the line follows: expected axis=x or axis=y"),
     (su(delrt=-16), ": no sample after time 0")),
    ("semblance", f"{SEARCH} oracle=o.npy axis=y in=", (su(trid=2), ": no trace is alive"))]
for name, query, *rows in FILES:
    files(f"{name}-check", query, *rows)
for name, query, missing, message in (
        ("sandpile", "dim=4", "", "unknown line: expected 'grains N' or 'ends N'"),
        ("fletcher", ROCK, ": expected a text file", "wrong format: expected NAME LOW HIGH"),
        ("fluid", FLOW, "", "nonsense?: expected total D, still or spin"),
        ("gridding", "preset=small", "", "no source: expected lines of l, m, flux"),
        ("semblance", SEARCH, "", "expected t0 A B C D E amplitude")):
    case(f"{name}-check", f"{query} oracle={name}.npy truth=none", f": cannot be read{missing}")
    files(f"{name}-check", f"{query} oracle={name}.npy truth=", ("nonsense\n", f": {message}"))
files("fletcher-check", f"{ROCK} oracle=fletcher.npy truth=", (
    "speed 1 2\n", ": unknown property speed: expected one of vpz epsilon delta theta phi"))

# ---- messages without a case: a pattern of formats, and the reason -------------------

EXCEPTED = {
    "not enough memory|no memory|cannot allocate|FFTW: no plan|cannot start a thread": "no memory",
    r"internal error: |the gridding failed|never written|more than %d kernels|was not written|"
    r"%d dimensions|%s:%d: %s: %s \(%s\)": "only by a defect",
    r"expected at most 2\^3[01]|expected at most 1e8|plane too large|bins of visibilities|"
    "address space": "needs gigabytes of input or memory",
    "became shorter|cannot be read to the end|IBM floats": "test_garbage.py",
    "cannot be created|cannot be (read|written): %s$|is a directory|not a regular file":
        "test_arguments.py",
    "CUDA|constant memory|local memory does not": "needs a GPU, or another one",
    "belongs to another job|is missing, but %s=|=%s: cannot be %s: %s":
        "needs an earlier run: test_section.py",
    "standard output: |kernel does not build": "test_outputs.py",
    "no keys are known": "every program has keys",
    "ns is %d and dt is|trace %zu: (ns|dt) is %d: expected %d": "su_write(): su_test.c",
    "split the file": "needs little memory: test_input.py simulates it"}

# ---- running -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that several cases share."""
    folder = tmp_path_factory.mktemp("messages")
    write_inputs(folder)
    (folder / "rows.txt").write_text(f"0.0{FLAT}\n0.1{FLAT}\n")
    (folder / "p_good.txt").write_text("-480 4120\n")
    (folder / "slow.su").write_bytes(su(dt=65535))
    for name, values in (("r", array("<f4", 3, 0)), ("c", array("<f4", 2, 1)),
                         ("nothing", array("<f4", (0, 6), 0))):
        numpy.save(folder / f"{name}.npy", values)
    os.link(folder / "good.su", folder / "good_link.su")
    return folder


def arguments_of(text):
    """The arguments of a case; later ones replace earlier ones, except for truth=."""
    first, _, changes = text.partition(" ")
    if first[1:-1] in QUERIES:
        return words(first[1:-1], changes)
    found = [word for word in text.split(" ") if word]
    keys = [word.partition("=")[0] if word[:5] != "truth" and "=" in word else i
            for i, word in enumerate(found)]
    return list(dict(zip(keys, found)).values())


def binaries_of(name):
    """The binaries that a case runs."""
    program, _, backend = name.partition("-")
    if "/" in name or program not in PROGRAMS or backend == "check":
        return [f"{BUILD}/{name}"]
    return [binaries(program, ("seq",))[0][2]] * (not backend) + [
        path for one in ([backend] if backend else ("ocl", "hybrid", "cuda-cpu"))
        for _, _, path in binaries(program, (one,))[-1:]]


@functools.cache
def has_pocl():
    return "PoCL" in run([f"{BUILD}/devices"], ROOT).stdout


def run_case(folder, command, changes, content, binary):
    """(How it ended, files that it left)."""
    if isinstance(content, numpy.ndarray):
        numpy.save(folder / "x.npy", content)
    elif content is not None:
        (folder / "x.npy").write_bytes(
            content.encode("latin-1") if isinstance(content, str) else content)
    ended, left = run_clean(folder, binary, arguments_of(changes), command.split()[:-1])
    (folder / "x.npy").unlink(missing_ok=True)
    return ended, left


@pytest.mark.parametrize("query", QUERIES)
def test_query(check, folder, query):
    """The queries of which the cases change arguments are right."""
    for binary in binaries_of({"degridding": "gridding", "section": "semblance"}.get(query, query)):
        ended, left = run_clean(folder, binary, words(query))
        check(binary, (ended.returncode or ended.stderr or not left) and ended)


@pytest.mark.parametrize("command, changes, message, content", CASES, ids=[
    f"{command[-40:]} {changes[:60]}" for command, changes, _, _ in CASES])
def test_message(folder, command, changes, message, content):
    if "pocl" in command.lower() and not has_pocl():
        pytest.skip("no PoCL")
    name = command.split()[-1]
    chosen = binaries_of(name)
    if not all(map(os.path.exists, chosen)) or not chosen:
        pytest.skip(f"{name} is not built")
    name = name.split("/")[-1]
    program = name if name.endswith("-check") else name.partition("-")[0]
    expected = re.escape(f"{program}: {message}\n").replace(r"\*", ".*")
    for binary in chosen:
        ended, left = run_case(folder, command, changes, content, binary)
        assert ended.returncode == 1 and re.fullmatch(expected, ended.stderr), \
            f"{binary}: exit status {ended.returncode}: {ended.stderr!r}: expected {message}"
        # A checker may have computed and kept its reference before it finds the error.
        assert name.endswith("-check") or not (ended.stdout or left), \
            f"{binary}: stdout {ended.stdout!r}, files {left}"


# ---- every message of the sources ----------------------------------------------------


def sources(name):
    """The C sources in which a program can fail; args.c and CUDA on the CPU have other tests."""
    program, _, kind = name.partition("-")
    places = ["common/run/*", "verify/verdict.h"]
    if program not in PROGRAMS:
        places += [f"verify/{program}.c"]
    elif kind == "check":
        places += [f"verify/*_{program}.[ch]", f"common/{program}/arguments.c", "common/su/*"]
    else:
        places += [f"common/{folder}/*" for folder in (program, "su", "opencl", "hybrid", "cuda")]
        places += [f"steps/*/{program}/*.[ch]*"]
    return [path for place in places for path in sorted(Path(ROOT).glob(place)) if path.suffix in (
        ".c", ".h", ".cu") and "cuda_cpu" not in path.name and path.name != "args.c"]


@functools.cache
def formats(path):
    """{format: pattern of its messages} of the calls that refuse something in a source."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    literals = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
    found: dict[str, re.Pattern[str]] = {}
    for function, variable, strings in re.findall(
            r"\b(fail|refuse|memory_check)\((?:[^\",;]*,\s*)?(?:(\w+)\W|" + literals + ")", text):
        if variable:
            strings = (re.findall(rf"\b{variable}\[\] =" + literals, text) or [""])[0]
        form = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings)).replace('\\"', '"')
        parts = re.split(r"%[-+#0 ]*[\d*]*(?:\.[\d*]+)?(?:hh?|ll?|[jzt])?[a-z%]", form)
        found[form] = re.compile(".*" * (function != "fail") + ".*".join(map(re.escape, parts))
                                 + ": too large .*" * (function == "memory_check") + "$")
    return found


def test_every_message():
    """Each message of the sources has a case, or a pattern that says why it has none."""
    seen, missing = set[tuple[str, str]](), set[tuple[str, str]]()
    for name in {re.sub("-(?!check).*", "", command.split("/")[-1].split()[-1])
                 for command, *_ in CASES}:
        messages = [message for command, _, message, _ in CASES
                    if re.search(rf"(^|[ /]){name}(-(?!check)|$)", command)]
        for path in sources(name):
            for form, pattern in formats(path).items():
                found = any(map(pattern.match, messages)) or re.search("|".join(EXCEPTED), form)
                (seen if found or not form else missing).add((str(path.relative_to(ROOT)), form))
    missing -= seen
    assert not missing, "no case: " + "".join(f"\n{p}: {text}" for p, text in sorted(missing))
