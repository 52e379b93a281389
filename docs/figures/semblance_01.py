"""Draw the figure of lesson 01 of semblance: the work of each value of A, and how two threads
share it.

    python3 docs/figures/semblance_01.py

The visits are those of build/semblance-count in=build/data/semblance/paper.su set=1 a=VALUE,1,1
"""
from __future__ import annotations

import theme

# Million visits of each value of A, of -0.1, -0.09 .. 0.09 s/m in set 1.
SET1 = [0.32] * 9 + [18.56, 18.56, 18.56, 17.92, 15.36] + [0.32] * 6
SET2 = [18.56] * 20


def static(visits: list[float], threads: int) -> list[list[int]]:
    """The values of A of each thread, equal numbers of neighbouring values."""
    part = len(visits) // threads
    return [list(range(t * part, (t + 1) * part)) for t in range(threads)]


def dynamic(visits: list[float], threads: int) -> list[list[int]]:
    """The values of A of each thread, if a visit always takes the same time."""
    loads, found = [0.0] * threads, [list[int]() for _ in range(threads)]
    for number, work in enumerate(visits):
        free = loads.index(min(loads))
        found[free].append(number)
        loads[free] += work
    return found


def main() -> None:
    fig, axes = theme.figure(9, 4.3, ncols=2, nrows=2, height_ratios=[1.1, 1])
    for ax, name, visits in zip(axes[0], ("Set 1", "Set 2"), (SET1, SET2)):
        ax.bar(range(20), visits, color=theme.A, width=0.8)
        ax.set(xlabel="value of A (0 to 19)", ylabel="million visits", ylim=(0, 21),
               xticks=(0, 5, 10, 15, 19))
        ax.set_title(f"{name}: {sum(visits):.1f} million visits")
    for ax, schedule, assign in zip(axes[1], ("static", "dynamic"), (static, dynamic)):
        shares = assign(SET1, 2)
        longest = max(sum(SET1[i] for i in share) for share in shares)
        for thread, share in enumerate(shares):
            start = 0.0
            for number in share:
                large = SET1[number] > 1
                ax.barh(thread, SET1[number], left=start, height=0.6, linewidth=0.8,
                        color=theme.A if large else theme.GREY, edgecolor=theme.FILL)
                if large:
                    ax.text(start + SET1[number] / 2, thread, str(number), ha="center",
                            va="center", color=theme.FILL, fontsize=9)
                start += SET1[number]
        ax.set(yticks=(0, 1), yticklabels=("thread 0", "thread 1"), ylim=(1.5, -0.5),
               xlim=(0, 76), xlabel="million visits, one after the other")
        ax.set_title(f"Set 1, {schedule}: {longest:.1f} of {sum(SET1):.1f} million")
    theme.save(fig, "semblance-01-balance.svg",
               "Top: million visits of each of the 20 values of A. In set 1 five neighbouring "
               "values have 15 to 19 million and all others 0.3 million; in set 2 all have 18.6 "
               "million. Bottom: two threads share set 1. With a static schedule one thread gets "
               "four of the five large values, with a dynamic schedule three.")


if __name__ == "__main__":
    main()
