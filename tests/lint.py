"""lint.py: the rules that the tree sets itself (make lint).

    lint.py [steps]     all rules, or only those of steps/

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
from tools.history import diff, tree

C_LIKE = (".c", ".h", ".cl", ".cu")
TEXT = C_LIKE + (".py", ".sh", ".mk", ".awk", ".md", "Makefile", ".clang-format",
                 ".gitignore", ".txt", ".gp", ".supp", ".csv", ".html")
COLUMNS = 88
NEW_LINES = 60  # of body.h: what a step teaches a program at most
PAGE, PAGE_MEANT = 200, 150  # lines of a README
SHOWN_LINES = 40  # of diff, in a README
# The headings of a program's lesson, in this order; others may stand between them.
HEADINGS = ("What (changes|it does)", "The lines that matter", "The prediction", "Measured",
            "What surprised", "Exercises", "Run it")
STEP_HEADINGS = ("The idea", "The programs")
COMMON_LINES, COMMON_LIMIT = 1500, 3500

# Machines are named by what they are, never by where they stand.
PLACES = re.compile(r"(?<![\w.])/(home|root|work|mnt|Users)/\w|\bfile://|"
                    r"\b(10|127|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}\b|"
                    r"\b[\w-]+\.(internal|intranet|corp|lan)\b")
NAMES_A_STEP = re.compile(r"steps/\d\d|\b\d\d_[a-z]\w*")
DEVICE_CALLS = re.compile(r"\b(clEnqueue(?!Marker)\w+|clCreate(Sub)?Buffer\w*|cudaMalloc\w*|"
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


def checker(package, *names):
    """The first of some commands that is here. One that is missing is a failure, not a
    check less."""
    found = next(filter(None, map(shutil.which, names)), None)
    check(names[0], f"is not here (Debian: {package}): nothing is checked with it",
          not found)
    return found


def formatting(files):
    """clang-format --dry-run -Werror: one line a place."""
    command = checker("clang-format-14", "clang-format-14", "clang-format")
    if not command:
        return
    done = subprocess.run([command, "--dry-run", "-Werror", *files], cwd=ROOT,
                          capture_output=True, text=True)
    first = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: error:", done.stderr, re.M):
        first.setdefault(path, line)
    for path in files:
        check(f"{path}:{first.get(path)}", "not as clang-format has it", path in first)
    if done.returncode and not first:
        check("clang-format", "fails", done.stderr.strip()[:200])


def names(files):
    """pyflakes: names that are not there, and imports that nothing needs."""
    command = checker("pyflakes3", "pyflakes3")
    if not command:
        return
    done = subprocess.run([command, *files], cwd=ROOT, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if line.startswith(tuple(files))]
    for line in found:
        check(re.match(r"[^:]+:\d+", line)[0], "pyflakes", line.partition(": ")[2] or line)
    tally.passed += len(files) - len({line.partition(":")[0] for line in found})
    if done.returncode and not found:
        check("pyflakes3", "fails", (done.stdout + done.stderr).strip()[:200])


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
        check_lines(path, lines, "modules are imported from the root, by no other path",
                    re.compile(r"\bsys\.path\b").search)
    if path.endswith(".sh"):
        done = subprocess.run(["bash", "-n", os.path.join(ROOT, path)],
                              capture_output=True, text=True)
        check(path, "bash -n", done.stderr.strip().replace("\n", " "))
        check(path, "no set -eu", not re.search(r"^set -\w*e\w*u|^set -\w*u\w*e", text,
                                                re.M))


# ---- what a step is ----------------------------------------------------------------


def texts(step, program):
    """{name: text} of a program's sources."""
    return {name: path.read_text(encoding="utf-8")
            for name, path in diff.sources(step.folder / program.name).items()}


def hunks(old, new):
    """(line in new, removed lines, added lines) of each place where two files differ, as
    `make diff` shows it. A file that is not there is /dev/null."""
    done = subprocess.run(["diff", old, new], capture_output=True, text=True).stdout
    for place in re.split(r"^(?=\d)", done, flags=re.M)[1:]:
        head, *lines = place.splitlines()
        yield (re.split("[acd]", head)[1].split(",")[0],
               [line[2:] for line in lines if line.startswith("<")],
               [line[2:] for line in lines if line.startswith(">")])


def noise(old, new):
    """The lines of new at which nothing but white space differs from old."""
    return [line for line, gone, come in hunks(old, new)
            if "".join("".join(gone).split()) == "".join("".join(come).split())]


def lesson(before, step, program):
    """The diff of one program: only what step.mk names, no noise, and of body.h, which
    is what the step teaches, not too much."""
    folder = f"steps/{step.name}/{program.name}"
    mk = f"steps/{step.name}/step.mk"
    changes = diff.of_step(step, program)
    old, new = (diff.sources(s.folder / program.name) for s in (before, step))
    for name in changes:
        path = f"{folder}/{name}"
        check(f"{path}:1", f"changed, but not in `changes` of {mk}",
              name not in step.changes(program))
        lines = noise(old.get(name, os.devnull), new.get(name, os.devnull))
        for line in lines:
            check(f"{path}:{line}", "only white space differs from the step before", True)
        if not lines:
            tally.passed += 1
    for name in step.changes(program):
        if f"changes.{program.name}" in step.mk:
            check(f"{mk}:1", f"`changes.{program.name}` names {name}, which is the same",
                  name not in changes)
    shown = step.shown(program)
    check(f"{mk}:1", f"`shown.{program.name}` is {shown}, which is not among the files "
          f"that change: {' '.join(changes)}", bool(changes) and shown not in changes)
    added = diff.count(changes["body.h"])[0] if "body.h" in changes else 0
    reason = step.mk.get(f"reason.{program.name}")
    check(f"{mk}:1", f"{added} new lines in body.h of {program.name}, more than "
          f"{NEW_LINES}, and no `reason.{program.name}`", added > NEW_LINES and not reason)


def declared(step, first):
    """step.mk, and that each program it speaks of is there, with its lesson."""
    mk = f"steps/{step.name}/step.mk"
    for key in ("title", "backends"):
        check(f"{mk}:1", f"no `{key}`", not step.mk.get(key))
    for key, kind in step.mk.items():
        if key.partition(".")[0] == "kind":
            check(f"{mk}:1", f"`{key}` is {kind}, not one of {' '.join(tree.KINDS)}",
                  kind not in tree.KINDS)
        if key.partition(".")[0] == "backends":
            check(f"{mk}:1", f"`{key}` names what is no back-end",
                  " ".join(set(kind.split()) - set(tree.BACKENDS)))
    check(f"{mk}:1", "no `kind`", "kind" not in step.mk)
    check(f"{mk}:1", "`kind = start` is for the first step, and only for it",
          (step.mk.get("kind") == "start") != first)
    for program in tree.programs():
        said = [key for key in step.mk if program.name in key.split(".")[1:]]
        if not step.has(program):
            check(f"{mk}:1", f"the step has no {program.name}, but {mk} says",
                  " ".join(said))
            continue
        for key in ("title", "predict") if tree.before(step, program) else ("title",):
            check(f"{mk}:1", f"no `{key}.{program.name}`",
                  not any(step.mk[k] for k in said if k.split(".")[0] == key))
    known = {program.name for program in tree.programs()} | {"variants"}
    for folder in sorted(p for p in step.folder.iterdir() if p.is_dir()):
        check(f"steps/{step.name}/{folder.name}", "is no program of common/",
              folder.name not in known)
        check(f"steps/{step.name}/{folder.name}", "a lesson without its program",
              folder.name in known - {"variants"} and not diff.sources(folder))
    check(f"steps/{step.name}/Makefile:1", "is missing",
          not (step.folder / "Makefile").is_file())


def page(path, title, headings):
    """A README: not too long, its title, its headings, not too much of the diff."""
    if not os.path.isfile(os.path.join(ROOT, path)):
        check(f"{path}:1", "is missing", True)
        return
    text = read(path)
    lines = text.count("\n")
    check(f"{path}:{PAGE + 1}", f"{lines} lines, more than {PAGE} ({PAGE_MEANT} are meant)",
          lines > PAGE)
    shown = sum(block.count("\n") for block in
                re.findall(r"^```diff\n(.*?)^```$", text, re.M | re.S))
    check(f"{path}:1", f"{shown} lines of diff, more than {SHOWN_LINES}",
          shown > SHOWN_LINES)
    check(f"{path}:1", f"its first line does not begin with `# {title}`",
          not text.startswith(f"# {title}"))
    found = re.findall(r"^## (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S),
                       re.M)
    places = [next((i for i, h in enumerate(found) if re.fullmatch(wanted, h)), None)
              for wanted in headings]
    for wanted, place in zip(headings, places):
        check(f"{path}:1", f"no heading `## {wanted}`", place is None)
    there = [place for place in places if place is not None]
    check(f"{path}:1", f"its headings come in another order than {', '.join(headings)}",
          there != sorted(there))


def common_enough(program):
    """A source that is the same in every step is no lesson's."""
    folders = [step for step in tree.steps() if step.has(program)]
    if len(folders) < 2:
        return
    files = [texts(step, program) for step in folders]
    for name in sorted(set.intersection(*map(set, files))):
        check(f"steps/{folders[0].name}/{program.name}/{name}:1",
              "is the same in all steps: it belongs in common/",
              len({f[name] for f in files}) == 1)


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


def patches():
    """Planted bugs and variants apply as they are."""
    for pattern in ("verify/mutants/*/*.patch", "steps/*/variants/*.patch"):
        for path in sorted(tree.ROOT.glob(pattern)):
            done = subprocess.run(["patch", "-p1", "-s", "-F0", "-r-", "--dry-run", "-d",
                                   ROOT, "-i", path], capture_output=True, text=True)
            said = (done.stdout + done.stderr).strip().splitlines() or ["fails"]
            check(f"{diff.shown(path)}:1", "does not apply",
                  said[-1] if done.returncode else None)


def main():
    files = all_files()
    if sys.argv[1:] != ["steps"]:
        formatting([path for path in files if path.endswith(C_LIKE)])
        names([path for path in files if path.endswith(".py")])
        for path in files:
            if path.endswith(TEXT):
                writing(path)
        common(files)
    for step in tree.steps():
        declared(step, step is tree.steps()[0])
        page(f"steps/{step.name}/README.md", f"{step.number} ", STEP_HEADINGS)
        for program in filter(step.has, tree.programs()):
            page(f"steps/{step.name}/{program.name}/README.md",
                 f"{step.number} {program.name}\n", HEADINGS)
            before = tree.before(step, program)
            if before:
                lesson(before, step, program)
    for program in tree.programs():
        common_enough(program)
    patches()
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
