"""bench.py - make bench: how fast each step and back-end is, and how certain that is.

Without STEP= or BACKEND=, leaves out what make shares and make cluster measure. Without
SET=, measures the set of each program that tables show, and its jobs (whole output traces).

Measurements are interleaved: each repetition measures all items once (item.py), in a new
random order, so that a drift of the machine's speed affects all alike; ratios are taken
within a repetition. Every run is verified. Two or three items of each set also run under a
second name (A/A pairs); their ratios show what is noise. verdict.py decides what is a
difference. Steps whose back-ends are the same code (same.py) are measured once, in the
earliest of them; `times_of` names it in the rows of the others.

Before the first repetition, each item runs once, uncounted. An item with a measurement
that does not count, and the items that it is compared with, get more repetitions, up to a
third more than requested; an item that still has fewer than 15 is marked few. OpenMP's and
PoCL's threads are bound to cores, unless OMP_PROC_BIND or POCL_AFFINITY is set: two threads
that start on one core share it until the system's next tick, longer than some runs take.

Writes results/MACHINE.csv, replacing the rows that it measured, and MACHINE-aa.csv with the
A/A pairs, after each set.
"""
from __future__ import annotations

import argparse
import copy
import math
import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tools.base import options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import BACKENDS, Program, Step
from tools.history import rungs
from tools.measure import ceilings, machine, same, variants
from tools.measure.item import Item
from tools.measure.variants import Variant

COLUMNS = """machine device compiler flags commit program set step backend threads runs
per_round times_of init_mean init_sd run_mean run_sd run_median run_q1 run_q3
kernel_median process_median cpu_percent over_previous over_previous_low over_previous_high
over_previous_is over_first over_first_low over_first_high over_first_is aa_spread share
image_rms ceiling of_ceiling mark""".split()
AA_COLUMNS = """machine commit program set step backend rounds ratio low high mark""".split()
Pair = tuple[Item, Item]


# ---- what is compared ----------------------------------------------------------------


def previous(item: Item, items: Sequence[Item]) -> Item | None:
    """What an item's speedup is relative to: the same back-end one step before, or, for a
    new back-end, the one that its first port came from."""
    step = item.step.step if isinstance(item.step, Variant) else item.step
    found = tree.baseline(step, item.program, item.backend)
    return next((i for i in items if (i.step, i.backend) == found), None)


def first(items: Sequence[Item]) -> Item | None:
    """The sequential program of the first step, if it is measured."""
    return items[0] if items[0].step.number == "00" else None


def find_same(items: Sequence[Item]) -> None:
    """Finds the items whose code is that of an earlier one with the same back-end."""
    seen: dict[tuple[str, str], Item] = {}
    for item in items:
        code = item.backend, same.code(item.step, item.program, item.backend)
        item.same_as = seen.get(code)
        seen.setdefault(code, item)


def pairs_of(items: Sequence[Item]) -> list[Pair]:
    """The A/A pairs: of the first and the fastest OpenMP item and the fastest of each
    device; if these are fewer than two, of the first and the last item."""
    own = [i for i in items if not i.same_as]
    parallel = [b.name for b in BACKENDS.values()
                if not b.threads and not {"shared", "checking"} & set(b.limits)]
    chosen = [i for i in own if BACKENDS[i.backend].device == "threads"][:1]
    for name in parallel:
        of_backend = [i for i in own if i.backend == name]
        chosen += [min(of_backend, key=lambda i: i.estimate)] if of_backend else []
    chosen = list(dict.fromkeys(chosen))
    chosen += [i for i in (own[0], own[-1]) if len(chosen) < 2 and i not in chosen]
    return [(item, second_item(item)) for item in chosen]


def second_item(item: Item) -> Item:
    """The same item with another name: a copy of its binary."""
    second = copy.copy(item)
    second.reset()
    second.per_round = item.per_round
    folder = tree.build() / "bench" / "aa"
    folder.mkdir(parents=True, exist_ok=True)
    binary = item.step.binary(item.program, item.backend)
    second.alias = folder / "-".join([*item.step.name.split("/"), binary.name])
    second.alias.unlink(missing_ok=True)
    shutil.copy2(binary, second.alias)
    return second


def partners(items: Sequence[Item]) -> list[Pair]:
    """All pairs that are compared."""
    found = [(i.measured_item(), other.measured_item()) for i in items
             for other in (previous(i, items), first(items)) if other]
    return [(a, b) for a, b in found if a is not b]


def common(item: Item, other: Item) -> int:
    """The number of repetitions in which both have a measurement that counts."""
    return sum(1 for a, b in zip(item.seconds(), other.seconds()) if a and b)


def next_repetition(items: Sequence[Item], pairs: Sequence[Pair], compared: Sequence[Pair],
                    wanted: int) -> list[Item]:
    """The items of a further repetition: all until there are enough, then the pairs that
    have too few repetitions in common."""
    everything = [i for i in items if not i.same_as] + [second for _, second in pairs]
    if len(everything[0].measurements) < wanted:
        return everything
    lacking = [pair for pair in [*compared, *pairs] if common(*pair) < wanted]
    missing = {i for pair in lacking for i in pair} | {
        i for i in everything if len(i.times) < wanted}
    return [i for i in everything if i in missing]


# ---- rows of the tables ----------------------------------------------------------------


def ratio_columns(item: Item, other: Item | None, key: str, spread: float) -> Row:
    """The columns of a ratio."""
    columns = dict.fromkeys((key, f"{key}_low", f"{key}_high", f"{key}_is"), "")
    if other is None or other is item:
        return columns
    if other.measured_item() is item.measured_item():
        return {**columns, f"{key}_is": "same code"}
    try:
        found = verdict.compare(item.seconds(), other.seconds(), spread)
    except ValueError:  # they have no repetition in common
        return columns
    return {key: f"{found.ratio:.3f}", f"{key}_low": f"{found.low:.3f}",
            f"{key}_high": f"{found.high:.3f}", f"{key}_is": found.word}


def time_columns(item: Item) -> Row:
    """The columns of an item's own measurements."""
    _, median, _ = quartiles = verdict.quartiles(item.column("run"))
    columns: Row = {
        "runs": len(item.times), "per_round": item.per_round,
        "cpu_percent": f"{statistics.median(item.column('cpu')):.0f}",
        "run_median": f"{median:.6f}", "run_q1": f"{quartiles[0]:.6f}",
        "run_q3": f"{quartiles[2]:.6f}",
        "kernel_median": f"{statistics.median(item.column('kernel')):.6f}",
        "process_median": f"{statistics.median(item.column('process')):.6f}"}
    for key in ("init", "run"):
        column = item.column(key)
        columns[f"{key}_mean"] = f"{statistics.mean(column):.6f}"
        columns[f"{key}_sd"] = f"{statistics.stdev(column) if len(column) > 1 else 0:.6f}"
    return columns


def row(item: Item, items: Sequence[Item], about: Row, spread: float, quick: bool = False
        ) -> Row:
    own = item.measured_item()
    values: Row = {
        **about, "device": runs.device(item.backend), "program": item.program.name,
        "set": item.set, "step": item.step.name, "backend": item.backend,
        "threads": runs.threads(item.backend),
        "times_of": item.same_as.step.name if item.same_as else "",
        **time_columns(own), "aa_spread": f"{spread:.3f}", "share": f"{item.share:.2f}",
        "image_rms": item.rms, "ceiling": "", "of_ceiling": ""}
    marks = set(own.marks) | ({"quick"} if quick else set())
    if len(own.times) < verdict.ROUNDS and not quick:
        marks.add("few")
    if isinstance(item.step, Step):  # nothing is declared for a variant
        limit = ceilings.roofline(item.program, item.step, item.set,
                                  float(values["kernel_median"]), values["threads"],
                                  values["device"], values["machine"])
        if limit:
            values["ceiling"] = limit["ceiling_name"]
            values["of_ceiling"] = f"{limit['share']:.4f}"
            marks |= {"SUSPICIOUS"} if limit["suspicious"] else set()
    over_previous = ratio_columns(item, previous(item, items), "over_previous", spread)
    values.update(over_previous)
    if over_previous["over_previous"] and float(over_previous["over_previous_high"]) < 0.95:
        marks.add("slower")
    values["mark"] = " ".join(sorted(marks))
    values.update(ratio_columns(item, first(items), "over_first", spread))
    return values


def aa_row(item: Item, second: Item, about: Row) -> Row:
    """The row of an A/A pair."""
    found = verdict.compare(second.seconds(), item.seconds())
    return {"machine": about["machine"], "commit": about["commit"],
            "program": item.program.name, "set": item.set, "step": item.step.name,
            "backend": item.backend, "ratio": f"{found.ratio:.3f}",
            "rounds": common(item, second),
            "low": f"{found.low:.3f}", "high": f"{found.high:.3f}",
            "mark": " ".join(sorted(item.marks | second.marks))}


def printed_row(r: Row) -> list[str]:
    """A row of the table that is printed."""
    ceiling = f"{100 * float(r['of_ceiling']):.0f} % ({r['ceiling']})" if r["of_ceiling"] else "-"
    return [r["step"], r["backend"], *(f"{float(r[key]):.4f}" for key in
                                       ("init_mean", "run_mean", "run_sd", "run_median",
                                        "process_median")),
            r["cpu_percent"], verdict.long(r, "over_previous"), verdict.long(r, "over_first"),
            ceiling, r["mark"]]


# ---- one set of one program ------------------------------------------------------------


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def backends_wanted() -> list[str]:
    """The back-ends of BACKEND=; none: all."""
    return os.environ.get("BACKEND", "").split()


def wanted_variants(program: Program, steps: Sequence[Step]) -> list[Variant]:
    """The variants of these steps, built, with VARIANTS=1."""
    if not options.is_set("VARIANTS"):
        return []
    found = [v for v in variants.points(program) if v.step in steps and not v.arguments]
    for variant in found:
        problem = variant.build(program)
        if problem:
            raise SystemExit(f"{variant.name}: {problem}")
    return found


class Session:
    """One set of one program: the items that are measured together."""

    def __init__(self, program: Program, name: str) -> None:
        backends = backends_wanted()
        steps = rungs.selected_steps()
        elsewhere = tree.FOR_CHECKING + (() if os.environ.get("STEP") else tree.SHARED)
        points: list[Step | Variant] = [*steps, *wanted_variants(program, steps)]
        place = {step: n for n, step in enumerate(steps)}
        self.program, self.set = program, name
        self.items = [Item(program, name, step, backend)
                      for step in sorted(points, key=lambda p: place[
                          p.step if isinstance(p, Variant) else p])
                      for backend in step.available(program)
                      if backend in backends or (not backends and backend not in elsewhere)]
        self.pairs: list[Pair] = []

    def prepare(self) -> None:
        """Runs each item once: this builds and caches the kernels, verifies the item, and
        tells how long the repetitions take."""
        runs.stage(f"{self.program.name}, set {self.set}: which code is the same")
        find_same(self.items)
        self.warm_up()
        self.pairs = pairs_of(self.items)
        for item, second in self.pairs:
            second.wall = item.wall

    def warm_up(self) -> None:
        accepted: dict[str, float] = {}
        for n, item in enumerate(self.items, 1):
            runs.progress(f"{n} of {len(self.items)}, not counted: {item.label()}")
            item.accepted = accepted
            start = time.monotonic()
            found = item.measure()
            item.estimate, item.warmup_cpu = found["run"], found["cpu"]
            item.wall = time.monotonic() - start

    def partners(self) -> list[Pair]:
        """The pairs that are compared, except for the A/A pairs."""
        return partners(self.items)

    def spread(self) -> float:
        """The A/A spread; infinite, so that no difference is real, if no repetition has
        both times of a pair."""
        known = [verdict.compare(second.seconds(), item.seconds())
                 for item, second in self.pairs if common(item, second)]
        return verdict.spread_of(known) if known else math.inf

    def repetition_seconds(self) -> float:
        """How long a repetition with all items takes."""
        return sum(i.wall for i in [*self.items, *(second for _, second in self.pairs)]
                   if not i.same_as)

    def measure(self, repeat: int, later: float) -> None:
        """Measures all repetitions; later is how many seconds the other sessions take."""
        generator, n = random.Random(1), 0
        while n < repeat + repeat // 3:
            items = next_repetition(self.items, self.pairs, self.partners(), repeat)
            if not items:
                break
            n += 1
            left = later + self.repetition_seconds() * max(0, repeat - n + 1)
            now = f"{self.program.name}, set {self.set}, repetition {n} of {repeat}, " \
                  f"about {duration(left)} left"
            runs.stage(now)
            generator.shuffle(items)
            for item in items:
                runs.progress(f"{now}: {item.step.name} {item.backend}")
                item.run()
            for item in [*self.items, *(second for _, second in self.pairs)]:
                if item not in items:
                    item.measurements.append(None)
        runs.progress("")

    def report(self, about: Row, repeat: int, quick: bool) -> tuple[list[Row], list[Row]]:
        """Prints the table. Returns (rows, rows of the A/A pairs)."""
        flags = [f for f in runs.flags(self.program)[1:] if not f.startswith("-W")]
        about = {**about, "flags": " ".join(flags)}
        spread = self.spread()
        rows = [row(item, self.items, about, spread, quick) for item in self.items]
        print(f"{self.program.name}, set {self.set}, {repeat} repetitions, seconds; 95 % "
              f"intervals; ~: within the noise (A/A pairs: {1 / spread:.3f} to {spread:.3f})")
        head = ["step", "back-end", "init", "run mean", "sd", "median", "process",
                "CPU %", "over the step before", "over 00", "of the peak", "mark"]
        print(runs.table([head, *map(printed_row, rows)]), flush=True)
        return rows, [aa_row(*pair, about) for pair in self.pairs if common(*pair)]


# ---- the command ----------------------------------------------------------------------


def save(rows: list[Row], aa: list[Row], path: Path) -> None:
    """Writes rows into the machine's file, replacing those of the same items, and the A/A
    pairs into the file next to it."""
    def key(r: Row) -> tuple[str, ...]:
        return r["program"], r["set"], r["step"], r["backend"]
    results.replace(path, COLUMNS, rows, key)
    results.replace(path.with_name(f"{path.stem}-aa.csv"), AA_COLUMNS, aa,
                    lambda r: (r["program"], r["set"]), key)


def about_this() -> Row:
    """The columns that tell what was measured, and where."""
    def line(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, cwd=tree.ROOT)
        return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""
    return {"machine": machine.name(), "compiler": line(runs.compiler(), "--version"),
            "commit": line("git", "rev-parse", "--short", "HEAD")}


def repetitions(quick: bool, fewest: int = verdict.ROUNDS) -> int:
    """REPEAT=, which must be large enough for an interval, unless QUICK=1."""
    repeat = runs.whole_number("REPEAT", 3 if quick else fewest)
    if repeat < (1 if quick else fewest):
        raise SystemExit(f"REPEAT={repeat}: too few: expected at least {fewest}, or QUICK=1")
    return repeat


def sets_of_rungs(program: Program) -> list[str]:
    """The sets and jobs for rungs, with RUNGS=1: shorter ones, since rungs are many."""
    return program.mk.get("rung_sets", "").split() if options.is_set("RUNGS") else []


def sets_of(program: Program, quick: bool) -> list[str]:
    """The sets to measure: those of SET=, as far as the program has them."""
    wanted = os.environ.get("SET", "").split() or sets_of_rungs(program)
    if not wanted:
        return [program.quick if quick else program.shown]
    return [name for name in program.sets
            if name in (program.usual if wanted == ["all"] else wanted)]


def jobs_of(program: Program, quick: bool) -> list[str]:
    """The jobs to measure: those of SET=, or those of make run."""
    wanted = os.environ.get("SET", "").split() or sets_of_rungs(program)
    if not wanted:
        return [] if quick else program.mk.get("jobs", "").split()
    return [name for name in program.jobs if name in wanted or wanted == ["all"]]


def target(arguments: argparse.Namespace, kind: str = "") -> tuple[Path, bool]:
    """(the file for the results, whether it is written)."""
    path = Path(arguments.results or results.FOLDER / f"{machine.name()}{kind}.csv")
    return path, not arguments.quick or bool(arguments.results)


def report_target(path: Path, written: bool) -> None:
    print(f"written to {path}" if written else "no file written: QUICK=1 (RESULTS= names one)")


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "STEP", "PROGRAM", "BACKEND", "SET", "REPEAT", "QUICK", "RESULTS",
        "RUNGS", "VARIANTS"))
    quick = arguments.quick
    repeat, about = repetitions(quick), about_this()
    path, written = target(arguments)
    sessions = [Session(program, name)
                for program in tree.selected(tree.programs(), "PROGRAM")
                for name in [*sets_of(program, quick), *jobs_of(program, quick)]]
    sessions = [s for s in sessions if s.items]
    if not sessions:
        raise SystemExit("nothing to measure: expected binaries that are built, and a set that "
                         "a program has")
    for session in sessions:
        session.prepare()
    for n, session in enumerate(sessions):
        session.measure(repeat, repeat * sum(s.repetition_seconds() for s in sessions[n + 1:]))
        rows, aa = session.report(about, repeat, quick)
        if written:
            save(rows, aa, path)
    report_target(path, written)


if __name__ == "__main__":
    main()
