"""papers_page.py - docs/papers.md: the papers' tables and figures, with our numbers.

Each figure of tools/publish/papers/PROGRAM.figures is a table here, of the rows that make
papers has written to results/papers/MACHINE.csv, next to what the paper gives. Figures that
show one run from within have no rows: make papers draws them.
"""
from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from tools.history import results
from tools.history.results import Row, table
from tools.history.tree import Program
from tools.publish.papers_form import Figure, read_figures

FORMS = Path(__file__).resolve().parent / "papers"
FOLDER = results.FOLDER / "papers"
COLUMN = {"speedup": "speedup", "rate": "rate_mean", "seconds": "run_mean"}


def digits(value: float) -> str:
    """Three digits, without an exponent if the number is large."""
    rounded = f"{value:.3g}"
    return f"{float(rounded):.0f}" if value >= 1000 else rounded


def number(text: str) -> str:
    return digits(float(text)) if text else "-"


def with_spread(row: Row, name: str) -> str:
    mean, spread = row[f"{name}_mean"], row[f"{name}_sd"]
    return f"{digits(float(mean))} ± {float(spread):.1g}" if mean else row["mark"] or "-"


def bars(rows: Sequence[Row]) -> str:
    unit = "rate" if any(r["paper_rate"] for r in rows) else "seconds"
    return table(
        ["set", "program", "back-end", "seconds", "speedup", f"the paper's {unit}",
         "the paper's speedup"],
        [[r["set"], r["label"], r["backend"], with_spread(r, "total"), number(r["speedup"]),
          number(r[f"paper_{unit}"]), number(r["paper_speedup"])] for r in rows])


def rates(rows: Sequence[Row], unit: str) -> str:
    """The mean of all sets."""
    lines = []
    for label in dict.fromkeys(r["label"] for r in rows):
        own = [r for r in rows if r["label"] == label]
        measured = [float(r["rate_mean"]) for r in own if r["rate_mean"]]
        lines.append([label, own[0]["backend"],
                      digits(statistics.mean(measured)) if measured else own[0]["mark"],
                      number(own[0]["paper_rate"])])
    return table(["program", "back-end", unit, f"the paper's {unit}"], lines)


def lines(figure: Figure, rows: Sequence[Row], unit: str) -> str:
    """A column for each x: a value of the sweep, or a set."""
    shown = figure.values.get("value", "speedup")
    several = figure.swept() and len({r["set"] for r in rows}) > 1
    found = {(r["label"] + f", set {r['set']}" * bool(several), r["x"]): r for r in rows}
    along = list(dict.fromkeys(r["x"] for r in rows))
    return f"{unit if shown == 'rate' else shown.capitalize()} by " \
        f"{figure.values.get('x', figure.swept() or 'set')}:\n\n" + table(
            ["program", *along],
            [[label, *(number(found[label, x][COLUMN[shown]]) if (label, x) in found else ""
                       for x in along)] for label in dict.fromkeys(name for name, _ in found)])


def heat(figure: Figure, rows: Sequence[Row], unit: str) -> str:
    """A column for each x, a row for each y."""
    across = list(dict.fromkeys(r["x"] for r in rows))
    found = {(r["x"], r["y"]): r for r in rows}
    words = [figure.values[key].partition(" ")[0] for key in ("rows", "sweep")]
    return f"{unit} by {words[1]} (columns) and {words[0]} (rows):\n\n" + table(
        [words[0], *across],
        [[y, *(number(found[x, y]["rate_mean"]) for x in across)]
         for y in dict.fromkeys(r["y"] for r in rows)])


def one(figure: Figure, rows: Sequence[Row], unit: str) -> str:
    text = f"**{figure.heading()}.**"
    measured = [r for r in rows if r["runs"] or r["paper_seconds"] or r["paper_rate"]]
    if not rows:
        return text + " It shows one run from within: `make papers` draws it.\n\n"
    if not any(r["runs"] for r in rows):
        return text + f" Not measured: {rows[0]['mark']}.\n\n"
    if figure.kind == "rates":
        text += "\n\n" + rates(measured, unit)
    elif figure.kind == "lines":
        text += " " + lines(figure, measured, unit)
    elif figure.kind == "heat":
        text += " " + heat(figure, measured, unit)
    else:
        text += "\n\n" + bars(measured)
    return text + "\n"


def figures(program: Program) -> str:
    """The tables of a program, for each machine."""
    shown, values = read_figures(FORMS / f"{program.name}.figures")
    text = ""
    for path in sorted(FOLDER.glob("*.csv")):
        rows = [r for r in results.read(path) if r["program"] == program.name]
        counts = sorted({int(r["runs"]) for r in rows if r["runs"]})
        if not counts:
            continue
        text += f"{results.display_name(path.stem)}, means of " \
                f"{' or '.join(map(str, counts))} runs; the paper: " \
                f"{values.get('paper', 'see its csv')}.\n\n"
        for figure in shown:
            own = [r for name in figure.sets(program) for r in rows
                   if (r["figure"], r["set"]) == (figure.number, name)]
            text += one(figure, own, program.mk.get("rate", "rate"))
    return text or f"Not measured yet (`make papers PROGRAM={program.name}`).\n"
