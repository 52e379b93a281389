"""test_picture.py: make picture draws the input, the filled traces and their semblance."""
import contextlib
import io
import os
import struct
import xml.etree.ElementTree as ET
from unittest import mock

import numpy
import pytest

from tools.verify import section_oracle as oracle

pytest.importorskip("matplotlib")
from tools.publish import picture, segy

NS, SHOTS, CHANNELS = 50, 9, 4
DEAD = [i for i in range(SHOTS * CHANNELS) if i // CHANNELS in (2, 6)]


def lines(angle=0.0, dead=True, filled=False, only=None, trid=1):
    """Headers of shots of which two are dead, on a line in any direction."""
    out = []
    for i in range(SHOTS * CHANNELS) if only is None else only:
        s, g = 50 * (i // CHANNELS), 50 * (i // CHANNELS) + 100 + 25 * (i % CHANNELS)
        at = {k: round(1000 * x * f) for k, x, f in (
            ("sx", s, numpy.cos(angle)), ("sy", s, numpy.sin(angle)),
            ("gx", g, numpy.cos(angle)), ("gy", g, numpy.sin(angle)))}
        gone = dead and i in DEAD
        out.append(oracle.put({**at, "scalco": -1000, "ns": NS, "dt": 4000, "delrt": 400,
                               "trid": (trid if filled else 2) if gone else 1}, "<"))
    return out


def values(numbers, low=1.0):
    return numpy.array([[low + i + j / 100 for j in range(NS)] for i in numbers], "f4")


def write(path, heads, samples):
    path.write_bytes(b"".join(h + row.astype("<f4").tobytes()
                              for h, row in zip(heads, samples, strict=True)))


def survey(folder, angle=0.0):
    every = range(SHOTS * CHANNELS)
    samples = values(every)
    samples[DEAD] = 0
    write(folder / "a.su", lines(angle), samples)
    write(folder / "filled.su", lines(angle, filled=True), values(every))
    live = [i for i in every if i not in DEAD]
    write(folder / "live.su", lines(angle, only=live), values(live))
    write(folder / "new.su", lines(angle, dead=False, only=DEAD[::-1]), values(DEAD[::-1]))
    write(folder / "c.su", lines(angle, only=DEAD), numpy.full((len(DEAD), NS), 0.75))


def draw(folder, *words):
    err = io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()), \
            mock.patch.dict(os.environ):
        status = picture.main([w if w.startswith("--") or w[0].isdigit() else str(folder / w)
                               for w in words])
    return status, err.getvalue()


@pytest.mark.parametrize("angle", [0, 0.7, 2.5])
@pytest.mark.parametrize("names", [("a.su", "filled.su"), ("live.su", "new.su")])
def test_traces(check, tmp_path, angle, names):
    """Which traces are drawn where, with what samples: the same for both forms of STACK."""
    survey(tmp_path, angle)
    of = picture.combine(*(segy.read_su(str(tmp_path / name)) for name in names))
    check("filled", numpy.flatnonzero(of.filled).tolist() != DEAD and f"{of.filled}")
    check("missing", (of.missing != of.filled).any() and of.missing)
    check("delay", (of.t0, of.dt) != (0.4, 0.004) and (of.t0, of.dt))
    every = numpy.arange(SHOTS * CHANNELS)
    before, after = of.samples(every, False), of.samples(every, True)
    check("after", not numpy.array_equal(after, values(every)) and "differs")
    check("before", (numpy.flatnonzero(numpy.isnan(before[:, 0])).tolist() != DEAD
                     or not numpy.array_equal(before[0], values([0])[0])) and f"{before[:, 0]}")
    section = picture.one_offset(of)
    h = [50 + 12.5 * (i % CHANNELS) for i in section]
    check("one offset", (len(section) != SHOTS or len(set(h)) != 1) and f"{section}")
    check("half-offset", not numpy.allclose(abs(of.h[section]), h[0], atol=0.01) and f"{of.h}")
    steps = abs(numpy.diff(of.m[section]))
    check("midpoints", not numpy.allclose(steps, 50, atol=0.01) and f"{steps}")
    first = 50 + 12.5 * (section[0] % CHANNELS) + 50 * (section[0] // CHANNELS)
    check("origin", not numpy.isclose(abs(of.m[section[0]]), first, atol=0.01)
          and f"{of.m[section[0]]}")
    coherence = segy.read_su(str(tmp_path / "c.su"))
    weight, name = picture.weights(of, coherence, "120,15")
    n = 3 / sum(abs(of.m[DEAD[0]] - of.m[i]) <= 120 and abs(of.h[DEAD[0]] - of.h[i]) <= 15
                for i in every if i not in DEAD)
    check("weight", not numpy.isclose(weight[0, 0], (0.75 - n) / (1 - n) / 0.75)
          and f"{weight[0, 0]}")


def test_part(check, tmp_path):
    """A job with t0= fills a part of the times: those are drawn at their place."""
    survey(tmp_path)
    heads = [oracle.put({"ns": 20, "delrt": 440}, "<", h) for h in lines(dead=False, only=DEAD)]
    write(tmp_path / "part.su", heads, values(DEAD)[:, 10:30])
    of = picture.combine(*(segy.read_su(str(tmp_path / n)) for n in ("live.su", "part.su")))
    after = of.samples(numpy.array(DEAD), True)
    check("samples", not numpy.array_equal(after[:, 10:30], values(DEAD)[:, 10:30]) and after)
    check("others", (~numpy.isnan(after)).sum() != 20 * len(DEAD) and after)
    for delay in 396, 524, 442:  # early, late, between two samples
        write(tmp_path / "other.su", [oracle.put({"delrt": delay}, "<", h) for h in heads],
              values(DEAD)[:, :20])
        status, text = draw(tmp_path, "--in", "live.su", "--stack", "other.su")
        check(f"{delay} ms", (status != 1 or "20 samples of 4000 us" not in text) and text)


def test_chosen(check, tmp_path, monkeypatch):
    """The traces with the most filled ones are drawn, each with its own semblance; of duplicates,
    the first."""
    survey(tmp_path)
    every = range(SHOTS * CHANNELS)
    order = [*every, 1, 9]  # duplicates
    heads = lines(filled=True)
    write(tmp_path / "a.su", [lines()[i] for i in order], values(order))
    write(tmp_path / "filled.su", [heads[i] for i in order], values(order))
    of = picture.combine(*(segy.read_su(str(tmp_path / n)) for n in ("a.su", "filled.su")))
    of.h[:] = 50  # all at one offset
    section = picture.one_offset(of)
    check("duplicates", ({36, 37} & set(section.tolist()) or len(section) == len(order))
          and f"{section}")
    monkeypatch.setattr(picture, "SHOWN", 6)
    row = picture.most_filled(of, numpy.arange(len(order)))
    check("row", (len(row) != 6 or of.filled[row].sum() != CHANNELS) and f"{row}")
    coherence = numpy.array([[k] * NS for k, i in enumerate([*DEAD, 9])])
    found = picture.chosen(of, coherence, numpy.array([3, 9, 27, 37]))[:, 0]
    check("values", not numpy.array_equal(found, [numpy.nan, 1, 7, 8], equal_nan=True)
          and f"{found}")


def test_order_of_semblance(check, tmp_path):
    """Semblance has the order of the filled traces, which need not be that of the line."""
    survey(tmp_path)
    of = picture.combine(*(segy.read_su(str(tmp_path / n)) for n in ("live.su", "new.su")))
    semblance = numpy.array([[float(i)] * NS for i in DEAD[::-1]])
    found = picture.chosen(of, semblance, numpy.array(DEAD))[:, 0]
    check("values", not numpy.array_equal(found, DEAD) and f"{found}")


def test_stays_dead(check, tmp_path):
    """A trace that could not be filled is no filled one."""
    survey(tmp_path)
    heads = lines(filled=True)
    heads[DEAD[0]] = oracle.put({"trid": 2}, "<", heads[DEAD[0]])
    write(tmp_path / "filled.su", heads, values(range(SHOTS * CHANNELS)))
    of = picture.combine(*(segy.read_su(str(tmp_path / n)) for n in ("a.su", "filled.su")))
    check("filled", numpy.flatnonzero(of.filled).tolist() != DEAD[1:] and f"{of.filled}")
    check("nothing", not numpy.isnan(of.samples([DEAD[0]], True)).all() and "drawn")


def test_auxiliary(check, tmp_path):
    """A sweep is neither drawn nor missing, and the delay has a scale."""
    survey(tmp_path)
    for name, filled in ("a.su", False), ("filled.su", True):
        heads = [head[:214] + b"\xf6\xff" + head[216:] for head in lines(filled=filled)]
        heads[0] = oracle.put({"trid": 6, "delrt": 0}, "<", heads[0])
        samples = values(range(SHOTS * CHANNELS))
        samples[0] = 0
        write(tmp_path / name, heads, samples)
    of = picture.combine(*(segy.read_su(str(tmp_path / n)) for n in ("a.su", "filled.su")))
    check("filled", numpy.flatnonzero(of.missing).tolist() != DEAD and f"{of.missing}")
    check("drawn", not numpy.isnan(of.samples([0], True)).all() and "drawn")
    check("delay", not numpy.isclose(of.t0, 0.04) and f"{of.t0}")


def test_columns(check):
    """Pixels belong to the nearest trace; a place without a trace stays empty."""
    x = numpy.array([0.0, 10, 20, 50, 60])
    pixels, ends = picture.columns(x, x[:, None], 10.0)
    at = numpy.linspace(*ends, picture.COLUMNS + 1)[:-1] + (ends[1] - ends[0]) / picture.COLUMNS / 2
    check("ends", ends != (-5, 65) and ends)
    for place, pixel in zip(at, pixels[0]):
        near = x[abs(x - place).argmin()]
        expected = near if abs(near - place) <= 7.5 else numpy.nan
        check(f"{place}", not numpy.array_equal(pixel, expected, equal_nan=True)
              and f"{pixel}")
    factor = picture.gain(numpy.full((3, 400), 4.0), 0.25, 0.004)
    check("gain", not numpy.allclose(factor, 0.25) and f"{factor}")


@pytest.mark.seconds(8)
def test_files(check, tmp_path):
    """Both files are written, with two columns or three, and the SVG names what it shows."""
    survey(tmp_path)
    for words, panels in ((("--coherence", "c.su"), 8), (("--out", "x.png", "--gain", "0"), 4)):
        status, errors = draw(tmp_path, "--in", "a.su", "--stack", "filled.su", *words)
        check(f"status {words}", status and (status, errors))
        name = "x" if "--out" in words else "filled"
        png = (tmp_path / f"{name}.png").read_bytes()
        check("png", (png[:4] != b"\x89PNG" or struct.unpack(">I", png[16:20])[0] < 1000)
              and png[:30])
        text = (tmp_path / f"{name}.svg").read_text()
        ET.fromstring(text)
        for word in ("a.su: 8 of 36 traces filled", "midpoint, m (half-offset 50 m)",
                     "trace, in the order of the survey", "time, s",
                     "no gain" if "0" in words else "RMS over 0.25 s"):
            check(word, word not in text and "is missing")
        check("images", text.count("<image") != panels and f"{text.count('<image')}")
        check("semblance", ("semblance of the filled" in text) != (panels == 8) and panels)
    check("files", len(list(tmp_path.iterdir())) != 9 and list(tmp_path.iterdir()))


def test_refused(check, tmp_path):
    survey(tmp_path)
    before = sorted(tmp_path.iterdir())
    for words, reason in (
            (("--stack", "filled.su"), "IN= is not set: expected make picture IN=FILE STACK=FILE"),
            (("--in", "a.su", "--stack", "a.su"), f"STACK={tmp_path}/a.su: no filled trace"),
            (("--in", "a.su", "--stack", "none.su"), f"{tmp_path}/none.su: No such file"),
            (("--in", "a.su", "--stack", "filled.su", "--coherence", "filled.su"),
             f"COHERENCE={tmp_path}/filled.su: 36 traces of 50 samples: expected those of the 8 "),
            (("--in", "a.su", "--stack", "filled.su", "--gain=-1"), "GAIN=-1: expected seconds")):
        status, errors = draw(tmp_path, *words)
        check(f"{words}", (status != 1 or errors.count("\n") != 1
                           or not errors.startswith(f"make picture: {reason}"))
              and (status, errors))
    check("files", sorted(tmp_path.iterdir()) != before and "are left")
