"""test_contributing.py: the recipes of CONTRIBUTING.md, run in a copy of the tree.

A recipe is a block of sh code whose first line is `# test: NAME`. It runs with `set -eu`,
with what the tree has built, and must exit with 0.
"""
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT
from tests.lint import all_files
from tools.base import copies

PAGE = Path(ROOT, "CONTRIBUTING.md")
RECIPES = re.findall(r"^```sh\n# test: ([^\n]+)\n(.*?)^```", PAGE.read_text(), re.M | re.S) \
    if PAGE.exists() else []


def test_there_are_recipes():
    assert len(RECIPES) >= 5, "CONTRIBUTING.md: expected blocks ```sh with # test: NAME"


@pytest.fixture
def copy(tmp_path):
    """The files of the tree as a repository of their own, and what is built."""
    for name in all_files():
        copies.put(Path(ROOT, name), tmp_path / name)
    subprocess.run(["cp", "-a", BUILD, tmp_path / "build"], check=True)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org",
                        *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.slow
@pytest.mark.seconds(60)
@pytest.mark.parametrize("name, code", RECIPES, ids=[name for name, _ in RECIPES])
def test_recipe(copy, name, code):
    clean = {k: v for k, v in copies.environment().items()
             if not k.startswith(("GIT_", "PYTEST_"))}
    # The recipes call python3: the interpreter that runs this test.
    (copy / "build" / "path").mkdir()
    (copy / "build" / "path" / "python3").symlink_to(sys.executable)
    clean["PATH"] = f"{copy}/build/path:{clean['PATH']}"
    author = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
              for what, value in (("NAME", "t"), ("EMAIL", "t@example.org"))}
    ended = subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=copy, text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, env={**clean, **author},
                           timeout=TIMEOUT)
    assert ended.returncode == 0, f"{name}: {ended.stdout[-4000:]}"
