"""test_cuda_cpu.py: CUDA on the CPU (common/cuda) enforces the rules of CUDA.

cuda_rules.c has a small program for each rule; here is what each must print, or the error
with which it must end.
"""
import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

from tests.helpers import ROOT, TIMEOUT
from tools.verify import sanitize

SOURCES = ["common/cuda/cuda_cpu.c", "common/cuda/cuda_device.cu", "common/run/run.c",
           "common/run/args.c"]
GCC = ["gcc", "-O1", "-fopenmp"]
# The fewest and the most instructions for which gcc defines macros.
ARCHITECTURES = {"x86_64": ("x86-64", "x86-64-v4"), "aarch64": ("armv8-a", "armv8.4-a+sve")}
CONFIGURATION, VALUE, ILLEGAL, SUCCESS = (
    f"cuda{name}" for name in ("ErrorInvalidConfiguration", "ErrorInvalidValue",
                               "ErrorIllegalAddress", "Success"))
# The output of each rule, a regular expression; three are for the seeds 1, 2 and 3.
PRINTS = {
    **dict.fromkeys(("grid_largest", "block_largest"), f"5 {SUCCESS}"),
    **dict.fromkeys(("grid_x", "grid_y", "grid_z", "grid_empty", "block_empty", "block_x",
                     "block_z", "block_threads"), CONFIGURATION),
    **dict.fromkeys(("shared_size", "copy_size", "copy_direction", "copy_host", "set_size",
                     "symbol_size", "free_twice", "free_host"), VALUE),
    "copy_pitch": "cudaErrorInvalidPitchValue",
    "symbol_other": "cudaErrorInvalidSymbol",
    "symbol": f"6 -1 {SUCCESS}",
    "register_twice": "cudaErrorHostMemoryAlreadyRegistered",
    "unregister": "cudaErrorHostMemoryNotRegistered",
    "memory": "cudaErrorMemoryAllocation",
    "event": "cudaErrorInvalidResourceHandle",
    "pointer_pageable": f"load_pair: argument 2 points to memory of the host.*{ILLEGAL}",
    **dict.fromkeys(("pointer_locked", "pointer_registered"), f"4 {SUCCESS}"),
    **dict.fromkeys(("host_reads", "host_writes"),
                    f"{ILLEGAL}: host code accesses byte 4 of 256 of device memory"),
    "kernel_after": rf"{ILLEGAL}: block \(0, 0, 0\), .* byte 256 of 256 of device memory",
    "kernel_before": "a kernel wrote 4 bytes before 256 bytes of memory",
    "shared_after": f"{ILLEGAL}: .* accesses byte 256 of 256 of shared memory",
    **dict.fromkeys(("shared_last", "shared_unwritten", "neighbour_barrier"), f"1 {SUCCESS}"),
    "neighbour": f"0 {SUCCESS}",
    "some_leave": r"block \(0, 0, 0\): __syncthreads\(\) in .* reached by 63 of 64 threads",
    "two_barriers": r"__syncthreads\(\) in .* reached by (5|59) of 64 threads",
    "one_barrier": SUCCESS,
    "not_released": "CUDA: not released: 2 blocks of memory, 1 events",
    "grid_barrier": f"1 {SUCCESS}",
    "no_grid_barrier": f"0 {SUCCESS}",
    "some_blocks": r"CUDA_GRID_SYNC\(\) in .* reached by 4 of 9 blocks",
    "two_grid_barriers": r"CUDA_GRID_SYNC\(\) in .* reached by [45] of 9 blocks",
    "part_of_block": r"CUDA_GRID_SYNC\(\) in .* reached by 59 of 64 threads",
    "grid_barrier_alone": "expected CUDA_LAUNCH_TOGETHER",
    "together_largest": SUCCESS,
    "together_blocks": "cudaErrorCooperativeLaunchTooLarge",
    # Seed 1 executes commands as late as possible, seed 3 at once.
    "change_locked": (f"2 {SUCCESS}", f"[12] {SUCCESS}", f"1 {SUCCESS}"),
    "change_pageable": f"1 {SUCCESS}",
    "read_locked": (f"3 {SUCCESS}", f"[37] {SUCCESS}", f"7 {SUCCESS}"),
    **dict.fromkeys(("read_locked_waits", "read_locked_polls", "read_pageable"),
                    f"7 {SUCCESS}"),
}


def build(folder: Path, name: str, *compiler: str) -> Path:
    program = folder / name
    subprocess.run([*compiler, "-std=c11", "-g", "-Wall", "-Wextra", "-Werror",
                    "-Icommon/run", "-Icommon/cuda", "-x", "c", f"tests/{name.split('-')[0]}.c",
                    *SOURCES, "-lm", "-o", str(program)], cwd=ROOT, check=True)
    return program


def printed(program: Path, seed: int, *words: str, **environment: str) -> str:
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, "CUDA_CPU_SEED": str(seed), **environment})
    return done.stderr + done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cuda")


@pytest.mark.seconds(5)
def test_rules(check, folder: Path) -> None:
    program = build(folder, "cuda_rules", *GCC)
    for rule, expected in PRINTS.items():
        for seed in (1, 2, 3):
            pattern = expected if isinstance(expected, str) else expected[seed - 1]
            text = printed(program, seed, rule)
            check(f"{rule}, seed {seed}", not re.search(pattern, text, re.S) and text)


@pytest.mark.seconds(4)
def test_barrier_or(check, folder: Path) -> None:
    """Also with the functions of ucontext.h instead of an own switch of stacks."""
    for name, flags in (("cuda_any", ()), ("cuda_any-ucontext", ("-DCOROUTINE_UCONTEXT",))):
        program = build(folder, name, *GCC, *flags)
        for seed in range(1, 4):
            check(f"{name}, seed {seed}", printed(program, seed))


@pytest.mark.seconds(10)
def test_races(check, folder: Path) -> None:
    """ThreadSanitizer reports races between the threads of a block and between blocks."""
    program = build(folder, "cuda_rules-tsan", sanitize.clang(), "-O1", "-fblocks",
                    "-fsanitize=thread")
    for rule, race in (("neighbour", True), ("neighbour_barrier", False),
                       ("race_threads", True), ("race_blocks", True), ("symbol", False),
                       ("grid_barrier", False), ("no_grid_barrier", True)):
        found = "data race" in printed(program, 1, rule, CUDA_CPU_BLOCKS="3")
        check(rule, found != race and f"a race is {'' if found else 'not '}reported")


@pytest.mark.seconds(4)
def test_same_code(check) -> None:
    """cuda-cpu has the constants of nvcc's build, which is compiled without -march: those of
    cuda.cu and its headers do not depend on the instructions of the processor."""
    steps = Path(ROOT, "steps")
    for path in sorted(steps.glob("*/*/cuda.cu")):
        folders = ("run", "su", "portable", "cuda", "hybrid", path.parent.name)
        texts = {subprocess.run(
            ["gcc", "-std=c11", "-E", "-P", f"-march={march}", "-x", "c", path,
             *(f"-Icommon/{folder}" for folder in folders)],
            cwd=ROOT, capture_output=True, text=True, check=True).stdout
            for march in ARCHITECTURES[platform.machine()]}
        check(path.relative_to(steps), len(texts) != 1 and "its code depends on -march")
    for path in sorted(steps.glob("*/*/*.[ch]*")):
        check(path.relative_to(steps),
              "__CUDACC__" in path.read_text() and "is not the same with nvcc")
