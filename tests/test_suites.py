"""test_suites.py: commands that are test suites of their own and print how many checks passed
and failed: verification, planted bugs, random queries, sanitizers, lint.

What takes long is done for a sample: sanitizers for the last step of each program, 40 seconds
of random queries, 10 seconds of fuzzing. Of the rungs that were not verified here as they are,
five are drawn; of the planted bugs, some are drawn. With --all (make test-all), all of it.
"""
import os
import random
import subprocess
import sys

import pytest

from tools.base import copies, runs, tree
from tools.history import rungs

PROGRAM = pytest.mark.parametrize("program", [
    pytest.param(p.name, marks=pytest.mark.seconds(200 if p.name == "semblance" else 80))
    for p in tree.programs()])


@PROGRAM
def test_verify(check, program, everything):
    """Every step and back-end against the first step and the oracle."""
    check.module("tools.verify.matrix", *["--sets"] * everything, PROGRAM=program)


def inner_rungs():
    """{(rung, program): digest of all that decides whether it is verified}, without the last
    rung of a step, which is the step."""
    shared = [tree.ROOT / name for name in ("common", "data", "verify", "tools/verify")]
    return {(rung, program): runs.key(*(s.folder / program.name for s in
                                        (rung, rung.parent(program), tree.steps()[0]) if s),
                                      rung.folder / "step.mk", tree.build() / "flags", *shared)
            for step in tree.steps() for rung in rungs.of(step)
            for program in rungs.programs(step)
            if rung.place < len(rungs.paths(step, program))}


@pytest.mark.seconds(120)
def test_verify_rungs(check, everything):
    """Of the rungs that were not verified as they are, five are drawn; if there are none, one
    rung. Which were verified is kept in BUILD, so that some runs verify all."""
    keys = inner_rungs()
    kept = tree.build() / "verified_rungs"
    verified = set(kept.read_text().split() if kept.exists() else ())
    left = [pair for pair, key in keys.items() if key not in verified]
    drawn = list(keys) if everything else random.sample(left, min(len(left), 5)) \
        or random.sample(list(keys), 1)
    for program in tree.programs():
        chosen = [rung for rung, p in drawn if p is program]
        backends = {b for rung in chosen
                    for b in rungs.of_step(rung.step, program)[rung.place - 1].words("Backends")}
        failures = len(check.failures)
        if chosen:
            check.command("make", "-s", "verify", "CUDA=last", f"PROGRAM={program.name}",
                          f"STEP={' '.join(rung.name for rung in chosen)}",
                          f"BACKEND={' '.join(sorted(backends))}")
        if len(check.failures) == failures:
            verified |= {keys[rung, program] for rung in chosen}
    kept.write_text("\n".join(sorted(verified & set(keys.values()))) + "\n")


@PROGRAM
def test_mutants(check, program, everything):
    """Planted bugs: verification must catch each."""
    check.module("tests.mutants", *[] if everything else ["--chosen"],
                 PROGRAM=program)


@pytest.mark.seconds(60)
def test_drawn_mutants(check, everything):
    """Bugs that are drawn anew each time. A sample is only reported; of all of them, tests must
    find nine in ten."""
    if not (tree.ROOT / ".git").exists():
        pytest.skip("bugs drawn by lot: no checkout of git")
    done = subprocess.run(
        [sys.executable, "-m", "tests.lot", *["--sample"] * (not everything)], cwd=tree.ROOT,
        env=copies.environment(BUILD=os.environ.get("BUILD", "build"),
                               COUNT="40" if everything else "5"),
        capture_output=True, text=True)
    if "libclang" in done.stderr:
        pytest.skip(f"bugs drawn by lot: {done.stderr.strip()}")
    check("drawn mutants", done.returncode and done.stdout + done.stderr)
    found = done.stdout.splitlines()
    survivors = [line for line in found if not line.startswith(("killed", "equivalent"))]
    check.note("Bugs drawn by lot (make mutants SEED= COUNT=5), and those that no test found in "
               "some seconds:\n" + "\n".join(survivors))


@pytest.mark.seconds(70)
def test_random_queries(check, everything):
    """A seed that has not been tried before."""
    check.module("tools.verify.random_queries", COUNT="1000000",
                 SECONDS="3600" if everything else "40")


@pytest.mark.seconds(60)
def test_random_queries_with_sanitizers(check, everything):
    """Building takes about half of the time."""
    check.module("tools.verify.random_queries", SEED="2", COUNT="1000",
                 SAN="1" if everything else "native", SECONDS="" if everything else "20")


@pytest.mark.slow
@pytest.mark.seconds(600)
def test_coverage_of_random_queries(check):
    check.module("tools.verify.coverage")


@pytest.mark.slow
@pytest.mark.seconds(900)
def test_variants(check):
    check.module("tools.measure.variants")


@pytest.mark.parametrize("tool", [
    pytest.param(tool, marks=pytest.mark.seconds(seconds)) for tool, seconds in
    (("simulator", 300), ("address", 250), ("threads", 100), ("fuzzer", 30))])
def test_sanitizer(check, tool, everything):
    """The slow tools take semblance and one drawn companion."""
    seconds = os.environ.get("FUZZ_SECONDS", "60" if everything else "10")
    first, *companions = [p.name for p in tree.programs()]
    drawn = {} if everything or tool not in ("simulator", "threads") else {
        "PROGRAM": f"{first} {random.choice(companions)}"}
    check.module("tools.verify.sanitize", *[] if everything else ["--sample"], tool,
                 FUZZ_SECONDS=seconds, **drawn)


@pytest.mark.seconds(15)
def test_lint(check):
    check.module("tests.lint")


def test_lessons_are_up_to_date(check):
    check.module("tools.publish.lessons", "--check")


@pytest.mark.parametrize(("words", "status"), [
    ({}, 1), ({"REQUIRE": "seq omp ocl"}, 1), ({"REQUIRE": "seq omp"}, 0),
    ({"REQUIRE": "none"}, 0), ({"BACKEND": "omp"}, 0)])
def test_required(words, status, tmp_path):
    """A back-end that is not built fails make verify, unless it is not required."""
    program = next(p for p in tree.programs() if p.name == "sandpile")
    for backend in ("seq", "omp"):
        for s in tree.steps()[:6]:
            built = s.binary(program, backend)
            if built.exists():
                target = tmp_path / s.name / built.name
                target.parent.mkdir(exist_ok=True)
                target.symlink_to(built.absolute())
    (tmp_path / "data").symlink_to((tree.build() / "data").absolute())
    for checker in tree.build().glob("*-check"):
        (tmp_path / checker.name).symlink_to(checker.absolute())
    (tmp_path / "verify").symlink_to((tree.build() / "verify").absolute())
    env = {k: v for k, v in os.environ.items() if k not in ("REQUIRE", "BACKEND")}
    done = subprocess.run(
        [sys.executable, "-m", "tools.verify.matrix", "--program", "sandpile", "--step", "05"],
        env={**env, "BUILD": str(tmp_path), **words}, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("sandpile-ocl: is not built or cannot run here" in done.stdout) == (status == 1)
