09_blocking.title    = Blocking
09_blocking.kind     = algebra
09_blocking.backends = omp ocl cuda cuda-cpu

09_blocking.title.semblance       = An interpolated value serves the windows of all t0 that contain it (window=moveout)
09_blocking.changes.semblance     = body.h moveout.h moveout_host.h cpu.c moveout_cpu.h opencl.c moveout_opencl.h kernel.cl cuda.cu moveout_cuda.h
09_blocking.cflags.semblance      = -ffp-contract=fast $(NATIVE)
09_blocking.reason.semblance      = sums for all t0 of one point of the search take a kernel of their own, with rows in a workspace; the search of step 08 stays, for single samples
09_blocking.predict.semblance.cpu = 1.0 on the sets, which search single samples; with window=moveout 2 on line3 and 5 on survey, expected after a prototype: w window samples of each visit become one
09_blocking.predict.semblance.gpu = 1.0 on the sets; less on line3 than on a CPU: the rows of sums go through memory

09_blocking.title.fletcher       = A tile per thread, computed row by row, with prefetch
09_blocking.shown.fletcher       = cpu.c
09_blocking.changes.fletcher     = body.h march.h point.h tile.h cpu.c opencl.c kernel.cl cuda.cu
09_blocking.cflags.fletcher      = $(NATIVE)
09_blocking.kind.fletcher        = memory
09_blocking.reason.fletcher      = a tile has its own derivatives: the loop over z moves back into the kernels, and both hosts choose the size of a tile; on CPUs, rows of vectors are computed one after the other
09_blocking.predict.fletcher.cpu = 1.3: no barriers per plane, and the nine planes of p and q of a tile stay in the L2 cache of a core
09_blocking.predict.fletcher.gpu = 2.0: one launch instead of two per plane, and the derivatives stay in local memory
09_blocking.flops.fletcher       = 260 samples
09_blocking.bytes.fletcher.dram  = 52 samples

09_blocking.title.gridding       = Cache blocking by segments, and Karatsuba's complex multiplication
09_blocking.changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
09_blocking.reason.gridding      = the loops over blocks and over visibilities are interchanged, and the three real products of Karatsuba have taps and sums of their own
09_blocking.predict.gridding.cpu = 1.3, expected after a prototype: three real products per cell instead of four and a half, with operands from the L1 cache
09_blocking.predict.gridding.gpu = 1.2: three real products instead of four; a thread has one block and shares nothing
09_blocking.flops.gridding       = 6 points

09_blocking.title.fluid       = Temporal blocking: four sweeps per pass, as a wavefront
09_blocking.shown.fluid       = block.h
09_blocking.kind.fluid        = refactor
09_blocking.changes.fluid     = block.h cpu.c opencl.c rows.cl
09_blocking.reason.fluid      = a pass has two phases, and a solve with too many sweeps is repeated from its initial values, which both hosts must keep
09_blocking.predict.fluid.cpu = 1.5 if a field is larger than the second-level cache, and twice that if it is larger than the last-level cache, expected after a prototype: the box is read once in four sweeps
09_blocking.predict.fluid.gpu = 1.0: the device code is that of step 08
09_blocking.flops.fluid       = 8 updates + 40 advected

09_blocking.title.sandpile       = Temporal blocking: rows compute many steps while they are in a cache
09_blocking.changes.sandpile     = body.h cpu.c opencl.c kernel.cl cuda.cu
09_blocking.shown.sandpile       = cpu.c
09_blocking.cflags.sandpile      = $(NATIVE)
09_blocking.kind.sandpile        = refactor
09_blocking.reason.sandpile      = the loop over steps moves inside the loop over tiles, which threads take in skewed bands; in OpenCL and CUDA a kernel loads, steps and stores a band with ghost rows
09_blocking.predict.sandpile.cpu = 1.4, expected after a prototype: two threads pass two barriers per 32 steps instead of one per step
09_blocking.predict.sandpile.gpu = 2.0: an eighth of the launches, but twice the work
09_blocking.flops.sandpile       = 0.25 cells
09_blocking.bytes.sandpile.l1    = 1 cells
