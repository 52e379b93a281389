"""paper.py - make papers: the tables and figures of the papers, measured on this machine.

tools/publish/papers/PROGRAM.py is one paper: ABOUT (what it measured and what our tables
compare with it), its machine, SETS (arguments, besides those of program.mk) and TABLES.
PROGRAM.csv has the numbers that the paper gives. A cell of a table is one program on one set,
measured as make bench does: interleaved, verified, the mean of REPEAT= measurements, 20 by
default. The means go to results/papers/MACHINE.csv, from which docs/papers.md and
build/papers/PROGRAM-N.svg are made. GPU times are also taken from the reference GPU's table of
make bench. QUICK=1 measures the first column of each table twice, and keeps nothing.
"""
from __future__ import annotations

import importlib
import os
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.base import copies, options, results, runs, tree
from tools.base.results import Row
from tools.base.tree import Program
from tools.measure import bench, machine, variants
from tools.measure.item import Item, run_interleaved

NUMBERS = Path(__file__).resolve().parent / "papers"
FOLDER = results.FOLDER / "papers"
COLUMNS = """machine compiler commit program set step backend options runs init_mean init_sd
run_mean run_sd rate_mean""".split()
Key = tuple[str, str, str, str]  # set, step, back-end, options
Found = Mapping[Key, Row]


class Run(NamedTuple):
    """A row of a table: a program. Options that begin with OMP_ are for the environment,
    others in capitals for make, the rest are arguments."""
    label: str
    step: str  # 03, or 03/two-dimensions: a variant
    backend: str
    options: str = ""
    paper: Sequence[str] = ()  # its names in PROGRAM.csv, one for each of `theirs`
    figures: str = ""  # those of the paper that show it


class Table(NamedTuple):
    """columns are {heading: set and further options}. value is `seconds`, of initialization
    and execution, with the speedup over step 00; `speedup`, of the execution alone; `rate`; or
    `run`, the seconds of the execution. about explains the rows, in Markdown."""
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Run]
    value: str = "seconds"
    axis: str = "set"  # what the headings are
    theirs: Sequence[str] = ("the paper",)
    about: str = ""

    def key(self, row: Run, column: str) -> Key:
        name, *more = self.columns[column].split()
        return name, row.step, row.backend, " ".join(sorted([*row.options.split(), *more]))

    def base(self, column: str) -> Key:
        return self.columns[column].split()[0], "00", "seq", ""

    def keys(self, columns: Sequence[str]) -> Iterator[Key]:
        for column in columns:
            yield from (self.key(row, column) for row in self.rows)
            if self.value in ("seconds", "speedup"):
                yield self.base(column)


def by_threads(name: str) -> dict[str, str]:
    """The columns of a set by the number of threads, of which a machine measures those it has."""
    return {f"{n}": f"{name} OMP_NUM_THREADS={n}" for n in (1, 2, 4, 8, 16, 32, 64)}


def digits(value: float) -> str:
    """Three digits, without an exponent if the number is large."""
    return f"{float(f'{value:.3g}'):.0f}" if value >= 1000 else f"{value:.3g}"


# ---- measuring ---------------------------------------------------------------------


def prepared(program: Program, key: Key, sets: Mapping[str, str]) -> Item | None:
    """What is measured for a cell, built; None if this machine cannot build or run it."""
    name, place, backend, text = key
    number, _, point = place.partition("/")
    step = next(s for s in tree.steps() if s.number == number)
    if backend not in step.available(program):
        return None
    words = text.split()
    environment = dict(w.split("=", 1) for w in words if w.startswith("OMP_"))
    if int(environment.get("OMP_NUM_THREADS", 1)) > runs.processors():
        return None
    make = [w for w in words if w[0].isupper() and not w.startswith("OMP_")]
    variant = next((v for v in variants.points(program, make) if (v.step, v.point) ==
                    (step, point)), None) if point else None
    problem = variant.build(program) if variant else point and "no such variant"
    if problem:
        raise SystemExit(f"{program.name}, {place}: {problem}")
    item = Item(program, name, variant or step, backend)
    if make and not variant:
        item.alias = copies.built_with(program, step, backend, make)
    arguments = program.arguments(sets[name]) if name in sets else program.query(name)
    item.extra = [w for w in words if w.startswith("share=")]  # no checker knows it
    item.arguments = tree.with_arguments(
        arguments, [w for w in words if not w[0].isupper() and w not in item.extra])
    item.environment = {"DEVICE": os.environ.get("DEVICE") or "cpu",
                        **environment}
    return item


def measure(program: Program, keys: Sequence[Key], sets: Mapping[str, str], repeat: int
            ) -> list[Row]:
    rows = []
    for name in dict.fromkeys(key[0] for key in keys):
        runs.progress(f"{program.name}, set {name}: building")
        items = {key: item for key in dict.fromkeys(keys) if key[0] == name
                 and (item := prepared(program, key, sets))}
        for item in items.values():
            item.measure()  # builds and caches the kernels, and is not counted
        run_interleaved(list(items.values()), f"{program.name}, set {name}", repeat)
        for key, item in items.items():
            row = dict(zip(("set", "step", "backend", "options"), key))
            for column in ("init", "run", "rate"):
                times = [t[column] for t in item.times if column in t]
                if times:
                    row[f"{column}_mean"] = f"{statistics.mean(times):.6g}"
                    row[f"{column}_sd"] = f"{statistics.stdev(times) if times[1:] else 0:.3g}"
            rows.append({**row, "program": program.name, "runs": len(item.times)})
    return [{c: r.get(c, "") for c in COLUMNS} for r in rows]


# ---- tables ------------------------------------------------------------------------


def by_key(rows: Sequence[Row]) -> dict[Key, Row]:
    return {(r["set"], r["step"], r["backend"], r["options"]): r for r in rows}


def of_gpu(program: Program) -> dict[Key, Row]:
    """What make bench measured on the reference GPU."""
    rows = results.measured().get(results.reference().get("gpu", ""), [])
    return {(r["set"], r["step"].split("_")[0], "cuda", ""): r for r in rows
            if (r["program"], r["backend"]) == (program.name, "cuda") and "/" not in r["step"]}


def value(table: Table, row: Run, column: str, found: Found) -> float | None:
    """The number of a cell; None if it was not measured."""
    mine, base = (found.get(k) for k in (table.key(row, column), table.base(column)))
    if not mine:
        return None
    if table.value == "rate":
        return float(mine["rate_mean"]) if mine.get("rate_mean") else None
    if table.value == "speedup":
        return float(base["run_mean"]) / float(mine["run_mean"]) if base else None
    return seconds(mine) if table.value == "seconds" else float(mine["run_mean"])


def seconds(row: Row) -> float:
    return float(row["init_mean"] or 0) + float(row["run_mean"])


def numbers(program: Program, unit: str) -> tuple[dict[tuple[str, ...], float], dict[str, float]]:
    """The paper's numbers of a unit by (variant, device, set), and those of step 00 by set."""
    found: dict[tuple[str, ...], float] = {}
    first: dict[str, float] = {}
    for r in results.read(NUMBERS / f"{program.name}.csv"):
        if unit not in r:
            break
        number = float(r[unit])
        found[r["variant"], r["device"], r["set"]] = number
        if r["step"] == "00":
            first.setdefault(r["set"], number)
    return found, first


def cells(table: Table, found: Found, program: Program) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table; programs and columns without any number are left out."""
    known, first = numbers(program, table.value)
    sets = [*dict.fromkeys(c.split()[0] for c in table.columns.values()), "mean"]
    several = len(sets) > 2

    def cell(number: float | None, base: float | None) -> str:
        if number is None:
            return "-"
        speedup = table.value == "seconds" and base
        return digits(number) + (f" ({digits(base / number)})" if speedup and base else "")

    def given(row: Run, place: int, name: str) -> float | None:
        device = "GPU" if row.backend == "cuda" else "CPU"
        return known.get((row.paper[place], device, name)) if row.paper[place:] else None

    columns = [c for c in table.columns
               if any(value(table, row, c, found) is not None for row in table.rows)]
    theirs = [(place, name) for place in range(len(table.theirs)) for name in sets
              if any(given(row, place, name) for row in table.rows)]
    head = ["figures"] * any(r.figures for r in table.rows) + [
        "program", "back-end", *(f"set {c}" if table.axis == "set" else c for c in columns),
        *["mean"] * any(name == "mean" for _, name in theirs), *(
            table.theirs[place] + f", {'' if name == 'mean' else 'set '}{name}" * several
            for place, name in theirs)]
    bases = {c: seconds(found[key]) if (key := table.base(c)) in found else None for c in columns}
    lines = []
    for row in table.rows:
        ours = [cell(value(table, row, c, found), bases[c]) for c in columns]
        if any(name == "mean" for _, name in theirs):
            each = [v for c in columns if (v := value(table, row, c, found)) is not None]
            ours.append(digits(statistics.mean(each)) if each else "-")
        paper = [cell(given(row, *which), first.get(which[1])) for which in theirs]
        if {*ours, *paper} - {"-"}:
            lines.append([row.figures] * (head[0] == "figures")
                         + [row.label, row.backend, *ours, *paper])
    return head, lines


UNITS = {"seconds": "Seconds, and in parentheses the speedup over step 00", "run": "Seconds",
         "speedup": "Speedup over step 00"}


def unwrapped(text: str) -> str:
    """Markdown with one line per paragraph and per item of a list."""
    return re.sub(r"(?<!\n)\n(?![\n-]) *", " ", text.strip())


def page(program: Program) -> str:
    """The part of docs/papers.md about a program."""
    module, text, gpu = paper_of(program), "", of_gpu(program)
    about = unwrapped(module.ABOUT) + "\n\n"
    tables = {path.stem: [r for r in results.read(path) if r["program"] == program.name]
              for path in sorted(FOLDER.glob("*.csv"))}
    for name, rows in results.shown({name: rows for name, rows in tables.items() if rows}).items():
        counts = sorted({int(r["runs"]) for r in rows})
        commits = sorted({r["commit"] for r in rows if r.get("commit")})
        text += f"{results.display_name(name)}{results.elsewhere(name)}, means of " \
                f"{' or '.join(map(str, counts))} runs" \
                f"{', commit ' * bool(commits)}{' and '.join(commits)}; " \
                f"the paper: {module.MACHINE}."
        if any(key in gpu for t in module.TABLES for key in t.keys(list(t.columns))):
            text += f" cuda: {results.display_name(results.reference()['gpu'])}."
        text += "\n\n"
        for table in module.TABLES:
            unit = UNITS.get(table.value, program.mk.get("rate", "rate"))
            by = f"; columns: {table.axis}" * (table.axis != "set")
            text += f"**{table.title}.** {unit}{by}.\n\n" + \
                (unwrapped(table.about) + "\n\n" if table.about else "") + \
                results.table(*cells(table, {**gpu, **by_key(rows)}, program)) + "\n"
    return about + (text or f"Not measured yet (`make papers PROGRAM={program.name}`).\n")


def draw(table: Table, found: Found, program: Program, path: Path) -> None:
    """A line for each program along the columns; of few columns, a row of points for each
    program, with the paper's numbers."""
    from tools.publish import draw
    known, _ = numbers(program, table.value)
    shown = [(f"{row.label}, {row.backend}", row, points) for row in table.rows if (points := {
        c: v for c in table.columns if (v := value(table, row, c, found)) is not None})]
    few = max(len(points) for _, _, points in shown) < 4
    figure, axes = draw.theme.figure(7.5, 1.3 + 0.24 * max(6, len(shown)))
    drawn, papers = [v for _, _, points in shown for v in points.values()], []
    for n, (name, row, points) in enumerate(shown):
        if not few:
            axes.plot(*zip(*points.items()), draw.SHAPES[n % 7] + "-", markersize=4, label=name,
                      color=draw.SERIES[n % 7])
            continue
        device = "GPU" if row.backend == "cuda" else "CPU"
        for k, (column, number) in enumerate(points.items()):
            axes.plot(number, n, draw.SHAPES[k], color=draw.SERIES[k],
                      label=None if n else f"{table.axis} {column}")
            papers += [(known[key], n) for variant in row.paper
                       if (key := (variant, device, table.columns[column])) in known]
    if papers:
        axes.plot(*zip(*papers), "o", color=draw.THEIRS, markerfacecolor="none", label="the paper")
    if few:
        draw.across(axes, [name for name, _, _ in shown])
    else:
        axes.grid(axis="y")
    draw.logarithmic(axes.xaxis if few else axes.yaxis, [*drawn, *(v for v, _ in papers)])
    unit = {"run": "seconds", "rate": program.mk.get("rate", "rate")}.get(table.value, table.value)
    axes.set(title=table.title, xlabel=unit if few else table.axis, ylabel="" if few else unit)
    draw.key(axes)
    draw.save(figure, path, table.title)


# ---- the command -------------------------------------------------------------------


def paper_of(program: Program) -> Any:
    return importlib.import_module(f"tools.publish.papers.{program.name}")


def main() -> None:
    arguments = options.parse(options.parser(__doc__, "PROGRAM", "SET", "REPEAT", "QUICK"),
                              own_sets=True)
    repeat = int(arguments.repeat or (2 if arguments.quick else 20))
    asked = os.environ.get("SET", "").split()
    for program in tree.selected(tree.programs(), "PROGRAM"):
        module = paper_of(program)
        keys = [key for table in module.TABLES
                for key in table.keys(list(table.columns)[:1 if arguments.quick and not asked
                                                          else None])
                if not asked or key[0] in asked]
        rows = measure(program, keys, module.SETS, repeat)
        if not rows:
            raise SystemExit(f"SET={' '.join(asked)}: nothing to measure for {program.name}")
        if not arguments.quick:
            results.replace(FOLDER / f"{machine.name()}.csv", COLUMNS,
                            [{**r, **bench.about_this()} for r in rows],
                            lambda r: tuple(r[c] for c in COLUMNS[3:8]))
        for n, table in enumerate(module.TABLES, 1):
            path = tree.build() / "papers" / f"{program.name}-{n}.svg"
            found = by_key(rows)
            if any(table.key(row, c) in found for row in table.rows for c in table.columns):
                draw(table, found, program, path)
                head, lines = cells(table, found, program)
                print(f"{table.title}: {tree.display(path)}", runs.table([head, *lines]), sep="\n")


if __name__ == "__main__":
    main()
