"""section.py - fills a gap in a line of traces with the last step, and compares with the truth.

program.mk names the job, `section`; the truth is what the generator left out, without noise
(IN.missing). The signal-to-noise ratio is 10 log10 of the truth's energy over the error's.
`make run` prints it, `make section` draws it (tools/publish/section.py).
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.base import runs, tree
from tools.base.tree import Program, Step

Traces = Any  # a record array: trid, scalco, sy, gy, dt, samples

ROWS, SHADES = 18, "  -=+*#%@"  # of a drawing in text


@dataclass
class Section:
    """A gap that was filled."""
    step: Step
    backend: str
    seconds: float
    before: Traces  # the input
    filled: Traces
    truth: Traces
    snr: float  # dB

    def complete(self) -> bool:
        return bool((self.filled["trid"] == 1).all())

    def text(self) -> str:
        n, ns = self.filled["samples"].shape
        return f"{n} missing traces of {ns} samples filled by {self.step.name} " \
               f"{self.backend} in {self.seconds:.1f} s:\nsignal-to-noise ratio " \
               f"{self.snr:.1f} dB"

    def panels(self) -> list[tuple[str, Any, Any]]:
        """[(title, midpoints, samples [trace][sample])] of the line at the half-offset that was
        filled: as recorded, filled, and the truth."""
        m, h = positions(self.before)
        at, half = positions(self.truth)
        here = np.abs(h - half[0]) < 1e-3
        m, recorded = m[here], self.before["samples"][here]
        sheets = []
        for title, more in (("recorded", np.zeros_like(self.truth["samples"])),
                            ("filled", self.filled["samples"]),
                            ("truth", self.truth["samples"])):
            every, samples = np.concatenate([m, at]), np.concatenate([recorded, more])
            order = np.argsort(every)
            sheets.append((title, every[order], samples[order]))
        return sheets

    def drawn(self) -> str:
        """The panels as text: a column per trace, and darker characters for larger amplitudes."""
        sheets = self.panels()
        parts = [[np.sqrt((p ** 2).mean(axis=1)) for p in np.array_split(samples, ROWS, axis=1)]
                 for _, _, samples in sheets]
        most = np.max(parts[-1])
        lines = [[title.ljust(len(m)) for title, m, _ in sheets]]
        for row in zip(*parts):
            lines.append(["".join(SHADES[min(int(v / most * len(SHADES)), len(SHADES) - 1)]
                                  for v in values) for values in row])
        return "\n".join("   ".join(line).rstrip() for line in lines).rstrip()


def traces(path: Path | str) -> Traces:
    """An SU file as records, in the byte order for which its length is a whole number of
    traces."""
    raw = Path(path).read_bytes()
    for order in "<>":
        ns = int(np.frombuffer(raw, order + "u2", 1, 114)[0])
        record = np.dtype({"names": ["trid", "scalco", "sy", "gy", "dt", "samples"],
                           "formats": [order + "i2", order + "i2", order + "i4",
                                       order + "i4", order + "u2", (order + "f4", ns)],
                           "offsets": [28, 70, 76, 84, 116, 240],
                           "itemsize": 240 + 4 * ns})
        if len(raw) % record.itemsize == 0:
            return np.frombuffer(raw, record)
    raise SystemExit(f"{path}: not an SU file: expected traces of one length")


def positions(found: Traces) -> tuple[Any, Any]:
    """(midpoint, half-offset) of each record, in metres."""
    scale = found["scalco"].astype(float)
    scale = np.where(scale < 0, -1 / np.minimum(scale, -1), np.maximum(scale, 1))
    sy, gy = found["sy"] * scale, found["gy"] * scale
    return (gy + sy) / 2, (gy - sy) / 2


def job(program: Program, others: Sequence[str] = ()) -> list[str]:
    """The arguments of the section, others in place of those with the same key."""
    return tree.with_arguments(program.jobs[program.mk["section"]], others)


def fill(program: Program, backend: str, others: Sequence[str] = ()) -> Section:
    """Fills the gap with the last step that has the back-end."""
    steps = [s for s in tree.steps() if backend in s.available(program)]
    if not steps:
        raise SystemExit(f"BACKEND={backend}: not built in any step: expected a back-end of "
                         f"{program.name}")
    arguments = job(program, others)
    path = runs.own_folder("section") / f"{backend}.su"
    path.unlink(missing_ok=True)
    start = time.monotonic()
    result = runs.run([steps[-1].binary(program, backend), *arguments, f"stack={path}"], 3600)
    seconds = time.monotonic() - start
    if result.failure():
        raise SystemExit(f"section: {steps[-1].name} {backend} {result.failure()}")
    return compare(steps[-1], backend, seconds, arguments, path)


def compare(step: Step, backend: str, seconds: float, arguments: Sequence[str], path: Path
            ) -> Section:
    """The gap that a run of the job with these arguments has filled, in path."""
    source = dict(a.split("=", 1) for a in arguments)["in"]
    filled, truth = traces(path), traces(source + ".missing")
    if not np.array_equal(positions(filled), positions(truth)):
        raise SystemExit(f"section: {path}: other positions than {source}.missing")
    error = filled["samples"].astype(float) - truth["samples"]
    energy = (truth["samples"].astype(float) ** 2).sum()
    return Section(step, backend, seconds, traces(source), filled, truth,
                   10 * np.log10(energy / (error ** 2).sum()))
