"""random_queries.py - make verify-random: every step and back-end on queries that nobody
thought of.

    SEED=       a number; without it a fresh one, which is printed
    COUNT=      how many queries, dealt out to the programs (default 500)
    SECONDS=    no new query after so many
    NUMBER=     only this query of the seed; as a failure is printed
    STEP= PROGRAM= BACKEND=   as make's; those that failed in BACKEND= are not kept

A query passes on a back-end if
  - the checker, which has the double-precision oracle, accepts its files;
  - what it prints on stdout is what its files and words say (tools/verify/queries);
  - in a step that only refactors, its files are the bytes of the step before, unless
    the query has several right answers.
What several back-ends write alike is checked once. Queries kept from earlier failures run
first. A query that fails is printed as the command that repeats it, and kept in
verify/kept/PROGRAM. Several queries run at a time.
"""
import hashlib
import os
import random
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.history import runs, tree
from tools.verify import queries

TIMEOUT = 30  # seconds a run; nearly all take some hundredths


def digest(files, words):
    """A name for what was written: equal if the bytes of all files are, those in folders
    that the words name included."""
    mark = hashlib.sha256()
    folders = (Path(word.partition("=")[2]) for word in words if "=" in word)
    more = {str(path): path for folder in folders if folder.is_dir()
            for path in folder.iterdir() if path.is_file()}
    for key, path in sorted({**files, **more}.items()):
        mark.update(f"{key} {path.stat().st_size}\n".encode() + path.read_bytes()
                    if path.exists() else b"none\n")
    return mark.hexdigest()


def besides(backend, name):
    """(words, variables) that a back-end is run with besides: how a device and its host
    share, how many ranks there are; always the same for a query of that name."""
    draw = random.Random(f"{backend} {name}")
    if backend.startswith("hybrid"):
        share = draw.choice(("auto", "0", "100", str(draw.randint(1, 99))))
        return (f"share={share}",), {"OMP_NUM_THREADS": str(draw.randint(1, 3))}
    if backend.startswith("mpi"):
        return (), {"RANKS": str(draw.choice((1, 2, 2, 3, 5, 8))),
                    "OMP_NUM_THREADS": str(draw.choice((1, 1, 2, 3)))}
    return (), {}


def failures(program, query, folder, name, steps, backends=()):
    """Runs a query everywhere: yields (step, back-end, what is wrong), and (step,
    back-end, None) where nothing is."""
    judged, written = {}, {}
    for step in steps:
        for backend in step.available(program):
            if not query.has(backend) or backends and backend not in backends:
                continue
            extra, env = besides(backend, name)
            outcome = runs.produce(step, program, backend, query.words,
                                   folder / f"{step.number}-{backend}",
                                   {**query.env, **env}, TIMEOUT, extra=extra,
                                   outputs=program.timed if query.timed else None)
            if not outcome["ok"]:
                yield step, backend, outcome["reason"]
                continue
            if outcome.get("refused"):
                yield step, backend, None
                continue
            mark = digest(outcome["files"], query.words)
            written[step, backend] = mark
            if mark not in judged:
                judged[mark] = runs.check(program, query.words, outcome["files"], name)
            reason = None if judged[mark]["ok"] else judged[mark]["reason"]
            if not reason and step.kind(program) == "refactor" and not query.free:
                earlier = tree.ported(step, program, backend)
                if written.get(earlier, mark) != mark:
                    reason = f"not the bytes of {earlier[0].name} {earlier[1]}"
            yield step, backend, reason


class Search:
    """The queries of a seed, and what came of them."""

    def __init__(self, seed):
        self.seed = seed
        self.steps = tree.selected(tree.steps(), "STEP")
        self.backends = os.environ.get("BACKEND", "").split()
        self.folder = tree.build() / "random" / seed
        self.passed, self.failed, self.queries = 0, 0, 0
        self.lock = threading.Lock()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program, name, query, folder, command):
        """One query; what fails is printed. Whether all passed."""
        bad = []
        checked = f"random-{name}"
        for step, backend, reason in failures(program, query, folder, checked, self.steps,
                                              self.backends):
            with self.lock:
                self.passed += not reason
                self.failed += bool(reason)
            if reason:
                bad.append((step, backend, reason))
        with self.lock:
            self.queries += 1
            if bad:
                runs.progress("")
                step, backend, reason = bad[0]
                print(f"FAIL {program.name} {name}: {step.name} {backend}: {reason}")
                others = " ".join(f"{s.number}-{b}" for s, b, _ in bad[1:])
                print(f"     also in {others}\n" * bool(others) + f"     {command}",
                      flush=True)
            else:
                runs.progress(f"{self.queries} queries, {self.passed} runs passed, "
                              f"{self.failed} failed")
        return not bad

    def kept(self, program):
        for name, query in queries.kept(program).items():
            folder = self.folder / f"{program.name}-kept-{name}"
            folder.mkdir(parents=True, exist_ok=True)
            self.run(program, name, query, folder,
                     f"make verify-random COUNT=0 PROGRAM={program.name}")

    def drawn(self, program, number):
        name = f"{self.seed}-{number}"
        folder = self.folder / f"{program.name}-{name}"
        data = folder / "data"
        query = queries.drawn(program, self.seed, number, data)
        command = f"make verify-random SEED={self.seed} NUMBER={number} " \
                  f"PROGRAM={program.name}"
        if self.run(program, name, query, folder, command):
            shutil.rmtree(folder)
        elif not self.backends:
            kept = queries.keep(program, name, query, data)
            print(f"     kept in {kept.relative_to(tree.ROOT)}", flush=True)
        for path in (tree.build() / "oracle" / program.name).glob(f"random-{name}-*"):
            path.unlink()


def main():
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    seed = os.environ.get("SEED") or str(int(time.time()))
    number = os.environ.get("NUMBER")
    count = int(os.environ.get("COUNT") or 500)
    until = time.monotonic() + float(os.environ.get("SECONDS") or 1e9)
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if queries.of(p)]
    search = Search(seed)
    if number:
        wanted = [(p, int(number)) for p in programs]
    else:
        wanted = [(programs[i % len(programs)], i // len(programs)) for i in range(count)]

    def one(job):
        if time.monotonic() < until:
            job[0](*job[1:])

    jobs = [] if number else [(search.kept, p) for p in programs]
    jobs += [(search.drawn, *w) for w in wanted]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    runs.progress("")
    print(f"SEED={seed}: {search.queries} queries")
    print(f"{search.passed} passed, {search.failed} failed")
    sys.exit(1 if search.failed or not search.passed else 0)


if __name__ == "__main__":
    main()
