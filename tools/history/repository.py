"""repository.py - make rungs, make history, make rungs-from-history.

    list     prints the rungs of the steps
    write    makes the folders of the rungs that STEP= names
    history  writes build/history/PROGRAM, a git repository with one commit per rung. A step
             without rungs is one commit
    back     writes what was edited there into the patches and the folders of the steps

The repository contains the program's folder. Each step has a branch with its name, 05_algebra,
that starts at the branch of its parent. Tags name the commits that were written: 05 that of a
step, 05.3 that of a rung. The same tree always gives the same commits. A rebase moves the
branches of all steps that it passes, and leaves the tags, so that their difference is what
was edited.

STEP=history names what is checked out there, as an OpenMP program, so that git bisect can
verify it.
"""
from __future__ import annotations

import os
import re
import shutil
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.base import options, tree
from tools.history import rungs
from tools.history.patches import GitError, Patch, git
from tools.base.tree import Program, Step

FOLDER = tree.ROOT / "build" / "history"
STEP_MK = """\
history.title = What is checked out in build/history
history.kind = port
history.backends = omp
"""


# ---- the list ----------------------------------------------------------------------------


def described(step: Step, place: int, patch: Patch) -> str:
    """The lines of make rungs about one rung."""
    lines = [f"{patch.trailers.get('Kind', '')}: {' '.join(patch.words('Backends'))}",
             *(f"{'' if patch.after else 'predicted '}{device}: {text}"
               for device, text in patch.predictions.items()),
             f"written {patch.trailers.get('Predicted', '')}"]
    return "\n".join([f"{step.number}.{place}  {patch.subject}", *(
        textwrap.fill(line, 88, initial_indent="      ", subsequent_indent="        ")
        for line in lines)])


def print_rungs(programs: Sequence[Program], chosen: Sequence[Step]) -> int:
    """Prints the rungs of steps. Returns their number."""
    count = 0
    for program in programs:
        for step in chosen:
            whole = step.step if isinstance(step, rungs.Rung) else step
            found = rungs.of_step(whole, program)
            lines = [described(whole, place, patch) for place, patch in enumerate(found, 1)
                     if step is whole or f"{whole.number}.{place}" == step.name]
            if lines:
                print(f"{program.name}, {whole.name}: {len(found)} rungs", *lines, sep="\n")
            count += len(lines)
    return count


# ---- the repository ------------------------------------------------------------------------


def having(program: Program) -> list[Step]:
    return [step for step in tree.steps() if step.has(program)]


def commit_step(step: Step, program: Program, folder: Path) -> None:
    """Commits a step without rungs."""
    rungs.put(rungs.files(step.folder / program.name), folder)
    declared = {"Step": step.name, "Kind": step.kind(program),
                **{f"Predict-{device}": step.prediction(program, device)
                   for device in ("cpu", "gpu")}}
    trailers = "\n".join(f"{key}: {value}" for key, value in declared.items() if value)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", step.title(program), "-m", trailers)


def tag(folder: Path, step: Step, parent: Step | None) -> None:
    """Tags a step, and, if it has several commits, or one of a patch, its rungs."""
    for old in git(folder, "tag", "--list", step.number, f"{step.number}.*").split():
        git(folder, "tag", "-d", old)
    branch = f"refs/heads/{step.name}"
    git(folder, "tag", step.number, branch)
    for place, commit in enumerate(rungs_of(folder, step, parent), 1):
        git(folder, "tag", f"{step.number}.{place}", commit)


def rungs_of(folder: Path, step: Step, parent: Step | None) -> list[str]:
    """The commits of a step's rungs; none if the step is one commit without a patch."""
    if not parent:
        return []
    found = git(folder, "rev-list", "--reverse", f"refs/heads/{parent.name}.."
                f"refs/heads/{step.name}").split()
    trailers = git(folder, "log", "-1", "--format=%(trailers)", *found[:1])
    return [] if len(found) == 1 and re.search(r"^Step:", trailers, re.M) else found


def write(program: Program, force: bool) -> None:
    """Writes the repository of a program."""
    target = FOLDER / program.name
    if target.exists() and not force and edited(target, program):
        raise SystemExit(f"{tree.display(target)}: has changes that are not in steps/: expected "
                         f"make rungs-from-history PROGRAM={program.name}, or FORCE=1 to "
                         "discard them")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        folder = Path(name) / program.name
        folder.mkdir()
        git(folder, "init", "-q", "-b", having(program)[0].name)
        for key, value in (("user.name", "project"), ("user.email", "project@example.org"),
                           ("rebase.updateRefs", "true"), ("rebase.autoSquash", "true")):
            git(folder, "config", key, value)
        for step in having(program):
            parent = step.parent(program)
            if parent:
                git(folder, "checkout", "-q", "--detach", f"refs/heads/{parent.name}")
            paths = rungs.paths(step, program)
            for path in paths:
                try:
                    git(folder, "am", "-q", "--committer-date-is-author-date", path)
                except GitError as error:
                    raise SystemExit(f"{tree.display(path)}: does not apply: {error}") from None
            if not paths:
                commit_step(step, program, folder)
            elif rungs.files(folder) != rungs.files(step.folder / program.name):
                raise SystemExit(f"{tree.display(paths[-1].parent)}: the patches do not give "
                                 f"{tree.display(step.folder / program.name)} (make lint)")
            git(folder, "checkout", "-q", "-B", step.name)
            tag(folder, step, parent)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
    # The folder of rungs makes it a step for make.
    place = rungs.FOLDER / "history"
    place.mkdir(parents=True, exist_ok=True)
    (place / "step.mk").write_text(STEP_MK)
    link = place / program.name
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(target, place))
    count = git(target, "rev-list", "--all", "--count").strip()
    print(f"{tree.display(target)}: {count} commits, {len(having(program))} steps")


# ---- back to the steps -----------------------------------------------------------------------


def moved(folder: Path, step: Step) -> bool:
    """Whether the branch of a step is not where it was written."""
    branch, written = (git(folder, "for-each-ref", "--format=%(objectname)", ref)
                       for ref in (f"refs/heads/{step.name}", f"refs/tags/{step.number}"))
    return branch != written


def edited(folder: Path, program: Program) -> bool:
    """Whether a repository contains anything that is not in the steps."""
    return bool(git(folder, "status", "--porcelain")) or \
        any(moved(folder, step) for step in having(program))


def check(folder: Path, program: Program) -> None:
    """Ends with a message if a repository cannot be written back."""
    where = tree.display(folder)
    if not (folder / ".git").is_dir():
        raise SystemExit(f"{where}: no such repository: expected make history "
                         f"PROGRAM={program.name} first")
    if git(folder, "status", "--porcelain") or (folder / ".git" / "rebase-merge").exists():
        raise SystemExit(f"{where}: not committed, or in a rebase: expected a clean work tree")
    for step in having(program):
        parent = step.parent(program)
        if not git(folder, "branch", "--list", step.name):
            raise SystemExit(f"{where}: no branch {step.name}: expected one for each step")
        if not parent:
            continue
        base = git(folder, "merge-base", parent.name, step.name)
        if base != git(folder, "rev-parse", f"refs/heads/{parent.name}"):
            raise SystemExit(f"{where}: {step.name} does not continue {parent.name}, which was "
                             f"edited: expected git rebase --onto {parent.name} "
                             f"refs/tags/{parent.number} {step.name}")
        span = f"refs/heads/{parent.name}..refs/heads/{step.name}"
        if not git(folder, "rev-list", span) or git(folder, "rev-list", "--merges", span):
            raise SystemExit(f"{where}: {span}: expected one or more commits, none of them a "
                             f"merge")


def mails(folder: Path, step: Step, parent: Step) -> Iterator[tuple[str, bytes]]:
    """(subject, patch) of each rung of a step, with the author and the date of all commits."""
    start = last = f"refs/heads/{parent.name}"
    for commit in rungs_of(folder, step, parent):
        message = git(folder, "log", "-1", "--format=%B", commit)
        last = git(folder, "commit-tree", "-p", last, f"{commit}^{{tree}}", text=message).strip()
    with tempfile.TemporaryDirectory() as name:
        git(folder, "format-patch", "-q", "-k", "--zero-commit", "--no-signature", "-o", name,
            f"{start}..{last}")
        subjects = git(folder, "log", "--reverse", "--format=%s", f"{start}..{last}")
        for path, subject in zip(sorted(Path(name).iterdir()), subjects.splitlines()):
            yield subject, path.read_bytes()


def patches(folder: Path, step: Step, program: Program) -> rungs.Files:
    """{name: content} of a step's patches. A patch keeps the word of its name as long as it
    keeps its subject."""
    parent = step.parent(program)
    words = {p.subject: p.path.stem.partition("-")[2] for p in rungs.of_step(step, program)}

    def word(subject: str) -> str:
        return words.get(subject) or re.sub(r"\W+", "-", subject.lower())[:30].strip("-")
    return {f"{place}-{word(subject)}.patch": mail for place, (subject, mail) in
            enumerate(mails(folder, step, parent) if parent else (), 1)}


def content(folder: Path, commit: str) -> rungs.Files:
    """The files of a commit."""
    with tempfile.TemporaryDirectory() as name:
        archive, files = Path(name, "files.tar"), Path(name, "files")
        git(folder, "archive", "-o", archive, commit)
        shutil.unpack_archive(archive, files)
        return rungs.files(files)


def write_back(program: Program) -> None:
    """Writes the steps whose branches have moved."""
    folder = FOLDER / program.name
    check(folder, program)
    changed = [step for step in having(program) if moved(folder, step)]
    for step in changed:
        place = step.folder / program.name
        if content(folder, f"refs/tags/{step.number}") != rungs.files(place):
            raise SystemExit(f"{tree.display(place)}: changed since make history: expected the "
                             f"files of tag {step.number}, which would be replaced")
    for step in changed:
        found = patches(folder, step, program)
        rungs.put(content(folder, f"refs/heads/{step.name}"), step.folder / program.name)
        rungs.put(found, step.folder / "rungs" / program.name)
        print(f"{tree.display(step.folder)}/{program.name}: {len(found)} patches")
    for step in changed:
        tag(folder, step, step.parent(program))
    if not changed:
        print(f"{tree.display(folder)}: nothing was edited")


# ---- the command -------------------------------------------------------------------------


def main() -> None:
    parser = options.parser(__doc__, "STEP", "PROGRAM")
    parser.add_argument("command", choices=("list", "write", "history", "back"))
    parser.add_argument("--force", action="store_true", default=options.is_set("FORCE"),
                        help="discard the changes in build/history")
    found = options.parse(parser)
    programs = tree.selected(tree.programs(), "PROGRAM")
    if found.command in ("list", "write"):
        chosen = rungs.selected_steps()
        if found.command == "list" and not print_rungs(programs, chosen):
            raise SystemExit(f"STEP={found.step} PROGRAM={found.program}: no rungs: expected a "
                             f"step with a folder rungs/PROGRAM")
        return
    if not found.program:
        raise SystemExit("PROGRAM= is not set: expected a program, or all")
    for program in programs:
        if found.command == "history":
            write(program, found.force)
        else:
            write_back(program)


if __name__ == "__main__":
    main()
