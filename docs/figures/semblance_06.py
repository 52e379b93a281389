"""Draw semblance-06-memories.svg: the four address spaces of OpenCL in step 06 of semblance.

    python3 docs/figures/semblance_06.py

Left: where they are on a GPU. Right: where they are on a CPU. The sizes are those of set 2.
"""
from __future__ import annotations

from typing import Any

import theme

OUT = "semblance-06-memories.svg"


def box(ax: Any, left: float, bottom: float, width: float, height: float, edge: str,
        title: str = "", text: str = "", fill: str = "none") -> None:
    """A rectangle with a bold title and a text below it."""
    ax.add_patch(theme.plt.Rectangle((left, bottom), width, height, facecolor=fill,
                                     edgecolor=edge, linewidth=1.2))
    ax.text(left + 0.15, bottom + height - 0.14, title, va="top", fontsize=8.5,
            fontweight="bold", color=edge)
    ax.text(left + 0.15, bottom + height - 0.5, text, va="top", fontsize=8.3, linespacing=1.3)


def line(ax: Any, x: float, low: float, high: float) -> None:
    ax.annotate("", (x, high), (x, low), arrowprops={
        "arrowstyle": "<|-|>", "color": theme.GREY, "lw": 1, "shrinkA": 0, "shrinkB": 0})


def main() -> None:
    fig, (gpu, cpu) = theme.figure(8.6, 4.7, ncols=2, width_ratios=(1.45, 1))
    gpu.set(xlim=(-0.1, 9.2), ylim=(-0.1, 8.6))
    cpu.set(xlim=(-0.1, 6.4), ylim=(-0.1, 8.6))
    for ax in (gpu, cpu):
        ax.axis("off")
    gpu.set_title("GPU")
    cpu.set_title("CPU")

    box(gpu, 0, 2.65, 9.0, 5.85, theme.GREY, "One unit of the GPU, with one work-group")
    for i, name in enumerate(("0", "1", "..", "63")):
        box(gpu, 0.3 + i * 2.15, 6.15, 1.95, 1.75, theme.INK, f"work-item {name}",
            "private:\nnum, den, x", theme.FILL)
    box(gpu, 0.3, 4.6, 8.4, 1.1, theme.INK, "local memory",
        "shared by the work-group; step 06 does not use it", theme.FILL)
    box(gpu, 0.3, 2.95, 4.05, 1.2, theme.B, "constant cache",
        "one element to all work-items", theme.FILL)
    box(gpu, 4.65, 2.95, 4.05, 1.2, theme.A, "L1 cache", "whole sectors of 32 bytes", theme.FILL)
    box(gpu, 0, 0, 9.0, 2.2, theme.GREY, "Memory of the device")
    box(gpu, 0.3, 0.2, 4.05, 1.45, theme.B, "constant, at most 64 KiB",
        "query: 104 bytes\ntraces: 1.4 kB", theme.FILL)
    box(gpu, 4.65, 0.2, 4.05, 1.45, theme.A, "global",
        "samples: 1.19 MB\nt2_abc, part", theme.FILL)
    line(gpu, 3.3, 1.65, 2.95)
    line(gpu, 7.7, 1.65, 2.95)

    box(cpu, 0, 2.65, 6.2, 5.85, theme.GREY, "One core")
    box(cpu, 0.3, 6.15, 5.6, 1.75, theme.INK, "registers",
        "a part of the private variables\nof one work-item", theme.FILL)
    box(cpu, 0.3, 2.95, 5.6, 2.75, theme.A, "L1 and L2 caches",
        "cache lines of 64 bytes:\nprivate, local, constant and global\ndata alike, as far "
        "as they are in use", theme.FILL)
    box(cpu, 0, 0, 6.2, 2.2, theme.GREY, "Main memory")
    box(cpu, 0.3, 0.2, 5.6, 1.45, theme.A, "all four address spaces",
        "query, traces, samples, t2_abc,\npart, private arrays", theme.FILL)
    line(cpu, 4.5, 1.65, 2.95)
    line(cpu, 4.5, 5.7, 6.15)
    theme.save(fig, OUT, "Left, a GPU: each work-item has private variables, a work-group has "
               "local memory, and two caches lie in front of the memory of the device: the "
               "constant cache in front of constant memory with query and traces, the L1 cache in "
               "front of global memory with the samples. Right, a CPU: one main memory and the "
               "same caches for all four.")


if __name__ == "__main__":
    main()
