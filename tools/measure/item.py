"""item.py - measures one back-end of one step on one set of parameters.

A measurement runs the binary until it has run for at least 0.2 s and takes the mean; each
run is verified. A measurement during which other processes used more than a tenth of the
CPU time is repeated, three times at most, then marked busy. One that had less than 90 % of
the CPU time per second that is typical of its item does not count. On a GPU one run is a
measurement: other processes do not disturb it, and to start it takes longer than most runs.
"""
from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import runs, tree
from tools.base.tree import Program, Step
from tools.measure import machine
from tools.measure.variants import Variant
from tools.verify import execute

TRIES = 3
MIN_SECONDS = 0.2  # the least run time per measurement
MIN_CPU = 0.9  # the least fraction of the item's typical CPU time per second
# init, run, search, kernel, process (means, seconds), cpu (percent), busy
Measurement = dict[str, Any]


class Item:
    """One back-end of one step on one set, and its measurements."""

    min_seconds, min_cpu = MIN_SECONDS, MIN_CPU

    def __init__(self, program: Program, name: str, step: Step | Variant, backend: str) -> None:
        self.program, self.set, self.step, self.backend = program, name, step, backend
        known = name in program.sets or name in program.jobs
        self.arguments: Sequence[str] = program.query(name) if known else []
        self.outputs = program.timed_outputs(name)
        self.extra: list[str] = []  # arguments and variables for the binary alone
        self.environment: dict[str, str] = {}
        self.printed = ""  # the output of the last run
        self.process = 0.0  # seconds that the whole process of the last run took
        self.share = 0.0  # the largest fraction of the error budget, in percent
        self.rms = ""  # error of the image, if the result is or gives one
        self.accepted: dict[str, float] = {}  # verified outputs: {digest: share}
        self.alias: Path | None = None  # another path of the same binary
        self.same_as: Item | None = None  # an item with the same code, measured for both
        self.estimate = 0.0  # seconds of run time, roughly
        self.warmup_cpu, self.wall = 0.0, 0.0  # percent; elapsed seconds of a measurement
        if runs.on_gpu(backend):
            self.min_seconds = self.min_cpu = 0.0
        self.reset()

    def reset(self) -> None:
        """Removes all measurements."""
        self.measurements: list[Measurement | None] = []  # by repetition; None: none
        self.marks: set[str] = set()
        self.per_round = 1  # runs per measurement

    def typical_cpu(self) -> float:
        """Percent of a CPU that its measurements had so far."""
        known = [m["cpu"] for m in self.measurements if m]
        return statistics.median(known or [self.warmup_cpu])

    @property
    def counted(self) -> list[Measurement | None]:
        """By repetition, None if there was no measurement or one with too little CPU time."""
        least = self.min_cpu * self.typical_cpu()
        return [m if m and m["cpu"] >= least else None for m in self.measurements]

    @property
    def times(self) -> list[Measurement]:
        """The measurements that count."""
        return [m for m in self.counted if m]

    def label(self) -> str:
        return f"{self.program.name} set {self.set} {self.step.name} {self.backend}"

    def run(self) -> None:
        """Adds a measurement."""
        start = time.monotonic()
        for _ in range(TRIES):
            found = self.measure()
            if found["cpu"] >= self.min_cpu * self.typical_cpu() and not found["busy"]:
                break
        if found["busy"]:
            self.marks.add("busy")
        self.measurements.append(found)
        self.wall = time.monotonic() - start

    def measure(self) -> Measurement:
        """Runs the binary for min_seconds."""
        single: list[dict[str, float]] = []
        used, busy, wall, wanted = 0.0, 0.0, 0.0, self.per_round
        while len(single) < wanted or sum(t["run"] for t in single) < self.min_seconds:
            busy_before, own_before = machine.busy(), machine.own()
            start = time.monotonic()
            files = self.once()
            wall += time.monotonic() - start
            used += machine.own() - own_before
            busy += machine.busy() - busy_before
            self.verify(files)
            values = runs.Result(0, self.printed, "").values()
            single.append({k: float(values[f"Time_{k}"]) for k in ("init", "run", "kernel")})
            single[-1]["search"] = float(values.get("Time_search", values["Time_run"]))
            single[-1]["process"] = self.process
            rate = self.program.mk.get("rate")
            if rate in values:
                single[-1]["rate"] = float(values[rate])
        self.per_round = len(single)
        mean = {k: statistics.mean(t[k] for t in single) for k in single[0]}
        return {**mean, "cpu": 100 * used / wall,
                "busy": busy - used > machine.FOREIGN * max(used, 1e-3)}

    def once(self) -> dict[str, Path]:
        """Runs the binary once. Returns its outputs, {key: path}."""
        folder = tree.build() / "bench"
        folder.mkdir(parents=True, exist_ok=True)
        files = {o.key: folder / o.file for o in self.outputs}
        for path in files.values():
            path.unlink(missing_ok=True)
        binary = self.alias or self.step.binary(self.program, self.backend)
        command, environment = runs.launch(binary, self.backend,
                                           runs.bound(self.backend, self.environment))
        outputs = [f"{k}={p}" for k, p in files.items()]
        result = runs.run([*command, *self.arguments, *self.extra, *outputs], 600, environment)
        if result.failure():
            raise SystemExit(f"{self.label()}: {result.failure()}")
        self.printed, self.process = result.out, result.seconds
        return files

    def verify(self, files: Mapping[str, Path]) -> None:
        """Runs the checker, unless it has accepted the same bytes before."""
        method = self.step.check_arguments(self.program)
        mark = runs.query_key([*self.arguments, *method], execute.digest(files))
        if mark not in self.accepted:
            checked = execute.check(self.program, self.arguments, files, f"set{self.set}", method)
            if not checked["ok"]:
                raise SystemExit(f"{self.label()}: not verified: {checked['reason']}")
            self.accepted[mark] = checked["share"]
            self.rms = checked.get("rms", "")
        self.share = max(self.share, self.accepted[mark])

    def column(self, key: str) -> list[float]:
        return [m[key] for m in self.times]

    def measured_item(self) -> Item:
        """The item whose measurements are this one's, too."""
        return self.same_as or self

    def seconds(self, key: str = "run") -> list[float | None]:
        """Run times by repetition, None if a measurement does not count."""
        return [m[key] if m else None for m in self.measured_item().counted]


def run_interleaved(items: Sequence[Item], title: str, repeat: int) -> None:
    """Measures all items once per repetition, in a new random order."""
    order, generator = list(items), random.Random(1)
    for n in range(repeat):
        runs.stage(f"{title}, repetition {n + 1} of {repeat}")
        generator.shuffle(order)
        for item in order:
            runs.progress(f"repetition {n + 1} of {repeat}: {item.label()}")
            item.run()
    runs.progress("")
