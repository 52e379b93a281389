"""coverage.py - make coverage: which lines of the steps do random queries reach?

    SEED= COUNT=    as of make verify-random; 60 queries a program, of seed 1 or of that
                    which its tools/verify/queries/PROGRAM.py has as COVERAGE
    STEP= PROGRAM=  as make's

Back-ends whose loops a host runs are built once more, unoptimized and counting (gcov), in
build/coverage, and run on the queries; their answers are not looked at here. Prints the
lines of steps/*/*/{body.h,cpu.c} that none has reached, and exits with 0 only if there
are none. Left out: what only devices run.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tools.history import copies, runs, tree
from tools.verify import queries, random_queries

COUNT = 60
FLAGS = "--coverage -fprofile-update=atomic"
BACKENDS = ("seq", "omp", "hybrid", "mpi")
FILES = ("body.h", "cpu.c")


def binaries(program, steps):
    return [(s, b, s.binary(program, b)) for s in steps for b in s.backends(program)
            if b in BACKENDS]


def run_all(program, steps, seed, number, folder):
    query = queries.drawn(program, seed, number, folder)
    for step, backend, path in binaries(program, steps):
        if not query.has(backend):
            continue
        ways = [random_queries.besides(backend, f"{seed}-{number}")]
        if backend == "hybrid":  # else a device has some of what the host would reach
            ways.append((("share=0",), {}))
        for extra, env in ways:
            outcome = runs.produce(
                step, program, backend, query.words, folder / f"{step.number}-{backend}",
                {**query.env, **env}, extra=extra,
                outputs=program.timed if query.timed else None)
            if not outcome["ok"]:
                print(f"{program.name} {seed} {number} {step.name} {backend}: "
                      f"{outcome['reason']}", flush=True)
    shutil.rmtree(folder)


def counted(build):
    """{file: {line: how often, in any binary}}"""
    lines = {}
    for notes in build.rglob("*.gcda"):
        folder = notes.parent.resolve()
        said = subprocess.run(["gcov", "--json-format", "--stdout", notes.resolve()],
                              cwd=folder, capture_output=True)
        text = said.stdout
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
        for line in text.splitlines():
            for file in json.loads(line)["files"]:
                of_file = lines.setdefault(file["file"], {})
                for at in file["lines"]:
                    number = at["line_number"]
                    of_file[number] = of_file.get(number, 0) + at["count"]
    return lines


def main():
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    count = int(os.environ.get("COUNT") or COUNT)
    steps = tree.selected(tree.steps(), "STEP")
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if queries.of(p)]
    build = tree.build() / "coverage"
    shutil.rmtree(build, ignore_errors=True)
    os.environ["BUILD"] = str(build.relative_to(tree.ROOT))

    wanted = [path for p in programs for _, _, path in binaries(p, steps)]
    problem = copies.make(f"BUILD={build.relative_to(tree.ROOT)}", "NVCC=", "CC=gcc",
                          "OPT=-O0", f"EXTRA={FLAGS}",
                          *(path.relative_to(tree.ROOT) for path in wanted))
    if problem:
        raise SystemExit(problem)
    seed = {p: os.environ.get("SEED") or getattr(queries.of(p), "COVERAGE", "1")
            for p in programs}
    jobs = [(p, steps, seed[p], i, build / "random" / f"{p.name}-{i}")
            for i in range(count) for p in programs]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: run_all(*job), jobs))

    lines, reached, missed = counted(build), 0, 0
    for step in steps:
        for program in programs:
            for path in (step.folder / program.name / f for f in FILES):
                if not path.exists():
                    continue
                name = str(path.relative_to(tree.ROOT))
                text = path.read_text().splitlines()
                for number, times in sorted(lines.get(name, {0: 0}).items()):
                    reached += times > 0
                    missed += times == 0
                    if times == 0:
                        shown = text[number - 1].strip() if number else "not compiled"
                        print(f"{name}:{number}: never reached: {shown}")
    print(f"{reached} lines reached, {missed} not")
    print(f"{reached} passed, {missed} failed")
    sys.exit(1 if missed or not reached else 0)


if __name__ == "__main__":
    main()
