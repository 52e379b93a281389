"""evidence.py - all that is known about a rung: what its patch declares (rungs.py), and the
rows about it of results/MACHINE.csv, results/instructions.csv and results/registers.csv."""
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from tools.history import results, rungs
from tools.history.results import Row
from tools.history.rungs import Patch
from tools.history.tree import Program, Step

Evidence = dict[str, Any]
# The columns of results/MACHINE.csv that are used.
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


@cache
def tables() -> Tables:
    return Tables()


def of_rungs(step: Step, program: Program) -> list[Evidence]:
    """The evidence of all rungs of a step, in their order."""
    return [tables().add(of_rung(step, program, place, patch))
            for place, patch in enumerate(rungs.patches(step, program), 1)]


def of_whole(step: Step, program: Program) -> Evidence:
    """The evidence of a step that consists of rungs."""
    return tables().add(of_step(step, program))
