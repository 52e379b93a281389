"""run.py - make run: every step and back-end of a program, each verified.

    PROGRAM=    the main program unless set; all: all of them, on all their sets
    SET=        the set that is shown unless set; all: all that are not long
    STEP= BACKEND=  as make's; what is for checking (cuda-cpu), only if asked for
    ARGS=       words for the query, which replace those of the set that have the same
                key: ARGS='in=my.su t0=1.2 local=8,2,2'

One run each, so the times are a first look: make bench measures. The speedup is that of
the execution over the first step on the same set, where that is among what is run.
Exits with 0 only if every result is verified.
"""
import math
import os
import shlex
import shutil
import sys

from tools.history import runs, tree
from tools.verify import execute
from tools.publish import section

TIMEOUT = 600  # seconds a run or a check may take
DOUBLING, STAIR = 3, 28  # signs of a bar: for each doubling, and at most
FORM = "{:4} {:14} {:8} {:>8} {:>8} {:>8}  {:%d}  {}" % STAIR


def programs():
    """The main program, or those that PROGRAM= names."""
    if os.environ.get("PROGRAM"):
        return tree.selected(tree.programs(), "PROGRAM")
    return tree.programs()[:1]


def sets(program):
    """The names of the sets to run on."""
    wanted = os.environ.get("SET", "").split()
    if wanted == ["all"] or not wanted and os.environ.get("PROGRAM") == "all":
        return program.usual
    return [name for name in wanted or [program.shown] if name in program.sets]


def todo(program):
    """(set, step, back-end) of everything to run, in order."""
    wanted = os.environ.get("BACKEND", "").split()
    return [(name, step, backend) for name in sets(program)
            for step in tree.selected(tree.steps(), "STEP")
            for backend in step.available(program)
            if backend in wanted or not wanted and backend not in tree.FOR_CHECKING]


def devices(found):
    """What the back-ends run on, in a line: seq 1 core; omp 2 threads; ..."""
    backends = dict.fromkeys(backend for _, _, backend in found)
    return "; ".join(f"{b}: {runs.device(b)}" for b in backends)


def stair(speedup):
    """A bar whose steps are as high as the gains that they multiply."""
    return "#" * min(STAIR, 1 + round(DOUBLING * math.log2(speedup))) \
        if speedup >= 1 else "-" * bool(speedup)


def run_program(program, args):
    """Runs and verifies all of a program: {(set, step, back-end): outcome}."""
    found = todo(program)
    folder = tree.build() / "run" / program.name
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{program.name}: {program.title}\n{runs.cpu_name()}; {devices(found)}")
    print(FORM.format("set", "step", "back-end", "init s", "run s", "times 00", f"{'#' * DOUBLING}: twice as fast",
                      "verdict (share of the error budget)"))
    first, outcomes = {}, {}
    for n, (name, step, backend) in enumerate(found, 1):
        runs.progress(f"[{n}/{len(found)}] set {name}, {step.name} {backend} ...")
        got = execute.run_and_check(step, program, backend,
                                 runs.with_arguments(program.sets[name], args),
                                 folder / f"{name}-{step.name}-{backend}",
                                 f"set{name}", timeout=TIMEOUT,
                                 outputs=program.timed)
        outcomes[name, step, backend] = got
        times = got["times"]
        if times and not tree.before(step, program):
            first[name] = times["run"]
        got["speedup"] = first[name] / times["run"] if times and name in first else 0
        runs.progress("")
        share = "" if got["share"] is None else f" ({got['share']:.1f} %)"
        print(FORM.format(
            name, step.name, backend, *(f"{times[k]:.3f}" if times else ""
                                        for k in ("init", "run")),
            f"{got['speedup']:.2f}" if got["speedup"] else "",
            stair(got["speedup"]),
            f"verified{share}" if got["ok"] else f"FAIL {got['reason']}"), flush=True)
    return outcomes


def best(outcomes):
    """The fastest, in words."""
    fastest = max(outcomes, key=lambda key: outcomes[key]["speedup"], default=None)
    if not fastest or outcomes[fastest]["speedup"] <= 1:
        return ""
    name, step, backend = fastest
    return f"{step.name} {backend} is {outcomes[fastest]['speedup']:.1f} times as fast " \
           f"as the first step (set {name}, one run; make bench measures)\n"


def filled(program):
    """What a program of sections is for, in a line: a gap filled by the last OpenMP step
    that is built; "" where that is none."""
    if "section" not in program.mk:
        return ""
    try:
        return section.said(section.fill(program, "omp"), "omp") + "\n"
    except section.NotBuilt:
        return ""


def main():
    args, ran, failed = shlex.split(os.environ.get("ARGS", "")), 0, 0
    for program in programs():
        outcomes = run_program(program, args)
        print(best(outcomes) + filled(program), end="")
        ran += len(outcomes)
        failed += sum(not got["ok"] for got in outcomes.values())
    if not ran:
        raise SystemExit("nothing to run: is it built, and is there such a SET, BACKEND?")
    print(f"{ran - failed} verified, {failed} failed")
    if not failed:
        print("Next: make diff STEP=05 shows one step; steps/05_algebra/README.md tells "
              "why; make run PROGRAM=all runs everything")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
