"""test_verify_program.py: the program verify, which compares an array with its reference.

It runs on files that are written for each case. Arrays that must not pass are compared in
every norm.
"""
from functools import partial

import numpy
import pytest

from tests.helpers import BUILD, run

F4, F8, I4, U1 = (partial(numpy.array, dtype=t) for t in ("<f4", "<f8", "<i4", "|u1"))
NAN, INF = numpy.nan, numpy.inf
LOW, HIGH = numpy.iinfo("i4").min, numpy.iinfo("i4").max
LARGEST = numpy.finfo("f8").max
ANY_BUDGET = "1e300", "0 norm=bytes"


@pytest.fixture
def verify(tmp_path):
    """A function that calls verify in tmp_path: its exit status, and all that it prints."""
    def verify(*arguments):
        ended = run([f"{BUILD}/verify", *arguments], tmp_path)
        return ended.returncode, ended.stdout + ended.stderr
    return verify


@pytest.fixture
def judge(tmp_path, verify):
    """A function that writes r.npy and c.npy and compares them."""
    def judge(reference, candidate, arguments):
        numpy.save(tmp_path / "r.npy", reference)
        numpy.save(tmp_path / "c.npy", candidate)
        return verify("r.npy", "c.npy", *arguments.split())
    return judge


# ---- comparisons ---------------------------------------------------------------------


@pytest.mark.parametrize("array", [F4([1, -2, 3e38]), F8([1, -2, 1e308]), I4([1, -2, HIGH]),
                                   U1([0, 255])], ids=lambda a: str(a.dtype))
def test_equal(judge, array):
    for arguments in "0", "0 norm=bytes":
        assert judge(array, array, arguments)[0] == 0


R, C = F8([1, 2, 4]), F8([1, 2.25, 4.5])
NORM_R, NORM_C = F8([1, -3, 0]), F8([4, 1, 0])


@pytest.mark.parametrize("reference, candidate, passes, fails", [
    (R, C, "0.50001", "0.49999999999999994"),
    (R, C, "0.5", "0"),
    # Differences of unsigned integers, and beyond the range of int32, are exact.
    (U1([1]), U1([255]), "254", "253"),
    (I4([LOW]), I4([HIGH]), "4294967295", "4294967294"),
    (NORM_R, NORM_C, "4", "3.9999999999999")])
def test_around_the_budget(judge, reference, candidate, passes, fails):
    assert judge(reference, candidate, passes)[0] == 0
    assert judge(reference, candidate, fails)[0] == 1


@pytest.mark.parametrize("norm, printed", [("max", "[1] reference -3, candidate 1"),
                                           ("bytes", "[0] reference 1, candidate 4")])
def test_worst_element(judge, norm, printed):
    assert f"worst   {printed}\n" in judge(NORM_R, NORM_C, f"0 norm={norm}")[1]


def report(outcome, norm, value, budget, share, worst):
    return (f"{outcome}: c.npy against r.npy\n  norm    {norm}\n  value   {value}\n"
            f"  budget  {budget}\n  share   {share} %\n  worst   {worst}\n")


def test_what_is_printed(judge):
    reference, candidate = F4([[1, 2, 3], [4, 5, 6]]), F4([[1, 2, 3], [4, 5.5, 6.25]])
    worst = "[1, 1] reference 5, candidate 5.5"
    assert judge(reference, candidate, "2") == (
        0, report("within budget", "max", "0.5", "2", "25", worst))
    assert judge(reference, candidate, "1 norm=bytes") == (
        1, report("DIFFERS", "bytes", "2", "0", "inf", worst))
    assert judge(reference, reference, "0") == (
        0, report("within budget", "max", "0", "0", "0", "no element differs"))


@pytest.mark.parametrize("arguments", ANY_BUDGET)
@pytest.mark.parametrize("reference, candidate, worst", [
    (F4([1, 2, 3]), F4([1, NAN, 3]), "[1] reference 2, candidate nan"),
    (F8([1, 2, 3]), F8([NAN, NAN, NAN]), "[0] reference 1, candidate nan"),  # never written
    (F4([1, NAN, 3]), F4([1, 2, 3]), "[1] reference nan, candidate 2"),
    (F4([1, NAN, 3]), F4([1, NAN, 3]), "[1] reference nan, candidate nan"),
    (F8([1, 2]), F8([1, -INF]), "[1] reference 2, candidate -inf"),
    (F8([INF, NAN]), F8([INF, NAN]), "")])
def test_not_finite(judge, reference, candidate, worst, arguments):
    status, output = judge(reference, candidate, arguments)
    assert status == 1 and "DIFFERS" in output and worst in output


def test_infinity(judge):
    """inf - inf is NaN; equal bits are equal; a difference may be infinite."""
    infinite = F8([1, INF])
    for arguments, status in ("1e300", 1), ("0 norm=bytes", 0):
        assert judge(infinite, infinite, arguments)[0] == status
    assert judge(infinite, F8([1, -INF]), "1e300")[0] == 1
    status, output = judge(F8([-LARGEST, 0]), F8([LARGEST, 0]), "1e300")
    assert status == 1 and "value   inf\n" in output


def test_signed_zero(judge):
    assert judge(F4([1, 0.]), F4([1, -0.]), "0")[0] == 0
    status, output = judge(F4([1, 0.]), F4([1, -0.]), "0 norm=bytes")
    assert status == 1 and "worst   [1] reference 0, candidate -0\n" in output


# ---- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("other, described", [
    (numpy.zeros((3, 2), "<f4"), "float32 (3, 2)"), (numpy.zeros(6, "<f4"), "float32 (6,)"),
    (numpy.zeros((2, 3, 1), "<f4"), "float32 (2, 3, 1)"),
    (numpy.zeros((2, 2), "<f4"), "float32 (2, 2)"), (numpy.zeros((2, 3), "<i4"), "int32 (2, 3)")])
def test_shapes_and_types(judge, other, described):
    array = numpy.zeros((2, 3), "<f4")
    assert judge(array, other, "1e9") == (
        1, f"verify: r.npy is float32 (2, 3), c.npy is {described}: "
           "expected the same type and shape\n")
    status, output = judge(other, array, "0 norm=bytes")
    assert status == 1 and output.endswith("expected the same type and shape\n")


def test_unreadable_files(judge, verify, tmp_path):
    array = F4([1, 2, 3])
    judge(array, array, "0")
    data = (tmp_path / "c.npy").read_bytes()
    for content, reason in ((data[:-1], "truncated (139 bytes): expected 140"),
                            (data + b"\0", "too long (141 bytes): expected 140"),
                            (b"", "not an .npy file")):
        (tmp_path / "c.npy").write_bytes(content)
        for paths in ("r.npy", "c.npy"), ("c.npy", "r.npy"):
            assert verify(*paths, "1") == (1, f"verify: c.npy: {reason}\n")
    assert verify("r.npy", "none.npy", "1") == (
        1, "verify: none.npy: No such file or directory\n")
    nothing = numpy.zeros((0, 3), "<f4")
    assert judge(nothing, nothing, "1") == (
        1, "verify: r.npy: no elements: expected at least one\n")


def test_arguments(judge, verify):
    array = F4([1, 2, 3])
    for bad in ("-1", "nan", "inf", "1x", "", "1 norm=l2", "1 nrom=max",
                "1 norm=", "1 0", "1e400", "1 norm=max norm=bytes"):
        status, output = judge(array, array, bad)
        assert status == 1 and output.startswith("verify: ") and output.count("\n") == 1
    assert verify("r.npy", "c.npy", "") == (
        1, "verify: budget=: expected a number, 0 or more\n")
    status, output = verify()
    assert status == 1 and "verify reference.npy candidate.npy budget" in output
    assert verify("help")[0] == verify("--help")[0] == 0
