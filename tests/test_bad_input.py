"""test_bad_input.py: everything that can be wrong with what a user gives a search.

Each case of the tables below must be refused as helpers.refusal() checks it. The cases run
on the first sequential and the last OpenCL binary. The other programs have such tables in
their own test files; what all programs share is here: an input that is a pipe, a disk that
is full, a signal.
"""
import fnmatch
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest

from tests.helpers import BUILD, ROOT, arguments, binaries, emptied, front_ends, refusal, run, trace

QUERY = {"in": "../good.su", "m0": "0", "h0": "0", "t0": "0.08", "tau": "0.008",
         "a": "-1e-4,1e-4,2", "b": "-1e-4,1e-4,2", "c": "1e-7,2e-7,2",
         "d": "1e-7,2e-7,2", "e": "1e-7,2e-7,2", "out": "out.npy", "panel": "panel.npy"}
WORDS = "0 0 0.08 0.008" + " -1e-4 1e-4 2" * 5 + " ../good.su"


def field(trace, code, at, value):
    """The trace with a number of its header, at byte `at` from 0, replaced."""
    raw = bytearray(trace)
    struct.pack_into("<" + code, raw, at, value)
    return bytes(raw)


def swapped(trace):
    """A trace in the other byte order, as far as it has numbers of 2 and 4 bytes."""
    raw = bytearray()
    for widths in ([4] * 7 + [2] * 4 + [4] * 8 + [2] * 2 + [4] * 4 + [2] * 46
                   + [4] * ((len(trace) - 180) // 4)):
        raw += trace[len(raw):len(raw) + widths][::-1]
    return bytes(raw)


def segy(line, wave, order=">"):
    """SEG-Y: text in EBCDIC, a binary header, traces."""
    reel = bytearray(400)
    struct.pack_into(order + "HHHHH", reel, 16, 4000, 0, len(wave), 0, 5)
    return ("C 1 CLIENT".ljust(3200).encode("cp500") + bytes(reel)
            + b"".join(trace(wave, order=order, **at) for at in line))


def su_files():
    """name: bytes of the damaged files."""
    rng = random.Random(1)
    wave = [rng.uniform(-1, 1) for _ in range(41)]
    nan, inf = float("nan"), float("inf")
    good = [trace(wave, sy=20 * i, gy=30 * i) for i in range(5)]
    other_ns = trace(wave + [0.0] * 9)
    line = [{"sy": 20 * i, "gy": 30 * i} for i in range(5)]
    return {
        "good": b"".join(good),
        "empty": b"",
        "header_only": good[0][:240],
        "half_header": b"".join(good[:2]) + good[2][:100],
        "truncated": b"".join(good)[:-6],
        "one_byte_more": b"".join(good) + b"\0",
        "ns_0": trace(wave, ns=0) * 3,
        "dt_0": trace(wave, dt=0) * 3,
        "ns_changes": b"".join(good[:2]) + other_ns + good[3],
        "dt_changes": b"".join(good[:3]) + trace(wave, dt=2000),
        "nan": b"".join(good[:3]) + trace(wave[:7] + [nan] + wave[8:]),
        "inf": trace(wave[:40] + [inf]) + good[1],
        "minus_inf": good[0] + trace([-inf] + wave[1:]),
        "too_large": b"".join(trace([1e20 * x for x in wave], **at) for at in line),
        "one_sample": b"".join(trace([1.0], **at) for at in line),
        "segy": segy(line, wave),
        "segy_text": b"C 1 CLIENT".ljust(3200) + segy(line, wave, "<")[3200:],
        "swapped": b"".join(swapped(t) for t in good),
        "samples_swapped": b"".join(t[:240] + swapped(t)[240:] for t in good),
        "still": trace(wave) * 4,
        "across": b"".join(trace(wave, sx=i, **at) for i, at in enumerate(line)),
        "all_dead": b"".join(field(t, "h", 28, 2) for t in good),
        "delays": b"".join(field(t, "h", 108, 8 * (i > 2)) for i, t in enumerate(good)),
        "delay_odd": b"".join(field(t, "h", 108, 6) for t in good),
        "delay_all": b"".join(field(t, "h", 108, -164) for t in good),
        "delay_long": b"".join(field(field(t, "h", 108, 30000), "H", 116, 250)
                               for t in good),
        "delayed": b"".join(field(t, "h", 108, 40) for t in good),
        "far": b"".join(good[:3]) + trace(wave, sy=2**31 - 1, scalco=10000),
        "near": b"".join(trace(wave, scalco=-10000, **at) for at in line),
        "text": b"not traces at all, but a line of text\n" * 40,
    }


# name, what it changes in QUERY, what the line must say.
FILES = [
    ("no such file", "in=../none.su", r"\.\./none\.su: .*No such file"),
    ("no file name", "in=", r"in=: expected a text"),
    ("a folder", "in=..", r"directory"),
    ("a device", "in=/dev/zero", r"/dev/zero: .*not a regular file"),
    ("empty file", "in=../empty.su", r"empty\.su: .*empty"),
    ("header only", "in=../header_only.su", r"trace 1\b.*truncated"),
    ("half a header", "in=../half_header.su", r"trace 3\b.*truncated"),
    ("truncated", "in=../truncated.su", r"trace 5\b.*truncated"),
    ("a byte too many", "in=../one_byte_more.su", r"trace 6\b.*truncated"),
    ("text", "in=../text.su", r"trace \d+"),
    ("ns 0", "in=../ns_0.su", r"trace 1: ns is 0"),
    ("dt 0", "in=../dt_0.su", r"trace 1: dt is 0"),
    ("ns changes", "in=../ns_changes.su", r"trace 3: ns is 50: expected 41 "),
    ("dt changes", "in=../dt_changes.su", r"trace 4: dt is 2000: expected 4000 "),
    ("NaN", "in=../nan.su", r"trace 4: sample 8 .*not a finite"),
    ("infinity", "in=../inf.su", r"trace 1: sample 41 .*not a finite"),
    ("minus infinity", "in=../minus_inf.su", r"trace 2: sample 1 .*not a finite"),
    ("squares overflow", "in=../too_large.su", r"too large"),
    ("one sample a trace", "in=../one_sample.su t0=0 tau=0", r"tau=0: .*does not fit"),
    ("wrong order", "in=../good.su order=big", r"byte-swapped: little-endian, not big"),
    ("swapped, forced", "in=../swapped.su order=little", r"byte-swapped: big-endian, not"),
    ("swapped samples", "in=../samples_swapped.su", r"samples are byte-swapped: headers "),
    ("SEG-Y", "in=../segy.su", r"is SEG-Y with its reel header"),
    ("SEG-Y, little-endian", "in=../segy_text.su", r"is SEG-Y with its reel header"),
    ("SEG-Y, order forced", "in=../segy.su order=little", r"is SEG-Y with its reel"),
    ("damaged", "in=../ns_changes.su", r"trace 3: .*the file is damaged"),
    ("no coordinate varies", "in=../still.su", r"neither x nor y varies\): set axis=x or"),
    ("both vary", "in=../across.su", r"cannot tell which axis .* \(x and y both vary\): set"),
    ("both vary, auto", "in=../across.su axis=auto", r"x and y both vary"),
    ("all dead", "in=../all_dead.su", r"all of its 5 traces are dead \(trid 2\)"),
    ("delays differ", "in=../delays.su", r"trace 4: delrt is 8 ms, other traces have 0"),
    ("half a sample's delay", "in=../delay_odd.su", r"delrt is 6 ms, not a whole number"),
    ("all before time 0", "in=../delay_all.su", r"delrt is -164 ms: the traces end before"),
    ("a delay too long", "in=../delay_long.su", r"120041 samples from time 0, at most"),
    ("t0 before the delay", "in=../delayed.su t0=0.036", r"t0=0\.036: expected 0\.04 to 0"),
    ("t0 after a delay", "in=../delayed.su t0=0.204", r"t0=0\.204: expected 0\.04 to 0\.2"),
    ("window and delay", "in=../delayed.su tau=0.08", r"41 samples does not fit .* of 41"),
    ("a source too far", "in=../far.su", r"trace 4: source at 2\.1\d+e\+13 m is too far"),
    ("m0 too far", "in=../near.su m0=1e6", r"trace 1: source at 0 m is too far"),
]

VALUES = [
    ("np 0", "a=0,1,0", r"a=0: expected a whole number from 1"),
    ("np -3", "b=0,1,-3", r"b=-3: expected a whole number from 1"),
    ("np 1.5", "c=0,1,1.5", r"c=1\.5: expected a whole number"),
    ("np abc", "d=0,1,abc", r"d=abc: expected a whole number"),
    ("np beyond int", "e=0,1,3000000000", r"e=3000000000: expected .* to 2147483647"),
    ("np nothing", "e=0,1,", r"e=: expected a whole number"),
    ("product overflows", " ".join(f"{k}=0,1,2147483647" for k in "abcde"),
     r"a search of 4\.\S+e\+46 points"),
    ("product wraps to 0", " ".join(f"{k}=0,1,65536" for k in "abcde"), r"points"),
    ("panel beyond memory", "a=0,1,1000000 b=0,1,1000000 c=0,1,1 d=0,1,1 e=0,1,1",
     r"np: 1e\+12 \(A, B, C\): too large \(3\.2e\+04 GB\): expected at most"),
    ("A beyond memory", "a=0,1,2147483647", r"np: .*: too large \(\d+ GB\): expected at most"),
    ("C beyond memory", "c=0,1,2147483647", r"np: .*: too large \(\d+ GB\): expected at most"),
    ("two of a range", "a=0,1", r"a=0,1: expected P0,P1,N"),
    ("four of a range", "a=0,1,2,3", r"a=0,1,2,3: expected P0,P1,N"),
    ("a leading comma", "a=,0,1,2", r"expected P0,P1,N"),
    ("a range too long", "a=0." + 160 * "0" + ",1,22", r"a=0\.0+: expected|P0,P1,N"),
    ("p0 a word", "a=x,1,2", r"a=x: expected a number"),
    ("p1 nan", "a=0,nan,2", r"a=nan: expected a number"),
    ("p1 inf", "a=0,inf,2", r"a=inf: expected a number"),
    ("t0 nan", "t0=nan", r"t0=nan: expected a number"),
    ("t0 inf", "t0=inf", r"t0=inf: expected a number"),
    ("t0 negative", "t0=-0.1", r"t0=-0\.1: expected a number from 0"),
    ("t0 1e9", "t0=1e9", r"t0=1e\+09: expected 0 to 0\.16 s"),
    ("t0 a word", "t0=soon", r"t0=soon: expected a number"),
    ("t0 with a unit", "t0=1s", r"t0=1s: expected a number"),
    ("t0 nothing", "t0=", r"t0=: expected a text"),
    ("t0 with a space", ["t0= 1"], r"t0= 1: expected a number"),
    ("tau nan", "tau=nan", r"tau=nan: expected a number"),
    ("tau negative", "tau=-0.01", r"tau=-0\.01: expected a number from 0"),
    ("tau 0.5 s", "tau=0.5", r"tau=0\.5: 125 samples: expected at most 100"),
    ("tau 1e30", "tau=1e30", r"tau=1e\+30: .*samples: expected at most 100"),
    ("tau 1e6", "tau=1e6", r"tau=1e\+06: .*samples: expected at most 100"),
    ("window over the trace", "tau=0.08", r"a window of 41 samples does not fit .*41"),
    ("m0 too large", "m0=1e31", r"m0=1e31: expected a number"),
    ("m0 1e30, ranges too", "m0=1e30 h0=1e30 a=-1e30,1e30,3 c=0,1e30,2",
     r"m0=1e30: expected a number from -1e9 to 1e9"),
    ("ranges 1e30", "a=-1e30,1e30,3 b=0,1e30,2", r"a=-1e30: expected .* to 1000"),
    ("p1 1e30", "e=0,1e30,2", r"e=1e30: expected a number from -1000 to 1000"),
    ("axis", "axis=z", r"axis=z: expected auto, x or y"),
    ("h0 a word", "h0=half", r"h0=half: expected a number"),
    ("unknown key", "taus=0.008", r"unknown key 'taus' \(did you mean 'tau'\?\)"),
    ("unknown key in capitals", "T0=0.008", r"unknown key 'T0' \(did you mean 't0'\?\)"),
    ("no key", "=3", r"unknown key ''"),
    ("a word alone", "verbose", r"verbose: expected key=value"),
    ("key twice", ["t0=0.1", "t0=0.1"], r"t0 is given twice"),
    ("order", "order=middle", r"order=middle: expected auto, little or big"),
    ("set 4", "set=4", r"set=4: expected a whole number from 1 to 3"),
    ("set a word", "set=two", r"set=two: expected a whole number"),
    ("set twice", ["set=1", "set=2"], r"set is given twice"),
    ("local 0", "local=0,1,1", r"local=0: expected a whole number from 1 to 1024"),
    ("local of two", "local=4,4", r"local=4,4: expected X,Y,Z"),
    ("local too large", "local=2000000,1,1", r"local=2000000: expected"),
    ("local negative", "local=1,1,-4", r"local=-4: expected"),
    ("out in no folder", "out=none/out.npy", r"out=none/out\.npy: cannot be written: No"),
    ("out a folder", "out=..", r"out=\.\.: cannot be written: Is a directory"),
    ("out nothing", "out=", r"out=: expected a text"),
    ("panel in no folder", "panel=none/p.npy", r"panel=none/p\.npy: cannot be written"),
    ("panel under a device", "panel=/dev/null/p", r"panel=/dev/null/p: cannot be"),
    ("a line feed", ["in=a\nb"], r"a\?b: cannot be read"),
] + [(f"no {key}", "-" + key, rf"{key}= is missing")
     for key in "in m0 h0 t0 tau a b c d e".split()]

# Name, arguments in the paper's form, pattern of the message.
POSITIONAL = [
    ("19 words", WORDS.rsplit(" ", 1)[0], r"19 arguments: expected 20"),
    ("1 word", "4120", r"1 arguments: expected 20"),
    ("21 words", WORDS + " more", r"more: expected key=value"),
    ("word for a number", WORDS.replace("0.08 ", "late ", 1), r"t0=late: expected"),
    ("word for a count", WORDS.replace(" 2 ", " two ", 1), r"a=two: expected a whole"),
    ("key among the words", WORDS.replace("0.08 ", "t0=1 ", 1), r"t0=t0=1: expected"),
    ("unknown key after", WORDS + " outt=x.npy", r"unknown key 'outt' .*'out'"),
    ("file that is not there", WORDS.replace("good", "none"), r"none\.su: .*No such"),
]

# name, environment, what it changes in QUERY, what the line must say.
DEVICES = [
    ("platform 9", {"DEVICE": "9:0"}, "", r"DEVICE=9:0: no platform 9, there (is|are)"),
    ("device 99", {"DEVICE": "0:99"}, "", r"DEVICE=0:99: no device 99"),
    ("device negative", {"DEVICE": "0:-1"}, "", r"DEVICE=0:-1: no device -1"),
    ("device a word", {"DEVICE": "banana"}, "", r"DEVICE=banana: expected platform:dev"),
    ("platform beyond int", {"DEVICE": "99999999999:0"}, "",
     r"DEVICE=99999999999:0: no platform 99999999999, there (is|are)"),
    ("device beyond long", {"DEVICE": "0:99999999999999999999"}, "",
     r"DEVICE=0:9+: no device 99999999999999999999, platform 0 has"),
    ("device and more", {"DEVICE": "0:0x"}, "", r"DEVICE=0:0x: expected platform:dev"),
    ("no platform", {"OCL_ICD_VENDORS": "/nonexistent"}, "",
     r"no OpenCL platform: .*pocl-opencl-icd"),
    ("group over the device", {}, "local=1024,1024,64",
     r"opencl\.c:\d+: .*CL_(INVALID|OUT)\w+|work-group"),
    ("taken for a word", {"DEVICE_AS": "fpga"}, "",
     r"DEVICE_AS=fpga: expected gpu or cpu"),
]

# PoCL cannot write: name, environment (besides DEVICE=cpu), pattern of the message.
CACHES = [
    ("cache under a device", {"POCL_CACHE_DIR": "/dev/null/x"},
     r"POCL_CACHE_DIR=/dev/null/x: cannot be written: Not a directory"),
    ("cache a file", {"POCL_CACHE_DIR": "../good.su"},
     r"POCL_CACHE_DIR=\.\./good\.su: cannot be written: Not a directory"),
    ("cache nobody's", {"POCL_CACHE_DIR": "/proc/x"},
     r"POCL_CACHE_DIR=/proc/x: cannot be written: "),
    ("cache at home", {"HOME": "/dev/null"},
     r"/dev/null/\.cache/pocl/kcache: cannot be written: .*POCL_CACHE_DIR"),
    ("cache of XDG", {"XDG_CACHE_HOME": "/dev/null"},
     r"/dev/null/pocl/kcache: cannot be written: .*POCL_CACHE_DIR"),
]

# program: words for a short run; what to give a pipe to, and how the line names it; the
# keys of its outputs, and how long they are where they are folders' first files.
EVERY = {
    "semblance": (" ".join(f"{k}={v}" for k, v in QUERY.items()
                           if k not in ("out", "panel")),
                  {"in=../pipe": r"\.\./pipe: is not a regular file"},
                  {"out": "out", "panel": "panel"}),
    "fletcher": ("form=ISO nx=3 ny=4 nz=5 absorb=1 tmax=0.02",
                 {"vpz=../pipe": r"vpz=\.\./pipe: not a regular file"},
                 {"out": "out", "q": "q", "picture": "picture",
                  "snapshots": "p-0001.npy"}),
    "gridding": ("uv=random visibilities=50 grid=33 support=2 oversampling=2 planes=2 "
                 "cell=520 strips=1,1",
                 {"in=../pipe": r"\.\./pipe: not a regular file",
                  "task=degrid model=../pipe": r"model=\.\./pipe: not a regular file"},
                 {"out": "out", "image": "image"}),
    "fluid": ("events=../events.txt n=5 steps=1 sweeps=2",
              {"events=../pipe": r"events=\.\./pipe: cannot be read: not a regular"},
              {"out": "out", "velocity": "velocity", "totals": "totals",
               "picture": "picture", "movie": "000000.png"}),
    "sandpile": ("dim=9",
                 {"config=../pipe.npy": r"\.\./pipe\.npy: not a regular file"},
                 {"out": "out", "counts": "counts", "picture": "picture",
                  "trace": "trace"}),
}


def command(changes):
    return arguments(QUERY, changes)


def named(table):
    """A table whose rows begin with a name, as parametrize() takes it."""
    return [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in table]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Damaged files, pipes, and an empty folder work/ to run in."""
    folder = tmp_path_factory.mktemp("bad_input")
    (folder / "work").mkdir()
    for name, raw in su_files().items():
        (folder / f"{name}.su").write_bytes(raw)
    for name in "pipe", "pipe.npy":
        os.mkfifo(folder / name)
    (folder / "events.txt").write_text("source 60 0\nforce 9 -5 3 0\n")
    return folder


@pytest.fixture
def work(folder):
    yield folder / "work"
    emptied(folder / "work")


def semblance(backend):
    """The first sequential or the last OpenCL binary."""
    found = [path for _, b, path in front_ends("semblance") if b == backend]
    return found[0] if found else pytest.skip(f"no semblance-{backend} is built")


@pytest.fixture(params=["seq", "ocl"])
def binary(request):
    return semblance(request.param)


@pytest.fixture
def opencl():
    return semblance("ocl")


# ---- values and files of semblance ---------------------------------------------------


@pytest.mark.parametrize("changes, pattern", named(FILES + VALUES))
def test_value(binary, work, changes, pattern):
    assert not refusal("semblance", run([binary, *command(changes)], work), pattern, work)


@pytest.mark.parametrize("positional, pattern", named(POSITIONAL))
def test_positional(binary, work, positional, pattern):
    assert not refusal("semblance", run([binary, *positional.split()], work), pattern, work)


@pytest.mark.parametrize("environment, changes, pattern", named(DEVICES))
def test_device(opencl, work, environment, changes, pattern):
    ended = run([opencl, *command(changes)], work, environment)
    assert not refusal("semblance", ended, pattern, work)


@pytest.mark.seconds(5)
def test_random_bytes(check, binary, folder, work):
    rng = random.Random(2)
    for seed in range(150):
        size = rng.choice((1, 239, 240, 241, 404, 808)) if seed % 2 else rng.randrange(3000)
        (folder / "random.su").write_bytes(rng.randbytes(size))
        ended = run([binary, *command("in=../random.su")], work)
        check(f"seed {seed}", refusal("semblance", ended, r"random\.su: ", work))


@pytest.mark.seconds(5)
def test_damaged_file(check, binary, folder, work):
    """Fields of a good file are overwritten: it is refused or searched, nothing else."""
    good, rng = (folder / "good.su").read_bytes(), random.Random(2)
    for seed in range(60):
        raw = bytearray(good)
        for _ in range(3):
            struct.pack_into("<I", raw, rng.randrange(len(raw) - 4), rng.getrandbits(32))
        (folder / "random.su").write_bytes(raw)
        ended = run([binary, *command("in=../random.su")], work)
        if ended.returncode == 0:
            emptied(work)
            check(f"seed {seed}", ended.stderr)
        else:
            check(f"seed {seed}", refusal("semblance", ended, "", work))


def test_outputs(check, binary, work):
    """Standard output that is full or closed, a device as a file."""
    no_files, full = command("-out -panel"), "standard output: cannot be written"
    with open("/dev/full", "w") as device:
        for options in no_files, ["help"]:
            ended = run([binary, *options], work, stdout=device)
            ended.stdout = ""
            check(f"full, {options[0]}", refusal("semblance", ended, full, work))
    ended = run([binary, *no_files], work, stdout=None, preexec_fn=lambda: os.close(1))
    ended.stdout = ""
    check("closed", refusal("semblance", ended, full, work))
    ended = run([binary, *command("out=/dev/full")], work)
    check("out=/dev/full", refusal("semblance", ended, r"/dev/full: cannot be", work))


def test_help(check, binary, work):
    for options, status in (([], 1), (["help"], 0), (["--help"], 0), (["t0=1", "-h"], 0)):
        ended = run([binary, *options], work)
        good = ended.returncode == status and not ended.stderr and \
            "key=default:" in ended.stdout and "tau=" in ended.stdout
        check(f"{options}", not good and ended)


def test_good_input(check, binary, work):
    """What is right is searched; otherwise the tests above would prove nothing."""
    for options in command(""), WORDS.split():
        ended = run([binary, *options], work)
        check(options[0], ended.returncode or "Semblance=" not in ended.stdout and ended)


@pytest.mark.seconds(20)
def test_kernel_that_does_not_build(check, opencl, tmp_path, work):
    """A copy of the step with a line of kernel.cl that no compiler takes."""
    step = opencl.split("/")[-2]
    for name in "Makefile", "config.mk":
        shutil.copy(os.path.join(ROOT, name), tmp_path)
    for name in "common", "tools", f"steps/{step}":
        shutil.copytree(os.path.join(ROOT, name), tmp_path / name)
    path = f"steps/{step}/semblance/kernel.cl"
    lines = (tmp_path / path).read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if "get_global_id" in line)
    lines.insert(at, "    int broken = no_such_thing;")
    (tmp_path / path).write_text("\n".join(lines))

    clean = {k: v for k, v in os.environ.items()
             if k not in ("MAKEFLAGS", "MAKELEVEL", "STEP", "PROGRAM")}
    made = subprocess.run(["make", "BUILD=build", "OPT=-O0", f"build/{step}/semblance-ocl"],
                          cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    ended = run([tmp_path / f"build/{step}/semblance-ocl", *command("")], work)
    check("last line", refusal("semblance", ended, "kernel does not build", work, log=True))
    place = f"{path}:{at + 1}"
    check("place", place not in ended.stderr and f"{place} is not in {ended.stderr[:500]!r}")


# ---- all programs --------------------------------------------------------------------


def replaced(text, changes):
    """The arguments of text, those of changes in their place or at the end."""
    return arguments(dict(a.split("=", 1) for a in text.split()), changes)


def file_limit(size):
    """For a child: limits the size of a file, in bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture(params=EVERY)
def program(request):
    """(name, its first OpenMP binary)."""
    return request.param, binaries(request.param, ("omp",))[0][2]


@pytest.mark.seconds(5)
def test_pipes(check, program, work):
    """Nothing writes to the pipe: a program that opens it waits for ever."""
    name, binary = program
    text, pipes, _ = EVERY[name]
    for changes, pattern in pipes.items():
        ended = run([binary, *replaced(text, changes.split())], work, timeout=20)
        check(changes, refusal(name, ended, pattern, work))


@pytest.mark.seconds(10)
def test_full_disk(check, program, work):
    name, binary = program
    text, _, outputs = EVERY[name]
    for key, path in outputs.items():
        options = replaced(text, [f"{key}={'.' if '.' in path else path}"])
        ended = run([binary, *options], work)
        sizes = {p.name: p.stat().st_size for p in work.iterdir()}
        check(f"{key}=, no limit", (path not in sizes or ended.returncode) and ended)
        emptied(work)
        size = sizes.get(path, 0)
        line = rf"[=/ ]{re.escape(path)}: cannot be written: File too large"
        # The length of a trace of times varies.
        almost = size - 1 if path.endswith((".npy", ".png")) else size * 3 // 4
        for limit in sorted({0, size // 2, almost}):
            ended = run([binary, *options], work, preexec_fn=file_limit(limit))
            check(f"{key}=, {limit} of {size} bytes", refusal(name, ended, line, work))


@pytest.mark.seconds(20)
def test_signals(check, work):
    """A movie that would take hours is interrupted while its pictures are written."""
    binary = binaries("fluid", ("omp",))[0][2]
    rng = random.Random(3)
    options = replaced(EVERY["fluid"][0], ["n=3", "steps=1000000", "movie=."])
    for number in (signal.SIGINT, signal.SIGTERM) * 10:
        # A process that was started in the background may ignore the signal.
        child = subprocess.Popen([binary, *options], cwd=work, stderr=subprocess.PIPE,
                                 preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
        while child.poll() is None and "000001.png" not in os.listdir(work):
            time.sleep(0.001)
        time.sleep(0.01 * rng.random())
        child.send_signal(number)
        stderr = child.communicate(timeout=60)[1]
        parts = [name for name in emptied(work) if not fnmatch.fnmatch(name, "??????.png")]
        check(number.name, (child.returncode != -number or parts or stderr) and
              f"exit status {child.returncode}, left {parts}, stderr {stderr}")


@pytest.mark.seconds(5)
def test_pocl_cache(check, opencl, folder, work):
    """PoCL's folder cannot be written, or its disk is full."""
    if "PoCL" not in run([os.path.join(BUILD, "devices")], work).stdout:
        pytest.skip("no PoCL")
    bare = {k: v for k, v in os.environ.items()
            if k not in ("POCL_CACHE_DIR", "XDG_CACHE_HOME")}
    full = ("cache on a full disk", {"POCL_CACHE_DIR": str(folder / "cache")},
            r"POCL_CACHE_DIR=\S+/cache: cannot be written: File too large")
    for name, environment, pattern in [*CACHES, full]:
        limit = resource.RLIM_INFINITY if name != full[0] else 0
        ended = subprocess.run(
            [opencl, *command("")], cwd=work, capture_output=True, text=True,
            env={**bare, "DEVICE": "cpu", **environment}, preexec_fn=file_limit(limit))
        check(name, refusal("semblance", ended, pattern, work))
