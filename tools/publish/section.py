"""section.py - make section: fills a gap in a line of traces, and draws it.

Prints the signal-to-noise ratio of what was filled and draws build/section/section.svg: the
line as recorded, filled, and with the truth. The exit status is 0 only if every trace was
filled.
"""
from __future__ import annotations

import os
import sys

from tools.base import options, tree
from tools.measure import section
from tools.publish import draw


def main() -> int:
    parser = options.parser(__doc__, "BACKEND")
    parser.add_argument("--args", default=os.environ.get("ARGS", ""), metavar="ARGS",
                        help="arguments in place of those of the job, as in make run")
    arguments = options.parse(parser)
    found = section.fill(tree.programs()[0], arguments.backend or "omp",
                         options.split("ARGS", arguments.args))
    print(found.text())
    path = tree.build() / "section" / "section.svg"
    draw.section(path, found.panels(), float(found.truth["dt"][0]) * 1e-6)
    print(path)
    return 0 if found.complete() else 1


if __name__ == "__main__":
    sys.exit(main())
