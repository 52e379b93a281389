"""papers_plot.py - the figures of tools/measure/papers.py that are not bars of seconds.

Lines along the sets or a sweep, bars of rates, a map of rates, the shares of kernels,
and the trace of a run; papers_form.py says what each kind shows. Each becomes a gnuplot
script, which holds its numbers, and its SVG, in the colours of papers_draw.py.
"""
import csv
import re
import statistics

from tools.publish.papers_draw import CPU, GPU, INK, OURS, PAPER, WIDTH, quoted, write
from tools.history import results

COLOURS = ["#20406a", "#c05a10", "#3a8a6a", "#8a4a9a", "#b02a20", "#6a7a1a", "#4aa0c8",
           "#806040", "#d08ab0", "#606870"]
LEFT, RIGHT, ABOVE, BELOW, GAP = 190, 40, 72, 88, 76  # px: margins; between panels
ITERATIONS = 4  # that a trace shows


def margins(top, bottom, height, left=LEFT, right=RIGHT):
    """A panel from top to bottom, in px from the upper edge."""
    return [f"set tmargin at screen {1 - top / height:.4f}",
            f"set bmargin at screen {1 - bottom / height:.4f}",
            f"set lmargin at screen {left / WIDTH:.4f}",
            f"set rmargin at screen {1 - right / WIDTH:.4f}"]


def block(name, lines):
    return f"${name} << END\n" + "\n".join(lines) + "\nEND"


def plot(path, figure, rows, unit, caption):
    """A figure of several runs; unit is what the program calls its rate."""
    draw = {"lines": lines, "rates": rates, "heat": heat}[figure.kind]
    height, out = draw(figure, rows, unit)
    write(path, figure, caption, height, out)


# ---- lines -------------------------------------------------------------------------


def lines(figure, rows, unit):
    """A panel for each set, or one in which the sets are x."""
    by_set = not figure.swept()
    panels = [rows] if by_set else [
        [r for r in rows if r["set"] == name]
        for name in dict.fromkeys(r["set"] for r in rows)]
    value = figure.values.get("value", "speedup")
    tall = 250
    height = ABOVE + len(panels) * tall + (len(panels) - 1) * GAP + BELOW
    out = ["set border 3; set grid xtics ytics",
           "set key outside right top Left reverse samplen 2 spacing 1.25",
           f"set ylabel {quoted(unit if value == 'rate' else 'speedup')} offset 1,0"]
    what = {"OMP_NUM_THREADS": "threads", "": figure.values.get("x", "set")}.get(
        figure.swept(), figure.swept())
    for n, panel in enumerate(panels):
        top = ABOVE + n * (tall + GAP)
        out += margins(top, top + tall, height, 90, 250)
        out += [f"set title {quoted('' if by_set else 'Set ' + panel[0]['set'])}",
                f"set xlabel {quoted(what if n == len(panels) - 1 else '')}",
                *line_panel(panel, value, n),
                "unset label"]
    return height, out


def line_panel(rows, value, n):
    places = list(dict.fromkeys(r["x"] for r in rows))
    at = {x: float(x) if all(re.fullmatch(r"[\d.]+", p) for p in places) else i
          for i, x in enumerate(places)}
    low, high = min(at.values()), max(at.values())
    room = 0.06 * (high - low) or 0.5
    wide = low > 0 and high > 4 * low  # then each doubling is as wide as the next
    out, plots, highest = [], [], 0
    for i, label in enumerate(dict.fromkeys(r["label"] for r in rows)):
        colour = COLOURS[i % len(COLOURS)]
        mine = [r for r in rows if r["label"] == label]
        for kind, column, words in (
                ("ours", "speedup" if value == "speedup" else "rate_mean",
                 "with linespoints pt 7 ps 0.7 lw 1.6"),
                ("paper", f"paper_{value}", "with points pt 12 ps 1.1 lw 1.6")):
            found = [(at[r["x"]], r[column]) for r in mine if r[column] != ""]
            if not found:
                continue
            highest = max(highest, *(y for _, y in found))
            out.append(block(f"{kind}{n}_{i}", [f"{x:g} {y:.6g}" for x, y in found]))
            title = label if kind == "ours" else f"{label}, the paper"
            plots.append(f"${kind}{n}_{i} using 1:2 {words} lc rgb '{colour}' "
                         f"title {quoted(title)}")
    tics = ", ".join(f"{quoted(x)} {v:g}" for x, v in at.items())
    out += ["set logscale x" if wide else "unset logscale x",
            f"set xrange [{low / 1.1:g}:{high * 1.1:g}]" if wide else
            f"set xrange [{low - room:g}:{high + room:g}]",
            f"set xtics ({tics})", f"set yrange [0:{1.12 * highest or 1:g}]"]
    return out + ["plot " + (", \\\n     ".join(plots) or "NaN notitle")]


# ---- rates -------------------------------------------------------------------------


def rates(figure, rows, unit):
    """Bars: the mean over the sets, the paper's beside it."""
    bars = []
    for label in dict.fromkeys(r["label"] for r in rows):
        mine = [r for r in rows if r["label"] == label]
        def mean(column):
            found = [r[column] for r in mine if r[column] != ""]
            return statistics.mean(found) if found else None
        bars.append((label, mine[0], mean("rate_mean"), mean("paper_rate")))
    tall = 26 * len(bars)
    height = ABOVE + tall + BELOW
    most = max([v for _, _, a, b in bars for v in (a, b) if v] or [1])
    out = [*margins(ABOVE, ABOVE + tall, height), "unset key",
           f"set xrange [0:{1.14 * most:g}]", f"set yrange [0.4:{len(bars) + 0.6}]",
           f"set xlabel {quoted(unit)}",
           "set ytics (" + ", ".join(f"{quoted(label)} {y}" for y, (label, *_) in zip(
               range(len(bars), 0, -1), bars)) + ") scale 0"]
    data = {"cpu": [], "gpu": [], "none": [], "paper": []}
    for y, (_, row, our, their) in zip(range(len(bars), 0, -1), bars):
        if our is None:
            data["none"].append(f"0 {y} \"{row['mark']}\"")
        else:
            data["gpu" if row["backend"] == "gpu" else "cpu"].append(
                f'{y} {our:.6g} "{our:,.0f}"' if our >= 1000 else
                f'{y} {our:.6g} "{our:.4g}"')
        if their is not None:
            data["paper"].append(f"{their:.6g} {y}")
    draw = {"cpu": [f"$cpu using (0):1:(0):2:($1-0.33):($1+0.33) with boxxyerror "
                    f"fc rgb '{CPU}'", "$cpu using 2:1:3 with labels left offset 0.7,0"],
            "gpu": [f"$gpu using (0):1:(0):2:($1-0.33):($1+0.33) with boxxyerror "
                    f"fc rgb '{GPU}'", "$gpu using 2:1:3 with labels left offset 0.7,0"],
            "none": ["$none using 1:2:3 with labels left offset 0.7,0 tc rgb '#606870'"],
            "paper": [f"$paper using 1:2 with points pt 12 ps 1.1 lw 1.6 "
                      f"lc rgb '{PAPER}'"]}
    out += [block(name, found) for name, found in data.items() if found]
    if data["paper"]:
        out.append(f"set label 'the paper' at screen {LEFT / WIDTH:.4f},"
                   f"{1 - 52 / height:.4f} point pt 12 ps 0.9 lc rgb '{PAPER}' "
                   "offset 1.2,-0.18")
    return height, out + ["plot " + ", \\\n     ".join(
        p for name, found in data.items() if found for p in draw[name])]


# ---- a map -------------------------------------------------------------------------


def heat(figure, rows, unit):
    """The first label on the first set: x is the sweep, y the rows."""
    rows = [r for r in rows if (r["label"], r["set"]) == (rows[0]["label"],
                                                          rows[0]["set"])]
    across = list(dict.fromkeys(r["x"] for r in rows))
    down = list(dict.fromkeys(r["y"] for r in rows))
    tall = 44 * len(down)
    height = ABOVE + tall + BELOW
    def tics(values):
        return ", ".join(f"{quoted(v)} {i}" for i, v in enumerate(values))
    cells = [f"{across.index(r['x'])} {down.index(r['y'])} {r['rate_mean']:.6g} "
             f'"{r["rate_mean"]:.3g}"' for r in rows if r["rate_mean"] != ""]
    out = [*margins(ABOVE, ABOVE + tall, height, 90, 150), "unset grid",
           f"set xrange [-0.5:{len(across) - 0.5}]", f"set yrange [-0.5:{len(down) - 0.5}]",
           f"set xtics ({tics(across)}) scale 0", f"set ytics ({tics(down)}) scale 0",
           f"set xlabel {quoted(figure.swept())}",
           f"set ylabel {quoted(figure.values['rows'].partition(' ')[0])} offset 1,0",
           f"set cblabel {quoted(unit)}; set palette defined (0 '#f4f1e4', 1 '{OURS}')",
           block("cells", cells)]
    values = [r["rate_mean"] for r in rows if r["rate_mean"] != ""]
    middle = (min(values) + max(values)) / 2
    return height, out + [
        "plot $cells using 1:2:3 with image pixels, "
        f"$cells using 1:2:($3>{middle:g}?strcol(4):'') with labels tc rgb '#ffffff', "
        f"$cells using 1:2:($3>{middle:g}?'':strcol(4)) with labels tc rgb '{INK}'"]


# ---- within one run ----------------------------------------------------------------


def write_shares(said, path):
    """The table that profile=1 prints, as a csv."""
    found = re.findall(r"^(\S.*?) +([\d.]+) % +([\d.]+) +(\d+)$", said, re.M)
    if not found:
        raise SystemExit(f"{path.name}: profile=1 printed no table")
    columns = ["kernel", "share", "seconds", "calls"]
    results.write(path, columns, [dict(zip(columns, row)) for row in found])


def inside(path, figure, found, caption):
    """A figure of one run each: found is [(bar, csv)]."""
    draw = {"shares": shares, "trace": trace}[figure.kind]
    panels = []
    for bar, file in found:
        with file.open(newline="") as f:
            panels.append((bar.label, list(csv.DictReader(f))))
    height, out = draw(panels)
    write(path, figure, caption, height, out)


def shares(panels):
    """A panel for each bar: the kernels, the largest first."""
    heights = [24 * len(rows) for _, rows in panels]
    height = ABOVE + 20 + sum(heights) + (len(panels) - 1) * GAP + BELOW
    out, top = [], ABOVE + 20
    most = max((float(r["share"]) for _, rows in panels for r in rows), default=100)
    for n, ((label, rows), tall) in enumerate(zip(panels, heights)):
        places = list(zip(range(len(rows), 0, -1), rows))
        tics = ", ".join(f"{quoted(r['kernel'])} {y}" for y, r in places)
        last = n == len(panels) - 1
        out += [*margins(top, top + tall, height), f"set title {quoted(label)}",
                f"set yrange [0.4:{len(rows) + 0.6}]", f"set ytics ({tics}) scale 0",
                f"set xlabel {quoted('share of the time, %' if last else '')}",
                f"set xrange [0:{1.3 * most:g}]",
                block(f"kernels{n}", [f'{y} {r["share"]} "{r["share"]} %, '
                                      f'{r["calls"]} calls"' for y, r in places]),
                f"plot $kernels{n} using (0):1:(0):2:($1-0.33):($1+0.33) with boxxyerror "
                f"fc rgb '{CPU}', $kernels{n} using 2:1:3 with labels left offset 0.7,0",
                "unset label"]
        top += tall + GAP
    return height, out


def trace(panels):
    """A panel for each bar: the tiles of the first iterations, a row a thread."""
    shown = []
    for label, rows in panels:
        first = sorted({int(r["iteration"]) for r in rows})[:ITERATIONS]
        mine = [r for r in rows if int(r["iteration"]) in first]
        start = min(float(r["begin_us"]) for r in mine)
        shown.append((label, [(int(r["worker"]), int(r["iteration"]) - first[0],
                               float(r["begin_us"]) - start, float(r["end_us"]) - start)
                              for r in mine]))
    end = max(t[3] for _, tiles in shown for t in tiles)
    workers = [sorted({t[0] for t in tiles}) for _, tiles in shown]
    heights = [40 * len(w) for w in workers]
    height = ABOVE + 20 + sum(heights) + (len(panels) - 1) * GAP + BELOW
    out, top = [f"set xrange [0:{1.02 * end:g}]"], ABOVE + 20
    for n, ((label, tiles), who, tall) in enumerate(zip(shown, workers, heights)):
        tics = ", ".join(f"'thread {w}' {w}" for w in who)
        out += [*margins(top, top + tall, height), f"set title {quoted(label)}",
                f"set yrange [{max(who) + 0.6}:{min(who) - 0.6}]",
                f"set ytics ({tics}) scale 0"]
        if n == len(shown) - 1:
            out.append("set xlabel 'microseconds; a colour an iteration, a box a tile'")
        plots = []
        for i in sorted({t[1] for t in tiles}):
            out.append(block(f"tiles{n}_{i}", [f"{a:.3f} {b:.3f} {w}" for w, j, a, b
                                               in tiles if j == i]))
            plots.append(f"$tiles{n}_{i} using 1:3:1:2:($3-0.38):($3+0.38) with "
                         f"boxxyerror fc rgb '{COLOURS[i % len(COLOURS)]}' "
                         "fs solid 0.85 border lc rgb '#ffffff' lw 0.3")
        out += ["plot " + ", \\\n     ".join(plots), "unset label"]
        top += tall + GAP
    return height, out
