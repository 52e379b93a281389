"""runs.py - runs programs and checkers, and names the devices of this machine.

The tools know a program only by its interface: the binary takes the arguments of a query
and out=FILE, and prints Time_init=, Time_run= and Time_kernel=; BUILD/PROGRAM-check takes
the same arguments and prints share=, worst= and verdict=. Whether the values that a
program prints are right, tools/verify/execute.py decides.
"""
from __future__ import annotations

import atexit
import contextlib
import hashlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.base.tree import BACKENDS, Program, build, has_gpu

Argument = str | Path
Environment = Mapping[str, str]
TIMEOUT = 600  # seconds per run: on a busy machine, too, only a run that hangs takes longer

# ---- running and checking ---------------------------------------------------------


@dataclass
class Result:
    """How a command ended."""
    status: int | None  # None: it was stopped because its time was up
    out: str
    err: str
    seconds: float = 0  # elapsed, measured by this process

    def failure(self) -> str | None:
        """One line on what went wrong; None if nothing did."""
        if self.status is None:
            return "hangs: " + self.err
        number = -self.status if self.status < 0 else self.status - 128  # a shell's
        if number in set(signal.Signals):
            return "crashes: " + signal.Signals(number).name
        if self.status:
            lines = self.err.strip().splitlines()
            return "refuses: " + (lines[-1] if lines else f"exit status {self.status}")
        return None

    def values(self) -> dict[str, str]:
        """What it printed as key=value lines."""
        lines = (line.partition("=") for line in self.out.splitlines())
        return {key: value for key, equals, value in lines if equals}


def mark() -> str:
    """The name of a new variable; processes that inherit it can be ended by end_marked()."""
    return f"RUN_{os.getpid()}_{time.monotonic_ns()}"


def end_marked(name: str) -> None:
    """Kills all processes that have a variable. To kill a process group is not enough: mpirun
    gives each rank a group of its own, and a test its commands."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"\0{name}=".encode() in b"\0" + path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)


def run(command: Iterable[Argument], timeout: float = TIMEOUT, env: Environment | None = None,
        folder: Path | None = None) -> Result:
    """Runs a command in a process group of its own, which is killed at the end; in a folder,
    if one is given. If the time is up, all that the command has started is killed."""
    command = [str(c) for c in command]
    if not Path(command[0]).exists():
        return Result(127, "", f"{command[0]}: not built")
    start, name = time.monotonic(), mark()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, **(env or {}), name: "1"}, cwd=folder,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
            return Result(process.returncode, out, err, time.monotonic() - start)
        except subprocess.TimeoutExpired:
            end_marked(name)
            return Result(None, "", f"stopped after {timeout} s")
        finally:
            with contextlib.suppress(ProcessLookupError):  # also if its leader has ended
                os.killpg(process.pid, signal.SIGKILL)


def processors() -> int:
    """The number of processors that this process may use: taskset, Slurm or a container may
    permit fewer than the machine has."""
    return len(os.sched_getaffinity(0))


def whole_number(variable: str, default: int, least: int = 1, most: int = 4096,
                 values: Environment = os.environ) -> int:
    """The value of a variable, or the default if it is not set; of a list, its first item."""
    text = values.get(variable, "")
    first = text.split(",")[0].strip()
    if text and not (first.isdecimal() and least <= int(first) <= most):
        raise SystemExit(f"{variable}={text}: expected a whole number from {least} to {most}")
    return int(first) if text else default


def ranks() -> int:
    """The number of ranks of an MPI back-end: RANKS, or 2."""
    return whole_number("RANKS", 2)


@cache
def temporary_folder() -> Path:
    """A folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="history-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def own_folder(name: str) -> Path:
    """The folder BUILD/NAME/PROCESS of this process, so that processes that run at the same
    time do not overwrite each other's files. It is removed when this process ends, as are
    those that processes which have been killed have left."""
    place = build() / name
    writable(place)
    for old in place.iterdir():
        if old.name.isdecimal() and not Path("/proc", old.name).exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = place / str(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def writable(folder: Path) -> None:
    """Creates a folder, or ends this process with a message if files cannot be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise SystemExit(f"{folder}: cannot be written: {reason}: expected a folder of this "
                         f"user (set BUILD=)")


def mpi_folder() -> dict[str, str]:
    """The variable that gives a run a folder of its own for the files of Open MPI 4. A run
    that ends removes the folder that all share, if it is empty, and one that starts at this
    moment fails (issue 8510 of open-mpi/ompi)."""
    return {"OMPI_MCA_orte_tmpdir_base": tempfile.mkdtemp(dir=temporary_folder())}


def launch(binary: Argument, backend: str, env: Environment | None = None
           ) -> tuple[list[Argument], dict[str, str]]:
    """(the command that starts a binary, the variables that it needs): mpirun for ranks of
    MPI, as many as env or the environment says, which share the cores; else the binary
    itself. The variables permit root and more ranks than cores, and suppress messages.
    Ranks that wait for messages yield; if the threads of all ranks are more than the cores,
    threads that wait sleep, unless OMP_WAIT_POLICY is set."""
    env = dict(env or {})
    if backend not in BACKENDS or not BACKENDS[backend].launch:
        return [binary], env
    number = whole_number("RANKS", ranks(), values=env)
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
           "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_execute_quiet": "1",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
           # Open MPI 5 has these names for the first two.
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
           "PRTE_MCA_hwloc_default_binding_policy": "none",
           **mpi_folder(),
           "OMP_NUM_THREADS": str(max(1, processors() // number)), **env}
    if number * int(env["OMP_NUM_THREADS"].split(",")[0]) > processors():
        env.setdefault("OMP_WAIT_POLICY", os.environ.get("OMP_WAIT_POLICY", "passive"))
    return [shutil.which("mpirun") or "mpirun", "-n", str(number), binary], env


def bound(backend: str, env: Environment | None = None) -> dict[str, str]:
    """env with the variable that binds a back-end's threads to cores, as the environment
    sets it if it does."""
    found = dict(env or {})
    if bind := BACKENDS[backend].bind:
        found.setdefault(bind[0], os.environ.get(*bind))
    return found


def key(*parts: Argument) -> str:
    """A digest of texts and, for paths, of the contents of files and of all files in folders.
    The name of a path does not count."""
    mark = hashlib.sha256()

    def add(kind: str, name: str, data: bytes) -> None:
        mark.update(f"{kind} {len(name)} {len(data)}\n{name}".encode() + data)

    for part in parts:
        if isinstance(part, str):
            add("text", "", part.encode())
        elif part.is_dir():
            for path in sorted(p for p in part.rglob("*") if p.is_file()):
                add("in a folder", str(path.relative_to(part)), path.read_bytes())
            add("folder", "", b"")
        else:
            add("file", "", part.read_bytes())
    return mark.hexdigest()


def inputs(arguments: Iterable[str]) -> list[Path]:
    """The files that a query names."""
    paths = (Path(argument.partition("=")[2] or argument) for argument in arguments)
    return [p for p in paths if p.is_file()]


def query_key(arguments: Iterable[str], *others: Argument) -> str:
    """A digest of a query, of its files, wherever they are, and of others."""
    parts: list[Argument] = []
    for argument in arguments:
        path = Path(argument.partition("=")[2] or argument)
        parts += [argument.replace(str(path), path.name), path] if path.is_file() else [argument]
    return key(*parts, *others)


def oracle_path(checker: Path, program: Program, name: str, arguments: Sequence[str],
                method: Sequence[str] = ()) -> Path:
    """Where the oracle's result of a query is kept. The name depends on the query, its
    files, the checker and its arguments, so that no outdated result is read."""
    folder = build() / "oracle" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{query_key(arguments, *method, checker)[:16]}.npy"


def check(program: Program, arguments: Sequence[str], files: Mapping[str, Path], name: str,
          method: Sequence[str], timeout: float = TIMEOUT, checker: Path | None = None
          ) -> dict[str, Any]:
    """Runs the checker on files, {key of the binary: path}, of a step that has these
    check_arguments(). Returns a dict with ok, share (of the error budget, in percent; None if
    it was not determined), vacuous (percent of the values, which no result could violate),
    rms (of the error of an image, relative to its peak; empty for other results) and reason,
    one line."""
    checker = checker or program.checker()
    command = [str(checker), *arguments, *method,
               f"oracle={oracle_path(checker, program, name, arguments, method)}"]
    command += [f"{o.check}={files[o.key]}" for o in program.outputs if o.key in files]
    truths = (Path(f"{p}.truth") for p in inputs(arguments))
    command += [f"truth={p}" for p in truths if p.exists()]
    result = run(command, timeout)
    values = result.values()
    share, vacuous = (number(values.get(name, "")) for name in ("share", "vacuous"))
    accepted = result.status == 0, values.get("verdict", "") == "ok"
    ok = all(accepted) and 0 <= share <= 100 and 0 <= vacuous <= 100
    without_reason = f"{checker.name} {result.failure() or 'prints no reason'}"
    if not ok and (any(accepted) or 0 <= share < 99):  # a share just above 100 is rounded
        values["worst"] = f"{checker.name} contradicts itself: exit status {result.status}, " \
            f"verdict={values.get('verdict')}, share={values.get('share')}"
    return {"ok": ok, "share": share if "share" in values else None,
            "vacuous": vacuous if "vacuous" in values else 0.0,
            "rms": values.get("image_rms", ""), "reason": values.get("worst", without_reason)}


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# ---- devices ---------------------------------------------------------------------


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine


def processor_has(flag: str) -> bool:
    """Whether /proc/cpuinfo lists a flag, such as avx2."""
    return re.search(rf"^flags\s.*\b{flag}\b", Path("/proc/cpuinfo").read_text(), re.M) is not None


def opencl_chosen() -> str:
    """The line of `make devices` about the device that DEVICE selects, by the rules of
    common/opencl: kind, platform, name .."""
    listed = run([build() / "devices"], 60).out.splitlines()
    devices = [line.removeprefix("DEVICE=").split(maxsplit=1) for line in listed
               if line.startswith("DEVICE=")]
    wanted = os.environ.get("DEVICE", "")
    for index, text in devices:
        if wanted == index:
            return text
    kind = {"gpu": "GPU", "cpu": "CPU"}.get(wanted, "GPU")
    texts = [text for _, text in devices]
    return ([t for t in texts if t.startswith(kind)] or texts or ["?, ?, none"])[0]


def opencl_device() -> str:
    """The name of the OpenCL device."""
    return opencl_chosen().split(", ")[2]


def opencl_on_cpu() -> bool:
    """Whether the OpenCL device consists of the host's cores."""
    return opencl_chosen().startswith("CPU")


def on_gpu(backend: str) -> bool:
    """Whether a back-end, or the device's side of it, computes on a GPU."""
    about = BACKENDS[backend]
    device = BACKENDS[about.sides[1]].device if about.sides else about.device
    return device == "gpu" or (device == "opencl" and not opencl_on_cpu()) or \
        (device == "acc" and openacc_on_gpu())


def gpu_name() -> str:
    listed = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                            capture_output=True, text=True)
    return listed.stdout.strip().splitlines()[0]


def compiler() -> str:
    """The C compiler of what is built."""
    return (build() / "flags").read_text().split()[0]


def flags(program: Program, folder: Path | None = None) -> list[str]:
    """The C compiler and the flags with which a program's CPU code was built in a folder:
    in BUILD unless given."""
    stamp = (folder or build()) / "common" / program.name / "flags"
    return stamp.read_text().splitlines()[0].split()


def openacc_on_gpu() -> bool:
    """Whether gcc's OpenACC code runs on a GPU: there is one, this gcc generates code for
    it, and ACC_DEVICE_TYPE permits it. Otherwise one thread of the host runs it."""
    if not has_gpu() or os.environ.get("ACC_DEVICE_TYPE", "").lower() in ("host", "none"):
        return False
    about = subprocess.run([compiler(), "-v", "-E", "-x", "c", "/dev/null"],
                           capture_output=True, text=True).stderr
    if not re.search(r"^OFFLOAD_TARGET_NAMES=.*nvptx", about, re.M):
        return False
    found = re.search(r"^COMPILER_PATH=(.*)", about, re.M)
    return any(Path(folder, "accel/nvptx-none/mkoffload").exists()
               for folder in (found[1].split(":") if found else []))


def threads(backend: str) -> int:
    """The number of the host's threads that a back-end uses."""
    about = BACKENDS[backend]
    if about.threads:
        return about.threads
    if about.launch:
        return int(launch("", backend, os.environ)[1]["OMP_NUM_THREADS"])
    return whole_number("OMP_NUM_THREADS", processors())


def device(backend: str) -> str:
    """What a back-end runs on, as the results name it."""
    about = BACKENDS[backend]
    names = {"core": lambda: "1 core", "threads": lambda: f"{threads(backend)} threads",
             "cpu": cpu_name, "opencl": opencl_device, "gpu": gpu_name,
             "acc": lambda: gpu_name() if openacc_on_gpu() else "host, 1 thread"}
    if about.sides:
        return f"host and {device(about.sides[1])}"
    if about.launch:
        other = about.device != "threads"
        return f"{ranks()} ranks of {threads(backend)}" + \
            (f", {names[about.device]()}" if other else " threads")
    return names[about.device]()


# ---- output -----------------------------------------------------------------------


def progress(text: str) -> None:
    """Shows a line that the next one overwrites, on a terminal only; "" removes it."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width] + "\033[K")
        sys.stderr.flush()


def stage(text: str) -> None:
    """Shows how far a long task is: like progress() on a terminal, otherwise as a line."""
    if sys.stderr.isatty():
        progress(text)
    elif text:
        print(text, file=sys.stderr, flush=True)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
                     for row in rows)
