"""measure.py - what all that measures has in common: whose machine this is, how busy it is,
the middle of many numbers, a table in a file.
"""
import csv
import os
import re
import resource
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "verify"))
import run as runner  # noqa: E402  (bench/run.py: names of devices)
import tree  # noqa: E402

RESULTS = tree.ROOT / "results"
FOREIGN = 0.10  # of the CPU time in use: more than that, and others disturb


def machine():
    """What the results file is called: the CPU, or the GPU where there is one."""
    name = runner.device("cuda") if tree.has_gpu() else runner.cpu_name()
    cores = "" if tree.has_gpu() else f"-{os.cpu_count()}-cores"
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") + cores


def busy():
    """CPU seconds that this machine has spent working, for us or anybody."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own():
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return q1, median, q3


def write_csv(path, columns, rows, comment=""):
    """A table as a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="", encoding="utf-8") as f:
        f.write(comment)
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(path)
