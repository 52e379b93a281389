"""test_races.py: no two work-items of an OpenCL kernel access the same memory, unless both
read. On a CPU such a race seldom changes a result: Oclgrind, a simulator of devices, reports
it. Tested are all steps of semblance, whose work-items have workspaces in one buffer, also
with the vectors of a CPU, and the last step of the other programs. Oclgrind's own device has
no vectors, as a GPU.
"""
import shutil

import pytest

from tests.helpers import ROOT, binaries, preloaded, program_named, run
from tools.base import tree


@pytest.mark.seconds(25)
@pytest.mark.skipif(not shutil.which("oclgrind"), reason="oclgrind is not installed")
@pytest.mark.parametrize("name", [p.name for p in tree.programs()])
def test_races(check, tmp_path, name):
    program = program_named(name)
    found = binaries(name, ("ocl",))
    guard = preloaded("tools/verify/opencl_guard.c")  # it replaces the number of lanes
    tried = [(*point, 1) for point in (found if name == "semblance" else found[-1:])]
    tried += [(*point, 4) for point in found if name == "semblance" and point[0] >= "08"]
    for step, _, path, lanes in tried:
        log = tmp_path / f"{step}-{lanes}"
        ended = run(["oclgrind", "--data-races", "--max-errors", "5", "--log", log,
                     # It does not know an attribute of inlined functions.
                     "--build-options", "-cl-opt-disable -D always_inline=unused",
                     "sh", "-c", 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"', guard, path,
                     *program.arguments(program.mk["tiny"])], ROOT, {"OPENCL_LANES": str(lanes)})
        check(f"{step} {name}, {lanes} lanes", ended.returncode and ended.stderr or
              (log.read_text()[:300] if log.exists() else "Oclgrind left no log"))
