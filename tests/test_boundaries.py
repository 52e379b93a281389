"""test_boundaries.py: the ends of the range of every integer argument, and values next to the
multiples of a block, a vector or a tile. tests/boundaries.tsv has the values; its head explains
the columns.
"""
import re
from pathlib import Path

import pytest

from tests.helpers import BUILD, ROOT, arguments, binaries, program_named, run, table
from tools.history import tree
from tools.verify import execute

LINES = table("boundaries.tsv")
KEYS = [row[2:] for row in LINES if row[1] == "key"]
BASES = {row[2]: dict(word.split("=", 1) for word in row[3].split())
         for row in LINES if row[1] == "base"}
BACKENDS = "seq", "omp", "ocl", "hybrid"


def named(kind):
    return [pytest.param(*row[2:], id=f"{row[0]}-{row[2]}") for row in LINES if row[1] == kind]


def command(program, changes):
    data = str(Path(BUILD, "data", program).resolve())
    return [word.replace("{data}", data) for word in arguments(BASES[program], changes)]


def with_value(program, key, value):
    """The change of the base that gives a key, or one of its items, a value."""
    name, _, item = key.partition(".")
    if not item:
        return f"{name}={value}"
    default = "1,1" if name == "strips" else "1,1,1"
    items = BASES[program].get(name, default).split(",")
    items[int(item) - 1] = str(value)
    return f"{name}={','.join(items)}"


def values(program, key, *kinds):
    """The values of a key, or of one of its items, in the lines of these kinds."""
    name, _, item = key.partition(".")
    texts = [re.findall(rf"(?<!\S){name}=(\S+)", row[3]) for row in LINES
             if row[1] in kinds and row[2] == program]
    return {int(text.split(",")[int(item or 1) - 1]) for found in texts for text in found}


@pytest.mark.parametrize("program", BASES)
def test_table(check, program):
    """The table has every integer argument with the range that help prints, and values at the
    ends of the range and next to multiples."""
    text = run([binaries(program, ("seq",))[0][2], "help"], ROOT).stdout
    told = {key: (low, high) for key, low, high in re.findall(
        r"^  (\w+)=.*\(from (\S+) to (\S+)\)$", text, re.M)}
    for source in Path(ROOT, "common", program).glob("*.c"):
        for key in re.findall(r'"(\w+)", ARG_DOUBLE', source.read_text()):
            told.pop(key, None)
    check("keys", not told)
    for key, (low, high) in told.items():
        rows = [row for row in KEYS if row[0] == program and row[1].split(".")[0] == key]
        check(f"{key}: no line", not rows)
        for row in rows:
            check(f"{row[1]}: {row[2:4]}", (int(row[2]), int(row[3])) != (
                float(low), float(high)) and f"help has {low} to {high}")
    for _, key, low, high, *multiples in (row for row in KEYS if row[0] == program):
        ends = {int(low), int(low) + 1, int(high) - 1, int(high)}
        missing = ends - values(program, key, "run", "accepted")
        near = {int(m) + d for m in " ".join(multiples).split() for d in (-1, 0, 1)}
        missing |= near - values(program, key, "run")
        check(f"{key}: no line with these values", sorted(missing))


@pytest.mark.parametrize("program, key, low, high", [row[:4] for row in KEYS])
def test_out_of_range(check, tmp_path, program, key, low, high):
    for value in int(low) - 1, int(high) + 1:
        for _, _, path in binaries(program, ("seq",))[:1] + binaries(program, ("ocl",))[-1:]:
            ended = run([path, *command(program, with_value(program, key, value))], tmp_path)
            expected = f"{program}: {key.partition('.')[0]}={value}: expected a whole number " \
                       f"from {low} to {high}\n"
            check(f"{path} {value}", (ended.returncode != 1 or ended.stderr != expected) and ended)


@pytest.mark.parametrize("program, changes, message", named("accepted"))
def test_accepted(check, tmp_path, program, changes, message):
    expected = re.escape(f"{program}: {message}\n").replace(r"\*", ".*")
    for _, _, path in binaries(program, ("seq",))[:1] + binaries(program, ("ocl",))[-1:]:
        ended = run([path, *command(program, changes)], tmp_path)
        check(path, (ended.returncode != 1 or not re.fullmatch(expected, ended.stderr)) and ended)


@pytest.mark.seconds(2)
@pytest.mark.parametrize("program, changes", named("run"))
def test_run(check, tmp_path, program, changes):
    kind, checked = program_named(program), dict[str, execute.Outcome]()
    for backend in BACKENDS:
        steps = [step for step in tree.steps() if backend in step.available(kind)]
        for step in steps[:1] if backend == "seq" else steps[-1:]:
            got = execute.run_and_check(step, kind, backend, command(program, changes),
                                        tmp_path, "boundary", checked=checked)
            check(f"{step.name} {backend}", not got["ok"] and got["reason"])
