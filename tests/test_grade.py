"""grade_test.py: a grade that neither a careless nor a clever attempt bends.

Attempts at step 05 that cheat, each in one way, are written as a line at the beginning of
search() or at the end of the process; OpenMP only, on a small query. What is refused
before anything is built is tried on folders alone.

    grade_test.py [NAME ...]    all, or those named
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.helpers import ROOT
from tools.history import tree
from tools.teach import fresh, jail

STEP, PROGRAM = "05_algebra", "semblance"
BOOK = Path(ROOT, "steps", STEP, PROGRAM)
BEGIN = "double start = seconds();\n"
FIRST = "void search("
TRACES = 116  # of the set that is timed; the cases have fewer
WRONG = "query fewer = *q; fewer.ntraces--; q = &fewer;"
# make grade, with a set that takes little.
GRADE = """
from tools.history import tree
program = tree.programs()[0]
program.sets["1"] = program.words("in={data}/paper.su set=1 d=-1e-7,1e-7,6")
from tools.teach import grade
grade.main()
"""



def attempt(folder, line="", before="", replace=("", "")):
    """The book's answer with a line at the beginning of search(), others before it."""
    place = folder / "work" / STEP / PROGRAM
    shutil.copytree(BOOK, place)
    code = (place / "cpu.c").read_text()
    assert BEGIN in code and FIRST in code and replace[0] in code
    above, begin, below = code.replace(*replace).rpartition(BEGIN)
    code = f"{above}{begin}    {line}\n{below}"
    headers = "".join(f"#include <{name}.h>\n" for name in
                      ("fcntl", "signal", "stdio", "string", "sys/prctl", "unistd"))
    (place / "cpu.c").write_text("#define _GNU_SOURCE\n" + headers +
                                 code.replace(FIRST, f"{before}\n{FIRST}"))
    return place


def grade(folder, **variables):
    clean = {k: v for k, v in os.environ.items() if k != "FORCE"}
    asked = {"STEP": STEP[:2], "PROGRAM": PROGRAM, "BACKEND": "omp", "SET": "1",
             "GRADE_ROUNDS": "3", "GRADE_TIMEOUT": "100",
             "WORK": str(folder / "work"), **variables}
    return subprocess.run([sys.executable, "-c", GRADE], cwd=ROOT, env={**clean, **asked},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300)


def expect(name, done, status, *patterns):
    text = done.stdout + done.stderr
    good = done.returncode == status and all(re.search(p, text) for p in patterns)
    check(name, None if good else f"exit status {done.returncode}: {text}")


def alive(name):
    """The processes of that name, which are then ended."""
    found = subprocess.run(["pgrep", "-x", name], capture_output=True, text=True).stdout
    for pid in map(int, found.split()):
        os.kill(pid, 9)
    return found.split()


# ---- what is refused ------------------------------------------------------------------

LEAVING = [
    '#include "../../06_constant/semblance/body.h"', '#include "/etc/passwd"',
    "#include </etc/passwd>", "#include <x/../../../y.h>", "#include WHERE",
    '#\\\ninclude "/a.h"', '# /* x\n */ include /**/ "/a.h"', '%:include "/a.h"',
    '??=include "/a.h"', '#include_next "/a.h"', '#import "/a.h"',
    '#inc??/\nlude "/a.h"', '#if __has_include("/a.h")', "#if __has_include(WHERE)",
    '#embed "/a.h"', 'char *s = "/*";\n#include "/a.h"\nchar *t = "*/";',
    '__asm__(".incbin \\"/a.h\\"");', '__asm__(".include \\"a.h\\"");']
STAYING = ['#include "body.h"', "#include <sys/time.h>", '#  include "parts/x.h"',
           "#if __has_include(<omp.h>)", "// includes the first\n", "int includes;"]


def includes(folder):
    for text in LEAVING + STAYING:
        (folder / "body.h").write_text(f"int a;\n{text}\nint b;\n")
        said = jail.leaves(folder)
        check(f"include: {text!r}", None if bool(said) == (text in LEAVING) else said or
              "taken")
    for step in tree.steps():
        for program in filter(step.has, tree.programs()):
            check(f"include: {step.name}", jail.leaves(step.folder / program.name))
    place = attempt(folder)
    (place / "cpu.c").write_text('#include "../../../../tests/x.h"\n')
    expect("include: grade", grade(folder), 1, r"^grade: .*: refused: cpu\.c: an include "
           r"that leaves the folder: #include \"\.\./")


def folders(folder):
    """What cannot be taken as an attempt."""
    given, taken = folder / "given", folder / "taken"

    def take(name, pattern):
        problem = jail.take(given, taken)
        check(f"folder: {name}", None if problem and re.search(pattern, problem) else
              f"{problem}, expected {pattern}")
        check(f"folder: {name}: nothing is copied", taken.exists())

    given.mkdir()
    (given / "link.h").symlink_to(BOOK / "body.h")
    take("link", "link.h: expected a plain file")
    (given / "link.h").unlink()
    (given / "twice.h").hardlink_to(shutil.copy(BOOK / "body.h", folder / "body.h"))
    take("hard link", "twice.h: expected a plain file")
    (given / "twice.h").unlink()
    (given / "all").symlink_to(BOOK)
    take("link to a folder", "all: expected a plain file")
    (given / "all").unlink()
    os.mkfifo(given / "pipe.h")
    take("pipe", "pipe.h: expected a plain file")
    (given / "pipe.h").unlink()
    with open(given / "big.h", "wb") as file:
        file.truncate(jail.BYTES + 1)
    take("size", "more than .* MiB")
    (given / "big.h").unlink()
    for n in range(jail.FILES + 1):
        (given / f"{n}.h").touch()
    take("files", "more than .* files")

    (folder / "work" / STEP).mkdir(parents=True)
    (folder / "work" / STEP / PROGRAM).symlink_to(BOOK)
    expect("folder: itself a link", grade(folder), 1, "^grade: .*: refused: a link")


# ---- what an attempt tries ------------------------------------------------------------

TRUSTED = [BOOK / "body.h", Path(ROOT, "Makefile"), tree.build() / f"{PROGRAM}-check",
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


def reaches(folder):
    """All the other way round: right only while nothing can be reached, kept, or left."""
    name, cannot = f"left{os.getpid()}", "    int seen = 0;\n"
    cannot += "".join(f'    seen += access("{path}", F_OK) == 0;\n' for path in TRUSTED)
    cannot += '    seen += access("/usr/bin/env", W_OK) == 0;\n'
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
    attempt(folder, cannot + state, DAEMON)
    if jail.possible():
        expect("reaches nothing", grade(folder), 0, "grade: .* omp: right")
        check("nothing stays", alive(name))
    expect("reaches all without a jail", grade(folder, GRADE_JAIL="0"), 1, "no jail here",
           "grade: .* omp: wrong: ")
    check("nothing stays without a jail", alive(name))


def tampers(folder):
    """A file beside the data; without a jail, where it can."""
    planted = tree.build() / "data" / PROGRAM / f"planted{os.getpid()}"
    attempt(folder, f'close(creat("{planted}", 0600));')
    try:
        expect("tampers", grade(folder, GRADE_JAIL="0"), 1, "court +NO: .*planted",
               "grade: .*wrong: .*planted.* was changed")
    finally:
        planted.unlink(missing_ok=True)


COURT = """
import os, sys
from pathlib import Path
from tools.history import tree
program = tree.programs()[0]
program.sets["1"] = program.words("in={data}/small.su set=1 t0=0.6 d=0,0,1")
from tools.teach import exercise, grade
task, built = exercise.chosen(), tree.build()
print(grade.make_book(task, "omp"))
court = grade.Court(task, ["omp"], "1", Path(sys.argv[1]))
print("to be written:", [p for p in court.folders[0].rglob("*") if p.stat().st_mode & 0o222])
print("not the tree's:", tree.build() != built, court.tampered())
for path in sorted(court.before):
    print("sealed", path)
fresh = next(p for p in court.before if p.suffix == ".su" and "fresh" in str(p))
os.chmod(fresh, 0o600)
fresh.write_bytes(fresh.read_bytes()[:-1] + b"?")
print("touched", court.tampered())
"""


def court(folder):
    """What judges is a read-only copy, and a byte of it that changes is found."""
    done = subprocess.run([sys.executable, "-c", COURT, folder], cwd=ROOT, env={
        **os.environ, "STEP": STEP[:2], "PROGRAM": PROGRAM}, capture_output=True, text=True)
    expect("court", done, 0, r"to be written: \[\]", "not the tree's: True None",
           rf"sealed {folder}/{PROGRAM}-check", rf"sealed {folder}/oracle/.*small-.*npy",
           rf"sealed {folder}/oracle/.*fresh-.*npy", rf"sealed {BOOK}/body.h",
           rf"sealed {folder}/{STEP}/{PROGRAM}-omp", r"sealed .*/paper\.su\n",
           rf"touched {folder}/fresh/fresh.su")


def remembers(folder):
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
    attempt(folder, line)
    expect("remembers", grade(folder), 1, r"correct +NO, 1 of \d+ runs fail: fresh: ")


def lies(folder):
    """Says that it ran for a hundredth of the time."""
    attempt(folder, replace=("end - ready;", "(end - ready) / 100;"))
    done = grade(folder, GRADE_ROUNDS="5")
    expect("lies", done, 0, r"beside +its process takes \d", "grade: .* omp: right")
    gain = re.search(r"faster +([\d.]+)", done.stdout)
    check("lies: in vain", None if gain and float(gain[1]) < 20 else done.stdout)


def says(folder):
    """What a terminal would obey; times that are none."""
    attempt(folder / "colours", 'fputs("\\033[31m\\adone\\n", stderr); _exit(3);')
    done = grade(folder / "colours")
    expect("control characters", done, 1, r"refuses: \\x1b\[31m\\x07done",
           r"grade: .*\\x1b\[31m")
    check("control characters: none", re.findall(r"[^\n -~]", done.stdout + done.stderr))
    attempt(folder / "times", "atexit(late);",
            'static void late(void) { puts("Time_run=never"); }')
    expect("times", grade(folder / "times"), 1, "NO, .*Time_run=never: expected a number")


def swaps(folder):
    """Its result is a link to another's."""
    attempt(folder, "atexit(late);", """
static void late(void)
{
    fflush(NULL);
    if (rename("out.npy", "kept.npy") || symlink("kept.npy", "out.npy")) _exit(9);
}""")
    expect("swaps", grade(folder), 1, r"NO, .*out\.npy: expected a plain file")


def busy(folder):
    """The grade: line says that others were at work."""
    attempt(folder)
    over = threading.Event()

    def burn():
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            over.wait()
            other.kill()

    burners = [threading.Thread(target=burn) for _ in range(os.cpu_count())]
    for thread in burners:
        thread.start()
    try:
        done = grade(folder)
    finally:
        over.set()
        for thread in burners:
            thread.join()
    expect("busy", done, 0, r"(?m)^ +busy +others took", r"(?m)^grade: .*right.*, busy: others "
           r"took \d+ % of the CPU time$")


# ---- fresh data ------------------------------------------------------------------------


def drawn(folder):
    """Each set of each program: other words or another file, and other ones each time."""
    for program in tree.programs():
        for name, words in program.sets.items():
            said = []
            for n in range(2):
                place = folder / f"{program.name}-{name}-{n}"
                place.mkdir()
                new = fresh.of(program, words, place)
                said.append([*new, *(p.read_bytes() for p in sorted(place.iterdir()))])
            check(f"fresh: {program.name} {name}",
                  None if len(said[0]) >= len(words) and
                  all(a != b for a, b in ((said[0], said[1]), (new, words))) and
                  (len(said[0]) == len(new) or said[0][-1] != said[1][-1]) else
                  f"{words}: {new}")


TESTS = [includes, folders, reaches, court, remembers, says, swaps, drawn]
ALONE = [lies, busy, tampers]  # tampers: with what other grades look at


def main():
    wanted = sys.argv[1:] or [test.__name__ for test in TESTS + ALONE]
    with tempfile.TemporaryDirectory() as place:
        def run(test):
            if test.__name__ in wanted:
                Path(place, test.__name__).mkdir()
                test(Path(place, test.__name__))
        for test in ALONE:
            run(test)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, TESTS))
    return tally.finish()

