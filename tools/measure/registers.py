"""registers.py - make registers: what the compilers say of registers and spills.

Compiles every step's kernels for one GPU generation, on which they need not run, and
writes results/registers.csv from what NVIDIA's assembler reports of each:

  clang   kernel.cl by clang and libclc to PTX, with the options that opencl.c gives, for
          a window of 5 samples (the paper's) and one of 21
  nvcc    cuda.cu, which is compiled before the window is known

Stack is memory for private arrays that are indexed, spills are registers saved to memory
and fetched again: both lie in device memory. Shared is what is left of what the source
declares; what a launch asks for comes on top. Constant counts arguments too. Of several
kernels the largest numbers count. NVIDIA's own OpenCL compiler is another one than clang,
and may decide otherwise.

A tool that is missing is named, and the file stays as it is.
"""
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools.history import results, runs, tree

ARCH = "sm_75"
WINDOWS = (5, 21)  # for a program whose headers know the word
GROUP = 4 * 4 * 4  # work-items: opencl.c's choice on a GPU
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
COLUMNS = """program step compiler window registers stack_bytes spill_store_bytes
spill_load_bytes shared_bytes constant_bytes""".split()


def tool(*names):
    """The first of names that is here; CUDA's are looked for where it installs them."""
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/local/cuda/bin"
    found = [w for w in (shutil.which(name, path=path) for name in names) if w]
    return found[0] if found else None


def run(*command):
    """stdout and stderr of a command that must succeed."""
    done = subprocess.run([str(c) for c in command], cwd=tree.ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        raise SystemExit(f"registers: {' '.join(map(str, command))}:\n{done.stderr}")
    return done.stdout + done.stderr


def version(command):
    lines = run(command, "--version").strip().splitlines()
    said = [line for line in lines if "version" in line or "release" in line]
    return (said or lines)[0].strip()


def include(*folders):
    return [word for folder in folders for word in ("-I", folder)]


def report(text):
    """The largest numbers of ptxas -v."""
    def most(pattern):
        return max((int(n) for n in re.findall(pattern, text)), default=0)
    def constant(kind):
        return [sum(map(int, re.findall(r"(\d+) bytes cmem", line)))
                for line in text.splitlines() if kind in line]
    if not most(r"Used (\d+) registers"):
        raise SystemExit(f"registers: ptxas reports no kernel:\n{text}")
    return {"registers": most(r"Used (\d+) registers"),
            "stack_bytes": most(r"(\d+) bytes stack frame"),
            "spill_store_bytes": most(r"(\d+) bytes spill stores"),
            "spill_load_bytes": most(r"(\d+) bytes spill loads"),
            "shared_bytes": most(r"(\d+) bytes smem"),
            "constant_bytes": sum(constant("gmem")) + max(constant("Used"))}


def options(folder, program):
    """What opencl.c passes to the OpenCL compiler: -cl-..., and those of the program's
    words for a GPU that it knows."""
    text = (folder / "opencl.c").read_text()
    known = set(re.findall(r"-D (\w+)=", text))
    return sorted(set(re.findall(r"-cl-[a-z0-9-]+", text))) + [
        f"-D{word}" for word in program.gpu if word.split("=")[0] in known]


def windows(program):
    headers = (tree.ROOT / "common" / program.name).glob("*.h")
    return WINDOWS if any("ifdef WINDOW" in h.read_text() for h in headers) else ("-",)


def opencl(folder, program, window, tools, scratch):
    ptx = Path(scratch) / f"{folder.parent.name}-{program.name}-{window}.ptx"
    run(tools["clang"], "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
        "-target", "nvptx64--nvidiacl", "-D", f"WINDOW={window}", "-D", f"SLICES={GROUP}",
        *options(folder, program),
        *include(folder, "common/portable", f"common/{program.name}"),
        "-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBCLC,
        "-O3", "-S", "-o", ptx, folder / "kernel.cl")
    return report(run(tools["ptxas"], "-v", f"-arch={ARCH}", ptx, "-o", os.devnull))


def cuda(folder, program, tools):
    return report(run(tools["nvcc"], "-O3", f"-arch={ARCH}", "-Xptxas", "-v", "-cubin",
                      "-o", os.devnull,
                      *include("common/run", "common/su", "common/portable",
                               "common/cuda", "common/hybrid", f"common/{program.name}"),
                      folder / "cuda.cu"))


def jobs():
    """What is compiled: functions of the tools and a folder for what they leave, each of
    which gives a row."""
    def job(step, program, compiler, window, make):
        def row(tools, scratch):
            runs.progress(f"{step.name} {program.name} {compiler}, window {window}")
            try:
                return {"program": program.name, "step": step.name,
                        "compiler": compiler, "window": window, **make(tools, scratch)}
            except SystemExit as refused:  # some words only the host knows, at run time
                first = next((l for l in str(refused).splitlines() if "error" in l), "")
                print(f"left out: {step.name} {program.name} {compiler}: {first}")
                return None
        return row

    for program in tree.programs():
        for step in tree.steps():
            folder = step.folder / program.name
            for window in windows(program) if (folder / "kernel.cl").exists() else ():
                yield job(step, program, "clang", window,
                          partial(opencl, folder, program, window))
            if (folder / "cuda.cu").exists():
                yield job(step, program, "nvcc", "any",
                          lambda tools, _, f=folder, p=program: cuda(f, p, tools))


def main():
    tools = {"clang": tool("clang-14", "clang"), "ptxas": tool("ptxas"),
             "nvcc": tool("nvcc"), "libclc": LIBCLC.exists()}
    missing = [name for name, there in tools.items() if not there]
    if missing:
        print(f"registers: {' '.join(missing)} not found: results/registers.csv is left "
              "as it is")
        return
    with tempfile.TemporaryDirectory() as scratch, \
            ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(filter(None, pool.map(lambda job: job(tools, scratch), jobs())))
    runs.progress("")
    rows.sort(key=lambda r: (r["program"], r["compiler"], str(r["window"]).zfill(3),
                             r["step"]))
    path = results.FOLDER / "registers.csv"
    results.write(path, COLUMNS, rows,
              f"# ptxas -v for {ARCH}, by tools/measure/registers.py\n"
              f"# clang: {version(tools['clang'])}\n# nvcc: {version(tools['nvcc'])}\n")
    print(f"written to {path.relative_to(tree.ROOT)}: {len(rows)} kernels")


if __name__ == "__main__":
    main()
