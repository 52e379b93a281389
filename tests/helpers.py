"""helpers.py - what the Python tests share: finding binaries and running them, packing SU
traces, reading .npy, counting what passed.

Run from the root of the tree; BUILD (default build) is where the binaries are.
"""
import os
import struct
import subprocess

import numpy

from tools.history import tree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

BUILD = str(tree.build())


class Tally:
    """Counts checks; only the failed ones are printed."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, problem):
        """problem is a text, or nothing where there is none."""
        if problem:
            self.failed += 1
            print(f"FAIL {name}: {problem}", flush=True)
        else:
            self.passed += 1

    def finish(self):
        """The last line, and the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def binaries(program, wanted=None):
    """[(step, back-end, path)] of all that are built and can run here."""
    program = next(p for p in tree.programs() if p.name == program)
    return [(step.name, backend, str(step.binary(program, backend)))
            for step in tree.steps() for backend in step.available(program)
            if not wanted or backend in wanted]


def run(command, folder, environment=None, **more):
    """Runs command in folder; the result has returncode, stdout and stderr (text)."""
    more = {"stdout": subprocess.PIPE, "timeout": 300, **more}
    return subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})},
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace", **more)


def trace(samples, ns=None, dt=4000, sy=0, gy=0, sx=0, gx=0, scalco=1, order="<"):
    """One SU trace: 240 bytes of header, then float32 samples."""
    header = bytearray(240)
    struct.pack_into(order + "h4i", header, 70, scalco, sx, sy, gx, gy)
    struct.pack_into(order + "HH", header, 114, len(samples) if ns is None else ns, dt)
    return bytes(header) + struct.pack(f"{order}{len(samples)}f", *samples)


def read_npy(path):
    """(shape, values) of a float32 .npy, as lists."""
    array = numpy.load(path)
    if array.dtype != "<f4" or not array.flags.c_contiguous:
        raise ValueError(f"{path}: {array.dtype}, not float32 in the order of C")
    return list(array.shape), array.ravel().tolist()


def write_npy(path, shape, values):
    """A float32 .npy of values in the order of C."""
    with open(path, "wb") as file:
        numpy.save(file, numpy.array(values, "<f4").reshape(shape))


def float32(x):
    return float(numpy.float32(x))
