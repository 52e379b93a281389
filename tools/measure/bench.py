"""bench.py - make bench: how fast each step and back-end is, and how sure that is.

    STEP= PROGRAM= BACKEND=   choose, as make's; what make shares and make cluster measure,
                only where STEP= or BACKEND= names it
    SET=        names of sets, or all; unless set, the one of each program that is shown
    REPEAT=     rounds, 15 unless set and not fewer
    QUICK=1     a look: 3 rounds, of the quick set, their rows marked so; written nowhere
                unless RESULTS= says where
    RESULTS=    the file to write, results/MACHINE.csv unless set
    VARIANTS=1   the points between two steps too (tools/measure/variants.py), which are
                compared with the step before

What is compared is interleaved: a turn of each, in an order drawn anew for every round,
so that a machine whose speed drifts drifts for all alike; ratios are taken round by
round. A turn is a run of the binary, or as many as make 0.2 s, whose mean counts. Every
run is verified. Two or three items of each set run under a second name as well: what
these A/A pairs differ by is nothing. verdict.py says what is a difference then. Steps
whose binaries are the same code (same.py) are run once, in the earliest of them, whose
times the others have in their rows: `times_of` names it.

A run during which other processes took more than a tenth of the CPU time in use is
repeated, three times at most, then marked busy. A turn that had less than 90 % of the
CPU time a second that its item usually has does not count: its item, and what that is
compared with, get another round, up to a third more than were asked for; who still has
fewer than 15 is marked few. Before the first round all are run once, uncounted.
OpenMP's threads are bound to cores, and PoCL's, unless OMP_PROC_BIND or POCL_AFFINITY says
otherwise: two that begin on one core share it until the system's next tick, which takes
longer than some runs.

Writes results/MACHINE.csv, replacing the rows it measured anew, and MACHINE-aa.csv, the
A/A pairs, after each set.
"""
import copy
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from tools.history import results, runs, tree, verdict
from tools.measure import ceilings, variants, machine, same

COLUMNS = """machine device compiler flags commit program set step backend threads runs
per_round times_of init_mean init_sd run_mean run_sd run_median run_q1 run_q3
kernel_median cpu_percent over_previous over_previous_low over_previous_high
over_previous_is over_first over_first_low over_first_high over_first_is aa_spread share
ceiling of_ceiling mark""".split()
AA_COLUMNS = """machine commit program set step backend rounds ratio low high mark""".split()
TRIES = 3
TURN = 0.2  # seconds of run time
LEAST_CPU = 0.9  # of an item's usual CPU time a second
BIND = {"omp": ("OMP_PROC_BIND", "true"), "ocl": ("POCL_AFFINITY", "1")}


class Item:
    """One back-end of one step on one set, and what its turns took."""

    least, demand = TURN, LEAST_CPU  # of a turn: seconds, part of its usual CPU time

    def __init__(self, program, name, step, backend):
        self.program, self.set, self.step, self.backend = program, name, step, backend
        self.words = program.sets.get(name)
        self.keys = [o.key for o in program.timed]  # of its outputs
        self.extra, self.environment = [], {}  # words and variables for the run alone
        self.said = ""  # what the last run printed
        self.share = 0.0  # of the error budget, the most that was used
        self.known = {}  # outputs that were verified: {their hash: share}
        self.alias = None  # another path of the same binary
        self.same = None  # the item that has the same code and is run for both
        self.about = 0.0  # seconds of run time, roughly
        self.usual_cpu, self.wall = 0.0, 0.0  # of a turn: percent, seconds with all
        self.forget()

    def forget(self):
        """Nothing was measured yet."""
        self.rounds = []  # of each its turn, {init, run, kernel, cpu, ..}; None: no turn
        self.marks, self.per_round = set(), 1

    def usual(self):
        """Percent of a CPU that its turns had so far."""
        known = [t["cpu"] for t in self.rounds if t]
        return statistics.median(known or [self.usual_cpu])

    @property
    def counted(self):
        """Its rounds, None where it had no turn or one with too little CPU time."""
        least = self.demand * self.usual()
        return [t if t and t["cpu"] >= least else None for t in self.rounds]

    @property
    def times(self):
        """The turns that count."""
        return [t for t in self.counted if t]

    def label(self):
        return f"{self.program.name} set {self.set} {self.step.name} {self.backend}"

    def run(self):
        """A turn."""
        start = time.monotonic()
        for attempt in range(TRIES):
            turn = self.turn()
            if turn["cpu"] >= self.demand * self.usual() and not turn["busy"]:
                break
        if turn["busy"]:
            self.marks.add("busy")
        self.rounds.append(turn)
        self.wall = time.monotonic() - start

    def turn(self):
        """Runs until there is enough run time: the means, what part of a CPU it had, and
        whether others were busy meanwhile."""
        taken, used, busy, wall, asked = [], 0.0, 0.0, 0.0, self.per_round
        while len(taken) < asked or sum(t["run"] for t in taken) < self.least:
            busy_before, own_before = machine.busy(), machine.own()
            start = time.monotonic()
            files = self.once()
            wall += time.monotonic() - start
            used += machine.own() - own_before
            busy += machine.busy() - busy_before
            self.verify(files)
            said = runs.Result(0, self.said, "").values()
            taken.append({k: float(said[f"Time_{k}"]) for k in ("init", "run", "kernel")})
            if self.program.mk.get("rate") in said:
                taken[-1]["rate"] = float(said[self.program.mk["rate"]])
        self.per_round = len(taken)
        mean = {k: statistics.mean(t[k] for t in taken) for k in taken[0]}
        return {**mean, "cpu": 100 * used / wall,
                "busy": busy - used > machine.FOREIGN * max(used, 1e-3)}

    def once(self):
        """Runs the binary; its outputs, {key: path}."""
        folder = tree.build() / "bench"
        folder.mkdir(parents=True, exist_ok=True)
        files = {key: folder / f"{key}.npy" for key in self.keys}
        for path in files.values():
            path.unlink(missing_ok=True)
        binary = self.alias or self.step.binary(self.program, self.backend)
        command, environment = runs.launch(binary, self.backend, self.environment)
        if self.backend in BIND:
            key, bound = BIND[self.backend]
            environment.setdefault(key, os.environ.get(key, bound))
        ended = runs.run([*command, *self.words, *self.extra] +
                         [f"{k}={p}" for k, p in files.items()], 600, environment)
        if ended.failure():
            raise SystemExit(f"{self.label()}: {ended.failure()}")
        self.said = ended.out
        return files

    def verify(self, files):
        """Asks the checker, unless the same bytes were found right before."""
        mark = hashlib.sha256()
        for key, path in sorted(files.items()):
            content = path.read_bytes() if path.exists() else b"is missing"
            mark.update(f"{key} {len(content)} ".encode())
            mark.update(content)
        mark = mark.digest()
        if mark not in self.known:
            checked = runs.check(self.program, self.words, files, f"set{self.set}")
            if not checked["ok"]:
                raise SystemExit(f"{self.label()}: not verified: {checked['reason']}")
            self.known[mark] = checked["share"]
        self.share = max(self.share, self.known[mark])

    def column(self, key):
        return [t[key] for t in self.times]

    def timed(self):
        """The item whose rounds are this one's too."""
        return self.same or self

    def seconds(self):
        """Run times round by round, None where a round does not count."""
        return [t and t["run"] for t in self.timed().counted]


# ---- what is compared ----------------------------------------------------------------


def previous(item, items):
    """What an item's gain is measured against: the same back-end one step before, or,
    for one that is new, the back-end that its first port came from."""
    step = item.step.step if isinstance(item.step, variants.Variant) else item.step
    found = tree.compared(step, item.program, item.backend)
    return next((i for i in items if (i.step, i.backend) == found), None)


def first(items):
    """The sequential program of the first step, if it is among them."""
    return items[0] if items[0].step.number == "00" else None


def find_same(items):
    """Finds which items are the same code as an earlier one of their back-end."""
    codes = same.codes((i.step, i.program, i.backend) for i in items)
    seen = {}
    for item in items:
        code = item.backend, codes[item.step, item.program, item.backend]
        item.same = seen.get(code)
        seen.setdefault(code, item)


def pairs_of(items):
    """[(item, its second self)]: the first and the fastest OpenMP back-end and the
    fastest of each device; where there are not two of these, whatever comes first and
    last."""
    own = [i for i in items if not i.same]

    def fastest(backend):
        return min((i for i in own if i.backend == backend), default=None,
                   key=lambda i: i.about)

    chosen = [next((i for i in own if i.backend == "omp"), None)]
    chosen += [fastest(b) for b in ("omp", "ocl", "cuda")]
    chosen = list(dict.fromkeys(i for i in chosen if i))
    chosen += [i for i in (own[0], own[-1]) if len(chosen) < 2 and i not in chosen]
    return [(item, second_self(item)) for item in chosen]


def second_self(item):
    """The same under another name: another file of the same content."""
    again = copy.copy(item)
    again.forget()
    again.per_round = item.per_round
    folder = tree.build() / "bench" / "aa"
    folder.mkdir(parents=True, exist_ok=True)
    binary = item.step.binary(item.program, item.backend)
    again.alias = folder / "-".join([*item.step.name.split("/"), binary.name])
    again.alias.unlink(missing_ok=True)
    shutil.copy2(binary, again.alias)
    return again


def partners(items):
    """[(item, other)] of all that are compared."""
    found = [(i.timed(), other.timed()) for i in items
             for other in (previous(i, items), first(items)) if other]
    return [(a, b) for a, b in found if a is not b]


def common(item, other):
    """In how many rounds both had a turn that counts."""
    return sum(1 for a, b in zip(item.seconds(), other.seconds()) if a and b)


def round_of(items, pairs, compared, asked):
    """What a further round must run: all until so many are done, then what is compared
    and has fewer rounds that count on both sides."""
    everything = [i for i in items if not i.same] + [again for _, again in pairs]
    if len(everything[0].rounds) < asked:
        return everything
    lacking = [(a, b) for a, b in compared + pairs if common(a, b) < asked]
    wanted = {i for pair in lacking for i in pair} | {
        i for i in everything if len(i.times) < asked}
    return [i for i in everything if i in wanted]


# ---- what is said --------------------------------------------------------------------


def compared(item, other, key, spread):
    """The columns of a ratio."""
    columns = {k: "" for k in (key, f"{key}_low", f"{key}_high", f"{key}_is")}
    if other is None or other is item:
        return columns
    if other.timed() is item.timed():
        return {**columns, f"{key}_is": "same code"}
    try:
        found = verdict.compare(item.seconds(), other.seconds(), spread)
    except ValueError:  # they never had a round together
        return columns
    return {key: f"{found.ratio:.3f}", f"{key}_low": f"{found.low:.3f}",
            f"{key}_high": f"{found.high:.3f}", f"{key}_is": found.word}


def ceiling(item, values):
    """What ceilings.py says of a row: how near it came to what the machine can do. Of a
    variant nothing is declared."""
    if isinstance(item.step, variants.Variant):
        return None
    return ceilings.roofline(item.program, item.step, item.set,
                             float(values["kernel_median"]), values["threads"],
                             values["device"], values["machine"])


def row(item, items, about, spread, quick=False):
    own = item.timed()
    q1, median, q3 = verdict.quartiles(own.column("run"))
    values = {
        **about, "device": runs.device(item.backend), "program": item.program.name,
        "set": item.set, "step": item.step.name, "backend": item.backend,
        "threads": runs.threads(item.backend), "runs": len(own.times),
        "per_round": own.per_round, "times_of": item.same.step.name if item.same else "",
        "cpu_percent": f"{statistics.median(own.column('cpu')):.0f}",
        "run_median": f"{median:.6f}", "run_q1": f"{q1:.6f}", "run_q3": f"{q3:.6f}",
        "kernel_median": f"{statistics.median(own.column('kernel')):.6f}",
        "aa_spread": f"{spread:.3f}", "share": f"{item.share:.2f}",
        "ceiling": "", "of_ceiling": "",
    }
    marks = set(own.marks) | ({"quick"} if quick else set())
    if len(own.times) < verdict.ROUNDS and not quick:
        marks.add("few")  # of its rounds had the CPU time that is usual
    limit = ceiling(item, values)
    if limit:
        values["ceiling"] = limit["ceiling_name"]
        values["of_ceiling"] = f"{limit['share']:.4f}"
        marks |= {"SUSPICIOUS"} if limit["suspicious"] else set()
    values["mark"] = " ".join(sorted(marks))
    for key in ("init", "run"):
        column = own.column(key)
        values[f"{key}_mean"] = f"{statistics.mean(column):.6f}"
        values[f"{key}_sd"] = f"{statistics.stdev(column) if len(column) > 1 else 0:.6f}"
    values.update(compared(item, previous(item, items), "over_previous", spread))
    values.update(compared(item, first(items), "over_first", spread))
    return values


def aa_row(item, again, about):
    """A pair of the same, as a row."""
    found = verdict.compare(again.seconds(), item.seconds())
    return {"machine": about["machine"], "commit": about["commit"],
            "program": item.program.name, "set": item.set, "step": item.step.name,
            "backend": item.backend, "ratio": f"{found.ratio:.3f}",
            "rounds": common(item, again),
            "low": f"{found.low:.3f}", "high": f"{found.high:.3f}",
            "mark": " ".join(sorted(item.marks | again.marks))}


def share_of_ceiling(values):
    return f"{100 * float(values['of_ceiling']):.0f} % ({values['ceiling']})" \
        if values["of_ceiling"] else "-"


def duration(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def between(program, steps):
    """The variants into these steps, built, if they are asked for."""
    if os.environ.get("VARIANTS", "") in ("", "0"):
        return []
    found = [p for p in variants.points(program) if p.step in steps and not p.arguments]
    for point in found:
        problem = point.build(program)
        if problem:
            raise SystemExit(f"{point.name}: {problem}")
    return found


class Session:
    """One set of one program: what is run in turns."""

    def __init__(self, program, name):
        backends = os.environ.get("BACKEND", "").split()
        steps = tree.selected(tree.steps(), "STEP")
        elsewhere = tree.FOR_CHECKING + (() if os.environ.get("STEP") else tree.SHARED)
        self.program, self.set = program, name
        self.items = [Item(program, name, step, backend)
                      for step in sorted(steps + between(program, steps),
                                         key=lambda s: s.name)
                      for backend in step.available(program)
                      if backend in backends or
                      not backends and backend not in elsewhere]
        self.pairs = []

    def prepare(self):
        """One run of each, which builds and caches the kernels, is verified, and says
        how long the others will take."""
        runs.stage(f"{self.program.name}, set {self.set}: which code is the same")
        find_same(self.items)
        known = {}
        for n, item in enumerate(self.items, 1):
            runs.progress(f"{n} of {len(self.items)}, not counted: {item.label()}")
            item.known = known
            start = time.monotonic()
            turn = item.turn()
            item.about, item.usual_cpu = turn["run"], turn["cpu"]
            item.wall = time.monotonic() - start
        self.pairs = pairs_of(self.items)
        for item, again in self.pairs:
            again.wall = item.wall

    def partners(self):
        """[(item, other)] of all that are compared, but for the A/A pairs."""
        return partners(self.items)

    def round_seconds(self):
        """How long a round of all takes."""
        return sum(i.wall for i in [*self.items, *(again for _, again in self.pairs)]
                   if not i.same)

    def measure(self, repeat, later):
        """All rounds; later is how long what comes after takes."""
        chance, n = random.Random(1), 0
        while n < repeat + repeat // 3:
            turns = round_of(self.items, self.pairs, self.partners(), repeat)
            if not turns:
                break
            n += 1
            left = later + self.round_seconds() * max(0, repeat - n + 1)
            now = f"{self.program.name}, set {self.set}, round {n} of {repeat}, " \
                  f"about {duration(left)} left"
            runs.stage(now)
            chance.shuffle(turns)
            for item in turns:
                runs.progress(f"{now}: {item.step.name} {item.backend}")
                item.run()
            for item in [*self.items, *(again for _, again in self.pairs)]:
                if item not in turns:
                    item.rounds.append(None)
        runs.progress("")

    def report(self, about, repeat, quick):
        """Prints the table; (rows, rows of the A/A pairs)."""
        about = {**about, "flags": flags_of(self.program)}
        spread = verdict.spread_of([verdict.compare(again.seconds(), item.seconds())
                                    for item, again in self.pairs])
        rows = [row(item, self.items, about, spread, quick) for item in self.items]
        print(f"{self.program.name}, set {self.set}, {repeat} rounds, seconds; 95 % "
              f"intervals; ~: not to be told from 1 (A/A pairs: {1 / spread:.3f} to "
              f"{spread:.3f})")
        print(runs.table([["step", "back-end", "init", "run mean", "sd", "median", "CPU %",
                           "over the step before", "over 00", "of the ceiling", "mark"]] + [
            [r["step"], r["backend"], f"{float(r['init_mean']):.4f}",
             f"{float(r['run_mean']):.4f}", f"{float(r['run_sd']):.4f}",
             f"{float(r['run_median']):.4f}", r["cpu_percent"],
             verdict.long(r, "over_previous"), verdict.long(r, "over_first"),
             share_of_ceiling(r), r["mark"]] for r in rows]), flush=True)
        return rows, [aa_row(*pair, about) for pair in self.pairs]


def save(rows, aa, path):
    """Writes rows into the machine's file, in the place of those of the same things, and
    the A/A pairs beside it."""
    def key(r):
        return r["program"], r["set"], r["step"], r["backend"]
    sets = {(r["program"], r["set"]) for r in rows}
    results.replace(path, COLUMNS, rows, key)
    beside = path.with_name(f"{path.stem}-aa.csv")
    kept = [r for r in results.read(beside) if (r["program"], r["set"]) not in sets] \
        if beside.exists() else []
    results.write(beside, AA_COLUMNS, sorted(kept + aa, key=key))


def flags_of(program):
    """Those that a program's CPU code is compiled with, without what only warns."""
    words = runs.flags(program)
    return " ".join(w for w in words[1:] if not w.startswith("-W"))


def about_this():
    def line(*command):
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tree.ROOT)
        return ended.stdout.strip().splitlines()[0] if ended.stdout.strip() else ""
    compiler = runs.compiler()
    return {"machine": machine.name(), "compiler": line(compiler, "--version"),
            "commit": line("git", "rev-parse", "--short", "HEAD")}


def rounds_asked(quick, fewest=verdict.ROUNDS):
    """REPEAT=, which is not to be believed below so many unless it is only a look."""
    repeat = int(os.environ.get("REPEAT") or (3 if quick else fewest))
    if repeat < (1 if quick else fewest):
        raise SystemExit(f"REPEAT={repeat}: expected at least {fewest}, or QUICK=1")
    return repeat


def sets_of(program, quick):
    """The sets to measure: what SET= names, as far as the program has them."""
    asked = os.environ.get("SET", "").split()
    if not asked:
        return [program.quick if quick else program.shown]
    return [name for name in program.sets
            if name in (program.usual if asked == ["all"] else asked)]


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = rounds_asked(quick)
    about = about_this()
    path = Path(os.environ.get("RESULTS") or results.FOLDER / f"{about['machine']}.csv")
    written = not quick or bool(os.environ.get("RESULTS"))
    sessions = [Session(program, name)
                for program in tree.selected(tree.programs(), "PROGRAM")
                for name in sets_of(program, quick)]
    sessions = [s for s in sessions if s.items]
    if not sessions:
        raise SystemExit("nothing to measure: is it built, is there such a set?")
    for session in sessions:
        session.prepare()
    for n, session in enumerate(sessions):
        session.measure(repeat, repeat * sum(s.round_seconds() for s in sessions[n + 1:]))
        rows, aa = session.report(about, repeat, quick)
        if written:
            save(rows, aa, path)
    print(f"written to {path}" if written else
          "written nowhere: QUICK=1 (RESULTS= says where)")


if __name__ == "__main__":
    main()
