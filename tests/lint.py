"""lint.py: the rules of this tree (make lint).

    lint.py [all|steps]     all rules, or only those for steps/

A step is one lesson: its diff to the step before is compared, file by file, with what its
step.mk declares; a file that is not declared must have the same bytes. The other rules are
about writing: format, forbidden terms (docs/forbidden_terms.txt), links, imports, ruff and
mypy. Each breach is one line, FILE:LINE: RULE; the last line counts the checks.
"""
import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict

from tools.history import diff, ruff, rungs, tree

ROOT = str(tree.ROOT)

C_LIKE = (".c", ".h", ".cl", ".cu")
TEXT = C_LIKE + (".py", ".sh", ".mk", ".awk", ".md", "Makefile", ".clang-format",
                 ".gitignore", ".txt", ".gp", ".supp", ".csv", ".json", ".html")
COLUMNS = 88
NEW_LINES = 60  # the most that a step may add to body.h without a reason
RUNG_LINES, RUNG_BODY_LINES = 150, 60  # the most that a rung may change, in all and in body.h
SUBJECT = 72  # characters
PAGE, PAGE_MEANT = 200, 150  # lines of a README
SHOWN_LINES = 40  # of diff, in a README
# Hits of the patterns of docs/forbidden_terms.txt that are allowed in the whole tree.
ALLOWED = {"error": 0, "hint": 150}
# The folders of the root, and those that the code of each may name. Texts, comments, patches and
# files of the root may name any.
FOLDERS = {"common": (), "data": ("common",), "steps": ("common",), "verify": ("common",),
           "results": (), "docs": ("results",),
           "tools": ("common", "data", "steps", "verify", "results", "docs"),
           "tests": ("common", "data", "steps", "verify", "results", "docs", "tools")}
# The folders of tools/, and those that each may import besides itself.
LAYERS = {"history": (), "verify": ("history",), "measure": ("history", "verify"),
          "publish": ("history", "verify", "measure"),
          "teach": ("history", "verify", "measure")}
# The headings of a program's lesson, in this order; others may stand between them.
HEADINGS = ("What (changes|it does)", "The lines that matter", "The prediction", "Measured",
            "What surprised", "Exercises", "Run it")
# The headings of a lesson in the full form, whose answers are in answers.md.
FULL_HEADINGS = ("In one sentence", "Terms( from lesson 00)?", "The idea",
                 "The (change|program)", "The rungs", "Why",
                 "What did not work, and what surprised", "Where it would not help", "Exercises")
STEP_HEADINGS = ("The idea", "What it gains", "When it does not help")

# Machines are named by what they are, never by where they stand.
PLACES = re.compile(r"(?<![\w.])/(home|root|work|mnt|Users)/\w|\bfile://|"
                    r"\b(10|127|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}\b|"
                    r"\b[\w-]+\.(internal|intranet|corp|lan)\b")
NAMES_A_STEP = re.compile(r"steps/\d\d|\b\d\d_[a-z]\w*|\b[Ss]teps? \d\d\b|"
                          r"\b[01]\d(,| or| and| to) [01]\d\b")
DEVICE_CALLS = re.compile(r"\b(clEnqueue(?!Marker)\w+|clCreate(Sub)?Buffer\w*|cudaMalloc\w*|"
                          r"cudaMemcpy\w*)\s*\(")

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
    """ruff, or pyflakes where ruff is not installed; mypy."""
    complaints, skipped = ruff.check(files)
    if skipped and checker("pyflakes3", "pyflakes3"):
        print(f"lint: pyflakes3 in place of ruff: {skipped}")
        complaints = subprocess.run(["pyflakes3", *files], cwd=ROOT, capture_output=True,
                                    text=True).stdout.splitlines()
    check_output("ruff", complaints, files)
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
            check(f"{diff.display(path)}:1", f"differs from the step before, but is not in "
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
    known = {program.name for program in tree.programs()} | {"variants", "rungs"}
    for folder in (step.folder / "rungs").glob("*"):
        check(diff.display(folder), "rungs of a program that the step does not have",
              folder.name not in [p.name for p in tree.programs() if step.has(p)])
    for folder in sorted(p for p in step.folder.iterdir() if p.is_dir()):
        check(f"steps/{step.name}/{folder.name}", "is no program of common/",
              folder.name not in known)
        check(f"steps/{step.name}/{folder.name}", "a lesson without its program",
              folder.name in known - {"variants", "rungs"} and not diff.sources(folder))
    model = tree.steps()[0].folder / "Makefile"
    check(f"steps/{step.name}/Makefile:1", f"differs from {diff.display(model)}",
          not (step.folder / "Makefile").is_file() or
          (step.folder / "Makefile").read_bytes() != model.read_bytes())


def lesson_page(step, program):
    """A program's lesson, in the full form if it begins with its one sentence; the first step
    has no rungs."""
    folder = f"steps/{step.name}/{program.name}"
    path, title = f"{folder}/README.md", f"{step.number} {program.name}"
    headings: tuple[str, ...] = HEADINGS
    if os.path.isfile(os.path.join(ROOT, path)) and "\n## In one sentence\n" in read(path):
        first = not tree.before(step, program)
        title += ": "
        headings = tuple(h for h in FULL_HEADINGS if not first or h != "The rungs")
        answers = f"{folder}/answers.md"
        there = os.path.isfile(os.path.join(ROOT, answers))
        check(f"{answers}:1", f"does not begin with `# {step.number} {program.name}: answers`",
              not there or not read(answers).startswith(
                  f"# {step.number} {program.name}: answers\n"))
    page(path, title, headings)


def page(path, title, headings):
    """A README: not too long, its title, its headings, not too much of the diff."""
    if not os.path.isfile(os.path.join(ROOT, path)):
        check(f"{path}:1", "is missing", True)
        return
    text = read(path)
    # Generated tables grow with the number of machines.
    lines = re.sub(r"<!-- generated: .*?<!-- end -->\n", "", text, flags=re.S).count("\n")
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
        patches = rungs.patches(step, program)
        states = list(rungs.composed(step, program)) if patches else []
    except SystemExit as error:
        check(folder, "cannot be applied", str(error))
        return
    for place, patch in enumerate(patches, 1):
        declared_rung(f"{diff.display(patch.path)}:1", f"{step.number}.{place}", step, program,
                      patch)
    if patches:
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
    sizes = rungs.sizes(patch)
    body, total = sizes.get("body.h", 0), sum(sizes.values())
    check(where, f"{name}: changes {body} lines of body.h and {total} in all, more than "
          f"{RUNG_BODY_LINES} or {RUNG_LINES}, and has no `Reason`",
          (body > RUNG_BODY_LINES or total > RUNG_LINES) and not patch.trailers.get("Reason"))


# ---- common ------------------------------------------------------------------------


def common(files):
    for path in files:
        if not path.startswith("common/") or not path.endswith((*C_LIKE, ".awk")):
            continue
        lines = read(path).split("\n")
        check_lines(path, lines, "names a step", NAMES_A_STEP.search)
        if not path.startswith("common/cuda/cuda_cpu."):
            check_lines(path, lines, "allocates, moves or launches: that is a lesson",
                        DEVICE_CALLS.search)


def patches(*patterns):
    """Patches apply as they are."""
    for pattern in patterns:
        for path in sorted(tree.ROOT.glob(pattern)):
            done = subprocess.run(["patch", "-p1", "-s", "-F0", "-r-", "--dry-run", "-d",
                                   ROOT, "-i", path], capture_output=True, text=True)
            said = (done.stdout + done.stderr).strip().splitlines() or ["fails"]
            check(f"{diff.display(path)}:1", "does not apply",
                  said[-1] if done.returncode else None)


def planted_bugs(program):
    """Mutants have the trailers of tests/mutants.py, and short subjects."""
    from tests import mutants  # not in an exported tree

    try:
        found = mutants.of(program)
    except SystemExit as error:
        check(f"verify/mutants/{program.name}:1", "wrong trailer", error)
        return
    for mutant in found:
        check(f"{diff.display(mutant.path)}:1", f"subject: at most {SUBJECT} characters",
              mutant.about[SUBJECT:])


# ---- terms and links ----------------------------------------------------------------


def patterns():
    """[(kind, pattern, advice, pattern of the paths)] of docs/forbidden_terms.txt."""
    for number, line in enumerate(read("docs/forbidden_terms.txt").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        kind, pattern, advice, *paths = line.split("\t")
        if kind not in ALLOWED:
            raise SystemExit(f"docs/forbidden_terms.txt:{number}: {kind}: expected one of "
                             f"{', '.join(ALLOWED)}")
        # A capital at the start of a line is the start of a sentence, a small letter is not.
        flags = 0 if pattern.startswith("^") else re.I
        yield kind, re.compile(pattern, flags), advice, re.compile(paths[0] if paths else "")


def sentences(path, lines):
    """(number, text) of prose and comments: what a hint is for."""
    for number, line in enumerate(lines, 1):
        if path.endswith(".md"):
            if not re.match(r"\s*(```|\||<!--|    )", line):
                yield number, line
        elif path.endswith((*C_LIKE, ".py", ".sh", ".mk")):
            found = re.search(r"(/\*|^\s*\*|//|#(?!\s*(include|define|if|el|end|pragma|undef|"
                              r"error|!)))\s?(.*)", line)
            if found and len(found[3]) > 20:
                yield number, found[3]


def terms(files):
    """Forbidden terms: errors in every line, hints in prose and comments."""
    hits: dict[str, list[str]] = defaultdict(list)
    found = list(patterns())
    for path in files:
        if not path.endswith(TEXT) or path.startswith(("results/", "docs/forbidden")):
            continue
        lines = read(path).split("\n")
        texts = {"error": list(enumerate(lines, 1)), "hint": list(sentences(path, lines))}
        for kind, pattern, advice, paths in found:
            if paths.search(path):
                hits[kind] += [f"{path}:{number}: {text.strip()[:80]} [{advice}]"
                               for number, text in texts[kind] if pattern.search(text)]
    for kind, allowed in ALLOWED.items():
        count = len(hits[kind])
        print(f"docs/forbidden_terms.txt: {count} places ({kind}), at most {allowed}")
        check("docs/forbidden_terms.txt", f"{count} places ({kind}), more than {allowed}",
              count > allowed and "\n" + "\n".join(hits[kind]))


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
        common(files)
        terms(files)
        links(files)
        layers(files)
        folders(files)
        patches("verify/mutants/*/*.patch")
        for program in tree.programs():
            planted_bugs(program)
    for step in tree.steps():
        declared(step, step is tree.steps()[0])
        page(f"steps/{step.name}/README.md", f"{step.number} ", STEP_HEADINGS)
        for program in filter(step.has, tree.programs()):
            lesson_page(step, program)
            before = tree.before(step, program)
            if before:
                lesson(before, step, program)
            rungs_compose(step, program)
    for program in tree.programs():
        common_enough(program)
        for step in filter(lambda s: s.has(program), tree.steps()):
            kernel_options(step, program)
    patches("steps/*/variants/*.patch")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
