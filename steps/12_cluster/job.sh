#!/bin/bash
# job.sh - a program as a batch job: ranks wherever Slurm has room for them.
#
#     sbatch --ntasks=64 steps/12_cluster/job.sh semblance in=line.su .. stack=filled.su
#
# The first word is the program, the others are its query. All is said to sbatch in the
# root of the tree, whose folder all machines must see. A job that is killed, requeued or
# submitted again runs with the same words: a section goes on where its file says that it
# was, and of the other programs nothing is there before all is there.
#SBATCH --job-name=cluster --nodes=1-64 --ntasks=2 --cpus-per-task=1
#SBATCH --time=01:00:00 --requeue --open-mode=append
set -eu

program=$1
shift
export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"
exec mpirun "${BUILD:-build}/12_cluster/$program-mpi" "$@"
