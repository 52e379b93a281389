"""export.py - make export: one step of one program as a folder that stands alone.

    STEP=05 PROGRAM=semblance   gives BUILD/export/semblance-05_algebra.tar.gz

In it: the step's sources, what they and the tools include of common/ and no more, the
generator of the data, the checker, a Makefile and check.sh of its own. Paths are those
of this tree, so that comments and error messages say the same. The same tree gives the
same bytes. Left out: the lesson, and timing.
"""
import gzip
import io
import os
import re
import tarfile
from tools.history import diff, tree
from tools.teach import exercise


INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
RUN = ["common/run/run.c", "common/run/args.c", "common/run/npy.c"]
OPENCL = ["common/opencl/ocl.c", "common/opencl/embed.awk"]
CUDA = ["common/cuda/cuda_device.cu"]
# What a back-end is made of besides the front end: its file of the step, then others.
MADE_OF = {
    "seq": ["cpu.c"],
    "omp": ["cpu.c"],
    "ocl": ["opencl.c", "kernel.cl", *OPENCL],
    "cuda": ["cuda.cu", *CUDA],
    "cuda-cpu": ["cuda.cu", *CUDA, "common/cuda/cuda_cpu.c"],
}

MAKEFILE = """\
# {program} as step {step} has it, by itself. `make` builds every back-end that can be
# built here, `make check` verifies them, `make clean` removes what they made. config.mk
# holds what you may set.

include config.mk
CFLAGS   += {cflags}
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

step     := steps/{step}/{program}
backends := {backends}
recipes  := {recipes}
front    := {front}
dirs     := {dirs}
libs     := {libs}

can_build := seq omp cuda-cpu $(if $(has_opencl),ocl) $(if $(has_cuda),cuda)
built     := $(patsubst %,$(BUILD)/{program}-%,$(filter $(can_build),$(backends)))
can_run   := $(filter-out $(if $(has_gpu),,%-cuda),$(built))
objects   := $(patsubst %.c,$(BUILD)/%.o,$(front))
not_main  := $(filter-out %/main.o,$(objects))
headers   := $(wildcard $(step)/*.h common/*/*.h verify/*.h)
data      := $(patsubst %,$(BUILD)/data/%.{suffix},$(recipes))

all: $(built) $(data)
\t@$(if $(filter ocl,$(backends)),$(if $(has_opencl),:,echo "$(without_opencl)"),:)
\t@$(if $(filter cuda,$(backends)),$(if $(has_cuda),:,echo "$(without_cuda)"),:)

check: all $(BUILD)/{program}-check
\t@sh check.sh $(BUILD) $(can_run)

clean:
\trm -rf $(BUILD)

.PHONY: all check clean

$(BUILD)/%.o: %.c $(headers)
\t@mkdir -p $(@D)
\t$(CC) $(CFLAGS) $(dirs) -c $< -o $@

$(BUILD)/{program}-check: verify/check_{program}.c verify/compare.c $(not_main)
\t$(CC) $(CFLAGS) -fopenmp $(dirs) -Iverify $^ $(libs) -o $@

$(BUILD)/{program}-data: data/{program}.c $(not_main)
\t$(CC) $(CFLAGS) $(dirs) $^ $(libs) -o $@

$(BUILD)/data/%.{suffix}: $(BUILD)/{program}-data
\t@mkdir -p $(@D)
\t@$< recipe=$* out=$@ > $@.truth.tmp && mv $@.truth.tmp $@.truth
"""

RULES = {
    "seq": """
$(BUILD)/{program}-seq: $(step)/cpu.c $(objects) $(headers)
\t$(CC) $(CFLAGS) -Wno-unknown-pragmas $(dirs) $(filter %.c %.o,$^) $(libs) -o $@
""",
    "omp": """
$(BUILD)/{program}-omp: $(step)/cpu.c $(objects) $(headers)
\t$(CC) $(CFLAGS) -fopenmp $(dirs) $(filter %.c %.o,$^) $(libs) -o $@
""",
    "ocl": """
# The kernel and what it includes become a C array: no file is needed at run time.
$(BUILD)/kernel.c: $(step)/kernel.cl $(headers) common/opencl/embed.awk
\t@mkdir -p $(@D)
\tawk -v path="$(step) common/portable common/{program}" -f common/opencl/embed.awk \\
\t    $< > $@

$(BUILD)/{program}-ocl: $(step)/opencl.c $(BUILD)/kernel.c \\
        $(BUILD)/common/opencl/ocl.o $(objects) $(headers)
\t$(CC) $(CFLAGS) $(dirs) $(filter %.c %.o,$^) $(libs) -lOpenCL -o $@
""",
    "cuda": """
$(BUILD)/cuda_device.o: common/cuda/cuda_device.cu $(headers)
\t@mkdir -p $(@D)
\t$(NVCC) $(NVFLAGS) $(dirs) -c $< -o $@

$(BUILD)/{program}-cuda: $(step)/cuda.cu $(BUILD)/cuda_device.o $(objects) $(headers)
\t$(NVCC) $(NVFLAGS) $(dirs) $(filter %.cu %.o,$^) $(libs) -o $@
""",
    "cuda-cpu": """
# The same CUDA code, compiled as C: common/cuda/cuda_cpu.h says how.
$(BUILD)/{program}-cuda-cpu: $(step)/cuda.cu common/cuda/cuda_device.cu \\
        common/cuda/cuda_cpu.c $(objects) $(headers)
\t$(CC) $(CFLAGS) -fopenmp $(dirs) -x c $(filter %.cu %.c,$^) -x none $(filter %.o,$^) \\
\t    $(libs) -o $@
""",
}

# What a program has as `again`: its source compiled once more, with other definitions.
AGAIN = """
$(BUILD)/{program}-{backend}: $(BUILD)/{program}-{backend}.again.o
$(BUILD)/{program}-{backend}.again.o: $(step)/{source} $(headers)
\t@mkdir -p $(@D)
\t{compiler} $(dirs) {again} -c $< -o $@
"""
GCC = "$(CC) $(CFLAGS) {} -x c"
COMPILER = {"seq": GCC.format("-Wno-unknown-pragmas"), "omp": GCC.format("-fopenmp"),
            "ocl": GCC.format(""), "cuda-cpu": GCC.format("-fopenmp"),
            "cuda": "$(NVCC) $(NVFLAGS)"}

CHECK = """\
#!/bin/sh
# check.sh BUILD BINARY ... - runs each binary on every line of `cases`, and has the
# checker compare what it wrote with double precision, which is kept in BUILD.
# A case is a name and the words of a query; {{data}} stands for BUILD/data.
set -eu
build=$1
shift
passed=0 failed=0
mkdir -p "$build/out" "$build/oracle"

for binary; do
    while read -r name query; do
        words=$(printf '%s' "$query" | sed "s|{{data}}|$build/data|g")
        truth=
        for word in $words; do
            [ ! -f "${{word#*=}}.truth" ] || truth=truth=${{word#*=}}.truth
        done
        rm -f "$build"/out/*.npy
        # shellcheck disable=SC2086 # a query is words
        if timeout 60 "$binary" $words \\
            {out} \\
            </dev/null >"$build/out/said" 2>&1 &&
            "$build/{program}-check" $words oracle="$build/oracle/$name.npy" $truth \\
                {check} \\
                </dev/null >"$build/out/said" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $binary $name: $(tail -n 1 "$build/out/said")"
        fi
    done <cases
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
"""

README = """\
# {title}

{program}, as step {step} has it: {step_title}.

An optimization history keeps every version of a program, from sequential C to OpenCL
and CUDA. This is one of them, which builds, runs and is verified by itself.

    make             builds every back-end that can be built here
    make check       runs them on small, awkward data, against double precision
    make clean

The back-ends: {backends}.

GNU Make and gcc are enough for OpenMP. OpenCL needs its headers and a device, or PoCL;
CUDA needs nvcc and a GPU, and `cuda-cpu` is the same CUDA code on the CPU. `config.mk`
holds what may be set (`make OPT=-O2`). What a program can be told:

    {first} help

{sets}

| where | what |
|---|---|
| `steps/{step}/{program}/` | the program: what costs time |
| `common/` | reading, arguments, device choice |
| `data/{program}.c` | makes the data; nothing is downloaded |
| `verify/` | the checker |
| `cases`, `check.sh` | what `make check` runs |

BSD 3-Clause, see LICENSE.
"""


def include_dirs(program):
    """Where "..." is looked for: all of common/ but the folders of other programs."""
    others = {p.name for p in tree.programs()} - {program.name}
    return [f"common/{p.name}" for p in sorted((tree.ROOT / "common").iterdir())
            if p.is_dir() and p.name not in others]


def closure(files, dirs):
    """The files, and all that they include of this tree, however it is conditioned."""
    found, todo = set(), list(files)
    while todo:
        path = os.path.normpath(todo.pop())
        if path in found:
            continue
        found.add(path)
        for name in INCLUDE.findall((tree.ROOT / path).read_text()):
            places = (f"{folder}/{name}" for folder in (os.path.dirname(path), *dirs))
            here = [p for p in places if (tree.ROOT / p).is_file()]
            if not here:
                raise SystemExit(f"{path}: includes {name}, which is not found")
            todo.append(here[0])
    return sorted(found)


def contents(step, program):
    """{path: text} of all that is packed."""
    mk = program.mk
    source = f"steps/{step.name}/{program.name}"
    front = [f"common/{program.name}/{name}" for name in mk["sources"].split()]
    front += [f"common/{name}" for name in mk.get("shared", "").split()] + RUN
    backends = [b for b in step.backends(program) if b in RULES]
    dirs = include_dirs(program)
    made_of = [f if "/" in f else f"{source}/{f}" for b in backends for f in MADE_OF[b]]
    tools = [f"data/{program.name}.c", f"verify/check_{program.name}.c",
             "verify/compare.c"]
    paths = closure([*front, *made_of, *tools], dirs + ["verify"])
    headers = {os.path.dirname(p) for p in paths if p.endswith(".h")}
    files = {p: (tree.ROOT / p).read_text() for p in (*paths, "config.mk", "LICENSE")}

    words = {
        "program": program.name, "title": program.title, "step": step.name,
        "step_title": step.title(program), "backends": " ".join(backends),
        "recipes": mk["recipes"], "suffix": mk["suffix"], "front": " ".join(front),
        "libs": f"{mk.get('libs', '')} -lm".strip(), "cflags": mk.get("cflags", ""),
        "dirs": " ".join(f"-I{d}" for d in dirs if d in headers),
        "first": f"build/{program.name}-{backends[0]}",
    }
    for key, side in (("out", "key"), ("check", "check")):
        words[key] = " ".join(f'{getattr(o, side)}="$build/out/{o.key}.npy"'
                              for o in program.outputs)
    queries = [value.replace("{data}", "build/data") for key, value in mk.items()
               if key.startswith("set.")]
    words["sets"] = "\n".join(["Longer runs, after `make`:", ""] + [
        f"    {words['first']} {query}" for query in queries])
    rules = "".join([MAKEFILE, *(RULES[b] for b in backends)])
    if "again" in mk:
        for b in backends:
            rules += AGAIN.replace("{backend}", b).replace("{source}", MADE_OF[b][0]) \
                .replace("{compiler}", COMPILER[b]).replace("{again}", mk["again"])
    files["Makefile"] = rules.format(**words)
    files["check.sh"] = CHECK.format(**words)
    files["README.md"] = README.format(**words)
    files["cases"] = "".join(f"{key.removeprefix('case.')} {value}\n"
                             for key, value in mk.items() if key.startswith("case."))
    return files


def pack(files, name, path):
    """A .tar.gz of name/..., without owners and dates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "wb") as raw, \
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for inside, text in sorted(files.items()):
            data = text.encode()
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    temporary.replace(path)


def main():
    step, program = exercise.named()
    name = f"{program.name}-{step.name}"
    path = tree.build() / "export" / f"{name}.tar.gz"
    files = contents(step, program)
    pack(files, name, path)
    print(f"{diff.shown(path)}: {len(files)} files")


if __name__ == "__main__":
    main()
