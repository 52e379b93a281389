"""test_mute.py: mute= with two passes. test_section_oracle.py has the muted samples."""
import random

import numpy

from tests.helpers import front_ends, run
from tests.test_criterion import survey
from tools.verify import section_oracle as oracle

VELOCITY = 1600
OPTIONS = ["in=in.su", "positions=places.txt", f"velocity={VELOCITY},2900", "stack=s.su",
           "refine=0", "average=0", "coherence=c.su", "parameters=p.npy", "weight=none"]


def test_passes(check, tmp_path):
    """Two passes with mute=; the files belong to another job without it."""
    survey(random.Random(4), tmp_path / "in.su")
    (tmp_path / "places.txt").write_text("sx gx\n1100 1250\n")
    binary = front_ends("semblance")[0][2]
    words = [binary, *OPTIONS, "tau=0.012", "aperture=30,30", "t0=0.04:0.2:41", "passes=2"]
    assert run([*words, "mute=0.45"], tmp_path).returncode == 0
    stack = oracle.split(tmp_path / "s.su", "=")[1][0]
    first = numpy.flatnonzero(stack)[0]
    check("first sample", not 8 < first < 30 and f"{first}")
    ended = run([*words, "mute=0.46"], tmp_path)
    check("another job", "belongs to another job" not in ended.stderr and ended)
