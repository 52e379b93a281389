"""bars.py - make bars: whether each program reaches the speeds that it promises.

program.mk states them, one line per set or job, separated by semicolons:

    bar.line3 = 08 omp / 05 omp,ocl >= 10; 10 omp window=moveout / 08 omp >= 2

The first side is to be so many times as fast as the second. A side is a step, a back-end
(of several the fastest counts), and words for the binary: arguments of the query, or
variables of the environment in capitals, such as OMP_NUM_THREADS=1. ARCH=-march=haswell is a
variable of make: this side is built with it. The bars of a set are
measured together, like the items of make bench (item.py), and each run is verified; the
first item also runs under a second name (an A/A pair). The times are those of the search:
Time_search where a program prints it, because what follows a search, such as the wait for a
disk, belongs to no step; else Time_run. Column run_ratio has the ratio of Time_run.

Writes results/MACHINE-bars.csv (with RESULTS=FILE, FILE-bars.csv), replacing the rows that
it measured. make bench runs it.
"""
from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tools.base import copies, options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import Program, Step
from tools.history import rungs
from tools.measure import bench
from tools.measure.item import Item, run_interleaved

COLUMNS = """machine compiler commit program set faster slower rounds seconds ratio low high
run_ratio aa_spread bar reached mark""".split()


@dataclass(frozen=True)
class Side:
    """One side of a bar."""
    step: str  # its number
    backends: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Side:
        step, backends, *words = text.split()
        return cls(step, tuple(backends.split(",")), tuple(words))

    def items(self, program: Program, name: str, kind: type[Item] = Item) -> list[Item]:
        """An item, of a kind, for each back-end that is built and selected."""
        wanted = bench.backends_wanted()
        return [self.item(kind(program, name, step, backend))
                for step in rungs.selected_steps() if step.number == self.step
                for backend in step.available(program)
                if backend in self.backends and (not wanted or backend in wanted)]

    def item(self, item: Item) -> Item:
        """The same item with the words of this side."""
        given = [w for w in self.words if not w.partition("=")[0].isupper()]
        item.arguments = tree.with_arguments(list(item.arguments), given)
        item.environment = dict(w.split("=", 1) for w in self.words if w not in given)
        arch = item.environment.pop("ARCH", None)
        if arch is not None and isinstance(item.step, Step):
            item.alias = copies.built_with(item.program, item.step, item.backend, [f"ARCH={arch}"])
        return item

    def __str__(self) -> str:
        return " ".join([self.step, ",".join(self.backends), *self.words])


@dataclass(frozen=True)
class Bar:
    faster: Side
    slower: Side
    least: float

    @classmethod
    def parse(cls, text: str) -> Bar:
        sides, sign, least = text.partition(">=")
        faster, slash, slower = sides.partition("/")
        if not (sign and slash):
            raise SystemExit(f"program.mk: bar ({text.strip()}): expected SIDE / SIDE >= RATIO")
        return cls(Side.parse(faster), Side.parse(slower), float(least))


def bars_of(program: Program) -> dict[str, list[Bar]]:
    """The bars of each set and job."""
    return {key.removeprefix("bar."): [Bar.parse(text) for text in value.split(";")]
            for key, value in program.mk.items() if key.startswith("bar.")}


def fastest(items: Sequence[Item]) -> Item:
    return min(items, key=lambda i: statistics.median(i.column("search")))


def rows_of(program: Program, name: str, bars: Sequence[Bar], repeat: int) -> list[Row]:
    """Measures the bars of one set or job."""
    sides = {side: side.items(program, name)
             for bar in bars for side in (bar.faster, bar.slower)}
    bars = [bar for bar in bars if sides[bar.faster] and sides[bar.slower]]
    items = list({id(i): i for bar in bars for side in (bar.faster, bar.slower)
                  for i in sides[side]}.values())
    if not items:
        return []
    accepted: dict[str, float] = {}
    for item in items:
        item.accepted = accepted
        item.warmup_cpu = item.measure()["cpu"]
    second = bench.second_item(items[0])
    run_interleaved([*items, second], f"{program.name}, {name}", repeat)
    spread = verdict.spread_of([verdict.compare(second.seconds("search"),
                                                items[0].seconds("search"))])
    rows = []
    for bar in bars:
        faster, slower = fastest(sides[bar.faster]), fastest(sides[bar.slower])
        found, whole = (verdict.compare(faster.seconds(key), slower.seconds(key), spread)
                        for key in ("search", "run"))
        rows.append({
            "program": program.name, "set": name, "faster": str(bar.faster),
            "slower": str(bar.slower), "rounds": bench.common(faster, slower),
            "seconds": f"{statistics.median(faster.column('search')):.6f}",
            "ratio": f"{found.ratio:.3f}", "low": f"{found.low:.3f}",
            "high": f"{found.high:.3f}", "run_ratio": f"{whole.ratio:.3f}",
            "aa_spread": f"{spread:.3f}", "bar": bar.least,
            "reached": "yes" if found.ratio >= bar.least else "no",
            "mark": " ".join(sorted(faster.marks | slower.marks))})
    return rows


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "STEP", "PROGRAM", "BACKEND", "SET", "REPEAT", "QUICK", "RESULTS"))
    repeat, about = bench.repetitions(arguments.quick), bench.about_this()
    path, written = bench.target(arguments)
    path = path.with_name(f"{path.stem}-bars.csv")
    sets, measured = arguments.set.split(), False
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for name, bars in bars_of(program).items():
            if sets not in ([], ["all"]) and name not in sets:
                continue
            rows = rows_of(program, name, bars, repeat)
            if not rows:
                continue
            measured = True
            print(f"{program.name}, {name}: times as fast, medians of {repeat} repetitions "
                  "with 95 % intervals")
            print(runs.table([["faster", "slower", "seconds", "ratio", "of Time_run", "bar",
                               "reached"]] +
                             [[r["faster"], r["slower"], r["seconds"],
                               f"{r['ratio']} ({r['low']} to {r['high']})",
                               r["run_ratio"], f"{r['bar']:g}", r["reached"]] for r in rows]),
                  flush=True)
            if written:
                results.replace(path, COLUMNS, [{**about, **r} for r in rows],
                                lambda r: (r["program"], r["set"], r["faster"], r["slower"]))
    if measured:
        bench.report_target(path, written)
    else:
        print("no bars: expected built steps on both sides of a bar of program.mk")


if __name__ == "__main__":
    main()
