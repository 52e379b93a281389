"""same.py - whether two steps' back-ends are the same code, so that no time can tell them
apart.

What a back-end's own source compiles to is compared, with the flags that the binary was
made with: every section and relocation of the object, without debugging, and with each
step's source compiled in the same place, every line of it being line 0. Comments, the
names of variables and where a line stands make no difference, then; a constant does. Of
OpenCL the host's object is compared so, which holds the options of the kernel's build,
and the kernel as text without comments and white space; of CUDA the host's object and
the PTX. What all steps share (common/) is the same by itself. Left out: code that is the
same and looks different. Found once, it is kept in BUILD/same until the binary changes.
"""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.history import runs, tree
from tools.measure import variants, registers

SOURCES = {"seq": "cpu.c", "omp": "cpu.c", "openacc": "openacc.c", "ocl": "opencl.c",
           "cuda": "cuda.cu", "cuda-cpu": "cuda.cu"}
WORDS = {"seq": "", "omp": "-fopenmp", "openacc": "-fopenacc -frandom-seed=0",
         "ocl": "-Icommon/opencl", "cuda": "-Icommon/cuda",
         "cuda-cpu": "-fopenmp -Icommon/cuda -x c"}
COMMON = "-Icommon/run -Icommon/su -Icommon/portable".split()
ANYWHERE = ["-w", "-D__LINE__=0"]


def run(words, cwd=tree.ROOT):
    """What a command writes to stdout."""
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if ended.returncode:
        said = ended.stderr.strip().splitlines() or ["says nothing"]
        raise SystemExit(f"{words[0]}: cannot compare the code: {said[-1]}")
    return ended.stdout


def sections(path):
    """All that an object has, as text, without its own name and without what nvcc packs
    for the device, which PTX says in a readable way."""
    text = run(["objdump", "-s", "-r", path])
    parts = re.split(r"\n(?=Contents of section |RELOCATION RECORDS )", text)[1:]
    return "\n".join(p for p in parts if "fatbin" not in p.split("\n")[0].lower())


def linked(binary):
    """A word for what is loaded of a linked binary, which debugging is not."""
    parts = sections(binary).split("\nContents of section ")
    return hashlib.sha256("\n".join(p for p in parts if not p.startswith(
        (".debug", ".note.gnu.build-id"))).encode()).hexdigest()


def bare(path):
    """A source without comments, every run of white space one blank. Nothing is expanded:
    what a macro is may be said when the program runs."""
    text = run(["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c", path])
    return " ".join(text.split())


def kernel(folder, name, seen=None):
    """kernel.cl and what it includes of its own folder."""
    seen = seen if seen is not None else set()
    path = folder / name
    if name in seen or not path.exists():
        return []  # of common/, the same for all
    seen.add(name)
    found = [f"{name}: {bare(path)}"]
    for inner in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        found += kernel(folder, inner, seen)
    return found


def architecture():
    """The GPU's, in nvcc's words."""
    if not tree.has_gpu():
        return "sm_75"
    listed = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                            capture_output=True, text=True)
    return "sm_" + listed.stdout.split()[0].replace(".", "")


def compiled(sources, program, backend, flags, root=tree.ROOT):
    """The texts that say what code a back-end is, whose sources are in a folder and whose
    common/ is in root; flags are words, the compiler's name first."""
    include = [*COMMON, f"-Icommon/{program.name}", *WORDS[backend].split(), *ANYWHERE]
    again = program.mk.get("again", "").split()
    texts = []
    with tempfile.TemporaryDirectory(prefix="same-") as folder:
        # A compiler writes down where it found a source: all are found in the same place.
        shutil.copytree(sources, Path(folder) / "x")
        (Path(folder) / "common").symlink_to(root / "common")
        source, made = f"x/{SOURCES[backend]}", Path(folder) / "made"
        for words in [[], again] if again else [[]]:
            if backend == "cuda":
                nvcc = [registers.tool(os.environ.get("NVCC") or "nvcc"), "-O3",
                        f"-arch={architecture()}", *include, *words, source, "-o", made]
                run([*nvcc, "-ptx"], folder)
                texts.append(made.read_text())
                run([*nvcc, "-c"], folder)
            else:
                run([*flags, *include, *words, "-g0", "-c", source, "-o", made], folder)
            texts.append(sections(made))
    return texts + (kernel(sources, "kernel.cl") if backend == "ocl" else [])


def code(step, program, backend):
    """A word that says what code a back-end of a step, or of a variant, is."""
    root, build, name = tree.ROOT, tree.build(), step.name
    if isinstance(step, variants.Variant):  # it has a copy of the tree of its own
        root, build, name = step.folder, step.folder / "build", step.step.name
        if "+++ b/common/" in step.path.read_text():
            return step.name  # beyond what is compared here
    binary = step.binary(program, backend)
    mark = hashlib.sha256(binary.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    kept = tree.build() / "same" / program.name / mark
    if backend not in SOURCES:  # of several sources: as linked
        return linked(binary)
    if not kept.exists():
        flags = runs.flags(program, build)
        texts = compiled(root / "steps" / name / program.name, program, backend, flags,
                         root)
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(f".{os.getpid()}.{step.number}.{backend}")
        temporary.write_text(hashlib.sha256("\0".join(texts).encode()).hexdigest())
        temporary.replace(kept)
    return kept.read_text()


def codes(wanted):
    """{(step, program, back-end): its code}, found as many at a time as there are cores."""
    wanted = list(wanted)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(wanted, pool.map(lambda w: code(*w), wanted)))
