#!/usr/bin/python3
"""su_segyio.py SU_TEST: exchanges SU files with segyio in both directions.

SU_TEST is the path of the program su_test. It writes a file in each byte order, which
segyio reads. Then this script assembles the same two files byte by byte; segyio checks
them, and su_test reads them. The values follow formulas that are implemented here and,
independently, in su_test.c.
Left out: bytes 181-240, which Seismic Unix defines and segyio does not know.
"""
import os
import struct
import subprocess
import sys
import tempfile

import segyio.su

TRACES, NS, DT = 5, 65, 4000
SCALCO = (0, 10, -10, 1, -1)

# 1-based bytes at which fields of 32 and of 16 bits start (SEG-Y rev. 1).
WIDE = (1, 5, 9, 13, 17, 21, 25, 37, 41, 45, 65, 73, 77, 81, 85)
NARROW = (29, 31, 35, 69, 89, 91, 105, 109, 113, 119, 137, 141, 157, 159, 165, 179)


def header(trace):
    """Return {first byte: (struct code, value)} for every field that is not 0."""
    fields = {b: ("i", -100003 * b + 65537 * trace) for b in WIDE}
    fields |= {b: ("h", -150 * b + 17 * trace) for b in NARROW}
    fields |= {71: ("h", SCALCO[trace]), 115: ("H", NS), 117: ("H", DT)}
    return fields


def samples(trace):
    return [(100 * trace - j) / 8 for j in range(NS)]


def pack(path, order):
    with open(path, "wb") as file:
        for trace in range(TRACES):
            raw = bytearray(240)
            for byte, (code, value) in header(trace).items():
                struct.pack_into(order + code, raw, byte - 1, value)
            file.write(raw + struct.pack(f"{order}{NS}f", *samples(trace)))


def differences(path, endian):
    """List the differences between the file, as segyio reads it, and the formulas."""
    found = []
    with segyio.su.open(path, "r", endian=endian, ignore_geometry=True) as file:
        if file.tracecount != TRACES:
            return [f"{file.tracecount} traces: expected {TRACES}"]
        if len(file.samples) != NS:
            return [f"{len(file.samples)} samples: expected {NS}"]
        for trace in range(TRACES):
            want = header(trace)
            for byte in map(int, file.header[trace].keys()):
                if byte > 180:
                    continue
                value = file.header[trace][byte]
                expected = want.get(byte, ("", 0))[1]
                if value != expected:
                    found.append(f"trace {trace + 1} byte {byte}: {value}: "
                                 f"expected {expected}")
            if file.trace[trace].tolist() != samples(trace):
                found.append(f"trace {trace + 1}: samples differ")
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: su_segyio.py SU_TEST")
    su_test = os.path.abspath(sys.argv[1])
    failed = False

    def report(what, found):
        nonlocal failed
        failed |= bool(found)
        print("FAIL" if found else "pass", what)
        for line in found[:5]:
            print("    ", line)

    with tempfile.TemporaryDirectory() as folder:
        files = {"little": ("<", os.path.join(folder, "little.su")),
                 "big": (">", os.path.join(folder, "big.su"))}
        subprocess.run([su_test, "write", folder], check=True)
        for endian, (order, path) in files.items():
            report(f"su_write, segyio reads: {endian}", differences(path, endian))
            os.remove(path)
            pack(path, order)
            report(f"assembled here, segyio reads: {endian}", differences(path, endian))
        run = subprocess.run([su_test, "read", folder], capture_output=True, text=True)
        report("assembled here, su_read reads: both",
               [run.stderr.strip() or "failed"] if run.returncode else [])
    sys.exit(1 if failed else 0)


main()
