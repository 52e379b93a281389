"""test_published_mistakes.py: the mistakes of the published code, each with a test of its
own, and some that could be made here.

Every test writes a small file, runs every step and back-end that is built here, and compares
with a search in double precision written below, straight from the definition. If a mistake
has a formula, that formula is searched too: its answer must be one that the test refuses.
"""
import math
import os
import random
import re
import shutil
import subprocess
import sys

import pytest

from tests.helpers import BUILD, ROOT, binaries, float32, read_npy, run, trace
from tools.history import tree

BUDGET = 1e-5  # absolute, for semblance and stack


class Traces:
    """A gather in memory: what the search needs, and its bytes as a file."""

    def __init__(self, dt, rows):
        """rows: a list of keyword arguments of helpers.trace."""
        self.dt = dt
        self.rows = [{"sy": 0, "gy": 0, "scalco": 1, **row} for row in rows]
        self.bytes = b"".join(trace(dt=dt, **row) for row in rows)


def gather(rng, ntraces, ns, dt=4000, spread=100, scalco=1, period=12.0):
    """Smooth traces, so that rounding of a time does not show, around (0, 0)."""
    rows = []
    for _ in range(ntraces):
        sy, gy = (rng.randint(-spread, spread) for _ in "sg")
        waves = [(rng.uniform(0.3, 1), rng.uniform(1, 2) * period, rng.uniform(0, 6))
                 for _ in range(3)]
        samples = [sum(a * math.sin(2 * math.pi * j / p + f) for a, p, f in waves)
                   for j in range(ns)]
        rows.append({"samples": samples, "sy": sy, "gy": gy, "scalco": scalco})
    return Traces(dt, rows)


def scale_of(scalco):
    return 1 if scalco == 0 else scalco if scalco > 0 else -1 / scalco


class Search:
    """All points of a query in double: .semblance and .stack by index, .top the best."""

    def __init__(self, traces, t0, tau, ranges, m0=0, h0=0, scale=scale_of, window=None,
                 last=1, read=None):
        """The last four are there to be got wrong."""
        self.ranges = ranges
        self.np = [n for _, _, n in ranges]
        self.near = math.inf  # how near any window comes to a border, in samples
        idt = 1e6 / traces.dt
        half = int(tau * idt + 1e-3) if window is None else window // 2
        w = 2 * half + 1
        where = [(scale(row["scalco"]) * (row["gy"] + row["sy"]) / 2 - m0,
                  scale(row["scalco"]) * (row["gy"] - row["sy"]) / 2 - h0)
                 for row in traces.rows]
        ns = len(traces.rows[0]["samples"])
        read = read or (lambda i, k: traces.rows[i]["samples"][k])

        self.semblance, self.stack = {}, {}
        for at in indices(self.np):
            a, b, c, d, e = (p0 + i / n * (p1 - p0) for i, (p0, p1, n) in zip(at, ranges))
            num, den, used, skipped = [0.0] * w, 0.0, 0, 0
            for i, (dm, dh) in enumerate(where):
                t2 = (t0 + a * dm + b * dh) ** 2 + c * dh * dh + d * dm * dm + e * dh * dm
                x = math.sqrt(t2) * idt if t2 >= 0 else -1
                self.near = min(self.near, abs(x - half), abs(x - (ns - half - 1)))
                if not half <= x < ns - half - last:
                    skipped += 1
                    continue
                used += 1
                for j in range(w):
                    k = int(x) + j - half
                    y0, y1 = read(i, k), read(i, k + 1)
                    v = y0 + (y1 - y0) * (x - int(x))
                    num[j] += v
                    den += v * v
            good = skipped < 2 and den > 0
            self.semblance[at] = sum(n * n for n in num) / den / used if good else 0.0
            self.stack[at] = sum(num) / (used * w) if good else 0.0
        self.top = max(self.semblance, key=lambda at: (self.semblance[at],
                                                       [-i for i in at]))

    def values(self, at):
        return [p0 + i / n * (p1 - p0) for i, (p0, p1, n) in zip(at, self.ranges)]

    def answer(self):
        """What a program that searched this would write."""
        panel = [max(self.semblance[at] for at in self.semblance if at[:2] == (ia, ib))
                 for ia in range(self.np[0]) for ib in range(self.np[1])]
        best = self.values(self.top) + [self.stack[self.top], self.semblance[self.top]]
        return best, panel

    def problem(self, best, panel):
        """What is wrong with the answer [A, B, C, D, E, stack, semblance] and the panel,
        or nothing. Points that score the same within the budget are all right."""
        at = []
        for value, (p0, p1, n) in zip(best, self.ranges):
            i = (value - p0) / (p1 - p0) * n if p1 != p0 else 0
            if not abs(i - round(i)) < 1e-3 or not 0 <= round(i) < n:
                return f"{value} is not a value of {p0},{p1},{n}"
            at.append(round(i))
        at, stack, semblance = tuple(at), best[5], best[6]
        most = self.semblance[self.top]
        if not self.semblance[at] >= most - BUDGET:
            return f"found {at} with {self.semblance[at]}, {self.top} has {most}"
        if not abs(semblance - self.semblance[at]) <= BUDGET:
            return f"semblance {semblance}, not {self.semblance[at]}, at {at}"
        if not abs(stack - self.stack[at]) <= BUDGET:
            return f"stack {stack}, not {self.stack[at]}, at {at}"
        expected = self.answer()[1]
        if len(panel) != len(expected):
            return f"a panel of {len(panel)}, not {len(expected)}"
        for i, (is_, should) in enumerate(zip(panel, expected)):
            if not abs(is_ - should) <= BUDGET:
                return f"panel {divmod(i, self.np[1])} is {is_}, not {should}"
        return None


def indices(np):
    """All index tuples below np, the last fastest."""
    if not np:
        yield ()
        return
    for i in range(np[0]):
        for rest in indices(np[1:]):
            yield (i, *rest)


# Steeper than any real moveout, since the traces are short.
RANGES = [(-3e-4, 3e-4, 3), (-3e-4, 3e-4, 4), (1e-7, 5e-7, 5), (1e-7, 5e-7, 2),
          (-3e-7, 3e-7, 6)]
TINY = [(-2e-4, 2e-4, 2), (-2e-4, 2e-4, 3), (1e-7, 5e-7, 2), (1e-7, 3e-7, 2),
        (0, 3e-7, 1)]


class Bench:
    """Runs every binary on a file, in an empty folder."""

    def __init__(self, check, folder):
        self.check = check
        self.folder = folder
        self.binaries = binaries("semblance")

    def words(self, traces, t0, tau, ranges, more=()):
        with open(os.path.join(self.folder, "in.su"), "wb") as file:
            file.write(traces if isinstance(traces, bytes) else traces.bytes)
        return ["in=in.su", "axis=y", "m0=0", "h0=0", f"t0={t0}", f"tau={tau}",
                "out=out.npy", "panel=panel.npy", *(f"{k}={p0!r},{p1!r},{n}" for k, (p0, p1, n)
                                     in zip("abcde", ranges)), *more]

    def ask(self, binary, words, environment=None):
        """(problem, best, panel, raw bytes of best) of one run."""
        for name in ("out.npy", "panel.npy"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))
        result = run([binary, *words], self.folder, environment)
        if result.returncode:
            return (f"exit status {result.returncode}: {result.stderr.strip()[-300:]}",
                    None, None, None)
        with open(os.path.join(self.folder, "out.npy"), "rb") as file:
            raw = file.read()
        return (None, read_npy(os.path.join(self.folder, "out.npy"))[1],
                read_npy(os.path.join(self.folder, "panel.npy"))[1], raw)

    def check(self, what, problem):
        self.check(f"{self.test} {what}", problem)

    def compare(self, traces, t0, tau, ranges, more=(), wrong=None, environment=None,
                only=None):
        """Every binary against the search in double. wrong, further arguments of Search,
        is the published mistake: its answer must not pass."""
        right = Search(traces, t0, tau, ranges)
        if right.near < 1e-2:
            self.check("its data", f"a window comes within {right.near} of a border")
        if wrong:
            passes = not right.problem(*Search(traces, t0, tau, ranges, **wrong).answer())
            self.check("catches the mistake", "its answer would pass" if passes else None)
        words = self.words(traces, t0, tau, ranges, more)
        for step, backend, path in self.binaries:
            if only and backend not in only:
                continue
            problem, best, panel, _ = self.ask(path, words, environment)
            self.check(f"{step} {backend}", problem or right.problem(best, panel))

    def refused(self, what, words, expected, environment=None, only=None):
        for step, backend, path in self.binaries:
            if only and backend not in only:
                continue
            result = run([path, *words], self.folder, environment)
            good = (result.returncode == 1 and not result.stdout
                    and re.search(expected, result.stderr))
            self.check(f"{what}, {step} {backend}", None if good else
                       f"exit status {result.returncode}, {result.stderr[-200:]!r}")


@pytest.fixture
def bench(check, tmp_path):
    bench = Bench(check, str(tmp_path))
    assert bench.binaries, f"no semblance binary in {BUILD}: make binaries"
    return bench


@pytest.mark.seconds(15)
def test_negative_scalco_keeps_its_sign(bench):
    for scalco in (-10, -1, 0, 10):
        rng = random.Random(3)
        data = gather(rng, 6, 61, spread=round(100 / abs(scale_of(scalco))), scalco=scalco)
        wrong = {"scale": lambda s: s or 1} if scalco == -10 else None
        bench.compare(data, 0.12, 0.008, TINY, wrong=wrong)


@pytest.mark.seconds(15)
def test_data_ns_is_read_at_the_last_sample(bench):
    """Each trace ends next to one that is 100 times larger."""
    rng = random.Random(4)
    for beyond in (-1.5, -0.5, 0.5, 1.5):
        data = gather(rng, 4, 41, spread=0)
        for row in data.rows[1::2]:
            row["samples"] = [100 * x for x in row["samples"]]
        data = Traces(4000, data.rows)
        flat = [x for row in data.rows for x in row["samples"]] + [0.0]
        wrong = {"last": 0, "read": lambda i, k, flat=flat: flat[i * 41 + k]}
        t0 = (38 + beyond) * 0.004  # the window would end at sample 40 + beyond
        bench.compare(data, t0, 0.008, TINY, wrong=wrong if beyond == 0.5 else None)


@pytest.mark.seconds(15)
def test_late_samples_come_from_the_next_trace(bench):
    """2502 samples, of which a row of the published code held 2052."""
    data = gather(random.Random(5), 3, 2502, dt=2000, spread=40, period=300)
    flat = [x for row in data.rows for x in row["samples"]] + [0.0] * 5000
    for t0 in (4.41, 4.95):
        bench.compare(data, t0, 0.01, TINY,
                      wrong={"read": lambda i, k: flat[i * 2052 + k]})


@pytest.mark.seconds(20)
def test_index_is_wrong_unless_all_np_are_equal(bench):
    rng = random.Random(6)
    for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        counts = [RANGES[k][2] for k in order]
        ranges = [(p0, p1, n) for (p0, p1, _), n in zip(RANGES, counts)]
        bench.compare(gather(rng, 6, 61), 0.12, 0.008, ranges)


@pytest.mark.seconds(20)
def test_np_7_is_an_invalid_work_group_size(bench):
    rng = random.Random(7)
    for counts, more in (((7, 7, 7, 1, 1), ()), ((1, 1, 1, 1, 1), ()),
                         ((7, 1, 5, 1, 2), ("local=3,5,2",)),
                         ((5, 7, 2, 2, 1), ("local=8,1,4",))):
        ranges = [(p0, p1, n) for (p0, p1, _), n in zip(RANGES, counts)]
        bench.compare(gather(rng, 4, 61), 0.12, 0.004, ranges, more)


@pytest.mark.seconds(20)
def test_window_is_fixed_at_5(bench):
    """tau 0 and 0.02 s, and 0.2 s: the widest."""
    rng = random.Random(8)
    for tau, ns, t0 in ((0, 61, 0.06), (0.02, 61, 0.06), (0.2, 301, 0.3)):
        data = gather(rng, 5, ns, dt=2000, spread=60)
        bench.compare(data, t0, tau, TINY, wrong={"window": 5})


@pytest.mark.seconds(15)
def test_t0_nan_and_1e9_crash(bench):
    data = gather(random.Random(9), 3, 41)
    for t0 in ("nan", "1e9", "inf"):
        bench.refused(f"t0={t0}", bench.words(data, t0, 0.008, TINY), r"t0=\S+: expected")
    # Large but valid values are searched, and nothing is found.
    wild = [(-1e3, 1e3, 3), (-1e3, 1e3, 2), (-1e3, 1e3, 2), (0, 1e3, 2), (0, 1, 1)]
    words = bench.words(data, 0.08, 0.008, wild)
    words = [{"m0=0": "m0=1e9", "h0=0": "h0=-1e9"}.get(word, word) for word in words]
    for step, backend, path in bench.binaries:
        problem, best, _, _ = bench.ask(path, words)
        bench.check(f"m0 and h0 of 1e9, ranges of 1e3, {step} {backend}",
                    problem or (None if best[6] == 0 else f"found {best}"))


@pytest.mark.seconds(15)
def test_bad_files_and_np_are_accepted(bench):
    wave = [math.sin(j / 3) for j in range(41)]
    good = trace(wave) * 3
    for what, raw, line in (("dt 0", trace(wave, dt=0) * 3, "trace 1: dt is 0"),
                            ("ns 0", trace(wave, ns=0) * 3, "trace 1: ns is 0"),
                            ("empty", b"", "empty"),
                            ("truncated", good[:-5], "trace 3 .*truncated")):
        bench.refused(what, bench.words(raw, 0.08, 0.008, TINY), line)
    for n in (0, -3):
        for k in range(5):
            ranges = list(TINY)
            ranges[k] = (*ranges[k][:2], n)
            bench.refused(f"np {n}", bench.words(good, 0.08, 0.008, ranges),
                          f"{'abcde'[k]}={n}: expected a whole number from 1")


def test_first_gpu_or_garbage(bench):
    data = gather(random.Random(10), 4, 41)
    words = bench.words(data, 0.08, 0.008, TINY)
    bench.refused("DEVICE=9:0", words, "no platform 9", {"DEVICE": "9:0"}, ("ocl",))
    bench.refused("DEVICE=9", words, "DEVICE=9: ", {"DEVICE": "9"},
                  ("ocl", "cuda", "cuda-cpu"))
    bench.refused("DEVICE=x", words, "DEVICE=x: expected", {"DEVICE": "x"},
                  ("ocl", "cuda", "cuda-cpu"))
    bench.refused("no platform", words, "no OpenCL platform",
                  {"OCL_ICD_VENDORS": "/nonexistent"}, ("ocl",))
    bench.compare(data, 0.08, 0.008, TINY, environment={"DEVICE": "0:0"}, only=("ocl",))
    # Either kind is there and right, or it is not and the run says so.
    right = Search(data, 0.08, 0.008, TINY)
    for kind in ("gpu", "cpu"):
        for step, backend, path in bench.binaries:
            if backend != "ocl":
                continue
            problem, best, panel, _ = bench.ask(path, words, {"DEVICE": kind})
            if not problem:
                problem = right.problem(best, panel)
            elif f"DEVICE={kind}: no such device" in problem:
                problem = None
            bench.check(f"DEVICE={kind} {step}", problem)


def test_kernel_is_read_from_the_working_directory(bench):
    """Every run has a folder of its own already; here it holds kernels to be misled by."""
    names = ("kernel.cl", "body.h", "query.h", "portable.h")
    for name in names:
        with open(os.path.join(bench.folder, name), "w") as file:
            file.write("this is not a kernel\n")
    bench.compare(gather(random.Random(11), 4, 41), 0.08, 0.008, TINY, only=("ocl",))
    for name in names:
        os.remove(os.path.join(bench.folder, name))


def embedded(step):
    """The OpenCL source that the step's binary carries."""
    path = f"steps/{step}/semblance common/portable common/semblance"
    made = subprocess.run(["awk", "-v", f"path={path}", "-f", "common/opencl/embed.awk",
                           f"steps/{step}/semblance/kernel.cl"],
                          cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = re.findall(r'^    "(.*)\\n",$', made, re.M)
    return "\n".join(re.sub(r"\\(.)", r"\1", line) for line in lines) + "\n"


OPENCL_BUILD = r"""
import ctypes, sys
cl = ctypes.CDLL("libOpenCL.so.1")
for name in ("clCreateContext", "clCreateProgramWithSource"):
    getattr(cl, name).restype = ctypes.c_void_p
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
if cl.clGetPlatformIDs(1, ctypes.byref(platform), None):
    sys.exit(2)
if cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None):
    sys.exit(2)
context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None,
                                             None))
source = ctypes.c_char_p(sys.stdin.buffer.read())
program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(source),
                                                       None, None))
built = cl.clBuildProgram(program, 1, ctypes.byref(device), sys.argv[1].encode(), None,
                          None)
log = ctypes.create_string_buffer(20000)
cl.clGetProgramBuildInfo(program, device, 0x1183, ctypes.c_size_t(len(log)), log, None)
print(log.value.decode(errors="replace"))
sys.exit(1 if built else 0)
"""


@pytest.mark.seconds(20)
def test_local_inside_a_function_does_not_build(bench):
    """The device's own compiler and clang as the strictest reader of OpenCL C 1.2; local
    memory both in use and switched off, as 07 does on a CPU."""
    clang = ["clang-14", "-x", "cl", "-cl-std=CL1.2", "-Wall", "-Wextra", "-Werror",
             "-fsyntax-only", "-Xclang", "-finclude-default-header"]
    defines = ["-D", "WINDOW=11", "-D", "SLICES=8"]
    published = ("void f(void) { __local float num[8]; num[0] = 0; }\n"
                 "__kernel void search(void) { f(); }\n")

    def compile_with_clang(source, more):
        path = os.path.join(bench.folder, "source.cl")
        with open(path, "w") as file:
            file.write(source)
        return subprocess.run([*clang, *defines, *more, path], capture_output=True,
                              text=True)

    def build_on_device(source, more):
        return subprocess.run([sys.executable, "-c", OPENCL_BUILD,
                               " ".join(defines + more)],
                              input=source, capture_output=True, text=True)

    try:
        clang_here = compile_with_clang("__kernel void f(void) {}\n", []).returncode == 0
    except FileNotFoundError:
        clang_here = False
    device_here = build_on_device("__kernel void f(void) {}\n", []).returncode == 0
    if not clang_here:
        print("clang-14 not found (Debian: clang-14): kernels are not checked with it")
    if not device_here:
        print("no OpenCL device (Debian: pocl-opencl-icd): kernels are not checked with it")
    for name, here, build in (("clang", clang_here, compile_with_clang),
                              ("the device", device_here, build_on_device)):
        if not here:
            continue
        if name == "clang":
            bench.check(f"{name} refuses what was published",
                        None if build(published, []).returncode else "it does not")
        for step in (s.name for s in tree.steps()):
            if not os.path.exists(f"{ROOT}/steps/{step}/semblance/kernel.cl"):
                continue
            source = embedded(step)
            for more in ([], ["-D", "LOCAL=__private"]):
                result = build(source, more)
                bench.check(f"{step} by {name} {' '.join(more)}", None if
                            result.returncode == 0 else
                            (result.stderr + result.stdout)[:600])


@pytest.mark.seconds(15)
def test_ns_65535_is_negative(bench):
    """ns and dt are unsigned: read as short they are below 0."""
    data = gather(random.Random(12), 3, 65535, dt=100, spread=0, period=20000)
    bench.compare(data, 6.5, 0.01, TINY)
    data = gather(random.Random(13), 3, 41, dt=65535, spread=0)
    bench.compare(data, 1.1, 0.14, TINY)


def test_x_coordinates_count(bench):
    rng = random.Random(14)
    data = gather(rng, 5, 41)
    moved = Traces(4000, [{**row, "sx": rng.randint(-9999, 9999),
                           "gx": rng.randint(-9999, 9999)} for row in data.rows])
    bench.compare(moved, 0.08, 0.008, TINY)
    for step, backend, path in bench.binaries:
        one = bench.ask(path, bench.words(data, 0.08, 0.008, TINY))
        two = bench.ask(path, bench.words(moved, 0.08, 0.008, TINY))
        bench.check(f"same bytes, {step} {backend}", one[0] or two[0] or
                    (None if one[3] == two[3] else f"{one[1]} became {two[1]}"))


@pytest.mark.seconds(15)
def test_ties_go_to_any_index(bench):
    """All traces at the output point: no parameter moves them, every point scores the
    same. And zeros: every point scores 0."""
    rng = random.Random(15)
    for what, data in (("no displacement", gather(rng, 5, 41, spread=0)),
                       ("zeros", Traces(4000, [{"samples": [0.0] * 41, "sy": 9 * i}
                                               for i in range(4)]))):
        ranges = [(p0 + 1e-7, p1, n) for p0, p1, n in RANGES]
        right = Search(data, 0.08, 0.008, ranges)
        words = bench.words(data, 0.08, 0.008, ranges)
        for step, backend, path in bench.binaries:
            problem, best, panel, _ = bench.ask(path, words)
            if not problem:
                problem = right.problem(best, panel)
            first = [float32(p0) for p0, _, _ in ranges]
            if not problem and best[:5] != first:
                problem = f"{best[:5]} is not the first point, {first}"
            if not problem and len(set(panel)) != 1:
                problem = f"the panel is not constant: {sorted(set(panel))}"
            bench.check(f"{what}, {step} {backend}", problem)


@pytest.mark.seconds(30)
def test_bounded_base_leaves_parts_out(bench):
    """From 05 on devices have a row of memory for each work-item, but only so many: with
    memory for a few, each work-item must take several parts."""
    having = [s.name for s in tree.steps() if "T2_ABC_BYTES" in host(s.name)]
    folder = os.path.join(bench.folder, "build")
    few = [(having[-1], backend, f"{folder}/{having[-1]}/semblance-{backend}")
           for _, backend, _ in binaries("semblance", ("ocl", "cuda-cpu"))]
    few = sorted(set(few))
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    made = subprocess.run(["make", "-s", f"BUILD={folder}", "EXTRA=-DT2_ABC_BYTES=200",
                           *(path for _, _, path in few)], cwd=ROOT, env=clean,
                          capture_output=True, text=True)
    bench.check("builds", made.stderr if made.returncode else None)
    bench.binaries = [] if made.returncode else few
    ranges = [(p0, p1, n) for (p0, p1, _), n in zip(RANGES, (7, 5, 3, 2, 1))]
    for local in ("1,1,1", "2,2,2", "3,1,2"):
        bench.compare(gather(random.Random(16), 4, 61), 0.12, 0.004, ranges,
                      (f"local={local}",))


def host(step):
    """host.h of a step, or nothing."""
    path = f"{ROOT}/steps/{step}/semblance/host.h"
    return open(path).read() if os.path.exists(path) else ""


@pytest.mark.seconds(60)
def test_cuda_keeps_windows_in_memory(bench):
    """Kernels for a known window need no private arrays, but for nodes, and what is only
    read goes through the read-only cache: nvcc's PTX says both. What a thread writes for
    itself, rows of base, is read plainly; knots and their list are too many to count."""
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not nvcc:
        pytest.skip("nvcc not found (CUDA Toolkit)")
    include = [word for folder in ("run", "su", "portable", "cuda", "semblance")
               for word in ("-I", f"{ROOT}/common/{folder}")]
    for step in (s.name for s in tree.steps()):
        source = f"{ROOT}/steps/{step}/semblance/cuda.cu"
        if not os.path.exists(source):
            continue
        path = os.path.join(bench.folder, "kernels.ptx")
        made = subprocess.run([nvcc, "-O3", "-arch=sm_75", "-ptx", "-o", path, *include,
                               source], capture_output=True, text=True)
        if made.returncode:
            bench.check(step, made.stderr[-300:])
            continue
        with open(path) as file:
            kernels = re.split(r"(?m)^\.visible \.entry ", file.read())[1:]
        windows = set()
        with open(f"{ROOT}/steps/{step}/semblance/body.h") as file:
            body = file.read()
        for kernel in kernels:
            w = int(re.match(r"\w*?ILi(\d+)E", kernel)[1])
            windows.add(w)
            if w and "NODES" not in body:
                bench.check(f"{step}, window of {w}", "an array in local memory"
                            if ".local" in kernel else None)
            plain = len(re.findall(r"ld\.global\.(?!nc)", kernel))
            cached = len(re.findall(r"ld\.global\.nc", kernel))
            own = 2 if "knots" not in body else 100
            bench.check(f"{step}, loads, window of {w}", None if plain <= own and cached else
                        f"{plain} plain loads, {cached} of read-only memory")
        expected = {0, 1, 3, 5, 7, 9, 11, 13, 15}
        bench.check(f"{step}, windows", None if windows == expected else f"{windows}")


def test_lessons_quote_what_is_not_there(bench):
    """C that a lesson quotes is in the step's sources, line after line."""
    for step in tree.steps():
        folder = f"{ROOT}/steps/{step.name}/semblance"
        sources = []
        for name in os.listdir(folder):
            with open(f"{folder}/{name}") as file:
                if name != "README.md":
                    sources.append("".join(line.strip() + "\n" for line in file))
        with open(f"{folder}/README.md") as file:
            quoted = re.findall(r"```c\n(.*?)```", file.read(), re.S)
        for number, text in enumerate(quoted, 1):
            text = "".join(line.strip() + "\n" for line in text.splitlines())
            bench.check(f"{step.name}, quotation {number}", None if
                        any(text in source for source in sources) else text[:80])
