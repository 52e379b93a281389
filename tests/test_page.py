"""test_page.py: the commands of the pages, as they are typed.

Those of docs/using-your-data.md and docs/reference.md run in the order of the pages, on a small
survey of SEG-Y. Of the other pages, make reads each command without running it (make -n), and
short ones are run. The recipes of CONTRIBUTING.md, setup.sh and Slurm have tests of their own.
"""
import os
import random
import re
import shlex
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.helpers import BUILD, ROOT, TIMEOUT
from tests.test_segy import body, reel
from tools.base import copies, tree
from tools.verify import section_oracle as oracle

segyio = pytest.importorskip("segyio")
pytest.importorskip("matplotlib")

SURVEY_PAGES = "".join(Path(ROOT, "docs", name).read_text()
                       for name in ("using-your-data.md", "reference.md"))
BLOCKS = [code for code in re.findall(r"^```sh\n(.*?)^```", SURVEY_PAGES, re.M | re.S)
          if not code.startswith("sbatch")]
# Commands of one line that need the SU file which the blocks write.
LINES = re.findall(r"^    (build/.*)$", SURVEY_PAGES, re.M)
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
    assert len(BLOCKS) >= 3 and "make su" in BLOCKS[0] and LINES, "the pages have no commands"
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
    for code in [*BLOCKS, *LINES]:
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


# ---- all other pages ------------------------------------------------------------------

PAGES = [Path(ROOT, name) for name in ("README.md", "COURSE.md")] + \
    sorted(Path(ROOT, "docs").glob("*.md"))
LESSONS = sorted(p for name in ("*/README.md", "steps/*/*.md", "steps/*/*/*.md")
                 for p in Path(ROOT).glob(name))
SHORT = "diff", "rungs", "reveal", "devices", "help", "help-all"
OF_ONE_TASK = "exercise", "grade", "export"  # need the step and the program that reveal needs


def typed(page):
    """The calls of make and of binaries on a page, as lists of words."""
    text = re.sub(r"^```diff\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S) + \
        re.findall(r"^    .*", text, re.M)
    spans = re.findall(r"`(make [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    code = re.sub(r"\\\n\s*", "", "\n".join(blocks)) + "\n" + \
        "\n".join(re.sub(r"\s+", " ", span) for span in spans)
    for line in code.splitlines():
        for part in re.split(r"&& |[|;#] |\s{2,}", line.strip()):
            if re.match(r"(\w+=\S* )*(make|\.?/?build/\S+-\w+)( |$)", part):
                yield shlex.split(part)


def problem(words):
    """What is wrong with a call of make, without running more of it than takes little time."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    targets = [word for word in words if "=" not in word and word != "make" and word[0] != "-"]
    programs = [p for p in tree.programs() if p.name == given.get("PROGRAM", "semblance")]
    known = {"all", *(name for p in programs for name in (*p.sets, *p.jobs))}
    if given.get("SET") and not known.issuperset(given["SET"].split()):
        return f"SET={given['SET']}: expected one of {known}"
    commands = [["make", "-n", *words[1:]]]
    if "STEP" in given and set(targets) & {*SHORT, *OF_ONE_TASK}:
        commands = [["make", *(t if t in SHORT else "reveal" for t in targets),
                     *(f"{k}={v}" for k, v in given.items() if k != "WORK")]]
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, env=copies.environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
        if done.returncode:
            return done.stderr[-300:]
    return None


@pytest.mark.seconds(40)
def test_commands_of_other_pages(check, everything):
    """Those of README, COURSE and docs, and of the other pages a sample, or all (--all)."""
    first, others = ({tuple(words): page for page in pages for words in typed(page)}
                     for pages in (PAGES, LESSONS))
    others = {words: page for words, page in others.items() if words not in first}
    if not everything:
        others = {words: others[words] for words in random.Random(1).sample(sorted(others), 10)}
    for words, page in {**first, **others}.items():
        text = shlex.join(words)
        if not re.search(r"[$<]| -C |=[A-Z]+\b(?<!PEER=CHECKOUT)", text):  # placeholders
            while words[0] != "make" and "=" in words[0]:
                words = words[1:]
            check(f"{page.relative_to(ROOT)}: {text}", problem(
                words if words[0] == "make" else ["make", words[0].removeprefix("./")]))
