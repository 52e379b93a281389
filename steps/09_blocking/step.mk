title    = Blocking
kind     = algebra
backends = omp ocl cuda cuda-cpu

title.semblance       = Each trace is read once for all (D, E) and reduced to knots
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.semblance      = -ffp-contract=fast $(NATIVE)
reason.semblance      = the loops over traces and over (D, E) are interchanged, with a list of knots between them, and traces without knots need a second path
predict.semblance.cpu = 2.5: two operations per sample instead of six, and no loads of samples (written after a prototype had 2.5)
predict.semblance.gpu = 0.7: a thread's knots are in device memory, and are read again for each (D, E)

title.fletcher       = Tiles per thread, rows of explicit vectors, and prefetch
shown.fletcher       = march.h
changes.fletcher     = body.h march.h tile.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
cflags.fletcher      = $(NATIVE)
kind.fletcher        = memory
reason.fletcher      = a tile has its own derivatives: the loop over z moves back into the kernels, and both hosts choose the size of a tile; on CPUs, rows of vectors are computed one after the other
predict.fletcher.cpu = 1.3: no barriers per plane, and the nine planes of p and q of a tile stay in the L2 cache of a core
predict.fletcher.gpu = 2.0: one launch instead of two per plane, and the derivatives stay in local memory
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Cache blocking by segments, and Karatsuba's complex multiplication
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the loops over blocks and over visibilities are interchanged, and the three real products of Karatsuba have taps and sums of their own, two vectors each
predict.gridding.cpu = 1.3: three real products per cell instead of four and an eighth, with operands from the L1 cache (written after a prototype had 1.3)
predict.gridding.gpu = 1.2: three real products instead of four; a thread has one block and shares nothing
flops.gridding       = 6 points

title.fluid       = Temporal blocking: four sweeps per pass, as a wavefront
shown.fluid       = block.h
kind.fluid        = refactor
changes.fluid     = block.h cpu.c opencl.c kernel.cl cuda.cu
reason.fluid      = a pass has two phases, and a solve with too many sweeps is repeated from its initial values, which both hosts must keep; in CUDA the loop over sweeps moves from the host into the kernel
predict.fluid.cpu = 1.5 if a field is larger than the second-level cache, and twice that if it is larger than the last-level cache: the box is read once in four sweeps (written after a prototype)
predict.fluid.gpu = 2.0 with CUDA: one launch per solve instead of up to 40, and the host waits once instead of five times; 1.0 with OpenCL, which uses the sweeps of step 08 (written before any run on a GPU)
flops.fluid       = 8 updates + 40 advected

title.sandpile       = Temporal blocking: bands compute many steps alone, stable tiles are skipped
changes.sandpile     = body.h cpu.c opencl.c kernel.cl cuda.cu
cflags.sandpile      = $(NATIVE)
kind.sandpile        = refactor
reason.sandpile      = bands with ghost rows are a new layout, with a loop over steps inside the loop over rows; in OpenCL and CUDA a kernel loads, steps and stores a band
predict.sandpile.cpu = 1.4: two threads pass two barriers per 32 steps instead of one per step (written after a prototype had been timed: 1.3 to 1.6)
predict.sandpile.gpu = 2.0: an eighth of the launches, for twice the work
flops.sandpile       = 0.25 cells
bytes.sandpile.l1    = 1 cells
