"""registers.py - make registers: registers and spills of the kernels, as compilers report them.

Compiles the kernels of every step and rung for one GPU generation, without running them, and
writes results/registers.csv from the report of NVIDIA's assembler, a row per kernel:

  clang   kernel.cl by clang and libclc to PTX, with the options that opencl.c gives, for
          a window of 5 samples (the paper's) and one of 21
  nvcc    cuda.cu, which is compiled before the window is known

Stack is memory for private arrays that are indexed; spills are registers that are saved to
memory and fetched again: both are in device memory. Shared is the static part of shared
memory; a launch may add to it. Constant includes arguments. CUDA instantiates a kernel of
semblance for each short window: search_kernel<5>; search_kernel<0> is for all others. NVIDIA's
OpenCL compiler is not clang and may decide otherwise.

If a tool is missing, its name is printed and the file is not changed. With STEP= or PROGRAM=,
for example STEP=05.3 for a rung, only the rows of these are printed and replaced.
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

from tools.base import options, results, runs, tree
from tools.base.results import Row
from tools.base.runs import Argument
from tools.base.tree import Program, Step
from tools.history import rungs

INCLUDES = [f"-Icommon/{name}" for name in
            ("run", "su", "portable", "opencl", "cuda", "hybrid", "mpi")]
ARCH = "sm_75"
WINDOWS = (5, 21)  # of a program whose headers depend on WINDOW
GROUP = 4 * 4 * 4  # work-items: opencl.c's choice on a GPU
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
NUMBERS = """registers stack_bytes spill_store_bytes spill_load_bytes shared_bytes
constant_bytes""".split()
COLUMNS = ["program", "step", "compiler", "version", "arch", "window", "kernel", *NUMBERS]
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


def plain(names: Sequence[str]) -> list[str]:
    """The names of kernels without types: search_kernel<5>."""
    found = run("c++filt", *names).splitlines()
    return [m[1] if (m := re.search(r"(\w+(?:<.*?>)?)\(", name)) else name for name in found]


def report(text: str) -> list[Row]:
    """The numbers of ptxas -v for each kernel. Functions that a kernel calls count as a part of
    it."""
    def largest(pattern: str, part: str) -> int:
        return max((int(n) for n in re.findall(pattern, part)), default=0)

    def constant(kind: str, part: str) -> list[int]:
        return [sum(map(int, re.findall(r"(\d+) bytes cmem", line)))
                for line in part.splitlines() if kind in line]

    _, *found = re.split(r"Compiling entry function '(.+?)'", text)
    names, parts = found[::2], found[1::2]
    if not names or not all(largest(r"Used (\d+) registers", part) for part in parts):
        raise CompileError(f"error: ptxas reports no kernel: {text}")
    return [{"kernel": name,
             "registers": largest(r"Used (\d+) registers", part),
             "stack_bytes": largest(r"(\d+) bytes stack frame", part),
             "spill_store_bytes": largest(r"(\d+) bytes spill stores", part),
             "spill_load_bytes": largest(r"(\d+) bytes spill loads", part),
             "shared_bytes": largest(r"(\d+) bytes smem", part),
             "constant_bytes": sum(constant("gmem", text)) + max(constant("Used", part))}
            for name, mangled, part in zip(plain(names), names, parts)
            if "3cub" not in mangled]  # a namespace: NVIDIA's library


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


def compile_with_clang(folder: Path, program: Program, window: int | str, tools: Tools,
                       scratch: Path) -> list[Row]:
    ptx = scratch / f"{folder.parent.name}-{program.name}-{window}.ptx"
    run(tools["clang"], "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
        "-target", "nvptx64--nvidiacl", "-D", f"WINDOW={window}", "-D", f"SLICES={GROUP}",
        *build_options(folder, program),
        f"-I{folder}", "-Icommon/portable", f"-Icommon/{program.name}",
        "-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBCLC,
        "-O3", "-S", "-o", ptx, folder / "kernel.cl")
    return report(run(tools["ptxas"], "-v", f"-arch={ARCH}", ptx, "-o", os.devnull))


def compile_with_nvcc(folder: Path, program: Program, tools: Tools, _: Path) -> list[Row]:
    return report(run(tools["nvcc"], "-O3", f"-arch={ARCH}", "-Xptxas", "-v", "-cubin",
                      "-o", os.devnull, *INCLUDES, f"-Icommon/{program.name}",
                      folder / "cuda.cu"))


def rows_of(step: Step, program: Program, compiler: str, window: int | str,
            compile_it: Callable[[Tools, Path], list[Row]], tools: Tools, scratch: Path
            ) -> list[Row]:
    """The rows of a file; none if it does not compile: some macros are defined only when the
    program runs."""
    runs.progress(f"{step.name} {program.name} {compiler}, window {window}")
    about = {"program": program.name, "step": step.name, "compiler": compiler,
             "version": tools[f"{compiler} version"], "arch": ARCH, "window": window}
    try:
        return [{**about, **row} for row in compile_it(tools, scratch)]
    except CompileError as error:
        first = next((line for line in str(error).splitlines() if "error" in line), "")
        print(f"left out: {step.name} {program.name} {compiler}: {first}")
        return []


def jobs() -> Iterator[Callable[[Tools, Path], list[Row]]]:
    """What is compiled: functions of the tools and a scratch folder that return rows."""
    for program in tree.selected(tree.programs(), "PROGRAM"):
        for step in rungs.selected_steps():
            folder = step.folder / program.name
            for window in windows(program) if (folder / "kernel.cl").exists() else ():
                yield partial(rows_of, step, program, "clang", window,
                              partial(compile_with_clang, folder, program, window))
            if (folder / "cuda.cu").exists():
                yield partial(rows_of, step, program, "nvcc", "any",
                              partial(compile_with_nvcc, folder, program))


def order(row: Row) -> tuple[str, ...]:
    """Rows of a program and compiler by window, step and kernel; numbers by their size."""
    def with_zeros(text: str) -> str:
        return re.sub(r"\d+", lambda m: m[0].zfill(4), text)
    return (row["program"], row["compiler"], with_zeros(str(row["window"])), row["step"],
            with_zeros(row["kernel"]))


def main() -> None:
    chosen = options.parse(options.parser(__doc__, "STEP", "PROGRAM", "RUNGS"))
    found = {"clang": tool("clang-14", "clang"), "ptxas": tool("ptxas"), "nvcc": tool("nvcc"),
             "libclc": str(LIBCLC) if LIBCLC.exists() else None, "c++filt": tool("c++filt")}
    missing = [name for name, path in found.items() if not path]
    if missing:
        print(f"registers: {' '.join(missing)} not found: results/registers.csv is not changed")
        return
    tools = {name: path for name, path in found.items() if path}
    tools["nvcc version"] = version(tools["nvcc"])
    tools["clang version"] = f"{version(tools['clang'])}; ptxas: {version(tools['ptxas'])}"
    everything = not chosen.step and not chosen.program
    if everything:
        os.environ["RUNGS"] = "1"
    with tempfile.TemporaryDirectory() as scratch, \
            ThreadPoolExecutor(runs.processors()) as pool:
        made = pool.map(lambda job: job(tools, Path(scratch)), jobs())
        rows = sorted((row for of_file in made for row in of_file), key=order)
    runs.progress("")
    path = results.FOLDER / "registers.csv"
    if everything:
        results.write(path, COLUMNS, rows)
    else:
        shown = [c for c in COLUMNS if c not in ("version", "arch")]
        print(runs.table([shown, *([str(r[c]) for c in shown] for r in rows)]))
        results.replace(path, COLUMNS, rows, lambda r: (r["program"], r["step"]), order)
    print(f"written to {path}: {len(rows)} kernels")


if __name__ == "__main__":
    main()
