"""The tables of results on the front page.

The first one has the best step that executes the operations of step 00, and the step that avoids
operations, with the speedup of the computation and the speedup with initialization. If
results/front/MACHINE.csv exists, it has the whole process in place of the initialization.
This command writes such a file, in one interleaved series on one machine:

    make bench STEP='00 08 09 10' BACKEND='seq omp ocl' RESULTS=results/front/MACHINE.csv

The second one compares with public codes, from the files that make race writes.
"""
from __future__ import annotations

from tools.history import results, tree
from tools.history.results import Row

ALGORITHM = "10"  # the step that avoids operations; earlier ones execute them faster
FRONT = results.FOLDER / "front"
LIMITS = {"fma": "arithmetic", "integer": "arithmetic", "dram": "memory", "l1": "first-level cache",
          "l2": "second-level cache", "l3": "third-level cache"}


def head(other: str) -> list[str]:
    """The names of the columns; other is what the second time is called."""
    return ["program", "step 00", "same algorithm: best step", "speedup", other,
            "of the hardware limit", "better algorithm", "speedup", other]


def seconds(row: Row, key: str) -> float:
    """The median time of the computation ("run"), or of that and everything else."""
    if key == "run":
        return float(row["run_median"])
    if row.get("process_median"):
        return float(row["process_median"])
    return float(row["init_mean"]) + float(row["run_median"])


def speedup(first: Row, row: Row, key: str) -> str:
    """How many times as fast as step 00 a row is, by one of its times. The two rows may be of
    different series, between which the machine's speed changes. Therefore the row's times are
    scaled such that the ratio of the computations is the one of an interleaved series."""
    computation = float(row["over_first"])
    scale = seconds(first, "run") / computation / seconds(row, "run")
    ratio = seconds(first, key) / (scale * seconds(row, key))
    return f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"


def cells(first: Row, row: Row | None, program: tree.Program,
          limit: bool) -> list[str]:
    """The cells of one step: its name, two speedups and, if asked for, the percentage."""
    if row is None:
        return ["not measured yet", "", ""] + [""] * limit
    lesson = f"[{row['step'][:2]}](steps/{row['step']}/{program.name}/README.md) {row['backend']}"
    ceiling = f"{100 * float(row['of_ceiling']):.0f} % ({LIMITS[row['ceiling']]})" \
        if row["of_ceiling"] else "not counted"
    return [lesson, speedup(first, row, "run"), speedup(first, row, "other")] \
        + [ceiling] * limit


def fastest(found: list[Row]) -> Row | None:
    compared = [r for r in found if r["over_first"]]
    return max(compared, key=lambda r: float(r["over_first"])) if compared else None


def table() -> str:
    """The Markdown table, or a sentence if nothing has been measured."""
    tables = {path.stem: results.read(path) for path in sorted(FRONT.glob("*.csv"))
              if not path.stem.endswith("-aa")}
    text = ""
    for machine, measured in (tables or results.measured()).items():
        other = "whole process" if tables else "with initialization"
        lines = [head(other), ["---"] * len(head(other))]
        for program in tree.programs():
            rows = [r for r in measured if r["program"] == program.name
                    and r["set"] == program.shown and "/" not in r["step"]]
            first = next((r for r in rows if r["backend"] == "seq"), None)
            if not first:
                continue
            same = [r for r in rows if r is not first and r["step"][:2] < ALGORITHM]
            better = [r for r in rows if r["step"][:2] == ALGORITHM]

            lines.append([f"[{program.name}](steps/{first['step']}/{program.name}/README.md)",
                          f"{float(first['run_median']):.2f} s",
                          *cells(first, fastest(same), program, True),
                          *cells(first, fastest(better), program, False)])
        text += f"{results.display_name(machine)}:\n\n" + \
            "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"
    return text or "Not measured yet.\n"


def race_cells(rows: list[Row]) -> list[str]:
    """The fastest of our rows in a race: the step, its time, and its ratio with the interval."""
    if not rows:
        return ["-", "", ""]
    row = max(rows, key=lambda r: float(r["ratio"]))
    return [row["ours"], f"{float(row['seconds']):.3g} s",
            f"{float(row['ratio']):.3g} ({float(row['low']):.3g} to {float(row['high']):.3g})"]


def races() -> str:
    """The Markdown table of the public codes, or a sentence if none was raced."""
    text = ""
    head = ["program", "public code", "set", "its time", "same algorithm: best step", "time",
            "times as fast", "better algorithm", "time", "times as fast"]
    for path in sorted(results.FOLDER.glob("*-race.csv")):
        measured = results.read(path)
        lines = [head, ["---"] * len(head)]
        order = [p.name for p in tree.programs()]
        for name, size in sorted({(r["program"], r["set"]) for r in measured},
                                 key=lambda pair: (order.index(pair[0]), pair[1])):
            rows = [r for r in measured if (r["program"], r["set"]) == (name, size)]
            code = rows[0]["public"].split()[0].strip(",")
            better = [r for r in rows if r["ours"].startswith(ALGORITHM)]
            lines.append([name, f"[{code}](https://github.com/{code})", size,
                          f"{float(rows[0]['public_seconds']):.3g} s",
                          *race_cells([r for r in rows if r not in better]),
                          *race_cells(better)])
        text += f"{results.display_name(path.stem.removesuffix('-race'))}:\n\n" + \
            "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"
    return text or "Not measured yet: `make race PROGRAM=fluid PEER=CHECKOUT` measures it.\n"
