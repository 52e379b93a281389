"""papers.py - make papers: the figures of a program's paper, measured on this machine.

    SET= PROGRAM= choose; REPEAT= rounds, 20 as the paper unless set; QUICK=1: one set a
    figure, two rounds, one for what takes long; RERUN=1: measure although nothing has
    changed

tools/publish/papers/PROGRAM.figures says what each figure shows, PROGRAM.csv what the paper
measured; papers_form.py reads them. For each figure N, build/papers/PROGRAM gets
figN.svg and figN.csv with its numbers. Points between two steps are made by variants.py.
All that is run on a set is run in turns, verified, and kept in runs.csv until a binary or
the query changes. A bar that needs a GPU where none is comes from results/*.csv, if a
machine there had one. Left out: what the paper shows in a drawing and does not say.
"""
import csv
import hashlib
import os
import re
import statistics
import subprocess
import time

from tools.history import results, runs, tree, verdict
from tools.measure import bench, variants, machine
from tools.publish import draw
from tools.publish.papers_form import Kind, Paper, read_figures

FOLDER = tree.ROOT / "tools" / "publish" / "papers"
CPU_DEVICE = os.environ.get("DEVICE") or "cpu"
LONG = 10.0  # seconds: one round is enough for QUICK
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


def opencl_gpu():
    """The name of an OpenCL GPU; None without."""
    listed = runs.run([tree.build() / "devices"], 60).out
    found = re.search(r"^DEVICE=\S+\s+GPU, [^,]*, ([^,\n]*)", listed, re.M)
    return found and found[1]


class Runner(bench.Item):
    """A kind that can be run here, on one set: one run a round, as the papers did, and
    all of them count."""

    least, demand = 0.0, 0.0

    def __init__(self, program, name, words, kind, how):
        binary, backend, device = how
        super().__init__(program, name, None, backend)
        self.kind, self.device = kind, device
        query = kind.query(words)
        self.extra = [w for w in query if w.startswith("share=")]  # no checker knows it
        self.words = [w for w in query if w not in self.extra]
        self.environment = {"DEVICE": device, **kind.environment()}
        self.step = self  # it is its own step: a name and a binary
        self.name = " ".join((kind.step, *kind.words))
        self.path = binary
        mark = hashlib.sha256("\0".join(
            [*self.words, *self.extra, *map("=".join, self.environment.items())]).encode())
        for path in [binary, *runs.inputs(self.words)]:
            mark.update(path.read_bytes())
        self.key = mark.hexdigest()[:16]

    def binary(self, program, backend):
        return self.path

    def total(self):
        return [t["init"] + t["run"] for t in self.times]


def built_with(program, step, backend, words):
    """The binary of a step built by make with these words, in a folder of its own."""
    name = re.sub(r"\W+", "_", " ".join(words))
    folder = tree.build() / "papers" / f"make{name}"
    target = folder / step.name / f"{program.name}-{backend}"
    made = subprocess.run(
        ["make", "-s", f"BUILD={os.path.relpath(folder, tree.ROOT)}", *words,
         os.path.relpath(target, tree.ROOT)], cwd=tree.ROOT, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"make {' '.join(words)}: {made.stderr.strip()[-300:]}")
    return target


def prepare(program, kind):
    """(binary, back-end, DEVICE) of a kind, built; None where it needs a GPU and there
    is none, or a compiler that is not here."""
    backend, device = kind.backend, CPU_DEVICE
    if backend in GPU:
        if not tree.has_gpu() and not opencl_gpu():
            return None
        backend, device = GPU[backend][0 if tree.has_gpu() else 1]
    number, _, point_name = kind.step.partition("/")
    step = next((s for s in tree.steps() if s.number == number), None)
    if not step or backend not in step.backends(program):
        raise SystemExit(f"{program.name}.figures: there is no {backend} of step {number}")
    if point_name:
        point = next((p for p in variants.points(program, kind.make())
                      if (p.step, p.point) == (step, point_name)), None)
        problem = point.build(program) if point else "there is no such variant"
        if problem:
            raise SystemExit(f"{kind.step}: {problem}")
        return point.binary(program, backend), backend, device
    if kind.make():
        return built_with(program, step, backend, kind.make()), backend, device
    binary = step.binary(program, backend)
    return (binary, backend, device) if binary.exists() else None


# ---- measuring ---------------------------------------------------------------------


def restore(items, path, name):
    """Gives items the rounds that an earlier run kept for them."""
    if not path.exists():
        return
    with path.open(newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["set"] == name]
    for item in items:
        mine = [r for r in rows if r["key"] == item.key]
        item.rounds = [{k: float(r[k]) for k in ("init", "run", "rate") if r.get(k)}
                       | {"cpu": 0.0} for r in mine]
        item.marks = {r["mark"] for r in mine} - {""}


def keep(items, path, name):
    """Writes the rounds of a set, in the place of those it had."""
    rows = []
    if path.exists():
        with path.open(newline="") as f:
            rows = [r for r in csv.DictReader(f) if r["set"] != name]
    for item in items:
        rows += [{"key": item.key, "set": name, "round": n, **t,
                  "mark": " ".join(item.marks)} for n, t in enumerate(item.times)]
    results.write(path, KEPT, [{k: r.get(k, "") for k in KEPT} for r in rows])


def enough(item, repeat, quick):
    long = quick and item.times and item.times[0]["run"] > LONG
    return len(item.times) >= (1 if long else repeat)


def run_rounds(items, repeat, quick):
    """Fills the items' times: one run of each, then the next round."""
    for item in items:
        item.forget()
        if item.backend in ("ocl", "cuda", "hybrid") and not quick:
            runs.progress(f"warming up: {item.label()}")
            item.run()  # builds and caches the kernel, and is not counted
            item.forget()
    start = time.monotonic()
    for n in range(repeat):
        left = (time.monotonic() - start) / n * (repeat - n) / 60 if n else 0
        for item in items[n % len(items):] + items[:n % len(items)]:
            runs.progress(f"round {n + 1} of {repeat}" + (f", {left:.0f} min left" if n
                          else "") + f": {item.label()}")
            if not enough(item, repeat, quick):
                item.run()
    runs.progress("")


def look_inside(figure, program, folder, queries, names):
    """Runs what a figure of INSIDE shows once more, and says where the rows of it are:
    [(bar, path)]."""
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
            draw.write_shares(item.said, path)
        found.append((bar, path))
    return found


# ---- numbers -----------------------------------------------------------------------


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def gpu_rows(program):
    """What other machines measured on a GPU: {(set, step number): row}, a row of bench.py
    to which the mean of the same machine's sequential program is added."""
    found = {}
    for path in sorted(results.FOLDER.glob("*.csv")):
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


def ours(item, base, kind):
    """The columns of a bar that was run here. The speedup of bars is that of start and
    run together, as they show both; of lines it is that of the run. It is the papers'
    own, of means; where the median of the rounds lies is beside it."""
    took = (lambda i: i.column("run")) if kind == "lines" else Runner.total
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
    """The rows of a figure for one set, one for all that is run."""
    rows = []
    for bar in figure.bars:
        number = paper.of(figure, bar, name)
        for x, y, kind in figure.runs(bar):
            row = {"set": name, "label": bar.label, "step": kind.step,
                   "backend": kind.backend, "words": " ".join(kind.words),
                   "x": x or name, "y": y}
            if kind in items:
                row.update(ours(items[kind], base, figure.kind))
            elif kind.backend == "gpu" and (name, kind.step) in elsewhere:
                row.update(theirs(elsewhere[name, kind.step]))
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


def caption(rows, values):
    runs = {int(r["runs"]) for r in rows if r["runs"]}
    text = (f"{results.display_name(machine.name())}; mean of "
            f"{' or '.join(map(str, sorted(runs)))} runs and standard deviation. "
            f"The paper: {values.get('paper', 'see its csv')}.")
    gpus = {f"{r['device']} ({r['mark']})" for r in rows
            if r["backend"] == "gpu" and r["device"] not in ("", "gpu")}
    return text + (f" GPU: {', '.join(sorted(gpus))}." if gpus else "")


def measured_rows(program, figures, queries, names, paper, repeat, quick):
    """{figure number: its rows}, of all figures that show more than one run; names is
    {figure number: its sets}."""
    folder = tree.build() / "papers" / program.name
    first = next(s for s in tree.steps() if s.has(program))
    elsewhere = gpu_rows(program)
    rows, how = {f.number: [] for f in figures}, {}
    for name in dict.fromkeys(n for f in figures for n in names[f.number]):
        here = [f for f in figures if name in names[f.number]]
        kinds = dict.fromkeys(k for f in here for k in [f.base(first)] + [
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
            run_rounds(list(items.values()), repeat, quick)
            keep(items.values(), folder / "runs.csv", name)
        for f in here:
            rows[f.number] += rows_of(f, name, items, items[f.base(first)], elsewhere,
                                      paper)
    return rows


def paper_of(program, repeat, quick):
    """Measures and draws all figures of a program; returns how many."""
    figures, values = read_figures(FOLDER / f"{program.name}.figures")
    paper = Paper(FOLDER / f"{program.name}.csv")
    folder = tree.build() / "papers" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    queries = {**program.sets, **{k[4:]: program.arguments(v) for k, v in values.items()
                                  if k.startswith("set.")}}
    asked = os.environ.get("SET", "").split()
    names = {}
    for f in figures:
        own = [program.quick] if quick and "sets" not in f.values else f.sets(program)
        names[f.number] = [n for n in own if n in asked] if asked else \
            own[:1] if quick else own
        unknown = set(names[f.number]) - set(queries)
        if unknown:
            raise SystemExit(f"figure {f.number}: there is no set {' '.join(unknown)}")
    figures = [f for f in figures if names[f.number]]
    many = [f for f in figures if f.kind not in INSIDE]
    rows = measured_rows(program, many, queries, names, paper, repeat, quick)
    for f in figures:
        path = folder / f"fig{f.number}.svg"
        if f.kind in INSIDE:
            inside = look_inside(f, program, folder, queries, names[f.number])
            draw.inside(path, f, inside, f"{results.display_name(machine.name())}, set "
                        f"{names[f.number][0]}, one run.")
            continue
        results.write(path.with_suffix(".csv"), COLUMNS, [
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
            for row in rows[f.number]])
        if f.kind == "lines" and not any(r["runs"] for r in rows[f.number]):
            path.unlink(missing_ok=True)
            print(f"figure {f.number}: {rows[f.number][0]['mark']}")
            continue
        text = caption(rows[f.number], values)
        draw.paper(path, f, rows[f.number], program.mk.get("rate", ""), text)
    print(f"figures written to {folder.relative_to(tree.ROOT)}")
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
        raise SystemExit("no figures: tools/publish/papers/ has none of this program")


if __name__ == "__main__":
    main()
