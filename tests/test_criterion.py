"""test_criterion.py: the period of the oracle, and the apertures of surveys whose shots or
receivers are far apart. test_section_oracle.py compares the ranges, window and aperture that
follow from velocity= in other surveys.
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


def test_period(check, tmp_path):
    """The period of the wavelet is found, although there is noise."""
    for period in 0.024, 0.04, 0.08:
        survey(random.Random(3), tmp_path / "in.su", period)
        job = oracle.Job(["in=in.su", "m0=0", "h0=0", "tau=0", *(f"{k}=0" for k in "abcde")],
                         tmp_path)
        found = oracle.period(job.traces, job.dt)
        check(f"{period}", abs(found - period) > 0.2 * period and f"{found}")


@pytest.mark.parametrize("shots, receivers", [
    (10, 10), (25, 150), (40, 300), (200, 20), (200, 300), (3000, 60)])
def test_aperture(check, tmp_path, shots, receivers):
    """The bounds on the default aperture are for the distances between receivers alone. The
    sources of a shot may differ by rounding errors, and traces may be in any order."""
    noise = numpy.random.default_rng(5)
    with open(tmp_path / "in.su", "wb") as out:
        for i in range(25):
            source, channel = i // 5 * shots, i % 5
            head = {"trid": 1, "scalco": -10, "sx": 10 * source + (0, 3, 1, 2, 0)[channel],
                    "gx": 10 * (source + 100 + channel * receivers), "ns": 60, "dt": DT}
            out.write(oracle.put(head, "=") + noise.standard_normal(60).astype("f4").tobytes())
    (tmp_path / "places.txt").write_text(f"sx gx\n{2 * shots} {2 * shots + 100}\n")
    ended = run([binaries("semblance", ("omp",))[-1][2], "in=in.su", "positions=places.txt",
                 "velocity=5000,6000", "dip=0", "period=0.1", "t0=0.1", "check=0", "stack=s.su"],
                tmp_path)
    check("status", ended.returncode and ended.stderr)
    found = re.findall(r"aperture=(\S+),(\S+) m", ended.stderr)
    wanted = max(0.6 * shots, min(0.6 * receivers, 60)), max(receivers, min(5 * receivers, 250))
    check("aperture", [*map(float, *found)] != [*wanted] and f"{found}, expected {wanted}")
