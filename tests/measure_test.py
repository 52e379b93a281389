"""measure_test.py: whether what make bench says of two times can be believed.

Times are invented and a verdict is asked for; sources are changed in ways that do and
that do not matter, and compared; items whose turns are invented go through the rounds;
make bench takes a quick look at the shortest program there is.
"""
import contextlib
import csv
import io
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from tests.helpers import ROOT, Tally
from tools.history import results, spans, tree, verdict
from tools.measure import bench, ceilings, registers, same, shares
from tools.publish import lessons

tally = Tally()
check = tally.check
PROGRAMS = {p.name: p for p in tree.programs()}


def is_(name, found, expected):
    check(name, found != expected and f"{found}, expected {expected}")


# ---- verdicts on invented times --------------------------------------------------------


def taken(seconds, noise, seed, rounds=15):
    """Rounds of a thing that takes so long, on a machine with so much noise."""
    chance = random.Random(seed)
    return [seconds * chance.lognormvariate(0, noise) for _ in range(rounds)]


def verdicts():
    old = taken(1.0, 0.01, 1)
    for name, seconds, word in (("gain", 0.8, "gain"), ("loss", 1.25, "loss"),
                                ("the same", 1.0, "none")):
        found = verdict.compare(taken(seconds, 0.01, 2), old, 1.02)
        is_(f"verdict, {name}", found.word, word)
        check(f"verdict, {name}, ratio", not abs(found.ratio * seconds - 1) < 0.02
              and f"{found.ratio}")
        check(f"verdict, {name}, interval", not found.low <= found.ratio <= found.high
              and f"{found}")

    # A gain of 3 % that is beyond chance is none where the same binary differs by more.
    better = taken(1 / 1.03, 0.005, 3)
    calm = verdict.compare(taken(1.0, 0.005, 4), taken(1.0, 0.005, 5))
    noisy = verdict.compare(taken(1.0, 0.1, 6), taken(1.0, 0.1, 7))
    is_("3 %, calm A/A", verdict.compare(
        better, taken(1.0, 0.005, 1), verdict.spread_of([calm])).word, "gain")
    is_("3 %, noisy A/A", verdict.compare(
        better, taken(1.0, 0.005, 1), verdict.spread_of([calm, noisy])).word, "none")
    is_("spread of nothing", verdict.spread_of([]), 1.0)
    is_("spread", verdict.spread_of([verdict.Verdict(1, 0.8, 1.1, "none")]), 1.25)

    # What drifts for both alike falls out.
    drift = [1 + 0.1 * n for n in range(15)]
    is_("drift", verdict.compare([0.95 * d for d in drift], drift).word, "gain")
    # A round that one of the two lacks is left out, and the others keep their partners.
    lacking = [None if n == 3 else 0.95 * d for n, d in enumerate(drift)]
    is_("a round that is missing", f"{verdict.compare(lacking, drift).ratio:.6f}",
        f"{1 / 0.95:.6f}")
    try:
        verdict.compare([None, 1.0], [1.0, None])
        check("no common round", "accepted")
    except ValueError:
        check("no common round", None)
    is_("the same values", verdict.interval(old), verdict.interval(list(old)))

    # Of two that take the same, hardly one of 20 intervals may leave 1 out.
    wrong = sum(verdict.compare(taken(1, 0.05, n), taken(1, 0.05, 1000 + n)).word != "none"
                for n in range(40))
    check("intervals of the same", wrong > 7 and f"{wrong} of 40 leave 1 out")


def words():
    row = {"k": "2.291", "k_low": "2.1", "k_high": "2.4", "k_is": "gain"}
    same_code = {"k": "", "k_low": "", "k_high": "", "k_is": "same code"}
    is_("short", verdict.short(row, "k"), "2.29")
    is_("short, none", verdict.short({**row, "k_is": "none"}, "k"), "~ 2.29")
    is_("short, same code", verdict.short(same_code, "k"), "same code")
    is_("long, same code", verdict.long(same_code, "k"), "same code")
    is_("long", verdict.long(row, "k"), "2.29 (2.10 to 2.40)")
    is_("no row", (verdict.short(None, "k"), verdict.short({"k": "", "k_is": ""}, "k")),
        ("", ""))


# ---- the same code ---------------------------------------------------------------------

FLAGS = "gcc -std=c11 -O1 -g".split()


@lru_cache(maxsize=None)
def code(name, program, backend):
    return same.texts_of(Path(ROOT, "steps", name, program), PROGRAMS[program], backend,
                         FLAGS, Path(ROOT))


def changed(program, step, backend, file, old, new):
    """Whether a change of a file of a step makes other code."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(Path(ROOT, "steps", step, program), copy)
        text = (copy / file).read_text()
        if not re.search(old, text, re.M):
            return f"there is no {old} in {file}"
        (copy / file).write_text(re.sub(old, new, text, count=1, flags=re.M))
        return same.texts_of(copy, PROGRAMS[program], backend, FLAGS, Path(ROOT)) != \
            code(step, program, backend)


def same_code():
    first = code("01_openmp", "fletcher", "omp")
    for step in "02_ocl_1d", "03_ocl_3d":
        check(f"fletcher omp 01 and {step}", code(step, "fletcher", "omp") != first
              and "are not the same")
    sandpile = code("05_algebra", "sandpile", "omp")
    for step in "06_constant", "07_regpressure":
        check(f"sandpile omp 05 and {step}", code(step, "sandpile", "omp") != sandpile
              and "are not the same")
    check("sandpile omp 04 and 05", code("04_inline", "sandpile", "omp") == sandpile
          and "are the same")
    check("sandpile ocl 05 and 06", code("05_algebra", "sandpile", "ocl") ==
          code("06_constant", "sandpile", "ocl") and "are the same")

    backends = {"seq": "cpu.c", "omp": "cpu.c", "ocl": "opencl.c", "cuda-cpu": "cuda.cu"}
    if registers.tool("nvcc"):
        backends["cuda"] = "cuda.cu"
    if not PROGRAMS["sandpile"] or not Path("/usr/include/CL").exists():
        del backends["ocl"]
    for backend, file in backends.items():
        is_(f"a comment, {backend}", changed(
            "sandpile", "05_algebra", backend, file, r"\A", "/* a\n\n   b */\n"), False)
        is_(f"a constant, {backend}", changed(
            "sandpile", "05_algebra", backend, "body.h", r"& 3\b|& 0x3\b|>> 2\b",
            "& 7"), True)
    is_("a comment in a kernel", changed(
        "sandpile", "05_algebra", "ocl", "kernel.cl", r"\A", "// a\n\n   /* b */\n"), False)
    is_("white space in a kernel", changed(
        "sandpile", "05_algebra", "ocl", "kernel.cl", r"^    ", "\t\t"), False)
    is_("an option of a kernel", changed(
        "sandpile", "07_regpressure", "ocl", "opencl.c", r'"-D', '"-cl-mad-enable -D'), True)


# ---- turns and rounds ------------------------------------------------------------------


class Invented(bench.Item):
    """An item whose runs take what is said of them."""

    def __init__(self, step, backend, seconds=0.06, cpu=()):
        super().__init__(PROGRAMS["sandpile"], "1", step, backend)
        self.takes, self.runs, self.cpu = seconds, 0, list(cpu)
        self.verified = 0

    def once(self):
        self.runs += 1
        self.said = f"Time_init=0.001\nTime_run={self.takes}\nTime_kernel={self.takes}\n"
        return {}

    def verify(self, files):
        self.verified += 1

    def turn(self):
        turn = super().turn()
        return {**turn, "busy": False, "cpu": self.cpu.pop(0) if self.cpu else 100.0}


def turns():
    step = tree.steps()[1]
    item = Invented(step, "omp")
    item.run()
    is_("runs of 0.06 s in a turn", (item.runs, item.per_round, item.verified), (4, 4, 4))
    check("the mean of a turn", abs(item.column("run")[0] - 0.06) > 1e-9
          and item.column("run"))
    item = Invented(step, "omp", 0.5)
    item.run()
    is_("a run of 0.5 s in a turn", item.runs, 1)

    item = Invented(step, "omp", 0.5, [100, 100, 100, 80, 80, 80, 100, 50, 95])
    for n in range(6):
        item.run()
    is_("a turn under 90 % of its CPU time", [t is not None for t in item.counted],
        [True, True, True, False, True, True])
    is_("is repeated", item.runs, 9)


def session_of(items):
    """A session of invented items."""
    found = bench.Session.__new__(bench.Session)
    found.program, found.set, found.items = PROGRAMS["sandpile"], "1", items
    again = Invented(items[-1].step, items[-1].backend, items[-1].takes)
    found.pairs = [(items[-1], again)]
    return found


def quietly(function, *arguments):
    with contextlib.redirect_stderr(io.StringIO()) as said, \
            contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments), said.getvalue()


def rounds():
    steps = tree.steps()
    about = {"machine": "Invented", "compiler": "gcc", "commit": "0", "flags": "-O1"}
    items = [Invented(steps[0], "seq", 1.0), Invented(steps[1], "omp", 0.5),
             Invented(steps[2], "omp", 0.5),
             Invented(steps[3], "omp", 0.25, [100] * 5 + [60] * 9)]
    items[2].same = items[1]
    session = session_of(items)
    _, said = quietly(session.measure, 15, 0)
    check("progress without a terminal", len(re.findall(
        r"^sandpile, set 1, round \d+ of 15, about .* left$", said, re.M)) < 15 and said)
    is_("same code is run once", items[2].runs, 0)
    # Three tries a turn: of 15 rounds three do not count, and three more are run, of
    # those that are compared with it only.
    is_("rounds that count", len(items[3].times), 15)
    common = [1 for a, b in zip(items[3].seconds(), items[1].seconds()) if a and b]
    is_("with the step before", len(common), 15)
    is_("all have as many", {len(i.rounds) for i in items if not i.same}, {18})

    real, bench.runs.device = bench.runs.device, lambda backend: backend
    try:
        (rows, aa), _ = quietly(session.report, about, 15, False)
    finally:
        bench.runs.device = real
    of = {r["step"][:2]: r for r in rows}
    is_("columns", {tuple(r) for r in rows} and set(rows[0]), set(bench.COLUMNS))
    is_("over 00", (of["01"]["over_first"], of["01"]["over_first_is"]), ("2.000", "gain"))
    is_("same code over the step before",
        (of["02"]["over_previous"], of["02"]["over_previous_is"]), ("", "same code"))
    is_("same code over 00", (of["02"]["over_first"], of["02"]["times_of"]),
        ("2.000", items[1].step.name))
    is_("over the same code", (of["03"]["over_previous"], of["03"]["over_previous_is"]),
        ("2.000", "gain"))
    is_("A/A", [(r["ratio"], r["step"]) for r in aa], [("1.000", items[3].step.name)])

    lame = Invented(steps[1], "omp", 0.5, [100] * 4 + [60, 60, 60, 100] * 99)
    session = session_of([Invented(steps[0], "seq", 1.0), lame])
    quietly(session.measure, 15, 0)
    check("an end to further rounds", not 15 < len(lame.rounds) <= 20 and lame.rounds)
    lame = Invented(steps[1], "omp", 0.5, [100] + [60] * 99)
    session = session_of([Invented(steps[0], "seq", 1.0), lame])
    quietly(session.measure, 15, 0)
    is_("what is so most of the time is usual", len(lame.times), 15)


def pairs():
    steps, items = tree.steps(), []
    for n, backend, seconds in ((0, "seq", 3), (1, "omp", 2), (2, "omp", 1), (2, "ocl", 4),
                                (3, "omp", 1.5), (3, "ocl", 2)):
        items.append(Invented(steps[n], backend, seconds))
        items[-1].about = seconds
    with tempfile.TemporaryDirectory() as folder:
        build, tree.build = tree.build, lambda: Path(folder)
        try:
            for item in items:
                binary = item.step.binary(item.program, item.backend)
                binary.parent.mkdir(exist_ok=True)
                binary.write_text(item.label())
            found = bench.pairs_of(items)
            is_("A/A pairs", [(i.step.number, i.backend) for i, _ in found],
                [("01", "omp"), ("02", "omp"), ("03", "ocl")])
            check("another file of the same content", any(
                a.alias == i.step.binary(i.program, i.backend)
                or a.alias.read_text() != i.label() for i, a in found) and "is not")
            is_("two at least", len(bench.pairs_of(items[:2])), 2)
        finally:
            tree.build = build


# ---- what host and device share --------------------------------------------------------


def swept(of_program="sandpile", host=1.0, device=3.0, had=True):
    """{share: its item} of a sweep in which each side is as fast as alone, and auto loses
    a twentieth."""
    step, found = tree.steps()[-1], {}
    for share in ("0", "20", "30", "100", "auto", shares.AGAIN, "host", "device"):
        p = {"host": 0, "device": 100}.get(share)
        p = float(share) if share.isdigit() else 25 if p is None else p
        item = shares.Shared(PROGRAMS[of_program], "1", step, "hybrid", share)
        took = max((1 - p / 100) * host, p / 100 * device) * (1 + share.startswith("auto") / 19)
        chance = random.Random(1)  # what drifts, drifts for all
        item.rounds = [{"run": took * chance.uniform(1, 1.5), "init": 0, "kernel": 0,
                        "cpu": 100, **({"had": p + 0.2} if had else {})} for _ in range(15)]
        found[share] = item
    found["30"].rounds[3] = None
    return found


def sharing():
    is_("both sides at once", shares.together([1.0, None, 2.0], [3.0, 1.0, 2.0]),
        [0.75, None, 1.0])
    is_("p*", shares.even([1.0, 5.0, 1.0], [3.0, None, 3.0]), 25)
    is_("the best of a sweep", shares.best_of({"0": [2.0, 9.0, 2.0], "50": [1.0, None, 1.1]}),
        "50")
    real, shares.runs.device = shares.runs.device, lambda backend: "host and a device"
    try:
        rows = shares.rows_of(swept(), {"machine": "Invented", "commit": "0"}, "more=1")
        without = shares.rows_of(swept(had=False), {"machine": "Invented"}, "")
    finally:
        shares.runs.device = real
    of = {r["share"]: r for r in rows}
    is_("a row a share", list(of), ["0", "20", "30", "100", "auto", "host", "device"])
    is_("columns of shares", {tuple(r) for r in rows}, {tuple(shares.COLUMNS)})
    for share, key, value in (("20", "over_sum", "0.938"), ("30", "over_sum", "0.833"),
                              ("auto", "over_sum", "0.950"), ("0", "over_sum", "0.750"),
                              ("auto", "over_best", "1.013"), ("20", "over_best", "1.000"),
                              ("100", "over_best", "0.267"), ("0", "over_alone", "1.000"),
                              ("20", "over_alone", ""), ("auto", "over_alone", "0.950"),
                              ("host", "over_sum", ""),
                              ("auto", "even", "25.0"), ("auto", "share_had", "25.2"),
                              ("30", "mark", "few"), ("30", "runs", 14)):
        is_(f"share={share}: {key}", of[share][key], value)
    is_("no share is said", {r["share_had"] for r in without}, {""})
    check("a table of shares", not re.search(
        r"^auto +25\.2.*^p\* = 25\.0 %, best of the sweep 20 %, auto took 25\.2 %: 0\.950 of",
        shares.said(rows), re.M | re.S) and shares.said(rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "M-shares.csv"
        shares.save(rows, path, shares.COLUMNS)
        shares.save([{**r, "program": "fluid"} for r in rows], path, shares.COLUMNS)
        shares.save(rows[:2], path, shares.COLUMNS)
        is_("rows of shares saved", [r["program"] for r in results.read(path)],
            ["fluid"] * 7 + ["sandpile"] * 2)
    is_("the query, without a line of its own", [q[0] in PROGRAMS["fluid"].sets
        for q in shares.queries(PROGRAMS["fluid"])], [True])
    is_("two queries in a line", [q[2] for q in shares.queries(PROGRAMS["sandpile"])],
        ["max_iterations=40000", "batch=4 max_iterations=20000"])


def times_of_who():
    def span(begin, end, who, what="rows"):
        return spans.Span(begin, end, who, what, end - begin)
    some = [span(0, 4, "host 0"), span(1, 2, "device"), span(1.5, 3, "host 1"),
            span(3, 5, "device")]
    is_("both were busy", spans.both(some), 2.0)
    is_("who, the device first", list(spans.by_owner([span(0, 1, w) for w in (
        "host 10", "device", "host 9")])), ["device", "host 9", "host 10"])
    is_("nobody", (spans.both([]), spans.end([]), spans.merged([], 1)), (0.0, 0.0, []))
    many = [span(i, i + 0.5, "device", "strip") for i in range(100)]
    is_("what cannot be told apart", [(s.begin, s.end, s.busy) for s in
                                      spans.merged(many, 1)], [(0, 99.5, 50.0)])
    is_("what can", spans.merged(many, 0.1), many)
    mixed = [span(0, 10, "device", "strip"), span(10, 10.1, "device", "halo"),
             span(10.1, 20, "device", "strip"), span(21, 31, "device", "other")]
    is_("the short go with the long", [(s.what, s.end) for s in spans.merged(mixed, 2)],
        [("strip", 20), ("other", 31)])
    close = spans.middle(many + [span(0, 99, "host 0")], 4)
    is_("a closer look", [(s.who, s.begin, s.end) for s in close][-1], ("host 0", 48, 51.5))
    is_("as many as asked for", len(close), 5)


# ---- files -----------------------------------------------------------------------------


def in_results(folder, function, *arguments):
    """What a function gives while results/ is another folder."""
    real, results.FOLDER = results.FOLDER, folder
    try:
        return function(*arguments)
    finally:
        results.FOLDER = real


def invented_row(program, step, backend, **more):
    return {**{c: "" for c in bench.COLUMNS}, "machine": "Invented", "program": program.name,
            "set": program.shown, "step": step.name, "backend": backend, "runs": "15",
            "device": "2 threads", "threads": "2", "run_median": "1.0", "share": "1.0",
            "kernel_median": "1.0", **more}


def machines():
    """A machine that has no OpenCL, no GPU and no OpenACC: what lessons make of it."""
    program, steps = PROGRAMS["semblance"], tree.steps()
    gain = {f"{key}{end}": value for key in ("over_previous", "over_first") for end, value
            in (("", "2.000"), ("_low", "1.9"), ("_high", "2.1"), ("_is", "gain"))}
    rows = [invented_row(program, steps[0], "seq")] + [
        invented_row(program, s, "omp", **gain) for s in steps[1:]]
    aa = [{**{c: "" for c in bench.AA_COLUMNS}, "program": program.name,
           "set": program.shown, "step": steps[1].name, "backend": "omp"}]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        bench.save(rows, aa, folder / "Invented.csv")
        # The same rows again take their own place, and an older form's columns go.
        (folder / "Other.csv").write_text(
            "program,set,step,backend,gone\nsemblance,old,00_sequential,seq,x\n")
        bench.save(rows, aa, folder / "Other.csv")
        bench.save(rows, aa, folder / "Other.csv")
        is_("rows after saving twice", len(results.read(folder / "Other.csv")), len(rows) + 1)
        is_("pairs after saving twice", len(results.read(folder / "Other-aa.csv")), 1)
        found = in_results(folder, results.measured)
        is_("machines", list(found), ["Invented", "Other"])
        for name, make in (("table of a lesson", lambda: lessons.measured_here(
                steps[2], program)), ("best", lessons.programs_at_best),
                ("matrix", lessons.matrix),
                ("table of a step", lambda: lessons.programs_of_step(steps[2]))):
            text = in_results(folder, make)
            check(f"{name} without a back-end", "2.0" not in text and text)
    for device, threads in (("host, 1 thread", 1), ("1 core", 1), ("2 threads", 2)):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            results.write(folder / "M-ceilings.csv", ceilings.COLUMNS, [dict(zip(
                ceilings.COLUMNS, ("M", "CPU", t, "fma", 100.0 * t, "GFLOP/s")))
                for t in (1, 2)])
            found = in_results(folder, ceilings.ceilings_of, "M", device, threads)
            ceilings.ceilings.cache_clear()
            is_(f"ceilings of {device}", found, {"fma": 100.0 * threads})


def run_bench(folder, **variables):
    clean = {k: v for k, v in os.environ.items() if k not in
             ("STEP", "PROGRAM", "BACKEND", "SET", "REPEAT", "QUICK", "RESULTS", "VARIANTS")}
    return subprocess.run(
        [sys.executable, "-m", "tools.measure.bench"], cwd=ROOT, text=True, timeout=120,
        env={**clean, "RESULTS_DIR": str(folder), "PROGRAM": "sandpile", "STEP": "00",
             "OMP_WAIT_POLICY": "passive", **variables}, capture_output=True)


def quick():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        done = run_bench(folder, QUICK="1", REPEAT="1")
        check("QUICK", done.returncode and done.stderr)
        is_("QUICK leaves results/ alone", list(folder.iterdir()), [])
        path = folder / "there.csv"
        done = run_bench(folder, QUICK="1", REPEAT="2", RESULTS=str(path))
        check("QUICK with RESULTS", done.returncode and done.stderr)
        if path.exists():
            with path.open(newline="") as f:
                rows = list(csv.DictReader(f))
            check("QUICK marks its rows", not all("quick" in r["mark"] for r in rows)
                  and f"{rows}")
        check("QUICK with RESULTS writes", not (folder / "there-aa.csv").exists()
              and "no A/A pairs")
        for variables, said in (({"REPEAT": "3"}, "at least 15, or QUICK=1"),
                                ({"SET": "none"}, "nothing to measure")):
            done = run_bench(folder, **variables)
            check(f"{variables}", (done.returncode == 0 or said not in done.stderr
                                   or "Traceback" in done.stderr) and done.stderr)


def main():
    for test in (verdicts, words, same_code, turns, rounds, pairs, sharing, times_of_who,
                 machines, quick):
        test()
    sys.exit(tally.finish())


if __name__ == "__main__":
    main()
