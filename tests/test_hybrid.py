"""test_hybrid.py: host and device that share the work, when that goes well and when not.

Every program that has a hybrid back-end is run as it is: with shares that are none, with
no device, with a device that fails in the middle (ocl_fail.c); and with busy=, whose spans
must be possible and show both at work at once. What it computes is checked as well, by the
checker, and as bytes where the program's results do not depend on the share.
"""
import re
import time

import pytest

from tests.helpers import ROOT, preloaded, printed, run
from tools.base import results, runs, tree
from tools.measure import shares

NO_DEVICE = {"DEVICE": "9:9"}, {"OCL_ICD_VENDORS": "/nonexistent"}
SUB_DEVICE = {"POCL_MAX_PTHREAD_COUNT": "4"}  # three of whose threads are left
NEAR = 15  # percent: what share=P may miss it by, since work comes in pieces
CLOCKS = 2e-6  # seconds between the device's clock, as the host sees it, and the host's


class Hybrid:
    """The hybrid binary of a program, and two queries: a small one, and one with enough
    work for both sides."""

    def __init__(self, check, program, step, backend, folder):
        self.check, self.step, self.program, self.backend = check, step, program, backend
        self.binary = step.binary(program, backend)
        self.folder = folder / f"{program.name}-{backend}"
        self.folder.mkdir()
        name, words = next(iter(program.cases.items()))
        self.small, self.large = (f"case{name}", words), shares.queries(program)[0][:2]

    def run(self, words, *extra, **environment):
        """How it ends, the only files in the folder being those that it wrote."""
        for path in self.folder.iterdir():
            path.unlink()
        self.files = {o.key: self.folder / f"{o.key}.npy" for o in self.program.outputs}
        start = time.monotonic()
        ended = run([self.binary, *words, *extra] + [f"{k}={p}" for k, p in
                                                     self.files.items()],
                    ROOT, environment)
        self.seconds = time.monotonic() - start
        return ended

    def refused(self, name, ended, pattern):
        lines = ended.stderr.strip().splitlines()
        left = sorted(p.name for p in self.folder.iterdir())
        self.check(name, (ended.returncode != 1 or len(lines) != 1 or
                                              not re.search(pattern, lines[0]) or left)
              and (ended.returncode, ended.stderr[-400:], left))

    def right(self, name, query, ended):
        """Ended well, with results that the checker takes; its bytes, None if not."""
        problem = ended.returncode and (ended.returncode, ended.stderr[-400:])
        if not problem:
            found = runs.check(self.program, query[1], self.files, query[0],
                               self.step.check_arguments(self.program))
            problem = None if found["ok"] else found["reason"]
        self.check(name, problem)
        return None if problem else [p.read_bytes() for p in self.files.values()]


def share_of_device(ended):
    return float(printed(ended.stdout).get("Share", -1))


def no_device(h):
    for variables in NO_DEVICE:
        name = " ".join("=".join(v) for v in variables.items())
        for share in "50", "auto":
            h.refused(f"{name} share={share}",
                      h.run(h.small[1], f"share={share}", **variables), r"share=0\b")
        h.right(f"{name} share=0", h.small, h.run(h.small[1], "share=0", **variables))


def shared(h):
    """Several shares: what comes out, and what is said of the extremes."""
    bytes_of = set()
    for share in "0", "37", "100", "auto":
        ended = h.run(h.small[1], f"share={share}")
        bytes_of.add(str(h.right(f"share={share}", h.small, ended)))
        had = share_of_device(ended)
        h.check(f"share={share}: what the device had", (
            had != float(share) if share in ("0", "100") else not 0 <= had <= 100) and
            f"Share={had}")
    ended = h.run(h.small[1], "share=37", OMP_NUM_THREADS="1", **SUB_DEVICE)
    bytes_of.add(str(h.right("share=37 of a sub-device", h.small, ended)))
    h.check("sandpile: another share, another pile",
          h.program.name == "sandpile" and len(bytes_of) > 1)


def spans_of(path):
    """{device or host N: [(begin, end)]} of busy=, in the order of the file."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in results.read(path):
        found.setdefault(row["who"], []).append((float(row["begin"]), float(row["end"])))
    return found


def implausible(found, seconds):
    """What is wrong with spans; None if they may have been."""
    for who, own in found.items():
        if not re.fullmatch(r"device|host \d+", who):
            return f"who is {who}"
        if any(not 0 <= begin <= end <= seconds for begin, end in own):
            return f"outside of 0 .. {seconds}"
        for (_, end), (begin, _) in zip(own, own[1:]):
            if begin < end - CLOCKS:
                return f"{who} does two things at once before {begin}"
    return None


def busy(h, shim):
    """Half of the work each: the spans of both sides, and the number of kernels. Both at once in
    one of the runs of a minute: if other programs use the cores, the two sides alternate."""
    path, half = h.folder / "busy.csv", ("share=50", f"busy={h.folder}/busy.csv")
    both, least, deadline = 0.0, 1.0, time.monotonic() + 60
    while both <= 0.1 * least and time.monotonic() < deadline:
        ended = h.run(h.large[1], *half, OMP_NUM_THREADS="1", LD_PRELOAD=shim)
        kernels = re.findall(r"^kernels=(\d+)$", ended.stderr, re.M)
        had = share_of_device(ended)
        if ended.returncode or not kernels or not path.exists():
            h.check("share=50", ended.stderr or "no file, or no kernel")
            return 1
        found = spans_of(path)
        host, device = found.get("host 0", []), found.get("device", [])
        least = min(sum(end - begin for begin, end in side) for side in (host, device))
        both = sum(max(0, min(ends) - max(begins)) for ends, begins in (
            ((a[1], b[1]), (a[0], b[0])) for a in host for b in device))
    h.check("both were busy at once in one of the runs",
          not both > 0.1 * least and f"{both:.4f} s of {least:.4f}")
    # fluid divides fields, whatever the share: the device has the velocity, the host the density.
    h.check("share=50: what the device had", h.program.name != "fluid" and
            abs(had - 50) > NEAR and f"Share={had}")
    h.check("columns of busy=", not path.read_text().startswith(
        "begin,end,who,what\n") and path.read_text()[:100])
    h.check("who was busy when", implausible(found, h.seconds))
    for share, nobody in ("0", "device"), ("100", "host"):
        path.unlink(missing_ok=True)
        h.run(h.small[1], f"share={share}", half[1])
        who = set(spans_of(path)) if path.exists() else {"no file"}
        h.check(f"share={share}: who was busy",
              who in ({"no file"}, {"device"}) if nobody == "device" else
              "device" not in who and who)
    return int(kernels[0])


def host_threads(h):
    """With PoCL, the threads of the host are on the cores that the device does not have."""
    path = h.folder / "busy.csv"
    ended = h.run(h.large[1], "share=50", f"busy={path}", PROCESSORS="2")
    threads = set(spans_of(path) if path.exists() else ()) - {"device"}
    h.check("host threads of 2 processors",
            (ended.returncode or threads != {"host 0"})
            and f"{sorted(threads)} {ended.stderr[-400:]}")


def even(h):
    """The share with which both sides would end together does not follow from the share that
    each had; a busy machine may double the time of one side."""
    found = [printed(h.run(h.large[1], f"share={share}").stdout).get("Share_even")
             for share in ("25", "75")]
    if None not in found:
        h.check("Share_even", abs(float(found[0]) - float(found[1])) > 60 and found)


def device_that_fails(h, shim, count):
    for number in sorted({1, count // 2 + 1}):
        h.refused(f"kernel {number} of {count} fails",
                  h.run(h.large[1], "share=50", LD_PRELOAD=shim, OCL_FAIL=str(number)),
                  "CL_OUT_OF_RESOURCES")


@pytest.fixture(scope="module")
def shim():
    """A library for LD_PRELOAD that counts kernels, and lets one fail."""
    return preloaded("tests/ocl_fail.c")


@pytest.mark.seconds(15)
@pytest.mark.parametrize("program", tree.programs(), ids=lambda program: program.name)
def test_hybrid(check, program, shim, tmp_path):
    step = next((s for s in reversed(tree.steps()) if "hybrid" in s.available(program)), None)
    if not step:
        pytest.skip("no hybrid back-end is built")
    h = Hybrid(check, program, step, "hybrid", tmp_path)
    no_device(h)
    shared(h)
    even(h)
    host_threads(h)
    device_that_fails(h, shim, busy(h, shim))


def test_busy_of_a_batch(check, tmp_path):
    """busy= has the spans of all grids."""
    program = next(p for p in tree.programs() if p.name == "sandpile")
    step = next((s for s in reversed(tree.steps()) if "hybrid" in s.available(program)), None)
    if not step:
        pytest.skip("no hybrid back-end is built")
    path = tmp_path / "busy.csv"
    spans = []
    for batch in 1, 3:
        ended = run([step.binary(program, "hybrid"), "dim=40", "share=0", f"batch={batch}",
                     f"busy={path}"], tmp_path, {"OMP_NUM_THREADS": "1"})
        check(f"batch={batch}", ended.returncode and ended.stderr)
        spans.append(sum(map(len, spans_of(path).values())))
    check("spans of three grids", spans[1] < 2 * spans[0] and spans)
