"""test_queries.py: random queries can be drawn, and drawing them again gives the same ones."""
import pytest

from tools.base import tree
from tools.verify import queries

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
