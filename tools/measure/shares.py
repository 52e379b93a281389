"""shares.py - make shares: what host and device gain by sharing the work.

A hybrid back-end runs with share=0 (the host alone), 100 (the device alone), fractions in
between, and auto, interleaved and verified as in bench.py. common/PROGRAM/program.mk
declares the queries:
    shares = SET ARGUMENT .. | SET ARGUMENT ..
The arguments replace those of the set; the key of an output requests that output, too. The
back-ends that the two sides came from, OpenMP's and the device's of the last step before,
are measured with them: a side alone should be as fast. If the device consists of the
host's cores (PoCL), it gets the first half of them and the host's threads the rest, unless
OMP_NUM_THREADS is set; each thread is bound to its core, because cores can differ in speed.

Writes results/MACHINE-shares.csv, one row per fraction. over_sum is its rate relative to
the sum of the rates of both sides alone, the most that sharing can reach; over_best relative
to the best fraction of the sweep; over_alone, of one side, relative to the back-end that it
came from (rows host and device; `of` names it), and of auto, to the sum of these two; all
with 95 % intervals. even is p* = Th / (Th + Td): the device's fraction, in percent, with
which both sides end at the same time if they take Th and Td alone. The goals are 0.9 of the
sum and 0.95 of the best for auto.
"""
from __future__ import annotations

import copy
import os
import shutil
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.base import options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import BACKENDS, Output, Program, Step
from tools.history import rungs
from tools.measure import bench
from tools.measure.item import Item, Measurement, run_interleaved

COLUMNS = """machine commit program set words step backend of device threads share share_had
runs run_median run_low run_high rate over_sum over_sum_low over_sum_high over_best
over_best_low over_best_high over_alone over_alone_low over_alone_high even aa_spread
mark""".split()
SWEEP, FEW = tuple(range(10, 100, 10)), (25, 50, 75)
ALONE = {"host": "0", "device": "100"}  # a row of an origin, and the fraction like it
SECOND = "auto again"  # the A/A pair of auto
Query = tuple[str, list[str], str, list[Output]]  # set, arguments, their text, outputs
Times = list[float | None]


# ---- what is run -------------------------------------------------------------------


class SharedItem(Item):
    """A hybrid back-end with one fraction, or a back-end that one of its sides came from."""

    def __init__(self, program: Program, name: str, step: Step, backend: str, share: str
                 ) -> None:
        super().__init__(program, name, step, backend)
        self.share_asked = share
        if share not in ALONE:
            self.extra = [f"share={share.split()[0]}"]

    def label(self) -> str:
        return f"{super().label()} share={self.share_asked}"

    def measure(self) -> Measurement:
        found = super().measure()
        had = runs.Result(0, self.printed, "").values().get("Share")
        return {**found, "had": float(had)} if had else found


def queries(program: Program) -> list[Query]:
    """The queries with which a program's fractions are measured."""
    found = []
    for text in program.mk.get("shares", program.shown).split("|"):
        name, *more = text.split()
        if os.environ.get("SET"):
            name = next(iter(bench.sets_of(program, False)), name)
        keys = [word for word in more if "=" not in word]
        arguments = tree.with_arguments(program.sets[name], [w for w in more if "=" in w])
        found.append((name, arguments, " ".join(more),
                      [o for o in program.outputs if o in program.timed or o.key in keys]))
    return found


def hybrids() -> list[tuple[Program, Step, str]]:
    """The back-ends with two sides that are built and can run here."""
    wanted = os.environ.get("BACKEND", "").split() or tree.SHARED
    return [(program, step, backend)
            for program in tree.selected(tree.programs(), "PROGRAM")
            for step in rungs.selected_steps()
            for backend in step.available(program)
            if backend in wanted and BACKENDS[backend].sides]


def environment(backend: str) -> dict[str, str]:
    """Variables of all runs: the number and the cores of the host's threads, if the device
    consists of cores. They are the same for the host alone."""
    on_cpu = {"opencl": runs.opencl_on_cpu, "gpu": lambda: False, "cpu": lambda: True}
    device = BACKENDS[BACKENDS[backend].sides[1]].device
    if os.environ.get("OMP_NUM_THREADS") or not on_cpu[device]():
        return {}
    cores = runs.processors()
    threads = max(1, cores // 2)
    found = {"OMP_NUM_THREADS": str(threads)}
    if cores > 1:
        found.update(b.bind for b in BACKENDS.values() if b.bind)
        found["OMP_PLACES"] = f"{{{cores - threads}}}:{threads}"
    return found


def items_of(program: Program, step: Step, backend: str, sweep: Sequence[int], query: Query
             ) -> dict[str, SharedItem]:
    """{fraction, or host or device: its item}"""
    name, arguments, _, outputs = query
    program = copy.copy(program)
    program.timed = outputs
    variables = environment(backend)
    accepted: dict[str, float] = {}
    origins = dict(zip(ALONE, BACKENDS[backend].sides))
    found = {}
    for share in ["0", *map(str, sweep), "100", "auto", SECOND, *ALONE]:
        place: tuple[Step, str] | None = (step, backend)
        if share in ALONE:
            place = tree.bytes_reference(step, program, origins[share])
        if not place or not place[0].binary(program, place[1]).exists():
            continue
        item = SharedItem(program, name, *place, share)
        item.arguments, item.accepted, item.environment = arguments, accepted, dict(variables)
        if share == "device" and variables:
            rest = max(1, runs.processors() - int(variables["OMP_NUM_THREADS"]))
            item.environment["POCL_MAX_PTHREAD_COUNT"] = str(rest)
        if share == SECOND:
            item.alias = tree.build() / "bench" / "aa" / f"{program.name}-{backend}"
            item.alias.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(step.binary(program, backend), item.alias)
        found[share] = item
    return found


def measure(items: Mapping[str, SharedItem], repeat: int) -> None:
    """One run of each, uncounted, then the repetitions."""
    for item in items.values():
        runs.progress(f"not counted: {item.label()}")
        item.warmup_cpu = item.measure()["cpu"]
    run_interleaved(list(items.values()), f"{items['auto'].program.name}, shares", repeat)


# ---- the tables --------------------------------------------------------------------


def together(host: Sequence[float | None], device: Sequence[float | None]) -> Times:
    """How long both sides would take if their rates added up, by repetition."""
    return [h * d / (h + d) if h and d else None for h, d in zip(host, device)]


def even(host: Sequence[float | None], device: Sequence[float | None]) -> float:
    """p*, in percent: the median of the repetitions."""
    return statistics.median(100 * h / (h + d) for h, d in zip(host, device) if h and d)


def best_of(seconds: Mapping[str, Sequence[float | None]]) -> str:
    """The fraction of a sweep, {fraction: seconds by repetition}, with the least median."""
    return min(seconds, key=lambda s: statistics.median(t for t in seconds[s] if t))


def ratio_columns(key: str, times: Times, other: Times | None, noise: float) -> Row:
    """The columns of a ratio; empty if there is nothing to compare with."""
    if not other:
        return {}
    found = verdict.compare(times, other, noise)
    return {key: f"{found.ratio:.3f}", f"{key}_low": f"{found.low:.3f}",
            f"{key}_high": f"{found.high:.3f}"}


def references(seconds: Mapping[str, Times]) -> dict[str, dict[str, Times]]:
    """{fraction: {key: seconds}}: what each is compared with. seconds is {fraction: seconds
    by repetition} of all."""
    total = together(seconds["0"], seconds["100"])
    best = seconds[best_of({s: t for s, t in seconds.items() if s.isdigit()})]
    found = {s: {"over_sum": total, "over_best": best} for s in seconds
             if s not in ALONE and s != SECOND}
    for side, share in ALONE.items():
        if side in seconds:
            found[side] = {}
            found[share]["over_alone"] = seconds[side]
    if ALONE.keys() <= seconds.keys():
        found["auto"]["over_alone"] = together(*(seconds[side] for side in ALONE))
    return found


def rows_of(items: Mapping[str, SharedItem], about: Row, text: str) -> list[Row]:
    """The rows of a sweep."""
    own = items["auto"]
    seconds = {share: item.seconds() for share, item in items.items()}
    noise = verdict.spread_of([verdict.compare(seconds[SECOND], seconds["auto"])])
    p = even(seconds["0"], seconds["100"])
    rows = []
    for share, keys in references(seconds).items():
        item = items[share]
        column = item.column("run")
        low, high = verdict.interval(column)
        had = [m["had"] for m in item.times if "had" in m]
        rates = [m["rate"] for m in item.times if "rate" in m]
        marks = item.marks | ({"few"} if len(column) < verdict.ROUNDS else set())
        row = {**about, "program": item.program.name, "set": item.set, "words": text,
               "step": own.step.name, "backend": own.backend, "share": share,
               "of": f"{item.step.name} {item.backend}" if share in ALONE else "",
               "device": runs.device(own.backend),
               "threads": item.environment.get("OMP_NUM_THREADS") or runs.threads(item.backend),
               "share_had": f"{statistics.median(had):.1f}" if had else "",
               "runs": len(column), "run_median": f"{statistics.median(column):.6f}",
               "run_low": f"{low:.6f}", "run_high": f"{high:.6f}",
               "rate": f"{statistics.median(rates):.6g}" if rates else "",
               "even": f"{p:.1f}", "aa_spread": f"{noise:.3f}",
               "mark": " ".join(sorted(marks))}
        for key, other in keys.items():
            row |= ratio_columns(key, seconds[share], other, noise)
        rows.append({c: row.get(c, "") for c in COLUMNS})
    return rows


def report(rows: Sequence[Row]) -> str:
    """The table, and a line that compares auto with the sweep."""
    by_share = {r["share"]: r for r in rows}
    head = ["share", "had", "seconds", "of the sum", "of the best", "of the side before"]

    def ratio(r: Row, key: str) -> str:
        return f"{r[key]} ({r[f'{key}_low']} to {r[f'{key}_high']})" if r[key] else ""
    lines = [[r["share"], r["share_had"], r["run_median"], ratio(r, "over_sum"),
              ratio(r, "over_best"), ratio(r, "over_alone")] for r in rows]
    auto = by_share["auto"]
    best = best_of({s: [float(r["run_median"])] for s, r in by_share.items() if s.isdigit()})
    origin = f", {auto['over_alone']} of that of the steps before" * bool(auto["over_alone"])
    return f"{auto['program']}, set {auto['set']} {auto['words']}, {auto['backend']}, " \
        f"{auto['runs']} repetitions, {auto['threads']} threads and {auto['device']}\n" \
        f"{runs.table([head, *lines])}\n" \
        f"p* = {auto['even']} %, best of the sweep {best} %, auto took " \
        f"{auto['share_had']} %: {auto['over_sum']} of the sum{origin}, " \
        f"{auto['over_best']} of the best (A/A: {auto['aa_spread']})"


def save(rows: list[Row], path: Path) -> None:
    """Writes rows, replacing those of the same program and back-end."""
    order = {p.name: n for n, p in enumerate(tree.programs())}
    results.replace(path, COLUMNS, rows, lambda r: (r["program"], r["backend"]),
                    lambda r: order.get(r["program"], len(order)))


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "STEP", "PROGRAM", "BACKEND", "SET", "REPEAT", "QUICK"))
    repeat = bench.repetitions(arguments.quick)
    about = {k: v for k, v in bench.about_this().items() if k in ("machine", "commit")}
    found = hybrids()
    if not found:
        raise SystemExit("nothing to measure: expected a hybrid back-end that is built here")
    for program, step, backend in found:
        rows: list[Row] = []
        for query in queries(program):
            items = items_of(program, step, backend, FEW if arguments.quick else SWEEP, query)
            measure(items, repeat)
            fresh = rows_of(items, about, query[2])
            print(report(fresh), flush=True)
            rows += fresh
        if not arguments.quick:
            path = results.FOLDER / f"{about['machine']}-shares.csv"
            save(rows, path)
            print(f"written to {path}")


if __name__ == "__main__":
    main()
