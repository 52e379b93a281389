12_cluster.title    = More than one machine
12_cluster.kind     = port
12_cluster.backends = mpi
12_cluster.after    = 10
12_cluster.shown    = mpi.c
12_cluster.backends.semblance = mpi mpi-ocl

12_cluster.title.semblance       = Output traces distributed by a shared counter, written to one restartable file
12_cluster.changes.semblance     = mpi.c cpu.c moveout_cpu.h opencl.c moveout_opencl.h cuda.cu moveout_cuda.h
12_cluster.cflags.semblance      = -ffp-contract=fast $(NATIVE)
12_cluster.predict.semblance.cpu = 0.4 relative to two threads of step 10, for one search, which is not the purpose of this step: each value of A is searched without the incumbent of the others; 1.0 for a section, where two ranks synchronize at the start and at the end
12_cluster.predict.semblance.gpu = the same

12_cluster.after.fletcher       = 09
12_cluster.title.fletcher       = A slab per rank, and halo exchange that overlaps computation
12_cluster.cflags.fletcher      = $(NATIVE)
12_cluster.changes.fletcher     = mpi.c host.h cpu.c opencl.c kernel.cl cuda.cu point.h
12_cluster.reason.fletcher      = the device is removed; cpu.c becomes functions that mpi.c calls; mpi.c is new, and half of it divides the grid and writes one common file
12_cluster.predict.fletcher.cpu = 0.97 relative to one rank with two threads: each of two ranks with one thread sends 2 MB per step, which takes 1 % of its time and overlaps computation; the border planes are separate passes
12_cluster.flops.fletcher       = 260 samples
12_cluster.bytes.fletcher.dram  = 52 samples

12_cluster.title.gridding       = Each rank owns rows of the grid
12_cluster.changes.gridding     = mpi.c part.h cpu.c opencl.c kernel.cl cuda.cu
12_cluster.reason.gridding      = mpi.c is new, and the device back-ends are omitted: assignment of rows, selection of visibilities, and the gathering
12_cluster.predict.gridding.cpu = 0.85 relative to one rank with two threads: half of the grid is copied through shared memory twice; sorting is distributed
12_cluster.predict.gridding.gpu = not written for GPUs

12_cluster.title.fluid       = Slabs of planes, with a halo exchange per half sweep
12_cluster.changes.fluid     = mpi.c slab.h cpu.c block.h kernel.cl rows.cl opencl.c cuda.cu
12_cluster.check.fluid       = pressure=direct
12_cluster.predict.fluid.cpu = 0.9 relative to one rank with as many threads: a half sweep has a message instead of a barrier, and the wavefront of step 09 is not used
12_cluster.predict.fluid.gpu = not written for a GPU

12_cluster.title.sandpile       = Slabs of rows with ghost zones, and a nonblocking stability test
12_cluster.after.sandpile       = 11
12_cluster.changes.sandpile     = cuda.cu hybrid.c kernel.cl mpi.c opencl.c sides.h
12_cluster.cflags.sandpile      = $(NATIVE)
12_cluster.reason.sandpile      = the threads of step 11 compute the rows of a rank; mpi.c is new; the device side is removed
12_cluster.predict.sandpile.cpu = 0.95 relative to one rank with two threads: two ranks compute as many ghost rows as two threads, and an exchange of messages costs more than a barrier
