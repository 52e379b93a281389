"""all.py - make test: every suite, as many at a time as there are cores, and the sum of what
they found. What measures time runs first, and alone; then the longest.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = os.environ.get("BUILD", "build")
PYTHON = sys.executable

ALONE = {"course": [PYTHON, "-m", "tests.course_test"]}
SUITES = {
    "sanitizers": ["bash", "tests/san.sh"],
    "mutants": [PYTHON, "-m", "verify.mutants"],
    "verify": [PYTHON, "-m", "verify.matrix"],
    "fletcher": [PYTHON, "-m", "tests.fletcher_test"],
    "gridding": [PYTHON, "-m", "tests.gridding_test"],
    "fluid": [PYTHON, "-m", "tests.fluid_test"],
    "sandpile": [PYTHON, "-m", "tests.sandpile_test"],
    "published mistakes": [PYTHON, "-m", "tests.mistakes"],
    "bad input": [PYTHON, "-m", "tests.bad_input"],
    "checker": [PYTHON, "-m", "tests.check_semblance_test"],
    "halfway": [PYTHON, "-m", "tools.measure.halfway"],
    "report": [PYTHON, "-m", "tests.report_test"],
    "lint": [PYTHON, "-m", "tests.lint"],
    "lessons": [PYTHON, "-m", "tools.publish.lessons", "--check"],
    "run": [f"{BUILD}/tests/run_test"],
    "su": [f"{BUILD}/tests/su_test"],
    "su and segyio": [PYTHON, "-m", "tests.su_segyio", f"{BUILD}/tests/su_test"],
    "verify's diff": [f"{BUILD}/tests/diff_test", f"{BUILD}/verify"],
    "propagate": [PYTHON, "-m", "tests.propagate_test"],
}
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


def suite(name):
    """Runs one and says what it found: (passed, failed)."""
    start = time.monotonic()
    ended = subprocess.run((ALONE | SUITES)[name], cwd=ROOT, text=True, errors="replace",
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    passed, failed = count(ended.stdout, ended.returncode)
    words = ended.stdout if failed or ended.returncode else ""
    print(f"{words}{name}: {passed} passed, {failed} failed, "
          f"{time.monotonic() - start:.0f} s", flush=True)
    return passed, failed


def main():
    wanted = sys.argv[1:] or [*ALONE, *SUITES]
    os.environ.setdefault("FUZZ_SECONDS", "15")  # of the minute that make san takes
    # Suites share the cores: a thread that waits must not spin in another's way.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    print(f"{len(wanted)} suites, some of which take minutes", flush=True)
    found = [suite(name) for name in wanted if name in ALONE]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found += pool.map(suite, [name for name in wanted if name not in ALONE])
    total_passed, total_failed = (sum(numbers) for numbers in zip(*found))
    print(f"{total_passed} passed, {total_failed} failed")
    sys.exit(1 if total_failed or not total_passed else 0)


if __name__ == "__main__":
    main()
