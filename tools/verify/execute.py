"""execute.py - runs a back-end on a query and decides whether it ran correctly.

produce() runs the binary and compares what it prints with the files that it writes;
run_and_check() also runs the program's checker on the files.
"""
from __future__ import annotations

import hashlib
import math
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import runs
from tools.base.runs import TIMEOUT, Argument, Environment, launch, number, run
from tools.base.tree import Output, Program, Step
from tools.verify import queries

Outcome = dict[str, Any]
# Percent of the values of a query whose budget may be so large that no result violates it.
MAX_VACUOUS = 5


def irregular(path: Path) -> str | None:
    """What is wrong with a file that a program wrote; None for a regular one."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return f"{path.name}: not a regular file with one name"
    return None


def wrong_output(program: Program, arguments: Sequence[str], values: Mapping[str, str],
                 files: Mapping[str, Path], elapsed: float) -> str | None:
    """What is wrong with the values that a program printed; None if nothing is. `elapsed` is
    the time of the process in seconds."""
    for key, text in values.items():
        if key.startswith("Time_") and not 0 <= number(text) < math.inf:
            return f"{key}={text[:40]}: expected seconds"
    kernel, run, init = (number(values.get(f"Time_{key}", "0"))
                         for key in ("kernel", "run", "init"))
    if init + run > 1.01 * elapsed + 1e-3:
        return f"Time_init={init:g} Time_run={run:g}: the process took {elapsed:g} seconds"
    if kernel > 1.01 * run + 1e-3 and "Share" not in values:  # two sides can add up to more
        return f"Time_kernel={kernel:g}: expected at most Time_run={run:g}"
    module = queries.module(program)
    try:
        return module.wrong_output(arguments, values, files) if module else None
    except (ValueError, KeyError, IndexError, OSError, EOFError) as error:
        return f"an output cannot be read: {error}"


def produce(step: Step, program: Program, backend: str, arguments: Sequence[str],
            folder: Path, env: Environment | None = None, timeout: float = TIMEOUT,
            binary: Path | None = None, extra: Sequence[str] = (),
            within: Sequence[Argument] = (), outputs: Sequence[Output] | None = None) -> Outcome:
    """Runs a back-end on a query; its outputs go to folder. Returns a dict:

        ok        the run ended normally and printed what agrees with its files
        share     None; check() determines it
        reason    one line, if not ok
        caught    None, "said" (the printed values are wrong), or how the run ended
        times     {init, run, kernel}: seconds
        files     {key of the output: path}
        result    a runs.Result
        refused   True if the query is not for this back-end and was refused as expected

    An output in folder that was not requested is an error. `extra` are arguments for the binary
    alone, `within` is a command that runs it, and `outputs` are the outputs that are
    requested: all unless given."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {o.key: folder / o.file for o in outputs or program.outputs}
    for path in files.values():
        path.unlink(missing_ok=True)  # an earlier run's file must not be checked
    before = set(os.listdir(folder))

    command, variables = launch(binary or step.binary(program, backend), backend, env)
    command = [*within, *command, *arguments, *extra, *(f"{k}={p}" for k, p in files.items())]
    result = run(command, timeout, variables)
    values = result.values()
    times = {k[5:]: number(v) for k, v in values.items() if k.startswith("Time_")}
    outcome: Outcome = {"share": None, "files": files, "result": result, "times": times}

    refusal = queries.refusal(program, arguments, step, backend)
    written = [path for path in files.values() if os.path.lexists(path)]
    kinds = tuple(path.suffix for path in files.values())
    others = {name for name in os.listdir(folder) if name.endswith(kinds)} - before - {
        path.name for path in written}
    reason = result.failure() or next(filter(None, map(irregular, written)), None) or \
        (f"writes {', '.join(sorted(others))}, which was not requested" if others else None)
    caught = reason.split(":")[0] if reason else None
    if refusal and reason and caught == "refuses" and refusal in reason and not written:
        return {**outcome, "ok": True, "reason": None, "caught": None, "refused": True}
    if not reason:
        reason = f"takes {refusal}" if refusal else \
            wrong_output(program, [*arguments, *extra], values, files, result.seconds)
        caught = "said" if reason else None
    return {**outcome, "ok": not reason, "reason": reason, "caught": caught}


def check(program: Program, arguments: Sequence[str], files: Mapping[str, Path], name: str,
          method: Sequence[str], checker: Path | None = None) -> Outcome:
    """Whether the outputs of a query are right: runs.check(), or, for whole output traces,
    section_check.check()."""
    if "stack" not in files:
        return runs.check(program, arguments, files, name, method, checker=checker)
    queries.require_numpy()
    from tools.verify import section_check  # needs numpy
    return section_check.check(arguments, files)


def run_and_check(step: Step, program: Program, backend: str, arguments: Sequence[str],
                  folder: Path, name: str, env: Environment | None = None,
                  timeout: float = TIMEOUT, binary: Path | None = None,
                  extra: Sequence[str] = (), checker: Path | None = None,
                  outputs: Sequence[Output] | None = None,
                  checked: dict[str, Outcome] | None = None) -> Outcome:
    """produce(), then check(), which sets ok, share and reason; `caught` is "check" if the
    checker rejects the files. `name` is the query's, for the oracle's result. `checked`,
    {digest of the files: result}, spares the checker files that it has already seen."""
    outcome = produce(step, program, backend, arguments, folder, env, timeout, binary, extra,
                      outputs=outputs)
    if outcome["ok"] and not outcome.get("refused"):
        method = step.check_arguments(program)
        mark = runs.query_key([*arguments, *method], digest(outcome["files"], arguments),
                              checker or program.checker())
        known = checked if checked is not None else {}
        if mark not in known:
            known[mark] = check(program, arguments, outcome["files"], name, method,
                                checker=checker)
        outcome.update(known[mark])
        outcome["caught"] = None if outcome["ok"] else "check"
    return outcome


def digest(files: Mapping[str, Path], arguments: Sequence[str] = ()) -> str:
    """A digest that is equal if the bytes of all files are, including those in folders
    that the arguments name."""
    mark = hashlib.sha256()
    folders = (Path(a.partition("=")[2]) for a in arguments if "=" in a)
    more = {str(path): path for folder in folders if folder.is_dir()
            for path in folder.iterdir() if path.is_file()}
    for key, path in sorted({**files, **more}.items()):
        mark.update(f"{key} {path.stat().st_size}\n".encode() + path.read_bytes()
                    if path.exists() else b"none\n")
    return mark.hexdigest()
