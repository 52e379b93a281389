"""evidence.py - make evidence: all that is known about a rung, in one file.

    results/evidence/semblance/05.3.json    the third rung of step 05
    results/evidence/semblance/05.json      step 05, which consists of rungs, as a whole

    evidence.py            writes these files, and deletes those that belong to no rung
    evidence.py --check    exits with 1 and names each file that is missing, stale, or of no rung

A file has what the patch of the rung declares (rungs.py), and the rows about the rung of
results/MACHINE.csv, results/instructions.csv and results/registers.csv. They are joined here
and nowhere else: lessons and report read the files. results/README.md describes the format.
The same patches and tables give the same bytes.
"""
from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.history import options, results, rungs, tree
from tools.history.diff import display
from tools.history.results import Row
from tools.history.rungs import Patch
from tools.history.tree import Program, Step

Evidence = dict[str, Any]
# The columns of results/MACHINE.csv that a file has.
MEASURED = """set backend device threads commit runs over_previous over_previous_low
over_previous_high over_previous_is over_first over_first_low over_first_high over_first_is
times_of run_median process_median mark""".split()
# The columns whose values are texts; all others are numbers, null if they are empty.
TEXTS = """set backend device commit over_previous_is over_first_is times_of mark compiler flags
query unit model version arch kernel window""".split()


# ---- what is declared ------------------------------------------------------------------


def predictions(declared: Mapping[str, str]) -> list[Row]:
    """A row per prediction. `declared` is {target: "1.3 on this: reason"}, where target is omp,
    ocl, gpu or cpu."""
    rows = []
    for target, text in declared.items():
        speedup, _, reason = text.partition(":")
        ratio = re.match(r"[\d.]+", speedup)
        rows.append({"target": target, "speedup": speedup,
                     "ratio": float(ratio[0]) if ratio else None, "reason": reason.strip()})
    return rows


def of_rung(step: Step, program: Program, place: int, patch: Patch) -> Evidence:
    """What a patch declares, and its place."""
    parent = step.parent(program)
    known = patch.trailers.get("Predicted", "")
    return {"program": program.name, "step": f"{step.number}.{place}",
            "previous": f"{step.number}.{place - 1}" if place > 1 else parent and parent.name,
            "title": patch.subject, "kind": patch.trailers.get("Kind", ""),
            "backends": patch.words("Backends"), "predicted": re.split(r"\W", known)[0],
            "known": known, "predictions": predictions(patch.predictions)}


def of_step(step: Step, program: Program) -> Evidence:
    """What step.mk declares, which does not say when the prediction was made."""
    parent = step.parent(program)
    declared = {device: step.prediction(program, device) for device in ("cpu", "gpu")}
    return {"program": program.name, "step": step.name, "previous": parent and parent.name,
            "title": step.title(program), "kind": step.kind(program),
            "backends": step.backends(program), "predicted": "", "known": "",
            "predictions": predictions({k: v for k, v in declared.items() if v})}


# ---- what is known -----------------------------------------------------------------------


def value(column: str, text: str | None) -> Any:
    """The value of a column of a table: a text, a number, or None if it is empty."""
    if column in TEXTS:
        return text or ""
    if not text:
        return None
    return float(text) if re.search(r"[^\d-]", text) else int(text)


def missed(row: Row, predicted: list[Row]) -> bool | None:
    """Whether a measured speedup is outside half to double of the prediction; None if one of
    them is not known."""
    target = rungs.PREDICTED.get(row["backend"])
    ratio = next((p["ratio"] for p in predicted if p["target"] == target), None)
    if not ratio or not row["over_previous"]:
        return None
    return not 0.5 <= row["over_previous"] / ratio <= 2


class Tables:
    """The tables of results/ that have rows about rungs."""

    def __init__(self) -> None:
        self.measured = results.measured(with_rungs=True)
        self.counted = {name: results.read(results.FOLDER / f"{name}.csv")
                        for name in ("instructions", "registers")}

    def add(self, found: Evidence) -> Evidence:
        """Adds the rows about a rung or a step to what is declared."""
        def here(row: Row) -> bool:
            return (row["program"], row["step"]) == (found["program"], found["step"])
        measured: list[Row] = [
            {"machine": machine, **{c: value(c, r.get(c)) for c in MEASURED}}
            for machine, rows in self.measured.items() for r in rows if here(r)]
        for row in measured:
            row["missed"] = missed(row, found["predictions"])
        measured.sort(key=lambda r: (r["machine"], r["set"], r["backend"]))
        counted = {name: [{c: value(c, text) for c, text in r.items()
                           if c not in ("program", "step")} for r in rows if here(r)]
                   for name, rows in self.counted.items()}
        return {**found, "measured": measured, **counted}


# ---- the files -----------------------------------------------------------------------------


def path_of(program: Program, name: str) -> Path:
    return results.FOLDER / "evidence" / program.name / f"{name}.json"


def as_text(found: Evidence) -> str:
    """JSON with a line per key, and per row of a table: a new measurement is a new line."""
    def line(content: Any) -> str:
        return json.dumps(content, ensure_ascii=False)
    keys = [f' {line(key)}: ' + ("[\n" + ",\n".join(f"  {line(row)}" for row in content) + "\n ]"
                                 if content and isinstance(content, list)
                                 and isinstance(content[0], dict) else line(content))
            for key, content in found.items()]
    return "{\n" + ",\n".join(keys) + "\n}\n"


def expected() -> dict[Path, str]:
    """All files as they should be: {path: text}."""
    tables, found = Tables(), {}
    for program in tree.programs():
        for step in tree.steps():
            patches = rungs.patches(step, program)
            for place, patch in enumerate(patches, 1):
                found[path_of(program, f"{step.number}.{place}")] = as_text(
                    tables.add(of_rung(step, program, place, patch)))
            if patches:
                found[path_of(program, step.number)] = as_text(
                    tables.add(of_step(step, program)))
    return found


def there() -> set[Path]:
    return {p for p in (results.FOLDER / "evidence").rglob("*") if p.is_file()}


def checked() -> Iterator[tuple[str, str]]:
    """(file, what is wrong with it or nothing) of each file that is there or should be."""
    wanted, found = expected(), there()
    for path in sorted(wanted.keys() | found):
        problem = ""
        if path not in wanted:
            problem = "belongs to no rung (make evidence deletes it)"
        elif path not in found:
            problem = "is missing (make evidence)"
        elif path.read_text(encoding="utf-8") != wanted[path]:
            problem = "stale: patches or tables have changed (make evidence)"
        yield display(path), problem


def write() -> list[Path]:
    """Makes all files as they should be. Returns those that have changed."""
    wanted, found = expected(), there()
    changed = [path for path, text in wanted.items()
               if path not in found or path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(wanted[path], encoding="utf-8")
        temporary.replace(path)
    gone = sorted(found - wanted.keys())
    for path in gone:
        path.unlink()
    return changed + gone


def read(program: Program, name: str) -> Evidence:
    """The evidence of a rung (05.3) or of a step (05), as its file has it."""
    path = path_of(program, name)
    try:
        found: Evidence = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SystemExit(f"{display(path)}: is missing: expected make evidence") from None
    except ValueError as error:
        raise SystemExit(f"{display(path)}: is not JSON ({error}): expected make "
                         "evidence") from None
    return found


def of_rungs(step: Step, program: Program) -> list[Evidence]:
    """The evidence of all rungs of a step, in their order."""
    return [read(program, f"{step.number}.{place}")
            for place, _ in enumerate(rungs.paths(step, program), 1)]


def main() -> int:
    parser = options.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not options.parse(parser).check:
        for path in write():
            print(f"{display(path)}: {'written' if path.exists() else 'deleted'}")
        return 0
    problems = [f"{path}: {problem}" for path, problem in checked() if problem]
    print(*problems, sep="\n", end="\n" * bool(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
