"""test_check.py: a job of whole traces says how good its result is, and when it is wrong: the
check at live traces that are left out (check.c), constant offsets, samples whose squares are no
floats, dips beyond the range, and the work of a search.
"""
import re
import subprocess

import numpy
import pytest

from tests.helpers import binaries, run
from tests.test_cluster import ranks
from tools.verify import section_oracle as oracle
from tools.verify.section_oracle import DEAD

DT, NS, SHOTS, CHANNELS = 4000, 160, 12, 12
DEAD_SHOTS = 4, 8
JOB = ["in=in.su", "fill=dead", "window=moveout", "stack=s.su"]
VELOCITY = "velocity=1600,2600"


def write(path, noise=0.03, scale=1.0, constant=0.0, dip=0.0, gaps=(40, 20), fixed=False,
          delay=0):
    """Writes a survey with two events, one of which dips, and two dead shots."""
    random = numpy.random.default_rng(7)
    t = (numpy.arange(NS) + delay) * DT * 1e-6
    with open(path, "wb") as out:
        for shot in range(SHOTS):
            for channel in range(CHANNELS):
                source = 1000 + shot * gaps[0]
                receiver = (1000 if fixed else source) + 60 + channel * gaps[1]
                m, x = (source + receiver) / 2, receiver - source
                row = noise * random.standard_normal(NS)
                for t0, v, a, p in (0.2, 1900, 1, dip), (0.4, 2200, -0.8, 0):
                    time = numpy.hypot(t0 + p * (m - 1300), x / v)
                    u = (numpy.pi * 25 * (t - time)) ** 2
                    row += a * (1 - 2 * u) * numpy.exp(-u)
                dead = shot in DEAD_SHOTS
                row = 0 * row if dead else scale * row + constant
                values = {"trid": DEAD if dead else 1, "scalco": 1, "sx": source,
                          "gx": receiver, "ns": NS, "dt": DT,
                          "delrt": delay * DT // 1000}
                out.write(oracle.put(values, "=") + row.astype("f4").tobytes())


def binary(step="10_algorithm", backend="omp"):
    found = [b for s, k, b in binaries("semblance", (backend,)) if s == step]
    if not found:
        pytest.skip(f"{step} {backend} is not built")
    return found[0]


def filled(folder, *words, velocity=VELOCITY, **of):
    """(printed values, stderr, samples of the output) of a job on a survey."""
    write(folder / "in.su", **of)
    for old in folder.glob("s.su*"):
        old.unlink()
    ended = run([binary(), *JOB, velocity, *words], folder)
    assert ended.returncode == 0, ended.stderr
    values = dict(re.findall(r"^(\w+)=(.*)$", ended.stdout, re.M))
    return values, ended.stderr, oracle.split(folder / "s.su", "=")[1]


def test_snr(check, tmp_path):
    """The SNR at traces that are left out tells a right job from a wrong one, and does not
    change the result."""
    values, said, right = filled(tmp_path)
    check("right", float(values["Check_SNR"]) < 8 and f"{values}")
    check("means", not (0.2 < float(values["Mean_semblance"]) < 1
                        and 0.1 < float(values["Mean_weight"]) < 1) and f"{values}")
    check("shots", (values["Check_shots"] != values["Check_traces"]
                    or int(values["Check_traces"]) < 4) and f"{values}")
    check("no warning", "WARNING" in said and said)
    last = [key for key in values if "_" in key][-1]
    check("last line", last != "Check_SNR" and last)
    values, said, unchecked = filled(tmp_path, "check=0")
    check("check=0", "Check_SNR" in values and f"{values}")
    check("same samples", (unchecked != right).any() and "differ")
    values, said, _ = filled(tmp_path, velocity="velocity=4500,6000")
    check("wrong velocity", "filled with an SNR of" not in said and f"{values} {said}")
    values, said, _ = filled(tmp_path, noise=3.0)
    check("noise", "neighbour" in said and said)


def test_passes(check, tmp_path):
    """Two passes are checked, too, and resumed ones."""
    one = filled(tmp_path, noise=0.0, dip=1e-4)[0]
    two = filled(tmp_path, "passes=2", noise=0.0, dip=1e-4)[0]
    check("two passes", float(two["Check_SNR"]) < float(one["Check_SNR"]) - 1
          and f"{one} {two}")
    again = run([binary(), *JOB, VELOCITY, "passes=2"], tmp_path)
    check("complete", (again.returncode or "Check_SNR" in again.stdout) and again.stdout)


def test_ranks(check, tmp_path):
    """Ranks share the check, the offsets and the scaling."""
    mpi = binary("12_cluster", "mpi")
    jobs: list[tuple[list[str], dict[str, float]]] = [
        ([], {}), (["passes=2"], {"constant": 2.0}), ([], {"scale": 1e-30})]
    for words, of in jobs:
        _, said, one = filled(tmp_path, *words, **of)
        alone = said.splitlines()
        for old in tmp_path.glob("s.su*"):
            old.unlink()
        ended = ranks(mpi, [*JOB, VELOCITY, *words], tmp_path)
        check(f"{of}", ended.returncode and ended.err)
        other = oracle.split(tmp_path / "s.su", "=")[1]
        check(f"{of}: samples", (other != one).any() and "differ")
        check(f"{of}: stderr", [line for line in alone if line not in ended.err])


@pytest.mark.parametrize("delay", [0, 25])
def test_offset(check, tmp_path, delay):
    """A constant is neither period nor event: traces are filled as without it, plus it."""
    _, said, plain = filled(tmp_path, "ranges_out=r.txt", delay=delay)
    for constant in 0.02, 1.0, -3.0:
        _, text, other = filled(tmp_path, constant=constant, delay=delay)
        period, = re.findall(r"period=\S+", said)
        check(f"{constant}: period", period not in text and text)
        large = abs(constant) > 0.1
        check(f"{constant}: told", ("a constant offset" in text) != large and text)
        error = abs(other - plain - constant).max() if large else 0
        check(f"{constant}: samples", error > (0.05 if delay else 0.02) and f"{error}")


def test_offset_of_samples_that_are_not_filled(check, tmp_path):
    """The constant is added to the samples that are searched: not to muted ones, nor to traces
    that stay dead."""
    (tmp_path / "mute.txt").write_text("0 0.06\n300 0.2\n")
    (tmp_path / "places.txt").write_text("1250 60\n1260 110\n90000 60\n")
    write(tmp_path / "in.su", constant=5.0)
    ended = run([binary(), "in=in.su", "positions=places.txt", VELOCITY, "window=moveout",
                 "dip=0", "check=0", "mute=mute.txt", "stack=s.su"], tmp_path)
    check("said", (ended.returncode or "a constant offset" not in ended.stderr) and ended)
    rows = oracle.split(tmp_path / "s.su", "=")[1]
    for row, h in zip(rows, (60, 110)):
        first = int(numpy.ceil(numpy.interp(2 * h, (0, 300), (60, 200)) / 4 - 1e-6))
        check(f"h={h}: muted", row[:first].any() and f"{row[:first]}")
        check(f"h={h}: filled", (abs(row[first:] - 5) > 3).any() and f"{row[first:]}")
    check("dead", rows[2].any() and f"{rows[2]}")


@pytest.mark.parametrize("step, backend", [
    ("00_sequential", "seq"), ("05_algebra", "omp"), ("08_vector", "omp"),
    ("09_blocking", "omp"), ("10_algorithm", "omp"), ("10_algorithm", "ocl"),
    ("10_algorithm", "cuda-cpu")])
def test_scale(check, tmp_path, step, backend):
    """A power of two changes no semblance, even where squares are no floats; a survey without
    noise has such samples everywhere."""
    words = ["window=parallel", "positions=p", "t0=0.1:0.3:51", "coherence=c.su"]
    job = ["in=in.su", "velocity=1600,2600", "stack=s.su", "dip=0", *words]
    (tmp_path / "p").write_text("1250 60\n1260 110\n")
    found = []
    for exponent in 0, -45, 80:
        write(tmp_path / "in.su", noise=0.0, scale=2.0 ** exponent)
        for old in tmp_path.glob("[sc].su"):
            old.unlink()
        ended = run([binary(step, backend), *job], tmp_path)
        check(f"2^{exponent}", ended.returncode and ended.stderr)
        found.append((oracle.split(tmp_path / "s.su", "=")[1] / 2.0 ** exponent,
                      oracle.split(tmp_path / "c.su", "=")[1]))
    for stack, coherence in found[1:]:
        check("stack", (stack != found[0][0]).any() and "differs")
        check("semblance", (coherence != found[0][1]).any() and "differs")
    check("events", not 0.9 < found[0][1].max() <= 1.0001 and f"{found[0][1].max()}")


def test_dip(check, tmp_path):
    """Events at the largest dip are said, with a dip that contains them."""
    jobs: list[tuple[list[str], float, bool]] = [([], 1e-4, False), (["dip=1e-4"], 4e-4, True)]
    for words, dip, told in jobs:
        values, said, _ = filled(tmp_path, *words, dip=dip)
        check(f"{words}", ("try dip=0.0002" in said) != told and f"{values} {said}")
        check(f"{words}: printed", (float(values["Dip_steep"]) > 0.12) != told and f"{values}")


def test_work(check, tmp_path):
    """Receivers that are far apart do not make a wide aperture; a large search is said before
    it begins."""
    _, said, _ = filled(tmp_path, "dip=0", gaps=(25, 150), fixed=True)
    check("aperture", "aperture=60,250 m" not in said and said)
    large = [binary(), "in=in.su", "m0=1300", "h0=100", "tau=0.1", "stack=large.su",
             *(f"{k}=0:1e-7:64" for k in "abcde")]
    with subprocess.Popen(large, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as job:
        assert job.stderr
        lines = job.stderr.readline() + job.stderr.readline()
        job.kill()
    check("said", not re.search(" visits, .* smaller aperture=", lines) and lines)


def test_period(check, tmp_path):
    """A period beyond the range of the estimate is said."""
    write(tmp_path / "in.su")
    heads, rows = oracle.split(tmp_path / "in.su", "=")
    slow = numpy.cos(2 * numpy.pi * numpy.arange(NS) * DT * 1e-6 / 0.4).astype("f4")
    with open(tmp_path / "in.su", "wb") as out:
        for head, row in zip(heads, rows):
            out.write(head + (slow * row.any()).astype("f4").tobytes())
    ended = run([binary(), *JOB, VELOCITY, "aperture=30,60", "tau=0.02"], tmp_path)
    check("said", ("period: the estimate" not in ended.stderr) and ended.stderr)
    _, said, _ = filled(tmp_path)
    measured = float(re.findall(r"period=(\S+) s", said)[0])
    for factor, told in (0.4, True), (0.7, False), (1.5, False), (2.5, True):
        _, said, _ = filled(tmp_path, f"period={factor * measured}", "dip=0", "tau=0.02")
        check(f"{factor}", ("the traces have a period of" in said) != told and said)
