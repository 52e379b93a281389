"""Draw what inlining exposes in step 04 of semblance: semblance-04-inline.svg.

    python3 docs/figures/semblance_04.py

Left: the functions of step 03, each with what it sees. Right: the visit of step 04 in one
piece, and how often each line would have to be computed.
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "semblance-04-inline.svg"
TRACE, PART, VISIT, SAMPLE = theme.C, theme.A, theme.GREY, theme.B

# (left, bottom, width, height, name, what the function computes)
FUNCTIONS = (
    (0.0, -6.35, 5.0, 6.35, "search_abc", ""),
    (0.3, -6.1, 4.4, 5.5, "semblance_2d", ""),
    (0.6, -2.35, 3.8, 1.2, "midpoint, half_offset", "scale (gy + sy) / 2"),
    (2.95, -2.2, 1.3, 0.85, "scale", "scalco"),
    (0.6, -4.05, 3.8, 1.4, "time_2d", "√ of a polynomial in m, h,\nm0, h0, a .. e, t0"),
    (0.6, -5.85, 3.8, 1.5, "interpol_linear", "(y1 − y0)(x − x0) / (x1 − x0) + y0"),
)
# (line of step 04, how often it must be computed, what becomes visible)
LINES = (
    ("scale, m = scale (gy + sy) / 2, h = ..", TRACE, ""),
    ("dm = m − m0,  dh = h − h0", TRACE, ""),
    ("t = t0 + a dm + b dh", PART, ""),
    ("t2 = t t + c dh dh", PART, ""),
    ("       + d dm dm + e dh dm", VISIT, "dm is a factor of both terms"),
    ("x = √t2 · idt,  ix = (int) x", VISIT, ""),
    ("k = ix + j − tau,  x0 = k,  x1 = k + 1", SAMPLE, "x1 − x0 is 1"),
    ("v = (y1 − y0)(x + j − tau − x0)", SAMPLE, "x + j − tau − x0 = x − ix: no j"),
    ("       / (x1 − x0) + y0", SAMPLE, "division by 1"),
    ("num[j] += v,  den[j] += v v", SAMPLE, ""),
    ("sum += v", SAMPLE, "equals the sum of num[j]"),
)
LEGEND = ((TRACE, "depends on the trace only"), (PART, "on the trace and on A, B, C"),
          (VISIT, "also on D or E: once per visit"), (SAMPLE, "once per window sample"))


def functions(ax: Any) -> None:
    ax.text(0, 0.62, "Step 03: each function sees its arguments", fontweight="bold")
    for left, bottom, width, height, name, text in FUNCTIONS:
        ax.add_patch(theme.plt.Rectangle((left, bottom), width, height, facecolor=theme.FILL,
                                         edgecolor=theme.GREY, linewidth=1))
        ax.text(left + 0.12, bottom + height - 0.3, name, fontsize=8.5, va="center",
                fontweight="bold")
        ax.text(left + 0.12, bottom + 0.18, text, fontsize=8.5, va="bottom", linespacing=1.3)
    ax.set(xlim=(-0.05, 5.1), ylim=(-7.4, 0.9))
    ax.axis("off")


def lines(ax: Any) -> None:
    ax.text(0, 0.62, "Step 04: the visit in one piece", fontweight="bold")
    for row, (code, color, text) in enumerate(LINES):
        y = -0.3 - row * 0.58
        ax.add_patch(theme.plt.Rectangle((0, y - 0.22), 0.12, 0.46, facecolor=color,
                                         edgecolor="none"))
        indent = 0.5 if code.startswith(" ") else 0
        ax.text(0.25 + indent, y, code.strip(), fontsize=8.5, va="center")
        ax.text(4.45, y, text, fontsize=8.5, va="center", color=theme.GREY)
    for place, (color, text) in enumerate(LEGEND):
        x, y = (0, 4.0)[place % 2], -6.85 - 0.42 * (place // 2)
        ax.add_patch(theme.plt.Rectangle((x, y - 0.14), 0.12, 0.28, facecolor=color,
                                         edgecolor="none"))
        ax.text(x + 0.25, y, text, fontsize=8.5, va="center")
    ax.set(xlim=(-0.05, 8.2), ylim=(-7.4, 0.9))
    ax.axis("off")


def main() -> None:
    fig, (left, right) = theme.figure(10.4, 4.6, ncols=2, width_ratios=(1, 1.55))
    functions(left)
    lines(right)
    theme.save(fig, OUT,
               "Left: the functions of step 03 as nested boxes: search_abc contains "
               "semblance_2d, which calls midpoint and half_offset (both call scale), time_2d "
               "and interpol_linear. Each sees only its arguments. Right: the same visit in "
               "step 04 in eleven lines. Four depend on the trace only or on the trace and A, "
               "B, C. In the loop over the window, x1 - x0 is 1 and x + j - tau - x0 does not "
               "depend on j.")


if __name__ == "__main__":
    main()
