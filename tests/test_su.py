"""test_su.py: SU files, assembled here byte by byte, and the exchange with segyio.

`su_test ORDER FILE ..` reads each file in a byte order (auto: detected) with su_read() and
su_parse(), which must agree. It prints a line for each, the byte order of the file or the
reason why it is refused, and writes what it has read to FILE.little and FILE.big.
"""
import struct
import sys
from typing import Any

import numpy
import pytest

from tests.helpers import BUILD, run

ENDIAN: dict[str, Any] = {"little": "<", "big": ">"}
OTHER = {"little": "big", "big": "little"}
HEADER = 240
each_order = pytest.mark.parametrize("order", ENDIAN)


def gather(order, count=3, ns=17, dt=2000):
    """Traces as the array of their bytes, of which the fields have names."""
    kinds: dict[str, Any] = {
        "tracl": ("i4", 0), "sx": ("i4", 72), "ns": ("u2", 114), "dt": ("u2", 116),
        "data": (f"({ns},)f4", HEADER), "header": ("240u1", 0)}
    traces = numpy.zeros(count, numpy.dtype({
        "names": list(kinds), "offsets": [offset for _, offset in kinds.values()],
        "formats": [numpy.dtype(kind).newbyteorder(ENDIAN[order]) for kind, _ in kinds.values()],
        "itemsize": HEADER + 4 * ns}))
    number = numpy.arange(count)
    traces["tracl"], traces["sx"], traces["ns"], traces["dt"] = number + 1, -1000 - number, ns, dt
    traces["data"] = (100 * number[:, None] - numpy.arange(ns)) / 8
    return traces


@pytest.fixture
def read(tmp_path):
    """A function that calls su_test on files with these contents: the lines that it prints."""
    def read(option, *contents):
        paths = [tmp_path / f"{i}.su" for i in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_bytes(content.tobytes() if isinstance(content, numpy.ndarray) else content)
        ended = run([f"{BUILD}/tests/su_test", option, *paths], tmp_path)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()
    return read


def copy(tmp_path, order, number=0):
    return (tmp_path / f"{number}.su.{order}").read_bytes()


# ---- byte order ----------------------------------------------------------------------


@each_order
@pytest.mark.parametrize("options, size", [
    (("auto", "forced"), (3, 17, 2000)),
    (("auto", "forced"), (2, 257, 514)),  # the same in both orders: only samples tell
    # ns = 256 is 1 in the other byte order, in which a first trace fits as well.
    (("auto", "forced"), (4, 256, 4000)),
    (("auto", "forced"), (100, 1, 4000)),
    (("forced",), (2, 65535, 65535)),
    (("forced",), (4, 9, 2000))])
def test_order(read, tmp_path, order, options, size):
    for option in options:
        assert read(order if option == "forced" else option, gather(order, *size)) == [order]
        for target in ENDIAN:
            assert copy(tmp_path, target) == gather(target, *size).tobytes()


@each_order
def test_wrong_order(read, order):
    other = OTHER[order]
    assert read(other, gather(order)) == [
        f"is byte-swapped: {order}-endian, not {other}-endian"]
    assert read(other, gather(order, 2, 257, 514)) == [
        f"its samples are byte-swapped: headers are {other}-endian, samples {order}-endian"]
    silent = gather(order, 2, 257, 514)
    silent["data"] = 0
    assert read("auto", silent) == [sys.byteorder]
    mixed = gather(order)
    mixed["data"] = mixed["data"].byteswap()
    assert read("auto", mixed)[0].startswith("its samples are byte-swapped")


@each_order
def test_second_header(read, order):
    """The samples of the only trace contain a second header of the other order. It agrees, but
    in that order the traces do not end at the end of the file."""
    data = bytearray(gather(order, 1, 256, 4000).tobytes())
    struct.pack_into(ENDIAN[order] + "HH", data, HEADER + 4 + 114, 256, 4000)
    accepted, refused = read("auto", data, data[:-1])
    assert accepted == order
    # Truncated, neither order fits: the one with more headers is reported.
    assert refused.startswith("trace 3: ns is")


@each_order
def test_every_header_byte(read, tmp_path, order):
    traces = gather(order, 5, 11, 4000)
    traces["header"] = 7 * numpy.arange(HEADER) + 3 * numpy.arange(5)[:, None] + 1
    traces["ns"], traces["dt"] = 11, 4000
    assert read("auto", traces) == [order]
    assert copy(tmp_path, order) == traces.tobytes()
    assert read("auto", copy(tmp_path, OTHER[order])) == [OTHER[order]]
    assert copy(tmp_path, order) == traces.tobytes()


# ---- what is refused -----------------------------------------------------------------


@each_order
def test_reel_header(read, order):
    """A reel header is recognized in both orders, but not with an invalid format code."""
    for code, reason in (5, "is SEG-Y with its reel header"), (17, "trace "):
        reel = bytearray({"little": b" ", "big": b"\x40"}[order] * 3200 + bytes(400))
        struct.pack_into(ENDIAN[order] + "HHHHH", reel, 3216, 2000, 0, 17, 0, code)
        for option in ("auto", *ENDIAN) if code == 5 else ("auto",):
            assert read(option, reel + gather(order).tobytes())[0].startswith(reason)


@each_order
def test_every_length(read, order):
    """Every truncated length is an error in every order, and its message names the trace."""
    row = HEADER + 4 * 5
    data = gather(order, 3, 5).tobytes()
    lengths = [length for length in range(1, len(data)) if length % row]
    for option in "auto", *ENDIAN:
        empty, *reasons = read(option, b"", *(data[:length] for length in lengths))
        assert empty == "is empty: expected at least one trace"
        assert all(reason.startswith("trace ") for reason in reasons)
        assert option != order or all("truncated" in reason for reason in reasons)
    assert read("auto", data[:2 * row + 7], data[:2 * row - 1]) == [
        f"trace {trace} stops after {size} of 260 bytes: the file is truncated ({order}-endian)"
        for trace, size in ((3, 7), (2, 259))]
    assert read("auto", gather(order, 40, 50).tobytes()[:36 * 440 + 301])[0].startswith(
        "trace 37 stops after 301 of 440 bytes: the file is truncated")
    assert read(order, gather(order, 2, 65535, 65535).tobytes()[:-1])[0].startswith(
        "trace 2 stops after 262379 of 262380 bytes: the file is truncated")


@each_order
@pytest.mark.parametrize("option, trace, field, value, reason", [
    ("auto", 2, "ns", 8, "trace 3: ns is 8: expected 9"),
    ("auto", 2, "ns", 0, "trace 3: ns is 0: expected 9"),
    ("auto", 2, "dt", 4000, "trace 3: dt is 4000: expected 2000"),
    ("auto", 0, "ns", 0, "trace 1: ns is 0"),
    ("auto", 0, "dt", 0, "trace 1: dt is 0"),
    ("forced", 0, "ns", 65535, "trace 1 stops after 1104 of 262380 bytes")])
def test_contradicting_header(read, order, option, trace, field, value, reason):
    traces = gather(order, 4, 9)
    traces[field][trace] = value
    assert read(order if option == "forced" else option, traces)[0].startswith(reason)


@each_order
@pytest.mark.parametrize("bits", [0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0x7f800000,
                                  0xff800000], ids=hex)
def test_samples_not_finite(read, order, bits):
    first, last = gather(order, ns=6), gather(order, ns=6)
    last["data"].view(ENDIAN[order] + "u4")[2, 5] = bits
    first["data"].view(ENDIAN[order] + "u4")[0, 0] = bits
    first["data"][2, 5] = numpy.finfo("f4").max  # which is finite
    reasons = read("auto", first, last)
    for reason, place in zip(reasons, ("trace 1: sample 1 of 6", "trace 3: sample 6 of 6")):
        assert reason.startswith(f"{place} is not a finite number")


# ---- exchange with segyio ------------------------------------------------------------

# 1-based bytes at which fields of 32 and of 16 bits start (SEG-Y rev. 1; from byte 181 on as
# Seismic Unix defines them, which segyio does not know).
WIDE = (1, 5, 9, 13, 17, 21, 25, 37, 41, 45, 65, 73, 77, 81, 85, 181, 185, 201, 205)
NARROW = (29, 31, 35, 69, 89, 91, 105, 109, 113, 119, 137, 141, 157, 159, 165, 179, 209, 239)
SCALCO = (0, 10, -10, 1, -1)


def fields(trace):
    """{first byte: (struct code, value)} of every field that is not 0."""
    return {**{byte: ("i", -100003 * byte + 65537 * trace) for byte in WIDE},
            **{byte: ("h", -130 * byte + 17 * trace) for byte in NARROW},
            71: ("h", SCALCO[trace]), 115: ("H", 65), 117: ("H", 4000)}


def survey(order):
    traces = gather(order, 5, 65, 4000)
    for number in range(5):
        for byte, (code, value) in fields(number).items():
            struct.pack_into(ENDIAN[order] + code, traces["header"][number], byte - 1, value)
    return traces


@each_order
def test_segyio(read, tmp_path, order):
    """What su_write() wrote, in each order, is what is assembled here, and segyio reads it."""
    su = pytest.importorskip("segyio.su")
    assert read("auto", survey(order)) == [order]
    for target in ENDIAN:
        traces = survey(target)
        assert copy(tmp_path, target) == traces.tobytes()
        with su.open(str(tmp_path / f"0.su.{target}"), "r", endian=target,
                            ignore_geometry=True) as file:
            assert file.tracecount == 5 and len(file.samples) == 65
            for number in range(5):
                found = {int(byte): value for byte, value in file.header[number].items()
                         if int(byte) <= 180}
                expected = {byte: value for byte, (_, value) in fields(number).items()
                            if byte <= 180}
                assert found == {**dict.fromkeys(found, 0), **expected}
                assert file.trace[number].tolist() == traces["data"][number].tolist()
