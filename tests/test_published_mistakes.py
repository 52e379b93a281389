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
import subprocess

import numpy as np
import pytest

from tests.helpers import BUILD, ROOT, binaries, front_ends, run, trace
from tools.history import tree
from tools.measure import registers

pytestmark = pytest.mark.drawn(5)
BUDGET = 1e-5  # absolute, for semblance and stack


class Traces:
    """A gather in memory: what the search needs, and its bytes as a file."""

    def __init__(self, dt, rows):
        """rows: a list of keyword arguments of helpers.trace."""
        self.dt = dt
        self.rows = [{"sy": 0, "gy": 0, "scalco": 1, **row} for row in rows]
        self.bytes = b"".join(trace(dt=dt, **row) for row in rows)


def gather(seed, ntraces, ns, dt=4000, spread=100, scalco=1, period=12.0):
    """Smooth traces, so that rounding of a time does not show, around (0, 0)."""
    rng, rows = random.Random(seed), []
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
    """All points of a query in double: .semblance and .stack by index, .best the largest."""

    def __init__(self, traces, t0, tau, ranges, scale=scale_of, window=None, last=1,
                 stride=None):
        """The last four are there to be got wrong: the factor of a coordinate, the samples of
        a window, the samples kept free at the end of a trace, and those of a row."""
        self.ranges, self.np = ranges, [n for _, _, n in ranges]
        idt = 1e6 / traces.dt
        half = int(tau * idt + 1e-3) if window is None else window // 2
        where = np.array([[scale(row["scalco"]) * (row["gy"] + sign * row["sy"]) / 2
                           for row in traces.rows] for sign in (1, -1)])
        samples = np.array([row["samples"] for row in traces.rows])
        count, ns = samples.shape
        flat = np.append(samples, np.zeros(5000))  # what a wrong index reads
        row = np.arange(count)[:, None] * (stride or ns)

        # One point of the search per row, one trace per column.
        dm, dh = where
        a, b, c, d, e = (value.ravel()[:, None] for value in np.meshgrid(
            *(p0 + np.arange(n) / n * (p1 - p0) for p0, p1, n in ranges), indexing="ij"))
        t2 = (t0 + a * dm + b * dh) ** 2 + c * dh * dh + d * dm * dm + e * dh * dm
        x = np.where(t2 >= 0, np.sqrt(np.maximum(t2, 0)) * idt, -1)
        # How near any window comes to a border, in samples.
        self.near = min(abs(x - half).min(), abs(x - (ns - half - 1)).min())
        used = (half <= x) & (x < ns - half - last)
        k = row + np.where(used, x, half).astype(int)[..., None] + np.arange(-half, half + 1)
        y = flat[k] + (flat[k + 1] - flat[k]) * (x - np.floor(x))[..., None]
        y *= used[..., None]
        num, den, n = y.sum(1), (y * y).sum((1, 2)), used.sum(1)
        good = (count - n < 2) & (den > 0)
        size = n * (2 * half + 1)
        self.semblance, self.stack = (
            np.divide(above, below, out=np.zeros(len(n)), where=good).reshape(self.np)
            for above, below in (((num * num).sum(1), den * n), (num.sum(1), size)))
        self.best = np.unravel_index(self.semblance.argmax(), self.np)

    def answer(self):
        """What a program that searched this would write."""
        values = [p0 + i / n * (p1 - p0) for i, (p0, p1, n) in zip(self.best, self.ranges)]
        return ([*values, self.stack[self.best], self.semblance[self.best]],
                self.semblance.max((2, 3, 4)))

    def problem(self, best, panel):
        """What is wrong with the answer [A, B, C, D, E, stack, semblance] and the panel,
        or nothing. Points that score the same within the budget are all right."""
        places = []
        for value, (p0, p1, n) in zip(best, self.ranges):
            i = (value - p0) / (p1 - p0) * n if p1 != p0 else 0
            if not abs(i - round(i)) < 1e-3 or not 0 <= round(i) < n:
                return f"{value} is not a value of {p0},{p1},{n}"
            places.append(round(i))
        at = tuple(places)
        most, expected = self.semblance[self.best], self.answer()[1]
        if not self.semblance[at] >= most - BUDGET:
            return f"found {at} with {self.semblance[at]}, {self.best} has {most}"
        for name, found, right in (("stack", best[5], self.stack[at]),
                                   ("semblance", best[6], self.semblance[at])):
            if not abs(found - right) <= BUDGET:
                return f"{name} {found}, not {right}, at {at}"
        if panel.size != expected.size:
            return f"a panel of {panel.size}, not {expected.size}"
        wrong = np.argwhere(~(abs(panel.reshape(expected.shape) - expected) <= BUDGET))
        return f"panel {wrong[0]} is not {expected[tuple(wrong[0])]}" if len(wrong) else None


# Steeper than any real moveout, since the traces are short.
RANGES = [(-3e-4, 3e-4, 3), (-3e-4, 3e-4, 4), (1e-7, 5e-7, 5), (1e-7, 5e-7, 2),
          (-3e-7, 3e-7, 6)]
TINY = [(-2e-4, 2e-4, 2), (-2e-4, 2e-4, 3), (1e-7, 5e-7, 2), (1e-7, 3e-7, 2),
        (0, 3e-7, 1)]


def counted(*counts):
    """RANGES with other numbers of values."""
    return [(p0, p1, n) for (p0, p1, _), n in zip(RANGES, counts)]


class Bench:
    """Runs every binary on a file, in an empty folder."""

    def __init__(self, check, folder):
        self.check, self.folder = check, folder
        self.binaries = binaries("semblance")

    def words(self, traces, t0, tau, ranges, more=()):
        (self.folder / "in.su").write_bytes(getattr(traces, "bytes", traces))
        return ["in=in.su", "axis=y", "m0=0", "h0=0", f"t0={t0}", f"tau={tau}",
                "out=out.npy", "panel=panel.npy", *more,
                *(f"{k}={p0!r},{p1!r},{n}" for k, (p0, p1, n) in zip("abcde", ranges))]

    def of(self, only):
        return [(f"{step} {backend}", path) for step, backend, path in self.binaries
                if not only or backend in only]

    def ask(self, binary, words, environment=None):
        """(problem, best, panel) of one run."""
        files = [self.folder / name for name in ("out.npy", "panel.npy")]
        for path in files:
            path.unlink(missing_ok=True)
        result = run([binary, *words], self.folder, environment)
        if result.returncode:
            return (f"exit status {result.returncode}: {result.stderr.strip()[-300:]}",
                    None, None)
        return (None, *map(np.load, files))

    def compare(self, traces, t0, tau, ranges, more=(), wrong=None, environment=None,
                only=None, permitted=None):
        """Every binary against the search in double. wrong, further arguments of Search,
        is the published mistake: its answer must not pass. A run may fail if its message
        has what is permitted."""
        right = Search(traces, t0, tau, ranges)
        if right.near < 1e-2:
            self.check("its data", f"a window comes within {right.near} of a border")
        if wrong:
            passes = not right.problem(*Search(traces, t0, tau, ranges, **wrong).answer())
            self.check("catches the mistake", "its answer would pass" if passes else None)
        words = self.words(traces, t0, tau, ranges, more)
        for name, path in self.of(only):
            problem, best, panel = self.ask(path, words, environment)
            if not problem:
                problem = right.problem(best, panel)
            elif permitted and permitted in problem:
                problem = None
            self.check(f"{name} {environment or ''}", problem)

    def refused(self, what, words, expected, environment=None, only=None):
        for name, path in self.of(only):
            result = run([path, *words], self.folder, environment)
            good = (result.returncode == 1 and not result.stdout
                    and re.search(expected, result.stderr))
            self.check(f"{what}, {name}", None if good else
                       f"exit status {result.returncode}, {result.stderr[-200:]!r}")


@pytest.fixture
def bench(check, tmp_path):
    bench = Bench(check, tmp_path)
    assert bench.binaries, f"no semblance binary in {BUILD}: make binaries"
    return bench


@pytest.mark.seconds(15)
def test_negative_scalco_keeps_its_sign(bench):
    for scalco in (-10, -1, 0, 10):
        data = gather(3, 6, 61, spread=round(100 / abs(scale_of(scalco))), scalco=scalco)
        wrong = {"scale": lambda s: s or 1} if scalco == -10 else None
        bench.compare(data, 0.12, 0.008, TINY, wrong=wrong)


@pytest.mark.seconds(15)
def test_data_ns_is_read_at_the_last_sample(bench):
    """Each trace ends next to one that is 100 times larger."""
    for beyond in (-1.5, -0.5, 0.5, 1.5):
        data = gather(4, 4, 41, spread=0)
        for row in data.rows[1::2]:
            row["samples"] = [100 * x for x in row["samples"]]
        t0 = (38 + beyond) * 0.004  # the window would end at sample 40 + beyond
        bench.compare(Traces(4000, data.rows), t0, 0.008, TINY,
                      wrong={"last": 0} if beyond == 0.5 else None)


@pytest.mark.seconds(15)
def test_late_samples_come_from_the_next_trace(bench):
    """2502 samples, of which a row of the published code held 2052."""
    data = gather(5, 3, 2502, dt=2000, spread=40, period=300)
    for t0 in (4.41, 4.95):
        bench.compare(data, t0, 0.01, TINY, wrong={"stride": 2052})


@pytest.mark.seconds(20)
def test_index_is_wrong_unless_all_np_are_equal(bench):
    for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        bench.compare(gather(6, 6, 61), 0.12, 0.008, counted(*(RANGES[k][2] for k in order)))


@pytest.mark.seconds(20)
def test_np_7_is_an_invalid_work_group_size(bench):
    for counts, more in (((7, 7, 7, 1, 1), ()), ((1, 1, 1, 1, 1), ()),
                         ((7, 1, 5, 1, 2), ("local=3,5,2",)),
                         ((5, 7, 2, 2, 1), ("local=8,1,4",))):
        bench.compare(gather(7, 4, 61), 0.12, 0.004, counted(*counts), more)


@pytest.mark.seconds(20)
def test_window_is_fixed_at_5(bench):
    """tau 0 and 0.02 s, and 0.2 s: the widest."""
    for tau, ns, t0 in ((0, 61, 0.06), (0.02, 61, 0.06), (0.2, 301, 0.3)):
        bench.compare(gather(8, 5, ns, dt=2000, spread=60), t0, tau, TINY, wrong={"window": 5})


@pytest.mark.seconds(15)
def test_t0_nan_and_1e9_crash(bench):
    data = gather(9, 3, 41)
    # Large but valid values are searched, and nothing is found.
    wild = [(-1e3, 1e3, 3), (-1e3, 1e3, 2), (-1e3, 1e3, 2), (0, 1e3, 2), (0, 1, 1)]
    words = bench.words(data, 0.08, 0.008, wild)
    words = [{"m0=0": "m0=1e9", "h0=0": "h0=-1e9"}.get(word, word) for word in words]
    for name, path in bench.of(None):
        problem, best, _ = bench.ask(path, words)
        bench.check(f"m0 and h0 of 1e9, ranges of 1e3, {name}",
                    problem or (None if best[6] == 0 else f"found {best}"))
    bench.binaries = front_ends("semblance")
    for t0 in ("nan", "1e9", "inf"):
        bench.refused(f"t0={t0}", bench.words(data, t0, 0.008, TINY), r"t0=\S+: expected")


def test_bad_files_and_np_are_accepted(bench):
    bench.binaries = front_ends("semblance")
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
    data = gather(10, 4, 41)
    words = bench.words(data, 0.08, 0.008, TINY)
    cuda = ("ocl", "cuda", "cuda-cpu")
    for name, value, expected, only in (
            ("DEVICE", "9:0", "no platform 9", ("ocl",)), ("DEVICE", "9", "DEVICE=9: ", cuda),
            ("DEVICE", "x", "DEVICE=x: expected", cuda),
            ("OCL_ICD_VENDORS", "/nonexistent", "no OpenCL platform", ("ocl",))):
        bench.refused(f"{name}={value}", words, expected, {name: value}, only)
    bench.compare(data, 0.08, 0.008, TINY, environment={"DEVICE": "0:0"}, only=("ocl",))
    # Either kind is there and right, or it is not and the run says so.
    for kind in ("gpu", "cpu"):
        bench.compare(data, 0.08, 0.008, TINY, environment={"DEVICE": kind}, only=("ocl",),
                      permitted=f"DEVICE={kind}: no such device")


def test_kernel_is_read_from_the_working_directory(bench):
    """Every run has a folder of its own already; here it holds kernels to be misled by."""
    for name in ("kernel.cl", "body.h", "query.h", "portable.h"):
        (bench.folder / name).write_text("this is not a kernel\n")
    bench.compare(gather(11, 4, 41), 0.08, 0.008, TINY, only=("ocl",))


def sources(name):
    """[(step, path)] of a source of semblance."""
    paths = ((s.name, s.folder / "semblance" / name) for s in tree.steps())
    return [(step, path) for step, path in paths if path.exists()]


@pytest.mark.seconds(10)
def test_local_inside_a_function_does_not_build(bench, tmp_path):
    """clang as the strictest reader of OpenCL C 1.2, with local memory both in use and
    replaced by private memory, and the device's own compiler with local memory in use: on a
    CPU, step 07 replaces it unless DEVICE_AS=gpu."""
    clang = registers.tool("clang-14", "clang")
    if not clang:
        pytest.skip("clang-14 not found (Debian: clang-14)")
    published = tmp_path / "published.cl"
    published.write_text("void f(void) { __local float num[8]; num[0] = 0; }\n"
                         "__kernel void search(void) { f(); }\n")
    for step, path in [("published", published), *sources("kernel.cl")]:
        for local in ("__local", "__private"):
            ended = subprocess.run(
                [clang, "-x", "cl", "-cl-std=CL1.2", "-Wall", "-Wextra", "-Werror",
                 "-fsyntax-only", "-Xclang", "-finclude-default-header", "-D", "WINDOW=11",
                 "-D", "SLICES=8", *(["-D", "LOCAL=__private"] if local != "__local" else []),
                 f"-I{path.parent}", "-Icommon/portable", "-Icommon/semblance", path],
                cwd=ROOT, capture_output=True, text=True)
            bench.check(f"{step}, {local}", ended.returncode and (ended.stderr[:600] or "fails")
                        if path != published else
                        not ended.returncode and "what was published is accepted")
    bench.compare(gather(10, 4, 41), 0.08, 0.008, TINY, environment={"DEVICE_AS": "gpu"},
                  only=("ocl",))


@pytest.mark.seconds(15)
def test_ns_65535_is_negative(bench):
    """ns and dt are unsigned: read as short they are below 0."""
    data = gather(12, 3, 65535, dt=100, spread=0, period=20000)
    bench.compare(data, 6.5, 0.01, TINY)
    data = gather(13, 3, 41, dt=65535, spread=0)
    bench.compare(data, 1.1, 0.14, TINY)


def test_x_coordinates_count(bench):
    data, rng = gather(14, 5, 41), random.Random(14)
    moved = Traces(4000, [{**row, "sx": rng.randint(-9999, 9999),
                           "gx": rng.randint(-9999, 9999)} for row in data.rows])
    bench.compare(moved, 0.08, 0.008, TINY)
    for name, path in bench.of(None):
        one, two = (bench.ask(path, bench.words(some, 0.08, 0.008, TINY))
                    for some in (data, moved))
        bench.check(f"same bytes, {name}", one[0] or two[0] or (
            one[1].tobytes() != two[1].tobytes() and f"{one[1]} became {two[1]}"))


@pytest.mark.seconds(15)
def test_ties_go_to_any_index(bench):
    """All traces at the output point: no parameter moves them, every point scores the
    same. And zeros: every point scores 0."""
    ranges = [(p0 + 1e-7, p1, n) for p0, p1, n in RANGES]
    first = [float(np.float32(p0)) for p0, _, _ in ranges]
    for what, data in (("no displacement", gather(15, 5, 41, spread=0)),
                       ("zeros", Traces(4000, [{"samples": [0.0] * 41, "sy": 9 * i}
                                               for i in range(4)]))):
        right = Search(data, 0.08, 0.008, ranges)
        words = bench.words(data, 0.08, 0.008, ranges)
        for name, path in bench.of(None):
            problem, best, panel = bench.ask(path, words)
            problem = problem or right.problem(best, panel)
            if not problem and list(best[:5]) != first:
                problem = f"{best[:5]} is not the first point, {first}"
            if not problem and len(set(panel.flat)) != 1:
                problem = f"the panel is not constant: {sorted(set(panel.flat))}"
            bench.check(f"{what}, {name}", problem)


@pytest.mark.seconds(30)
def test_bounded_base_leaves_parts_out(bench):
    """From 05 on devices have a row of memory for each work-item, but only so many: with
    memory for a few, each work-item must take several parts."""
    step = [s for s, path in sources("host.h") if "T2_ABC_BYTES" in path.read_text()][-1]
    folder = bench.folder / "build"
    few = sorted({(step, backend, f"{folder}/{step}/semblance-{backend}")
                  for _, backend, _ in binaries("semblance", ("ocl", "cuda-cpu"))})
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    made = subprocess.run(["make", "-s", f"BUILD={folder}", "EXTRA=-DT2_ABC_BYTES=200",
                           *(path for _, _, path in few)], cwd=ROOT, env=clean,
                          capture_output=True, text=True)
    bench.check("builds", made.stderr if made.returncode else None)
    bench.binaries = [] if made.returncode else few
    for local in ("1,1,1", "2,2,2", "3,1,2"):
        bench.compare(gather(16, 4, 61), 0.12, 0.004, counted(7, 5, 3, 2, 1),
                      (f"local={local}",))


@pytest.mark.seconds(60)
def test_cuda_keeps_windows_in_memory(bench):
    """Kernels for a known window need no private arrays, but for nodes, and what is only
    read goes through the read-only cache: nvcc's PTX says both. What a thread writes for
    itself, rows of base, is read plainly; knots and their list are too many to count."""
    nvcc = registers.tool("nvcc")
    if not nvcc:
        pytest.skip("nvcc not found (CUDA Toolkit)")
    for step, source in sources("cuda.cu"):
        path = bench.folder / "kernels.ptx"
        made = subprocess.run([nvcc, "-O3", "-arch=sm_75", "-ptx", "-o", path,
                               *registers.INCLUDES, "-Icommon/semblance", source], cwd=ROOT,
                              capture_output=True, text=True)
        if made.returncode:
            bench.check(step, made.stderr[-300:])
            continue
        windows, body = set(), source.with_name("body.h").read_text()
        for kernel in re.split(r"(?m)^\.visible \.entry ", path.read_text())[1:]:
            instance = re.findall(r"^\w*?ILi(\d+)E", kernel)
            if not instance:  # window=moveout: the length of the window does not matter
                continue
            w = int(instance[0])
            windows.add(w)
            if w and "NODES" not in body:
                bench.check(f"{step}, window of {w}", "an array in local memory"
                            if ".local" in kernel else None)
            plain = len(re.findall(r"ld\.global\.(?!nc)", kernel))
            cached = len(re.findall(r"ld\.global\.nc", kernel))
            own = 2 if "knots" not in body else 100
            bench.check(f"{step}, loads, window of {w}", None if plain <= own and cached else
                        f"{plain} plain loads, {cached} of read-only memory")
        bench.check(f"{step}, windows", windows != {0, *range(1, 16, 2)} and f"{windows}")


def test_lessons_quote_what_is_not_there(bench):
    """C that a lesson quotes is in the step's sources, line after line."""
    def plain(text):
        return "".join(line.strip() + "\n" for line in text.splitlines())
    for step, lesson in sources("README.md"):
        texts = [plain(p.read_text()) for p in lesson.parent.iterdir() if p.suffix != ".md"]
        for number, text in enumerate(re.findall(r"```c\n(.*?)```", lesson.read_text(), re.S), 1):
            bench.check(f"{step}, quotation {number}", None if
                        any(plain(text) in source for source in texts) else text[:80])
