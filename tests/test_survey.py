"""test_survey.py: make survey, on a part of the scored traces."""
import dataclasses
import re

import numpy
import pytest

from tests.helpers import binaries
from tools.measure import synthetic
from tools.publish import survey

CHANNELS = range(10, 60, 16)


@pytest.fixture(scope="module")
def modelled():
    """The survey, of which only the shots around the first scored one are modelled."""
    layout = synthetic.marine()
    whole = layout.scored[0][0]
    shots = range(whole - 8, whole + 9)
    keep = numpy.isin(numpy.repeat(numpy.arange(synthetic.SHOTS), synthetic.CHANNELS), shots)
    of = synthetic.geometry(synthetic.line())
    of.layout = dataclasses.replace(layout, scored=((whole,), CHANNELS),
                                    shown=(range(whole - 2, whole + 5), 22))
    of.truth[keep] = numpy.concatenate([
        synthetic.shot_traces(of.below, of.source[row], of.receiver[row])
        for row in map(synthetic.rows, shots)])
    return of


@pytest.fixture
def part(monkeypatch, tmp_path, modelled):
    """One noisy survey, one shot of it, one pass; the folder of its files."""
    if not binaries("semblance", ("omp",)):
        pytest.skip("no semblance-omp is built")
    monkeypatch.setattr(survey, "folder", lambda: tmp_path)
    monkeypatch.setattr(synthetic, "survey", lambda below: modelled)
    # The ratio is that of all traces, of which most are zero here.
    modelled_part = (modelled.truth != 0).any(axis=1).mean()
    monkeypatch.setattr(survey, "SURVEYS", {
        "noisy": (synthetic.line, -3.0 + 10 * numpy.log10(modelled_part), 1)})
    monkeypatch.setattr(survey, "PASSES", (1,))
    return tmp_path


@pytest.mark.seconds(10)
def test_bars(check, monkeypatch, capsys, part):
    """The last lines, and the exit status, above and below a bar."""
    for bar, status in (3.0, 0), (40.0, 1):
        monkeypatch.setattr(survey, "BARS", {("noisy", 1): bar})
        check(f"bar {bar}: status", survey.main([]) != status and "other")
        line, moveout, coarse = capsys.readouterr().out.splitlines()[-3:]
        check(f"bar {bar}: last line", not line.startswith("noisy, 1 pass: filled ") and line)
        figure = (part / "survey-noisy.svg").read_text()
        check(f"bar {bar}: figure", any(f">{title}<" not in figure for title in (
            "input", "filled", "truth", "4 x (filled - truth)", "best NMO mean")) and "titles")
        for option, last in ("window=moveout", moveout), ("search=coarse", coarse):
            check(f"bar {bar}: {option}", not re.match(
                rf"noisy, 1 pass, {option}: filled \S+ dB \(\S+\) in \S+ s$", last) and last)
        check(f"bar {bar}: told", ("below the bar" in line) != bool(status) and line)


def test_rivals(check, modelled):
    """NMO flattens an event of the picked velocity; linear interpolation is exact for it."""
    velocity, time = 2050.0, 0.75
    event = modelled.truth.copy()
    t = numpy.sqrt(time ** 2 + (2 * modelled.h / velocity) ** 2)
    u = 70 * (numpy.arange(synthetic.SAMPLES) * synthetic.DT - t[:, None])
    event[:] = (1 - 2 * u ** 2) * numpy.exp(-u ** 2)
    traces = survey.scored_traces(modelled)[:3]
    truth = event[traces, survey.FIRST:survey.LAST]
    mean, coherence, count = survey.nmo_mean(modelled, event, (25, 60), traces)
    check("mean", survey.snr(truth, mean) < 15 and f"{survey.snr(truth, mean)}")
    error = abs(truth - survey.linear(modelled, event, traces)).max()
    check("linear", error > 1e-9 and f"{error}")
    peak = truth.argmax(axis=1)
    at_peak = coherence[numpy.arange(3), peak]
    check("semblance", (at_peak < 0.9).any() and f"{at_peak}, {count}")
