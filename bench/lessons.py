"""lessons.py - the generated parts of steps/*/README.md and of README.md.

    lessons.py            writes them anew, in place
    lessons.py --check    exits with 1 and names each README and part that is stale

A part stands between two marks, which stay:

    <!-- generated: KIND PROGRAM -->
    <!-- end -->

KIND is one of
  diff       the program's folder against that of the step before
  predict    what step.mk expected before anything was measured
  measured   results/*.csv, one table a machine, then bench/papers/PROGRAM.csv
  registers  results/registers.csv, of all steps
and in README.md
  steps      all steps, and what each gained on the set that is shown
  flags      results/MACHINE-flags.csv
Left out: measuring. Where there is nothing to show, the part says so.
"""
import csv
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "verify"))
import tree  # noqa: E402

RESULTS = Path(os.environ.get("RESULTS_DIR") or tree.ROOT / "results")
PAPERS = Path(__file__).resolve().parent / "papers"
FOLD = 150  # a diff of more lines is folded away
PART = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->\n)", re.S)
# An OpenCL device with one of these in its name is a CPU; all others are taken for GPUs.
CPU_WORDS = re.compile(r"\bcpu|pthread|processor|epyc|xeon|ryzen|core\(tm\)", re.I)


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def read_csv(path):
    """Its rows as dicts; lines that start with # are comments."""
    with path.open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


# ---- diff ---------------------------------------------------------------------------


def before(step, program):
    """The step before that has the program; None if there is none."""
    earlier = [s for s in tree.steps() if s.name < step.name and s.has(program)]
    return earlier[-1] if earlier else None


def diff(step, program):
    """One unified diff; a file that arrives or leaves whole is only named."""
    earlier = before(step, program)
    new = step.folder / program.name
    old = earlier.folder / program.name if earlier else None
    names = {p.relative_to(folder) for folder in (old, new) if folder
             for p in folder.rglob("*") if p.is_file()}
    whole, changes = [], ""
    for name in sorted(names):
        pair = [folder / name if folder else None for folder in (old, new)]
        there = [path is not None and path.is_file() for path in pair]
        if not all(there):
            lines = len(pair[there.index(True)].read_text().splitlines())
            whole.append(f"`{name}` is {'new' if there[1] else 'gone'}, {lines} lines")
            continue
        labels = [path.relative_to(tree.ROOT) for path in pair]
        done = subprocess.run(["diff", "-u", "--label", labels[0], "--label", labels[1],
                               *pair], capture_output=True, text=True)
        if done.returncode > 1:
            raise SystemExit(f"lessons: diff: {done.stderr.strip()}")
        changes += done.stdout
    text = "".join(f"- {line}\n" for line in whole)
    if changes:
        lines = changes.count("\n")
        block = f"```diff\n{changes}```\n"
        if lines > FOLD:
            block = f"<details>\n<summary>{lines} lines</summary>\n\n{block}\n</details>\n"
        text += ("\n" if text else "") + block
    return text or f"Nothing: the same files as in {earlier.name}.\n"


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


def on_gpu(row):
    return row["backend"] == "cuda" or (row["backend"] == "ocl" and
                                        not CPU_WORDS.search(row["device"]))


def ratio(row, key):
    """A median ratio with its quartiles, or that it cannot be told from 1."""
    if not row[key]:
        return "-"
    low, high = float(row[f"{key}_low"]), float(row[f"{key}_high"])
    if low <= 1 <= high:
        return f"not distinguishable ({low:.2f} to {high:.2f})"
    return f"{float(row[key]):.2f} ({low:.2f} to {high:.2f})"


def measured_here(step, program):
    """A table of each machine file that has this step, and what was not measured."""
    text, gpu_seen, cpu_seen = "", False, False
    for path in sorted(RESULTS.glob("*.csv")):
        rows = read_csv(path)
        if not rows or not {"over_previous", "backend", "step"} <= rows[0].keys():
            continue  # another kind of results
        rows = [r for r in rows if r["program"] == program.name and
                r["step"].partition("/")[0] == step.name]
        order = {name: i for i, name in enumerate(tree.BACKENDS)}
        rows.sort(key=lambda r: ("/" in r["step"], r["step"],
                                 order.get(r["backend"], len(order)), r["set"]))
        if not rows:
            continue
        marks = any(r["mark"] for r in rows)
        head = ["back-end", "set", "ratio to the step before", "speedup over 00",
                "share of the budget"] + ["mark"] * marks
        text += f"{rows[0]['machine']}, medians (and quartiles) of {runs(rows)} runs:\n\n"
        text += table(head, [
            [r["backend"] + (" (GPU)" if on_gpu(r) and r["backend"] == "ocl" else "")
             + (", half way: " * ("/" in r["step"]) + r["step"].partition("/")[2]),
             r["set"], ratio(r, "over_previous"), ratio(r, "over_first"),
             f"{float(r['share']):.2f} %" if r["share"] else "-"] + [r["mark"]] * marks
            for r in rows]) + "\n"
        gpu_seen |= any(on_gpu(r) for r in rows)
        cpu_seen |= not all(on_gpu(r) for r in rows)
    missing = [] if cpu_seen else ["a CPU"]
    if not gpu_seen and {"ocl", "cuda"} & set(step.backends(program)):
        missing.append("a GPU")
    if missing:
        text += f"Not measured yet on {' or '.join(missing)}.\n\n"
    return text


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
    for r in read_csv(path):
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
           f"`bench/papers/{program.name}.csv`):\n\n" + table(head, rows)


def measured(step, program):
    return measured_here(step, program) + measured_paper(step, program)


# ---- registers ----------------------------------------------------------------------


def registers(step, program):
    path = RESULTS / "registers.csv"
    rows = [r for r in read_csv(path) if r["program"] == program.name] \
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


def brief(row, key):
    """A median ratio, with ~ before it where it cannot be told from 1."""
    if not row or not row[key]:
        return ""
    unclear = float(row[f"{key}_low"]) <= 1 <= float(row[f"{key}_high"])
    return ("~ " if unclear else "") + f"{float(row[key]):.2f}"


def steps_table(program):
    text = ""
    shown = [s for s in tree.steps() if s.has(program)]
    for path in sorted(RESULTS.glob("*.csv")):
        rows = read_csv(path)
        if not rows or "over_previous" not in rows[0]:
            continue
        found = {(r["step"], r["backend"]): r for r in rows
                 if r["program"] == program.name and r["set"] == program.shown}
        backends = [b for b in tree.BACKENDS if b != "seq" and
                    any(b == other for _, other in found)]
        lines = []
        for step in shown:
            of = {b: found.get((step.name, b)) for b in backends}
            lines.append([f"[{step.name}](steps/{step.name}/README.md)", step.title,
                          *(brief(of[b], "over_previous") for b in backends),
                          *(brief(of[b], "over_first") for b in backends)])
        text += f"{program.name}, set {program.shown}, on {path.stem.replace('-', ' ')}:\n\n"
        text += table(["step", "what it does", *(f"{b}, gain" for b in backends),
                       *(f"{b}, over 00" for b in backends)], lines) + "\n"
    return text or "Not measured yet.\n"


def flags_table(program):
    text = ""
    for path in sorted(RESULTS.glob("*-flags.csv")):
        rows = [r for r in read_csv(path) if r["program"] == program.name]
        text += f"{program.name}, set {rows[0]['set']}, on " \
                f"{path.stem.removesuffix('-flags').replace('-', ' ')}:\n\n" + table(
            ["flags", "speed, the tree's = 1", "quartiles"],
            [[r["flags"], f"{float(r['ratio']):.2f}",
              f"{float(r['low']):.2f} to {float(r['high']):.2f}"] for r in rows]) + "\n" \
            if rows else ""
    return text or "Not measured yet.\n"


# ---- the READMEs --------------------------------------------------------------------

KINDS = {"diff": diff, "predict": predict, "measured": measured, "registers": registers}
TOP = {"steps": steps_table, "flags": flags_table}


def part(step, words, where):
    """The text of one part; words are what its mark says. step is None in README.md."""
    kind, _, name = words.partition(" ")
    program = next((p for p in tree.programs() if p.name == name), None)
    if step is None and kind in TOP and program:
        return TOP[kind](program)
    if step is None or kind not in KINDS or program is None or not step.has(program):
        raise SystemExit(f"{where}: generated: {words}: expected one of "
                         f"{' '.join(KINDS if step else TOP)} and a program that is there")
    return KINDS[kind](step, program)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    check, stale, parts = "--check" in sys.argv, 0, 0
    for folder, step in [(tree.ROOT, None)] + [(s.folder, s) for s in tree.steps()]:
        path = folder / "README.md"
        where = path.relative_to(tree.ROOT)
        if not path.exists():
            print(f"{where}: is missing")
            stale += 1
            continue
        old = path.read_text(encoding="utf-8")
        found = list(PART.finditer(old))
        if old.count("<!-- generated:") != len(found) or \
           any("<!-- generated:" in m[3] for m in found):
            raise SystemExit(f"{where}: a generated part without its <!-- end -->")
        missing = [f"{kind} {p.name}" for p in tree.programs()
                   for kind in ("diff", "predict", "measured")
                   if step and step.has(p) and
                   f"{kind} {p.name}" not in [m[2] for m in found]]
        for words in missing:
            print(f"{where}: no part `generated: {words}`")
        stale += len(missing)
        texts = {m[2]: "\n" + part(step, m[2], where).strip("\n") + "\n\n" for m in found}
        parts += len(found)
        for m in found:
            if m[3] != texts[m[2]]:
                stale += 1
                print(f"{where}: {m[2]}: " + ("stale (make lessons)" if check else
                                              "written"))
        new = PART.sub(lambda m: m[1] + texts[m[2]] + m[4], old)
        if new != old and not check:
            temporary = path.with_suffix(".tmp")
            temporary.write_text(new, encoding="utf-8")
            temporary.replace(path)
    if check:
        print(f"{max(parts - stale, 0)} passed, {stale} failed")
        sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
