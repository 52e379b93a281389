"""test_late.py: the host uses no result of an OpenCL device before it has waited for it, and
releases all that it has created or allocated. The results of reads that do not block arrive
late (tools/verify/opencl_late.c); ocl_leaks.c counts buffers, kernels, events and others, and
host_leaks.c blocks of memory.
"""
import os
import re
import subprocess

import pytest

from tests.helpers import binaries, preloaded, program_named, run
from tests.sections import JOB, QUERY, RANGES, rewritten
from tools.base import copies, runs, tree
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


def some_dead(header, number):
    """Every seventh trace of the small gather is dead."""
    header["trid"] = 2 if number % 7 == 3 else 1


@pytest.mark.seconds(10)
def test_jobs(check, memory, tmp_path):
    """Jobs with each file that a job can read or write."""
    (tmp_path / "v.txt").write_text("0 1800 300\n1 2600 400\n")
    (tmp_path / "mute.txt").write_text("0 0.05\n900 0.3\n")
    (tmp_path / "places.txt").write_text("4120 -480\n4130 -430\n")
    row = "0.1 " + " ".join(" ".join(map(str, RANGES[k])) for k in "abcde")
    (tmp_path / "ranges.txt").write_text(f"{row}\n{row.replace('0.1', '0.9', 1)}\n")
    places = ["positions=places.txt", "t0=0.5,0.004,20", "stack=s.su", "coherence=c.su",
              "parameters=p.npy"]
    for number, words in enumerate((
            [*places, "velocity=v.txt", "mute=mute.txt", "passes=2", "ranges_out=r.txt"],
            [*places, "ranges=ranges.txt", "tau=0.008", "window=moveout", "refine=1"],
            ["fill=dead", "velocity=v.txt", "choose=1", "aperture=200,200", "stack=s.su"],
            [*JOB, *QUERY, "stack=s.su", "aperture=60,60", "average=0.01"])):
        for step, backend, path in (binaries("semblance", ("seq",))[0],
                                    *binaries("semblance", ("omp", "ocl", "mpi"))[-4:]):
            if "window=moveout" in words and step[:2] not in ("00", "09", "10", "12") \
                    or "choose=1" in words and backend != "omp":
                continue
            folder = tmp_path / f"{number}-{step}-{backend}"
            folder.mkdir()
            for name in ("v", "mute", "places", "ranges"):
                copies.put(tmp_path / f"{name}.txt", folder / f"{name}.txt")
            rewritten(folder / "in.su", some_dead)
            command, variables = runs.launch(os.path.abspath(path), backend, {"RANKS": "2"})
            ended = run([*command, "in=in.su", *words], folder, {**variables, "LD_PRELOAD": memory})
            kept = re.search("not released:.*", ended.stderr)
            check(f"{step} {backend} {' '.join(words)}", ended.returncode and ended.stderr
                  or kept and kept[0])


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
