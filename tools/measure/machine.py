"""machine.py - the name of this machine, and how busy it is."""
from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from tools.base import runs, tree

FOREIGN = 0.10  # other processes disturb if they use more than this fraction of our CPU time


def generation() -> str:
    """Family and model of a CPU whose name, as in virtual machines, does not tell them."""
    found = dict(re.findall(r"^(cpu family|model)\s*:\s*(\d+)$",
                            Path("/proc/cpuinfo").read_text(), re.M))
    if re.search(r"\d", runs.cpu_name()) or len(found) < 2:
        return ""
    return f" family {int(found['cpu family']):X}h model {int(found['model']):02X}h"


def narrower() -> str:
    """The widest vectors of the build, AVX2 or SSE2, if the CPU has AVX-512 and the build does
    not use it (ARCH=-march=haswell)."""
    built = runs.build() / "flags"
    if not built.exists() or "avx512f" not in Path("/proc/cpuinfo").read_text():
        return ""
    # config.mk: with the default flags, the steps with vectors are compiled for this machine.
    compiler, *flags = built.read_text().replace("-march=x86-64-v3", "-march=native").split()
    defined = subprocess.run([compiler, *(f for f in flags if f.startswith("-m")), "-dM", "-E",
                              "-x", "c", "/dev/null"], capture_output=True, text=True).stdout
    return "" if "__AVX512F__" in defined else " AVX2" if "__AVX2__" in defined else " SSE2"


def name() -> str:
    """The name of the results file: the GPU, or the CPU if there is none. A build without the
    CPU's AVX-512 has a file of its own."""
    device = runs.gpu_name() if tree.has_gpu() else \
        f"{runs.cpu_name()}{generation()} {runs.processors()} cores{narrower()}"
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


class Load:
    """How busy other processes keep this machine, from now on."""

    def __init__(self) -> None:
        self.busy, self.own = busy(), own() + time.process_time()

    def foreign(self) -> float:
        """The fraction of the CPU time used that was not used by this process and its
        children that have ended."""
        used, mine = busy() - self.busy, own() + time.process_time() - self.own
        return max(0.0, 1 - mine / used) if used else 0.0


def warn_if_busy(consequence: str) -> None:
    """Observes the machine for a second, and says if others use more than FOREIGN of it."""
    before = busy()
    time.sleep(1)
    used = (busy() - before) / len(re.findall(r"(?m)^cpu\d", Path("/proc/stat").read_text()))
    if used > FOREIGN:
        print(f"WARNING: other processes use {100 * min(used, 1):.0f} % of this machine: "
              f"{consequence}", file=sys.stderr, flush=True)
