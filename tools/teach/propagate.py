"""propagate.py - make propagate: carries a fix made in one step into the steps after it.

    FROM=02 PROGRAM=semblance

The fix is what changed in the program's folder of step FROM since the last commit. It is
merged with git merge-file into each step that continues FROM; the common ancestor is the
committed file of FROM. What has then changed in that step is merged into those that continue
it, and so on, so that each step passes on the fix in its own form. A step continues the step
before it, or the one that its step.mk names as `after`. A step is written only if all its
files merged; the first conflict ends the program, and once the fix has been made there by
hand, the rest continues from that step.

Left out: renamed files (they are one removed and one new file), and committing.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.history import diff, options, tree
from tools.history.tree import Program, Step

Content = dict[str, bytes]  # by name


class Conflict(Exception):
    """A change that a person has to make: the message names the file."""


def git(*words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(["git", *words], capture_output=True)
    if check and done.returncode:
        raise SystemExit(f"propagate: git {words[0]}: {done.stderr.decode().strip()}")
    return done


def sources(command: str, *words: str) -> list[str]:
    """The sources that a command of git lists, without lessons."""
    listed = git(command, "-z", *words).stdout.decode().split("\0")
    return [name for name in listed if name.endswith(diff.SOURCES)]


def committed(folder: str) -> Content:
    """The sources in a folder at the last commit."""
    paths = sources("ls-tree", "-r", "--name-only", "HEAD", "--", folder)
    return {os.path.relpath(path, folder): git("show", f"HEAD:{path}").stdout
            for path in paths}


def present(folder: str) -> Content:
    """The sources in a folder as they are now, without those that git ignores."""
    paths = sources("ls-files", "-co", "--exclude-standard", "--", folder)
    return {os.path.relpath(path, folder): Path(path).read_bytes()
            for path in paths if os.path.isfile(path)}


def merge(path: str, ours: bytes | None, base: bytes | None, theirs: bytes | None
          ) -> bytes | None:
    """`ours` with the change from base to theirs; None is a file that does not exist."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    if ours is None:
        return None  # an earlier step removed the file
    if theirs is None:
        raise Conflict(f"{path}: removed in the step before, but changed here")
    if base is None:
        raise Conflict(f"{path}: new in the step before, but another one is here")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            paths.append(os.path.join(folder, name))
            Path(paths[-1]).write_bytes(content)
        done = git("merge-file", "-p", *paths, check=False)
    if done.returncode == 0:
        return done.stdout
    if done.returncode > 127:
        raise Conflict(f"{path}: {done.stderr.decode().strip()}")
    raise Conflict(f"{path}: {done.returncode} conflict(s)")


def carry(before: str, after: str) -> list[str]:
    """Merges what changed in the folder before into the folder after. Returns the names of
    the files that became different; writes nothing if there is a conflict."""
    base, theirs, ours = committed(before), present(before), present(after)
    result = {}
    for name in sorted(base.keys() | theirs.keys()):
        if base.get(name) != theirs.get(name):
            merged = merge(os.path.join(after, name), ours.get(name), base.get(name),
                           theirs.get(name))
            if merged != ours.get(name):
                result[name] = merged
    for name, content in result.items():
        path = Path(after, name)
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return sorted(result)


def continuing(steps: Sequence[Step], program: Program, start: Step
               ) -> list[tuple[Step, Step]]:
    """(step, the step that it continues) of all steps that continue start, directly or
    through others, in their order."""
    reached, found = [start.name], []
    for step in steps:
        before = tree.before(step, program)
        if before and before.name in reached and step.name != start.name:
            reached.append(step.name)
            found.append((step, before))
    return found


def propagate(program: Program, start: Step) -> None:
    first = f"steps/{start.name}/{program.name}"
    if committed(first) == present(first):
        print(f"{first}: nothing has changed since the last commit")
        return
    steps = [s for s in tree.steps() if s.has(program)]
    for step, before in continuing(steps, program, start):
        folder = f"steps/{step.name}/{program.name}"
        try:
            changed = carry(f"steps/{before.name}/{program.name}", folder)
        except Conflict as conflict:
            raise SystemExit(
                f"{conflict}\npropagate: steps/{step.name} and the steps after it are "
                f"unchanged. Make the change there by hand "
                f"(git diff -- steps/{before.name}/{program.name} shows it), then:\n"
                f"    make propagate FROM={step.name} PROGRAM={program.name}") from None
        print(f"{folder}: {' '.join(changed) or 'nothing to change'}")


def main() -> None:
    parser = options.parser(__doc__, "PROGRAM")
    parser.add_argument("--from", dest="start", default=os.environ.get("FROM", ""),
                        metavar="STEP", help="the step in which the fix was made")
    found = options.parse(parser)
    os.chdir(tree.ROOT)
    programs = [p for p in tree.programs() if p.name == found.program]
    steps = [s for s in tree.steps() if programs and s.has(programs[0])]
    start = [s for s in steps if found.start in (s.name, s.number)]
    if len(start) != 1:
        sys.exit(f"propagate: FROM={found.start} PROGRAM={found.program}: no such step: "
                 f"expected a program and one of its steps, "
                 f"{' '.join(s.name for s in steps) or 'of a program of common/'}")
    propagate(programs[0], start[0])


if __name__ == "__main__":
    main()
