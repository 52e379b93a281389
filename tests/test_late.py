"""test_late.py: the host uses no result of an OpenCL device before it has waited for it, and
releases all that it has created or allocated. The results of reads that do not block arrive
late (tools/verify/opencl_late.c); ocl_leaks.c counts buffers, kernels, events and others, and
host_leaks.c blocks of memory.
"""
import os
import re
import subprocess

import pytest

from tests.helpers import preloaded, program_named
from tools.history import tree
from tools.verify import execute, sanitize


@pytest.fixture(scope="module")
def memory():
    return preloaded("tests/host_leaks.c")


@pytest.fixture(scope="module")
def libraries(memory):
    """The second one counts what the program asks for."""
    return f"{memory} {preloaded('tests/ocl_leaks.c', 'tools/verify/opencl_late.c')}"


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", [p.name for p in tree.programs()])
def test_late(check, memory, libraries, tmp_path, name):
    program = program_named(name)
    arguments = sanitize.query(program)
    for step in tree.steps():
        for backend in step.available(program):
            opencl = backend in ("ocl", "hybrid")
            outcome = execute.run_and_check(
                step, program, backend, arguments, tmp_path / f"{step.name}-{backend}", "tiny",
                {"LD_PRELOAD": libraries if opencl else memory}, extra=sanitize.extra(backend))
            kept = re.search("not released:.*", outcome["result"].err)
            check(f"{step.name} {name} {backend}", outcome["reason"] if not outcome["ok"]
                  else kept and kept[0])


def test_leak(check, libraries, tmp_path):
    """A buffer, a context and a block of memory that are not released are counted."""
    (tmp_path / "keeps.c").write_text(
        "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <stdlib.h>\n"
        "int main(void)\n{\n"
        "    cl_platform_id platform;\n    cl_device_id device;\n"
        "    clGetPlatformIDs(1, &platform, NULL);\n"
        "    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);\n"
        "    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);\n"
        "    clCreateBuffer(context, CL_MEM_READ_WRITE, 8, NULL, NULL);\n"
        "    return malloc(8) == NULL;\n}\n")
    subprocess.run(["gcc", "keeps.c", "-o", "keeps", "-lOpenCL"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "keeps"], env={**os.environ, "LD_PRELOAD": libraries},
                          capture_output=True, text=True)
    check.equal("keeps", re.sub(" at .*", "", done.stderr),
                "memory: not released: 1 blocks, one of them allocated\n"
                "OpenCL: not released: 1 contexts, 1 buffers\n")
