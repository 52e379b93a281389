"""verdict.py - what may be said of times that were taken in turns.

Two things were run in rounds, one after the other. Their ratio is taken round by round,
so that what slows a whole round down falls out, and its median is what is quoted. How
sure that median is, the rounds say themselves: drawn again and again from those there
are, with repetition, their medians spread, and the middle 95 % of them is the interval
(the bootstrap). It knows chance from round to round only. What else two runs of the very
same binary may differ by, as where its pages lie, A/A pairs show: the binary runs under
a second name, and the end of any of their intervals that lies farthest from 1 is the
spread of that measuring. A difference is real if its interval excludes 1 and its median
lies outside the spread.

A row of results/MACHINE.csv says of each ratio, in KEY_is, one of WORDS; whoever shows a
ratio shows that word, in its own signs. Of the same code there is a word and no number.
"""
import random
import statistics
from dataclasses import dataclass

WORDS = ("gain", "loss", "none", "same code")
ROUNDS = 15  # at least; of fewer than 6 no interval holds 95 % of anything
DRAWN = 2000
INSIDE = 0.95


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def interval(values, seed=1):
    """Where the median of many such values lies, in 95 of 100 cases: (low, high). The
    same values give the same interval."""
    chance = random.Random(seed)
    n = len(values)
    medians = sorted(statistics.median(chance.choices(values, k=n)) for _ in range(DRAWN))
    outside = round(DRAWN * (1 - INSIDE) / 2)
    return medians[outside], medians[-1 - outside]


@dataclass(frozen=True)
class Verdict:
    ratio: float  # above 1 is faster
    low: float
    high: float
    word: str  # gain, loss or none


def compare(times, other, spread=1.0):
    """The Verdict on times over other's, taken round by round: the ratio says how many
    times as fast as other it is. A round that either lacks (None) is left out. spread is
    what spread_of() said of the A/A pairs, 1 without any."""
    ratios = [b / a for a, b in zip(times, other) if a and b]
    if not ratios:
        raise ValueError("no round has both times")
    low, high = interval(ratios)
    ratio = statistics.median(ratios)
    word = "none"
    if low > 1 and ratio > spread:
        word = "gain"
    elif high < 1 and ratio < 1 / spread:
        word = "loss"
    return Verdict(ratio, low, high, word)


def spread_of(pairs):
    """The A/A spread, 1 or more, of the Verdicts on pairs that are one binary each: a
    ratio between 1 / spread and spread is nothing."""
    return max([1.0, *(v.high for v in pairs), *(1 / v.low for v in pairs)])


def short(row, key):
    """A ratio of a row in a few signs: 2.29, ~ 1.01 where it cannot be told from 1, "same
    code", or nothing where there is none."""
    word = row[f"{key}_is"] if row else ""
    if word == "same code":
        return word
    if not row or not row[key]:
        return ""
    return ("~ " if word == "none" else "") + f"{float(row[key]):.2f}"


def long(row, key):
    """The same with its interval."""
    text = short(row, key)
    if not text or text == "same code":
        return text or "-"
    return f"{text} {between(row, key)}"


def between(row, key):
    """The interval alone."""
    return f"({float(row[f'{key}_low']):.2f} to {float(row[f'{key}_high']):.2f})"
