"""queries - what each program can be asked, drawn at random: one module a program.

    draw(rng, folder)           a valid Query; the files that it reads are written to folder
    said(words, values, files)  what is wrong with the printed values, {key: text}, beside
                                the files written, {key: path}; None if nothing
    refusal(words, step, backend)   if a valid query is not for this back-end, what it
                                must say as it refuses; or else None. Not all have it

A query is known by its seed and number: the same two give the same words and data on any
machine. Kept queries are folders of verify/kept/PROGRAM: the file `query` with the words,
{here} for the folder, and the data beside it.
"""
import importlib
import random
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from tools.history import tree

KEPT = tree.ROOT / "verify" / "kept"


@dataclass
class Query:
    words: list
    env: dict = field(default_factory=dict)  # more of the environment
    backends: tuple = ()  # of those that take it, where not all do
    free: bool = False  # several answers are right: a refactoring may give another
    timed: bool = False  # only the outputs that are asked for when time is taken

    def has(self, backend):
        return not self.backends or backend in self.backends


def of(program):
    """The module of a program; None for one that has none."""
    try:
        return importlib.import_module(f"tools.verify.queries.{program.name}")
    except ModuleNotFoundError as missing:
        if missing.name == f"tools.verify.queries.{program.name}":
            return None
        raise


def refusal(program, words, step, backend):
    asked = getattr(of(program), "refusal", None)
    return asked and asked(words, step, backend)


def drawn(program, seed, number, folder):
    """Query number of a seed, its files in folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(f"{program.name} {seed} {number}")
    query = of(program).draw(rng, folder)
    query.env.setdefault("CUDA_CPU_SEED", str(rng.randint(1, 10**6)))  # shuffles blocks
    query.timed = rng.random() < 0.5
    return query


def kept(program):
    """{name: query} of those that failed once."""
    found = {}
    for path in sorted((KEPT / program.name).glob("*/query")):
        lines = path.read_text().splitlines()
        env = dict(line[4:].split("=", 1) for line in lines if line.startswith("env "))
        backends = [word for line in lines if line.startswith("backends ")
                    for word in line.split()[1:]]
        words = [word for line in lines
                 if line not in ("free", "timed") and not line.startswith(("env ", "backends "))
                 for word in shlex.split(line.replace("{here}", str(path.parent)))]
        found[path.parent.name] = Query(words, env, tuple(backends), "free" in lines,
                                         "timed" in lines)
    return found


def keep(program, name, query, folder):
    """Keeps a query and its files: their folder."""
    target = KEPT / program.name / name
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file():
            (target / path.name).write_bytes(path.read_bytes())
    lines = [f"env {key}={value}" for key, value in query.env.items()]
    lines += [" ".join(("backends", *query.backends))] * bool(query.backends)
    lines += ["free"] * query.free + ["timed"] * query.timed
    lines += [shlex.quote(word.replace(str(folder), "{here}")) for word in query.words]
    Path(target / "query").write_text("\n".join(lines) + "\n")
    return target
