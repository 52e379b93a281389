"""ruff.py - checks Python files with ruff, as pyproject.toml configures it.

Uses the command ruff, or else the build for Node that ./setup.sh test installs if the
distribution has no ruff. Prints FILE:LINE: CODE TEXT, or why the check was skipped.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.history import options, tree

SCRIPT = Path(__file__).with_suffix(".mjs")


def package() -> Path:
    """Where setup.sh installs ruff's build for Node."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "optimization-history-ruff/node_modules/@astral-sh/ruff-wasm-nodejs")


def configuration() -> dict[str, Any]:
    """The section [tool.ruff] of pyproject.toml."""
    try:
        import tomllib as toml
    except ModuleNotFoundError:  # Python 3.10
        import tomli as toml
    with (tree.ROOT / "pyproject.toml").open("rb") as file:
        found: dict[str, Any] = toml.load(file)["tool"]["ruff"]
    found.pop("extend-exclude", None)
    return found


def check(files: Sequence[str]) -> tuple[list[str], str]:
    """(the complaints about files, why the check was skipped or "")."""
    if shutil.which("ruff"):
        command, text = ["ruff", "check", "--output-format=concise", "--quiet", *files], None
    elif shutil.which("node") and package().is_dir():
        command = ["node", str(SCRIPT), str(package())]
        text = json.dumps({"options": configuration(), "files": list(files)})
    else:
        return [], "ruff is not installed (./setup.sh test tries to)"
    done = subprocess.run(command, cwd=tree.ROOT, input=text, capture_output=True, text=True)
    if done.stderr.strip():
        return [f"ruff: {done.stderr.strip().splitlines()[0]}"], ""
    return [line for line in done.stdout.splitlines() if line], ""


def main() -> int:
    parser = options.parser(__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    complaints, skipped = check(options.parse(parser).files)
    print(*complaints, *([f"skipped: {skipped}"] if skipped else []), sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
