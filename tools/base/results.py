"""results.py - the tables of results/: one CSV file per machine and kind."""
from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools.base import tree, verdict

FOLDER = Path(os.environ.get("RESULTS_DIR") or tree.ROOT / "results")
Row = dict[str, Any]

# The values of a column `mark`, which say what is unusual about a measurement.
MARKS = {
    "busy": "in each of three attempts, other processes took more than a tenth of the CPU time "
            "in use",
    "few": "fewer than 15 repetitions count, because the others had too little CPU time",
    "slower": "even the upper end of the interval is below 0.95 times the speed of the step before",
    "quick": "measured with `QUICK=1`, with fewer repetitions",
    "earlier": "measured with an earlier form of the step; the present code has not run on "
               "this machine",
    "SUSPICIOUS": "faster than the measured peak of the machine permits"}


def read(path: Path) -> list[Row]:
    """The rows of a table, none if there is no file; lines that start with # are comments."""
    return [dict(row) for row in rows_of(path, path.stat().st_mtime_ns)] if path.exists() else []


@cache
def rows_of(path: Path, changed: int) -> list[Row]:
    """The rows of a table that was last changed at this time: pages read a table many times."""
    with path.open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def write(path: Path, columns: Sequence[str], rows: Iterable[Row], comment: str = "") -> None:
    """Writes a table to a temporary file, which then replaces the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as f:
        f.write(comment)
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)


def replace(path: Path, columns: Sequence[str], rows: list[Row],
            key: Callable[[Row], Any], order: Callable[[Row], Any] | None = None) -> None:
    """Writes rows into a file, replacing those with the same key(row), sorted by order(row)
    or else the key. Columns that an older file lacks stay empty; columns that no longer
    exist are dropped."""
    fresh = {key(r) for r in rows}
    kept = [{c: r.get(c, "") for c in columns} for r in read(path) if key(r) not in fresh]
    write(path, columns, sorted(kept + rows, key=order or key))


def of_kind(kind: str) -> dict[str, list[Row]]:
    """{machine: rows} of the tables of a kind, such as flags, sorted by name."""
    return {path.stem.removesuffix(f"-{kind}"): read(path)
            for path in sorted(FOLDER.glob(f"*-{kind}.csv"))}


def is_rung(row: Row) -> bool:
    """Whether a row is about a rung (05.3), not about a step or a variant."""
    return "." in row.get("step", "").partition("/")[0]


def measured(with_rungs: bool = False) -> dict[str, list[Row]]:
    """{machine: rows} of all tables that make bench wrote, sorted by name: rows of steps and
    variants, and, if wanted, of rungs (05.3)."""
    found = {}
    for path in sorted(FOLDER.glob("*.csv")):
        rows = [r for r in read(path)
                if with_rungs or not is_rung(r)]
        if rows and "over_previous" in rows[0]:
            check(path, rows)
            found[path.stem] = rows
    return found


def check(path: Path, rows: Sequence[Row]) -> None:
    """Ends with a message about the first value of a table that cannot be shown."""
    ratios = ("over_previous_is", "over_first_is")
    allowed: dict[str, Sequence[str]] = {
        "backend": list(tree.BACKENDS), "program": [p.name for p in tree.programs()],
        **dict.fromkeys(ratios, (*verdict.WORDS, ""))}
    for column, words in allowed.items():
        if column not in rows[0]:
            raise SystemExit(f"{path}: no column {column}: expected a table of this version "
                             "of make bench")
        for row in rows:
            if row[column] not in words:
                raise SystemExit(f"{path}: {column}: unknown ({row[column]}): expected one of "
                                 f"{', '.join(filter(None, words))}")


@cache
def processors() -> list[list[str]]:
    """(maker, family, model, name) of processors."""
    path = FOLDER / "processors.tsv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.split("\t") for line in lines if not line.startswith("#")]


def display_name(machine: str) -> str:
    """A machine's name for people."""
    found = re.fullmatch(
        r"(\w+)-.*-family-(\w+)-model-(\w+)-(\d+)-cores(?:-(\w+))?", machine)
    if found:
        for maker, family, model, name in processors():
            if (maker, family, model) == found.groups()[:3]:
                return f"{name}, {found[4]} cores" + (f", {found[5]} only" if found[5] else "")
    return machine.replace("-R-", "-").replace("-", " ")


@cache
def reference() -> Mapping[str, str]:
    """{"cpu": machine, "gpu": machine}, whose numbers the pages show."""
    path = FOLDER / "reference"
    return tree.read_mk(path) if path.exists() else {}


def shown(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Those of some tables that a page shows: of the reference machines, or, if these were not
    measured, of all."""
    found = {m: tables[m] for m in reference().values() if m in tables}
    return found or dict(tables)


def elsewhere(machine: str) -> str:
    """Why a page shows a machine that is no reference; nothing if it is one."""
    return "" if machine in reference().values() else " (not measured on the reference machine)"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
