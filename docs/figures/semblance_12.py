"""Draw the counter and the restartable file of step 12 of semblance: semblance-12-counter.svg
and semblance-12-file.svg.

    python3 docs/figures/semblance_12.py

The first is an example: traces at the edges of a survey have fewer neighbors than those in the
middle, and rank 2 runs on a machine that is half as fast.
"""
from __future__ import annotations

import theme

COSTS = [3, 4, 5, 6, 7, 8, 8, 8, 8, 7, 6, 5, 4, 4, 3]  # of the traces 0 to 14, in seconds
SLOWNESS = [1, 1, 2]  # of the ranks

Piece = tuple[int, int, float, float]  # rank, trace, begin, end


def static() -> list[Piece]:
    """Each rank has a third of the traces."""
    pieces, share = [], len(COSTS) // len(SLOWNESS)
    for rank, slowness in enumerate(SLOWNESS):
        now = 0.0
        for trace in range(rank * share, (rank + 1) * share):
            pieces.append((rank, trace, now, now + slowness * COSTS[trace]))
            now = pieces[-1][-1]
    return pieces


def counted() -> list[Piece]:
    """A rank that is free takes the next trace."""
    pieces, free = [], [0.0] * len(SLOWNESS)
    for trace, cost in enumerate(COSTS):
        rank = free.index(min(free))
        pieces.append((rank, trace, free[rank], free[rank] + SLOWNESS[rank] * cost))
        free[rank] = pieces[-1][-1]
    return pieces


def counter() -> None:
    both = [("A third of the traces for each rank", static()), ("One counter", counted())]
    ends = [max(end for *_, end in pieces) for _, pieces in both]
    fig, axes = theme.figure(8.4, 3.8, nrows=2, sharex=True)
    for ax, (title, pieces), last in zip(axes, both, ends):
        for rank, trace, begin, end in pieces:
            ax.barh(rank, end - begin, left=begin, height=0.7, linewidth=0.8,
                    edgecolor=theme.FILL, color=(theme.A, theme.B, theme.C)[rank])
            ax.text((begin + end) / 2, rank, str(trace), ha="center", va="center",
                    color=theme.FILL, fontsize=9)
        ax.axvline(last, color=theme.GREY, linewidth=1)
        ax.set(yticks=(0, 1, 2), yticklabels=("rank 0", "rank 1", "rank 2, slower"),
               ylim=(2.5, -0.5), xlim=(0, max(ends) + 1))
        ax.set_title(f"{title}: {last:.0f} s")
    axes[1].set_xlabel("seconds; the numbers are those of the output traces")
    theme.save(fig, "semblance-12-counter.svg",
               f"{len(COSTS)} traces and three ranks, of which rank 2 is half as fast. With a "
               f"third of the traces for each rank the job takes {ends[0]:.0f} s, because two "
               f"ranks wait for rank 2; with one counter it takes {ends[1]:.0f} s.")


def file() -> None:
    done, unmarked, empty = "live, samples", "trid 0, samples", "trid 0, zeros"
    states = [("the job was killed", [done, done, done, unmarked, done, unmarked, empty, empty]),
              ("what the next job reads", [done, done, done, "compute", done, "compute",
                                           "compute", "compute"]),
              ("at its end", [done] * 8)]
    fig, ax = theme.figure(7.4, 3.3)
    for column, (title, rows) in enumerate(states):
        x = column * 1.25
        ax.text(x + 0.5, -0.3, title, ha="center", va="bottom", fontweight="bold")
        for row, state in enumerate(rows):
            color = {done: theme.A, unmarked: theme.B}.get(state, theme.FILL)
            ax.barh(row, 1, left=x, height=0.86, align="edge", color=color,
                    edgecolor=theme.GREY, linewidth=0.8)
            ax.text(x + 0.5, row + 0.43, state, ha="center", va="center", fontsize=9,
                    color=theme.INK if color == theme.FILL else theme.FILL)
    for row in range(8):
        ax.text(-0.06, row + 0.43, f"trace {row}", ha="right", va="center", color=theme.GREY,
                fontsize=9)
    ax.set(xlim=(-0.5, 3.55), ylim=(8.1, -0.9))
    ax.axis("off")
    theme.save(fig, "semblance-12-file.svg",
               "The file of a job with 8 traces. When the job is killed, traces 0, 1, 2 and 4 are "
               "marked as live, traces 3 and 5 have samples but no mark, and 6 and 7 are empty. "
               "The next job computes 3, 5, 6 and 7; at its end all traces are live.")


if __name__ == "__main__":
    counter()
    file()
