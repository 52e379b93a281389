"""section.py - make section: fills a gap in a line of traces, and draws it.

Prints the signal-to-noise ratio of what was filled and draws build/section/section.svg: the
line as recorded, filled, and with the truth. The exit status is 0 only if every trace was
filled.
"""
from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from tools.history import options, tree
from tools.measure import section
from tools.publish import draw


def panels(found: section.Section) -> list[tuple[str, Any, Any]]:
    """[(title, midpoints, samples [trace][sample])] of the line at the half-offset that was
    filled: as recorded, filled, and the truth."""
    m, h = section.positions(found.before)
    at, half = section.positions(found.truth)
    here = np.abs(h - half[0]) < 1e-3
    m, recorded = m[here], found.before["samples"][here]
    sheets = []
    for title, more in (("recorded", np.zeros_like(found.truth["samples"])),
                        ("filled", found.filled["samples"]),
                        ("truth", found.truth["samples"])):
        every, samples = np.concatenate([m, at]), np.concatenate([recorded, more])
        order = np.argsort(every)
        sheets.append((title, every[order], samples[order]))
    return sheets


def main() -> int:
    parser = options.parser(__doc__, "BACKEND")
    parser.add_argument("--args", default=os.environ.get("ARGS", ""), metavar="ARGS",
                        help="arguments in place of those of the job, as in make run")
    arguments = options.parse(parser)
    found = section.fill(tree.programs()[0], arguments.backend or "omp",
                         options.split("ARGS", arguments.args))
    print(found.text())
    path = tree.build() / "section" / "section.svg"
    draw.section(path, panels(found), float(found.truth["dt"][0]) * 1e-6)
    print(path)
    return 0 if found.complete() else 1


if __name__ == "__main__":
    sys.exit(main())
