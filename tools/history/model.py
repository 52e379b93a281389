"""model.py - what a program takes on more ranks than can be measured here.

    T(P) = part(P) work + messages(P) latency + bytes(P) / bandwidth + serial(P)

A common/PROGRAM/program.mk says the four in P, the ranks, and the sizes of a query, as
BUILD/PROGRAM-count counts them or the program prints them:

    cluster.part     = ceil(nz / P) / nz      of the work, what the busiest rank has;
                                              1 / P unless said
    cluster.messages = min(P - 1, 2) * steps  that a rank waits for, one after the other
    cluster.bytes    = 4 * nx * ny * steps    that a rank sends
    cluster.serial   = 8 * cells / dram       seconds in which one rank alone works
    cluster.grow     = nz: nz * P             in weak scaling, where the work is P times
                                              as much: which size grows, and to what

Formulas are Python's arithmetic with log2, sqrt, ceil, floor, min and max; fma, l1, l2, l3
and dram are one thread's ceilings, in operations and bytes a second. work is what is left
of the time of one rank with one thread, which is measured; latency and bandwidth are too,
between two ranks. The knee is the most ranks of which each still does half of what one
alone does. Left out: networks other than the one measured, noise, and that ranks share
a memory.
"""
import ast
import math
import operator
import re
from dataclasses import dataclass, replace

from tools.history import results

MOST = 1024  # ranks
ENOUGH = 0.5  # efficiency at the knee
FUNCTIONS = {"log2": math.log2, "sqrt": math.sqrt, "ceil": math.ceil, "floor": math.floor,
             "min": min, "max": max}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
             ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg}
UNITS = {"us": 1e-6}  # all others are 1e9 a second


class Unknown(SystemExit):
    """A formula has a name that stands for nothing."""


def value(text, names):
    """A formula as a number, given what its names stand for."""
    def of(node):
        if isinstance(node, ast.Expression):
            return of(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.Name):
            raise Unknown(f"{text}: {node.id}: expected one of {', '.join(names)}")
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](of(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and \
                node.func.id in FUNCTIONS and not node.keywords:
            return FUNCTIONS[node.func.id](*map(of, node.args))
        raise SystemExit(f"{text}: expected numbers, names, + - * / // % **, and "
                         f"{', '.join(FUNCTIONS)}")
    try:
        return of(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError, ArithmeticError, TypeError) as error:
        raise SystemExit(f"{text}: {error}") from None


@dataclass(frozen=True)
class Model:
    formulas: dict  # {part, messages, bytes, serial, grow: text}
    names: dict  # sizes and ceilings
    one: float  # seconds of one rank with one thread
    latency: float  # seconds
    bandwidth: float  # bytes a second

    def of(self, key, ranks, default):
        return value(self.formulas.get(key, default), {**self.names, "P": ranks})

    def beside(self, ranks):
        """Seconds of all that is not divided among the ranks: {part: seconds}."""
        return {"messages": self.of("messages", ranks, "0") * self.latency,
                "bytes": self.of("bytes", ranks, "0") / self.bandwidth,
                "serial": self.of("serial", ranks, "0")}

    def work(self):
        """Seconds of the work, all of it."""
        return (self.one - sum(self.beside(1).values())) / self.of("part", 1, "1 / P")

    def parts(self, ranks, weak=False):
        """Where the time goes: {work, messages, bytes, serial: seconds}; in weak
        scaling, of a query that has P times the work."""
        times, sized = 1, self
        if weak:
            key, _, text = self.formulas["grow"].partition(":")
            grown = value(text.strip(), {**self.names, "P": ranks})
            times, sized = ranks, replace(self, names={**self.names, key.strip(): grown})
        return {"work": times * sized.of("part", ranks, "1 / P") * self.work(),
                **sized.beside(ranks)}

    def seconds(self, ranks, weak=False):
        return sum(self.parts(ranks, weak).values())

    def efficiency(self, ranks, weak=False):
        """What a rank does, as a share of what one alone does."""
        alone = self.seconds(1)
        return alone / self.seconds(ranks, weak) / (1 if weak else ranks)

    def knee(self, weak=False, most=MOST):
        """The most ranks that are worth it; None where all of them are."""
        found = max(p for p in range(1, most + 1) if self.efficiency(p, weak) >= ENOUGH)
        return found if found < most else None


def rates(machine):
    """What make ceilings measured of one thread and of messages, {name: value in 1/s or
    s}; empty where it did not."""
    path = results.FOLDER / f"{machine}-ceilings.csv"
    rows = results.read(path) if path.exists() else []
    return {r["ceiling"]: float(r["value"]) * UNITS.get(r["unit"], 1e9) for r in rows
            if r["threads"] == "1" or r["ceiling"] in ("latency", "bandwidth")}


def measured(program):
    """{machine: {(ranks, threads): row}} of what make cluster wrote of a program."""
    found = {}
    for path in sorted(results.FOLDER.glob("*-cluster.csv")):
        rows = {(int(r["ranks"]), int(r["threads"])): r for r in results.read(path)
                if r["program"] == program.name}
        if rows:
            found[path.stem.removesuffix("-cluster")] = rows
    return found


def of(program, machine, rows):
    """The Model of a program on a machine, given its rows; None where its formulas, its
    time or sizes, or what a message costs is not known."""
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
    except Unknown:  # formulas that are newer than what was measured
        return None
