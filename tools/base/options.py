"""options.py - the command line of the tools.

Make passes its variables (STEP=05) through the environment. Each tool accepts the same as
an option (--step 05), which takes precedence, and explains them with --help.
"""
from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Collection, Sequence

from tools.base import tree

# Options that are written as VARIABLE= for make and as --variable for a tool.
VARIABLES = {
    "STEP": "steps, by number or name, and rungs, as in 05.3 (default: all steps)",
    "PROGRAM": "programs (default: all)",
    "BACKEND": "back-ends (default: all that are built and can run here)",
    "REQUIRE": "back-ends whose absence is a failure; `none` for none (default: all that "
               "need neither a GPU nor a compiler with OpenACC)",
    "SET": "sets of parameters; `all` for all of them",
    "REPEAT": "number of repetitions",
    "SEED": "seed of the random queries",
    "COUNT": "number of random queries",
    "SECONDS": "start no new query after this many seconds",
    "SAN": "1: with AddressSanitizer and UBSan, for three vector widths; native: for one",
    "NUMBER": "run only the query with this number",
    "RESULTS": "the file to write (default: results/MACHINE.csv)",
    "IN": "the file to read",
    "OUT": "the file to write",
    "LIKE": "SEG-Y file whose text and binary headers are used",
    "FILLED": "SU file of traces that IN has not",
    "STACK": "SU file with the filled traces",
    "COHERENCE": "SU file with the semblance of the filled traces",
    "APERTURE": "DM,DH in metres, as the program printed it",
    "GAIN": "seconds of the gain (default: 0.25; 0: none)",
    "SPACES": "0: ignore lines that differ only in white space",
}
FLAGS = {
    "QUICK": "a rough measurement: few repetitions, small sets; writes no file",
    "RUNGS": "the rungs of the steps, too",
    "IBM": "the samples of IN are IBM floats, whatever its format code is; IN may be SU",
    "IEEE": "the same for IEEE floats",
    "VARIANTS": "measure the variants of steps/*/variants, too",
}
NOUNS = {"BACKEND": "back-end", "SET": "set"}

# The variables that are whole numbers; SECONDS may have a fraction.
NUMBERS = "REPEAT", "COUNT", "SECONDS", "NUMBER"


def is_positive(text: str) -> bool:
    try:
        return 0 <= float(text) < float("inf")
    except ValueError:
        return False


def split(variable: str, text: str) -> list[str]:
    """The words of a variable, in which quotes protect blanks."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SystemExit(f"{variable}={text}: {error}: expected pairs of quotes") from None


def is_set(variable: str) -> bool:
    """Whether a variable of make that is 0 or 1 is 1."""
    return os.environ.get(variable, "") not in ("", "0")


def parser(doc: str | None, *variables: str) -> argparse.ArgumentParser:
    """A parser whose help is the text of a module, with the options of some variables."""
    made = argparse.ArgumentParser(description=doc,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in variables:
        option = f"--{name.lower()}"
        if name in FLAGS:
            made.add_argument(option, action="store_true", default=is_set(name),
                              help=FLAGS[name])
        else:
            made.add_argument(option, default=os.environ.get(name, ""), metavar=name,
                              help=VARIABLES[name])
    return made


def require(variable: str, known: Collection[str]) -> None:
    """Ends the process if a word of a variable is not one of those that are known."""
    for word in os.environ[variable].split():
        if word not in ("all", *known):
            raise SystemExit(f"{variable}={word}: no such {NOUNS[variable]}: expected one of "
                             f"{' '.join(dict.fromkeys(known))}")


def parse(made: argparse.ArgumentParser, words: Sequence[str] | None = None,
          own_sets: bool = False) -> argparse.Namespace:
    """Parses words, by default the command line. The variables get the values of their
    options, such that tree.selected() and a make that is called see them. own_sets: the tool
    has other sets than the programs."""
    found = made.parse_args(words)
    for name in NUMBERS:
        text = str(getattr(found, name.lower(), None) or "0")
        if not text.isdecimal() and not (name == "SECONDS" and is_positive(text)):
            raise SystemExit(f"{name}={text}: expected a number")
    for name in VARIABLES:
        if hasattr(found, name.lower()):
            os.environ[name] = getattr(found, name.lower())
    for name in FLAGS:
        if hasattr(found, name.lower()):
            os.environ[name] = "1" if getattr(found, name.lower()) else ""
    if hasattr(found, "backend"):
        require("BACKEND", tree.BACKENDS)
    if hasattr(found, "set") and not own_sets:
        require("SET", [name for program in tree.selected(tree.programs(), "PROGRAM")
                        for name in (*program.sets, *program.jobs)])
    return found
