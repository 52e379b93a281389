"""test_section_headers.py: the headers of filled traces. In a survey whose shots and channels
are numbered, those of a missing shot are the ones that it had, and the survey with the filled
traces is a survey that the program reads.
"""
import random

import pytest

from tests.helpers import binaries, run
from tools.verify import section_oracle as oracle

NS, DT, SHOTS, CHANNELS = 40, 4000, 6, 5
FILLED = 2, 5  # shots; the last one is at the end of the line
OPTIONS = ["axis=auto", "t0=0.06,0.004,3", "tau=0.004", "a=0,0,1", "b=0,0,1", "c=3e-7,6e-7,2",
           "d=0,0,1", "e=0,0,1", "weight=none"]


def fields(shot, channel, axis, spread):
    """The header of a trace: receivers move with the shot, in front of it or behind it."""
    station = 2 * shot + spread * (3 + channel)
    other = "y" if axis == "x" else "x"
    return {"tracl": CHANNELS * shot + channel + 1, "fldr": 101 + shot, "ep": 20 + 2 * shot,
            "tracf": channel + 1, "cdp": 500 + 2 * shot + station, "trid": 1,
            "offset": 25 * (3 + channel), "gelev": 900 + 5 * station, "selev": 900 + 10 * shot,
            "sdepth": 6, "scalel": -10, "scalco": -10, "s" + axis: 500 * shot,
            "g" + axis: 250 * station, "s" + other: 70, "g" + other: 70, "counit": 1,
            "ns": NS, "dt": DT}


@pytest.mark.parametrize("axis, spread", [("x", 1), ("y", -1)])
def test_missing_shots(check, tmp_path, axis, spread):
    rng = random.Random(axis)
    rows, places = [], ["sx gx"]
    for shot in range(SHOTS):
        for channel in range(CHANNELS):
            values = fields(shot, channel, axis, spread)
            samples = oracle.numpy.array([rng.gauss(0, 1) for _ in range(NS)], "f4")
            rows.append((values, samples.tobytes()))
            if shot in FILLED:
                places.append(f"{values['s' + axis] / 10} {values['g' + axis] / 10}")
    missing = [i for i in range(len(rows)) if i // CHANNELS in FILLED]
    (tmp_path / "places.txt").write_text("\n".join(places) + "\n")
    (tmp_path / "in.su").write_bytes(b"".join(
        oracle.put(values, "=") + row for i, (values, row) in enumerate(rows)
        if i not in missing))
    binary = binaries("semblance", ("omp",))[-1][2]
    ended = run([binary, "in=in.su", "positions=places.txt", *OPTIONS, "stack=s.su"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    heads, stack = oracle.split(tmp_path / "s.su", "=")
    for i, head, row in zip(missing, heads, stack, strict=True):
        for name, value in rows[i][0].items():
            kept = oracle.get(head, name, "=")
            # Elevations are not continued beyond the last shot.
            if name not in ("tracl", "ns") and not (name in oracle.ELEVATIONS
                                                    and i // CHANNELS == SHOTS - 1):
                check(f"trace {i}: {name}", kept != value and f"{kept}, expected {value}")
        check(f"trace {i}: samples", not row.any() and "zero")

    merged = [oracle.put(values, "=") + row for values, row in rows]
    first = int(0.06e6 / DT)
    for i, head, row in zip(missing, heads, stack, strict=True):
        padded = oracle.numpy.zeros(NS, "f4")
        padded[first:first + len(row)] = row
        values = {name: oracle.get(head, name, "=") for name in oracle.FIELDS}
        merged[i] = oracle.put({**values, "ns": NS, "delrt": 0}, "=") + padded.tobytes()
    (tmp_path / "merged.su").write_bytes(b"".join(merged))
    ended = run([binary, "in=merged.su", "positions=places.txt", *OPTIONS, "stack=again.su"],
                tmp_path)
    check("its own output", ended.returncode and ended.stderr)
