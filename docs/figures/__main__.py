"""Draw all figures of the pages anew, or check that they are those that the scripts draw.

    python3 docs/figures            writes docs/figures/*.svg
    python3 docs/figures --check    writes nothing; prints the figures that would differ

The pictures of surveys (survey-*.svg) are not among them: make survey fills the surveys first.
Another version of Matplotlib draws other bytes, so --check compares only files of this version.
"""
from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
import theme

PAGES = Path(__file__).resolve().parent


def draw(folder: Path) -> None:
    theme.FOLDER = folder
    for script in sorted(PAGES.glob("*.py")):
        if script.name not in ("__main__.py", "theme.py"):
            sys.argv[1:] = []
            runpy.run_path(str(script), run_name="__main__")


def main() -> int:
    if sys.argv[1:] != ["--check"]:
        draw(PAGES)
        return 0
    stale = []
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name))
        for path in sorted(Path(name).iterdir()):
            old = PAGES / path.name
            text = old.read_text(encoding="utf-8") if old.exists() else ""
            if text != path.read_text(encoding="utf-8") and not (
                    text and f"Matplotlib v{matplotlib.__version__}" not in text):
                stale.append(path.name)
        drawn = {path.name for path in Path(name).iterdir()}
    stale += [f"{path.name}: no script draws it" for path in sorted(PAGES.glob("*.svg"))
              if path.name not in drawn and not path.name.startswith("survey-")]
    print(*(f"docs/figures/{line}" for line in stale), sep="\n", end="\n" * bool(stale))
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
