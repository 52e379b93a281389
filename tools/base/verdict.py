"""verdict.py - what interleaved measurements say about the ratio of two times.

Two programs were run in repetitions, one after the other. Their ratio is taken for each
repetition, so that a disturbance of a whole repetition cancels, and the median of the
ratios is reported. Its 95 % confidence interval is determined by the bootstrap: samples of
the ratios, drawn with replacement, have medians, and the middle 95 % of these are the
interval. The interval accounts for random variation between repetitions only. Other
differences between two runs of the same binary, such as the place of its pages in memory,
are estimated with A/A pairs: the binary also runs under a second name, and the end of any
of their intervals that is farthest from 1 is the A/A spread. A difference is real if its
interval excludes 1 and its median lies outside the spread.

A row of results/MACHINE.csv has one of WORDS for each ratio, in KEY_is. For two steps with
the same code it has no ratio.
"""
from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WORDS = ("gain", "loss", "none", "same code")
ROUNDS = 15  # repetitions, at least; with fewer than 6 no 95 % interval exists
SAMPLES = 2000
CONFIDENCE = 0.95
Times = Sequence[float | None]  # seconds by repetition; None: not measured


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median: (low, high). The same values give the
    same interval."""
    generator = random.Random(1)
    n = len(values)
    medians = sorted(statistics.median(generator.choices(values, k=n))
                     for _ in range(SAMPLES))
    outside = round(SAMPLES * (1 - CONFIDENCE) / 2)
    return medians[outside], medians[-1 - outside]


@dataclass(frozen=True)
class Verdict:
    ratio: float  # above 1 is faster
    low: float
    high: float
    word: str  # gain, loss or none


def compare(times: Times, other: Times, spread: float = 1.0) -> Verdict:
    """The speedup of times over other. Repetitions that either lacks are left out. spread
    is the result of spread_of() for the A/A pairs, 1 without any."""
    ratios = [b / a for a, b in zip(times, other) if a and b]
    if not ratios:
        raise ValueError("no repetition has both times")
    low, high = interval(ratios)
    ratio = statistics.median(ratios)
    word = "none"
    if low > 1 and ratio > spread:
        word = "gain"
    elif high < 1 and ratio < 1 / spread:
        word = "loss"
    return Verdict(ratio, low, high, word)


def spread_of(pairs: Iterable[Verdict]) -> float:
    """The A/A spread, 1 or more: ratios between 1 / spread and spread are noise."""
    return max([1.0, *(end for v in pairs for end in (v.high, 1 / v.low))])


def short(row: Mapping[str, Any] | None, key: str) -> str:
    """A ratio of a row in a few characters: 2.29, "~ 1.01" if it is within the noise,
    "same code", or "" if there is none."""
    if not row:
        return ""
    word = row[f"{key}_is"]
    if word == "same code":
        return word
    if not row[key]:
        return ""
    return ("~ " if word == "none" else "") + f"{float(row[key]):.2f}"


def long(row: Mapping[str, str], key: str) -> str:
    """The same with its interval."""
    text = short(row, key)
    if not text or text == "same code":
        return text or "-"
    return f"{text} {interval_text(row, key)}"


def interval_text(row: Mapping[str, str], key: str) -> str:
    """The interval alone."""
    return f"({float(row[f'{key}_low']):.2f} to {float(row[f'{key}_high']):.2f})"
