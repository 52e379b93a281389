"""sandbox.py - where an attempt is compiled and run, and what happens to its files.

In bubblewrap an attempt sees the folders of the system and the files that it is given, which
it can read, and the folders that it is given, which it can write. The tree, the checker, the
reference solution, other attempts, the network and the caller's environment are not there.
It has a /tmp and processes of its own, which end with it.

Limits of each process: CPU time, address space, size of a file, number of threads, no core
file. Limits of all together, which a thread of the grader enforces: number of processes,
memory, bytes written. GRADE_READS= names folders besides SYSTEM that programs need on this
machine, for example those of environment modules. BWRAP= names another bubblewrap.

Left out: errors of the kernel.
"""
from __future__ import annotations

import contextlib
import ctypes
import glob
import hashlib
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tools.base import tree
from tools.base.runs import Argument

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/sys",
          "/etc/alternatives", "/etc/ld.so.cache", "/etc/OpenCL", "/etc/openmpi",
          "/etc/passwd")
DEVICES = ("/dev/nvidia*", "/dev/dri", "/dev/kfd")
# Variables of the environment that an attempt sees: they find programs, and configure OpenMP,
# MPI, OpenCL and CUDA.
ENVIRONMENT = re.compile(r"PATH|LANG|LC_ALL|LD_LIBRARY_PATH|DEVICE|DEVICE_AS|RANKS|"
                         r"CUDA_VISIBLE_DEVICES|OCL_ICD_VENDORS|(OMP|OMPI|POCL)_\w+")
BUILD_ENVIRONMENT = ("CC", "OPT", "ARCH", "EXTRA", "NVCC", "CUDA_ARCH")  # see config.mk

MIB = 1 << 20
TAKEN_BYTES, TAKEN_FILES = 16 * MIB, 500  # limits for the folder of an attempt
FILE_BYTES = 256 * MIB  # for one file that it writes
WRITTEN_BYTES = 1024 * MIB  # for all files
PROCESSES = 256
THREADS = 8192  # as RLIMIT_NPROC counts them: all threads of the user


def group_limit(groups: Argument = "/proc/self/cgroup", mount: Argument = "/sys/fs/cgroup"
                ) -> float:
    """Bytes of memory that the control groups of this process permit, those of their parents
    included, for versions 1 and 2: as cgroup_limit() in common/run."""
    limits = [math.inf]
    with contextlib.suppress(OSError):
        for line in Path(groups).read_text().splitlines():
            _, controllers, group = (line + "::").split(":")[:3]
            if controllers and "memory" not in controllers.split(","):
                continue
            folder, name = (Path(mount, "memory"), "memory.limit_in_bytes") if controllers \
                else (Path(mount), "memory.max")
            for place in (Path(group), *Path(group).parents):
                with contextlib.suppress(OSError, ValueError):  # there is none, or "max"
                    limits.append(int((folder / str(place).lstrip("/") / name).read_text()))
    return min(limits)


MEMORY = int(min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), group_limit())) // 2

# Runs a command in the folder $1, with its output in files in $2 of which the last 64 KiB
# are passed on.
OUTPUT = """
log=$2
cd "$1" || exit
shift 2
"$@" >"$log/stdout" 2>"$log/stderr"
status=$?
head -c 65536 "$log/stdout"
tail -c 65536 "$log/stderr" >&2
exit $status
"""


# ---- building and running ---------------------------------------------------------


def bubblewrap(reads: Iterable[Argument] = (), writes: Iterable[Argument] = ()) -> list[str]:
    """The command that runs another one in bubblewrap."""
    program = os.environ.get("BWRAP") or "bwrap"
    words: list[str] = [shutil.which(program) or program, "--unshare-all",
                        "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc",
                        "/proc", "--dev", "/dev", "--size", str(WRITTEN_BYTES), "--tmpfs", "/tmp"]
    for path in (*SYSTEM, *os.environ.get("GRADE_READS", "").split()):
        words += ["--symlink", os.readlink(path), path] if os.path.islink(path) else \
            ["--ro-bind-try", path, path]
    for pattern in DEVICES:
        for path in glob.glob(pattern):
            words += ["--dev-bind", path, path]
    words += ["--tmpfs", str(tree.ROOT)]  # the tree may lie below a folder of SYSTEM
    for option, paths in (("--ro-bind", reads), ("--bind", writes)):
        for given in paths:
            words += [option, str(given), str(given)]
    return words


@cache
def available() -> bool:
    """Whether bubblewrap is installed and permitted here."""
    if not shutil.which(os.environ.get("BWRAP") or "bwrap"):
        return False
    return subprocess.run([*bubblewrap(), "/bin/true"], capture_output=True).returncode == 0


def require() -> None:
    """Ends the program if there is no sandbox, unless ALLOW_UNSANDBOXED=1 permits that."""
    if available():
        return
    if os.environ.get("ALLOW_UNSANDBOXED") != "1":
        raise SystemExit("make grade: no sandbox (bubblewrap is missing or not permitted): "
                         "install bubblewrap, or set ALLOW_UNSANDBOXED=1 to run the attempt "
                         "with your permissions")
    print("WARNING: no sandbox (bubblewrap is missing or not permitted); the attempt runs "
          "with your permissions", flush=True)


def command(folder: Path, reads: Iterable[Argument] = (), writes: Iterable[Argument] = (),
            env: Mapping[str, str] | None = None, log: Path | None = None,
            memory: int | None = None, cpu: float = 600) -> list[str]:
    """What comes before a command that runs in folder, with limits, and in bubblewrap if
    that is available. `log` is a writable folder for its output: `folder` unless given;
    `memory` is the limit of its address space, `cpu` the seconds of CPU time of a process."""
    log = log or folder
    shown = {k: v for k, v in os.environ.items() if ENVIRONMENT.fullmatch(k)}
    shown |= {"HOME": "/tmp", "TMPDIR": "/tmp" if available() else str(log), **(env or {})}
    limits = {"core": 0, "fsize": FILE_BYTES, "nproc": THREADS, "cpu": int(cpu) + 1,
              "as": memory or "unlimited"}
    return [*(bubblewrap(reads, [log, *writes]) if available() else []),
            "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in shown.items()),
            "/usr/bin/prlimit", *(f"--{k}={v}" for k, v in limits.items()),
            "/bin/sh", "-c", OUTPUT, "sandbox", str(folder), str(log)]


# ---- processes ---------------------------------------------------------------------


def adopt() -> None:
    """From now on, the processes that an attempt leaves behind become children of this."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """{process: its parent} of all processes."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            text = Path(path).read_text(errors="replace")
            found[int(path.split("/")[2])] = int(text.rpartition(")")[2].split()[1])
    return found


def children() -> list[int]:
    return [pid for pid, parent in parents().items() if parent == os.getpid()]


def descendants() -> list[int]:
    """All processes below this one."""
    below: list[int] = []
    new = {os.getpid()}
    table = parents()
    while new:
        new = {pid for pid, parent in table.items() if parent in new}
        below += new
    return below


def reap() -> None:
    """Kills all children, and those that become children by that, until there are none."""
    while left := children():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def first_number(path: str, pattern: str) -> int:
    found = re.search(pattern, Path(path).read_text())
    return int(found[1]) if found else 0


class Watch(threading.Thread):
    """Kills what runs below this process if it exceeds a limit of all its processes; then
    `reason` says which. Looks at the whole system first, which is cheap enough to do while
    time is measured: the number of tasks in /proc/loadavg, the free memory."""

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(daemon=True)
        self.folders, self.reason = folders, ""
        self.ended = threading.Event()
        self.tasks, self.free = self.system()

    @staticmethod
    def system() -> tuple[int, int]:
        """(number of tasks, bytes of available memory) of the system."""
        return (first_number("/proc/loadavg", r"/(\d+)"),
                1024 * first_number("/proc/meminfo", r"MemAvailable: *(\d+)"))

    def exceeded(self, number: int) -> str:
        tasks, free = self.system()
        if tasks - self.tasks > PROCESSES and len(descendants()) > PROCESSES:
            return f"more than {PROCESSES} processes"
        if self.free - free > MEMORY // 2:
            pages = sum(resident(pid) for pid in descendants())
            if pages * os.sysconf("SC_PAGE_SIZE") > MEMORY:
                return f"more than {MEMORY // MIB} MiB of memory"
        if number % 25 == 0 and written(self.folders) > WRITTEN_BYTES:
            return f"more than {WRITTEN_BYTES // MIB} MiB written"
        return ""

    def run(self) -> None:
        number = 0
        while not self.ended.wait(0.01):
            number += 1
            self.reason = self.reason or self.exceeded(number)
            if self.reason:
                for pid in children() if available() else descendants():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def resident(pid: int) -> int:
    """Pages of memory of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def written(folders: Sequence[Path]) -> int:
    """Bytes in all files of folders."""
    total = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(place, name)).st_size
    return total


# ---- what an attempt consists of, and leaves ----------------------------------------


class Refused(Exception):
    """A file of an attempt that is not taken: the message says why."""


def empty(folder: Path) -> None:
    """Makes an empty folder, whatever an attempt has done to the one that was there."""
    for place, folders, _ in os.walk(folder):
        for path in [place, *(os.path.join(place, name) for name in folders)]:
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def read_file(name: str, folder: int | None, limit: int, shown: str) -> bytes:
    """The content of a regular file with one name, of at most limit bytes. All checks are of
    the open file, so that it cannot be exchanged between a check and reading."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise Refused(f"{shown}: not a regular file ({error.strerror}): expected one "
                      f"without links") from None
    with open(file, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise Refused(f"{shown}: not a regular file: expected one without links")
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise Refused(f"more than {limit >> 20} MiB")
    return data


def read_folder(source: Path) -> dict[Path, bytes]:
    """{path below source: content} of all files."""
    found: dict[Path, bytes] = {}
    left = TAKEN_BYTES
    for place, folders, names, handle in os.fwalk(source, follow_symlinks=False):
        below = Path(place).relative_to(source)
        for name in folders:
            if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                raise Refused(f"{below / name}: a symbolic link: expected a folder")
        for name in names:
            if len(found) >= TAKEN_FILES:
                raise Refused(f"more than {TAKEN_FILES} files")
            found[below / name] = read_file(name, handle, left, str(below / name))
            left -= len(found[below / name])
    return found


def take(source: Path, target: Path, plain_names: bool = False) -> str | None:
    """Copies a folder of an attempt to target, which it replaces. None, or why it is refused,
    one line. With plain_names, names may contain nothing that make interprets: it lists the
    headers of a folder, and a name such as `$(shell ..).h` would be expanded."""
    try:
        found = read_folder(source)
        for path in found if plain_names else ():
            if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*", str(path), re.ASCII):
                raise Refused(f"{path}: invalid file name: expected letters, digits and _ . "
                              f"+ -")
    except Refused as refused:
        return str(refused)
    except OSError as error:
        return f"{source.name}: cannot be read: {error.strerror}"
    empty(target)
    for path, data in found.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    return None


def take_outputs(files: Mapping[str, Path], target: Path) -> dict[str, Path]:
    """Copies the outputs of a run to a folder that no attempt can reach."""
    empty(target)
    copied = {key: target / path.name for key, path in files.items() if path.exists()}
    for key, path in copied.items():
        path.write_bytes(read_file(str(files[key]), None, FILE_BYTES, path.name))
    return copied


# ---- text --------------------------------------------------------------------------


def escaped(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode()
                   for c in text)


def plain(text: str) -> str:
    """A text of an attempt in one line, without control characters."""
    return escaped(text)[:400]


def hashes(folders: Iterable[Path]) -> dict[Path, str]:
    """{path: SHA-256} of all files below folders."""
    return {p: hashlib.sha256(p.read_bytes()).hexdigest()
            for folder in folders for p in sorted(folder.rglob("*")) if p.is_file()}
