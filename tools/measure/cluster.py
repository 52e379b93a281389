"""cluster.py - make cluster: a program on ranks of MPI, compared with threads.

Measures the last step of a program that has an MPI back-end, with one rank of two threads,
one of one thread, and two of one, interleaved and verified as in bench.py, with A/A pairs
of the last two. The query is `cluster` of program.mk, or else the set that tables show. No
checker knows the files that `cluster.outputs` names: they must have the bytes that OpenMP
writes in the step that the MPI back-end came from.

Writes results/MACHINE-cluster.csv, replacing the rows that it measured.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tools.base import options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import BACKENDS, Program, Step
from tools.measure import bench
from tools.measure.item import Item
from tools.verify import execute

COLUMNS = """machine commit program set step ranks threads runs per_round run_median
run_q1 run_q3 cpu_percent over_one over_one_low over_one_high over_one_is over_threads
over_threads_low over_threads_high over_threads_is aa_spread mark""".split()
SHAPES = (1, 2), (1, 1), (2, 1)  # ranks, threads of each


def query(program: Program) -> list[str]:
    """The arguments that are measured."""
    return program.arguments(program.mk["cluster"]) if "cluster" in program.mk else \
        program.sets[program.shown]


def mpi_backend() -> str:
    """The back-end that is launched as ranks and has no device."""
    return next(b.name for b in BACKENDS.values() if b.launch and b.device == "threads")


class RankItem(Item):
    """A program on a number of ranks with a number of threads each."""

    def __init__(self, program: Program, step: Step, ranks: int, threads: int) -> None:
        own_query = "cluster" in program.mk
        super().__init__(program, "cluster" if own_query else program.shown, step,
                         mpi_backend())
        self.ranks, self.threads = ranks, threads
        self.environment = {"RANKS": str(ranks), "OMP_NUM_THREADS": str(threads)}
        self.arguments = query(program)
        if own_query:
            self.outputs = [tree.Output(key, "", None)
                            for key in program.mk["cluster.outputs"].split()]

    def label(self) -> str:
        return f"{super().label()}, {self.ranks} ranks of {self.threads} threads"

    def verify(self, files: Mapping[str, Path]) -> None:
        assert isinstance(self.step, Step)
        if self.set in self.program.sets:
            super().verify(files)
        elif execute.digest(files) != reference(self.program, self.step,
                                                         tuple(self.outputs)):
            raise SystemExit(f"{self.label()}: not the bytes that OpenMP writes")


@cache
def reference(program: Program, step: Step, outputs: Sequence[tree.Output]) -> str:
    """The digest of what the step before writes for the same query, run once."""
    found = tree.baseline(step, program, mpi_backend())
    assert found
    item = Item(program, "cluster", *found)
    item.arguments, item.outputs = query(program), outputs
    return execute.digest(item.once())


class Session(bench.Session):
    def __init__(self, program: Program, step: Step) -> None:
        self.program, self.pairs = program, []
        self.shapes = [RankItem(program, step, *shape) for shape in SHAPES]
        self.items = list(self.shapes)
        self.set = self.items[0].set

    def prepare(self) -> None:
        self.warm_up()
        self.pairs = [(i, bench.second_item(i)) for i in self.shapes if i.threads == 1]

    def partners(self) -> list[bench.Pair]:
        """All with one rank of one thread, and with one rank of two."""
        two, one, _ = self.items
        return [(i, other) for other in (one, two) for i in self.items if i is not other]

    def rows(self, about: Row, quick: bool) -> list[Row]:
        """Prints the table. Returns its rows."""
        spread = self.spread()
        two, one, _ = self.shapes
        rows: list[Row] = []
        for item in self.shapes:
            marks = set(item.marks)
            if quick or len(item.times) < verdict.ROUNDS:
                marks.add("quick" if quick else "few")
            columns: Row = {
                **about, "program": self.program.name, "set": self.set,
                "step": item.step.name, "ranks": item.ranks, "threads": item.threads,
                **bench.time_columns(item),
                **bench.ratio_columns(item, one, "over_one", spread),
                **bench.ratio_columns(item, two, "over_threads", spread),
                "aa_spread": f"{spread:.3f}", "mark": " ".join(sorted(marks))}
            rows.append({c: columns[c] for c in COLUMNS})
        print(f"{self.program.name}, {self.items[0].step.name}, set {self.set}, seconds; "
              f"95 % intervals; ~: within the noise (A/A pairs: {1 / spread:.3f} to "
              f"{spread:.3f})")
        print(runs.table([["ranks", "threads", "runs", "median", "CPU %", "over 1 x 1",
                           "over 1 x 2", "mark"]] + [
            [str(r["ranks"]), str(r["threads"]), str(r["runs"]), r["run_median"],
             r["cpu_percent"], verdict.long(r, "over_one"),
             verdict.long(r, "over_threads"), r["mark"]] for r in rows]), flush=True)
        return rows


def sessions() -> Iterator[Session]:
    for program in tree.selected(tree.programs(), "PROGRAM"):
        steps = [s for s in tree.steps() if mpi_backend() in s.available(program)]
        if steps:
            yield Session(program, steps[-1])


def main() -> None:
    arguments = options.parse(options.parser(
        __doc__, "PROGRAM", "REPEAT", "QUICK", "RESULTS"))
    repeat = bench.repetitions(arguments.quick)
    about = {k: v for k, v in bench.about_this().items() if k in COLUMNS}
    path, written = bench.target(arguments, "-cluster")
    found = list(sessions())
    if not found:
        raise SystemExit("nothing to measure: expected a back-end with MPI that is built")
    for session in found:
        session.prepare()
    for n, session in enumerate(found):
        session.measure(repeat, repeat * sum(s.repetition_seconds() for s in found[n + 1:]))
        rows = session.rows(about, arguments.quick)
        if written:
            results.replace(path, COLUMNS, rows,
                            lambda r: (r["program"], str(r["ranks"]), str(r["threads"])))
    bench.report_target(path, written)


if __name__ == "__main__":
    main()
