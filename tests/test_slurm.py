"""test_slurm.py: a section as a batch job: submitted to a real Slurm, thrown back into the
queue, cancelled, submitted again, and finished, with the bytes that it
has without Slurm.

munged, slurmctld and slurmd run in a temporary folder, for this user alone, and end with
the test. Where they are not installed (Debian: slurmctld slurmd slurm-client munge) this is
said, and nothing is tested.
"""
import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.helpers import ROOT, TIMEOUT
from tests.test_cluster import SURVEY
from tests.test_criterion import survey
from tools.base import runs, tree
from tools.measure import section

NEEDED = "munged slurmctld slurmd sbatch scontrol scancel squeue mpirun".split()
JOB = Path(ROOT, "steps/12_cluster/job.sh")
CONF = """ClusterName=test
SlurmctldHost={host}(localhost)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName=here NodeHostname={host} NodeAddr=localhost CPUs=2 State=UNKNOWN
PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP
"""



def wait(check, what, done):
    """Until done() is true; False where it takes too long."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.05)
    check(what, f"not within {TIMEOUT} s")
    return False


class Slurm:
    """The daemons, in a folder."""

    def __init__(self, folder, check):
        self.folder, self.check, self.running = folder, check, []
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self):
        folder, sockets = self.folder, [socket.socket() for _ in range(2)]
        for s in sockets:
            s.bind(("localhost", 0))
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        (folder / "slurm.conf").write_text(CONF.format(
            folder=folder, user=user, host=socket.gethostname().partition(".")[0],
            ports=[s.getsockname()[1] for s in sockets]))
        for s in sockets:
            s.close()
        self.start("munged", "--foreground", "--force", f"--socket={folder}/munge.socket",
                   f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid",
                   f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
        if wait(self.check, "munged starts", (folder / "munge.socket").exists):
            self.start("slurmctld", "-D", "-i")
            self.start("slurmd", "-D")
        return self

    def start(self, *command):
        with (self.folder / f"{command[0]}.out").open("w") as out:
            self.running.append(subprocess.Popen(command, env=self.env, stdout=out,
                                                 stderr=out, cwd=self.folder))

    def __exit__(self, *_):
        for p in reversed(self.running):
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

    def ask(self, *command):
        """What one of Slurm's commands says; "" where it fails."""
        ended = subprocess.run(command, env=self.env, capture_output=True, text=True,
                               cwd=ROOT, timeout=TIMEOUT)
        return "" if ended.returncode else ended.stdout.strip() or "done"

    def state(self, job):
        found = self.ask("scontrol", "--oneliner", "show", "job", job)
        return dict(w.partition("=")[::2] for w in found.split()).get("JobState", "")

    def said(self):
        """The ends of its logs."""
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-1500:]}"
                         for p in sorted(self.folder.glob("*.log")))


def job_of(program, folder):
    """A section of many small traces, so that there is time to kill it."""
    words = section.job(program, ["m0=3900,10,40"])
    return words, folder / "alone.su", folder / "queued.su"


def live(path):
    """How many traces of a section are done."""
    return int((section.traces(path)["trid"] != 0).sum()) if path.exists() else 0


def queued(slurm, program, binary):
    check = slurm.check
    words, alone, path = job_of(program, slurm.folder)
    _, env = runs.launch(binary, "mpi")
    slurm.env |= env
    output = slurm.folder / "job.out"

    def submit():
        return slurm.ask("sbatch", "--parsable", f"--output={output}", "--ntasks=2",
                         str(JOB), program.name, *words, f"stack={path}")

    if not wait(check, "Slurm is ready", lambda: "idle" in slurm.ask("sinfo", "-h", "-o", "%T")):
        return
    job = submit()
    check("submitted", not job and "sbatch fails")
    wait(check, "two traces are done", lambda: live(path) >= 2)
    check("thrown back into the queue", not slurm.ask("scontrol", "requeue", job)
                and "scontrol fails")
    wait(check, "out of the machine", lambda: slurm.state(job) == "PENDING")
    first = live(path)
    wait(check, "it goes on by itself", lambda: live(path) > first)
    check("cancelled", not slurm.ask("scancel", job) and "scancel fails")
    wait(check, "is cancelled", lambda: slurm.state(job) == "CANCELLED")
    second, many = live(path), len(section.traces(path))
    check("killed in the middle", not 2 <= first < second < many and
                f"{first}, {second} of {many} traces")
    job = submit()
    wait(check, "submitted again, it finishes", lambda: slurm.state(job) == "COMPLETED")
    said = output.read_text(errors="replace")
    for there in (first, second):
        check(f"it began with {there} traces",
                    f"{there} of {many} traces are complete already" not in said and said)

    command, env = runs.launch(binary, "mpi")
    ended = runs.run([*command, *words, f"stack={alone}"], 600, env)
    check("without Slurm", ended.failure())
    check("the same bytes", not alone.exists() or not path.exists() or
                alone.read_bytes() != path.read_bytes())


def filled(slurm, program, binary):
    """A survey with chosen options and two passes."""
    check, folder = slurm.check, slurm.folder
    survey(random.Random(4), folder / "in.su")
    words = [f"in={folder}/in.su", *SURVEY[1:]]
    job = slurm.ask("sbatch", "--parsable", f"--output={folder}/survey.out", "--ntasks=2",
                    str(JOB), program.name, *words, f"stack={folder}/all.su")
    check("survey: submitted", not job and "sbatch fails")
    if not wait(check, "survey: finishes", lambda: slurm.state(job) == "COMPLETED"):
        return
    command, env = runs.launch(binary, "mpi")
    ended = runs.run([*command, *words, f"stack={folder}/one.su"], 600, env)
    check("survey: without Slurm", ended.failure())
    check("survey: the same bytes", not (folder / "all.su").exists() or
          (folder / "all.su").read_bytes() != (folder / "one.su").read_bytes())


@pytest.mark.slow
@pytest.mark.seconds(60)
def test_batch_job(check, tmp_path):
    absent = [name for name in NEEDED if not shutil.which(name)]
    if absent:
        pytest.skip(f"{' '.join(absent)} not found (Debian: slurmctld slurmd slurm-client "
                    "munge openmpi-bin)")
    program = tree.programs()[0]
    step = next((s for s in reversed(tree.steps()) if "mpi" in s.available(program)), None)
    if not step:
        pytest.skip("no back-end mpi is built")
    tmp_path.chmod(0o755)
    with Slurm(tmp_path, check) as slurm:
        queued(slurm, program, step.binary(program, "mpi"))
        filled(slurm, program, step.binary(program, "mpi"))
        print(slurm.said())
