"""conftest.py: what all tests share (make test, make test-all).

    python3 -m pytest tests/test_fluid.py            one file
    python3 -m pytest -m alone tests                 tests that need the machine for themselves
    python3 -m pytest -n auto -m "not alone and not slow" tests    the rest of make test
    python3 -m pytest --all ...                      everything: also tests marked slow

A test counts single checks with the fixture `check`, so that one run of a program can be
checked in many respects. The summary adds the checks of all tests.
"""
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import BUILD, ROOT
from tools.base import runs, tree

# A make that a test starts has no part in the jobs of the make that runs the tests.
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(name, None)
# Tests share the cores: a thread that waits must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# A trace of a section is marked as done as soon as it is written, not a second later: what a
# stopped run leaves is then known.
os.environ.setdefault("SEMBLANCE_SYNC", "0")
# All ranks are on this machine. Without this, Open MPI looks for networks, which takes it up
# to a second per start.
os.environ.setdefault("OMPI_MCA_pml", "ob1")
# Hypothesis stores its files here instead of in the current folder.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(BUILD, "hypothesis"))
# Of each process of pytest-xdist, for ranks that start without mpirun.
os.environ.update(runs.mpi_folder())


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true",
                     help="run slow tests, and replace samples by everything")


def pytest_configure(config):
    """Random tests draw anew with --all; make test draws the same each time (helpers.seed)."""
    if config.getoption("--all"):
        os.environ["DRAW_ANEW"] = "1"


@pytest.fixture
def everything(request):
    """Whether nothing is to be sampled (--all)."""
    return request.config.getoption("--all")


# ---- checks --------------------------------------------------------------------------


class Checks:
    """The checks of one test. A failed one does not end the test."""

    def __init__(self):
        self.passed, self.failures, self.skipped, self.notes = 0, [], [], []

    def note(self, text):
        """A text that the summary of all tests shows, whether the test passes or not."""
        self.notes.append(text)

    def __call__(self, name, problem):
        """Counts one check, which passes if problem is falsy."""
        if problem:
            self.failures.append(f"{name}: {problem}")
        else:
            self.passed += 1

    def equal(self, name, found, expected):
        """Counts one check; floats are equal within rounding."""
        close = isinstance(expected, float) and abs(found - expected) <= 1e-9 * abs(expected)
        self(name, found != expected and not close and f"{found}, expected {expected}")

    def process(self, name, ended, status, *patterns):
        """Checks the exit status of a process and that its output has all patterns."""
        text = ended.stdout + ended.stderr
        good = ended.returncode == status and all(re.search(p, text) for p in patterns)
        self(name, not good and f"exit status {ended.returncode}: {text[-2000:]}")

    def command(self, *command, **variables):
        """Runs a command that prints "N passed, N failed" and counts what it counted. Its
        lines "skipped: WHAT" are what this machine cannot test."""
        ended = subprocess.run(list(map(str, command)), cwd=ROOT, text=True,
                               errors="replace", env={**os.environ, **variables},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        tallies = re.findall(r"^(?:\w+: )?(\d+) passed, (\d+) failed", ended.stdout, re.M)
        passed, failed = map(int, tallies[-1]) if tallies else (0, 0)
        self.passed += passed
        self.skipped += re.findall(r"\bskipped: (.+)$", ended.stdout, re.M)
        if ended.returncode or failed or not passed:
            self.failures += [ended.stdout] + ["(see above)"] * (failed - 1)
        print(ended.stdout)

    def module(self, name, *arguments, **variables):
        self.command(sys.executable, "-m", name, *arguments, **variables)


@pytest.fixture
def check():
    return Checks()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    """Fails a test if one of its checks failed, or if it made none."""
    outcome = yield
    check = getattr(item, "funcargs", {}).get("check")
    if call.when != "call" or check is None:
        return
    report = outcome.get_result()
    report.user_properties += [("checks", check.passed + len(check.failures)),
                               *(("note", text) for text in check.notes),
                               *(("skipped", what) for what in check.skipped)]
    text = "\n".join(check.failures) or "no check was made"
    if report.passed and not check.passed or not report.failed and check.failures:
        report.outcome, report.longrepr = "failed", text
    elif report.failed and check.failures:
        report.sections.append(("Failed checks", text))


def pytest_terminal_summary(terminalreporter):
    checks = 0
    for outcome in "passed", "failed":
        for report in terminalreporter.stats.get(outcome, ()):
            checks += dict(report.user_properties).get("checks", 1)
            for key, text in report.user_properties:
                if key == "note":
                    terminalreporter.write_line(text)
    terminalreporter.write_line(f"{checks} checks")
    print_not_tested(terminalreporter)


# ---- what is not tested --------------------------------------------------------------


def beyond_machine():
    """What no test can run on this machine."""
    for backend in tree.BACKENDS.values():
        if not any(backend.name in step.available(program)
                   for step in tree.steps() for program in tree.programs()):
            why = "no GPU" if backend.needs_gpu and not tree.has_gpu() else "not built"
            yield f"back-end {backend.name}: {why}"
    for flag, bits in (("avx2", 256), ("avx512f", 512)):
        if not runs.processor_has(flag):
            yield f"vectors of {bits} bits: not in this processor ({flag})"


def print_not_tested(terminalreporter):
    """Prints why tests were skipped, and how many for each reason. The runs of make test pass
    this on in the file NOT_TESTED, and the last one prints all of it."""
    kept = Path(os.environ.get("NOT_TESTED") or os.devnull)
    reasons = Counter(kept.read_text().splitlines() if kept.exists() else ())
    for report in terminalreporter.stats.get("skipped", ()):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[text.removeprefix("Skipped: ")] += 1
    for outcome in "passed", "failed":
        for report in terminalreporter.stats.get(outcome, ()):
            reasons.update(what for key, what in report.user_properties if key == "skipped")
    if os.environ.get("NOT_TESTED"):
        kept.write_text("".join(f"{reason}\n" for reason in reasons.elements()))
        reasons.update(beyond_machine())
    if reasons:
        terminalreporter.write_line("not tested on this machine:")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"    {reason}" + f" ({count} times)" * (count > 1))


# ---- order ---------------------------------------------------------------------------


def pytest_collection_modifyitems(config, items):
    """Leaves out slow tests unless all are wanted; puts the longest first. If the tests of
    several files run in parallel, as in make test, only N do of those tests of a file that are
    marked drawn(N); they are drawn anew each time."""
    if not config.getoption("--all"):
        modules = defaultdict(list)
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # the same in all processes
        for item in items if run and not config.pluginmanager.has_plugin("tests.reach") else ():
            if item.get_closest_marker("drawn"):
                modules[item.path].append(item)
        rng = random.Random(run)
        left = [item for item in items if item.get_closest_marker("slow")]
        for found in modules.values():
            left += rng.sample(found, max(0, len(found)
                                          - found[0].get_closest_marker("drawn").args[0]))
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]

    def seconds(item):
        marker = item.get_closest_marker("seconds")
        return marker.args[0] if marker else 1
    items.sort(key=seconds, reverse=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hands tests to the processes of pytest-xdist one by one, in order: by default it hands
    out blocks of neighbours, so that one process would get all long tests."""
    from xdist.scheduler import LoadScheduling

    class OneByOne(LoadScheduling):
        collection: Any

        def schedule(self):
            if self.collection is None and self._check_nodes_have_same_collection():
                self.collection = next(iter(self.node2collection.values()))
                self.pending[:] = range(len(self.collection))
                for node in self.nodes:
                    self._send_tests(node, 1)
            for node in self.nodes:
                self.check_schedule(node)

        def check_schedule(self, node, duration=0):
            if node.shutting_down:
                return
            if self.pending:
                self._send_tests(node, 2 - len(self.node2pending[node]))
            else:
                node.shutdown()

    return OneByOne(config, log)
