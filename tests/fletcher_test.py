"""fletcher_test.py - what the wave modelling has to refuse, and what is known of its waves
without a reference: where fields lie, derivatives of polynomials, p = q in isotropic
rock, the speed of a front along layers and across them, the tilt of its ellipse, energy
that stays bounded.

Run from anywhere; the binaries are those of BUILD.
"""
import array
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

from tests.helpers import ROOT, Tally, binaries, run
from tools.history import tree

# A good call: every case changes something of it.
QUERY = dict(nx="5", ny="4", nz="6", absorb="1", dx="10", dy="11", dz="12", dt="0.001",
             tmax="0.003", out="out.npy", q="q.npy", picture="p.png", snapshots="s")


def npy(path, shape, values, kind="<f4"):
    """Writes a .npy, version 1.0."""
    code = {"<f4": "f", "<f8": "d", "<i4": "i"}[kind]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{code}", *values))


def field(path):
    """(shape, values) of a float32 .npy."""
    with open(path, "rb") as file:
        raw = file.read()
    start = 10 + struct.unpack_from("<H", raw, 8)[0]
    shape = [int(n) for n in re.findall(rb"\d+", raw[10:start].split(b"'shape':")[1])]
    return shape, array.array("f", raw[start:])


def media(folder):
    """Files that are no medium of QUERY's grid, and one that is."""
    good, shape = [2000.0] * 120, (6, 4, 5)
    path = lambda name: os.path.join(folder, name + ".npy")
    npy(path("good"), shape, good)
    npy(path("good8"), shape, good, "<f8")
    npy(path("turned"), (5, 4, 6), good)
    npy(path("flat"), (120,), good)
    npy(path("short"), (6, 4, 4), good[:96])
    npy(path("ints"), shape, [2000] * 120, "<i4")
    npy(path("truncated"), shape, good[:-1])
    for name, bad in (("nan", math.nan), ("inf", math.inf), ("zero", 0.0),
                      ("minus", -2000.0), ("fast", 2e9)):
        npy(path(name), shape, good[:77] + [bad] + good[78:])
    npy(path("thin"), shape, [0.1] * 50 + [-0.5] + [0.1] * 69)
    npy(path("turns"), shape, [0.1] * 119 + [1000.0])
    with open(path("text"), "w", encoding="ascii") as file:
        file.write("not an array\n" * 20)


# what it changes in QUERY, what the line must say.
BAD = [
    ("dt=0.002", r"dt=0\.002: unstable, at most 0\.00123\d* s for 10 m .* 3649\.66 m/s"),
    ("form=ISO dt=0.00151", r"dt=0\.00151: unstable, at most 0\.0015 s"),
    ("dx=2", r"dt=0\.001: unstable, at most 0\.0002\d+ s for 2 m"),
    ("vpz=5000", r"unstable, at most"),
    ("dt=nan", r"dt=nan: expected a number"),
    ("dt=0", r"dt=0: expected a number"),
    ("dt=-0.001", r"dt=-0\.001: expected a number"),
    ("tmax=0", r"tmax=0: expected a number"),
    ("tmax=inf", r"tmax=inf: expected a number"),
    ("tmax=1e6 dt=1e-6", r"tmax=1e\+06: 1e\+12 steps"),
    ("nx=0", r"nx=0: expected a whole number from 1"),
    ("ny=-3", r"ny=-3: expected a whole number from 1"),
    ("nz=2.5", r"nz=2\.5: expected a whole number"),
    ("nx=many", r"nx=many: expected a whole number"),
    ("nx=9000000000", r"nx=9000000000: expected a whole number"),
    ("nx=20000 ny=20000 nz=20000", r"needs at least 4\.\d+e\+05 GB, this machine has"),
    ("nx=100000 ny=100000 nz=100000 absorb=10000", r"needs at least .* GB"),
    ("absorb=-1", r"absorb=-1: expected a whole number from 0"),
    ("dy=0", r"dy=0: expected a number"),
    ("dz=thick", r"dz=thick: expected a number"),
    ("form=HTI", r"form=HTI: expected ISO, VTI or TTI"),
    ("form=tti", r"form=tti: expected ISO, VTI or TTI"),
    ("vpz=0", r"vpz=0: expected above 0"),
    ("vpz=-1500", r"vpz=-1500: expected above 0"),
    ("vpz=nan", r"vpz=nan: expected a number"),
    ("vpz=3000m/s", r"vpz=3000m/s: expected a number"),
    ("epsilon=-0.5", r"epsilon=-0\.5: expected above -0\.5"),
    ("delta=-0.7", r"delta=-0\.7: expected above -0\.5"),
    ("theta=1e6", r"theta=1e6: expected -100 to 100 radians"),
    ("sigma=0", r"sigma=0: expected a number"),
    ("vpz=none.npy", r"vpz=none\.npy: No such file"),
    ("vpz=", r"vpz=: expected a text"),
    ("vpz=..", r"vpz=\.\.: "),
    ("vpz=../turned.npy", r"shape is \(5, 4, 6\), expected .* is \(6, 4, 5\)"),
    ("delta=../flat.npy", r"delta=.*shape is \(120\), expected"),
    ("theta=../short.npy", r"theta=.*shape is \(6, 4, 4\), expected"),
    ("vpz=../ints.npy", r"expected float32 or float64"),
    ("vpz=../truncated.npy", r"truncated"),
    ("vpz=../text.npy", r"not an \.npy file"),
    ("vpz=../nan.npy", r"nan at \(z 3, y 3, x 2\), expected above 0"),
    ("vpz=../inf.npy", r"inf at \(z 3, y 3, x 2\)"),
    ("vpz=../zero.npy", r" 0 at \(z 3, y 3, x 2\), expected above 0"),
    ("vpz=../minus.npy", r"-2000 at \(z 3, y 3, x 2\)"),
    ("vpz=../fast.npy", r"2e\+09 at \(z 3, y 3, x 2\)"),
    ("epsilon=../thin.npy", r"-0\.5 at \(z 2, y 2, x 0\), expected above -0\.5"),
    ("phi=../turns.npy", r"1000 at .* expected -100 to 100 radians"),
    ("local=4,4", r"local=4,4: expected X,Y,Z"),
    ("local=1,2,3,4", r"local=.*: expected"),
    ("local=0,1,1", r"local=0: expected a whole number from 1"),
    ("pad=2", r"pad=2: expected a whole number from 0 to 1"),
    ("outt=x.npy", r"unknown key 'outt' \(did you mean 'out'\?\)"),
    ("tti", r"tti: expected key=value"),
    ("out=none/p.npy", r"out=none/p\.npy: cannot be written"),
    ("q=..", r"q=\.\.: cannot be written"),
    ("picture=/dev/null/p.png", r"picture=/dev/null/p\.png: cannot be written"),
    ("snapshots=/dev/null", r"snapshots=/dev/null: not a folder"),
    ("snapshots=none/at/all", r"snapshots=none/at/all: not a folder"),
]


def words(changes):
    query, rest = dict(QUERY), []
    for word in changes.split():
        key, equals, value = word.partition("=")
        if equals and key.isalpha() and len(key) < 10:
            query[key] = value
        else:
            rest.append(word)
    return [f"{key}={value}" for key, value in query.items()] + rest


def cleaned(folder):
    """Removes what a run left; its names."""
    left = []
    for place, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.remove(os.path.join(place, name))
            left.append(name)
        for name in folders:
            os.rmdir(os.path.join(place, name))
            left.append(name + "/")
    return left


def refused(tally, where, binary, folder):
    work = os.path.join(folder, "work")
    for changes, expected in BAD:
        ended = run([binary, *words(changes)], work)
        left = cleaned(work)
        lines = ended.stderr.splitlines()
        problem = None
        if ended.returncode != 1:
            problem = f"exit status {ended.returncode}: {ended.stderr[-200:]!r}"
        elif ended.stdout or left:
            problem = f"stdout {ended.stdout[:80]!r}, left behind: {left}"
        elif len(lines) != 1 or not lines[0].startswith("fletcher: "):
            problem = f"not one line: {ended.stderr[:300]!r}"
        elif not re.search(expected, lines[0]):
            problem = f"{lines[0]!r} does not say {expected!r}"
        tally.check(f"{where}, {changes}", problem)

    for call, status in (([], 1), (["help"], 0), (["nx=3", "--help"], 0)):
        ended = run([binary, *call], work)
        good = ended.returncode == status and "absorb=" in ended.stdout
        tally.check(f"{where}, help by {call}", None if good else repr(ended))
    with open("/dev/full", "w", encoding="ascii") as full:
        ended = run([binary, "nx=3", "ny=3", "nz=3", "absorb=1", "tmax=0.001"], work,
                    stdout=full)
    tally.check(f"{where}, standard output full",
                None if ended.returncode == 1 and "cannot be written" in ended.stderr
                else repr(ended))


def accepted(tally, where, binary, folder):
    """What is right is modelled, or all of the above would prove nothing."""
    work = os.path.join(folder, "work")
    for changes in ("", "vpz=../good.npy", "vpz=../good8.npy delta=0.1", "vpz=2500 sigma=11",
                    "nx=1 ny=1 nz=1", "pad=0", "local=3,2,1"):
        ended = run([binary, *words(changes)], work)
        left = cleaned(work)
        good = (ended.returncode == 0 and not ended.stderr and "MSamples/s=" in ended.stdout
                and sorted(left) == ["out.npy", "p.png", "q.npy", "s/"])
        tally.check(f"{where}, good input {changes}", None if good else repr((ended, left)))
    ended = run([binary, *words("absorb=0")], work)
    cleaned(work)
    good = ended.returncode == 0 and re.fullmatch(r"fletcher: absorb=0: .*\n", ended.stderr)
    tally.check(f"{where}, absorb=0 is said", None if good else repr(ended))


# ---- what is written ---------------------------------------------------------------


def snapshots(tally, binary, folder):
    """One every hundredth of a second; the last is what out= has."""
    work = os.path.join(folder, "work")
    ended = run([binary, *words("tmax=0.03")], work)
    names = sorted(os.listdir(os.path.join(work, "s")))
    same = False
    if names:
        with open(os.path.join(work, "s", names[-1]), "rb") as last, \
                open(os.path.join(work, "out.npy"), "rb") as out:
            same = last.read() == out.read()
    expected = [f"p-{n:04}.npy" for n in (1, 2, 3)]
    tally.check("snapshots", None if names == expected and same else
                f"{names}, the last one is out.npy: {same}; {ended.stderr}")
    with open(os.path.join(work, "p.png"), "rb") as file:
        raw = file.read()
    cleaned(work)

    at, chunks, problem = 8, [], None
    while at < len(raw):
        size, = struct.unpack_from(">I", raw, at)
        name, data = raw[at + 4:at + 8], raw[at + 8:at + 8 + size]
        if struct.unpack_from(">I", raw, at + 8 + size)[0] != zlib.crc32(name + data):
            problem = f"{name}: wrong CRC"
        chunks.append((name, data))
        at += size + 12
    if raw[:8] != b"\x89PNG\r\n\x1a\n" or [n for n, _ in chunks] != [b"IHDR", b"IDAT", b"IEND"]:
        problem = f"not a PNG: {[n for n, _ in chunks]}"
    elif struct.unpack(">II", chunks[0][1][:8]) != (15, 16):
        problem = f"its size is {struct.unpack('>II', chunks[0][1][:8])}, not (15, 16)"
    elif len(zlib.decompress(chunks[1][1])) != 16 * (3 * 15 + 1):
        problem = "its pixels are not those of its size"
    tally.check("picture", problem)


def padding(tally, binary, folder):
    """Rows and planes that are padded hold the same waves."""
    work, seen = os.path.join(folder, "work"), []
    for pad in "01":
        run([binary, *words(f"pad={pad} tmax=0.02")], work)
        with open(os.path.join(work, "out.npy"), "rb") as file:
            seen.append(file.read())
        cleaned(work)
    tally.check("pad=0 and pad=1", None if seen[0] == seen[1] else "p differs")


# ---- what is known -----------------------------------------------------------------


def polynomials(tally, folder):
    for step in tree.steps():
        if not (step.folder / "fletcher").is_dir():
            continue
        program = os.path.join(folder, "weights")
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", "-Wno-unknown-pragmas", "-Icommon/portable",
             "-Icommon/fletcher", f"-Isteps/{step.name}/fletcher", "-DLANES=1",
             "tests/fletcher_weights.c", "-o", program], cwd=ROOT, capture_output=True,
            text=True)
        if made.returncode:
            tally.check(f"{step.name}: polynomials", made.stderr[-300:])
            continue
        ended = run([program], folder)
        tally.check(f"{step.name}: polynomials",
                    None if ended.returncode == 0 and "exact" in ended.stdout
                    else ended.stdout)


# Points inside, and threads: more of these than rows; shares that are not equal; rows
# too long for a cache.
LAYOUTS = ("nx=1 ny=1 nz=1 1", "nx=5 ny=3 nz=2 64", "nx=21 ny=50 nz=3 7",
           "nx=29 ny=90 nz=70 2", "nx=600 ny=9 nz=1 3")


def layout(tally, folder):
    """Fields as each step's cpu.c makes them, in memory that is not 0 by chance."""
    program = os.path.join(folder, "layout")
    front = [f"common/fletcher/{name}.c" for name in ("model", "field", "slab")]
    front += [f"common/run/{name}.c" for name in ("run", "args", "npy")]
    for step in tree.steps():
        source = step.folder / "fletcher" / "cpu.c"
        if not source.exists():
            continue
        tiles = ["-DTILES"] if "static int tile;" in source.read_text() else []
        made = subprocess.run(
            ["gcc", "-std=c11", "-O1", "-fopenmp", *tiles, "-Icommon/portable",
             "-Icommon/run", "-Icommon/fletcher", f"-I{source.parent}",
             "tests/fletcher_layout.c", *front, "-lm", "-o", program], cwd=ROOT,
            capture_output=True, text=True)
        if made.returncode:
            tally.check(f"{step.name}: layout", made.stderr[-300:])
            continue
        for words_ in LAYOUTS:
            ended = run([program, *words_.split()], folder, {"MALLOC_PERTURB_": "85"})
            good = ended.returncode == 0 and ended.stdout == "right\n"
            tally.check(f"{step.name}: layout, {words_}",
                        None if good else f"exit status {ended.returncode}: "
                                          f"{ended.stdout}{ended.stderr[-300:]}")


def bounds_of_maps(source, include):
    """What gcc would do with the clauses of an OpenACC source on a device: the maps that
    take a pointer for the 8 bytes of itself, as it does where a clause has no bounds."""
    folders = [f"-I{folder}" for folder in include]
    with tempfile.TemporaryDirectory() as folder:
        dump = os.path.join(folder, "gimple")
        made = subprocess.run(["gcc", "-std=c11", "-fopenacc", f"-fdump-tree-gimple={dump}",
                               *folders, "-S", "-o", os.devnull, source], cwd=ROOT,
                              capture_output=True, text=True)
        if made.returncode:
            return [made.stderr[-300:]]
        with open(dump, encoding="utf-8") as file:
            maps = re.findall(r"map\((?!firstprivate)[^)]*\)", file.read())
    return [m for m in maps if "[len: 8]" in m] if maps else ["no maps at all"]


def device_maps(tally):
    """`present(p)` on a pointer asks for the pointer, and `delete(p)` gives back 8 bytes:
    on the host, which has no maps, nobody would notice."""
    include = ["common/portable", "common/run", "common/fletcher"]
    for path in sorted(tree.ROOT.glob("steps/*/fletcher/openacc.c")) + sorted(
            tree.ROOT.glob("steps/*/variants/*.fletcher/openacc.c")):
        name = path.relative_to(tree.ROOT / "steps")
        code = path.parents[2] / "fletcher" if "variants" in path.parts else path.parent
        wrong = bounds_of_maps(path, [path.parent, code, *include])
        tally.check(f"{name}: bounds of maps", "; ".join(wrong) or None)


def single_precision(tally):
    """The paper's listing has a double 2.0 in the middle of float arithmetic."""
    for path in sorted(tree.ROOT.glob("steps/*/fletcher/body.h")):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        doubles = re.findall(r"\b\d+\.\d*(?:e[+-]?\d+)?(?![\dfe])|\bdouble\b", code)
        tally.check(f"{path.parent.parent.name}: float only", ", ".join(doubles))


def modelled(binary, work, call):
    ended = run([binary, *call.split()], work, {"OMP_NUM_THREADS": "2"})
    if ended.returncode:
        raise SystemExit(f"{binary} {call}: {ended.stderr}")
    return {k: float(v) for k, _, v in
            (line.partition("=") for line in ended.stdout.splitlines())}


def isotropic(tally, binary, work):
    modelled(binary, work, "form=ISO nx=21 ny=18 nz=25 absorb=4 tmax=0.1 out=p.npy q=q.npy")
    p, q = field(os.path.join(work, "p.npy"))[1], field(os.path.join(work, "q.npy"))[1]
    good = p.tobytes() == q.tobytes() and any(p)
    tally.check("isotropic rock: p is q", None if good else "they differ")
    cleaned(work)


def front(values):
    """Where, in grid points from the first, a wave that comes from there changes its sign
    last: behind the first lobe of the source's signal."""
    limit = 0.005 * max(map(abs, values))
    at = max(i for i, v in enumerate(values) if abs(v) > limit)
    while values[at] * values[at - 1] > 0:
        at -= 1
    before, after = values[at - 1], values[at]
    return at - 1 + before / (before - after)


def speeds(tally, binary, work):
    """In upright layers p travels at vpz sqrt(1 + 2 epsilon) along them, at vpz across."""
    modelled(binary, work, "form=VTI nx=130 ny=70 nz=130 absorb=0 tmax=0.18 out=p.npy "
                           "snapshots=s dx=10 dy=10 dz=10")
    known = {"along x": 3000 * math.sqrt(1.48), "along z": 3000.0}
    places = {name: [] for name in known}
    for number in (13, 17):
        (sz, sy, sx), p = field(os.path.join(work, "s", f"p-{number:04}.npy"))
        middle = (sz // 2 * sy + sy // 2) * sx + sx // 2
        places["along x"].append(front(p[middle:middle + sx // 2 - 4]))
        places["along z"].append(front(p[middle::sx * sy][:sz // 2 - 4]))
    for name, speed in known.items():
        got = (places[name][1] - places[name][0]) * 10 / 0.04
        tally.check(f"speed of a front {name}",
                    None if abs(got / speed - 1) < 0.01 else f"{got:.0f} m/s, not {speed:.0f}")
    cleaned(work)


def tilt(tally, binary, work):
    """The ellipse's long axis lies across the axis of symmetry, which dips towards +x."""
    for theta, sign in ((0.6, -1), (-0.6, 1)):
        modelled(binary, work, f"form=TTI theta={theta} phi=0 nx=60 ny=44 nz=60 absorb=0 "
                               "tmax=0.12 out=p.npy")
        (sz, sy, sx), p = field(os.path.join(work, "p.npy"))
        plane = [p[(z * sy + sy // 2) * sx:][:sx] for z in range(sz)]
        mixed = sum((x - sx // 2) * (z - sz // 2) * v * v
                    for z, row in enumerate(plane) for x, v in enumerate(row))
        round_ = sum(((x - sx // 2) ** 2 + (z - sz // 2) ** 2) * v * v
                     for z, row in enumerate(plane) for x, v in enumerate(row))
        tally.check(f"tilt of the front, theta {theta}",
                    None if sign * mixed > 0.02 * round_ else f"{mixed / round_:.3f}")
        cleaned(work)


def bounded(tally, binary, work):
    """2,000 steps at the limit of stability: no energy comes from nowhere."""
    for form, dt in (("ISO", 0.00187), ("VTI", 0.00154), ("TTI", 0.00154)):
        call = f"form={form} nx=20 ny=17 nz=23 absorb=4 dt={dt} tmax="
        early = modelled(binary, work, call + str(400 * dt))["Energy"]
        late = modelled(binary, work, call + str(2000 * dt))["Energy"]
        tally.check(f"{form}: energy after 2,000 steps",
                    None if 0 < late < 4 * early else f"{late:g}, {early:g} after 400")


def main():
    tally = Tally()
    found = binaries("fletcher")
    first = [b for b in found if b[1] == "seq"][:1]
    opencl = [b for b in found if b[1] == "ocl"][-1:]
    fast = [b for b in found if b[1] == "omp"][-1:]
    if not first or not fast:
        sys.exit("fletcher_test.py: no fletcher-seq or fletcher-omp (make binaries)")
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "work")
        os.mkdir(work)
        media(folder)
        for step, backend, binary in first + opencl:
            refused(tally, f"{step} {backend}", binary, folder)
            accepted(tally, f"{step} {backend}", binary, folder)
        snapshots(tally, first[0][2], folder)
        padding(tally, fast[0][2], folder)
        polynomials(tally, folder)
        layout(tally, folder)
        device_maps(tally)
        single_precision(tally)
        for check in (isotropic, speeds, tilt, bounded):
            check(tally, fast[0][2], work)
    return tally.finish()


sys.exit(main())
