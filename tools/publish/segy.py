"""segy.py - make su and make segy: converts SEG-Y to SU, and SU back to SEG-Y.

make su IN=a.sgy OUT=a.su [IBM=1] [IEEE=1]: SEG-Y of revisions 0 to 2 with IBM or IEEE floats or
integers, of either byte order. The SU file has the byte order of this machine and all bytes of
the trace headers; ns and dt that are 0 come from the binary header. IBM=1 and IEEE=1: the samples
are such floats whatever the format code is; IN may be an SU file, too.

make segy IN=a.su LIKE=a.sgy OUT=b.sgy [FILLED=new.su]: the text headers, the binary header, the
byte order and the format are those of LIKE; integers become IEEE floats. FILLED has traces that
are not in IN: each is inserted where the order of IN has it.

Files are converted in blocks of traces, and OUT is replaced only when it is complete. segyio
converts IBM floats. Left out: additional trace headers and data trailers of revision 2, traces of
different lengths.
"""
from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

try:
    import numpy as np
except ImportError as error:
    raise SystemExit(f"{error.name} not found (Debian: python3-{error.name})") from None

from tools.base import options

TEXT, REEL, HEADER = 3200, 3600, 240
BLOCK = 1 << 22  # bytes that are converted at a time, about
# Type of a sample of each format code that is read; 1 is IBM floats.
FORMATS = {1: "u4", 2: "i4", 3: "i2", 5: "f4", 6: "f8", 8: "i1", 10: "u4", 11: "u2", 16: "u1"}
IBM, IEEE = 1, 5
DEAD = 2  # trid of a dead trace
DATA = [0, 1, *range(11, 18)]  # kinds of traces (trid) with seismic data
NATIVE = "<" if sys.byteorder == "little" else ">"
# Last byte and width in bytes of the fields of a header, as common/su/su.c reverses them.
WIDTHS = (28, 4), (36, 2), (68, 4), (72, 2), (88, 4), (180, 2), (208, 4), (240, 2)
END_OF_TEXT = [text.encode(code) for text in ("((SEG: EndText))", "((SEG:EndText))")
               for code in ("ascii", "cp037")]


def reversal() -> Any:
    """The byte of a header that each byte of the header in the other byte order is."""
    found: list[int] = []
    for end, width in WIDTHS:
        while len(found) < end:
            found += range(len(found) + width - 1, len(found) - 1, -1)
    return np.array(found)


REVERSED = reversal()


class Refused(Exception):
    """A file or option, what is wrong, and what is expected."""


@dataclass
class File:
    """Traces of one length in a file."""
    path: str
    order: str
    start: int  # bytes before the first trace
    extended: int  # text headers after the binary one
    ns: int
    dt: int  # of the binary header, microseconds
    format: int
    count: int

    def kind(self) -> Any:
        return np.dtype([("header", "u1", HEADER),
                         ("samples", self.order + FORMATS[self.format], (self.ns,))])

    def mapped(self) -> Any:
        return np.memmap(self.path, self.kind(), "r", self.start, self.count)

    def field(self, traces: Any, at: int, kind: str) -> Any:
        """A field of trace headers in the order of this file; at: first byte, counted from 1."""
        size = np.dtype(kind).itemsize
        return np.ascontiguousarray(
            traces["header"][:, at - 1:at - 1 + size]).view(self.order + kind)[:, 0]

    def head(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read(self.start)

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """(number of the first trace from 0, traces)"""
        step = max(1, BLOCK // self.kind().itemsize)
        with open(self.path, "rb") as file:
            file.seek(self.start)
            for first in range(0, self.count, step):
                count = min(step, self.count - first)
                traces = np.fromfile(file, self.kind(), count)
                if len(traces) < count:
                    raise Refused(f"{self.path}: became shorter while it was read")
                yield first, traces


# ---- reading -----------------------------------------------------------------------------


def start_of_traces(path: str, head: bytes, order: str, size: int) -> tuple[int, int]:
    """(bytes before the first trace, extended text headers)"""
    extended = integer(head, 3505, order + "i2")
    if extended < 0:  # as many as there are before the one with the mark
        with open(path, "rb") as file:
            file.seek(REEL)
            extended, text = 0, b""
            while not any(mark in text for mark in END_OF_TEXT):
                text = file.read(TEXT)
                extended += 1
                if len(text) < TEXT:
                    raise Refused(f"{path}: its extended text headers have no end: expected one "
                                  f"with ((SEG: EndText))")
    start = REEL + TEXT * extended
    if head[3500] >= 2:
        start = integer(head, 3521, order + "u8") or start
        if integer(head, 3507, order + "i2"):
            raise Refused(f"{path}: additional trace headers (bytes 3507-3508 of revision 2): "
                          f"expected one header of 240 bytes per trace")
        if integer(head, 3529, order + "i4"):
            raise Refused(f"{path}: data trailer (bytes 3529-3532 of revision 2): expected that "
                          f"the file ends with the last trace")
    if start + HEADER >= size:
        raise Refused(f"{path}: no trace after {start} bytes of headers: the file is truncated")
    return start, extended


def integer(head: bytes, at: int, kind: str) -> int:
    """at: first byte, counted from 1."""
    return int(np.frombuffer(head, kind, 1, at - 1)[0])


def read_segy(path: str) -> File:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(REEL)
    if size < REEL:
        raise Refused(f"{path}: {size} bytes: expected SEG-Y, which begins with {REEL} bytes of "
                      f"headers")
    codes = {order: integer(head, 3225, order + "u2") for order in "><"}
    order = next((o for o, code in codes.items() if 1 <= code <= 16), "")
    if not order:
        raise Refused(f"{path}: not SEG-Y: its format code (bytes 3225-3226) is {codes['>']}: "
                      f"expected 1 to 16")
    code = codes[order]
    if code not in FORMATS:
        raise Refused(f"{path}: samples of format code {code}: expected one of "
                      f"{', '.join(map(str, FORMATS))}")
    start, extended = start_of_traces(path, head, order, size)
    with open(path, "rb") as file:
        file.seek(start)
        first = file.read(HEADER)
    choices = [integer(head, 3221, order + "u2"), integer(first, 115, order + "u2")]
    if head[3500] >= 2:
        choices.insert(0, integer(head, 3269, order + "u4"))
    choices = [n for n in choices if n]
    if not choices:
        raise Refused(f"{path}: ns is 0 in the binary header (bytes 3221-3222) and in trace 1 "
                      f"(bytes 115-116): expected the number of samples")
    width = np.dtype(FORMATS[code]).itemsize
    fits = [n for n in choices if (size - start) % (HEADER + width * n) == 0]
    ns = (fits or choices)[0]
    row = HEADER + width * ns
    if not fits:
        raise Refused(f"{path}: its last trace has {(size - start) % row} of {row} bytes (ns "
                      f"{ns}, {width} bytes per sample): the file is truncated, or its traces "
                      f"have different lengths")
    if ns > 65535:
        raise Refused(f"{path}: ns is {ns}: expected at most 65535, as SU has them")
    return File(path, order, start, extended, ns, integer(head, 3217, order + "u2"), code,
                (size - start) // row)


def read_su(path: str, code: int = IEEE) -> File:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        first = file.read(HEADER)
    for order in (NATIVE, *{"<", ">"} - {NATIVE}) if len(first) == HEADER else ():
        ns = integer(first, 115, order + "u2")
        found = File(path, order, 0, 0, ns, 0, code, size // (HEADER + 4 * ns))
        if ns and size % (HEADER + 4 * ns) == 0:
            # In the other order, ns of the first trace can fit by chance.
            last = found.mapped()[-1:]
            if found.field(last, 115, "u2")[0] == ns:
                return found
    raise Refused(f"{path}: not SU: expected traces of a header of {HEADER} bytes and as many "
                  f"samples as its bytes 115-116 say")


def check_sizes(file: File, first: int, ns: Any, dt: Any, expected: tuple[int, int]) -> None:
    for name, values, value in (("ns", ns, expected[0]), ("dt", dt, expected[1])):
        wrong = np.flatnonzero((values != value) | (values == 0))
        if len(wrong):
            raise Refused(f"{file.path}: trace {first + wrong[0] + 1}: {name} is "
                          f"{values[wrong[0]]}: expected {value or '1 to 65535'}, as before it")


def floats(samples: Any, code: int) -> Any:
    """Samples as IEEE floats in the byte order of this machine."""
    if code != IBM:
        return samples.astype(NATIVE + "f4")
    return library().tools.native(samples.astype(">u4"), IBM, copy=False).reshape(samples.shape)


def library() -> Any:
    try:
        import segyio._segyio  # tools.native() expects that it is imported
    except ImportError:
        raise Refused(f"segyio not found by {sys.executable}: it converts IBM floats (Debian: "
                      f"python3-segyio; another Python: make PYTHON=)") from None
    return segyio


# ---- writing -----------------------------------------------------------------------------


@contextlib.contextmanager
def result(path: str, *inputs: str) -> Iterator[BinaryIO]:
    """A file of another name, which gets the name `path` when all is written."""
    if any(os.path.exists(path) and os.path.samefile(path, name) for name in inputs):
        raise Refused(f"OUT={path}: is also an input: expected another file")
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise Refused(f"OUT={path}: is not a regular file: expected the name of one")
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "x+b") as file:
            yield file
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) if error.filename == temporary \
            else error from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def stop_cleanly() -> None:
    """Makes SIGTERM an exception, so that no temporary file is left."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def read_as(path: str, code: int) -> File:
    """SEG-Y, or with a format code SU, too."""
    if not code:
        return read_segy(path)
    with contextlib.suppress(Refused):
        return read_su(path, code)
    return dataclasses.replace(read_segy(path), format=code)


def check_ibm(file: File, words: Any) -> None:
    """Refuses IEEE floats that are called IBM floats. The first 4 bits of the fraction of an IBM
    float are 0 only if it is tiny; in 4 to 9 percent of IEEE floats, they are (common/su/su.c)."""
    words = words[words << 1 != 0]
    zeros = (words >> 20 & 15 == 0).sum()
    if len(words) >= 1000 and zeros > 0.02 * len(words):
        percent = round(100 * zeros / len(words))
        raise Refused(f"{file.path}: its format code is {IBM}, but {percent} % of its samples are "
                      f"no IBM floats: set IEEE=1 if they are IEEE floats, otherwise IBM=1")


def to_su(source: str, target: str, code: int) -> str:
    """Converts, and returns what it did. code: the format of the samples, or 0."""
    file = read_as(source, code)
    kind = np.dtype([("header", "u1", HEADER), ("samples", NATIVE + "f4", (file.ns,))])
    filled, size = 0, None
    with result(target, source) as out:
        for first, traces in file.blocks():
            ns, dt = file.field(traces, 115, "u2"), file.field(traces, 117, "u2")
            filled += int(((ns == 0) | (dt == 0)).sum())
            ns[ns == 0], dt[dt == 0] = file.ns, file.dt
            size = size or (file.ns, int(dt[0]))
            if file.format == IBM and not code:
                check_ibm(file, traces["samples"])
            check_sizes(file, first, ns, dt, size)
            done = np.empty(len(traces), kind)
            done["header"] = traces["header"]
            done["header"][:, 114:116] = ns.astype(file.order + "u2")[:, None].view("u1")
            done["header"][:, 116:118] = dt.astype(file.order + "u2")[:, None].view("u1")
            if file.order != NATIVE:
                done["header"] = done["header"][:, REVERSED]
            done["samples"] = floats(traces["samples"], file.format)
            out.write(done.tobytes())
    more = f"; ns or dt of {filled} from the binary header" if filled else ""
    return f"{target}: {file.count} traces of {file.ns} samples{more}"


def keys(file: File) -> dict[str, Any]:
    """Header fields of all traces, and where they are along the line, in metres."""
    at = {"fldr": (9, "i4"), "tracf": (13, "i4"), "ep": (17, "i4"), "cdp": (21, "i4"),
          "trid": (29, "i2"), "offset": (37, "i4"), "scalco": (71, "i2"), "sx": (73, "i4"),
          "sy": (77, "i4"), "gx": (81, "i4"), "gy": (85, "i4")}
    parts = [[file.field(t, *place).astype(float) for place in at.values()]
             for _, t in file.blocks()]
    found = dict(zip(at, np.concatenate(parts, axis=1)))
    scale = found["scalco"]
    scale = np.where(scale < 0, -1 / np.minimum(scale, -1), np.maximum(scale, 1))
    for name in "sx", "sy", "gx", "gy":
        found[name] = np.round(found[name] * scale, 4)
    return found


def merged(file: File, more: File) -> tuple[Any, str]:
    """(the numbers of the traces of both files in the order of `file`, the keys of this order).
    A trace of `more` replaces a dead one at its place."""
    old, new = keys(file), keys(more)
    data = np.isin(old["trid"], DATA)  # others may have no positions
    xy = max("xy", key=lambda xy: np.ptp(np.concatenate([old[e + xy][data] for e in "sg"])))
    for found in old, new:
        found["source"], found["receiver"] = found["s" + xy], found["g" + xy]
        found["midpoint"] = found["source"] + found["receiver"]
    order, name = np.arange(file.count + more.count), "none, the filled traces are last"
    for pair in (("source", "receiver"), ("midpoint", "offset"), ("offset", "midpoint"),
                 ("receiver", "source"), ("fldr", "tracf"), ("ep", "tracf"), ("cdp", "offset")):
        for signs in (1, 1), (1, -1), (-1, 1), (-1, -1):
            both = np.stack([np.concatenate([old[k], new[k]]) * sign
                             for k, sign in zip(pair, signs)])
            step = np.diff(both[:, :file.count])
            if ((step[0] > 0) | (step[0] == 0) & (step[1] >= 0)).all() and step[0].any():
                order, name = np.lexsort(both[::-1]), " and ".join(pair)
                break
        else:
            continue
        break
    ends = "sx", "sy", "gx", "gy"
    places = {*zip(*(new[k] for k in ends))}
    replaced = np.flatnonzero([trid == DEAD and place in places for trid, place in zip(
        old["trid"], zip(*(old[k] for k in ends)))])
    return order[~np.isin(order, replaced)], name


def check_su(files: list[File], finite: str) -> tuple[int, int]:
    """(ns, dt) of all traces of the files. finite: the file because of which the samples must be
    finite, or nothing."""
    ns, dt = files[0].ns, int(files[0].field(files[0].mapped()[:1], 117, "u2")[0])
    for file in files:
        for first, traces in file.blocks():
            check_sizes(file, first, file.field(traces, 115, "u2"),
                        file.field(traces, 117, "u2"), (ns, dt))
            bad = np.argwhere(~np.isfinite(traces["samples"]) & bool(finite))
            if len(bad):
                raise Refused(f"{file.path}: trace {first + bad[0][0] + 1}: sample "
                              f"{bad[0][1] + 1} is not finite: expected numbers that IBM floats, "
                              f"the format of {finite}, can hold")
    return ns, dt


def headers_like(like: File, code: int, ns: int, dt: int, count: int) -> bytearray:
    """The bytes before the first trace: those of `like`, where its samples are not others."""
    head = bytearray(like.head())
    values = [(3217, "u2", dt), (3221, "u2", ns), (3225, "u2", code)]
    if head[3500] >= 2:
        values += [(3269, "u4", ns), (3273, "f8", dt), (3513, "u8", count)]
    for at, kind, value in values:
        if np.frombuffer(head, like.order + kind, 1, at - 1)[0]:
            put(head, at, like.order + kind, value)
    return head


def put(head: bytearray, at: int, kind: str, value: int) -> None:
    head[at - 1:at - 1 + np.dtype(kind).itemsize] = np.array(value, kind).tobytes()


def write_ibm(path: str, like: File, head: bytes, kind: Any, count: int) -> None:
    """Replaces the IEEE floats of a SEG-Y file by IBM floats."""
    shown = bytearray(head)  # what segyio needs to find the traces
    put(shown, 3221, like.order + "u2", kind["samples"].shape[0])
    put(shown, 3505, like.order + "u2", (like.start - REEL) // TEXT)
    with open(path, "r+b") as file:
        file.write(shown)
    traces = np.memmap(path, kind, "r", like.start, count)
    with library().open(path, "r+", ignore_geometry=True,
                        endian={"<": "little", ">": "big"}[like.order]) as ibm:
        for i in range(count):
            ibm.trace[i] = traces[i]["samples"].astype(NATIVE + "f4")
    with open(path, "r+b") as file:
        file.write(head)


def to_segy(source: str, like: str, target: str, filled: str) -> str:
    """Converts, and returns what it did."""
    pattern, files = read_segy(like), [read_su(path) for path in (source, filled) if path]
    code = pattern.format if pattern.format in (IBM, IEEE) else IEEE
    if code == IBM:
        library()
    ns, dt = check_su(files, like if code == IBM else "")
    order, name = merged(*files) if filled else (np.arange(files[0].count), "")
    head = headers_like(pattern, code, ns, dt, len(order))
    kind = np.dtype([("header", "u1", HEADER), ("samples", pattern.order + "f4", (ns,))])
    step = max(1, BLOCK // kind.itemsize)
    with result(target, *(path for path in (source, like, filled) if path)) as out:
        out.write(head)
        for at in range(0, len(order), step):
            block = np.empty(len(order[at:at + step]), kind)
            begin = 0  # number of the first trace of a file
            for file in files:
                number = order[at:at + step] - begin
                here = (number >= 0) & (number < file.count)
                traces = file.mapped()[number[here]]
                block["header"][here] = traces["header"] if file.order == pattern.order \
                    else traces["header"][:, REVERSED]
                block["samples"][here] = traces["samples"]
                begin += file.count
            out.write(block.tobytes())
        out.flush()
        if code == IBM:
            write_ibm(out.name, pattern, head, kind, len(order))
    return f"{target}: {len(order)} traces of {ns} samples, " \
        f"{'IBM' if code == IBM else 'IEEE'} floats" \
        + (f"; order: {name}" if filled else "") \
        + (f" (the samples of {like} are integers)" if code != pattern.format else "")


# ---- command line --------------------------------------------------------------------------


def main(words: list[str] | None = None) -> int:
    parser = options.parser(__doc__, "IN", "OUT", "LIKE", "FILLED", "IBM", "IEEE")
    parser.add_argument("target", choices=("su", "segy"))
    given = options.parse(parser, words)
    needed = ("IN", "LIKE", "OUT") if given.target == "segy" else ("IN", "OUT")
    usage = " ".join(f"{name}=FILE" for name in needed)
    name = ""
    try:
        for name in needed:
            if not getattr(given, name.lower()):
                raise Refused(f"{name}= is not set: expected make {given.target} {usage}")
        source = vars(given)["in"]
        if given.target == "su":
            print(to_su(source, given.out, IBM if given.ibm else IEEE if given.ieee else 0))
        else:
            print(to_segy(source, given.like, given.out, given.filled))
    except Refused as reason:
        print(f"make {given.target}: {reason}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"make {given.target}: {error.filename or given.out}: {error.strerror or error}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    stop_cleanly()
    sys.exit(main())
