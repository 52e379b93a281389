"""front.py - the tables of results on the front page, of the reference CPU and GPU.

The first one has the time of each step of the main program; the second one, for each program,
the best step that executes the operations of step 00, the step that avoids operations, and a
public code for the same task, which make race has measured.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.base import results, tree, verdict
from tools.base.results import Row

ALGORITHM = "10"  # the step that avoids operations; earlier ones execute them faster


def shown(machine: str, program: tree.Program) -> list[Row]:
    """The rows of a machine about the steps of a program, on the set that tables show."""
    return [r for r in results.measured().get(machine, ())
            if (r["program"], r["set"]) == (program.name, program.shown)
            and "/" not in r["step"]]


def milliseconds(rows: Iterable[Row], step: tree.Step, backends: Sequence[str]) -> str:
    found = [float(r["run_median"]) for r in rows
             if r["step"] == step.name and r["backend"] in backends]
    return f"{1000 * min(found):,.{0 if min(found) >= 0.1 else 2}f} ms" if found else ""


def earlier(rows: Iterable[Row], step: tree.Step) -> str:
    return " *" * any(r["step"] == step.name and "earlier" in r["mark"] for r in rows)


def steps() -> str:
    """The steps of the main program up to the best algorithm."""
    program = tree.programs()[0]
    cpu, gpu = (results.reference().get(k, "none") for k in ("cpu", "gpu"))
    lines = []
    for step in tree.steps():
        if step.number > ALGORITHM:
            break
        lines.append([f"[{step.number}](steps/{step.name}/{program.name}/README.md)",
                      step.title(program),
                      milliseconds(shown(cpu, program), step, ("omp",) if step.number > "00"
                                   else ("seq",)),
                      milliseconds(shown(gpu, program), step, ("cuda",)) +
                      earlier(shown(gpu, program), step)])
    return results.table(["step", "what changes", "CPU", results.display_name(gpu)], lines) + \
        f"\nCPU: {results.display_name(cpu)}, one thread in step 00 and two later. Times are " \
        "medians of interleaved runs, without initialization." + \
        f" `*`: {results.MARKS['earlier']}." * any(line[-1].endswith("*") for line in lines) + "\n"


def machines() -> str:
    cpu, gpu = (results.display_name(results.reference().get(k, "none")) for k in ("cpu", "gpu"))
    program = tree.programs()[0]
    rows = shown(results.reference().get("gpu", "none"), program)
    legend = " `*`: earlier code of the step." * any(earlier(rows, s) for s in tree.steps())
    return f"CPU: {cpu}, one thread in step 00 and two later. GPU: {gpu}.{legend}\n"


def gain(step: tree.Step, named: bool = False) -> str:
    """The time of a step of the main program, and its speed relative to the step before."""
    program, texts = tree.programs()[0], []
    for device, backend in ("cpu", "omp" if step.number > "00" else "seq"), ("gpu", "cuda"):
        machine = results.reference().get(device, "none")
        for r in shown(machine, program):
            if (r["step"], r["backend"]) == (step.name, backend):
                ratio = verdict.short(r, "over_previous")
                name = f"{results.display_name(machine)}, `{backend}`" if named else device.upper()
                texts.append(f"{name}: {milliseconds([r], step, [backend])}" +
                             f" ({ratio})" * bool(ratio) + " `*`" * ("earlier" in r["mark"]))
    text = f"**{'; '.join(texts) or 'Not measured on these machines'}.**"
    if named:
        text += f" Set {program.shown}, without initialization"
        text += "; in parentheses the speed relative to the step before (`~`: within measurement " \
            "noise)." if step.number > "00" else "."
        text += f" `*`: {results.MARKS['earlier']}." * any(t.endswith("`") for t in texts)
    return text + "\n"


def large(ratio: float) -> str:
    """12,000x, 348x, 5.1x"""
    digits = max(0, 2 - len(str(int(ratio))))
    rounded = round(ratio, 3 - len(str(int(ratio))))
    return f"{rounded:,.{digits}f}x"


def race(program: tree.Program) -> str:
    """The public code that the reference CPU has run, and how many times as long as our best
    step it takes."""
    path = results.FOLDER / f"{results.reference().get('cpu')}-race.csv"
    rows = [r for r in results.read(path) if r["program"] == program.name]
    if not rows:
        return "none"
    row = max(rows, key=lambda r: float(r["ratio"]))
    code = row["public"].split()[0].strip(",")
    return f"[{code}](https://github.com/{code}): {large(float(row['ratio']))}"


def races(program: tree.Program) -> str:
    """A public code beside the best of our steps, on every machine and set: for results/."""
    lines = []
    for path in sorted(results.FOLDER.glob("*-race.csv")):
        rows = [r for r in results.read(path) if r["program"] == program.name]
        for size in sorted({r["set"] for r in rows}):
            row = max((r for r in rows if r["set"] == size), key=lambda r: float(r["ratio"]))
            code = row["public"].split()[0].strip(",")
            lines.append([results.display_name(path.stem.removesuffix("-race")), size,
                          f"[{code}](https://github.com/{code})", row["flags"],
                          f"{float(row['public_seconds']):.3g} s", row["ours"],
                          f"{float(row['seconds']):.3g} s",
                          f"{float(row['ratio']):.3g} "
                          f"({float(row['low']):.3g} to {float(row['high']):.3g})"])
    if not lines:
        return f"Not measured yet: `make race PROGRAM={program.name} PEER=CHECKOUT`.\n"
    return results.table(["machine", "set", "public code", "its flags", "its time", "our best step",
                          "time", "times as fast"], lines)


def programs() -> str:
    lines = []
    cpu = results.reference().get("cpu", "none")
    for program in tree.programs():
        rows = shown(cpu, program)
        first = next((r for r in rows if r["backend"] == "seq" and r["step"][:2] == "00"), None)
        over = {better: max((float(r["over_first"]) for r in rows if r["over_first"]
                             and (r["step"][:2] == ALGORITHM) == better), default=0.0)
                for better in (False, True)}
        lines.append([f"[{program.name}](results/{program.name}.md): {program.mk['title']}",
                      f"{float(first['run_median']):.2f} s" if first else "",
                      *(large(over[b]) if over[b] else "" for b in (False, True)),
                      race(program)])
    return results.table(["program", "step 00", "same algorithm", "better algorithm",
                          "our best step over a public code"], lines)
