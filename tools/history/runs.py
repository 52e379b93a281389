"""runs.py - how a program is run and checked, and what this machine calls its devices.

A program is known by a contract only: its binary takes the words of a query and out=,
says Time_init=, Time_run= and Time_kernel=, and BUILD/PROGRAM-check takes the same
words and says share=, worst= and verdict=.
"""
import hashlib
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools.history.tree import build, has_gpu

# ---- running and checking ---------------------------------------------------------


@dataclass
class Ended:
    """How a command ended: status None means that it was stopped after its time."""
    status: int
    out: str
    err: str
    seconds: float = 0  # from its start to its end, by the clock of this process

    def why(self):
        """One line on what went wrong; None where nothing did."""
        if self.status is None:
            return "hangs: " + self.err
        number = -self.status if self.status < 0 else self.status - 128  # a shell's
        if number in set(signal.Signals):
            return "crashes: " + signal.Signals(number).name
        if self.status:
            lines = self.err.strip().splitlines()
            return "refuses: " + (lines[-1] if lines else f"exit status {self.status}")
        return None

    def values(self):
        """What it printed as key=value lines."""
        lines = (line.partition("=") for line in self.out.splitlines())
        return {key: value for key, equals, value in lines if equals}


def run(command, timeout, env=None):
    """Runs a command in a process group of its own, which does not outlive it."""
    command = [str(c) for c in command]
    if not Path(command[0]).exists():
        return Ended(127, "", f"{command[0]}: not built")
    began = time.monotonic()  # before the process can have begun
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, **(env or {})},
                          start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=timeout)
            return Ended(p.returncode, out, err, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            return Ended(None, "", f"stopped after {timeout} s")
        finally:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)


def ranks():
    """How many ranks an mpi back-end is run with: RANKS, or 2."""
    return int(os.environ.get("RANKS") or 2)


def launched(binary, backend, env=None):
    """(the words that start a binary, the variables that they need): ranks of MPI through
    mpirun, as many as env or the environment says, the cores dealt out to them; else the
    binary itself. mpirun is told to be quiet, that it may be root, and that there may be
    more ranks than cores."""
    env = dict(env or {})
    if not backend.startswith("mpi"):
        return [binary], env
    number = int(env.get("RANKS") or ranks())
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
           "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_orte_execute_quiet": "1",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
           "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // number)), **env}
    return [shutil.which("mpirun") or "mpirun", "-n", str(number), binary], env


def inputs(words):
    """The files that a query names."""
    paths = (Path(word.partition("=")[2] or word) for word in words)
    return [p for p in paths if p.is_file()]


def oracle_path(checker, program, name, words):
    """Where the oracle of a query is kept: another query, other data or another checker
    has another name, so that no stale one is ever read."""
    mark = hashlib.sha256()
    for word in words:
        path = Path(word.partition("=")[2] or word)
        mark.update((word.replace(str(path), path.name) if path.is_file() else word)
                    .encode() + b"\0")
    for path in inputs(words) + [checker]:
        mark.update(path.read_bytes())
    folder = build() / "oracle" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{mark.hexdigest()[:16]}.npy"


def check(program, words, files, name, timeout=600, checker=None):
    """Asks the checker about files, {key of the binary: path}: a dict with ok, share in
    percent (None where it did not get so far) and reason, one line."""
    checker = checker or program.checker()
    command = [checker, *words, f"oracle={oracle_path(checker, program, name, words)}"]
    command += [f"{o.check}={files[o.key]}" for o in program.outputs if o.key in files]
    truths = (Path(f"{p}.truth") for p in inputs(words))
    command += [f"truth={p}" for p in truths if p.exists()]
    ended = run(command, timeout)
    said = ended.values()
    verdict = said.get("verdict", "")
    ok = ended.status == 0 and verdict == "ok"
    silent = f"{checker.name} {ended.why() or 'is silent'}"
    return {"ok": ok, "share": float(said["share"]) if "share" in said else None,
            "reason": said.get("worst", silent)}


def odd(path):
    """What is wrong with a file that a program has made; None for a plain one."""
    what = os.lstat(path)
    if not stat.S_ISREG(what.st_mode) or what.st_nlink != 1:
        return f"{path.name}: expected a plain file without links"
    return None


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def misprinted(module, words, values, files):
    """What is wrong with what a program printed, beside its files; None if nothing."""
    for key, text in values.items():
        if key.startswith("Time_") and not math.isfinite(number(text)):
            return f"{key}={text[:40]}: expected a number"
    try:
        return module and module.said(words, values, files)
    except (ValueError, KeyError, IndexError, OSError, EOFError) as error:
        return f"what it wrote cannot be read: {error}"


def produce(step, program, backend, words, folder, env=None, timeout=60, binary=None,
            extra=(), within=(), outputs=None):
    """Runs a back-end on a query, its outputs going to folder. Returns a dict: ok, which
    says that it ended well and printed what its files say; share, None; reason, one line;
    caught, which is None, "said" or how the run ended; times, {init, run, kernel} in
    seconds; files, {key: path}; ended, an Ended; and refused, if it refused what it must
    refuse and wrote nothing. extra are words for the binary alone, within those that
    come before it; outputs are those that are asked for, all unless given."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {o.key: folder / f"{o.key}.npy" for o in outputs or program.outputs}
    for path in files.values():
        path.unlink(missing_ok=True)  # what an earlier run left proves nothing

    command, env = launched(binary or step.binary(program, backend), backend, env)
    command = [*within, *command, *words, *extra]
    ended = run(command + [f"{k}={p}" for k, p in files.items()], timeout, env)
    values = ended.values()
    outcome = {"share": None, "files": files, "ended": ended,
               "times": {k[5:]: number(v) for k, v in values.items()
                         if k.startswith("Time_")}}
    # Not at the top: what a program prints is verification's to know.
    from tools.verify import queries
    module, refusal = queries.of(program), queries.refusal(program, words, step, backend)
    why = ended.why() or next(filter(None, map(odd, filter(os.path.lexists,
                                                           files.values()))), None)
    caught = why and why.split(":")[0]
    if refusal and caught == "refuses" and refusal in why and \
            not any(map(os.path.lexists, files.values())):
        return {**outcome, "ok": True, "reason": None, "caught": None, "refused": True}
    if not why:
        why = f"takes {refusal}" if refusal else \
            misprinted(module, [*words, *extra], values, files)
        caught = "said" if why else None
    return {**outcome, "ok": not why, "reason": why, "caught": caught}


def run_and_check(step, program, backend, words, folder, name, env=None, timeout=60,
                  binary=None, extra=(), checker=None, outputs=None):
    """produce(), and then check(), whose ok, share and reason the dict then has; caught
    may be "check" too. name is that of the query, for its oracle."""
    outcome = produce(step, program, backend, words, folder, env, timeout, binary, extra,
                      outputs=outputs)
    if outcome["ok"] and not outcome.get("refused"):
        outcome.update(check(program, words, outcome["files"], name, checker=checker))
        outcome["caught"] = None if outcome["ok"] else "check"
    return outcome


def replaced(words, args):
    """The words of a set, those of args in place of the ones with the same key."""
    keys = {a.partition("=")[0] for a in args}
    return [w for w in words if w.partition("=")[0] not in keys] + args


# ---- devices ---------------------------------------------------------------------


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine


def opencl_chosen():
    """What make devices says of the device that DEVICE chooses, as common/opencl chooses
    it: kind, platform, name .."""
    listed = run([build() / "devices"], 60).out.splitlines()
    devices = [line.removeprefix("DEVICE=").split(maxsplit=1) for line in listed
               if line.startswith("DEVICE=")]
    wanted = os.environ.get("DEVICE", "")
    for number, text in devices:
        if wanted == number:
            return text
    kind = {"gpu": "GPU", "cpu": "CPU"}.get(wanted, "GPU")
    texts = [text for _, text in devices]
    return ([t for t in texts if t.startswith(kind)] or texts or ["?, ?, none"])[0]


def opencl_device():
    """Its name."""
    return opencl_chosen().split(", ")[2]


def opencl_on_cpu():
    """Is it made of the host's cores?"""
    return opencl_chosen().startswith("CPU")


def gpu_name():
    # Not run(), which wants a path.
    listed = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                            capture_output=True, text=True)
    return listed.stdout.strip().splitlines()[0]


def openacc_on_gpu():
    """Whether gcc's OpenACC code goes to a GPU: there is one, this gcc makes code for it,
    and ACC_DEVICE_TYPE does not forbid. Else one thread of the host runs it."""
    if not has_gpu() or os.environ.get("ACC_DEVICE_TYPE", "").lower() in ("host", "none"):
        return False
    compiler = (build() / "flags").read_text().split()[0]
    said = subprocess.run([compiler, "-v", "-E", "-x", "c", "/dev/null"],
                          capture_output=True, text=True).stderr
    if not re.search(r"^OFFLOAD_TARGET_NAMES=.*nvptx", said, re.M):
        return False
    found = re.search(r"^COMPILER_PATH=(.*)", said, re.M)
    return any(Path(folder, "accel/nvptx-none/mkoffload").exists()
               for folder in (found[1].split(":") if found else []))


def threads(backend):
    """How many threads of the host a back-end's work is for."""
    if backend == "seq" or backend == "openacc":
        return 1
    if backend.startswith("mpi"):
        return int(launched("", backend, os.environ)[1]["OMP_NUM_THREADS"])
    return int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0] or os.cpu_count())


def device(backend):
    """What runs a back-end here, as the results call it."""
    if backend == "seq":
        return "1 core"
    if backend == "omp":
        return f"{threads(backend)} threads"
    if backend == "ocl":
        return opencl_device()
    if backend == "cuda" or backend == "openacc" and openacc_on_gpu():
        return gpu_name()
    if backend.startswith("hybrid"):
        beside = gpu_name() if backend == "hybrid-cuda" else \
            opencl_device() if backend == "hybrid" else cpu_name()
        return f"host and {beside}"
    if backend.startswith("mpi"):
        return f"{ranks()} ranks of {threads(backend)}" + \
            (f", {opencl_device()}" if backend == "mpi-ocl" else " threads")
    return "host, 1 thread" if backend == "openacc" else cpu_name()


# ---- saying -----------------------------------------------------------------------


def progress(text):
    """One line that is written over, on a terminal only; "" takes it away."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width] + "\033[K")
        sys.stderr.flush()


def stage(text):
    """A line that says how far a long work is: as progress() on a terminal, and where
    there is none, a line of its own."""
    if sys.stderr.isatty():
        progress(text)
    elif text:
        print(text, file=sys.stderr, flush=True)


def table(rows):
    """Rows of texts as lines, columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
                     for row in rows)
