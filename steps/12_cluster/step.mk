title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.semblance       = Output traces distributed by a shared counter, written to one restartable file
changes.semblance     = mpi.c cpu.c opencl.c cuda.cu
cflags.semblance      = -ffp-contract=fast $(NATIVE)
predict.semblance.cpu = 0.4 for one search, which is not the purpose of this step: each value of A is searched without the incumbent of the others; 1.0 for a section, where two ranks synchronize at the start and at the end
predict.semblance.gpu = the same

after.fletcher       = 09
title.fletcher       = A slab per rank, and halo exchange that overlaps computation
cflags.fletcher      = $(NATIVE)
changes.fletcher     = mpi.c host.h cpu.c opencl.c kernel.cl cuda.cu
reason.fletcher      = the device is removed; cpu.c becomes functions that mpi.c calls; mpi.c is new, and half of it divides the grid and writes one common file
predict.fletcher.cpu = 0.97: each of two ranks with one thread sends 2 MB per step, which takes 1 % of its time and overlaps computation; the border planes are separate passes
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Each rank owns rows of the grid
changes.gridding     = mpi.c part.h cpu.c body.h host.h opencl.c kernel.cl cuda.cu
reason.gridding      = mpi.c is new, and the device back-ends are omitted: assignment of rows, selection of visibilities, and the gathering
predict.gridding.cpu = 0.85 of one rank with two threads: half of the grid is copied through shared memory twice; sorting is distributed
predict.gridding.gpu = not written for GPUs

title.fluid       = Slabs of planes, with a halo exchange per half sweep
changes.fluid     = mpi.c slab.h body.h strip.h cpu.c block.h kernel.cl opencl.c cuda.cu
check.fluid       = pressure=direct
reason.fluid      = each loop over planes has the borders of a slab; halos, convergence, distant planes and the transposes of the pressure solver are the communication of the ranks; the layout is that of rows, whose planes begin at multiples of one length
predict.fluid.cpu = 0.9 of one rank with as many threads: a half sweep has a message instead of a barrier, and the wavefront of step 09 is not used
predict.fluid.gpu = 1.0: not written for a GPU

title.sandpile       = Slabs of rows with ghost zones, and a nonblocking stability test
changes.sandpile     = odometer.h body.h slab.h cpu.c cuda.cu host.h kernel.cl mpi.c opencl.c
cflags.sandpile      = $(NATIVE)
reason.sandpile      = the code for threads now computes given rows; mpi.c and slab.h are new; the device code and the estimates for rule=async are removed
predict.sandpile.cpu = 0.95: two ranks compute as many ghost rows as two threads, and an exchange of messages costs more than a barrier
