"""test_systems.py: what differs between systems: packages, awks, commands that are missing.

`make test-systems` builds on real systems; here commands that stand for those of a system
are put first in PATH.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import systems
from tests.helpers import TIMEOUT
from tools.base import tree

# A Debian of shell scripts: `available` and `installed` list its packages; install fails for
# those in `broken`.
COMMANDS = {
    "dpkg-query": 'for p; do :; done; grep -qx "$p" installed && printf installed',
    "apt-cache": """case $1 in
show) grep -qx "$2" available && echo "Filename: $2" ;;
search) grep -E "$3" available | sed 's/$/ - a package/' ;;
esac""",
    "apt-get": """[ "$1" = install ] || exit 0
for p; do
    case $p in -*|install) continue ;; esac
    grep -qx "$p" available || exit 1
    ! grep -qx "$p" broken || exit 1
done
for p; do case $p in -*|install) ;; *) echo "$p" >>installed ;; esac; done""",
    "id": "echo 0",
}
REQUIRED = "gcc make libc6-dev python3 python3-numpy libpng-dev libfftw3-dev"


@pytest.fixture(name="system")
def system_of_scripts(tmp_path: Path) -> Path:
    for name, text in COMMANDS.items():
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(f"#!/bin/sh\n{text}\n")
        command.chmod(0o755)
    for name in ("available", "installed", "broken"):
        (tmp_path / name).write_text("")
    return tmp_path


def run_setup(system: Path, *words: str, available: str, broken: str = "",
              fails: bool = False) -> tuple[str, set[str]]:
    """Runs setup.sh. Returns what it prints, and the packages that are installed then."""
    (system / "available").write_text(available.replace(" ", "\n") + "\n")
    (system / "broken").write_text(broken + "\n")
    env = {**os.environ, "PATH": f"{system}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["sh", str(tree.ROOT / "setup.sh"), *words], cwd=system, env=env,
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr, set((system / "installed").read_text().split())


def test_newest_version_is_installed(system: Path) -> None:
    _, packages = run_setup(system, "publish",
                        available=f"{REQUIRED} libclc-9 libclc-21 libclc-20 libclc-21-dev")
    assert {"libclc-21", "libclc-21-dev"} < packages
    assert not {"libclc-9", "libclc-20"} & packages


def test_unavailable_packages_are_reported(system: Path) -> None:
    output, packages = run_setup(system, "test", available=f"{REQUIRED} clang")
    assert packages == {*REQUIRED.split(), "clang"}
    assert "not available: oclgrind: OpenCL kernels are not checked" in output
    assert "not available: clang:" not in output
    output, _ = run_setup(system, "--list", "test", available=f"{REQUIRED} clang", fails=True)
    assert "not available: oclgrind: OpenCL kernels are not checked" in output
    assert "missing:" not in output


def test_only_the_needs_of_the_build_are_fatal(system: Path) -> None:
    available = f"{REQUIRED} clinfo git"
    output, packages = run_setup(system, "test", available=available, broken="clinfo")
    assert "could not install clinfo" in output and "git" in packages
    (system / "installed").write_text("")
    output, _ = run_setup(system, available=available, broken="libpng-dev", fails=True)
    assert "could not install what every build needs" in output
    output, _ = run_setup(system, available=available.replace("gcc ", ""), fails=True)
    assert "could not install what every build needs" in output


def listed(output: str) -> set[str]:
    return set(re.findall(r"^missing: (\S+): \w", output, re.M))


def test_list_names_what_is_missing(system: Path) -> None:
    output, packages = run_setup(system, "--list", available=REQUIRED, fails=True)
    assert listed(output) == set(REQUIRED.split()) and not packages
    output, _ = run_setup(system, "--list", available="", fails=True)
    assert {"gcc", "pocl-opencl-icd"} < listed(output) and "clinfo" not in output


def test_words_in_any_order(system: Path) -> None:
    available = f"{REQUIRED} git valgrind"
    for words, expected in ((("--list", "test"), {"git"}), (("test", "--list"), {"git"}),
                            (("publish", "--list"), {"git", "valgrind"})):
        output, packages = run_setup(system, *words, available=available, fails=True)
        assert listed(output) == {*REQUIRED.split(), *expected} and not packages
    for line in "test --lists", "tests", "build test", "--list ":
        output, packages = run_setup(system, *line.split(" "), available=available, fails=True)
        assert output.startswith("setup.sh: ") and "expected" in output and not packages
    every = subprocess.run(["sed", "-nE", r"s/^build +([^ |]+).*/\1/p", tree.ROOT / "setup.sh"],
                           capture_output=True, text=True, check=True).stdout
    (system / "installed").write_text(every)
    assert run_setup(system, "--list", available=every)[0] == ""


@pytest.mark.parametrize("awk", ["gawk", "mawk", "busybox awk", "original-awk"])
def test_embedded_text_is_the_same(tmp_path: Path, awk: str) -> None:
    """The C array has the lines of the kernel, whichever awk writes it."""
    if not shutil.which(awk.split()[0]):
        pytest.skip(f"{awk} is not installed")
    kernel = tmp_path / "kernel.cl"
    lines = ['#define A(x) f(x, \\', '    "a\\n\\\\", \'\\\\\', & && \\&)', "\\\\\\\\ \"\" \\\""]
    kernel.write_text("\n".join(lines) + "\n")
    source = subprocess.run([*awk.split(), "-f", tree.ROOT / "common/opencl/embed.awk",
                             str(kernel)], capture_output=True, text=True, check=True).stdout
    main = "\n#include <stdio.h>\nint main(void) { for (size_t i = 1; i < ocl_source_lines; i++)" \
           " fputs(ocl_source[i], stdout); }\n"
    (tmp_path / "kernel.c").write_text(source + main)
    program = tmp_path / "kernel"
    subprocess.run(["gcc", "-o", str(program), str(tmp_path / "kernel.c")], check=True)
    shown = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == lines


def test_jobs_without_nproc(tmp_path: Path) -> None:
    """Where no command tells the number of processors, make runs one job, not all at once."""
    for name in ("sh", "gcc", "sed", "grep", "tr", "echo", "true", "printf"):
        (tmp_path / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    env = {"PATH": str(tmp_path)}
    for words, expected in ((), "1"), (("JOBS=3",), "3"):
        done = subprocess.run(
            [shutil.which("make") or "make", "-s", "NVCC=", "CCACHE=", *words,
             "--eval=shown: ; @echo $(JOBS)", "shown"],
            cwd=tree.ROOT, env=env, capture_output=True, text=True, timeout=TIMEOUT)
        assert expected in done.stdout.split(), done.stdout + done.stderr


def test_systems_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    """Without root, systems are skipped with the reason, and that is no failure."""
    monkeypatch.setattr(systems.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(systems.sys, "argv", ["systems", "clang"])
    assert systems.main() == 0
    output = capsys.readouterr().out
    assert "clang: skipped: not root" in output
    assert "0 passed, 0 failed, 1 skipped" in output


def test_instruction_sets() -> None:
    """All of make test runs without AVX-512 and without AVX, here and on the forge."""
    forge = (tree.ROOT / ".github/workflows/test.yml").read_text()
    for name, words in ("avx2", "ARCH=-march=haswell"), ("sse2", "ARCH="):
        assert f"make test {words}" in systems.SYSTEMS[name].verify
        assert f'"{words}"}}' in forge
    assert "make test ${{ matrix.arch }}" in forge
