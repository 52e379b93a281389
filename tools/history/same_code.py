"""same_code.py - compares the machine code of the working tree with that of a commit.

Renaming an identifier, editing a comment or moving a line must not change what a compiler
emits. Each C, CUDA C and OpenCL C source whose preprocessed text differs from the commit's
is compiled twice with the same flags, once per version. The objects are compared without
line numbers (`__LINE__` is 0) and with numbers in place of symbol names.

A source is reported as
    same      the code and all data are equal
    strings   equal if every string literal is emptied: only messages differ
    DIFFERS   the names of the functions whose code differs follow
    FAILS     one version does not compile

The exit status is 0 if no source differs or fails. tools/measure/same.py compares the
back-ends of two steps with the same functions.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.history import runs

ROOT = Path(__file__).resolve().parents[2]
INCLUDES = tuple(f"-Icommon/{name}" for name in
                 ("run", "su", "portable", "opencl", "cuda", "hybrid", "mpi"))
FLAGS = ("gcc", "-std=c11", "-O3", "-march=x86-64-v3", "-fno-math-errno", "-ffp-contract=off")
REPRODUCIBLE = ("-g0", "-w", "-D__LINE__=0", "-frandom-seed=0")
OPENCL = ("clang-14", "-x", "cl", "-cl-std=CL1.2", "-target", "x86_64", "-Xclang",
          "-finclude-default-header", "-O2", "-march=x86-64-v3", "-w", "-D__LINE__=0",
          # Macros that the host program defines when it compiles a kernel: any value works.
          "-DWINDOW=5", "-DLANES=8")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# The text before a string that is a directive to the compiler and is never printed.
DIRECTIVE = re.compile(r"(_Pragma|asm|__asm__|volatile|target|target_clones|optimize|section|"
                       r"extern|alias|format)\s*\(*\s*$")


@dataclass(frozen=True)
class Compilation:
    """A source, and the compiler with its options."""
    source: str
    command: tuple[str, ...]
    name: str = ""

    def preprocessed(self, root: Path) -> str | None:
        return output([*self.command, "-E", "-P", self.source], root)


@dataclass(frozen=True)
class Code:
    """What a compiler made of a source."""
    functions: dict[str, str]
    data: str
    strings: frozenset[bytes]

    def equals(self, other: Code) -> bool:
        return (list(self.functions.values()), self.data, self.strings) == \
            (list(other.functions.values()), other.data, other.strings)

    def text(self) -> str:
        """All of it, except for the names of the functions."""
        return "\n".join([*self.functions.values(), self.data,
                          *map(repr, sorted(self.strings))])


def output(command: Sequence[str], folder: Path) -> str | None:
    """What a command prints; None if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          errors="replace")
    return done.stdout if done.returncode == 0 else None


# ---- an object -------------------------------------------------------------------------


def functions_of(listing: str) -> dict[str, str]:
    """{function: its code} of what objdump -d prints. Symbol names become numbers in the
    order of their first use, and the place of a string in its section is dropped."""
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        name = re.sub(r"\.(constprop|isra|part|cold|_omp_fn)\b", "", name)
        return numbers.setdefault(name, f"N{len(numbers)}")

    functions: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in listing.splitlines():
        head = re.match(r"^(?:[0-9a-f]+ )?<(.+)>:$", line)
        if head:
            number(head[1])
            lines = functions.setdefault(head[1], [])
            continue
        line = re.sub(r"<([^>+]+)((?:\+0x[0-9a-f]+)?)>", r"<\2>", line)
        line = re.sub(r"\.rodata\.str\S*", "STRING", line)
        line = re.sub(r"(R_X86_64_\w+\s+)([A-Za-z_][\w.]*)",
                      lambda m: m[1] + (m[2] if m[2] == "STRING" else number(m[2])), line)
        lines.append(line.strip())
    return {name: "\n".join(lines) for name, lines in functions.items()}


def data_of(dump: str) -> tuple[str, frozenset[bytes]]:
    """(the contents of the data sections, the strings) of what objdump -s prints."""
    data, strings = [], b""
    for part in re.split(r"\n(?=Contents of section )", dump):
        name = part.removeprefix("Contents of section ").split(":")[0]
        if name.startswith(".rodata.str"):
            hexadecimal = re.findall(r"^ [0-9a-f]+ ((?:[0-9a-f]{2,8} )+)", part, re.M)
            strings += bytes.fromhex("".join(hexadecimal)) + b"\0"
        elif re.match(r"\.(data|rodata|tdata|init_array)", name):
            data.append(re.sub(r"  .{0,16}$", "", part, flags=re.M))
    return "\n".join(sorted(data)), frozenset(strings.split(b"\0"))


def compiled(unit: Compilation, root: Path, text: str | None = None) -> Code | None:
    """The code of a source in a folder; None if it does not compile. text is preprocessed
    source to compile in place of the file."""
    with tempfile.TemporaryDirectory(prefix="same-code-") as folder:
        made, source = f"{folder}/unit.o", unit.source
        if text is not None:
            source = f"{folder}/unit" + (".cl" if source.endswith(".cl") else ".c")
            Path(source).write_text(text)
        if output([*unit.command, "-c", source, "-o", made], root) is None:
            return None
        listing = output(["objdump", "-dr", "--no-addresses", "--no-show-raw-insn", made], root)
        dump = output(["objdump", "-s", made], root)
    if not listing or not dump:
        return None
    return Code(functions_of(re.sub(r"^.*file format.*$", "", listing, flags=re.M)),
                *data_of(dump))


def without_strings(text: str) -> str:
    """Preprocessed source in which every string is empty that is no directive."""
    parts: list[str] = []
    end = 0
    for found in STRING.finditer(text):
        before = text[max(0, found.start() - 40):found.start()]
        parts += [text[end:found.start()], found[0] if DIRECTIVE.search(before) else '""']
        end = found.end()
    return "".join(parts) + text[end:]


# ---- two versions of the tree ----------------------------------------------------------


@cache
def declared(root: Path, path: Path, key: str) -> tuple[str, ...]:
    """The value of a variable in a .mk file of either version, as make expands it."""
    if not (root / path).exists():
        return ()
    rules = f"CC = gcc\nNATIVE = -march=native\ninclude {path}\nall:\n\t@echo '$({key})'\n"
    done = subprocess.run(["make", "-s", "-f", "-"], cwd=root, input=rules, text=True,
                          capture_output=True, check=True)
    return tuple(done.stdout.split())


def program_of(source: Path) -> str:
    """The program that a source belongs to, or the name of its folder in common/."""
    if source.parts[0] == "common":
        return source.parts[1]
    if source.parts[0] == "steps":
        variant = source.parts[2] == "variants"
        return source.parts[3].split(".")[-1] if variant else source.parts[2]
    return re.sub(r"^(check|oracle|count)_", "", source.stem)


def compilations(root: Path, source: Path) -> list[Compilation]:
    """All compilations of a source."""
    name, program = str(source), program_of(source)
    options = (*INCLUDES, f"-Icommon/{program}", "-Iverify")
    if source.suffix == ".cl":
        return [Compilation(name, (*OPENCL, *options), name)]
    if source.parts[0] == "steps":
        options += declared(root, Path("common", program, "program.mk"), "cflags")
        options += declared(root, Path("steps", source.parts[1], "step.mk"),
                            f"cflags.{program}")
    mpi = re.search(r"(^|/)(mpi|ranks|pingpong)\.c$", name)
    command = ("mpicc" if mpi else FLAGS[0], *FLAGS[1:], *REPRODUCIBLE, *options)
    if source.suffix == ".cu":
        return [Compilation(name, (*command, "-fopenmp", "-x", "c"), f"{name} (cuda-cpu)")]
    if source.name == "cpu.c":
        return [Compilation(name, command, f"{name} (seq)"),
                Compilation(name, (*command, "-fopenmp"), f"{name} (omp)")]
    return [Compilation(name, (*command, "-fopenmp"), name)]


def comparison(unit: Compilation, old: Path, new: Path) -> tuple[str, str]:
    """(same, strings, DIFFERS or FAILS; details) of a source in two versions of the tree."""
    texts = unit.preprocessed(old), unit.preprocessed(new)
    if texts[0] is None or texts[1] is None:
        return "FAILS", "does not preprocess"
    if texts[0] == texts[1]:
        return "same", ""
    before, after = compiled(unit, old), compiled(unit, new)
    if before is None or after is None:
        return "FAILS", "old version" if before is None else "new version"
    if before.equals(after):
        return "same", ""
    emptied = [compiled(unit, root, without_strings(text))
               for root, text in ((old, texts[0]), (new, texts[1]))]
    if emptied[0] and emptied[1]:
        before, after = emptied[0], emptied[1]
        if before.equals(after):
            return "strings", ""
    codes = set(before.functions.values())
    names = [name for name, code in after.functions.items() if code not in codes]
    return "DIFFERS", " ".join(names) or ("data" if before.data != after.data else "order")


def changed_sources(old: Path, paths: Sequence[str]) -> list[Path]:
    """The sources that both versions have, below some paths or everywhere."""
    listed = output(["git", "ls-files", "-co", "--exclude-standard"], ROOT) or ""
    return [Path(p) for p in listed.split("\n")
            if p.endswith((".c", ".cu", ".cl")) and (ROOT / p).exists() and (old / p).exists()
            and p.startswith(("common/", "data/", "steps/", "tools/", "verify/"))
            and p != "tools/measure/ceilings.cu"
            and (not paths or p.startswith(tuple(paths)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="HEAD", help="commit to compare with (HEAD)")
    parser.add_argument("paths", nargs="*", help="only sources below these paths")
    parser.add_argument("--strict", action="store_true", help="strings count, too")
    parser.add_argument("--quiet", action="store_true", help="print no source that is the same")
    parser.add_argument("--jobs", type=int, default=runs.processors())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="same-code-") as folder:
        old = Path(folder)
        archive = subprocess.run(["git", "archive", arguments.base], cwd=ROOT,
                                 capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        wanted = [unit for source in changed_sources(old, arguments.paths)
                  for unit in compilations(ROOT, source)]
        counts: dict[str, int] = {}
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for unit, (what, details) in zip(wanted, pool.map(
                    lambda u: comparison(u, old, ROOT), wanted)):
                counts[what] = counts.get(what, 0) + 1
                if what != "same" or not arguments.quiet:
                    print(f"{what:8} {unit.name}  {details}".rstrip(), flush=True)
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    bad = {"DIFFERS", "FAILS"} | ({"strings"} if arguments.strict else set())
    return 1 if bad & counts.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
