"""results.py - the tables of results/: one file a machine and kind, read and written whole.
"""
import csv
import os
from pathlib import Path

from tools.history import tree, verdict

FOLDER = Path(os.environ.get("RESULTS_DIR") or tree.ROOT / "results")


def read(path):
    """Its rows as dicts; lines that start with # are comments."""
    with path.open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def write(path, columns, rows, comment=""):
    """A table as a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as f:
        f.write(comment)
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)


def replace(path, columns, rows, key):
    """Writes rows into a file, in the place of those with the same key(row). What an
    older file has no column for stays empty, and its columns that are none any more go."""
    fresh = {key(r) for r in rows}
    kept = [{c: r.get(c, "") for c in columns} for r in read(path)
            if key(r) not in fresh] if path.exists() else []
    write(path, columns, sorted(kept + rows, key=key))


def measured():
    """{machine: rows} of all that make bench wrote, in the order of their names."""
    found = {}
    for path in sorted(FOLDER.glob("*.csv")):
        rows = read(path)
        if rows and "over_previous" in rows[0]:
            strange(path, rows)
            found[path.stem] = rows
    return found


def strange(path, rows):
    """Ends with a line about the first thing in a table that would not be shown right."""
    allowed = {"backend": tree.BACKENDS, "program": [p.name for p in tree.programs()],
               **dict.fromkeys(("over_previous_is", "over_first_is"),
                               (*verdict.WORDS, ""))}
    for column, words in allowed.items():
        if column not in rows[0]:
            raise SystemExit(f"{path}: no column {column}: it was written by an older "
                             f"make bench")
        for row in rows:
            if row[column] not in words:
                raise SystemExit(f"{path}: {column} {row[column]!r}: expected one of "
                                 f"{', '.join(filter(None, words))}")


def shown(machine):
    """A machine's name for people."""
    return machine.replace("-", " ")
