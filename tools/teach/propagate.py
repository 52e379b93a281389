"""propagate.py [FROM PROGRAM]: carries a fix made in one step into the steps after it.

The fix is what changed in the program's folder of step FROM since the last commit. It is
merged into the next step with git merge-file, which wants the version that both sides
started from: that is the committed file of FROM. What has then changed in the next step
is merged into the one after it, and so on, so that each step passes on the fix in its own
words. A step is written only when all its files merged; at the first conflict all stops
there, and once the fix has been made by hand the rest goes on from that step.

The two words can be variables of the environment. Left out: renamed files (they are one
gone and one new), and committing.
"""
import os
import subprocess
import sys
import tempfile

from tools.history import diff, tree

USAGE = "make propagate FROM=02 PROGRAM=semblance"


class Conflict(Exception):
    """A change that a person has to make: the message names the file."""


def git(*words, check=True):
    done = subprocess.run(["git", *words], capture_output=True)
    if check and done.returncode:
        sys.exit(f"propagate: git {words[0]}: {done.stderr.decode().strip()}")
    return done


def sources(command, *words):
    """The sources that a command of git lists: a lesson is not passed on."""
    listed = git(command, "-z", *words).stdout.decode().split("\0")
    return [name for name in listed if name.endswith(diff.SOURCES)]


def committed(folder):
    """{name: bytes} of the sources in a folder at the last commit."""
    paths = sources("ls-tree", "-r", "--name-only", "HEAD", "--", folder)
    return {os.path.relpath(path, folder): git("show", f"HEAD:{path}").stdout
            for path in paths}


def present(folder):
    """{name: bytes} of the sources in a folder as they lie there, without what git
    ignores."""
    files = {}
    for path in sources("ls-files", "-co", "--exclude-standard", "--", folder):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def merge(path, ours, base, theirs):
    """ours with the change from base to theirs; each is bytes, or None: no such file."""
    if base == theirs or ours == theirs:
        return ours
    if ours == base:
        return theirs
    if ours is None and base is not None:
        return None  # an earlier lesson took the file away
    if theirs is None:
        raise Conflict(f"{path}: the step before lost this file, here it differs")
    if base is None:
        raise Conflict(f"{path}: new in the step before, but another one is here")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "wb") as file:
                file.write(content)
        done = git("merge-file", "-p", *paths, check=False)
    if done.returncode == 0:
        return done.stdout
    if done.returncode > 127:
        raise Conflict(f"{path}: {done.stderr.decode().strip()}")
    raise Conflict(f"{path}: {done.returncode} conflict(s)")


def carry(before, after):
    """Merges what changed in the folder before into the folder after. Returns the names
    of the files that became different; writes nothing if any conflicts."""
    base, theirs, ours = committed(before), present(before), present(after)
    result = {}
    for name in sorted(base.keys() | theirs.keys()):
        if base.get(name) == theirs.get(name):
            continue
        path = os.path.join(after, name)
        merged = merge(path, ours.get(name), base.get(name), theirs.get(name))
        if merged != ours.get(name):
            result[name] = merged

    for name, content in result.items():
        path = os.path.join(after, name)
        if content is None:
            os.remove(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
    return sorted(result)


def main():
    words = sys.argv[1:] or [os.environ.get("FROM", ""), os.environ.get("PROGRAM", "")]
    if len(words) != 2 or not all(words):
        sys.exit(f"propagate: expected a step and a program: {USAGE}")
    wanted, program = words
    os.chdir(tree.ROOT)
    steps = [s.name for s in tree.steps() if (s.folder / program).is_dir()]
    start = [i for i, s in enumerate(steps) if s == wanted or s.startswith(wanted + "_")]
    if len(start) != 1:
        sys.exit(f"propagate: FROM={wanted} PROGRAM={program}: no such step, "
                 f"there are: {' '.join(steps) or 'none'}")
    first = f"steps/{steps[start[0]]}/{program}"
    if committed(first) == present(first):
        print(f"{first}: nothing has changed since the last commit")
        return

    for before, after in zip(steps[start[0]:], steps[start[0] + 1:]):
        folder = f"steps/{after}/{program}"
        try:
            changed = carry(f"steps/{before}/{program}", folder)
        except Conflict as conflict:
            sys.exit(f"{conflict}\n"
                     f"propagate: steps/{after} and what follows is as it was. Make the "
                     f"change there by hand (git diff -- steps/{before}/{program} shows "
                     f"it), then:\n"
                     f"    make propagate FROM={after} PROGRAM={program}")
        print(f"{folder}: {' '.join(changed) or 'nothing to change'}")


if __name__ == "__main__":
    main()
