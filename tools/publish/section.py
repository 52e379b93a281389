"""section.py - make section: what is missing in a line, filled by the last step, beside
what was recorded around it and what should be there.

    BACKEND=    omp unless set; ARGS= words that replace the job's, as in make run

The job is program.mk's `section`; the truth is what the generator left out, without noise
(IN.missing). Says the signal-to-noise ratio of what was filled, 10 log10 of the truth's
energy over the error's, and draws build/section/section.svg. Exits with 0 only if every
trace was filled.
"""
import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np

from tools.history import runs, tree


class NotBuilt(SystemExit):
    pass


def traces(path):
    """An SU file as records, in the byte order that makes them end where it ends."""
    raw = Path(path).read_bytes()
    for order in "<>":
        ns = int(np.frombuffer(raw, order + "u2", 1, 114)[0])
        record = np.dtype({"names": ["trid", "scalco", "sy", "gy", "dt", "samples"],
                           "formats": [order + "i2", order + "i2", order + "i4",
                                       order + "i4", order + "u2", (order + "f4", ns)],
                           "offsets": [28, 70, 76, 84, 116, 240],
                           "itemsize": 240 + 4 * ns})
        if len(raw) % record.itemsize == 0:
            return np.frombuffer(raw, record)
    raise SystemExit(f"{path}: not an SU file")


def places(found):
    """(midpoint, half-offset) of each record, in metres."""
    scale = found["scalco"].astype(float)
    scale = np.where(scale < 0, -1 / np.minimum(scale, -1), np.maximum(scale, 1))
    sy, gy = found["sy"] * scale, found["gy"] * scale
    return (gy + sy) / 2, (gy - sy) / 2


def job(program, args=()):
    """The words of the section."""
    return runs.with_arguments(program.arguments(program.mk["section"]), list(args))


def fill(program, backend, args=()):
    """Fills the gap by the last step that has the back-end: a dict with step, seconds,
    snr in dB, and the records before, filled, truth."""
    steps = [s for s in tree.steps() if backend in s.available(program)]
    if not steps:
        raise NotBuilt(f"BACKEND={backend}: no step has it here: is it built?")
    words = job(program, args)
    query = dict(w.split("=", 1) for w in words)
    filled = tree.build() / "section" / f"{backend}.su"
    filled.parent.mkdir(parents=True, exist_ok=True)
    filled.unlink(missing_ok=True)
    start = time.monotonic()
    ended = runs.run([steps[-1].binary(program, backend), *words, f"stack={filled}"], 3600)
    seconds = time.monotonic() - start
    if ended.failure():
        raise SystemExit(f"section: {steps[-1].name} {backend} {ended.failure()}")
    got, truth = traces(filled), traces(query["in"] + ".missing")
    if not np.array_equal(places(got), places(truth)):
        raise SystemExit(f"section: {filled} and the truth are not the same places")
    error = got["samples"].astype(float) - truth["samples"]
    energy = (truth["samples"].astype(float) ** 2).sum()
    return {"step": steps[-1], "seconds": seconds, "filled": got, "truth": truth,
            "before": traces(query["in"]), "live": int((got["trid"] == 1).sum()),
            "snr": 10 * np.log10(energy / (error ** 2).sum())}


def said(found, backend):
    """One line on what fill() gave."""
    n, ns = found["filled"]["samples"].shape
    return f"{n} missing traces of {ns} samples filled by {found['step'].name} {backend} " \
           f"in {found['seconds']:.1f} s: {found['snr']:.1f} dB above their error"


def panels(found):
    """[(title, midpoints, samples [trace][sample])] of the line at the half-offset that
    was filled: as recorded, filled, and the truth."""
    m, h = places(found["before"])
    at, half = places(found["truth"])
    here = np.abs(h - half[0]) < 1e-3
    m, recorded = m[here], found["before"]["samples"][here]
    sheets = []
    for title, more in (("recorded", np.zeros_like(found["truth"]["samples"])),
                        ("filled", found["filled"]["samples"]),
                        ("the truth there", found["truth"]["samples"])):
        every, samples = np.concatenate([m, at]), np.concatenate([recorded, more])
        order = np.argsort(every)
        sheets.append((title, every[order], samples[order]))
    return sheets


def main():
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    from tools.publish import draw
    program = tree.programs()[0]
    backend = os.environ.get("BACKEND") or "omp"
    found = fill(program, backend, shlex.split(os.environ.get("ARGS", "")))
    print(said(found, backend))
    path = tree.build() / "section" / "section.svg"
    draw.section(path, panels(found), float(found["truth"]["dt"][0]) * 1e-6)
    print(path)
    sys.exit(0 if found["live"] == len(found["filled"]) else 1)


if __name__ == "__main__":
    main()
