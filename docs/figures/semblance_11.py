"""Draw the items of a chunk of line3 in step 11 of semblance: semblance-11-list.svg.

    python3 docs/figures/semblance_11.py

A run on 2 cores of an AMD EPYC with AVX-512: one host thread, and PoCL on the other core.
BATCHES are its records: the first item, the number of items, and the times, in ms, at which the
device began and ended and at which the batch was enqueued (exercise 3 prints them).
"""
from __future__ import annotations

import theme

ITEMS = 486
HOST_END = 9.098
BATCHES: list[tuple[int, int, float, float, float]] = [
    (0, 2, 0.082, 0.217, 0.082), (2, 2, 0.228, 0.349, 0.228),
    (5, 5, 0.401, 0.613, 0.401), (10, 10, 0.623, 0.992, 0.623),
    (21, 21, 1.037, 2.350, 1.037), (42, 42, 2.350, 3.632, 1.719),
    (101, 58, 3.632, 5.369, 2.399), (202, 46, 5.369, 6.942, 3.673),
    (304, 31, 6.942, 7.882, 5.403), (387, 18, 7.882, 8.495, 7.003),
    (435, 10, 8.495, 8.855, 7.933), (464, 5, 8.855, 9.044, 8.546),
]


def main() -> None:
    fig, (top, bottom) = theme.figure(8.4, 4.2, nrows=2, sharex=True, height_ratios=(1, 1.5))
    for number, (_, items, begin, end, _) in enumerate(BATCHES):
        top.barh(1, end - begin, left=begin, height=0.6, linewidth=0.8, edgecolor=theme.FILL,
                 color=theme.B if number % 2 else theme.A)
        if end - begin > 0.45:
            top.text((begin + end) / 2, 1, str(items), ha="center", va="center",
                     color=theme.FILL, fontsize=9)
    device = sum(items for _, items, _, _, _ in BATCHES)
    top.barh(0, HOST_END, height=0.6, color=theme.GREY)
    top.text(HOST_END / 2, 0, f"{ITEMS - device} items, one after the other", ha="center",
             va="center", color=theme.FILL, fontsize=9)
    top.set(yticks=(0, 1), yticklabels=("host thread 0", "device"), ylim=(-0.5, 1.5))
    top.set_title(f"One chunk of line3: the device computes {device} of {ITEMS} items")
    bottom.plot([enqueued for *_, enqueued in BATCHES],
                [ITEMS - first for first, *_ in BATCHES], "o-", color=theme.GREY, markersize=3,
                label="items left in the list")
    bottom.vlines([enqueued for *_, enqueued in BATCHES], 0, [items for _, items, *_ in BATCHES],
                  color=theme.A, linewidth=4, label="size of a batch")
    bottom.set(ylabel="items", ylim=(0, ITEMS + 10), xlabel="ms since the start of the chunk")
    bottom.set_title("The first batches are small; later ones have a quarter of the fair part")
    bottom.legend()
    sizes = ", ".join(str(items) for _, items, *_ in BATCHES)
    theme.save(fig, "semblance-11-list.svg",
               f"Above: a Gantt chart of one chunk of {ITEMS} items. The host thread works without "
               f"a gap; the device computes {len(BATCHES)} batches. Below: the number of items "
               f"that are left falls, and the batches of {sizes} items first grow, then shrink.")


if __name__ == "__main__":
    main()
