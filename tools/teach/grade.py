"""grade.py - make grade: is an attempt at a step right, and what did it gain?

    GRADE_REPETITIONS=7     interleaved runs of each that is timed
    GRADE_TIMEOUT=20        seconds a run may take, at least
    GRADE_BUSY=1            grade times on a busy machine, too, and say so; otherwise only
                            whether the attempt is right
    ALLOW_UNSANDBOXED=1     run the attempt with your permissions if bubblewrap is missing
    GRADE_READS= BWRAP=     see tools/teach/sandbox.py

The attempt is copied next to the tree's Makefile and common/ and built as its step. It must
be right on all that make verify asks of a back-end, and on a fresh query like the set that
is timed. Only then is it timed, on that query: the runs of the step before, the attempt and
the reference solution (the tree's own step) are interleaved, and each of them is verified.

An attempt reports its own execution time. Time that its process spends outside the reported
interval, beyond what the reference solution spends there, is charged to the attempt. The
attempt is compiled and run in a sandbox, as are the two programs it is compared with. What
judges it is a read-only copy elsewhere; it, the tree's steps and the data must have the same
bytes at the end.

The exit status is 0 only if every back-end compiled and is right.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import copies, options, runs, tree, verdict
from tools.history import diff
from tools.base.tree import BACKENDS, Program, Step
from tools.measure import machine
from tools.teach import exercise, fresh, sandbox
from tools.verify import execute, matrix

BUILDING = 600  # seconds

Outcome = dict[str, Any]
Query = tuple[str, Sequence[str], float, Sequence[str], Mapping[str, str]]


class Attempt:
    """The student's program, built as its step next to a copy of what it may use."""

    def __init__(self, task: exercise.Task, folder: Path) -> None:
        self.task, self.folder = task, folder
        self.copy = self.folder / "tree"
        self.place = self.copy / "steps" / task.step.name / task.program.name

    def put(self) -> str | None:
        """Copies it. None, or why it is refused."""
        folder = self.task.attempt
        if folder.is_symlink() or folder.parent.is_symlink():
            return f"{folder.name}: a symbolic link: expected a folder"
        problem = sandbox.take(folder, self.place, plain_names=True)
        if problem:
            return problem
        shutil.copy2(self.task.step.folder / "step.mk", self.place.parent)
        for name in (*copies.MAKE, "common"):
            copies.put(tree.ROOT / name, self.copy / name)
        # The objects of common/ keep their times, so that they are not built again.
        for name in ("flags", "toolchain", "common"):
            if (tree.build() / name).exists():
                copies.put(tree.build() / name, self.copy / "build" / name)
        (self.copy / "build").mkdir(exist_ok=True)
        return None

    def binary(self, backend: str) -> Path:
        name = f"{self.task.program.name}-{backend}"
        return self.copy / "build" / self.task.step.name / name

    def make(self, backend: str) -> str | None:
        """Builds a back-end; the compiler sees nothing but the copy, of which it can write
        build/ alone. None, or the compiler's first error."""
        build = self.copy / "build"
        for name in BACKENDS[backend].sources:
            if not (self.task.attempt / name).is_file():
                return f"{tree.display(self.task.attempt)}: {name} is missing"
        env = {k: os.environ[k] for k in sandbox.BUILD_ENVIRONMENT if k in os.environ}
        within = sandbox.command(self.copy, [self.copy], [build], env, log=build)
        with sandbox.Watch([build]) as watch:
            result = runs.run([*within, "make", "-s", "BUILD=build",
                               self.binary(backend).relative_to(self.copy)], BUILDING)
            sandbox.reap()
        if watch.reason or result.failure():
            return self.renamed(watch.reason or first_error(result.err)
                                or str(result.failure()))
        return None

    def renamed(self, text: str) -> str:
        """A message with the path of the attempt instead of the path of its copy."""
        return text.replace(str(self.place.relative_to(self.copy)),
                            tree.display(self.task.attempt))


def first_error(text: str) -> str | None:
    """A compiler's first error, or make's."""
    lines = [line for line in text.splitlines() if "Waiting for unfinished jobs" not in line]
    return next((line for line in lines if "error" in line),
                next((line for line in lines if "*** " in line), None))


def make_reference(task: exercise.Task, backend: str) -> str | None:
    """Builds the two programs that an attempt is compared with. None, or why not."""
    earlier = tree.baseline(task.step, task.program, backend)
    assert earlier
    step, other = earlier
    folder = tree.build().relative_to(tree.ROOT)
    return copies.make(f"BUILD={folder}", f"{folder}/{step.name}/{task.program.name}-{other}",
                       f"{folder}/{task.step.name}/{task.program.name}-{backend}")


class Evidence:
    """What judges: copies of the checker and of the binaries to compare with, the oracle's
    results, fresh data. From now on `place` is the tree's build folder."""

    def __init__(self, task: exercise.Task, backends: Sequence[str], set_name: str,
                 place: Path) -> None:
        program, self.set = task.program, set_name
        pairs = {(task.step, b) for b in backends}
        pairs |= {earlier for b in backends
                  if (earlier := tree.baseline(task.step, program, b))}
        for path in [program.checker(), *(s.binary(program, b) for s, b in pairs)]:
            copies.put(path, place / path.relative_to(tree.build()))
        os.environ["BUILD"] = str(place)
        (place / "fresh").mkdir()
        self.fresh = fresh.of(program, program.sets[set_name], place / "fresh")
        runs.stage("computing the references of all cases and of fresh data")
        for name, arguments in {**program.cases, "fresh": self.fresh}.items():
            runs.progress(f"computing the reference of {name}")
            for method in {tuple(s.check_arguments(program)) for s, _ in pairs}:
                runs.check(program, arguments, {}, name, method)
        for path in place.rglob("*"):
            path.chmod(0o555)
        place.chmod(0o555)
        self.folders = place, tree.ROOT / "steps", program.data
        self.before = sandbox.hashes(self.folders)

    def changed(self) -> Path | None:
        """The first file that has other bytes than at the beginning."""
        after = sandbox.hashes(self.folders)
        return next((path for path in sorted(self.before.keys() | after.keys())
                     if self.before.get(path) != after.get(path)), None)


class Run:
    """One of the three that are compared: step before, attempt, reference solution."""

    def __init__(self, attempt: Attempt, name: str, step: Step, backend: str,
                 binary: Path | None = None) -> None:
        self.program, self.step, self.backend = attempt.task.program, step, backend
        self.binary = binary
        self.outputs, self.taken = attempt.folder / "outputs", attempt.folder / "taken"
        self.cache, self.kept = (attempt.folder / f"{what}-{name}-{backend}"
                                 for what in ("cache", "kept"))
        self.seconds: list[float] = []  # that it reports
        self.outside: list[float] = []  # seconds of its process outside that interval

    def produce(self, arguments: Sequence[str], timeout: float, extra: Sequence[str] = (),
                env: Mapping[str, str] | None = None) -> Outcome:
        """A run in the sandbox, in folders that are empty but for compiled kernels. Its
        files are copied before anything looks at them."""
        sandbox.empty(self.outputs)
        if self.kept.exists():
            sandbox.take(self.kept, self.cache)
        self.cache.mkdir(parents=True, exist_ok=True)
        binary = self.binary or self.step.binary(self.program, self.backend)
        _, variables = runs.launch(binary, self.backend, dict(env or {}))
        variables |= {"POCL_CACHE_DIR": str(self.cache), "CUDA_CACHE_PATH": str(self.cache)}
        # Devices map more address space than they use: there, Watch limits the memory.
        memory = sandbox.MEMORY if BACKENDS[self.backend].on_host else None
        within = sandbox.command(
            self.outputs, [binary, *runs.inputs(arguments)], [self.cache], variables,
            memory=memory, cpu=(timeout + 1) * runs.processors())
        with sandbox.Watch([self.outputs, self.cache]) as watch:
            try:
                got = execute.produce(self.step, self.program, self.backend, arguments,
                                      self.outputs, dict(env or {}), timeout, binary, extra,
                                      within)
            finally:
                sandbox.reap()
        if watch.reason:
            return {**got, "ok": False, "reason": watch.reason, "caught": "stopped"}
        try:
            return {**got, "files": sandbox.take_outputs(got["files"], self.taken)}
        except sandbox.Refused as refused:
            return {**got, "ok": False, "reason": str(refused), "caught": "said"}

    def keep(self) -> str | None:
        """From now on each run finds the kernels that were compiled so far, and nothing that
        another run has left. None, or why that is impossible."""
        return sandbox.take(self.cache, self.kept)

    def verified(self, name: str, arguments: Sequence[str], timeout: float,
                 extra: Sequence[str] = (), env: Mapping[str, str] | None = None) -> Outcome:
        """The outcome of a verified run, whose times are kept if they are possible."""
        try:
            got = self.produce(arguments, timeout, extra, env)
        except Exception as error:  # in reading its output, which may be anything
            return {"ok": False, "share": None, "caught": "said",
                    "reason": f"its output cannot be read: {error}"}
        if got["ok"]:
            got.update(runs.check(self.program, arguments, got["files"], name,
                                  self.step.check_arguments(self.program)))
        if not got["ok"]:
            return got
        run, wall = got["times"].get("run", 0), got["result"].seconds
        if not 0 < run <= wall:
            got.update(ok=False, reason=f"Time_run={run}: expected above 0 and at most the "
                                        f"{wall:.2f} s that its process took")
        self.seconds.append(run)
        self.outside.append(wall - run)
        return got

    def required(self, name: str, arguments: Sequence[str]) -> Outcome:
        """The same of a program of the tree, which must be right."""
        got = self.verified(name, arguments, runs.TIMEOUT)
        if not got["ok"]:
            raise SystemExit(f"{self.step.name} {self.backend} of the tree: {got['reason']}")
        return got


# ---- the grade ---------------------------------------------------------------------


def charged(attempt: Run, reference: Run) -> float:
    """Seconds that an attempt's process takes outside its reported interval, beyond those
    of the reference solution."""
    return max(0.0, statistics.median(attempt.outside) - statistics.median(reference.outside))


def speedup(gain: verdict.Verdict) -> str:
    text = f"{gain.ratio:.2f} ({gain.low:.2f} .. {gain.high:.2f})"
    return f"{text} not distinguishable" if gain.word == "none" else text


def part_of_gain(attempt: verdict.Verdict, reference: verdict.Verdict) -> str:
    """How much of the reference solution's gain an attempt has, in words."""
    if reference.word != "gain":
        return "the reference solution gains nothing here"
    part = 0 if attempt.word == "none" else (attempt.ratio - 1) / (reference.ratio - 1)
    return f"{100 * part:.0f} % of the gain of the reference solution"


class Grading:
    """One back-end of an attempt."""

    def __init__(self, attempt: Attempt, backend: str, repetitions: int, limit: int,
                 evidence: Evidence | None = None) -> None:
        self.attempt, self.backend, self.evidence = attempt, backend, evidence
        self.repetitions, self.limit = repetitions, limit
        self.task, self.program = attempt.task, attempt.task.program
        before = tree.baseline(self.task.step, self.program, backend)
        assert before
        self.start = Run(attempt, "before", *before)
        self.mine = Run(attempt, "attempt", self.task.step, backend, attempt.binary(backend))
        self.reference = Run(attempt, "reference", self.task.step, backend)
        self.runs = 0
        self.share = 0.0  # percent of the error budget, at most
        self.foreign = 0.0  # fraction of the CPU time that other processes used

    def say(self, key: str, text: str) -> None:
        runs.progress("")
        print(f"  {key:9} {sandbox.plain(text)}", flush=True)

    def contents(self, got: Outcome) -> list[bytes]:
        return [got["files"][o.key].read_bytes() for o in self.program.outputs]

    def queries(self, timed: Query) -> Iterator[Query]:
        """What must be right."""
        cases = list(self.program.cases.items())
        for case, arguments in cases:
            yield case, arguments, self.limit, (), {}
        for _, extra, env in matrix.variants(self.program, self.backend):
            yield *cases[0], self.limit, extra, env
        yield timed

    def check(self, evidence: Evidence) -> str | None:
        """Runs the attempt on everything. None, or what is wrong."""
        before = self.start.required("fresh", evidence.fresh)
        self.timed_limit = max(self.limit, 1 + int(5 * sum(before["times"].values())))
        failures: list[str] = []
        got: Outcome = {}
        runs.stage(f"{self.backend}: running the attempt on {len(self.program.cases)} cases, in "
                   f"several ways")
        for query in self.queries(("fresh", evidence.fresh, self.timed_limit, (), {})):
            name, arguments, seconds, extra, env = query
            label = " ".join([name, *extra, *(f"{k}={v}" for k, v in env.items())])
            runs.progress(label)
            problem = self.warm(evidence) if name == "fresh" else None
            if problem:
                failures.append(f"compiled kernels: {problem}")
                break
            got = self.mine.verified(name, arguments, seconds, extra, env)
            self.runs += 1
            self.share = max(self.share, got["share"] or 0)
            if not got["ok"]:
                failures.append(f"{label}: {got['reason']}")
            if got["caught"] in ("hangs", "stopped") or "SIGXFSZ" in str(got["reason"]):
                break  # the other runs would exceed the limit, too
            if "kernel does not build" in str(got["reason"]):
                error = first_error(got["result"].err)
                failures = [self.attempt.renamed(error)] if error else failures
                break  # it would not for the other runs
        if failures:
            self.say("correct",
                     f"NO, {len(failures)} of {self.runs} runs fail: {failures[0]}")
            return failures[0]
        if self.task.step.kind(self.program) == "refactor":
            same = self.contents(got) == self.contents(before)
            self.say("bytes", f"equal to those of {self.start.step.name}" if same else
                     f"DIFFERENT from those of {self.start.step.name}, whose operations this "
                     f"step keeps")
        return None

    def warm(self, evidence: Evidence) -> str | None:
        """Has a device's kernels compiled for the set before the attempt sees the fresh
        query: caches carry nothing from one timed run to another."""
        if not (BACKENDS[self.backend].on_host or BACKENDS[self.backend].threads == 1):
            with contextlib.suppress(Exception):  # its output is not used
                self.mine.produce(self.program.sets[evidence.set], self.timed_limit)
        return self.mine.keep()

    def time(self, evidence: Evidence) -> str | None:
        """Runs the three interleaved. None, or what was wrong this time."""
        self.reference.required("fresh", evidence.fresh)  # compiles and caches its kernels
        three = {"step before": self.start, "attempt": self.mine,
                 "reference solution": self.reference}
        for run in three.values():
            run.seconds, run.outside = [], []
        load, start = machine.Load(), time.monotonic()
        for n in range(self.repetitions):
            left = f", {(time.monotonic() - start) / n * (self.repetitions - n):.0f} s left" \
                if n else ""
            runs.stage(f"{self.backend}: timing, repetition {n + 1} of {self.repetitions}{left}")
            for name in list(three)[n % 3:] + list(three)[:n % 3]:
                if name != "attempt":
                    three[name].required("fresh", evidence.fresh)
                    continue
                got = self.mine.verified("fresh", evidence.fresh, self.timed_limit)
                self.runs += 1
                if not got["ok"]:
                    self.say("correct", f"NO, not every time: {got['reason']}")
                    return f"not every time: {got['reason']}"
            self.foreign = load.foreign()
            if n >= 2 and self.doubtful() and not options.is_set("GRADE_BUSY"):
                break  # the times will not be used
        return None

    def doubtful(self) -> bool:
        """Whether other processes disturbed the times."""
        return self.foreign > machine.FOREIGN

    def judge(self) -> str | None:
        """None, or what is wrong with the attempt."""
        assert self.evidence
        problem = self.check(self.evidence) or self.time(self.evidence)
        changed = self.evidence.changed()
        if changed:
            problem = f"{tree.display(changed)}: changed while the attempt ran"
            self.say("integrity", f"NO: {problem}")
        return problem

    def grade(self) -> tuple[bool, str]:
        """Prints the grade. Returns (whether the attempt is right, a summary)."""
        print(f"{self.program.name} {self.task.step.name} {self.backend}, compared with "
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
        return True, self.times()

    def times(self) -> str:
        """Prints what the attempt gained; a summary."""
        assert self.evidence
        if self.doubtful() and not options.is_set("GRADE_BUSY"):
            self.say("faster", f"not graded: other processes used {100 * self.foreign:.0f} % of "
                               f"the CPU time: repeat it on an idle machine, or set GRADE_BUSY=1")
            return "right, not timed: the machine is busy"
        more = charged(self.mine, self.reference)
        if more > 0.1 * statistics.median(self.mine.seconds):
            self.say("charged", f"its process takes {more:.2f} s more outside its reported "
                                f"interval than the reference solution: they count")
        gain = verdict.compare([s + more for s in self.mine.seconds], self.start.seconds)
        possible = verdict.compare(self.reference.seconds, self.start.seconds)
        part = part_of_gain(gain, possible)
        busy = ""
        self.say("faster", f"{speedup(gain)}, set {self.evidence.set} on fresh data, "
                           f"{self.repetitions} repetitions")
        self.say("gain", f"{part}, which is {speedup(possible)}")
        if self.doubtful():
            busy = f", busy: other processes used {100 * self.foreign:.0f} % of the CPU time"
            self.say("busy", f"{busy[8:]} in use: these times are doubtful")
        return f"right, {speedup(gain)}, {part}{busy}"


# ---- what is graded ----------------------------------------------------------------


def total(diffs: Mapping[str, str]) -> tuple[int, int]:
    """(added, removed) lines of several diffs."""
    counts = [diff.count(text) for text in diffs.values()]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def print_changes(task: exercise.Task) -> None:
    """Prints what an attempt changes, next to what the reference solution does."""
    mine = diff.folders(task.start, task.attempt)
    reference = diff.folders(task.start, task.solution)
    names = [sandbox.plain(name) for name in mine]
    print("  {:9} +{} -{} (the reference solution: +{} -{}) in {}".format(
        "lines", *total(mine), *total(reference), " ".join(names) or "no file"))
    beyond = [name for name in names if name not in task.step.changes(task.program)]
    if beyond:
        print(f"  {'':9} beyond the lesson: {' '.join(beyond)}")


def wanted(task: exercise.Task) -> tuple[list[str], bool]:
    """The back-ends to grade, and whether they were named: by default all that run here,
    without those that are for checking."""
    there, named = task.step.backends(task.program), os.environ.get("BACKEND", "").split()
    for backend in named:
        if backend not in there:
            raise SystemExit(f"BACKEND={backend}: not in {task.step.name}: expected one of "
                             f"{' '.join(there)}")
    if named:
        return named, True
    return [b for b in there if b not in tree.FOR_CHECKING and
            (b not in tree.NEED_GPU or tree.has_gpu())], False


def timed_set(program: Program) -> str:
    """The name of the set that is timed."""
    name = os.environ["SET"] or program.mk.get("run", program.shown)
    if name not in program.sets:
        raise SystemExit(f"SET={name}: not a set: expected one of {' '.join(program.sets)}")
    return name


def graded(task: exercise.Task, attempt: Attempt, limits: tuple[int, int], place: Path
           ) -> tuple[bool, list[str]]:
    """Grades all back-ends: (whether all are right, the last lines)."""
    backends, named = wanted(task)
    problems = {backend: make_reference(task, backend) for backend in backends}
    evidence = Evidence(task, [b for b in backends if not problems[b]],
                        timed_set(task.program), place)
    summaries, all_right = [], True
    for backend in backends:
        if problems[backend]:
            print(f"{backend}: cannot be built here: {problems[backend]}")
            all_right = all_right and not named
            continue
        right, summary = Grading(attempt, backend, *limits, evidence).grade()
        all_right = all_right and right
        summaries.append(sandbox.plain(
            f"grade: {tree.display(task.attempt)} {backend}: {summary}"))
    return all_right and bool(summaries), summaries


def parsed() -> argparse.Namespace:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SET")
    exercise.add_work(parser)
    parser.add_argument("--repetitions", type=int, metavar="N",
                        default=runs.whole_number("GRADE_REPETITIONS", 7))
    parser.add_argument("--timeout", type=int, metavar="SECONDS",
                        default=runs.whole_number("GRADE_TIMEOUT", 20, most=10**6))
    return options.parse(parser)


def main() -> int:
    found = parsed()
    task = exercise.chosen(found.work)
    if not task.attempt.is_dir():
        raise SystemExit(f"{tree.display(task.attempt)}: no attempt: "
                         f"make exercise {task.variables()}")
    wanted(task), timed_set(task.program)  # before anything is built
    sandbox.require()
    machine.warn_if_busy(
        "GRADE_BUSY=1: times are doubtful" if options.is_set("GRADE_BUSY") else
        "the attempt is checked, but not timed, unless GRADE_BUSY=1 is set or they end")
    built = tree.build() / "grade"
    built.mkdir(parents=True, exist_ok=True)
    sandbox.adopt()
    with tempfile.TemporaryDirectory(dir=built) as folder, \
            tempfile.TemporaryDirectory() as place:
        attempt = Attempt(task, Path(folder))
        problem = attempt.put()
        if problem:
            print(sandbox.plain(f"grade: {tree.display(task.attempt)}: refused: {problem}"))
            return 1
        right, summaries = graded(task, attempt, (found.repetitions, found.timeout),
                                  Path(place))
    print_changes(task)
    print("\n".join(summaries))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
