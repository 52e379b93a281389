"""model.py - how long a program takes on more ranks than can be measured here.

    T(P) = part(P) work + messages(P) latency + bytes(P) / bandwidth + serial(P)

common/PROGRAM/program.mk declares the four terms in P, the number of ranks, and the sizes
of a query, which BUILD/PROGRAM-count counts or the program prints:

    cluster.part     = ceil(nz / P) / nz      fraction of the work of the busiest rank;
                                              1 / P unless set
    cluster.messages = min(P - 1, 2) * steps  that a rank waits for, one after the other
    cluster.bytes    = 4 * nx * ny * steps    that a rank sends
    cluster.serial   = 8 * cells / dram       seconds in which one rank alone works
    cluster.grow     = nz: nz * P             in weak scaling, where the work grows by the
                                              factor P: which size grows, and to what

Formulas are Python's arithmetic with log2, sqrt, ceil, floor, min and max. fma, l1, l2, l3
and dram are the peaks of one thread, in operations and bytes per second. `work` is the
remainder of the measured time of one rank with one thread; latency and bandwidth are
measured between two ranks. The knee is the largest number of ranks with an efficiency of
at least 50 %. The model ignores other networks, noise, and that ranks share a memory.
"""
from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import CodeType
from typing import Any

from tools.history import results
from tools.history.results import Row
from tools.history.tree import Program

MAX_RANKS = 1024
KNEE = 0.5  # efficiency
FUNCTIONS: dict[str, Callable[..., float]] = {
    "log2": math.log2, "sqrt": math.sqrt, "ceil": math.ceil, "floor": math.floor,
    "min": min, "max": max}
ARITHMETIC = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp,
              ast.operator, ast.USub)
UNITS = {"us": 1e-6}  # all others are 1e9 a second


class Unknown(SystemExit):
    """A formula contains an unknown name."""


@cache
def compiled(text: str) -> tuple[CodeType, frozenset[str]]:
    """The code of a formula, and the names in it."""
    parsed = ast.parse(text, mode="eval")
    nodes = list(ast.walk(parsed))
    for node in nodes:
        called = isinstance(node, ast.Call) and not node.keywords and \
            isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
        number = not isinstance(node, ast.Constant) or \
            isinstance(node.value, (int, float))
        if not called and not (isinstance(node, ARITHMETIC) and number):
            raise SystemExit(f"{text}: expected numbers, names, + - * / // % **, and "
                             f"{', '.join(FUNCTIONS)}")
    return (compile(parsed, text, "eval"),
            frozenset(node.id for node in nodes if isinstance(node, ast.Name)))


def value(text: str, names: Mapping[str, float]) -> float:
    """Evaluates a formula, given the values of its names."""
    known: dict[str, Any] = {**names, **FUNCTIONS}
    try:
        code, used = compiled(text)
        for name in sorted(used - known.keys()):
            raise Unknown(f"{text}: unknown name ({name}): expected one of {', '.join(names)}")
        return float(eval(code, {"__builtins__": {}}, known))
    except (SyntaxError, ValueError, ArithmeticError, TypeError) as error:
        raise SystemExit(f"{text}: {error}") from None


@dataclass(frozen=True)
class Model:
    formulas: dict[str, str]  # {part, messages, bytes, serial, grow: formula}
    names: dict[str, float]  # sizes and peaks
    one: float  # seconds of one rank with one thread
    latency: float  # seconds
    bandwidth: float  # bytes per second

    def term(self, key: str, ranks: int, default: str) -> float:
        return value(self.formulas.get(key, default), {**self.names, "P": ranks})

    def overhead(self, ranks: int) -> dict[str, float]:
        """Seconds of all that is not divided among the ranks: {term: seconds}."""
        return {"messages": self.term("messages", ranks, "0") * self.latency,
                "bytes": self.term("bytes", ranks, "0") / self.bandwidth,
                "serial": self.term("serial", ranks, "0")}

    def work(self) -> float:
        """Seconds of the whole work."""
        return (self.one - sum(self.overhead(1).values())) / self.term("part", 1, "1 / P")

    def parts(self, ranks: int, weak: bool = False) -> dict[str, float]:
        """What takes the time: {work, messages, bytes, serial: seconds}; in weak scaling,
        for a query with `ranks` times the work."""
        times, sized = 1, self
        if weak:
            key, _, text = self.formulas["grow"].partition(":")
            grown = value(text.strip(), {**self.names, "P": ranks})
            times, sized = ranks, replace(self, names={**self.names, key.strip(): grown})
        return {"work": times * sized.term("part", ranks, "1 / P") * self.work(),
                **sized.overhead(ranks)}

    def seconds(self, ranks: int, weak: bool = False) -> float:
        return sum(self.parts(ranks, weak).values())

    def efficiency(self, ranks: int, weak: bool = False) -> float:
        """The speed of one of many ranks as a fraction of that of a single rank."""
        return self.seconds(1) / self.seconds(ranks, weak) / (1 if weak else ranks)

    def knee(self, weak: bool = False, most: int = MAX_RANKS) -> int | None:
        """The largest number of ranks that is efficient; None if all up to most are."""
        found = max(p for p in range(1, most + 1) if self.efficiency(p, weak) >= KNEE)
        return found if found < most else None


def rates(machine: str) -> dict[str, float]:
    """The peaks of one thread and of messages that make ceilings measured, {name: value in
    1/s or s}; empty if it did not."""
    return {r["ceiling"]: float(r["value"]) * UNITS.get(r["unit"], 1e9)
            for r in results.read(results.FOLDER / f"{machine}-ceilings.csv")
            if r["threads"] == "1" or r["ceiling"] in ("latency", "bandwidth")}


def measured(program: Program) -> dict[str, dict[tuple[int, int], Row]]:
    """{machine: {(ranks, threads): row}} of what make cluster wrote about a program."""
    found = {machine: {(int(r["ranks"]), int(r["threads"])): r for r in rows
                       if r["program"] == program.name}
             for machine, rows in results.of_kind("cluster").items()}
    return {machine: rows for machine, rows in found.items() if rows}


def model_of(program: Program, machine: str, rows: Mapping[tuple[int, int], Row]
             ) -> Model | None:
    """The model of a program on a machine, given its rows; None if its formulas, its time,
    its sizes, or the cost of a message are not known."""
    formulas = {key.partition(".")[2]: text for key, text in program.mk.items()
                if key.startswith("cluster.")}
    known = rates(machine)
    if "messages" not in formulas or "latency" not in known or (1, 1) not in rows:
        return None
    row = rows[1, 1]
    sizes = {k: float(v) for k, v in re.findall(r"(\w+)=(\S+)", row["sizes"])}
    found = Model(formulas, {**known, **sizes}, float(row["run_median"]),
                  known["latency"], known["bandwidth"])
    try:
        return found if found.seconds(2) > 0 else None
    except Unknown:  # formulas that are newer than the measurements
        return None
