"""lint.py: the rules of this tree (make lint).

    lint.py [all|steps]     all rules, or only those for steps/

A step is one lesson: its diff to the step before is compared, file by file, with what its
step.mk declares; a file that is not declared must have the same bytes. The other rules are
about the format of files, links, imports, pyflakes and mypy. Each breach is one line,
FILE:LINE: RULE; the last line counts the checks.
"""
import argparse
import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import partial

from tools.base import tree
from tools.history import diff, patches, rungs
from tools.measure import variants

ROOT = str(tree.ROOT)

C_LIKE = (".c", ".h", ".cl", ".cu")
TEXT = C_LIKE + (".py", ".sh", ".mk", ".awk", ".md", "Makefile", ".clang-format",
                 ".gitignore", ".txt", ".gp", ".supp", ".csv", ".json", ".html")
COLUMNS = {**dict.fromkeys(C_LIKE, 88), ".py": 100}
NEW_LINES = 60  # the most that a step may add to body.h without a reason
RUNG_LINES, RUNG_BODY_LINES = 150, 60  # the most that a rung may change, in all and in body.h
SUBJECT = 72  # characters
# The folders of the root, and those that the code of each may name. Texts, comments, patches and
# files of the root may name any.
FOLDERS = {"common": (), "data": ("common",), "steps": ("common",), "verify": ("common",),
           "results": (), "docs": ("results",),
           "tools": ("common", "data", "steps", "verify", "results", "docs"),
           "tests": ("common", "data", "steps", "verify", "results", "docs", "tools")}
# The folders of tools/, and those that each may import besides itself.
LAYERS = {"base": (), "history": ("base",), "verify": ("base", "history"),
          "measure": ("base", "history", "verify"),
          "publish": ("base", "history", "verify", "measure"),
          "teach": ("base", "history", "verify", "measure")}
# Machines are named by what they are, never by where they stand.
PLACES = re.compile(r"(?<![\w.])/(home|root|work|mnt|Users)/\w|\bfile://|"
                    r"\b(10|127|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}\b|"
                    r"\b[\w-]+\.(internal|intranet|corp|lan)\b")
RATIO = re.compile(r"(?<!= )(?<!at most )(?<![\w.])\d*\.\d+ ?(x\b|times\b)")
MACHINE = re.compile(r"\b(AMD|Intel|NVIDIA)\b")

SHORT = 1200  # words of docs/in-15-minutes.md

counts = {"passed": 0, "failed": 0}


def check(where, rule, problem=False):
    """Counts one check, which passes if problem is falsy; where is the file or file:line
    that a failure names."""
    if problem:
        print(f"{where}: {rule}" + ("" if problem is True else f": {problem}"))
    counts["failed" if problem else "passed"] += 1


def check_lines(path, lines, rule, bad):
    """One check of a file, failing at each line for which bad(line) holds."""
    found = [number for number, line in enumerate(lines, 1) if bad(line)]
    for number in found:
        check(f"{path}:{number}", rule, True)
    if not found:
        check(path, rule)


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
    first: dict[str, str] = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: error:", done.stderr, re.M):
        first.setdefault(path, line)
    for path in files:
        check(f"{path}:{first.get(path)}", "not as clang-format has it", path in first)
    if done.returncode and not first:
        check("clang-format", "fails", done.stderr.strip()[:200])


def python(files):
    """pyflakes and mypy."""
    if checker("pyflakes3", "pyflakes3"):
        done = subprocess.run(["pyflakes3", *files], cwd=ROOT, capture_output=True, text=True)
        check_output("pyflakes3", done.stdout.splitlines() + done.stderr.splitlines(), files)
    if checker("mypy", "mypy"):
        cache = tree.build() / "mypy"
        done = subprocess.run(["mypy", "--no-error-summary", f"--cache-dir={cache}"],
                              cwd=ROOT, capture_output=True, text=True)
        lines = done.stdout.splitlines() + done.stderr.splitlines()
        check_output("mypy", [line for line in lines if ": note: " not in line], files)


def check_output(name, complaints, files):
    """One check per file; complaints are lines FILE:LINE: TEXT."""
    for line in complaints:
        place, _, text = line.partition(": ")
        check(place, name, text or line)
    for _ in set(files) - {line.partition(":")[0] for line in complaints}:
        check("", name)


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
    columns = COLUMNS.get(os.path.splitext(path)[1], sys.maxsize)
    check_lines(path, lines, f"more than {columns} columns", lambda l: len(l) > columns)
    if path.endswith(C_LIKE):
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


def measured_ratios(path):
    """The prose of a page has no ratio of two times ("2.38x", "1.41 times"): such a number is
    generated from results/, or it stands in docs/ with its machine. A ratio that was computed
    ("= 1.67", "at most 1.75 times") or predicted may be written."""
    if re.match(r"results/|CHANGELOG|steps/(0[89]|1\d)|steps/\w+/(?!semblance)\w+/", path):
        return
    text = re.sub(r"^(<!-- generated:.*?<!-- end -->|```.*?^```|\|.*?)$",
                  lambda m: "\n" * m[0].count("\n"), read(path), flags=re.M | re.S)
    check_lines(path, text.split("\n"), "a measured ratio in prose", lambda line: RATIO.search(
        re.sub(r"[^.]*\bpredict.*?\. ", "", line)) and not (
        path.startswith("docs/") and MACHINE.search(line)))


def short_history():
    """docs/in-15-minutes.md has at most SHORT words, and its lines of code are in the steps."""
    path = "docs/in-15-minutes.md"
    text = read(path)
    check(path, f"more than {SHORT} words", len(text.split()) > SHORT)
    for part in text.split("\n## ")[1:]:
        for line in "".join(re.findall(r"^```c\n(.*?)^```", part, re.M | re.S)).splitlines():
            check(path, f"not in step {part[:2]}: {line}", not any(
                line.strip() in source.read_text() for source in
                tree.ROOT.glob(f"steps/{part[:2]}_*/{tree.programs()[0].name}/*")))


# ---- what a step is ----------------------------------------------------------------


def texts(step, program):
    """{name: text} of a program's sources."""
    return {name: path.read_text(encoding="utf-8")
            for name, path in diff.sources(step.folder / program.name).items()}


def hunks(changes):
    """(first line in the new file, removed lines, added lines) of each place of a unified
    diff."""
    number = 0
    gone: list[str] = []
    come: list[str] = []
    for line in [*changes.splitlines()[2:], "@@"]:
        if line[0] == "-":
            gone.append(line[1:])
        elif line[0] == "+":
            come.append(line[1:])
        else:
            if gone or come:
                yield number, gone, come
            number += len(come) + (line[0] == " ")
            gone, come = [], []
            head = re.match(r"@@.* \+(\d+)", line)
            if head:
                number = int(head[1])


def noise(changes):
    """The lines of the new file at which nothing but white space differs."""
    return [line for line, gone, come in hunks(changes)
            if "".join("".join(gone).split()) == "".join("".join(come).split())]


def lesson(before, step, program):
    """The diff of one program: only what step.mk names, no noise, and of body.h, which
    is what the step teaches, not too much."""
    folder = f"steps/{step.name}/{program.name}"
    mk = f"steps/{step.name}/step.mk"
    changes = diff.step_changes(step, program)
    for name, text in changes.items():
        path = f"{folder}/{name}"
        check(f"{path}:1", f"changed, but not in `changes` of {mk}",
              name not in step.changes(program))
        lines = noise(text)
        for line in lines:
            check(f"{path}:{line}", "only white space differs from the step before", True)
        if not lines:
            check(path, "white space")
    copies(before.folder / program.name, step.folder / program.name,
           step.changes(program), mk)
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


def copies(before, folder, changes, mk):
    """Each step is a complete copy of the step before: a file that is not declared as changed
    must have the same bytes, whatever its type; sources are compared by lesson()."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name, earlier = str(path.relative_to(folder)), before / path.relative_to(folder)
        if name not in changes and path.suffix != ".md":
            check(f"{tree.display(path)}:1", f"differs from the step before, but is not in "
                  f"`changes` of {mk}", not earlier.is_file() or
                  earlier.read_bytes() != path.read_bytes())


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
        check(f"steps/{step.name}/{program.name}/README.md:1", "is missing",
              not (step.folder / program.name / "README.md").is_file())
    check(f"steps/{step.name}/README.md:1", "is missing",
          not (step.folder / "README.md").is_file())
    known = {program.name for program in tree.programs()} | {"variants", "rungs"}
    for folder in (step.folder / "rungs").glob("*"):
        check(tree.display(folder), "rungs of a program that the step does not have",
              folder.name not in [p.name for p in tree.programs() if step.has(p)])
    for folder in sorted(p for p in step.folder.iterdir() if p.is_dir()):
        check(f"steps/{step.name}/{folder.name}", "is no program of common/",
              folder.name not in known)
        check(f"steps/{step.name}/{folder.name}", "a lesson without its program",
              folder.name in known - {"variants", "rungs"} and not diff.sources(folder))
    model = tree.steps()[0].folder / "Makefile"
    check(f"steps/{step.name}/Makefile:1", f"differs from {tree.display(model)}",
          not (step.folder / "Makefile").is_file() or
          (step.folder / "Makefile").read_bytes() != model.read_bytes())


def common_enough(program):
    """A source that is the same in every step is no lesson's."""
    folders = [step for step in tree.steps() if step.has(program)]
    if len(folders) < 2:
        return
    files = [texts(step, program) for step in folders]
    for name in sorted(set(files[0]).intersection(*files)):
        check(f"steps/{folders[0].name}/{program.name}/{name}:1",
              "is the same in all steps: it belongs in common/",
              len({f[name] for f in files}) == 1)


def kernel_options(step, program):
    """Each macro that a host program defines for its kernels (-D NAME) is one that they, or
    the headers of common/, use: renaming in one place only would go unnoticed."""
    files = texts(step, program)
    strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', "".join(
        text for name, text in files.items() if name.endswith((".c", ".h"))))
    kernels = "".join(text for name, text in files.items() if name.endswith((".cl", ".h")))
    for folder in ("portable", program.name):
        kernels += "".join(p.read_text() for p in tree.ROOT.glob(f"common/{folder}/*.h"))
    for name in sorted(set(re.findall(r"-D ?(\w+)", " ".join(strings)))):
        check(f"steps/{step.name}/{program.name}/kernel.cl:1",
              f"does not use {name}, which the host program defines",
              not re.search(rf"\b{name}\b", kernels))


# ---- rungs -------------------------------------------------------------------------


def rungs_compose(step, program):
    """The patches of a step, applied in their order to the folder of its parent, give its
    folder, and each of them is small."""
    folder = f"steps/{step.name}/rungs/{program.name}"
    try:
        found = rungs.of_step(step, program)
        states = list(rungs.composed(step, program)) if found else []
    except SystemExit as error:
        check(folder, "cannot be applied", str(error))
        return
    for place, patch in enumerate(found, 1):
        declared_rung(f"{tree.display(patch.path)}:1", f"{step.number}.{place}", step, program,
                      patch)
    if found:
        wanted, last = rungs.files(step.folder / program.name), states[-1]
        check(folder, "the last patch does not give the step's", " ".join(
            sorted(n for n in wanted.keys() | last.keys() if wanted.get(n) != last.get(n))))


def declared_rung(where, name, step, program, patch):
    """The message of a patch, and its size."""
    check(where, f"{name}: its subject has {len(patch.subject)} characters, more than {SUBJECT}",
          len(patch.subject) > SUBJECT)
    check(where, f"{name}: no text says what changes and why", not patch.body)
    parent = step.parent(program)
    known = {*step.backends(program), *(parent.backends(program) if parent else ())}
    backends = patch.words("Backends")
    check(where, f"{name}: `Kind` is not one of {' '.join(tree.KINDS[1:])}",
          patch.trailers.get("Kind") not in tree.KINDS[1:] and
          f"({patch.trailers.get('Kind', '')})")
    check(where, f"{name}: `Backends` is empty or names what is no back-end here",
          not backends or " ".join(set(backends) - known))
    for backend, device in rungs.PREDICTED.items():
        check(where, f"{name}: no `Predict-{device}`",
              backend in backends and device not in patch.predictions)
    check(where, f"{name}: `Predicted` does not begin with before or after",
          not re.match(r"(before|after)\b", patch.trailers.get("Predicted", "")))
    check(where, f"{name}: unknown trailers", " ".join(sorted(
        set(patch.trailers) - {"Kind", "Backends", "Predicted", "Reason",
                               *(f"Predict-{device}" for device in rungs.PREDICTED.values())})))
    sizes = patches.sizes(patch.path)
    body, total = sizes.get("body.h", 0), sum(sizes.values())
    check(where, f"{name}: changes {body} lines of body.h and {total} in all, more than "
          f"{RUNG_BODY_LINES} or {RUNG_LINES}, and has no `Reason`",
          (body > RUNG_BODY_LINES or total > RUNG_LINES) and not patch.trailers.get("Reason"))


def figures():
    """The figures are those that their scripts draw from results/ today."""
    if not importlib.util.find_spec("matplotlib"):
        print("lint: figures are not checked: python3-matplotlib is not installed")
        return
    done = subprocess.run([sys.executable, "docs/figures", "--check"], cwd=ROOT,
                          capture_output=True, text=True)
    complaints = (done.stdout if done.returncode in (0, 1) and not done.stderr
                  else done.stderr[-200:]).splitlines()
    check("docs/figures", "stale (make figures)", " ".join(complaints))


def patches_apply(folder, read):
    """The patches of a folder apply, and have short subjects; read(path) knows the trailers."""
    for path in sorted(tree.ROOT.glob(f"{folder}/*.patch")):
        where = f"{tree.display(path)}:1"
        try:
            check(where, f"subject: at most {SUBJECT} characters", read(path).about[SUBJECT:])
        except SystemExit as error:
            check(where, "wrong trailer", error)
        check(where, "does not apply", patches.apply(path, tree.ROOT, "--check"))


# ---- links ----------------------------------------------------------------------


def anchors(text):
    """The anchors of a page, as forges make them from headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S),
                          re.M)
    found: set[str] = set()
    seen: dict[str, int] = defaultdict(int)
    for heading in headings:
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(files):
    """Links between pages lead to files, and to headings."""
    pages = {path: read(path) for path in files if path.endswith(".md")}
    for path, text in pages.items():
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
        for link in re.findall(r"\]\(([^()\s]+)\)", text):
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) \
                if name else path
            there = os.path.exists(os.path.join(ROOT, target))
            check(path, f"link to {link}", not there or target in pages and bool(anchor) and
                  anchor not in anchors(pages[target]) and "no such heading")


# ---- dependencies -------------------------------------------------------------------


def imports(path):
    """The modules of this tree that a Python file imports."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def layers(files):
    """The folders of tools/ import in one direction only; nothing imports tests."""
    for path in files:
        if not re.match(r"tools/\w+/.*\.py$", path):
            continue
        own = path.split("/")[1]
        wrong = [name for name in imports(path) if name.split(".")[0] == "tests" or
                 name.startswith("tools.") and name.split(".")[1] not in (own, *LAYERS[own])]
        check(path, f"{own} may import {' '.join((own, *LAYERS[own]))}: not",
              " ".join(wrong))


def code(path):
    """A file without comments and docstrings."""
    text = read(path)
    if path.endswith(C_LIKE):
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    if not path.endswith(".py"):
        return re.sub(r"(^|\s)#.*", "", text, flags=re.M)
    module = ast.parse(text)
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if ast.get_docstring(node):
                node.body[0] = ast.Pass()
    return ast.unparse(module)


def folders(files):
    """The code of a folder names only those of FOLDERS: by #include, by import, by path."""
    headers: dict[str, set[str]] = defaultdict(set)
    for path in files:
        if path.endswith(".h"):
            headers[os.path.basename(path)].add(path.split("/")[0])
    names = "|".join(FOLDERS)
    named = re.compile(rf"(?:(?<![\w./}}$)-])|ROOT}}/)({names})/|ROOT(?: /|,) '({names})'")
    for place, (root, allowed) in enumerate(FOLDERS.items()):
        check("tests/lint.py", f"FOLDERS: {root} names folders that come after it",
              set(allowed) - set(list(FOLDERS)[:place]))
    for path in files:
        root = path.split("/")[0]
        if "/" not in path or root.startswith(".") or \
                not path.endswith((*C_LIKE, ".py", ".mk", ".sh", ".awk", "Makefile")):
            continue
        text = code(path)
        needs = {name for found in named.findall(text) for name in found if name}
        for name in re.findall(r'^#\s*include "(?:.*/)?([^"/]+)"', text, re.M):
            needs |= set() if root in headers[name] else headers[name]
        if path.endswith(".py"):
            needs |= {name.split(".")[0] for name in imports(path)} & set(FOLDERS)
        check(path, f"names what {root} may not name (FOLDERS in tests/lint.py)",
              " ".join(sorted(needs - {root, *FOLDERS.get(root, ())})))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="?", choices=("all", "steps"), default="all")
    return parser.parse_args()


def main():
    files = all_files()
    if arguments().rules == "all":
        formatting([path for path in files if path.endswith(C_LIKE)])
        python([path for path in files if path.endswith(".py")])
        for path in files:
            if path.endswith(TEXT):
                writing(path)
            if path.endswith(".md"):
                measured_ratios(path)
        short_history()
        links(files)
        layers(files)
        folders(files)
        from tests import mutants  # not in an exported tree
        patches_apply("verify/mutants/*", mutants.Mutant)
        figures()
    for step in tree.steps():
        declared(step, step is tree.steps()[0])
        for program in filter(step.has, tree.programs()):
            before = tree.before(step, program)
            if before:
                lesson(before, step, program)
            rungs_compose(step, program)
    for program in tree.programs():
        common_enough(program)
        for step in filter(lambda s: s.has(program), tree.steps()):
            kernel_options(step, program)
    for step in tree.steps():
        patches_apply(f"steps/{step.name}/variants", partial(variants.Variant, step=step))
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
