title    = Blocking
kind     = algebra
backends = omp ocl cuda cuda-cpu
backends.fluid    = omp ocl

title.semblance       = A trace is read once for all (D, E): its window as hinges
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = the loops over traces and over (D, E) change places, and between them lies a list of hinges, with a way around it for traces that cannot have any
predict.semblance.cpu = 2.5: two operations a sample instead of six, and no loads of samples (written after a prototype had 2.5)
predict.semblance.gpu = 0.7: a thread's hinges lie in device memory, and are read again for each (D, E)

title.fletcher       = Tiles that a thread takes through all planes by itself, a row at a time
shown.fletcher       = cpu.c
changes.fletcher     = body.h tile.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
kind.fletcher        = memory
reason.fletcher      = a tile has planes of its own: the loop over z goes back into the kernels, and both hosts say how large a tile is
predict.fletcher.cpu = 1.3: no thread waits at a plane, and a tile's nine planes of p and q stay in a core's own cache
predict.fletcher.gpu = 2.0: one launch instead of two a plane, and what is derived stays in local memory
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = What a visibility brings to a column, once for all its rows
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the loops over blocks and over visibilities change places, and three real products have taps and sums of their own, of two vectors each
predict.gridding.cpu = 1.3: three products a cell instead of four and an eighth, from the nearest cache (written after a prototype had 1.3)
predict.gridding.gpu = 1.2: three products instead of four; a thread has one block, and shares nothing
flops.gridding       = 6 points

title.fluid       = Four sweeps in one pass, as a wavefront
shown.fluid       = block.h
kind.fluid        = refactor
changes.fluid     = block.h cpu.c opencl.c kernel.cl cuda.cu
reason.fluid      = a pass begins and ends in two phases, and a solve that went too far goes back to its start: both hosts must keep where it began
predict.fluid.cpu = 1.5 where a field is larger than the second level of the cache, and twice that where it is larger than the last: the box is read once in four sweeps (written after a prototype)
predict.fluid.gpu = 1.0: it keeps the sweeps of step 08, since its groups cannot wait for each other
flops.fluid       = 8 updates + 40 advected

title.sandpile       = Temporal blocking: bands compute many steps alone, stable tiles are skipped
changes.sandpile     = body.h cpu.c opencl.c kernel.cl cuda.cu
cflags.sandpile      = $(NATIVE)
kind.sandpile        = refactor
reason.sandpile      = bands with ghost rows are a new layout, with a loop over steps inside the loop over rows; in OpenCL and CUDA a kernel loads, steps and stores a band
predict.sandpile.cpu = 1.4: two threads pass two barriers per 32 steps instead of one per step (written after a prototype had been timed: 1.3 to 1.6)
predict.sandpile.gpu = 2.0: an eighth of the launches, for twice the work
flops.sandpile       = 0.6 cells
bytes.sandpile.l1    = 1 cells
