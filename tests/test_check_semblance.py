"""test_check_semblance.py: does build/semblance-check refuse what it should?

A right result is taken from the sequential search and changed in one place at a time.
Needs the binary of step 00, the checker and the data. Left out: whether the search
itself is right; that is what make verify and make mutants ask.
"""
import os

import pytest

from tests.helpers import BUILD, program_named, read_npy, run, trace, write_npy

CHECKER = os.path.join(BUILD, "semblance-check")
SEARCH = os.path.join(BUILD, "00_sequential", "semblance-seq")
NAMES = ("A", "B", "C", "D", "E", "stack", "semblance")


class Query:
    """A query, its right result and panel, and what the checker says of others."""

    def __init__(self, words, folder, name, truth=None):
        self.words, self.folder, self.name = words, folder, name
        self.truth = [f"truth={truth}"] if truth else []
        self.ranges = [[float(v) for v in w[2:].split(",")] for key in "abcde"
                       for w in words if w.startswith(key + "=")]
        result, panel = self.path("result"), self.path("panel")
        ended = run([SEARCH, *words, f"out={result}", f"panel={panel}"], folder)
        if ended.returncode:
            raise SystemExit(f"{SEARCH}: {ended.stderr}")
        (_, self.result), (self.shape, self.panel) = read_npy(result), read_npy(panel)

    def path(self, what):
        return os.path.join(self.folder, f"{self.name}-{what}.npy")

    def check(self, result=None, panel=None, shape=None, words=None, oracle=None):
        result = self.result if result is None else result
        panel = self.panel if panel is None else panel
        write_npy(self.path("result"), [len(result)], result)
        write_npy(self.path("panel"), shape or self.shape, panel)
        return run([CHECKER, *(words or self.words),
                    f"oracle={oracle or self.path('oracle')}", *self.truth,
                    f"result={self.path('result')}", f"panel={self.path('panel')}"],
                   self.folder)


def passes(ended):
    """What is wrong with an ended checker that should have passed, or nothing."""
    said = dict(line.split("=", 1) for line in ended.stdout.splitlines())
    if ended.returncode or said.get("verdict") != "ok":
        return f"{ended.stderr}{said}"
    return None if 0 <= float(said["share"]) < 100 else f"share={said['share']}"


def fails(ended, word):
    """The same of one that should have failed, with word in its reason."""
    verdict = ended.stdout.splitlines()[-1:] or [""]
    if ended.returncode != 1 or not verdict[0].startswith("verdict=FAIL"):
        return f"exit {ended.returncode}, {verdict[0]} {ended.stderr}"
    return None if word in verdict[0] else f"{verdict[0]}: expected {word}"


def refuses(ended, word):
    """The same of one that should not have come to a verdict: one line on stderr."""
    lines = ended.stderr.splitlines()
    if ended.returncode != 1 or len(lines) != 1 or "verdict" in ended.stdout:
        return f"exit {ended.returncode}: {ended.stdout} {ended.stderr}"
    return None if word in lines[0] else f"{lines[0]}: expected {word}"


def changed(values, at, value):
    return values[:at] + [value] + values[at + 1:]


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    """A query with its truth, and another one."""
    folder, program = str(tmp_path_factory.mktemp("checker")), program_named("semblance")
    case = program.cases["small"]
    return (Query(case, folder, "small", truth=case[0][3:] + ".truth"),
            Query(program.cases["outside"], folder, "outside"))


@pytest.fixture
def q(queries):
    return queries[0]


@pytest.fixture
def other(queries):
    return queries[1]


def test_result(check, q):
    check("a right result", passes(q.check()))
    check("again, from the oracle that was kept", passes(q.check()))
    for k, (p0, p1, n) in enumerate(q.ranges):
        name, v, step = NAMES[k], q.result[k], (p1 - p0) / n
        for what, to, word in (("off the grid", v + 0.1 * step, "of its grid"),
                               ("the next value", v + step, "in double"),
                               ("below the range", p0 - step, "expected 0 to"),
                               ("the range's end", p1, "expected 0 to")):
            spoiled = q.check(changed(q.result, k, to))
            check(f"{name} {what}", fails(spoiled, word))
    for k in (5, 6):
        for d in (-5e-5, 5e-5):
            check(f"{NAMES[k]} {d:+g}",
                        fails(q.check(changed(q.result, k, q.result[k] + d)), NAMES[k]))
    for k, name in enumerate(NAMES):
        for bad in (float("nan"), float("inf")):
            spoiled = q.check(changed(q.result, k, bad))
            check(f"{name} {bad}", fails(spoiled, f"number {k + 1} of 7"))
    check("six numbers", fails(q.check(q.result[:6]), "7 numbers"))


def test_lesser_maximum(check, q, tmp_path):
    """A point that scores as it says, but is not the best there is."""
    p0, p1, _ = q.ranges[2]
    words = [w for w in q.words if not w.startswith("c=")]
    part = Query([*words, f"c={p0!r},{p1!r},1"], q.folder, "part")  # only C = p0
    check("not the best", fails(q.check(part.result), "the best"))


@pytest.mark.parametrize("best", range(3))
def test_lesser_maximum_of_each_cell(check, q, best):
    """The same, whichever of three cells has the best point."""
    p0, p1, n = q.ranges[0]
    a, b, step = q.result[0], q.result[1], (p1 - p0) / n
    values = [a + (k - best) * step for k in range(3)]
    words = [w for w in q.words if w[:2] not in ("a=", "b=")] + [f"b={b!r},{b!r},1"]
    whole = Query([*words, f"a={values[0]!r},{values[0] + 3 * step!r},3"], q.folder,
                  f"whole{best}")
    second = values[sorted(range(3), key=lambda k: whole.panel[k])[1]]
    part = Query([*words, f"a={second!r},{second!r},1"], q.folder, "part")
    check("its place", abs(whole.result[0] - a) > step / 9 and f"{whole.result}")
    check("the best", passes(whole.check()))
    check("the second best", fails(whole.check(part.result), "the best"))


def test_panel(check, q):
    na, nb = q.shape
    for at in (0, na * nb // 2, na * nb - 1):
        for to in (q.panel[at] + 2e-5, q.panel[at] - 2e-5, float("nan"), float("inf")):
            check(f"panel[{at}] {to:.9g}",
                        fails(q.check(panel=changed(q.panel, at, to)),
                              f"panel[{at // nb}][{at % nb}]"))
    for shape, values in (((nb, na), q.panel), ((na * nb,), q.panel),
                          ((na - 1, nb), q.panel[nb:])):
        spoiled = q.check(panel=values, shape=shape)
        check(f"panel {shape}", fails(spoiled, "shape"))
    turned = [q.panel[b * nb + a] for a in range(nb) for b in range(na)]
    if na != nb:
        check("panel turned", fails(q.check(panel=turned), "panel["))


def test_truth(check, q, tmp_path):
    """Events that are not in the data, or not where the search found them."""
    with open(q.truth[0][len("truth="):], encoding="utf-8") as file:
        event = [float(v) for v in file.readline().split()]
    right = q.truth
    for name, at, to, word in (
            ("an event that is not there", 2, event[2] + 0.0003, "expected 0.99"),
            ("an event of another curvature", 3, 9e-6, "expected 0.99"),
            ("another t0", 0, 9, None)):
        path = os.path.join(tmp_path, "wrong.truth")
        with open(path, "w", encoding="utf-8") as file:
            print(*changed(event, at, to), file=file)
        q.truth = [f"truth={path}"]
        check(name, fails(q.check(), word) if word else passes(q.check()))
    q.truth = [f"truth={tmp_path}/none"]
    check("no truth file", refuses(q.check(), "truth="))
    q.truth = right


def test_files(check, q, other, tmp_path):
    for key in ("result", "panel"):
        ended = run([CHECKER, *q.words, f"oracle={q.path('oracle')}",
                     f"{key}={tmp_path}/none.npy"], tmp_path)
        check(f"no {key}", refuses(ended, f"{key}={tmp_path}/none.npy: "))
    text = os.path.join(tmp_path, "text.npy")
    with open(text, "w", encoding="utf-8") as file:
        print("not an array", file=file)
    check("not .npy", refuses(q.check(oracle=text), "oracle="))
    check("no oracle=", refuses(run([CHECKER, *q.words], tmp_path), "oracle="))
    check("one trace outside", passes(other.check()))
    check("another's oracle", refuses(q.check(oracle=other.path("oracle")),
                                            "another query"))
    for old, new in (("tau=0.008", "tau=0.004"), ("t0=0.6", "t0=0.604"),
                     ("d=1e-7", "d=2e-7")):
        words = [w.replace(old, new) for w in q.words]
        assert words != q.words, old
        check(f"the oracle of {old}, {new} asked",
                    refuses(q.check(words=words), "another query"))
    data = os.path.join(tmp_path, "changed.su")
    with open(q.words[0][3:], "rb") as file:
        raw = bytearray(file.read())
    raw[240 + 4 * 100 + 1] ^= 1  # a sample's low bits
    with open(data, "wb") as file:
        file.write(raw)
    check("other traces", refuses(q.check(words=[f"in={data}", *q.words[1:]]),
                                        "another query"))


def test_edge(check, tmp_path):
    """All windows end where the traces do, x = ns - 1: in float each may be used or
    not, and every panel from 0 to what the best choice scores is right. Half a sample
    earlier only one is."""
    data = os.path.join(tmp_path, "edge.su")
    with open(data, "wb") as file:
        for i in range(4):
            file.write(trace([1 + 0.1 * i] * 11))
    one = [f"{key}=0,0,1" for key in "abcde"]
    words = [f"in={data}", "axis=y", "m0=0", "h0=0", "tau=0", *one]
    samples = [1 + 0.1 * i for i in range(4)]

    def semblance(of):
        return sum(of) ** 2 / sum(s * s for s in of) / len(of)

    used = [0, 0, 0, 0, 0, sum(samples) / 4, semblance(samples)]
    skipped = [0] * 7
    highest = max(semblance(samples[:i] + samples[i + 1:]) for i in range(4))
    for t0, result, right in (("0.04", used, True), ("0.04", skipped, True),
                              ("0.038", used, True), ("0.038", skipped, False)):
        q = Query([*words, f"t0={t0}"], tmp_path, f"edge{t0}")
        ended = q.check(result, [result[6]], (1, 1))
        check(f"edge t0={t0} semblance {result[6]:g}",
                    passes(ended) if right else fails(ended, "semblance"))
    q = Query([*words, "t0=0.04"], tmp_path, "edge")
    ended = q.check(changed(used, 6, 0.5), [0.5], (1, 1))
    check("edge, a semblance of no choice", fails(ended, "semblance"))
    check("edge, one skipped", passes(q.check(used, [highest], (1, 1))))
    ended = q.check(used, [highest + 2e-5], (1, 1))
    check("edge, a panel above all choices", fails(ended, "panel[0][0]"))
