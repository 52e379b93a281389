"""test_job_relations.py: random jobs of the main program, changed in ways whose effect on the
result is known (relations.py). A failure names the relation and the number of the job;
-k 'RELATION' repeats it.
"""
import random
import re

import pytest

from tests import jobs
from tests.helpers import run
from tests.relations import DEFAULTS, RELATIONS, Case

COUNT = 10  # jobs of each relation
# Steps and back-ends, and how often each is drawn: slow starts are rarer.
BINARIES = {"10 omp": 24, "00 seq": 8, "09 omp": 3, "08 omp": 3, "05 omp": 1, "10 cuda-cpu": 2,
            "10 ocl": 1, "12 mpi": 1, "11 hybrid": 1}
MOVEOUT = "00 seq", "09 omp", "10 omp", "12 mpi", "10 ocl"


# Values of factors of the jobs of a relation: of each, and of every second one.
ALWAYS = {"chosen_options": {"choose": "1"}}
OFTEN = {"other_order_of_traces": {"size": "many", "aperture": "wide"},
         "other_back_end": {"size": "many", "aperture": "wide"}}


def job_of(rng, name, number):
    """A random job to which a relation applies."""
    applies = RELATIONS[name][1]
    fixed = ALWAYS.get(name) or (OFTEN.get(name) if number % 2 else None) or {}
    while True:
        job = jobs.draw(rng, **fixed)
        if applies(job):
            return job


def case_of(rng, folder, job, built):
    """A use of a relation; the back-end is drawn."""
    names = [n for n in BINARIES if n in built
             and (job.options.get("window") != "moveout" or n in MOVEOUT)]
    if job.options.get("choose") == "1" or job.options.get("passes") == "2":
        names = [n for n in names if n in ("10 omp", "00 seq")]
    name = rng.choices(names, [BINARIES[n] for n in names])[0]
    return Case(rng, folder, built[name], built)


@pytest.fixture(scope="module")
def built():
    return {f"{b[0][:2]} {b[1]}": b for b in jobs.chosen(*BINARIES)}


@pytest.mark.seconds(5)
@pytest.mark.parametrize("name", RELATIONS)
def test_relation(check, tmp_path, built, everything, name):
    count = 1 if name == "chosen_options" else COUNT
    for number in range(20 * count if everything else count):
        rng = random.Random(f"{name} {number}")
        job = job_of(rng, name, number)
        case = case_of(rng, tmp_path, job, built)
        problem = RELATIONS[name][0](case, job)
        words = " ".join(job.words(tmp_path))
        check(f"job {number}", problem and f"{case.binary[:2]}: {problem}\n{words}")


# Options whose default is not one value, or which a job does not have.
NO_DEFAULT = set("in set m0 h0 positions fill t0 tau a b c d e ranges velocity dip period "
                 "ranges_out mute aperture refine average local out panel stack coherence "
                 "parameters".split())


def test_defaults(check, built, tmp_path):
    """explicit_defaults() has all options of help."""
    text = run([built["00 seq"][2], "help"], ".").stdout
    told = dict(re.findall(r"^  (\w+)=(\S*)  ", text, re.M))
    check("options", set(told) ^ NO_DEFAULT ^ set(DEFAULTS))
    check("values", {key: told.get(key) for key in DEFAULTS} != DEFAULTS and f"{told}")
