"""jail.py - where an attempt is built and run, and what is done to it before and after.

With bubblewrap, where the machine has it and allows it: an attempt sees the system's
folders and the files it is given, to read, and the folders it is given, to write.
Everything else is not there: the tree, the checker, other attempts, the network. It has
a /tmp and processes of its own, which end with it. Elsewhere, or with GRADE_JAIL=0, it
runs as you do; what it leaves running is still found and ended. GRADE_READS= names
folders that programs of this machine need besides SYSTEM, as of modules of a cluster.

Left out: holes of the kernel; how much it writes by many files.
"""
import ctypes
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
from functools import lru_cache
from pathlib import Path

from tools.history import runs, tree

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/sys",
          "/etc/alternatives", "/etc/ld.so.cache", "/etc/OpenCL", "/etc/openmpi",
          "/etc/passwd")
DEVICES = ("/dev/nvidia*", "/dev/dri", "/dev/kfd")
BYTES, FILES = 16 << 20, 500  # that a folder of an attempt may have

# No core file, no file beyond 256 MiB, so much memory; no more said than 64 KiB.
FENCE = """
ulimit -c 0
ulimit -f 524288
ulimit -v "$1"
cd "$2" || exit
shift 2
"$@" >said 2>complained
status=$?
head -c 65536 said
tail -c 65536 complained >&2
exit $status
"""


# ---- building and running ---------------------------------------------------------


def bubble(reads=(), writes=()):
    """The words that put a command into bubblewrap."""
    words = [shutil.which("bwrap"), "--unshare-all", "--die-with-parent",
             "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
             "--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp"]
    for path in (*SYSTEM, *os.environ.get("GRADE_READS", "").split()):
        words += (["--symlink", os.readlink(path), path] if os.path.islink(path) else
                  ["--ro-bind-try", path, path])
    for path in sum(map(glob.glob, DEVICES), []):
        words += ["--dev-bind", path, path]
    words += ["--tmpfs", tree.ROOT]  # it may lie below one of them
    for how, paths in (("--ro-bind", reads), ("--bind", writes)):
        for path in paths:
            words += [how, path, path]
    return words


@lru_cache(maxsize=None)
def possible():
    """Whether there is a jail here."""
    if os.environ.get("GRADE_JAIL") == "0" or not shutil.which("bwrap"):
        return False
    return subprocess.run([*bubble(), "/bin/true"], capture_output=True).returncode == 0


def words(folder, reads=(), writes=(), memory="unlimited"):
    """What comes before a command that runs in folder, fenced, and jailed where that is
    possible; memory in KiB."""
    jail = bubble(reads, [folder, *writes]) if possible() else []
    return [*jail, "/bin/sh", "-c", FENCE, "fence", memory, folder]


def adopt():
    """From now on, what an attempt leaves running becomes a child of this process."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """The processes of which this one is the parent."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            parent = Path(path).read_text(errors="replace").rpartition(")")[2].split()[1]
        except OSError:
            continue  # has ended
        if int(parent) == os.getpid():
            yield int(path.split("/")[2])


def reap():
    """Ends all children, and those whom that makes children, until there are none."""
    while left := list(children()):
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)


# ---- what an attempt hands in, and leaves -------------------------------------------


def anew(folder):
    """An empty folder, whatever an attempt has made of the one that was there."""
    for place, folders, _ in os.walk(folder):
        for path in [place, *(os.path.join(place, name) for name in folders)]:
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def take(source, target):
    """Copies a folder of an attempt in the place of target: None, or why it cannot be
    taken, one line."""
    found, room = [], BYTES
    for folder, folders, files in os.walk(source):
        for name in [*folders, *files]:
            path = Path(folder, name)
            if not (path.is_dir() and not path.is_symlink()):
                found.append(path)
                problem = runs.odd(path)
                if problem:
                    return problem
                room -= path.stat().st_size
            if room < 0 or len(found) > FILES:
                return f"more than {FILES} files or {BYTES >> 20} MiB"
    anew(target)
    for path in found:
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    return None


# A directive, or a question, that names a file, with comments between its words.
GAP = r"(?:[ \t\f\v]|/\*.*?\*/)*"
NAMES = re.compile(rf"(?:(?:#|%:){GAP}(?:include_next|include|import|embed)\b|"
                   rf"__has_(?:include_next|include|embed)\b{GAP}\(?){GAP}"
                   r"(?P<plain>\"[^\"\n]*\"|<[^>\n]*>)?", re.S)
ASSEMBLED = re.compile(r"\.\s*inc(?:bin|lude)\b")


def leaves(folder):
    """The first place where the sources of a folder name a file outside it and outside
    the compiler's folders, one line; None where there is none. A name that a macro makes
    may be any."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        text = path.read_text(errors="replace").replace("??=", "#").replace("??/", "\\")
        text = re.sub(r"\\[ \t]*\r?\n", "", text)
        for found in [*NAMES.finditer(text), *ASSEMBLED.finditer(text)]:
            name = (found.groupdict().get("plain") or "")[1:-1]
            if path.suffix != ".md" and (not name or name[0] in "/~" or
                                         ".." in name.split("/")):
                line = text[found.start():].splitlines()[0][:80]
                return f"{path.name}: an include that leaves the folder: {line}"
    return None


def escaped(text):
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode()
                   for c in text)


def plain(text):
    """A text of an attempt's in one line, without what a terminal would obey."""
    return escaped(text)[:400]


def shown(text):
    """Many lines of an attempt's, in the same way; colours stay."""
    parts = re.split(r"(\033\[[\d;]*[mK]|[\n\t])", text)
    return "".join(p if n % 2 else escaped(p) for n, p in enumerate(parts))


def hashes(folders):
    """{path: SHA-256} of all files below folders."""
    return {p: hashlib.sha256(p.read_bytes()).hexdigest()
            for folder in folders for p in sorted(folder.rglob("*")) if p.is_file()}
