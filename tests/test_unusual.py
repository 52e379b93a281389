"""test_unusual.py: jobs of the semblance search with one thing that is unusual: headers without
positions, a small gap in a large survey, names of files that the program itself derives, a
delay, closed descriptors.
"""
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, TIMEOUT
from tools.verify import section_oracle as oracle

BINARY = Path(BUILD, "10_algorithm", "semblance-omp").absolute()
NS, SHOTS, CHANNELS, GAP = 120, 8, 12, (4,)
JOB = "fill=dead", "velocity=1500,3000", "window=moveout", "check=0"


def survey(path, shots=SHOTS, angle=None, dead=lambda shot, channel: shot in GAP, delay=0,
           dt=4000, without=()):
    """Writes shots 50 m apart with channels 25 m apart and two reflections, on a line in x or at
    an angle; the dead traces have no samples, and those of `without` no positions."""
    noise = numpy.random.default_rng(1)
    t = numpy.arange(NS) * dt * 1e-6
    with open(path, "wb") as out:
        for i in range(shots * CHANNELS):
            shot, channel = divmod(i, CHANNELS)
            s, g = 50 * shot, 50 * shot + 100 + 25 * channel
            row = 0.05 * noise.standard_normal(NS)
            for t0, v in (0.15, 1800), (0.3, 2200):
                u = (numpy.pi * 25 * (t - numpy.hypot(t0, (g - s) / v))) ** 2
                row += (1 - 2 * u) * numpy.exp(-u)
            at = {"sx": s, "gx": g, "scalco": 1} if angle is None else {
                "scalco": -10, **{end + xy: round(10 * (far + x * part))
                                  for end, x in (("s", s), ("g", g))
                                  for xy, far, part in (("x", 5e5, numpy.cos(angle)),
                                                        ("y", 6e6, numpy.sin(angle)))}}
            if i in without:
                at = {key: 0 for key in at} | {"scalco": at["scalco"]}
            gone = dead(shot, channel) or i in without
            out.write(oracle.put({**at, "ns": NS, "dt": dt, "delrt": delay,
                                  "trid": 2 if gone else 1}, "=")
                      + (row * (not gone)).astype("f4").tobytes())


def run(folder, *words, **options):
    return subprocess.run([BINARY, *words], cwd=folder, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT, **options)


def shown(ended, key):
    """The number after key= in what was printed on stderr."""
    return float(ended.stderr.partition(f"{key}=")[2].split()[0])


def snr(path, truth, traces):
    """dB of some traces of a file."""
    (_, got), (_, want) = (oracle.split(p, "=") for p in (path, truth))
    error = got[traces] - want[traces]
    return 10 * numpy.log10((want[traces] ** 2).sum() / (error ** 2).sum())


def test_uneven_half_offsets(check, tmp_path):
    """Ranges follow from velocities as well for half-offsets far from those of other traces, and
    if a dead trace has no positions."""
    survey(tmp_path / "truth.su", dead=lambda *_: False)
    traces = [4 * CHANNELS + 3]
    single = lambda shot, channel: shot * CHANNELS + channel in traces
    found = {}
    for name, without in ("alone", ()), ("with another", (CHANNELS - 1,)):
        survey(tmp_path / "in.su", dead=single, without=without)
        ended = run(tmp_path, "in=in.su", *JOB, f"stack={name}.su")
        check(name, ended.returncode and ended.stderr)
        found[name] = snr(tmp_path / f"{name}.su", tmp_path / "truth.su", traces)
    check("the same quality", abs(found["alone"] - found["with another"]) > 0.5 and found)
    survey(tmp_path / "in.su", dead=lambda shot, channel: False)
    for name, places in ("one", "4 3"), ("three", "4 0\n4 3\n7 11"):
        pairs = [tuple(map(int, line.split())) for line in places.split("\n")]
        (tmp_path / "places.txt").write_text("sx gx\n" + "".join(
            f"{50 * s} {50 * s + 100 + 25 * c}\n" for s, c in pairs))
        ended = run(tmp_path, "in=in.su", "positions=places.txt", *JOB[1:],
                    f"ranges_out={name}.txt", f"stack={name}.su")
        check(name, ended.returncode and ended.stderr)
    rows = oracle.numbers(tmp_path / "three.txt")
    check.equal("half-offsets", len(set(rows[:, 1])), 100)


def test_small_gap_in_a_large_survey(check, tmp_path):
    """The period follows from the traces around the gap, however large the survey is."""
    found = {}
    for shots, gap in (SHOTS, 4), (3000, 1507):
        survey(tmp_path / "in.su", shots,
               dead=lambda shot, channel: (shot, channel) == (gap, 3))
        ended = run(tmp_path, "in=in.su", *JOB, f"stack={shots}.su")
        check(f"{shots} shots", ended.returncode and ended.stderr)
        found[shots] = shown(ended, "period") if ended.returncode == 0 else 0
    check("periods", not 0.02 < found[3000] < 0.06 and found)


def test_oblique_line(check, tmp_path):
    """A dead trace without positions stays dead, and the others are filled."""
    for first in (), (0,), (0, 1):
        survey(tmp_path / "in.su", angle=0.6, without=first)
        ended = run(tmp_path, "in=in.su", *JOB, f"stack=out{len(first)}.su")
        check(f"{first}", ended.returncode and ended.stderr)
    whole, part = (oracle.split(tmp_path / f"out{n}.su", "=")[1][4 * CHANNELS:] for n in (0, 2))
    check("bytes", not numpy.array_equal(whole, part) and "differ")


@pytest.mark.parametrize("name, words", [
    ("s.su.residual", ("passes=2", "stack=s.su")),
    ("s.su.trial", ("choose=1", "stack=s.su")),
    ("s.su.trial.live", ("choose=1", "stack=s.su")),
])
def test_derived_names(check, tmp_path, name, words):
    """A file that the program itself would write is not the input, nor another result."""
    survey(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    (tmp_path / "places.txt").write_text("sx gx\n200 350\n")
    job = "positions=places.txt", *JOB[1:]
    ended = run(tmp_path, f"in={name}", *job, *words)
    check("refused", (ended.returncode != 1 or "name the same file" not in ended.stderr) and ended)
    check("input", ((tmp_path / name).read_bytes() != before) and "changed")
    survey(tmp_path / "in.su")
    ended = run(tmp_path, "in=in.su", *job, *words, f"coherence={name}")
    check("result", (ended.returncode != 1 or "name the same file" not in ended.stderr) and ended)


def test_parameters_of_another_job(check, tmp_path):
    survey(tmp_path / "in.su")
    job = "in=in.su", "parameters=p.npy", *JOB
    assert run(tmp_path, *job, "stack=a.su").returncode == 0
    before = (tmp_path / "p.npy").read_bytes()
    ended = run(tmp_path, *job[:-3], "velocity=1500,2000", *job[-2:], "stack=b.su")
    check("refused", (ended.returncode != 1 or "not an output of this job" not in ended.stderr)
          and ended)
    check("file", (tmp_path / "p.npy").read_bytes() != before and "changed")


def test_closed_descriptors(check, tmp_path):
    """No message gets into a file."""
    survey(tmp_path / "in.su")
    job = "in=in.su", *JOB, "stack=s.su"
    assert run(tmp_path, *job).returncode == 0
    before = (tmp_path / "s.su").read_bytes()
    closed = subprocess.run(["/bin/sh", "-c", 'exec "$0" "$@" 2>&-', BINARY, *job], cwd=tmp_path,
                            capture_output=True, timeout=TIMEOUT)
    check("status", closed.returncode)
    check("bytes", (tmp_path / "s.su").read_bytes() != before and "differ")


def test_delay(check, tmp_path):
    """Times that are no binary fractions are compared with a tolerance."""
    survey(tmp_path / "in.su", delay=9, dt=1000)
    (tmp_path / "places.txt").write_text("sx gx\n200 350\n")
    job = "in=in.su", "positions=places.txt", *JOB[1:]
    ended = run(tmp_path, *job, "t0=0.009:0.1:92", "stack=s.su")
    check("t0=", ended.returncode and ended.stderr)
    ended = run(tmp_path, *job, "t0=0.0085:0.1:92", "stack=s2.su")
    check("too early", (ended.returncode != 1 or "recorded time" not in ended.stderr) and ended)


def test_ibm_floats_after_a_dead_trace(check, tmp_path):
    """IBM floats are found if the first trace of a file with long traces is dead."""
    ns = 60000
    values = numpy.random.default_rng(1).standard_normal((3, ns))
    exponent = numpy.floor(numpy.log2(numpy.abs(values)) / 4) + 1
    digits = numpy.rint(numpy.abs(values) / 16.0 ** exponent * 2 ** 24).astype("u4")
    bits = (numpy.signbit(values).astype("u4") << 31 | (exponent + 64).astype("u4") << 24
            | numpy.minimum(digits, 0xffffff)) * numpy.array([[0], [1], [1]], "u4")
    (tmp_path / "in.su").write_bytes(b"".join(
        oracle.put({"ns": ns, "dt": 1000, "sx": 0, "gx": 100 + 25 * i, "scalco": 1,
                    "trid": 1}, "=") + bits[i].tobytes() for i in range(3)))
    ended = run(tmp_path, "in=in.su", "m0=60", "h0=60", "t0=1", "tau=0.002",
                *(f"{k}=0,0,1" for k in "abcde"))
    check("refused", "its samples are IBM floats" not in ended.stderr and ended)


def test_full_standard_output(check, tmp_path):
    """All files are written before the results are printed."""
    survey(tmp_path / "in.su")
    with open("/dev/full", "w") as full:
        ended = subprocess.run([BINARY, "in=in.su", *JOB, "stack=s.su"], cwd=tmp_path, text=True,
                               stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
    check("refused", (ended.returncode != 1 or "standard output: " not in ended.stderr) and ended)
    check("stack=", not (tmp_path / "s.su").exists() and "is missing")
