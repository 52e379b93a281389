"""machine.py - the name of this machine, and how busy it is."""
from __future__ import annotations

import os
import re
import resource
from pathlib import Path

from tools.history import runs, tree

FOREIGN = 0.10  # other processes disturb if they use more than this fraction of our CPU time


def generation() -> str:
    """Family and model of a CPU whose name, as in virtual machines, does not tell them."""
    found = dict(re.findall(r"^(cpu family|model)\s*:\s*(\d+)$",
                            Path("/proc/cpuinfo").read_text(), re.M))
    if re.search(r"\d", runs.cpu_name()) or len(found) < 2:
        return ""
    return f" family {int(found['cpu family']):X}h model {int(found['model']):02X}h"


def name() -> str:
    """The name of the results file: the GPU, or the CPU if there is none."""
    device = runs.gpu_name() if tree.has_gpu() else \
        f"{runs.cpu_name()}{generation()} {runs.processors()} cores"
    return re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-")


def busy() -> float:
    """CPU seconds that all processes of this machine have used."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own() -> float:
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
