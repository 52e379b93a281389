"""site.py - make report: all pages of the tree as a site, build/report/index.html.

MkDocs with the theme Material makes the pages of the Markdown files of the tree. A lesson also
gets its whole diff, and those of its rungs, folded. Files to which a page links are copied
along. The pages can be read from any folder; only the search needs a server:
`python3 -m http.server --directory build/report`.
"""
from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.base import options, tree
from tools.history import diff, rungs
from tools.base.tree import Program, Step

OUT = tree.build() / "report"
SOURCES = tree.build() / "report-sources"
MISSING = "mkdocs and its theme Material are not installed: expected the Debian package " \
    "mkdocs-material, or pip install mkdocs-material"
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
STYLE = "site.css"
LINKS = '[data-md-color-scheme="slate"] { --md-typeset-a-color: #9fb3ff; }\n'  # on a dark page
LANGUAGES = {".c": "c", ".h": "c", ".cl": "c", ".cu": "c", ".py": "python", ".sh": "bash"}


# ---- pages ---------------------------------------------------------------------------------


def pages() -> list[Path]:
    """The Markdown files of the tree, except those of exercises."""
    found = subprocess.run(["git", "ls-files", "*.md"], cwd=tree.ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    return [Path(name) for name in found if (tree.ROOT / name).exists()]


def folded(title: str, text: str, language: str) -> str:
    """A block of code under a title that unfolds it."""
    lines = [f"~~~~~~~~ {language}", *text.rstrip("\n").split("\n"), "~~~~~~~~"]
    return f'??? note "{title}"\n\n' + "\n".join(f"    {line}" for line in lines) + "\n\n"


def changes(step: Step, program: Program) -> str:
    """The diff of a step, and those of its rungs."""
    if not tree.before(step, program):
        return ""
    whole = "".join(diff.step_changes(step, program).values())
    text = "\n## The whole diff\n\n" + folded(
        f"make diff STEP={step.number} PROGRAM={program.name}", whole, "diff")
    for number, patch in enumerate(rungs.of_step(step, program), 1):
        mail = patch.path.read_text(encoding="utf-8")
        text += folded(f"Rung {number}: {patch.subject}",
                       mail[mail.index("\ndiff --git") + 1:].partition("\n-- \n")[0], "diff")
    return text


def lesson(page: Path) -> tuple[Step, Program] | None:
    """The step and the program of a page that is a lesson."""
    for step in tree.steps():
        for program in filter(step.has, tree.programs()):
            if page.parts[:1] == ("steps",) and page.parts[1:] == (
                    step.name, program.name, "README.md"):
                return step, program
    return None


def linked(page: Path, text: str) -> tuple[str, list[Path]]:
    """The text of a page in which links to folders name a page or their text alone is left, and
    the other files of the tree to which it links."""
    found = []

    def target(match: re.Match[str]) -> str:
        path = Path(tree.ROOT, page.parent, match[1]).resolve()
        if path.is_dir() and (path / "README.md").exists():
            return f"]({match[1].rstrip('/')}/README.md{match[2] or ''})"
        if path.is_file() and path.suffix != ".md":
            found.append(path.relative_to(tree.ROOT))
        return match[0]
    return LINK.sub(target, text), found


def copy() -> None:
    """The pages, and what they link to, in SOURCES."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    for page in pages():
        text, files = linked(page, (tree.ROOT / page).read_text(encoding="utf-8"))
        of = lesson(page)
        if of:
            text += changes(*of)
        (SOURCES / page.parent).mkdir(parents=True, exist_ok=True)
        (SOURCES / page).write_text(text, encoding="utf-8")
        for file in files:
            (SOURCES / file.parent).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree.ROOT / file, SOURCES / file)
    (SOURCES / STYLE).write_text(LINKS, encoding="utf-8")


# ---- navigation ----------------------------------------------------------------------------


def navigation() -> list[Any]:
    """By step, and by program."""
    steps: list[Any] = [{"Overview": "steps/README.md"}]
    for step in tree.steps():
        steps.append({f"{step.number} {step.mk['title']}": [
            {"Idea": f"steps/{step.name}/README.md"},
            *({p.name: f"steps/{step.name}/{p.name}/README.md"}
              for p in tree.programs() if step.has(p))]})
    programs = [{program.name: [
        {f"{step.number} {step.title(program)}": f"steps/{step.name}/{program.name}/README.md"}
        for step in tree.steps() if step.has(program)]} for program in tree.programs()]
    others = {"Using your data": ["docs/using-your-data.md", "docs/reference.md",
                                  "docs/what-limits-quality.md"],
              "Course": ["COURSE.md", "docs/glossary.md"],
              "Results": ["results/README.md", "docs/how-we-measure.md", "docs/papers.md"],
              "Contributing": ["CONTRIBUTING.md", "verify/README.md", "tools/README.md",
                               "common/README.md"]}
    return [{"Start": ["README.md", "docs/in-15-minutes.md"]},
            {"Steps": steps}, {"Programs": programs},
            *({title: [n for n in names if (tree.ROOT / n).exists()]}
              for title, names in others.items())]


def configuration() -> dict[str, Any]:
    toggle = [{"media": f"(prefers-color-scheme: {name})", "scheme": scheme,
               "toggle": {"icon": f"material/weather-{icon}", "name": "other colors"}}
              for name, scheme, icon in (("light", "default", "night"), ("dark", "slate", "sunny"))]
    return {"site_name": "From sequential C to a cluster", "docs_dir": str(SOURCES.absolute()),
            "site_dir": str(OUT.absolute()), "use_directory_urls": False, "plugins": ["search"],
            "theme": {"name": "material", "font": False, "palette": toggle,
                      "features": ["navigation.tabs", "navigation.top"]},
            "extra_css": [STYLE],
            "markdown_extensions": ["tables", "admonition", "pymdownx.highlight",
                                    "pymdownx.superfences", "pymdownx.details", "md_in_html",
                                    {"toc": {"permalink": True}}],
            "nav": navigation()}


def problems(log: str) -> Iterator[str]:
    """What MkDocs warns about."""
    for line in re.sub(r"\x1b\[\d*m", "", log).splitlines():
        if line.startswith(("WARNING", "ERROR")):
            yield line


def main() -> int:
    options.parse(options.parser(__doc__))
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise SystemExit(f"report: {MISSING}") from None
    copy()
    path = tree.build() / "mkdocs.yml"
    path.write_text(yaml.safe_dump(configuration(), sort_keys=False), encoding="utf-8")
    ended = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--clean", "-f", path],
                           capture_output=True, text=True)
    if "No module named" in ended.stderr or "Unrecognised theme" in ended.stderr:
        raise SystemExit(f"report: {MISSING}")
    wrong = list(problems(ended.stderr))
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    if ended.returncode or wrong:
        raise SystemExit(ended.stderr[-500:] if not wrong else "report: links that lead nowhere")
    print(f"{OUT}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
