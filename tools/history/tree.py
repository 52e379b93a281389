"""tree.py - the steps, programs and back-ends of the tree.

What make reads is read here too: "key = value" lines of steps/*/step.mk and
common/*/program.mk. Everything that compares, times or reports imports this file, so
that all mean the same by a step, a case, the step before. Left out: running (runs.py)
and building (copies.py) anything.
"""
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BACKENDS = ("seq", "omp", "openacc", "ocl", "cuda-cpu", "cuda", "hybrid", "hybrid-cuda-cpu",
            "hybrid-cuda", "mpi", "mpi-ocl")
NEED_GPU = ("cuda", "hybrid-cuda")  # to run
FOR_CHECKING = ("cuda-cpu", "hybrid-cuda-cpu")  # not for speed
SHARED = ("hybrid", "hybrid-cuda", "mpi", "mpi-ocl")  # make shares, make cluster
KINDS = ("start", "refactor", "port", "algebra", "memory")
# What a step.mk may say of all programs, and what, as KEY.PROGRAM, of one of them, with
# the parts that a key has, as in predict.PROGRAM.cpu.
KEYS = ("title", "kind", "backends", "changes", "shown", "after")
KEYS_OF_PROGRAM = {"predict": ("cpu", "gpu"), "bytes": ("l1", "l2", "l3", "dram"),
                   **dict.fromkeys((*KEYS, "reason", "flops", "cflags"), ("",))}

# What a program.mk that does not say otherwise has, as in
#     outputs = out:result panel:panel:1e-5
# key of the binary : key of the checker : how far from the first step's file it may be,
# absolute (left out: the checker alone judges).
OUTPUTS = "out:result panel:panel:1e-5"
# Those of them that are asked for when time is taken, by key, as in
#     timed = out
# (left out: all): what costs time and is no part of the answer. It is verified with all
# of them and with these alone.
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
        key = key.strip().rstrip(":?").rstrip() if equals else key
        if equals and key in values:
            raise SystemExit(f"{path}:{number}: {key} is said a second time")
        if equals:
            values[key] = value.strip()
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
        long = self.mk.get("long", "").split()  # measured only if named
        self.usual = [name for name in self.sets if name not in long]
        self.quick = self.mk.get("quick", next(iter(self.sets), None))  # QUICK=1
        self.shown = self.mk.get("show", self.quick)  # in tables and figures
        self.groups = self.mk.get("groups", GROUPS).split()
        self.outputs = []
        for text in self.mk.get("outputs", OUTPUTS).split():
            key, check, budget = (text.split(":") + [None])[:3]
            self.outputs.append(Output(key, check, budget and float(budget)))
        self.gpu = self.mk.get("gpu", "").split()
        timed = self.mk.get("timed", "").split()
        self.timed = [o for o in self.outputs if not timed or o.key in timed]

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
        self.family = self.mk.get("title", name)  # what its name means, for all programs

    def strange(self):
        """The keys of step.mk that nothing reads, each with what is wrong: a typing
        error there would go unseen."""
        known = [p.parent.name for p in ROOT.glob("common/*/program.mk")]
        for key in self.mk.keys() - KEYS:
            word, _, rest = key.partition(".")
            program, _, part = rest.partition(".")
            if not program or part not in KEYS_OF_PROGRAM.get(word, ()):
                yield f"{key}: there is no such key"
            elif program not in known:
                yield f"{key}: no such program, there are {' '.join(sorted(known))}"

    def title(self, program):
        """What this program does in the step."""
        return self._of("title", program)

    def shown(self, program):
        """The file whose change is the lesson."""
        return self._of("shown", program) or "body.h"

    def has(self, program):
        """A lesson alone is no program."""
        folder = self.folder / program.name
        return folder.is_dir() and any(p.suffix != ".md" for p in folder.iterdir())

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
        """Those that were built and can run here: some need a GPU."""
        return [b for b in self.backends(program) if self.binary(program, b).exists()
                and (b not in NEED_GPU or has_gpu())]


@lru_cache(maxsize=None)
def steps():
    """All, in order."""
    found = [Step(p.parent.name) for p in sorted(ROOT.glob("steps/*/step.mk"))]
    strange = [f"{s.folder}/step.mk: {what}" for s in found for what in s.strange()]
    if strange:
        raise SystemExit("\n".join(strange))
    return found


@lru_cache(maxsize=None)
def programs():
    """All, in the order of their `order`: the main program first."""
    found = [Program(p.parent.name) for p in sorted(ROOT.glob("common/*/program.mk"))]
    return sorted(found, key=lambda p: int(p.mk.get("order", 99)))


def selected(things, variable):
    """Those that make's STEP=, PROGRAM= names: by name or by number; all of them where it
    is unset, or says so."""
    wanted = os.environ.get(variable, "").split()
    if not wanted or wanted == ["all"]:
        return list(things)
    named = {t: {t.name, getattr(t, "number", None)} for t in things}
    found = [t for t in things if named[t].intersection(wanted)]
    if not set(wanted) <= set().union(*named.values()):
        raise SystemExit(f"{variable}={' '.join(wanted)}: no such {variable.lower()}, "
                         f"there are {' '.join(t.name for t in things)}")
    return found


def one_step(usage):
    """The one step that STEP= names."""
    if not os.environ.get("STEP"):
        raise SystemExit(f"which step? {usage}")
    found = selected(steps(), "STEP")
    if len(found) > 1:
        raise SystemExit(f"one step at a time: {' '.join(s.name for s in found)}")
    return found[0]


def before(step, program):
    """The step before: the last earlier one that has the program, none later than what
    step.mk has as `after`, the number of the step that it goes on from. None for a
    program's first."""
    last = step.mk.get("after", step.number)
    earlier = [s for s in steps()
               if s.name < step.name and s.number <= last and s.has(program)]
    return earlier[-1] if earlier else None


def ported(step, program, backend):
    """The (step, back-end) whose bytes a refactored back-end must repeat: the last
    earlier step that has it; for OpenMP, which is new once, the sequential one. None
    where there is nothing before."""
    for name in [backend] + ["seq"] * (backend == "omp"):
        step_before = before(step, program)
        while step_before:
            if name in step_before.backends(program):
                return step_before, name
            step_before = before(step_before, program)
    return None


def compared(step, program, backend):
    """The (step, back-end) that a gain is over: the same back-end before, or, for one
    that is new, the one that its first port came from. None where there is nothing."""
    found = ported(step, program, backend)
    earlier = before(step, program)
    if found or not earlier:
        return found
    return earlier, "omp" if "omp" in earlier.backends(program) else "seq"


@lru_cache(maxsize=None)
def has_gpu():
    if not shutil.which("nvidia-smi"):
        return False
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return listed.returncode == 0 and "GPU" in listed.stdout
