"""semblance_test.py - what a back-end of the search promises beyond one answer: that many
searches with one state give what each gives by itself (semblance_calls.c).

Run from the root; the objects are those of BUILD. Left out: what CUDA does on a GPU.
"""
import os
import subprocess
import sys
import tempfile

from tests.helpers import BUILD, ROOT, Tally, run
from tools.history import tree

INCLUDE = [f"-Icommon/{name}" for name in
           ("run", "su", "portable", "semblance", "opencl", "cuda")]
FRONT = [f"{BUILD}/common/{name}.o" for name in
         ("semblance/arguments", "semblance/pick", "su/su", "run/run", "run/args",
          "run/npy")]
CASES = ("small", "outside", "wide")


def sources(step, backend):
    """What of a back-end is compiled and linked, as words for gcc."""
    folder = f"steps/{step.name}/semblance"
    if backend == "seq":
        return ["-Wno-unknown-pragmas", f"{folder}/cpu.c"]
    if backend == "omp":
        return ["-fopenmp", f"{folder}/cpu.c"]
    if backend == "ocl":
        return [f"{folder}/opencl.c", f"{BUILD}/parts/{step.name}/semblance-kernel.o",
                f"{BUILD}/common/opencl/ocl.o", "-lOpenCL"]
    return ["-fopenmp", "-x", "c", f"{folder}/cuda.cu", "-x", "none",
            f"{BUILD}/common/cuda/cuda_device-cpu.o", f"{BUILD}/common/cuda/cuda_cpu.o"]


def calls(tally, program, folder):
    with open(f"{BUILD}/flags", encoding="utf-8") as file:
        gcc = file.read().split()
    for step in tree.steps():
        for backend in step.available(program):
            if backend == "cuda":
                continue
            name = f"{step.name} {backend}"
            binary = os.path.join(folder, name.replace(" ", "-"))
            made = subprocess.run(
                [*gcc, *INCLUDE, "tests/semblance_calls.c", *sources(step, backend),
                 *FRONT, "-lm", "-o", binary], cwd=ROOT, capture_output=True, text=True)
            if made.returncode:
                tally.check(name, made.stderr[-300:])
                continue
            for case in CASES:
                ended = run([binary, *program.cases[case]], ROOT)
                good = ended.returncode == 0 and "8 passed, 0 failed" in ended.stdout
                tally.check(f"{name}, {case}", None if good else
                            f"exit status {ended.returncode}: {ended.stdout}"
                            f"{ended.stderr[-300:]}")


def main():
    tally = Tally()
    program = next(p for p in tree.programs() if p.name == "semblance")
    with tempfile.TemporaryDirectory() as folder:
        calls(tally, program, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
