"""test_c.py: the unit tests in C (tests/*_test.c, with cmocka), each of their cases a test
here.
"""
import re
from functools import cache
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, run
from tools.verify import sanitize

FILES = ("run_test", "su_test")


def cases():
    for name in FILES:
        text = Path(ROOT, "tests", f"{name}.c").read_text()
        for case in re.findall(r"^TEST\((\w+)\)", text, re.M):
            yield name, case


@cache
def results(name):
    """{case: whether it passed}, and what the program printed."""
    ended = run([f"{BUILD}/tests/{name}"], ROOT)
    text = ended.stdout + ended.stderr
    found = re.findall(r"^\[ +(OK|FAILED) +\] (\w+)", text, re.M)
    return {case: result == "OK" for result, case in found}, text


@pytest.mark.seconds(20)
def test_sanitized(check):
    """With AddressSanitizer and UBSan."""
    session = sanitize.Session("units", sample=True)
    folder = session.folder / "asan"
    paths = [folder / "tests" / name for name in FILES]
    assert session.build(folder, sanitize.address_words("asan"), (), paths)
    for path in paths:
        ended = run([path], ROOT, sanitize.address_env())
        check(path.name, (ended.returncode or sanitize.REPORTED.search(ended.stderr)) and ended)


@pytest.mark.parametrize("name, case", cases())
def test_case(name, case):
    passed, text = results(name)
    assert passed.get(case), text[-3000:]


def test_every_file_is_run():
    assert {p.stem for p in Path(ROOT, "tests").glob("*_test.c")} == set(FILES)
