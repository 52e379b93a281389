"""test_sanitized_jobs.py: sections of semblance with random options, built with AddressSanitizer
and UBSan. Random queries with sanitizers search one point each.

Memory that is not initialized is filled with a pattern. Some jobs are repeated with another
pattern: their files must be equal.
"""
import random
import re

import numpy
import pytest

from tests import helpers
from tests.helpers import program_named
from tests.sections import traces
from tests.test_criterion import survey
from tools.base import runs, tree
from tools.verify.sanitize import REPORTED, Session, address_env, address_words

BACKENDS = "seq", "omp"  # of the first and of the last step


def job(draw, folder):
    """The options of a random job. Writes the files that they name."""
    survey(draw, folder / "in.su")
    (folder / "v.txt").write_text("0.1 1700 200\n0.3 2000 100\n0.5 2800 500\n")
    (folder / "m.txt").write_text("0 0.02\n120 0.1\n230 0.35\n")
    (folder / "p.txt").write_text("sx gx\n1100 1250\n1110 1375\n1050 9000\n")
    (folder / "r.txt").write_text("".join(
        f"{t} {h}  -2e-4 4e-4 {n}  0 6e-4 2  2e-7 8e-7 2  0 6e-7 1  0 1e-7 1\n"
        for h, n in ((-9000, 2), (9000, 3)) for t in (0, 0.4, 0.7)))
    follow = draw.random() < 0.7
    options = {"in": "in.su", "stack": "s.su", "coherence": draw.choice(("c.su", "")),
               "parameters": draw.choice(("p.npy", "")),
               "tau": draw.choice(("0", "0.004", "0.012"))}
    if draw.random() < 0.4:
        options["fill"] = "dead"
    else:
        options["t0"] = draw.choice(("0:0.12:3", "0.2:0.24:11", "0.588:0.596:3", "0.3"))
        place = draw.choice(("positions=p.txt", "m0=1150:1200:2 h0=-60:90:2", "m0=1180 h0=40"))
        options.update(word.split("=") for word in place.split())
    if follow:
        options["velocity"] = draw.choice(("1600,2900", "v.txt"))
        options.update(draw.choice(({}, {"dip": "2e-4"}, {"period": "0.05"})))
        if draw.random() < 0.3:
            del options["tau"]
        if options.get("t0", "")[:2] != "0:":  # consecutive samples
            options["choose"] = draw.choice("0001")
        options["ranges_out"] = draw.choice(("", "ro.txt"))
    elif draw.random() < 0.5:
        options["ranges"] = "r.txt"
    else:
        options.update(a="-2e-4,3e-4,3", b="0,6e-4,2", c="2e-7,8e-7,2", d="0,6e-7,1", e="0,1e-7,2")
    if not follow or draw.random() < 0.7:
        options["aperture"] = draw.choice(("30,60", "60,40", "5,5"))
    options["mute"] = draw.choice(("", "m.txt", *["0.3"] * follow))
    consecutive = options.get("t0", "")[:2] != "0:"
    options["passes"] = draw.choice(("", "1", "2", "2") if consecutive else "1")
    options["window"] = draw.choice(("parallel", "moveout") if consecutive else ("parallel",))
    options["smooth"], options["search"] = draw.choice(
        (("", ""), ("centre", "full")) if options["window"] == "moveout"
        else (("", ""), ("window", ""), ("", "coarse"), ("window", "coarse")))
    options.update(refine=draw.choice(("", "0", "1")), weight=draw.choice(("", "none")),
                   average=draw.choice(("", "0", "0.012")))
    return [f"{key}={value}" for key, value in options.items() if value]


@pytest.fixture(scope="module")
def sanitized():
    """The first sequential and the last OpenMP binary."""
    program, session = program_named("semblance"), Session("jobs", sample=False)
    having = [s for s in tree.steps() if s.has(program)]
    folder = session.folder / "asan"
    names = [[folder / s.name / f"semblance-{b}" for s in having if b in s.backends(program)]
             for b in BACKENDS]
    paths = [names[0][0], names[1][-1]]
    assert session.build(folder, address_words("asan"), (), paths)
    return paths


@pytest.mark.seconds(15)
def test_jobs(check, sanitized, tmp_path, everything):
    """A job succeeds, or is refused with a message; no sanitizer reports anything."""
    seed, complete = helpers.seed("SEED"), 0
    print(f"SEED={seed}")
    for number in range(200 if everything else 20):
        draw = random.Random(f"{seed} {number}")
        binary = draw.choice(sanitized)
        words, kept = [], []
        for fill in (0xff, 0x3f) if number % 4 == 0 else (0xff,):
            folder = tmp_path / f"{number}-{fill}"
            folder.mkdir()
            words = job(random.Random(f"{seed} {number} job"), folder)
            env = address_env(f"malloc_fill_byte={fill}", "max_malloc_fill_size=1000000000")
            ended = runs.run([binary.resolve(), *words], env={**env, "OMP_NUM_THREADS": "2",
                             "CACHE_L2": draw.choice(("3000", "100000"))}, folder=folder)
            refused = ended.status == 1 and re.search(r"^semblance: .*\n\Z", ended.err, re.M)
            check(f"SEED={seed}, job {number}: {binary.name} {' '.join(words)}",
                  (ended.failure() and not refused or REPORTED.search(ended.err))
                  and f"{ended.failure()}: {ended.err[:3000]}")
            complete += not ended.failure()
            kept.append({p.name: p.read_bytes() for p in folder.iterdir()})
        check(f"SEED={seed}, job {number}: two fills: {' '.join(words)}",
              kept[0] != kept[-1] and "other files")
        for path in [*folder.glob("?.su*"), *folder.glob("*.npy")] if not ended.failure() else ():
            values = numpy.load(path) if path.suffix == ".npy" else traces(path)[1]
            check(f"SEED={seed}, job {number}: {path.name}: finite",
                  not numpy.isfinite(values).all() and "not finite")
    check("complete jobs", complete <= number / 2 and f"{complete} jobs")
