#!/bin/bash
# job.sh - runs a program as a batch job under Slurm, on as many machines as it gets.
#
#     sbatch --ntasks=64 steps/12_cluster/job.sh semblance in=line.su .. stack=filled.su
#     sbatch --ntasks=64 steps/12_cluster/job.sh semblance in=survey.su fill=dead \
#         velocity=1500,3000 passes=2 window=moveout stack=filled.su
#
# The first argument is the program, the others are its own. Submit the job in the root of
# the tree, in a folder that all machines share. Slurm starts a requeued job again; if a job
# was cancelled, submit the same command again. A section resumes at its first incomplete trace,
# in each of its passes; the other programs start from the beginning, and write their results
# only when they are complete.
#SBATCH --job-name=cluster --nodes=1-64 --ntasks=2 --cpus-per-task=1
#SBATCH --time=01:00:00 --requeue --open-mode=append
set -eu

program=$1
shift
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
exec mpirun "${BUILD:-build}/12_cluster/$program-mpi" "$@"
