"""lint.py: the rules that the tree sets itself (make lint).

A step is one lesson: what it changes is looked at as a diff against the step before, file
by file, and held against what its step.mk declares. The rest are rules of writing. Each
breach is one line, file:line: rule; the last line counts the checks. Left out: whether a
lesson is any good.
"""
import os
import re
import shutil
import subprocess
import sys

from tests.helpers import ROOT, Tally
from tools.history import tree

C_LIKE = (".c", ".h", ".cl", ".cu")
TEXT = C_LIKE + (".py", ".sh", ".mk", ".awk", ".md", "Makefile", ".clang-format",
                 ".gitignore", ".txt", ".gp", ".supp", ".csv", ".html")
COLUMNS = 88
NEW_LINES = 60
COMMON_LINES, COMMON_LIMIT = 1500, 2500

# Machines are named by what they are, never by where they stand.
PLACES = re.compile(r"(?<![\w.])/(home|root|work|mnt|Users)/\w|\bfile://|"
                    r"\b(10|127|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}\b|"
                    r"\b[\w-]+\.(internal|intranet|corp|lan)\b")
NAMES_A_STEP = re.compile(r"steps/\d\d|\b\d\d_[a-z]\w*")
DEVICE_CALLS = re.compile(r"\b(clEnqueue\w+|clCreate(Sub)?Buffer\w*|cudaMalloc\w*|"
                          r"cudaMemcpy\w*)\s*\(")

tally = Tally()


def check(where, rule, problem):
    """One check: where is the file or file:line that a failure names."""
    if problem:
        print(f"{where}: {rule}" + ("" if problem is True else f": {problem}"))
        tally.failed += 1
    else:
        tally.passed += 1


def check_lines(path, lines, rule, bad):
    """One check of a file, failing at each line for which bad(line) holds."""
    found = [number for number, line in enumerate(lines, 1) if bad(line)]
    for number in found:
        check(f"{path}:{number}", rule, True)
    if not found:
        tally.passed += 1


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def all_files():
    """What git has or would take; all files where this is no checkout."""
    git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                         capture_output=True, text=True)
    if git.returncode == 0:
        found = git.stdout.split("\0")
    else:
        found = [os.path.relpath(os.path.join(folder, name), ROOT)
                 for folder, _, names in os.walk(ROOT) for name in names
                 if not re.search(r"/(\.git|build|work|__pycache__)(/|$)",
                                  folder[len(ROOT):])]
    return sorted({p for p in found if p and os.path.isfile(os.path.join(ROOT, p))})


# ---- how files are written ---------------------------------------------------------


def formatting(files):
    """clang-format --dry-run -Werror: one line a place."""
    if not shutil.which("clang-format"):
        print("clang-format is not here (Debian: clang-format): formatting is not checked")
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=ROOT,
                          capture_output=True, text=True)
    first = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: error:", done.stderr, re.M):
        first.setdefault(path, line)
    for path in files:
        check(f"{path}:{first.get(path)}", "not as clang-format has it", path in first)
    if done.returncode and not first:
        check("clang-format", "fails", done.stderr.strip()[:200])


def writing(path):
    try:
        text = read(path)
    except UnicodeDecodeError:
        check(path, "is not UTF-8", True)
        return
    lines = text.split("\n")
    check(f"{path}:{len(lines)}", "no line end at the end of the file",
          bool(text) and not text.endswith("\n"))
    plain = lines  # a diff's lines may end in a blank: an empty line that did not change
    if path.endswith(".md"):
        plain = re.sub(r"^```diff\n.*?^```$", lambda m: "\n" * m[0].count("\n"), text,
                       flags=re.M | re.S).split("\n")
    check_lines(path, plain, "trailing white space", lambda l: l != l.rstrip())
    check_lines(path, lines, "carriage return", lambda l: "\r" in l)
    check_lines(path, lines, "names a place of one machine", PLACES.search)
    if path.endswith(C_LIKE):
        check_lines(path, lines, f"more than {COLUMNS} columns", lambda l: len(l) > COLUMNS)
        check_lines(path, lines, "tab", lambda l: "\t" in l)
        check(f"{path}:1", "does not open with a comment",
              not text.startswith(("/*", "//")))
    if path.endswith(".py"):
        try:
            compile(text, path, "exec")
        except SyntaxError as error:
            check(f"{path}:{error.lineno}", "python", error.msg)
    if path.endswith(".sh"):
        done = subprocess.run(["bash", "-n", os.path.join(ROOT, path)],
                              capture_output=True, text=True)
        check(path, "bash -n", done.stderr.strip().replace("\n", " "))
        check(path, "no set -eu", not re.search(r"^set -\w*e\w*u|^set -\w*u\w*e", text,
                                                re.M))


# ---- what a step is ----------------------------------------------------------------


def program_files(step, program):
    """{path below the program's folder: text}"""
    folder = step.folder / program.name
    return {str(p.relative_to(folder)): p.read_text(encoding="utf-8")
            for p in sorted(folder.rglob("*")) if p.is_file()}


def hunks(old, new):
    """(line in new, removed lines, added lines) of each place where two files differ, as
    `make diff` shows it. A file that is not there is /dev/null."""
    diff = subprocess.run(["diff", old, new], capture_output=True, text=True).stdout
    for place in re.split(r"^(?=\d)", diff, flags=re.M)[1:]:
        head, *lines = place.splitlines()
        yield (re.split("[acd]", head)[1].split(",")[0],
               [line[2:] for line in lines if line.startswith("<")],
               [line[2:] for line in lines if line.startswith(">")])


def lesson(before, step, program):
    """The diff of one program: only what step.mk names, no noise, not too much."""
    old, new = program_files(before, program), program_files(step, program)
    changed = sorted(name for name in old.keys() | new.keys()
                     if old.get(name) != new.get(name))
    mk = f"steps/{step.name}/step.mk"
    allowed = step.mk.get(f"changes.{program.name}", step.mk.get("changes", "")).split()
    added = 0
    for name in changed:
        path = f"steps/{step.name}/{program.name}/{name}"
        check(f"{path}:1", f"changed, but not in `changes` of {mk}",
              name not in allowed)
        noise = []
        pair = [s.folder / program.name / name if name in t else os.devnull
                for s, t in ((before, old), (step, new))]
        for line, gone, come in hunks(*pair):
            added += len(come)
            if "".join("".join(gone).split()) == "".join("".join(come).split()):
                noise.append(line)
        for line in noise:
            check(f"{path}:{line}", "only white space differs from the step before", True)
        if not noise:
            tally.passed += 1
    for name in allowed:
        if f"changes.{program.name}" in step.mk:
            check(f"{mk}:1", f"`changes.{program.name}` names {name}, which is the same",
                  name not in changed)
    reason = step.mk.get(f"reason.{program.name}", step.mk.get("reason"))
    check(f"{mk}:1", f"{added} new lines in {program.name}, more than {NEW_LINES}, and no "
          f"`reason`", added > NEW_LINES and not reason)


def declared(step, first):
    mk = f"steps/{step.name}/step.mk"
    for key in ("title", "backends"):
        check(f"{mk}:1", f"no `{key}`", not step.mk.get(key))
    kind = step.mk.get("kind")
    check(f"{mk}:1", f"`kind` is {kind}, not one of {' '.join(tree.KINDS)}",
          kind not in tree.KINDS)
    check(f"{mk}:1", "`kind = start` is for the first step, and only for it",
          kind is not None and (kind == "start") != first)
    for backend in step.mk.get("backends", "").split():
        check(f"{mk}:1", f"back-end {backend} is not known",
              backend not in tree.BACKENDS)
    for program in tree.programs():
        if not step.has(program):
            continue
        check(f"{mk}:1", f"no `predict.{program.name}`",
              not first and not step.prediction(program))
    folders = [p for p in sorted(step.folder.iterdir()) if p.is_dir()]
    known = {program.name for program in tree.programs()} | {"halfway"}
    for folder in folders:
        check(f"steps/{step.name}/{folder.name}", "is no program of common/",
              folder.name not in known)
    for name in ("README.md", "Makefile"):
        check(f"steps/{step.name}/{name}:1", "is missing",
              not (step.folder / name).is_file())


def common_enough(program):
    """A source that is the same in every step is no lesson's."""
    folders = [step for step in tree.steps() if step.has(program)]
    if len(folders) < 2:
        return
    texts = [program_files(step, program) for step in folders]
    for name in set.intersection(*(set(t) for t in texts)):
        check(f"steps/{folders[0].name}/{program.name}/{name}:1",
              "is the same in all steps: it belongs in common/",
              len({t[name] for t in texts}) == 1)


# ---- common ------------------------------------------------------------------------


def common(files):
    total = 0
    front_ends = tuple(f"common/{program.name}/" for program in tree.programs())
    for path in files:
        if not path.startswith("common/") or not path.endswith(C_LIKE + (".awk", ".mk")):
            continue
        lines = read(path).split("\n")
        check_lines(path, lines, "names a step", NAMES_A_STEP.search)
        if not path.startswith("common/cuda/cuda_cpu."):
            check_lines(path, lines, "allocates, moves or launches: that is a lesson",
                        DEVICE_CALLS.search)
        if not path.startswith(front_ends):
            total += len(lines) - 1
    print(f"common/ without front ends: {total} lines, about {COMMON_LINES} meant, at most "
          f"{COMMON_LIMIT}")
    check("common:1", f"{total} lines, more than {COMMON_LIMIT}", total > COMMON_LIMIT)


def main():
    files = all_files()
    formatting([path for path in files if path.endswith(C_LIKE)])
    for path in files:
        if path.endswith(TEXT):
            writing(path)
    before = None
    for step in tree.steps():
        declared(step, before is None)
        for program in tree.programs():
            if before and step.has(program) and before.has(program):
                lesson(before, step, program)
        before = step
    for program in tree.programs():
        common_enough(program)
    common(files)
    return tally.finish()


sys.exit(main())
