"""test_measure.py: whether the verdicts of make bench can be trusted.

Times are invented and compared; sources are changed in ways that do and that do not matter,
and compared; items with invented measurements go through the repetitions; make bench
measures the shortest program.
"""
from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import random
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import ROOT, module
from tools.base import copies, results, runs, tree, verdict
from tools.history import rungs
from tools.base.tree import Program, Step
from tools.measure import bars, bench, ceilings, instructions, peers, registers, same, shares
from tools.measure.item import Item, Measurement
from tools.publish import front, lessons, paper

PROGRAMS = {p.name: p for p in tree.programs()}


# ---- verdicts on invented times --------------------------------------------------------


def invented(seconds: float, noise: float, seed: int) -> list[float]:
    """Times by repetition, on a machine with some noise."""
    generator = random.Random(seed)
    return [seconds * generator.lognormvariate(0, noise) for _ in range(15)]


def test_verdicts(check: Any) -> None:
    old = invented(1.0, 0.01, 1)
    for name, seconds, word in (("gain", 0.8, "gain"), ("loss", 1.25, "loss"),
                                ("the same", 1.0, "none")):
        found = verdict.compare(invented(seconds, 0.01, 2), old, 1.02)
        check.equal(f"verdict, {name}", found.word, word)
        check(f"verdict, {name}, ratio", not abs(found.ratio * seconds - 1) < 0.02
              and f"{found.ratio}")
        check(f"verdict, {name}, interval", not found.low <= found.ratio <= found.high
              and f"{found}")

    # A gain of 3 % that is beyond chance is none where the same binary differs by more.
    better = invented(1 / 1.03, 0.005, 3)
    calm = verdict.compare(invented(1.0, 0.005, 4), invented(1.0, 0.005, 5))
    noisy = verdict.compare(invented(1.0, 0.1, 6), invented(1.0, 0.1, 7))
    check.equal("3 %, calm A/A", verdict.compare(
        better, invented(1.0, 0.005, 1), verdict.spread_of([calm])).word, "gain")
    check.equal("3 %, noisy A/A", verdict.compare(
        better, invented(1.0, 0.005, 1), verdict.spread_of([calm, noisy])).word, "none")
    check.equal("spread of nothing", verdict.spread_of([]), 1.0)
    check.equal("spread", verdict.spread_of([verdict.Verdict(1, 0.8, 1.1, "none")]), 1.25)

    # A drift that is the same for both cancels.
    drift = [1 + 0.1 * n for n in range(15)]
    check.equal("drift", verdict.compare([0.95 * d for d in drift], drift).word, "gain")
    # A round that one of the two lacks is left out, and the others keep their partners.
    lacking = [None if n == 3 else 0.95 * d for n, d in enumerate(drift)]
    check.equal("a round that is missing", f"{verdict.compare(lacking, drift).ratio:.6f}",
        f"{1 / 0.95:.6f}")
    try:
        verdict.compare([None, 1.0], [1.0, None])
        check("no common round", "accepted")
    except ValueError:
        check("no common round", None)
    check.equal("the same values", verdict.interval(old), verdict.interval(list(old)))

    # For equal times, about one of 20 intervals may exclude 1.
    wrong = sum(verdict.compare(invented(1, 0.05, n), invented(1, 0.05, 1000 + n)).word != "none"
                for n in range(40))
    check("intervals of the same", wrong > 7 and f"{wrong} of 40 leave 1 out")


def test_texts_of_ratios(check: Any) -> None:
    row = {"k": "2.291", "k_low": "2.1", "k_high": "2.4", "k_is": "gain"}
    same_code = {"k": "", "k_low": "", "k_high": "", "k_is": "same code"}
    check.equal("short", verdict.short(row, "k"), "2.29")
    check.equal("short, none", verdict.short({**row, "k_is": "none"}, "k"), "~ 2.29")
    check.equal("short, same code", verdict.short(same_code, "k"), "same code")
    check.equal("long, same code", verdict.long(same_code, "k"), "same code")
    check.equal("long", verdict.long(row, "k"), "2.29 (2.10 to 2.40)")
    check.equal("no row", (verdict.short(None, "k"), verdict.short({"k": "", "k_is": ""}, "k")),
        ("", ""))


# ---- the same code ---------------------------------------------------------------------


def test_same_code(check: Any, tmp_path: Path) -> None:
    steps = {s.number: s for s in tree.steps()}
    for program, backend, first, later, equal in (
            ("fletcher", "omp", "01", "03", True), ("sandpile", "omp", "05", "07", True),
            ("sandpile", "omp", "04", "05", False), ("sandpile", "seq", "00", "01", False),
            ("sandpile", "ocl", "05", "06", False), ("fluid", "ocl", "05", "05", True)):
        codes = [same.code(steps[n], PROGRAMS[program], backend) for n in (first, later)]
        check.equal(f"{program} {backend} {first} and {later}", codes[0] == codes[1], equal)

    source, header = tmp_path / "kernel.cl", tmp_path / "body.h"
    source.write_text('#include "body.h"\n#include "common.h"\nint f(int i)\n{\n'
                      '    return i & 3;\n}\n')
    header.write_text("#define N 8\n")
    before = same.source_text(source, set())
    for what, path, old, new, equal in (
            ("a comment", source, "int", "// a\n\n/* b */ int", True),
            ("white space", source, "    ", "\t\t", True), ("a constant", source, "3", "7", False),
            ("a header", header, "8", "9", False)):
        text = path.read_text()
        path.write_text(text.replace(old, new, 1))
        check.equal(what, same.source_text(source, set()) == before, equal)
        path.write_text(text)


# ---- turns and rounds ------------------------------------------------------------------


class Invented(Item):
    """An item whose runs take a given time."""

    def __init__(self, step: Step, backend: str, seconds: float = 0.06,
                 cpu: Sequence[float] = ()) -> None:
        super().__init__(PROGRAMS["sandpile"], "1", step, backend)
        self.takes, self.runs, self.cpu = seconds, 0, list(cpu)
        self.verified = 0

    def once(self) -> dict[str, Path]:
        self.runs += 1
        self.printed = f"Time_init=0.001\nTime_run={self.takes}\nTime_kernel={self.takes}\n"
        return {}

    def verify(self, files: Mapping[str, Path]) -> None:
        self.verified += 1

    def measure(self) -> Measurement:
        found = super().measure()
        return {**found, "busy": False, "cpu": self.cpu.pop(0) if self.cpu else 100.0}


def test_measurements(check: Any) -> None:
    step = tree.steps()[1]
    item = Invented(step, "omp")
    item.run()
    check.equal("runs of 0.06 s in a turn", (item.runs, item.per_round, item.verified), (4, 4, 4))
    check("the mean of a turn", abs(item.column("run")[0] - 0.06) > 1e-9
          and item.column("run"))
    item = Invented(step, "omp", 0.5)
    item.run()
    check.equal("a run of 0.5 s in a turn", item.runs, 1)

    item = Invented(step, "omp", 0.5, [100, 100, 100, 80, 80, 80, 100, 50, 95])
    for _ in range(6):
        item.run()
    check.equal("a turn under 90 % of its CPU time", [t is not None for t in item.counted],
        [True, True, True, False, True, True])
    check.equal("is repeated", item.runs, 9)


def session_of(items: list[Item]) -> bench.Session:
    """A session of invented items."""
    found = bench.Session.__new__(bench.Session)
    found.program, found.set, found.items = PROGRAMS["sandpile"], "1", items
    last = items[-1]
    assert isinstance(last, Invented) and isinstance(last.step, Step)
    found.pairs = [(last, Invented(last.step, last.backend, last.takes))]
    return found


def quietly(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    with contextlib.redirect_stderr(io.StringIO()) as messages, \
            contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments), messages.getvalue()


def test_repetitions(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tree.steps()
    about = {"machine": "Invented", "compiler": "gcc", "commit": "0", "flags": "-O1"}
    items: list[Any] = [Invented(steps[0], "seq", 1.0), Invented(steps[1], "omp", 0.5),
             Invented(steps[2], "omp", 0.5),
             Invented(steps[3], "omp", 0.25, [100] * 5 + [60] * 9)]
    items[2].same_as = items[1]
    session = session_of(items)
    _, messages = quietly(session.measure, 15, 0)
    check("progress without a terminal", len(re.findall(
        r"^sandpile, set 1, repetition \d+ of 15, about .* left$", messages, re.M)) < 15
        and messages)
    check.equal("same code is run once", items[2].runs, 0)
    # Three tries per measurement: three of 15 repetitions do not count. The item and its
    # partners get three more.
    check.equal("rounds that count", len(items[3].times), 15)
    common = [1 for a, b in zip(items[3].seconds(), items[1].seconds()) if a and b]
    check.equal("with the step before", len(common), 15)
    check.equal("all have as many", {len(i.measurements) for i in items if not i.same_as}, {18})

    monkeypatch.setattr(bench.runs, "device", lambda backend: backend)
    monkeypatch.setattr(bench.runs, "flags", lambda program: ["gcc", "-O1"])
    (rows, aa), _ = quietly(session.report, about, 15, False)
    of = {r["step"][:2]: r for r in rows}
    check.equal("columns", {tuple(r) for r in rows} and set(rows[0]), set(bench.COLUMNS))
    check.equal("over 00", (of["01"]["over_first"], of["01"]["over_first_is"]), ("2.000", "gain"))
    check.equal("same code over the step before",
        (of["02"]["over_previous"], of["02"]["over_previous_is"]), ("", "same code"))
    check.equal("same code over 00", (of["02"]["over_first"], of["02"]["times_of"]),
        ("2.000", items[1].step.name))
    check.equal("over the same code", (of["03"]["over_previous"], of["03"]["over_previous_is"]),
        ("2.000", "gain"))
    check.equal("A/A", [(r["ratio"], r["step"]) for r in aa], [("1.000", items[3].step.name)])

    session = session_of([Invented(steps[0], "seq", 1.0), Invented(steps[1], "omp", 0.5),
                          Invented(steps[2], "omp", 0.6)])
    quietly(session.measure, 15, 0)
    (rows, _), _ = quietly(session.report, about, 15, False)
    check.equal("marks a loss", [r["mark"] for r in rows], ["", "", "slower"])

    session = session_of([Invented(steps[0], "seq", 1.0), Invented(steps[1], "omp", 0.5)])
    pair: Any = session.pairs[0]
    pair[0].cpu, pair[1].cpu = [100] + [60] * 99, [60] + [100] * 99
    quietly(session.measure, 2, 0)
    (rows, aa), _ = quietly(session.report, about, 2, True)
    check.equal("a pair with no repetition in common", (
        [r["over_first_is"] for r in rows], [r["aa_spread"] for r in rows], aa),
        (["", "none"], ["inf", "inf"], []))

    lame = Invented(steps[1], "omp", 0.5, [100] * 4 + [60, 60, 60, 100] * 99)
    session = session_of([Invented(steps[0], "seq", 1.0), lame])
    quietly(session.measure, 15, 0)
    check("an end to further repetitions",
          not 15 < len(lame.measurements) <= 20 and lame.measurements)
    lame = Invented(steps[1], "omp", 0.5, [100] + [60] * 99)
    session = session_of([Invented(steps[0], "seq", 1.0), lame])
    quietly(session.measure, 15, 0)
    check.equal("what is so most of the time is usual", len(lame.times), 15)


def test_pairs(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, items = tree.steps(), []
    for n, backend, seconds in ((0, "seq", 3), (1, "omp", 2), (2, "omp", 1), (2, "ocl", 4),
                                (3, "omp", 1.5), (3, "ocl", 2)):
        items.append(Invented(steps[n], backend, seconds))
        items[-1].estimate = seconds
    monkeypatch.setattr(tree, "build", lambda: tmp_path)
    for item in items:
        binary = item.step.binary(item.program, item.backend)
        binary.parent.mkdir(exist_ok=True)
        binary.write_text(item.label())
    found = bench.pairs_of(items)
    check.equal("A/A pairs", [(i.step.number, i.backend) for i, _ in found],
                [("01", "omp"), ("02", "omp"), ("03", "ocl")])
    check("another file of the same content", any(
        a.alias == i.step.binary(i.program, i.backend)
        or not a.alias or a.alias.read_text() != i.label() for i, a in found) and "is not")
    check.equal("two at least", len(bench.pairs_of(items[:2])), 2)


# ---- what host and device share --------------------------------------------------------


def swept(had: bool = True) -> dict[str, shares.SharedItem]:
    """{fraction: its item} of a sweep in which each side is as fast as alone, and auto is
    slower by a twentieth."""
    host, device = 1.0, 3.0
    step = tree.steps()[-1]
    found: dict[str, shares.SharedItem] = {}
    for share in ("0", "20", "30", "100", "auto", shares.SECOND, "host", "device"):
        p = float(share) if share.isdigit() else {"host": 0, "device": 100}.get(share, 25)
        item = shares.SharedItem(PROGRAMS["sandpile"], "1", step, "hybrid", share)
        took = max((1 - p / 100) * host, p / 100 * device) * (1 + share.startswith("auto") / 19)
        chance = random.Random(1)  # the same drift for all
        item.measurements = [{"run": took * chance.uniform(1, 1.5), "init": 0, "kernel": 0,
                        "cpu": 100, **({"had": p + 0.2} if had else {})} for _ in range(15)]
        found[share] = item
    found["30"].measurements[3] = None
    return found


def test_shares(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check.equal("both sides at once", shares.together([1.0, None, 2.0], [3.0, 1.0, 2.0]),
        [0.75, None, 1.0])
    check.equal("p*", shares.even([1.0, 5.0, 1.0], [3.0, None, 3.0]), 25)
    check.equal("the best of a sweep",
                shares.best_of({"0": [2.0, 9.0, 2.0], "50": [1.0, None, 1.1]}),
        "50")
    monkeypatch.setattr(shares.runs, "device", lambda backend: "host and a device")
    rows = shares.rows_of(swept(), {"machine": "Invented", "commit": "0"}, "more=1")
    without = shares.rows_of(swept(had=False), {"machine": "Invented"}, "")
    of = {r["share"]: r for r in rows}
    check.equal("a row a share", list(of), ["0", "20", "30", "100", "auto", "host", "device"])
    check.equal("columns of shares", {tuple(r) for r in rows}, {tuple(shares.COLUMNS)})
    for share, key, value in (("20", "over_sum", "0.938"), ("30", "over_sum", "0.833"),
                              ("auto", "over_sum", "0.950"), ("0", "over_sum", "0.750"),
                              ("auto", "over_best", "1.013"), ("20", "over_best", "1.000"),
                              ("100", "over_best", "0.267"), ("0", "over_alone", "1.000"),
                              ("20", "over_alone", ""), ("auto", "over_alone", "0.950"),
                              ("host", "over_sum", ""),
                              ("auto", "even", "25.0"), ("auto", "share_had", "25.2"),
                              ("30", "mark", "few"), ("30", "runs", 14)):
        check.equal(f"share={share}: {key}", of[share][key], value)
    check.equal("no share is said", {r["share_had"] for r in without}, {""})
    check("a table of shares", not re.search(
        r"^auto +25\.2.*^p\* = 25\.0 %, best of the sweep 20 %, auto took 25\.2 %: 0\.950 of",
        shares.report(rows), re.M | re.S) and shares.report(rows))
    path = tmp_path / "M-shares.csv"
    shares.save(rows, path)
    shares.save([{**r, "program": "fluid"} for r in rows], path)
    shares.save(rows[:2], path)
    check.equal("rows of shares saved", [r["program"] for r in results.read(path)],
                ["fluid"] * 7 + ["sandpile"] * 2)
    check.equal("the query, without a line of its own", [q[0] in PROGRAMS["fluid"].sets
        for q in shares.queries(PROGRAMS["fluid"])], [True])
    check.equal("two queries in a line", [q[2] for q in shares.queries(PROGRAMS["sandpile"])],
        ["max_iterations=40000", "dim=2048 max_iterations=10000"])


# ---- files -----------------------------------------------------------------------------


def in_results(folder: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns while results/ is another folder."""
    real, results.FOLDER = results.FOLDER, folder
    try:
        return function(*arguments)
    finally:
        results.FOLDER = real


def invented_row(program: Program, step: Step, backend: str, **more: str) -> dict[str, Any]:
    return {**dict.fromkeys(bench.COLUMNS, ""), "machine": "Invented", "program": program.name,
            "set": program.shown, "step": step.name, "backend": backend, "runs": "15",
            "device": "2 threads", "threads": "2", "run_median": "1.0", "share": "1.0",
            "kernel_median": "1.0", **more}


def test_machines(check: Any, tmp_path: Path) -> None:
    """A machine that has no OpenCL, no GPU and no OpenACC: what lessons make of it."""
    program, steps = PROGRAMS["semblance"], tree.steps()
    gain = {f"{key}{end}": value for key in ("over_previous", "over_first") for end, value
            in (("", "2.000"), ("_low", "1.9"), ("_high", "2.1"), ("_is", "gain"))}
    rows = [invented_row(program, steps[0], "seq")] + [
        invented_row(program, s, "omp", **gain) for s in steps[1:]]
    aa = [{**dict.fromkeys(bench.AA_COLUMNS, ""), "program": program.name,
           "set": program.shown, "step": steps[1].name, "backend": "omp"}]
    folder = tmp_path
    bench.save(rows, aa, folder / "Invented.csv")
    # The same rows again take their own place, and an older form's columns go.
    (folder / "Other.csv").write_text(
        "program,set,step,backend,gone\nsemblance,old,00_sequential,seq,x\n")
    bench.save(rows, aa, folder / "Other.csv")
    bench.save(rows, aa, folder / "Other.csv")
    check.equal("rows after saving twice", len(results.read(folder / "Other.csv")), len(rows) + 1)
    check.equal("pairs after saving twice", len(results.read(folder / "Other-aa.csv")), 1)
    found = in_results(folder, results.measured)
    check.equal("machines", list(found), ["Invented", "Other"])
    for name, make in (("table of a lesson", lambda: lessons.measured_here(
            steps[2], program)),
            ("all machines", lambda: lessons.of_program(program)),
            ("table of a step", lambda: lessons.programs_of_step(steps[2]))):
        text = in_results(folder, make)
        check(f"{name} without a back-end", "2.0" not in text and text)
    for device, threads in (("host, 1 thread", 1), ("1 core", 1), ("2 threads", 2)):
        results.write(folder / "M-ceilings.csv", ceilings.COLUMNS, [dict(zip(
            ceilings.COLUMNS, ("M", "CPU", t, "fma", 100.0 * t, "GFLOP/s")))
            for t in (1, 2)])
        found = in_results(folder, ceilings.ceilings_of, "M", device, threads)
        ceilings.ceilings.cache_clear()
        check.equal(f"ceilings of {device}", found, {"fma": 100.0 * threads})


def test_processors(check: Any) -> None:
    """A process that may use one processor of the machine counts one: nothing in tools/ and tests/
    counts those of the machine."""
    code = ("from tools.base import runs; from tools.measure import ceilings, machine\n"
            "print(runs.threads('omp'), runs.launch('', 'mpi', {'RANKS': '1'})[1]"
            "['OMP_NUM_THREADS'], ceilings.thread_counts(), machine.name())")
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        env={k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"},
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    check("one processor", not re.match(r"1 1 \[1\] ", ended.stdout) and ended)
    check("name", not (tree.has_gpu() or re.search(r"-1-cores(-AVX2|-SSE2)?\n$", ended.stdout))
          and ended.stdout)
    for folder in "tools", "tests":
        for path in Path(ROOT, folder).rglob("*.py"):
            check(str(path), "cpu_" + "count" in path.read_text() and "counts all processors")


def test_peak(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of integers is compared with the peak of integers, or not at all."""
    step = next(s for s in tree.steps() if s.number == "08")
    monkeypatch.setattr(ceilings, "work", lambda *_: {"cells": 8e9})
    peaks = {"fma": 1.0, "integer": 40.0}
    monkeypatch.setattr(ceilings, "ceilings_of", lambda *_: peaks)
    found = ceilings.roofline(PROGRAMS["sandpile"], step, "2", 0.1, 1, "1 core", "M") or {}
    check.equal("peak", (found.get("ceiling_name"), found.get("share")), ("integer", 0.5))
    del peaks["integer"]
    check.equal("no peak", ceilings.roofline(
        PROGRAMS["sandpile"], step, "2", 0.1, 1, "1 core", "M"), None)


def run_bench(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return module("tools.measure.bench", **{
        "RESULTS_DIR": str(folder), "PROGRAM": "sandpile", "STEP": "00", **variables})


def test_quick(check: Any, tmp_path: Path) -> None:
    folder = tmp_path
    done = run_bench(folder, QUICK="1", REPEAT="1")
    check("QUICK", done.returncode and done.stderr)
    check.equal("QUICK leaves results/ alone", list(folder.iterdir()), [])
    path = folder / "there.csv"
    done = run_bench(folder, QUICK="1", REPEAT="2", RESULTS=str(path))
    check("QUICK with RESULTS", done.returncode and done.stderr)
    if path.exists():
        with path.open(newline="") as f:
            rows = list(csv.DictReader(f))
        check("QUICK marks its rows", not all("quick" in r["mark"] for r in rows)
              and f"{rows}")
    check("QUICK with RESULTS writes", not (folder / "there-aa.csv").exists()
          and "no A/A pairs")
    for variables, message in (({"REPEAT": "3"}, "at least 15, or QUICK=1"),
                            ({"SET": "none"}, "no such set")):
        done = run_bench(folder, **variables)
        check(f"{variables}", (done.returncode == 0 or message not in done.stderr
                               or "Traceback" in done.stderr) and done.stderr)


def test_bars(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in PROGRAMS.values():
        known = {(s.number, b) for s in tree.steps() for b in s.backends(program)}
        check(f"{program.name} promises nothing", not bars.bars_of(program))
        for name, found in bars.bars_of(program).items():
            check(f"bars of {name}: no such set", name not in {**program.sets, **program.jobs})
            named = {(side.step, b) for bar in found for side in (bar.faster, bar.slower)
                     for b in side.backends}
            check.equal(f"bars of {name}: unknown back-ends", named - known, set())
    bar = bars.Bar.parse("10 omp tau=1 OMP_NUM_THREADS=1 / 05 omp,ocl >= 2.5")
    check.equal("a bar", bar, bars.Bar(
        bars.Side("10", ("omp",), ("tau=1", "OMP_NUM_THREADS=1")),
        bars.Side("05", ("omp", "ocl"), ()), 2.5))
    with pytest.raises(SystemExit):
        bars.Bar.parse("10 omp / 05 omp > 2")
    calls: list[Any] = []

    def built_with(*words: Any) -> Path:
        calls.append(words)
        return tmp_path

    monkeypatch.setattr(copies, "built_with", built_with)
    item, = bars.Side.parse("10 omp accuracy=0 ARCH=-march=haswell").items(
        PROGRAMS["gridding"], "askap")
    check("built for other vectors", (item.alias, item.environment, calls[0][3]) != (
        tmp_path, {}, ["ARCH=-march=haswell"]) and f"{item.alias} {calls}")
    path = tmp_path / "there.csv"
    done = module("tools.measure.bars", PROGRAM="semblance", STEP="05 08", BACKEND="omp",
                  SET="survey", QUICK="1", REPEAT="1", RESULTS=str(path))
    check("make bars", done.returncode and done.stderr)
    rows = results.read(tmp_path / "there-bars.csv")
    check.equal("measured", [(r["faster"], r["slower"]) for r in rows],
                [("08 omp", "05 omp,ocl")])
    check("says whether it is reached", not all(
        (r["reached"] == "yes") == (float(r["ratio"]) >= float(r["bar"])) for r in rows))
    done = module("tools.measure.bars", PROGRAM="semblance", STEP="08", QUICK="1", REPEAT="1")
    check("one side alone", "no bars" not in done.stdout and done.stdout)


# ---- instructions ------------------------------------------------------------------------


def test_classes(check: Any) -> None:
    for text, kind, loads, stores in (
            ("vmulps %ymm1,%ymm2,%ymm3", "mul", False, False),
            ("vfmadd231ps 0x8(%rax,%rcx,4),%ymm1,%ymm0", "fma", True, False),
            ("vmovups %xmm0,(%rdx)", "move", False, True),
            ("vmovss -0x4(%r12),%xmm4", "move", True, False),
            ("vbroadcastss (%rcx),%zmm26", "move", True, False),
            ("vaddss %xmm0,%xmm1,%xmm1", "add", False, False),
            ("vcvttss2si %xmm17,%r12d", "convert", False, False),
            ("vpermps (%rax),%zmm18,%zmm17", "vector", True, False),
            ("vucomiss 0x4(%rsp),%xmm1", "vector", True, False),
            ("add $0x1,0x10(%rsp)", "integer", True, True),
            ("lea 0x8(%rsi),%rdi", "integer", False, False),
            ("cmp 0x48(%rsi),%edx", "integer", True, False),
            ("jne 1aea0", "branch", False, False)):
        check.equal(text, (instructions.kind(text), instructions.loads(text),
                           instructions.stores(text)), (kind, loads, stores))


def test_instructions(check: Any, tmp_path: Path) -> None:
    """Counts of Callgrind are found in the object file, wherever it was loaded."""
    source = tmp_path / "sum.c"
    source.write_text("float sum(const float *p, int n)\n"
                      "{ float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n")
    library = tmp_path / "sum.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    code = instructions.disassemble(str(library))
    loop = next(a for a, text in code.items() if re.match(r"v?addss", text))
    where = 0x4c50000  # where the loader put it
    out = tmp_path / "callgrind.out"
    out.write_text(f"events: Ir\nob={library}\nfn=sum\n0x{where + loop:x} 4 100\n"
                   f"calls=3 0x1 7\n0x{where + loop:x} 4 999\n0x{where + loop:x} 4 20\n")
    check.equal("without what a call executes", list(instructions.executions(out)),
                [(str(library), "sum", where + loop, [n]) for n in (100, 20)])
    found = {a: (code[a], n) for a, n in instructions.place({where + loop: 120}, code).items()}
    check("in the file", loop & 0xfff not in {a & 0xfff for a in found} and f"{found}")
    row = instructions.per_unit({loop: (code[loop], 120)}, 60)
    check.equal("per unit", (row["instructions"], row["loads"], row["add"]),
                ("2.00", "2.00", "2.00") if "(" in code[loop] else ("2.00", "0.00", "2.00"))
    check.equal("path", list(instructions.path_of({loop: (code[loop], 120)}, 60)),
                [code[loop]] * 2)
    with pytest.raises(instructions.CountError):
        instructions.place({0x123456: 1, 0x999999: 1}, {0x10: "nop"})
    if shutil.which("valgrind"):
        done = module("tools.measure.instructions", PROGRAM="sandpile", STEP="00",
                      RESULTS_DIR=str(tmp_path))
        rows = results.read(tmp_path / "instructions.csv")
        check("make instructions", (done.returncode or len(rows) != 1 or not
              float(rows[0]["loads"]) < float(rows[0]["instructions"])) and done.stderr)


# ---- registers ---------------------------------------------------------------------------

PTXAS = """ptxas info    : 0 bytes gmem, 100 bytes cmem[3]
ptxas info    : Compiling entry function '_Z6searchILi0EEvPKf' for 'sm_75'
    808 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers, 376 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compiling entry function '_Z6searchILi5EEvPKf' for 'sm_75'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 61 registers, used 0 barriers, 16 bytes smem, 376 bytes cmem[0]
"""


def test_registers(check: Any) -> None:
    """A row per kernel in the table."""
    found = registers.report(PTXAS)
    check.equal("kernels", [tuple(row.values()) for row in found], [
        ("search<0>", 64, 808, 4, 8, 0, 484), ("search<5>", 61, 0, 0, 0, 16, 476)])
    with pytest.raises(registers.CompileError):
        registers.report("ptxas info    : 0 bytes gmem\n")


# ---- rungs in a lesson -------------------------------------------------------------------


def test_rungs_of_a_lesson(check: Any, tmp_path: Path,
                           monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS["semblance"]
    step = next(s for s in tree.steps() if s.number == "05")
    found = rungs.of_step(step, program)
    monkeypatch.setattr(results, "measured", lambda with_rungs: {})
    text = lessons.rungs_table(step, program)
    check("every rung", [p.subject for p in found if p.subject not in text])

    def row(name: str, ratio: str, word: str) -> results.Row:
        return {"program": "semblance", "set": "quarter", "backend": "omp", "step": name,
                "runs": "15", "over_previous": ratio, "over_previous_is": word}
    rows = [row("05.1", "1.10", "gain"), row("05.2", "4.00", "gain"), row("05.3", "1.01", "none"),
            row("05.4", "", "same code"), row(f"05.{len(found)}", "1.20", "gain"),
            row(step.name, "2.50", "gain")]
    monkeypatch.setattr(results, "measured", lambda with_rungs: {"Invented": rows})
    text = lessons.rungs_table(step, program)
    ends = [line.rsplit("|", 2)[1].strip() for line in text.splitlines() if "|" in line]
    check.equal("measured", [ends[0], *ends[2:6], *ends[-2:]],
                ["quarter omp", "1.10", "4.00 missed", "~ 1.01", "same code", "1.20", "2.50"])


# ---- public codes ----------------------------------------------------------------------


def public_fluid(folder: Path, prints: str, make: str = "cp main.cpp fluid_sim") -> Path:
    """An invented public code: a shell script, and a makefile that copies it."""
    folder.mkdir()
    (folder / "main.cpp").write_text(
        f"#!/bin/sh\n#define SIZE 84\n[ $(head -n 1 events.txt) = 10 ] && echo {prints}\n")
    (folder / "Makefile").write_text(f"par:\n\t{make}\n\tchmod +x fluid_sim\n")
    return folder


def public_sandpile(folder: Path) -> Path:
    """An invented public code: its second pile is to be left out."""
    (folder / "animation").mkdir(parents=True)
    (folder / "animation/sandpiles.c").write_text("""#define N 1000
static void stabilize(void) {}
int main(void)
{
    stabilize();
    stabilize();
}
""")
    return folder


def run_race(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return module("tools.measure.race", str(folder), **{
        "PROGRAM": "fluid", "STEP": "01 05", "BACKEND": "omp", "QUICK": "1", "REPEAT": "1",
        **variables})


@pytest.mark.alone
def test_race(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fluid = peers.Fluid(public_fluid(tmp_path / "first", "none"), "quick", tmp_path / "race")
    binary = next(s for s in tree.steps() if s.number == "01").binary(PROGRAMS["fluid"], "omp")
    total = runs.run([binary, *fluid.arguments()]).values()["total_density"]
    text = f"Total density after 10 timesteps: {float(total):.6g}"
    table = tmp_path / "some-machine-race.csv"
    done = run_race(public_fluid(tmp_path / "good", text), RESULTS=str(table))
    check("make race", done.returncode and done.stderr)
    rows = results.read(table)
    check.equal("ours", [r["ours"] for r in rows], ["01 omp", "05 omp"])
    check.equal("one is the fastest", [r["fastest"] for r in rows].count("yes"), 1)
    check("a build is chosen", {r["flags"] for r in rows} - set(peers.BUILDS) and f"{rows}")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    shown = front.races(PROGRAMS["fluid"]).strip().splitlines()
    best = max(rows, key=lambda r: float(r["ratio"]))
    check.equal("row of results/fluid.md", [cell.strip() for cell in shown[-1].split("|")[1:]], [
        "some machine", "quick", "[danielsp45/3dfluid](https://github.com/danielsp45/3dfluid)",
        best["flags"], f"{float(best['public_seconds']):.3g} s", best["ours"],
        f"{float(best['seconds']):.3g} s",
        f"{float(best['ratio']):.3g} ({float(best['low']):.3g} to {float(best['high']):.3g})", ""])
    missing = tmp_path / "missing"
    cases: list[tuple[str, Path, dict[str, str], str]] = [
        ("no checkout", missing, {}, f"PEER={missing}: no such folder: expected"),
        ("another code", tmp_path, {}, "has no main.cpp: expected a checkout of"),
        ("no build", public_fluid(tmp_path / "bad", text, "false"), {}, "does not build, own"),
        ("an error at the end", public_fluid(tmp_path / "late", text, "touch fluid_sim; exit 1"),
         {}, "does not build"),
        ("another result", public_fluid(tmp_path / "wrong", text.replace(": ", ": 9")), {},
         "total density: differs from ours by"),
        ("no result", public_fluid(tmp_path / "none", "none"), {}, "differs from ours by nan"),
        ("no such set", tmp_path / "good", {"SET": "85"}, "SET=85: no such set: expected one"),
        ("two programs", tmp_path / "good", {"PROGRAM": "fluid sandpile"}, "expected one of"),
        ("too few", tmp_path / "good", {"QUICK": "", "SET": "quick"}, "at least 7, or QUICK=1")]
    for name, folder, variables, message in cases:
        done = run_race(folder, **variables)
        line = (done.stderr.splitlines() or [""])[-1]
        check(name, (done.returncode == 0 or message not in line
                     or "Traceback" in done.stderr) and done.stderr)


def test_what_public_codes_print(check: Any, tmp_path: Path) -> None:
    def peer(kind: type[peers.Peer]) -> peers.Peer:
        (tmp_path / kind.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / kind.file).touch()
        return kind(tmp_path, next(iter(kind.problems)), tmp_path / "race")

    fletcher, gridding = peer(peers.Fletcher), peer(peers.Gridding)
    text = "Execution time (s) is 1.25\nTotal execution time (s) is 3\n"
    check.equal("fletcher", fletcher.time(runs.Result(0, text, "", 9)), 1.25)
    check.equal("30 steps", fletcher.command(tmp_path)[-2:], ["0.001", "0.0295"])
    text = """nSamples = 160000
Support = 64 pixels
+++++ Forward processing (CPU) +++++
    Time 2.5 (s)
+++++ Forward processing (OpenMP) +++++
    Num threads: 2
    Time 1.5 (s)
    Time per gridding 2 (ns)
Verifying result..."""
    check.equal("gridding", gridding.time(runs.Result(0, text, "", 9)), 1.5)
    item = Item(PROGRAMS["gridding"], "askap", tree.steps()[0], "seq")
    item.printed = "Mpts/s=1331.28\nTime_run=2\n"
    gridding.expect(item, {})
    check("updates", not gridding.difference(text + "Pass", tmp_path) < 1e-9 and "other number")
    check("its own check", not gridding.difference(text + "Fail", tmp_path) > 1 and "ignored")

    sandpile = peers.Sandpile(public_sandpile(tmp_path / "piles"), "quick", tmp_path / "piles/race")
    side = 64
    pile = np.random.default_rng(1).integers(0, 4, (side, side))
    np.save(tmp_path / "out.npy", np.pad(pile, 1))
    sandpile.expect(item, {"out": tmp_path / "out.npy"})
    copy = sandpile.build("own flags")
    check("sandpile, run", runs.run(sandpile.command(copy), folder=copy).failure())
    check.equal("sandpile, nothing written", sandpile.difference("", copy), math.inf)
    colours = np.array([[0xff, 0x92, 0], [0xf5, 0x3d, 0x52], [0xfc, 0xe3, 0x15],
                        [0x44, 0xc5, 0xcb]], "u1")
    wrong = pile.copy()
    wrong[5, 7] ^= 1
    for name, grains, expected in (("equal", pile, 0), ("one cell", wrong, 1)):
        (copy / "pile.ppm").write_bytes(b"P6\n64 64\n255\n" + colours[grains].tobytes())
        check.equal(f"sandpile, {name}", sandpile.difference("", copy), expected)
    (copy / "pile.ppm").write_bytes(b"P6")
    check.equal("no picture", sandpile.difference("", copy), math.inf)
    check.equal("one pile", (copy / "sandpiles.c").read_text().count("stabilize();"), 1)
    check.equal("its input", sandpile.arguments(), [f"config={sandpile.folder}/six.npy"])
    check.equal("six grains", int(np.load(sandpile.folder / "six.npy").sum()), 6 * side ** 2)


def test_papers_page(check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each invented number stands in the row and the column to which it belongs."""
    program, run, table = PROGRAMS["semblance"], paper.Run, paper.Table
    (tmp_path / "semblance.csv").write_text(
        "step,variant,device,set,seconds\n00,the first,CPU,a,88\n01,the second,CPU,a,44\n")
    rows = [{"program": "semblance", "set": name, "step": step, "backend": "omp", "options": text,
             "runs": "20", "init_mean": "0.5", "run_mean": str(number), "rate_mean": str(rate)}
            for name, step, text, number, rate in (
                ("a", "01", "", 1, 41), ("a", "01", "tilew=8", 2, 42), ("b", "01", "", 1.5, 43))]
    rows.append({**rows[0], "step": "00", "backend": "seq", "run_mean": "4"})
    results.write(tmp_path / "results/some-machine.csv", list(rows[0]), rows)
    one = run("one", "01", "omp", "", ["the second"], "7")
    monkeypatch.setattr(paper, "NUMBERS", tmp_path)
    monkeypatch.setattr(paper, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(paper, "paper_of", lambda program: types.SimpleNamespace(
        ABOUT="\nIt counts\nbeads.\n", MACHINE="an abacus", TABLES=[
            table("Times", {"a": "a"}, [run("zero", "00", "seq", "", ["the first"]), one],
                  about="\nTwo rows:\n\n- *zero*: no\n  bead.\n- *one*: one.\n"),
            table("Tiles", {"none": "a", "8": "a tilew=8", "16": "a tilew=16"}, [one], "speedup",
                  "tilew"),
            table("Rates", {"b": "b", "a": "a"}, [one, run("two", "03", "cuda")], "rate")]))
    text = paper.page(program)
    for line in ("It counts beads.", "Two rows:\n\n- *zero*: no bead.\n- *one*: one.\n\n|",
                 "some machine (not measured on the reference machine), means of 20 runs; the "
                 "paper: an abacus.",
                 "| figures | program | back-end | set a | the paper |",
                 "|  | zero | seq | 4.5 (1) | 88 (1) |", "| 7 | one | omp | 1.5 (3) | 44 (2) |",
                 "Speedup over step 00; columns: tilew.",
                 "| figures | program | back-end | none | 8 |",
                 "| 7 | one | omp | 4 | 2 |", "| 7 | one | omp | 43 | 41 |"):
        check(line, line not in text and text)
    check("two", "two" in text and text)


@pytest.mark.alone
@pytest.mark.seconds(10)
def test_papers(check: Any) -> None:
    """make papers measures, verifies and draws; the numbers of QUICK=1 are not kept."""
    kept = {p: p.read_text() for p in (Path(ROOT) / "results/papers").glob("*.csv")}
    done = module("tools.publish.paper", PROGRAM="sandpile", SET="64", QUICK="1")
    check("make papers", done.returncode and done.stderr)
    found = re.findall(r"^(16 x 16|rows.*?)  +omp +([\d.]+)$", done.stdout, re.M)
    check.equal("rows", [name for name, _ in found],
                ["16 x 16", "rows, 64 per tile", "rows of bytes"])
    check("drawn", not (tree.build() / "papers/sandpile-4.svg").exists() and done.stdout)
    check.equal("kept", kept, {p: p.read_text() for p in kept})
