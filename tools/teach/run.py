"""run.py - make run: every step and back-end on the sets of a program, each verified.

    STEP= PROGRAM= BACKEND= SET= choose, as make's; ARGS= are words for the query, which
    replace those of the set that have the same key: ARGS='in=my.su t0=1.2 local=8,2,2'

One run each, so the times are a first look: make bench measures. The speedup is that of
the execution over step 00 on the same set, where 00 is among what is run. Exits with 0
only if every result is verified.
"""
import os
import shlex
import shutil
import sys
from tools.history import runs, tree


TIMEOUT = 600  # seconds a run or a check may take


def replaced(words, args):
    """The words of a set, those of args in place of the ones with the same key."""
    keys = {a.partition("=")[0] for a in args}
    return [w for w in words if w.partition("=")[0] not in keys] + args


def todo_of(program):
    """(set, step, back-end) of everything to run, in order. cuda-cpu is for checking
    small data, and runs here only when it is asked for."""
    wanted_sets = os.environ.get("SET", "").split()
    wanted_backends = os.environ.get("BACKEND", "").split()
    for name in program.sets:
        if wanted_sets and name not in wanted_sets:
            continue
        for step in tree.selected(tree.steps(), "STEP"):
            for backend in step.available(program):
                if backend in wanted_backends or not wanted_backends and backend != "cuda-cpu":
                    yield name, step, backend


def run_program(program, rows):
    """Runs and verifies all of a program; returns how many failed."""
    todo = list(todo_of(program))
    args = shlex.split(os.environ.get("ARGS", ""))
    folder = tree.build() / "run" / program.name
    shutil.rmtree(folder, ignore_errors=True)
    baseline, failed = {}, 0

    print(f"{program.name}: {program.title}; CPU: {runs.cpu_name()}")
    header = ["set", "step", "back-end", "device", "init s", "run s", "speedup",
              "budget used", "verdict"]
    form = "{:4} {:15} {:9} {:34.34} {:>7} {:>8} {:>8} {:>12}  {}"
    print(form.format(*header))
    for i, (name, step, backend) in enumerate(todo, 1):
        runs.progress(f"[{i}/{len(todo)}] set {name}, {step.name} {backend} ...")
        words = replaced(program.sets[name], args)
        got = runs.run_and_check(step, program, backend, words,
                                 folder / f"{name}-{step.name}-{backend}",
                                 f"set{name}", timeout=TIMEOUT)
        times = got["times"]
        speedup = ""
        if times and step.number == "00":
            baseline[name] = times["run"]
        if times and name in baseline:
            speedup = f"{baseline[name] / times['run']:.2f}"
        runs.progress("")
        print(form.format(name, step.name, backend, runs.device(backend),
                          f"{times['init']:.3f}" if times else "",
                          f"{times['run']:.3f}" if times else "", speedup,
                          "" if got["share"] is None else f"{got['share']:.2f} %",
                          "verified" if got["ok"] else f"FAIL {got['reason']}"),
              flush=True)
        failed += not got["ok"]
        rows += 1
    return rows, failed


def main():
    rows, failed = 0, 0
    for program in tree.selected(tree.programs(), "PROGRAM"):
        rows, bad = run_program(program, rows)
        failed += bad
    if not rows:
        raise SystemExit("nothing to run: is it built, and is there such a SET, BACKEND?")
    print(f"{rows - failed} verified, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
