"""The table of results on the front page, from results/front/MACHINE.csv.

This command writes such a file: the times of the computation and of the whole process, from
one interleaved series on one machine.

    make bench STEP='00 08 09 10' BACKEND='seq omp ocl' RESULTS=results/front/MACHINE.csv
"""
from __future__ import annotations

from tools.history import results, tree
from tools.history.results import Row

ALGORITHM = "10"  # the step that avoids operations; earlier ones execute them faster
FRONT = results.FOLDER / "front"
HEAD = ["program", "step 00", "same algorithm: best step", "speedup", "whole process",
        "of the hardware limit", "better algorithm", "speedup", "whole process"]


def speedup(first: Row, row: Row, key: str) -> str:
    """How many times as fast as step 00 a row is, by one of its times."""
    ratio = float(first[key]) / float(row[key])
    return f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"


def cells(first: Row, row: Row | None, program: tree.Program,
          limit: bool) -> list[str]:
    """The cells of one step: its name, two speedups and, if asked for, the percentage."""
    if row is None:
        return ["not in this step", "", ""] + [""] * limit
    lesson = f"[{row['step'][:2]}](steps/{row['step']}/{program.name}/README.md) {row['backend']}"
    ceiling = f"{100 * float(row['of_ceiling']):.0f} % ({row['ceiling']})" \
        if row["of_ceiling"] else "not counted"
    return [lesson, speedup(first, row, "run_median"), speedup(first, row, "process_median")] \
        + [ceiling] * limit


def fastest(found: list[Row]) -> Row | None:
    return min(found, key=lambda r: float(r["run_median"])) if found else None


def table() -> str:
    """The Markdown table, or a sentence if nothing has been measured."""
    text = ""
    for path in sorted(FRONT.glob("*.csv")):
        lines = [HEAD, ["---"] * len(HEAD)]
        for program in tree.programs():
            rows = [r for r in results.read(path) if r["program"] == program.name
                    and r["set"] == program.shown]
            first = next((r for r in rows if r["backend"] == "seq"), None)
            if not first:
                continue
            same = [r for r in rows if r is not first and r["step"][:2] < ALGORITHM]
            better = [r for r in rows if r["step"][:2] == ALGORITHM]

            lines.append([f"[{program.name}](steps/{first['step']}/{program.name}/README.md)",
                          f"{float(first['run_median']):.2f} s",
                          *cells(first, fastest(same), program, True),
                          *cells(first, fastest(better), program, False)])
        text += f"{results.display_name(path.stem)}:\n\n" + \
            "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"
    return text or "Not measured yet.\n"
