"""test_choose.py: choose=1 draws live traces, fills them with each choice of the options, and
uses the best one: repeated by single runs in which the drawn traces are dead.
"""
import random
import re

import numpy

from tests.helpers import binaries, run
from tests.sections import traces
from tests.test_cluster import ranks
from tests.test_criterion import survey

FIRST, COUNT = 50, 50  # samples of 4 ms, from time 0 on
DELAY = 2              # samples, of the live traces; the first trace is dead and has none
JOB = [f"t0={FIRST * 0.004:g},0.004,{COUNT}", "velocity=1700,2400", "period=0.048"]
PLACES = [(m, h) for m in (1125, 1150, 1175) for h in (60, 110)]
SEED, MOST, ONE_OF = 36, 48, 8
MASK = 2 ** 64 - 1


def splitmix64(n, seed=SEED):
    x = (seed + n * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def drawn(m, h, live, reach):
    """The numbers of the traces that are left out, in the order in which they are drawn."""
    found = [i for i in range(len(m)) if live[i] and any(
        abs(m[i] - a) <= reach[0] and abs(h[i] - b) <= reach[1] for a, b in PLACES)]
    count = min(MOST, len(found) // ONE_OF)
    for i in range(count):
        j = i + splitmix64(i + 1) % (len(found) - i)
        found[i], found[j] = found[j], found[i]
    return found[:count]


def places(path, rows):
    path.write_text("".join(f"{m} {h}\n" for m, h in rows))
    return f"positions={path.name}"


def delay(path):
    head, rows = traces(path)
    head[:, 108:110] = numpy.full((len(head), 1), 4 * DELAY, "<i2").view("u1")
    head[0, 108], head[0, 28] = 0, 2
    path.write_bytes(b"".join(h.tobytes() + row.tobytes()
                              for h, row in zip(head, rows, strict=True)))


def table(ended):
    """[(SNR in dB, options)], the chosen options."""
    rows = re.findall(r": (-?[\d.]+) dB: (.*)", ended.stderr)
    return [(float(snr), words.split()) for snr, words in rows], \
        re.findall(r": chosen: (.*)", ended.stderr)[0].split()


def test_table(check, tmp_path):
    gaps = survey(random.Random(4), tmp_path / "in.su")
    delay(tmp_path / "in.su")
    binary = binaries("semblance", ("omp",))[-1][2]
    words = [places(tmp_path / "places", PLACES), *JOB]
    ended = run([binary, "in=in.su", *words, "choose=1", "stack=s.su"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    rows, chosen = table(ended)
    check("choices", len({tuple(w) for _, w in rows}) != 23 and f"{len(rows)}")
    snr = {tuple(options): value for value, options in rows}
    check("chosen", snr.get(tuple(chosen)) != max(snr.values()) and f"{chosen} of {snr}")
    reach = 0.6 * max(gaps), 5 * gaps[1]
    default = f"aperture={reach[0]:g},{reach[1]:g} tau=0.0288 weight=semblance refine=1 " \
        "average=0.0288 passes=1"
    check("default", rows[0][1] != default.split() and f"{rows[0][1]}")
    check("files", [p.name for p in tmp_path.iterdir() if re.search("choose|trial", p.name)])

    head, samples = traces(tmp_path / "in.su")
    source, receiver = (head[:, k:k + 4].copy().view("<i4")[:, 0] / 1.0 for k in (72, 80))
    m, h = (source + receiver) / 2, (receiver - source) / 2
    left = drawn(m, h, head[:, 28] != 2, reach)
    check("left out", f"choose=1: {len(left)} live traces" not in ended.stderr and ended.stderr)
    dead = head.copy()
    dead[left, 28] = 2
    (tmp_path / "dead.su").write_bytes(b"".join(
        d.tobytes() + row.tobytes() for d, row in zip(dead, samples, strict=True)))
    truth = samples[left, FIRST - DELAY:][:, :COUNT].astype(float)
    there = places(tmp_path / "left", zip(m[left], h[left], strict=True))
    for k in (0, 1, 2, 10, *range(20, len(rows))):
        for path in tmp_path.glob("left.su*"):
            path.unlink()
        again = run([binary, "in=dead.su", there, *JOB, *rows[k][1], "stack=left.su"], tmp_path)
        assert again.returncode == 0, again.stderr
        error = ((traces(tmp_path / "left.su")[1] - truth) ** 2).sum()
        snr = 10 * numpy.log10((truth ** 2).sum() / error)
        check(f"row {k}", abs(snr - rows[k][0]) > 0.006 and f"{snr}, not {rows[k]}")

    again = run([binary, "in=in.su", *words, *chosen, "stack=again.su"], tmp_path)
    assert again.returncode == 0, again.stderr
    check("used", (traces(tmp_path / "again.su")[1] != traces(tmp_path / "s.su")[1]).any()
          and "other samples")
    for _, _, mpi in binaries("semblance", ("mpi",))[-1:]:
        ended = ranks(mpi, ["in=in.su", *words, "choose=1", "stack=ranks.su"], tmp_path)
        check("ranks", ended.returncode and ended.err)
        check("ranks: bytes", (tmp_path / "ranks.su").read_bytes()
              != (tmp_path / "s.su").read_bytes() and "differ")


def test_set(check, tmp_path):
    """Options that the command sets do not change."""
    survey(random.Random(4), tmp_path / "in.su")
    binary = binaries("semblance", ("omp",))[-1][2]
    words = ["in=in.su", places(tmp_path / "places", PLACES), *JOB, "choose=1"]
    for option, count in (("aperture=20,100", 7), ("tau=0.02", 13), ("weight=none", 13),
                          ("refine=0", 22), ("average=0.01", 22), ("passes=1", 22)):
        ended = run([binary, *words, option, "stack=s.su"], tmp_path)
        assert ended.returncode == 0, ended.stderr
        rows, _ = table(ended)
        check(option, (len(rows) != count or any(option not in w for _, w in rows)) and f"{rows}")
        for path in tmp_path.glob("s.su*"):
            path.unlink()
