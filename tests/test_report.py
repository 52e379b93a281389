"""test_report.py: the report of an invented tree, with invented numbers and pictures.

The tree is a copy of this one with steps added to make thirteen, of which two programs leave
some out; two machines, of which one has a GPU and four back-ends. Links must lead somewhere,
nothing may come from outside, pictures must be described, and each wrong input must be
rejected with one line.
"""
import csv
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.helpers import ROOT, trace
from tools.history import results, tree
from tools.measure import bench, shares
from tools.publish import draw, lessons, papers_form

LETTERS, CONTRAST = 11, 4.5  # pixels; WCAG 2, level AA
STEPS = "08_vector 09_blocking 10_algorithm 11_hybrid 12_cluster".split()
ABSENT = {"gridding": "03 04 06 08 09 11", "fluid": "03 04 06 10 12"}  # from these steps
GAINS = (1.0, 1.9, 1.02, 0.96, 1.4, 2.3, 1.01, 0.9)
MACHINES = {  # threads, {back-end: (device, what its first step gains)}
    "Invented-CPU-2-cores": (2, {"omp": ("2 threads", 1.96), "ocl": ("cpu-Invented", 1.1)}),
    "Invented-GPU-80GB": (64, {"omp": ("64 threads", 30.2), "ocl": ("Invented GPU", 1.1),
                               "openacc": ("Invented GPU", 1.2),
                               "cuda": ("Invented GPU", 131.0)})}

# ---- an invented tree ----------------------------------------------------------------


def rows_of(machine, program, name, chance, copy):
    """Rows as make bench writes them: what repeats is repeated, the rest invented."""
    threads, backends = MACHINES[machine]
    steps = [s for s in sorted(p.parent.name for p in copy.glob("steps/*/step.mk"))
             if (copy / "steps" / s / program.name).is_dir()]
    columns = bench.COLUMNS
    last: dict[str, float] = {}
    for n, step in enumerate(steps):
        for backend, (device, gain) in backends.items() if n else [("seq", ("1 core", 1))]:
            over = gain if backend not in last else chance.choice(GAINS)
            last[backend] = last.get(backend, 1) * over
            row = dict.fromkeys(columns, "") | {
                "machine": machine, "device": device, "compiler": "gcc 12",
                "flags": "-std=c11 -O3", "commit": "abc1234", "program": program.name,
                "set": name, "step": step, "backend": backend, "threads": threads,
                "runs": 15, "kernel_median": 9 / last[backend], "share": "12.50",
                "ceiling": "dram", "of_ceiling": min(0.9, 0.002 * last[backend])}
            row |= {f"{which}_{what}": 9 / last[backend] for which in ("init", "run")
                    for what in ("mean", "sd", "median", "q1", "q3")}
            for key, value in (("previous", over), ("first", last[backend])) if n else ():
                word = "same code" if value == 1 else "none" if abs(value - 1) < 0.03 \
                    else "gain" if value > 1 else "loss"
                row[f"over_{key}_is"] = word
                for end, factor in (("", 1), ("_low", 0.98), ("_high", 1.02)):
                    row[f"over_{key}{end}"] = "" if value == 1 else f"{value * factor:.3f}"
            yield {k: row[k] for k in columns}


def invent_results(copy):
    chance = random.Random(1)
    for machine in MACHINES:
        rows = [r for p in tree.programs() for name in p.sets
                for r in rows_of(machine, p, name, chance, copy)]
        with (copy / f"results/{machine}.csv").open("w", newline="") as f:
            writer = csv.DictWriter(f, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def invent_shares(copy):
    """What make shares wrote of two programs, one of which was busy for long enough to be
    looked at closely."""
    machine, rows, busy = next(iter(MACHINES)), [], []
    for program, host, device in (("sandpile", 1.0, 3.0), ("semblance", 2e-3, 1e-3)):
        even, both = 100 * host / (host + device), host * device / (host + device)
        queries = ("", "more=1") if program == "sandpile" else ("",)
        for words, share in itertools.product(
                queries, ("0", *map(str, shares.SWEEP), "100", "auto")):
            p = even if share == "auto" else float(share)
            took = 1.03 * max((1 - p / 100) * host, p / 100 * device)
            row = {"machine": machine, "program": program, "set": "1", "words": words,
                   "step": "11_hybrid", "backend": "hybrid",
                   "device": "host and cpu-Invented", "threads": 1, "share": share,
                   "share_had": p, "run_median": took, "even": even}
            for key, value in (("run", took), ("over_sum", both / took)):
                row |= {key: value, f"{key}_low": 0.98 * value, f"{key}_high": 1.02 * value}
            rows.append({k: row.get(k, "") for k in shares.COLUMNS})
        for share, part in (("50", "whole"), ("auto", "whole"), ("auto", "close")):
            for who, what, n in (("device", "strips & <more>", 5), ("host 0", "rows", 3),
                                 ("host 1", "rows", 4)):
                busy += [{"machine": machine, "program": program, "set": "1",
                          "backend": "hybrid", "share": share, "part": part, "who": who,
                          "what": what, "begin": i / n, "end": (i + 0.9) / n,
                          "busy": 0.9 / n} for i in range(n)]
    results.write(copy / f"results/{machine}-shares.csv", shares.COLUMNS, rows)
    results.write(copy / f"results/{machine}-busy.csv", shares.BUSY_COLUMNS, busy)


def invent_tree(copy, steps):
    """A copy of what the report reads, with steps added, in the place of those that have
    their names."""
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("docs", "tools", "common", "steps"):
        shutil.copytree(Path(ROOT) / name, copy / name, ignore=leave)
    shutil.copy(Path(ROOT) / "README.md", copy)
    (copy / "results").mkdir()
    for name in steps:
        shutil.rmtree(copy / "steps" / name, ignore_errors=True)
    model = max((copy / "steps").glob("*/step.mk")).parent
    for name in steps:
        made = copy / "steps" / name
        shutil.copytree(model, made, ignore=shutil.ignore_patterns("variants"))
        for step in (tree.Step(model.name),):
            for program in filter(step.has, tree.programs()):
                for path in (made / program.name).glob("*.[ch]"):
                    path.write_text(path.read_text() + f"/* {name} & <more> */\n")
    for name, numbers in ABSENT.items() if steps else ():
        for number in numbers.split():
            for folder in (copy / "steps").glob(f"{number}_*/{name}"):
                shutil.rmtree(folder)


def invent_pictures(build):
    """What binaries and make papers would have left."""
    (build / "pictures").mkdir(parents=True)
    np = draw.np
    for program in tree.programs():
        for key in program.mk:
            if key.startswith("picture."):
                draw.theme.matplotlib.image.imsave(
                    build / f"pictures/{program.name}-{key[8:]}.png",
                    np.add.outer(np.arange(300), np.arange(400)))
    best = build / "pictures/semblance-best.npy"
    np.save(best, np.array([1.1e-4, -2e-4, 7e-7, 0, 5e-8, 0.4, 0.99], "f4"))
    np.save(f"{best}.panel.npy", np.random.RandomState(1).rand(100, 100))
    data = build / "data/semblance/paper.su"
    data.parent.mkdir(parents=True)
    data.write_bytes(b"".join(
        trace([((i * 7 + t) % 40 - 20) / 20 for t in range(1200)], dt=2000, order=">",
              sy=4600 + 20 * (i // 5), gy=3640 + 20 * (i % 5)) for i in range(60)))
    kinds = set()
    for program in tree.programs():
        path = lessons.PAPERS / f"{program.name}.figures"
        folder = build / "papers" / program.name
        for figure in papers_form.read_figures(path)[0] if path.exists() else ():
            if figure.kind not in kinds:
                kinds.add(figure.kind)
                invent_figure(figure, program, folder)


def invent_figure(figure, program, folder):
    path = folder / f"fig{figure.number}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    if figure.kind in ("shares", "trace", "busy"):
        inside = path.with_suffix(".csv")
        if figure.kind == "shares":
            draw.write_shares("advect  40.1 %  1.5  20\nproject  30.0 %  0.5  1\n", inside)
        elif figure.kind == "busy":
            inside.write_text("begin,end,who,what\n0,1,device,rows\n0.1,0.9,host 0,rows\n")
        else:
            inside.write_text("worker,iteration,begin_us,end_us\n0,0,1,9\n1,1,8,12\n")
        return draw.inside(path, figure, [(b, inside) for b in figure.bars], "Invented.")
    rows = []
    for name in figure.sets(program):
        for n, bar in enumerate(figure.bars):
            for x, y, kind in figure.runs(bar):
                row = {"set": name, "label": bar.label, "backend": kind.backend, "y": y,
                       "x": x or name, "mark": "no GPU measured", "paper_seconds": ""}
                known = "" if kind.backend == "gpu" else n + 1
                rows.append(row | dict.fromkeys(
                    """init_mean run_mean total_mean total_sd rate_mean speedup paper_rate
                    paper_speedup""".split(), known))
    return draw.paper(path, figure, rows, "Mcells/s", "Invented. " * 20)


# ---- the pages as texts --------------------------------------------------------------


class Text(HTMLParser):
    """What a page has: identifiers, links, pictures, and what it must not have."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.faults, self.alone = [], [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        self.alone += tag == "h1"
        self.ids += [have["id"]] if "id" in have else []
        self.links += [have["href"]] if "href" in have else []
        self.sources += [have["src"]] if "src" in have else []
        if tag in ("script", "iframe", "object", "embed", "style") or \
                any(name.startswith("on") for name in have):
            self.faults.append(f"<{tag}>")
        if tag == "link" and re.match(r"\w+:|//", have["href"]) or \
                re.match(r"\w+:|//", have.get("src", "")):
            self.faults.append(f"{tag} {have}")
        if tag == "img" and ("alt" not in have or re.search(r"[{}<>]", have["alt"]) or
                             have["alt"] == "" and have.get("class") != "thumb"):
            self.faults.append(f"alt of {have.get('src')}: {have.get('alt')!r}")


def check_texts(check, report, steps):
    pages = {p: Text(p.read_text()) for p in report.rglob("*.html")}
    for path, page in pages.items():
        where = str(path.relative_to(report))
        check(f"{where}: nothing from outside, pictures are described", page.faults[:5])
        check(f"{where}: one title", page.alone != 1 and page.alone)
        check(f"{where}: identifiers are unique",
                    sorted({i for i in page.ids if page.ids.count(i) > 1})[:5])
        loose = []
        for link in page.links + page.sources:
            if re.match(r"https?:", link) and link in page.links:
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.is_file() or report not in target.parents or \
                    anchor and anchor not in pages[target].ids:
                loose.append(link)
        check(f"{where}: links lead to files", loose[:5])
        left = re.search(r"generated:|\{png\}|\{file\}|\{data\}", path.read_text())
        check(f"{where}: nothing is left to fill in", left and left[0])
    names = {str(p.relative_to(report)) for p in pages}
    expected = {"index.html", "machines.html"} | {f"{p.name}.html" for p in tree.programs()}
    for step in steps:
        expected |= {f"{step.name}/index.html"} | {
            f"{step.name}/{p.name}.html" for p in tree.programs()
            if (step / p.name).is_dir()}
    check("a page each", sorted(names ^ expected))
    reached, new = set(), {report / "index.html"}
    while new:
        reached |= new
        new = {(p.parent / link.partition("#")[0]).resolve() for p in new
               for link in pages[p].links if ".html" in link} - reached
    check("all pages are reached from the index",
                [str(p) for p in set(pages) - reached][:5])
    for path in report.rglob("*.svg"):
        text = path.read_text()
        sizes = [4 / 3 * float(x) for x in  # a unit of a drawing is a point
                 re.findall(r"font: (?:\w+ )*([\d.]+)px", text)]
        check(f"{path.name}: letters", min(sizes, default=LETTERS) < LETTERS and sizes)
        urls = re.findall(r'(?:href="|url\()(?!#|data:)[^")]*', text)
        check(f"{path.name}: nothing from outside", urls or "<script" in text)


def check_words(check, report):
    """What the numbers say: the best step, not the last; what gained nothing, and why."""
    folder = report.parent.parent / "results"
    index = (report / "index.html").read_text()
    for machine in MACHINES:
        rows = lessons.results.read(folder / f"{machine}.csv")
        for program in tree.programs():
            best = lessons.best_of(rows, program)
            assert best, program.name
            check(f"{program.name} on {machine}: its best", not re.search(
                rf'{draw.number(best["over_first"])} times</b> as fast: <a href="'
                rf'{best["step"]}/{program.name}.html">', index))
    check("steps that gained nothing say so and why", not re.search(
        r"What gained nothing.*what-surprised", (report / "05_algebra/index.html")
        .read_text(), re.S))
    page = (report / "08_vector/sandpile.html").read_text()
    for name, sweeps in (("sandpile", 2), ("semblance", 1), ("fluid", 0)):
        path = report / f"11_hybrid/{name}.html"
        found = re.findall(r"figures/.*?-hybrid-(?:\d-)?(run|over_sum|busy)\.svg",
                           path.read_text() if path.exists() else "")
        check(f"how {name} shares the work", path.exists() and
                    found != ["run", "over_sum"] * sweeps + ["busy"] * (sweeps > 0) and found)
    check("whole diffs are there", "08_vector &amp; &lt;more&gt;" not in page)
    check("diffs are coloured", 'class="va"' not in page)
    check("files of the first step are coloured", 'class="sourceCode c"' not in
                (report / "00_sequential/sandpile.html").read_text())


def stands_out(colour, paper):
    """The contrast of two colours, #rrggbb, as WCAG 2 defines it."""
    a, b = (sum(w * (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4)
                for w, v in zip((0.2126, 0.7152, 0.0722), draw.theme.matplotlib.colors.to_rgb(c)))
            for c in (colour, paper))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


# ---- all -----------------------------------------------------------------------------


def make(copy, module="tools.publish.report", **environment):
    return subprocess.run([sys.executable, "-m", module], cwd=copy,
                          capture_output=True, text=True, env={
                              **os.environ, "BUILD": "build", "PYTHONPATH": str(copy),
                              "RESULTS_DIR": str(copy / "results"), **environment})


def check_complaints(check, copy):
    """Each wrong input: one line that says what is wrong."""
    def complains(name, words, undo, **environment):
        ended = make(copy, **environment)
        lines = ended.stderr.strip().splitlines()
        check(name, (ended.returncode != 1 or len(lines) != 1 or
                           words not in lines[0]) and (ended.returncode, ended.stderr[-400:]))
        undo()
    results = copy / "results/Invented-CPU-2-cores.csv"
    text = results.read_text()
    results.write_text(text.replace(",omp,", ",gone,"))
    complains("a back-end that is not there", "backend: unknown (gone)",
              lambda: results.write_text(text))
    results.write_text(text.replace("over_previous_is", "other"))
    complains("a column that is not there", "over_previous_is",
              lambda: results.write_text(text))
    stray = copy / "steps/05_algebra/nobody/README.md"
    stray.parent.mkdir()
    stray.write_text("# 05 nobody\n")
    complains("a lesson without its program", "nobody", lambda: shutil.rmtree(stray.parent))
    lesson = copy / "steps/05_algebra/fluid/README.md"
    text = lesson.read_text()
    lesson.unlink()
    complains("a program without its lesson", "fluid/README.md",
              lambda: lesson.write_text(text))
    complains("no pandoc", "pandoc not found", lambda: None, PATH="/nowhere")
    (copy / "matplotlib.py").write_text("raise ImportError('no', name='matplotlib')\n")
    complains("no matplotlib", "matplotlib not found", (copy / "matplotlib.py").unlink)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of an invented tree, in TREE/build/report."""
    copy = tmp_path_factory.mktemp("report").resolve() / "tree"
    invent_tree(copy, STEPS)
    invent_results(copy)
    invent_shares(copy)
    invent_pictures(copy / "build")
    for module in ("tools.history.evidence", "tools.publish.report"):
        ended = make(copy, module)
        assert ended.returncode == 0, ended.stderr
    return copy / "build/report"


@pytest.mark.slow
@pytest.mark.seconds(60)
def test_texts(check, report):
    steps = report.parent.parent.glob("steps/*/step.mk")
    check_texts(check, report, sorted(p.parent for p in steps))


@pytest.mark.slow
def test_words(check, report):
    check_words(check, report)


@pytest.mark.slow
def test_complaints(check, report):
    check_complaints(check, report.parent.parent)


@pytest.mark.seconds(20)
def test_no_results(tmp_path):
    invent_tree(tmp_path / "tree", [])
    for path in list((tmp_path / "tree/steps").glob("0[2-9]*")):
        shutil.rmtree(path)
    invent_pictures(tmp_path / "tree/build")
    for module in ("tools.history.evidence", "tools.publish.report"):
        ended = make(tmp_path / "tree", module)
        assert ended.returncode == 0, ended.stderr
    assert "make bench" in (tmp_path / "tree/build/report/index.html").read_text()


def test_colours_stand_out():
    theme = draw.theme
    assert not [pair for colour, pair in theme.COLORS.items() if colour not in
                (theme.LINE, theme.FILL, draw.START) and
                min(map(stands_out, pair, ("#ffffff", "#15181c"))) < CONTRAST]


def test_drawings_are_reproducible(tmp_path):
    for name in "12":
        draw.stairs(tmp_path / name, ["00", "01"],
                    {"omp": {0: (1, 1, 1), 1: (2, 1.9, 2.1)}})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
