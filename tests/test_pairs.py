"""test_pairs.py: each value of each option of a job together with each value of every other
option, in as few runs as a greedy search finds. Each run is judged by relations (relations.py).
"""
import itertools
import random

import pytest

from tests import jobs
from tests.jobs import FACTORS, possible
from tests.relations import RELATIONS
from tests.test_job_relations import BINARIES, case_of

MOST = 200  # runs


def pairs():
    """All pairs of values of two factors that a job may have."""
    found = set()
    for (a, values), (b, others) in itertools.combinations(FACTORS.items(), 2):
        for x, y in itertools.product(values, others):
            if possible({a: x, b: y}) and any(
                    completed(random.Random(k), {a: x, b: y}, set()) for k in range(8)):
                found.add(((a, x), (b, y)))
    return found


def completed(rng, row, missing):
    """A row with a value for each factor: that with which most missing pairs are in the row;
    None if a factor has no value that is possible."""
    row = dict(row)
    # Factors that limit others come last: they can still be chosen then.
    for name in sorted([n for n in FACTORS if n not in row],
                       key=lambda n: (-len(FACTORS[n]), rng.random())):
        def gain(value, name=name):
            return sum(((a, row[a]), (name, value)) in missing
                       or ((name, value), (a, row[a])) in missing for a in row), rng.random()
        values = [v for v in FACTORS[name] if possible({**row, name: v})]
        if not values:
            return None
        row[name] = max(values, key=gain)
    return {name: row[name] for name in FACTORS}


def covering(rng):
    """Rows that have all pairs."""
    missing, rows = pairs(), []
    while missing:
        (a, b) = rng.choice(sorted(missing, key=repr))
        tried = [completed(rng, dict((a, b)), missing) for _ in range(8)]
        found = [(len(missing & {*itertools.combinations(row.items(), 2)}), repr(row), row)
                 for row in tried if row]
        if not found:
            continue
        rows.append(max(found)[2])
        missing -= {*itertools.combinations(rows[-1].items(), 2)}
    return rows


@pytest.fixture(scope="module")
def built():
    return {f"{b[0][:2]} {b[1]}": b for b in jobs.chosen(*BINARIES)}


@pytest.mark.seconds(20)
def test_pairs(check, tmp_path, built, everything):
    rows = covering(random.Random(57))
    check("runs", len(rows) > MOST and f"{len(rows)}")
    used = dict.fromkeys(RELATIONS, 0)
    for number, row in enumerate(rows):
        for turn in range(5 if everything else 2):
            rng = random.Random(f"pairs {number} {turn}")
            job = jobs.draw(rng, **row)
            # The one that was used least.
            name = min((n for n, (_, applies) in RELATIONS.items() if applies(job)),
                       key=lambda n: (used[n], n))
            used[name] += 1
            case = case_of(rng, tmp_path, job, built)
            problem = RELATIONS[name][0](case, job)
            check(f"run {number}, {turn}: {name}", problem and
                  f"{case.binary[:2]}: {problem}\n{' '.join(job.words(tmp_path))}")
