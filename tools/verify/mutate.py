"""mutate.py - the small changes (mutations) of which planted bugs are drawn.

mutations(path) lists every mutation of a source file: C, OpenCL C and CUDA C by libclang's
syntax tree, Python by the ast module. A mutation replaces one range of bytes inside a line,
or of a few lines; it keeps the number of lines.

    relational     < for <=, == for !=, ..          swap         two arguments of one type
    arithmetic     - for +, / for *, ..             index        an index plus or minus 1
    logical        && for ||, any for all           width        int for a 64-bit type
    constant       plus or minus 1, or doubled      minimum      min for max
    condition      negated, or one operand dropped  barrier      a barrier, a clause removed
    deletion       of a statement                   start        an initializer removed
    variable       another one of the same type     return       an early return

What macros expand to is not a part of the tree: in the definitions of macros, operators and
constants are changed token by token.
"""
from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.base import tree

RELATIONAL = {"<": ("<=", ">"), "<=": ("<",), ">": (">=", "<"), ">=": (">",), "==": ("!=",),
              "!=": ("==",)}
ARITHMETIC = {"+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",), "<<": (">>",),
              ">>": ("<<",), "&": ("|",), "|": ("&",), "^": ("|",), "+=": ("-=",),
              "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("&=", "="), "&=": ("|=",)}
LOGICAL = {"&&": ("||",), "||": ("&&",)}
EXTREMES = {"min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin", "fminf": "fmaxf",
            "fmaxf": "fminf", "MIN": "MAX", "MAX": "MIN", "any": "all", "all": "any"}
# Functions whose result does not depend on the order of two arguments.
SYMMETRIC = {"min", "max", "fmin", "fmax", "fminf", "fmaxf", "hypot", "hypotf", "strcmp", "memcmp",
             "MIN", "MAX", "set", "isinstance", "allocate", "allocate_untouched", "calloc"}
WIDE = re.compile(r"\b(size_t|ptrdiff_t|s?size_t|off_t|u?int64_t|(unsigned )?long( long)?)\b")
PRAGMA = re.compile(r"#pragma omp (barrier|critical|atomic|single|master|flush).*")
CLAUSE = re.compile(r"\b(reduction|private|firstprivate|lastprivate|collapse)\([^()]*\)")
PLAIN_FOR = re.compile(r"#pragma omp for\b")


@dataclass(frozen=True)
class Mutation:
    path: Path  # relative to the root of the tree
    line: int
    kind: str
    start: int  # bytes of the file
    end: int
    new: str

    def apply(self, text: bytes) -> bytes:
        old = text[self.start:self.end]
        new = self.new.encode() + b"\n" * (old.count(b"\n") - self.new.count("\n"))
        return text[:self.start] + new + text[self.end:]


# ---- C, OpenCL C, CUDA C -----------------------------------------------------------------


def units(path: Path) -> list[tuple[Path, list[str]]]:
    """The translation units that contain a file, and how libclang reads them. A header is
    read through the sources next to it, or through those of a late step."""
    folders = ["run", "su", "portable", "opencl", "cuda", "hybrid", "mpi"]
    parts = path.parts
    program = next((p.name for p in tree.programs() if p.name in parts or
                    path.stem.endswith(f"_{p.name}")), "")
    words = [f"-Icommon/{f}" for f in [*folders, *[program] * bool(program)]]
    words += ["-Iverify", "-D_OPENMP=201511", "-I/usr/lib/x86_64-linux-gnu/openmpi/include"]
    words += [w for p in tree.programs() if p.name == program
              for w in p.mk.get("cflags", "").split() if w.startswith(("-D", "-I"))]

    def unit(source: Path) -> tuple[Path, list[str]]:
        if source.suffix == ".cl":
            return source, [*words, "-x", "cl", "-cl-std=CL1.2", "-Xclang",
                            "-finclude-default-header"]
        return source, [*words, "-x", "c", "-std=gnu11", "-fblocks"]

    if path.suffix != ".h":
        return [unit(path)]
    if parts[0] == "steps":
        folder = tree.ROOT / path.parent
    elif parts[0] == "verify":
        return [unit(p.relative_to(tree.ROOT)) for p in sorted(tree.ROOT.glob("verify/*.c"))]
    else:
        folder = tree.ROOT / "steps/10_algorithm" / (program or "fletcher")
    beside = sorted((tree.ROOT / path.parent).glob("*.c"))
    late = [p for end in ("c", "cu", "cl") for p in sorted(folder.glob(f"*.{end}"))]
    return [unit(p.relative_to(tree.ROOT)) for p in dict.fromkeys(late + beside)]


def index() -> Any:
    """libclang through its Python bindings, or an error that says how to install them."""
    try:
        from clang import cindex
        return cindex, cindex.Index.create()
    except Exception as error:  # the bindings, the library, or its version
        raise SystemExit(f"libclang for Python: {error}: ./setup.sh test installs "
                         "python3-clang") from None


class OfC:
    """The mutations of one C file, found in one translation unit."""

    def __init__(self, path: Path, source: Path, words: Sequence[str]) -> None:
        self.cindex, parser = index()
        self.path, self.text = path, (tree.ROOT / path).read_bytes()
        self.found: dict[tuple[int, int, str], Mutation] = {}
        unit = parser.parse(str(source), list(words), options=1)  # with macros
        self.kinds = self.cindex.CursorKind
        for cursor in unit.cursor.get_children():
            if cursor.location.file and Path(cursor.location.file.name) == path:
                if cursor.kind == self.kinds.MACRO_DEFINITION:
                    self.macro(cursor)
                elif cursor.kind == self.kinds.FUNCTION_DECL and cursor.is_definition():
                    self.function(cursor)
        self.pragmas()

    def add(self, kind: str, start: int, end: int, new: str) -> None:
        old = self.text[start:end].decode()
        if new != old:
            line = self.text.count(b"\n", 0, start) + 1
            self.found.setdefault((start, end, new),
                                  Mutation(self.path, line, kind, start, end, new))

    def tokens(self, kind: str, table: Mapping[str, tuple[str, ...]], token: Any) -> None:
        for new in table.get(token.spelling, ()):
            self.add(kind, *self.range(token), new)

    @staticmethod
    def range(cursor: Any) -> tuple[int, int]:
        return cursor.extent.start.offset, cursor.extent.end.offset

    def source(self, cursor: Any) -> str:
        start, end = self.range(cursor)
        return self.text[start:end].decode()

    def literal(self, cursor: Any) -> None:
        text = self.source(cursor)
        whole = re.fullmatch(r"(\d+)([uUlL]*)", text)
        if whole:
            for value in {int(whole[1]) + 1, max(int(whole[1]) - 1, 0), 2 * int(whole[1])}:
                self.add("constant", *self.range(cursor), f"{value}{whole[2]}")
        elif re.fullmatch(r"[\d.]+(e[-+]?\d+)?f?", text):
            self.add("constant", *self.range(cursor), f"(2 * {text})")
            self.add("constant", *self.range(cursor), f"({text} + 1)")

    def macro(self, cursor: Any) -> None:
        tokens = list(cursor.get_tokens())[1:]
        for token in tokens:
            self.tokens("relational", RELATIONAL, token)
            self.tokens("logical", LOGICAL, token)
            if token.kind.name == "LITERAL":
                self.literal(token)
            elif token.spelling in ("+", "-", "/", "<<", ">>"):
                self.tokens("arithmetic", ARITHMETIC, token)
            elif token.spelling in EXTREMES:
                self.add("minimum", *self.range(token), EXTREMES[token.spelling])

    def function(self, cursor: Any) -> None:
        scope: list[Any] = [c for c in cursor.get_children() if c.kind == self.kinds.PARM_DECL]
        body = [c for c in cursor.get_children() if c.kind == self.kinds.COMPOUND_STMT]
        if body:
            self.statement(body[0], scope, cursor.result_type.kind.name == "VOID")

    def in_file(self, cursor: Any) -> bool:
        place = cursor.extent.start
        return place.file is not None and Path(place.file.name) == self.path

    def of_macro(self, cursor: Any) -> bool:
        """Whether a statement is what a macro expands to: it does not begin with its word."""
        words = {self.kinds.IF_STMT: "if", self.kinds.FOR_STMT: "for", self.kinds.DO_STMT: "do",
                 self.kinds.WHILE_STMT: "while", self.kinds.COMPOUND_STMT: "{"}
        return not self.source(cursor).startswith(words.get(cursor.kind, ""))

    def statement(self, cursor: Any, scope: list[Any], void: bool) -> None:
        """All mutations below a cursor; scope has the variables that are declared so far."""
        k = self.kinds
        if not self.in_file(cursor) or self.of_macro(cursor):
            return
        if cursor.kind in (k.COMPOUND_STMT, k.CASE_STMT, k.DEFAULT_STMT):
            inner = list(scope)
            for child in cursor.get_children():
                self.deletion(child, void)
                self.statement(child, inner, void)
            return
        children = list(cursor.get_children())
        if cursor.kind == k.DECL_STMT:
            for child in children:
                if child.kind == k.VAR_DECL:
                    self.declaration(child)
                    self.statement(child, scope, void)
                    scope.append(child)
            return
        inner = list(scope) if cursor.kind in (k.FOR_STMT, k.IF_STMT, k.WHILE_STMT) else scope
        for child in children:
            if cursor.kind in (k.FOR_STMT, k.IF_STMT, k.WHILE_STMT) and \
                    child.kind not in (k.COMPOUND_STMT, k.DECL_STMT) and child is children[-1]:
                self.deletion(child, void)
            self.statement(child, inner, void)
        self.expression(cursor, children, scope)

    def deletion(self, child: Any, void: bool) -> None:
        """A statement that is left out, and a function that ends before it."""
        k, (start, end) = self.kinds, self.range(child)
        if child.kind in (k.CALL_EXPR, k.BINARY_OPERATOR, k.COMPOUND_ASSIGNMENT_OPERATOR,
                          k.UNARY_OPERATOR, k.UNEXPOSED_EXPR, k.CONTINUE_STMT, k.BREAK_STMT,
                          k.IF_STMT, k.FOR_STMT, k.WHILE_STMT):
            text = self.text[start:end].decode()
            if text.startswith(("(void)", "_Static_assert")):
                return
            if text.startswith("free(") and self.path.parts[0] == "verify":
                return  # the process ends soon: no result changes
            kind = "barrier" if "barrier" in text[:40] or "sync" in text[:40] else "deletion"
            body = child.kind in (k.IF_STMT, k.FOR_STMT, k.WHILE_STMT)
            if text.count("\n") < 12:
                self.add(kind, start, end, "{ }" if body else "(void)0")
            if void and child.kind != k.CONTINUE_STMT:
                self.add("return", start, start, "if (1) return; ")
        elif child.kind == k.RETURN_STMT and list(child.get_children()):
            value = list(child.get_children())[0]
            if value.type.kind.name in ("INT", "LONG", "ULONG", "FLOAT", "DOUBLE", "BOOL"):
                self.add("return", *self.range(value), "0")

    def declaration(self, cursor: Any) -> None:
        start, end = self.range(cursor)
        text = self.text[start:end].decode()
        children = [c for c in cursor.get_children() if c.kind.is_expression()]
        wide = WIDE.search(text.partition("=")[0])
        if wide and "*" not in text.partition("=")[0]:
            self.add("width", start + wide.start(), start + wide.end(), "int")
        if children and "=" in text and cursor.type.kind.name != "CONSTANTARRAY" and \
                "const" not in text.partition("=")[0] and text.count("\n") < 3:
            equals = text.index("=")
            if re.fullmatch(r"=\s*\{?\s*0(\.0f)?\s*\}?", text[equals:]):
                self.add("start", start + equals, end, "")

    def expression(self, cursor: Any, children: list[Any], scope: list[Any]) -> None:
        k, (start, end) = self.kinds, self.range(cursor)
        if cursor.kind in (k.INTEGER_LITERAL, k.FLOATING_LITERAL):
            self.literal(cursor)
        elif cursor.kind in (k.BINARY_OPERATOR, k.COMPOUND_ASSIGNMENT_OPERATOR) and \
                len(children) == 2:
            left, right = children[0].extent.end.offset, children[1].extent.start.offset
            between = self.text[left:right].decode()
            operator = re.fullmatch(r"[\s)]*([-+*/%<>=!&|^]+)[\s(]*", between)
            if operator:
                at = left + operator.start(1)
                tables: dict[str, Mapping[str, tuple[str, ...]]] = {
                    "relational": RELATIONAL, "arithmetic": ARITHMETIC, "logical": LOGICAL}
                for kind, table in tables.items():
                    for new in table.get(operator[1], ()):
                        self.add(kind, at, at + len(operator[1]), new)
                if operator[1] in LOGICAL:
                    for child in children:
                        self.add("condition", *self.range(child),
                                 "1" if operator[1] == "&&" else "0")
        elif cursor.kind in (k.IF_STMT, k.WHILE_STMT, k.CONDITIONAL_OPERATOR) and children \
                and self.source(children[0]):
            self.add("condition", *self.range(children[0]), f"!({self.source(children[0])})")
        elif cursor.kind == k.ARRAY_SUBSCRIPT_EXPR and len(children) == 2 and \
                self.source(cursor).endswith("]"):
            text = self.source(children[1])
            for change in ("+ 1", "- 1"):
                self.add("index", *self.range(children[1]), f"({text}) {change}")
        elif cursor.kind == k.CSTYLE_CAST_EXPR and WIDE.match(self.source(cursor)[1:]):
            self.add("width", start, start + self.source(cursor).index(")") + 1, "(int)")
        elif cursor.kind == k.CALL_EXPR:
            arguments = list(cursor.get_arguments())
            for a, b in zip(arguments, arguments[1:]):
                if not a or not b or cursor.spelling in SYMMETRIC:
                    continue
                one, other = (c.type.get_canonical().spelling for c in (a, b))
                if one == other and self.source(a) and self.source(b):
                    first, last = self.range(a)[0], self.range(b)[1]
                    middle = self.text[self.range(a)[1]:self.range(b)[0]].decode()
                    self.add("swap", first, last, self.source(b) + middle + self.source(a))
            if cursor.spelling in EXTREMES and self.source(cursor).startswith(cursor.spelling):
                self.add("minimum", start, start + len(cursor.spelling),
                         EXTREMES[cursor.spelling])
        elif cursor.kind == k.DECL_REF_EXPR and self.source(cursor) == cursor.spelling:
            kind = cursor.type.get_canonical().spelling.replace("const ", "")
            for other in scope:
                if other.spelling != cursor.spelling and other.spelling and \
                        other.type.get_canonical().spelling.replace("const ", "") == kind:
                    self.add("variable", start, end, other.spelling)

    def pragmas(self) -> None:
        for found in PRAGMA.finditer(self.text.decode()):
            self.add("barrier", len(self.text.decode()[:found.start()].encode()),
                     len(self.text.decode()[:found.end()].encode()), "")
        for line in re.finditer(r"#pragma omp .*(\\\n.*)*", self.text.decode()):
            offset = len(self.text.decode()[:line.start()].encode())
            for clause in CLAUSE.finditer(line[0]):
                self.add("barrier", offset + clause.start(), offset + clause.end(), "")
            plain = PLAIN_FOR.match(line[0])
            if plain and "nowait" not in line[0]:
                self.add("barrier", offset, offset + plain.end(), "#pragma omp for nowait")


# ---- Python ------------------------------------------------------------------------------

NAMES = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
         ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
         ast.Mod: "%"}


class OfPython(ast.NodeVisitor):
    """The mutations of one Python file, in the bodies of its functions."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, (tree.ROOT / path).read_bytes()
        self.starts = [0]
        for line in self.text.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.found: dict[tuple[int, int, str], Mutation] = {}
        self.scope: list[str] = []
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.scope = [a.arg for a in node.args.args if a.arg != "self"]
                self.scope += [n.id for n in ast.walk(node) if isinstance(n, ast.Name)
                               and isinstance(n.ctx, ast.Store)]
                for child in node.body:
                    if not (isinstance(child, ast.Expr) and isinstance(child.value,
                                                                       ast.Constant)):
                        self.visit(child)

    def range(self, node: Any) -> tuple[int, int]:
        return (self.starts[node.lineno - 1] + node.col_offset,
                self.starts[node.end_lineno - 1] + node.end_col_offset)

    def source(self, node: Any) -> str:
        start, end = self.range(node)
        return self.text[start:end].decode()

    def add(self, kind: str, start: int, end: int, new: str) -> None:
        if self.text[start:end].decode() != new:
            line = self.text.count(b"\n", 0, start) + 1
            self.found.setdefault((start, end, new),
                                  Mutation(self.path, line, kind, start, end, new))

    def operator(self, left: Any, right: Any, node: Any,
                 tables: Sequence[tuple[str, dict[str, tuple[str, ...]]]]) -> None:
        name = NAMES.get(type(node), "")
        start, end = self.range(left)[1], self.range(right)[0]
        at = self.text[start:end].decode().find(name) if name else -1
        for kind, table in tables if at >= 0 else ():
            for new in table.get(name.replace("//", "/"), ()):
                self.add(kind, start + at, start + at + len(name), new)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right, how in zip([node.left, *node.comparators], node.comparators, node.ops):
            self.operator(left, right, how, [("relational", RELATIONAL)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not isinstance(node.left, (ast.Constant, ast.JoinedStr)) or \
                not isinstance(getattr(node.left, "value", 0), str):
            self.operator(node.left, node.right, node.op, [("arithmetic", ARITHMETIC)])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add("constant", *self.range(node), str(not node.value))
        elif isinstance(node.value, int):
            for value in (node.value + 1, node.value - 1, 2 * node.value):
                self.add("constant", *self.range(node), str(value))
        elif isinstance(node.value, float):
            self.add("constant", *self.range(node), f"(2 * {self.source(node)})")

    def condition(self, test: Any) -> None:
        self.add("condition", *self.range(test), f"(not ({self.source(test)}))")

    def visit_If(self, node: ast.If) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for child in node.values:
            self.add("condition", *self.range(child), str(isinstance(node.op, ast.And)))
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add("deletion", *self.range(node), "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add("deletion", *self.range(node), "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.add("return", *self.range(node.value), "None")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        for a, b in zip(node.args, node.args[1:]):
            if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred) and \
                    self.source(node.func) not in SYMMETRIC:
                middle = self.text[self.range(a)[1]:self.range(b)[0]].decode()
                self.add("swap", self.range(a)[0], self.range(b)[1],
                         self.source(b) + middle + self.source(a))
        name = self.source(node.func)
        if name in EXTREMES:
            self.add("minimum", *self.range(node.func), EXTREMES[name])
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, (ast.Constant, ast.Name)) and not isinstance(
                getattr(node.slice, "value", 0), str):
            self.add("index", *self.range(node.slice), f"{self.source(node.slice)} + 1")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self.scope:
            for other in self.scope:
                self.add("variable", *self.range(node), other)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Parts of f-strings have no exact position."""


# ---- all ---------------------------------------------------------------------------------


@cache
def mutations(path: Path) -> list[Mutation]:
    """All mutations of a file of the tree, whose path is relative to its root."""
    if path.suffix == ".py":
        return list(OfPython(path).found.values())
    found: dict[tuple[int, int, str], Mutation] = {}
    for source, words in units(path):
        found |= OfC(path, source, words).found
        if found and path.suffix != ".h":
            break
    return list(found.values())


def lines(path: Path) -> int:
    """Roughly the number of executable lines of a file: those that are indented and more
    than a comment."""
    text = (tree.ROOT / path).read_text().splitlines()
    return sum(bool(re.match(r"\s+[^\s*/#]", line)) for line in text)


def draw(rng: random.Random, files: Sequence[Path]) -> Iterator[Mutation]:
    """Draws mutations for ever: a line of the files, one of the kinds that its mutations
    have, and one of these."""
    weights = [lines(path) for path in files]
    while True:
        path = rng.choices(files, weights)[0]
        by_line: dict[int, list[Mutation]] = {}
        for m in mutations(path):
            by_line.setdefault(m.line, []).append(m)
        if not by_line:
            continue
        here = by_line[rng.choice(sorted(by_line))]
        kind = rng.choice(sorted({m.kind for m in here}))
        yield rng.choice([m for m in here if m.kind == kind])
