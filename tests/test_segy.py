"""test_segy.py: make su and make segy. SEG-Y is written here byte by byte, or by segyio, which
also reads what make segy writes.
"""
import contextlib
import io
import os
import struct
import subprocess
import sys
from unittest import mock

import numpy
import pytest

from tests.helpers import ROOT
from tests.test_garbage import ibm_bits
from tools.publish import segy
from tools.verify import section_oracle as oracle

segyio = pytest.importorskip("segyio")

NS, DT = 33, 4000
ENDIAN = {">": "big", "<": "little"}


def reel(order=">", code=5, ns=NS, dt=DT, extended=0, revision=1, more=()):
    """Text, binary and extended text headers, in which no byte is 0 by default; more: (first
    byte, type, value)."""
    head = bytearray(b"C1 \xc3\xf1 survey ".ljust(3200, b"\x40") + bytes(range(1, 201)) * 2)
    for at, kind, value in ((3217, "H", dt), (3221, "H", ns), (3225, "H", code),
                            (3505, "h", extended), (3507, "h", 0), (3521, "Q", 0),
                            (3529, "i", 0), (3269, "I", 0), (3273, "d", 0),
                            (3513, "Q", 0), *more):
        struct.pack_into(order + kind, head, at - 1, value)
    head[3500] = revision
    texts = max(extended, 0)
    return bytes(head) + b"".join((b"text %d" % i).ljust(3200) for i in range(texts))


def survey(order=">", count=7, samples=None, **fields):
    """(headers of which each byte is set, samples as IEEE floats)"""
    noise = numpy.random.default_rng(5)
    heads = []
    for i in range(count):
        every = bytes((7 * j + 3 * i + 1) % 256 for j in range(240))
        values = {"trid": 1, "fldr": i // 3 + 1, "tracf": i % 3 + 1, "scalco": -10,
                  "sx": 100 * (i // 3), "gx": 100 * (i // 3) + 50 * (i % 3) + 300, "sy": 0,
                  "gy": 0, "ns": NS, "dt": DT, **fields}
        heads.append(oracle.put(values, order, every))
    if samples is None:
        samples = noise.standard_normal((count, NS)) * 10.0 ** noise.integers(-9, 9, (count, 1))
    return heads, samples.astype("f4")


def body(heads, samples, order=">", code=5):
    bits = ibm_bits(samples.astype(float)) if code == 1 else samples.view("u4") \
        if code == 5 else samples
    kind = {1: "u4", 5: "u4", 2: "i4", 3: "i2", 8: "i1"}[code]
    return b"".join(h + row.astype(order + kind).tobytes()
                    for h, row in zip(heads, bits, strict=True))


def convert(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
            mock.patch.dict(os.environ):
        status = segy.main([str(word) for word in words])
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def su(folder, source="a.sgy", target="a.su", *more):
    return convert("su", "--in", folder / source, "--out", folder / target, *more)


def back(folder, source="a.su", like="a.sgy", target="b.sgy", *more):
    return convert("segy", "--in", folder / source, "--like", folder / like, "--out",
                   folder / target, *more)


@pytest.mark.parametrize("order, code, extended", [
    (">", 1, 0), (">", 5, 2), ("<", 1, 1), ("<", 5, 0), (">", 1, -1)])
def test_round_trip(check, tmp_path, order, code, extended):
    """All bytes of a SEG-Y file are kept, and the SU file has its headers and samples."""
    heads, samples = survey(order)
    if code == 1:  # IBM floats have 21 to 24 bits: these values have no more
        samples = (samples.view("u4") & 0xfffffff8).view("f4")
    head = reel(order, code, extended=extended)
    if extended < 0:
        head += b"one".ljust(3200) + "((SEG: EndText))".ljust(3200).encode("cp037")
    whole = head + body(heads, samples, order, code)
    (tmp_path / "a.sgy").write_bytes(whole)
    ended = su(tmp_path)
    assert ended.returncode == 0, ended.stderr
    raw = (tmp_path / "a.su").read_bytes()
    row = 240 + 4 * NS
    check("length", len(raw) != len(heads) * row and f"{len(raw)} bytes")
    for i, head in enumerate(heads):
        expected = head if order == oracle.ORDER else oracle.reversed_fields(head)
        check(f"header {i}", raw[i * row:i * row + 240] != expected and "differs")
        check(f"samples {i}", raw[i * row + 240:(i + 1) * row]
              != samples[i].astype(oracle.ORDER + "f4").tobytes() and "differ")
    ended = back(tmp_path)
    assert ended.returncode == 0, ended.stderr
    check("bytes", (tmp_path / "b.sgy").read_bytes() != whole and "differ")
    check("files", sorted(os.listdir(tmp_path)) != ["a.sgy", "a.su", "b.sgy"]
          and f"{os.listdir(tmp_path)}")
    if extended >= 0:  # segyio reads no variable number
        with segyio.open(str(tmp_path / "b.sgy"), ignore_geometry=True,
                         endian=ENDIAN[order]) as file:
            check("segyio", not numpy.array_equal(file.trace.raw[:], samples) and "differs")


def test_all_floats(check, tmp_path):
    """IEEE floats that IBM floats cannot hold are rounded to their precision."""
    heads, samples = survey()
    (tmp_path / "a.sgy").write_bytes(reel(code=1) + body(heads, samples, ">", 1))
    (tmp_path / "x.su").write_bytes(body(heads, samples, ">", 5))
    assert back(tmp_path, "x.su").returncode == 0
    assert su(tmp_path, "b.sgy", "y.su").returncode == 0
    got = oracle.split(tmp_path / "y.su", oracle.ORDER)[1]
    check("samples", not numpy.allclose(got, samples, 2.0 ** -20, 0) and "differ")


@pytest.mark.parametrize("code", [2, 3, 8])
def test_integers(check, tmp_path, code):
    heads, _ = survey()
    whole = numpy.arange(7 * NS).reshape(7, NS) % 200 - 100
    (tmp_path / "a.sgy").write_bytes(reel(code=code) + body(heads, whole, ">", code))
    assert su(tmp_path).returncode == 0
    check("there", not numpy.array_equal(oracle.split(tmp_path / "a.su", oracle.ORDER)[1], whole)
          and "differ")
    ended = back(tmp_path)
    check("said", "IEEE floats" not in ended.stdout and ended)
    check("back", (tmp_path / "b.sgy").read_bytes() != reel(code=5) + body(
        heads, whole.astype("f4"), ">", 5) and "differ")


@pytest.mark.parametrize("in_reel, in_traces", [((NS, DT), (0, 0)), ((0, 0), (NS, DT)),
                                                ((0, DT), (NS, 0)), ((50, DT), (NS, DT))])
@pytest.mark.parametrize("code", [1, 5])
def test_sizes(check, tmp_path, code, in_reel, in_traces):
    """ns and dt may be missing in the binary header or in the traces."""
    heads, samples = survey(ns=in_traces[0], dt=in_traces[1])
    head = reel(code=code, ns=in_reel[0], dt=in_reel[1])
    (tmp_path / "a.sgy").write_bytes(head + body(heads, samples, ">", code))
    ended = su(tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = oracle.split(tmp_path / "a.su", oracle.ORDER)[0]
    check("ns, dt", {(oracle.get(h, "ns", oracle.ORDER), oracle.get(h, "dt", oracle.ORDER))
                     for h in found} != {(NS, DT)} and "are not those of the binary header")
    assert back(tmp_path).returncode == 0
    head = reel(code=code, ns=in_reel[0] and NS, dt=in_reel[1])
    check("reel", (tmp_path / "b.sgy").read_bytes()[:3600] != head and "differs")


def test_revision_2(check, tmp_path):
    """Its larger field of ns, and the place of the first trace."""
    heads, samples = survey(ns=0)
    head = reel(ns=0, revision=2, more=((3269, "I", NS), (3521, "Q", 3700))) + bytes(100)
    (tmp_path / "a.sgy").write_bytes(head + body(heads, samples))
    ended = su(tmp_path)
    assert ended.returncode == 0, ended.stderr
    check("there", not numpy.array_equal(oracle.split(tmp_path / "a.su", oracle.ORDER)[1], samples)
          and "differs")
    assert back(tmp_path).returncode == 0
    check("back", (tmp_path / "b.sgy").read_bytes() != head + body(*survey()) and "differs")


def test_order_of_su(check, tmp_path):
    """The number of samples that the first trace has in the other byte order can fit, too."""
    for order in ENDIAN:
        heads, _ = survey(order, 61, ns=256)
        samples = numpy.random.default_rng(1).standard_normal((61, 256)).astype("f4")
        (tmp_path / "a.su").write_bytes(body(heads, samples, order))
        found = segy.read_su(str(tmp_path / "a.su"))
        check(order, (found.ns, found.count, found.order) != (256, 61, order) and f"{found}")


def test_other_samples(check, tmp_path):
    """The binary header says how many samples the traces have, and in revision 2 how many
    traces there are."""
    heads, samples = survey(ns=20, dt=2000)
    (tmp_path / "x.su").write_bytes(body(heads[:5], samples[:5, :20], ">", 5))
    for revision, more in ((1, ()), (2, ((3513, "Q", 7),))):
        (tmp_path / "a.sgy").write_bytes(reel(revision=revision, more=more)
                                         + body(*survey()))
        assert back(tmp_path, "x.su").returncode == 0
        more = more and ((3513, "Q", 5),)
        check(f"revision {revision}", (tmp_path / "b.sgy").read_bytes()[:3600] != reel(
            ns=20, dt=2000, revision=revision, more=more) and "differs")


@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("sorting", ["source", "midpoint"])
def test_filled_traces(check, tmp_path, step, sorting):
    """Traces that are not in the survey are inserted where its order has them; dead ones at
    their places are replaced."""
    heads, samples = survey(count=12)
    order = list(range(12))
    if sorting == "midpoint":
        order.sort(key=lambda i: (oracle.get(heads[i], "sx", ">") + oracle.get(heads[i], "gx", ">"),
                                  i))
        heads = [oracle.put({"offset": i // 3}, ">", h) for i, h in enumerate(heads)]
    order = order[::step]
    whole = body([heads[i] for i in order], samples[order], ">", 5)
    row = 240 + 4 * NS
    (tmp_path / "a.sgy").write_bytes(reel() + whole)
    missing = [i for i in order if i in (3, 4, 5, 10)]
    live = [i for i in order if i not in missing]
    for dead in False, True:
        old = [(i, oracle.put({"trid": 2}, ">", heads[i])) if i in missing else (i, heads[i])
               for i in order if dead or i in live]
        (tmp_path / "x.su").write_bytes(body([h for _, h in old], samples[[i for i, _ in old]],
                                             ">", 5))
        (tmp_path / "new.su").write_bytes(body([heads[i] for i in missing[::-1]],
                                               samples[missing[::-1]], ">", 5))
        ended = back(tmp_path, "x.su", "a.sgy", "b.sgy", "--filled", tmp_path / "new.su")
        assert ended.returncode == 0, ended.stderr
        got = (tmp_path / "b.sgy").read_bytes()[3600:]
        names = [got[i:i + 12] for i in range(0, len(got), row)]
        check(f"dead {dead}: {ended.stdout}",
              (got != whole) and f"{len(names)} traces in another order")


def test_no_order(check, tmp_path):
    """If the survey has no order, the filled traces are last."""
    heads, samples = survey(count=9)
    for name in "offset", "ep", "cdp":
        heads = [oracle.put({name: 7 * i % 5}, ">", h) for i, h in enumerate(heads)]
    order = [4, 0, 8, 2, 6, 1, 7]
    (tmp_path / "x.su").write_bytes(body([heads[i] for i in order], samples[order], ">", 5))
    (tmp_path / "new.su").write_bytes(body(heads[3:4], samples[3:4], ">", 5))
    (tmp_path / "a.sgy").write_bytes(reel() + body(heads, samples, ">", 5))
    ended = back(tmp_path, "x.su", "a.sgy", "b.sgy", "--filled", tmp_path / "new.su")
    check("said", "order: none" not in ended.stdout and ended)
    check("bytes", (tmp_path / "b.sgy").read_bytes()[3600:] != body(
        [heads[i] for i in (*order, 3)], samples[[*order, 3]], ">", 5) and "differ")


@pytest.mark.parametrize("order", "<>")
def test_wrong_format(check, tmp_path, order):
    """A format code that contradicts the samples is refused, and can be replaced."""
    heads, samples = survey(order, 40)
    (tmp_path / "a.sgy").write_bytes(reel(order, 1) + body(heads, samples, order, 5))
    ended = su(tmp_path)
    check("refused", (ended.returncode != 1 or "set IEEE=1 if they are" not in ended.stderr)
          and f"{ended}")
    (tmp_path / "b.sgy").write_bytes(reel(order, 5) + body(heads, samples, order, 1))
    for name, option in ("a.sgy", "--ieee"), ("b.sgy", "--ibm"):
        ended = su(tmp_path, name, "a.su", option)
        check(f"{name}: status", ended.returncode and f"{ended}")
        got = oracle.split(tmp_path / "a.su", oracle.ORDER)[1]
        check(name, not numpy.allclose(got, samples, 2.0 ** -20, 0) and "differs")


GOOD = reel() + body(*survey())
ROW = 240 + 4 * NS
REFUSED = {
    "empty": (b"", "0 bytes: expected SEG-Y"),
    "su": (GOOD[3600:] * 4, "not SEG-Y: its format code"),
    "code 4": (reel(code=4) + GOOD[3600:], "samples of format code 4: expected one of 1, 2"),
    "no trace": (GOOD[:3600], "no trace after 3600 bytes of headers: the file is truncated"),
    "truncated": (GOOD[:-5], f"its last trace has {ROW - 5} of {ROW} bytes"),
    "no ns": (reel(ns=0) + body(*survey(ns=0)), "ns is 0 in the binary header"),
    "no dt": (reel(dt=0) + body(*survey(dt=0)), "trace 1: dt is 0: expected 1 to 65535"),
    "two ns": (GOOD[:3600 + 3 * ROW + 114] + b"\0\1" + GOOD[3600 + 3 * ROW + 116:],
               "trace 4: ns is 1: expected 33"),
    "two dt": (GOOD[:3600 + 3 * ROW + 116] + b"\0\1" + GOOD[3600 + 3 * ROW + 118:],
               "trace 4: dt is 1: expected 4000"),
    "no end": (reel(extended=-1) + GOOD[3600:], "its extended text headers have no end"),
    "headers": (reel(revision=2, more=((3507, "h", 1),)) + GOOD[3600:],
                "additional trace headers"),
    "trailer": (reel(revision=2, more=((3529, "i", 1),)) + GOOD[3600:], "data trailer")}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(check, tmp_path, name):
    content, reason = REFUSED[name]
    (tmp_path / "a.sgy").write_bytes(content)
    (tmp_path / "a.su").write_bytes(b"kept")
    ended = su(tmp_path)
    check("status", ended.returncode != 1 and ended)
    check("message", (not ended.stderr.startswith(f"make su: {tmp_path}/a.sgy: {reason}")
                      or ended.stderr.count("\n") != 1) and f"{ended}")
    check("files", ((tmp_path / "a.su").read_bytes() != b"kept" or len(os.listdir(tmp_path)) != 2)
          and f"{os.listdir(tmp_path)}")


def test_refused_back(check, tmp_path):
    heads, samples = survey()
    (tmp_path / "a.sgy").write_bytes(GOOD)
    (tmp_path / "ibm.sgy").write_bytes(reel(code=1) + GOOD[3600:])
    samples[2, 3] = numpy.inf
    (tmp_path / "inf.su").write_bytes(body(heads, samples, ">", 5))
    (tmp_path / "short.su").write_bytes(GOOD[3600:-1])
    (tmp_path / "dt.su").write_bytes(body(*survey(dt=2000)))
    (tmp_path / "good.su").write_bytes(GOOD[3600:])
    before = sorted(os.listdir(tmp_path))
    for words, reason in (
            (("inf.su", "ibm.sgy"), f"{tmp_path}/inf.su: trace 3: sample 4 is not finite"),
            (("short.su",), f"{tmp_path}/short.su: not SU"),
            (("none.su",), f"{tmp_path}/none.su: No such file"),
            (("good.su", "none.sgy"), f"{tmp_path}/none.sgy: No such file"),
            (("good.su", "a.sgy", "none/b.sgy"), f"{tmp_path}/none/b.sgy"),
            (("good.su", "a.sgy", "a.sgy"), f"OUT={tmp_path}/a.sgy: is also an input"),
            (("good.su", "a.sgy", ""), f"OUT={tmp_path}: is not a regular file"),
            (("good.su", "a.sgy", "b.sgy", "--filled", str(tmp_path / "dt.su")),
             f"{tmp_path}/dt.su: trace 1: dt is 2000: expected 4000")):
        ended = back(tmp_path, *words)
        check(f"{words}", (ended.returncode != 1 or ended.stderr.count("\n") != 1
                           or not ended.stderr.startswith("make segy: " + reason))
              and ended)
    check("files", sorted(os.listdir(tmp_path)) != before and f"{os.listdir(tmp_path)}")
    ended = convert("segy", "--in", "x", "--like", "", "--out", "y")
    check("not set", "make segy: LIKE= is not set: expected make segy IN=FILE LIKE=FILE OUT=FILE\n"
          != ended.stderr and ended)


def test_without_segyio(check, tmp_path):
    """Only IBM floats need segyio; a message says so."""
    (tmp_path / "segyio.py").write_text("raise ImportError\n")
    (tmp_path / "a.sgy").write_bytes(GOOD)
    (tmp_path / "ibm.sgy").write_bytes(reel(code=1) + GOOD[3600:])
    for name, status in ("a.sgy", 0), ("ibm.sgy", 1):
        ended = subprocess.run(
            [sys.executable, "-m", "tools.publish.segy", "su", "--in", str(tmp_path / name),
             "--out", str(tmp_path / "a.su")], cwd=ROOT, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path)})
        check(name, ended.returncode != status and ended)
    check("message", "Debian: python3-segyio" not in ended.stderr and f"{ended}")


@pytest.mark.seconds(3)
def test_memory(check, tmp_path):
    """A file that is larger than the memory is converted in blocks, both ways."""
    ns, count = 20000, 1800  # 144 MB
    kind = numpy.dtype([("header", "V240"), ("samples", ">f4", ns)])
    with open(tmp_path / "a.sgy", "wb") as file:
        file.write(reel(ns=ns))
        trace = numpy.zeros(1, kind)
        trace["header"] = numpy.void(oracle.put({"ns": ns, "dt": DT, "trid": 1}, ">"))
        trace["samples"][0, 7] = 3
        for _ in range(count // 100):
            file.write(trace.tobytes() * 100)
    for words in (["su", "--in", "a.sgy", "--out", "a.su"],
                  ["segy", "--in", "a.su", "--like", "a.sgy", "--out", "b.sgy"]):
        code = ("import resource, sys; from tools.publish import segy; "
                "resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20)); "
                "sys.exit(segy.main(sys.argv[1:]))")
        ended = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, text=True,
                               capture_output=True,
                               env={**os.environ, "PYTHONPATH": ROOT, "OPENBLAS_NUM_THREADS": "1"})
        check(words[0], ended.returncode and f"{ended}")
    first, last = (open(tmp_path / name, "rb") for name in ("a.sgy", "b.sgy"))
    while (one := first.read(1 << 24)):
        check("bytes", one != last.read(1 << 24) and "differ")


def test_dead_trace_without_positions(check, tmp_path):
    """It does not decide which coordinate is that of the line: dead traces at other places than
    the filled ones remain."""
    heads, samples = survey(count=9)
    heads = [oracle.put({"sy": 7000000, "gy": 7000000}, ">", h) for h in heads]
    heads[2] = oracle.put({key: 0 for key in ("sx", "sy", "gx", "gy")} | {"trid": 2}, ">", heads[2])
    dead = [oracle.put({"trid": 2}, ">", heads[i]) if i in (4, 6) else h
            for i, h in enumerate(heads)]
    (tmp_path / "x.su").write_bytes(body(dead, samples, ">", 5))
    (tmp_path / "new.su").write_bytes(body(heads[4:5], samples[4:5], ">", 5))
    (tmp_path / "a.sgy").write_bytes(reel() + body(heads, samples, ">", 5))
    ended = back(tmp_path, "x.su", "a.sgy", "b.sgy", "--filled", tmp_path / "new.su")
    assert ended.returncode == 0, ended.stderr
    size = (tmp_path / "b.sgy").stat().st_size - (tmp_path / "a.sgy").stat().st_size
    check("traces", size != 0 and f"{size} bytes more")
