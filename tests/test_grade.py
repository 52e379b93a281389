"""test_grade.py: a grade that neither a careless nor a clever attempt can bend.

Attempts at step 05 that cheat, each in one way, are written as a line at the beginning of
search() or at the end of the process; OpenMP only, on a small query. What is refused before
anything is built is tried on folders alone.
"""
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT
from tools.base import copies, runs, tree
from tools.teach import fresh, sandbox

STEP, BEFORE, PROGRAM = "05_algebra", "04_inline", "semblance"
SOLUTION = Path(ROOT, "steps", STEP, PROGRAM)
BEGIN = "double start = seconds();\n"
SEARCH = "void search("
TRACES = 116  # in the set that is timed; the cases have fewer
# make grade, with a set that takes little time.
GRADE = """
from tools.base import tree
program = tree.programs()[0]
program.sets["1"] = program.arguments("in={data}/paper.su set=1 d=-1e-7,1e-7,6")
from tools.teach import grade
raise SystemExit(grade.main())
"""
NO_SANDBOX = {"BWRAP": "/nonexistent", "ALLOW_UNSANDBOXED": "1"}

needs_sandbox = pytest.mark.skipif(not sandbox.available(), reason="no bubblewrap here")


def attempt(folder, line="", before="", replace=("", "")):
    """The reference solution with a line at the beginning of search(), others before it."""
    place = folder / "work" / STEP / PROGRAM
    shutil.copytree(SOLUTION, place)
    code = (place / "cpu.c").read_text()
    assert BEGIN in code and SEARCH in code and replace[0] in code
    above, begin, below = code.replace(*replace).rpartition(BEGIN)
    code = f"{above}{begin}    {line}\n{below}"
    headers = "".join(f"#include <{name}.h>\n" for name in
                      ("fcntl", "signal", "stdio", "string", "sys/prctl", "unistd"))
    (place / "cpu.c").write_text("#define _GNU_SOURCE\n" + headers +
                                 code.replace(SEARCH, f"{before}\n{SEARCH}"))
    return place


def grade(folder, code=GRADE, **variables):
    """Where there is no sandbox, attempts run without one."""
    unguarded = {} if sandbox.available() or "BWRAP" in variables else {
        "ALLOW_UNSANDBOXED": "1"}
    asked = {**unguarded, "STEP": STEP[:2], "PROGRAM": PROGRAM, "BACKEND": "omp", "SET": "1",
             "GRADE_REPETITIONS": "3", "GRADE_TIMEOUT": "100", "GRADE_BUSY": "1",
             "BUILD": BUILD, "WORK": str(folder / "work"), **variables}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT,
                          env=copies.environment(**asked), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT)


def alive(name):
    """The processes of that name, which are then killed."""
    found = subprocess.run(["pgrep", "-x", name], capture_output=True, text=True).stdout
    for pid in map(int, found.split()):
        os.kill(pid, 9)
    return found.split()


def gain(done):
    found = re.search(r"gain +(-?\d+) % of the gain of the reference", done.stdout)
    return int(found[1]) if found else 0


# ---- right and wrong ------------------------------------------------------------------


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.seconds(60)
def test_gains(check, tmp_path):
    """On the set itself, which takes long enough to be timed."""
    whole = "from tools.teach import grade\nraise SystemExit(grade.main())"
    for name, source in (("right", SOLUTION),
                         ("slow", SOLUTION.parents[1] / BEFORE / PROGRAM)):
        shutil.copytree(source, tmp_path / name / "work" / STEP / PROGRAM)
    done = grade(tmp_path / "right", whole)
    check.process("reference solution", done, 0, "compiles +yes", "correct +yes",
                  "faster +[1-9]", r"\+(\d+) -(\d+) \(the reference solution: \+\1 -\2\)",
                  "grade: .* omp: right")
    check("reference solution: its gain", gain(done) <= 50 and done.stdout)
    done = grade(tmp_path / "slow", whole)
    check.process("unchanged", done, 0, "correct +yes", r"\+0 -0 \(the reference", "no file")
    check("unchanged has no gain", abs(gain(done)) >= 50 and done.stdout)


WRONG = {  # a line at the beginning of search(), a pattern of the grade
    "drops a trace": ("query fewer = *q; fewer.ntraces--; q = &fewer;",
                      r"correct +NO, \d+ of \d+ runs fail: \w+: "),
    "crashes": ("*(volatile int *)0 = 1;", "NO, .*crashes: SIGSEGV"),
    "does not compile": ("int i = no_such_thing;",
                         r"compiles +NO: .*cpu\.c:\d+.*no_such_thing"),
    "writes nothing": ("exit(0);", "NO, .*awkward"),
    "says too much": ("for (;;) puts(\"no end\");", "NO, .*(crashes: SIGXFSZ|hangs)"),
}


@pytest.mark.slow
@pytest.mark.seconds(10)
@pytest.mark.parametrize("name", WRONG)
def test_wrong(check, tmp_path, name):
    line, pattern = WRONG[name]
    attempt(tmp_path, line)
    check.process(name, grade(tmp_path, GRADE_TIMEOUT="20"), 1, pattern,
                  "grade: .*(wrong|not compile)")


@pytest.mark.slow
@pytest.mark.seconds(10)
def test_other_grades(check, tmp_path):
    check.process("no attempt", grade(tmp_path), 1, "no attempt: make exercise")
    place = attempt(tmp_path, replace=("end - ready;", "0 * (end - ready);"))
    check.process("other back-ends", grade(tmp_path, BACKEND="fpga"), 1, "BACKEND=fpga: no such")
    check.process("other step", grade(tmp_path, BACKEND="mpi"), 1, "BACKEND=mpi: not in")
    (place / "extra.h").write_text("/* not of this lesson */\n")
    check.process("no clock", grade(tmp_path), 1, "NO, .*Time_run=0",
                  "beyond the lesson: .*extra.h")


# ---- what is refused ------------------------------------------------------------------


def test_no_sandbox_is_refused(check, tmp_path):
    attempt(tmp_path)
    ended = grade(tmp_path, BWRAP="/nonexistent")
    check.process("no bubblewrap", ended, 1, "no sandbox .*ALLOW_UNSANDBOXED=1")
    check("one line", ended.stdout + ended.stderr.partition("\n")[2])


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "attempt"
    folder.mkdir()
    return folder


def link(folder):
    (folder / "link.h").symlink_to(SOLUTION / "body.h")


def hard_link(folder):
    (folder / "twice.h").hardlink_to(shutil.copy(SOLUTION / "body.h", folder.parent))


def folder_link(folder):
    (folder / "all").symlink_to(SOLUTION)


def pipe(folder):
    os.mkfifo(folder / "pipe.h")


def large_file(folder):
    with open(folder / "big.h", "wb") as file:
        file.truncate(sandbox.TAKEN_BYTES + 1)


def many_files(folder):
    for n in range(sandbox.TAKEN_FILES + 1):
        (folder / f"{n}.h").touch()


def shell_name(folder):
    (folder / "$(shell touch hacked).h").write_text("int x;\n")


def shell_folder(folder):
    (folder / "a`b").mkdir()
    (folder / "a`b" / "x.h").write_text("int x;\n")


@pytest.mark.parametrize("plant, pattern", [
    (link, "link.h: not a regular file"), (hard_link, "twice.h: not a regular file"),
    (folder_link, "all: a symbolic link"), (pipe, "pipe.h: not a regular file"),
    (large_file, "more than .* MiB"), (many_files, "more than .* files"),
    (shell_name, r"\$\(shell touch hacked\)\.h: invalid file name"),
    (shell_folder, "a`b/x.h: invalid file name")])
def test_refused_folder(folder, tmp_path, plant, pattern):
    plant(folder)
    problem = sandbox.take(folder, tmp_path / "taken", plain_names=True)
    assert problem and re.search(pattern, problem)
    assert not (tmp_path / "taken").exists()


def test_steps_are_taken(tmp_path):
    for step in tree.steps():
        for program in filter(step.has, tree.programs()):
            assert not sandbox.take(step.folder / program.name, tmp_path / "taken", True)


def test_attempt_that_is_a_link(check, tmp_path):
    (tmp_path / "work" / STEP).mkdir(parents=True)
    (tmp_path / "work" / STEP / PROGRAM).symlink_to(SOLUTION)
    check.process("link", grade(tmp_path), 1, "grade: .*: refused: .*a symbolic link")


def test_make_syntax_in_a_name(check, tmp_path):
    shell_name(attempt(tmp_path))
    check.process("refused", grade(tmp_path), 1, "grade: .*: refused: .*invalid file name")
    check("nothing is run", list(tmp_path.rglob("hacked")) or
          list(Path(ROOT).glob("**/hacked")))


@pytest.mark.seconds(5)
def test_exchanged_while_it_is_copied(folder, tmp_path):
    """A file becomes a link again and again: what the link shows is never copied."""
    secret, name = tmp_path / "secret", folder / "body.h"
    secret.write_text("secret\n")
    over = threading.Event()

    def exchange():
        number = 0
        while not over.is_set():
            number += 1
            other = tmp_path / "other"
            other.unlink(missing_ok=True)
            if number % 2:
                other.symlink_to(secret)
            else:
                other.write_text("mine\n")
            other.rename(name)

    name.write_text("mine\n")
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(500):
            if not sandbox.take(folder, tmp_path / "taken"):
                assert (tmp_path / "taken/body.h").read_text() == "mine\n"
    finally:
        over.set()
        thread.join()


# ---- what an attempt tries ------------------------------------------------------------

TRUSTED = [SOLUTION / "body.h", Path(ROOT, "Makefile"), tree.build() / f"{PROGRAM}-check",
           tree.build() / "oracle" / PROGRAM,
           tree.build() / "data" / PROGRAM / "paper.su.truth"]
DAEMON = """
static void stay(const char *name)
{
    if (fork()) return;
    setsid();
    if (fork()) _exit(0);
    prctl(PR_SET_NAME, name);
    sleep(300);
    _exit(0);
}
"""


@needs_sandbox
@pytest.mark.parametrize("line", [
    '#include "{path}"', '#include "../../../../../..{path}"',
    '__asm__(".incbin \\"{path}\\"");', '__asm__(".inc" "bin \\"{path}\\"");',
    '__asm__(".inc" "lude \\"{path}\\"");'])
@pytest.mark.parametrize("path", [SOLUTION / "body.h", Path(ROOT, "Makefile")],
                         ids=["solution", "tree"])
def test_compiler_sees_no_other_file(check, tmp_path, line, path):
    place = attempt(tmp_path)
    (place / "body.h").write_text(line.format(path=path) + "\n" +
                                  (place / "body.h").read_text())
    ended = grade(tmp_path)
    check.process("does not compile", ended, 1, "compiles +NO: ", "grade: .*not compile")


def test_nothing_is_reached_or_kept(check, tmp_path):
    """Right only if nothing can be reached and nothing stays from run to run."""
    name, cannot = f"left{os.getpid()}", "    int seen = 0;\n"
    cannot += "".join(f'    seen += access("{path}", F_OK) == 0;\n' for path in TRUSTED)
    cannot += '    seen += access("/usr/bin/env", W_OK) == 0;\n'
    cannot += '    seen += getenv("GRADE_SECRET") != NULL;\n'
    state = f"""
    if (q->ntraces == {TRACES}) {{
        char cache[4096];
        snprintf(cache, sizeof cache, "%s/state", getenv("POCL_CACHE_DIR"));
        seen += access(cache, F_OK) == 0 || access("state", F_OK) == 0;
        close(creat(cache, 0600)), close(creat("state", 0600));
        close(creat("/tmp/state{os.getpid()}", 0600));
    }}
    seen += access("/tmp/state{os.getpid()}", F_OK) == 0 && q->ntraces != {TRACES};
    query fewer = *q;
    fewer.ntraces -= !!seen;
    q = &fewer;
    stay("{name}");
"""
    attempt(tmp_path, cannot + state, DAEMON)
    secret = {"GRADE_SECRET": "1"}
    if sandbox.available():
        check.process("sandbox", grade(tmp_path, **secret), 0, "grade: .* omp: right")
        check("no process stays", alive(name))
    check.process("no sandbox", grade(tmp_path, **secret, **NO_SANDBOX), 1,
                  "WARNING: no sandbox", "grade: .* omp: wrong: ")
    check("no process stays without a sandbox", alive(name))


@needs_sandbox
@pytest.mark.parametrize("name, line, pattern", [
    ("processes", "for (int i = 0; i < 2000; i++) if (!fork()) pause();",
     "more than 256 processes"),
    ("time", "for (volatile int i = 0;;) (void)i;", "hangs|SIGXCPU")],
    ids=["processes", "time"])
def test_limits(check, tmp_path, name, line, pattern):
    attempt(tmp_path, line)
    ended = grade(tmp_path, GRADE_TIMEOUT="5" if name == "time" else "60")
    check.process(name, ended, 1, "correct +NO, ", f"grade: .*wrong: .*({pattern})")


HOG = "x = bytearray(600 << 20)"  # 600 MiB, all of it touched
IN_SANDBOX = {  # shell code, what the run prints or why it is stopped
    "a core file": ("ulimit -c", r"^0$"),
    "one file": ("head -c 300000000 /dev/zero >bomb; wc -c <bomb", "^268435456$"),
    "CPU time": ("while :; do :; done", "crashes: SIG(XCPU|KILL)"),
    "address space": (f"/usr/bin/python3 -c '{HOG}'", "MemoryError"),
    "memory of several processes":
        (f"for i in 1 2 3; do /usr/bin/python3 -c '{HOG.replace('600', '400')}; "
         "import time; time.sleep(20)' & done; wait", "more than 1000 MiB of memory"),
    "many files": ("for i in 1 2 3 4 5 6 7 8; do head -c 200000000 /dev/zero >bomb$i; done; "
                   "sleep 20", "more than 1024 MiB written"),
    "environment": ("env", r"\A(?!.*SECRET)(?s:.*)OMP_NUM_THREADS=3"),
    "network": ("cat /proc/net/dev | tail -n +3 | grep -v lo: ; echo none", r"^none$"),
    "a write to the system": ("touch /usr/bin/x", "Read-only file system"),
    "capabilities": ("grep CapEff /proc/self/status", "0000000000000000"),
}


@needs_sandbox
@pytest.mark.parametrize("name", IN_SANDBOX, ids=lambda name: name.replace(" ", "-"))
def test_sandbox(tmp_path, monkeypatch, name):
    code, pattern = IN_SANDBOX[name]
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(sandbox, "MEMORY", 1000 << 20)
    within = sandbox.command(tmp_path, memory=500 << 20 if name == "address space" else None,
                             cpu=1 if name == "CPU time" else 100)
    with sandbox.Watch([tmp_path]) as watch:
        ended = runs.run([*within, "/bin/bash", "-c", code], 60)
    text = "\n".join(filter(None, (watch.reason, ended.out, ended.err, ended.failure())))
    assert re.search(pattern, text, re.M), text


def test_memory_of_control_groups(check, tmp_path):
    """Both versions, in a folder that stands for /sys/fs/cgroup: each file that is written
    gives the next limit. The lowest one from the group to the root applies."""
    groups, none = tmp_path / "groups", float("inf")
    check.equal("no groups", sandbox.group_limit(groups, tmp_path), none)
    for name, text, limit in (
            ("groups", "0::/a/b\n", none), ("a/b/memory.max", "max\n", none),
            ("a/memory.max", "1000000\n", 1000000), ("a/b/memory.max", "4096\n", 4096),
            ("memory.max", "12\n", 12), ("groups", "0::/elsewhere\n", 12),
            ("memory/c/memory.limit_in_bytes", "8192\n", 12),
            ("groups", "13:cpu,memory:/c\n", 8192), ("groups", "4:cpu:/c\n1\n", none)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        check.equal(f"{name} {text}", sandbox.group_limit(groups, tmp_path), limit)
    check("this machine", not 1e6 < sandbox.MEMORY < 1e15 and sandbox.MEMORY)


@pytest.mark.alone
def test_tampering_is_found(check, tmp_path):
    """A file next to the data, which an attempt without a sandbox can write."""
    planted = tree.build() / "data" / PROGRAM / f"planted{os.getpid()}"
    attempt(tmp_path, f'close(creat("{planted}", 0600));')
    try:
        check.process("tampers", grade(tmp_path, **NO_SANDBOX), 1,
                      "integrity +NO: .*planted", "grade: .*wrong: .*planted.*: changed")
    finally:
        planted.unlink(missing_ok=True)


EVIDENCE = """
import os, sys
from pathlib import Path
from tools.base import tree
program = tree.programs()[0]
program.sets["1"] = program.arguments("in={data}/small.su set=1 t0=0.6 d=0,0,1")
from tools.teach import exercise, grade
task, built = exercise.chosen("work"), tree.build()
print(grade.make_reference(task, "omp"))
evidence = grade.Evidence(task, ["omp"], "1", Path(sys.argv[1]))
print("writable:", [p for p in evidence.folders[0].rglob("*") if p.stat().st_mode & 0o222])
print("not the tree's:", tree.build() != built, evidence.changed())
for path in sorted(evidence.before):
    print("sealed", path)
fresh = next(p for p in evidence.before if p.suffix == ".su" and "fresh" in str(p))
os.chmod(fresh, 0o600)
fresh.write_bytes(fresh.read_bytes()[:-1] + b"?")
print("touched", evidence.changed())
"""


def test_evidence(check, tmp_path):
    """What judges is a read-only copy, and a byte of it that changes is found."""
    done = subprocess.run([sys.executable, "-c", EVIDENCE, tmp_path], cwd=ROOT, env={
        **os.environ, "STEP": STEP[:2], "PROGRAM": PROGRAM}, capture_output=True, text=True)
    check.process("evidence", done, 0, r"writable: \[\]", "not the tree's: True None",
                  rf"sealed {tmp_path}/{PROGRAM}-check", rf"sealed {tmp_path}/oracle/.*small-",
                  rf"sealed {tmp_path}/oracle/.*fresh-.*npy", rf"sealed {SOLUTION}/body.h",
                  rf"sealed {tmp_path}/{STEP}/{PROGRAM}-omp", r"sealed .*/paper\.su\n",
                  rf"touched {tmp_path}/fresh/fresh.su")
    tmp_path.chmod(0o755)


def test_published_data_alone_are_not_enough(check, tmp_path):
    """Right on all that was ever published, and on nothing else."""
    data = (tree.build() / "data" / PROGRAM / "paper.su").read_bytes()
    first, last = (int.from_bytes(four, "little") for four in (data[240:244], data[-4:]))
    line = f"""
    const su_gather *g = s->g;
    unsigned first, last;
    memcpy(&first, g->samples, 4);
    memcpy(&last, g->samples + (size_t)g->ntraces * g->ns - 1, 4);
    query fewer = *q;
    fewer.ntraces -= q->ntraces == {TRACES} && (first != {first}u || last != {last}u);
    q = &fewer;
"""
    attempt(tmp_path, line)
    check.process("remembers", grade(tmp_path), 1,
                  r"correct +NO, 1 of \d+ runs fail: fresh: ")


@pytest.mark.alone
@pytest.mark.seconds(20)
def test_false_times_are_charged(check, tmp_path):
    """An attempt that reports a hundredth of its time."""
    attempt(tmp_path, replace=("end - ready;", "(end - ready) / 100;"))
    done = grade(tmp_path, GRADE_REPETITIONS="5")
    check.process("charged", done, 0, r"charged +its process takes \d", "grade: .* omp: right")
    gain = re.search(r"faster +([\d.]+)", done.stdout)
    check("gain", (not gain or float(gain[1]) >= 20) and done.stdout)


def test_output_is_plain(check, tmp_path):
    """Control characters; times that are no numbers."""
    attempt(tmp_path / "colours", 'fputs("\\033[31m\\adone\\n", stderr); _exit(3);')
    done = grade(tmp_path / "colours")
    check.process("control characters", done, 1, r"refuses: \\x1b\[31m\\x07done",
                  r"grade: .*\\x1b\[31m")
    check("none are printed", re.findall(r"[^\n -~]", done.stdout + done.stderr))
    attempt(tmp_path / "times", "atexit(late);",
            'static void late(void) { puts("Time_run=never"); }')
    check.process("times", grade(tmp_path / "times"), 1,
                  "NO, .*Time_run=never: expected seconds")


def test_result_that_is_a_link(check, tmp_path):
    attempt(tmp_path, "atexit(late);", """
static void late(void)
{
    fflush(NULL);
    if (rename("out.npy", "kept.npy") || symlink("kept.npy", "out.npy")) _exit(9);
}""")
    check.process("link", grade(tmp_path), 1, r"NO, .*out\.npy: not a regular file")


@pytest.mark.alone
@pytest.mark.seconds(20)
def test_busy_machine(check, tmp_path):
    """A grade begins and ends with a line about the processes that used the machine."""
    attempt(tmp_path)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
              for _ in range(runs.processors())]
    try:
        done = grade(tmp_path)
    finally:
        for other in others:
            other.kill()
            other.wait()
    check.process("busy", done, 0, r"(?m)^WARNING: other processes use \d+ %",
                  r"(?m)^ +busy +other processes used",
                  r"(?m)^grade: .*right.*, busy: other processes used \d+ % of the CPU time$")


def test_missing_file(check, tmp_path):
    """An attempt without cpu.c is told so, before anything is compiled."""
    (attempt(tmp_path) / "cpu.c").unlink()
    check.process("cpu.c", grade(tmp_path), 1, r"(?m)^grade: .*: cpu\.c is missing$")


# ---- fresh data ------------------------------------------------------------------------


def test_fresh_data(check, tmp_path):
    """For each set of each program: other arguments or another file, different each time."""
    for program in tree.programs():
        for name, words in program.sets.items():
            drawn = []
            for n in range(2):
                place = tmp_path / f"{program.name}-{name}-{n}"
                place.mkdir()
                new = fresh.of(program, words, place)
                drawn.append([*new, *(p.read_bytes() for p in sorted(place.iterdir()))])
            check(f"fresh: {program.name} {name}",
                  None if len(drawn[0]) >= len(words) and
                  all(a != b for a, b in ((drawn[0], drawn[1]), (new, words))) and
                  (len(drawn[0]) == len(new) or drawn[0][-1] != drawn[1][-1]) else
                  f"{words}: {new}")
