"""test_section.py: whole output traces: what they hold, what their headers say, and that
a job which was killed, ran out of disk or is asked for otherwise loses and mixes nothing.
"""
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import numpy
import pytest

from tests.helpers import BUILD, TIMEOUT, Started, binaries, front_ends, printed, read_npy
from tests.sections import DATA, JOB, PLAIN, QUERY, RANGES, outputs, read, rewritten, traces


def search(binary, words, folder, limit=None, wait=True):
    """Runs a binary in folder, with at most `limit` bytes a file."""
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p = Started([os.path.abspath(binary), *words], cwd=folder, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=limited if limit else None,
                env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    if wait:
        p.out, p.err = p.communicate(timeout=TIMEOUT)
    return p


@pytest.fixture(scope="module")
def first():
    return front_ends("semblance")[0][2]


@pytest.fixture(scope="module")
def last():
    return binaries("semblance", ("omp",))[-1][2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("sections"))


@pytest.fixture(scope="module")
def section(last, folder):
    """Makes the section of the last OpenMP step, whose files have the prefix all-; the
    folder."""
    p = search(last, [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "all-")], folder)
    assert p.returncode == 0, p.err
    return folder


def made(check, binary, folder, words, prefix=""):
    """Makes a section: the bytes of its files, or None and a failed check."""
    p = search(binary, [*words, *outputs(folder, prefix)], folder)
    check(f"section {prefix}{' '.join(words)[:60]}", p.returncode and p.err)
    if p.returncode:
        return None
    return [read(os.path.join(folder, prefix + n)) for n in ("s.su", "c.su", "p.npy")]


def check_samples(check, binary, folder):
    if not made(check, binary, folder, [f"in={DATA}", *JOB, *QUERY, *PLAIN], "all-"):
        return
    _, stack = traces(os.path.join(folder, "all-s.su"))
    _, coherence = traces(os.path.join(folder, "all-c.su"))
    shape, found = read_npy(os.path.join(folder, "all-p.npy"))
    check("shape of parameters", shape != [20, 60, 5] and str(shape))
    found = numpy.array(found, "f4").reshape(shape)
    for i, k in ((0, 0), (0, 59), (7, 13), (19, 30), (19, 59), (12, 45)):
        point = [f"m0={4040 + 40 * (i // 4)}", f"h0={-500 + 30 * (i % 4)}",
                 f"t0={0.4 + 0.004 * k:.9g}"]
        said = printed(search(binary, [f"in={DATA}", *point, *QUERY], folder).out)
        want = [float(said[key]) for key in ("A", "B", "C", "D", "E", "Stack",
                                             "Semblance")]
        got = [*found[i, k], stack[i, k], coherence[i, k]]
        check(f"trace {i}, sample {k}",
                    not numpy.allclose(got, want, rtol=1e-5, atol=1e-8)
                    and f"{got}, by itself {want}")


def test_headers(check, section):
    """As another reader sees them."""
    su = pytest.importorskip("segyio.su")
    path = os.path.join(section, "all-s.su")
    with su.open(path, endian="little", ignore_geometry=True) as f:
        check("samples' times", list(f.samples)[:2] != [400, 404]
                    and str(f.samples[:2]))
        for i in (0, 6, 19):
            h, m0, h0 = f.header[i], 4040 + 40 * (i // 4), -500 + 30 * (i % 4)
            got = [h[k] for k in (su.tracl, su.sy, su.gy,
                                  su.sx, su.offset, su.scalco,
                                  su.ns, su.dt, su.delrt,
                                  su.trid)]
            want = [i + 1, m0 - h0, m0 + h0, 0, 2 * h0, 1, 60, 4000, 400, 1]
            check(f"header {i}", got != want and f"{got}, expected {want}")


def test_headers_of_the_input(check, last, folder, section):
    """Along x, in decimetres, from -20 ms or +200 ms on, the other order of bytes: the
    same answer."""
    def along_x(v, i):
        v["sx"], v["gx"], v["sy"], v["gy"] = 10 * v["sy"], 10 * v["gy"], 7, 7
        v["scalco"] = -10

    def early(v, i):
        along_x(v, i)
        v["delrt"] = -20
        v["row"] = numpy.concatenate([numpy.full(5, 9, "f4"), v["row"]])

    def late(v, i):
        along_x(v, i)
        v["delrt"] = 200
        v["row"] = v["row"][50:]

    words = [*JOB, *QUERY]
    plain = os.path.join(folder, "all-s.su")
    for name, change in (("x", along_x), ("early", early), ("late", late)):
        rewritten(os.path.join(folder, f"{name}.su"), change, ">")
        if not made(check, last, folder, [f"in={name}.su", *words], f"{name}-"):
            continue
        head, got = traces(os.path.join(folder, f"{name}-s.su"))
        _, want = traces(plain)
        check(f"{name}: samples", (got != want).any() and "differ")
        sx, sy = head[:, 72:76].copy().view("<i4"), head[:, 76:80].copy().view("<i4")
        check(f"{name}: along x", (not sx.any() or (sy != 7).any()) and "not in sx")
        check(f"{name}: cdp", not head[:, 20:24].copy().view("<i4").all()
                    and "is 0")


def test_apertures(check, last, folder):
    """What a trace gets comes from its aperture alone."""
    head, _ = traces(DATA)
    sy = head[:, 76:80].copy().view("<i4")[:, 0]
    gy = head[:, 84:88].copy().view("<i4")[:, 0]
    m, h = (gy + sy) / 2, (gy - sy) / 2
    reach = 150, 120
    words = [f"in={DATA}", "m0=3900,110,4", "h0=-480", "t0=0.6,0.004,3", *QUERY, *PLAIN,
             f"aperture={reach[0]},{reach[1]}"]
    if not made(check, last, folder, words, "near-"):
        return
    _, stack = traces(os.path.join(folder, "near-s.su"))
    raw = numpy.fromfile(DATA, "u1").reshape(len(m), -1)
    for i in range(4):
        near = (abs(m - 3900 - 110 * i) <= reach[0]) & (abs(h + 480) <= reach[1])
        if near.sum() < 2:
            check(f"aperture {i}: dead", stack[i].any() and "not zero")
            continue
        raw[near].tofile(os.path.join(folder, "few.su"))
        said = printed(search(last, ["in=few.su", f"m0={3900 + 110 * i}", "h0=-480",
                                      "t0=0.604", "axis=y", *QUERY], folder).out)
        # A point is searched by knots and nodes, a trace in blocks: they round differently.
        check(f"aperture {i}", not numpy.isclose(stack[i][1], float(said["Stack"]),
                                                       rtol=1e-5, atol=1e-7)
                    and f"{stack[i][1]}, of its {near.sum()} traces {said['Stack']}")
    p = search(last, [f"in={DATA}", "m0=4120,9000,2", "h0=-480", "t0=0.6", *QUERY,
                        "aperture=300,300", "stack=far.su"], folder)
    head, stack = traces(os.path.join(folder, "far.su"))
    check("far: one line", p.err.count("less than 2 traces") != 1 and p.err)
    check("far: trid", head[:, 28].tolist() != [1, 2] and str(head[:, 28]))


def test_ranges(check, last, folder):
    """A file of one row is what a= .. e= are; between rows, what lies between."""
    def row(t0, add):
        return " ".join([str(t0)] + [f"{p + add * (q - p):.9g} {q:.9g} {n + int(4 * add)}"
                                     for p, q, n in RANGES.values()])
    for name, text in (("one", "# t0, A .. E\n" + row(0.5, 0) + "\n"),
                       ("two", row(0.4, 0) + "\n\n" + row(0.8, 0.5) + " # end\n")):
        with open(os.path.join(folder, f"{name}.txt"), "w") as out:
            out.write(text)
    point = [f"in={DATA}", "m0=4120", "h0=-480", "tau=0.008"]
    section = [*point, *PLAIN]
    plain = made(check, last, folder, [f"in={DATA}", "m0=4120", "h0=-480", "t0=0.4,0.06,5",
                                  *QUERY, *PLAIN], "plain-")
    one = made(check, last, folder, [*section, "t0=0.4,0.06,5", "ranges=one.txt"], "one-")
    check("ranges of one row", plain and one and plain[2] != one[2] and "differ")
    if made(check, last, folder, [*section, "t0=0.4,0.06,5", "ranges=two.txt"], "two-"):
        _, stack = traces(os.path.join(folder, "two-s.su"))
        for k, part in ((0, 0), (1, 0.075), (2, 0.15), (4, 0.3)):
            words = [f"{key}={p + part * (q - p):.12g},{q},{round(n + 4 * part)}"
                     for key, (p, q, n) in RANGES.items()]
            said = printed(search(last, [*point, f"t0={0.4 + 0.06 * k:.9g}", *words],
                                 folder).out)
            check(f"ranges at {k}", abs(stack[0][k] - float(said["Stack"])) > 1e-6
                        and f"{stack[0][k]}, expected {said['Stack']}")


def test_forms(check, last, folder):
    """FIRST:LAST:COUNT includes both ends; the older forms with commas give the same."""
    older = made(check, last, folder, [f"in={DATA}", *JOB, *QUERY], "older-")
    spaced = [f"{k}={p}:{p + (q - p) / n * (n - 1):.17g}:{n}" for k, (p, q, n) in RANGES.items()]
    newer = made(check, last, folder, [f"in={DATA}", "m0=4040:4200:5", "h0=-500:-410:4",
                                       "t0=0.4:0.636:60", "tau=0.008", *spaced], "newer-")
    if older and newer:
        for name in "s.su", "c.su":
            (heads, want), (others, got) = (
                traces(os.path.join(folder, form + name)) for form in ("older-", "newer-"))
            check(f"{name}: headers", (heads[:, :228] != others[:, :228]).any() and "differ")
            check(f"{name}: samples", not numpy.allclose(got, want, 1e-4, 1e-5) and "differ")
    point = [f"in={DATA}", "m0=4120", "h0=-480", "t0=0.6", "tau=0.008", *spaced[:4], "e=1e-7"]
    made_point = search(last, [*point, "out=point.npy"], folder)
    check("a value", made_point.returncode and made_point.stderr)
    judged = search(f"{BUILD}/semblance-check", [*point, "oracle=o.npy", "result=point.npy"],
                    folder)
    check("checker", judged.returncode and judged.out + judged.err)


@pytest.mark.seconds(30)
@pytest.mark.parametrize("which, midpoints", [("first", 20), ("last", 400)])
def test_killed(check, folder, which, midpoints, request):
    """kill -9 at any moment, and the same command again: the same bytes.

    The moment is drawn from the shortest time that a whole run has taken, because the load of
    the machine changes; and jobs are started until at least three runs were interrupted. Each
    run of a job may take longer than the one before: on a machine that has become slow, a run
    must at some time get as far as a trace.
    """
    binary, times = request.getfixturevalue(which), 3
    words = [f"in={DATA}", f"m0=4000,{240 / midpoints},{midpoints}", "h0=-500,30,2",
             "t0=0.4,0.004,60", *QUERY]
    for name in os.listdir(folder):
        if name.startswith("whole-"):
            os.remove(os.path.join(folder, name))
    begin = time.monotonic()
    want = made(check, binary, folder, words, "whole-")
    shortest = time.monotonic() - begin
    rng, interrupted, n = random.Random(16), 0, 0
    while n < times or (interrupted < times and n < 100):
        for name in os.listdir(folder):  # k-s.su.XXXXXX too, of a kill while it was made
            if name.startswith("k-"):
                os.remove(os.path.join(folder, name))
        for attempt in range(200):
            begin, limit = time.monotonic(), shortest * 1.05 ** attempt
            p = search(binary, [*words, *outputs(folder, "k-")], folder, wait=False)
            try:
                p.out, p.err = p.communicate(timeout=rng.uniform(0.05, 0.6) * limit)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
                p.communicate()
                interrupted += 1
                continue
            if attempt == 0:
                shortest = min(shortest, time.monotonic() - begin)
            break
        check(f"killed {n}: ends", p.returncode and f"status {p.returncode}: {p.err}")
        if p.returncode:
            break
        there = int(printed(p.out)["There"])
        check(f"killed {n}: says so", there > 0
              and f"{there} of {2 * midpoints} traces are complete already" not in p.err
              and p.err)
        got = [read(os.path.join(folder, "k-" + name)) for name in ("s.su", "c.su", "p.npy")]
        check(f"killed {n}: bytes", got != want and "differ")
        n += 1
    check("killed: at all", interrupted < times and f"only {interrupted} times in {n} jobs")


def test_refused(check, last, folder, section):
    """(name, words, what the one line says); files are as they were."""
    job = [f"in={DATA}", *JOB, *QUERY]
    done = outputs(folder, "all-")
    before = [read(os.path.join(folder, "all-" + n)) for n in ("s.su", "c.su", "p.npy")]
    shutil.copy(DATA, os.path.join(folder, "mine.su"))
    shutil.copy(os.path.join(folder, "all-s.su"), os.path.join(folder, "lone.su"))
    for name, text in (("gap", "0.5 " + "0 1e-4 2 " * 5),
                       ("falls", "0.9 " + "0 1e-4 2 " * 5 + "\n0.4 " + "0 1e-4 2 " * 5),
                       ("few", "0.1 0 1 2\n"), ("none", "# nothing\n"),
                       ("word", "0.1 " + "0 x 2 " * 5)):
        with open(os.path.join(folder, f"{name}.txt"), "w") as out:
            out.write(text + "\n" + ("1.2 " + "0 1e-4 2 " * 5) * (name == "gap"))
    point = [f"in={DATA}", "m0=4120", "h0=-480", "tau=0.008"]
    full = [*point, *QUERY[1:]]
    cases = [
        ("other arguments", [*job[:-1], "e=0,4e-7,2", *done], "belongs to another job"),
        ("other data", [f"in={BUILD}/data/semblance/awkward.su", *job[1:], *done],
         "belongs to another job"),
        ("other aperture", [*job, "aperture=500,500", *done], "belongs to another job"),
        ("somebody's file", [*job, "stack=mine.su"], "exists, but is not an output of this job"),
        ("one of two", [*job, "stack=lone.su", "coherence=new.su"],
         "new.su: is missing"),
        ("a folder", [*job, "stack=."], "."),
        ("no such folder", [*job, "stack=no/s.su"], "cannot be written"),
        ("one file twice", [*job, "stack=t.su", "coherence=t.su"], "same file"),
        ("points without a file", job, "stack=FILE"),
        ("out of a section", [*job, "stack=t.su", "out=o.npy"], "out="),
        ("parameters alone", [*full, "t0=0.6", "parameters=t.npy"], "stack="),
        ("no points", [*full, "m0=1,1,0"], "m0"),
        ("too many points", [*full[:1], "m0=0,1,40000", "h0=0,1,40000", "t0=0.1",
                             *QUERY, "stack=t.su"], "at most"),
        ("t0 outside", [*full, "t0=0.4,0.004,500", "stack=t.su"], "t0=2.396"),
        ("t0 backwards", [*full, "t0=0.4,-0.004,500", "stack=t.su"], "t0"),
        ("a step of no microseconds", [*full, "t0=0.4,0.0000005,5", "stack=t.su"],
         "microseconds"),
        ("a delay of no milliseconds", [*full, "t0=0.0004,0.004,5", "stack=t.su"],
         "milliseconds"),
        ("rows too late", [*point, "ranges=gap.txt", "t0=0.4,0.1,3", "stack=t.su"],
         "expected rows for t0"),
        ("rows that fall", [*point, "ranges=falls.txt", "t0=0.4", "stack=t.su"],
         "falls.txt, line 2: t0 is 0.4 after 0.9"),
        ("few columns", [*point, "ranges=few.txt", "t0=0.4", "stack=t.su"],
         "few.txt, line 1: 4 columns: expected 16"),
        ("no rows", [*point, "ranges=none.txt", "t0=0.4", "stack=t.su"],
         "no rows: expected at least one"),
        ("a word", [*point, "ranges=word.txt", "t0=0.4", "stack=t.su"],
         "word.txt, line 1"),
        ("no file of ranges", [*point, "ranges=no.txt", "t0=0.4", "stack=t.su"],
         "no.txt"),
        ("both", [*full, "ranges=gap.txt", "t0=0.4", "stack=t.su"], "expected only one of them"),
        ("an aperture of words", [*full, "t0=0.4", "aperture=1", "stack=t.su"],
         "aperture=1"),
        ("an aperture below 0", [*full, "t0=0.4", "aperture=-1,2", "stack=t.su"],
         "aperture"),
    ]
    for name, words, line in cases:
        p = search(last, words, folder)
        problem = (p.returncode != 1 and f"status {p.returncode}") \
            or (p.err.count("\n") != 1 and f"not one line: {p.err}") \
            or (line not in p.err and p.err) \
            or (os.path.exists(os.path.join(folder, "t.su")) and "t.su is left")
        check(f"refused: {name}", problem)
    after = [read(os.path.join(folder, "all-" + n)) for n in ("s.su", "c.su", "p.npy")]
    check("refused: files stay", before != after and "they changed")


def test_full_disk(check, last, folder):
    """A full disk is reported before the work, and nothing is left."""
    p = search(last, [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "full-")], folder,
               limit=6000)
    left = [n for n in os.listdir(folder) if n.startswith("full-")]
    check("full disk: status", p.returncode != 1 and str(p.returncode))
    check("full disk: one line", ("full-s.su" not in p.err or
                                        p.err.count("\n") != 1) and p.err)
    check("full disk: nothing left", left and str(left))


def test_samples(check, first, last, tmp_path):
    """Each sample is what a search for that one point finds."""
    for name, binary in ("first", first), ("last", last):
        (tmp_path / name).mkdir()
        check_samples(check, binary, str(tmp_path / name))


@pytest.mark.seconds(10)
def test_back_ends(check, last, folder, section):
    """The traces of the last step's other back-ends are the same within rounding."""
    others = [(backend, path) for _, backend, path in binaries("semblance")
              if path != last and os.path.dirname(path) == os.path.dirname(last)]
    if not others:
        pytest.skip("the last step has one back-end here")
    for backend, path in others:
        made(check, path, folder, [f"in={DATA}", *JOB, *QUERY], f"{backend}-")
        for name in ("s.su", "c.su"):
            _, want = traces(os.path.join(folder, "all-" + name))
            _, got = traces(os.path.join(folder, f"{backend}-{name}"))
            difference = abs(want - got).max()
            check(f"{backend} {name}", difference > 2e-5 and f"differs by {difference}")
