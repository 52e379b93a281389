"""test_section_oracle.py: whole sections, compared sample by sample and byte by byte with
tools/verify/section_oracle.py, which computes them in double precision.

The surveys are random: positions, both axes and byte orders, coordinate scales, delays, dead
traces, traces at the same place, apertures whose edge goes through traces, output positions
in the middle between two traces, ranges that change with time.
"""
import itertools
import random
import subprocess

import numpy
import pytest

from tests.helpers import TIMEOUT, binaries
from tools.verify import section_oracle as oracle

try:
    from segyio import su as segyio_su
except ImportError:  # the samples are not read a second time
    segyio_su = None

JOBS, MOVEOUT_JOBS = 40, 20  # with window=parallel, and with window=moveout
MOVEOUT_STEPS = {("00_sequential", "seq"), *(("10_algorithm", b) for b in
                                             ("omp", "ocl", "cuda-cpu"))}


def survey(rng, path):
    """Writes a survey; returns (axis, byte order, delay in samples, dt, ns, metres per
    unit)."""
    axis, order = rng.choice("xy"), rng.choice("<>")
    dt = rng.choice((1000, 2000, 4000))
    delay = rng.choice((0, 0, -32, 48, 160, 1000))  # milliseconds
    ns = rng.randint(90, 160)
    scalco = rng.choice((1, 0, -1, -10, -100, 10))
    unit = 1 / -scalco if scalco < 0 else scalco or 1
    numbers = numpy.random.default_rng(rng.getrandbits(32))
    other = rng.choice((0, 7))
    crooked = random.Random(f"{other} {ns}")  # fields that the samples do not depend on
    unit_code, signs = crooked.choice((0, 1)), crooked.choice(((-1, 1), (1, 1), (1, -1), (0, 0)))
    with open(path, "wb") as out:
        for i in range(rng.randint(20, 60)):
            m, h = rng.randrange(0, 600, 20), rng.randrange(-200, 210, 40)
            if i == 5 or rng.random() < 0.05:
                m, h = 300, 40  # several traces at one place
            source, receiver = round((m - h) / unit), round((m + h) / unit)
            values = {"cdp": 100 + i, "trid": rng.choice((1, 1, 1, 0, 2)) if i else 1,
                      "scalco": scalco, "delrt": delay, "ns": ns, "dt": dt,
                      "s" + axis: source, "g" + axis: receiver}
            for name in ("sx", "gx") if axis == "y" else ("sy", "gy"):
                values[name] = other + crooked.randrange(40)
            for name in ("fldr", "ep", "tracf", "tracl", "year", *oracle.ELEVATIONS):
                values[name] = crooked.randrange(-90, 900)
            values |= {"scalel": crooked.choice((1, 0, -10, 10)), "counit": unit_code,
                       "offset": signs[h > 0] * abs(2 * h)}
            time = numpy.arange(ns) + delay * 1000 / dt
            event = numpy.hypot(rng.uniform(55, 75), (m - 300) / 20) - time
            row = numpy.exp(-(event / 4) ** 2) * 2 + 0.3 * numpy.convolve(
                numbers.standard_normal(ns), (.25, .5, .25), "same")
            out.write(oracle.put(values, order) + row.astype(order + "f4").tobytes())
    return axis, order, delay * 1000 // dt, dt, ns


def ranges(rng, curved=False):
    """P0 P1 N of A to E, flat. Curved: t0 = 0 has arrivals, too."""
    spans = (2e-4, 2e-4, 4e-7, 4e-7, 3e-7)
    flat = []
    for span in spans:
        middle = rng.uniform(-span, span)
        if curved and span == 4e-7:  # C and D
            middle = 6e-7
        flat += [middle - span, middle + span, rng.randint(1, 3)]
    return flat


def job(number, folder):
    """(a job of the oracle, the arguments of the program)."""
    rng = random.Random(f"section {number}")
    window = "parallel" if number < JOBS else "moveout"
    axis, order, delay, dt, ns = survey(rng, folder / "in.su")
    tau = rng.choice((0, 1, 3, 5))
    first, last = max(delay, 0) + tau + 2, delay + ns - tau - 4
    count, stride = rng.randint(1, 6), rng.randint(1, 5)
    curved = window == "moveout" and number % 3 == 1  # windows that begin before time 0
    if curved:
        tau = 5
    if window == "moveout":
        first, last, stride = max(delay, 0), delay + ns - 1, 1
        count = rng.randint(1, 60)
    start = rng.randint(first, max(first, last - count * stride))
    if window == "moveout" and number % 3:  # windows at one end of the record
        start = first if curved else max(first, last - count)
    if dt == 1000 and delay == 1000:
        start = 1000 + tau + 3 + tau % 2  # 1.003, 1.005 ..: times 1000 it is below an integer
    m0 = rng.choice((300, 310, 290.5, 0, 600, 3000)), rng.choice((20, 35.25, 10)), \
        rng.randint(1, 3)
    h0: tuple[float, int, int] = rng.choice((0, 20, -40)), rng.choice((40, 20)), rng.randint(1, 2)
    if rng.random() < 0.2:
        m0, h0 = (0.7, 20, 2), (0.1, 40, 1)  # 7.9999999999999991 decimetres
    whole = rng.random() < 0.2  # without t0=: all samples
    if whole:
        start, stride, count = max(delay, 0), 1, delay + ns - max(delay, 0)
        m0, h0 = (*m0[:2], 1), (*h0[:2], 1)
    t0 = [(start + stride * k) * dt * 1e-6 for k in range(count)]
    aperture = rng.choice((100, 60, 400)), rng.choice((80, 40, 200))
    if curved:
        aperture = 100, 80
    rows = [[time, *ranges(rng, curved)] for time in (0, (delay + ns) * dt * 1e-6)]
    # Many (D, E) that hardly move an arrival are not searched in blocks.
    many = number % 5 == 4
    if many:
        for row, d, e in zip(rows, (1e-6, -3e-6), (2e-6, -1e-6), strict=True):
            row[10:] = [d, d + 1e-9, 12, e, e + 1e-9, 12]
    smooth, weight = rng.choice(("centre", "window")), rng.choice(("semblance", "none"))
    if window == "moveout":
        smooth = "centre"
    words = ["in=in.su", f"m0={m0[0]},{m0[1]},{m0[2]}", f"h0={h0[0]},{h0[1]},{h0[2]}",
             *[f"t0={t0[0]:.9g},{stride * dt * 1e-6:.9g},{count}"] * (not whole),
             f"smooth={smooth}", f"weight={weight}",
             f"window={window}", f"tau={tau * dt * 1e-6:.9g}",
             f"aperture={aperture[0]},{aperture[1]}",
             f"axis={axis}", f"order={'little' if order == '<' else 'big'}",
             "stack=s.su", "coherence=c.su", "parameters=p.npy"]
    if rng.random() < (0.5 if window == "parallel" else 0.2):
        rows = rows[:1]
        for k, key in enumerate("abcde"):
            p0, p1, n = rows[0][1 + 3 * k:4 + 3 * k]
            last = p0 + (p1 - p0) / n * (n - 1)
            words.append(f"{key}={p0:.17g},{p1:.17g},{n}" if k % 2 else
                         f"{key}={p0:.17g}" if n == 1 else f"{key}={p0:.17g}:{last:.17g}:{n}")
    else:
        more = random.Random(f"rows {number}")  # rows between the first and the last one
        times = [t0[count // 2], t0[count // 2] + 2.5 * dt * 1e-6][:more.randint(0, 2)]
        if window == "moveout":
            times = [t0[0] + dt * 1e-6, *t0[2::3]]
        rows[1:1] = [[time, *ranges(more, curved)[:9], *(rows[0][10:] if many else
                                                         ranges(more, curved)[9:])]
                     for time in times if time < rows[-1][0]]
        if rng.random() < 0.5:  # ranges that depend on the half-offset, too
            low, high = h0[0] - 7.5, h0[0] + h0[1] * h0[2]
            offsets = [low, *[h0[0] + 0.3 * h0[1]] * (more.random() < 0.5), high]
            rows = [[row[0], h, *(row[1:] if h == low else ranges(more, curved))]
                    for h in offsets for row in rows]
        lines = [" ".join(f"{value:.17g}" for value in row) for row in rows]
        (folder / "ranges.txt").write_text("\n".join(lines) + "\n")
        words.append("ranges=ranges.txt")
    places = [(m0[0] + m0[1] * i, h0[0] + h0[1] * j)
              for i in range(m0[2]) for j in range(h0[2])]
    if rng.random() < 0.3:  # the same, in another order
        rng.shuffle(places)
        lines = [f"{m:.17g} {h:.17g}" for m, h in places]
        if all(float(m) == int(m) and float(h) == int(h) for m, h in places):
            lines = ["sx gx"] + [f"{m - h} {m + h}" for m, h in places]
        (folder / "places.txt").write_text("\n".join(["# output", *lines]) + "\n")
        words[1:3] = ["positions=places.txt"]
    wanted = oracle.Job(places, t0, tau * dt * 1e-6, rows,
                        aperture, axis, order, smooth, weight, window)
    early = random.Random(f"{places} {t0}")
    if early.random() < 0.4:  # a mute table, of which some times are those of samples
        times = [early.choice((t0[0], t0[-1], early.uniform(t0[0], t0[-1]))) for _ in range(3)]
        wanted.mute = list(zip((40, 80, 200.5), times, strict=True))
        (folder / "mute.txt").write_text("# offset, time\n" + "".join(
            f"{x} {t:.17g}\n" for x, t in wanted.mute))
        words.append("mute=mute.txt")
    return wanted, words


@pytest.mark.seconds(20)
@pytest.mark.parametrize("number", range(JOBS + MOVEOUT_JOBS))
def test_section(check, tmp_path, number):
    wanted, words = job(number, tmp_path)
    g = oracle.gather(tmp_path / "in.su", wanted)
    expected = oracle.headers(g, wanted)
    places = wanted.places
    samples = [[oracle.search(g, wanted, m, h, t) if oracle.aperture(g, wanted, m, h).sum() > 1
                and not oracle.muted(wanted, g, h, t) else None for t in wanted.t0]
               for m, h in places]
    found = binaries("semblance", ("seq", "omp", "ocl", "cuda-cpu", "hybrid"))
    if wanted.window == "moveout":
        found = [b for b in found if b[:2] in MOVEOUT_STEPS]
    # The reference, the one that users run, and some others.
    always = [*found[:1], *[b for b in found if b[1] == "omp"][-1:]]
    others = [b for b in found if b not in always]
    for step, backend, binary in [*always,
                                  *random.Random(number).sample(others, min(3, len(others)))]:
        name = f"{step} {backend}"
        ended = subprocess.run([binary, *words], cwd=tmp_path, capture_output=True, text=True,
                               timeout=TIMEOUT)
        check(f"{name}: runs", ended.returncode and ended.stderr)
        if ended.returncode:
            continue
        heads, stack = oracle.split(tmp_path / "s.su", "=")
        other, coherence = oracle.split(tmp_path / "c.su", "=")
        parameters = numpy.load(tmp_path / "p.npy").astype("f8")
        check(f"{name}: traces", len(heads) != len(places) and f"{len(heads)}")
        for i, (head, same, want) in enumerate(zip(heads, other, expected, strict=True)):
            wrong = [k + 1 for k in range(oracle.JOB.start) if head[k] != want[k]]
            check(f"{name}: header {i}", wrong and f"bytes {wrong} differ: "
                  f"{ {f: oracle.get(head, f, '=') for f in oracle.FIELDS} }, expected "
                  f"{ {f: oracle.get(want, f, '=') for f in oracle.FIELDS} }")
            check(f"{name}: headers of both files", head != same and f"trace {i} differs")
        size = abs(g.samples).max()
        for i, row in enumerate(samples):
            for k, sample in enumerate(row):
                got = coherence[i, k], stack[i, k], parameters[i, k]
                if sample is None:
                    problem = (got[0] or got[1] or got[2].any()) and "not zero"
                else:
                    used, why = oracle.judge(wanted, sample, *got, size)
                    problem = not used <= 1 and why
                check(f"{name}: trace {i}, sample {k}", problem)
        if segyio_su:
            with segyio_su.open(str(tmp_path / "s.su"), endian="little",
                                ignore_geometry=True) as file:
                check(f"{name}: segyio", (file.tracecount != len(places)
                                          or abs(file.trace.raw[:] - stack).max() > 0)
                      and "segyio reads other samples")
        for path in ("s.su", "c.su", "p.npy"):
            (tmp_path / path).unlink()


def test_says_something(tmp_path):
    """Most samples can be judged: rounding explains little of their largest semblance."""
    judged = total = 0
    for number in range(JOBS + MOVEOUT_JOBS):
        wanted, _ = job(number, tmp_path)
        g = oracle.gather(tmp_path / "in.su", wanted)
        for (m, h), t in itertools.product(wanted.places, wanted.t0):
            if oracle.aperture(g, wanted, m, h).sum() > 1 and not oracle.muted(wanted, g, h, t):
                sample = oracle.search(g, wanted, m, h, t)
                best = sample.semblance.argmax()
                total += 1
                judged += not sample.unsure[best] and sample.semblance_error[best] < 0.02
    assert judged > 0.8 * total, f"{judged} of {total}"
