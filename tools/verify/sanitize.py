"""sanitize.py - make san: the back-ends under tools that find faults behind correct results.

    address     AddressSanitizer, UndefinedBehaviorSanitizer, LeakSanitizer: all CPU code
    threads     ThreadSanitizer with Archer, which knows OpenMP: omp, cuda-cpu, hybrid
    simulator   Oclgrind (memory, races, uninitialized values, API calls): ocl
    fuzzer      libFuzzer, for FUZZ_SECONDS (60 unless set; 0: not at all): the SU reader

Runs the smallest query of each program (`tiny` of program.mk), or, to find races, one whose
rows have several vectors (`wide`), with all outputs that a program can write, and some random
queries. Each tool must first find a planted fault: a tool that
does not report it would report nothing. A tool that is not installed is a failure, and the
others run. CUDA on a GPU (compute-sanitizer) is left out.
"""
from __future__ import annotations

import fcntl
import os
import random
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tools.base import copies, options, runs, tree
from tools.base.runs import TIMEOUT
from tools.base.tree import BACKENDS, FOR_CHECKING, Program, Step
from tools.history import rungs
from tools.verify import queries

REPORTED = re.compile(r"Sanitizer|runtime error:")
ADDRESS_FLAGS = ("-fsanitize=address,undefined,float-cast-overflow -fno-omit-frame-pointer "
                 "-fno-sanitize-recover=all")
# Flags that not all compilers have. With detect_stack_use_after_return, gcc 12 takes a frame
# for aligned to 64 bytes that is not (PR 110027), and fills it with aligned stores of 64 bytes.
STACK_PATTERN, SHORT_STORES = "-ftrivial-auto-var-init=pattern", "-mstore-max=256"
# Folders of builds with AddressSanitizer: the instructions, which determine the vector width.
INSTRUCTIONS = {"asan": "-march=native", "asan-256": "-march=haswell", "asan-128": "-march=x86-64"}
FUZZER_FLAGS = "-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"


class Missing(Exception):
    """A tool is not installed."""


def clang() -> str:
    """clang, in the version whose sanitizers setup.sh installs if there is a choice."""
    found = shutil.which("clang-14") or shutil.which("clang")
    if not found:
        raise Missing("clang (./setup.sh test installs it)")
    return found


def query(program: Program, key: str = "tiny") -> list[str]:
    """The arguments of a query, or of `tiny` if the program does not have it."""
    return program.arguments(program.mk.get(key) or program.mk["tiny"])


def extra(backend: str) -> list[str]:
    """The argument that gives work to both sides of a hybrid back-end."""
    return ["share=50"] if BACKENDS[backend].sides else []


class Session:
    """One tool: what is built for it, and the results."""

    def __init__(self, name: str, sample: bool) -> None:
        self.sample, self.passed, self.failed = sample, 0, 0
        self.folder = (tree.build() / "san").resolve()
        self.log = self.folder / "log" / name
        shutil.rmtree(self.log, ignore_errors=True)
        self.log.mkdir(parents=True)

    def parts(self) -> Iterator[tuple[Step, Program]]:
        """The programs of the selected steps; of a sample, the last step of each, and those
        that share its work between devices or ranks."""
        for program in tree.selected(tree.programs(), "PROGRAM"):
            having = [s for s in tree.steps() if s.has(program)]
            shared = [s for s in having if any(
                BACKENDS[b].sides or BACKENDS[b].launch for b in s.backends(program))]
            last = [s for s in having if s not in shared][-1:]
            for step in rungs.selected_steps(having):
                if not self.sample or step in shared + last:
                    yield step, program

    def binaries(self, folder: Path, backends: Iterable[str]
                 ) -> Iterator[tuple[Step, Program, str, Path]]:
        """What was built in a folder, of some back-ends. Nothing is a failed check."""
        wanted, found = set(backends), False
        for step, program in self.parts():
            for backend in step.backends(program):
                path = folder / step.name / f"{program.name}-{backend}"
                if backend in wanted and path.exists():
                    found = True
                    yield step, program, backend, path
        if not found:
            self.check(f"{folder.name}: has binaries", False, f"none of {', '.join(wanted)}")

    def build(self, folder: Path, words: Sequence[str], backends: Iterable[str],
              more: Sequence[Path] = ()) -> bool:
        """Builds back-ends of all parts and some other files, in a folder."""
        targets = [folder / step.name / f"{program.name}-{backend}"
                   for step, program in self.parts() for backend in step.backends(program)
                   if backend in backends]
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:  # another tool may use the same folder
            fcntl.flock(lock, fcntl.LOCK_EX)
            problem = copies.make(
                f"BUILD={os.path.relpath(folder, tree.ROOT)}", *words,
                *(os.path.relpath(t, tree.ROOT) for t in [*targets, *more]))
        self.check(f"{folder.name}: builds", not problem, problem or "")
        return not problem

    def check(self, name: str, passed: bool, text: str) -> None:
        """Counts a check. If it failed, prints what the tool said first."""
        (self.log / (re.sub(r"[^\w.-]", "_", name) + ".log")).write_text(text)
        self.passed, self.failed = self.passed + passed, self.failed + (not passed)
        if not passed:
            print(f"FAIL {name} ({os.path.relpath(self.log, tree.ROOT)})")
            lines = [line for line in text.splitlines()
                     if line.strip() and not re.fullmatch(r"\w+=[-+.\de]+", line)]
            print(*(f"    {line}" for line in lines[:12]), sep="\n", flush=True)

    def run(self, name: str, command: Sequence[runs.Argument],
            env: Mapping[str, str] | None = None, about: str = "") -> None:
        """Passes if the command succeeds and no sanitizer reports anything. `about` is printed
        otherwise."""
        result = runs.run(command, TIMEOUT, env)
        text = f"{about}\n{result.out}{result.err}"
        self.check(name, not result.failure() and not REPORTED.search(text),
                   text + (result.failure() or ""))

    def check_fault(self, name: str, pattern: str, command: Sequence[runs.Argument],
                    env: Mapping[str, str] | None = None) -> None:
        """Passes if the tool reports the planted fault, or the run ends as the pattern says."""
        result = runs.run(command, env=env)
        text = result.out + result.err + (result.failure() or "")
        self.check(f"{name}: finds a planted fault", bool(re.search(pattern, text)), text)


def address_env(*options: str) -> dict[str, str]:
    """The variables of a build with AddressSanitizer. lsan.supp: what OpenCL itself keeps.
    use_tls=0: LeakSanitizer fails in the thread-local memory of the libraries that PoCL
    builds from kernels and unloads."""
    return {"ASAN_OPTIONS": ":".join(("detect_leaks=1:detect_stack_use_after_return=1",
                                      *options)),
            "LSAN_OPTIONS": f"suppressions={tree.ROOT}/tools/verify/lsan.supp:"
                            "print_suppressions=0:use_tls=0",
            "UBSAN_OPTIONS": "print_stacktrace=1"}


def address_words(folder: str) -> list[str]:
    """The variables of make for one of INSTRUCTIONS. Variables on the stack that the
    program does not initialize get a pattern, if the compiler can do that."""
    known = [flag for flag in (STACK_PATTERN, SHORT_STORES) if not runs.run(
        ["/usr/bin/env", runs.compiler(), flag, "-E", "-x", "c", os.devnull], 60).failure()]
    return ["NVCC=", "OPT=-O0", f"ARCH={INSTRUCTIONS[folder]}",
            f"EXTRA={' '.join((ADDRESS_FLAGS, *known))}"]


class Sanitized:
    """Back-ends with AddressSanitizer and UBSan, for random queries. Memory that is not
    initialized is filled with a pattern. opencl_guard.c does the same for the buffers of
    OpenCL, and puts them between pages that cannot be accessed. SHARE has the back-ends, and
    the fraction of the queries that each step of a back-end runs: building kernels takes
    longer than all else, and ranks and emulated threads share few cores. Without every_width,
    the CUDA code of the last step only is built for the CPU."""
    SHARE = {"seq": 1, "omp": 1, "ocl": 0.15, "hybrid": 0.2, "mpi": 0.2, "cuda-cpu": 0.1,
             "hybrid-cuda-cpu": 0.2}

    def __init__(self, every_width: bool) -> None:
        self.session = Session("random", sample=False)
        widths = every_width and os.uname().machine == "x86_64"
        self.folders = [self.session.folder / f for f in INSTRUCTIONS][:None if widths else 1]
        self.built = set(self.binary_names(every_width))
        for folder in self.folders:
            binaries = [folder / name for name in
                        ("faults/memory", "faults/opencl", *sorted(self.built))]
            if not self.session.build(folder, address_words(folder.name), (), binaries):
                raise SystemExit(1)
        self.guard = tree.build().resolve() / "opencl_guard.so"
        if not self.session.build(tree.build(), [], (), [tree.build() / self.guard.name]):
            raise SystemExit(1)
        self.plant()
        if self.session.failed:
            raise SystemExit(f"{self.session.failed} planted faults not found")

    def binary_names(self, every_width: bool) -> Iterator[str]:
        """The binaries, as STEP/PROGRAM-BACKEND."""
        parts = list(self.session.parts())
        for step, program in parts:
            later = [s for s, p in parts if p is program and s.number > step.number]
            for backend in step.backends(program):
                repeated = any(backend in s.backends(program) for s in later)
                if backend in self.SHARE and (every_width or backend not in FOR_CHECKING
                                              or not repeated):
                    yield f"{step.name}/{program.name}-{backend}"

    def plant(self) -> None:
        """Faults that must be found: accesses beyond the end of a block and of a buffer of
        OpenCL, and values that were never written."""
        memory, kernel = (self.folders[0] / "faults" / name for name in ("memory", "opencl"))
        env, filled = self.variables(0xff), STACK_PATTERN in address_words("asan")[-1]
        guarded = {**env, "LD_PRELOAD": str(self.guard), "OPENCL_LANES": "2",
                   "OPENCL_UNIFIED": "0"}
        faults: list[tuple[str, str, list[runs.Argument], Mapping[str, str]]] = [
            ("values not written",
             r"heap -?nan" + r" stack (-1.69474e\+38|-?nan)" * filled, [memory], env),
            ("end of a block", "AddressSanitizer", [memory, "5"], env),
            ("end of its guard", "AddressSanitizer", [memory, "10000"], env),
            ("OpenCL, values not written", r"buffer -?nan lanes 2 shared 0", [kernel], guarded),
            ("OpenCL, end of a buffer", "AddressSanitizer: (SEGV|BUS)", [kernel, "5"], guarded)]
        for name, pattern, words, variables in faults:
            self.session.check_fault(name, pattern, words, variables)

    def variables(self, fill: int) -> dict[str, str]:
        """What a binary needs. `fill` is the value of each byte that is not initialized."""
        return address_env(f"malloc_fill_byte={fill}", "max_malloc_fill_size=1000000000",
                           "verify_asan_link_order=0")

    def backends(self, step: Step, program: Program, name: str) -> list[str]:
        """The back-ends of a step that run a query."""
        return [b for b in step.backends(program)
                if f"{step.name}/{program.name}-{b}" in self.built
                and random.Random(f"{step.name} {b} {name}").random() < self.SHARE[b]]

    def choose(self, step: Step, program: Program, backend: str, name: str
               ) -> tuple[Path, dict[str, str]]:
        """The binary for a query and its variables. The name of the query determines them."""
        draw = random.Random(name)
        folder = draw.choice(self.folders)
        env = self.variables(draw.choice((0xff, 0xff, 0x3f)))
        lanes = draw.choice("1 4 8 16".split())
        if "opencl" in BACKENDS[backend].needs:
            env.update(LD_PRELOAD=str(self.guard), OPENCL_LANES=lanes,
                       OPENCL_UNIFIED=draw.choice("01"))
        if BACKENDS[backend].needs:  # leaks, which take long to find there: see address()
            env["ASAN_OPTIONS"] += ":detect_leaks=0"
        return folder / step.name / f"{program.name}-{backend}", env


def address(session: Session) -> None:
    env = address_env()
    folder = session.folder / "asan"
    faults = folder / "faults/memory"
    # gcc cannot compile the checks of UBSan for a device: no OpenACC.
    backends = [b.name for b in BACKENDS.values() if b.name != "mpi-ocl"
                and b.compiler != "NVCC" and "openacc" not in b.needs]
    if not session.build(folder, address_words("asan"), backends, [faults]):
        return
    for tool, pattern, *words in (("ASan", "use-after-poison", "5"),
                                  ("UBSan", "signed integer overflow", "4", "overflow"),
                                  ("LSan", "detected memory leaks", "4", "leak")):
        session.check_fault(tool, pattern, [faults, *words], env)
    for step, program, backend, path in session.binaries(folder, backends):
        variables = dict(env)
        if BACKENDS[backend].launch:  # MPI keeps what it has allocated: no check for leaks
            variables.update(RANKS="3", OMP_NUM_THREADS="1",
                             ASAN_OPTIONS=f"{env['ASAN_OPTIONS']}:detect_leaks=0")
        command, variables = runs.launch(path, backend, variables)
        session.run(f"asan {step.name} {program.name} {backend}",
                    [*command, *query(program), *extra(backend),
                     f"out={session.folder}/out.npy"], variables)


RANDOM_QUERIES = 3  # per back-end, under ThreadSanitizer


def draw_query(session: Session, step: Step, program: Program, backend: str,
               draw: random.Random) -> list[str]:
    """A random query that the back-end takes. Its files stay in the folder of the session."""
    while True:
        seed, folder = str(draw.randrange(10**6)), session.folder / "query"
        shutil.rmtree(folder, ignore_errors=True)
        found = queries.drawn(program, seed, 0, folder / seed)
        if found.has(backend) and not queries.refusal(program, found.arguments, step, backend):
            return [w for w in found.arguments if not w.startswith("trace=")]


def optional_outputs(path: Path, step: Step, backend: str, folder: Path) -> list[str]:
    """The arguments that request every output which does not come from the computation itself,
    such as a timeline: several threads may write what it consists of. Only programs with tiles
    know which thread computed which of them."""
    known = dict(re.findall(r"^  (\w+)=(\S*)", runs.run([path, "help"]).out, re.M))
    files = {"busy": "busy.csv", "trace": "trace.csv", "picture": "picture.png",
             "image": "image.png"}
    if backend != "omp" or step.number == "00":
        files.pop("trace")
    found = [f"{key}={folder / name}" for key, name in files.items() if key in known]
    found += [f"{key}={folder}" for key in ("snapshots", "movie") if key in known]
    return found + ["profile=1"] * ("profile" in known)


def threads(session: Session) -> None:
    # TSan does not see loads and stores of more than 16 bytes: there are none of them.
    flags = ["-fsanitize=thread",
             *(["-march=native", "-mno-avx"] if os.uname().machine == "x86_64" else [])]
    compiler = clang()
    archer = next(iter(sorted(Path("/usr/lib").glob("llvm-*/lib/libarcher.so"))), None)
    if not archer:
        raise Missing("Archer for OpenMP (./setup.sh test installs libomp-14-dev)")
    env = {"OMP_TOOL_LIBRARIES": str(archer), "OMP_NUM_THREADS": "4",
           "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:exitcode=66"}
    # The sanitizer needs a memory layout that is not random.
    setarch = shutil.which("setarch")
    fixed = [setarch, "-R"] if setarch and not runs.run(
        [setarch, "-R", "true"], 10).failure() else []
    # The threads of an OpenCL device are the library's: only hybrid runs with one.
    folder = session.folder / "tsan"
    race = folder / "faults/race"
    backends = [b.name for b in BACKENDS.values() if b.compiler == "CC" and not b.threads
                and (b.on_host or b.sides or b.name in FOR_CHECKING)]
    if not session.build(folder, ["NVCC=", f"CC={compiler}", "OPT=-O1",
                                  f"EXTRA={' '.join(flags)}"], backends, [race]):
        return
    session.check_fault("TSan", "data race", [*fixed, race, "planted"], env)
    session.check_fault("TSan, vectors", "data race", [*fixed, race, "planted", "twice"], env)
    session.run("tsan, no fault", [*fixed, race], env)
    draw = random.Random()
    for step, program, backend, path in session.binaries(folder, backends):
        outputs = optional_outputs(path, step, backend, session.folder)
        for number in range(1 + RANDOM_QUERIES):
            more = {"OMP_NUM_THREADS": draw.choice("2345"), "PROCESSORS": draw.choice("124"),
                    "CACHE_L2": draw.choice(("1", "20000", "2147483647"))}
            words = query(program, "wide")
            if number:
                words = draw_query(session, step, program, backend, draw)
                outputs = [w for w in outputs if w.split("=")[0] in ("busy", "trace")]
            settings = " ".join(f"{key}={value}" for key, value in more.items())
            session.run(f"tsan {step.name} {program.name} {backend} {number}",
                        [*fixed, path, *words, *extra(backend), *outputs], {**env, **more},
                        f"{settings} {' '.join(words)}")


def oclgrind(session: Session, log: Path, command: Sequence[runs.Argument]) -> tuple[bool, str]:
    """(whether a run succeeds and Oclgrind reports nothing, all output). Its exit status is
    always 0, so its log decides. It does not know an attribute of inlined functions:
    nothing is inlined. A work-group has at most 256 work-items, as on many GPUs."""
    log.unlink(missing_ok=True)
    result = runs.run(
        ["/usr/bin/env", "oclgrind", "--data-races", "--uninitialized", "--check-api",
         "--max-errors", "20", "--max-wgsize", "256", "--log", log,
         "--build-options", "-cl-opt-disable -D always_inline=unused",
         "sh", "-c", 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"',
         tree.build().resolve() / "oclgrind_fill.so", *command], TIMEOUT)
    found = log.read_text() if log.exists() else "Oclgrind left no log"
    return not result.failure() and not found, result.out + result.err + found


def simulator(session: Session) -> None:
    if not shutil.which("oclgrind"):
        raise Missing("Oclgrind (./setup.sh test installs it)")
    backends = [b.name for b in BACKENDS.values() if b.device == "opencl" and not b.launch]
    # Other variables would rebuild binaries that other tests run at the same time.
    if not session.build(tree.build(), [], backends, [tree.build() / "oclgrind_fill.so"]):
        return
    log, last = session.folder / "oclgrind.log", None
    for step, program, backend, path in session.binaries(tree.build(), backends):
        for key in ("tiny", "wide"):
            if key in program.mk:
                passed, text = oclgrind(session, log, [path, *query(program, key)])
                session.check(f"oclgrind {step.name} {program.name} {backend}, {key}", passed,
                              text)
        if program.name == "semblance":
            last = step, program, backend
    if last:
        plant_out_of_range(session, *last, log)


def plant_out_of_range(session: Session, step: Step, program: Program, backend: str,
                       log: Path) -> None:
    """The guard at the end of the range, wrong by one, in a copy of the last step."""
    copy = copies.Copy(session.folder / "copy")
    kernel = copy.folder / "steps" / step.name / program.name / "kernel.cl"
    text = kernel.read_text()
    wrong = re.sub(r"\b(\w+) < q->np\[A\]", r"\1 <= q->np[A]", text)
    assert wrong != text, f"{kernel}: there is no guard to change"
    kernel.write_text(wrong)
    binary = copy.binary(program, step, backend)
    problem = copy.make(binary)
    found = "" if problem else oclgrind(session, log, [binary, *query(program)])[1]
    session.check("oclgrind: finds a planted fault",
                  bool(re.search("Invalid (read|write)", found)), problem or found)


def fuzzer(session: Session) -> None:
    seconds = runs.whole_number("FUZZ_SECONDS", 60, most=10**6)
    if not seconds:
        return
    binary = session.folder / "fuzz" / "su_fuzz"
    if not session.build(binary.parent, ["NVCC=", f"CC={clang()}", "OPT=-O1",
                                         f"EXTRA={FUZZER_FLAGS}"], (), [binary]):
        return
    # New inputs go to the first folder; the tracked corpus is only read.
    corpus = session.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    result = runs.run([binary, "-max_len=4096", f"-max_total_time={seconds}",
                       f"-artifact_prefix={session.folder}/", "-print_final_stats=1", corpus,
                       tree.ROOT / "verify/fuzz/corpus/su"], seconds + 60)
    session.check("su_fuzz", not result.failure(), result.out + result.err)
    tried = re.search(r"^stat::number_of_executed_units: *(\d+)", result.err, re.M)
    if tried:
        print(f"inputs tried by the fuzzer: {tried[1]}")


TOOLS = {f.__name__: f for f in (address, threads, simulator, fuzzer)}


def main() -> int:
    parser = options.parser(__doc__, "STEP", "PROGRAM")
    parser.add_argument("tools", nargs="*", choices=[*TOOLS, []], metavar="TOOL",
                        help=f"{', '.join(TOOLS)} (default: all)")
    parser.add_argument("--sample", action="store_true",
                        help="a sample: of each program the last step, and those that share "
                             "its work between devices or ranks")
    arguments = options.parse(parser)
    for name in ("OPT", "EXTRA"):
        os.environ.pop(name, None)
    os.environ["LC_ALL"] = "C"
    passed = failed = 0
    for name in arguments.tools or TOOLS:
        session = Session(name, arguments.sample)
        try:
            problem = copies.make(f"BUILD={os.environ.get('BUILD', 'build')}", "data")
            if problem:
                raise SystemExit(problem)
            TOOLS[name](session)
        except Missing as missing:
            session.failed += 1
            print(f"FAIL {name}: not installed: {missing}")
        passed, failed = passed + session.passed, failed + session.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
