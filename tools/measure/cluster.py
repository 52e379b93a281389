"""cluster.py - make cluster: a program on ranks of MPI, and on threads beside.

    PROGRAM=    choose, as make's; of each, the last step that has a back-end mpi
    REPEAT=     rounds, 15 unless set and not fewer
    QUICK=1     a look: 3 rounds, written nowhere unless RESULTS= says where
    RESULTS=    the file to write, results/MACHINE-cluster.csv unless set

One rank of two threads, one of one thread and two of one run in turns, as bench.py has
it: verified, interleaved, with A/A pairs of the last two. What is run is the set that is
shown, or what program.mk has as `cluster`, a query, its files named by `cluster.outputs`,
which no checker knows: they must be to the byte what OpenMP writes in the step that the
ranks came from.

Writes results/MACHINE-cluster.csv, replacing the rows it measured anew. tools/history/
model.py says what follows for more ranks, make report draws it.
"""
import hashlib
import os
import re
import statistics
import time
from pathlib import Path

from tools.history import results, runs, tree, verdict
from tools.measure import bench, ceilings, machine

COLUMNS = """machine commit program set sizes step ranks threads runs per_round run_median
run_q1 run_q3 cpu_percent over_one over_one_low over_one_high over_one_is over_threads
over_threads_low over_threads_high over_threads_is aa_spread mark""".split()
SHAPES = (1, 2), (1, 1), (2, 1)  # ranks, threads of each


def query(program):
    """The words of what is run."""
    return program.arguments(program.mk["cluster"]) if "cluster" in program.mk else \
        program.sets[program.shown]


def counted_query(program):
    """The same as BUILD/PROGRAM-count wants it: that a section is one, its file says,
    which is not written."""
    results_of = {o.key for o in program.outputs}
    return query(program) + [f"{key}=none" for key in
                             program.mk.get("cluster.outputs", "").split()
                             if key not in results_of]


class Item(bench.Item):
    """A program on so many ranks, of so many threads each."""

    def __init__(self, program, step, ranks, threads):
        named = "cluster" in program.mk
        super().__init__(program, "cluster" if named else program.shown, step, "mpi")
        self.ranks, self.threads = ranks, threads
        self.environment = {"RANKS": str(ranks), "OMP_NUM_THREADS": str(threads)}
        self.words = query(program)
        if named:
            self.keys = program.mk["cluster.outputs"].split()

    def label(self):
        return f"{super().label()}, {self.ranks} ranks of {self.threads} threads"

    def verify(self, files):
        if self.set in self.program.sets:
            super().verify(files)
        elif content(files) != reference(self.program, self.step, self.keys):
            raise SystemExit(f"{self.label()}: not the bytes that OpenMP writes")


def content(files):
    """A number for what is in files, {key: path}."""
    mark = hashlib.sha256()
    for key, path in sorted(files.items()):
        mark.update(f"{key} ".encode() + (path.read_bytes() if path.exists() else b""))
    return mark.hexdigest()


def sizes_of(item):
    """The sizes of its query, as they are counted, and the numbers that it printed of
    what is known only when it is done."""
    printed = {k: float(v) for k, v in runs.Result(0, item.said, "").values().items()
               if re.fullmatch(r"\w+", k) and re.fullmatch(r"\d+(\.\d*)?", v) and
               not k.startswith("Time_")}
    counted = ceilings.count(item.program, counted_query(item.program)) or {}
    return {**printed, **counted}


KNOWN = {}  # {program: what reference() found}


def reference(program, step, keys):
    """content() of what OpenMP makes of the same query, run once."""
    if program not in KNOWN:
        earlier, backend = tree.compared(step, program, "mpi")
        item = bench.Item(program, "cluster", earlier, backend)
        item.words, item.keys = query(program), keys
        KNOWN[program] = content(item.once())
    return KNOWN[program]


class Session(bench.Session):
    def __init__(self, program, step):
        self.program, self.pairs = program, []
        self.items = [Item(program, step, *shape) for shape in SHAPES]
        self.set = self.items[0].set

    def prepare(self):
        known = {}
        for item in self.items:
            runs.stage(f"{item.label()}, not counted")
            item.known = known
            start = time.monotonic()
            item.usual_cpu = item.turn()["cpu"]
            item.wall = time.monotonic() - start
        self.pairs = [(i, bench.second_self(i)) for i in self.items if i.threads == 1]

    def partners(self):
        """All with one rank and one thread, and with one rank and two."""
        two, one, _ = self.items
        return [(i, other) for other in (one, two) for i in self.items if i is not other]

    def report(self, about, quick):
        """Prints the table; its rows."""
        spread = verdict.spread_of([verdict.compare(again.seconds(), item.seconds())
                                    for item, again in self.pairs])
        two, one, _ = self.items
        sizes = " ".join(f"{k}={v:.10g}" for k, v in sizes_of(one).items())
        rows = []
        for item in self.items:
            q1, median, q3 = verdict.quartiles(item.column("run"))
            marks = set(item.marks)
            if quick or len(item.times) < verdict.ROUNDS:
                marks.add("quick" if quick else "few")
            rows.append({
                **about, "program": self.program.name, "set": self.set, "sizes": sizes,
                "step": item.step.name, "ranks": item.ranks, "threads": item.threads,
                "runs": len(item.times), "per_round": item.per_round,
                "run_median": f"{median:.6f}", "run_q1": f"{q1:.6f}",
                "run_q3": f"{q3:.6f}",
                "cpu_percent": f"{statistics.median(item.column('cpu')):.0f}",
                **bench.compared(item, one, "over_one", spread),
                **bench.compared(item, two, "over_threads", spread),
                "aa_spread": f"{spread:.3f}", "mark": " ".join(sorted(marks))})
        print(f"{self.program.name}, {self.items[0].step.name}, set {self.set}, seconds; "
              f"95 % intervals; ~: not to be told from 1 (A/A pairs: {1 / spread:.3f} to "
              f"{spread:.3f})")
        print(runs.table([["ranks", "threads", "runs", "median", "CPU %", "over 1 x 1",
                           "over 1 x 2", "mark"]] + [
            [str(r["ranks"]), str(r["threads"]), str(r["runs"]), r["run_median"],
             r["cpu_percent"], verdict.long(r, "over_one"),
             verdict.long(r, "over_threads"), r["mark"]] for r in rows]), flush=True)
        return rows


def sessions():
    for program in tree.selected(tree.programs(), "PROGRAM"):
        steps = [s for s in tree.steps() if "mpi" in s.available(program)]
        if steps:
            yield Session(program, steps[-1])


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = bench.rounds_asked(quick)
    about = {k: v for k, v in bench.about_this().items() if k in COLUMNS}
    path = Path(os.environ.get("RESULTS") or
                results.FOLDER / f"{machine.name()}-cluster.csv")
    written = not quick or bool(os.environ.get("RESULTS"))
    found = list(sessions())
    if not found:
        raise SystemExit("nothing to measure: no program has a back-end mpi that is built")
    for session in found:
        session.prepare()
    for n, session in enumerate(found):
        session.measure(repeat, repeat * sum(s.round_seconds() for s in found[n + 1:]))
        rows = session.report(about, quick)
        if written:
            results.replace(path, COLUMNS, rows,
                            lambda r: (r["program"], str(r["ranks"]), str(r["threads"])))
    print(f"written to {path}" if written else
          "written nowhere: QUICK=1 (RESULTS= says where)")


if __name__ == "__main__":
    main()
