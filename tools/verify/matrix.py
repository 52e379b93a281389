"""matrix.py - make verify: every program, step and back-end on every case.

    matrix.py [--sets|--needs]  STEP=, PROGRAM=, BACKEND= as make's; --sets: the sets of
                                make run too, which take longer; --needs: prints what must
                                be built besides these

A run passes if
  - the checker accepts its outputs: within the budget of the double-precision oracle,
    and finding the events that the data are known to hold;
  - they are within the budget of the first step's outputs, where the program has one;
  - in a step that only refactors, they are the bytes of the step before.
One case runs again with other work-groups on devices, on other numbers of threads or
ranks, with other shares for a device beside the host, and with OpenCL's device taken for
a GPU (DEVICE_AS), whatever it is; where not all outputs
are asked for when time is taken, every case with these alone.

Prints the largest share of its budget that each back-end used, `=` beside it where
bytes were compared, and exits with 0 only if everything passed. Runs one thing at a
time.
"""
import os
import shutil
import sys

from tools.history import runs, tree

THREADS = (1, 3)
SHARES = (0, 1, 37, 99, 100)
RANKS = (1, 3, 8)


class Matrix:
    """What has been run so far; each thing is run once, when it is first asked for."""

    def __init__(self, program, timeout):
        self.program = program
        self.timeout = timeout
        self.first = next(s for s in tree.steps() if s.has(program))
        self.folder = tree.build() / "matrix" / program.name
        self.done = {}
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, step, backend, case, words, variant="", extra=(), env=None,
            outputs=None):
        """The outcome of run_and_check, and as `bytes` whether bytes were compared."""
        name = "-".join(filter(None, (step.name, backend, variant)))
        if (case, name) in self.done:
            return self.done[case, name]
        runs.progress(f"{self.program.name} {case} {name}")
        outcome = runs.run_and_check(step, self.program, backend, words,
                                     self.folder / case / name, case, env=env,
                                     timeout=self.timeout, extra=extra, outputs=outputs)
        outcome["bytes"] = False
        self.done[case, name] = outcome
        if outcome["ok"]:
            self.near_first(step, backend, case, words, outcome)
        if outcome["ok"] and step.kind(self.program) == "refactor":
            self.same_bytes(step, backend, case, words, outcome)
        return outcome

    def near_first(self, step, backend, case, words, outcome):
        """Compares with the first step what its outputs have a budget for."""
        origin = self.first.backends(self.program)[0]
        if (step, backend) == (self.first, origin):
            return
        reference = self.run(self.first, origin, case, words)
        for o in self.program.outputs:
            if o.budget is not None and o.key in outcome["files"]:
                self.verify(reference, outcome, o, f"{o.budget:g}", self.first, origin)

    def same_bytes(self, step, backend, case, words, outcome):
        earlier = tree.ported(step, self.program, backend)
        if not earlier:
            return
        reference = self.run(*earlier, case, words)
        for o in self.program.outputs:
            if o.key in outcome["files"]:
                self.verify(reference, outcome, o, "norm=bytes", *earlier)
        outcome["bytes"] = True

    def verify(self, reference, outcome, output, how, step, backend):
        """Asks the program verify about one output; what fails is noted in outcome."""
        budget = ["0", how] if "=" in how else [how]
        ended = runs.run([tree.build() / "verify", reference["files"][output.key],
                          outcome["files"][output.key], *budget], self.timeout)
        said = dict(line.strip().split(None, 1) for line in ended.out.splitlines()
                    if len(line.split()) > 1)
        if ended.status != 0 and outcome["ok"]:
            detail = said.get("worst", ended.why())
            outcome.update(ok=False, caught="verify",
                           reason=f"{output.key}.npy against {step.name} {backend}, "
                                  f"{how}: {detail}")
        elif "share" in said and "=" not in how:
            outcome["share"] = max(outcome["share"], float(said["share"].split()[0]))


def variants(program, backend):
    """(name, words, environment) of what one case is run with besides."""
    if backend == "omp":
        return [(f"{n}-threads", (), {"OMP_NUM_THREADS": str(n)}) for n in THREADS]
    if backend.startswith("mpi"):
        return [(f"{n}-ranks", (), {"RANKS": str(n)}) for n in RANKS]
    if backend.startswith("hybrid"):
        shares = [(f"share-{p}", (f"share={p}",), {"OMP_NUM_THREADS": "2"}) for p in SHARES]
        return shares + [("as-gpu", ("share=50",), {"DEVICE_AS": "gpu"})] * (backend == "hybrid")
    if backend not in ("ocl", "cuda", "cuda-cpu"):
        return []
    groups = [(word, (word,), None) for word in program.groups]
    return groups + [("as-gpu", (), {"DEVICE_AS": "gpu"})] * (backend == "ocl")


def todo(matrix, step, backend, queries):
    """Everything one back-end of one step has to pass: (name, outcome)."""
    program = matrix.program
    for case, words in queries.items():
        yield case, matrix.run(step, backend, case, words)
        if program.timed != program.outputs:
            yield f"{case}, timed outputs", matrix.run(step, backend, case, words, "timed",
                                                       outputs=program.timed)
    case, words = next(iter(program.cases.items()))
    for name, extra, env in variants(program, backend):
        yield f"{case} {name}", matrix.run(step, backend, case, words, name, extra, env)


def verify_program(program, with_sets):
    """Prints the table of a program; returns how many runs passed, and what failed."""
    queries = dict(program.cases)
    timeout = 60
    if with_sets:
        queries.update({f"set{name}": words for name, words in program.sets.items()
                        if name in program.usual})
        timeout = 600
    matrix = Matrix(program, timeout)
    only = os.environ.get("BACKEND", "").split()

    rows, passed, failed, missing = [], 0, [], set()
    for step in tree.selected(tree.steps(), "STEP"):
        cells = []
        available = step.available(program)
        missing |= set(step.backends(program)) - set(available)
        for backend in tree.BACKENDS:
            if backend not in available or (only and backend not in only):
                cells.append("")
                continue
            outcomes = list(todo(matrix, step, backend, queries))
            bad = [(name, o) for name, o in outcomes if not o["ok"]]
            passed += len(outcomes) - len(bad)
            failed += [f"{step.name} {program.name}-{backend} {name}: {o['reason']}"
                       for name, o in bad]
            share = max((o["share"] or 0 for _, o in outcomes), default=0)
            equal = all(o["bytes"] for _, o in outcomes)
            cells.append("FAIL" if bad else f"{share:.1f} %{' =' if equal else ''}")
        if any(cells):
            rows.append([step.name, step.kind(program), *cells])
    runs.progress("")

    print(f"{program.name}: the largest share of the budget, {len(queries)} cases")
    empty = [i for i, column in enumerate(zip(*rows)) if not any(column)]
    print(runs.table([[c for i, c in enumerate(row) if i not in empty]
                      for row in (["step", "kind", *tree.BACKENDS], *rows)]))
    if missing:
        print("not here:", " ".join(b for b in tree.BACKENDS if b in missing))
    return passed, failed


def needs():
    """The binaries whose bytes those of the chosen steps must repeat, as make knows them."""
    build = os.environ.get("BUILD", "build")
    only = os.environ.get("BACKEND", "").split()
    needed = {}
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for step in tree.selected(tree.steps(), "STEP"):
            for backend in step.available(program):
                here = (step, backend) if not only or backend in only else None
                while here and here[0].kind(program) == "refactor":
                    here = tree.ported(here[0], program, here[1])
                    if here:
                        needed[f"{build}/{here[0].name}/{program.name}-{here[1]}"] = True
    return needed


def main():
    if sys.argv[1:] not in ([], ["--sets"], ["--needs"]):
        raise SystemExit(__doc__)
    if "--needs" in sys.argv:
        print(*needs())
        return
    passed, failed = 0, []
    for program in tree.selected(tree.programs(), "PROGRAM"):
        p, f = verify_program(program, "--sets" in sys.argv)
        passed += p
        failed += f
    for line in failed:
        print("FAIL", line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
