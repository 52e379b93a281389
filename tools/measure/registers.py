"""registers.py - make registers: registers and spills of the kernels, as compilers report them.

Compiles the kernels of every step for one GPU generation, without running them, and writes
results/registers.csv from the report of NVIDIA's assembler:

  clang   kernel.cl by clang and libclc to PTX, with the options that opencl.c gives, for
          a window of 5 samples (the paper's) and one of 21
  nvcc    cuda.cu, which is compiled before the window is known

Stack is memory for private arrays that are indexed; spills are registers that are saved to
memory and fetched again: both are in device memory. Shared is the static part of shared
memory; a launch may add to it. Constant includes arguments. If a file has several kernels,
the largest numbers count. NVIDIA's OpenCL compiler is not clang and may decide otherwise.

If a tool is missing, its name is printed and the file is not changed. With STEP= or PROGRAM=,
for example STEP=05.3 for a rung, the rows are printed instead.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.history import options, results, runs, tree
from tools.history.results import Row
from tools.history.runs import Argument
from tools.history.same_code import INCLUDES
from tools.history.tree import Program, Step

ARCH = "sm_75"
WINDOWS = (5, 21)  # of a program whose headers depend on WINDOW
GROUP = 4 * 4 * 4  # work-items: opencl.c's choice on a GPU
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
COLUMNS = """program step compiler window registers stack_bytes spill_store_bytes
spill_load_bytes shared_bytes constant_bytes""".split()
Tools = dict[str, str]


class CompileError(Exception):
    """A command fails."""


def tool(*names: str) -> str | None:
    """The path of the first of some programs that is installed; CUDA's are also looked for
    in the folder where its installer puts them."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/local/cuda/bin"
    return next(filter(None, (shutil.which(name, path=path) for name in names)), None)


def run(*command: Argument) -> str:
    """stdout and stderr of a command that must succeed."""
    done = subprocess.run([str(c) for c in command], cwd=tree.ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        raise CompileError(done.stderr)
    return done.stdout + done.stderr


def version(command: str) -> str:
    lines = run(command, "--version").strip().splitlines()
    return next((line for line in lines if "version" in line or "release" in line),
                lines[0]).strip()


def report(text: str) -> Row:
    """The largest numbers of ptxas -v."""
    def largest(pattern: str) -> int:
        return max((int(n) for n in re.findall(pattern, text)), default=0)

    def constant(kind: str) -> list[int]:
        return [sum(map(int, re.findall(r"(\d+) bytes cmem", line)))
                for line in text.splitlines() if kind in line]

    if not largest(r"Used (\d+) registers"):
        raise CompileError(f"error: ptxas reports no kernel: {text}")
    return {"registers": largest(r"Used (\d+) registers"),
            "stack_bytes": largest(r"(\d+) bytes stack frame"),
            "spill_store_bytes": largest(r"(\d+) bytes spill stores"),
            "spill_load_bytes": largest(r"(\d+) bytes spill loads"),
            "shared_bytes": largest(r"(\d+) bytes smem"),
            "constant_bytes": sum(constant("gmem")) + max(constant("Used"))}


def build_options(folder: Path, program: Program) -> list[str]:
    """What opencl.c passes to the OpenCL compiler: -cl-.., and those macros of `gpu` of
    program.mk that it defines."""
    text = (folder / "opencl.c").read_text()
    known = set(re.findall(r"-D (\w+)=", text))
    return sorted(set(re.findall(r"-cl-[a-z0-9-]+", text))) + [
        f"-D{word}" for word in program.gpu if word.split("=")[0] in known]


def windows(program: Program) -> Sequence[int | str]:
    headers = (tree.ROOT / "common" / program.name).glob("*.h")
    if any("ifdef WINDOW" in h.read_text() for h in headers):
        return WINDOWS
    return ("-",)


def by_clang(folder: Path, program: Program, window: int | str, tools: Tools, scratch: Path
             ) -> Row:
    ptx = scratch / f"{folder.parent.name}-{program.name}-{window}.ptx"
    run(tools["clang"], "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
        "-target", "nvptx64--nvidiacl", "-D", f"WINDOW={window}", "-D", f"SLICES={GROUP}",
        *build_options(folder, program),
        f"-I{folder}", "-Icommon/portable", f"-Icommon/{program.name}",
        "-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBCLC,
        "-O3", "-S", "-o", ptx, folder / "kernel.cl")
    return report(run(tools["ptxas"], "-v", f"-arch={ARCH}", ptx, "-o", os.devnull))


def by_nvcc(folder: Path, program: Program, tools: Tools, _: Path) -> Row:
    return report(run(tools["nvcc"], "-O3", f"-arch={ARCH}", "-Xptxas", "-v", "-cubin",
                      "-o", os.devnull, *INCLUDES, f"-Icommon/{program.name}",
                      folder / "cuda.cu"))


def row(step: Step, program: Program, compiler: str, window: int | str,
        compile_it: Callable[[Tools, Path], Row], tools: Tools, scratch: Path) -> Row | None:
    runs.progress(f"{step.name} {program.name} {compiler}, window {window}")
    try:
        return {"program": program.name, "step": step.name, "compiler": compiler,
                "window": window, **compile_it(tools, scratch)}
    except CompileError as error:  # some macros are defined only when the program runs
        first = next((line for line in str(error).splitlines() if "error" in line), "")
        print(f"left out: {step.name} {program.name} {compiler}: {first}")
        return None


def jobs() -> Iterator[Callable[[Tools, Path], Row | None]]:
    """What is compiled: functions of the tools and a scratch folder that return a row."""
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for step in tree.selected(tree.steps(), "STEP"):
            folder = step.folder / program.name
            for window in windows(program) if (folder / "kernel.cl").exists() else ():
                yield partial(row, step, program, "clang", window,
                              partial(by_clang, folder, program, window))
            if (folder / "cuda.cu").exists():
                yield partial(row, step, program, "nvcc", "any",
                              partial(by_nvcc, folder, program))


def main() -> None:
    chosen = options.parse(options.parser(__doc__, "STEP", "PROGRAM", "RUNGS"))
    found = {"clang": tool("clang-14", "clang"), "ptxas": tool("ptxas"), "nvcc": tool("nvcc"),
             "libclc": str(LIBCLC) if LIBCLC.exists() else None}
    missing = [name for name, path in found.items() if not path]
    if missing:
        print(f"registers: {' '.join(missing)} not found: results/registers.csv is not changed")
        return
    tools = {name: path for name, path in found.items() if path}
    with tempfile.TemporaryDirectory() as scratch, \
            ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda job: job(tools, Path(scratch)), jobs())
        rows = [r for r in made if r]
    runs.progress("")
    rows.sort(key=lambda r: (r["program"], r["compiler"], str(r["window"]).zfill(3),
                             r["step"]))
    if chosen.step or chosen.program or chosen.rungs:
        print(runs.table([COLUMNS, *([str(r[c]) for c in COLUMNS] for r in rows)]))
        return
    path = results.FOLDER / "registers.csv"
    results.write(path, COLUMNS, rows,
                  f"# ptxas -v for {ARCH}, by tools/measure/registers.py\n"
                  f"# clang: {version(tools['clang'])}\n# nvcc: {version(tools['nvcc'])}\n")
    print(f"written to {path.relative_to(tree.ROOT)}: {len(rows)} kernels")


if __name__ == "__main__":
    main()
