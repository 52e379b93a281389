"""test_cluster_model.py: what a program takes on more ranks, as tools/history/model.py
has it: cases worked out by hand, formulas that are wrong, results that are not there, and
the drawing of it.
"""
import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT
from tools.history import model, results, tree
from tools.measure import ceilings, cluster
from tools.publish import draw, report

NAMES = {"nz": 64, "steps": 10, "cells": 1000, "dram": 2000.0}


@pytest.mark.parametrize("text, value", [
    ("2 * 3 + 1", 7), ("min(P - 1, 2) * steps", 20), ("ceil(nz / P) / nz", 13 / 64),
    ("ceil(log2(P))", 3), ("-steps + nz ** 2 // 3 % 7", -10 + 4096 // 3 % 7)])
def test_formula(text, value):
    assert model.value(text, {**NAMES, "P": 5}) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("text, message", [
    ("2 * ny", "unknown name (ny): expected one of nz, steps"), ("2 *", "2 *: "),
    ("__import__('os')", "expected numbers"), ("nz.real", "expected numbers"),
    ("1 / (nz - 64)", "division by zero")])
def test_wrong_formula(text, message):
    with pytest.raises(SystemExit, match=re.escape(message)) as error:
        model.value(text, NAMES)
    assert "\n" not in str(error.value)


def of(one=1.0, latency=1e-3, bandwidth=1e6, **formulas):
    return model.Model(formulas, NAMES, one, latency, bandwidth)


def test_equal_parts(check, tmp_path):
    """Ranks have equal work, but for one element: a rank that has none, or all, gives the same
    results. The tree is the one next to BUILD, so that a mutant is tested, too."""
    root = next(p for p in (Path(BUILD).parent, Path(ROOT)) if (p / "common").is_dir())
    text = (root / "common/mpi/ranks.h").read_text()
    function = re.search(r"^static inline (int rank_first\(.*?^})", text, re.M | re.S)
    assert function
    (tmp_path / "ranks.c").write_text(function[1])
    subprocess.run(["gcc", "-shared", "-fPIC", "ranks.c", "-o", "ranks.so"], cwd=tmp_path,
                   check=True)
    first = ctypes.CDLL(str(tmp_path / "ranks.so")).rank_first
    for ranks in 1, 2, 3, 7:
        for n in 0, 1, 5, 20, 2**31 - 1:
            begins = [first(n, r, ranks) for r in range(ranks + 1)]
            parts = {b - a for a, b in zip(begins, begins[1:])}
            check(f"{n} over {ranks} ranks", (begins[0], begins[-1]) != (0, n) or
                  not parts <= {n // ranks, -(-n // ranks)})


def test_by_hand(check):
    # 1 s of work, and P - 1 messages of 1 ms: 1 / 4 + 0.003 with 4 ranks.
    found = of(messages="P - 1")
    check.equal("one rank takes what was measured", found.seconds(1), 1.0)
    check.equal("4 ranks", found.seconds(4), 0.253)
    check.equal("4 ranks, efficiency", found.efficiency(4), 1 / 4 / 0.253)
    # 1 / P = (P - 1) / 1000 has efficiency 1/2: P (P - 1) = 1000, P = 32.1
    check.equal("the knee", found.knee(), 32)
    check.equal("no knee within reach", found.knee(most=8), None)
    # 1000 bytes a step at 1e6 a second, 10 steps, whatever P above 1: 10 ms.
    found = of(messages="0", bytes="min(P - 1, 1) * cells * steps")
    check.equal("bytes", found.seconds(2), 0.51)
    # 64 planes: 5 ranks have 13, 13, 13, 13, 12; of 65 ranks one has none.
    found = of(messages="0", part="ceil(nz / P) / nz")
    check.equal("whole planes", (found.seconds(5), found.seconds(64), found.seconds(1000)),
        (13 / 64, 1 / 64, 1 / 64))
    # 0.5 s of one second are serial: 0.5 + 0.5 / P, Amdahl.
    found = of(messages="0", serial="cells / dram")
    check.equal("Amdahl", found.parts(10), {"work": 0.05, "messages": 0, "bytes": 0,
                                    "serial": 0.5})
    check.equal("Amdahl's knee", found.knee(), 3)  # 1 / (0.5 P + 0.5) >= 1 / 2
    # A rank that repeats what its neighbour does: 2 of 64 planes more, alone too.
    found = of(1.03125, messages="0", part="(ceil(nz / P) + 2) / nz")
    check.equal("work that is done twice", found.seconds(32), 4 / 64)
    # Weak: 64 P planes, so that each has 64, and the messages of one neighbour or two.
    found = of(messages="min(P - 1, 2) * steps", part="ceil(nz / P) / nz", grow="nz: nz * P")
    check.equal("weak", (found.seconds(2, True), found.seconds(100, True)), (1.01, 1.02))
    check.equal("weak, efficiency", found.efficiency(100, True), 1 / 1.02)
    check.equal("weak, no knee", found.knee(True), None)
    # A square grows in both directions: of P ranks each has 64 / sqrt(P) of its rows.
    found = of(messages="0", bytes="1000 * nz * min(P - 1, 1)", grow="nz: nz * sqrt(P)")
    check.equal("weak, a square", found.seconds(4, True), 1 + 0.128)


# ---- files -----------------------------------------------------------------------------


def row_of(program, step, ranks, threads, seconds):
    """As make cluster writes them."""
    row = dict.fromkeys(cluster.COLUMNS, "") | {
        "machine": "Invented", "program": program.name, "set": program.shown,
        "sizes": "nz=64 steps=1e+01 cells=1000", "step": step.name, "ranks": ranks,
        "threads": threads, "runs": 15, "run_median": f"{seconds:.6f}"}
    for key, value in (("over_one", 1 / seconds), ("over_threads", 0.53 / seconds)):
        row |= {key: f"{value:.3f}", f"{key}_low": f"{value * 0.98:.3f}",
                f"{key}_high": f"{value * 1.02:.3f}", f"{key}_is": "gain"}
    return row


def test_results(check, tmp_path, monkeypatch):
    """What is drawn of a program that was measured, with and without what is missing."""
    program, step = tree.programs()[1], tree.steps()[-1]
    folder = tmp_path
    monkeypatch.setattr(results, "FOLDER", folder)
    monkeypatch.setattr(program, "mk", {k: v for k, v in program.mk.items()
                                        if not k.startswith("cluster")})
    check.equal("no results", (model.measured(program), "<figure" in
                       report.more_ranks(step, program, folder)), ({}, False))
    rows = [row_of(program, step, *shape) for shape in
            ((1, 2, 0.53), (1, 1, 1.0), (2, 1, 0.52))]
    results.write(folder / "M-cluster.csv", cluster.COLUMNS, rows)
    text = report.more_ranks(step, program, folder)
    check("without formulas", "No model" not in text and text)
    program.mk |= {"cluster.messages": "min(P - 1, 2) * steps",
                   "cluster.bytes": "8 * cells * steps",
                   "cluster.grow": "nz: nz * P"}
    text = report.more_ranks(step, program, folder)
    check("without ceilings", "make ceilings" not in text and text)
    results.write(folder / "M-ceilings.csv", ceilings.COLUMNS, [
        dict(zip(ceilings.COLUMNS, ("M", *row))) for row in (
            ("CPU", 1, "dram", 2, "GB/s"), ("CPU", 2, "dram", 3, "GB/s"),
            (ceilings.RANKS, "", "latency", 5, "us"),
            (ceilings.RANKS, "", "bandwidth", 2, "GB/s"))])
    check.equal("ceilings", {k: f"{v:.6g}" for k, v in model.rates("M").items()},
        {"dram": "2e+09", "latency": "5e-06", "bandwidth": "2e+09"})
    found = model.model_of(program, "M", model.measured(program)["M"])
    assert found
    check.equal("its model", found.seconds(2), (1 - 4e-5) / 2 + 5e-5 + 4e-5)
    text = report.more_ranks(step, program, folder)
    check("says what it shows", ("knee" not in text or "5 µs" not in text) and text)
    for kind in ("strong", "weak"):
        path = folder / f"figures/{program.name}-M-ranks-{kind}.svg"
        check(f"draws {kind} scaling", not path.exists() or
                    "model" not in path.read_text())
    program.mk["cluster.serial"] = "gone / dram"
    check.equal("a size that was not counted", model.model_of(
        program, "M", model.measured(program)["M"]), None)
    check.equal("another step", report.more_ranks(tree.steps()[1], program, folder), "")
    results.write(folder / "M-cluster.csv", cluster.COLUMNS, rows[2:])
    check.equal("without one rank", "<figure" in report.more_ranks(step, program, folder),
        False)
    twice = [folder / "1.svg", folder / "2.svg"]
    for path in twice:
        draw.ranks(path, [(1, 1.0), (1024, 90.0)], {2: (1.9, 1.8, 2.0)}, 1)
    check("the same drawing, the same bytes",
                twice[0].read_bytes() != twice[1].read_bytes())


def test_declared(check):
    """The formulas that the tree has: of the sizes that are counted, and sensible."""
    for program in tree.programs():
        texts = {k.partition(".")[2]: v for k, v in program.mk.items()
                 if k.startswith("cluster.") and k != "cluster.outputs"}
        unknown = texts.keys() - {"part", "messages", "bytes", "serial", "grow"}
        check(f"{program.name}: keys", " ".join(unknown))
        known = texts and ceilings.count(program, cluster.counted_query(program))
        if not known:
            continue
        found = model.Model(texts, {"sweeps": 400, **dict.fromkeys(ceilings.LEVELS, 2e10),
                                    **known, "fma": 9e10}, 10.0, 1e-6, 1e10)
        check.equal(f"{program.name}: one rank", found.seconds(1), 10.0)
        for ranks in (2, 3, 8, 1000):
            parts = found.parts(ranks)
            check(f"{program.name}: {ranks} ranks", min(parts.values()) < 0 and parts)
            if "grow" in texts:
                parts = found.parts(ranks, True)
                check(f"{program.name}: {ranks} ranks, weak",
                            (min(parts.values()) < 0 or parts["work"] < 9) and parts)
