"""grade.py - make grade: is an attempt at a step right, and what did it gain?

    STEP= PROGRAM= WORK=        the attempt, as make exercise has them
    BACKEND=                    back-ends to grade; all that run here unless set, but
                                cuda-cpu, which is for checking, only if asked for
    SET=                        the set that is timed, or else the one that is shown
    GRADE_ROUNDS=7              interleaved runs of each that is timed
    GRADE_TIMEOUT=20            seconds a run may take, at least

The attempt is put into a copy of the tree and built there as its step. It must be right
on all that make verify asks of a back-end and on the set to be timed. Only then is it
timed: step before, attempt and book's step run in turns, and each of these runs is
verified too. The share of the gain is what the attempt gained over the step before, in
parts of what the book gains there.

Exits with 0 only if every back-end compiled and is right. Left out: an attempt that
sets out to deceive.
"""
import os
import shlex
import shutil
import statistics
import sys
import time

from tools.history import copies, diff, runs, tree, verdict
from tools.measure import machine
from tools.teach import exercise
from verify import matrix

# What an attempt runs in: no core file, no file beyond 64 MiB, no more said than that.
# The shell ends as the program did, by the same signal.
FENCE = """#!/bin/sh
ulimit -c 0
ulimit -f 131072
{memory}
cd {folder}
{binary} "$@" >said 2>complained
status=$?
head -c 65536 said
tail -c 65536 complained >&2
[ $status -le 128 ] || kill -$((status - 128)) $$
exit $status
"""


class Attempt:
    """The student's program, built as its step in a copy of the tree."""

    def __init__(self, task):
        self.task = task
        folder = tree.build() / "grade" / task.step.name / task.program.name
        self.copy = copies.Copy(folder)
        self.place = folder / "steps" / task.step.name / task.program.name
        shutil.rmtree(self.place)
        shutil.copytree(task.attempt, self.place)
        # What the tree has built of common/ is built already, if it is newer than its
        # sources: all files keep their times.
        (folder / "build").mkdir()
        for name in ("flags", "common"):
            built = tree.build() / name
            put = shutil.copytree if built.is_dir() else shutil.copy2
            if built.exists():
                put(built, folder / "build" / name)

    def make(self, backend):
        """Builds a back-end: None, or the compiler's first complaint."""
        binary = self.copy.binary(self.task.program, self.task.step, backend)
        problem = self.copy.make(binary)
        if problem:
            return self.named(problem)
        folder = self.copy.folder / "outputs"
        folder.mkdir(exist_ok=True)
        memory = ""
        if backend in ("seq", "omp"):  # devices map more than they use
            half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
            memory = f"ulimit -v {half // 1024}"
        self.fenced(backend).write_text(FENCE.format(
            memory=memory, folder=shlex.quote(str(folder)),
            binary=shlex.quote(str(binary))))
        self.fenced(backend).chmod(0o755)
        return None

    def named(self, text):
        """A message that names the attempt where it lies, not where it was built."""
        return text.replace(str(self.place.relative_to(self.copy.folder)),
                            diff.shown(self.task.attempt))

    def kernel_error(self):
        """What the device's compiler said first in the last run, if it said anything."""
        said = (self.copy.folder / "outputs" / "complained").read_text(errors="replace")
        return next((self.named(line) for line in said.splitlines() if "error:" in line),
                    None)

    def fenced(self, backend):
        return self.copy.folder / "build" / f"fenced-{backend}"


def make_book(task, backend):
    """Builds the book's two binaries; None, or why they cannot be built here."""
    step, other = tree.compared(task.step, task.program, backend)
    folder = tree.build().relative_to(tree.ROOT)
    return copies.make(f"BUILD={folder}", f"{folder}/{step.name}/{task.program.name}-{other}",
                       f"{folder}/{task.step.name}/{task.program.name}-{backend}")


class Run:
    """One of the three that are compared: step before, attempt, book."""

    def __init__(self, task, step, backend, binary=None):
        self.task, self.step, self.backend, self.binary = task, step, backend, binary
        self.seconds, self.init = [], []

    def once(self, name, words, timeout, extra=(), env=None):
        """The outcome of a verified run, whose times are kept if they can be true."""
        folder = tree.build() / "grade" / "outputs"
        began = time.monotonic()
        got = runs.run_and_check(self.step, self.task.program, self.backend, words,
                                 folder, name, env=env, timeout=timeout,
                                 binary=self.binary, extra=extra)
        wall = time.monotonic() - began
        if not got["ok"]:
            return got
        run, init = got["times"].get("run", 0), got["times"].get("init", 0)
        if not 0 < run <= wall:
            got.update(ok=False, reason=f"says that it ran for {run} s of {wall:.2f}")
        self.seconds.append(run)
        self.init.append(init)
        return got

    def must(self, *words):
        """The same of the book's own, which cannot fail."""
        got = self.once(*words)
        if not got["ok"]:
            raise SystemExit(f"the book's {self.step.name} {self.backend}: "
                             f"{got['reason']}")
        return got


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

    def __init__(self, attempt, backend, rounds, limit):
        self.attempt, self.backend = attempt, backend
        self.rounds, self.limit = rounds, limit
        self.task, self.program = attempt.task, attempt.task.program
        before = tree.compared(self.task.step, self.task.program, backend)
        self.start = Run(self.task, *before)
        self.mine = Run(self.task, self.task.step, backend, attempt.fenced(backend))
        self.book = Run(self.task, self.task.step, backend)
        sets = self.program.sets
        self.set = os.environ.get("SET") or self.program.shown
        if self.set not in sets:
            raise SystemExit(f"SET={self.set}: expected one of {' '.join(sets)}")
        self.timed = f"set{self.set}", self.program.sets[self.set]
        self.runs = 0
        self.share = 0.0  # percent of the error budget, the most that was used

    def say(self, what, text):
        runs.progress("")
        print(f"  {what:9} {text}", flush=True)

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
        before = self.start.must(*self.timed, 600)
        expected = self.outputs(before)
        self.timed_limit = max(self.limit, 1 + int(5 * sum(before["times"].values())))
        todo, wrong = list(self.todo()), []
        for name, words, seconds, extra, env in todo:
            also = [f"{k}={v}" for k, v in (env or {}).items()]
            what = " ".join([name, *extra, *also])
            runs.progress(what)
            got = self.mine.once(name, words, seconds, extra, env)
            self.runs += 1
            self.share = max(self.share, got["share"] or 0)
            if not got["ok"]:
                wrong.append(f"{what}: {got['reason']}")
            if got.get("caught") == "hangs":
                break  # the others would hang as long
            if "kernel does not build" in got["reason"] and self.attempt.kernel_error():
                wrong = [self.attempt.kernel_error()]
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

    def time(self):
        """Runs the three in turns; None, or what was wrong this time."""
        self.book.must(*self.timed, 600)  # builds and caches what the others have
        three = {"step before": self.start, "attempt": self.mine, "book": self.book}
        for run in three.values():
            run.seconds, run.init = [], []
        busy, own = machine.busy(), machine.own()
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
        busy = machine.busy() - busy
        self.foreign = max(0.0, 1 - (machine.own() - own) / busy) if busy else 0.0
        return None

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
        problem = self.check() or self.time()
        if problem:
            return False, f"wrong: {problem}"

        self.say("correct", f"yes, {self.runs} runs, {self.share:.1f} % of the error "
                            f"budget used")
        gained, possible = (verdict.compare(run.seconds, self.start.seconds)
                            for run in (self.mine, self.book))
        part = share_of_gain(gained, possible)
        self.say("faster", f"{said(gained)}, set {self.set}, {self.rounds} rounds")
        self.say("gain", f"{part}; the book: {said(possible)}")
        if self.foreign > machine.FOREIGN:
            self.say("busy", f"others took {100 * self.foreign:.0f} % of the CPU time in "
                             f"use: these times are doubtful")
        more = statistics.median(self.mine.init) - statistics.median(self.start.init)
        if more > 0.1 * statistics.median(self.start.seconds):
            self.say("init", f"takes {more:.2f} s more than before, untimed above")
        return True, f"right, {said(gained)}, {part}"


def total(diffs):
    """(added, removed) lines of several diffs."""
    return tuple(map(sum, zip((0, 0), *map(diff.count, diffs.values()))))


def changed(task):
    """Prints what an attempt changes, beside what the book does."""
    mine = diff.folders(task.start, task.attempt)
    book = diff.folders(task.start, task.book)
    print("  {:9} +{} -{} (the book: +{} -{}) in {}".format(
        "lines", *total(mine), *total(book),
        " ".join(mine) or "no file"))
    beyond = [name for name in mine if name not in task.step.changes(task.program)]
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
            if b != "cuda-cpu" and (b != "cuda" or tree.has_gpu())], False


def main():
    task = exercise.chosen()
    if not task.attempt.is_dir():
        raise SystemExit(f"{diff.shown(task.attempt)}: no attempt: "
                         f"make exercise {task.words()}")
    rounds = int(os.environ.get("GRADE_ROUNDS") or 7)
    limit = int(os.environ.get("GRADE_TIMEOUT") or 20)
    backends, asked = wanted(task)
    attempt = Attempt(task)
    summaries, all_right = [], True
    for backend in backends:
        problem = make_book(task, backend)
        if problem:
            print(f"{backend}: cannot be built here: {problem}")
            all_right = all_right and not asked
            continue
        right, summary = Grading(attempt, backend, rounds, limit).grade()
        all_right = all_right and right
        summaries.append(f"grade: {diff.shown(task.attempt)} {backend}: {summary}")
    changed(task)
    print("\n".join(summaries))
    sys.exit(0 if all_right and summaries else 1)


if __name__ == "__main__":
    main()
