"""sections.py - a small section of the stack for the tests of one process and of ranks of
MPI: the job, and its files.
"""
import os
import struct

import numpy

from tests.helpers import BUILD

DATA = os.path.join(BUILD, "data", "semblance", "small.su")
RANGES = {"a": (-0.00002, 0.00026, 3), "b": (-0.00032, -0.00008, 2),
          "c": (4e-7, 9e-7, 2), "d": (1e-7, 5e-7, 2), "e": (0, 3e-7, 2)}
QUERY = ["tau=0.008"] + [f"{k}={p},{q},{n}" for k, (p, q, n) in RANGES.items()]
JOB = ["m0=4040,40,5", "h0=-500,30,4", "t0=0.4,0.004,60"]


def traces(path):
    """(headers as bytes, samples) of a little-endian SU file."""
    raw = numpy.fromfile(path, "u1")
    ns = int(raw[114:116].view("<u2")[0])
    rows = raw.reshape(-1, 240 + 4 * ns)
    return rows[:, :240].copy(), rows[:, 240:].copy().view("<f4")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def outputs(folder, prefix=""):
    return [f"stack={prefix}s.su", f"coherence={prefix}c.su", f"parameters={prefix}p.npy"]


def rewritten(path, change, order="<"):
    """The small gather, its headers changed by change(header, number), in another order
    of bytes."""
    head, data = traces(DATA)
    with open(path, "wb") as out:
        for i, (h, row) in enumerate(zip(head, data)):
            v = dict(zip(("sy", "gx", "gy"), struct.unpack_from("<3i", h.tobytes(), 76)))
            v["sx"], v["gx"], v["scalco"], v["delrt"] = 0, 0, 1, 0
            v["cdp"], v["trid"] = 100 + i, 1
            v["row"] = row
            change(v, i)
            raw = bytearray(240)
            struct.pack_into(order + "i", raw, 20, v["cdp"])
            struct.pack_into(order + "h", raw, 28, v["trid"])
            struct.pack_into(order + "h4i", raw, 70, v["scalco"], v["sx"], v["sy"],
                             v["gx"], v["gy"])
            struct.pack_into(order + "h", raw, 108, v["delrt"])
            struct.pack_into(order + "HH", raw, 114, len(v["row"]), 4000)
            out.write(bytes(raw) + v["row"].astype(order + "f4").tobytes())
