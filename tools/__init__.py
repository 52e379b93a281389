"""The tools that build, verify, measure, publish and teach the history.

history   the table of steps, programs and back-ends; running, comparing and copying them
verify    correctness: cases, random queries, sanitizers
measure   times, peaks, registers: what is written to results/
publish   lessons, README and report, which are made from results/
teach     make run, exercises, grading, exports, new steps

history imports none of the others. verify imports history; measure imports both; publish and
teach import all three.
"""
from __future__ import annotations

import sys
from types import TracebackType


def explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints one line for an error that is not one of the tool: a missing module, command or
    file, a file that this user may not write, an interruption."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "tools").split(".")[0] not in (
            "tools", "tests"):
        print(f"{sys.executable}: has no module {error.name}: ./setup.sh installs it for "
              f"the system's Python, which PYTHON=/usr/bin/python3 selects", file=sys.stderr)
    elif isinstance(error, OSError) and error.filename:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    elif isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = explain
