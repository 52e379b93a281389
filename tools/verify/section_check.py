"""section_check.py - decides whether the whole output traces of a job are right.

Headers and samples are compared with section_oracle.py. The semblance and the stack of the
tuple that was found are computed for each sample, the semblances of all tuples only for every
13th: that takes seconds. What has been computed is kept while the process runs, because the
steps and back-ends find the same tuple at most samples.
Left out: ranges that change with time, and lines along x or in big-endian files, which
tests/test_section_oracle.py has.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy

from tools.verify import section_oracle as oracle

EVERY = 13  # samples
ORDER = "<"


def series(text: str) -> list[float]:
    """The values of FIRST,STEP,COUNT, or of one number."""
    first, step, count = (*text.split(","), "0", "1")[:3]
    return [float(first) + float(step) * i for i in range(int(count))]


class Judge:
    """The oracle of one job."""

    def __init__(self, arguments: Sequence[str]) -> None:
        options = dict(a.split("=", 1) for a in arguments)
        path = Path(options["in"])
        with path.open("rb") as file:
            head = file.read(oracle.HEADER)
        ns, dt = (oracle.get(head, name, ORDER) for name in ("ns", "dt"))
        times = options.get("t0", f"0,{dt * 1e-6:.9g},{ns}")
        row = [0.0, *(float(v) for k in "abcde" for v in options[k].split(","))]
        m, h = (float(v) for v in options["aperture"].split(","))
        if "positions" in options:
            places = [(m0, h0) for m0, h0 in numpy.loadtxt(options["positions"], ndmin=2)]
        else:
            places = [(m0, h0) for m0 in series(options["m0"]) for h0 in series(options["h0"])]
        self.job = oracle.Job(places, series(times), float(options["tau"]), [row], (m, h), "y",
                              ORDER, window=options.get("window", "parallel"))
        self.gather = oracle.gather(path, self.job)
        self.size = abs(self.gather.samples).max()
        self.headers = oracle.headers(self.gather, self.job)
        self.tuples = oracle.grid(oracle.ranges_at(self.job, 0, 0))
        self.scale = oracle.scale_of(self.tuples)
        self.known: dict[tuple[int, int, int], oracle.Sample] = {}

    def sample(self, trace: int, k: int, parameters: oracle.Doubles) -> oracle.Sample:
        """What sample k of a trace may be: with all tuples, or with the nearest one."""
        found = -1
        if (k + trace) % EVERY:
            found = int(oracle.distances(self.tuples, parameters, self.scale).argmin())
        if (trace, k, found) not in self.known:
            chosen = None if found < 0 else self.tuples[found:found + 1]
            self.known[trace, k, found] = oracle.search(
                self.gather, self.job, *self.job.places[trace], self.job.t0[k], chosen)
        return self.known[trace, k, found]

    def problem(self, files: Mapping[str, Path]) -> tuple[float, str]:
        """(fraction of the error budget that was used, what is wrong if it is above 1)."""
        heads, stack = oracle.split(files["stack"], "=")
        other, coherence = oracle.split(files["coherence"], "=")
        parameters = numpy.load(files["parameters"]).astype("f8")
        if heads != other or [h[:oracle.JOB.start] for h in heads] != \
                [h[:oracle.JOB.start] for h in self.headers]:
            return numpy.inf, "the headers are not those of the output traces"
        worst = 0.0, "none"
        for i, k in numpy.ndindex(stack.shape):
            used, why = oracle.judge(self.job, self.sample(i, k, parameters[i, k]),
                                     coherence[i, k], stack[i, k], parameters[i, k], self.size,
                                     self.scale)
            why = f"trace {i + 1}, sample {k + 1}: {why}"
            if not used <= 1:
                return used, why
            worst = max(worst, (used, why))
        return worst


@cache
def judge_of(*arguments: str) -> Judge:
    return Judge(arguments)


def check(arguments: Sequence[str], files: Mapping[str, Path]) -> dict[str, Any]:
    """Like runs.check(): ok, share in percent, reason."""
    used, why = judge_of(*arguments).problem(files)
    return {"ok": used <= 1, "share": 100 * used, "reason": why}
