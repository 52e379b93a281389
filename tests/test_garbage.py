"""test_garbage.py: input that would silently give wrong traces is refused or reported: IBM
floats, an input that becomes shorter, all-zero live traces, spikes, samples that are not
finite.
"""
import random
import subprocess
import time
from pathlib import Path

import numpy
import pytest

from tests.helpers import TIMEOUT, Started, binaries, module, run
from tests.sections import DATA, traces
from tests.test_cluster import ranks
from tests.test_criterion import survey
from tools.verify import section_oracle as oracle

NS, DT = 60, 4000
OPTIONS = ["positions=places.txt", "tau=0.012", "a=-2e-4,3e-4,3", "b=0,6e-4,4", "c=2e-7,8e-7,2",
           "d=0,6e-7,2", "e=0,1e-7,1", "aperture=40,60"]


@pytest.fixture(scope="module")
def binary():
    return binaries("semblance", ("omp",))[-1][2]


def write(path, heads, samples):
    path.write_bytes(b"".join(h + row.astype("f4").tobytes()
                              for h, row in zip(heads, samples, strict=True)))


def ibm_bits(values):
    """Doubles as IBM floats."""
    fraction, exponent = numpy.frexp(abs(values))
    power = -(-exponent // 4)
    whole = numpy.round(fraction * 2.0 ** (exponent - 4 * power + 24)).astype("u4")
    power, whole = power + (whole == 1 << 24), numpy.where(whole == 1 << 24, 1 << 20, whole)
    bits = (values < 0).astype("u4") << 31 | (power + 64).astype("u4") << 24 | whole
    return numpy.where(values == 0, 0, bits).astype("u4")


@pytest.mark.parametrize("header, sample", ["<<", "<>", ">>", "><"])
@pytest.mark.parametrize("kind", ["noise", "wavelet", "small"])
def test_ibm(check, tmp_path, binary, header, sample, kind):
    """IBM floats are refused in any order of bytes; IEEE floats with the same values are not."""
    numbers = numpy.random.default_rng(3)
    values = numbers.standard_normal((40, NS)) * {"noise": 1, "wavelet": 1, "small": 1e-12}[kind]
    if kind == "wavelet":
        u = (numpy.arange(NS) - 30 - numpy.arange(40)[:, None] / 7) / 3
        values = 900 * (1 - 2 * u * u) * numpy.exp(-u * u)
        values[abs(values) < 1e-6] = 0
    heads = [oracle.put({"trid": 1, "sx": 100 * i, "gx": 100 * i + 500, "scalco": -10, "ns": NS,
                         "dt": DT}, header) for i in range(40)]
    words = [binary, "m0=75", "h0=25", "t0=0.1", "tau=0.004", "a=0,0,1", "b=0,0,1", "c=0,0,1",
             "d=0,0,1", "e=0,0,1"]

    def file(name, samples):
        (tmp_path / name).write_bytes(b"".join(
            h + row.astype(sample + "u4").tobytes() for h, row in zip(heads, samples, strict=True)))

    file("ibm.su", ibm_bits(values))
    ended = run([*words, "in=ibm.su"], tmp_path)
    name = "little-endian" if sample == "<" else "big-endian"
    check("refused", f"its samples are IBM floats ({name}): expected IEEE" not in ended.stderr
          and ended)
    file("ieee.su", values.astype("f4").view("u4"))
    ended = run([*words, "in=ieee.su"], tmp_path)
    check("IEEE", (ended.returncode if header == sample else "byte-swapped" not in ended.stderr)
          and ended)
    if header == sample:
        pytest.importorskip("segyio")
        made = module("tools.publish.segy", "su", "--in", str(tmp_path / "ibm.su"), "--out",
                      str(tmp_path / "made.su"), "--ibm")
        assert made.returncode == 0, made.stderr
        got = oracle.split(tmp_path / "made.su", oracle.ORDER)[1]
        check("converted", not numpy.allclose(got, values, 2e-6, 0) and "differs")
        check("accepted", run([*words, "in=made.su"], tmp_path).stderr)


@pytest.mark.seconds(5)
def test_shorter(check, tmp_path, binary):
    """An input that loses pages, or only its last byte, ends the job, which is resumed when
    the input is there again."""
    whole = Path(DATA).read_bytes()
    words = [binary, "in=in.su", "m0=4000,12,20", "h0=-500,30,2", "t0=0.4,0.004,60",
             "tau=0.008", "a=-2e-5,2.6e-4,8", "b=-3.2e-4,-8e-5,8", "c=4e-7,9e-7,4",
             "d=1e-7,5e-7,4", "e=0,3e-7,4"]
    (tmp_path / "in.su").write_bytes(whole)
    assert run([*words, "stack=whole.su"], tmp_path).returncode == 0
    for size in len(whole) // 10, len(whole) - 1:
        for _ in range(20):  # until the job has not ended earlier
            (tmp_path / "s.su").unlink(missing_ok=True)
            (tmp_path / "in.su").write_bytes(whole)
            job = Started([*words, "stack=s.su"], cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while not (tmp_path / "s.su").exists() and job.poll() is None:
                time.sleep(0.001)
            with (tmp_path / "in.su").open("r+b") as file:
                file.truncate(size)
            _, errors = job.communicate(timeout=TIMEOUT)
            if job.returncode:
                break
        check(f"{size}: refused", (job.returncode != 1 or errors != (
            "semblance: in.su: became shorter while it was read\n")) and (job.returncode, errors))
        check(f"{size}: files", len(list(tmp_path.iterdir())) != 3 and "temporary ones are left")
        (tmp_path / "in.su").write_bytes(whole)
        check(f"{size}: resumed", run([*words, "stack=s.su"], tmp_path).returncode)
        check(f"{size}: bytes", (tmp_path / "s.su").read_bytes()
              != (tmp_path / "whole.su").read_bytes() and "differ")


def test_reported(check, tmp_path, binary):
    """All-zero live traces and spikes are counted; a clean survey has neither."""
    survey(random.Random(4), tmp_path / "survey.su")
    heads, samples = oracle.split(tmp_path / "survey.su", "=")
    (tmp_path / "places.txt").write_text("sx gx\n1100 1250\n")
    (zero,) = numpy.flatnonzero(~samples.any(axis=1))
    loud, other = samples.copy(), samples.copy()
    loud[zero], other[zero] = samples[zero + 1], samples[zero + 1]
    write(tmp_path / "in.su", heads, other)
    job = [binary, "in=in.su", *OPTIONS]
    ended = run([*job, "stack=clean.su"], tmp_path)
    check("clean", ended.stderr.count("\n") != 1 and ended)  # the dead trace
    peak = numpy.median(abs(other).max(axis=1))
    loud[zero, 40], loud[zero, 0], loud[zero + 1, 50:52] = 12 * peak, -13 * peak, 50 * peak
    write(tmp_path / "in.su", heads, loud)
    ended = run([*job, "stack=loud.su"], tmp_path)
    check("spikes", f"in.su: 2 spikes, the first in trace {zero + 1} at 0 s" not in ended.stderr
          and ended)
    check("one more line", ended.stderr.count("\n") != 2 and ended)
    ended = run([binary, "in=survey.su", *OPTIONS, "stack=zero.su"], tmp_path)
    check("zero", "live traces are all zero" not in ended.stderr and ended)


def test_spikes(check, tmp_path, binary):
    """One sample is a spike, two neighbours are none: anywhere in a trace."""
    survey(random.Random(4), tmp_path / "survey.su")
    heads, samples = oracle.split(tmp_path / "survey.su", "=")
    (tmp_path / "places.txt").write_text("sx gx\n1100 1250\n")
    ns, trace = samples.shape[1], 33
    for first in 0, 1, 77, ns - 3, ns - 2, ns - 1:
        for count in (1, 2) if first < ns - 1 else (1,):
            loud = samples.copy()
            loud[trace, first:first + count] = 1e4
            write(tmp_path / "in.su", heads, loud)
            ended = run([binary, "in=in.su", *OPTIONS, "t0=0.3", "check=0",
                         f"stack={first}-{count}.su"], tmp_path)
            line = f"1 spikes, the first in trace {trace + 1} at {first * DT * 1e-6:g} s"
            check(f"{count} from {first} on", (ended.returncode or (line in ended.stderr) != (
                count == 1) or ("spike" in ended.stderr) != (count == 1)) and ended.stderr)


@pytest.mark.parametrize("passes", [1, 2])
def test_skip(check, tmp_path, binary, passes):
    """bad=skip gives the bytes of a survey in which these traces are dead, also when they are
    filled."""
    survey(random.Random(4), tmp_path / "survey.su")
    heads, samples = oracle.split(tmp_path / "survey.su", "=")
    (tmp_path / "places.txt").write_text("sx gx\n1100 1250\n1100 1275\n")
    dead, bad = list(heads), samples.copy()
    for trace, sample, value in (20, 0, numpy.nan), (27, 149, -numpy.inf):
        fields = {name: oracle.get(heads[trace], name, "=") for name in oracle.FIELDS}
        dead[trace] = oracle.put({**fields, "trid": 2}, "=")
        bad[trace, sample] = value
    write(tmp_path / "bad.su", heads, bad)
    write(tmp_path / "dead.su", dead, samples)
    words = [*OPTIONS, f"passes={passes}"]
    ended = run([binary, "in=bad.su", *words, "stack=s.su"], tmp_path)
    check("refused", ("bad.su: trace 21: sample 1 of 150 is not a finite number"
                      not in ended.stderr or "bad=skip" not in ended.stderr) and ended)
    for place in OPTIONS[0], "fill=dead":
        words[0] = place
        for name, how in ("bad", "skip"), ("dead", "refuse"):
            ended = run([binary, f"in={name}.su", *words, f"bad={how}",
                         f"stack={name}-{place[0]}.su"], tmp_path)
            check(f"{name} {place}", ended.returncode and ended.stderr)
            check(f"{name} {place}: said", ("2 of 64 traces have samples that are not finite"
                                            in ended.stderr) != (how == "skip") and ended)
        got, want = (traces(tmp_path / f"{name}-{place[0]}.su")[1] for name in ("bad", "dead"))
        check(place, not numpy.array_equal(got, want) and "differ")
    for _, _, mpi in binaries("semblance", ("mpi",))[-1:]:
        ended = ranks(mpi, ["in=bad.su", *words, "bad=skip", "stack=ranks.su"], tmp_path)
        check("ranks", ended.returncode and ended.err)
        check("ranks: bytes", (tmp_path / "ranks.su").read_bytes()
              != (tmp_path / "bad-f.su").read_bytes() and "differ")


def test_units(check, tmp_path, binary):
    """Coordinates that are angles are refused, except in dead traces; if they are too large
    for angles, counit is wrong."""
    survey(random.Random(4), tmp_path / "survey.su")
    heads, samples = oracle.split(tmp_path / "survey.su", "=")
    for scalco, trid, unit, right in (1, 1, 1, True), (1, 1, 3, True), (-10, 1, 3, False), \
            (-10, 2, 3, True), (1, 1, 2, False), (1, 1, 4, False), (1, 1, 7, True), \
            (10000, 1, 4, True):
        meter = 1 / -scalco if scalco < 0 else scalco
        (tmp_path / "places.txt").write_text(f"sx gx\n{1100 * meter} {1250 * meter}\n")
        changed = []
        for i, head in enumerate(heads):
            fields = {name: oracle.get(head, name, "=") for name in oracle.FIELDS}
            more = {"trid": trid, "counit": unit} if i == 9 else {}
            changed.append(oracle.put({**fields, "scalco": scalco, **more}, "="))
        write(tmp_path / "in.su", changed, samples)
        ended = run([binary, "in=in.su", *OPTIONS, f"stack={scalco}{trid}{unit}.su"], tmp_path)
        check(f"scalco {scalco}, trid {trid}, counit {unit}",
              ((ended.returncode == 0) != right
               or right == ("counit" in ended.stderr)) and ended)


def test_skip_in_either_order(check, tmp_path, binary):
    """bad=skip is kept if only the samples show the order of bytes: 257 samples of 3855 us are
    the same numbers in both orders."""
    ns, dt = 0x0101, 0x0f0f
    samples = numpy.random.default_rng(8).standard_normal((20, ns))
    samples[7, 100] = numpy.nan
    (tmp_path / "places.txt").write_text("sx gx\n40 540\n")
    found = []
    for name, order in ("little", "<"), ("big", ">"):
        (tmp_path / "in.su").write_bytes(b"".join(
            oracle.put({"trid": 1, "sx": 5 * i, "gx": 5 * i + 500, "scalco": 1, "ns": ns,
                        "dt": dt}, order) + row.astype(order + "f4").tobytes()
            for i, row in enumerate(samples)))
        for bad in "refuse", "skip":
            ended = run([binary, "in=in.su", *OPTIONS, "t0=0.4", "check=0", f"bad={bad}",
                         f"stack={name}.su"], tmp_path)
            check(f"{name}, {bad}", (ended.returncode != (bad == "refuse")
                                     or "not finite" not in ended.stderr
                                     and "not a finite" not in ended.stderr) and ended)
        if (tmp_path / f"{name}.su").exists():
            found.append(oracle.split(tmp_path / f"{name}.su", "=")[1])
    check("samples", (len(found) != 2 or (found[0] != found[1]).any()) and f"{found}")
