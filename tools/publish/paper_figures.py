"""paper_figures.py - make papers: the figures of a program's paper, measured on this machine.

tools/publish/papers/PROGRAM.figures declares what each figure shows, and PROGRAM.csv what
the paper measured; papers_form.py reads them. For each figure N, build/papers/PROGRAM gets
figN.svg and figN.csv with its numbers. Variants are built by tools/measure/variants.py. All
runs on one set are interleaved, verified, and kept in runs.csv until a binary or the query
changes; RERUN=1 measures them again. All numbers also go to results/papers/MACHINE.csv,
which docs/papers.md shows, unless QUICK=1. Repetitions are 20, as in the paper, unless REPEAT= is
set; QUICK=1 measures one set per figure with two repetitions, one for long runs. A bar that
needs a GPU is taken from results/*.csv if this machine has none and another one had.
"""
from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.history import copies, options, results, runs, tree, verdict
from tools.history.results import Row
from tools.history.tree import BACKENDS, Program, Step
from tools.measure import bench, machine, variants
from tools.measure import item as items_module
from tools.measure.item import Item
from tools.publish import draw
from tools.publish.papers_form import Figure, Kind, Paper, read_figures

FOLDER = tree.ROOT / "tools" / "publish" / "papers"
CPU_DEVICE = os.environ.get("DEVICE") or "cpu"
LONG = 10.0  # seconds: one repetition is enough for QUICK
KEPT = "key set round init run rate mark".split()
COLUMNS = """set label step backend words x y device runs init_mean init_sd run_mean run_sd
total_mean total_sd rate_mean rate_sd speedup speedup_low speedup_high paper_seconds
paper_rate paper_speedup mark""".split()
# (back-end, DEVICE) of those on a GPU, by CUDA and by OpenCL.
GPU = {"gpu": (("cuda", ""), ("ocl", "gpu")),
       "hybrid-gpu": (("hybrid-cuda", ""), ("hybrid", "gpu"))}
# Kinds of figures that show one run from within: the words for it, and what it leaves.
INSIDE = {"shares": ("profile=1", None), "trace": ("trace={file}", "file"),
          "busy": ("busy={file}", "file")}


# ---- what is run -------------------------------------------------------------------


How = tuple[Path, str, str]  # binary, back-end, DEVICE


def opencl_gpu() -> str | None:
    """The name of an OpenCL GPU; None if there is none."""
    listed = runs.run([tree.build() / "devices"], 60).out
    found = re.search(r"^DEVICE=\S+\s+GPU, [^,]*, ([^,\n]*)", listed, re.M)
    return found[1] if found else None


class Runner(Item):
    """What a bar shows, on one set: one run per repetition, as in the papers, and all of
    them count. It is its own step: it has a name and a binary."""

    min_seconds, min_cpu = 0.0, 0.0

    def __init__(self, program: Program, name: str, arguments: Sequence[str], kind: Kind,
                 how: How) -> None:
        self.path, backend, self.device = how
        self.name = " ".join((kind.step, *kind.words))
        super().__init__(program, name, self, backend)  # type: ignore[arg-type]
        self.kind = kind
        query = kind.query(arguments)
        self.extra = [a for a in query if a.startswith("share=")]  # no checker knows it
        self.arguments = [a for a in query if a not in self.extra]
        self.environment = {"DEVICE": self.device, **kind.environment()}
        self.key = runs.query_key([*self.arguments, *self.extra], self.path, *map(
            "=".join, self.environment.items()))[:16]

    def binary(self, program: Program, backend: str) -> Path:
        return self.path

    def check_arguments(self, program: Program) -> list[str]:
        return step_of(self.kind).check_arguments(program)

    def total(self) -> list[float]:
        return [m["init"] + m["run"] for m in self.times]


def step_of(kind: Kind) -> Step:
    number = kind.step.partition("/")[0]
    found = next((s for s in tree.steps() if s.number == number), None)
    if not found:
        raise SystemExit(f"{kind.step}: there is no such step")
    return found


def prepare(program: Program, kind: Kind) -> How | None:
    """The binary of a kind, built; None if it needs a GPU or a compiler that this machine
    does not have."""
    backend, device = kind.backend, CPU_DEVICE
    if backend in GPU:
        if not tree.has_gpu() and not opencl_gpu():
            return None
        backend, device = GPU[backend][0 if tree.has_gpu() else 1]
    step, variant_name = step_of(kind), kind.step.partition("/")[2]
    if backend not in step.backends(program):
        raise SystemExit(f"{program.name}.figures: step {step.number} has no {backend}")
    if variant_name:
        variant = next((v for v in variants.points(program, kind.make())
                        if (v.step, v.point) == (step, variant_name)), None)
        problem = variant.build(program) if variant else "there is no such variant"
        if problem or not variant:
            raise SystemExit(f"{kind.step}: {problem}")
        return variant.binary(program, backend), backend, device
    if kind.make():
        return copies.built_with(program, step, backend, kind.make()), backend, device
    binary = step.binary(program, backend)
    return (binary, backend, device) if binary.exists() else None


# ---- measuring ---------------------------------------------------------------------


def restore(items: Iterable[Runner], path: Path, name: str) -> None:
    """Gives items the measurements that an earlier run kept for them."""
    rows = [r for r in results.read(path) if r["set"] == name]
    for item in items:
        mine = [r for r in rows if r["key"] == item.key]
        item.measurements = [{k: float(r[k]) for k in ("init", "run", "rate") if r.get(k)}
                       | {"cpu": 0.0} for r in mine]
        item.marks = {r["mark"] for r in mine} - {""}


def keep(items: Iterable[Runner], path: Path, name: str) -> None:
    """Writes the measurements of a set, replacing older ones."""
    rows = [r for r in results.read(path) if r["set"] != name]
    for item in items:
        rows += [{"key": item.key, "set": name, "round": n, **t,
                  "mark": " ".join(item.marks)} for n, t in enumerate(item.times)]
    results.write(path, KEPT, [{k: r.get(k, "") for k in KEPT} for r in rows])


def enough(item: Runner, repeat: int, quick: bool) -> bool:
    long = quick and bool(item.times) and item.times[0]["run"] > LONG
    return len(item.times) >= (1 if long else repeat)


def measure(items: Sequence[Runner], repeat: int, quick: bool) -> None:
    """Measures all items: one run of each per repetition."""
    for item in items:
        item.reset()
        about = BACKENDS[item.backend]
        if not quick and (about.sides or about.device in ("opencl", "gpu")):
            runs.progress(f"warming up: {item.label()}")
            item.run()  # builds and caches the kernel, and is not counted
            item.reset()
    start = time.monotonic()
    for n in range(repeat):
        left = (time.monotonic() - start) / n * (repeat - n) / 60 if n else 0
        for item in (*items[n % len(items):], *items[:n % len(items)]):
            runs.progress(f"repetition {n + 1} of {repeat}" + (f", {left:.0f} min left" if n
                          else "") + f": {item.label()}")
            if not enough(item, repeat, quick):
                item.run()
    runs.progress("")


def look_inside(figure: Figure, program: Program, folder: Path,
                queries: dict[str, list[str]], names: Sequence[str]) -> list[tuple[Any, Path]]:
    """Runs what a figure of INSIDE shows once more. Returns where its rows are: [(bar,
    path)]."""
    word, leaves = INSIDE[figure.kind]
    found = []
    for n, bar in enumerate(figure.bars, 1):
        how = prepare(program, bar.kind)
        if not how:
            continue
        item = Runner(program, names[0], queries[names[0]], bar.kind, how)
        path = folder / f"fig{figure.number}-{n}.csv"
        item.extra.append(word.replace("{file}", str(path)))
        item.run()
        if not leaves:
            draw.write_shares(item.printed, path)
        found.append((bar, path))
    return found


# ---- numbers -----------------------------------------------------------------------


def spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def gpu_rows(program: Program) -> dict[tuple[str, str], Row]:
    """What other machines measured on a GPU: {(set, step number): row}, a row of bench.py
    with the mean of the same machine's sequential program as `first`."""
    found: dict[tuple[str, str], Row] = {}
    for path in sorted(results.FOLDER.glob("*.csv")):
        rows = [r for r in results.read(path) if r.get("program") == program.name
                and r.get("run_mean")]
        base = {r["set"]: r for r in rows if r["backend"] == "seq"
                and r["step"].startswith("00")}
        for r in rows:
            if r["backend"] == "cuda" and r["set"] in base:
                r["first"] = sum(float(base[r["set"]][k])
                                 for k in ("init_mean", "run_mean"))
                found.setdefault((r["set"], r["step"].split("_")[0]), r)
    return found


def own_columns(item: Runner, base: Runner, kind: str) -> Row:
    """The columns of a bar that was run here. The speedup of bars is that of initialization
    and run together, as they show both; of lines it is that of the run. It is the ratio of
    means, as in the papers; the interval is that of the median."""
    def took(i: Runner) -> list[float]:
        return i.column("run") if kind == "lines" else i.total()
    sure = verdict.compare(took(item), took(base))
    total, rates = item.total(), [t["rate"] for t in item.times if "rate" in t]
    return {"device": item.device or "gpu", "runs": len(total),
            "mark": " ".join(sorted(item.marks)),
            "init_mean": statistics.mean(item.column("init")),
            "init_sd": spread(item.column("init")),
            "run_mean": statistics.mean(item.column("run")),
            "run_sd": spread(item.column("run")),
            "total_mean": statistics.mean(total), "total_sd": spread(total),
            "rate_mean": statistics.mean(rates) if rates else "",
            "rate_sd": spread(rates) if rates else "",
            "speedup": statistics.mean(took(base)) / statistics.mean(took(item)),
            "speedup_low": sure.low, "speedup_high": sure.high}


def foreign_columns(r: Row) -> Row:
    """The columns of a bar that another machine measured. results/ has no deviation of the
    sum: initialization and execution are assumed to be independent."""
    values: Row = {k: float(r[k]) for k in ("init_mean", "init_sd", "run_mean", "run_sd")}
    total = values["init_mean"] + values["run_mean"]
    return {**values, "device": r["device"], "runs": r["runs"], "mark": r["machine"],
            "total_mean": total,
            "total_sd": (values["init_sd"] ** 2 + values["run_sd"] ** 2) ** 0.5,
            "speedup": r["first"] / total}


def rows_of(figure: Figure, name: str, items: dict[Kind, Runner], base: Runner,
            elsewhere: dict[tuple[str, str], Row], paper: Paper) -> list[Row]:
    """The rows of a figure for one set, one for each run."""
    rows = []
    for bar in figure.bars:
        number = paper.of(figure, bar, name)
        for x, y, kind in figure.runs(bar):
            row: Row = {"set": name, "label": bar.label, "step": kind.step,
                   "backend": kind.backend, "words": " ".join(kind.words),
                   "x": x or name, "y": y}
            if kind in items:
                row.update(own_columns(items[kind], base, figure.kind))
            elif kind.backend == "gpu" and (name, kind.step) in elsewhere:
                row.update(foreign_columns(elsewhere[name, kind.step]))
            else:
                row["mark"] = "no GPU measured" if kind.backend in GPU else \
                    f"no {kind.backend} here"
            if number:
                row[f"paper_{paper.unit}"] = number
                if name in paper.sequential:
                    speedup = paper.sequential[name] / number
                    row["paper_speedup"] = speedup if paper.unit == "seconds" \
                        else 1 / speedup
            rows.append({c: row.get(c, "") for c in COLUMNS})
    return rows


def caption(rows: Sequence[Row], values: dict[str, str]) -> str:
    counts = {int(r["runs"]) for r in rows if r["runs"]}
    text = (f"{results.display_name(machine.name())}; mean of "
            f"{' or '.join(map(str, sorted(counts)))} runs and standard deviation. "
            f"The paper: {values.get('paper', 'see its csv')}.")
    gpus = {f"{r['device']} ({r['mark']})" for r in rows
            if r["backend"] == "gpu" and r["device"] not in ("", "gpu")}
    return text + (f" GPU: {', '.join(sorted(gpus))}." if gpus else "")


def measured_rows(program: Program, figures: Sequence[Figure],
                  queries: dict[str, list[str]], names: dict[Any, list[str]], paper: Paper,
                  repeat: int, quick: bool) -> dict[Any, list[Row]]:
    """{figure number: its rows}, of all figures that show more than one run; names is
    {figure number: its sets}."""
    folder = tree.build() / "papers" / program.name
    first = next(s for s in tree.steps() if s.has(program))
    elsewhere = gpu_rows(program)
    rows: dict[Any, list[Row]] = {f.number: [] for f in figures}
    how: dict[Kind, How | None] = {}
    for name in dict.fromkeys(n for f in figures for n in names[f.number]):
        here = [f for f in figures if name in names[f.number]]
        kinds: dict[Kind, How | None] = dict.fromkeys(
            k for f in here for k in [f.base(first)] + [
                k for b in f.bars for _, _, k in f.runs(b)])
        runs.progress("building")
        for kind in kinds:
            bare = Kind(kind.step, kind.backend, tuple(kind.make()))
            if bare not in how:
                how[bare] = prepare(program, bare)
            kinds[kind] = how[bare]
        items = {k: Runner(program, name, queries[name], k, h)
                 for k, h in kinds.items() if h}
        restore(items.values(), folder / "runs.csv", name)
        if os.environ.get("RERUN") or not all(enough(i, repeat, quick)
                                              for i in items.values()):
            measure(list(items.values()), repeat, quick)
            keep(items.values(), folder / "runs.csv", name)
        for f in here:
            rows[f.number] += rows_of(f, name, items, items[f.base(first)], elsewhere,
                                      paper)
    return rows


def rounded(rows: Sequence[Row]) -> list[Row]:
    return [{k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
            for row in rows]


def write_figures(program: Program, repeat: int, quick: bool) -> int:
    """Measures and draws all figures of a program. Returns their number."""
    figures, values = read_figures(FOLDER / f"{program.name}.figures")
    paper = Paper(FOLDER / f"{program.name}.csv")
    folder = tree.build() / "papers" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    queries = {**program.sets, **{k[4:]: program.arguments(v) for k, v in values.items()
                                  if k.startswith("set.")}}
    asked = os.environ.get("SET", "").split()
    names: dict[Any, list[str]] = {}
    for f in figures:
        own = [program.quick] if quick and "sets" not in f.values else f.sets(program)
        names[f.number] = [n for n in own if n in asked] if asked else \
            own[:1] if quick else own
        unknown = set(names[f.number]) - set(queries)
        if unknown:
            raise SystemExit(f"figure {f.number}: unknown set ({' '.join(unknown)}): expected "
                             f"one of {' '.join(queries)}")
    figures = [f for f in figures if names[f.number]]
    many = [f for f in figures if f.kind not in INSIDE]
    rows = measured_rows(program, many, queries, names, paper, repeat, quick)
    if not quick:
        about = {**bench.about_this(), "program": program.name}
        results.replace(results.FOLDER / "papers" / f"{machine.name()}.csv",
                        ["machine", "compiler", "commit", "program", "figure", *COLUMNS],
                        [{**about, "figure": f.number, **row} for f in many
                         for row in rounded(rows[f.number])],
                        lambda r: (r["program"], r["figure"], r["set"]))
    for f in figures:
        path = folder / f"fig{f.number}.svg"
        if f.kind in INSIDE:
            inside = look_inside(f, program, folder, queries, names[f.number])
            draw.inside(path, f, inside, f"{results.display_name(machine.name())}, set "
                        f"{names[f.number][0]}, one run.")
            continue
        results.write(path.with_suffix(".csv"), COLUMNS, rounded(rows[f.number]))
        if f.kind == "lines" and not any(r["runs"] for r in rows[f.number]):
            path.unlink(missing_ok=True)
            print(f"figure {f.number}: {rows[f.number][0]['mark']}")
            continue
        text = caption(rows[f.number], values)
        draw.paper(path, f, rows[f.number], program.mk.get("rate", ""), text)
    print(f"figures written to {folder.relative_to(tree.ROOT)}")
    return len(figures)


def main() -> None:
    arguments = options.parse(options.parser(__doc__, "PROGRAM", "SET", "REPEAT", "QUICK"))
    repeat = int(arguments.repeat or (2 if arguments.quick else 20))
    if arguments.quick:
        items_module.TRIES = 1
    drawn = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        if (FOLDER / f"{program.name}.figures").exists():
            drawn += write_figures(program, repeat, arguments.quick)
    if not drawn:
        raise SystemExit(f"{FOLDER}: no figures of this program: expected PROGRAM.figures")


if __name__ == "__main__":
    main()
