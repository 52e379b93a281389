"""test_checked_calls.py: the result of each call of OpenCL, CUDA and MPI is checked.

    OCL_CHECK(clFinish(queue));                             a call that returns an error
    buffer = clCreateBuffer(.., &err); OCL_CHECK(err);      one that returns an object
    CUDA_CHECK(cudaMalloc(..)); MPI_CHECK(MPI_Barrier(..));

A launch in CUDA returns nothing: CUDA_CHECK(cudaGetLastError()) follows it in the same function, or
a function that does this. No test lets each call fail once, so this one reads.
"""
import re

import pytest

from tools.base import tree

# These release something, or describe an error; or 0 shows that a device lacks a property.
FREE = re.compile(r"clRelease|clSVMFree|cudaFree|cudaEventDestroy|cudaStreamDestroy"
                  r"|MPI_Error_string|cudaGetLastError|clGetDeviceInfo\(device, CL_DEVICE_SVM")
LAUNCHED = re.compile(r"CUDA_CHECK\(cudaGetLastError|\b(profile|record|finish|end_interval)\w*\(")
CALL = re.compile(r"\b(cl[A-Z]\w+|cuda[A-Z]\w+|MPI_[A-Z][a-z]\w+|(?:CUDA|WINDOW)_LAUNCH)\(")


def plain(text):
    """C without comments and strings, of the same length."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"',
                  lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def unchecked(text):
    """(line, call) of the calls whose result is not used."""
    text = plain(text)
    for call in CALL.finditer(text):
        name, end = call[1], text.find(";", call.start())
        if "_LAUNCH" in name:  # a check may follow several launches, in the same function
            good = bool(LAUNCHED.search(text[end:text.find("\n}", end)]))
        elif "&err)" in text[call.start():end]:
            good = text[end + 1:].lstrip().startswith("OCL_CHECK(err)")
        else:
            before = text[:call.start()].rstrip()[-1:]
            good = bool(FREE.match(text, call.start())) or before not in (*";{})", "")
        if not good:
            yield text.count("\n", 0, call.start()) + 1, name


FILES = [p.relative_to(tree.ROOT) for p in sorted((tree.ROOT / "steps").glob("*/*/*"))
         if p.suffix in (".c", ".h", ".cu")]


@pytest.mark.parametrize("path", [p for p in FILES if CALL.search((tree.ROOT / p).read_text())],
                         ids=str)
def test_checked(path):
    found = [*unchecked((tree.ROOT / path).read_text())]
    assert not found, "\n".join(f"{path}:{line}: {name}: not checked" for line, name in found)


def test_what_is_found():
    text = "clFinish(q);\nOCL_CHECK(clFinish(q));\nb = clCreateBuffer(c, &err);\n(void)0;\n" \
           "CUDA_LAUNCH(k, a);\n}\n/* clFlush(q) */\n"
    assert [*unchecked(text)] == [(1, "clFinish"), (3, "clCreateBuffer"), (5, "CUDA_LAUNCH")]
