title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.gridding       = Ranks own rows of the grid
changes.gridding     = mpi.c part.h cpu.c body.h host.h opencl.c kernel.cl cuda.cu
reason.gridding      = mpi.c is new, and devices are left out: who has which rows, which visibilities reach them, and the gathering
predict.gridding.cpu = 0.85 of one rank of two threads: half of the grid goes through memory that both can reach, in and out again; sorting is shared
predict.gridding.gpu = not written for one
