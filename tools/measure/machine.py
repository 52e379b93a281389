"""measure.py - what all that measures has in common: whose machine this is, how busy it is,
the middle of many numbers, a table in a file.
"""
import os
import re
import resource
from pathlib import Path

from tools.history import runs, tree

FOREIGN = 0.10  # of the CPU time in use: more than that, and others disturb


def name():
    """What the results file is called: the CPU, or the GPU where there is one."""
    device = runs.device("cuda") if tree.has_gpu() else runs.cpu_name()
    cores = "" if tree.has_gpu() else f"-{os.cpu_count()}-cores"
    return re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-") + cores


def busy():
    """CPU seconds that this machine has spent working, for us or anybody."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own():
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
