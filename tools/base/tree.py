"""tree.py - the steps, programs and back-ends of the tree.

Reads the "NAME.key = value" lines of steps/*/step.mk, common/*/program.mk and
common/backends.mk, which make includes, too. Every tool that compares, times or reports
imports this module, so that all agree on what a step, its predecessor, a program, a case
and a back-end are. Running programs is in runs.py, building them in copies.py.
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent.parent
# How a prediction is called that was written after a measurement or a prototype. In a step.mk
# it follows the speedup: 1.2, expected after a prototype: reason.
EXPECTED = "expected after a prototype"
KINDS = ("start", "refactor", "port", "algebra", "memory")
# The keys of a step.mk that hold for all programs, and those that, as KEY.PROGRAM or
# KEY.PROGRAM.PART, hold for one: the possible parts, "" for none.
#   title     what the folder's name means, and what each program does in the step
#   changes   the files that it changes; shown: the one whose change a lesson shows (body.h)
#   after     the number of the step that it continues; the previous one unless set
#   predict   the speedup over that step, predicted before measuring, and why
#   reason    why body.h has more new lines than lint allows
#   flops, bytes   the operations and the bytes of a query, in units that its output counts
#   cflags, check  further flags of gcc; arguments of the checker for another method
KEYS = ("title", "kind", "backends", "changes", "shown", "after")
KEYS_OF_PROGRAM = {"predict": ("cpu", "gpu"), "bytes": ("l1", "l2", "l3", "dram"),
                   **dict.fromkeys((*KEYS, "reason", "flops", "cflags", "check"), ("",))}
# The keys of a program.mk, and the first parts of those that have a second part, which may be
# any, or one of these.
PROGRAM_KEYS = set("""title order sources shared libs cflags double recipes suffix rate peak outputs
    timed quick show long jobs run run_jobs run_omits rung_sets tiny wide unit instructions
    gcc_flags gpu groups shares section cluster""".split())
PROGRAM_PARTS: dict[str, Sequence[str]] = {
    "set": (), "job": (), "case": (), "bar": (), "picture": (),
    "cluster": ("outputs",)}

# `outputs` of a program.mk that does not set it. Each is
#     key of the program : key of the checker : maximal difference from step 00's file
# The difference is absolute; without it, only the checker judges the file.
OUTPUTS = "out:result panel:panel:1e-5"
# `groups` of a program.mk that does not set it: the work-group sizes with which a device
# back-end repeats one case. They do not divide the work, are not cubes, or are 1.
GROUPS = "local=1,1,1 local=3,5,2 local=8,1,1"


def build() -> Path:
    """The folder of everything that is built; make passes it on."""
    return ROOT / os.environ.get("BUILD", "build")


def read_mk(path: Path, name: str = "") -> dict[str, str]:
    """The "key = value" lines of a .mk file; `+=` appends, any other repetition of a key is
    an error. With a name, each key must be NAME.KEY, and KEY is returned."""
    text = path.read_text().replace("\\\n", " ")
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, equals, value = line.split("#")[0].partition("=")
        if not equals:
            if key.strip():
                raise SystemExit(f"{path}:{number}: not a declaration ({line}): "
                                 "expected key = value")
            continue
        appends = key.rstrip().endswith("+")
        key = key.rstrip(" :?+").strip()
        if key in values and not appends:
            raise SystemExit(f"{path}:{number}: {key} is set twice")
        if not key.startswith(f"{name}." if name else ""):
            raise SystemExit(f"{path}:{number}: invalid key ({key}): expected {name}.{key}")
        values[key] = f"{values[key]} {value.strip()}" if key in values else value.strip()
    return {key[len(name) + 1:]: value for key, value in values.items()} if name else values


# ---- back-ends -------------------------------------------------------------------------


@dataclass(frozen=True)
class Backend:
    """A block of common/backends.mk, where the keys are explained."""
    name: str
    label: str
    sources: tuple[str, ...]
    common: tuple[str, ...]  # objects of common/
    compiler: str  # CC, NVCC or MPICC
    flags: tuple[str, ...]
    needs: tuple[str, ...]
    limits: tuple[str, ...]
    launch: str  # "" or mpirun
    threads: int | None  # None: as many as there are cores
    device: str
    sides: tuple[str, ...]
    vary: tuple[str, ...]
    bind: tuple[str, str] | None  # (variable, value)

    @property
    def needs_gpu(self) -> bool:
        return "gpu" in self.limits

    @property
    def on_host(self) -> bool:
        """Whether it is plain C, without a device and without other ranks."""
        return self.sources == ("cpu.c",)


def read_backends(path: Path) -> dict[str, Backend]:
    """{name: back-end}, in the order of the file."""
    values = read_mk(path)

    def backend(name: str) -> Backend:
        def text(key: str, default: str = "") -> str:
            return values.get(f"{name}.{key}", default)

        def items(key: str) -> tuple[str, ...]:
            return tuple(text(key).split())

        if not items("sources"):
            raise SystemExit(f"{path}: {name}.sources is missing: expected files of a step")
        variable, equals, value = text("bind").partition("=")
        return Backend(
            name, text("label", name), items("sources"), items("common"),
            text("compiler", "CC"), items("flags"), items("needs"), items("limits"),
            text("launch"), int(text("threads")) if text("threads") else None,
            text("device", "threads"), items("sides"), items("vary"),
            (variable, value) if equals else None)

    return {name: backend(name) for name in values.get("backends", "").split()}


BACKENDS = read_backends(ROOT / "common" / "backends.mk")
NEED_GPU = tuple(b.name for b in BACKENDS.values() if "gpu" in b.limits)  # to run
FOR_CHECKING = tuple(b.name for b in BACKENDS.values() if "checking" in b.limits)
SHARED = tuple(b.name for b in BACKENDS.values() if "shared" in b.limits)


def refuse(errors: Sequence[str]) -> None:
    """Ends the process with these messages, if there are any."""
    if errors:
        raise SystemExit("\n".join(errors))


# ---- programs --------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    key: str  # of the binary
    check: str  # of the checker
    budget: float | None  # against the first step's file; None: not compared with it
    suffix: str = "npy"

    @property
    def file(self) -> str:
        return f"{self.key}.{self.suffix}"


# The outputs of a job: whole traces.
OF_JOB = (Output("stack", "", None, "su"), Output("coherence", "", None, "su"),
          Output("parameters", "", None))


def with_arguments(arguments: Sequence[str], others: Sequence[str]) -> list[str]:
    """The arguments of a query, where those of others replace those with the same key."""
    keys = {a.partition("=")[0] for a in others}
    return [a for a in arguments if a.partition("=")[0] not in keys] + list(others)


class Program:
    """A folder of common/ with a program.mk."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mk = read_mk(ROOT / "common" / name / "program.mk", name)
        self.title = self.mk.get("title", name)
        self.data = build() / "data" / name
        self.cases = self._queries("case.")
        self.sets = self._queries("set.")
        self.jobs = self._jobs()
        long = self.mk.get("long", "").split()  # measured only if named
        self.usual = [name for name in self.sets if name not in long]
        self.quick = self.mk.get("quick", next(iter(self.sets), ""))  # QUICK=1
        self.shown = self.mk.get("show", self.quick)  # in tables and figures
        self.groups = self.mk.get("groups", GROUPS).split()
        self.outputs: list[Output] = []
        for text in self.mk.get("outputs", OUTPUTS).split():
            key, check, budget = (*text.split(":"), "")[:3]
            self.outputs.append(Output(key, check, float(budget) if budget else None))
        self.gpu = self.mk.get("gpu", "").split()
        # The outputs that are written when times are measured: all, or those of `timed`.
        timed = self.mk.get("timed", "").split()
        self.timed = [o for o in self.outputs if not timed or o.key in timed]

    def errors(self) -> Iterator[str]:
        """The keys of program.mk that no tool reads: typing errors would go unnoticed."""
        for key in self.mk.keys() - PROGRAM_KEYS:
            first, _, part = key.partition(".")
            parts = PROGRAM_PARTS.get(first)
            if not part or parts is None or (parts and part not in parts):
                yield f"{key}: there is no such key"

    def names(self) -> set[str]:
        """The values of PROGRAM= that select it."""
        return {self.name}

    def _queries(self, prefix: str) -> dict[str, list[str]]:
        return {key[len(prefix):]: self.arguments(value)
                for key, value in self.mk.items() if key.startswith(prefix)}

    def _jobs(self) -> dict[str, list[str]]:
        """The jobs: arguments, or the name of an earlier job and what differs."""
        found: dict[str, list[str]] = {}
        for name, (first, *others) in self._queries("job.").items():
            found[name] = with_arguments(found.get(first, [first]), others)
        return found

    def query(self, name: str) -> list[str]:
        """The arguments of a set or a job."""
        return self.jobs[name] if name in self.jobs else self.sets[name]

    def timed_outputs(self, name: str) -> Sequence[Output]:
        """The outputs that are written when the times of a set or a job are measured."""
        return OF_JOB if name in self.jobs else self.timed

    def arguments(self, text: str) -> list[str]:
        """The arguments of a query of program.mk."""
        # The folder's name may have blanks: it is inserted after the text is split.
        return [word.replace("{data}", str(self.data)) for word in shlex.split(text)]

    def checker(self) -> Path:
        return build() / f"{self.name}-check"


# ---- steps -----------------------------------------------------------------------------


class Step:
    """A folder with a step.mk: one of steps/, or the folder of a rung (rungs.py)."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name  # 03_ocl_3d
        self.number = name.split("_")[0]
        self.folder = folder or ROOT / "steps" / name
        self.mk = read_mk(self.folder / "step.mk", name)

    def names(self) -> set[str]:
        """The values of STEP= that select it."""
        return {self.name, self.number}

    def parent(self, program: Program) -> Step | None:
        """The step before it that has the program, see before()."""
        last = self.mk.get(f"after.{program.name}", self.mk.get("after", self.number))
        earlier = [s for s in steps()
                   if s.name < self.name and s.number <= last and s.has(program)]
        return earlier[-1] if earlier else None

    def errors(self) -> Iterator[str]:
        """The keys of step.mk that no tool reads: typing errors would go unnoticed."""
        known = [p.parent.name for p in ROOT.glob("common/*/program.mk")]
        for key in self.mk.keys() - KEYS:
            first, _, rest = key.partition(".")
            program, _, part = rest.partition(".")
            if not program or part not in KEYS_OF_PROGRAM.get(first, ()):
                yield f"{key}: there is no such key"
            elif program not in known:
                yield f"{key}: no such program: expected one of {' '.join(sorted(known))}"

    def title(self, program: Program) -> str:
        """What this program does in the step."""
        return self._value("title", program)

    def shown(self, program: Program) -> str:
        """The file whose change is the lesson."""
        return self._value("shown", program) or "body.h"

    def has(self, program: Program) -> bool:
        """Whether the step has sources of a program, and not only a lesson."""
        folder = self.folder / program.name
        return folder.is_dir() and any(p.suffix != ".md" for p in folder.iterdir())

    def _value(self, key: str, program: Program) -> str:
        """KEY.PROGRAM if step.mk has it, else KEY."""
        return self.mk.get(f"{key}.{program.name}", self.mk.get(key, ""))

    def kind(self, program: Program) -> str:
        """One of KINDS: what the step promises."""
        kind = self._value("kind", program)
        if kind not in KINDS:
            raise SystemExit(f"{self.folder}/step.mk: kind: unknown ({kind}): expected one "
                             f"of {' '.join(KINDS)}")
        return kind

    def changes(self, program: Program) -> list[str]:
        """The files that the step may change."""
        return self._value("changes", program).split()

    def prediction(self, program: Program, device: str = "cpu") -> str:
        """The predicted speedup and its reason; device is cpu or gpu."""
        return self.mk.get(f"predict.{program.name}.{device}", "")

    def check_arguments(self, program: Program) -> list[str]:
        """What the checker must know of the step's method, as its arguments."""
        return self.mk.get(f"check.{program.name}", "").split()

    def backends(self, program: Program) -> list[str]:
        """The back-ends of a program, in the order of BACKENDS."""
        declared = self._value("backends", program).split() if self.has(program) else []
        return [b for b in BACKENDS if b in declared]

    def binary(self, program: Program, backend: str) -> Path:
        return build() / self.name / f"{program.name}-{backend}"

    def available(self, program: Program) -> list[str]:
        """The back-ends that are built and can run here: some need a GPU."""
        return [b for b in self.backends(program) if self.binary(program, b).exists()
                and (not BACKENDS[b].needs_gpu or has_gpu())]


@cache
def steps() -> list[Step]:
    """All steps, in order."""
    found = [Step(p.parent.name) for p in sorted(ROOT.glob("steps/*/step.mk"))]
    refuse([f"{s.folder}/step.mk: {what}" for s in found for what in s.errors()])
    return found


@cache
def programs() -> list[Program]:
    """All programs, sorted by `order` of program.mk: the main program first."""
    found = [Program(p.parent.name) for p in sorted(ROOT.glob("common/*/program.mk"))]
    refuse([f"common/{p.name}/program.mk: {what}" for p in found for what in p.errors()])
    return sorted(found, key=lambda p: int(p.mk.get("order", 99)))


Named = TypeVar("Named", Step, Program)


def selected(things: Sequence[Named], variable: str) -> list[Named]:
    """The steps or programs that STEP= or PROGRAM= selects, by name or by number; all of
    them if the variable is empty or `all`. rungs.selected_steps() knows rungs, too."""
    wanted = words(variable)
    known: set[str] = set().union(*(thing.names() for thing in things))
    if not set(wanted) <= known:
        raise SystemExit(f"{variable}={' '.join(wanted)}: no such {variable.lower()}: expected one "
                         f"of {' '.join(t.name for t in things if '.' not in t.name)}")
    return [thing for thing in things if not wanted or thing.names().intersection(wanted)]


def words(variable: str) -> list[str]:
    """The words of STEP= or PROGRAM=; none if it is empty or `all`."""
    wanted = os.environ.get(variable, "").split()
    return [] if wanted == ["all"] else wanted


def display(path: Path) -> str:
    """A path as it is written from the root of the tree."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


# ---- which steps are compared ----------------------------------------------------------


def before(step: Step, program: Program) -> Step | None:
    """The parent of a step: the last earlier step that has the program and is not later
    than `after.PROGRAM`, or `after`, of step.mk, the number of the step that this one
    continues; the parent of a rung is the rung before it. None for the program's first
    step."""
    return step.parent(program)


def bytes_reference(step: Step, program: Program, backend: str) -> tuple[Step, str] | None:
    """The (step, back-end) whose bytes a refactored back-end must reproduce: the nearest
    ancestor that has it, or, for OpenMP, the nearest that has the sequential back-end."""
    on_host = [b for b in BACKENDS if BACKENDS[b].on_host]
    previous = on_host[:on_host.index(backend)] if backend in on_host else []
    for name in [backend, *reversed(previous)]:
        ancestor = before(step, program)
        while ancestor:
            if name in ancestor.backends(program):
                return ancestor, name
            ancestor = before(ancestor, program)
    return None


def baseline(step: Step, program: Program, backend: str) -> tuple[Step, str] | None:
    """The (step, back-end) that a speedup is relative to: the same back-end in the nearest
    ancestor, or, for a new back-end, the best one on the host in the parent."""
    found = bytes_reference(step, program, backend)
    parent = before(step, program)
    if found or not parent:
        return found
    on_host = [b for b in parent.backends(program) if BACKENDS[b].on_host]
    return parent, (on_host or ["seq"])[-1]


@cache
def has_gpu() -> bool:
    if not shutil.which("nvidia-smi"):
        return False
    done: Any = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return done.returncode == 0 and "GPU" in done.stdout
