"""lessons.py - the generated parts of README.md, of steps/NN/README.md and of
steps/NN/PROGRAM/README.md.

    lessons.py            writes them anew, in place
    lessons.py --check    exits with 1 and names each README and part that is stale

A part stands between two marks, which stay:

    <!-- generated: KIND -->
    <!-- end -->

KIND is, in a program's lesson, one of
  diff       at most SHOWN lines of the change, of the file that step.mk names
  predict    what step.mk expected before anything was measured
  measured   results/*.csv, all machines, then tools/publish/papers/PROGRAM.csv
  registers  results/registers.csv, of all steps
  flags      results/MACHINE-flags.csv: the step under other compiler flags
  shares     results/MACHINE-shares.csv: host and device sharing the work
  ranks      results/MACHINE-cluster.csv, and the model of more ranks (model.py)
in a step's page
  programs   what each program does in it, and what that gained
in README.md
  programs   where each program started, and its best step
  matrix     which step pays where
  flags NAME the first step of a program under other compiler flags
Left out: measuring. Where there is nothing to show, the part says so.
"""
import re
import sys
from functools import partial
from pathlib import Path

from tools.history import diff as diffs
from tools.history import model, results, tree, verdict

PAPERS = Path(__file__).resolve().parent / "papers"
NEEDED = ("diff", "predict", "measured")  # in every lesson
FAR = (16, 128, 1024)  # ranks, by the model
SHOWN = 40  # lines of diff that a lesson shows at most
PART = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.S)
# An OpenCL device with one of these in its name is a CPU; all others are taken for GPUs.
CPU_WORDS = re.compile(r"\bcpu|pthread|processor|epyc|xeon|ryzen|core\(tm\)", re.I)


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# ---- diff ---------------------------------------------------------------------------


def code_lines(hunk):
    """How many lines of code, not of comment, a hunk changes."""
    return sum(bool(re.match(r"[-+]\s*(?![\s*]|/\*)\S", line))
               for line in hunk.splitlines()[1:])


def excerpt(text):
    """SHOWN lines of a unified diff at most: the hunks with the most code that fit, in
    their order. If the first of them does not fit, its beginning."""
    head, *hunks = re.split(r"^(?=@@)", text, flags=re.M)
    room, chosen = SHOWN - head.count("\n"), {}
    for n in sorted(range(len(hunks)), key=lambda n: -code_lines(hunks[n])):
        lines = hunks[n].splitlines(True)
        if not chosen and len(lines) > room:
            lines = lines[:room - 1] + [" ...\n"]
        if len(lines) <= room and (code_lines(hunks[n]) or not chosen):
            chosen[n] = "".join(lines)
            room -= len(lines)
    return head + "".join(chosen[n] for n in sorted(chosen))


def diff(step, program):
    """At most SHOWN lines of what changes in the file that step.mk names; the rest is
    told, and `make diff` shows it."""
    if not tree.before(step, program):
        return "Nothing comes before this step: read " \
               f"[`{step.shown(program)}`]({step.shown(program)}) from top to bottom.\n"
    changes = diffs.step_changes(step, program)
    if not changes:
        return f"Nothing: the same files as in {tree.before(step, program).name}.\n"
    name = step.shown(program)
    if name not in changes:
        raise SystemExit(f"{step.folder}/step.mk: shown.{program.name} = {name}: not one "
                         f"of the changed files: {' '.join(changes)}")
    text = f"```diff\n{excerpt(diffs.step_changes(step, program, context=1)[name])}```\n\n"
    counted = [f"`{n}` +{a} −{b}" for n, (a, b) in
               ((n, diffs.count(c)) for n, c in changes.items())]
    return text + f"In all: {', '.join(counted)}. The whole of it: " \
        f"`make diff STEP={step.number} PROGRAM={program.name}`\n"


# ---- predict ------------------------------------------------------------------------


def predict(step, program):
    rows = []
    for device in ("cpu", "gpu"):
        said = step.mk.get(f"predict.{program.name}.{device}", "")
        if said:
            ratio, _, reason = said.partition(":")
            rows.append([device.upper(), ratio.strip(), reason.strip()])
    if not rows:
        return "Nothing: this is what the others are compared with.\n"
    return table(["device", "ratio to the step before", "because"], rows)


# ---- measured -----------------------------------------------------------------------


# What has a table of its own: make shares, make cluster.
ELSEWHERE = {"hybrid", "hybrid-cuda", "mpi"}


def on_gpu(row):
    return row["backend"] in ("cuda", "hybrid-cuda") or \
        row["backend"] in ("ocl", "hybrid") and not CPU_WORDS.search(row["device"])


def in_order(rows):
    """Rows by variant, back-end and set."""
    order = {name: i for i, name in enumerate(tree.BACKENDS)}
    return sorted(rows, key=lambda r: ("/" in r["step"], r["step"], order[r["backend"]],
                                       r["set"]))


def measured_here(step, program):
    """One table: a row a back-end and set, and the ratios of each machine beside it."""
    found, gpu_seen, cpu_seen = {}, False, False
    for machine, rows in results.measured().items():
        for r in in_order(rows):
            lone = r["set"] not in program.usual and not r["over_previous"] + r["over_first"]
            if r["program"] == program.name and not lone \
                    and r["step"].partition("/")[0] == step.name:
                point = r["step"].partition("/")[2]
                name = r["backend"] + " (GPU)" * (on_gpu(r) and r["backend"] == "ocl") + \
                    (f", half way: {point}" if point else "")
                found.setdefault(machine, {})[name, r["set"]] = r
                gpu_seen, cpu_seen = gpu_seen or on_gpu(r), cpu_seen or not on_gpu(r)
    keys = list(dict.fromkeys(key for rows in found.values() for key in rows))
    several = len(found) > 1
    head, lines = ["back-end", "set"], [list(key) for key in keys]
    for machine, rows in found.items():
        where = f", {results.display_name(machine)}" if several else ""
        head += [f"over the step before{where}", f"over 00{where}", "of the budget"]
        for key, line in zip(keys, lines):
            r = rows.get(key)
            line += [verdict.long(r, "over_previous"), verdict.long(r, "over_first"),
                     f"{float(r['share']):.1f} %" + f" {r['mark']}" * bool(r["mark"])] \
                if r else [""] * 3
    text = ""
    if found:
        text = f"{' and '.join(map(results.display_name, found))}; medians of " \
            f"{runs([r for rows in found.values() for r in rows.values()])} runs in turns, " \
            "95 % intervals, `~` where a ratio cannot be told from 1:\n\n" \
            + table(head, lines) + "\n"
    backends = set(step.backends(program))
    missing = [] if cpu_seen or backends & ELSEWHERE else ["a CPU"]
    gpu_seen |= any(on_gpu(r) for _, r in shares_of(step, program))
    if not gpu_seen and {"ocl", "cuda", "hybrid-cuda"} & backends:
        missing.append("a GPU")
    return text + (f"Not measured yet on {' or '.join(missing)}.\n\n" if missing else "")


def runs(rows):
    counts = sorted({int(r["runs"]) for r in rows})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def measured_paper(step, program):
    """The paper's times or rates: each against the row before it on that device and set,
    and of that back-end where the paper has several."""
    path = PAPERS / f"{program.name}.csv"
    if not path.exists():
        return ""
    rows, last, first = [], {}, {}
    unit = "seconds"
    for r in results.read(path):
        unit = "rate" if "rate" in r else "seconds"
        place = r["device"], r["set"], r.get("backend")
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
        return "The paper's text gives no time for this step.\n"
    head = ["variant", "device", "set", unit, "ratio", "speedup over 00", "section"]
    return "The paper (its machine is described in " \
           f"`tools/publish/papers/{program.name}.csv`):\n\n" + table(head, rows)


def measured(step, program):
    return measured_here(step, program) + measured_paper(step, program)


# ---- registers ----------------------------------------------------------------------


def registers(step, program):
    path = results.FOLDER / "registers.csv"
    rows = [r for r in results.read(path) if r["program"] == program.name] \
        if path.exists() else []
    if not rows:
        return "Not compiled for a GPU yet (`make registers`).\n"
    keys = ["registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes",
            "shared_bytes", "constant_bytes"]
    head = ["step", "compiler", "window", "registers", "stack, bytes", "spill stores",
            "spill loads", "shared", "constant"]
    return table(head, [[r["step"], r["compiler"], r["window"], *(r[k] for k in keys)]
                        for r in rows])


# ---- README.md ----------------------------------------------------------------------


def gains(machine_rows, step, program):
    """{back-end: row} of a step on the set that is shown, without those for checking."""
    return {r["backend"]: r for r in in_order(machine_rows)
            if (r["program"], r["set"], r["step"]) ==
            (program.name, program.shown, step.name) and r["backend"] not in tree.FOR_CHECKING}


def said_gains(rows, long=True):
    """omp 2.29, ocl ~ 1.01: the gains of a step in one cell."""
    said = [(b, verdict.short(r, "over_previous"), r["over_previous_is"])
            for b, r in rows.items() if r["over_previous"] or r["over_previous_is"]]
    if not long:  # only what can be told from 1
        said = [(b, text, word) for b, text, word in said if word in ("gain", "loss")]
    return ", ".join(f"{b} {text}" for b, text, _ in said)


def programs_of_step(step):
    """What each program does in the step, and what it gained, on every machine."""
    machines = results.measured()
    head = ["program", "what it does here"] + [
        f"gain on {results.display_name(m)}" for m in machines] + [""]
    lines = []
    for program in tree.programs():
        if not step.has(program):
            lines.append([program.name, "stays as it was"] + [""] * (len(head) - 2))
            continue
        lines.append([program.name, step.title(program)] + [
            said_gains(gains(rows, step, program)) for rows in machines.values()]
            + [f"[lesson]({program.name}/README.md)"])
    return table(head, lines)


def best_of(rows, program):
    """The row of a program that is fastest over the first step, of the shown set."""
    found = [r for r in rows if r["program"] == program.name and r["over_first"]
             and r["set"] == program.shown and "/" not in r["step"]]
    return max(found, key=lambda r: float(r["over_first"]), default=None)


def programs_at_best():
    """Where each program started, its best step and back-end, and how far that is from
    what the machine can do; a table a machine."""
    text = ""
    for machine, rows in results.measured().items():
        lines = []
        for program in tree.programs():
            best = best_of(rows, program)
            first = next((r for r in rows if r["program"] == program.name and
                          r["set"] == program.shown and r["backend"] == "seq"), None)
            if not best or not first:
                continue
            times = float(best["over_first"])
            share = f"{100 * float(best['of_ceiling']):.0f} % ({best['ceiling']})" \
                if best["of_ceiling"] else "-"
            lines.append([f"[{program.name}](steps/{first['step']}/{program.name}/"
                          f"README.md): {program.title}",
                          f"{float(first['run_median']):.2f} s",
                          f"[{best['step']}](steps/{best['step']}/{program.name}/README.md)"
                          f", {best['backend']}", f"{times:.1f}" if times < 100 else f"{times:.0f}",
                          share])
        text += f"On {results.display_name(machine)}:\n\n" + table(
            ["program", "sequential", "best step and back-end", "times as fast",
             "of the machine's ceiling"], lines) + "\n"
    return text or "Not measured yet.\n"


def matrix():
    """A row a step, a column a program: the gains that can be told from 1."""
    text, programs = "", tree.programs()

    def cell(rows, step, program):
        here = gains(rows, step, program)
        return said_gains(here, long=False) or ("·" if here else "-")

    for machine, rows in results.measured().items():
        lines = []
        for step in tree.steps()[1:]:
            cells = [cell(rows, step, p) if step.has(p) else "" for p in programs]
            lines.append([f"[{step.name}](steps/{step.name}/README.md)", *cells])
        text += f"On {results.display_name(machine)}:\n\n" + table(
            ["step", *(p.name for p in programs)], lines) + "\n"
    return text or "Not measured yet.\n"


def flags_table(step, program):
    text = ""
    for path in sorted(results.FOLDER.glob("*-flags.csv")):
        rows = [r for r in results.read(path)
                if (r["program"], r["step"]) == (program.name, step.number)]
        if rows:
            machine = path.stem.removesuffix("-flags").replace("-", " ")
            text += f"{program.name}, step {step.number}, set {rows[0]['set']}, on " \
                f"{machine}:\n\n" + table(
                    ["flags", "speed, the tree's = 1",
                     "95 % interval" if any(r["is"] for r in rows) else "quartiles"],
                    [[r["flags"], f"{float(r['ratio']):.2f}" if r["is"] != "same code"
                      else "same code", f"{float(r['low']):.2f} to {float(r['high']):.2f}"]
                     for r in rows]) + "\n"
    return text or "Not measured yet.\n"


def shares_of(step, program):
    """What make shares has measured, and the file it is in."""
    return [(path, r) for path in sorted(results.FOLDER.glob("*-shares.csv"))
            for r in results.read(path)
            if (r["program"], r["step"]) == (program.name, step.name)]


def swept(row):
    """What the rows of one sweep have in common."""
    return row["backend"], row["set"], row["words"]


def shares_table(step, program):
    """Both sides alone, half and half, the best of the sweep, and auto."""
    text, rows = "", shares_of(step, program)
    for path in dict.fromkeys(path for path, _ in rows):
        own = [r for where, r in rows if where == path]
        for query in dict.fromkeys(map(swept, own)):
            of = {r["share"]: r for r in own if swept(r) == query}
            backend = query[0]
            auto = of["auto"]
            best = min((s for s in of if s.isdigit()),
                       key=lambda s: float(of[s]["run_median"]))
            text += f"{results.display_name(path.stem.removesuffix('-shares'))}, {backend}, " \
                f"{' '.join(['set', auto['set'], auto['words']]).strip()}, " \
                f"{auto['threads']} thread{'s' * (auto['threads'] != '1')}, {auto['device']}; " \
                f"p* = {auto['even']} %:\n\n" + \
                table(["share", "the device had", "seconds", "of the sum of both alone",
                       "of the best share"],
                      [[f"{s}" + ", the best" * (s == best), of[s]["share_had"],
                        of[s]["run_median"],
                        *(f"{float(of[s][k]):.2f} {verdict.interval_text(of[s], k)}"
                          for k in ("over_sum", "over_best"))]
                       for s in [*sorted({"0", "50", "100", best} & set(of), key=int),
                                 "auto"]]) + "\n"
            if auto["over_alone"]:
                text += f"Of the sum of what the sides were made of, {of['host']['of']} and " \
                    f"{of['device']['of']}, `auto` has {float(auto['over_alone']):.2f} " \
                    f"{verdict.interval_text(auto, 'over_alone')}.\n\n"
    return text or f"Not measured yet: `make shares PROGRAM={program.name}` does it.\n"


def ranks_table(_, program):
    """What was measured with ranks and threads, the model beside it, and beyond."""
    text = ""
    for machine, rows in model.measured(program).items():
        known = model.model_of(program, machine, rows)

        def modelled(ranks, known=known):
            return f"{known.seconds(ranks):.3g}" if known else "-"
        lines = [[f"{ranks} x {threads}", f"{float(row['run_median']):.3g}",
                  *(f"{float(row[k]):.2f} {verdict.interval_text(row, k)}" if row[k] else "-"
                    for k in ("over_one", "over_threads")),
                  modelled(ranks) if threads == 1 else "-"]
                 for (ranks, threads), row in sorted(rows.items())]
        lines += [[f"{ranks} x 1", "not measured", "-", "-", modelled(ranks)]
                  for ranks in FAR if known]
        text += f"{results.display_name(machine)}:\n\n" + table(
            ["ranks x threads", "seconds", "speed, 1 x 1 = 1", "speed, 1 x 2 = 1",
             "seconds by T(P)"], lines) + "\n"
        if known:
            strong, weak = known.knee(), known.knee(weak=True)
            text += "By the model a rank does half of what one alone does with " \
                f"{strong or f'more than {model.MAX_RANKS}'} ranks, or with " \
                f"{weak or f'more than {model.MAX_RANKS}'} where the work grows with them.\n\n"
    return text or f"Not measured yet: `make cluster PROGRAM={program.name}` does it.\n"


# ---- the READMEs --------------------------------------------------------------------


def pages():
    """(path, what each KIND says there, the KINDs that must be there) of every README."""
    yield tree.ROOT / "README.md", {
        "programs": programs_at_best, "matrix": matrix,
        **{f"flags {p.name}": partial(flags_table, tree.steps()[0], p)
           for p in tree.programs()}}, \
        ("programs", "matrix")
    for step in tree.steps():
        yield step.folder / "README.md", {"programs": partial(programs_of_step, step)}, \
            ("programs",)
        for program in filter(step.has, tree.programs()):
            yield step.folder / program.name / "README.md", {
                kind: partial(make, step, program) for kind, make in
                (("diff", diff), ("predict", predict), ("measured", measured),
                 ("registers", registers), ("flags", flags_table),
                 ("shares", shares_table), ("ranks", ranks_table))}, NEEDED


def parts(path, kinds):
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


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    check, passed, failed = "--check" in sys.argv, 0, 0
    for path, kinds, needed in pages():
        where = path.relative_to(tree.ROOT)
        if not path.exists():
            print(f"{where}: is missing")
            failed += 1
            continue
        old, found = parts(path, kinds)
        absent = [kind for kind in needed if kind not in [m[2] for m in found]]
        for kind in absent:
            print(f"{where}: no part `generated: {kind}`")
        texts = {m[2]: "\n" + kinds[m[2]]().strip("\n") + "\n\n" for m in found}
        stale = [m[2] for m in found if m[3] != texts[m[2]]]
        for kind in stale:
            print(f"{where}: {kind}: {'stale (make lessons)' if check else 'written'}")
        passed += len(found) - len(stale)
        failed += len(absent) + (len(stale) if check else 0)
        new = PART.sub(lambda m: m[1] + texts[m[2]] + m[4], old)
        if new != old and not check:
            temporary = path.with_suffix(".tmp")
            temporary.write_text(new, encoding="utf-8")
            temporary.replace(path)
    if check:
        print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
