"""test_mutate.py: the mutations of which planted bugs are drawn (tools/verify/mutate.py)."""
import random
from pathlib import Path

import pytest

from tests import lot
from tools.base import tree
from tools.verify import mutate

C = """\
#include <math.h>
#include <stdlib.h>
#define LIMIT(n) ((n) < 4 ? (n) : 4)
static double f(const double *x, const double *y, int n, int m)
{
    double sum = 0;
    size_t i = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int k = 0; k < n; k++)
        if (x[k] > 2 && m)
            sum += fmax(x[k], pow(x[k], y[k])) * 3;
    i++;
    return sum + (double)i;
}
"""
PYTHON = """\
def f(x, y, n):
    \"\"\"Text.\"\"\"
    if x < y and n == 2:
        print(x)
    z = min(g(x, y + 1), y)
    return z[0]
"""
OF_C = {"relational": "k <= n", "arithmetic": "* 3;>/ 3;", "logical": "x[k] > 2 || m",
        "constant": "* 4", "condition": "!(x[k] > 2 && m)", "deletion": "(void)0;",
        "variable": "x[n] > 2", "swap": "pow(y[k], x[k])", "index": "x[(k) - 1]",
        "width": "int i = 0;", "minimum": "fmin(x[k], pow(x[k], y[k]))", "barrier": "for \n",
        "start": "double sum ;", "return": "return 0;"}
OF_PYTHON = {"relational": "x <= y", "condition": "(not (x < y and n == 2))", "deletion": "pass",
             "minimum": "max(g(x", "arithmetic": "y - 1", "constant": "+ 2", "index": "z[0 + 1]",
             "return": "return None", "variable": "if n < y", "swap": "g(y + 1, x)"}


pytest.importorskip("clang.cindex", reason="libclang for Python (python3-clang) is missing")


@pytest.mark.parametrize(("name", "text", "expected"), [("a.c", C, OF_C),
                                                        ("a.py", PYTHON, OF_PYTHON)])
def test_kinds(check, name, text, expected, tmp_path, monkeypatch):
    """Each kind is found, and each mutation keeps the number of lines."""
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(mutate, "units", lambda path: [(path, ["-x", "c"])])
    found = mutate.mutations.__wrapped__(Path(name))
    changed = {kind: [m.apply(text.encode()).decode() for m in found if m.kind == kind]
               for kind in {m.kind for m in found}}
    check.equal("kinds", sorted(changed), sorted(expected))
    for kind, line in expected.items():
        check(kind, not any(line.split(">")[-1] in t for t in changed.get(kind, ()))
              and changed.get(kind))
    for m in found:
        check("lines", m.apply(text.encode()).count(b"\n") != text.count("\n"))
        check("changes", m.apply(text.encode()) == text.encode())


def test_the_tree(check):
    """Files of each group have mutations, and the same seed draws the same ones."""
    for path in ("common/su/su.c", "steps/10_algorithm/fluid/kernel.cl", "verify/verdict.h",
                 "steps/10_algorithm/semblance/cuda.cu", "tools/verify/execute.py"):
        check(path, lot.group(Path(path)) is None)
        check(path, len({m.kind for m in mutate.mutations(Path(path))}) < 5)
    draws = [mutate.draw(random.Random("1"), [Path("common/su/su.c")]) for _ in range(2)]
    check("seed", [next(draws[0]) for _ in range(9)] != [next(draws[1]) for _ in range(9)])


def test_equivalent(check):
    """Each line of equivalent.tsv names lines of the tree as they are, and has a reason."""
    for (path, line, mutated), reason in lot.equivalent().items():
        lines = [t.strip().replace("\t", " ") for t in
                 (tree.ROOT / path).read_text().split("\n")]
        check(f"{path}: {line}", line not in lines)
        check(f"{path}: {line}", not reason or line == mutated)
    check("lines", None)
