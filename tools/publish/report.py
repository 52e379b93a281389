"""report.py - make report: the whole history as one page, build/report/index.html.

It tells the steps in order: each lesson (its README.md, through pandoc), its diff in
colours, its prediction beside what was measured. The page needs no network and no
JavaScript: the style sheet, the drawings and the figures are inside it. It reads on a
phone, prints, and follows light and dark.

    report.py [RESULTS [PAGE]]      RESULTS is $RESULTS_DIR or results/ unless given

Programs and steps come from tree.py, numbers from RESULTS/*.csv, as make bench, flags,
ceilings and registers write them, figures from build/papers/. What was not measured is
left out, and a line says which target measures it. A lesson has generated parts, which
tools/publish/lessons.py knows; where it has those in PARTS, the report puts its own.
"""
import base64
import re
import subprocess
import sys
from html import escape, unescape
from pathlib import Path
from tools.history import results, runs, tree
from tools.measure import ceilings
from tools.publish import lessons, svg


try:
    pass
except ImportError:
    ceilings = None

HERE = Path(__file__).resolve().parent
WORDS = "machine device compiler flags commit program set step backend mark".split()
FOLD = 100  # a diff of more lines is folded
KINDS = {"start": "where it starts", "refactor": "same operations, same order",
         "port": "same algorithm elsewhere", "algebra": "different rounding",
         "memory": "same operations, other storage"}


# ---- what was measured -------------------------------------------------------------


class Measured:
    """The rows of all machines: dicts as bench.py writes them, numbers as numbers."""

    def __init__(self, folder):
        self.rows, self.flags, self.registers = [], {}, []
        for path in sorted(Path(folder).glob("*.csv")):
            rows = results.read(path)
            columns = rows[0] if rows else {}
            if "over_first" in columns:
                self.rows += [{k: v if k in WORDS else self.value(v)
                               for k, v in r.items()} for r in rows]
            elif "spill_store_bytes" in columns:
                self.registers += rows
            elif "flags" in columns and "ratio" in columns:
                self.flags[path.stem.removesuffix("-flags")] = rows
        order = {b: i for i, b in enumerate(tree.BACKENDS)}
        self.rows.sort(key=lambda r: (r["machine"], r["set"], r["step"],
                                      order.get(r["backend"], len(order))))
        self.machines = list(dict.fromkeys(r["machine"] for r in self.rows))

    @staticmethod
    def value(words):
        try:
            return float(words)
        except (TypeError, ValueError):
            return ""

    def of(self, **wanted):
        return [r for r in self.rows if all(r[k] == v for k, v in wanted.items())]

    def headline(self, program):
        """The set that figures and tables show; the others are in a folded table."""
        sets = list(dict.fromkeys(r["set"] for r in self.of(program=program.name)))
        return program.shown if program.shown in sets or not sets else sets[0]


def nice(machine):
    return machine.replace("-", " ")


def headed(program):
    """Its title as a sentence begins."""
    return program.title[:1].upper() + program.title[1:]


def verdict(row, key="over_previous"):
    """A gain in a word: gain, loss, none (its quartiles span 1), "" where there is no
    ratio."""
    if row[key] == "":
        return ""
    if row[f"{key}_low"] <= 1 <= row[f"{key}_high"]:
        return "none"
    return "gain" if row[key] > 1 else "loss"


def predicted(step, program, row):
    """(the ratio that step.mk predicts or None, its words)."""
    words = step.prediction(program, "gpu" if lessons.on_gpu(row) else "cpu")
    found = re.match(r"\s*(\d+(?:\.\d+)?)", words)
    return (float(found[1]) if found else None), words


def ceiling(program, step, row):
    """What ceilings.py says of a row: its dict, with the operations per byte of the
    level nearest to the processor beside it and the roofs that hold there, or None."""
    if not ceilings or row["set"] not in program.sets:
        return None
    machine, device, threads = row["machine"], row["device"], row["threads"] or 1
    found = ceilings.roofline(program, step, row["set"],
                              row["kernel_median"] or row["run_median"], threads, device,
                              machine=machine)
    if not found:
        return None
    counted = ceilings.work(program, row["set"])
    flops, levels = step.mk[f"flops.{program.name}"], {}
    for level in ceilings.LEVELS:
        text = step.mk.get(f"bytes.{program.name}.{level}")
        if text:
            levels[level] = ceilings.total(flops, counted, step.name) / \
                max(1.0, ceilings.total(text, counted, step.name))
    return found | {"per_byte": next(iter(levels.items()), None),
                    "roofs": ceilings.ceilings_of(machine, device, threads)}


# ---- pieces of HTML ----------------------------------------------------------------


def table(head, rows, caption):
    """A table in a box of its own, which scrolls where it is too wide. Cells are HTML;
    the first of a row is its heading; a row of one cell heads those after it."""
    caption = escape(caption)
    out = [f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
           f"<table><caption>{caption}</caption><thead><tr>"]
    out += [f'<th scope="col">{cell}</th>' for cell in head]
    out.append("</tr></thead><tbody>")
    for row in rows:
        if len(row) == 1:
            out.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(head)}">'
                       f"{row[0]}</th></tr>")
            continue
        out.append(f'<tr><th scope="row">{row[0]}</th>'
                   + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>")
    return "".join(out) + "</tbody></table></div>"


def figure(drawing, caption):
    return f"<figure>{drawing}<figcaption>{caption}</figcaption></figure>"


def folded(summary, body):
    return f"<details><summary>{summary}</summary>{body}</details>"


def missing(words):
    return f'<p class="missing">{words}</p>'


def ratio(row, key, quartiles=True):
    if row[key] == "":
        return "–"
    low, high = svg.number(row[f"{key}_low"]), svg.number(row[f"{key}_high"])
    kind = verdict(row, key)
    mark = {"none": "≈&#8239;", "loss": "▾&#8239;"}.get(kind, "")
    spread = f" <small>{low} – {high}</small>" if quartiles else ""
    return f'<span class="{kind}">{mark}{svg.number(row[key])}{spread}</span>'


def seconds(value):
    return "–" if value == "" else f"{value:.4f}" if value < 1 else f"{value:.2f}"


def backend(name):
    return f'<span class="tag b-{name}">{name}</span>'


# ---- lessons -----------------------------------------------------------------------


def pandoc(markdown, prefix=""):
    command = ["pandoc", "--from", "gfm", "--to", "html5", "--no-highlight", "--wrap",
               "none", "--shift-heading-level-by", "1", "--id-prefix", prefix]
    try:
        ended = subprocess.run(command, input=markdown, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit("report: pandoc not found (Debian: pandoc)") from None
    if ended.returncode:
        raise SystemExit(f"report: pandoc: {ended.stderr.strip()}")
    return ended.stdout


def settled(html, folder):
    """pandoc's HTML as the page needs it: tables and code in boxes that scroll, links to
    other lessons inside the page, pictures inside it, links into the tree as text."""
    def link(found):
        target, words = unescape(found[1]), found[2]
        if re.match(r"https?:|mailto:|#", target):
            return found[0]
        path = (folder / target.split("#")[0]).resolve()
        for step in tree.steps():
            if path in (step.folder, step.folder / "README.md"):
                return f'<a href="#step-{step.number}">{words}</a>'
        return words

    def image(found):
        source = unescape(re.search(r'src="([^"]*)"', found[0])[1])
        words = re.search(r'alt="([^"]*)"', found[0])
        return embedded(folder / source, unescape(words[1]) if words else source)

    def code(found):
        body = unescape(found[2])
        if "diff" in found[1]:
            return f'<pre class="diff" tabindex="0"><code>{coloured(body)}</code></pre>'
        return f'<pre tabindex="0"><code>{found[2]}</code></pre>'

    html = re.sub(r'<a href="([^"]*)"[^>]*>(.*?)</a>', link, html, flags=re.S)
    html = re.sub(r"<img [^>]*>", image, html)
    html = re.sub(r"<pre([^>]*)><code[^>]*>(.*?)</code></pre>", code, html, flags=re.S)
    html = re.sub(r"<table>.*?</table>", lambda t: '<div class="scroll" tabindex="0" '
                  f'role="region" aria-label="Table">{t[0]}</div>', html, flags=re.S)
    return html


def embedded(path, words):
    """A picture inside the page. A drawing of its own colours stands on white."""
    if not path.is_file():
        return missing(f"{escape(words)}: {escape(path.name)} is not there")
    kind = {".svg": "svg+xml", ".jpg": "jpeg"}.get(path.suffix, path.suffix[1:])
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(words)}" src="data:image/{kind};base64,{data}">'


def lesson(step, parts):
    """(the lesson as HTML, {program: first paragraph on what surprised in it}).
    parts: {"KIND PROGRAM": HTML} to put in the place of the lesson's own; those used
    are taken out of it."""
    path = step.folder / "README.md"
    if not path.is_file():
        return missing("The lesson is not written yet."), {}
    markdown = re.sub(r"\A\s*# .*\n", "", path.read_text())
    used = []

    def place(found):
        key = found[2]
        if key.startswith("registers "):  # the lesson's own has all steps
            parts.pop(key, None)
        if key not in parts or key in used:
            return found[3]
        used.append(key)
        return f"\nREPORT-PART-{len(used) - 1}\n\n"

    html = settled(pandoc(lessons.PART.sub(place, markdown), f"step-{step.number}-"),
                   step.folder)
    surprises = {}
    for block in re.split(r"(?=<h3)", html):
        name = re.match(r"<h3[^>]*>(.*?)</h3>", block)
        found = re.search(r"<h4[^>]*>[^<]*surpris.*?</h4>(.*?)(?=<h[234]|\Z)", block,
                          re.I | re.S)
        first = found and re.search(r"<p>(?!REPORT-PART)(.*?)</p>", found[1], re.S)
        if name and first:
            surprises[name[1].lower()] = first[1]
    for n, key in enumerate(used):
        html = html.replace(f"<p>REPORT-PART-{n}</p>", parts.pop(key))
    return html, surprises


def coloured(diff):
    """A unified diff, each line an element; the signs stay."""
    out = []
    for words in diff.splitlines():
        tag, kind = {"+": ("ins", ""), "-": ("del", ""), "@": ("span", "hunk")}.get(
            words[:1], ("span", ""))
        if words.startswith(("+++ ", "--- ")):
            tag, kind = "span", "file"
        kind = f' class="{kind}"' if kind else ""
        out.append(f"<{tag}{kind}>{escape(words, quote=False)}\n</{tag}>")
    return "".join(out)


def files(step, program):
    folder = step.folder / program.name
    return {p.name: p for p in sorted(folder.glob("*")) if p.is_file()}


def change(step, program):
    """What the step changes: a diff a file, as make diff shows it; of the first step,
    its files."""
    earlier = tree.before(step, program)
    new = files(step, program)
    if not earlier:
        return "".join(
            folded(f"<code>{program.name}/{name}</code> "
                   f"<small>{len(text.splitlines())} lines</small>",
                   f'<pre tabindex="0"><code>{escape(text, quote=False)}</code></pre>')
            for name, text in ((n, p.read_text()) for n, p in new.items()))
    old = files(earlier, program)
    out = []
    for name in sorted(old | new):
        from_, to = (str(where[name].relative_to(tree.ROOT)) if name in where
                     else "/dev/null" for where in (old, new))
        diff = subprocess.run(["diff", "-u", "--label", from_, "--label", to, from_, to],
                              cwd=tree.ROOT, capture_output=True, text=True).stdout
        if not diff:
            continue
        lines = diff.splitlines()[2:]
        plus, minus = (sum(x.startswith(sign) for x in lines) for sign in "+-")
        state = "" if len(lines) > FOLD or name not in new else " open"
        note = " new file" if name not in old else " removed" if name not in new else ""
        out.append(
            f"<details{state}><summary><code>{program.name}/{name}</code>{note} "
            f'<small>+{plus} −{minus}</small></summary>'
            '<pre class="diff" tabindex="0"><code>'
            f"{coloured(chr(10).join(lines))}</code></pre></details>")
    if not out:
        return f"<p>Nothing: {program.name} is the same as in {earlier.name}.</p>"
    return "".join(out)


# ---- a step ------------------------------------------------------------------------


def outcome(step, program, measured):
    """Prediction against measurement: a drawing and the numbers, then the paper's."""
    name = measured.headline(program)
    rows = measured.of(program=program.name, step=step.name, set=name)
    paper = settled(pandoc(lessons.measured_paper(step, program)), step.folder)
    out = []
    if not rows:
        return missing("Not measured: <code>make bench</code> does it.") + paper

    groups = []
    for machine in measured.machines:
        group = [(r["backend"], predicted(step, program, r)[0], r["over_previous"],
                  r["over_previous_low"], r["over_previous_high"])
                 for r in rows if r["machine"] == machine and r["over_previous"] != ""]
        if group:
            groups.append((nice(machine), group))
    if groups:
        spoken = "; ".join(f"{b} {svg.number(m)}" + (f", predicted {svg.number(p)}" if p
                           else "") for _, g in groups for b, p, m, _, _ in g)
        out.append(figure(
            svg.against(groups, f"{step.title}: gain over the step before", spoken),
            f"Gain over the step before on set {name}. The shape is the median, the bar "
            "runs from quartile to quartile, the upright line is the prediction; 1 is "
            "no gain."))

    head = ["back-end", "time", "over the step before", f"over {tree.steps()[0].number}",
            "budget used"]
    limits = [ceiling(program, step, r) for r in rows]
    if any(limits):
        head.append("share of ceiling")
    body, machine = [], None
    for row, limit in zip(rows, limits):
        if row["machine"] != machine:
            machine = row["machine"]
            body.append([nice(machine)])
        cells = [backend(row["backend"]), seconds(row["run_median"]) + "&#8239;s"
                 + (" <small>busy</small>" if row["mark"] else ""),
                 ratio(row, "over_previous"), ratio(row, "over_first"),
                 f"{row['share']:.2f}&#8239;%" if row["share"] != "" else "–"]
        if any(limits):
            cells.append("–" if not limit else f"{share(limit):.0f}&#8239;% <small>of "
                         f"{escape(limit['ceiling_name'])}</small>"
                         + (" <strong>SUSPICIOUS</strong>" if limit["suspicious"]
                            else ""))
        body.append(cells)
    out.append(table(head, body, f"{program.name}, set {name}: medians and "
                     "quartiles of interleaved, verified runs"))
    if not any(limits):
        out.append(missing("Share of the machine's ceiling: <code>make ceilings</code> "
                           "measures it."))
    return "".join(out) + paper


def share(limit):
    """In percent."""
    return 100 * limit["share"]


def expected(step, program, measured):
    """What step.mk predicts, in words."""
    words = ""
    for device in ("cpu", "gpu"):
        said = step.prediction(program, device)
        if said and said != "none":
            words += f"<dt>Predicted, {device.upper()}</dt><dd>{escape(said)}</dd>"
    return words and f"<dl>{words}</dl>"


def registers(step, program, measured):
    """This step's and those of the step before."""
    earlier = tree.before(step, program)
    names = [s.name for s in (earlier, step) if s]
    rows = [r for r in measured.registers
            if r["program"] == program.name and r["step"] in names]
    if not any(r["step"] == step.name for r in rows):
        return ""
    keys = [k for k in rows[0] if k != "program" and k != "step"]
    return table(["step"] + [escape(k.replace("_", " ")) for k in keys],
                 [[escape(r["step"])] + [escape(r[k]) or "–" for k in keys]
                  for r in rows], f"{program.name}: what one work-item needs")


# What the report draws itself, by the kinds of the lessons' generated parts; the heading
# is for a part that a lesson has no place for.
PARTS = {
    "diff": ("The change", lambda s, p, m: change(s, p)),
    "predict": ("Prediction", expected),
    "measured": ("Measurement", outcome),
    "registers": ("Registers and spills", registers),
}


def section(step, measured):
    """(a step's part of the page, what surprised in each program)."""
    programs = [p for p in tree.programs() if step.has(p)]
    parts = {}
    for kind, (_, make) in PARTS.items():
        for program in programs:
            html = make(step, program, measured)
            if html:
                parts[f"{kind} {program.name}"] = html
    html, surprises = lesson(step, parts)
    kinds = dict.fromkeys(KINDS[step.kind(p)] for p in programs)
    out = [f'<section class="step" aria-labelledby="step-{step.number}">'
           f'<h2 id="step-{step.number}"><span class="digits">{step.number}</span> '
           f'{escape(step.title)}</h2><p class="kind">{"; ".join(kinds)}</p>', html]
    for kind, (heading, _) in PARTS.items():
        left = [p for p in programs if f"{kind} {p.name}" in parts]
        if left:
            out.append(f'<h3 id="step-{step.number}-report-{kind}">{heading}</h3>')
        for program in left:
            if len(programs) > 1:
                out.append(f"<h4>{escape(program.name)}</h4>")
            out.append(parts[f"{kind} {program.name}"])
    return "\n".join(out) + walk(step) + "</section>", surprises


def walk(step):
    """Links to the neighbours of a step."""
    all_steps = tree.steps()
    i = all_steps.index(step)
    links = []
    if i:
        links.append(f'<a rel="prev" href="#step-{all_steps[i - 1].number}">← '
                     f"{escape(all_steps[i - 1].title)}</a>")
    links.append('<a href="#contents">Contents</a>')
    if i + 1 < len(all_steps):
        links.append(f'<a rel="next" href="#step-{all_steps[i + 1].number}">'
                     f"{escape(all_steps[i + 1].title)} →</a>")
    return f'<nav class="walk" aria-label="Next to {escape(step.title)}">' \
        + "".join(links) + "</nav>"


# ---- the whole -----------------------------------------------------------------------


def columns(program, measured):
    """(machine, back-end) of everything that has a gain on the headline set."""
    rows = measured.of(program=program.name, set=measured.headline(program))
    return list(dict.fromkeys((r["machine"], r["backend"]) for r in rows
                              if r["over_previous"] != ""))


def steps_table(program, measured):
    """Steps by back-ends: the gain over the step before; at the foot, over the first."""
    name, pairs = measured.headline(program), columns(program, measured)
    machines = list(dict.fromkeys(m for m, _ in pairs))
    caption = escape(headed(program) + (
        f": gain of each step over the one before, set {name}" if pairs else ""))
    out = [f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
           f"<table><caption>{caption}</caption><thead>"]
    if pairs:
        out.append('<tr><th rowspan="2" scope="col">step</th>' + "".join(
            f'<th scope="colgroup" colspan="{sum(m == x for x, _ in pairs)}">{nice(m)}'
            "</th>" for m in machines) + "</tr>")
        out.append("<tr>" + "".join(f'<th scope="col">{backend(b)}</th>'
                                    for _, b in pairs) + "</tr>")
    else:
        out.append('<tr><th scope="col">step</th><th scope="col">promise</th></tr>')
    out.append("</thead><tbody>")
    shown = [s for s in tree.steps() if s.has(program)]
    for step in shown:
        rows = {(r["machine"], r["backend"]): r for r in
                measured.of(program=program.name, set=name, step=step.name)}
        cells = [ratio(rows[p], "over_previous", False) if p in rows else ""
                 for p in pairs] or [KINDS[step.kind(program)]]
        out.append(f'<tr><th scope="row"><a href="#step-{step.number}">'
                   f'<span class="digits">{step.number}</span> {escape(step.title)}</a>'
                   "</th>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
    if pairs:
        best = {}  # the last step that has the back-end; half-way points are none
        for step in shown:
            for row in measured.of(program=program.name, set=name, step=step.name):
                if row["over_first"] != "":
                    best[row["machine"], row["backend"]] = row
        out.append('</tbody><tfoot><tr><th scope="row">over the first</th>' + "".join(
            f'<td>{ratio(best[p], "over_first", False) if p in best else "–"}</td>'
            for p in pairs) + "</tr></tfoot>")
    else:
        out.append("</tbody>")
    return "".join(out) + "</table></div>"


def staircases(program, measured):
    name = measured.headline(program)
    shown = [s for s in tree.steps() if s.has(program)]
    place = {s.name: i for i, s in enumerate(shown)}
    out = []
    for machine in measured.machines:
        series = {}
        for r in measured.of(program=program.name, set=name, machine=machine):
            if r["step"] not in place:
                continue
            triple = (1.0, 1.0, 1.0) if place[r["step"]] == 0 else tuple(
                r[f"over_first{x}"] for x in ("", "_low", "_high"))
            if triple[0] != "":
                series.setdefault(r["backend"], {})[place[r["step"]]] = triple
        if not series:
            continue
        spoken = "; ".join(
            f"{b}: " + ", ".join(f"{shown[i].number} {svg.number(v[0])}"
                                 for i, v in sorted(points.items()))
            for b, points in series.items())
        drawing = svg.staircase(
            [(s.number, s.name.partition("_")[2].replace("_", " ")) for s in shown],
            series, f"{headed(program)} on {nice(machine)}: speedup over the first step",
            spoken)
        out.append(figure(drawing, f"{nice(machine)}, set {name}. Each line is a "
                          "back-end, each shape the median of its runs over the first "
                          "step, the bars its quartiles."))
    if not out:
        return missing("Nothing is measured yet: <code>make bench</code> does it.")
    body, last = [], None
    for r in measured.of(program=program.name):
        if (r["machine"], r["set"]) != last:
            last = r["machine"], r["set"]
            body.append([f"{nice(r['machine'])}, set {r['set']}"])
        body.append([f'{r["step"]} {backend(r["backend"])}', seconds(r["init_mean"]),
                     seconds(r["run_mean"]), seconds(r["run_sd"]),
                     seconds(r["run_median"]), seconds(r["kernel_median"]),
                     ratio(r, "over_first")])
    numbers = table(["step", "start, mean", "run, mean", "deviation", "run, median",
                     "kernel, median", "over the first"], body,
                    f"{program.name}: seconds")
    return "".join(out) + folded("All sets, in seconds", numbers)


def roofline(program, measured):
    """How much of the machine's measured ceiling each step reaches, or ""."""
    name, out = measured.headline(program), []
    for machine in measured.machines:
        rows, points = [], {}
        for r in measured.of(program=program.name, set=name, machine=machine):
            step = next((s for s in tree.steps() if s.name == r["step"]), None)
            limit = step and ceiling(program, step, r)
            if limit:
                rows.append((f"{step.number} {r['backend']}", r["backend"], share(limit),
                             limit["ceiling_name"], limit["suspicious"]))
                if limit["per_byte"]:
                    level, x = limit["per_byte"]
                    key = level, lessons.on_gpu(r)
                    roofs, series = points.setdefault(key, ({}, {}))
                    if limit["roofs"]["fma"] > roofs.get("fma", 0):
                        roofs.update(limit["roofs"])  # those of all threads
                    series.setdefault(r["backend"], []).append(
                        (step.number, x, limit["gflops"]))
        if rows:
            spoken = "; ".join(f"{label} {svg.number(percent)} %"
                               for label, _, percent, _, _ in rows)
            out.append(figure(
                svg.shares(rows, f"{headed(program)} on {nice(machine)}: share of the "
                           "ceiling", spoken),
                f"{nice(machine)}, set {name}: operations a second, as a share of what "
                "the machine was measured to do at most with as many threads."))
        for (level, _), (roofs, series) in points.items():
            lines = {k: roofs[k] for k in ceilings.LEVELS if k in roofs}
            spoken = "; ".join(f"{b}: " + ", ".join(
                f"{n} {svg.number(y)} at {svg.number(x)}" for n, x, y in found)
                for b, found in series.items())
            out.append(figure(
                svg.roofline(lines, roofs["fma"], series, f"{headed(program)} on "
                             f"{nice(machine)}: roofline", spoken),
                f"{nice(machine)}, set {name}: operations a second against operations "
                f"for each byte that must come from {level.upper()}, under the roofs of "
                "all threads. A line joins the steps of a back-end."))
    return "".join(out)


def pictures(program, _):
    """What the program makes: the pictures that its program.mk names, as in
    picture.NAME = words of a query, {png} where the file goes | caption; its last step
    draws those that are older than it."""
    lines = {k.partition(".")[2]: v for k, v in program.mk.items()
             if k.startswith("picture.")}
    binary = next((b for s in reversed(tree.steps())
                   if (b := s.binary(program, "omp")).exists()), None)
    out = []
    for name, line in lines.items() if binary else ():
        words, _, about = map(str.strip, line.partition("|"))
        path = tree.build() / "report" / f"{program.name}-{name}.png"
        if not path.exists() or path.stat().st_mtime < binary.stat().st_mtime:
            path.parent.mkdir(parents=True, exist_ok=True)
            ended = runs.run([binary, *program.words(words.replace("{png}", str(path)))],
                             300)
            if ended.why():
                raise SystemExit(f"report: {path.name}: {ended.why()}")
        out.append(figure(embedded(path, about),
                          f"{escape(about)} <code>{escape(words)}</code>"))
    return f'<div class="pictures">{"".join(out)}</div>' if out else ""


def papers(program, _):
    """The figures that tools/measure/papers.py draws, in the order of their numbers."""
    folder, path = tree.build() / "papers" / program.name, \
        HERE / "papers" / f"{program.name}.figures"
    titles = dict(re.findall(r"^figure (\w+): (.*)$", path.read_text(), re.M)) \
        if path.is_file() else {}
    found = {p.stem.removeprefix("fig"): p for p in folder.glob("fig*.svg")}
    out = []
    for n in sorted(found, key=lambda n: (len(n), n)):  # 1, 2, 10, table1
        words = ": ".join(filter(None, (n.isdigit() and f"Figure {n}", titles.get(n))))
        out.append(figure(embedded(found[n], words), escape(words)))
    return "".join(out)


def nothing(measured, surprises):
    """The steps that gained nothing somewhere, and what the lesson says of it."""
    out = []
    for step in tree.steps():
        found = []
        for program in (p for p in tree.programs() if step.has(p)):
            for r in measured.of(program=program.name, step=step.name,
                                 set=measured.headline(program)):
                if verdict(r) in ("none", "loss"):
                    found.append((program, r))
        if not found:
            continue
        out.append(f'<h3 id="nothing-{step.number}"><a href="#step-{step.number}">'
                   f'{step.number} {escape(step.title)}</a></h3>')
        several = len({p.name for p, _ in found}) > 1
        for program in dict.fromkeys(p for p, _ in found):
            rows = [r for p, r in found if p is program]
            why = surprises[step.name].get(program.name) or "; ".join(dict.fromkeys(
                f"expected: {escape(w)}" for r in rows
                if (w := predicted(step, program, r)[1]) and w != "none"))
            items = "".join(f"<li>{backend(r['backend'])} {ratio(r, 'over_previous')} on "
                            f"{nice(r['machine'])}</li>" for r in rows)
            label = f"<strong>{escape(headed(program))}.</strong> " if several else ""
            out.append(f'<p>{label}{why}</p><ul class="ratios">{items}</ul>')
    return "\n".join(out)


def machines(measured):
    out = []
    for machine in measured.machines:
        rows = measured.of(machine=machine)
        devices = dict.fromkeys((r["backend"], str(r["device"])) for r in rows)
        def listed(key):
            return escape(", ".join(dict.fromkeys(str(r[key]) for r in rows if r[key])))
        out.append(f'<h3 id="machine-{escape(machine)}">{nice(machine)}</h3><dl>'
                   f"<dt>Compiler</dt><dd>{listed('compiler')}</dd>"
                   f"<dt>Flags</dt><dd><code>{listed('flags')}</code></dd>"
                   f"<dt>Commit</dt><dd><code>{listed('commit')}</code></dd>"
                   "<dt>Devices</dt><dd>" + "; ".join(
                       f"{backend(b)} {escape(d)}" for b, d in devices) + "</dd></dl>")
        flags = measured.flags.get(machine, [])
        for name in dict.fromkeys(r["program"] for r in flags):
            out.append(table(
                ["flags", "time", "ratio"],
                [[f"<code>{escape(r['flags'])}</code>" if r["flags"].startswith("-")
                  else escape(r["flags"]), f"{r['seconds']}&#8239;s",
                  f"{svg.number(r['ratio'])} <small>{svg.number(r['low'])} – "
                  f"{svg.number(r['high'])}</small>"]
                 for r in flags if r["program"] == name],
                f"{name}, the first step: other flags against the tree's"))
    return "\n".join(out)


def opening():
    """The title and the first paragraph of the README."""
    text = (tree.ROOT / "README.md").read_text()
    title = re.search(r"^# (.*)$", text, re.M)
    paragraph = re.search(r"^# [^\n]*\n+(.*?)\n\n", text, re.M | re.S)
    return (title[1] if title else "An optimization history",
            settled(pandoc(paragraph[1], "top-"), tree.ROOT) if paragraph else "")


LEGEND = """<p class="legend">A number says how many times as fast a back-end is as one
step before, the median of interleaved, verified runs. <span class="none">≈&#8239;1.00</span>
is not distinguishable from no gain: its quartiles span 1. <span class="loss">▾&#8239;0.90
</span> is slower.</p>
"""


def page(folder):
    measured = Measured(folder)
    if ceilings:
        ceilings.results.FOLDER = Path(folder)
    title, about = opening()
    programs = [p for p in tree.programs() if any(s.has(p) for s in tree.steps())]
    shown = [(s, *section(s, measured)) for s in tree.steps()]
    surprises = {s.name: found for s, _, found in shown}

    def each(name, make):
        """What make() says of each program, under its title if there are several."""
        made = [(p, make(p, measured)) for p in programs]
        return "".join((f'<h3 id="{name}-{p.name}">{escape(headed(p))}</h3>'
                        if len(programs) > 1 else "") + html
                       for p, html in made if html)

    chapters = [("steps", "The steps", "".join(steps_table(p, measured)
                                               for p in programs)
                 + (LEGEND if measured.rows else ""))]
    chapters += [("staircase", "The staircase", each("staircase", staircases)),
                 ("pictures", "What comes out", each("pictures", pictures))]
    chapters = [c for c in chapters if c[2]]
    after = [("ceilings", "How far from the ceiling", each("ceilings", roofline)),
             ("papers", "The figures of the papers", each("papers", papers)),
             ("nothing", "What gained nothing, and why", nothing(measured, surprises)),
             ("machines", "The machines and the flags", machines(measured))]
    after = [c for c in after if c[2]]

    contents = [(f"#{i}", t) for i, t, _ in chapters]
    contents += [(f"#step-{s.number}", f'<span class="digits">{s.number}</span> '
                  f"{escape(s.title)}") for s in tree.steps()]
    contents += [(f"#{i}", t) for i, t, _ in after]
    where = ", ".join(f'<a href="#machine-{escape(m)}">{nice(m)}</a>'
                      for m in measured.machines)

    def chapter(name, heading, body):
        return (f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>'
                f"{body}</section>")
    return "\n".join([
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{(HERE / 'report.css').read_text()}</style>\n</head>\n<body>",
        '<a class="skip" href="#steps">Skip to the steps</a>',
        f'<header><h1>{escape(title)}</h1><div class="about">{about}',
        f"<p class=\"where\">Measured on {where}.</p>" if where else "",
        "</div></header>",
        '<nav id="contents" class="contents" aria-label="Contents"><p>Contents</p><ol>',
        *(f'<li><a href="{target}">{words}</a></li>' for target, words in contents),
        "</ol></nav>\n<main>",
        *(chapter(*c) for c in chapters),
        *(html for _, html, _ in shown),
        *(chapter(*c) for c in after),
        "</main>\n</body>\n</html>\n"])


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else results.FOLDER
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else tree.build() / "report/index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(page(folder))
    temporary.replace(path)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
