"""papers_draw.py - a figure of tools/measure/papers.py as a gnuplot script and its SVG.

A row of two panels for each set, with the same bars: seconds on the left, the speedup
over the sequential program on the right. Light background and dark letters, so that it
can be read on any page. Left out: any number that is not in the figure's rows.
"""
import subprocess

WIDTH, LEFT, GAP, RIGHT = 920, 190, 26, 22  # px
BAR, ABOVE, BETWEEN, BELOW = 24, 100, 66, 84  # px: a bar; margins of the panels
SPLIT = 0.56  # of the panels' width is for seconds
INIT, CPU, GPU, OURS, PAPER = "#f0a030", "#4878b0", "#3a8a6a", "#20406a", "#b02a20"
SOFT, INK = "#d8dce2", "#20242a"


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def write(path, figure, caption, height, lines):
    """Writes a script to path and runs it: the SVG lies beside it."""
    def text(words, y, font):
        return (f"set label {quoted(words)} at screen {16 / WIDTH:.4f},{y / height:.4f} "
                f"font {font}")
    head = [f"# Written by tools/measure/papers.py: gnuplot {path.name}",
            f"set terminal svg size {WIDTH},{height} noenhanced background '#ffffff' "
            "font 'Helvetica,Arial,sans-serif,12' rounded",
            f"set output {quoted(path.with_suffix('.svg').name)}",
            "set multiplot",
            f"set border 1 lc rgb '{INK}'; set tics nomirror out scale 0.5 "
            f"tc rgb '{INK}'; unset key",
            "set style fill solid noborder",
            f"set grid xtics back lc rgb '{SOFT}' lt 1 lw 1",
            text(figure.heading(), height - 24, "',16'"),
            text(caption, 14, "',10.5' tc rgb '#50565e'")]
    path.write_text("\n".join([*head, *lines, "unset multiplot"]) + "\n")
    drawn = subprocess.run(["gnuplot", path.name], cwd=path.parent, capture_output=True,
                           text=True)
    if drawn.returncode or drawn.stderr.strip():
        raise SystemExit(f"{path}: gnuplot: {drawn.stderr.strip()[:300]}")


def seconds_text(value):
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def blocks(rows, n):
    """The data of one set's two panels, y counting bars from the bottom."""
    lines = {"cpu": [], "gpu": [], "none": [], "ours": [], "paper": []}
    for y, r in zip(range(len(rows), 0, -1), rows):
        if r["total_mean"] == "":
            lines["none"].append(f"0 {y} \"{r['mark']}\"")
        else:
            device = "gpu" if r["backend"] == "gpu" else "cpu"
            lines[device].append(
                f"{y} {r['init_mean']:.6g} {r['total_mean']:.6g} {r['total_sd']:.6g} "
                f"\"{seconds_text(r['total_mean'])}\"")
            lines["ours"].append(f"{r['speedup']:.6g} {y}")
        if r["paper_speedup"] != "":
            lines["paper"].append(f"{r['paper_speedup']:.6g} {y}")
    text = "".join(f"${name}{n} << END\n" + "\n".join(found) + "\nEND\n"
                   for name, found in lines.items() if found)
    return text, {name for name, found in lines.items() if found}


def legend(height, with_gpu):
    """The key, above all panels: what colours and points mean."""
    y = 1 - 54 / height
    half = 6 / height
    out, x = [], LEFT
    colours = [(INIT, "initialisation"), (CPU, "execution, CPU"), (GPU, "execution, GPU")]
    for colour, words in colours if with_gpu else colours[:2]:
        out.append(f"set object rectangle from screen {x / WIDTH:.4f},{y - half:.4f} to "
                   f"screen {(x + 14) / WIDTH:.4f},{y + half:.4f} fc rgb '{colour}' "
                   f"fs solid noborder")
        out.append(f"set label {quoted(words)} at screen {(x + 20) / WIDTH:.4f},{y:.4f}")
        x += 40 + 6.2 * len(words)
    x = panels()[1][0] + 6
    for point, colour, words in ((7, OURS, "here"), (12, PAPER, "the paper")):
        out.append(f"set label {quoted(words)} at screen {x / WIDTH:.4f},{y:.4f} "
                   f"point pt {point} ps 0.9 lc rgb '{colour}' offset 1.2,-0.18")
        x += 40 + 7.4 * len(words)
    return out


def panels():
    """(left, right) of the two panels in px."""
    room = WIDTH - LEFT - GAP - RIGHT
    middle = LEFT + SPLIT * room
    return (LEFT, middle), (middle + GAP, WIDTH - RIGHT)


def speedup_range(rows):
    values = [1.0] + [r[k] for r in rows for k in ("speedup", "paper_speedup")
                      if r[k] != ""]
    return min(values) / 1.25, max(values) * 1.25


def speedup_tics(low, high):
    found = [m * 10 ** e for e in range(-3, 6) for m in (1, 2, 5)]
    if high / low > 100:
        found = [10 ** e for e in range(-3, 6)]
    elif high / low < 4:
        found += [0.6, 0.7, 0.8, 0.9, 1.2, 1.4, 1.6, 1.8, 2.5, 3, 4]
    return ", ".join(f"'{v:g}' {v:g}" for v in sorted(found) if low <= v <= high)


def panel_pair(rows, n, name, top, bottom, height, limits, last):
    """The two panels of a set, from top to bottom in px."""
    text, has = blocks(rows, n)
    (a, b), (c, d) = panels()
    totals = [r["total_mean"] + r["total_sd"] for r in rows if r["total_mean"] != ""]
    tics = ", ".join(f"{quoted(r['label'])} {y}"
                     for y, r in zip(range(len(rows), 0, -1), rows))
    out = [text,
           f"set tmargin at screen {1 - top / height:.4f}",
           f"set bmargin at screen {1 - bottom / height:.4f}",
           f"set lmargin at screen {a / WIDTH:.4f}",
           f"set rmargin at screen {b / WIDTH:.4f}",
           f"set yrange [0.4:{len(rows) + 0.6}]",
           "unset logscale; set xtics autofreq format '%g'",
           f"set xrange [0:{1.22 * max(totals, default=1):.6g}]",
           f"set ytics ({tics}) scale 0",
           f"set label {quoted('Set ' + name)} at graph 0,1 offset 0,0.7 font ',13'",
           f"set xlabel {quoted('seconds' if last else '')} offset 0,0.4"]
    plots = []
    for device, colour in (("cpu", CPU), ("gpu", GPU)):
        if device in has:
            data = f"${device}{n}"
            plots += [f"{data} using (0):1:(0):2:($1-0.33):($1+0.33) with boxxyerror "
                      f"fc rgb '{INIT}'",
                      f"{data} using (0):1:2:3:($1-0.33):($1+0.33) with boxxyerror "
                      f"fc rgb '{colour}'",
                      f"{data} using 3:1:4 with xerrorbars pt 0 lw 1.3 lc rgb '{INK}'",
                      f"{data} using ($3+$4):1:5 with labels left offset 0.7,0"]
    if "none" in has:
        plots.append(f"$none{n} using 1:2:3 with labels left offset 0.7,0 "
                     f"tc rgb '#606870'")
    out.append("plot " + ", \\\n     ".join(plots))
    low, high = limits
    out += ["unset object; unset label",
            f"set lmargin at screen {c / WIDTH:.4f}",
            f"set rmargin at screen {d / WIDTH:.4f}",
            f"set xrange [{low:.6g}:{high:.6g}]; set logscale x",
            f"set xtics ({speedup_tics(low, high)})",
            "set grid ytics", "set ytics (" + ", ".join(f"'' {y}" for y in range(1, len(rows) + 1)) + ") scale 0",
            f"set xlabel {quoted('speedup over the sequential program' if last else '')} "
            "offset 0,0.4",
            "set arrow 1 from 1,graph 0 to 1,graph 1 nohead lc rgb '#9098a2' lw 1"]
    plots = []
    if "paper" in has:
        plots.append(f"$paper{n} using 1:2 with points pt 12 ps 1.1 lw 1.6 "
                     f"lc rgb '{PAPER}'")
    if "ours" in has:
        plots.append(f"$ours{n} using 1:2 with points pt 7 ps 0.75 lc rgb '{OURS}'")
    out += ["plot " + (", \\\n     ".join(plots) if plots else "NaN"), "unset arrow 1", "set grid noytics"]
    return out


def draw(path, figure, rows, caption):
    """Writes the script to path and runs it: the SVG lies beside it."""
    names = list(dict.fromkeys(r["set"] for r in rows))
    tall = BAR * len(figure.bars)
    height = ABOVE + len(names) * tall + (len(names) - 1) * BETWEEN + BELOW
    with_gpu = any(r["backend"] == "gpu" and r["total_mean"] != "" for r in rows)
    out = legend(height, with_gpu)
    for n, name in enumerate(names):
        top = ABOVE + n * (tall + BETWEEN)
        out += panel_pair([r for r in rows if r["set"] == name], n, name, top, top + tall,
                          height, speedup_range(rows), n == len(names) - 1)
    write(path, figure, caption, height, out)
