"""test_criterion.py: ranges, window and aperture that follow from velocity=, compared with
section_oracle.py; the file of ranges_out= gives the same bytes as ranges=.
"""
import random
import re

import numpy
import pytest

from tests.helpers import binaries, run
from tools.verify import section_oracle as oracle

DT, NS = 4000, 150
SHOTS, CHANNELS = 9, 8


def survey(rng, path, period=0.048):
    """Writes a survey with one reflection; shot 4 is missing, a trace dead, one zero."""
    shot_gap, receiver_gap = rng.choice(((25, 25), (50, 25), (20, 40)))
    numbers = numpy.random.default_rng(rng.getrandbits(32))
    with open(path, "wb") as out:
        for shot in range(SHOTS):
            for channel in range(CHANNELS):
                source = 1000 + shot * shot_gap
                receiver = source + 100 + channel * receiver_gap
                time = numpy.hypot(0.3, (receiver - source) / 2000)
                u = numpy.pi / period * 0.863 * (numpy.arange(NS) * DT * 1e-6 - time)
                row = (1 - 2 * u * u) * numpy.exp(-u * u) + 0.1 * numbers.standard_normal(NS)
                row *= (shot, channel) != (2, 3)
                values = {"trid": 2 if (shot, channel) == (5, 5) else 1, "scalco": 1,
                          "sx": source, "gx": receiver, "ns": NS, "dt": DT}
                if shot != 4:
                    out.write(oracle.put(values, "=") + row.astype("f4").tobytes())
    return shot_gap, receiver_gap


def gather(folder):
    return oracle.gather(folder / "in.su", oracle.Job([], [], 0, [], (0, 0), "x", "="))


def asked(rng, folder):
    """(options of the program, what they say: rows of velocity, and values or None)."""
    if rng.random() < 0.5:
        velocity, rows = "1600,2900", [(0.0, 1600, 2900)]
    else:
        velocity, rows = "v.txt", [(0.1, 1500, 1900), (0.3, 1900, 2100), (0.5, 2300, 3300)]
        (folder / "v.txt").write_text("# t0 v dv\n" + "".join(
            f"{t} {(low + high) / 2} {(high - low) / 2}  # m/s\n" for t, low, high in rows))
    values = {"dip": rng.choice((None, 2e-4)), "period": rng.choice((None, 0.05)),
              "tau": rng.choice((None, 0.012)), "aperture": rng.choice((None, (90, 110)))}
    words = [f"velocity={velocity}"]
    for key, value in values.items():
        if value is not None:
            words.append(f"{key}={value}" if key != "aperture" else "aperture=90,110")
    return words, numpy.array(rows, "f8"), values


@pytest.mark.parametrize("number", range(8))
def test_ranges(check, tmp_path, number):
    rng = random.Random(f"criterion {number}")
    spacing = survey(rng, tmp_path / "in.su")
    words, velocity, value = asked(rng, tmp_path)
    h0 = rng.choice(((50, 25, 3), (150, -25, 4), (0, 12, 3), (-60, 20, 2)))
    t0 = rng.choice(((0.2, 0.02, 4), (0.004, 0.06, 4), (0.1, 0.004, 30)))
    job = ["in=in.su", "m0=1150", "h0={},{},{}".format(*h0), "t0={},{},{}".format(*t0)]
    binary = binaries("semblance", ("omp",))[-1][2]
    ended = run([binary, *job, *words, "stack=s.su", "ranges_out=r.txt"], tmp_path)
    assert ended.returncode == 0, ended.stderr

    g = gather(tmp_path)
    check("distances", oracle.gaps(g) != spacing and f"{oracle.gaps(g)}, not {spacing}")
    dip = value["dip"] or 0.68 / velocity[:, 1].min()
    reach = value["aperture"] or (0.6 * max(spacing), 5 * spacing[1])
    near = numpy.flatnonzero((abs(g.m - 1150) <= reach[0]) & numpy.any(
        [abs(g.h - h0[0] - h0[1] * i) <= reach[1] for i in range(h0[2])], axis=0))
    used = slice(near.min(), near.max() + 1)  # the traces from the first to the last one
    period = value["period"] or oracle.period(
        oracle.Gather(g.m[used], g.h[used], g.fields[used], g.samples[used], g.dt))
    table = (tmp_path / "r.txt").read_text()
    told = re.search(r"tau=(\S+) aperture=(\S+),(\S+) refine=1 average=(\S+)", table)
    assert told, table
    got, tau = [float(text) for text in told.groups()], value["tau"] or 0.6 * period
    check("tau, aperture", not numpy.allclose(got, [tau, *reach, tau],
                                              rtol=1e-12) and f"{got}")
    rows = numpy.array([line.split() for line in table.splitlines() if line[0] != "#"], "f8")
    ends = [sorted((first, first + step * (count - 1))) for first, step, count in (h0, t0)]
    check("corners", not (numpy.allclose(rows[0, 1::-1], [e[0] for e in ends])
                          and numpy.allclose(rows[-1, 1::-1], [e[1] for e in ends])) and f"{rows}")
    check("rows", len(rows) != h0[2] * (1 + numpy.ceil((ends[1][1] - ends[1][0]) / 0.05 - 1e-9))
          and f"{len(rows)}")
    for t, h, *flat in rows:
        want = oracle.velocity_ranges(velocity, dip, period, h, t, reach)
        for name, (low, high, n), (p0, p1, count) in zip("ABCDE", want,
                                                         numpy.reshape(flat, (5, 3)), strict=True):
            where = f"t0 {t:g}, h0 {h:g}, {name}"
            check(f"{where}: count", not n - 1e-6 <= count < n + 1 + 1e-6 and f"{count}, of {n}")
            half = (high - low) / 2 / count
            wrong = abs(numpy.array((p0 - half, p1 - half)) - (low, high)).max()
            check(f"{where}: bounds", wrong > 1e-9 * max(abs(low), abs(high)) and f"{p0} {p1}")
    again = run([binary, *job, "ranges=r.txt", f"tau={told[1]}", f"aperture={told[2]},{told[3]}",
                 "refine=1", f"average={told[4]}", "stack=again.su"], tmp_path)
    check("given back", again.returncode and again.stderr)
    check("given back: bytes", not again.returncode and (tmp_path / "again.su").read_bytes()
          != (tmp_path / "s.su").read_bytes() and "differ")


def test_two_passes(check, tmp_path):
    """The ranges that passes=2 writes cover the live traces of the apertures."""
    survey(random.Random(3), tmp_path / "in.su")
    binary = binaries("semblance", ("omp",))[-1][2]
    job = ["in=in.su", "m0=1150", "h0=75,25,2", "t0=0.2,0.004,30", "passes=2"]
    ended = run([binary, *job, "velocity=1600,2900", "stack=s.su", "ranges_out=r.txt"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = (tmp_path / "r.txt").read_text().splitlines()[0].split(" with ")[1].split()
    again = run([binary, *job, "ranges=r.txt", *told, "stack=again.su"], tmp_path)
    check("given back", again.returncode and again.stderr)
    check("bytes", not again.returncode and (tmp_path / "again.su").read_bytes()
          != (tmp_path / "s.su").read_bytes() and "differ")
    job[1] = "m0=99999"
    far = run([binary, *job, "velocity=1600,2900", "stack=far.su"], tmp_path)
    check("no trace near", far.returncode and far.stderr)


def test_period(check, tmp_path):
    """The period of the wavelet is found, although there is noise."""
    for period in 0.024, 0.04, 0.08:
        survey(random.Random(3), tmp_path / "in.su", period)
        found = oracle.period(gather(tmp_path))
        check(f"{period}", abs(found - period) > 0.2 * period and f"{found}")
