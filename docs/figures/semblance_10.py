"""Draw nodes and bounds of step 10 of semblance: semblance-10-nodes.svg, -10-error.svg and
-10-bound.svg.

    python3 docs/figures/semblance_10.py

The errors are those of one trace whose samples are drawn at random: den at 20 x 20 points
(D, E), interpolated from 16 nodes, in double precision.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import theme

VALUES, NODES, SMOOTH_RATIO = 20, 4, 512


def draw_nodes() -> None:
    fig, (left, right) = theme.figure(8.6, 3.1, ncols=2)
    e, d = np.meshgrid(np.arange(VALUES), np.arange(VALUES))
    left.plot(e, d, ".", color=theme.GREY, markersize=3)
    at = np.linspace(0, VALUES - 1, NODES)
    e, d = np.meshgrid(at, at)
    left.plot(e, d, "s", color=theme.B, markersize=7)
    left.set(title="16 nodes for 400 points", xlabel="E", ylabel="D", xticks=[], yticks=[],
             aspect="equal")
    samples = np.array([0.2, 0.75, 0.5, -0.3])
    right.plot(range(4), samples, "o-", color=theme.INK, markersize=5, linewidth=1)
    right.axvspan(1.25, 1.75, color=theme.FILL)
    right.plot(np.linspace(1.25, 1.75, 16), np.interp(np.linspace(1.25, 1.75, 16), range(4),
                                                      samples), "s", color=theme.B, markersize=4)
    right.text(1.5, 0.95, "arrivals of all (D, E)", ha="center", color=theme.B, fontsize=8.5)
    right.set(title="No stored sample is crossed: v is linear", xticks=range(4),
              xticklabels=["ix − 1", "ix", "ix + 1", "ix + 2"], yticks=[], ylim=(-0.5, 1.1))
    theme.save(fig, "semblance-10-nodes.svg",
               "Left: the 20 x 20 points (D, E) of one (A, B, C), and the 4 x 4 nodes among them. "
               "Right: one trace. If the arrivals of all (D, E) lie between two neighboring "
               "stored samples, the interpolated value is a linear function of the arrival.")


def cubic(at: Any) -> Any:
    """Weights of 4 nodes at 0, 1, 2, 3 for a value in between (Lagrange)."""
    return np.stack([np.prod([(at - m) / (n - m) for m in range(4) if m != n], axis=0)
                     for n in range(4)])


def largest_error(generator: Any, span: float) -> float:
    """Error of den over the largest den of a node, for arrivals from 1000 to 1000 + span."""
    start, end = 1000.0 ** 2, (1000.0 + span) ** 2
    share = generator.uniform()
    d, e = np.meshgrid(np.linspace(0, 3, VALUES), np.linspace(0, 3, VALUES), indexing="ij")
    zero, slope = generator.uniform(1000, 1000 + span), generator.normal()

    def den(d: Any, e: Any) -> Any:
        x = np.sqrt(start + (end - start) * (share * d + (1 - share) * e) / 3)
        return (slope * (x - zero)) ** 2

    node = den(*np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij"))
    at = np.linspace(0, 3, VALUES)
    found = np.einsum("mi,mn,nj->ij", cubic(at), node, cubic(at))
    return float(np.max(np.abs(found - den(d, e))) / node.max())


def draw_error() -> None:
    generator = np.random.default_rng(10)
    ratio = np.logspace(-3.2, -0.6, 14)
    error = [max(largest_error(generator, 1000 * r) for _ in range(200)) for r in ratio]
    fig, ax = theme.figure(8.6, 2.8)
    ax.plot(ratio, error, "o", color=theme.A, markersize=4.5)
    ax.plot(ratio, 0.2 * ratio ** 2, color=theme.B)
    ax.text(0.02, 3e-4, "bound: 0.2 (h / x)²", color=theme.B, ha="right")
    ax.text(0.035, 1.2e-6, "largest of 200 random traces", color=theme.A)
    ax.axvline(1 / SMOOTH_RATIO, color=theme.INK, linewidth=1)
    ax.text(1.05 / SMOOTH_RATIO, 2e-3, "nodes are used up to here", fontsize=8.5)
    ax.set(xscale="log", yscale="log", xlabel="h / x: change of the arrival over its time",
           ylabel="relative error of den", ylim=(3e-9, 2e-2))
    theme.save(fig, "semblance-10-error.svg",
               "Relative error of den, interpolated from 16 nodes, against h / x, both "
               "logarithmic. The largest error of 200 random traces stays below the bound 0.2 "
               "(h / x) squared. Nodes are used up to h / x = 1 / 512, where the bound is 8e-7.")


def draw_bound() -> None:
    samples = np.array([0.1, 0.55, 0.9, 0.35, 0.62, 0.15])
    low, high = 1.4, 3.7
    fig, ax = theme.figure(8.6, 2.6)
    ax.plot(range(6), samples, "o-", color=theme.INK, markersize=5, linewidth=1)
    ax.axvspan(low, high, color=theme.FILL)
    inside = np.concatenate([np.interp([low, high], range(6), samples), samples[2:4]])
    for value, name in ((inside.max(), "v_max"), (inside.min(), "v_min")):
        ax.plot([low, 5.1], [value] * 2, color=theme.B, linewidth=1.2)
        ax.text(5.15, value, name, color=theme.B, va="center")
    for at, name in ((low, "x_min"), (high, "x_max")):
        ax.plot([at] * 2, [-0.05, 1.0], ":", color=theme.A)
        ax.text(at, 1.03, name, color=theme.A, ha="center")
    ax.set(ylim=(-0.05, 1.15), xlim=(-0.3, 5.8), yticks=[], xticks=range(6),
           xlabel="stored samples of one trace")
    theme.save(fig, "semblance-10-bound.svg",
               "One trace. For all points of an (A, B), the arrivals lie between x_min and "
               "x_max. There the piecewise-linear sample lies between v_min and v_max: its "
               "extremes are at the two ends or at a stored sample between them.")


def main() -> None:
    draw_nodes()
    draw_error()
    draw_bound()


if __name__ == "__main__":
    main()
