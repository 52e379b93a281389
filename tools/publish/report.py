"""report.py - make report: the whole history as pages, build/report/index.html.

The index has a staircase a program and links; each step, each program of a step (its
lesson, whole diff folded) and each program has a page. They need no network and no
JavaScript, and the folder can be moved. A page is Markdown, mostly the tree's own, which
pandoc makes HTML (page.html, links.lua, report.css); tools/publish/lessons.py says the
generated parts anew, draw.py draws.

Steps and programs come from tree.py, numbers from results/, as make bench, flags, ceilings,
registers and evidence write them, figures from build/papers/. What was not measured is left out,
and a line says which target measures it.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from tools.history import (
    copies,
    diff,
    evidence,
    model,
    options,
    results,
    runs,
    spans,
    tree,
    verdict,
)
from tools.history.results import Row, table
from tools.history.tree import Program, Step
from tools.measure import section
from tools.publish import draw, lessons, papers_form
from tools.publish.draw import np
from tools.publish.section import panels

HERE = Path(__file__).resolve().parent
OUT = tree.build() / "report"
PICTURES = tree.build() / "pictures"  # kept: some take a minute
KINDS = {"start": "where it starts", "refactor": "same operations, same order",
         "port": "same algorithm elsewhere", "algebra": "different rounding",
         "memory": "same operations, other storage"}
# The paper's second search, with a finer (A, B) panel: what is shown of a program whose data
# are traces.
SEARCH = """in={data}/paper.su m0=4120 h0=-480 t0=1.94 tau=0.005
a=-0.00088484,0.00111516,100 b=-0.001194,0.000806,100 c=6.4e-7,8.4e-7,4 d=6e-10,8e-10,2
e=4.61e-8,6.61e-8,4 out={file} panel={file}.panel.npy"""
LEGEND = """<p class="note">A number says how many times as fast a back-end is as in the step
before, the median of interleaved, verified runs. ~1.00 cannot be told from 1, <span
class="loss">0.90</span> is slower, and = is the same code.</p>

"""
# Columns of the lists of a rung's evidence that the report shows, and their headings.
EVIDENCE = {
    "instructions": ("backend instructions loads stores div sqrt packed branch integer "
                     "model_cycles", "Executed instructions per unit of work, by class, and the "
                     "cycles of a model of the pipeline"),
    "registers": ("compiler window kernel registers stack_bytes spill_store_bytes "
                  "spill_load_bytes shared_bytes", "Registers of a thread, and bytes of stack, "
                  "spills and shared memory, per kernel")}
NEEDED = {"program", "set", "step", "backend", "device", "over_previous_is", "of_ceiling"}


@dataclass
class Page:
    path: str  # below OUT
    title: str
    text: str  # Markdown; its links are paths of the tree, or report/PATH
    folder: str = "."  # in the tree: links are relative to it
    above: str = ""  # HTML over and under the text
    below: str = ""
    look: str = ""  # a class of report.css

    def write(self, folder: Path) -> None:
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        for name in re.findall(r"\]\([./]*/docs/figures/([\w.-]+)\)", self.text):
            shutil.copyfile(tree.ROOT / "docs" / "figures" / name, folder / "figures" / name)
        words = {"root": "../" * self.path.count("/"), "folder": self.folder,
                 "pagetitle": self.title}
        shown = {"above": self.above, "below": self.below, "class": self.look}
        ended = subprocess.run(
            ["pandoc", "--from", "gfm", "--to", "html5", "--wrap", "none",
             "--template", HERE / "page.html", "--lua-filter", HERE / "links.lua",
             *(f"--metadata={k}={v}" for k, v in words.items()),
             *(f"--variable={k}={v}" for k, v in shown.items() if v),
             "--output", path], input=self.text, capture_output=True, text=True)
        if ended.returncode or ended.stderr:
            raise SystemExit(f"report: {self.path}: pandoc: {ended.stderr.strip()}")


# ---- pieces ------------------------------------------------------------------------


def picture(path: str, words: str, text: str = "") -> str:
    """A file of the report as a figure, what it shows in words, and HTML below it."""
    text = f"<figcaption>{text}</figcaption>" if text else ""
    return f'<figure><div class="scroll"><img src="{path}" alt="{escape(words)}" ' \
        f'loading="lazy"></div>{text}</figure>\n'


def folded(summary: str, markdown: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{markdown}\n\n</details>\n\n"


def code(text: str, language: str) -> str:
    return f"~~~~~~~~ {language}\n{text.rstrip(chr(10))}\n~~~~~~~~\n"


def spaced(name: str) -> str:
    """05 algebra"""
    return name.replace("_", " ")


def seconds(text: str) -> str:
    return f"{float(text):.4f}" if text else ""


def headed(program: Program) -> str:
    """Its title as a sentence begins."""
    return program.title[:1].upper() + program.title[1:]


def of(rows: Sequence[Row], program: Program, **wanted: Any) -> list[Row]:
    """The rows of a program's shown set, of steps only."""
    return [r for r in rows if (r["program"], r["set"]) == (program.name, program.shown)
            and "/" not in r["step"] and all(r[k] == v for k, v in wanted.items())]


def compared(rows: Sequence[Row]) -> dict[Program, list[str]]:
    """The back-ends of each program that a machine has compared with a step before."""
    found = {p: [b for b in tree.BACKENDS if b not in ("seq", *tree.FOR_CHECKING) and any(
        r["over_previous_is"] for r in of(rows, p, backend=b))] for p in tree.programs()}
    return {p: backends for p, backends in found.items() if backends}


# ---- drawings and pictures -----------------------------------------------------------


def stairs_of(rows: Sequence[Row], program: Program) -> Any:
    """{back-end: {index of step: (times as fast as the first, low, high)}}."""
    place = {s.name: i for i, s in enumerate(tree.steps())}
    first = next((s.name for s in tree.steps() if s.has(program)), None)
    found: dict[str, dict[int, Any]] = {}
    for r in of(rows, program):
        if r["step"] in place and r["backend"] not in tree.FOR_CHECKING:
            same = r["step"] == first or r["over_first_is"] == "same code"
            three = tuple(float(r[f"over_first{k}"]) for k in ("", "_low", "_high")) \
                if r["over_first"] else (1.0,) * 3 if same else None
            if three:
                found.setdefault(r["backend"], {})[place[r["step"]]] = three
    return {b: found[b] for b in tree.BACKENDS if b in found}


def drawn(program: Program, machine: str, rows: Sequence[Row], folder: Path) -> dict[str, str]:
    """Draws what is known of a program on a machine: {what: path below the report}."""
    numbers, found = [s.number for s in tree.steps()], {}
    series = stairs_of(rows, program)
    name = f"figures/{program.name}-{machine}"
    if series:
        for what, width in (("stairs", draw.PHONE), ("card", draw.CARD)):
            found[what] = f"{name}-{what}.svg"
            draw.stairs(folder / found[what], numbers, series, width)
    limits: dict[str, dict[int, float]] = {}
    for r in of(rows, program):
        if r["of_ceiling"] and r["backend"] in series:
            place = next(i for i, s in enumerate(tree.steps()) if s.name == r["step"])
            limits.setdefault(r["backend"], {})[place] = 100 * float(r["of_ceiling"])
    if limits:
        found["shares"] = f"{name}-shares.svg"
        draw.shares(folder / found["shares"], numbers, limits)
    return found


def spoken(program: Program, machine: str, rows: Sequence[Row]) -> str:
    """What a staircase shows, for those who do not see it."""
    return f"{program.name} on {results.display_name(machine)}, times as fast as step 00: " + \
        "; ".join(f"{b} " + ", ".join(f"{tree.steps()[i].number}: {draw.number(v[0])}"
                                      for i, v in points.items())
                  for b, points in stairs_of(rows, program).items())


def made(program: Program, name: str, words: str) -> Path | None:
    """A file that the program's last OpenMP binary makes in PICTURES, where words, a
    query, have {file}, or None where there is no such binary. Kept until that is newer."""
    path = PICTURES / name
    binary = next((s.binary(program, "omp") for s in reversed(tree.steps())
                   if "omp" in s.backends(program)), None)
    if path.exists() and (not binary or not binary.exists() or
                          binary.stat().st_mtime < path.stat().st_mtime):
        return path
    if not binary:
        return None
    if not binary.exists():
        runs.progress(f"building {binary.name}")
        build = os.environ.get("BUILD", "build")
        problem = copies.make(f"BUILD={build}", "data",
                              f"{build}/{binary.relative_to(tree.build())}")
        if problem:
            raise SystemExit(f"report: {binary.name}: {problem}")
    path.parent.mkdir(parents=True, exist_ok=True)
    runs.progress(f"making {name}")
    ended = runs.run([binary, *program.arguments(words.replace("{file}", str(path)))], 600)
    if ended.failure():
        raise SystemExit(f"report: {name}: {ended.failure()}")
    return path


def named_pictures(program: Program, folder: Path) -> Any:
    """Those of program.mk, as in picture.NAME = arguments of a query, {png} where the file
    goes | caption: [(path below the report, caption, query)]."""
    found = []
    for key, line in program.mk.items():
        if key.startswith("picture."):
            words, _, about = map(str.strip, line.partition("|"))
            name = f"{program.name}-{key[8:]}.png"
            path = made(program, name, words.replace("{png}", "{file}"))
            if path:
                shutil.copyfile(path, folder / "pictures" / name)
                found.append((f"pictures/{name}", about,
                          words.replace("{png}", name).replace("{data}/", "")))
    return found


def search_pictures(program: Program, folder: Path) -> Any:
    """What SEARCH finds: the traces with its moveout over them, and its (A, B) panel."""
    best = made(program, f"{program.name}-best.npy", SEARCH)
    query = dict(w.split("=", 1) for w in program.arguments(SEARCH))
    if not best:
        return []
    a, b, c, d, e, _, semblance = np.load(best).astype(float)
    m0, h0, t0 = (float(query[k]) for k in ("m0", "h0", "t0"))
    traces = section.traces(query["in"])
    m, h = section.positions(traces)
    dm, dh = m - m0, h - h0
    arrivals = np.sqrt((t0 + a * dm + b * dh) ** 2 + c * dh ** 2 + d * dm ** 2 + e * dh * dm)
    dt = float(traces["dt"][0]) * 1e-6
    lines = [[(i + 1, arrivals[i]) for i in np.flatnonzero(dm == x)] for x in np.unique(dm)]
    names = [f"pictures/{program.name}-{n}.svg" for n in ("card", "gather", "panel")]
    for name, bare in zip(names, (True, False)):
        draw.gather(folder / name, traces["samples"], t0, dt, lines, bare)
    a_range, b_range = (tuple(map(float, query[k].split(",")[:2])) for k in "ab")
    draw.search_panel(folder / names[2], np.load(best.with_name(f"{best.name}.panel.npy")),
                      a_range, b_range, (a, b))
    return [(names[1], f"{len(traces)} traces around {t0:g} s, and the moveout that the "
             "search found, over them", ""),
            (names[2], f"The largest semblance of each of {query['a'].split(',')[2]} values "
             f"of A and as many of B; ringed, the pair found, of semblance {semblance:.4f}",
             ""), *section_picture(program, folder)]


def section_picture(program: Program, folder: Path) -> Any:
    """What is missing in a line, filled; nothing where no step is built."""
    try:
        found = section.fill(program, "omp")
    except section.NotBuilt:
        return []
    name = f"pictures/{program.name}-section.svg"
    draw.section(folder / name, panels(found),
                 float(found.truth["dt"][0]) * 1e-6)
    return [(name, found.text(), "")]


# ---- pages -------------------------------------------------------------------------


def strip(root: str, step: Step | None = None, program: Program | None = None) -> str:
    """The links over a page: the index, the steps (of this program), the programs (of
    this step); what the page is about is marked."""
    def link(words: str, path: str, current: bool) -> str:
        return f'<a aria-current="page">{words}</a>' if current else \
            f'<a href="{root}{path}">{words}</a>'
    steps = [s for s in tree.steps() if not program or s.has(program)]
    programs = [p for p in tree.programs() if not step or step.has(p)]
    return (f'<nav aria-label="Pages"><p>{link("History", "index.html", False)}</p><p>' +
            "".join(link(s.number, page_of(s, program if step else None), s is step)
                    for s in steps) + "</p><p>" +
            "".join(link(p.name, page_of(step, p), p is program) for p in programs)
            + "</p></nav>")


def page_of(step: Step | None = None, program: Program | None = None) -> str:
    """Below OUT: a step's page, a program's, a lesson."""
    if not step:
        return f"{program.name}.html" if program else "index.html"
    return f"{step.name}/{program.name if program else 'index'}.html"


def neighbours(root: str, step: Step, program: Program | None = None) -> str:
    """The links under a page, to the steps before and after."""
    steps = [s for s in tree.steps() if not program or s.has(program)]
    i = steps.index(step)
    near = [(s, "prev", f"← {spaced(s.name)}") for s in steps[max(0, i - 1):i]] + \
        [(s, "next", f"{spaced(s.name)} →") for s in steps[i + 1:i + 2]]
    return '<nav class="near" aria-label="Neighbours">' + "".join(
        f'<a rel="{rel}" href="{root}{page_of(s, program)}">{words}</a>'
        for s, rel, words in near) + "</nav>"


changes = lru_cache(maxsize=None)(diff.step_changes)


def whole(step: Step, program: Program) -> str:
    """What the step changes, a folded diff a file; of a first step, its files."""
    if not tree.before(step, program):
        return "".join(folded(f"<code>{name}</code>", code(path.read_text(), "c"))
                       for name, path in diff.sources(step.folder / program.name).items())
    text = ""
    for name, change in changes(step, program).items():
        added, removed = diff.count(change)
        text += folded(f"<code>{name}</code> +{added} −{removed}", code(change, "diff"))
    return text


def said_anew(path: Path, kinds: Mapping[str, Callable[[], str]], more: Any = None) -> str:
    """A README with its generated parts as they are now; more: {KIND: what follows}."""
    text, _ = lessons.parts(path, kinds)
    return lessons.PART.sub(
        lambda m: f"\n{kinds[m[2]]()}\n{(more or {}).get(m[2], '')}\n", text)


def evidence_of_rungs(step: Step, program: Program) -> str:
    """For each rung, folded: the reasons of its predictions, what its code executes, and the
    registers of its kernels."""
    text = ""
    for rung in evidence.of_rungs(step, program):
        known = f"Predicted {rung['known']}:\n\n" + table(
            ["", "predicted", "reason"],
            [[p["target"], p["speedup"], escape(p["reason"], False)] for p in rung["predictions"]])
        for key, (names, about) in EVIDENCE.items():
            columns = names.split()
            known += f"\n{about}:\n\n" * bool(rung[key]) + table(
                [c.replace("_", " ") for c in columns],
                [["" if r[c] is None else escape(str(r[c])) for c in columns] for r in rung[key]]
            ) * bool(rung[key])
        text += folded(f"Evidence of rung {rung['step']}: {escape(rung['title'])}", known)
    return text


def shared(step: Step, program: Program, folder: Path) -> str:
    """How host and device shared the work, as tools/measure/shares.py found it: a curve
    and who was busy when, of each machine and back-end."""
    text = ""
    drawn_sweeps: dict[tuple[str, str], list[list[Row]]] = {}
    for machine, backend, sweep in lessons.sweeps(step, program):
        drawn_sweeps.setdefault((machine, backend), []).append(list(sweep.values()))
    for (machine, backend), sweeps in drawn_sweeps.items():
        name = f"figures/{program.name}-{machine}-{backend}"
        text += f"<h3>{results.display_name(machine)}, {backend}</h3>\n"
        for n, rows in enumerate(sweeps, 1):
            text += '<div class="pair">' + "".join(
                curve(f"{name}-{n}-{key}.svg", rows, key, folder)
                for key in ("run", "over_sum")) + "</div>\n\n"
        text += timelines(f"{name}-busy.svg", machine, program, backend, folder)
    if not text and any(tree.BACKENDS[b].sides for b in step.backends(program)):
        text = f"Not measured yet: `make shares PROGRAM={program.name}` measures it.\n"
    return text and f"\n## Shares\n\n{text}"


def curve(name: str, rows: Sequence[Row], key: str, folder: Path) -> str:
    draw.share_curve(folder / name, rows, key)
    auto = next(r for r in rows if r["share"] == "auto")
    what = "Seconds" if key == "run" else "Rate over the sum of both sides alone"
    points = ", ".join(f"{r['share']}: {r['run_median'] if key == 'run' else r[key]}"
                       for r in rows if r["share"].isdigit() or r is auto)
    text = f"set {auto['set']} {auto['words']}".strip() + \
        f": {auto['threads']} threads and {auto['device'].removeprefix('host and ')}"
    return picture(f"../{name}", f"{what} by share={points}; p* is {auto['even']}",
                   escape(text))


def timelines(name: str, machine: str, program: Program, backend: str, folder: Path) -> str:
    """Who was busy when; nothing where no run was looked at."""
    parts: dict[str, list[spans.Span]] = {}
    for r in results.read(results.FOLDER / f"{machine}-busy.csv"):
        if (r["program"], r["backend"]) == (program.name, backend):
            title = f"share={r['share']}" + ", a closer look" * (r["part"] == "close")
            parts.setdefault(title, []).append(spans.from_row(r))
    if not parts:
        return ""
    draw.busy_times(folder / name, list(parts.items()))
    return picture(f"../{name}", f"Who was busy when: {', '.join(parts)}",
                   "Who did what when, and how much of the time each was busy")


def said_ranks(known: Any, knee: Any, kind: str) -> Any:
    """What a drawing of a model shows: the knee, and where the time goes there."""
    if not known:
        return f"{kind} scaling".capitalize()
    weak, most = kind == "weak", model.MAX_RANKS
    parts = known.parts(knee or most, weak)
    whole = sum(parts.values())
    return f"{kind} scaling. ".capitalize() + (
        f"The knee: {knee} ranks, of which each still does half of what one alone does"
        if knee else f"No knee up to {most} ranks") + ". Of the time there: " + ", ".join(
            f"{part} {100 * s / whole:.0f} %" for part, s in parts.items()) + "."


def said_messages(known: Any, where: Any) -> Any:
    if not known:
        return f'<p class="note">No model: of {where} it is not known what a message costs ' \
            "(<code>make ceilings</code>), or of the program what it sends.</p>\n"
    return f'<p class="note">Points are measured on {where}. The dashed line is a model, ' \
        "T(P) = work / P + messages × latency + bytes / bandwidth + serial, of which only " \
        "one rank was timed, and messages between two: " \
        f"{1e6 * known.latency:.3g} µs and {1e-9 * known.bandwidth:.3g} GB/s, through " \
        "memory. A network has other numbers, and its own knee.</p>\n"


def more_ranks(step: Step, program: Program, folder: Path) -> str:
    """A step's program on the ranks that make cluster measured, and on more of them as the
    model of program.mk has it: two drawings a machine, and what they show."""
    text = ""
    for machine, rows in model.measured(program).items():
        if rows.get((1, 1), {}).get("step") != step.name:
            continue
        known, where = model.model_of(program, machine, rows), results.display_name(machine)
        points = {ranks: tuple(float(r[f"over_one{k}"]) for k in ("", "_low", "_high"))
                  for (ranks, threads), r in rows.items()
                  if threads == 1 and r["over_one"]}
        figures = []
        for weak in (False, True) if known and "grow" in known.formulas else (False,):
            knee = known.knee(weak) if known else None
            places = sorted({round(2 ** (n / 4)) for n in range(41)} | {knee or 1})
            curve = [(p, known.efficiency(p, weak) * (100 if weak else p))
                     for p in places] if known else []
            kind = "weak" if weak else "strong"
            name = f"figures/{program.name}-{machine}-ranks-{kind}.svg"
            draw.ranks(folder / name, curve, {1: (100,) * 3} if weak else
                       {1: (1,) * 3, **points}, knee, weak)
            figures.append(picture(
                f"../{name}", f"{program.name} on {where}, {kind} scaling", said_ranks(
                    known, knee, kind)))
        text += f'\n<div class="pair">{"".join(figures)}</div>\n\n' + \
            said_messages(known, where)
    if not text and "mpi" in step.backends(program):
        text = f"Not measured yet: `make cluster PROGRAM={program.name}` measures it.\n"
    return text and f"\n## More ranks\n\n{text}"


def lesson_page(step: Step, program: Program, path: Path,
                kinds: Mapping[str, Callable[[], str]], folder: Path) -> Page:
    text = said_anew(path, kinds, {"diff": whole(step, program),
                                   "rungs": evidence_of_rungs(step, program)}) + \
        shared(step, program, folder) + more_ranks(step, program, folder)
    gains = "; ".join(f"{said} on {results.display_name(machine)}" for machine, rows in
                      results.measured().items() if (said := lessons.gains_text(
                          lessons.gains(rows, step, program))))
    heading, _, rest = text.partition("\n")
    about = f"{step.title(program)}. <span>{KINDS[step.kind(program)]}</span>"
    gains = f'<p class="gains">{gains}</p>' if gains else ""
    return Page(page_of(step, program), f"{spaced(step.name)}, {program.name}",
                f'{heading}\n\n<p class="kind">{about}</p>{gains}\n\n{rest}',
                f"steps/{step.name}/{program.name}", strip("../", step, program),
                neighbours("../", step, program))


def surprise(step: Step, program: Program) -> tuple[str, str]:
    """The anchor and the first paragraph of what surprised in a lesson, as Markdown."""
    text = (step.folder / program.name / "README.md").read_text()
    found = re.search(r"^## (What (?:surprised|did not work, and what surprised))\n+"
                      r"(.+?)(?:\n\n|\Z)", text, re.M | re.S)
    return (re.sub(r"\W+", "-", found[1].lower()), found[2]) if found else ("", "")


def nothing_gained(step: Step) -> str:
    """The programs that gained nothing here somewhere, and what their lessons say."""
    text = ""
    for program in filter(step.has, tree.programs()):
        found = [f"{r['backend']} {verdict.long(r, 'over_previous')} on "
                 f"{results.display_name(machine)}" for machine, rows in results.measured().items()
                 for r in lessons.gains(rows, step, program).values()
                 if r["over_previous_is"] in ("none", "loss", "same code")]
        if found:
            anchor, reason = surprise(step, program)
            text += f"**[{program.name}]({program.name}/README.md#{anchor})**: " \
                f"{'; '.join(found)}.\n\n{reason}\n\n"
    return text and f"## What gained nothing, and why\n\n{text}"


def step_page(step: Step, path: Path, kinds: Mapping[str, Callable[[], str]]) -> Page:
    """The step's README, then how much it changes, and where it gained nothing."""
    rows = []
    for program in filter(step.has, tree.programs()):
        if tree.before(step, program):
            added = {n: diff.count(c)[0] for n, c in changes(step, program).items()}
            name = step.shown(program)
            rows.append([f"[{program.name}]({program.name}/README.md)",
                         f"`{name}` {added.pop(name, 0)}", str(sum(added.values())),
                         ", ".join(f"`{n}` {a}" for n, a in added.items())])
    text = said_anew(path, kinds)
    if rows:
        text += "\n## New lines\n\n" + table(
            ["program", "the lesson", "the rest", "where"], rows) + "\n"
    return Page(page_of(step), spaced(step.name), text + nothing_gained(step),
                f"steps/{step.name}", strip("../", step), neighbours("../", step))


def gained(program: Program) -> str:
    """What the program does in each step, and what that gained."""
    machines = {m: rows for m, rows in results.measured().items() if program in compared(rows)}
    lines = []
    for step in filter(lambda s: s.has(program), tree.steps()):
        lines.append([f"[{spaced(step.name)}](steps/{step.name}/{program.name}/README.md)",
                      step.title(program)] + [
            lessons.gains_text(lessons.gains(rows, step, program))
            for rows in machines.values()])
    return table(["step", "what it does here"] + [
        f"gain on {results.display_name(m)}" for m in machines], lines)


def timed(program: Program, rows: Sequence[Row]) -> str:
    """All sets and steps of a machine, in seconds."""
    return table(
        ["set", "step", "back-end", "start", "run", "deviation", "median", "kernel",
         "over 00", "mark"],
        [[r["set"], r["step"], r["backend"], *(seconds(r[k]) for k in (
            "init_mean", "run_mean", "run_sd", "run_median", "kernel_median")),
          verdict.long(r, "over_first"), r["mark"]]
         for r in sorted(rows, key=lambda r: r["set"]) if r["program"] == program.name]) + \
        "\n" + lessons.legend([r for r in rows if r["program"] == program.name])


def paper_figures(program: Program, folder: Path) -> str:
    """The figures that tools/measure/papers.py drew, in the order of their numbers."""
    found = {p.stem.removeprefix("fig"): p for p in
             (tree.build() / "papers" / program.name).glob("fig*.svg")}
    path = lessons.PAPERS / f"{program.name}.figures"
    figures = papers_form.read_figures(path)[0] if path.exists() else []
    text = ""
    for figure in figures:
        if figure.number in found:
            name = f"papers/{program.name}-{found[figure.number].name}"
            shutil.copyfile(found[figure.number], folder / name)
            text += picture(name, figure.heading())
    if figures and not text:
        text = f"Not drawn: `make papers PROGRAM={program.name}` measures and draws them.\n"
    return text and f"## The figures of the paper\n\n{text}\n"


def program_page(program: Program, pictures: Any, figures: Any, folder: Path) -> Page:
    text = f"# {program.name}\n\n{headed(program)}.\n\n"
    text += '<div class="pair">' + "".join(
        picture(path, about, escape(about) + f" <code>{escape(words)}</code>" * bool(words))
        for path, about, words in pictures) + "</div>\n\n"
    text += "## The steps\n\n"
    for machine, (rows, found) in figures.items():
        where = f"{results.display_name(machine)}, set {program.shown}"
        if "stairs" not in found:
            continue
        text += '<div class="pair">' + picture(
            found["stairs"], spoken(program, machine, rows), where) + (picture(
                found["shares"], f"{program.name}, {where}: share of the ceiling",
                f"{where}: of what it was measured to do at most") if "shares" in found
                else "") + "</div>\n\n"
        if "shares" not in found:
            text += f"How far {where} is from its ceiling is not measured: " \
                "`make ceilings`, then `make bench`.\n\n"
    text += ("" if figures else "Not measured yet: `make bench` measures it.\n\n") + \
        gained(program)
    last = [s for s in tree.steps() if s.has(program)][-1]
    text += f"\n## Registers and spills\n\n{lessons.registers(last, program)}\n"
    text += "## Seconds\n\n" if figures else ""
    for machine, (rows, _) in figures.items():
        text += folded(f"{results.display_name(machine)}, all sets", timed(program, rows))
    return Page(page_of(program=program), program.name, text + paper_figures(program, folder),
                above=strip("", program=program))


def machines_page() -> Page:
    text = "# The machines\n\n"
    for machine, rows in results.measured().items():
        text += f"## {results.display_name(machine)}\n\n" + table(["", ""], [
            [key, "; ".join(dict.fromkeys(f"`{r[key]}`" for r in rows if r[key]))]
            for key in ("device", "compiler", "flags", "commit")]) + "\n"
        peaks = results.read(results.FOLDER / f"{machine}-ceilings.csv")
        if peaks:
            text += "### Ceilings\n\n" + table(
                ["device", "threads", "ceiling", ""],
                [[r["device"], r["threads"], r["ceiling"], f"{r['value']} {r['unit']}"]
                 for r in peaks]) + "\n"
        else:
            text += "Ceilings are not measured: `make ceilings`.\n\n"
    text += "## Flags\n\n" + "".join(
        flags for p in tree.programs()
        if "Not measured" not in (flags := lessons.flags_table(tree.steps()[0], p)))
    return Page("machines.html", "The machines", text, above=strip(""))


# ---- the index -----------------------------------------------------------------------


def card(program: Program, pictures: Any, figures: Any) -> str:
    """A program on the index: what it makes, and a staircase for each machine that has
    measured it."""
    link = page_of(program=program)
    thumb = next((p for p, *_ in pictures), "").replace("-gather.svg", "-card.svg")
    html = f'<li><a href="{link}">' + (
        f'<img class="thumb" src="{thumb}" alt="" width="220" height="132">'
        if thumb else "") + f"<h2>{program.name}</h2></a><p>{escape(program.title)}</p>"
    drawn = {machine: (rows, found, best) for machine, (rows, found) in figures.items()
             if "card" in found and (best := lessons.best_of(rows, program))}
    if not drawn:
        html += '<p class="best">not measured: <code>make bench</code></p>'
    for machine, (rows, found, best) in drawn.items():
        html += f"<h3>{results.display_name(machine)}</h3>"
        share = f", {100 * float(best['of_ceiling']):.0f} % of {best['ceiling']}" \
            if best["of_ceiling"] else ""
        html += f'<img src="{found["card"]}" alt="{escape(spoken(program, machine, rows))}">' \
            f'<p class="best"><b>{draw.number(best["over_first"])} times</b> as fast: ' \
            f'<a href="{best["step"]}/{program.name}.html">{spaced(best["step"])}</a>, ' \
            f'{best["backend"]}{share}</p>'
    return html + "</li>"


def gain(row: Row | None) -> str:
    """A gain in few characters, for the index."""
    word = row["over_previous_is"] if row else ""
    if not row or word in ("", "same code"):
        return "=" if word else ""
    return "~" * (word == "none") + draw.number(row["over_previous"])


def matrix(rows: Sequence[Row]) -> str:
    """Which step pays where, of a machine: a row a step, a column a back-end of a
    program; each number leads to its lesson."""
    columns = compared(rows)
    html = '<table class="matrix"><thead><tr><th rowspan="2" scope="col">step</th>' + \
        "".join(f'<th scope="colgroup" colspan="{len(b)}" class="first"><a href="{p.name}'
                f'.html">{p.name}</a></th>' for p, b in columns.items()) + "</tr><tr>" + \
        "".join(f'<th scope="col" class="b-{b}{" first" * (not n)}">{b}</th>'
                for found in columns.values() for n, b in enumerate(found))
    html += "</tr></thead><tbody>"
    for step in tree.steps():
        html += f'<tr><th scope="row"><a href="{page_of(step)}">{spaced(step.name)}</a></th>'
        for program, backends in columns.items():
            gains = lessons.gains(rows, step, program)
            for n, backend in enumerate(backends):
                row = gains.get(backend)
                none = "·" if gains else "-"
                said = gain(row) or (none if step.has(program) and not n else "")
                kind = row["over_previous_is"].replace(" ", "-") if row else ""
                html += f'<td class="{kind}{" first" * (not n)}">' + (
                    f'<a href="{page_of(step, program)}">{said}</a>' if said else "") + "</td>"
        html += "</tr>"
    return html + "</tbody></table>"


def index_page(pictures: Any, figures: Any) -> Page:
    readme = (tree.ROOT / "README.md").read_text()
    machines = results.measured()
    found = re.match(r"# (.+)\n+((?:.|\n)+?\.)\s", readme)
    assert found, "README.md: expected a title and a sentence"
    title, sentence = found.groups()
    text = f"# {title}\n\n{sentence}\n\n" '<ul class="cards">' + "".join(
        card(p, pictures[p], figures[p]) for p in tree.programs()) + "</ul>\n\n"
    if machines:
        text += '<p class="note">Staircases: times as fast as the sequential step 00, step ' \
            "by step; the best of all is marked.</p>\n\n"
    text += "## Which step pays where\n\n"
    for machine, rows in ((m, rows) for m, rows in machines.items() if compared(rows)):
        text += (f"<h3>{results.display_name(machine)}</h3>" if len(machines) > 1 else "") + \
            '<div class="scroll" tabindex="0" role="region" aria-label="Gains">' \
            f"{matrix(rows)}</div>\n\n"
    text += LEGEND if machines else "Nothing is measured yet: `make bench` measures it.\n\n"
    text += "## The machines\n\n"
    for machine, rows in machines.items():
        devices = "; ".join(dict.fromkeys(r["device"] for r in rows))
        text += f"**{results.display_name(machine)}**: {devices}; {rows[0]['compiler']}.\n\n"
    text += "[Their ceilings, flags and commits](report/machines.html). The page of a " \
        "program has its figures, ceilings, registers and all times: " + ", ".join(
            f"[{p.name}](report/{p.name}.html)" for p in tree.programs()) + ".\n"
    return Page("index.html", title, text, look="front")


# ---- the whole -----------------------------------------------------------------------


def check() -> None:
    """What is wrong with the tree or the results, in a line."""
    if not shutil.which("pandoc"):
        raise SystemExit("report: pandoc not found (Debian: pandoc)")
    names = [p.name for p in tree.programs()]
    for path in sorted(tree.ROOT.glob("steps/*/*/README.md")):
        if path.parent.name not in names + ["variants"]:
            raise SystemExit(f"report: {path.relative_to(tree.ROOT)}: a lesson of no "
                             f"program: there are {' '.join(names)}")
    for path, _, _ in lessons.pages():
        if not path.exists():
            raise SystemExit(f"report: {path.relative_to(tree.ROOT)}: is missing")
    for machine, rows in results.measured().items():
        absent = NEEDED - set(rows[0])
        if absent:
            raise SystemExit(f"report: {machine}.csv: no column {' '.join(sorted(absent))}: "
                             "`make bench` writes it anew")
        for n, r in enumerate(rows, 2):
            if r["backend"] not in tree.BACKENDS:
                raise SystemExit(f"report: {machine}.csv:{n}: backend {r['backend']!r}: not "
                                 f"one of {' '.join(tree.BACKENDS)}")


def pages(folder: Path) -> Iterator[Any]:
    """All pages; what they show is drawn into folder meanwhile."""
    yield machines_page()
    for path, kinds, _ in lessons.pages():
        parts = path.relative_to(tree.ROOT).parts[1:-1]
        step = next((s for s in tree.steps() if s.name in parts), None)
        if not step:
            continue
        if len(parts) == 1:
            yield step_page(step, path, kinds)
        else:
            program = next(p for p in tree.programs() if p.name == parts[1])
            yield lesson_page(step, program, path, kinds, folder)
    pictures, figures = {}, {}
    for p in tree.programs():
        pictures[p] = search_pictures(p, folder) if p.mk.get("suffix") == "su" else \
            named_pictures(p, folder)
        figures[p] = {machine: (rows, drawn(p, machine, rows, folder))
                      for machine, rows in results.measured().items()}
        yield program_page(p, pictures[p], figures[p], folder)
    yield index_page(pictures, figures)


def main() -> None:
    options.parse(options.parser(__doc__))
    check()
    folder = OUT.with_name("report.new")
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("pictures", "figures", "papers"):
        (folder / name).mkdir(parents=True)
    shutil.copyfile(HERE / "report.css", folder / "report.css")
    with ThreadPoolExecutor(runs.processors()) as pool:
        for done in [pool.submit(page.write, folder) for page in pages(folder)]:
            done.result()
    runs.progress("")
    shutil.rmtree(OUT, ignore_errors=True)
    folder.rename(OUT)
    print(f"written to {OUT}/index.html")


if __name__ == "__main__":
    main()
