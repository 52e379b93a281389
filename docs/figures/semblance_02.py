"""Draw semblance-02-device.svg: host, command queue and device of step 02 of semblance.

    python3 docs/figures/semblance_02.py

One row per command, in the order of opencl.c. The sizes are those of set 2.
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "semblance-02-device.svg"
TRACES, SAMPLES, PITCH, PARTS = 116, 2502, 2562, 20 * 20

# (host array, command, when, device buffer, direction: 1 to the device, -1 to the host)
ROWS = [
    ("samples", "write samples, wait", "once, at the start",
     f"{((TRACES - 1) * PITCH + SAMPLES) * 4 / 1e6:.2f} MB", 1),
    ("traces", "write traces", "per output trace", f"{TRACES * 16 / 1e3:.1f} kB", 1),
    ("query", "write query", "per output sample", "104 bytes", 1),
    ("part", "fill part with NaN", "per output sample", "", 0),
    ("", "launch 20 work-items", "per output sample", "", 2),
    ("part", "read part, wait", "per output sample", f"{PARTS * 28 / 1e3:.1f} kB", -1),
]
STEP, HEIGHT = 1.0, 0.7


def box(ax: Any, left: float, bottom: float, width: float, height: float, edge: str,
        fill: str = theme.FILL, line: float = 1.2) -> None:
    ax.add_patch(theme.plt.Rectangle((left, bottom), width, height, facecolor=fill,
                                     edgecolor=edge, linewidth=line))


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.4,
                                            "shrinkA": 0, "shrinkB": 0})


def main() -> None:
    fig, ax = theme.figure(8.6, 4.6)
    ax.set(xlim=(-0.1, 14.9), ylim=(-6.0, 1.5))
    ax.axis("off")
    ax.add_patch(theme.plt.Rectangle((0, -5.85), 3.0, 6.75, fill=False, edgecolor=theme.GREY))
    ax.add_patch(theme.plt.Rectangle((8.9, -5.85), 5.9, 6.75, fill=False, edgecolor=theme.GREY))
    for x, title, text in ((0, "Host", "program and main memory"),
                           (3.65, "Command queue", "first command at the top"),
                           (8.9, "Device", "buffers and work-items")):
        ax.text(x, 1.32, title, fontweight="bold", va="center")
        ax.text(x, 1.05, text, fontsize=8.3, color=theme.GREY, va="center")
    arrow(ax, (3.42, 0.75), (3.42, -5.7), theme.GREY)
    for row, (array, command, when, size, direction) in enumerate(ROWS):
        y = -row * STEP
        color = theme.B if direction in (0, 2) else theme.A
        box(ax, 3.65, y - HEIGHT / 2 + 0.2, 3.9, HEIGHT, color)
        ax.text(5.6, y + 0.33, command, ha="center", va="center", fontsize=9)
        ax.text(5.6, y + 0.04, when, ha="center", va="center", fontsize=8.3, color=theme.GREY)
        if array and direction:
            box(ax, 0.25, y - HEIGHT / 2 + 0.2, 2.5, HEIGHT, theme.INK)
            ax.text(1.5, y + 0.32, array, ha="center", va="center", fontsize=9)
            ax.text(1.5, y + 0.06, size, ha="center", va="center", fontsize=8.3,
                    color=theme.GREY)
            ends = ((2.75, y + 0.2), (3.65, y + 0.2))
            arrow(ax, *(ends if direction == 1 else ends[::-1]), color=color)
        if direction == 1:
            box(ax, 9.25, y - HEIGHT / 2 + 0.2, 2.1, HEIGHT, theme.INK)
            ax.text(10.3, y + 0.2, f"d_{array}", ha="center", va="center", fontsize=9)
            arrow(ax, (7.55, y + 0.2), (9.25, y + 0.2), color)
    # d_part spans the rows of the three commands that use it.
    top, bottom = -3 * STEP + 0.2 + HEIGHT / 2, -5 * STEP + 0.2 - HEIGHT / 2
    box(ax, 9.25, bottom, 2.1, top - bottom, theme.INK)
    ax.text(10.3, -3.8, "d_part", ha="center", va="center", fontsize=9)
    arrow(ax, (7.55, -2.8), (9.25, -2.8), theme.B)
    arrow(ax, (9.25, -4.8), (7.55, -4.8), theme.A)
    # the work-items
    box(ax, 12.3, -4.75, 2.2, 5.2, theme.B)
    ax.text(13.4, 0.18, "kernel search", ha="center", va="center", fontsize=9)
    for item in range(5):
        y = -0.45 - item * 0.62
        box(ax, 12.5, y - 0.2, 1.8, 0.42, theme.GREY, "none", 0.8)
        ax.text(13.4, y, f"work-item {item}", ha="center", va="center", fontsize=8.3)
    ax.text(13.4, -3.5, "..", ha="center", va="center", fontsize=9)
    box(ax, 12.5, -4.2, 1.8, 0.42, theme.GREY, "none", 0.8)
    ax.text(13.4, -4.0, "work-item 19", ha="center", va="center", fontsize=8.3)
    for y in (0.2, -0.8, -1.8):
        arrow(ax, (11.35, y), (12.3, y), theme.INK)
    arrow(ax, (12.3, -3.8), (11.35, -3.8), theme.INK)
    ax.plot([7.55, 8.35, 8.35, 13.4], [-3.8, -3.8, -5.5, -5.5], color=theme.B, lw=1.4)
    arrow(ax, (13.4, -5.52), (13.4, -4.75), theme.B)
    ax.text(11.82, -1.55, "reads", ha="center", fontsize=8.3, color=theme.GREY)
    ax.text(11.82, -3.55, "writes", ha="center", fontsize=8.3, color=theme.GREY)
    theme.save(fig, OUT, "Left: the arrays samples, traces, query and part in the host's memory. "
               "Middle: six commands of the queue, in order: write samples, write traces, write "
               "query, fill part, launch 20 work-items, read part. Right: the device's buffers; "
               "the work-items read d_samples, d_traces and d_query, and write d_part.")


if __name__ == "__main__":
    main()
