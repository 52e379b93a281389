"""all.py - make test: every suite, as many at a time as there are cores, and the sum of what
they found. What measures time, or tampers with what others look at, runs first, and
alone; then the longest.

    all.py [--all] [NAME ...]   all suites, or those named

Everything is verified: each step, program and back-end. What takes long besides is done
for a chosen part, always the same: sanitizers on the last step of each program, a planted
bug of each back-end of a program, a minute of random queries, twenty seconds of others that
nobody has tried, a few seconds of fuzzing. --all or TEST_ALL=1, as make test-all has it,
does the rest too: all planted bugs, twenty ranks killed instead of five, sanitizers on
every step, a minute of fuzzing, an hour of random queries and what they cover, the sets of
make run, the points half way between two steps, what a class uses, a batch job in a Slurm
of its own where one is installed, trees with holes, and all that nvcc compiles (Makefile).

A suite is a command that exits with 0 if all went well. What it says of itself, a last
line "N passed, N failed" or cmocka's tallies, is added up; a suite without either, or
whose words and exit status disagree, counts as one test, passed or failed.
"""
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.helpers import ROOT
from tools.history import tree

BUILD = os.environ.get("BUILD", "build")


class Suite:
    """A command, and the variables of its environment."""

    def __init__(self, *command, **variables):
        self.command, self.variables = command, variables

    def run(self):
        """(status, all that it said)"""
        ended = subprocess.run(self.command, cwd=ROOT, text=True, errors="replace",
                               env={**os.environ, **self.variables},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ended.returncode, ended.stdout


def module(name, *words, **variables):
    return Suite(sys.executable, "-m", name, *words, **variables)


def each(what, name, *words):
    """A suite of each program, which is told in PROGRAM=."""
    return {f"{what} {p.name}": module(name, *words, PROGRAM=p.name)
            for p in tree.selected(tree.programs(), "PROGRAM")}


def suites(everything):
    """({name: suite} of what runs alone, the same of the rest, the longest first)."""
    part = [] if everything else ["--chosen"]
    seconds = os.environ.get("FUZZ_SECONDS", "60" if everything else "10")

    def san(tool):
        return Suite("bash", "tests/san.sh", *part, tool, FUZZ_SECONDS=seconds)

    alone = {"grade": module("tests.grade_test")}
    if everything:
        alone["graded gains"] = module("tests.course_test", "gains")
    rest = {
        "sanitizers: OpenCL": san("simulator"),
        "sanitizers: addresses": san("address"),
        **({"variants": module("tools.measure.variants")} if everything else {}),
        **each("mutants", "tools.verify.mutants", *part),
        "random queries": module("tools.verify.random_queries", SEED="1", COUNT="50",
                                 SECONDS="" if everything else "60"),
        "fresh queries": module("tools.verify.random_queries", COUNT="1000000",
                                SECONDS="3600" if everything else "20"),
        **({"course": module("tests.course_test", "untimed")} if everything else {}),
        **each("verify", "tools.verify.matrix", *(["--sets"] if everything else [])),
        **({"coverage": module("tools.verify.coverage")} if everything else {}),
        "published mistakes": module("tests.mistakes"),
        "report": module("tests.report_test"),
        "measure": module("tests.measure_test"),
        "more ranks": module("tests.cluster_model_test"),
        **{p.name: module(f"tests.{p.name}_test") for p in tree.programs()
           if os.path.exists(os.path.join(ROOT, "tests", f"{p.name}_test.py"))},
        **({"batch job": module("tests.slurm_test")} if everything else {}),
        **({"holes": module("tests.tree_test")} if everything else {}),
        "sanitizers: races": san("threads"),
        "fuzzing": san("fuzzer"),
        "lint": module("tests.lint"),
        "bad input": module("tests.bad_input"),
        "host and device": module("tests.hybrid_test"),
        "sections": module("tests.section_test"),
        "cluster": module("tests.cluster_test", KILLS="20" if everything else "5"),
        "headers": module("tests.headers_test"),
        "propagate": module("tests.propagate_test"),
        "lessons": module("tools.publish.lessons", "--check"),
        "Makefile": module("tests.makefile_test"),
        "checker": module("tests.check_semblance_test"),
        "run": Suite(f"{BUILD}/tests/run_test"),
        "su": Suite(f"{BUILD}/tests/su_test"),
        "su and segyio": module("tests.su_segyio", f"{BUILD}/tests/su_test"),
        "verify's diff": Suite(f"{BUILD}/tests/diff_test", f"{BUILD}/verify"),
    }
    return alone, rest


TALLY = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed")
CMOCKA = re.compile(r"\[  (PASSED|FAILED)  \].*?(\d+) test\(s\)")


def count(output, status):
    """How many tests passed and failed, from a suite's last word or its exit status."""
    passed = failed = 0
    tallies = [m for m in map(TALLY.match, output.splitlines()) if m]
    if tallies:
        passed, failed = map(int, tallies[-1].groups())
    else:
        for word, number in CMOCKA.findall(output):
            passed += int(number) * (word == "PASSED")
            failed += int(number) * (word == "FAILED")
    if (status == 0) == (failed == 0) and passed + failed > 0:
        return passed, failed
    return (passed + 1, failed) if status == 0 else (passed, failed + 1)


def report(name, suite):
    """Runs one and says what it found: (passed, failed)."""
    start = time.monotonic()
    status, output = suite.run()
    passed, failed = count(output, status)
    words = output if failed or status else ""
    print(f"{words}{name}: {passed} passed, {failed} failed, "
          f"{time.monotonic() - start:.0f} s", flush=True)
    return passed, failed


def main():
    everything = "--all" in sys.argv or os.environ.get("TEST_ALL", "0") not in ("", "0")
    alone, rest = suites(everything)
    wanted = [word for word in sys.argv[1:] if word != "--all"] or [*alone, *rest]
    unknown = [name for name in wanted if name not in alone | rest]
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: no such suite, there are: "
                         f"{', '.join([*alone, *rest])}")
    # Suites share the cores: a thread that waits must not spin in another's way.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # All ranks are on this machine: Open MPI need not ask what networks there are, which
    # takes it up to a second each time.
    os.environ.setdefault("OMPI_MCA_pml", "ob1")
    start = time.monotonic()
    print(f"{len(wanted)} suites, some of which take minutes", flush=True)
    found = [report(name, alone[name]) for name in alone if name in wanted]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found += pool.map(lambda name: report(name, rest[name]),
                          [name for name in rest if name in wanted])
    total_passed, total_failed = (sum(numbers) for numbers in zip(*found))
    print(f"{time.monotonic() - start:.0f} s")
    print(f"{total_passed} passed, {total_failed} failed")
    sys.exit(1 if total_failed or not total_passed else 0)


if __name__ == "__main__":
    main()
