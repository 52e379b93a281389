title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.fletcher       = A slab a rank, and halos that travel while the rest is made
changes.fletcher     = mpi.c host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
reason.fletcher      = the device is left out; cpu.c becomes functions that mpi.c calls; mpi.c is new, and half of it is who has what and one file written by all
predict.fletcher.cpu = 0.97: of two ranks of one thread each sends 2 MB a step, which takes a hundredth of it and passes meanwhile; borders of 4 planes are passes of their own
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples
