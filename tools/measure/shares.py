"""shares.py - make shares: what host and device gain by sharing the work.

    PROGRAM= SET= BACKEND=   choose; REPEAT= rounds, 15 unless set and not fewer
    QUICK=1     a look: 3 rounds, three shares between 0 and 100, written nowhere

A hybrid back-end runs with share=0, the host alone, 100, the device alone, what lies
between, and auto, in turns, each run verified (bench.py says how). Which query, says
    shares = SET WORD .. | SET WORD ..
of common/PROGRAM/program.mk: the words in place of the set's; the bare key of an output
asks for that too, and | parts several queries. Beside them runs what the sides were made of,
the last OpenMP and OpenCL back-end before: a side alone should be as fast. A device that is made of the host's cores
(PoCL) gets the first half of them, and the host's threads the rest, unless OMP_NUM_THREADS
says otherwise; each is bound to its own, alone too, for not all cores are equally fast.

Writes results/MACHINE-shares.csv, a row a share: over_sum is its rate over the sum of the
rates of both sides alone, what sharing could reach at most; over_best over that of the best
share of the sweep (both with the 95 % interval of their rounds); over_alone, of one side,
over what it was made of, which has rows too, host and device, and in `of` what they are,
and of auto, over the sum of these two;
even is p* = Th / (Th + Td), the share for the device with which both end at once if they
take Th and Td alone, in percent. What is meant to be reached: auto at 0.9 of the sum, and
at 0.95 of the best.

Then share=50 and auto of the first query run once more with busy=, and MACHINE-busy.csv has
who was busy when: the whole run, and a closer look at its middle where that has more than a
drawing shows.
"""
import copy
import os
import random
import shutil
import statistics
from dataclasses import asdict

from tools.history import results, runs, spans, tree, verdict
from tools.measure import bench, machine

COLUMNS = """machine commit program set words step backend of device threads share share_had
runs run_median run_low run_high rate over_sum over_sum_low over_sum_high over_best
over_best_low over_best_high over_alone over_alone_low over_alone_high even aa_spread
mark""".split()
BUSY_COLUMNS = "machine program set backend share part begin end who what busy".split()
SWEEP, FEW = tuple(range(10, 100, 10)), (25, 50, 75)
HYBRID = ("hybrid", "hybrid-cuda")
ALONE = {"host": "0", "device": "100"}  # what a side was made of: the share beside it
AGAIN = "auto again"
TRACED = ("50", "auto")
FINE = 400  # parts of a run that a drawing tells apart
CLOSE = 16  # things that the device does in a closer look


# ---- what is run -------------------------------------------------------------------


class Shared(bench.Item):
    """A hybrid back-end with one share, or, where that is of ALONE, what a side was made
    of."""

    def __init__(self, program, name, step, backend, share):
        super().__init__(program, name, step, backend)
        self.share_asked = share
        if share not in ALONE:
            self.extra = [f"share={share.split()[0]}"]

    def label(self):
        return f"{super().label()} share={self.share_asked}"

    def turn(self):
        turn = super().turn()
        had = runs.Result(0, self.said, "").values().get("Share")
        return {**turn, "had": float(had)} if had else turn


def queries(program):
    """[(set, words, the same as text, outputs)] that a program's shares are measured
    with."""
    found = []
    for text in program.mk.get("shares", program.shown).split("|"):
        name, *more = text.split()
        if os.environ.get("SET"):
            name = next(iter(bench.sets_of(program, False)), name)
        keys = [w for w in more if "=" not in w]
        words = runs.with_arguments(program.sets[name], [w for w in more if "=" in w])
        found.append((name, words, " ".join(more),
                      [o for o in program.outputs if o in program.timed or o.key in keys]))
    return found


def hybrids():
    """[(program, step, back-end)] of all that are built and can run here."""
    wanted = os.environ.get("BACKEND", "").split()
    return [(program, step, backend)
            for program in tree.selected(tree.programs(), "PROGRAM")
            for step in tree.selected(tree.steps(), "STEP")
            for backend in step.available(program)
            if backend in (wanted or HYBRID) and backend.startswith("hybrid")]


def environment(backend):
    """Variables for all runs: the host's threads, where cores are dealt out. What the
    host is alone must not depend on whether a device was looked for."""
    if os.environ.get("OMP_NUM_THREADS") or backend == "hybrid-cuda" or \
            backend == "hybrid" and not runs.opencl_on_cpu():
        return {}
    cores = os.cpu_count() or 1
    threads = max(1, cores // 2)
    bound = {**dict(bench.BIND.values()), "OMP_PLACES": f"{{{cores - threads}}}:{threads}"} \
        if cores > 1 else {}
    return {"OMP_NUM_THREADS": str(threads), **bound}


def items_of(program, step, backend, sweep, query):
    """{share: its item}"""
    name, words, _, outputs = query
    program = copy.copy(program)
    program.timed = outputs
    env, known, found = environment(backend), {}, {}
    alone = {"host": "omp", "device": "cuda" if "cuda" in backend else "ocl"}
    for share in ["0", *map(str, sweep), "100", "auto", AGAIN, *ALONE]:
        place = step, backend
        if share in ALONE:
            place = tree.ported(step, program, alone[share])
            if not place or not place[0].binary(program, place[1]).exists():
                continue
        item = Shared(program, name, *place, share)
        item.words, item.known, item.environment = words, known, dict(env)
        if share == "device" and env:
            rest = max(1, (os.cpu_count() or 1) - int(env["OMP_NUM_THREADS"]))
            item.environment["POCL_MAX_PTHREAD_COUNT"] = str(rest)
        if share == AGAIN:
            item.alias = tree.build() / "bench" / "aa" / f"{program.name}-{backend}"
            item.alias.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(step.binary(program, backend), item.alias)
        found[share] = item
    return found


def measure(items, repeat):
    """One run of each, uncounted, then the rounds."""
    for item in items.values():
        runs.progress(f"not counted: {item.label()}")
        item.usual_cpu = item.turn()["cpu"]
    order, chance = list(items.values()), random.Random(1)
    for n in range(repeat):
        runs.stage(f"{order[0].program.name}, shares, round {n + 1} of {repeat}")
        chance.shuffle(order)
        for item in order:
            runs.progress(f"round {n + 1} of {repeat}: {item.label()}")
            item.run()
    runs.progress("")


# ---- what is said ------------------------------------------------------------------


def together(host, device):
    """How long both sides would take at once if their rates added up, round by round."""
    return [h * d / (h + d) if h and d else None for h, d in zip(host, device)]


def even(host, device):
    """p*, in percent for the device: the median of the rounds."""
    return statistics.median(100 * h / (h + d) for h, d in zip(host, device) if h and d)


def best_of(taken):
    """The share of a sweep, {share: seconds by round}, with the least median."""
    return min(taken, key=lambda s: statistics.median(t for t in taken[s] if t))


def compared(key, times, other, noise):
    """The columns of a ratio; empty where there is nothing to compare with."""
    if not other:
        return {}
    found = verdict.compare(times, other, noise)
    return {key: f"{found.ratio:.3f}", f"{key}_low": f"{found.low:.3f}",
            f"{key}_high": f"{found.high:.3f}"}


def compared_with(taken):
    """{share: {key: times}}: what each is compared with. taken is {share: seconds by
    round} of all."""
    sum_of = together(taken["0"], taken["100"])
    best = taken[best_of({s: t for s, t in taken.items() if s.isdigit()})]
    found = {s: {"over_sum": sum_of, "over_best": best} for s in taken
             if s not in ALONE and s != AGAIN}
    for side, share in ALONE.items():
        if side in taken:
            found[side] = {}
            found[share]["over_alone"] = taken[side]
    if ALONE.keys() <= taken.keys():
        found["auto"]["over_alone"] = together(*(taken[side] for side in ALONE))
    return found


def rows_of(items, about, text):
    """The rows of a sweep."""
    own = items["auto"]
    taken = {share: item.seconds() for share, item in items.items()}
    noise = verdict.spread_of([verdict.compare(taken[AGAIN], taken["auto"])])
    p = even(taken["0"], taken["100"])
    rows = []
    for share, keys in compared_with(taken).items():
        item = items[share]
        ran = item.column("run")
        low, high = verdict.interval(ran)
        had = [t["had"] for t in item.times if "had" in t]
        rates = [t["rate"] for t in item.times if "rate" in t]
        row = {**about, "program": item.program.name, "set": item.set, "words": text,
               "step": own.step.name, "backend": own.backend, "share": share,
               "of": f"{item.step.name} {item.backend}" if share in ALONE else "",
               "device": runs.device(own.backend),
               "threads": item.environment.get("OMP_NUM_THREADS") or
               runs.threads(item.backend),
               "share_had": f"{statistics.median(had):.1f}" if had else "",
               "runs": len(ran), "run_median": f"{statistics.median(ran):.6f}",
               "run_low": f"{low:.6f}", "run_high": f"{high:.6f}",
               "rate": f"{statistics.median(rates):.6g}" if rates else "",
               "even": f"{p:.1f}", "aa_spread": f"{noise:.3f}",
               "mark": " ".join(sorted(item.marks | ({"few"} if len(ran) < verdict.ROUNDS
                                                     else set())))}
        for key, other in keys.items():
            row |= compared(key, taken[share], other, noise)
        rows.append({c: row.get(c, "") for c in COLUMNS})
    return rows


def said(rows):
    """The table, and a line on what the sweep says of auto."""
    of = {r["share"]: r for r in rows}
    head = ["share", "had", "seconds", "of the sum", "of the best", "of the side before"]

    def ratio(r, key):
        return f"{r[key]} ({r[f'{key}_low']} to {r[f'{key}_high']})" if r[key] else ""
    lines = [[r["share"], r["share_had"], r["run_median"], ratio(r, "over_sum"),
              ratio(r, "over_best"), ratio(r, "over_alone")] for r in rows]
    auto = of["auto"]
    best = best_of({s: [float(r["run_median"])] for s, r in of.items() if s.isdigit()})
    made = f", {auto['over_alone']} of that of what they were made of" * bool(auto["over_alone"])
    return f"{auto['program']}, set {auto['set']} {auto['words']}, {auto['backend']}, " \
        f"{auto['runs']} rounds, {auto['threads']} threads and {auto['device']}\n" \
        f"{runs.table([head] + lines)}\n" \
        f"p* = {auto['even']} %, best of the sweep {best} %, auto took " \
        f"{auto['share_had']} %: {auto['over_sum']} of the sum{made}, " \
        f"{auto['over_best']} of the best (A/A: {auto['aa_spread']})"


# ---- who was busy when -------------------------------------------------------------


def busy_rows(found, about):
    """Rows of a run's spans, as many as a drawing can show."""
    whole = spans.merged(found, spans.end(found) / FINE)
    parts = {"whole": whole}
    if len(whole) < len(found):
        parts["close"] = spans.middle(found, CLOSE)
    return [{**about, "part": part, **{k: f"{v:.7f}" if isinstance(v, float) else v
                                       for k, v in asdict(s).items()}}
            for part, some in parts.items() for s in some]


def traced(items, about):
    rows = []
    for share in TRACED:
        item = items[share]
        path = tree.build() / "bench" / f"busy-{item.program.name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        item.extra = [*item.extra, f"busy={path}"]
        item.verify(item.once())
        item.extra.pop()
        rows += busy_rows(spans.read(path), {
            "machine": about["machine"], "program": item.program.name, "set": item.set,
            "backend": item.backend, "share": share})
    return rows


def save(rows, path, columns):
    """Writes rows in the place of those of the same program and back-end."""
    def own(r):
        return r["program"], r["backend"]
    fresh = {own(r) for r in rows}
    kept = [{c: r.get(c, "") for c in columns} for r in results.read(path)
            if own(r) not in fresh] if path.exists() else []
    order = [p.name for p in tree.programs()]
    results.write(path, columns, sorted(kept + rows, key=lambda r: (
        order.index(r["program"]) if r["program"] in order else len(order))))


def main():
    quick = os.environ.get("QUICK", "") not in ("", "0")
    repeat = bench.rounds_asked(quick)
    about = bench.about_this()
    about = {k: about[k] for k in ("machine", "commit")}
    found = hybrids()
    if not found:
        raise SystemExit("nothing to measure: no hybrid back-end is built here")
    for program, step, backend in found:
        rows, busy = [], []
        for query in queries(program):
            items = items_of(program, step, backend, FEW if quick else SWEEP, query)
            measure(items, repeat)
            fresh = rows_of(items, about, query[2])
            print(said(fresh), flush=True)
            rows += fresh
            busy = busy or traced(items, about)
        if not quick:
            path = results.FOLDER / f"{machine.name()}-shares.csv"
            save(rows, path, COLUMNS)
            save(busy, path.with_name(f"{machine.name()}-busy.csv"), BUSY_COLUMNS)
            print(f"written to {path}")


if __name__ == "__main__":
    main()
