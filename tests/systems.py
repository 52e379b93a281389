"""systems.py - make test-systems: builds and verifies the tree on other systems.

    debian12, debian13   ./setup.sh, make run, and random queries of every program, in a
                         fresh system
    clang                the same random queries, compiled by Debian 13's clang
    aarch64              the same, cross-compiled and run by qemu-user, in Debian 12; also whole
                         output traces, where the processor shows: how a float that has no
                         integer, as a time that is not a number, becomes one
    avx2, sse2           all of make test, compiled for processors without AVX-512, and without
                         AVX

The systems are made by debootstrap, in build/systems, and kept: remove a system's folder to
begin anew. A system that cannot be made here is skipped, with the reason. The exit status is
0 if none failed.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base import tree

MIRROR = "http://deb.debian.org/debian"
TIMEOUT = 3 * 3600  # seconds for one command

# A step without a device, the first one with threads, vectors, temporal blocking and the best
# algorithm; 11 and 12 are built from the same cpu.c.
QUERIES = 'make verify-random SEED=systems COUNT=20 STEP="00 01 08 10" BACKEND="{backends}"'

# A compiler whose programs start by themselves: each becomes a script that calls qemu.
CROSS_COMPILER = r"""#!/bin/sh
aarch64-linux-gnu-gcc "$@" || exit
previous=
for word; do
    [ "$previous" = -o ] && output=$word
    previous=$word
done
if [ -f "${output:-}" ] && [ -x "$output" ]; then
    mv "$output" "$output.aarch64"
    printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$(realpath "$output.aarch64")" >"$output"
    chmod +x "$output"
fi
"""


@dataclass(frozen=True)
class System:
    """What is verified, as shell commands in the tree, after others that install."""
    release: str
    install: Sequence[str]
    verify: Sequence[str]


# Tests ask git for the files of the tree.
REPOSITORY = "git init -q && git add -A && git -c user.name=x -c user.email=x commit -q -m tree"
APT = "apt-get install -y -qq --no-install-recommends"
SYSTEMS = {
    "debian12": System("bookworm", ["./setup.sh"],
                       ["make run", "make tools", QUERIES.format(backends="seq omp ocl")]),
    "debian13": System("trixie", ["./setup.sh"],
                       ["make run", "make tools", QUERIES.format(backends="seq omp ocl")]),
    "clang": System("trixie", ["./setup.sh", f"{APT} clang libomp-dev"],
                    [f"{QUERIES.format(backends='seq omp')} CC=clang CCACHE="]),
    "aarch64": System(
        "bookworm",
        ["./setup.sh", "dpkg --add-architecture arm64", "apt-get update -qq",
         f"{APT} gcc-aarch64-linux-gnu qemu-user libc6-dev:arm64 libgomp1:arm64"
         " libpng-dev:arm64 libfftw3-dev:arm64"
         " python3-hypothesis python3-pytest python3-pytest-xdist"],
        [f"{QUERIES.format(backends='seq omp')} CC=aarch64-cc ARCH= CCACHE= has_opencl="
         " has_mpi= has_openacc=",
         "python3 -m pytest -q -n auto tests/test_section_oracle.py"]),
    **{name: System("bookworm", ["./setup.sh test", REPOSITORY], [f"make test ARCH={arch}"])
       for name, arch in (("avx2", "-march=haswell"), ("sse2", ""))},
}


class Skipped(Exception):
    """The system cannot be made here; the message says why."""


def isolated(*command: str) -> list[str]:
    """A command with mounts of its own, which end with it."""
    return ["unshare", "--mount", "--propagation", "private", *command]


def require_chroot() -> None:
    if os.geteuid() != 0:
        raise Skipped("not root: expected root, for debootstrap and chroot")
    for tool in ("debootstrap", "unshare", "chroot"):
        if not shutil.which(tool):
            raise Skipped(f"{tool} is missing: expected the package of that name")
    if subprocess.run(isolated("mount", "-t", "tmpfs", "none", "/mnt"),
                      capture_output=True).returncode:
        raise Skipped("mount is not permitted here")


def make_root(release: str, root: Path) -> None:
    """Installs a release into a folder, unless it is there."""
    complete = root / "complete"
    if complete.exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["debootstrap", "--variant=minbase", release, str(root), MIRROR],
                          capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(root, ignore_errors=True)
        raise Skipped(f"debootstrap {release}: {(done.stdout + done.stderr).strip()[-200:]}")
    # No service starts when its package is installed.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    compiler = root / "usr/local/bin/aarch64-cc"
    compiler.write_text(CROSS_COMPILER)
    compiler.chmod(0o755)
    complete.touch()


def copy_tree(root: Path) -> None:
    """Copies the files of the tree that git knows; what was built in the folder goes."""
    shutil.rmtree(root / "tree", ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"],
                            cwd=tree.ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        source, target = tree.ROOT / name, root / "tree" / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def run(root: Path, command: str, log: Path) -> bool:
    """Runs a shell command in the tree of a system; its output goes to the log."""
    script = ('mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&'
              ' mount --rbind -o ro /sys "$0/sys" && exec chroot "$0" sh -c "cd /tree && $1"')
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root",
           "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    env |= {name: os.environ[name] for name in ("JOBS", "http_proxy", "https_proxy")
            if name in os.environ}
    with log.open("a") as output:
        output.write(f"$ {command}\n")
        output.flush()
        try:
            return subprocess.run(isolated("sh", "-c", script, str(root), command), env=env,
                                  stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=TIMEOUT).returncode == 0
        except subprocess.TimeoutExpired:
            output.write(f"stopped after {TIMEOUT} s\n")
            return False


def check(name: str, folder: Path) -> str:
    """Verifies one system. Returns an empty string, or the command that failed."""
    system, root, log = SYSTEMS[name], folder / name, folder / f"{name}.log"
    require_chroot()
    make_root(system.release, root)
    copy_tree(root)
    log.write_text("")
    return next((command for command in (*system.install, *system.verify)
                 if not run(root, command, log)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", default=list(SYSTEMS),
                        help=f"one or more of {', '.join(SYSTEMS)} (default: all)")
    names = parser.parse_args().systems
    for name in names:
        if name not in SYSTEMS:
            parser.error(f"SYSTEM: unknown ({name}): expected one of {', '.join(SYSTEMS)}")
    folder = tree.build().resolve() / "systems"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in names:
        try:
            failed = check(name, folder)
        except Skipped as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            counts["skipped"] += 1
            continue
        counts["failed" if failed else "passed"] += 1
        print(f"{name}: {f'failed: {failed}: see {folder / name}.log' if failed else 'ok'}",
              flush=True)
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
