"""test_races.py: no two work-items of an OpenCL kernel access the same memory, unless both
read. On a CPU such a race seldom changes a result: Oclgrind, a simulator of devices, reports
it. Tested are all steps of semblance, whose work-items have workspaces in one buffer, and the
last step of the other programs.
"""
import shutil

import pytest

from tests.helpers import ROOT, binaries, program_named, run
from tools.history import tree


@pytest.mark.seconds(15)
@pytest.mark.skipif(not shutil.which("oclgrind"), reason="oclgrind is not installed")
@pytest.mark.parametrize("name", [p.name for p in tree.programs()])
def test_races(check, tmp_path, name):
    program = program_named(name)
    found = binaries(name, ("ocl",))
    for step, _, path in found if name == "semblance" else found[-1:]:
        log = tmp_path / step
        ended = run(["oclgrind", "--data-races", "--max-errors", "5", "--log", log,
                     # It does not know an attribute of inlined functions.
                     "--build-options", "-cl-opt-disable -D always_inline=unused", path,
                     *program.arguments(program.mk["tiny"])], ROOT)
        check(f"{step} {name}", ended.returncode and ended.stderr or
              (log.read_text()[:300] if log.exists() else "Oclgrind left no log"))
