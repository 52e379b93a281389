"""ceilings.py - make ceilings: what this machine can do at most, and how near a run came.

Runs BUILD/ceilings with each number of threads (1, 2, 4 .. all), and BUILD/ceilings-cuda
where there is a GPU, and BUILD/pingpong, what a message between two ranks costs, where
there is MPI; writes results/MACHINE-ceilings.csv. Rates are the best of several, and so is
a latency: others who use the machine make them worse, never better.

roofline() puts a measured time beside them. What a step does is declared in its step.mk,
in units that BUILD/PROGRAM-count counts for a query, without the running:

    flops.semblance    = 15 visits + 2 used + 6 samples
    bytes.semblance.l1 = 8 visits + 4 used + 4 samples

flops are single-precision operations as the source writes them, a square root and a
division being one each; bytes.PROGRAM.LEVEL is the least that any build of this source
must take from that level of memory (l1, l2, l3, dram). The ceiling is the smallest of
the arithmetic rate and, for each level declared, its bandwidth times flops per byte. It
is an upper bound: a run above it is not fast but SUSPICIOUS, wrongly timed, wrongly
counted, or on a machine whose ceilings were disturbed.
"""
import csv
import hashlib
import os
import re
from functools import lru_cache

from tools.history import results, runs, tree
from tools.measure import machine as here

COLUMNS = ["machine", "device", "threads", "ceiling", "value", "unit"]
ROUNDS = 2
LEVELS = ("l1", "l2", "l3", "dram")
RANKS = "2 ranks"  # the device of what pingpong measures


# ---- measuring ---------------------------------------------------------------------


def path_of(machine):
    return results.FOLDER / f"{machine}-ceilings.csv"


def thread_counts():
    """1, 2, 4 .. and all."""
    cores = os.cpu_count()
    return sorted({2 ** n for n in range(cores.bit_length())} | {cores})


def measured(tool, *words):
    """What a tool says, as {ceiling: (value, unit)}."""
    backend = "mpi" if tool == "pingpong" else ""
    command, variables = runs.launch(tree.build() / tool, backend, {"RANKS": "2"})
    ended = runs.run([*command, *words], 300, variables)
    if ended.failure():
        raise SystemExit(f"{tool}: {ended.failure()}")
    return {name: (float(text.split()[0]), text.split()[1])
            for name, text in ended.values().items()}


def measured_here():
    """The rows of this machine."""
    rows = []
    best, messages = {threads: {} for threads in thread_counts()}, {}
    busy_before, own_before = here.busy(), here.own()
    for n in range(ROUNDS):
        for threads, known in best.items():
            runs.progress(f"round {n + 1} of {ROUNDS}: {threads} threads")
            for name, rate in measured("ceilings", f"threads={threads}").items():
                known[name] = max(known.get(name, rate), rate)
        if (tree.build() / "pingpong").exists():
            runs.progress(f"round {n + 1} of {ROUNDS}: {RANKS}")
            for name, cost in measured("pingpong").items():
                better = min if name == "latency" else max
                messages[name] = better(messages.get(name, cost), cost)
    runs.progress("")
    used = here.own() - own_before
    foreign = here.busy() - busy_before - used
    if foreign > here.FOREIGN * used:
        print("busy: other processes ran meanwhile, these may be too low")
    found = [(runs.cpu_name(), threads, known) for threads, known in best.items()]
    found.append((RANKS, "", messages))
    if tree.has_gpu() and (tree.build() / "ceilings-cuda").exists():
        found.append((runs.device("cuda"), "", measured("ceilings-cuda")))
    for device, threads, known in found:
        rows += [dict(zip(COLUMNS, (here.name(), device, threads, name, f"{value:.4g}", unit)))
                 for name, (value, unit) in known.items()]
    return rows


# ---- roofline ----------------------------------------------------------------------


@lru_cache(maxsize=None)
def ceilings(machine):
    """{(device, threads): {ceiling: value}} as measured; threads is "" on a GPU."""
    path, found = path_of(machine), {}
    if path.exists():
        with path.open(newline="") as f:
            for row in csv.DictReader(f):
                threads = int(row["threads"]) if row["threads"] else ""
                known = found.setdefault((row["device"], threads), {})
                known[row["ceiling"]] = float(row["value"])
    return found


def ceilings_of(machine, device, threads):
    """Those that hold for a device, as bench.py names it, with so many threads: those of
    the next larger number that was measured. None where there are none."""
    known = ceilings(machine)
    if (device, "") in known:
        return known[device, ""]
    counts = sorted(n for name, n in known if n != "" and (
        name in device or re.fullmatch(r"(host, )?\d+ (core|threads?)", device)))
    enough = [n for n in counts if n >= int(threads)]
    if not enough:
        return None
    return next(v for (_, n), v in known.items() if n == enough[0])


@lru_cache(maxsize=None)
def work(program, name):
    """What is counted for a set."""
    return count(program, program.sets[name])


def count(program, words):
    """What BUILD/PROGRAM-count counts for a query, {unit: number}; None where the program
    has no such tool. Kept in BUILD/count until the tool or the query changes."""
    tool = tree.build() / f"{program.name}-count"
    if not tool.exists():
        return None
    mark = hashlib.sha256("\0".join(words).encode())
    for path in [tool, *runs.inputs(words)]:
        mark.update(path.read_bytes())
    kept = tree.build() / "count" / program.name / f"{mark.hexdigest()[:16]}.txt"
    if not kept.exists():
        ended = runs.run([tool, *words], 600)
        if ended.failure():
            raise SystemExit(f"{tool.name}: {ended.failure()}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(ended.out)
    lines = (line.partition("=") for line in kept.read_text().splitlines())
    return {unit: float(number) for unit, _, number in lines}


def total(text, counted, where):
    """"15 visits + 6 samples" as a number, given how many of each there are."""
    result = 0.0
    for term in text.split("+"):
        number, _, unit = term.strip().partition(" ")
        if unit not in counted:
            raise SystemExit(f"{where}: {term.strip()}: expected a number and one of "
                             f"{', '.join(counted)}")
        result += float(number) * counted[unit]
    return result


def roofline(program, step, name, seconds, threads, device, machine=None):
    """How near a run of set name came to what the machine can do: a dict of gflops
    (reached, 1e9 a second), ceiling_name, ceiling (the same unit), share (of it) and
    suspicious. None where nothing is declared, counted or measured."""
    declared = step.mk.get(f"flops.{program.name}")
    known = ceilings_of(machine or here.name(), device, threads)
    counted = work(program, name) if declared and known else None
    if not counted:
        return None
    where = f"{step.folder}/step.mk"
    flops = total(declared, counted, where)
    limits = {"fma": known["fma"]}
    for level in LEVELS:
        text = step.mk.get(f"bytes.{program.name}.{level}")
        if text and level in known:
            limits[level] = known[level] * flops / total(text, counted, where)
    nearest = min(limits, key=limits.get)
    gflops = flops / seconds * 1e-9
    return {"gflops": gflops, "ceiling_name": nearest, "ceiling": limits[nearest],
            "share": gflops / limits[nearest], "suspicious": gflops > limits[nearest]}


def main():
    rows = measured_here()
    path = path_of(here.name())
    results.write(path, COLUMNS, rows)
    print(runs.table([COLUMNS[1:]] + [[str(r[c]) for c in COLUMNS[1:]] for r in rows]))
    print(f"written to {path.relative_to(tree.ROOT)}")


if __name__ == "__main__":
    main()
