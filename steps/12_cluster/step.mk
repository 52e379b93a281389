title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.semblance       = Output traces from a counter, into one file that says what is done
changes.semblance     = mpi.c cuda.cu
predict.semblance.cpu = 0.4 for one point, which is not what it is for: a value of A each, without the best of the others to rule it out; 1.0 for a section, where two ranks meet at the start and at the end
predict.semblance.gpu = the same

title.fletcher       = A slab a rank, and halos that travel while the rest is made
changes.fletcher     = mpi.c host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
reason.fletcher      = the device is left out; cpu.c becomes functions that mpi.c calls; mpi.c is new, and half of it is who has what and one file written by all
predict.fletcher.cpu = 0.97: of two ranks of one thread each sends 2 MB a step, which takes a hundredth of it and passes meanwhile; borders of 4 planes are passes of their own
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Ranks own rows of the grid
changes.gridding     = mpi.c part.h cpu.c body.h host.h opencl.c kernel.cl cuda.cu
reason.gridding      = mpi.c is new, and devices are left out: who has which rows, which visibilities reach them, and the gathering
predict.gridding.cpu = 0.85 of one rank of two threads: half of the grid goes through memory that both can reach, in and out again; sorting is shared
predict.gridding.gpu = not written for one

title.fluid       = Slabs, with a halo for each half sweep
changes.fluid     = mpi.c slab.h cpu.c block.h kernel.cl opencl.c
reason.fluid      = a slab has borders in each loop over planes; halos, the stop, far planes and the pressure's turn are what ranks tell one another
predict.fluid.cpu = 0.9 of one rank with as many threads: a half sweep has a message where threads have a barrier, and the wavefront of step 09 is given up
predict.fluid.gpu = 1.0: not written for one

title.sandpile       = Slabs of rows with ghost zones, and a nonblocking stability test
changes.sandpile     = body.h slab.h cpu.c cuda.cu host.h kernel.cl mpi.c opencl.c
cflags.sandpile      = $(NATIVE)
reason.sandpile      = the code for threads now computes given rows; mpi.c and slab.h are new, and the device code is removed
predict.sandpile.cpu = 0.95: two ranks compute as many ghost rows as two threads, and an exchange of messages costs more than a barrier
