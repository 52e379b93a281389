"""test_input.py: what the headers of a survey say about its traces, and what fill=dead does
with it: a small survey with a known answer is written in other directions, units, orders and
times, and with traces that are not seismic data. The unit tests of the headers are in
su_test.c, the messages of refusals in test_messages.py.
"""
import os
import struct
import sys

import numpy
import pytest

from tests.helpers import binaries, preloaded, run

NS, DT = 100, 4000
SHOTS, RECEIVERS = 9, 8
DEAD = 2, 6
EVENTS = (0.15, 1800, 1), (0.3, 2300, -0.8)  # time at offset 0 in s, velocity in m/s, amplitude


def header(order, **values):
    at = {"trid": (28, "h"), "offset": (36, "i"), "scalco": (70, "h"), "sx": (72, "i"),
          "sy": (76, "i"), "gx": (80, "i"), "gy": (84, "i"), "counit": (88, "h"),
          "delrt": (108, "h"), "ns": (114, "H"), "dt": (116, "H"), "tscale": (214, "h")}
    raw = bytearray(240)
    for name, value in {"ns": NS, "dt": DT, **values}.items():
        struct.pack_into(order + at[name][1], raw, at[name][0], value)
    return bytes(raw)


def truth(source, receiver):
    t = numpy.arange(NS) * DT * 1e-6
    row = numpy.zeros(NS)
    for t0, v, amplitude in EVENTS:
        u = (numpy.pi * 25 * (t - numpy.hypot(t0, (receiver - source) / v))) ** 2
        row += amplitude * (1 - 2 * u) * numpy.exp(-u)
    return row


def survey(order="<", change=lambda values: values, other=False):
    """The traces as bytes, of which those of the shots DEAD are dead, and with `other` one sweep
    per shot; the numbers of the dead traces; and their samples."""
    noise = numpy.random.default_rng(5)
    traces, dead, missing = [], [], []
    for shot in range(SHOTS):
        if other:
            sweep = 50 * numpy.sin(numpy.arange(NS) ** 2 / 100) * (shot > 0)  # one is zero
            head = header(order, trid=6, sx=50 * shot, delrt=8, offset=3)
            traces.append(head + sweep.astype(order + "f4").tobytes())
        for k in range(RECEIVERS):
            source, receiver = 50 * shot, 50 * shot + 100 + 25 * k
            row = truth(source, receiver) + 0.02 * noise.standard_normal(NS)
            values = {"trid": 1, "sx": source, "gx": receiver, "offset": receiver - source}
            if shot in DEAD:
                dead.append(len(traces))
                missing.append(truth(source, receiver))
                row, values["trid"] = 0 * row, 2
            traces.append(header(order, **change(values)) + row.astype(order + "f4").tobytes())
    return traces, dead, numpy.array(missing)


@pytest.fixture
def fill(tmp_path):
    """Fills the dead traces of survey(**how): (run, traces of the output, their SNR in dB)."""
    binary = binaries("semblance", ("omp",))[-1][2]

    def fill(*more, environment=None, **how):
        traces, dead, missing = survey(**how)
        for path in tmp_path.iterdir():
            path.unlink()
        (tmp_path / "in.su").write_bytes(b"".join(traces))
        ended = run([binary, "in=in.su", "fill=dead", "velocity=1500,3000",
                     "window=moveout", "stack=out.su", *more], tmp_path, environment)
        if ended.returncode:
            assert [path.name for path in tmp_path.iterdir()] == ["in.su"]
            return ended, [], -99
        raw = (tmp_path / "out.su").read_bytes()
        size = 240 + 4 * NS
        out = [raw[i:i + size] for i in range(0, len(raw), size)]
        order = how.get("order", "<")
        found = numpy.array([numpy.frombuffer(out[i], order + "f4", NS, 240) for i in dead], "f8")
        snr = 10 * numpy.log10((missing ** 2).sum() / ((found - missing) ** 2).sum())
        return ended, out, snr
    return fill


def with_(**changes):
    """A change of headers to these values; a function gets the old one."""
    def change(values):
        return values | {key: value(values) if callable(value) else value
                         for key, value in changes.items()}
    return change


def samples(traces, order="<"):
    return numpy.array([numpy.frombuffer(t, order + "f4", NS, 240) for t in traces])


def test_auxiliary_traces(fill):
    """Sweeps are not used, and stay as they are: the other traces are those without them."""
    _, plain, snr = fill()
    assert snr > 10
    ended, out, _ = fill(other=True)
    assert f": {SHOTS} of {SHOTS * (RECEIVERS + 1)} traces are not seismic data (trid 6) and " \
        "not used\n" in ended.stderr
    sweeps = survey(other=True)[0][::RECEIVERS + 1]
    assert out[::RECEIVERS + 1] == sweeps
    assert [t for i, t in enumerate(out) if i % (RECEIVERS + 1)] == plain


@pytest.mark.parametrize("count", [1, 4, 5, 6, 7])
def test_kinds_of_auxiliary_traces(tmp_path, count):
    """The first five kinds are named, and dots tell that there are more."""
    kinds = (3, 4, 6, 10, 18, 28, 300)[:count]
    traces, *_ = survey()
    for kind in kinds * 2:
        traces.append(header("<", trid=kind) + bytes(4 * NS))
    (tmp_path / "in.su").write_bytes(b"".join(traces))
    ended = run([binaries("semblance", ("omp",))[-1][2], "in=in.su", "m0=200", "h0=60", "t0=0.2",
                 "tau=0.008", *(f"{k}=0" for k in "abcde")], tmp_path)
    named = " ".join(map(str, kinds[:5])) + " .." * (count > 5)
    assert f"{2 * count} of {len(traces)} traces are not seismic data (trid {named}) and not " \
        "used\n" in ended.stderr, ended


def test_kind_of_data(fill):
    """Filled traces are of the kind of the others."""
    _, plain, _ = fill()
    for kind in 12, 0:
        ended, out, _ = fill(change=lambda v, kind=kind: v | {"trid": v["trid"] == 2 and 2 or kind})
        assert not ended.returncode and (samples(out) == samples(plain)).all()
        assert {struct.unpack_from("<h", t, 28)[0] for t in out} == {kind, kind or 1}


@pytest.mark.parametrize("direction", [(0.6, 0.8), (-0.8, 0.6), (-0.6, -0.8)])
def test_oblique_line(fill, direction):
    """A line in another direction has the same traces, and axis=x does not fit it."""
    _, plain, wanted = fill()
    x, y = direction
    change = with_(scalco=-10, **{
        end + axis: lambda v, end=end, axis=axis: round(10 * (v[end + "x"] * (
            x if axis == "x" else y) + 6e6)) for end in "sg" for axis in "xy"})
    ended, out, snr = fill(change=change)
    angle = numpy.degrees(numpy.arctan2(y, x))
    assert f"a line at {(angle + 45) % 180 - 45:.2f} degrees to x" in ended.stderr
    assert "up to 0.00 m away" in ended.stderr
    reverse = y < 0 if abs(y) > abs(x) else x < 0  # then equal curves are found in another order
    assert numpy.abs(samples(out) - samples(plain)).max() < (0.1 if reverse else 2e-3)
    assert abs(snr - wanted) < 0.6
    ended, *_ = fill("axis=x", change=change)
    assert ended.returncode == 1 and "does not follow axis=x" in ended.stderr


def test_output_of_oblique_line(tmp_path):
    """Output traces at given positions are on the line."""
    change = with_(sx=lambda v: v["sx"] * 3, sy=lambda v: v["sx"] * 4, gx=lambda v: v["gx"] * 3,
                   gy=lambda v: v["gx"] * 4, scalco=1, offset=lambda v: 5 * v["offset"])
    (tmp_path / "in.su").write_bytes(b"".join(survey(change=change)[0]))
    binary = binaries("semblance", ("omp",))[-1][2]
    ended = run([binary, "in=in.su", "m0=800", "h0=250", "t0=0.1", "tau=0.01", "a=0", "b=0",
                 "c=1e-6", "d=0", "e=0", "stack=s.su"], tmp_path)
    assert not ended.returncode, ended.stderr
    raw = (tmp_path / "s.su").read_bytes()
    assert struct.unpack_from("<h4i", raw, 70) == (-1000, 330000, 440000, 630000, 840000)
    assert struct.unpack_from("<i", raw, 36) == (500,)


def test_scale_of_delays(fill):
    """A delay in tenths of a millisecond is that in milliseconds."""
    _, plain, _ = fill(change=with_(delrt=8))
    _, out, _ = fill(change=with_(delrt=80, tscale=-10))
    assert (samples(out) == samples(plain)).all()
    assert {struct.unpack_from("<h", t, 108) + struct.unpack_from("<h", t, 214) for t in out} == \
        {(80, -10)}


@pytest.mark.parametrize("first", [800, 818, 819, 820, 900])
def test_late_outputs(tmp_path, first):
    """The first output time is in the header, also if it does not fit the unit of the input:
    3.276 s are the last sample of 4 ms that 16 bits hold in tenths of a millisecond."""
    traces, *_ = survey(change=with_(delrt=32000, tscale=-10))
    (tmp_path / "in.su").write_bytes(b"".join(traces))
    (tmp_path / "places.txt").write_text("sx gx\n110 260\n")
    ended = run([binaries("semblance", ("omp",))[-1][2], "in=in.su", "positions=places.txt",
                 f"t0={first * 0.004!r},0.004,3", "tau=0.008", "stack=out.su",
                 *(f"{k}=0" for k in "abcde")], tmp_path)
    if first == 900:  # after the last sample
        assert ended.returncode == 1 and "recorded time" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    raw = (tmp_path / "out.su").read_bytes()
    delay, scale = (struct.unpack_from("<h", raw, at)[0] for at in (108, 214))
    assert delay / (-scale or 1) == first * 4, (delay, scale)


def test_units(fill):
    """Coordinates in a unit that scalco does not tell are refused, unless the offset is said to
    be wrong, and so are those in which nothing arrives within the record."""
    ends = "sx", "gx"
    centimetres = {end: lambda v, end=end: 100 * v[end] for end in ends}
    ended, *_ = fill(change=with_(**centimetres))
    assert ended.returncode == 1 and "set scalco to -100 if offset is right" in ended.stderr
    ended, *_ = fill(change=with_(**centimetres, offset=0))
    assert ended.returncode == 1 and "check scalco and counit" in ended.stderr
    _, plain, _ = fill(change=with_(offset=0))
    ended, out, _ = fill(change=with_(**centimetres, scalco=-100, offset=0))
    assert not ended.returncode and numpy.abs(samples(out) - samples(plain)).max() < 1e-4
    _, other, _ = fill("offset=ignore", change=with_(offset=lambda v: 100 * v["offset"]))
    assert (samples(other) == samples(plain)).all()


def test_some_offsets(fill):
    """Offsets that contradict few positions are counted."""
    ended, *_ = fill(change=with_(offset=lambda v: v["offset"] + 90 * (v["sx"] == 150)))
    live = "8 of 72 traces: offset is not the distance of source and receiver, the first time " \
        "in trace 25 (offset 190, 100 m apart)\n"
    assert not ended.returncode and live in ended.stderr


def test_big_endian(fill):
    _, plain, _ = fill()
    _, out, _ = fill(order=">")
    assert (samples(out, ">") == samples(plain)).all()


def big_file(path, order, traces, ns=60000):
    row = header(order, ns=ns, trid=1, sx=1)
    with open(path, "wb") as file:
        for i in range(traces):
            file.write(row[:80] + struct.pack(order + "i", 10 * i) + row[84:])
            file.write(numpy.full(ns, 1 + i % 7, order + "f4").tobytes())


LARGEST = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_memory_of_other_order(tmp_path):
    """A file of the other byte order needs its size once, and is refused if that is more
    than the memory; one of the order of the machine is read where it is."""
    binary = binaries("semblance", ("omp",))[-1][2]
    search = ["m0=0", "h0=0", "t0=0.1", "tau=0.01", *(f"{k}=0" for k in "abcde"), "aperture=5,5"]
    big_file(tmp_path / "in.su", ">", 200)
    # A process counts the memory that it had before it became another program.
    used = run([sys.executable, "-c", LARGEST, os.path.abspath(binary), "in=in.su", *search,
                "out=out.npy"], tmp_path)
    assert used.returncode == 0, used.stderr
    size = (tmp_path / "in.su").stat().st_size / 1024
    assert size < int(used.stdout) < 1.5 * size
    little = {"LD_PRELOAD": preloaded("tests/little_memory.c"), "MEMORY_PAGES": "8192"}
    ended = run([binary, "in=in.su", *search], tmp_path, little)
    assert ended.returncode == 1 and ended.stderr.endswith(
        " GB of memory: expected at most 0.0336 GB, the memory limit: split the file\n")
    big_file(tmp_path / "in.su", "<", 200)
    assert run([binary, "in=in.su", *search], tmp_path, little).returncode == 0
