"""test_cluster.py: sections filled by ranks of MPI: any number of them gives the bytes of
one process, and a job that lost a rank, ran out of disk or was called otherwise here than
there loses and mixes nothing.
"""
import ctypes
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT, Started, binaries, preloaded, printed, run
from tests.sections import DATA, JOB, QUERY, outputs, read, rewritten, traces
from tests.test_criterion import survey
from tools.base import runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cluster"))


def last(backend):
    found = binaries("semblance", (backend,))
    return found[-1][2] if found else pytest.skip(f"no semblance-{backend} is built")


@pytest.fixture(scope="module")
def omp():
    return last("omp")


@pytest.fixture(scope="module")
def mpi():
    return last("mpi")


@pytest.fixture(scope="module")
def section(mpi, folder):
    """Makes a section, whose files have the prefix all-, in folder."""
    p = ranks(mpi, [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "all-")], folder)
    assert p.returncode == 0, p.err


def ranks(binary, words, folder, number=2, env=None, limit=None, wait=True, launch=None):
    """Runs a binary as many times at once, in folder; launch: other arguments
    for mpirun, which start it."""
    command, more = runs.launch(os.path.abspath(binary), "mpi", {"RANKS": str(number)})
    more.pop("RANKS")
    command = [command[0], *launch] if launch else [*command, *words]

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p = Started(command, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=limited if limit else None,
                env={**os.environ, "OMP_WAIT_POLICY": "passive", **more, **(env or {})})
    if wait:
        p.out, p.err = p.communicate(timeout=TIMEOUT)
    return p


def files(folder, prefix):
    """The bytes of a section's files, None for one that is not there."""
    paths = [os.path.join(folder, prefix + n) for n in ("s.su", "c.su", "p.npy")]
    return [read(path) if os.path.exists(path) else None for path in paths]


def removed(folder, prefix):
    for name in os.listdir(folder):
        if name.startswith(prefix):
            os.remove(os.path.join(folder, name))


def alone(check, omp, folder, words, prefix):
    """What one process makes: the bytes of its files, and what it printed."""
    p = subprocess.run([os.path.abspath(omp), *words, *outputs(folder, prefix)], cwd=folder,
                       capture_output=True, text=True,
                       env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    check(f"alone {prefix}", p.returncode and p.stderr)
    return files(folder, prefix), p


def said(text, times=False):
    """What was printed, but for how long it took."""
    return {k: v for k, v in printed(text).items() if times or not k.startswith("Time_")}


@pytest.mark.seconds(60)
def test_any_number_of_ranks(check, omp, mpi, folder):
    """Bytes, and what is printed, of 1, 2, 3 and 8 ranks; also where most of them get
    nothing, where traces stay dead, and where a file is of the other order of bytes and
    begins before time 0 or after it."""
    def moved(delay, cut):
        def change(v, _):
            v["sx"], v["gx"], v["sy"], v["gy"] = v["sy"], v["gy"], 7, 7
            v["delrt"] = delay
            v["row"] = numpy.concatenate([numpy.full(max(-cut, 0), 9, "f4"),
                                          v["row"][max(cut, 0):]])
        return change
    rewritten(os.path.join(folder, "early.su"), moved(-20, -5), ">")
    rewritten(os.path.join(folder, "late.su"), moved(200, 50), ">")
    near = ["m0=3900,110,5", "h0=-480", "t0=0.6,0.004,9", "aperture=150,120", *QUERY]
    for name, words, numbers in (
            ("all", [f"in={DATA}", *JOB, *QUERY], (1, 2, 3, 8)),
            ("one", [f"in={DATA}", "m0=4120", "h0=-480", "t0=0.6,0.004,9", *QUERY], (3,)),
            ("near", [f"in={DATA}", *near], (2, 8)),
            ("velocity", [f"in={DATA}", *near[:4], "velocity=1500,3000"], (2,)),
            ("far", [f"in={DATA}", "m0=99000", "h0=0", "t0=0.6", "aperture=9,9", *QUERY],
             (2,)),
            ("early", ["in=early.su", *near], (3,)), ("late", ["in=late.su", *near], (3,))):
        want, one = alone(check, omp, folder, words, f"{name}-")
        for number in numbers:
            p = ranks(mpi, [*words, *outputs(folder, "r-")], folder, number)
            check(f"{name}, {number} ranks", p.returncode and p.err)
            check(f"{name}, {number} ranks: bytes",
                        files(folder, "r-") != want and "differ")
            check(f"{name}, {number} ranks: printed",
                        (said(p.out) != said(one.stdout) and p.out)
                        or (p.err != one.stderr and p.err))
            p = ranks(mpi, [*words, *outputs(folder, "r-")], folder, number)
            check(f"{name}, {number} ranks again: nothing to do",
                        (p.returncode and p.err) or said(p.out)["Points"] != "0" and p.out)
            check(f"{name}, {number} ranks again: bytes",
                        files(folder, "r-") != want and "differ")
            removed(folder, "r-")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def done(folder, prefix, want, most):
    """What is wrong with a journal that was left behind: a trace is marked done that is
    not, or more than `most` were begun and not marked."""
    path = os.path.join(folder, prefix + "s.su")
    if not os.path.exists(path):
        return None, 0
    head, got = traces(path)
    _, right = traces(os.path.join(folder, want + "s.su"))
    marked = head[:, 28] != 0
    if (got[marked] != right[marked]).any():
        return "a trace is marked that is not done", 0
    begun = got[~marked].any(axis=1).sum()
    return begun > most and f"{begun} traces were begun, of {most} ranks", marked.sum()


@pytest.mark.seconds(60)
def test_killed(check, omp, mpi, folder, everything):
    """kill -9 of a rank at any moment, and the same command gives the same bytes."""
    many = "a=-2e-5,2.6e-4,30", "c=4e-7,9e-7,10", "e=0,3e-7,16"  # it takes half a second
    words = [f"in={DATA}", "m0=4000,12,20", "h0=-500,30,2", "t0=0.4,0.004,60", *many,
             *[word for word in QUERY if word[0] not in "ace"]]
    want, _ = alone(check, omp, folder, words, "whole-")
    rng, kills, halfway, marked = random.Random(12), 0, 0, 0
    wanted_kills = 20 if everything else 5
    while kills < wanted_kills or halfway < wanted_kills // 4 and kills < 8 * wanted_kills:
        p = ranks(mpi, [*words, *outputs(folder, "k-")], folder, wait=False)
        wanted = rng.randint(marked, 39)  # traces, of 40, and some moment after them
        while p.poll() is None and done(folder, "k-", "whole-", 2)[1] < wanted:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.02))
        found = children(p.pid) if p.poll() is None else []
        if found:
            os.kill(rng.choice(found), signal.SIGKILL)
            kills += 1
        p.out, p.err = p.communicate(timeout=TIMEOUT)
        problem, marked = done(folder, "k-", "whole-", 2)
        if found:
            halfway += 0 < marked < 40
            check(f"killed {kills}", problem)
            if marked == 40:  # all is there: begin anew
                removed(folder, "k-")
                marked = 0
            continue
        marked = 0
        check("killed: goes on", p.returncode and p.err)
        check("killed: bytes", files(folder, "k-") != want and "differ")
        removed(folder, "k-")
    p = ranks(mpi, [*words, *outputs(folder, "k-")], folder, 3)
    check("killed: the last", (p.returncode and p.err)
                or (files(folder, "k-") != want and "differ"))
    check("killed: while at work", halfway < wanted_kills // 4 and f"only {halfway} times")


def one_line(check, name, p, words):
    """Lines other than the one about what is complete already."""
    # Open MPI may report that the connection to a rank that ended was reset, or, on a busy
    # machine, that a process that it started was faster than its parent.
    lines = [line for line in p.err.splitlines()
             if not re.search("are complete already|btl_tcp|setpgid", line)]
    check(f"{name}: status", p.returncode != 1 and str(p.returncode))
    check(f"{name}: one line", (len(lines) != 1 or words not in lines[0] or p.out)
                and p.out + p.err)


def test_refused(check, mpi, folder, section):
    """Ranks that are called otherwise, see other files, or find those of another job."""
    path, job = os.path.abspath(mpi), [f"in={DATA}", *JOB, *QUERY]
    out = outputs(folder, "no-")
    other = [*job[:-1], "e=0,4e-7,2"]
    p = ranks(mpi, [], folder, launch=["-n", "1", path, *job, *out, ":",
                                       "-n", "2", path, *other, *out])
    one_line(check, "other arguments", p, "the arguments: rank 1 differs from rank 0")

    def shifted(v, i):
        v["gy"] += i == 3
    for name, change in (("here", lambda v, i: None), ("there", shifted)):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        rewritten(os.path.join(folder, name, "in.su"), change)
    seen = ["in=in.su", "axis=y", *JOB, *QUERY, *(w.replace("=", f"={folder}/")
                                                  for w in out)]
    p = ranks(mpi, [], folder, launch=["-wdir", "here", "-n", "2", path, *seen, ":",
                                       "-wdir", "there", "-n", "1", path, *seen])
    one_line(check, "another file", p, "in.su: rank 2 differs from rank 0")

    p = ranks(mpi, [w.replace(DATA, "none.su") for w in job] + out, folder, 3)
    one_line(check, "no file", p, "none.su: cannot be read")
    p = ranks(mpi, [*job, "nonsense=1"], folder, 3)
    one_line(check, "unknown word", p, "unknown key 'nonsense'")
    check("refused: nothing left", any(files(folder, "no-")) and "files are left")

    before = files(folder, "all-")
    p = ranks(mpi, [*other, *outputs(folder, "all-")], folder, 3)
    one_line(check, "another job", p, "belongs to another job")
    check("another job: stays as it is", files(folder, "all-") != before and "changed")


@pytest.mark.seconds(5)
def test_one_argument(check, mpi, folder, everything):
    """One argument of the last rank is another one, any of them: the first and the last one in
    each run of the tests."""
    path = os.path.abspath(mpi)
    words = [f"in={DATA}", *JOB, *QUERY, "weight=none", "average=0.004",
             *outputs(folder, "no-")]
    places = range(len(words)) if everything else \
        [0, *random.Random(os.getpid()).sample(range(1, len(words) - 1), 2), len(words) - 1]
    for at in places:
        other = [*words]
        other[at] = other[at].replace("none", "semblance") if "none" in other[at] else \
            other[at] + "1"
        p = ranks(mpi, [], folder, launch=["-n", "1", path, *words, ":", "-n", "1", path, *other])
        one_line(check, words[at], p, "the arguments: rank 1 differs from rank 0")
        check(f"{words[at]}: nothing left", any(files(folder, "no-")) and "files are left")
    p = ranks(mpi, [], folder, launch=["-n", "2", path, *words, ":", "-n", "1", path, *words,
                                       "refine=1"])
    one_line(check, "one argument more", p, "the arguments: rank 2 differs from rank 0")


@pytest.mark.seconds(5)
def test_one_rank(check, mpi, folder, section):
    """One rank alone cannot read or write a file, or its disk is full: the job ends with one
    message, and resumes."""
    path, words = os.path.abspath(mpi), [*JOB, *QUERY]
    good, bad = (os.path.join(folder, name) for name in ("good", "bad"))
    for name in good, bad:
        os.makedirs(name, exist_ok=True)
        shutil.copy(DATA, os.path.join(name, "in.su"))

    def run_apart(first, *, env=()):
        """Rank 1 in another folder."""
        return ranks(mpi, [], folder, launch=[
            "-wdir", "good", "-n", "1", path, *first, ":", "-wdir", "bad", "-n", "1",
            *(["env", *env] if env else []), path, *first])

    for name, broken in (("s.su", "No such file"), ("c.su", "No such file"),
                         ("p.npy", "No such file")):
        there = [f"{w.split('=')[0]}={folder}/good/{w.split('=')[1]}" for w in outputs("", "o-")]
        there = [w.replace(f"{folder}/good/", "") if w.endswith(name) else w for w in there]
        p = run_apart([f"in={DATA}", *words, *there])
        one_line(check, f"{name} of one rank", p, f"o-{name}: cannot be written: {broken}")
        problem, _ = done(good, "o-", "../all-", 0)
        check(f"{name} of one rank: journal", problem)
        removed(good, "o-")
    os.remove(os.path.join(bad, "in.su"))
    p = run_apart(["in=in.su", *words, f"stack={folder}/no-s.su"])
    one_line(check, "no input of one rank", p, "in.su: cannot be read")
    check("no input of one rank: nothing left", any(files(folder, "no-")) and "files are left")

    shim = preloaded("tests/cluster_full.c")
    job = [f"in={DATA}", *words, *(w.replace("=", f"={folder}/") for w in outputs("", "f-"))]
    for after in 0, 4:
        p = run_apart(job, env=(f"LD_PRELOAD={shim}", f"FULL_AFTER={after}"))
        one_line(check, f"full after {after}", p, "cannot be written: No space left on device")
        check(f"full after {after}: journal", done(folder, "f-", "all-", 2)[0])
    p = ranks(mpi, job, folder)
    check("goes on", (p.returncode and p.err)
          or (files(folder, "f-") != files(folder, "all-") and "bytes differ"))
    removed(folder, "f-")


@pytest.mark.seconds(10)
def test_full_disk(check, mpi, folder, section):
    """A full disk is reported before the work if the files do not fit, and nothing is left. If
    it fills later, what is marked is complete, and the same command resumes."""
    long = ["m0=4040,1,60", "h0=-500", "t0=0.4,0.000001,65000"]
    p = ranks(mpi, [f"in={DATA}", *long, *QUERY, "stack=full-s.su"], folder, limit=12 << 20)
    one_line(check, "full disk", p, "stack=full-s.su: cannot be written: File too large")
    check("full disk: nothing left",
                [n for n in os.listdir(folder) if n.startswith("full-")])

    shim = preloaded("tests/cluster_full.c")
    words = [f"in={DATA}", *JOB, *QUERY, *outputs(folder, "f-")]
    for after, part in (0, ""), (5, ""), (13, ""), (21, "1"):
        env = {"LD_PRELOAD": shim, "FULL_AFTER": str(after)} | ({"FULL_PART": part} if part else {})
        p = ranks(mpi, words, folder, env=env)
        one_line(check, f"full after {after}", p, "cannot be written: No space left on device")
        problem, _ = done(folder, "f-", "all-", 2)
        check(f"full after {after}: journal", problem)
    p = ranks(mpi, words, folder)
    check("full: goes on", (p.returncode and p.err)
                or (files(folder, "f-") != files(folder, "all-") and "bytes differ"))


# In place of ssh: a machine is a process with a host's name of its own.
AGENT = """#!/bin/sh
name=$1
shift
exec unshare -u sh -c "hostname $name; $*"
"""


@pytest.mark.seconds(5)
def test_two_machines(check, mpi, folder, section):
    """Ranks that think they are on two, without memory in common."""
    if os.geteuid() or subprocess.run(["unshare", "-u", "true"]).returncode:
        pytest.skip("the name of the host cannot be changed here")
    agent = os.path.join(folder, "agent")
    with open(agent, "w") as file:
        file.write(AGENT)
    os.chmod(agent, 0o755)
    hosts = ["-n", "3", "--host", "one:2,two:1", os.path.abspath(mpi)]
    job = [f"in={DATA}", *JOB, *QUERY]
    env = {"OMPI_MCA_plm_rsh_agent": agent}
    p = ranks(mpi, [], folder, env=env, launch=[*hosts, *job, *outputs(folder, "two-")])
    check("two machines", p.returncode and p.err)
    check("two machines: bytes", files(folder, "two-") != files(folder, "all-")
                and "differ")
    p = ranks(mpi, [], folder, env=env, launch=[*hosts, *job, *outputs(folder, "all-"),
                                                "nonsense=1"])
    one_line(check, "two machines: unknown word", p, "unknown key 'nonsense'")


# The chosen refine=0 is not the default.
SURVEY = ["in=in.su", "fill=dead", "velocity=1700,2400", "period=0.048", "aperture=27,125",
          "tau=0.012", "weight=semblance", "average=0.012", "choose=1", "passes=2",
          "window=moveout"]


@pytest.mark.seconds(20)
def test_survey(check, omp, mpi, tmp_path):
    """Ranks choose the options of a survey and fill it in two passes: stopped while they choose,
    predict live traces, or are in the second pass, and resumed by two ranks."""
    survey(random.Random(4), tmp_path / "in.su")
    words = [*SURVEY, "stack=all.su"]
    ended = run([os.path.abspath(omp), *words], tmp_path)
    assert ended.returncode == 0, ended.stderr
    check("chosen", "chosen: " not in ended.stderr or "refine=0" not in
          ended.stderr.split("chosen: ")[1] and ended.stderr)
    want = read(tmp_path / "all.su")
    # Half writes, which are the same in each run of one rank, and the last file that they reach.
    for stop, reached in ((80, "trial.live"), (430, "live"), (501, "residual")):
        for path in tmp_path.glob("all.su*"):
            path.unlink()
        p = ranks(mpi, words, tmp_path, 1, env={"SEMBLANCE_STOP": str(stop)})
        check(f"stop {stop}: stops", p.returncode == 0 or (tmp_path / "all.su").exists())
        there = sorted(path.name for path in tmp_path.glob("all.su.filled.*"))
        check(f"stop {stop}: reaches", f"all.su.filled.{reached}" not in there[-1:] and there)
        p = ranks(mpi, words, tmp_path)
        check(f"stop {stop}: resumes", p.returncode and p.err)
        check(f"stop {stop}: bytes", read(tmp_path / "all.su") != want and "differ")


def test_equal_parts(check, tmp_path):
    """Ranks have equal work, but for one element: a rank that has none, or all, gives the same
    results. The tree is the one next to BUILD, so that a mutant is tested, too."""
    root = next(p for p in (Path(BUILD).parent, Path(ROOT)) if (p / "common").is_dir())
    text = (root / "common/mpi/ranks.h").read_text()
    function = re.search(r"^static inline (int rank_first\(.*?^})", text, re.M | re.S)
    assert function
    (tmp_path / "ranks.c").write_text(function[1])
    subprocess.run(["gcc", "-shared", "-fPIC", "ranks.c", "-o", "ranks.so"], cwd=tmp_path,
                   check=True)
    first = ctypes.CDLL(str(tmp_path / "ranks.so")).rank_first
    for ranks in 1, 2, 3, 7:
        for n in 0, 1, 5, 20, 2**31 - 1:
            begins = [first(n, r, ranks) for r in range(ranks + 1)]
            parts = {b - a for a, b in zip(begins, begins[1:])}
            check(f"{n} over {ranks} ranks", (begins[0], begins[-1]) != (0, n) or
                  not parts <= {n // ranks, -(-n // ranks)})
