"""bench.py - make bench: how fast each step and back-end is, and how sure that is.

    STEP= PROGRAM= BACKEND= SET= choose, as make's; REPEAT= runs of each, 20 unless set;
    QUICK=1 is three runs of one set; WARMUP= seconds before the first, 3 unless set;
    HALFWAY=1: the points between two steps too (tools/measure/halfway.py), which are compared
    with the step before

What is compared is interleaved: one run of each, then the next round, so that a machine
whose speed drifts drifts for all alike, and ratios are taken round by round. Every timed
run is verified. A run during which other processes took more than a tenth of the CPU
time in use is repeated, three times at most, then marked busy.

Writes results/MACHINE.csv, replacing the rows it measured anew. Prints the median of the
ratios to the step before and to the first step with their quartiles; where these span 1
it says that the two cannot be told apart.
"""
import csv
import os
import statistics
import subprocess
import time
from pathlib import Path
from tools.history import results, runs, tree, verdict
from tools.measure import ceilings, halfway, machine


COLUMNS = """machine device compiler flags commit program set step backend threads runs
init_mean init_sd run_mean run_sd run_median run_q1 run_q3 kernel_median cpu_percent
over_previous over_previous_low over_previous_high over_first over_first_low
over_first_high share mark""".split()
TRIES = 3


class Item:
    """One back-end of one step on one set, and what its runs took."""

    def __init__(self, program, name, step, backend):
        self.program, self.set, self.step, self.backend = program, name, step, backend
        self.words = program.sets.get(name)
        self.times, self.cpu, self.share, self.marks = [], [], 0.0, set()
        self.extra, self.environment = [], {}  # words and variables for the run alone
        self.said = ""  # what the last run printed

    def label(self):
        return f"{self.program.name} set {self.set} {self.step.name} {self.backend}"

    def run(self):
        for attempt in range(TRIES):
            busy_before, own_before = machine.busy(), machine.own()
            start = time.monotonic()
            command = [self.step.binary(self.program, self.backend), *self.words]
            folder = tree.build() / "bench"
            folder.mkdir(parents=True, exist_ok=True)
            files = {o.key: folder / f"{o.key}.npy" for o in self.program.outputs}
            for path in files.values():
                path.unlink(missing_ok=True)
            ended = runs.run(command + self.extra +
                             [f"{k}={p}" for k, p in files.items()], 600,
                             self.environment)
            wall = time.monotonic() - start
            used = machine.own() - own_before
            foreign = max(0.0, machine.busy() - busy_before - used)
            if ended.why():
                raise SystemExit(f"{self.label()}: {ended.why()}")
            if foreign <= machine.FOREIGN * max(used, 1e-3):
                break
        else:
            self.marks.add("busy")
        checked = runs.check(self.program, self.words, files, f"set{self.set}")
        if not checked["ok"]:
            raise SystemExit(f"{self.label()}: not verified: {checked['reason']}")
        self.share = max(self.share, checked["share"])
        self.said, said = ended.out, ended.values()
        self.times.append({k: float(said[f"Time_{k}"]) for k in ("init", "run", "kernel")})
        if self.program.mk.get("rate") in said:
            self.times[-1]["rate"] = float(said[self.program.mk["rate"]])
        self.cpu.append(100 * used / wall)

    def column(self, key):
        return [t[key] for t in self.times]


def previous(item, items):
    """What an item's gain is measured against: the same back-end one step before, or,
    for one that is new, the back-end that its first port came from."""
    step = item.step.step if isinstance(item.step, halfway.Halfway) else item.step
    found = tree.compared(step, item.program, item.backend)
    return next((i for i in items if (i.step, i.backend) == found), None)


def ratio(item, other):
    """other's time over item's, round by round: median, lower and upper quartile."""
    if other is None or other is item:
        return "", "", ""
    q1, median, q3 = verdict.quartiles([b / a for a, b in
                                zip(item.column("run"), other.column("run"))])
    return f"{median:.3f}", f"{q1:.3f}", f"{q3:.3f}"


def ceiling(item, values):
    """What ceilings.py says of a row: how near it came to what the machine can do. Of a
    half-way point nothing is declared."""
    return None if isinstance(item.step, halfway.Halfway) else ceilings.roofline(item.program, item.step, item.set,
                             float(values["kernel_median"]), values["threads"],
                             values["device"], values["machine"])


def row(item, items, about):
    q1, median, q3 = verdict.quartiles(item.column("run"))
    first = items[0] if items[0].step.number == "00" else None
    values = {
        **about, "device": runs.device(item.backend), "program": item.program.name,
        "set": item.set, "step": item.step.name, "backend": item.backend,
        "threads": 1 if item.backend == "seq" else
        os.environ.get("OMP_NUM_THREADS", os.cpu_count()),
        "runs": len(item.times), "cpu_percent": f"{statistics.median(item.cpu):.0f}",
        "run_median": f"{median:.6f}", "run_q1": f"{q1:.6f}", "run_q3": f"{q3:.6f}",
        "kernel_median": f"{statistics.median(item.column('kernel')):.6f}",
        "share": f"{item.share:.2f}", "mark": " ".join(sorted(item.marks)),
    }
    limit = ceiling(item, values)
    if limit and limit["suspicious"]:
        values["mark"] = " ".join([values["mark"], "SUSPICIOUS"]).strip()
    for key in ("init", "run"):
        column = item.column(key)
        values[f"{key}_mean"] = f"{statistics.mean(column):.6f}"
        values[f"{key}_sd"] = f"{statistics.stdev(column) if len(column) > 1 else 0:.6f}"
    for key, other in (("over_previous", previous(item, items)), ("over_first", first)):
        values[key], values[f"{key}_low"], values[f"{key}_high"] = ratio(item, other)
    return values


def said(values, key):
    """A ratio for people: with its quartiles, or that there is no telling."""
    if not values[key]:
        return "-"
    low, high = float(values[f"{key}_low"]), float(values[f"{key}_high"])
    text = f"{float(values[key]):.2f} ({low:.2f} .. {high:.2f})"
    return f"{text} not distinguishable" if low <= 1 <= high else text


def share_of_ceiling(item, values):
    limit = ceiling(item, values)
    return f"{100 * limit['share']:.0f} % ({limit['ceiling_name']})" if limit else "-"


def between(program, steps):
    """The half-way points into these steps, built, if they are asked for."""
    if os.environ.get("HALFWAY", "") in ("", "0"):
        return []
    found = [p for p in halfway.points(program) if p.step in steps and not p.words]
    for point in found:
        problem = point.build(program)
        if problem:
            raise SystemExit(f"{point.name}: {problem}")
    return found


def measure(program, name, about, repeat, warmup):
    """The rows of one set of one program."""
    backends = os.environ.get("BACKEND", "").split()
    steps = tree.selected(tree.steps(), "STEP")
    items = [Item(program, name, step, backend)
             for step in sorted(steps + between(program, steps), key=lambda s: s.name)
             for backend in step.available(program)
             if backend in backends or not backends and backend != "cuda-cpu"]
    if not items:
        return []
    end = time.monotonic() + warmup
    while time.monotonic() < end:
        items[-1].run()
    for item in items:  # builds and caches the kernels, and is not counted
        if item.backend in ("ocl", "cuda"):
            item.run()
        item.times, item.cpu, item.marks = [], [], set()
    for n in range(repeat):
        for item in items[n % len(items):] + items[:n % len(items)]:
            runs.progress(f"round {n + 1} of {repeat}: {item.label()}")
            item.run()
    runs.progress("")
    rows = [row(item, items, {**about, "flags": flags_of(program)}) for item in items]
    print(f"{program.name}, set {name}, {repeat} rounds, seconds")
    print(runs.table([["step", "back-end", "init", "run mean", "sd", "median", "CPU %",
                       "over the step before", "over 00", "of the ceiling", "mark"]] + [
        [r["step"], r["backend"], f"{float(r['init_mean']):.4f}",
         f"{float(r['run_mean']):.4f}", f"{float(r['run_sd']):.4f}",
         f"{float(r['run_median']):.4f}", r["cpu_percent"], said(r, "over_previous"),
         said(r, "over_first"), share_of_ceiling(i, r), r["mark"]]
        for i, r in zip(items, rows)]))
    return rows


def save(rows, path):
    """Writes rows into the machine's file, in the place of those of the same things."""
    def key(r):
        return r["program"], r["set"], r["step"], r["backend"]
    fresh = {key(r): r for r in rows}
    kept = []
    if path.exists():
        with path.open(newline="") as f:
            kept = [r for r in csv.DictReader(f) if key(r) not in fresh]
    merged = sorted(kept + rows, key=key)
    results.write(path, COLUMNS, merged)


def flags_of(program):
    """Those that a program's CPU code is compiled with, without what only warns."""
    words = (tree.build() / "common" / program.name / "flags").read_text().split()
    return " ".join(w for w in words[1:] if not w.startswith("-W"))


def about_this():
    def line(*command):
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tree.ROOT)
        return ended.stdout.strip().splitlines()[0] if ended.stdout.strip() else ""
    compiler = (tree.build() / "flags").read_text().split()[0]
    return {"machine": machine.name(), "compiler": line(compiler, "--version"),
            "commit": line("git", "rev-parse", "--short", "HEAD")}


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = int(os.environ.get("REPEAT") or (3 if quick else 20))
    warmup = float(os.environ.get("WARMUP") or (1 if quick else 3))
    about = about_this()
    rows = []
    for program in tree.selected(tree.programs(), "PROGRAM"):
        names = os.environ.get("SET", "").split() or list(program.sets)
        if quick and not os.environ.get("SET"):
            names = [program.quick]
        for name in names:
            rows += measure(program, name, about, repeat, warmup)
    if not rows:
        raise SystemExit("nothing to measure: is it built?")
    path = Path(os.environ.get("RESULTS") or results.FOLDER / f"{about['machine']}.csv")
    save(rows, path)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
