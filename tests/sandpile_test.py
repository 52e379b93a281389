"""sandpile_test.py: what make verify does not ask of the sandpile.

Bad input: each case must end with exit status 1 and one line on stderr that says what is
wrong, and leave no file behind. Known answers: published numbers of steps and grains,
every size from 3 to 40 on the CPU, the asynchronous rule against the synchronous one.
The published mistakes: a sandpile that stops after a guessed number of steps, or when
nothing has changed. The picture's colours, and the trace of tiles. How the code is meant
to be: memory is touched first by the threads that use it, what a CUDA kernel only reads is
marked so, and __syncthreads_or of CUDA on the CPU is right.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

from tests.helpers import BUILD, ROOT, Tally, binaries, run
from tools.history import tree

CHECKER = os.path.join(BUILD, "sandpile-check")
KNOWN = {32: (241, 2136), 64: (1024, 9248), 128: (4242, 38344), 256: (17035, 157064)}
LARGE = {512: (69190, 633624)}  # for the fastest
COLOURS = {(16, 24, 48): 0, (38, 110, 156): 1, (230, 178, 80): 2, (160, 52, 40): 3}

tally = Tally()


def npy(descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (64 - (len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data


def grid(values, descr="<i4", shape=None):
    """values: rows of the cells within the border, as .npy."""
    n = len(values) + 2
    rows = [[0] * n] + [[0, *row, 0] for row in values] + [[0] * n]
    code = {"<i4": "i", "<f4": "f", "<f8": "d", "|u1": "B"}[descr]
    cells = [v for row in rows for v in row]
    return npy(descr, shape or (n, n), struct.pack(f"<{len(cells)}{code}", *cells))


def read_int32(path):
    with open(path, "rb") as file:
        raw = file.read()
    start = 10 + struct.unpack_from("<H", raw, 8)[0]
    assert b"'<i4'" in raw[:start], path
    return [x for x, in struct.iter_unpack("<i", raw[start:])]


def files():
    nan = float("nan")
    bare = npy("<i4", (3, 3), struct.pack("<9i", 0, 1, 0, 0, 4, 0, 0, 0, 0))
    return {
        "good": grid([[4, 1], [0, 7]]), "negative": grid([[4, -1], [0, 0]]),
        "broken": grid([[4, 0], [0.5, 0]], "<f4"), "nan": grid([[nan]], "<f8"),
        "huge": grid([[10 ** 9 + 1, 0], [0, 0]]), "border": bare,
        "flat": npy("<i4", (9,), bytes(36)), "oblong": npy("<i4", (3, 4), bytes(48)),
        "four": npy("<i4", (1, 1, 3, 3), bytes(36)), "none": npy("<i4", (0, 3, 3), b""),
        "two_cells": npy("<i4", (2, 2), bytes(16)), "cut": grid([[4]])[:-3],
        "type": npy("<i8", (3, 3), bytes(72)), "text": b"4 4 4\n4 4 4\n",
    }


# the words, what the line must say
BAD = [
    ("dim=2", r"dim=2: expected a whole number from 3 to 32768"),
    ("dim=0", r"dim=0: expected"), ("dim=-5", r"dim=-5: expected"),
    ("dim=3.5", r"dim=3\.5: expected"), ("dim=many", r"dim=many: expected"),
    ("dim=99999999999", r"dim=99999999999: expected"),
    ("dim=32768 batch=65535", r"the grids: .* GB needed"),
    ("config=alea", r"dim= is missing"),
    ("dim=9 config=pile", r"config=pile: expected 4partout, dim, alea, big or FILE\.npy"),
    ("dim=9 config=.npy", r"config=\.npy: expected"),
    ("dim=9 config=", r"config=: expected a text"),
    ("dim=9 max_iterations=-1", r"max_iterations=-1: expected"),
    ("dim=9 max_iterations=1e3", r"max_iterations=1e3: expected"),
    ("dim=9 batch=0", r"batch=0: expected"), ("dim=9 seed=-1", r"seed=-1: expected"),
    ("dim=9 tilew=-1", r"tilew=-1: expected"), ("dim=9 tileh=x", r"tileh=x: expected"),
    ("dim=9 rule=both", r"rule=both: expected sync or async"),
    ("dim=9 rule=async tileh=1", r"rule=async: expected tiles of at least 2 x 2"),
    ("dim=9 halo=-1", r"halo=-1: expected"), ("dim=9 halo=1025", r"halo=1025: expected"),
    ("dim=9 local=1,2", r"local=1,2: expected X,Y,Z"),
    ("dim=9 local=1,2,3,4", r"local=1,2,3,4: expected X,Y,Z|local=3,4"),
    ("dim=9 local=0,1,1", r"local=0: expected"),
    ("dim=9 local=64,64,1", r"at most 1024 work-items"),
    ("dim=9 dims=9", r"unknown key 'dims' \(did you mean 'dim'\?\)"),
    ("dim=9 dim=9", r"dim is given twice"), ("dim", r"dim: expected key=value"),
    ("config=../missing.npy", r"missing\.npy: No such file"),
    ("config=../good.npy dim=5", r"dim=5: \.\./good\.npy has 4"),
    ("config=../good.npy batch=2", r"batch=2: \.\./good\.npy has 1"),
    ("config=../negative.npy", r"-1 grains at grid 0, row 1, column 2: expected a whole"),
    ("config=../broken.npy", r"0\.5 grains at grid 0, row 2, column 1"),
    ("config=../nan.npy", r"nan grains at grid 0, row 1, column 1"),
    ("config=../huge.npy", r"grains at grid 0, row 1, column 1: .*to 1000000000"),
    ("config=../border.npy", r"1 grains at grid 0, row 0, column 1: expected 0 on the"),
    ("config=../flat.npy", r"expected a shape"), ("config=../oblong.npy", r"a shape"),
    ("config=../four.npy", r"expected a shape"), ("config=../none.npy", r"a shape"),
    ("config=../two_cells.npy", r"grids of 2 x 2: expected"),
    ("config=../cut.npy", r"truncated"), ("config=../type.npy", r"its type is '<i8'"),
    ("config=../text.npy", r"not an \.npy file"),
    ("dim=9 out=none/grid.npy", r"out=none/grid\.npy: cannot be written"),
    ("dim=9 picture=none/pile.png", r"picture=none/pile\.png: cannot be written"),
]


def refuses(result, pattern, folder):
    lines = result.stderr.splitlines()
    if result.returncode != 1:
        return f"exit status {result.returncode}"
    if len(lines) != 1 or not re.search(pattern, lines[0]):
        return f"says {result.stderr[:300]!r}, not {pattern}"
    if result.stdout:
        return f"prints {result.stdout[:80]!r}"
    return os.listdir(folder) and f"leaves {os.listdir(folder)}"


def bad_input(folder):
    for name, data in files().items():
        with open(os.path.join(folder, f"{name}.npy"), "wb") as file:
            file.write(data)
    work = os.path.join(folder, "work")
    os.mkdir(work)
    outputs = {"out": "grid.npy", "counts": "counts.npy", "picture": "pile.png"}
    seq, ocl = binaries("sandpile", ("seq",))[0], binaries("sandpile", ("ocl",))[-1:]
    for step, backend, path in [seq, *ocl, *binaries("sandpile", ("hybrid",))]:
        cases = list(BAD)
        if backend == "ocl":
            cases += [("dim=9 rule=async", r"rule=async: the back-ends seq and omp"),
                      ("dim=9 trace=t.csv", r"trace=: the back-end omp has it")]
        if backend == "hybrid":
            cases += [(f"dim=9 share={share}", rf"share={share}: expected auto, or percent")
                      for share in ("-1", "100.1", "nan", "half")]
            cases += [("dim=9 trace=t.csv", r"trace=: the back-end omp has it"),
                      ("dim=9 busy=none/b.csv", r"busy=none/b\.csv: cannot be written")]
        for text, pattern in cases:
            words = text.split()
            given = {w.partition("=")[0] for w in words}
            words += [f"{k}={v}" for k, v in outputs.items() if k not in given]
            tally.check(f"{step} {backend} {text}",
                        refuses(run([path, *words], work), pattern, work))
    told = run([seq[2], "config=../good.npy", "dim=4", "batch=1"], work)
    tally.check("a good file", told.returncode and told.stderr)


def values(result):
    return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)


def known(folder):
    """Published numbers, and every small size against the checker's oracles."""
    first = binaries("sandpile", ("seq",))[0][2]
    threads = {step: path for step, _, path in binaries("sandpile", ("omp",))}
    last = list(threads)[-1]
    for name, path in [("00_sequential", first), *threads.items()]:
        for dim, right in {**KNOWN, **(LARGE if name == last else {})}.items():
            # Threads that wait for each other at every step suffer from all that runs.
            threads_of = {"OMP_NUM_THREADS": "3" if dim < 100 else "1"}
            said = values(run([path, f"dim={dim}"], folder, threads_of))
            got = int(said["iterations"]), int(said["grains"])
            tally.check(f"{name} dim={dim}", got != right and f"{got}, not {right}")
    last = threads[last]
    said = values(run([last, "dim=256", "config=big"], folder, {"OMP_NUM_THREADS": "1"}))
    tally.check("big", said["iterations"] != "20521" and said["iterations"])
    for dim in range(3, 41):
        for config in ("4partout", "alea"):
            words = [f"dim={dim}", f"config={config}"]
            run([last, *words, "out=o.npy", "counts=c.npy", "tilew=9", "tileh=5"], folder,
                {"OMP_NUM_THREADS": "3"})
            told = run([CHECKER, *words, f"oracle=oracle{dim}{config}.npy",
                        "result=o.npy", "counts=c.npy"], folder)
            tally.check(f"{config} dim={dim}",
                        told.returncode and (told.stdout + told.stderr)[-200:])


def asynchronous(folder):
    """In place the same rest, whatever the tiles and threads; the sweeps are the tiles'
    own, not the threads'."""
    chosen = [binaries("sandpile", ("seq",))[0], *binaries("sandpile", ("omp",))]
    for step, backend, path in chosen:
        sweeps = {}
        for tiles in ("tilew=2 tileh=2", "tilew=7 tileh=3", "tilew=0 tileh=5"):
            for threads in ("1", "3"):
                for limit in ("", "max_iterations=9"):
                    words = ["dim=37", "config=alea", "batch=2", "rule=async",
                             *tiles.split(), *limit.split()]
                    ended = run([path, *words, "out=a.npy", "counts=n.npy"], folder,
                                {"OMP_NUM_THREADS": threads})
                    told = run([CHECKER, *words, f"oracle=async{limit}.npy",
                                "result=a.npy", "counts=n.npy"], folder)
                    tally.check(f"{step} {backend} async {tiles} {limit} {threads}",
                                (ended.returncode or told.returncode) and
                                (ended.stderr + told.stdout + told.stderr)[-200:])
                    sweeps.setdefault((tiles, limit), set()).add(
                        tuple(read_int32(os.path.join(folder, "n.npy"))))
        tally.check(f"{step} {backend}: sweeps depend on threads",
                    any(len(n) > 1 for n in sweeps.values()) and str(sweeps))
    # Between sweeps a cell holds more than twice the most that a file may say, and what
    # is written has 31 bits.
    with open(os.path.join(folder, "most.npy"), "wb") as file:
        file.write(grid([[10 ** 9] * 64] * 64))
    ended = run([chosen[1][2], "config=most.npy", "rule=async", "tilew=2", "tileh=2",
                 "max_iterations=12", "out=most_12.npy"], folder)
    cells = read_int32(os.path.join(folder, "most_12.npy"))
    tally.check("in place, the most a cell holds",
                (ended.returncode or min(cells) < 0 or max(cells) <= 2 * 10 ** 9) and
                f"{min(cells)} to {max(cells)} {ended.stderr[-80:]}")


def mistakes(folder):
    """What the paper's program does, and what it comes to."""
    path = binaries("sandpile", ("seq",))[0][2]
    for dim, factor in ((32, 7), (64, 8), (128, 8), (256, 8)):
        guess = dim // 32 * factor * dim
        steps = int(values(run([path, f"dim={dim}"], folder))["iterations"])
        tally.check(f"the guessed {guess} steps of dim={dim}, of {steps}",
                    (guess == steps) != (dim == 64) and "were fitted to dim=64 alone")
        said = values(run([path, f"dim={dim}", f"max_iterations={guess}"], folder))
        tally.check(f"a guess that is too low is seen, dim={dim}",
                    (said["stable"] == "1") != (guess >= steps) and said["stable"])
    # A cell of 4 among four cells of 4 does not change, and is not stable.
    run([path, "dim=9", "max_iterations=1", "out=one.npy"], folder)
    cells = read_int32(os.path.join(folder, "one.npy"))
    tally.check("an unchanged cell may be unstable", cells[4 * 9 + 4] != 4 and cells)
    # The largest cell can grow, but not beyond the number it fills: 4 becomes 7.
    with open(os.path.join(folder, "seven.npy"), "wb") as file:
        file.write(grid([[0, 4, 0], [4, 3, 4], [0, 4, 0]]))
    run([path, "config=seven.npy", "max_iterations=1", "out=one.npy"], folder)
    most = max(read_int32(os.path.join(folder, "one.npy")))
    tally.check("4 and 3 become 7", most != 7 and most)


def oracle_refuses(folder):
    """The checker sees one grain too many, a lost step, a grid of another shape."""
    path = binaries("sandpile", ("seq",))[0][2]
    run([path, "dim=12", "out=r.npy", "counts=k.npy"], folder)
    raw = bytearray(open(os.path.join(folder, "r.npy"), "rb").read())
    counts = open(os.path.join(folder, "k.npy"), "rb").read()

    def asked(result, count, words=("dim=12",)):
        for name, data in (("r2.npy", result), ("k2.npy", count)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        return run([CHECKER, *words, f"oracle=o{''.join(words)}.npy", "result=r2.npy",
                    "counts=k2.npy"], folder)

    tally.check("checker, right", asked(raw, counts).returncode)
    for cell in (12 + 1, 5 * 12 + 7, 10 * 12 + 10, 0, 11 * 12 + 11):
        for change in (1, 3, 255):
            wrong = bytearray(raw)
            wrong[128 + 4 * cell] = wrong[128 + 4 * cell] + change & 255
            told = asked(wrong, counts)
            tally.check(f"checker, cell {cell} + {change}",
                        "verdict=FAIL" not in told.stdout and told.stdout)
    late = counts[:-4] + struct.pack("<i", struct.unpack("<i", counts[-4:])[0] + 1)
    told = asked(raw, late)
    tally.check("checker, a step late", "iterations, expected" not in told.stdout)
    told = asked(raw, counts, ("dim=13",))
    tally.check("checker, another shape", "shape" not in told.stdout)


def picture_and_trace(folder):
    path = dict((b, p) for _, b, p in binaries("sandpile", ("omp",)))["omp"]
    run([path, "dim=20", "batch=2", "picture=p.png", "out=p.npy", "trace=t.csv",
         "tilew=6", "tileh=5"], folder, {"OMP_NUM_THREADS": "2"})
    raw = open(os.path.join(folder, "p.png"), "rb").read()
    at, packed = 8, b""
    while at < len(raw):
        size, kind = struct.unpack_from(">I4s", raw, at)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", raw, at + 8)
        packed += raw[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    tally.check("picture, shape", (width, height, depth, colour) != (40, 20, 8, 2))
    lines, above, seen = zlib.decompress(packed), [0] * 120, []
    for y in range(height):
        how, line = lines[y * 121], list(lines[y * 121 + 1:(y + 1) * 121])
        for i in range(120):  # PNG's five filters
            a, b = line[i - 3] if i > 2 else 0, above[i]
            c = above[i - 3] if i > 2 else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))
            line[i] = line[i] + (0, a, b, (a + b) // 2, near[2])[how] & 255
        seen += [COLOURS.get(tuple(line[i:i + 3])) for i in range(0, 120, 3)]
        above = line
    cells = read_int32(os.path.join(folder, "p.npy"))
    right = [cells[g * 400 + y * 20 + x] for y in range(20) for g in range(2)
             for x in range(20)]
    tally.check("picture, colours", seen != right and "a colour is another's")

    rows = open(os.path.join(folder, "t.csv")).read().split("\n")[1:-1]
    tiles = [[float(v) for v in row.split(",")] for row in rows]
    first = [t for t in tiles if t[0] == 0]
    tally.check("trace, tiles", len(first) < 8 and f"{len(first)} in the first step")
    tally.check("trace, times", any(not 0 <= t[7] <= t[8] for t in tiles))
    covered = {(t[1], x, y) for t in first for x in range(int(t[3]), int(t[3] + t[5]))
               for y in range(int(t[4]), int(t[4] + t[6]))}
    missing = [(g, x, y) for g in range(2) for x in range(1, 19) for y in range(1, 19)
               if (g, x, y) not in covered]
    tally.check("trace, every cell", missing[:3])


def meant(folder):
    """What no result shows."""
    for step in tree.steps():
        texts = {path.name: path.read_text()
                 for path in (step.folder / "sandpile").glob("c*.c*")}
        cpu = texts.get("cpu.c", "")
        spread = re.search(r"static void spread\(.*?\n}\n", cpu, re.S)
        touched = spread and {"schedule(runtime)", "memset("} <= set(
            re.findall(r"schedule\(runtime\)|memset\(", spread[0]))
        if "omp parallel" in cpu:
            tally.check(f"{step.name}: the threads that topple rows touch them first",
                        not (touched and cpu.count("untouched(") >= 2) and "they do not")
        for name, words in re.findall(r"__global__ void (\w+)\(([^)]*)\)",
                                      texts.get("cuda.cu", "")):
            bare = [w.strip() for w in words.split(",")
                    if re.match(r"\s*const\b.*\*", w) and "__restrict__" not in w]
            tally.check(f"{step.name} {name}: what is only read is __restrict__", bare)
    program = os.path.join(folder, "cuda_any")
    built = subprocess.run(
        ["gcc", "-std=c11", "-O1", "-fopenmp", "-Icommon/run", "-Icommon/cuda",
         "tests/cuda_any.c", "common/cuda/cuda_cpu.c", "common/run/run.c",
         "common/run/args.c", "-lm", "-o", program],
        cwd=ROOT, capture_output=True, text=True)
    tally.check("cuda_any.c", built.returncode and built.stderr[-300:])
    for _ in range(0 if built.returncode else 5):
        told = run([program], folder, {"OMP_WAIT_POLICY": "passive"})
        tally.check("__syncthreads_or", told.returncode and told.stdout)


def main():
    if not any(p.name == "sandpile" for p in tree.programs()):
        sys.exit("sandpile_test.py: no such program")
    for part in (bad_input, known, asynchronous, mistakes, oracle_refuses,
                 picture_and_trace, meant):
        with tempfile.TemporaryDirectory() as folder:
            part(folder)
    return tally.finish()


sys.exit(main())
