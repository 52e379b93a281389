"""test_messages.py: error messages. tests/messages.tsv lists command lines that must fail, and
what each must print; its head explains the columns.
"""
import functools
import os
import random
import re
import shutil
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, arguments, binaries, run, table
from tools.history import tree

PROGRAMS = {p.name for p in tree.programs()}
FRONT_ENDS = "ocl", "hybrid", "cuda-cpu"  # in addition to the sequential one
FILES = "file", "npy", "copy", "pipe", "link"
LINES = table("messages.tsv")
COMMANDS = [row for row in LINES if row[1] not in (*FILES, "query", "except")]
QUERIES = {row[2]: row[3].split() for row in LINES if row[1] == "query"}
# "./" repeated: a valid path of so many characters.
PLACES = {"{data}": f"{BUILD}/data", "{4000}": "./" * 2000, "{4090}": "./" * 2045}


# ---- files ---------------------------------------------------------------------------


def unescaped(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape")


def placed(text):
    for name, value in PLACES.items():
        text = text.replace(name, value)
    return text


def array(text):
    """An array, from "TYPE (SHAPE) VALUE INDEX=VALUE ..."."""
    (kind, shape, value, changes), = re.findall(r"^(\S+) \(([\d, ]*)\) (\S+)(.*)$", text)
    sizes = [int(n) for n in shape.replace(",", " ").split()]
    values = numpy.full(sizes, float(value), kind)
    for change in changes.split():
        index, _, value = change.partition("=")
        values.flat[int(index)] = float(value)
    return values


def patched(data, changes):
    """A file in which bytes are replaced, OFFSET=HEX*COUNT, or inserted, OFFSET+HEX*COUNT."""
    data = bytearray(data)
    for change in changes:
        (offset, how, text, count), = re.findall(r"^(\d+)([=+])(\w+)\*?(\d*)$", change)
        new, start = bytes.fromhex(text) * int(count or 1), int(offset)
        data[start:start + len(new) * (how == "=")] = new
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files of the table, in which the commands run."""
    folder = tmp_path_factory.mktemp("messages")
    for _, kind, name, *rest in LINES:
        path, text = folder / name, placed(rest[0]) if rest else ""
        if kind == "file":
            path.write_bytes(unescaped(text).encode("latin-1"))
        elif kind == "npy":
            numpy.save(path, array(text))
        elif kind == "copy":
            source, *changes = text.split()
            path.write_bytes(patched((folder / source if (folder / source).exists() else
                                      Path(ROOT, source)).read_bytes(), changes))
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "link":
            os.link(folder / text, path)
    return folder


def new_files(folder, before):
    """The names of what a run has left, which is removed."""
    left = set(folder.iterdir()) - before
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return sorted(path.name for path in left)


# ---- commands ------------------------------------------------------------------------


def options(text):
    """The arguments of a line: those of {QUERY} with the changes that follow, or as written."""
    first, _, changes = placed(text).partition(" ")
    if first[1:-1] in QUERIES and first[0] == "{":
        query = dict(word.split("=", 1) for word in QUERIES[first[1:-1]][1:])
        words = arguments(query, changes)
    else:
        words = placed(text).split()
    return [unescaped(word) if "\\" in word else word for word in words]


def base(name):
    """The name with which the messages of a command begin."""
    program, _, kind = name.split("/")[-1].partition("-")
    return program if program in PROGRAMS and kind != "check" else name


def binaries_of(name):
    """The binaries that a line runs."""
    if "/" in name:
        return [f"{BUILD}/{name}"]
    program, _, backend = name.partition("-")
    if program not in PROGRAMS or backend == "check":
        return [f"{BUILD}/{name}"]
    if backend:
        return [path for _, _, path in binaries(program, (backend,))[-1:]]
    return [path for one in FRONT_ENDS for _, _, path in binaries(program, (one,))[-1:]] + \
        [binaries(program, ("seq",))[0][2]]


@functools.cache
def has_pocl():
    return "PoCL" in run([f"{BUILD}/devices"], ROOT).stdout


@pytest.mark.parametrize("name, query", [(row[2], row[3]) for row in LINES if row[1] == "query"])
def test_query(check, folder, name, query):
    """The queries of which the lines change one argument are right."""
    before = set(folder.iterdir())
    for binary in binaries_of(query.split()[0]):
        ended = run([binary, *options(f"{{{name}}}")], folder)
        check(binary, (ended.returncode or ended.stderr or not new_files(folder, before)) and ended)


@pytest.mark.parametrize("line, command, text, message", COMMANDS,
                         ids=[f"{row[0]}-{row[1]}" for row in COMMANDS])
def test_message(folder, line, command, text, message):
    before = set(folder.iterdir())
    *variables, name = placed(command).split()
    if "pocl" in command.lower() and not has_pocl():
        pytest.skip("no PoCL")
    chosen = binaries_of(name)
    if not chosen:
        pytest.skip(f"{name} is not built")
    program = base(name)
    expected = re.escape(f"{program}: {message}").replace(r"\*", ".*")
    for binary in chosen:
        ended = run([*["env"] * bool(variables), *variables, binary, *options(text)], folder)
        left, lines = new_files(folder, before), ended.stderr.split("\n")
        where = f"tests/messages.tsv:{line}: {binary}"
        assert ended.returncode == 1, f"{where}: exit status {ended.returncode}: {ended.stderr}"
        assert len(lines) == 2 and re.fullmatch(expected, lines[0]), \
            f"{where}: {ended.stderr!r}: expected one line, {program}: {message}"
        # A checker may have computed and kept its reference before it finds the error.
        assert name.endswith("-check") or not (ended.stdout or left), \
            f"{where}: stdout {ended.stdout!r}, files {left}"


# Query, its key of an input file, and a file that is right.
INPUTS = (("semblance", "in", "good.su"), ("fluid", "events", "good.txt"),
          ("sandpile", "-dim config", "good.npy"), ("gridding", "in", "ones.npy"),
          ("fletcher", "vpz", "rock.npy"))


@pytest.mark.seconds(5)
@pytest.mark.parametrize("name, key, right", INPUTS)
def test_random_file(check, folder, name, key, right):
    """Random bytes, and a right file with some random ones: they are refused, or the damaged
    file is read, nothing else."""
    rng, good, before = random.Random(2), (folder / right).read_bytes(), set(folder.iterdir())
    for seed in range(150):
        raw = bytearray(rng.randbytes(rng.choice((1, 239, 240, 241, 404, 808, 3000))))
        if seed % 2:
            raw = bytearray(good)
            for _ in range(3):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
        (folder / "random.npy").write_bytes(raw)
        binary = binaries_of(name)[-(seed % 4 == 3)]
        ended = run([binary, *options(f"{{{name}}} {key}=random.npy")], folder)
        left = set(new_files(folder, before)) - {"random.npy"}
        right = ended.returncode == 1 and not left and not ended.stdout and re.fullmatch(
            rf"{name}: .+\n", ended.stderr)
        read = seed % 2 and ended.returncode == 0 and not re.sub(
            rf"{name}: random.npy: \d.* traces.*\n|.*x and y vary.*\n", "", ended.stderr)
        check(f"seed {seed}", not right and not read and (ended, left))


# ---- every message of the sources ----------------------------------------------------


def sources(name):
    """The C sources in which a program can fail; CUDA on the CPU has its own tests."""
    name = name.split("/")[-1]
    program = name.split("-")[0]
    places = ["common/run/*", "verify/verdict.h"]
    if program not in PROGRAMS:
        places += [f"verify/{program}.c"]
    elif name.endswith("-check"):
        places += [f"verify/*_{program}.[ch]", f"common/{program}/arguments.c", "common/su/*"]
    else:
        places += [f"common/{folder}/*" for folder in (program, "su", "opencl", "hybrid", "cuda")]
        places += [f"steps/*/{program}/*.[ch]*"]
    return [path for place in places for path in sorted(Path(ROOT).glob(place))
            if path.suffix in (".c", ".h", ".cu") and "cuda_cpu" not in path.name]


@functools.cache
def formats(path):
    """{(function, format)} of the calls that refuse something in a source."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    literals = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
    found = set()
    for function, variable, strings in re.findall(
            r"\b(fail|refuse|memory_check)\((?:[^\",;]*,\s*)?(?:(\w+)\W|" + literals + ")", text):
        if variable:
            strings = (re.findall(rf"\b{variable}\[\] =" + literals, text) or [""])[0]
        if strings:
            found.add((function, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings))))
    return found


@functools.cache
def matcher(function, text):
    """The pattern of the messages that a format gives, and how many of its characters are
    not variable."""
    parts = re.split(r"%[-+#0 ]*[\d*]*(?:\.[\d*]+)?(?:hh?|ll?|[jzt])?[a-z%]", text)
    pattern = "(.*)".join(re.escape(unescaped(part)) for part in parts)
    if function != "fail":
        pattern = "(.*)" + pattern
    if function == "memory_check":
        pattern += ": too large (.*)"
    return re.compile(pattern + "$"), sum(map(len, parts))


def test_every_message():
    """Each message of the sources has a line, or one that says why it has none."""
    excepted = {row[2].encode().decode() for row in LINES if row[1] == "except"}
    missing: dict[str, Path] = {}
    seen = set()
    for _, command, _, message in COMMANDS:
        name = command.split()[-1]
        for function in "fail", "refuse", "memory_check":
            able = [(matcher(*site)[1], path, site[1]) for path in sources(name)
                    for site in formats(path)
                    if site[0] == function and matcher(*site)[0].match(message)]
            most = max(able)[0] if able else 0
            seen |= {(path.parts[-2 if "common" in path.parts else -1], path.name, text)
                     for literal, path, text in able if literal == most}
    for name in {row[1].split()[-1] for row in COMMANDS}:
        for path in sources(name):
            for _, text in formats(path):
                key = (path.parts[-2 if "common" in path.parts else -1], path.name, text)
                if key not in seen and text not in excepted:
                    missing.setdefault(text, path.relative_to(ROOT))
    assert not missing, "no line: " + "".join(f"\n{p}: {t}" for t, p in sorted(missing.items()))
