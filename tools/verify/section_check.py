"""section_check.py - decides whether the whole output traces of a job are right.

All files are compared with section_oracle.py. The semblance and the stack of the tuple that was
found are computed for each sample, the semblances of all tuples only for every 13th: that takes
seconds. What has been judged is kept while the process runs, because the steps and back-ends
find the same values at most samples.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy

from tools.verify import section_oracle as oracle

EVERY = 13  # samples


@cache
def judge_of(*arguments: str) -> oracle.Judge:
    return oracle.Judge(oracle.Job(arguments), EVERY)


def check(arguments: Sequence[str], files: Mapping[str, Path]) -> dict[str, Any]:
    """Like runs.check(): ok, share in percent, reason."""
    judge = judge_of(*arguments)
    worst = 0.0, "none"
    for found in judge.files({key: str(path.absolute()) for key, path in files.items()}):
        used = found.used if found.used == found.used else numpy.inf
        if used > worst[0]:
            worst = used, str(found)
        if used > 1:
            break
    return {"ok": worst[0] <= 1, "share": 100 * worst[0], "reason": worst[1]}
