"""test_page.py: the commands of docs/using-your-data.md run as they are typed, in the order of
the page, on a small survey of SEG-Y. Only setup.sh and Slurm have tests of their own.
"""
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT
from tests.test_segy import body, reel
from tools.history import copies
from tools.verify import section_oracle as oracle

segyio = pytest.importorskip("segyio")
pytest.importorskip("matplotlib")

PAGE = Path(ROOT, "docs", "using-your-data.md").read_text()
BLOCKS = [code for code in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
          if not code.startswith("sbatch")]
NS, DT = 126, 4000
SHOTS, CHANNELS, DEAD = 10, 10, (3, 7)


def survey():
    """(headers, samples, the same without dead traces) of two reflectors at 2000 m/s."""
    numbers = numpy.arange(SHOTS * CHANNELS)
    shot = numbers // CHANNELS
    s, g = 1000 + 50 * shot, 1100 + 50 * shot + 25 * (numbers % CHANNELS)
    t = numpy.arange(NS) * DT * 1e-6
    truth = numpy.zeros((len(s), NS))
    for t0, dip in (0.15, 1e-4), (0.3, -5e-5):
        arrival = numpy.hypot(t0 + dip * ((s + g) / 2 - 1000), (g - s) / 2000)
        u = (numpy.pi * 25 * (t - arrival[:, None])) ** 2
        truth += (1 - 2 * u) * numpy.exp(-u)
    dead = numpy.isin(shot, DEAD)
    heads = [oracle.put({"tracl": i + 1, "fldr": shot[i] + 1, "tracf": i % CHANNELS + 1,
                         "trid": 1 + dead[i], "offset": g[i] - s[i], "scalco": 1, "sx": s[i],
                         "gx": g[i], "counit": 1, "ns": NS, "dt": DT}, ">") for i in numbers]
    samples = (truth + 0.02 * numpy.random.default_rng(4).standard_normal(truth.shape))
    return heads, (samples * ~dead[:, None]).astype("f4"), truth.astype("f4"), dead


@pytest.mark.seconds(20)
def test_commands(check, tmp_path):
    assert len(BLOCKS) >= 3 and "make su" in BLOCKS[0], "the page has no commands"
    for name in os.listdir(ROOT):
        if name not in ("setup.sh", "build", ".git"):
            (tmp_path / name).symlink_to(Path(ROOT, name))
    (tmp_path / "build").symlink_to(Path(BUILD).resolve())
    (tmp_path / "setup.sh").write_text("#!/bin/sh\n")
    (tmp_path / "setup.sh").chmod(0o755)
    heads, samples, truth, dead = survey()
    head = reel(code=1, ns=NS, extended=1)
    (tmp_path / "my.sgy").write_bytes(head + body(heads, samples, ">", 1))
    said = ""
    for code in BLOCKS:
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=tmp_path, text=True,
                               env=copies.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=TIMEOUT)
        assert ended.returncode == 0, f"{code}\n{ended.stdout[-3000:]}"
        said += ended.stdout
    with segyio.open(str(tmp_path / "filled.sgy"), ignore_geometry=True) as file:
        filled = file.trace.raw[:]
    check("text", (tmp_path / "filled.sgy").read_bytes()[:len(head)] != head and "differs")
    error = ((filled[dead] - truth[dead]) ** 2).sum() / (truth[dead] ** 2).sum()
    check("filled", error > 0.1 and f"{-10 * numpy.log10(error):.1f} dB")
    check("live", not numpy.allclose(filled[~dead], samples[~dead], 2e-6, 1e-30) and "differ")
    with segyio.open(str(tmp_path / "all.sgy"), ignore_geometry=True) as file:
        check("all", file.tracecount != len(heads) and f"{file.tracecount}: {said}")
        check("order", numpy.any(numpy.diff(file.attributes(73)[:]) < 0) and "differs")
    for name in "filled.png", "filled.svg", "new.png", "new.svg":
        check(name, not (tmp_path / name).exists() and "is missing")
