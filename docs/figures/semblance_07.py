"""Draw where num and den are stored in step 07 of semblance: semblance-07-registers.svg.

    python3 docs/figures/semblance_07.py

One row for each way in which the search is compiled, one column for each state of the code.
Registers and stack are those that ptxas reports for sm_75 (windows of 5: also the PTX, in
which no visit accesses shared memory); loads and stores are those that a
visit of a window of 5 executes, counted by Callgrind (make instructions).
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "semblance-07-registers.svg"
REGISTER, MEMORY, LOCAL = theme.A, theme.B, theme.C
COLUMNS = ("step 06", "rung 1: den is one number", "step 07: num in local memory")

# (row, [(where num is, where den is, its length is 1, numbers)] for each column)
ROWS = [
    ("GPU, nvcc\nwindow of 5", [
        (REGISTER, REGISTER, False, "63 registers, no stack"),
        (REGISTER, REGISTER, True, "59 registers, no stack"),
        (REGISTER, REGISTER, True, "61 registers, no stack")]),
    ("GPU, nvcc\nmore than 15", [
        (MEMORY, MEMORY, False, "64 registers, stack of 1608 bytes"),
        (MEMORY, REGISTER, True, "64 registers, stack of 808 bytes"),
        (LOCAL, REGISTER, True, "64 registers, no stack")]),
    ("CPU, gcc\nOpenMP", [
        (MEMORY, MEMORY, False, "28 loads, 5 stores per visit"),
        (MEMORY, REGISTER, True, "19 loads, 4 stores per visit"),
        (MEMORY, REGISTER, True, "20 loads, 2 stores per visit")]),
    ("CPU, LLVM\nOpenCL", [
        (REGISTER, REGISTER, False, "11 loads, no stores per visit"),
        (REGISTER, REGISTER, True, "11 loads, no stores per visit"),
        (REGISTER, REGISTER, True, "11 loads, no stores per visit")]),
]


def cells(ax: Any, left: float, y: float, count: int, color: str, name: str) -> None:
    """A name and a row of `count` floats."""
    ax.text(left, y + 0.11, name, fontsize=8.5, va="center")
    for i in range(count):
        ax.add_patch(theme.plt.Rectangle((left + 0.5 + 0.24 * i, y), 0.21, 0.22,
                                         facecolor=color, edgecolor="none"))


def main() -> None:
    fig, ax = theme.figure(9.4, 4.4)
    ax.set(xlim=(0, 10.8), ylim=(-4.95, 0.75))
    ax.axis("off")
    left = (1.75, 4.7, 7.75)
    for x, title in zip(left, COLUMNS):
        ax.text(x, 0.5, title, fontweight="bold", fontsize=9.5)
    for row, (name, states) in enumerate(ROWS):
        y = -row * 1.1
        ax.plot([0, 10.8], [y + 0.3] * 2, color=theme.LINE, linewidth=0.8)
        ax.text(0, y - 0.15, name, va="center", fontsize=9)
        for x, (num, den, one, text) in zip(left, states):
            cells(ax, x, y - 0.05, 5, num, "num")
            cells(ax, x, y - 0.36, 1 if one else 5, den, "den")
            ax.text(x, y - 0.58, text, fontsize=8.3, color=theme.GREY, va="center")
    for x, color, text in ((1.75, REGISTER, "registers"),
                           (3.6, MEMORY, "stack, in memory"),
                           (6.2, LOCAL, "local (shared) memory")):
        ax.add_patch(theme.plt.Rectangle((x, -4.72), 0.21, 0.22, facecolor=color,
                                         edgecolor="none"))
        ax.text(x + 0.3, -4.61, text, fontsize=8.5, va="center")
    ax.text(0, -4.61, "stored in", fontsize=8.5, va="center", color=theme.GREY)
    theme.save(fig, OUT,
               "Where the arrays num and den are stored, in step 06, after rung 1 and in step "
               "07. GPU, window of 5: both in registers, in step 07 num in local memory. GPU, "
               "windows of more than 15: a stack of 1608 bytes, then 808, then none, with num "
               "in local memory. CPU, gcc: both on the stack, then den in a register. CPU, "
               "LLVM: both in registers in all three.")


if __name__ == "__main__":
    main()
