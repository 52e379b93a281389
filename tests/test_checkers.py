"""test_checkers.py: every checker accepts the results of the first step, rejects each of them
after a small change, and counts the values that no result could violate."""
import numpy
import pytest

from tools.history import runs, tree
from tools.verify import execute, matrix


def largest_changed(values):
    """By 0.1 percent, or by 1."""
    at = numpy.argmax(abs(values))
    values.flat[at] = values.flat[at] * 1.001 if values.dtype.kind == "f" else values.flat[at] + 1
    return values


def weak_changed(values):
    """The median of the elements that are not 0 changes its sign, or by 1."""
    weak = numpy.argsort(abs(values), axis=None)[values.size - numpy.count_nonzero(values):]
    at = weak[len(weak) // 2]
    values.flat[at] = -values.flat[at] if values.dtype.kind == "f" else values.flat[at] + 1
    return values


def last_lost(values):
    values.flat[-1] = numpy.nan if values.dtype.kind == "f" else -1
    return values


CHANGES = {
    "largest element": largest_changed,
    "weak element": weak_changed,
    "last element": last_lost,
    "moved by one": lambda values: numpy.roll(values, 1),
    "type": lambda values: values.astype("<f4" if values.dtype == "<f8" else "<f8"),
    "one element less": lambda values: values[..., :-1],
}


@pytest.mark.parametrize("program", tree.programs(), ids=lambda program: program.name)
def test_changes(check, program, tmp_path):
    step, (case, words) = tree.steps()[0], next(iter(program.cases.items()))
    files = execute.produce(step, program, "seq", words, tmp_path)["files"]

    def judged(files):
        return runs.check(program, words, files, case, step.check_arguments(program))

    check("unchanged", not judged(files)["ok"] and judged(files)["reason"])
    for key, path in files.items():
        for name, change in CHANGES.items():
            values = numpy.load(path)
            if values.size > 1 or name != "moved by one":
                numpy.save(tmp_path / "changed.npy", change(values))
                changed = judged({**files, key: tmp_path / "changed.npy"})
                check(f"{key}, {name}", changed["ok"] and "is accepted")


def test_vacuous(check, tmp_path):
    """In a box of one column, a pressure solve leaves rounding errors of a velocity across it.
    Such a case proves nothing, so make verify rejects it."""
    (tmp_path / "still.txt").write_text("source 10 0\n")
    (tmp_path / "across.txt").write_text("force 0 225.472425 0 0\n")
    program = next(p for p in tree.programs() if p.name == "fluid")
    step, runs_of = tree.steps()[0], matrix.Matrix(program)
    for name, expected in (("still", True), ("across", False)):
        outcome = runs_of.run(step, "seq", name, [f"events={tmp_path / name}.txt", "n=1",
                                                  "nz=7", "steps=1", "visc=0"])
        check(name, outcome["ok"] != expected and (outcome["vacuous"], outcome["reason"]))
        check(f"{name}: counted", (outcome["vacuous"] <= execute.MAX_VACUOUS) != expected
              and outcome["vacuous"])
