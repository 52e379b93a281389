"""verdict.py - what may be said of times that were taken in turns.

A row of results/MACHINE.csv says of each ratio, in KEY_is, one of WORDS; whoever shows a
ratio shows that word, in its own signs.
"""
import statistics

WORDS = ("gain", "loss", "none", "same code")


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def short(row, key):
    """A ratio of a row in a few signs: 2.29, ~ 1.01 where it cannot be told from 1, "same
    code", or nothing where there is none."""
    if not row or not row[key]:
        return ""
    word = row[f"{key}_is"]
    if word == "same code":
        return word
    return ("~ " if word == "none" else "") + f"{float(row[key]):.2f}"


def long(row, key):
    """The same with its interval."""
    text = short(row, key)
    if not text or text == "same code":
        return text or "-"
    return f"{text} ({float(row[f'{key}_low']):.2f} to {float(row[f'{key}_high']):.2f})"
