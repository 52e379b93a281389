#!/usr/bin/env python3
"""Compare the machine code of the working tree with that of an earlier commit.

Renaming an identifier, editing a comment or moving a line must not change what a compiler
emits. Each C, CUDA C and OpenCL C source whose text, or whose headers' text, differs from
the commit is compiled twice with the same flags, once per version. The two objects are
disassembled, and compared without line numbers (`__LINE__` is 0) and without symbol names
(names are numbered in the order of their first use).

A source is reported as
    same      the code and all data are equal
    strings   equal if every string literal is emptied: only messages differ
    DIFFERS   the names of the functions whose code differs follow
    FAILS     one version does not compile

The exit status is 0 if no source differs or fails. With --strict, `strings` counts as a
difference, too.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDES = ("run", "su", "portable", "opencl", "cuda", "hybrid", "mpi")
SUFFIXES = (".c", ".cu", ".cl")
FLAGS = ("-std=c11", "-O3", "-march=x86-64-v3", "-fno-math-errno", "-ffp-contract=off", "-g0",
         "-w", "-D__LINE__=0")
OPENCL = ("-x", "cl", "-cl-std=CL1.2", "-target", "x86_64", "-Xclang",
          "-finclude-default-header", "-O2", "-march=x86-64-v3", "-w", "-D__LINE__=0",
          # What the host program defines when it compiles a kernel: any value will do.
          "-DWINDOW=5", "-DLANES=8")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# Strings that tell the compiler something, in contrast to those that the program prints.
COMMAND = re.compile(r"(_Pragma|asm|__asm__|volatile|target|target_clones|optimize|section|"
                     r"extern|alias|format)\s*\(*\s*$")


@dataclass(frozen=True)
class Unit:
    """One compilation: a source, and the options that only it has."""
    source: str
    name: str
    options: tuple[str, ...]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout


@lru_cache(maxsize=None)
def declared_flags(root: Path, path: Path, key: str) -> tuple[str, ...]:
    """The value of a variable in a .mk file of either version, as make expands it."""
    if not (root / path).exists():
        return ()
    rules = f"CC = gcc\nNATIVE = -march=native\ninclude {path}\nall:\n\t@echo '$({key})'\n"
    made = subprocess.run(["make", "-s", "-f", "-"], cwd=root, input=rules, text=True,
                          capture_output=True, check=True)
    return tuple(made.stdout.split())


def options_of(root: Path, source: Path) -> tuple[str, ...]:
    """The include folders of a source, and the flags that program.mk and step.mk declare."""
    program = source.parts[1] if source.parts[0] == "common" else \
        source.parts[2] if source.parts[0] == "steps" and source.parts[2] != "variants" else \
        source.parts[3].split(".")[-1] if source.parts[0] == "steps" else \
        re.sub(r"^(check|oracle|count)_", "", source.stem)
    options = tuple(f"-Icommon/{folder}" for folder in (*INCLUDES, program)) + ("-Iverify",)
    if source.parts[0] == "steps" and source.suffix != ".cl":
        options += declared_flags(root, Path("common", program, "program.mk"), "cflags")
        options += declared_flags(root, Path("steps", source.parts[1], "step.mk"),
                                  f"cflags.{program}")
    return options


def units(root: Path, source: Path) -> list[Unit]:
    """All compilations of a source."""
    options = options_of(root, source)
    name = str(source)
    if source.suffix == ".cl":
        return [Unit(name, name, (*OPENCL, *options, "-c"))]
    if source.suffix == ".cu":
        return [Unit(name, f"{name} (cuda-cpu)", (*FLAGS, *options, "-fopenmp", "-x", "c"))]
    if source.name == "cpu.c":
        return [Unit(name, f"{name} (seq)", (*FLAGS, *options)),
                Unit(name, f"{name} (omp)", (*FLAGS, *options, "-fopenmp"))]
    return [Unit(name, name, (*FLAGS, *options, "-fopenmp"))]


def compiler(unit: Unit) -> list[str]:
    if unit.source.endswith(".cl"):
        return ["clang-14"]
    mpi = re.search(r"(^|/)(mpi|ranks|pingpong)\.c$", unit.source)
    return ["mpicc"] if mpi else ["gcc"]


def run(command: list[str], folder: Path) -> str | None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                           errors="replace")
    return ended.stdout if ended.returncode == 0 else None


def dependencies(unit: Unit, root: Path) -> str | None:
    """The preprocessed source; None if that fails."""
    return run([*compiler(unit), *[o for o in unit.options if o != "-c"], "-E", "-P",
                unit.source], root)


def without_strings(text: str) -> str:
    """Preprocessed source with every string literal that is no command emptied."""
    parts: list[str] = []
    end = 0
    for found in STRING.finditer(text):
        parts.append(text[end:found.start()])
        before = text[max(0, found.start() - 40):found.start()]
        parts.append(found[0] if COMMAND.search(before) else '""')
        end = found.end()
    return "".join(parts) + text[end:]


def canonical(text: str) -> dict[str, str]:
    """{function: its code} of what objdump prints; symbol names become numbers in the order
    of their first use, and the place of a string in its section is dropped."""
    numbers: dict[str, str] = {}

    def number(name: str) -> str:
        name = re.sub(r"\.(constprop|isra|part|cold|_omp_fn)\b", "", name)
        return numbers.setdefault(name, f"N{len(numbers)}")

    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        head = re.match(r"^(?:[0-9a-f]+ )?<(.+)>:$", line)
        if head:
            number(head[1])
            current = functions.setdefault(head[1], [])
            continue
        line = re.sub(r"<([^>+]+)((?:\+0x[0-9a-f]+)?)>", lambda m: f"<{m[2]}>", line)
        line = re.sub(r"\.rodata\.str\S*", "STRING", line)
        line = re.sub(r"(R_X86_64_\w+\s+)([A-Za-z_][\w.]*)",
                      lambda m: m[1] + (m[2] if m[2] == "STRING" else number(m[2])), line)
        current.append(line.strip())
    return {name: "\n".join(lines) for name, lines in functions.items()}


def data_of(text: str) -> str:
    """The contents of the data sections, without those of strings."""
    parts = re.split(r"\n(?=Contents of section )", text)
    kept = [p for p in parts if re.match(r"Contents of section \.(data|rodata|tdata|init_array)",
                                         p) and ".rodata.str" not in p.split("\n")[0]]
    return "\n".join(re.sub(r"  .{0,16}$", "", p, flags=re.M) for p in sorted(kept))


def machine_code(unit: Unit, root: Path, text: str | None = None
                 ) -> tuple[dict[str, str], str] | None:
    """The code of each function and the data of a compiled unit; None if it fails. text is
    preprocessed source to compile in place of the file."""
    with tempfile.TemporaryDirectory(prefix="same-code-") as folder:
        made = Path(folder) / "unit.o"
        options = [o for o in unit.options if o != "-c"]
        source = unit.source
        if text is not None:
            kept = Path(folder) / ("unit.cl" if source.endswith(".cl") else "unit.c")
            kept.write_text(text)
            source = str(kept)
        command = [*compiler(unit), *options, "-c", source, "-o", str(made)]
        if run(command, root) is None:
            return None
        code = run(["objdump", "-dr", "--no-addresses", "--no-show-raw-insn", str(made)],
                   root) or ""
        code = re.sub(r"^.*file format.*$", "", code, flags=re.M)
        data = run(["objdump", "-s", str(made)], root) or ""
        return canonical(code), data_of(data)


def verdict(unit: Unit, old: Path, new: Path) -> tuple[str, str]:
    """(same, strings, DIFFERS or FAILS; details) of a unit in two versions of the tree."""
    texts = dependencies(unit, old), dependencies(unit, new)
    if texts[0] is None or texts[1] is None:
        return "FAILS", "does not preprocess"
    if texts[0] == texts[1]:
        return "same", ""
    made = machine_code(unit, old), machine_code(unit, new)
    if made[0] is None or made[1] is None:
        return "FAILS", "old version" if made[0] is None else "new version"
    if list(made[0][0].values()) == list(made[1][0].values()) and made[0][1] == made[1][1]:
        return "same", ""
    emptied = [machine_code(unit, old, without_strings(texts[0])),
               machine_code(unit, new, without_strings(texts[1]))]
    if emptied[0] and emptied[1]:
        made = emptied[0], emptied[1]
        if list(made[0][0].values()) == list(made[1][0].values()) and made[0][1] == made[1][1]:
            return "strings", ""
    codes = set(made[0][0].values())
    names = [name for name, code in made[1][0].items() if code not in codes]
    return "DIFFERS", " ".join(names) or ("data" if made[0][1] != made[1][1] else "order")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="HEAD", help="commit to compare with (HEAD)")
    parser.add_argument("paths", nargs="*", help="only sources below these paths")
    parser.add_argument("--strict", action="store_true", help="strings count, too")
    parser.add_argument("--quiet", action="store_true", help="print no source that is the same")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="same-code-") as folder:
        old = Path(folder)
        archive = subprocess.run(["git", "archive", options.base], cwd=ROOT,
                                 capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        files = git("ls-files", "-co", "--exclude-standard").split("\n")
        sources = [Path(p) for p in files if p.endswith(SUFFIXES) and (ROOT / p).exists()
                   and (old / p).exists() and not p.startswith("tests/")
                   and p != "tools/measure/ceilings.cu"
                   and (not options.paths or p.startswith(tuple(options.paths)))]
        wanted = [unit for source in sources for unit in units(ROOT, source)]
        counts: dict[str, int] = {}
        with ThreadPoolExecutor(options.jobs) as pool:
            for unit, (what, details) in zip(wanted, pool.map(
                    lambda u: verdict(u, old, ROOT), wanted)):
                counts[what] = counts.get(what, 0) + 1
                if what != "same" or not options.quiet:
                    print(f"{what:8} {unit.name}  {details}".rstrip(), flush=True)
    print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    bad = {"DIFFERS", "FAILS"} | ({"strings"} if options.strict else set())
    return 1 if bad & counts.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
