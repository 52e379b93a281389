"""papers.py - make papers: the figures of a program's paper, measured on this machine.

    SET= PROGRAM= choose; REPEAT= rounds, 20 as the paper unless set; QUICK=1: one set,
    two rounds, one for what takes long; RERUN=1: measure although nothing has changed

bench/papers/PROGRAM.figures says what each figure shows, PROGRAM.csv what the paper
measured. For each figure N, build/papers/PROGRAM gets figN.svg, figN.csv with its
numbers, and figN.gp, which draws it: initialisation and execution stacked, the mean of
all rounds with the standard deviation of their sum, and the speedup over the first
step's sequential program, ours and the paper's. Points between two steps are made by
bench/halfway.py. All bars of a set are measured in turns, verified, and kept in runs.csv
until a binary or the query changes. A bar that needs a GPU where none is comes from
results/*.csv, if a machine there had one. Left out: what the paper shows in a drawing
and does not say.
"""
import csv
import hashlib
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "verify"))
import bench  # noqa: E402
import halfway  # noqa: E402
import measure  # noqa: E402
import papers_draw  # noqa: E402
import tree  # noqa: E402

FOLDER = Path(__file__).resolve().parent / "papers"
CPU_DEVICE = os.environ.get("DEVICE") or "cpu"
LONG = 20.0  # seconds: one round is enough for QUICK
KEPT = "key set round init run mark".split()
COLUMNS = """set label step backend make device runs init_mean init_sd run_mean run_sd
total_mean total_sd speedup paper_seconds paper_speedup mark""".split()


# ---- what the figures show ---------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """What is run for a bar: bars of several figures may share one."""
    step: str  # 03, or 03/two-dimensions
    backend: str  # seq, omp, ocl, or gpu: CUDA or OpenCL on a GPU
    make: str  # words for make, as OPT=-O0


@dataclass(frozen=True)
class Bar:
    label: str
    kind: Kind
    paper: str  # the paper's name for it; "" where it gives no number


@dataclass
class Figure:
    number: str
    title: str
    bars: list = field(default_factory=list)


def read_figures(path):
    """The figures of a file, and its "key = value" lines."""
    figures, values = [], {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        opens = re.fullmatch(r"figure (\w+): (.+)", line)
        words = [w.strip() for w in line.split("|")]
        if opens:
            figures.append(Figure(*opens.groups()))
        elif len(words) == 5 and figures:
            label, step, backend, make, paper = ("" if w == "-" else w for w in words)
            figures[-1].bars.append(Bar(label, Kind(step, backend, make), paper))
        elif "=" in line:
            key, _, value = line.partition("=")
            values[key.strip()] = value.strip()
        elif line:
            raise SystemExit(f"{path}:{number}: expected figure N: title, or label | "
                             "step | back-end | words for make | the paper's name")
    return figures, values


def read_paper(path):
    """What the paper measured: {(variant, device, set): seconds}, and its sequential
    times, {set: seconds}, which are those of its first step."""
    with path.open() as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    first = min(r["step"] for r in rows)
    return ({(r["variant"], r["device"], r["set"]): float(r["seconds"]) for r in rows},
            {r["set"]: float(r["seconds"]) for r in rows if r["step"] == first})


# ---- what is run -------------------------------------------------------------------


def opencl_gpu():
    """The name of an OpenCL GPU; None without."""
    listed = tree.run([tree.build() / "devices"], 60).out
    found = re.search(r"^DEVICE=\S+\s+GPU, [^,]*, ([^,\n]*)", listed, re.M)
    return found and found[1]


class Runner(bench.Item):
    """A kind that can be run here, on one set."""

    def __init__(self, program, name, kind, binary, backend, device):
        super().__init__(program, name, None, backend)
        self.kind, self.device = kind, device
        self.step = self  # it is its own step: a name and a binary
        self.name = " ".join((kind.step, kind.make)).strip()
        self.path = binary
        mark = hashlib.sha256("\0".join([*self.words, device]).encode())
        for path in [binary, *tree.inputs(self.words)]:
            mark.update(path.read_bytes())
        self.key = mark.hexdigest()[:16]

    def binary(self, program, backend):
        return self.path

    def run(self):
        os.environ["DEVICE"] = self.device
        super().run()

    def total(self):
        return [t["init"] + t["run"] for t in self.times]


def built_with(program, step, backend, words):
    """The binary of a step built by make with these words, in a folder of its own."""
    name = re.sub(r"\W+", "_", words)
    folder = tree.build() / "papers" / f"make{name}"
    target = folder / step.name / f"{program.name}-{backend}"
    made = subprocess.run(
        ["make", "-s", f"BUILD={os.path.relpath(folder, tree.ROOT)}", *words.split(),
         os.path.relpath(target, tree.ROOT)], cwd=tree.ROOT, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"make {words}: {made.stderr.strip()[-300:]}")
    return target


def prepare(program, kind):
    """(binary, back-end, DEVICE) of a kind, built; None where it needs a GPU and there
    is none."""
    backend, device = kind.backend, CPU_DEVICE
    if backend == "gpu":
        if not tree.has_gpu() and not opencl_gpu():
            return None
        backend, device = ("cuda", "") if tree.has_gpu() else ("ocl", "gpu")
    number, _, point_name = kind.step.partition("/")
    step = next((s for s in tree.steps() if s.number == number), None)
    if not step:
        raise SystemExit(f"{program.name}.figures: there is no step {number}")
    if kind.make:
        return built_with(program, step, backend, kind.make), backend, device
    if not point_name:
        return step.binary(program, backend), backend, device
    point = next((p for p in halfway.points(program)
                  if (p.step, p.point) == (step, point_name)), None)
    problem = point.build(program) if point else "there is no such half-way point"
    if problem:
        raise SystemExit(f"{kind.step}: {problem}")
    return point.binary(program, backend), backend, device


# ---- measuring ---------------------------------------------------------------------


def restore(items, path, name):
    """Gives items the rounds that an earlier run kept for them."""
    if not path.exists():
        return
    with path.open(newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["set"] == name]
    for item in items:
        mine = [r for r in rows if r["key"] == item.key]
        item.times = [{k: float(r[k]) for k in ("init", "run")} for r in mine]
        item.marks = {r["mark"] for r in mine} - {""}


def keep(items, path, name):
    """Writes the rounds of a set, in the place of those it had."""
    rows = []
    if path.exists():
        with path.open(newline="") as f:
            rows = [r for r in csv.DictReader(f) if r["set"] != name]
    for item in items:
        rows += [{"key": item.key, "set": name, "round": n, "init": t["init"],
                  "run": t["run"], "mark": " ".join(item.marks)}
                 for n, t in enumerate(item.times)]
    measure.write_csv(path, KEPT, rows)


def enough(item, repeat, quick):
    long = quick and item.times and item.times[0]["run"] > LONG
    return len(item.times) >= (1 if long else repeat)


def run_rounds(items, repeat, quick):
    """Fills the items' times: one run of each, then the next round."""
    for item in items:
        item.times, item.marks = [], set()
        if item.backend in ("ocl", "cuda") and not quick:
            tree.progress(f"warming up: {item.label()}")
            item.run()  # builds and caches the kernel, and is not counted
            item.times, item.marks = [], set()
    start = time.monotonic()
    for n in range(repeat):
        left = (time.monotonic() - start) / n * (repeat - n) / 60 if n else 0
        for item in items[n % len(items):] + items[:n % len(items)]:
            tree.progress(f"round {n + 1} of {repeat}" + (f", {left:.0f} min left" if n
                          else "") + f": {item.label()}")
            if not enough(item, repeat, quick):
                item.run()
    tree.progress("")


# ---- numbers -----------------------------------------------------------------------


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def gpu_rows(program):
    """What other machines measured on a GPU: {(set, step number): row}, a row of bench.py
    to which the mean of the same machine's sequential program is added."""
    found = {}
    for path in sorted(measure.RESULTS.glob("*.csv")):
        with path.open(newline="") as f:
            rows = [r for r in csv.DictReader(f) if r.get("program") == program.name
                    and r.get("run_mean")]
        base = {r["set"]: r for r in rows if r["backend"] == "seq"
                and r["step"].startswith("00")}
        for r in rows:
            if r["backend"] == "cuda" and r["set"] in base:
                r["first"] = sum(float(base[r["set"]][k])
                                 for k in ("init_mean", "run_mean"))
                found.setdefault((r["set"], r["step"].split("_")[0]), r)
    return found


def ours(item, base):
    """The columns of a bar that was run here."""
    total = item.total()
    return {"device": item.device or "gpu", "runs": len(total),
            "mark": " ".join(sorted(item.marks)),
            "init_mean": statistics.mean(item.column("init")),
            "init_sd": spread(item.column("init")),
            "run_mean": statistics.mean(item.column("run")),
            "run_sd": spread(item.column("run")),
            "total_mean": statistics.mean(total), "total_sd": spread(total),
            "speedup": statistics.mean(base.total()) / statistics.mean(total)}


def theirs(r):
    """The columns of a bar that another machine measured: results/ keeps no spread of
    the sum, and initialisation and execution are taken as independent."""
    values = {k: float(r[k]) for k in ("init_mean", "init_sd", "run_mean", "run_sd")}
    total = values["init_mean"] + values["run_mean"]
    return {**values, "device": r["device"], "runs": r["runs"], "mark": r["machine"],
            "total_mean": total,
            "total_sd": (values["init_sd"] ** 2 + values["run_sd"] ** 2) ** 0.5,
            "speedup": r["first"] / total}


def rows_of(figure, name, items, base, elsewhere, paper):
    """The rows of a figure for one set, a bar each."""
    seconds, sequential = paper
    rows = []
    for bar in figure.bars:
        kind = bar.kind
        row = {"set": name, "label": bar.label, "step": kind.step,
               "backend": kind.backend, "make": kind.make}
        device = "GPU" if kind.backend == "gpu" else "CPU"
        if kind in items:
            row.update(ours(items[kind], base))
        elif (name, kind.step) in elsewhere:
            row.update(theirs(elsewhere[name, kind.step]))
        else:
            row["mark"] = "no GPU measured"
        if (bar.paper, device, name) in seconds:
            row["paper_seconds"] = seconds[bar.paper, device, name]
            row["paper_speedup"] = sequential[name] / row["paper_seconds"]
        elif bar.paper and name in sequential:
            raise SystemExit(f"figure {figure.number}: the paper has no {bar.paper}, "
                             f"{device}, set {name}")
        rows.append({c: row.get(c, "") for c in COLUMNS})
    return rows


def caption(program, rows, values, repeat):
    runs = {int(r["runs"]) for r in rows if r["runs"]}
    text = (f"{measure.machine()}; mean of {' or '.join(map(str, sorted(runs)))} runs and "
            f"standard deviation. The paper: {values.get('paper', 'see its csv')}.")
    gpus = {f"{r['device']} ({r['mark']})" for r in rows
            if r["backend"] == "gpu" and r["device"] not in ("", "gpu")}
    return text + (f" GPU: {', '.join(sorted(gpus))}." if gpus else "")


def paper_of(program, repeat, quick):
    """Measures and draws all figures of a program; returns how many."""
    figures, values = read_figures(FOLDER / f"{program.name}.figures")
    paper = read_paper(FOLDER / f"{program.name}.csv")
    folder = tree.build() / "papers" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    names = os.environ.get("SET", "").split() or list(program.sets)
    if quick and not os.environ.get("SET"):
        names = [program.quick]
    first = next(s for s in tree.steps() if s.has(program))
    base = Kind(first.number, "seq", "")
    kinds = list(dict.fromkeys([base] + [b.kind for f in figures for b in f.bars]))
    tree.progress("building")
    how = {kind: prepare(program, kind) for kind in kinds}
    elsewhere = gpu_rows(program)
    rows = {figure.number: [] for figure in figures}
    for name in names:
        items = {k: Runner(program, name, k, *h) for k, h in how.items() if h}
        restore(items.values(), folder / "runs.csv", name)
        if os.environ.get("RERUN") or not all(enough(i, repeat, quick)
                                              for i in items.values()):
            run_rounds(list(items.values()), repeat, quick)
            keep(items.values(), folder / "runs.csv", name)
        for figure in figures:
            rows[figure.number] += rows_of(figure, name, items, items[base], elsewhere,
                                           paper)
    for figure in figures:
        path = folder / f"fig{figure.number}.csv"
        measure.write_csv(path, COLUMNS, [
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
            for row in rows[figure.number]])
        papers_draw.draw(path.with_suffix(".gp"), figure, rows[figure.number],
                         caption(program, rows[figure.number], values, repeat))
    print(f"{len(figures)} figures written to {folder.relative_to(tree.ROOT)}")
    return len(figures)


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = int(os.environ.get("REPEAT") or (2 if quick else 20))
    if quick:
        bench.TRIES = 1
    drawn = 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        if (FOLDER / f"{program.name}.figures").exists():
            drawn += paper_of(program, repeat, quick)
    if not drawn:
        raise SystemExit("no figures: bench/papers/ has none of this program")


if __name__ == "__main__":
    main()
