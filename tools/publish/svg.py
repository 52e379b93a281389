"""svg.py - the report's drawings as inline SVG: the staircase of speedups, a prediction
beside what was measured, work against the machine's ceilings.

A drawing is a text; report.css gives it its colours, so that it follows light and dark.
Each is drawn twice, wide for a screen and narrow for a phone, with letters of the same
size; the style sheet shows one of them. Left out: everything that a chart in general
could have, as legends: lines are labelled where they end.
"""
import math
from html import escape

WIDE, NARROW = 760, 328  # px, also the width of the page's column there
LETTER = 7.2  # px a letter takes at most at the size of labels
LOG_FROM = 12  # a range of more than this has a logarithmic axis


def number(value):
    """Three digits or so: 0.080, 0.95, 2.04, 12.3, 1240."""
    value = float(value)
    if value < 0.0995:
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 \
        else f"{value:.0f}"


def picture(draw, name, description):
    """draw(width) gives (height, elements); this gives both widths as one figure."""
    texts = []
    for width, shown in ((WIDE, "wide"), (NARROW, "narrow")):
        height, elements = draw(width)
        texts.append(
            f'<svg class="{shown}" viewBox="0 0 {width} {height:.0f}" role="img" '
            f'aria-label="{escape(name)}"><title>{escape(name)}</title>'
            f'<desc>{escape(description)}</desc>\n' + "\n".join(elements) + "\n</svg>")
    return "\n".join(texts)


def text(x, y, words, shown="", anchor="start"):
    return (f'<text class="{shown}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{escape(words)}</text>")


def line(x1, y1, x2, y2, shown):
    return f'<path class="{shown}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def marker(backend, x, y, hint=""):
    """A shape of its own for each back-end, so that colour is not all that differs."""
    r = 4.5
    shapes = {
        "seq": f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>',
        "ocl": f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>',
        "cuda": f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 9.5h-11z"/>',
        "cuda-cpu": f'<path d="M{x:.1f} {y + 5.5:.1f}l5.5 -9.5h-11z"/>',
    }
    shape = shapes.get(backend, f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>')
    return f'<g class="mark b-{backend}"><title>{escape(hint)}</title>{shape}</g>'


class Scale:
    """Maps values of low .. high to pixels of first .. last; logarithmic where the range
    is large or where that is asked for."""

    def __init__(self, low, high, first, last, log=None):
        self.log = high / low > LOG_FROM if log is None else log
        self.first, self.last = first, last
        if self.log:
            self.low, self.high = low / 1.25, high * 1.25
        else:
            self.low, self.high = 0.0, high * 1.08

    def __call__(self, value):
        if self.log:
            value = max(value, self.low)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)

    def ticks(self, most):
        """Round values, at most so many."""
        if self.log:
            tens = range(math.floor(math.log10(self.low)),
                         math.ceil(math.log10(self.high)) + 1)
            for digits in ((1, 2, 5), (1, 3), (1,)):
                found = [d * 10.0 ** t for t in tens for d in digits
                         if self.low <= d * 10.0 ** t <= self.high]
                if len(found) <= most:
                    return found
            return found[::math.ceil(len(found) / most)]
        rough = self.high / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * d for d in (1, 2, 5, 10) if unit * d >= rough)
        return [step * n for n in range(int(self.high / step) + 1)]


def apart(wanted, distance):
    """Heights of labels, in the order of those wanted, moved so that none overlap."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    for _ in range(50):
        for i in range(len(placed) - 1):
            lack = distance - (placed[i + 1] - placed[i])
            if lack > 0:
                placed[i] -= lack / 2
                placed[i + 1] += lack / 2
    result = [0.0] * len(wanted)
    for i, y in zip(order, placed):
        result[i] = y
    return result


# ---- the staircase -----------------------------------------------------------------


def staircase(steps, series, name, description):
    """steps: their (number, name); series: {back-end: {index of step: (speedup, lower
    quartile, upper quartile)}}."""
    values = [v for points in series.values() for triple in points.values()
              for v in triple] + [1.0]

    def draw(width):
        wide = width == WIDE
        height = 400 if wide else 320
        left, right = (46, width - 112) if wide else (34, width - 76)
        top, bottom = 30, height - (46 if wide else 40)
        y = Scale(min(values), max(values), bottom, top)
        band = (right - left) / len(steps)
        out = [text(0, 13, "times as fast as the first step"
                    + (", logarithmic" if y.log else ""), "note")]
        for tick in y.ticks(9):
            out.append(line(left, y(tick), right, y(tick), "grid"))
            out.append(text(left - 8, y(tick) + 4, f"{tick:g}", "axis", "end"))
        out.append(line(left, y(1), right, y(1), "one"))
        for i, (digits, word) in enumerate(steps):
            x = left + band * (i + 0.5)
            out.append(text(x, bottom + 18, digits, "step", "middle"))
            if wide and len(word) * 6.4 < band + 8:
                out.append(text(x, bottom + 35, word, "axis", "middle"))
        if not wide:
            out.append(text((left + right) / 2, bottom + 35, "step", "axis", "middle"))

        for backend, points in series.items():
            path, before = "", None
            for i, (value, _, _) in sorted(points.items()):
                x = left + band * i
                path += (f"V{y(value):.1f}" if before == i - 1 and path
                         else f"M{x:.1f} {y(value):.1f}") + f"H{x + band:.1f}"
                before = i
            out.append(f'<path class="stair b-{backend}" d="{path}"/>')
        dodge = min(11, band / (len(series) + 0.6))
        for k, (backend, points) in enumerate(series.items()):
            for i, (value, low, high) in sorted(points.items()):
                x = left + band * (i + 0.5) + dodge * (k - (len(series) - 1) / 2)
                out.append(whisker(backend, x, y(low), x, y(high)))
                out.append(marker(backend, x, y(value), f"{steps[i][0]} {steps[i][1]}, "
                                  f"{backend}: {number(value)} times "
                                  f"({number(low)} to {number(high)})"))

        # Labels: at the right edge where the line gets so far, else above its end.
        ends = {b: max(points) for b, points in series.items()}
        last = [b for b in series if ends[b] == len(steps) - 1]
        heights = apart([y(series[b][ends[b]][0]) for b in last], 17)
        for backend, at in zip(last, heights):
            out.append(text(right + 8, at + 4.5,
                            f"{backend} {number(series[backend][ends[backend]][0])}",
                            f"label b-{backend}"))
        for backend in series:
            if backend not in last:
                x = left + band * (ends[backend] + 0.5)
                at = y(series[backend][ends[backend]][0])
                out.append(text(x, at - 10, backend, f"label b-{backend}", "middle"))
        return height, out

    return picture(draw, name, description)


def whisker(backend, x1, y1, x2, y2):
    """From quartile to quartile, with a cross line at both ends."""
    d = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    for x, y in ((x1, y1), (x2, y2)):
        d += (f"M{x - 3:.1f} {y:.1f}h6" if x1 == x2 else f"M{x:.1f} {y - 3:.1f}v6")
    return f'<path class="whisker b-{backend}" d="{d}"/>'


# ---- a prediction and what came of it ------------------------------------------------


def against(groups, name, description):
    """groups: [(heading, rows)], a row (back-end, predicted or None, median, lower
    quartile, upper quartile); the axis is a ratio, logarithmic, 1 is no gain."""
    rows = [r for _, group in groups for r in group]
    values = [v for r in rows for v in r[1:] if v]
    low, high = min(values + [0.8]), max(values + [1.25])

    def draw(width):
        left, right = (86, width - 150) if width == WIDE else (66, width - 84)
        x = Scale(low, high, left, right, log=True)
        top = 24
        height = top + sum(24 + 30 * len(group) for _, group in groups) + 8
        out = []
        for tick in x.ticks(9 if width == WIDE else 5):
            out.append(line(x(tick), top, x(tick), height - 6, "grid"))
            out.append(text(x(tick), top - 8, f"{tick:g}", "axis", "middle"))
        out.append(line(x(1), top, x(1), height - 6, "one"))
        at = top
        for heading, group in groups:
            out.append(text(0, at + 17, heading, "note halo"))
            at += 24
            for backend, predicted, median, lower, upper in group:
                middle = at + 15
                out.append(text(0, middle + 4.5, backend, f"label b-{backend}"))
                if predicted:
                    out.append(f'<path class="predicted" d="M{x(predicted):.1f} '
                               f'{middle - 12:.1f}v24"/>')
                out.append(whisker(backend, x(lower), middle, x(upper), middle))
                out.append(marker(backend, x(median), middle,
                                  f"{backend}: {number(median)}"))
                words = number(median)
                if predicted:
                    words += f" (predicted {predicted:g})" if width == WIDE else \
                        f" ({predicted:g})"
                out.append(text(width, middle + 4.5, words, "value", "end"))
                at += 30
        return height, out

    return picture(draw, name, description)


# ---- work against ceilings -----------------------------------------------------------


def shares(rows, name, description):
    """rows: (label, back-end, percent of its ceiling, name of the ceiling, suspicious);
    a bar each, up to 100 % of what the machine was measured to do."""

    def draw(width):
        left, right = (150, width - 176) if width == WIDE else (104, width - 52)
        top, high = 26, max([100.0] + [r[2] for r in rows])
        x = Scale(1, high / 1.08, left, right, log=False)
        height = top + 26 * len(rows) + 6
        out = []
        for tick in x.ticks(6 if width == WIDE else 3):
            if tick <= high:
                out.append(line(x(tick), top, x(tick), height - 4, "grid"))
                out.append(text(x(tick), top - 8, f"{tick:g} %", "axis", "middle"))
        for i, (label, backend, percent, ceiling, suspicious) in enumerate(rows):
            y = top + 26 * i + 6
            out.append(text(0, y + 13, label, f"label b-{backend}"))
            out.append(f'<rect class="bar b-{backend}" x="{left:.1f}" y="{y:.1f}" '
                       f'width="{max(1, x(percent) - left):.1f}" height="16">'
                       f"<title>{escape(label)}: {number(percent)} %</title></rect>")
            words = f"{number(percent)} %" + (" SUSPICIOUS" if suspicious else "")
            if width == WIDE:
                words += f" of {ceiling}"
            out.append(text(max(x(percent), left) + 6, y + 13, words, "value halo"))
        out.append(line(x(100), top, x(100), height - 4, "one"))
        return height, out

    return picture(draw, name, description)


def roofline(levels, most, series, name, description):
    """levels: {level of memory: GB/s}; most: GFLOP/s of the arithmetic; series:
    {back-end: [(step, operations per byte, GFLOP/s)]}. Both axes are logarithmic."""
    points = [p for found in series.values() for p in found]
    xs, ys = [p[1] for p in points], [p[2] for p in points] + [most]
    ridge = [most / rate for rate in levels.values()]

    def draw(width):
        height = 400 if width == WIDE else 320
        left, right = 46, width - (64 if width == WIDE else 44)
        top, bottom = 34, height - 44
        across = xs + ridge[:1]
        x = Scale(min(across) / 3, max(across) * 6, left, right, log=True)
        y = Scale(min(ys) / 1.5, max(ys), bottom, top, log=True)
        out = [text(0, 13, "GFLOP/s", "note"),
               text((left + right) / 2, bottom + 36, "operations per byte", "axis",
                    "middle")]
        for tick in y.ticks(8):
            out.append(line(left, y(tick), right, y(tick), "grid"))
            out.append(text(left - 8, y(tick) + 4, f"{tick:g}", "axis", "end"))
        for tick in x.ticks(8 if width == WIDE else 5):
            out.append(line(x(tick), bottom, x(tick), bottom + 5, "grid"))
            out.append(text(x(tick), bottom + 19, f"{tick:g}", "axis", "middle"))
        out.append(line(left, y(most), right, y(most), "roof"))
        out.append(text(right, y(most) - 7, f"FMA {number(most)}", "axis halo", "end"))
        for level, rate in levels.items():
            begin, end = max(x.low, y.low / rate), min(x.high, most / rate)
            if begin >= end:
                continue
            out.append(line(x(begin), y(begin * rate), x(end), y(end * rate), "roof"))
            at = (begin * end) ** 0.5
            out.append(text(x(at) - 6, y(at * rate) - 3, level.upper(), "axis halo",
                            "end"))
        for backend, found in series.items():
            path = "L".join(f"{x(a):.1f} {y(b):.1f}" for _, a, b in found)
            out.append(f'<path class="trail b-{backend}" d="M{path}"/>')
            for step, a, b in found:
                out.append(marker(backend, x(a), y(b), f"{step} {backend}: {number(b)} "
                                  f"GFLOP/s at {number(a)} per byte"))
        ends = [(b, found[-1]) for b, found in series.items()]
        for (backend, (step, a, b)), at in zip(
                ends, apart([y(p[2]) for _, p in ends], 16)):
            out.append(text(x(a) + 10, at + 4.5, f"{step} {backend}",
                            f"label b-{backend}"))
        return height, out

    return picture(draw, name, description)
