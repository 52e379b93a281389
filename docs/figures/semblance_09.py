"""Draw the two windows of step 09 of semblance: semblance-09-windows.svg and -09-operations.svg.

    python3 docs/figures/semblance_09.py

The second figure counts the floating-point operations of the loops over traces and windows in
steps/08_vector/semblance/body.h and steps/09_blocking/semblance/moveout.h, for 100 traces.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import theme

TRACES, OFFSETS = 100, np.linspace(0, 9, 10)


def arrival(t0: Any, offset: Any) -> Any:
    """A hyperbola: arrivals in samples of a reflection with the time t0 at offset 0."""
    return np.sqrt(t0 ** 2 + (1.35 * offset) ** 2)


def windows(ax: Any, title: str, moveout: bool) -> None:
    fine = np.linspace(-0.2, 9.2, 100)
    for shift, color, width in ((-2, theme.GREY, 0.9), (0, theme.A, 1.6), (2, theme.GREY, 0.9)):
        if shift == 0 or moveout:
            ax.plot(fine, arrival(6 + shift, fine), color=color, linewidth=width)
    for offset in OFFSETS:
        ax.plot([offset] * 2, [1.5, 16], color=theme.LINE, linewidth=0.9)
        if moveout:
            x = arrival(6 + np.arange(-2, 3), offset)
        else:
            x = arrival(6, offset) + np.arange(-2, 3)
        ax.plot([offset] * 5, x, "s", color=theme.B if moveout else theme.A, markersize=3.5)
        ax.plot([offset] * 2, x[[0, -1]], color=theme.B if moveout else theme.A, linewidth=2.2)
    ax.set(xlim=(-0.6, 9.6), ylim=(16, 1.5), xticks=[], yticks=[], title=title, xlabel="trace",
           ylabel="time")


def draw_windows() -> None:
    fig, (left, right) = theme.figure(8.6, 3.2, ncols=2)
    windows(left, "window=parallel: samples around an arrival", False)
    windows(right, "window=moveout: arrivals of five t0", True)
    theme.save(fig, "semblance-09-windows.svg",
               "Ten traces and the curve of a reflection, with a window of five samples in each "
               "trace. Left: a parallel window has the same length in every trace. Right: a "
               "window that follows the moveout lies on five curves, those of five neighboring "
               "t0, which converge with the distance, so the window is shorter in the far "
               "traces.")


def draw_operations() -> None:
    w = np.arange(1, 22, 2)
    # The arrival and its weights: 16, or 13 with products of dm and dh that the host prepares.
    # A sample: 3 to interpolate, 1 for the sum, 2 for the squares. A window: 2 w sums.
    parallel, moveout = 16 + 6 * w, 13 + 6 + 2 * w / TRACES
    fig, ax = theme.figure(8.6, 2.6)
    ax.plot(w, parallel, "o-", color=theme.A, markersize=4)
    ax.plot(w, moveout, "s-", color=theme.B, markersize=4)
    ax.text(21.3, parallel[-1], "parallel", color=theme.A, va="center")
    ax.text(21.3, moveout[-1], "moveout", color=theme.B, va="center")
    for at, name in ((3, "line3"), (17, "survey")):
        ax.axvline(at, color=theme.LINE, linewidth=0.9)
        ax.text(at + 0.15, 128, name, color=theme.GREY, fontsize=8.5)
    ax.set(xlim=(0, 24), ylim=(0, 150), xticks=w, xlabel="window samples w",
           ylabel="operations per visit")
    theme.save(fig, "semblance-09-operations.svg",
               "Floating-point operations per visit against the length w of the window, for 100 "
               "traces. With parallel windows they grow from 22 for w = 1 to 142 for w = 21. With "
               "windows that follow the moveout they stay at 19.")


def main() -> None:
    draw_windows()
    draw_operations()


if __name__ == "__main__":
    main()
