"""pairwise.py: lists of option values in which each pair of values of two options occurs."""
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

Row = dict[str, Any]


def pairwise(options: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Rows {option: value} in which each pair of values of two options occurs at least once.

    Each row begins with a pair that no earlier row has. The other options follow in order, each
    with the value that completes the most pairs that are still missing; of equal values, with
    the one that occurred least. The same options give the same rows."""
    keys = list(options)
    missing = {(a, i, b, j) for a, b in combinations(keys, 2)
               for i in range(len(options[a])) for j in range(len(options[b]))}
    used = {(key, i): 0 for key in keys for i in range(len(options[key]))}
    rows = []

    def pair(a: str, i: int, b: str, j: int) -> tuple[str, int, str, int]:
        return (a, i, b, j) if keys.index(a) < keys.index(b) else (b, j, a, i)

    while missing:
        a, i, b, j = min(missing, key=lambda p: (keys.index(p[0]), p[1], keys.index(p[2]), p[3]))
        row = {a: i, b: j}
        for key in keys:
            if key not in row:
                row[key] = max(range(len(options[key])), key=lambda v: (
                    sum(pair(key, v, *other) in missing for other in row.items()),
                    -used[key, v], -v))
        missing -= {pair(*x, *y) for x, y in combinations(row.items(), 2)}
        for at in row.items():
            used[at] += 1
        rows.append({key: options[key][row[key]] for key in keys})
    return rows
