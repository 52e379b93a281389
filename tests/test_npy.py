"""test_npy.py: .npy files of common/run, against NumPy, and damaged ones.

`run_test FILE ..` reads each array, writes it to FILE.copy, and prints a line for each: the
reason why it cannot be read, or nothing.
"""
import os
import struct
from typing import Any

import numpy
import pytest

from tests.helpers import BUILD, run

TYPES = "<f4", "<f8", "<i4", "|u1"
EXPECTED_TYPES = "expected <f4, <f8, <i4 or |u1"
SHAPE = "wrong shape: expected a tuple of 0 to 8 sizes"
OVERFLOW = "wrong shape: more elements than memory can hold"


def copies(paths):
    """The reasons why the files cannot be read; "" for those that were copied."""
    ended = run([f"{BUILD}/tests/run_test", *map(str, paths)], paths[0].parent)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split("\n")[:-1]


@pytest.mark.parametrize("kind", TYPES)
def test_numpy(tmp_path, kind):
    """Arrays of every type and number of dimensions, in both directions."""
    arrays = [numpy.arange(numpy.prod(shape)).astype(kind).reshape(shape)
              for shape in ((1, 3, 2, 1, 4, 1, 2, 5)[:dims] for dims in range(9))]
    extremes: Any = numpy.finfo(kind) if "f" in kind else numpy.iinfo(kind)
    arrays.append(numpy.array([extremes.min, extremes.max, 0, 1], kind))
    arrays.append(numpy.array([extremes.tiny / 8, -0.1] if "f" in kind else [], kind))
    paths = [tmp_path / f"{i}.npy" for i in range(len(arrays))]
    for path, array in zip(paths, arrays):
        numpy.save(path, array)
    assert copies(paths) == [""] * len(paths)
    for path, array in zip(paths, arrays):
        copy = numpy.load(f"{path}.copy")
        assert copy.dtype == array.dtype and copy.shape == array.shape
        assert copy.tobytes() == array.tobytes()
        assert (path.with_name(f"{path.name}.copy").stat().st_size - array.nbytes) % 64 == 0


@pytest.fixture
def example(tmp_path):
    """The bytes of an array of 24 bytes, and a function that returns what copies() says of
    variants of it."""
    numpy.save(tmp_path / "a.npy", numpy.arange(6, dtype="<f4").reshape(2, 3))

    def judge(variants):
        paths = [tmp_path / f"{i}.npy" for i in range(len(variants))]
        for path, variant in zip(paths, variants):
            path.write_bytes(variant)
        return copies(paths)
    return (tmp_path / "a.npy").read_bytes(), judge


def test_every_length(example):
    data, judge = example
    reasons = judge([(data + b"\0")[:length] for length in range(len(data) + 2)])
    assert [n for n, reason in enumerate(reasons) if not reason] == [len(data)]


def test_every_byte(example):
    """Few changes of a byte of the header are harmless: another type of the same size, another
    kind of space."""
    data, judge = example
    variants = [data[:i] + bytes([new]) + data[i + 1:] for i in range(len(data) - 24)
                for new in [0, *(data[i] ^ 1 << bit for bit in range(8))]]
    assert judge(variants).count("") < 60


def header(kind="'<f4'", order="False", shape="(1,)"):
    return f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


@pytest.mark.parametrize("version, text, size, reason", [
    (1, header(shape="(2, 3)"), 24, ""),
    (2, header("'<f8'", shape="(3,)"), 24, ""),
    (1, header("'|u1'", shape="()"), 1, ""),
    (1, header("'<i4'", shape="(0, 3)"), 0, ""),
    (1, '{"shape":(1,1,),"fortran_order":False,"descr":"<i4"}', 4, ""),
    *((1, header(f"'{kind}'"), 4, f"unsupported type '{kind}': {EXPECTED_TYPES}")
      for kind in (">f4", "<f2", "<i8", "<c8", "|b1", "f4")),
    *((1, header(shape=shape), 12, SHAPE)
      for shape in ("(3)", "(-1,)", "(1 2,)", "(1,,)", "3", "(3", "(1.0)", "('1',)", "(,)",
                    "[3]", "(0x3,)", "(99999999999999999999,)", "(1L,)",
                    "(1,1,1,1,1,1,1,1,1)")),
    *((1, header(shape=shape), 0, OVERFLOW)
      for shape in ("(4611686018427387904,)", "(2147483648, 2147483648, 4)",
                    "(2305843009213693951, 2)")),
    (1, header("'<f8'", shape="(2305843009213693951,)"), 0, OVERFLOW),
    (1, header(order="True", shape="(2, 3)"), 24,
     "not in C order: expected fortran_order False"),
    (3, header(), 4, ".npy version 3.0: expected 1.0 or 2.0"),
    (1, "{'descr': '<f4', 'shape': (1,)}", 4,
     "incomplete header: expected descr, fortran_order and shape"),
    (1, "{'descr': '<f4', 'descr': '<f4'}", 4,
     "header key 'descr' is unknown or occurs twice"),
    (1, "{'descr': 3}", 4, f"unsupported type: {EXPECTED_TYPES}"),
    (1, header() + "x", 4, "text follows the dictionary of the header"),
    (1, "(1,)", 4, "header is not a dictionary"),
    (1, "{'descr' '<f4'}", 4, "header is damaged at byte 9"),
    (1, "{", 4, "header is damaged at byte 1"),
    (1, header(shape="(2, 3)"), 23, "truncated (93 bytes): expected 94"),
    (1, header(shape="(2, 3)"), 25, "too long (95 bytes): expected 94"),
    # Data larger than a disk: rejected before memory is allocated.
    (1, header(shape="(1000000, 1000000)"), 4,
     "truncated (86 bytes): expected 4000000000082")])
def test_header(example, version, text, size, reason):
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    data = b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + bytes(size)
    assert example[1]([data]) == [reason]


def test_no_array(tmp_path):
    """Reading a pipe without a writer does not block."""
    os.mkfifo(tmp_path / "pipe")
    assert copies([tmp_path / "none.npy", tmp_path / "pipe", "/tmp", "/dev/zero"]) == [
        "No such file or directory", *["not a regular file"] * 3]
