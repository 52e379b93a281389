"""grade.py - make grade: is an attempt at a step right, and what did it gain?

    STEP= PROGRAM= WORK=        the attempt, as make exercise has them
    BACKEND=                    back-ends to grade; all that run here unless set, but
                                cuda-cpu, which is for checking, only if asked for
    SET=                        the set that is timed, or else the one that is shown
    GRADE_ROUNDS=7              interleaved runs of each that is timed
    GRADE_TIMEOUT=20            seconds a run may take, at least
    GRADE_JAIL=0                without bubblewrap, as where there is none
    GRADE_READS=                see tools/teach/jail.py

The attempt is copied beside the tree's Makefile and common/, and built as its step. It
must be right on all that make verify asks of a back-end, and on a fresh query like the
set to be timed. Only then is it timed, on that query: step before, attempt and book's
step run in turns, and each of these runs is verified too. The share of the gain is what
the attempt gained over the step before, in parts of what the book gains there.

An attempt says itself how long it ran. What its process takes besides, by the grader's
clock, may be as much as the book's process takes; anything more is added. It runs in a
jail, as its two rivals do, and what judges it is a copy elsewhere, read-only, whose bytes
are the same in the end, as are those of the book's steps and the data.

Exits with 0 only if every back-end compiled and is right.
"""
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tools.history import copies, diff, runs, tree, verdict
from tools.measure import machine
from tools.teach import exercise, fresh, jail
from tools.verify import matrix

BUILDING = 600  # seconds


class Attempt:
    """The student's program, built as its step beside a copy of what it may use."""

    def __init__(self, task, folder):
        self.task, self.folder = task, folder
        self.copy = self.folder / "tree"
        self.place = self.copy / "steps" / task.step.name / task.program.name

    def put(self):
        """Copies it: None, or why it is refused."""
        given = self.task.attempt
        if given.is_symlink() or given.parent.is_symlink():
            return "a link where the folder should be"
        problem = jail.take(given, self.place) or jail.leaves(self.place)
        if problem:
            return problem
        shutil.copy2(self.task.step.folder / "step.mk", self.place.parent)
        for name in ("Makefile", "config.mk", "common"):
            copies.put(tree.ROOT / name, self.copy / name)
        # What the tree has built of common/ is built already, if it is newer than its
        # sources: all files keep their times.
        for name in ("flags", "common"):
            if (tree.build() / name).exists():
                copies.put(tree.build() / name, self.copy / "build" / name)
        return None

    def binary(self, backend):
        name = f"{self.task.program.name}-{backend}"
        return self.copy / "build" / self.task.step.name / name

    def make(self, backend):
        """Builds a back-end: None, or the compiler's first complaint."""
        ended = runs.run([*jail.words(self.copy), "/usr/bin/env",
                          *(f"-u{name}" for name in copies.ASKED), "make", "-s",
                          "BUILD=build", self.binary(backend).relative_to(self.copy)],
                         BUILDING)
        jail.reap()
        return self.named(self.first(ended.err) or ended.why()) if ended.why() else None

    @staticmethod
    def first(text):
        """What a compiler complains of first, if it does."""
        return next((line for line in text.splitlines() if "error" in line), None)

    def named(self, text):
        """A message that names the attempt where it lies, not where it was built."""
        return text.replace(str(self.place.relative_to(self.copy)),
                            diff.shown(self.task.attempt))


def make_book(task, backend):
    """Builds the book's two binaries; None, or why they cannot be built here."""
    step, other = tree.compared(task.step, task.program, backend)
    folder = tree.build().relative_to(tree.ROOT)
    return copies.make(f"BUILD={folder}", f"{folder}/{step.name}/{task.program.name}-{other}",
                       f"{folder}/{task.step.name}/{task.program.name}-{backend}")


class Court:
    """What judges: copies of the checker and of the book's binaries, the oracle of every
    query, the fresh data. From now on this is the tree's folder of what is built."""

    def __init__(self, task, backends, timed, place):
        program, self.set = task.program, timed
        binaries = {tree.compared(task.step, program, b) for b in backends} | {
            (task.step, b) for b in backends}
        for path in [program.checker(), *(s.binary(program, b) for s, b in binaries)]:
            copies.put(path, place / path.relative_to(tree.build()))
        os.environ["BUILD"] = str(place)
        (place / "fresh").mkdir()
        self.fresh = fresh.of(program, program.sets[timed], place / "fresh")
        for name, words in {**program.cases, "fresh": self.fresh}.items():
            runs.progress(f"{name}: the oracle")
            runs.check(program, words, {}, name)
        for path in place.rglob("*"):
            path.chmod(0o555)
        place.chmod(0o555)
        self.folders = place, tree.ROOT / "steps", program.data
        self.before = jail.hashes(self.folders)

    def tampered(self):
        """The first file that is no longer what it was; None if all are."""
        after = jail.hashes(self.folders)
        return next((path for path in sorted(self.before.keys() | after.keys())
                     if self.before.get(path) != after.get(path)), None)


class Run:
    """One of the three that are compared: step before, attempt, book."""

    def __init__(self, attempt, who, step, backend, binary=None):
        self.task, self.step, self.backend = attempt.task, step, backend
        self.binary = binary
        self.outputs = attempt.folder / "outputs"
        self.cache, self.kept = (attempt.folder / f"{what}-{who}-{backend}"
                                 for what in ("cache", "kept"))
        self.seconds, self.beside = [], []

    def produce(self, words, timeout, extra=(), env=None):
        """A run in the jail, in empty folders but for the compiled kernels."""
        jail.anew(self.outputs)
        if self.kept.exists():
            jail.take(self.kept, self.cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        memory = "unlimited"  # devices map more than they use
        if self.backend in ("seq", "omp"):
            memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2048
        binary = self.binary or self.step.binary(self.task.program, self.backend)
        within = jail.words(self.outputs, [binary, *runs.inputs(words)], [self.cache],
                            memory)
        env = {**(env or {}), "POCL_CACHE_DIR": str(self.cache),
               "CUDA_CACHE_PATH": str(self.cache)}
        try:
            return runs.produce(self.step, self.task.program, self.backend, words,
                                self.outputs, env, timeout, binary, extra, within)
        finally:
            jail.reap()

    def keep(self):
        """From now on each run finds the kernels compiled so far, and nothing that another
        run has left there. None, or why that cannot be."""
        return jail.take(self.cache, self.kept)

    def once(self, name, words, timeout, extra=(), env=None):
        """The outcome of a verified run, whose times are kept if they can be true."""
        try:
            got = self.produce(words, timeout, extra, env)
        except Exception as error:  # in reading what it wrote, which may be anything
            return {"ok": False, "share": None, "caught": "said",
                    "reason": f"what it wrote cannot be read: {error}"}
        if got["ok"]:
            got.update(runs.check(self.task.program, words, got["files"], name))
        if not got["ok"]:
            return got
        run, wall = got["times"].get("run", 0), got["ended"].seconds
        if not 0 < run <= wall:
            got.update(ok=False, reason=f"says that it ran for {run} s of {wall:.2f}")
        self.seconds.append(run)
        self.beside.append(wall - run)
        return got

    def must(self, *words):
        """The same of the book's own, which cannot fail."""
        got = self.once(*words)
        if not got["ok"]:
            raise SystemExit(f"the book's {self.step.name} {self.backend}: "
                             f"{got['reason']}")
        return got


def hidden(mine, book):
    """Seconds that an attempt's process takes besides what it says, more than the book's
    does."""
    return max(0.0, statistics.median(mine.beside) - statistics.median(book.beside))


def said(gain):
    text = f"{gain.ratio:.2f} ({gain.low:.2f} .. {gain.high:.2f})"
    return f"{text} not distinguishable" if gain.word == "none" else text


def share_of_gain(mine, book):
    """In words: how much of the book's gain an attempt has."""
    if book.word != "gain":
        return "the book gains nothing here"
    reached = 0 if mine.word == "none" else (mine.ratio - 1) / (book.ratio - 1)
    return f"{100 * reached:.0f} % of the book's gain"


class Grading:
    """One back-end of an attempt: what is run, and what is said of it."""

    def __init__(self, attempt, backend, rounds, limit, court=None):
        self.attempt, self.backend, self.court = attempt, backend, court
        self.rounds, self.limit = rounds, limit
        self.task, self.program = attempt.task, attempt.task.program
        before = tree.compared(self.task.step, self.task.program, backend)
        self.start = Run(attempt, "before", *before)
        self.mine = Run(attempt, "attempt", self.task.step, backend,
                        attempt.binary(backend))
        self.book = Run(attempt, "book", self.task.step, backend)
        self.runs = 0
        self.share = 0.0  # percent of the error budget, the most that was used

    def say(self, what, text):
        runs.progress("")
        print(f"  {what:9} {jail.plain(text)}", flush=True)

    def outputs(self, got):
        return [got["files"][o.key].read_bytes() for o in self.program.outputs]

    def todo(self):
        """(name, words, seconds, more words, environment) of what must be right."""
        cases = list(self.program.cases.items())
        for case, words in cases:
            yield case, words, self.limit, (), None
        for _, extra, env in matrix.variants(self.program, self.backend):
            yield *cases[0], self.limit, extra, env
        yield *self.timed, self.timed_limit, (), None

    def check(self):
        """Runs the attempt on everything; None, or what is wrong."""
        self.timed = "fresh", self.court.fresh
        before = self.start.must(*self.timed, 600)
        expected = self.outputs(before)
        self.timed_limit = max(self.limit, 1 + int(5 * sum(before["times"].values())))
        todo, wrong = list(self.todo()), []
        for name, words, seconds, extra, env in todo:
            also = [f"{k}={v}" for k, v in (env or {}).items()]
            what = " ".join([name, *extra, *also])
            runs.progress(what)
            problem = self.warm() if name == "fresh" else None
            if problem:
                wrong.append(f"compiled kernels: {problem}")
                break
            got = self.mine.once(name, words, seconds, extra, env)
            self.runs += 1
            self.share = max(self.share, got["share"] or 0)
            if not got["ok"]:
                wrong.append(f"{what}: {got['reason']}")
            if got["caught"] == "hangs" or "SIGXFSZ" in got["reason"]:
                break  # the others would hang as long, or say as much
            if "kernel does not build" in got["reason"]:
                error = self.attempt.first(got["ended"].err)
                wrong = [self.attempt.named(error)] if error else wrong
                break  # nor would it for the others
        if wrong:
            self.say("correct",
                     f"NO, {len(wrong)} of {self.runs} runs fail: {wrong[0]}")
            return wrong[0]
        if self.task.step.kind(self.program) == "refactor":
            earlier = self.start.step.name
            same = self.outputs(got) == expected
            self.say("bytes", f"those of {earlier}" if same else
                     f"NOT those of {earlier}, whose operations this step keeps")
        return None

    def warm(self):
        """Lets a device's kernels be compiled for the set, before the fresh query is seen:
        caches carry nothing from one timed run to another."""
        if self.backend not in ("seq", "omp", "openacc"):
            try:
                self.mine.produce(self.program.sets[self.court.set], self.timed_limit)
            except Exception:
                pass  # what it wrote is not asked for
        return self.mine.keep()

    def time(self):
        """Runs the three in turns; None, or what was wrong this time."""
        self.book.must(*self.timed, 600)  # builds and caches what the others have
        three = {"step before": self.start, "attempt": self.mine, "book": self.book}
        for run in three.values():
            run.seconds, run.beside = [], []
        busy, own = machine.busy(), machine.own() + time.process_time()
        for n in range(self.rounds):
            order = list(three)[n % 3:] + list(three)[:n % 3]
            for who in order:
                runs.progress(f"round {n + 1} of {self.rounds}: {who}")
                if who != "attempt":
                    three[who].must(*self.timed, 600)
                    continue
                got = self.mine.once(*self.timed, self.timed_limit)
                self.runs += 1
                if not got["ok"]:
                    self.say("correct", f"NO, not every time: {got['reason']}")
                    return f"not every time: {got['reason']}"
        busy, own = machine.busy() - busy, machine.own() + time.process_time() - own
        self.foreign = max(0.0, 1 - own / busy) if busy else 0.0
        return None

    def judge(self):
        """None, or what is wrong with all that is run."""
        problem = self.check() or self.time()
        touched = self.court.tampered()
        if touched:
            problem = f"{diff.shown(touched)} was changed meanwhile"
            self.say("court", f"NO: {problem}")
        return problem

    def grade(self):
        """Says all there is to say; (right, its summary)."""
        print(f"{self.program.name} {self.task.step.name} {self.backend}, against "
              f"{self.start.step.name} {self.start.backend}")
        runs.progress("building")
        problem = self.attempt.make(self.backend)
        if problem:
            self.say("compiles", f"NO: {problem}")
            return False, f"does not compile: {problem}"
        self.say("compiles", "yes")
        problem = self.judge()
        if problem:
            return False, f"wrong: {problem}"

        self.say("correct", f"yes, {self.runs} runs, {self.share:.1f} % of the error "
                            f"budget used")
        more = hidden(self.mine, self.book)
        if more > 0.1 * statistics.median(self.mine.seconds):
            self.say("beside", f"its process takes {more:.2f} s more beside its run than "
                               f"the book's: they count")
        gained = verdict.compare([s + more for s in self.mine.seconds], self.start.seconds)
        possible = verdict.compare(self.book.seconds, self.start.seconds)
        part, busy = share_of_gain(gained, possible), ""
        self.say("faster", f"{said(gained)}, set {self.court.set} on fresh data, "
                           f"{self.rounds} rounds")
        self.say("gain", f"{part}; the book: {said(possible)}")
        if self.foreign > machine.FOREIGN:
            busy = f", busy: others took {100 * self.foreign:.0f} % of the CPU time"
            self.say("busy", f"{busy[8:]} in use: these times are doubtful")
        return True, f"right, {said(gained)}, {part}{busy}"


def total(diffs):
    """(added, removed) lines of several diffs."""
    return tuple(map(sum, zip((0, 0), *map(diff.count, diffs.values()))))


def changed(task):
    """Prints what an attempt changes, beside what the book does."""
    mine = diff.folders(task.start, task.attempt)
    book = diff.folders(task.start, task.book)
    names = [jail.plain(name) for name in mine]
    print("  {:9} +{} -{} (the book: +{} -{}) in {}".format(
        "lines", *total(mine), *total(book), " ".join(names) or "no file"))
    beyond = [name for name in names if name not in task.step.changes(task.program)]
    if beyond:
        print(f"  {'':9} beyond the lesson: {' '.join(beyond)}")


def wanted(task):
    """The back-ends to grade, and whether they were asked for."""
    there = task.step.backends(task.program)
    asked = os.environ.get("BACKEND", "").split()
    for backend in asked:
        if backend not in there:
            raise SystemExit(f"{task.step.name} has no back-end {backend}, "
                             f"it has {' '.join(there)}")
    if asked:
        return asked, True
    return [b for b in there
            if b not in tree.FOR_CHECKING and (b not in tree.NEED_GPU or tree.has_gpu())], False


def timed(program):
    """The name of the set that is timed."""
    name = os.environ.get("SET") or program.shown
    if name not in program.sets:
        raise SystemExit(f"SET={name}: expected one of {' '.join(program.sets)}")
    return name


def graded(task, attempt, rounds, limit, place):
    """Grades all back-ends: (whether all are right, the last lines)."""
    backends, asked = wanted(task)
    problems = {backend: make_book(task, backend) for backend in backends}
    court = Court(task, [b for b in backends if not problems[b]], timed(task.program),
                  place)
    summaries, all_right = [], True
    for backend in backends:
        if problems[backend]:
            print(f"{backend}: cannot be built here: {problems[backend]}")
            all_right = all_right and not asked
            continue
        right, summary = Grading(attempt, backend, rounds, limit, court).grade()
        all_right = all_right and right
        summaries.append(jail.plain(
            f"grade: {diff.shown(task.attempt)} {backend}: {summary}"))
    return all_right and summaries, summaries


def main():
    task = exercise.chosen()
    if not task.attempt.is_dir():
        raise SystemExit(f"{diff.shown(task.attempt)}: no attempt: "
                         f"make exercise {task.words()}")
    rounds = int(os.environ.get("GRADE_ROUNDS") or 7)
    limit = int(os.environ.get("GRADE_TIMEOUT") or 20)
    wanted(task), timed(task.program)  # before anything is built
    built = tree.build() / "grade"
    built.mkdir(parents=True, exist_ok=True)
    jail.adopt()
    with tempfile.TemporaryDirectory(dir=built) as folder, \
            tempfile.TemporaryDirectory() as place:
        attempt = Attempt(task, Path(folder))
        problem = attempt.put()
        if problem:
            print(jail.plain(f"grade: {diff.shown(task.attempt)}: refused: {problem}"))
            sys.exit(1)
        if not jail.possible():
            print("no jail here: the attempt runs as you do (Debian: bubblewrap)")
        all_right, summaries = graded(task, attempt, rounds, limit, Path(place))
    changed(task)
    print("\n".join(summaries))
    sys.exit(0 if all_right else 1)


if __name__ == "__main__":
    main()
