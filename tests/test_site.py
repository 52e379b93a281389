"""test_site.py - make report: every page of the tree is there, with the diffs of its step, and a
link that leads nowhere is refused."""
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from tests.helpers import ROOT, module
from tools.base import copies
from tools.publish import site

pytest.importorskip("mkdocs")


@pytest.mark.seconds(10)
def test_site(check):
    done = module("tools.publish.site")
    assert done.returncode == 0, done.stdout + done.stderr
    for page in site.pages():
        name = page.with_name("index.html") if page.name == "README.md" else \
            page.with_suffix(".html")
        check(f"{page}", not (site.OUT / name).exists() and "no page")
    lesson = site.OUT / "steps" / "05_algebra" / "semblance" / "index.html"
    text = unescape(lesson.read_text())
    for words in ("The whole diff", "Rung 3: Interpolate with two weights"):
        check(words, words not in text and "not in the lesson")


@pytest.mark.seconds(10)
def test_broken_link(check, tmp_path):
    copy = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
    for name in ("tools", "results", "common", "config.mk"):
        shutil.rmtree(copy / name, ignore_errors=True)
        (copy / name).unlink(missing_ok=True)
        copies.put(Path(ROOT, name), copy / name)
    with (copy / "COURSE.md").open("a") as page:
        page.write("\n[nowhere](docs/nowhere.md)\n")
    done = module("tools.publish.site", root=copy, BUILD="build")
    check("refused", done.returncode == 0 and "accepted")
    check("named", "nowhere.md" not in done.stdout and done.stdout + done.stderr)
