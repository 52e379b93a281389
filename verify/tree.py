"""tree.py - the steps, programs and back-ends of the tree; how one is run and checked.

What make reads is read here too: "key = value" lines of steps/*/step.mk and
common/*/program.mk. Everything that compares, times or reports imports this file, so
that all mean the same by a step, a case, a pass.

A program is known by a contract only: its binary takes the words of a query and out=,
says Time_init=, Time_run= and Time_kernel=, and BUILD/PROGRAM-check takes the same
words and says share=, worst= and verdict=. Left out: building anything.
"""
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ("seq", "omp", "openacc", "ocl", "cuda-cpu", "cuda")
KINDS = ("start", "refactor", "port", "algebra", "memory")

# What a program.mk that does not say otherwise has, as in
#     outputs = out:result panel:panel:1e-5
# key of the binary : key of the checker : how far from the first step's file it may be,
# absolute (left out: the checker alone judges).
OUTPUTS = "out:result panel:panel:1e-5"
# Words with which a device back-end runs one case again: work-groups that do not divide
# the work, that differ from side to side, that hold a single item.
GROUPS = "local=1,1,1 local=3,5,2 local=8,1,1"


def build():
    """The folder of everything that is built; make passes it on."""
    return ROOT / os.environ.get("BUILD", "build")


def read_mk(path):
    """The "key = value" lines of a file as a dict."""
    text = path.read_text().replace("\\\n", " ")
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, equals, value = line.split("#")[0].partition("=")
        if equals:
            values[key.strip().rstrip(":?")] = value.strip()
        elif key.strip():
            raise SystemExit(f"{path}:{number}: expected key = value: {line}")
    return values


@dataclass(frozen=True)
class Output:
    key: str  # of the binary
    check: str  # of the checker
    budget: float  # against the first step's file; None: not compared with it


class Program:
    def __init__(self, name):
        self.name = name
        self.mk = read_mk(ROOT / "common" / name / "program.mk")
        self.title = self.mk.get("title", name)
        self.data = build() / "data" / name
        self.cases = self._queries("case.")
        self.sets = self._queries("set.")
        self.quick = self.mk.get("quick", next(iter(self.sets), None))  # QUICK=1
        self.shown = self.mk.get("show", self.quick)  # in tables and figures
        self.groups = self.mk.get("groups", GROUPS).split()
        self.outputs = []
        for text in self.mk.get("outputs", OUTPUTS).split():
            key, check, budget = (text.split(":") + [None])[:3]
            self.outputs.append(Output(key, check, budget and float(budget)))

    def _queries(self, prefix):
        return {key[len(prefix):]: self.words(value)
                for key, value in self.mk.items() if key.startswith(prefix)}

    def words(self, text):
        """A query as the list of words a binary is called with."""
        return shlex.split(text.replace("{data}", str(self.data)))

    def checker(self):
        return build() / f"{self.name}-check"


class Step:
    def __init__(self, name):
        self.name = name  # 03_ocl_3d
        self.number = name.split("_")[0]
        self.folder = ROOT / "steps" / name
        self.mk = read_mk(self.folder / "step.mk")
        self.title = self.mk.get("title", name)

    def has(self, program):
        return (self.folder / program.name).is_dir()

    def _of(self, key, program):
        """key.PROGRAM where step.mk has it, else key."""
        return self.mk.get(f"{key}.{program.name}", self.mk.get(key, ""))

    def kind(self, program):
        """One of KINDS: what the step promises."""
        kind = self._of("kind", program)
        if kind not in KINDS:
            raise SystemExit(f"{self.folder}/step.mk: kind {kind}: not one of {KINDS}")
        return kind

    def changes(self, program):
        """The files that the step may change."""
        return self._of("changes", program).split()

    def prediction(self, program, device="cpu"):
        """What was expected before measuring; device is cpu or gpu."""
        return self.mk.get(f"predict.{program.name}.{device}", "")

    def backends(self, program):
        """Those that the step has, in the order of BACKENDS."""
        named = self._of("backends", program).split() if self.has(program) else []
        return [b for b in BACKENDS if b in named]

    def binary(self, program, backend):
        return build() / self.name / f"{program.name}-{backend}"

    def available(self, program):
        """Those that were built and can run here: cuda needs a GPU."""
        return [b for b in self.backends(program)
                if self.binary(program, b).exists() and (b != "cuda" or has_gpu())]


@lru_cache(maxsize=None)
def steps():
    """All, in order."""
    return [Step(p.parent.name) for p in sorted(ROOT.glob("steps/*/step.mk"))]


@lru_cache(maxsize=None)
def programs():
    return [Program(p.parent.name) for p in sorted(ROOT.glob("common/*/program.mk"))]


def selected(things, variable):
    """Those that make's STEP=, PROGRAM= names: by name or by number; all if unset."""
    wanted = os.environ.get(variable, "").split()
    if not wanted:
        return list(things)
    found = [t for t in things
             if t.name in wanted or getattr(t, "number", None) in wanted]
    if not found:
        raise SystemExit(f"{variable}={' '.join(wanted)}: there is no such thing")
    return found


def before(step, program, backend):
    """The (step, back-end) whose bytes a refactored back-end must repeat: the last
    earlier step that has it; for OpenMP, which is new once, the sequential one. None
    where there is nothing before."""
    earlier = [s for s in steps() if s.name < step.name]
    for s in reversed(earlier):
        if backend in s.backends(program):
            return s, backend
    if backend == "omp":
        for s in reversed(earlier):
            if "seq" in s.backends(program):
                return s, "seq"
    return None


@lru_cache(maxsize=None)
def has_gpu():
    if not shutil.which("nvidia-smi"):
        return False
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return listed.returncode == 0 and "GPU" in listed.stdout


# ---- running and checking ---------------------------------------------------------


@dataclass
class Ended:
    """How a command ended: status None means that it was stopped after its time."""
    status: int
    out: str
    err: str

    def why(self):
        """One line on what went wrong; None where nothing did."""
        if self.status is None:
            return "hangs: " + self.err
        if self.status < 0:
            return "crashes: " + signal.Signals(-self.status).name
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
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, **(env or {})},
                          start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=timeout)
            return Ended(p.returncode, out, err)
        except subprocess.TimeoutExpired:
            return Ended(None, "", f"stopped after {timeout} s")
        finally:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)


def inputs(words):
    """The files that a query names."""
    paths = (Path(word.partition("=")[2]) for word in words)
    return [p for p in paths if p.is_file()]


def oracle_path(program, name, words):
    """Where the oracle of a query is kept: another query, other data or another checker
    has another name, so that no stale one is ever read."""
    mark = hashlib.sha256()
    for word in words:
        path = Path(word.partition("=")[2])
        mark.update((word.replace(str(path), path.name) if path.is_file() else word)
                    .encode() + b"\0")
    for path in inputs(words) + [program.checker()]:
        mark.update(path.read_bytes())
    folder = build() / "oracle" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{mark.hexdigest()[:16]}.npy"


def check(program, words, files, name, timeout=600):
    """Asks the checker about files, {key of the binary: path}: a dict with ok, share in
    percent (None where it did not get so far) and reason, one line."""
    command = [program.checker(), *words, f"oracle={oracle_path(program, name, words)}"]
    command += [f"{o.check}={files[o.key]}" for o in program.outputs if o.key in files]
    truths = (Path(f"{p}.truth") for p in inputs(words))
    command += [f"truth={p}" for p in truths if p.exists()]
    ended = run(command, timeout)
    said = ended.values()
    verdict = said.get("verdict", "")
    ok = ended.status == 0 and verdict == "ok"
    silent = f"{program.checker().name} {ended.why() or 'is silent'}"
    return {"ok": ok, "share": float(said["share"]) if "share" in said else None,
            "reason": said.get("worst", silent)}


def run_and_check(step, program, backend, words, folder, name, env=None, timeout=60,
                  binary=None, extra=()):
    """Runs a back-end on a query, its outputs going to folder, and checks them. Returns
    a dict: ok, share, reason as check() has them; caught, which is None, "check" or how
    the run ended; times, {init, run, kernel} in seconds; files, {key: path}. name is
    that of the query, for its oracle; extra are words for the binary alone."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {o.key: folder / f"{o.key}.npy" for o in program.outputs}
    for path in files.values():
        path.unlink(missing_ok=True)  # what an earlier run left proves nothing

    command = [binary or step.binary(program, backend), *words, *extra]
    ended = run(command + [f"{k}={p}" for k, p in files.items()], timeout, env)
    why = ended.why()
    if why:
        return {"ok": False, "share": None, "reason": why, "caught": why.split(":")[0],
                "times": {}, "files": files}
    result = check(program, words, files, name)
    result["caught"] = None if result["ok"] else "check"
    result["files"] = files
    result["times"] = {k[5:]: float(v) for k, v in ended.values().items()
                       if k.startswith("Time_")}
    return result


# ---- saying -----------------------------------------------------------------------


def progress(text):
    """One line that is written over, on a terminal only; "" takes it away."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width] + "\033[K")
        sys.stderr.flush()


def table(rows):
    """Rows of texts as lines, columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip()
                     for row in rows)
