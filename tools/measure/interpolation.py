"""interpolation.py - make interpolation: quality and time of methods that fill missing traces.

The surveys, the scored traces and the rivals are those of make survey (survey.py). A row of the
table is a method: for each survey, the signal-to-noise ratio (SNR) of the filled traces in dB,
and the seconds for all of them. For the program, the whole process counts, with reading and
writing. The rivals are numpy code of one thread whose traces are in memory. Times on a busy
machine are wrong: the last line shows the load.
"""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import numpy as np

from tools.history import options
from tools.measure import survey, synthetic

Array = survey.Array
WINDOWS = "parallel", "moveout"


def nmo_mean(of: synthetic.Survey, samples: Array, reach: tuple[float, float],
             traces: Array) -> Array:
    """The mean of survey.nmo_mean() without its semblance, which takes most of the time."""
    result = []
    for i in traces:
        near = ~of.dead & (abs(of.m - of.m[i]) <= reach[0]) & (abs(of.h - of.h[i]) <= reach[1])
        result.append(survey.along(of, samples[near], of.h[near], of.h[i]).mean(axis=0))
    return np.array(result)


def measured(name: str, backend: str) -> Iterator[tuple[str, float, float]]:
    """(method, SNR in dB, seconds) for a survey."""
    below, ratio, seed = survey.SURVEYS[name]
    of = synthetic.survey(below())
    traces = survey.scored(of)
    samples = of.truth if ratio is None else of.truth + synthetic.noise(of, ratio, seed)
    truth = of.truth[traces, survey.FIRST:survey.LAST]
    means = []
    for reach in survey.APERTURES:
        start = time.monotonic()
        found = nmo_mean(of, samples, reach, traces)
        means.append((survey.snr(truth, found), time.monotonic() - start))
    yield "best NMO mean", *max(means)
    start = time.monotonic()
    found = survey.linear(of, samples, traces)
    seconds = time.monotonic() - start
    yield "linear interpolation after NMO", survey.snr(truth, found), seconds
    data = survey.folder() / f"{name}.su"
    synthetic.write(data, of, samples)
    for window in WINDOWS:
        for passes in survey.PASSES:
            words = [f"velocity={of.below.velocity}", f"window={window}"]
            found, seconds, _ = survey.fill(of, data, backend, passes, words, traces)
            yield f"`passes={passes} window={window}`", survey.snr(truth, found), seconds


def main(words: list[str] | None = None) -> int:
    parser = options.parser(__doc__, "BACKEND")
    backend = options.parse(parser, words).backend or "omp"
    names = [name for name in survey.SURVEYS if name not in survey.WINDOWS]
    columns = [list(measured(name, backend)) for name in names]
    print("| method | " + " | ".join(f"{name}: dB | s" for name in names) + " |")
    print("|---" * (1 + 2 * len(columns)) + "|")
    for row in zip(*columns, strict=True):
        print(f"| {row[0][0]} | " + " | ".join(f"{snr:.1f} | {s:.2f}" for _, snr, s in row) + " |")
    traces = survey.scored(synthetic.geometry(survey.SURVEYS[names[0]][0]()))
    print(f"{len(traces)} traces; load of the machine: {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
