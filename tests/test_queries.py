"""test_queries.py: random queries can be drawn, drawing them again gives the same ones, and each
number that a program prints is judged.
"""
import math

import pytest

from tools.base import tree
from tools.verify import execute, queries

PROGRAMS = {p.name: p for p in tree.programs()}
# (program, seed, number) of queries that could not be drawn once.
FAILED = [("fluid", "newL10", 24)]  # a growth beyond the largest double


@pytest.mark.parametrize(("program", "seed", "number"), FAILED)
def test_failed_once(program, seed, number, tmp_path):
    assert queries.drawn(PROGRAMS[program], seed, number, tmp_path).arguments


@pytest.mark.seconds(5)
@pytest.mark.parametrize("program", PROGRAMS)
def test_draw(check, program, tmp_path):
    for number in range(150):
        first, again = (queries.drawn(PROGRAMS[program], "draw", number, tmp_path / "data")
                        for _ in range(2))
        check(f"query {number}", first != again and f"{first}, drawn again {again}")


# Times that no other number determines.
FREE = {"Time_init", "Time_kernel", "Time_image"}
FREE_OF = {"semblance": {"Time_run"}}
CHECKED_ONCE = "snapshots=", "picture=", "movie=", "trace="  # which removes their files
ENOUGH = 4


def other(text):
    """A printed number that is wrong by 1, or by 1 percent."""
    return str(int(text) + 1) if text.lstrip("-").isdigit() else \
        f"{float(text) * 1.01 or 0.01:.9g}"


@pytest.mark.seconds(3)
@pytest.mark.parametrize("program", PROGRAMS)
def test_printed_numbers(check, program, tmp_path):
    """A number that is missing or wrong is noticed."""
    step = next(s for s in tree.steps() if s.has(PROGRAMS[program]))
    backend, judged = step.backends(PROGRAMS[program])[0], 0
    for number in range(40):
        query = queries.drawn(PROGRAMS[program], "printed", number, tmp_path / "data")
        if judged == ENOUGH or not query.has(backend) or \
                any(a.startswith(CHECKED_ONCE) for a in query.arguments):
            continue
        ended = execute.produce(step, PROGRAMS[program], backend, query.arguments,
                                tmp_path / str(number), env=query.env)
        printed = ended["result"].values()
        if ended.get("refused") or any(math.isnan(float(x)) for x in printed.values()):
            continue
        judged += 1

        def wrong(values, query=query, files=ended["files"]):
            return execute.wrong_output(PROGRAMS[program], query.arguments, values, files, math.inf)

        check(f"query {number}", ended["reason"] or wrong(printed))
        for key, text in printed.items():
            rest = {k: v for k, v in printed.items() if k != key}
            check(f"query {number}: no {key}", not wrong(rest) and "is accepted")
            if key not in FREE | FREE_OF.get(program, set()):
                changed = {**printed, key: other(text)}
                check(f"query {number}: {key}={changed[key]}",
                      not wrong(changed) and f"is accepted instead of {text}")
    check.equal("queries", judged, ENOUGH)
