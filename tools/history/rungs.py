"""rungs.py - the isolated changes that a step consists of, as patches.

    steps/05_algebra/rungs/semblance/1-sum.patch, 2-fraction.patch ..

Applied in this order to the folder of the step's parent, the patches (patches.py) give the
step's folder. The trailers declare the rung:

    Kind:         refactor, port, algebra or memory
    Backends:     the back-ends whose code it changes
    Predict-omp:  the predicted speedup over the rung before, with the reason; also
                  Predict-ocl and Predict-gpu
    Predicted:    before or after measuring, and what was known then
    Reason:       why the rung is larger than tests/lint.py permits

A rung becomes a folder with a step.mk, build/rungs/05.3,
which make builds like a folder of steps/: STEP=05.3 names it. The last rung of a step has
the step's files. A rung has the compiler flags and the checker's arguments of its step.
"""
from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tools.base import options, tree
from tools.base.runs import key
from tools.base.tree import BACKENDS, Program, Step
from tools.history import patches
from tools.history.patches import Patch

# The folder of all rungs does not depend on BUILD: it contains sources.
FOLDER = tree.ROOT / "build" / "rungs"
LESSONS = ("README.md", "answers.md")
NAME = re.compile(r"([1-9]\d*)-[\w-]+\.patch")
Files = Mapping[str, bytes]  # by path below a folder
# {back-end: what its prediction is called}
PREDICTED = {"omp": "omp", "ocl": "ocl", "cuda": "gpu"}


# ---- files -----------------------------------------------------------------------------


def files(folder: Path) -> Files:
    """All files of a program in a step, without its lessons."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name not in LESSONS
            and ".git" not in path.relative_to(folder).parts}


def put(wanted: Files, folder: Path) -> None:
    """Makes a folder contain these files and its lessons. Files that are equal keep their time
    of modification."""
    for name in files(folder).keys() - wanted.keys():
        (folder / name).unlink()
    for name, data in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


# ---- patches ---------------------------------------------------------------------------


def paths(step: Step, program: Program) -> list[Path]:
    """The patches of a program in a step, in their order."""
    folder = step.folder / "rungs" / program.name
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = NAME.fullmatch(path.name)
        if not name or int(name[1]) in found:
            raise SystemExit(f"{tree.display(path)}: wrong name: expected NUMBER-WORD.patch, each "
                             f"number once")
        found[int(name[1])] = path
    if sorted(found) != list(range(1, len(found) + 1)):
        raise SystemExit(f"{tree.display(folder)}: numbers {' '.join(map(str, sorted(found)))}: "
                         f"expected 1 to {len(found)}")
    return [found[number] for number in sorted(found)]


def of_step(step: Step, program: Program) -> list[Patch]:
    return [patches.read(path) for path in paths(step, program)]


def composed(step: Step, program: Program) -> Iterator[Files]:
    """The files after each rung."""
    parent = step.parent(program)
    if not parent:
        raise SystemExit(f"{tree.display(step.folder)}/rungs/{program.name}: the first step of "
                         f"{program.name}: expected no rungs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put(files(parent.folder / program.name), folder)
        for path in paths(step, program):
            problem = patches.apply(path, folder)
            if problem:
                raise SystemExit(problem)
            yield files(folder)


# ---- rungs as steps ----------------------------------------------------------------------


class Rung(Step):
    """Rung `place` of a step, in all programs that have so many."""

    def __init__(self, step: Step, place: int) -> None:
        self.step, self.place = step, place
        name = f"{step.number}.{place}"
        super().__init__(name, FOLDER / name)

    def names(self) -> set[str]:
        return {self.name} | (self.step.names() if options.is_set("RUNGS") else set())

    def parent(self, program: Program) -> Step | None:
        return rung(self.step, self.place - 1) if self.place > 1 else self.step.parent(program)


@cache
def rung(step: Step, place: int) -> Rung:
    return Rung(step, place)


def of(step: Step) -> list[Rung]:
    """The rungs of a step, whose folders are up to date."""
    write(step)
    most = max((len(paths(step, program)) for program in tree.programs()), default=0)
    return [rung(step, place) for place in range(1, most + 1)]


def and_rungs(steps: Sequence[Step], wanted: Sequence[str]) -> list[Step]:
    """The steps, each after those of its rungs that STEP= may select: those of a step of which
    a rung is wanted, and, with RUNGS=1, those of each wanted step. Nothing wanted is all. Also
    what is checked out in build/history, if wanted."""
    found: list[Step] = []
    with_rungs = {w.partition(".")[0] for w in wanted if "." in w}
    if options.is_set("RUNGS"):
        with_rungs |= set(wanted) if wanted else {step.name for step in steps}
    for step in steps:
        found += [*(of(step) if step.names() & with_rungs else ()), step]
    if "history" in wanted and (FOLDER / "history" / "step.mk").exists():
        found.append(Step("history", FOLDER / "history"))
    known = set().union(*(step.names() for step in found))
    for word in wanted:
        if word in known:
            continue
        for step in (s for s in steps if word.partition(".")[0] in s.names()):
            counts = [f"{len(paths(step, p))} rungs of {p.name}" for p in programs(step)]
            raise SystemExit(f"STEP={word}: no such rung: {tree.display(step.folder)} has "
                             f"{' and '.join(counts) or 'no rungs'}")
    return found


def programs(step: Step) -> list[Program]:
    """The programs that have rungs in a step."""
    return [p for p in tree.programs() if paths(step, p)]


# ---- their folders -----------------------------------------------------------------------


def declaration(step: Step, program: Program, patch: Patch, changes: Sequence[str],
                found: Files) -> Mapping[str, str]:
    """The keys of a rung's step.mk about one program. The rung has the step's back-ends, and
    those that the patch names, as far as their sources are there."""
    backends = [b for b in BACKENDS.values() if b.name in
                (*step.mk.get(f"backends.{program.name}", step.mk.get("backends", "")).split(),
                 *patch.words("Backends")) and set(b.sources) <= set(found)]
    predicted = {"cpu": "; ".join(f"{k} {v}" for k, v in patch.predictions.items() if k != "gpu"),
                 "gpu": patch.predictions.get("gpu", "")}
    keys = {"title": patch.subject, "kind": patch.trailers.get("Kind", ""),
            "backends": " ".join(b.name for b in backends), "changes": " ".join(changes)}
    texts = {**{f"{key}.{program.name}": value for key, value in keys.items()},
             **{f"predict.{program.name}.{k}": v for k, v in predicted.items()}}
    kept = {key: step.mk[key] for key in (f"cflags.{program.name}", f"check.{program.name}")
            if key in step.mk}
    # Make would expand $ and #, which are for `kept` only.
    return {**{key: re.sub(r"[#$\\]", "", value) for key, value in texts.items()}, **kept}


def step_mk(name: str, step: Step, declared: Mapping[str, str]) -> str:
    general = {key: step.mk.get(key, "") for key in ("title", "kind", "backends")}
    return "".join(f"{name}.{key} = {value}\n" for key, value in {**general, **declared}.items())


def digest(step: Step) -> str:
    """A digest of all that the folders of a step's rungs are made from."""
    parts: list[str | Path] = [*sorted(Path(__file__).parent.glob("*.py")),
                               tree.ROOT / "common" / "backends.mk"]
    for program in programs(step):
        parent = step.parent(program)
        parts += [program.name, *([parent.folder / program.name] if parent else [])]
        for path in paths(step, program):
            parts += [path.name, path]
    for name in ("step.mk", "README.md", "Makefile"):
        if (step.folder / name).exists():
            parts += [name, step.folder / name]
    return key(*parts)


def contents(step: Step) -> str:
    """A digest of what the folders of a step's rungs contain."""
    parts: list[str | Path] = []
    for folder in sorted(FOLDER.glob(f"{step.number}.[0-9]*")):
        parts += [folder.name, folder]
    return key(*parts)


def write(step: Step) -> None:
    """Makes the folders of a step's rungs, unless nothing they are made from has changed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, now = FOLDER / f"{step.number}.stamp", digest(step)
        if stamp.exists() and stamp.read_text() == f"{now} {contents(step)}":
            return
        stamp.unlink(missing_ok=True)
        folders: dict[int, dict[str, bytes]] = {}
        declared: dict[int, dict[str, str]] = {}
        for program in programs(step):
            parent = step.parent(program)
            before = files(parent.folder / program.name) if parent else {}
            for place, (patch, found) in enumerate(
                    zip(of_step(step, program), composed(step, program)), 1):
                changes = sorted(name for name in before.keys() | found.keys()
                                 if before.get(name) != found.get(name))
                declared.setdefault(place, {}).update(
                    declaration(step, program, patch, changes, found))
                text = f"# {step.number}.{place} {program.name}\n\n## What changes\n\n" \
                       f"{patch.subject}.\n\n{patch.body}\n"
                folders.setdefault(place, {}).update(
                    {f"{program.name}/{name}": data for name, data in found.items()},
                    **{f"{program.name}/README.md": text.encode(errors="replace")})
                before = found
        shared = {name: (step.folder / name).read_bytes() for name in ("README.md", "Makefile")
                  if (step.folder / name).exists()}
        for old in FOLDER.glob(f"{step.number}.[0-9]*"):
            if int(old.suffix[1:]) not in folders:
                put({}, old)
        for place, found in folders.items():
            folder = FOLDER / f"{step.number}.{place}"
            put({**found, **shared,
                 "step.mk": step_mk(folder.name, step, declared[place]).encode()}, folder)
        stamp.write_text(f"{now} {contents(step)}")


def selected_steps(among: Sequence[Step] | None = None) -> list[Step]:
    """The steps that STEP= selects. STEP=05.3 is a rung; with RUNGS=1, the rungs of each
    selected step come before it."""
    steps = tree.steps() if among is None else among
    return tree.selected(and_rungs(steps, tree.words("STEP")), "STEP")


def one_step(usage: str) -> Step:
    """The one step that STEP= selects."""
    if not os.environ.get("STEP"):
        raise SystemExit(f"STEP= is not set: expected {usage}")
    found = selected_steps()
    if len(found) > 1:
        raise SystemExit(f"STEP={' '.join(s.name for s in found)}: several steps: expected one")
    return found[0]
