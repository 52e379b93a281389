"""test_limits.py: sizes that only large inputs have: rows with many columns, files beyond 2 and
4 GiB (with holes, so that they are small), a second batch of a file, more traces than a table or
a draw has.
"""
import os
import random
import re
import signal
import struct
import subprocess

import numpy
import pytest

from tests.helpers import binaries, front_ends, run
from tests.sections import DATA, QUERY, outputs, read, traces
from tests.test_cluster import ranks
from tools.verify import section_oracle as oracle

POINT = [f"in={DATA}", "m0=4120", "h0=-480", "t0=0.6,0.004,3", "stack=s.su"]


def binary(backend="omp"):
    found = binaries("semblance", (backend,))
    return os.path.abspath(found[-1][2]) if found else pytest.skip(f"no {backend} is built")


@pytest.mark.parametrize("key, more, expected", [
    ("ranges", ["tau=0.008"], (16, 17)), ("velocity", [], (3,)), ("mute", QUERY, (2,)),
    ("positions", QUERY, (2,))])
def test_columns(check, tmp_path, key, more, expected):
    """A row with too few or too many columns is refused; the longest line is read."""
    words = [w for w in POINT if key != "positions" or w[:2] not in ("m0", "h0")]
    name = front_ends("semblance")[0][2]
    for columns in (1, *(n + d for n in expected for d in (-1, 1) if n + d not in expected),
                    18, 19, 20, 33, 400):
        (tmp_path / "rows").write_text("# a row\n\n" + "1 " * columns + "\n")
        ended = run([os.path.abspath(name), *words, *more, f"{key}=rows"], tmp_path)
        check(f"{columns} columns", (ended.returncode != 1 or not re.search(
            f"line 3: {columns} columns: expected {expected[0]}", ended.stderr)) and ended.stderr)
    row = {"ranges": "0.1 " + "0 1e-7 1 " * 5, "velocity": "0.1 2000 300", "mute": "0 0.1",
           "positions": "4120 -480"}[key]
    results = set()
    for length in (0, 1021, 1022, 1023, 1024, 1025, 2050):
        (tmp_path / "rows").write_text(row.ljust(length) + "\n")
        ended = run([os.path.abspath(name), *words, *more, f"{key}=rows"], tmp_path)
        if length > 1100:
            check("too long", ended.returncode != 1 and ended)
        if ended.returncode == 0:
            results.add((tmp_path / "s.su").read_bytes())
            (tmp_path / "s.su").unlink()
        else:
            check(f"line of {length}", (length < 1022 or "line 1" not in ended.stderr)
                  and ended.stderr)
    check("lines", len(results) != 1 and f"{len(results)} results")


def compared(check, folder, name, job, small, number=2):
    """A job of ranks on large.su gives the bytes of one process on small.su."""
    ended = run([binary(), f"in={small}", *job, *outputs(folder, "one-")], folder)
    assert ended.returncode == 0, ended.stderr
    ended = ranks(binary("mpi"), ["in=large.su", *job, *outputs(folder, "many-")], folder, number)
    check(name, ended.returncode and ended.err)
    for part in "s.su", "c.su", "p.npy":
        get = read if part == "p.npy" else lambda path: traces(path)[1].tobytes()
        check(f"{name}: {part}", not ended.returncode
              and get(folder / f"one-{part}") != get(folder / f"many-{part}") and "differs")


JOB = ["m0=4120", "h0=-480,10,20", "t0=0.6,0.004,60", "aperture=300,300", "axis=y", *QUERY]


def test_second_batch(check, tmp_path):
    """Ranks read a file in parts of 4 MiB; traces of the aperture are in each."""
    rows = numpy.fromfile(DATA, "u1").reshape(len(traces(DATA)[0]), -1)
    far = rows[0].copy()
    far[76:80] = far[84:88] = numpy.frombuffer(struct.pack("<i", 99999), "u1")
    far[36:40] = 0  # offset
    row = 240 + 4 * traces(DATA)[1].shape[1]
    filler = far.tobytes() * (1 + (12 << 20) // row // len(rows))
    with open(tmp_path / "large.su", "wb") as file:
        for one in rows:
            file.write(one.tobytes() + filler)
    compared(check, tmp_path, "12 MiB", JOB, DATA, 3)


def test_beyond_2_gib(check, tmp_path, everything):
    """Traces at the end of a sparse file of 2 GiB, or 4; the others are dead."""
    head, samples = traces(DATA)
    ns = 65535
    large, small = tmp_path / "large.su", tmp_path / "small.su"
    row = 240 + 4 * ns
    dead = bytearray(head[0].tobytes())
    struct.pack_into("<h", dead, 28, 2)
    struct.pack_into("<H", dead, 114, ns)
    count = (1 << (32 if everything else 31)) // row + 2
    with open(large, "wb") as file, open(small, "wb") as other:
        for i in range(count):
            file.seek(i * row)
            file.write(dead)
        for i, (h, data) in enumerate(zip(head, samples, strict=True)):
            header = bytearray(h.tobytes())
            struct.pack_into("<H", header, 114, ns)
            file.seek((count + i) * row)
            file.write(bytes(header) + data.tobytes())
            other.write(bytes(header) + data.tobytes())
            other.seek((i + 1) * row)
        file.truncate((count + len(head)) * row)
        other.truncate(len(head) * row)
    job = [w for w in JOB if w[:2] != "h0"] + ["h0=-480"]
    compared(check, tmp_path, "large", job, small, 1)


SPARSE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
int posix_fallocate(int fd, off_t at, off_t size) { return ftruncate(fd, at + size) != 0; }
"""


def test_outputs_beyond_2_gib(check, tmp_path):
    """The last trace of a large result, whose others are marked as complete."""
    (tmp_path / "sparse.c").write_text(SPARSE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "sparse.so", "sparse.c"], cwd=tmp_path,
                   check=True)
    ns, count = 60000, (1 << 31) // 240000 + 3
    times = [f"t0=0.4,0.000001,{ns}", "aperture=300,300", *QUERY[:1], "a=1e-4", "b=-2e-4", "c=6e-7",
             "d=3e-7", "e=0"]
    env = {"LD_PRELOAD": str(tmp_path / "sparse.so")}
    job = [binary(), f"in={DATA}", f"m0={4120 - 2 * (count - 1)},2,{count}", "h0=-480", *times,
           *outputs(tmp_path, "k-")]
    stopped = run(job, tmp_path, {**env, "SEMBLANCE_STOP": "3"})
    assert stopped.returncode == -signal.SIGKILL, stopped.stderr
    row = 240 + 4 * ns
    for name in "k-s.su", "k-c.su":
        with open(tmp_path / name, "r+b") as file:
            for i in range(count - 1):
                file.seek(i * row + 28)
                file.write(b"\2")
    ended = run(job, tmp_path, env)
    assert ended.returncode == 0, ended.stderr
    job[2], job[-3:] = "m0=4120", outputs(tmp_path, "one-")
    ended = run(job, tmp_path)
    assert ended.returncode == 0, ended.stderr
    for name, size in ("s.su", 4 * ns), ("c.su", 4 * ns), ("p.npy", 20 * ns):
        found = []
        for prefix in "k-", "one-":
            with open(tmp_path / (prefix + name), "rb") as file:
                file.seek(-size, os.SEEK_END)
                found.append(file.read())
        check(name, found[0] != found[1] and "the last trace differs")
        check(f"{name}: not zero", not any(found[0]) and "zero")


def survey(path, shots, channels, ns=40, dt=4000):
    """A line with an event of one period in each trace."""
    numbers = numpy.random.default_rng(3)
    with open(path, "wb") as out:
        for shot in range(shots):
            for channel in range(channels):
                s, g = 20 * shot, 20 * shot + 40 + 20 * channel
                u = numpy.pi / 0.04 * (numpy.arange(ns) * dt * 1e-6 - 0.07 - channel * 1e-3)
                # The period of every third trace is another one.
                u *= 0.5 + ((shot * channels + channel) % 3 == 0)
                row = (1 - 2 * u * u) * numpy.exp(-u * u) + 0.1 * numbers.standard_normal(ns)
                out.write(oracle.put({"trid": 1, "sx": s, "gx": g, "ns": ns, "dt": dt,
                                      "scalco": 1}, "<") + row.astype("<f4").tobytes())


def test_many_traces(check, tmp_path):
    """choose= leaves out 48 traces at most; the period is measured on every third of 441 traces in
    the order of their midpoints; the table of ranges has 100 half-offsets."""
    survey(tmp_path / "in.su", 21, 21)
    rng = random.Random(5)
    places = []
    for i in range(120):
        source, h = 20 * rng.randrange(21), 20 + 10 * rng.randrange(21)
        places.append((source + h + 5, h + i / 64))
    (tmp_path / "places").write_text("".join(f"{m} {h}\n" for m, h in places))
    words = [binary(), "in=in.su", "positions=places", "velocity=2000,2100", "aperture=45,31",
             "dip=1e-6", "tau=0", "refine=0", "average=0", "stack=s.su"]
    ended = run([*words, "t0=0.06:0.076:5", "ranges_out=r.txt"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    g = oracle.Job([*words[1:], "t0=0.06:0.076:5"], tmp_path).traces
    order = sorted(range(len(g.m)), key=lambda i: (g.m[i], i))
    delays = 19
    total = numpy.zeros(2 * delays + 1)
    for i in order[::3]:
        distance = (g.m - g.m[i]) ** 2 + (g.h - g.h[i]) ** 2
        distance[i] = numpy.inf
        other = g.samples[int(distance.argmin())]
        size = numpy.sqrt((g.samples[i] ** 2).sum() * (other ** 2).sum())
        total += numpy.correlate(other, g.samples[i], "full")[39 - delays:40 + delays] / size
    peak = int(total.argmax())
    period = (peak + int(total[peak:].argmin()) - int(total[:peak + 1].argmin())) * 0.004
    check("period", f"period={period:.3g} s" not in ended.stderr and f"{period}: {ended.stderr}")
    rows = [line.split() for line in (tmp_path / "r.txt").read_text().splitlines()
            if line[0] != "#"]
    found = sorted({float(r[1]) for r in rows})
    offsets = [h for _, h in places]
    want = numpy.linspace(min(offsets), max(offsets), 100)
    check("half-offsets", (len(found) != 100 or not numpy.allclose(found, want)) and f"{found}")
    (tmp_path / "s.su").unlink()
    ended = run([*words, "t0=0.068", "choose=1", "weight=none", "passes=1", "period=0.04"],
                tmp_path)
    check("left out", "choose=1: 48 live traces are left out" not in ended.stderr and ended.stderr)


def test_longest_names(check, tmp_path):
    """The longest folders and the longest line that are not refused."""
    def folder(length):
        return "." + "/." * (length // 2 - 1) + "/" * (1 + length % 2)

    fletcher = ["nx=5", "ny=4", "nz=6", "absorb=1", "dx=10", "dy=11", "dz=12", "dt=0.001",
                "tmax=0.003"]
    for _, backend, path in front_ends("fletcher"):
        ended = run([os.path.abspath(path), *fletcher, f"snapshots={folder(4000)}"], tmp_path)
        check(f"fletcher {backend}", ended.returncode and ended.stderr)
    for _, backend, path in front_ends("fluid"):
        fluid = [os.path.abspath(path), "events=e.txt", "n=3", "sweeps=1", "steps=1"]
        for line, good in (("source 1 0".ljust(254), True), ("source 1 0".ljust(255), False)):
            for end in "\n", "":
                (tmp_path / "e.txt").write_text(line + end)
                ended = run(fluid, tmp_path)
                check(f"fluid {backend}: a line of {len(line)}",
                      (ended.returncode == 0) != good and ended.stderr)
        (tmp_path / "e.txt").write_text("source 1 0\n")
        for length, good in ((3988, True), (3989, False)):
            ended = run([*fluid, f"movie={folder(length)}"], tmp_path)
            check(f"fluid {backend}: {length}", (ended.returncode == 0) != good and ended.stderr)
