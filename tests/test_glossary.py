"""test_glossary.py: docs/glossary.md and the links to it."""
import re
from pathlib import Path

from tests import lint
from tests.helpers import ROOT

GLOSSARY = Path(ROOT, "docs", "glossary.md").read_text()
TERMS = re.findall(r"^### (.+)\n(.*)", GLOSSARY, re.M)


def test_terms_are_defined(check):
    names = [name.lower() for name, _ in TERMS]
    check("about 120 terms", len(names) < 100 and len(names))
    for name, definition in TERMS:
        check(f"{name}: defined", not definition.strip() and "no text after the heading")
        check(f"{name}: once", names.count(name.lower()) > 1 and "twice")


def test_terms_are_sorted(check):
    for section in re.split(r"^## ", GLOSSARY, flags=re.M)[1:]:
        names = [name.lower() for name in re.findall(r"^### (.+)$", section, re.M)]
        for before, name in zip(names, names[1:]):
            check(name, name < before and f"comes after {before}")


def test_citations_are_listed(check):
    """An abbreviation in brackets is one of the references."""
    text, _, listed = GLOSSARY.partition("## References")
    for name in sorted(set(re.findall(r"\[([A-Z][\w ,-]*)\](?!\()", text))):
        for part in name.split(", "):
            check(part, part not in listed and "not among the references")


def test_links_resolve(check):
    """Every link to the glossary names one of its headings."""
    anchors = lint.anchors(GLOSSARY)
    for path in lint.all_files():
        if path.endswith(".md"):
            for anchor in re.findall(r"glossary\.md#([^)\s]+)", lint.read(path)):
                check(f"{path}: {anchor}", anchor not in anchors and "no such term")
    check("the glossary's own links", [
        a for a in re.findall(r"\]\(#([^)\s]+)\)", GLOSSARY) if a not in anchors])
