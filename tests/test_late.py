"""test_late.py: the host uses no result of an OpenCL device before it has waited for it. The
results of reads that do not block arrive late (tools/verify/opencl_late.c).
"""
import subprocess

import pytest

from tests.helpers import ROOT, program_named
from tools.history import tree
from tools.verify import execute, sanitize


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("late") / "opencl_late.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
                    "tools/verify/opencl_late.c", "-o", path], cwd=ROOT, check=True)
    return path


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", [p.name for p in tree.programs()])
def test_late(check, library, tmp_path, name):
    program = program_named(name)
    arguments = sanitize.query(program)
    for step in tree.steps():
        for backend in step.available(program):
            if backend not in ("ocl", "hybrid"):
                continue
            outcome = execute.run_and_check(
                step, program, backend, arguments, tmp_path / f"{step.name}-{backend}", "tiny",
                {"LD_PRELOAD": str(library)}, extra=sanitize.extra(backend))
            check(f"{step.name} {name} {backend}", outcome["reason"] if not outcome["ok"] else "")
