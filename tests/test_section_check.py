"""test_section_check.py: the outputs of a job are judged: correct ones pass, and a change of
any output is noticed, also at the samples at which not all tuples are computed again."""
import shutil
import subprocess

import numpy
import pytest

from tests.helpers import binaries, program_named
from tools.verify import section_check
from tools.verify import section_oracle as oracle

COUNT = 16
SAMPLES = 1, 2, 3, COUNT - 1  # none of which is a multiple of EVERY
FILES = {"stack": "s.su", "coherence": "c.su", "parameters": "p.npy"}


def words():
    data = program_named("semblance").data
    return [f"in={data}/small.su", "m0=4120", "h0=-480", f"t0=0.56,0.004,{COUNT}",
            "tau=0.008", "aperture=300,300", "a=-0.0003,0.0003,4", "b=-0.0004,0.0001,5",
            "c=4e-7,8e-7,3", "d=1e-7,5e-7,3", "e=0,2e-7,2"]


@pytest.fixture
def outputs(tmp_path):
    _, _, binary = binaries("semblance", ("seq",))[0]
    subprocess.run([binary, *words(), *(f"{k}={f}" for k, f in FILES.items())], cwd=tmp_path,
                   check=True, capture_output=True)
    return {key: tmp_path / name for key, name in FILES.items()}


def change(path, k, value):
    """Adds to sample k of the first trace; to all parameters of it in an .npy file."""
    if path.suffix == ".npy":
        array = numpy.load(path)
        array[0, k] *= 1 + value
        numpy.save(path, array)
        return
    raw = bytearray(path.read_bytes())
    sample = numpy.frombuffer(raw, "<f4", 1, oracle.HEADER + 4 * k)
    raw[oracle.HEADER + 4 * k:oracle.HEADER + 4 * k + 4] = (sample + value).tobytes()
    path.write_bytes(raw)


def verdict(files):
    return section_check.check(words(), files)


def test_right(check, outputs):
    found = verdict(outputs)
    check("accepted", not found["ok"] and found["reason"])
    check("something is compared", not 0 < found["share"] < 50 and found["share"])


@pytest.mark.parametrize("key", FILES)
def test_changed(check, outputs, key):
    kept = outputs[key].with_suffix(".kept")
    shutil.copy(outputs[key], kept)
    for k in SAMPLES:
        for value in (0.03, float("nan")):
            change(outputs[key], k, value)
            check(f"{key} of sample {k} {value:+}", verdict(outputs)["ok"] and "accepted")
            shutil.copy(kept, outputs[key])
    check("restored", not verdict(outputs)["ok"] and "refused")


def test_not_the_largest(check, outputs):
    """The values of another tuple are noticed where all tuples are known."""
    judge, k = section_check.judge_of(*words()), 0
    verdict(outputs)
    sample = judge.whole[0, k]
    other = int(numpy.argsort(sample.semblance)[len(sample.semblance) // 2])
    change(outputs["stack"], k, judge.amplitude(sample, other, sample.semblance[other])
           - read(outputs["stack"], k))
    change(outputs["coherence"], k, float(sample.semblance[other])
           - read(outputs["coherence"], k))
    array = numpy.load(outputs["parameters"])
    array[0, k] = sample.tuples[other]
    numpy.save(outputs["parameters"], array)
    found = verdict(outputs)
    check("noticed", found["ok"] or "the largest is" not in found["reason"])


def read(path, k):
    return float(numpy.frombuffer(path.read_bytes(), "<f4", 1, oracle.HEADER + 4 * k)[0])


def test_shapes(check, outputs):
    """One trace or sample of parameters more or less."""
    array = numpy.load(outputs["parameters"])
    for name, other in (("a trace", numpy.concatenate((array, array))), ("none", array[:0]),
                        ("a sample less", array[:, :-1]),
                        ("a sample more", numpy.concatenate((array, array[:, :1]), axis=1))):
        numpy.save(outputs["parameters"], other)
        check(name, verdict(outputs)["ok"] and "accepted")


def test_other_contents(check, outputs, tmp_path):
    """What was computed for a file is not used for another one of the same name."""
    path = tmp_path / "in.su"
    job = [f"in={path}", *words()[1:]]
    shutil.copy(words()[0].removeprefix("in="), path)
    check("its own outputs", not section_check.check(job, outputs)["ok"] and "refused")
    raw = bytearray(path.read_bytes())
    length = oracle.HEADER + 4 * oracle.get(bytes(raw[:oracle.HEADER]), "ns", "<")
    for at in range(0, len(raw), length):
        samples = numpy.frombuffer(raw, "<f4", (length - oracle.HEADER) // 4, at + oracle.HEADER)
        raw[at + oracle.HEADER:at + length] = (samples[::-1] * 2).tobytes()
    path.write_bytes(raw)
    check("those of another file", section_check.check(job, outputs)["ok"] and "accepted")


def test_header(check, outputs):
    raw = bytearray(outputs["stack"].read_bytes())
    raw[20] ^= 1  # of cdp
    outputs["stack"].write_bytes(raw)
    check("noticed", verdict(outputs)["ok"] and "accepted")


@pytest.mark.parametrize("key", ["stack", "coherence"])
def test_mark(check, outputs, key):
    """The two files have the mark of one job, whose digest is the second part of the mark."""
    right = outputs[key].read_bytes()
    for at in 228, 232, 239:
        raw = bytearray(right)
        raw[at] ^= 1
        outputs[key].write_bytes(raw)
        check(f"byte {at + 1}", verdict(outputs)["ok"] and "accepted")
