"""lessons.py - the generated parts of README.md, results/README.md, results/PROGRAM.md,
docs/in-15-minutes.md, docs/how-we-measure.md, docs/papers.md, steps/NN/README.md and
steps/NN/PROGRAM/README.md.

    lessons.py            writes them again, in place
    lessons.py --check    exits with 1 and names each README and part that is stale

A part stands between two marks, which stay:

    <!-- generated: KIND -->
    <!-- end -->

KIND is, in a program's lesson, one of
  diff       some lines of the change, of the file that step.mk names
  gain       the time of a step of the main program (front.py)
  predict    the prediction of step.mk
  measured   results/*.csv, of the reference machines, then tools/publish/papers/PROGRAM.csv
  rungs      the isolated changes of the step, predicted and measured
  shares     results/MACHINE-shares.csv: host and device sharing the work
  ranks      results/MACHINE-cluster.csv
in a step's page
  programs   what each program does in it, the prediction and the speedup
in README.md
  steps      the time of each step of the main program (front.py)
  programs   the speedups of each program, and a public code for the same task
in docs/in-15-minutes.md
  machines   the reference CPU and GPU
  gain NN    the time of a step of the main program (front.py)
in results/README.md
  marks      the words that mark a measurement
in results/PROGRAM.md
  machines   the speedups of all steps on all machines
  races      a public code for the same task
in docs/how-we-measure.md
  flags NAME the first step of a program under other compiler flags
in docs/papers.md
  figures NAME the tables and figures of a program's paper (paper.py)
If there is nothing to show, the part says so.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tools.history import diff as diffs
from tools.base import options, results, tree, verdict
from tools.history import rungs
from tools.history.patches import Patch
from tools.base.results import Row, table
from tools.base.tree import BACKENDS, Program, Step
from tools.publish import front, paper

NEEDED = ("diff", "predict", "measured")  # in every lesson
DIFF_LINES, COMPANION_LINES = 40, 12  # the most that a lesson shows of a diff
PART = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.S)


# ---- diff ---------------------------------------------------------------------------


def code_lines(hunk: str) -> int:
    """How many lines of code, not of comment, a hunk changes."""
    return sum(bool(re.match(r"[-+]\s*(?![\s*]|/\*)\S", line))
               for line in hunk.splitlines()[1:])


def excerpt(text: str, space: int) -> str:
    """So many lines of a unified diff at most, in their order: the hunks with the most code
    that fit. If these have little code, the beginning of the hunk with the most."""
    hunks = re.split(r"^(?=@@)", text, flags=re.M)[1:]
    order = sorted(range(len(hunks)), key=lambda n: -code_lines(hunks[n]))
    left, chosen = space, []
    for n in order:
        if code_lines(hunks[n]) and hunks[n].count("\n") <= left:
            chosen.append(n)
            left -= hunks[n].count("\n")
    if sum(code_lines(hunks[n]) for n in chosen) < min(space // 4, code_lines(hunks[order[0]])):
        chosen = order[:1]
        hunks[order[0]] = "".join(hunks[order[0]].splitlines(True)[:space - 1]) + " ...\n"
    text = "".join(hunks[n] for n in sorted(chosen)).partition("\n")[2]  # without a first @@
    return re.sub(r"^( *\n)+|(?<=\n)( *\n)+(?=@@|\Z)", "", text)


def diff(step: Step, program: Program) -> str:
    """Some lines of what changes in the file that step.mk names, and the number of lines of
    the rest."""
    before = tree.before(step, program)
    if not before:
        return "This is the first step: read " \
               f"[`{step.shown(program)}`]({step.shown(program)}) from top to bottom.\n"
    changes = diffs.step_changes(step, program)
    if not changes:
        return "No file changes.\n"
    name = step.shown(program)
    if name not in changes:
        raise SystemExit(f"{step.folder}/step.mk: shown.{program.name} = {name}: not one "
                         f"of the changed files: {' '.join(changes)}")
    shown = diffs.step_changes(step, program, context=1, only=name)[name]
    space = DIFF_LINES if program.name == tree.programs()[0].name else COMPANION_LINES
    counted = [f"`{n}` +{a} −{b}" for n, (a, b) in
               ((n, diffs.count(c)) for n, c in changes.items())]
    return f"```diff\n{excerpt(shown, space)}```\n" \
        f"From `{name}`, compared with step {before.number}. Lines changed: " \
        f"{', '.join(counted)}. The complete diff: " \
        f"`make diff STEP={step.number} PROGRAM={program.name}`\n"


# ---- predict ------------------------------------------------------------------------


def predict(step: Step, program: Program) -> str:
    text = ""
    for device in ("cpu", "gpu"):
        ratio, _, reason = step.mk.get(f"predict.{program.name}.{device}", "").partition(":")
        if ratio:
            word = "" if tree.EXPECTED in ratio else "Predicted "
            text += f"- {word}{'on' if word else 'On'} a {device.upper()}: **{ratio.strip()}**" + \
                f"; {reason.strip()}" * bool(reason.strip()) + "\n"
    return text or "No prediction: the other steps are compared with this one.\n"


# ---- rungs --------------------------------------------------------------------------


def predicted(patch: Patch, backend: str) -> str:
    """The speedup that a rung predicts for a back-end, without the reason."""
    text = patch.predictions.get(rungs.PREDICTED.get(backend, ""), "-")
    return text.partition(":")[0].removesuffix(f", {tree.EXPECTED}")


def missed(row: Row, patch: Patch) -> bool:
    """Whether a measured speedup is outside half to double of each predicted one: there may be
    several, as in "4 in a set, 2 in line3"."""
    ratios = re.findall(r"(?:^|, |; )([\d.]+)", predicted(patch, row["backend"]))
    return bool(ratios and row["over_previous"]) and \
        not any(0.5 <= float(row["over_previous"]) / float(r) <= 2 for r in ratios)


def rungs_table(step: Step, program: Program) -> str:
    """A row per rung: what it is, the predicted speedups and the measured ones, by set and
    back-end, with RUNGS=1; the last row is the whole step."""
    found = rungs.of_step(step, program)
    if not found:
        return "The step has no rungs.\n"
    every = all(patch.after for patch in found)
    head = ["rung", "kind", f"{tree.EXPECTED if every else 'predicted'}: omp; ocl"]
    lines = [[f"{n} {patch.subject}", patch.trailers.get("Kind", ""),
              f"{predicted(patch, 'omp')}; {predicted(patch, 'ocl')}"
              + f" ({tree.EXPECTED})" * (patch.after and not every)]
             for n, patch in enumerate(found, 1)]
    lines.append(["all", "", ""])
    names = [*(f"{step.number}.{n}" for n in range(1, len(found) + 1)), step.name]
    own = {(machine, r["set"], r["backend"], names.index(r["step"])): r
           for machine, rows in results.measured(with_rungs=True).items() for r in rows
           if r["program"] == program.name and r["step"] in names}
    legends = []
    machines: dict[str, list[Row]] = {key[0]: [] for key in sorted(own) if key[3] < len(found)}
    for machine in results.shown(machines):
        columns = [(machine, name, backend) for name in program.mk.get("rung_sets", "").split()
                   for backend in ("seq", "omp", "ocl")
                   if (machine, name, backend, len(found) - 1) in own]
        for column in columns:
            head.append(" ".join(column[1:]))
            for n, line in enumerate(lines):
                r = own.get((*column, n))
                wrong = r and n < len(found) and missed(r, found[n])
                line.append((verdict.short(r, "over_previous") or "-") + " missed" * bool(wrong))
        if columns:
            count = runs([r for key, r in own.items() if key[:3] in columns])
            legends.append(f"{results.display_name(machine)}{results.elsewhere(machine)}, "
                           f"medians of {count} interleaved "
                           "runs; `~`: within measurement noise; `same code`: the rung before "
                           "has the same code; `-`: no such program, or not measured; `missed`: "
                           "the speedup is less than half of each prediction or more than twice "
                           "each prediction.\n\n")
    return "".join(legends or ["Not measured yet (`make bench RUNGS=1`).\n\n"]) + \
        table(head, lines)


# ---- measured -----------------------------------------------------------------------


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows by variant, back-end and set."""
    order = {name: i for i, name in enumerate(tree.BACKENDS)}
    return sorted(rows, key=lambda r: ("/" in r["step"], r["step"], order[r["backend"]],
                                       r["set"]))


def measured_here(step: Step, program: Program) -> str:
    """A table with a row for each back-end and set, first on the reference CPU, then on the
    reference GPU."""
    of_rungs = program.mk.get("rung_sets", "").split()
    lines, machines, found = [], [], []
    for machine, rows in results.shown(results.measured()).items():
        here = [r for r in in_order(rows) if r["program"] == program.name
                and r["step"].partition("/")[0] == step.name and r["set"] not in of_rungs
                and (r["over_previous"] + r["over_first"] or not tree.before(step, program))]
        if not here:
            continue
        machines.append(f"{results.display_name(machine)}, {runs(here)} interleaved runs")
        for r in here:
            point = r["step"].partition("/")[2]
            name = r["backend"] + f", variant {point}" * bool(point) + \
                f", {results.display_name(machine)}" * bool(machines[1:])
            lines.append([name, r["set"], verdict.long(r, "over_previous"),
                          verdict.long(r, "over_first"), f"{float(r['share']):.1f} %",
                          r["mark"].replace(" ", ", "), r.get("image_rms", "")])
        found += here
    if not lines:
        by_others = any(BACKENDS[b].sides or BACKENDS[b].launch for b in step.backends(program))
        return "" if by_others else "Not measured yet (`make bench`).\n"
    head = ["back-end", "set", "over the step before", "over step 00",
            "error, percent of the budget", "mark", "rms error of the image"]
    filled = [n for n in range(len(head)) if any(line[n] for line in lines)]
    return f"Speedups, medians with 95 % intervals: {'; '.join(machines)} " \
        f"([other machines](../../../results/{program.name}.md)). `~`: within measurement " \
        f"noise{legend(found)}.\n\n" + table([head[n] for n in filled],
                                              [[line[n] for n in filled] for line in lines]) + "\n"


def legend(rows: Sequence[Row]) -> str:
    """What the marks of some rows mean, as the rest of a sentence."""
    marks = {mark for r in rows for mark in r["mark"].split()}
    return "".join(f"; `{m}`: {meaning}" for m, meaning in results.MARKS.items() if m in marks)


def marks() -> str:
    return table(["mark", "meaning"], [[f"`{m}`", text] for m, text in results.MARKS.items()])


def runs(rows: Sequence[Row]) -> str:
    counts = sorted({int(r["runs"]) for r in rows})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def measured_paper(step: Step, program: Program) -> str:
    """The paper's times or rates, each compared with the row before it of the same device,
    set and back-end."""
    path = paper.NUMBERS / f"{program.name}.csv"
    if not path.exists():
        return ""
    rows: list[list[str]] = []
    last: dict[tuple[str, ...], tuple[str, float]] = {}
    first: dict[str, float] = {}
    unit = "seconds"
    for r in results.read(path):
        unit = "rate" if "rate" in r else "seconds"
        place = r["device"], r["set"], r.get("backend", "")
        value = float(r[unit])
        speed = value if unit == "rate" else 1 / value
        gain = "-"
        if place in last:
            variant, earlier = last[place]
            gain = f"{speed / earlier:.2f} over {variant}"
        last[place] = r["variant"], speed
        if r["step"] == "00":
            first[r["set"]] = speed
        over_first = f"{speed / first[r['set']]:.2f}" if r["set"] in first else "-"
        if r["step"] == step.number:
            rows.append([r["variant"], r["device"], r["set"], r[unit], gain, over_first,
                         r["source"]])
    if not rows:
        return ""
    head = ["variant", "device", "set", unit, "speedup", "speedup over step 00",
            "section"]
    return "The paper (its machine is described in " \
           f"`tools/publish/papers/{program.name}.csv`):\n\n" + table(head, rows)


def measured(step: Step, program: Program) -> str:
    return measured_here(step, program) + measured_paper(step, program)


# ---- the pages of the steps and of results/ ------------------------------------------


def gains(machine_rows: Sequence[Row], step: Step, program: Program) -> dict[str, Row]:
    """{back-end: row} of a step on the set that is shown, without those for checking."""
    return {r["backend"]: r for r in in_order(machine_rows)
            if (r["program"], r["set"], r["step"]) ==
            (program.name, program.shown, step.name) and r["backend"] not in tree.FOR_CHECKING}


def gains_text(rows: Mapping[str, Row], long: bool = True) -> str:
    """omp 2.29, ocl ~ 1.01: the gains of a step in one cell; only those outside measurement
    noise if not long."""
    found = [(b, verdict.short(r, "over_previous"), r["over_previous_is"])
            for b, r in rows.items() if r["over_previous"] or r["over_previous_is"]]
    if not long:
        found = [(b, text, word) for b, text, word in found if word in ("gain", "loss")]
    return ", ".join(f"{b} {text}" for b, text, _ in found)


def programs_of_step(step: Step) -> str:
    """What each program does in the step, and its speedup on the reference machines."""
    machines = {m: rows for m, rows in results.shown(results.measured()).items()
                if any(gains(rows, step, p) for p in tree.programs())}
    head = ["program", "what changes", "predicted"] + [
        f"speedup on {results.display_name(m)}" for m in machines] + [""]
    lines = []
    for program in tree.programs():
        if not step.has(program):
            lines.append([program.name, "no change"] + [""] * (len(head) - 2))
            continue
        predicted = step.prediction(program).partition(":")[0]
        lines.append([program.name, step.title(program), predicted] + [
            gains_text(gains(rows, step, program)) for rows in machines.values()]
            + [f"[lesson]({program.name}/README.md)"])
    return table(head, lines)


def best_of(rows: Sequence[Row], program: Program) -> Row | None:
    """The row of a program that is fastest over the first step, of the shown set."""
    found = [r for r in rows if r["program"] == program.name and r["over_first"]
             and r["set"] == program.shown and "/" not in r["step"]]
    return max(found, key=lambda r: float(r["over_first"])) if found else None


def flags_table(step: Step, program: Program) -> str:
    text = ""
    for machine, measured_flags in results.shown(results.of_kind("flags")).items():
        rows = [r for r in measured_flags
                if (r["program"], r["step"]) == (program.name, step.number)]
        if rows:
            text += f"{program.name}, step {step.number}, set {rows[0]['set']}, on " \
                f"{results.display_name(machine)}{results.elsewhere(machine)}:\n\n" + table(
                    ["flags", "speed (default flags: 1)",
                     "95 % interval" if any(r["is"] for r in rows) else "quartiles"],
                    [[r["flags"], f"{float(r['ratio']):.2f}" if r["is"] != "same code"
                      else "same code", f"{float(r['low']):.2f} to {float(r['high']):.2f}"]
                     for r in rows]) + "\n"
    return text or "Not measured yet.\n"


def sweeps(step: Step, program: Program) -> Iterator[tuple[str, str, dict[str, Row]]]:
    """(machine, back-end, {fraction: row}) of each sweep that make shares measured."""
    for machine, rows in results.shown(results.of_kind("shares")).items():
        found: dict[tuple[str, str, str], dict[str, Row]] = {}
        for r in rows:
            if (r["program"], r["step"]) == (program.name, step.name):
                query = r["backend"], r["set"], r["words"]
                found.setdefault(query, {})[r["share"]] = r
        yield from ((machine, query[0], sweep) for query, sweep in found.items())


def shares_table(step: Step, program: Program) -> str:
    """Both sides alone, 50 percent, the best fraction of the sweep, and auto."""
    text = ""
    for machine, backend, of in sweeps(step, program):
        auto = of["auto"]
        best = min((s for s in of if s.isdigit()), key=lambda s: float(of[s]["run_median"]))
        text += f"{results.display_name(machine)}{results.elsewhere(machine)}, {backend}, " \
            f"{' '.join(['set', auto['set'], auto['words']]).strip()}, " \
            f"{auto['threads']} thread{'s' * (auto['threads'] != '1')}, {auto['device']}; " \
            f"p* = {auto['even']} %:\n\n" + \
            table(["share=", "percent that the device computed", "seconds",
                   "speed over the sum of both alone", "over the best share="],
                  [[f"{s}" + " (best)" * (s == best), of[s]["share_had"], of[s]["run_median"],
                    *(f"{float(of[s][k]):.2f} {verdict.interval_text(of[s], k)}"
                      for k in ("over_sum", "over_best"))]
                   for s in [*sorted({"0", "50", "100", best} & set(of), key=int),
                             "auto"]]) + "\n"
        if auto["over_alone"]:
            text += f"`auto` reaches {float(auto['over_alone']):.2f} " \
                f"{verdict.interval_text(auto, 'over_alone')} of the sum of the rates of " \
                f"{of['host']['of']} and {of['device']['of']}.\n\n"
    return text or f"Not measured yet: `make shares PROGRAM={program.name}` measures it.\n"


def ranks_table(step: Step, program: Program) -> str:
    """What was measured with ranks and threads."""
    text = ""
    for machine, rows in results.shown(results.of_kind("cluster")).items():
        lines = [[f"{r['ranks']} x {r['threads']}", f"{float(r['run_median']):.3g}",
                  *(f"{float(r[k]):.2f} {verdict.interval_text(r, k)}" if r[k] else "-"
                    for k in ("over_one", "over_threads"))]
                 for r in sorted(rows, key=lambda r: (int(r["ranks"]), int(r["threads"])))
                 if r["program"] == program.name]
        if lines:
            text += f"{results.display_name(machine)}{results.elsewhere(machine)}:\n\n" + \
                table(["ranks x threads", "seconds", "speedup over 1 x 1",
                       "speedup over 1 x 2"], lines) + "\n"
    return text or f"Not measured yet: `make cluster PROGRAM={program.name}` measures it.\n"


# ---- results/PROGRAM.md ------------------------------------------------------------------


def of_program(program: Program) -> str:
    """A table per set: a row per step and back-end, a column per machine."""
    text = ""
    tables = results.measured()
    for name in program.usual:
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for machine, rows in tables.items():
            for r in in_order(rows):
                if (r["program"], r["set"]) == (program.name, name) and "/" not in r["step"] \
                        and r["backend"] not in tree.FOR_CHECKING:
                    before = verdict.short(r, "over_previous")
                    first = f"{float(r['over_first']):.4g}" if r["over_first"] else \
                        "1" if r["backend"] == "seq" else "-"
                    cells.setdefault((r["step"], r["backend"]), {})[machine] = \
                        f"{first} ({before})" if before else first
        machines = [m for m in tables if any(m in row for row in cells.values())]
        if machines:
            text += f"**Set {name}**\n\n" + table(
                ["step", "back-end", *map(results.display_name, machines)],
                [[f"[{step}](../steps/{step}/{program.name}/README.md)", backend,
                  *(row.get(m, "-") for m in machines)]
                 for (step, backend), row in sorted(cells.items(), key=lambda c: (
                     c[0][0], list(tree.BACKENDS).index(c[0][1])))]) + "\n"
    return text or "Not measured yet.\n"


# ---- the READMEs --------------------------------------------------------------------


def pages() -> Iterator[Any]:
    """(path, what each KIND says there, the KINDs that must be there) of every README."""
    yield tree.ROOT / "README.md", {"steps": front.steps, "programs": front.programs}, \
        ("steps", "programs")
    if (tree.ROOT / "results" / "README.md").exists():  # a new tree has no results
        yield tree.ROOT / "results" / "README.md", {"marks": marks}, ("marks",)
    for program in tree.programs():
        yield results.FOLDER / f"{program.name}.md", {
            "machines": partial(of_program, program),
            "races": partial(front.races, program)}, ("machines", "races")
    yield tree.ROOT / "docs" / "in-15-minutes.md", {
        "machines": front.machines,
        **{f"gain {s.number}": partial(front.gain, s) for s in tree.steps()}}, ("machines",)
    yield tree.ROOT / "docs" / "how-we-measure.md", {
        f"flags {p.name}": partial(flags_table, tree.steps()[0], p)
        for p in tree.programs()}, ()
    yield tree.ROOT / "docs" / "papers.md", {
        f"figures {p.name}": partial(paper.page, p) for p in tree.programs()}, ()
    for step in tree.steps():
        yield step.folder / "README.md", {"programs": partial(programs_of_step, step)}, \
            ("programs",)
        for program in filter(step.has, tree.programs()):
            yield step.folder / program.name / "README.md", {
                "gain": partial(front.gain, step, named=True),  # of the main program
                **{kind: partial(make, step, program) for kind, make in (
                    ("diff", diff), ("predict", predict), ("measured", measured),
                    ("rungs", rungs_table), ("shares", shares_table),
                    ("ranks", ranks_table))}}, NEEDED


def parts(path: Path, kinds: Mapping[str, Callable[[], str]]) -> tuple[str, list[re.Match[str]]]:
    """The match of each generated part of a README."""
    where, text = path.relative_to(tree.ROOT), path.read_text(encoding="utf-8")
    found = list(PART.finditer(text))
    if text.count("<!-- generated:") != len(found) or \
       any("<!-- generated:" in m[3] for m in found):
        raise SystemExit(f"{where}: a generated part without its <!-- end -->")
    for m in found:
        if m[2] not in kinds:
            raise SystemExit(f"{where}: generated: {m[2]}: expected one of "
                             f"{', '.join(kinds)}")
    return text, found


def written(path: Path, text: str) -> None:
    """Writes a file, completely or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def renewed(path: Path, kinds: Mapping[str, Callable[[], str]], needed: Sequence[str],
            check: bool) -> tuple[int, int]:
    """Writes the generated parts of a README, or only checks them: (passed, failed)."""
    where = path.relative_to(tree.ROOT)
    if not path.exists():
        print(f"{where}: is missing")
        return 0, 1
    old, found = parts(path, kinds)
    absent = [kind for kind in needed if kind not in [m[2] for m in found]]
    for kind in absent:
        print(f"{where}: no part `generated: {kind}`")
    texts = {m[2]: f"\n{kinds[m[2]]().strip()}\n\n".replace("\n\n\n", "\n") for m in found}
    stale = [m[2] for m in found if m[3] != texts[m[2]]]
    for kind in stale:
        print(f"{where}: {kind}: {'stale (make lessons)' if check else 'written'}")
    new = PART.sub(lambda m: m[1] + texts[m[2]] + m[4], old)
    if new != old and not check:
        written(path, new)
    return len(found) - len(stale), len(absent) + (len(stale) if check else 0)


def main() -> int:
    parser = options.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = options.parse(parser).check
    counts = [renewed(path, kinds, needed, check) for path, kinds, needed in pages()]
    passed, failed = (sum(numbers) for numbers in zip(*counts))
    if check:
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
