"""test_messages.py: error messages. tests/messages.tsv lists command lines that must fail, and
what each must print; its head explains the columns.
"""
import re
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, run
from tools.history import tree

TABLE = Path(ROOT, "tests", "messages.tsv")
BINARIES = {p.name: f"{BUILD}/00_sequential/{p.name}-seq" for p in tree.programs()}


def rows():
    """[columns] of the table, each with the number of its line before them."""
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            yield number, *line.split("\t")


ROWS = list(rows())
COMMANDS = [row for row in ROWS if row[1] not in ("file", "npy", "copy")]


def array(text):
    """An array, from "TYPE (SHAPE) VALUE"."""
    kind, shape, value = re.fullmatch(r"(\S+) \(([\d, ]*)\) (\S+)", text).groups()
    sizes = [int(n) for n in shape.replace(",", " ").split()]
    return numpy.full(sizes, float(value), kind)


def patched(data, changes):
    """A file in which bytes are replaced: OFFSET=HEX."""
    data = bytearray(data)
    for change in changes:
        offset, _, text = change.partition("=")
        new = bytes.fromhex(text)
        data[int(offset):int(offset) + len(new)] = new
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    for _, kind, name, *rest in ROWS:
        if kind == "file":
            text = rest[0] if rest else ""
            (folder / name).write_bytes(
                text.encode("latin-1", "backslashreplace").decode("unicode_escape")
                .encode("latin-1"))
        elif kind == "npy":
            numpy.save(folder / name, array(rest[0]))
        elif kind == "copy":
            source, *changes = " ".join(rest).split()
            source = source.replace("{data}", f"{BUILD}/data")
            (folder / name).write_bytes(patched(Path(ROOT, source).read_bytes(), changes))
    return folder


@pytest.mark.parametrize("line, name, arguments, message", COMMANDS,
                         ids=[f"{row[0]}-{row[1]}" for row in COMMANDS])
def test_message(folder, line, name, arguments, message):
    before = set(folder.iterdir())
    binary = BINARIES.get(name, f"{BUILD}/{name}")
    options = arguments.replace("{tmp}", str(folder)).replace("{data}", f"{BUILD}/data").split()
    ended = run([binary, *options], folder)
    where = f"tests/messages.tsv:{line}"
    assert ended.returncode == 1, f"{where}: exit status {ended.returncode}: {ended.stderr}"
    lines = ended.stderr.splitlines()
    assert len(lines) == 1 and message in lines[0], \
        f"{where}: {ended.stderr!r}: expected one line with {message!r}"
    left = set(folder.iterdir()) - before
    for path in left:
        path.unlink()
    # A checker may have computed and kept its reference before it finds the error.
    assert name.endswith("-check") or not left, f"{where}: files are left"
