"""queries - random queries, drawn from all that a program accepts: a module per program.

    draw(rng, folder)           returns a valid Query; its input files go to folder
    wrong_output(arguments, values, files)
                                what is wrong with the printed values, {key: text}, given
                                the files written, {key: path}; None if nothing is
    refusal(arguments, step, backend)
                                optional: what a back-end must say when it refuses a valid
                                query that is not for it; None if it must take the query

Seed and number determine a query: they give the same arguments and data on any machine.
Queries that failed once are kept in folders of verify/kept/PROGRAM: the file `query` has
the arguments, with {here} for the folder, which also has the data.
"""
from __future__ import annotations

import importlib
import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from tools.base import tree
from tools.base.tree import Program, Step

KEPT = tree.ROOT / "verify" / "kept"


@dataclass
class Query:
    arguments: list[str]
    env: dict[str, str] = field(default_factory=dict)  # additional variables
    backends: tuple[str, ...] = ()  # the only back-ends that accept it; (): all
    free: bool = False  # several answers are right: a refactoring may give another one
    timed: bool = False  # requests only the outputs that are requested when time is measured

    def has(self, backend: str) -> bool:
        return not self.backends or backend in self.backends


def module(program: Program) -> ModuleType | None:
    """The module of a program. None if there is none, or if numpy, which the modules need,
    is not installed; then only the checker judges a run."""
    name = f"tools.verify.queries.{program.name}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name in (name, "numpy"):
            return None
        raise


def require_numpy() -> None:
    """Ends with a message if numpy, without which verification is not complete, is not
    installed."""
    try:
        importlib.import_module("numpy")
    except ModuleNotFoundError:
        raise SystemExit("numpy: not installed: expected Debian's python3-numpy "
                         "(./setup.sh installs it)") from None


def refusal(program: Program, arguments: Sequence[str], step: Step, backend: str) -> str | None:
    function = getattr(module(program), "refusal", None)
    return function(arguments, step, backend) if function else None


def drawn(program: Program, seed: str, number: int, folder: Path) -> Query:
    """Query `number` of a seed, with its files in folder."""
    drawer = module(program)
    if drawer is None:
        raise SystemExit(f"{program.name}: has no module in tools/verify/queries")
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(f"{program.name} {seed} {number}")
    query: Query = drawer.draw(rng, folder)
    query.env.setdefault("CUDA_CPU_SEED", str(rng.randint(1, 10**6)))  # order of the blocks
    query.timed = rng.random() < 0.5
    return query


def kept(program: Program) -> dict[str, Query]:
    """{name: query} of those that failed once."""
    found = {}
    for path in sorted((KEPT / program.name).glob("*/query")):
        query = Query([])
        for line in path.read_text().splitlines():
            key, _, rest = line.partition(" ")
            if key == "env":
                variable, _, value = rest.partition("=")
                query.env[variable] = value
            elif key == "backends":
                query.backends += tuple(rest.split())
            elif line in ("free", "timed"):
                setattr(query, line, True)
            else:
                query.arguments += [word.replace("{here}", str(path.parent))
                                    for word in shlex.split(line)]
        found[path.parent.name] = query
    return found


def keep(program: Program, name: str, query: Query, folder: Path) -> Path:
    """Keeps a query and its files. Returns their folder."""
    target = KEPT / program.name / name
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    lines = [f"env {key}={value}" for key, value in query.env.items()]
    lines += [" ".join(("backends", *query.backends))] * bool(query.backends)
    lines += ["free"] * query.free + ["timed"] * query.timed
    lines += [shlex.quote(word.replace(str(folder), "{here}")) for word in query.arguments]
    (target / "query").write_text("\n".join(lines) + "\n")
    return target
