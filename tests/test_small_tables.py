"""test_small_tables.py: tables that only long runs fill. Copies of the programs with tables of
one to three entries pass the checks of small cases. Those of semblance also fill traces of a
survey whose samples do not begin at time 0.
"""
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import BUILD, program_named, run
from tests.sections import QUERY, rewritten
from tools.base import copies, tree
from tools.verify import execute

# program, file, table, its new size, back-ends, cases or arguments
TABLES = [
    ("fluid", "common/fluid/profile_ocl.h", "MAX_PENDING", 2, ["10 ocl"], ["short"]),
    ("fluid", "steps/10_algorithm/fluid/host.h", "MAX_PLANES", 2,
     ["10 omp", "10 ocl", "10 cuda-cpu"], ["calm", "wide"]),
    ("fluid", "common/cuda/cuda_cpu.c", "QUEUE_MAX", 2, ["10 cuda-cpu"], ["short"]),
    ("sandpile", "steps/04_inline/sandpile/host.h", "POLL_STEPS", 3,
     ["04 omp", "04 ocl", "04 cuda-cpu"], ["odd", "batch", "power"]),
    ("sandpile", "steps/08_vector/sandpile/host.h", "POLL_STEPS", 3,
     ["08 omp", "08 ocl", "08 cuda-cpu"], ["odd", "batch", "power"]),
    ("sandpile", "steps/10_algorithm/sandpile/host.h", "POLL_STEPS", 3,
     ["10 omp", "10 ocl", "10 cuda-cpu"], ["odd", "batch", "power", "lanes"]),
    ("sandpile", "common/sandpile/main.c", "TRACE_CAPACITY", 3, ["01 omp", "09 omp"], ["odd"]),
    ("gridding", "common/gridding/stack.c", "MAX_SIDE", 64, ["10 omp", "10 ocl"],
     ["short", "reach"]),
    # The second chunk begins in a row of units, and is larger than a row.
    ("gridding", "steps/11_hybrid/gridding/body.h", "BLOCKS", 1, ["11 hybrid"],
     ["uv=random visibilities=50 grid=200 support=3 oversampling=4 planes=3 cell=60"]),
    ("semblance", "steps/12_cluster/semblance/mpi.c", "BATCH_BYTES", 1, ["12 mpi"], ["small"]),
    ("semblance", "steps/08_vector/semblance/host.h", "CHUNK_PARTS", 4, ["08 cuda-cpu"],
     ["small"]),
    ("semblance", "steps/10_algorithm/semblance/host.h", "CHUNK_PARTS", 4,
     ["10 omp", "10 cuda-cpu"], ["small"]),
    ("semblance", "steps/10_algorithm/semblance/nodes.h", "MAX_DIRECT", 3,
     ["10 omp", "10 cuda-cpu"], ["bounds", "wide", "lanes"]),
    ("semblance", "steps/09_blocking/semblance/moveout_opencl.h", "ROW_FLOATS", 1, ["09 ocl"], []),
    ("semblance", "steps/10_algorithm/semblance/moveout_cuda.h", "ROW_FLOATS", 1,
     ["10 cuda-cpu"], []),
]
PLACES = ["m0=4080,40,2", "h0=-480,30,2", "t0=0.508,0.004,12", "check=0"]
TIMEOUT = 120  # seconds: a batch of 0 entries would never end


def made(copy, program, wanted):
    """[(step, back-end, binary)] of a copy, of those that can be built here."""
    found = []
    for number, backend in (words.split() for words in wanted):
        step = next(s for s in tree.steps() if s.number == number)
        if backend in step.available(program):
            found.append((step, backend, copy.binary(program, step, backend)))
    problem = copy.make(*(binary for _, _, binary in found)) if found else None
    assert not problem, problem
    return found


def queries(program, name, cases, folder):
    """[(name, arguments, outputs)] that use a table."""
    found: list[Any] = [(case, program.cases[case], None) if case in program.cases else
                        ("arguments", case.split(), None) for case in cases]
    if program.name == "semblance":
        survey = folder / "late.su"
        rewritten(survey, lambda header, _: header.update(delrt=8))
        windows = ["moveout"] if "moveout" in name else ["parallel", "moveout"]
        if "/08_" in name:
            windows = ["parallel"]
        found += [(window, [f"in={survey}", *PLACES, *QUERY, f"window={window}"], tree.OF_JOB)
                  for window in windows]
    return found


@pytest.mark.seconds(60)
@pytest.mark.parametrize("program", sorted({row[0] for row in TABLES}))
def test_small_tables(check, program, tmp_path):
    copy = copies.Copy(Path(BUILD, "tests", f"small_{program}").absolute(), built=True)
    of_program = program_named(program)
    for _, name, table, size, wanted, cases in (row for row in TABLES if row[0] == program):
        path = copy.folder / name
        text, count = re.subn(rf"\b({table} =) [^,;}}]+?( *[,}};])|(#define {table}) .*",
                              rf"\1\3 {size}\2", path.read_text())
        check(f"{name}: {table}", count != 1 and f"{count} definitions")
        path.write_text(text)
        for step, backend, binary in made(copy, of_program, wanted):
            for case, words, outputs in queries(of_program, name, cases, tmp_path):
                outcome = execute.run_and_check(
                    step, of_program, backend, words,
                    tmp_path / f"{table}-{step.name}-{backend}-{case}", case, timeout=TIMEOUT,
                    binary=binary, outputs=outputs)
                check(f"{table} = {size}: {step.name} {backend} {case}",
                      not outcome["ok"] and outcome["reason"])
            if table == "TRACE_CAPACITY":
                ended = run([os.path.abspath(binary), "dim=64", "max_iterations=40", "tilew=5",
                             "tileh=5", "trace=t.csv"], tmp_path)
                rows = (tmp_path / "t.csv").read_text().count("\n") - 1
                told = re.search(r"only the first 3 of (\d+) tiles", ended.stderr)
                check(f"trace of {step.name} {backend}", (
                    ended.returncode or rows != 3 or not told or int(told[1]) <= 3)
                    and f"{rows} rows: {ended.stderr}")
        copy.restore([name])
