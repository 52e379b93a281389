"""papers_form.py - what the figures of a paper show, and what the paper measured.

tools/publish/papers/PROGRAM.figures has "key = value" lines, then figures:

    paper = Xeon E5-2699              the machines of the paper, for captions
    set.88 = nx=48 ny=48 nz=48        a query beside those of program.mk

    figure 1: Title
    kind  = bars                      how it is drawn, see below
    sets  = 56 88                     the queries; left out: those of program.mk
    value = speedup                   of lines: speedup, rate, or seconds
    sweep = OMP_NUM_THREADS 1 .. cores     of lines and heat: what x is; left out: the set
    rows  = tileh 8 32 128            of heat: what y is
    base  = solver=gs                 words for the program that speedups are over
    label | step, or step/variant | back-end | words | the paper's name

A figure's lines go to its end. The back-end gpu is CUDA or OpenCL, whichever GPU there is,
hybrid-gpu is that GPU and the host. Words that begin with OMP_ are for the environment, others
in capitals for make, the rest for the query, where they replace the set's. The paper's name
is the variant in PROGRAM.csv; "-" is none. Kinds:

    bars    seconds and speedup over the first step's sequential program, a panel a set
    rates   what the program calls its rate, the mean over all sets
    lines   a line for each label, along the sets or the sweep
    heat    one label: the rate for each value of sweep and of rows
    shares  what share of the time each kernel takes (profile=1)
    trace   when which thread did which tile (trace=)
    busy    when host and device were busy (busy=)
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.history import results, runs
from tools.history.tree import Program

KINDS = ("bars", "rates", "lines", "heat", "shares", "trace", "busy")


@dataclass(frozen=True)
class Kind:
    """What is run for a bar, on one set: bars of several figures may share one."""
    step: str  # 03, or 03/two-dimensions
    backend: str  # seq, omp, ocl, or gpu: CUDA or OpenCL on a GPU
    words: tuple = ()

    def make(self) -> Any:
        """Words for make, as OPT=-O2."""
        return [w for w in self.words if w[0].isupper() and not w.startswith("OMP_")]

    def environment(self) -> Any:
        return dict(w.split("=", 1) for w in self.words if w.startswith("OMP_"))

    def query(self, words: Sequence[str]) -> Any:
        """The arguments of a set, with those of this kind in their place."""
        own = [w for w in self.words if not w[0].isupper()]
        keys = {w.partition("=")[0] for w in own}
        return [w for w in words if w.partition("=")[0] not in keys] + own

    def also(self, *words: Any) -> Any:
        return Kind(self.step, self.backend, self.words + words)


@dataclass(frozen=True)
class Bar:
    label: str
    kind: Kind
    paper: str  # the paper's name for it; "" where it gives no number


@dataclass
class Figure:
    number: str
    title: str
    values: dict = field(default_factory=dict)
    bars: list = field(default_factory=list)

    def heading(self) -> Any:
        """Its title; a figure without a number is a table of the paper, and says so."""
        return f"Figure {self.number}. {self.title}" if self.number.isdigit() else self.title

    @property
    def kind(self) -> Any:
        """Name of the drawing, one of KINDS."""
        return self.values.get("kind", "bars")

    def sets(self, program: Program) -> Any:
        return self.values["sets"].split() if "sets" in self.values else \
            program.usual

    def along(self, key: str) -> Any:
        """The words of sweep or rows: [(value as text, word)], or [("", None)]."""
        name, _, text = self.values.get(key, "").partition(" ")
        return [(v, f"{name}={v}") for v in numbers(text)] or [("", None)]

    def swept(self) -> tuple[str, str, str]:
        """What the sweep changes; "" if nothing."""
        return self.values.get("sweep", "").partition(" ")[0]

    def runs(self, bar: Any) -> list[tuple[str, str, Kind]]:
        """All that is run for a bar on one set: [(x, y, Kind)]."""
        return [(x, y, bar.kind.also(*filter(None, (across, down))))
                for y, down in self.along("rows") for x, across in self.along("sweep")]

    def base(self, first: Any) -> Any:
        """What its speedups are over."""
        return Kind(first.number, "seq", tuple(self.values.get("base", "").split()))


def numbers(text: str) -> Any:
    """"1 .. cores" is 1, 2, 4 and so on, and as many as there are; else words as they
    stand."""
    if text.split() == ["1", "..", "cores"]:
        cores = runs.processors()
        return [str(n) for n in sorted({2 ** k for k in range(cores.bit_length())
                                        if 2 ** k <= cores} | {cores})]
    return text.split()


def read_figures(path: Path) -> Any:
    """The figures of a file, and the "key = value" lines before them."""
    figures: list[Figure] = []
    values: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        opens = re.fullmatch(r"figure (\w+): (.+)", line)
        words = [w.strip() for w in line.split("|")]
        if opens:
            figures.append(Figure(opens[1], opens[2]))
        elif len(words) == 5 and figures:
            label, step, backend, more, paper = ("" if w == "-" else w for w in words)
            figures[-1].bars.append(
                Bar(label, Kind(step, backend, tuple(more.split())), paper))
        elif "=" in line:
            key, _, value = line.partition("=")
            (figures[-1].values if figures else values)[key.strip()] = value.strip()
        elif line:
            raise SystemExit(f"{path}:{number}: expected figure N: title, key = value, or "
                             "label | step | back-end | words | the paper's name")
    for f in figures:
        if f.kind not in KINDS:
            raise SystemExit(f"{path}: figure {f.number}: kind = {f.kind}: expected one "
                             f"of {', '.join(KINDS)}")
    return figures, values


class Paper:
    """What the paper measured, in seconds or as a rate: its csv names the column. The
    set "mean" is that of all sets."""

    def __init__(self, path: Path) -> None:
        rows = results.read(path)
        self.unit = "rate" if rows and "rate" in rows[0] else "seconds"
        self.values = {(r["variant"], r["device"], r["set"]): float(r[self.unit])
                       for r in rows}
        self.names = {r["variant"] for r in rows}
        first = min((r["step"] for r in rows), default="")
        self.sequential: dict[str, float] = {}  # by set: the first time of the first step
        for r in rows:
            if r["step"] == first:
                self.sequential.setdefault(r["set"], float(r[self.unit]))

    def of(self, figure: Any, bar: Any, name: str) -> float | None:
        """The paper's number for a bar on a set; None where it has none."""
        if not bar.paper:
            return None
        if bar.paper not in self.names:
            raise SystemExit(f"figure {figure.number}: the paper has no {bar.paper}")
        device = "GPU" if bar.kind.backend == "gpu" else "CPU"
        return self.values.get((bar.paper, device, name),
                               self.values.get((bar.paper, device, "mean")))
