"""measure.py - what all that measures has in common: whose machine this is, how busy it is,
the middle of many numbers, a table in a file.
"""
import os
import re
import resource
from pathlib import Path

from tools.history import runs, tree

FOREIGN = 0.10  # of the CPU time in use: more than that, and others disturb


def generation():
    """Family and model of the CPU where its name, as virtual machines give it, does not
    say which one it is."""
    found = dict(re.findall(r"^(cpu family|model)\s*:\s*(\d+)$",
                            Path("/proc/cpuinfo").read_text(), re.M))
    if re.search(r"\d", runs.cpu_name()) or len(found) < 2:
        return ""
    return f" family {int(found['cpu family']):X}h model {int(found['model']):02X}h"


def name():
    """What the results file is called: the CPU, or the GPU where there is one."""
    device = runs.device("cuda") if tree.has_gpu() else \
        f"{runs.cpu_name()}{generation()} {os.cpu_count()} cores"
    return re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-")


def busy():
    """CPU seconds that this machine has spent working, for us or anybody."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own():
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
