"""test_checkers.py: every checker accepts the results of the first step, rejects each of them
after a small change, and counts the values that no result could violate.

By how much an element may change is known for some places in each output of each case:
tests/tolerances.tsv. A checker that permits 1.5 times as much, or not half of it, fails.
`python3 -m tests.test_checkers [CASE ..]` measures the table again, after a change of a budget.
"""
import random
import re
import sys
import tempfile
from pathlib import Path

import numpy
import pytest

from tests import helpers
from tests.helpers import ROOT, table
from tools.base import runs, tree
from tools.verify import execute, matrix, queries


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


def lost(part):
    """An element that was not written: at this part of the array."""
    def change(values):
        values.flat[int(part * (values.size - 1))] = numpy.nan if values.dtype.kind == "f" else -1
        return values
    return change


CHANGES = {
    "largest element": largest_changed,
    "weak element": weak_changed,
    "first element": lost(0),
    "an element that others follow": lost(0.5),
    "last element": lost(1),
    "moved by one": lambda values: numpy.roll(values, 1),
    "type": lambda values: values.astype("<f4" if values.dtype == "<f8" else "<f8"),
    "one element less": lambda values: values[..., :-1],
    "one element more": lambda values: numpy.concatenate((values, values[..., -1:]), axis=-1),
    "one axis more": lambda values: values[..., None],
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


# ---- how much may change --------------------------------------------------------------

# Boxes that are too large for budgets of the oracle have others.
MORE = {"fluid": {"large": "events={data}/stir.txt nx=50 ny=51 nz=52 steps=1",
                  "large_fixed": "events={data}/short.txt nx=50 ny=51 nz=52 steps=1 sweeps=20"}}
ORACLE = 1e-6  # by which the mean logarithm may differ from the table's
SMALLEST = 1e-32  # a tolerance below this fraction of the largest value: exact
# Cases whose checks take long.
LEFT_OUT = "default", "sky", "reach", "degrid", "nearest", "tall"


class Case:
    """A case of a program and its outputs, of the first step or of the last one."""

    def __init__(self, program, name, arguments, folder, last=False):
        having = [step for step in tree.steps() if step.has(program)]
        self.step = [s for s in having if s.number <= "10"][-1] if last else having[0]
        self.program, self.name, self.arguments, self.folder = program, name, arguments, folder
        self.outcome = execute.produce(self.step, program, "omp" if last else "seq", arguments,
                                       folder)
        assert self.outcome["ok"], self.outcome["reason"]
        self.files = self.outcome["files"]
        self.values = {key: numpy.load(path) for key, path in self.files.items()}

    def judged(self, key, place, change):
        """What the checker says if an element changes, or all by a fraction (place -1)."""
        values = self.values[key].copy()
        if place < 0:
            values *= 1 + change
        else:
            values.flat[place] += change
        numpy.save(self.folder / "changed.npy", values)
        return runs.check(self.program, self.arguments,
                          {**self.files, key: self.folder / "changed.npy"}, self.name,
                          self.step.check_arguments(self.program))

    def fingerprint(self):
        """Of the results and error budgets of the oracle: how many are not 0, and the mean of
        the logarithms of their magnitudes."""
        path = runs.oracle_path(self.program.checker(), self.program, self.name, self.arguments,
                                self.step.check_arguments(self.program))
        values = numpy.load(path)[1:]  # the first one is a digest
        logarithms = numpy.log(abs(values[numpy.isfinite(values) & (values != 0)]))
        return len(logarithms), float(logarithms.mean()) if len(logarithms) else 0.0

    def tolerance(self, key, place, sign):
        """The largest change that is accepted, within 5 percent."""
        size = abs(self.values[key]).max() if place >= 0 else 1
        low, high, change = 0.0, numpy.inf, sign * 1e-7 * size
        while not low or high > 1.05 * low:
            if self.judged(key, place, change)["ok"]:
                low = abs(change)
            else:
                high = abs(change)
            change = sign * (16 * low if high == numpy.inf else high / 16 if not low
                             else (low * high) ** 0.5)
            if not SMALLEST * size < abs(change) < 1e30 * size:
                break
        return sign * low


def cases_of(program):
    more = {name: program.arguments(text) for name, text in MORE.get(program.name, {}).items()}
    return {name: words for name, words in {**program.cases, **more}.items()
            if name not in LEFT_OUT}


def places_of(values):
    """The places of the largest, the median and a small element, of an element that is 0, of
    the last, and -1 for all."""
    order = numpy.argsort(abs(values), axis=None)
    zeros = values.size - numpy.count_nonzero(values)
    found = [order[-1], order[(zeros + values.size) // 2 - (zeros == values.size)],
             order[zeros + (values.size - zeros) // 9 - (zeros == values.size)],
             *order[zeros // 2:zeros // 2 + (zeros > 0)], values.size - 1,
             *[-1] * (zeros < values.size)]
    return sorted({int(place) for place in found} if values.size > 3 else range(values.size))


TOLERANCES = table("tolerances.tsv")
PROGRAMS = [p for p in tree.programs() if p.name != "sandpile"]  # which has whole numbers


@pytest.mark.seconds(10)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_tolerances(check, program, tmp_path):
    if program.name == "fletcher" and "-march=" not in (tree.build() / "flags").read_text():
        pytest.skip("budgets of fletcher: measured with AVX2")
    for name, arguments in cases_of(program).items():
        rows = [(key, *pair.split(":")) for _, *of, key, pairs in TOLERANCES
                for pair in pairs.split() if of == [program.name, name]]
        check(f"{name}: in the table", not rows and f"python3 -m tests.test_checkers {name}")
        case = Case(program, name, arguments, tmp_path / name)
        for key, place, text in rows:
            if key == "oracle":
                count, mean = case.fingerprint()
                check(f"{name}: the oracle",
                      (count != int(place) or abs(mean - float(text)) > ORACLE)
                      and f"{count} values, mean logarithm {mean}: expected {place}, {text}")
                continue
            known, largest = float(text), abs(case.values[key]).max()
            if abs(known) > largest and int(place) >= 0:
                check(f"{name} {key} {place}: counted as vacuous",
                      case.judged(key, int(place), 0)["vacuous"] == 0)
            for factor, good in ((0.5, True), (1.5, False)):
                change = known * factor or (largest or 1) * (0 if good else 1e-7)
                found = case.judged(key, int(place), change)
                check(f"{name} {key} {place}: changed by {change:.3g}",
                      found["ok"] != good and found["reason"])


@pytest.mark.seconds(5)
@pytest.mark.parametrize("program", tree.programs()[1:], ids=lambda program: program.name)
def test_drawn_places(check, program, tmp_path, everything):
    """Elements of the outputs of random queries cannot become twice the largest value, unless
    values were counted as vacuous."""
    seed = helpers.seed("RELATIONS_SEED")
    rng = random.Random(seed)
    print(f"seed {seed}")
    for number in range(30 if everything else 4):
        query = queries.drawn(program, f"places {seed}", number, tmp_path / f"{number}")
        if not query.has("seq") or queries.refusal(program, query.arguments, tree.steps()[0],
                                                   "seq"):
            continue
        name = f"places-{seed}-{number}"
        case = Case(program, name, query.arguments, tmp_path / f"{number}" / "out")
        for key, values in case.values.items():
            if key == "counts" and "rule=async" in query.arguments:
                continue  # several numbers of sweeps are right
            for place in {rng.randrange(values.size) for _ in range(4)}:
                change = 1 if values.dtype.kind == "i" else \
                    rng.choice((-1, 1)) * (2 * float(abs(values).max()) or 1)
                found = case.judged(key, place, change)
                check(f"{' '.join(query.arguments)}: {key} {place} changed by {change:.3g}",
                      found["ok"] and not found["vacuous"] and "is accepted")
        for path in (tree.build() / "oracle" / program.name).glob(f"{name}-*"):
            path.unlink()


# A small query of each program, and other values of its keys: with as many results.
OTHER_QUERIES = {
    "semblance": ("in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,2 "
                  "b=-0.00032,-0.00008,3 c=4e-7,9e-7,2 d=1e-7,5e-7,2 e=0,3e-7,3",
                  "in={data}/awkward.su m0=4121 h0=-481 t0=0.604 tau=0.012 a=-0.00003,0.00026,2 "
                  "b=-0.00032,-0.00009,3 c=3e-7,9e-7,2 d=1e-7,6e-7,2 d=1e-7,5e-7,3 e=0,4e-7,3"),
    "fletcher": ("form=TTI nx=5 ny=8 nz=6 absorb=2 dx=12.5 dy=11 dz=10 dt=0.001 tmax=0.006",
                 "form=VTI absorb=3 dx=12 dy=12 dz=11 dt=0.0009 tmax=0.007 vpz=3001 sigma=0.6 "
                 "epsilon=0.2 delta=0.05 theta=0.3 phi=0.3"),
    "fluid": ("events={data}/tiny.txt nx=6 ny=5 nz=4 sweeps=3 steps=2",
              "events={data}/short.txt sweeps=4 steps=3 dt=0.06 visc=0.01 diff=0.01 "
              "compat=minho"),
    "sandpile": ("config=alea dim=12 batch=2 seed=3 max_iterations=5",
                 "config=big seed=4 max_iterations=6"),
    "gridding": ("uv=random visibilities=200 grid=64 support=4 oversampling=3 planes=3 cell=80",
                 "support=5 oversampling=5 planes=5 cell=70 kernel=integer visibilities=201 "
                 "precision=double uv=earth baseline=900")}
SWAPPED = {"fletcher": ("nx=8 ny=5", "ny=6 nz=8"), "fluid": ("nx=5 ny=6", "ny=4 nz=5")}


@pytest.mark.seconds(10)
@pytest.mark.parametrize("name", OTHER_QUERIES)
def test_file_of_another_query(check, tmp_path, name):
    """The oracle's file of a query is refused with each other query, or has the same values."""
    program = helpers.program_named(name)
    words, others = (text.replace("{data}", str(tree.build() / "data" / name)).split()
                     for text in OTHER_QUERIES[name])
    having = next(s for s in tree.steps() if s.has(program))

    def oracle(arguments, path):
        return helpers.run([program.checker(), *arguments, *having.check_arguments(program),
                            f"oracle={path}"], tmp_path)
    first = tmp_path / "first.npy"
    ended = oracle(words, first)
    check("written", not first.exists() and ended.stderr)
    for change in [[word] for word in others] + [text.split() for text in SWAPPED.get(name, ())]:
        keys = [word.split("=")[0] for word in change]
        query = [w for w in words if w.split("=")[0] not in keys] + change
        ended = oracle(query, first)
        if re.search("belongs to another query|is not", ended.stderr):
            continue
        own = tmp_path / "own.npy"
        own.unlink(missing_ok=True)
        told = oracle(query, own)
        check(f"{' '.join(change)}", not own.exists() and told.stderr[-200:]
              or own.exists() and own.read_bytes() != first.read_bytes() and "is accepted")


def main():
    """Measures the table, or the cases that are named."""
    lines = ["# The largest change of an output of the first step that its checker accepts:",
             "# program, case, output, place:change of some places (-1: all by this fraction).",
             "# oracle: the number of its values that are not 0:their mean logarithm."]
    rng = random.Random(1)
    for program in PROGRAMS:
        for name, arguments in cases_of(program).items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                lines += ["\t".join(row[1:]) for row in TOLERANCES
                          if row[1:3] == (program.name, name)]
                continue
            with tempfile.TemporaryDirectory() as folder:
                case = Case(program, name, arguments, Path(folder))
                for key, values in case.values.items():
                    changes = {place: case.tolerance(key, place, rng.choice((-1, 1)))
                               for place in places_of(values)}
                    lines.append(f"{program.name}\t{name}\t{key}\t"
                                 + " ".join(f"{p}:{c:.3g}" for p, c in changes.items()))
                    print(lines[-1], flush=True)
                count, mean = case.fingerprint()
                lines.append(f"{program.name}\t{name}\toracle\t{count}:{mean:.9g}")
    Path(ROOT, "tests", "tolerances.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
