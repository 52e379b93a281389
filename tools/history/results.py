"""results.py - the tables of results/: one file a machine and kind, read and written whole.
"""
import csv
import os
from pathlib import Path

from tools.history import tree

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
            found[path.stem] = rows
    return found


def shown(machine):
    """A machine's name for people."""
    return machine.replace("-", " ")
